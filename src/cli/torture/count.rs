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
    /// How often each sleep of its model ended.
    pub naps: BTreeMap<String, usize>,
    /// Wakes that began episodes and that a computer told of.
    pub told: usize,
    /// Calls that left and need consent, and how often it was given.
    pub seals: usize,
    pub consents: usize,
    /// The task that it goes on from.
    pub forked_from: Option<String>,
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
    /// Forks that it confirmed, by the numbers of the tasks that they go on from.
    pub forks: BTreeMap<usize, String>,
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
    count.forks();
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
mod tests;
