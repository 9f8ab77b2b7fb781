use super::*;
use proptest::prelude::*;
use serde_json::json;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Task(u64);

impl Reply for Task {
    fn is_alive(&self) -> bool {
        true
    }
}

const T0: Duration = Duration::ZERO;

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn task_id() -> TaskId {
    TaskId::from_unique("01").unwrap()
}

fn id(n: u64) -> CallId {
    CallId::derive(&task_id(), Generation(1), n, 0)
}

fn tools() -> Toolbox {
    let list = [
        json!({"name": "dig"}),
        json!({"name": "write", "effect": "idempotent"}),
        json!({"name": "look", "effect": "read"}),
        json!({"name": "old", "state": "retired"}),
        json!({"name": "new", "state": "draft"}),
    ];
    serde_json::from_value(json!(list)).unwrap()
}

fn link(boot: &str) -> Link {
    Link {
        boot_id: boot.into(),
        legacy: false,
        high_seq: None,
        later_epoch: false,
    }
}

fn reservation(n: u64, tool: &str) -> Reservation<Task> {
    Reservation {
        task_id: task_id(),
        generation: Generation(1),
        call_id: id(n),
        tool: tool.into(),
        args: json!({"n": n}).into(),
        timeout_ms: None,
        reply: Task(n),
        since: T0,
    }
}

fn intended(n: u64, seq: u64) -> CallIntended {
    CallIntended {
        call_id: id(n),
        client_id: ClientId::parse("cc").unwrap(),
        seq: Some(seq),
        tool: "dig".into(),
        tool_rev: "rev".into(),
        effect: EffectClass::Effect,
        args: json!({}),
        args_hash: "arg".into(),
        timeout_ms: 1000,
        boot_id: Some("boot-1".into()),
    }
}

fn done() -> CallReport {
    CallReport {
        outcome: Outcome::Done,
        result: Some(json!({})),
        error: None,
        code: None,
        duration_ms: None,
        truncated: false,
    }
}

/// A lane that is online, and the short words that its acts are told by.
struct Bench {
    lane: Lane<Task>,
    acts: Vec<Act<Task>>,
}

impl Bench {
    fn new() -> Self {
        let mut bench = Bench::offline(0);
        bench.lane.attach(link("boot-1"), T0, &mut bench.acts);
        bench
    }

    fn offline(high_seq: u64) -> Self {
        let client_id = ClientId::parse("cc").unwrap();
        let mut lane = Lane::new(client_id, high_seq, 0, LaneLimits::default());
        let mut acts = Vec::new();
        lane.set_tools(tools(), T0, &mut acts);
        Bench { lane, acts }
    }

    fn place(&mut self, n: u64, tool: &str) -> &mut Self {
        self.lane.place(reservation(n, tool), T0, &mut self.acts);
        self
    }

    /// Of another task.
    fn place_of_another(&mut self, n: u64, tool: &str) -> &mut Self {
        let mut call = reservation(n, tool);
        call.task_id = TaskId::from_unique("02").unwrap();
        self.lane.place(call, T0, &mut self.acts);
        self
    }

    fn sent(&mut self, n: u64, tool: &str) -> &mut Self {
        self.place(n, tool);
        self.lane.dispatch(&id(n), T0, &mut self.acts);
        self.said();
        self
    }

    fn reconnect(&mut self, boot: &str, now: Duration) -> &mut Self {
        self.lane.detach(now, &mut self.acts);
        self.lane.attach(link(boot), now, &mut self.acts);
        self
    }

    /// What was said since the last look.
    fn said(&mut self) -> Vec<String> {
        let words = std::mem::take(&mut self.acts);
        let words = words.iter().map(word);
        // Told at every coming and going; it has a test of its own.
        words.filter(|word| !word.contains(" away ")).collect()
    }
}

fn position(call_id: &CallId) -> u64 {
    (0..10_000).find(|n| &id(*n) == call_id).unwrap()
}

fn word(act: &Act<Task>) -> String {
    match act {
        Act::Tell { fact, .. } => {
            let n = position(&fact.call_id);
            match &fact.what {
                CallNews::Queued { offline, ahead, .. } => {
                    format!(
                        "{n} queued {ahead}{}",
                        if *offline { " offline" } else { "" }
                    )
                }
                CallNews::TurnGranted { seq, .. } => format!("{n} granted {seq:?}"),
                CallNews::NotPlaced(why) => format!("{n} not placed {:?}", why.reason),
                CallNews::Progress { .. } => format!("{n} progress"),
                CallNews::Away(away) => format!("{n} away {away}"),
                CallNews::Settled(report) => {
                    let code = report.code.as_deref().unwrap_or("-");
                    format!("{n} {} {code}", report.outcome.as_str())
                }
            }
        }
        Act::Send(ServerMessage::CommandCall(call)) => {
            format!(
                "> call {} #{}",
                position(&call.call_id),
                call.delivery.unwrap()
            )
        }
        Act::Send(ServerMessage::CommandCancel(call)) => {
            format!("> cancel {}", position(&call.call_id))
        }
        Act::Send(ServerMessage::CallStatus(call)) => {
            format!("> status {}", position(&call.call_id))
        }
        Act::Send(ServerMessage::ResultStored(stored)) => {
            format!("> stored {}", position(&stored.call_id))
        }
        Act::Send(other) => format!("> {other:?}"),
        Act::Late { call_id, .. } => format!("late {}", position(call_id)),
        Act::Note(note) => format!("note {note:?}"),
    }
}

#[test]
fn a_call_goes_from_reservation_to_stored_result() {
    let mut b = Bench::new();
    b.place(1, "dig");
    assert_eq!(b.said(), ["1 granted Some(1)"]);
    b.lane.dispatch(&id(1), T0, &mut b.acts);
    b.lane.answered(&id(1), done(), T0, &mut b.acts);
    b.lane.outcome_stored(&id(1), T0, &mut b.acts);
    assert_eq!(b.said(), ["> call 1 #1", "1 done -", "> stored 1"]);
    assert_eq!(b.lane.running(), 0);
}

#[test]
fn one_change_and_two_reads_run_side_by_side_and_the_rest_waits() {
    let mut b = Bench::new();
    for (n, tool) in [
        (1, "dig"),
        (2, "write"),
        (3, "look"),
        (4, "look"),
        (5, "look"),
    ] {
        b.place(n, tool);
    }
    assert_eq!(
        b.said(),
        [
            "1 granted Some(1)",
            "2 queued 0",
            "3 granted None",
            "4 granted None",
            "5 queued 1"
        ]
    );
}

#[test]
fn the_next_change_of_another_task_is_granted_only_after_the_outcome_is_stored() {
    let mut b = Bench::new();
    b.sent(1, "dig").place_of_another(2, "dig").said();
    b.lane.answered(&id(1), done(), T0, &mut b.acts);
    assert_eq!(b.said(), ["1 done -"]);
    b.lane.outcome_stored(&id(1), T0, &mut b.acts);
    assert_eq!(b.said(), ["> stored 1", "2 granted Some(2)"]);
}

#[test]
fn tools_that_cannot_be_called_are_refused_with_a_reason() {
    let mut b = Bench::new();
    b.place(1, "fly").place(2, "old").place(3, "new");
    assert_eq!(
        b.said(),
        [
            "1 not placed UnknownTool",
            "2 not placed UnknownTool",
            "3 not placed ToolDraft"
        ]
    );
}

#[test]
fn a_full_queue_is_busy() {
    let mut b = Bench::offline(0);
    (0..=64).for_each(|n| {
        b.place(n, "dig");
    });
    assert_eq!(b.said().last().unwrap(), "64 not placed Busy");
}

#[test]
fn an_offline_or_silent_computer_gets_no_turns() {
    let mut b = Bench::offline(6);
    b.place(1, "dig");
    assert_eq!(b.said(), ["1 queued 0 offline"]);
    b.lane.attach(link("boot-1"), T0, &mut b.acts);
    assert_eq!(b.said(), ["1 queued 0", "1 granted Some(7)"]);
    b.lane.set_responsive(false, T0, &mut b.acts);
    b.place(2, "look");
    assert_eq!(b.said(), ["2 queued 0 offline"]);
    b.lane.set_responsive(true, T0, &mut b.acts);
    assert_eq!(b.said(), ["2 queued 0", "2 granted None"]);
}

#[test]
fn a_deadline_asks_to_cancel_and_ends_unknown_after_the_grace_time() {
    let mut b = Bench::new();
    b.sent(1, "dig");
    assert_eq!(b.lane.next_deadline(), Some(at(60)));
    b.lane.tick(at(60), &mut b.acts);
    assert_eq!(b.said(), ["> cancel 1"]);
    b.lane.tick(at(65), &mut b.acts);
    assert_eq!(b.said(), ["1 unknown timeout"]);
    b.lane.outcome_stored(&id(1), at(65), &mut b.acts);
    assert_eq!(
        b.said(),
        Vec::<String>::new(),
        "the receipt of an unknown call stays"
    );
}

#[test]
fn a_call_that_its_deadline_ended_says_so_although_the_computer_says_cancelled() {
    let stopped = || CallReport {
        outcome: Outcome::Failed,
        ..CallReport::without_answer(Outcome::Failed, "cancelled", "cancelled")
    };
    let mut b = Bench::new();
    b.sent(1, "dig");
    b.lane.tick(at(60), &mut b.acts);
    b.lane.answered(&id(1), stopped(), at(60), &mut b.acts);
    assert_eq!(b.said(), ["> cancel 1", "1 failed timeout"]);
    // What somebody cancelled stays cancelled.
    let mut b = Bench::new();
    b.sent(1, "dig");
    b.lane.cancel(&id(1), T0, &mut b.acts);
    b.lane.answered(&id(1), stopped(), at(1), &mut b.acts);
    assert_eq!(b.said(), ["> cancel 1", "1 failed cancelled"]);
}

#[test]
fn an_unknown_call_is_resolved_once_by_a_late_answer() {
    let mut b = Bench::new();
    b.sent(1, "dig");
    b.lane.tick(at(60), &mut b.acts);
    b.lane.tick(at(65), &mut b.acts);
    b.lane.outcome_stored(&id(1), at(65), &mut b.acts);
    b.said();
    b.lane.answered(&id(1), done(), at(90), &mut b.acts);
    b.lane.outcome_stored(&id(1), at(90), &mut b.acts);
    b.lane.answered(&id(1), done(), at(91), &mut b.acts);
    assert_eq!(b.said(), ["1 done -", "> stored 1", "> stored 1"]);
}

#[test]
fn a_late_answer_between_telling_and_storing_is_stored_itself_before_the_receipt_goes() {
    let mut b = Bench::new();
    b.sent(1, "dig");
    b.lane.tick(at(60), &mut b.acts);
    b.lane.tick(at(65), &mut b.acts);
    b.lane.answered(&id(1), done(), at(65), &mut b.acts);
    assert_eq!(b.said(), ["> cancel 1", "1 unknown timeout", "1 done -"]);
    b.lane.outcome_stored(&id(1), at(65), &mut b.acts);
    assert_eq!(b.said(), Vec::<String>::new());
    b.lane.outcome_stored(&id(1), at(65), &mut b.acts);
    assert_eq!(b.said(), ["> stored 1"]);
}

#[test]
fn after_a_reconnect_effects_are_asked_about_and_others_sent_again() {
    let mut b = Bench::new();
    b.sent(1, "dig").sent(2, "look");
    b.reconnect("boot-1", at(1));
    assert_eq!(b.said(), ["> status 1", "> call 2 #2"]);
    b.lane
        .receipt(&id(1), Receipt::NotStarted, at(1), &mut b.acts);
    assert_eq!(b.said(), ["> call 1 #2"]);
    // The answer to a question that was asked before it was sent again.
    b.lane
        .receipt(&id(1), Receipt::NotStarted, at(1), &mut b.acts);
    assert_eq!(b.said(), Vec::<String>::new());
}

#[test]
fn a_call_that_runs_on_is_waited_for_and_one_that_died_with_its_program_is_unknown() {
    let mut b = Bench::new();
    b.sent(1, "dig").reconnect("boot-1", at(1));
    b.lane.receipt(&id(1), Receipt::Started, at(1), &mut b.acts);
    assert_eq!(b.said(), ["> status 1"]);
    b.reconnect("boot-2", at(2));
    b.lane.receipt(&id(1), Receipt::Started, at(2), &mut b.acts);
    assert_eq!(b.said(), ["> status 1", "1 unknown rebooted"]);
}

#[test]
fn a_question_about_a_call_is_asked_again_when_it_gets_no_answer() {
    let mut b = Bench::new();
    b.sent(1, "dig").reconnect("boot-1", at(1)).said();
    b.lane.tick(at(11), &mut b.acts);
    assert_eq!(b.said(), ["> status 1"]);
}

#[test]
fn a_call_dispatched_while_offline_is_sent_once_the_same_program_is_back() {
    let mut b = Bench::new();
    b.place(1, "dig").place(2, "look");
    b.lane.detach(T0, &mut b.acts);
    b.lane.dispatch(&id(1), T0, &mut b.acts);
    b.lane.dispatch(&id(2), T0, &mut b.acts);
    b.said();
    b.lane.attach(link("boot-1"), at(1), &mut b.acts);
    assert_eq!(b.said(), ["> call 1 #1", "> call 2 #1"]);
}

#[test]
fn an_effect_goes_to_the_program_that_it_is_journalled_for_and_to_no_other() {
    let mut b = Bench::new();
    b.place(1, "dig").place(2, "look").said();
    b.lane.detach(T0, &mut b.acts);
    b.lane.dispatch(&id(1), T0, &mut b.acts);
    b.lane.dispatch(&id(2), T0, &mut b.acts);
    b.lane.attach(link("boot-2"), at(1), &mut b.acts);
    assert_eq!(
        b.said(),
        ["1 not_started computer_restarted", "> call 2 #1"]
    );
}

#[test]
fn another_start_of_the_program_cannot_say_that_a_call_did_not_start() {
    // Its disk may have been put back to a time before the call.
    let mut b = Bench::new();
    b.sent(1, "dig").reconnect("boot-2", at(1));
    b.lane
        .receipt(&id(1), Receipt::NotStarted, at(1), &mut b.acts);
    assert_eq!(b.said(), ["> status 1", "1 unknown rebooted"]);
}

#[test]
fn a_call_that_is_adopted_late_is_not_taken_for_one_of_a_restored_computer() {
    // Results stored on this very connection prove nothing about the disk with which it began.
    let mut b = Bench::offline(0);
    let begun = Link {
        high_seq: Some(0),
        ..link("boot-1")
    };
    b.lane.attach(begun, T0, &mut b.acts);
    b.sent(1, "dig");
    b.lane.answered(&id(1), done(), T0, &mut b.acts);
    b.lane.outcome_stored(&id(1), T0, &mut b.acts);
    b.said();
    let intended = intended(2, 2);
    b.lane
        .adopt(task_id(), Generation(2), intended, Task(2), T0, &mut b.acts);
    assert_eq!(b.said(), ["> status 2"]);
}

#[test]
fn who_has_an_open_call_hears_when_its_computer_goes_and_comes() {
    let mut b = Bench::new();
    b.sent(1, "look").reconnect("boot-1", at(1));
    let words: Vec<String> = b.acts.iter().map(word).collect();
    assert_eq!(words, ["1 away true", "1 away false", "> call 1 #2"]);
}

#[test]
fn a_client_of_document_001_is_never_sent_a_call_twice() {
    let mut b = Bench::offline(0);
    let legacy = Link {
        legacy: true,
        ..link("c1")
    };
    b.lane.attach(legacy.clone(), T0, &mut b.acts);
    b.sent(1, "look");
    b.lane.detach(at(1), &mut b.acts);
    assert_eq!(b.said(), ["1 unknown connection_lost"]);
    b.lane.attach(legacy, at(2), &mut b.acts);
    assert_eq!(b.said(), Vec::<String>::new());
}

#[test]
fn a_computer_that_saw_higher_numbers_than_the_journal_gets_no_effects() {
    let mut b = Bench::offline(4);
    let ahead = Link {
        high_seq: Some(5),
        ..link("b")
    };
    b.lane.attach(ahead, T0, &mut b.acts);
    b.place(1, "dig").place(2, "look");
    assert_eq!(
        b.said(),
        [
            "note JournalOlder { computer: 5, granted: 4 }",
            "1 not placed Stopped",
            "2 granted None"
        ]
    );
}

#[test]
fn the_open_effect_of_a_computer_restored_from_a_backup_is_unknown() {
    let mut b = Bench::new();
    b.sent(1, "dig");
    b.lane.answered(&id(1), done(), T0, &mut b.acts);
    b.lane.outcome_stored(&id(1), T0, &mut b.acts);
    b.sent(2, "dig");
    let behind = Link {
        high_seq: Some(0),
        ..link("b2")
    };
    b.lane.attach(behind, at(1), &mut b.acts);
    assert_eq!(
        b.said(),
        [
            "note ComputerRestored { computer: 0, stored: 1 }",
            "2 unknown restored"
        ]
    );
}

#[test]
fn cancelling_drops_what_waits_and_withdraws_what_never_left() {
    let mut b = Bench::new();
    b.sent(1, "dig").place(2, "dig").said();
    b.lane.cancel(&id(2), T0, &mut b.acts);
    b.lane.cancel(&id(1), T0, &mut b.acts);
    b.lane.not_sent(&id(1), NotSent::Withdrawn, T0, &mut b.acts);
    assert_eq!(
        b.said(),
        [
            "2 not_started cancelled",
            "> cancel 1",
            "1 not_started cancelled"
        ]
    );
}

#[test]
fn an_adopted_call_is_asked_about_or_takes_the_result_that_came_before_it() {
    let mut b = Bench::new();
    b.lane.adopt(
        task_id(),
        Generation(2),
        intended(1, 9),
        Task(1),
        T0,
        &mut b.acts,
    );
    assert_eq!(b.said(), ["> status 1"]);
    assert_eq!(b.lane.high_seq(), 9);

    let mut b = Bench::new();
    b.lane.answered(&id(2), done(), T0, &mut b.acts);
    let mut said = b.said();
    assert_eq!(said.pop().unwrap(), "late 2");
    b.lane.adopt(
        task_id(),
        Generation(2),
        intended(2, 9),
        Task(2),
        T0,
        &mut b.acts,
    );
    assert_eq!(b.said(), ["2 done -"]);
}

#[test]
fn a_result_that_the_journal_knows_is_confirmed_again() {
    let mut b = Bench::new();
    b.lane.answered(&id(1), done(), T0, &mut b.acts);
    b.said();
    b.lane.found_stored(&id(1), T0, &mut b.acts);
    b.lane.answered(&id(1), done(), T0, &mut b.acts);
    assert_eq!(b.said(), ["> stored 1", "> stored 1"]);
}

#[test]
fn a_turn_that_is_not_used_lapses_and_frees_the_lane() {
    let mut b = Bench::new();
    b.place(1, "dig").place(2, "dig").said();
    b.lane.tick(at(60), &mut b.acts);
    let said = b.said();
    assert!(said.contains(&"1 not_started turn_lapsed".to_owned()));
    assert_eq!(said.last().unwrap(), "2 granted Some(2)");
}

#[test]
fn a_task_that_was_started_again_gets_the_same_turn() {
    let mut b = Bench::new();
    b.place(1, "dig").place(1, "dig");
    assert_eq!(b.said(), ["1 granted Some(1)", "1 granted Some(1)"]);
}

#[path = "lane_late_tests.rs"]
mod late;

#[path = "lane_next_turn_tests.rs"]
mod next_turn;

#[path = "schedules/mod.rs"]
mod schedules;
