//! The count at the end: the marks on the disks beside what the journal says of each call.

mod lives;

use super::parts::Fate;
use super::voice::Mark;
use crate::domain::call::Outcome;
pub use lives::Lives;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// What a call was to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    Mark,
    Look,
}

/// A call as the journal has it.
#[derive(Debug, Clone, PartialEq)]
pub struct CallSeen {
    pub call_id: String,
    pub deed: Deed,
    pub mark: Mark,
    /// One after another: an `unknown` may be settled later.
    pub outcomes: Vec<Outcome>,
    /// That of the last outcome.
    pub result: Option<Value>,
    /// Its task was cancelled while it was open: it was told to stop in the middle.
    pub cut_short: bool,
}

/// How a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum End {
    #[default]
    Open,
    Completed,
    Failed,
    Cancelled,
}

impl End {
    /// The status of a task that ended so.
    pub fn as_str(self) -> &'static str {
        match self {
            End::Open => "open",
            End::Completed => "completed",
            End::Failed => "failed",
            End::Cancelled => "cancelled",
        }
    }
}

/// A task as the journal has it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TaskSeen {
    /// As its prompt says.
    pub number: Option<usize>,
    pub strategy: String,
    pub parent: Option<String>,
    pub end: End,
    /// How it stands, for people.
    pub status: String,
    /// In the order of their intents.
    pub calls: Vec<CallSeen>,
    /// Calls whose intents came after the task had been cancelled.
    pub begun_after_cancel: Vec<String>,
    /// By their questions.
    pub answers: BTreeMap<String, String>,
    /// Children whose ends it was told, and as what.
    pub children_told: Vec<(String, String)>,
    /// Numbers of wakes that it knows of.
    pub wakes: BTreeSet<u64>,
    /// Those that began episodes.
    pub woken_by: Vec<u64>,
    /// Episodes that ended.
    pub episodes: usize,
}

/// All that is known.
#[derive(Debug, Default)]
pub struct Evidence {
    /// Tasks that the server confirmed to have taken, by number.
    pub accepted: BTreeMap<usize, String>,
    /// Answers that it confirmed, by their questions.
    pub answers: BTreeMap<String, String>,
    /// Numbers of wakes that it confirmed.
    pub wakes: BTreeSet<u64>,
    /// By their ids.
    pub tasks: HashMap<String, TaskSeen>,
    /// The lines on the disks: which mark, by which call.
    pub marks: Vec<(Mark, String)>,
    /// How often the handler of an effect was entered, as the computers wrote down.
    pub entries: HashMap<String, usize>,
    /// Calls that were in flight when their computer died.
    pub explained: HashSet<String>,
    /// What is wrong with the journal itself, one line each.
    pub damage: Vec<String>,
    /// Tasks whose decisions come out otherwise when they are made again, one line each.
    pub differing: Vec<String>,
    /// False if it was stopped in the middle: what is open then is not lost.
    pub finished: bool,
}

/// What the count came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    pub calls: usize,
    pub marks: usize,
    pub lost_tasks: usize,
    pub duplicate_effects: usize,
    pub lost_calls: usize,
    pub wrong_results: usize,
    pub unknown_outcomes: usize,
    pub unexplained_unknown: usize,
    pub damage: usize,
    pub replays_differ: usize,
    pub lost_answers: usize,
    pub lost_wakes: usize,
    pub lives: Lives,
    /// One line for each broken promise.
    pub complaints: Vec<String>,
}

impl Verdict {
    /// Whether every promise was kept.
    pub fn is_clean(&self) -> bool {
        let broken = self.lost_tasks
            + self.duplicate_effects
            + self.lost_calls
            + self.wrong_results
            + self.unexplained_unknown
            + self.damage
            + self.replays_differ
            + self.lost_answers
            + self.lost_wakes;
        broken == 0
    }
}

/// Counts.
pub fn count(evidence: &Evidence) -> Verdict {
    let mut count = Count::new(evidence);
    for (number, task_id) in &evidence.accepted {
        count.given(*number, task_id);
    }
    let mut tasks: Vec<_> = evidence.tasks.iter().collect();
    tasks.sort_by_key(|(id, _)| *id);
    for (id, task) in tasks {
        for call in &task.calls {
            count.call(id, call);
        }
        count.looks(id, task);
        count.names(id, task);
        count.life(id, task);
    }
    count.families();
    count.promises();
    count.marks_of_nobody();
    count.verdict
}

struct Count<'a> {
    evidence: &'a Evidence,
    by_call: HashMap<&'a str, usize>,
    by_mark: HashMap<(usize, u32), usize>,
    verdict: Verdict,
}

impl<'a> Count<'a> {
    fn new(evidence: &'a Evidence) -> Self {
        let (mut by_call, mut by_mark) = (HashMap::new(), HashMap::new());
        for (mark, call_id) in &evidence.marks {
            *by_call.entry(call_id.as_str()).or_default() += 1;
            *by_mark.entry((mark.task, mark.number)).or_default() += 1;
        }
        let complaints = evidence.damage.iter().chain(&evidence.differing);
        let verdict = Verdict {
            marks: evidence.marks.len(),
            damage: evidence.damage.len(),
            replays_differ: evidence.differing.len(),
            complaints: complaints.cloned().collect(),
            ..Verdict::default()
        };
        Count {
            evidence,
            by_call,
            by_mark,
            verdict,
        }
    }

    fn complain(&mut self, text: String) {
        self.verdict.complaints.push(text);
    }

    fn call(&mut self, task_id: &str, call: &CallSeen) {
        self.verdict.calls += 1;
        let id = &call.call_id;
        let marks = self.by_call.get(id.as_str()).copied().unwrap_or_default();
        let entries = self.evidence.entries.get(id).copied().unwrap_or_default();
        let at = format!("{task_id} call {id} ({})", call.mark);
        if marks > 1 || entries > 1 {
            self.verdict.duplicate_effects += 1;
            self.complain(format!("{at}: entered {entries} times, left {marks} marks"));
        }
        if call.outcomes.first() == Some(&Outcome::Unknown) {
            self.verdict.unknown_outcomes += 1;
            if !self.evidence.explained.contains(id) && !call.cut_short {
                self.verdict.unexplained_unknown += 1;
                self.complain(format!("{at}: unknown, though its computer lived on"));
            }
        }
        let Some(last) = call.outcomes.last() else {
            if self.evidence.finished {
                self.verdict.lost_calls += 1;
                self.complain(format!("{at}: has no outcome"));
            }
            return;
        };
        match last {
            Outcome::Done => self.done(&at, call, marks),
            // It was stopped, perhaps behind its mark.
            Outcome::Failed if call.cut_short => {}
            Outcome::Failed | Outcome::NotStarted if marks > 0 => {
                self.verdict.wrong_results += 1;
                self.complain(format!("{at}: {}, but it left its mark", last.as_str()));
            }
            Outcome::Failed | Outcome::NotStarted | Outcome::Unknown => {}
        }
    }

    fn done(&mut self, at: &str, call: &CallSeen, marks: usize) {
        if call.deed == Deed::Mark && marks == 0 {
            self.verdict.lost_calls += 1;
            self.complain(format!("{at}: done, but there is no mark"));
        }
        let told = |name: &str| call.result.as_ref()?.get(name)?.as_str().map(str::to_owned);
        let own_mark = told("mark").is_some_and(|mark| mark == call.mark.to_string());
        let own_call =
            call.deed == Deed::Look || told("call_id").is_some_and(|id| id == call.call_id);
        if !own_mark || !own_call {
            self.verdict.wrong_results += 1;
            self.complain(format!(
                "{at}: the result is another call's: {:?}",
                call.result
            ));
        }
    }

    /// A look has to see what the calls before it left.
    fn looks(&mut self, task_id: &str, task: &TaskSeen) {
        for (at, look) in task.calls.iter().enumerate() {
            let done = look.outcomes.last() == Some(&Outcome::Done);
            if look.deed != Deed::Look || !done {
                continue;
            }
            let seen = look.result.as_ref().and_then(|r| r.get("count"));
            let seen = seen.and_then(Value::as_u64).unwrap_or(u64::MAX);
            let before = task.calls.iter().take(at);
            let before = before.filter(|c| c.deed == Deed::Mark && c.mark == look.mark);
            // A handler that was entered before the look has ended before it, or died with its computer.
            let left: usize = before
                .map(|c| {
                    self.by_call
                        .get(c.call_id.as_str())
                        .copied()
                        .unwrap_or_default()
                })
                .sum();
            if seen != left as u64 {
                self.verdict.wrong_results += 1;
                let id = &look.call_id;
                self.complain(format!(
                    "{task_id} look {id} at {}: saw {seen}, but there were {left}",
                    look.mark
                ));
            }
        }
    }

    /// Every name once, none left out.
    fn names(&mut self, task_id: &str, task: &TaskSeen) {
        let marks = task.calls.iter().filter(|call| call.deed == Deed::Mark);
        let last = marks
            .map(|call| (call.mark.number, call.mark))
            .max_by_key(|m| m.0);
        let Some((last, mark)) = last else { return };
        // Who is cancelled may be so before its last mark.
        let is_due = |number| match task.end {
            End::Completed => true,
            End::Cancelled => number < last,
            End::Open | End::Failed => false,
        };
        for number in 1..=last {
            let mark = Mark { number, ..mark };
            let there = self.by_mark.get(&(mark.task, number)).copied();
            match there.unwrap_or_default() {
                1 => {}
                0 if self.evidence.finished && is_due(number) => {
                    self.verdict.lost_calls += 1;
                    self.complain(format!("{task_id}: {mark} was left out"));
                }
                0 => {}
                many => {
                    self.verdict.duplicate_effects += 1;
                    self.complain(format!("{task_id}: {mark} is there {many} times"));
                }
            }
        }
    }

    fn marks_of_nobody(&mut self) {
        let calls = self.evidence.tasks.values().flat_map(|task| &task.calls);
        let known: HashSet<&str> = calls.map(|call| call.call_id.as_str()).collect();
        let evidence = self.evidence;
        for (mark, call_id) in &evidence.marks {
            if !known.contains(call_id.as_str()) {
                self.verdict.wrong_results += 1;
                self.complain(format!("{mark} by call {call_id}, which nobody intended"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// One that ends by itself.
    const TASK: usize = 6;

    fn mark(number: u32) -> Mark {
        Mark { task: TASK, number }
    }

    fn call(id: &str, number: u32, outcomes: &[Outcome]) -> CallSeen {
        CallSeen {
            call_id: id.into(),
            deed: Deed::Mark,
            mark: mark(number),
            outcomes: outcomes.to_vec(),
            result: Some(json!({"mark": mark(number).to_string(), "call_id": id})),
            cut_short: false,
        }
    }

    fn look(id: &str, number: u32, count: u32) -> CallSeen {
        CallSeen {
            deed: Deed::Look,
            result: Some(json!({"mark": mark(number).to_string(), "count": count})),
            ..call(id, number, &[Outcome::Done])
        }
    }

    /// A task that left two marks, one of them by an unknown call whose computer had died.
    fn clean() -> Evidence {
        let calls = vec![
            call("a", 1, &[Outcome::Done]),
            call("b", 2, &[Outcome::Unknown]),
            look("c", 2, 0),
            call("d", 2, &[Outcome::Unknown, Outcome::Done]),
            look("e", 2, 1),
        ];
        let task = TaskSeen {
            end: End::Completed,
            status: "completed".into(),
            calls,
            ..TaskSeen::default()
        };
        Evidence {
            accepted: [(TASK, "tsk".to_owned())].into(),
            tasks: [("tsk".to_owned(), task)].into(),
            marks: vec![(mark(1), "a".into()), (mark(2), "d".into())],
            entries: [("a".to_owned(), 1), ("d".to_owned(), 1)].into(),
            explained: ["b", "d"].map(str::to_owned).into(),
            finished: true,
            ..Evidence::default()
        }
    }

    fn calls(evidence: &mut Evidence) -> &mut Vec<CallSeen> {
        &mut evidence.tasks.get_mut("tsk").unwrap().calls
    }

    #[test]
    fn what_kept_its_promises_is_clean() {
        let verdict = count(&clean());
        assert!(verdict.is_clean(), "{verdict:#?}");
        assert_eq!((verdict.calls, verdict.marks), (5, 2));
        assert_eq!(verdict.unknown_outcomes, 2);
        assert!(verdict.complaints.is_empty());
    }

    #[test]
    fn a_mark_too_many_is_a_duplicate_whoever_left_it() {
        let mut twice = clean();
        twice.marks.push((mark(1), "a".into()));
        // Once by the call, once by the name.
        assert_eq!(count(&twice).duplicate_effects, 2);
        let mut entered = clean();
        entered.entries.insert("a".into(), 2);
        assert_eq!(count(&entered).duplicate_effects, 1);
        let mut by_both = clean();
        by_both.marks.push((mark(2), "b".into()));
        let verdict = count(&by_both);
        assert_eq!(verdict.duplicate_effects, 1);
        // And the look that saw none was told wrong.
        assert_eq!(verdict.wrong_results, 2);
    }

    #[test]
    fn a_mark_that_is_missing_is_a_lost_call() {
        let mut gone = clean();
        gone.marks.remove(0);
        assert_eq!(count(&gone).lost_calls, 2);
        let mut open = clean();
        calls(&mut open).push(call("f", 3, &[]));
        assert_eq!(count(&open).lost_calls, 2);
        open.finished = false;
        assert_eq!(count(&open).lost_calls, 0);
    }

    #[test]
    fn results_that_say_what_is_not_so_are_wrong() {
        let mut foreign = clean();
        calls(&mut foreign)[0].result = Some(json!({"mark": "t6m1", "call_id": "z"}));
        assert_eq!(count(&foreign).wrong_results, 1);
        for outcome in [Outcome::Failed, Outcome::NotStarted] {
            let mut denied = clean();
            calls(&mut denied)[0].outcomes = vec![outcome];
            assert_eq!(count(&denied).wrong_results, 1);
        }
        let mut nobody = clean();
        nobody.marks.push((mark(9), "z".into()));
        assert_eq!(count(&nobody).wrong_results, 1);
    }

    #[test]
    fn an_unknown_without_a_death_is_unexplained() {
        let mut unexplained = clean();
        unexplained.explained.remove("b");
        let verdict = count(&unexplained);
        assert_eq!(
            (verdict.unknown_outcomes, verdict.unexplained_unknown),
            (2, 1)
        );
        assert!(!verdict.is_clean());
    }

    #[test]
    fn a_damaged_journal_and_a_replay_that_differs_are_broken_promises() {
        let mut damaged = clean();
        damaged.damage.push("event 3: its checksum".into());
        assert!(!count(&damaged).is_clean());
        let mut differing = clean();
        differing.differing.push("tsk: event 7".into());
        assert!(!count(&differing).is_clean());
    }

    #[test]
    fn a_task_that_was_accepted_and_did_not_complete_is_lost() {
        let mut failed = clean();
        failed.tasks.get_mut("tsk").unwrap().end = End::Failed;
        assert_eq!(count(&failed).lost_tasks, 1);
        failed.finished = false;
        assert_eq!(count(&failed).lost_tasks, 0);
        failed.accepted.insert(12, "other".into());
        assert_eq!(count(&failed).lost_tasks, 1);
    }

    /// A task that was cancelled in its third mark.
    fn cancelled() -> Evidence {
        let mut evidence = clean();
        let mut task = evidence.tasks.remove("tsk").unwrap();
        task.end = End::Cancelled;
        task.calls.push(CallSeen {
            cut_short: true,
            ..call("f", 3, &[Outcome::Unknown])
        });
        evidence.tasks.insert("tsk".into(), task);
        // A number whose part it is to be cancelled.
        evidence.accepted = [(7, "tsk".to_owned())].into();
        evidence
    }

    #[test]
    fn a_cancel_cuts_the_last_call_short_and_lets_none_begin() {
        let mut evidence = cancelled();
        let verdict = count(&evidence);
        assert!(verdict.is_clean(), "{verdict:#?}");
        assert_eq!(verdict.lives.cancelled, 1);
        evidence.marks.push((mark(3), "f".into()));
        assert!(count(&evidence).is_clean());
        calls(&mut evidence)[5].outcomes = vec![Outcome::Failed];
        assert!(count(&evidence).is_clean());
        // But its former marks are all there.
        evidence.marks.remove(1);
        assert_eq!(count(&evidence).lost_calls, 2);
        let mut late = cancelled();
        let task = late.tasks.get_mut("tsk").unwrap();
        task.begun_after_cancel = vec!["f".into()];
        assert_eq!(count(&late).wrong_results, 1);
        let mut lived = cancelled();
        lived.tasks.get_mut("tsk").unwrap().end = End::Completed;
        assert_eq!(count(&lived).lost_tasks, 1);
    }

    #[test]
    fn what_was_confirmed_to_people_is_in_the_journal_once() {
        let mut evidence = clean();
        evidence.answers = [("q".to_owned(), "yes".to_owned())].into();
        evidence.wakes = [4].into();
        let verdict = count(&evidence);
        assert_eq!((verdict.lost_answers, verdict.lost_wakes), (1, 1));
        let task = evidence.tasks.get_mut("tsk").unwrap();
        task.answers = [("q".to_owned(), "yes".to_owned())].into();
        task.wakes = [4].into();
        task.woken_by = vec![4];
        assert!(count(&evidence).is_clean());
        evidence.tasks.get_mut("tsk").unwrap().woken_by = vec![4, 4];
        assert_eq!(count(&evidence).duplicate_effects, 1);
    }

    #[test]
    fn a_parent_has_one_child_and_is_told_its_end() {
        let mut evidence = clean();
        let parent = super::super::parts::child_of(3) - super::super::parts::child_of(0);
        evidence.accepted = [(parent, "tsk".to_owned())].into();
        assert_eq!(count(&evidence).lost_tasks, 1, "no child");
        let child = TaskSeen {
            number: Some(super::super::parts::child_of(parent)),
            parent: Some("tsk".into()),
            end: End::Completed,
            ..TaskSeen::default()
        };
        evidence.tasks.insert("one".into(), child.clone());
        let told = ("one".to_owned(), "completed".to_owned());
        evidence.tasks.get_mut("tsk").unwrap().children_told = vec![told];
        let verdict = count(&evidence);
        assert!(verdict.is_clean(), "{verdict:#?}");
        assert_eq!(verdict.lives.children, 1);
        evidence.tasks.get_mut("one").unwrap().end = End::Failed;
        let verdict = count(&evidence);
        assert_eq!((verdict.lost_tasks, verdict.wrong_results), (1, 1));
        evidence.tasks.insert("one".into(), child.clone());
        evidence.tasks.insert("two".into(), child);
        assert_eq!(count(&evidence).duplicate_effects, 1);
    }
}
