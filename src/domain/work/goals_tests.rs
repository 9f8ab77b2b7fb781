//! A goal's state over the course of its subtasks.

use super::*;
use proptest::prelude::*;

fn plan(objectives: &[usize]) -> Vec<ObjectivePlan> {
    let subtask = |n: usize| SubtaskPlan {
        description: format!("write /{n}.lua"),
        tool: "fs_write".into(),
        targets: vec![format!("/{n}.lua")],
        on: None,
        needs_change: true,
        writes: vec![format!("/{n}.lua")],
    };
    let objective = |count: &usize| ObjectivePlan {
        description: "write".into(),
        subtasks: (1..=*count).map(subtask).collect(),
    };
    objectives.iter().map(objective).collect()
}

fn work(objectives: &[usize]) -> GoalWork {
    GoalWork::new(plan(objectives), MadeBy::Model, 1)
}

const WROTE: CallEnds = CallEnds {
    succeeded: 1,
    changed: 1,
    failed: 0,
};

#[test]
fn marks_go_through_the_subtasks_in_order_until_the_goal_is_achieved() {
    let mut work = work(&[2, 1]);
    for (step, place) in [(2, "1.1"), (4, "1.2"), (6, "2.1")] {
        assert_eq!(work.current().unwrap().0.to_string(), place);
        assert_eq!(work.standing(), Standing::UnderWay);
        work.calls_ended(WROTE);
        work.marked(true, "written", step);
    }
    assert_eq!(work.standing(), Standing::Achieved);
    assert_eq!(work.status_line(), "3 of 3 subtasks are done");
    assert_eq!(work.told[&4], "subtask 1.2 is complete");
}

#[test]
fn what_was_done_ahead_of_its_turn_counts_for_its_subtask() {
    let mut work = work(&[2, 1]);
    let call = |work: &mut GoalWork, path: &str| {
        work.done_ahead(|plan| plan.targets == [path]);
        work.calls_ended(WROTE);
    };
    // What the current subtask names is done for it alone, also where a later one names it, too.
    call(&mut work, "/1.lua");
    call(&mut work, "/2.lua");
    work.marked(true, "both are written", 4);
    let (place, subtask) = work.current().unwrap();
    assert_eq!((place.to_string().as_str(), subtask.lacks()), ("1.2", None));
    work.marked(true, "was written", 5);
    assert!(
        work.current().unwrap().1.lacks().is_some(),
        "2.1 writes /1.lua once more"
    );
}

#[test]
fn a_subtask_needs_an_action_of_its_own_that_could_have_done_it() {
    let mut work = work(&[2]);
    let lacks = |work: &GoalWork| work.current().unwrap().1.lacks();
    assert!(lacks(&work).unwrap().contains("no action"));
    let read = CallEnds {
        succeeded: 1,
        ..CallEnds::default()
    };
    work.calls_ended(read);
    assert!(lacks(&work).unwrap().contains("changed nothing"));
    work.calls_ended(WROTE);
    assert_eq!(lacks(&work), None);
    work.marked(true, "", 3);
    assert!(lacks(&work).is_some(), "the next one starts anew");
}

#[test]
fn looks_at_the_files_of_a_claim_are_no_actions_and_a_refused_claim_is_told() {
    let mut work = work(&[1]);
    work.claimed("it is there", 3);
    work.calls_ended(WROTE);
    assert!(work.claim.as_ref().unwrap().looked);
    assert_eq!(work.current().unwrap().1.succeeded, 0);
    work.refused("/1.lua does not exist");
    assert_eq!(work.told[&3], "NOT accepted: /1.lua does not exist");
    assert!(work.claim.is_none());
}

#[test]
fn a_new_plan_takes_the_place_of_all_that_is_not_done() {
    let mut work = work(&[3]);
    work.marked(true, "", 2);
    work.marked(false, "no space", 3);
    assert_eq!(work.standing(), Standing::Failed);
    assert!(work.failed_now);
    work.replanned(plan(&[1]), MadeBy::Model, 4);
    assert_eq!(work.standing(), Standing::UnderWay);
    assert_eq!(work.current().unwrap().0.to_string(), "2.1");
    work.marked(true, "", 5);
    assert_eq!(work.standing(), Standing::Achieved);
    assert_eq!(work.status_line(), "2 of 2 subtasks are done");
}

#[test]
fn without_a_new_plan_what_failed_has_failed() {
    let mut work = work(&[2]);
    work.marked(false, "no space", 3);
    work.replanned(vec![], MadeBy::Rules, 4);
    assert_eq!(
        (work.standing(), work.failed_now),
        (Standing::Failed, false)
    );
    assert!(
        work.status_line()
            .contains("failed: 1.1 write /1.lua; open: 1.2")
    );
}

proptest! {
    #[test]
    fn done_stays_done_and_no_order_of_events_breaks_the_books(
        moves in prop::collection::vec((0u32..6, any::<bool>(), 0usize..3), 0..30)
    ) {
        let mut work = work(&[2, 2]);
        for (step, (kind, yes, n)) in moves.into_iter().enumerate() {
            let done = |work: &GoalWork| -> Vec<String> {
                let done = work.subtasks().filter(|(_, s)| s.state == SubtaskState::Done);
                done.map(|(place, _)| place.to_string()).collect()
            };
            let before = done(&work);
            match kind {
                0 => work.marked(yes, "r", step as u32),
                1 => work.claimed("r", step as u32),
                2 => work.refused("w"),
                3 => work.replanned(plan(&vec![1; n]), MadeBy::Model, step as u32),
                _ => work.calls_ended(if yes { WROTE } else { CallEnds::default() }),
            }
            let after = done(&work);
            prop_assert!(before.iter().all(|place| after.contains(place)));
            prop_assert_eq!(work.current().is_some(), work.subtasks().any(|(_, s)| s.state == SubtaskState::Open));
            prop_assert!(work.status().is_object());
        }
    }
}
