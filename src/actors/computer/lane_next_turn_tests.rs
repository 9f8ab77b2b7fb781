//! The turn that a task has behind its own call, before the outcome of that is durable.

use super::*;

#[test]
fn a_task_that_was_told_the_outcome_has_the_next_turn_before_it_is_stored_and_nobody_else_has_one()
{
    let mut b = Bench::new();
    b.sent(1, "dig").place(2, "dig");
    assert_eq!(b.said(), ["2 queued 0"], "it still runs");
    b.lane.cancel(&id(2), T0, &mut b.acts);
    b.lane.answered(&id(1), done(), T0, &mut b.acts);
    b.said();
    b.place(3, "dig")
        .place_of_another(4, "write")
        .place(5, "dig");
    assert_eq!(b.said(), ["3 granted Some(2)", "4 queued 0", "5 queued 1"]);
    assert_eq!(b.lane.current_call().unwrap().0, &id(3));
    // Outcome and intent are durable together.
    b.lane.outcome_stored(&id(1), T0, &mut b.acts);
    b.lane.dispatch(&id(3), T0, &mut b.acts);
    assert_eq!(b.said(), ["> stored 1", "> call 3 #1"]);
}

#[test]
fn another_life_of_the_task_and_one_whose_call_may_still_run_wait_for_the_outcome_to_be_stored() {
    let mut b = Bench::new();
    b.sent(1, "dig").said();
    b.lane.answered(&id(1), done(), T0, &mut b.acts);
    let later = Reservation {
        generation: Generation(2),
        ..reservation(2, "dig")
    };
    b.said();
    b.lane.place(later, T0, &mut b.acts);
    assert_eq!(b.said(), ["2 queued 0"]);

    let mut b = Bench::new();
    b.sent(1, "dig");
    b.lane.receipt(&id(1), Receipt::Unknown, T0, &mut b.acts);
    assert_eq!(b.said(), ["1 unknown receipt_unknown"]);
    b.place(2, "dig");
    assert_eq!(b.said(), ["2 queued 0"]);
}
