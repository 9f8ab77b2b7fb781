//! `ccfleet eval`: how well the strategies carry weak models. A suite of tasks on simulated computers, a scripted model
//! that errs on purpose (or a real one), many seeds, and a naive loop beside them as the baseline.

mod by_task;
mod checks;
mod course;
mod figures;
mod model;
mod naive;
mod pool;
mod report;
mod run;
mod runs_file;
mod slot;
mod suite;
mod suite_files;
#[cfg(test)]
mod tests;
mod transcript;

use super::demo::model as served;
use super::signals::Signals;
use super::{Exit, Failure};
use crate::actors::tool_habits::ToolHabits;
use crate::config::LogSettings;
use crate::telemetry;
use model::{BASELINE, strategies};
use pool::Pool;
use run::{Job, Record};
use runs_file::RunsFile;
use slot::ModelChoice;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use suite::{Suite, Task};

const EXAMPLES: &str = "\
Examples:
  ccfleet eval                                  every strategy and the baseline, 30 % wrong answers
  ccfleet eval --strategy directive --seeds 20 --json
  ccfleet eval --tasks 'fix-*' --error-rate 0.5 --strategy plan,goals
  ccfleet eval --model-server http://127.0.0.1:8081 --dialect openai --run-seconds 300 --runs ./runs.jsonl
  ccfleet eval --suite ./my-tasks --strategy plan     tasks of your own
  ccfleet eval --list                           the tasks and what they ask for

The scripted model knows the right moves and errs on purpose at the given rate; the same seeds give the same mistakes.
Whether a task is done is looked for on its computers. The baseline is a naive loop (one model, calls made as they
come, no repair, no guards) at the same rate and budget. What the figures mean: docs/evaluation.md.

A real model takes minutes for a run, hours for all. With --runs FILE each run is kept as it ends; stop it when you like,
the same command goes on with what is missing.

Exit codes: 0 measured, 1 it went wrong, 2 wrong use, 130 stopped (what was measured is printed).";

/// Measure the strategies on a suite of tasks, with a model that errs on purpose or a real one.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Strategies, as a,b; "all" for every one
    #[arg(long, value_name = "S", default_value = "all", value_delimiter = ',')]
    pub strategy: Vec<String>,

    /// Share of the scripted model's answers that are wrong
    #[arg(long, value_name = "SHARE", default_value_t = 0.3, value_parser = share)]
    pub error_rate: f64,

    /// Runs of each task, each with mistakes of its own [default: 4; with a real model 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub seeds: Option<u64>,

    /// Only tasks whose names match, as a,b
    #[arg(long, value_name = "GLOB", default_value = "*", value_delimiter = ',')]
    pub tasks: Vec<String>,

    /// Tasks of your own instead: a folder of .toml files in the form of docs/evaluation.md
    #[arg(long, value_name = "DIR")]
    pub suite: Option<PathBuf>,

    /// Print one JSON object as the last line
    #[arg(long)]
    pub json: bool,

    /// Ask a real model server: its address, without /api or /v1
    #[arg(long, value_name = "URL")]
    pub model_server: Option<String>,

    /// The model's name on the model server
    #[arg(long, value_name = "NAME", requires = "model_server")]
    pub model: Option<String>,

    /// How the model server is spoken to [default: found out by asking it]
    #[arg(long, value_enum, requires = "model_server")]
    pub dialect: Option<served::DialectArg>,

    /// Leave the baseline out
    #[arg(long)]
    pub no_baseline: bool,

    /// Begin no further run after so many seconds
    #[arg(long, value_name = "S")]
    pub seconds: Option<u64>,

    /// Seconds for one run; one that takes longer is stopped and has no outcome [default: 120; with a real model 1800]
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..))]
    pub run_seconds: Option<u64>,

    /// Servers with computers that run beside each other [default: twice the cores; with a real model 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub jobs: Option<u16>,

    /// Write every run into this folder, prompt by prompt
    #[arg(long, value_name = "DIR")]
    pub transcripts: Option<PathBuf>,

    /// Keep each run in this file as it ends, and make none again that it holds: the same command goes on
    #[arg(long, value_name = "FILE")]
    pub runs: Option<PathBuf>,

    /// List the tasks and leave
    #[arg(long)]
    pub list: bool,

    /// What is logged to standard error, for example "info" or "ccfleet=debug"
    #[arg(long, value_name = "FILTER", default_value = "error")]
    pub log: String,
}

/// A run with the scripted model takes moments; one that takes longer hangs.
const SCRIPTED_WITHIN: Duration = Duration::from_secs(120);
/// A small model on a slow machine needs some minutes for a task.
const SERVED_WITHIN: Duration = Duration::from_secs(1800);
/// How often the progress is told.
const PROGRESS_EVERY: Duration = Duration::from_secs(5);

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().ok();
    let share = share.filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "give a share from 0 to 1, such as 0.3".to_owned())
}

/// Runs the evaluation.
///
/// # Errors
/// Wrong use, or something other than the contenders went wrong.
pub async fn run(args: Args) -> Result<Exit, Failure> {
    telemetry::init(&LogSettings::lines(&args.log))
        .map_err(|text| Failure::new(Exit::Usage, text))?;
    let suite = match &args.suite {
        Some(dir) => Suite::load_own(dir).map_err(|error| Failure::new(Exit::Usage, error))?,
        None => Suite::load().map_err(|error| Failure::new(Exit::Failed, error))?,
    };
    let tasks = suite.matching(&args.tasks);
    if tasks.is_empty() {
        let text = format!(
            "no task is called {:?}; see ccfleet eval --list",
            args.tasks.join(",")
        );
        return Err(Failure::new(Exit::Usage, text));
    }
    if args.list {
        for task in &tasks {
            say!("{}\n  {}", task.name, task.prompt);
        }
        return Ok(Exit::Done);
    }
    let contenders = contenders(&args)?;
    let model = choice(&args).await?;
    say!("model      {}", model.told);
    let kept = args.runs.as_deref();
    let kept = kept.map(|path| RunsFile::open(path, &model.name));
    let kept = kept
        .transpose()
        .map_err(|error| Failure::new(Exit::Usage, error))?;
    let jobs = jobs(&args, &tasks, &contenders);
    let measured = measure(&args, suite, jobs, kept, &model.choice).await?;
    report::tell(&args, &measured, &model.told);
    Ok(if measured.interrupted {
        Exit::Interrupted
    } else {
        Exit::Done
    })
}

/// The strategies that were asked for, and the baseline.
fn contenders(args: &Args) -> Result<Vec<&'static str>, Failure> {
    let mut chosen: Vec<&'static str> = Vec::new();
    for name in &args.strategy {
        let found: Vec<&str> = strategies()
            .filter(|s| name == "all" || name == s)
            .collect();
        if found.is_empty() && name != BASELINE {
            let names = strategies().collect::<Vec<_>>().join(", ");
            let text = format!("there is no strategy {name:?}; there are {names} and all");
            return Err(Failure::new(Exit::Usage, text));
        }
        chosen.extend(found);
    }
    if !args.no_baseline {
        chosen.push(BASELINE);
    }
    Ok(chosen)
}

/// The model that answers.
struct Model {
    choice: ModelChoice,
    /// What it is called wherever its server is.
    name: String,
    /// For people.
    told: String,
}

async fn choice(args: &Args) -> Result<Model, Failure> {
    let Some(server) = &args.model_server else {
        return Ok(Model {
            choice: ModelChoice::Scripted,
            name: "scripted".to_owned(),
            told: format!(
                "scripted, {} % of its answers wrong",
                args.error_rate * 100.0
            ),
        });
    };
    let wish = served::Wish {
        model: args.model.as_deref(),
        server: Some(server),
        dialect: args.dialect,
    };
    let chosen = served::choose(wish).await?;
    Ok(Model {
        choice: ModelChoice::Served {
            settings: chosen.overrides,
            habits: ToolHabits::default(),
        },
        name: chosen.name,
        told: chosen.told,
    })
}

/// What was measured.
struct Measured {
    records: Vec<Record>,
    /// How many of them were read from a file.
    kept: usize,
    /// What went wrong around the runs.
    errors: Vec<String>,
    planned: usize,
    took: Duration,
    interrupted: bool,
}

/// The jobs in their order: every contender's error-free runs first, for the others are measured by them.
fn jobs(args: &Args, tasks: &[Arc<Task>], contenders: &[&'static str]) -> Vec<Job> {
    let scripted = args.model_server.is_none();
    let seeds = args.seeds.unwrap_or(if scripted { 4 } else { 1 });
    let usual = if scripted {
        SCRIPTED_WITHIN
    } else {
        SERVED_WITHIN
    };
    let within = args.run_seconds.map_or(usual, Duration::from_secs);
    let transcripts = args.transcripts.clone().map(Arc::new);
    let first = if scripted { 0 } else { 1 };
    let mut jobs = Vec::new();
    for seed in first..=seeds {
        for contender in contenders {
            for task in tasks {
                jobs.push(Job {
                    task: task.clone(),
                    contender,
                    seed,
                    rate: if seed == 0 || !scripted {
                        0.0
                    } else {
                        args.error_rate
                    },
                    within,
                    transcripts: transcripts.clone(),
                });
            }
        }
    }
    // A new slot costs more than a run: those that need one do not take it from others in between.
    jobs.sort_by_key(|job| (job.seed > 0, job.task.fresh));
    jobs
}

/// Makes the runs that are not kept yet, and keeps them.
async fn measure(
    args: &Args,
    suite: Suite,
    jobs: Vec<Job>,
    mut kept: Option<RunsFile>,
    model: &ModelChoice,
) -> Result<Measured, Failure> {
    let failed = |error: std::io::Error| Failure::new(Exit::Failed, error);
    let planned = jobs.len();
    let (records, jobs) = match &kept {
        Some(file) => file.divide(jobs),
        None => (Vec::new(), jobs),
    };
    let threads = threads(args).min(jobs.len());
    let dir = folder();
    let mut signals = Signals::new().map_err(failed)?;
    let started = Instant::now();
    let mut pool =
        Pool::start(Arc::new(suite), jobs, model.clone(), dir.clone(), threads).map_err(failed)?;
    let mut measured = Measured {
        kept: records.len(),
        records,
        errors: Vec::new(),
        planned,
        took: Duration::ZERO,
        interrupted: false,
    };
    let mut ticks = tokio::time::interval(PROGRESS_EVERY);
    loop {
        tokio::select! {
            done = pool.next() => match done {
                Some(Ok(record)) => take(args, &mut measured, kept.as_mut(), record),
                Some(Err(error)) => measured.errors.push(error),
                None => break,
            },
            () = signals.next() => {
                measured.interrupted = true;
                eprintln!("stopping; what was measured is printed");
                break;
            }
            _ = ticks.tick() => {
                tell_progress(&measured, started);
                if args.seconds.is_some_and(|s| started.elapsed() >= Duration::from_secs(s)) {
                    pool.stop();
                }
            }
        }
    }
    measured.took = started.elapsed();
    pool.join().await;
    // What cannot be removed is in the system's folder for such things.
    let _ = std::fs::remove_dir_all(dir);
    Ok(measured)
}

/// Servers that run beside each other.
fn threads(args: &Args) -> usize {
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    match (&args.model_server, args.jobs) {
        (_, Some(jobs)) => usize::from(jobs),
        (None, None) => cores * 2,
        (Some(_), None) => 1,
    }
}

/// Takes a run that ended.
fn take(args: &Args, measured: &mut Measured, kept: Option<&mut RunsFile>, record: Record) {
    // A run of a real model takes minutes: who waits is told of each.
    if args.model_server.is_some() {
        eprintln!("{}", figures::in_one_line(&record));
    }
    if let Some(Err(error)) = kept.map(|file| file.append(&record)) {
        measured.errors.push(error.to_string());
    }
    measured.records.push(record);
}

fn folder() -> PathBuf {
    std::env::temp_dir().join(format!("ccfleet-eval-{}", ulid::Ulid::generate()))
}

fn tell_progress(measured: &Measured, started: Instant) {
    let done = measured.records.len();
    let failed = measured.records.iter().filter(|r| !r.success()).count();
    eprintln!(
        "{done} of {} runs, {failed} of them failed, {} s",
        measured.planned,
        started.elapsed().as_secs()
    );
}
