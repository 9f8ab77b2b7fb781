//! The evaluation in small: a few tasks, every strategy that there is, seeded.

use super::model::{BASELINE, strategies};
use super::*;

/// Tasks that touch a program, files, another computer and a person.
const TASKS: [&str; 4] = ["fix-sum", "move-files", "route-by-address", "ask-colour"];

async fn measured(rate: f64, seeds: u64, contenders: &[&'static str]) -> Vec<Record> {
    let suite = Suite::load().unwrap();
    let tasks: Vec<Arc<Task>> = TASKS.iter().flat_map(|n| suite.matching(n)).collect();
    let args = Args {
        strategy: vec!["all".to_owned()],
        error_rate: rate,
        seeds: Some(seeds),
        tasks: "*".to_owned(),
        json: false,
        model_server: None,
        model: None,
        dialect: None,
        no_baseline: false,
        seconds: None,
        jobs: None,
        transcripts: None,
        list: false,
        log: "error".to_owned(),
    };
    let dir = tempfile::tempdir().unwrap();
    let jobs = jobs(&args, &tasks, contenders);
    let dir = dir.path().to_owned();
    let mut pool = Pool::start(Arc::new(suite), jobs, ModelChoice::Scripted, dir, 2).unwrap();
    let mut records = Vec::new();
    while let Some(done) = pool.next().await {
        records.push(done.unwrap());
    }
    pool.join().await;
    records
}

#[actix::test]
async fn every_strategy_brings_a_model_that_errs_to_the_goal() {
    let strategies: Vec<&str> = strategies().collect();
    let records = measured(0.3, 2, &strategies).await;
    assert_eq!(records.len(), strategies.len() * TASKS.len() * 3);
    let failed: Vec<String> = figures::failures(&records);
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    for row in figures::rows(&records) {
        assert!(!row.slips.is_empty(), "{} made no mistakes", row.strategy);
        assert_eq!(row.no_outcome, 0);
        assert_eq!(row.duplicate_effects, 0);
        assert!(
            row.steps_ratio < figures::MOST_RATIO,
            "{}: {}",
            row.strategy,
            row.steps_ratio
        );
    }
}

#[actix::test]
async fn the_baseline_does_the_tasks_without_errors_and_fails_some_with_them() {
    let records = measured(0.6, 2, &[BASELINE]).await;
    let good = |seed_0: bool| {
        let of = records.iter().filter(|r| (r.job.seed == 0) == seed_0);
        of.filter(|r| r.success()).count()
    };
    assert_eq!(good(true), TASKS.len());
    assert!(good(false) < TASKS.len() * 2);
}
