//! The server of the schedules: the real lane, with a journal and tasks that are as simple as can be. Of two calls one is
//! the only one of its task, the other one of a task that makes many: what that writes becomes durable in its order.

use super::super::*;
use crate::domain::ids::Generation;
use serde_json::json;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::rc::Rc;

/// A task's ear.
#[derive(Debug, Clone)]
pub struct Ear(Rc<Cell<bool>>);

impl Reply for Ear {
    fn is_alive(&self) -> bool {
        self.0.get()
    }
}

/// What is durable. A copy of it is a backup.
#[derive(Debug, Clone, Default)]
pub struct Journal {
    /// Calls that were decided, by tool.
    pub decided: BTreeMap<CallId, String>,
    pub intended: BTreeMap<CallId, CallIntended>,
    pub outcomes: BTreeMap<CallId, CallReport>,
    pub not_placed: BTreeSet<CallId>,
    /// Tasks that have ended: nobody starts them again.
    pub over: BTreeSet<CallId>,
    pub raised: u64,
    pub epoch: u64,
    pub last_boot: Option<String>,
}

#[derive(Debug, Clone)]
pub enum Write {
    Intent(CallIntended),
    Outcome(CallId, CallReport),
    NotPlaced(CallId),
    /// Of a task that has ended.
    Late(CallId, CallReport),
    Raise {
        high_seq: u64,
        epoch: u64,
    },
}

impl Write {
    fn call_id(&self) -> Option<&CallId> {
        match self {
            Write::Intent(intended) => Some(&intended.call_id),
            Write::Outcome(id, _) | Write::NotPlaced(id) | Write::Late(id, _) => Some(id),
            Write::Raise { .. } => None,
        }
    }
}

pub struct Server {
    pub lane: Lane<Ear>,
    pub journal: Journal,
    pub now: Duration,
    pub sent: Vec<ServerMessage>,
    generation: Generation,
    facts: VecDeque<CallFact>,
    writes: VecDeque<Write>,
    late: VecDeque<(CallId, CallReport)>,
    ears: HashMap<CallId, Ear>,
    /// Every call that was ever placed, whatever became of the journal, by tool.
    pub placed: BTreeMap<CallId, String>,
    /// What was committed last, for the checks.
    pub committed: Vec<Write>,
}

pub fn client_id() -> ClientId {
    ClientId::parse("cc").unwrap()
}

pub fn tool_specs() -> Toolbox {
    let list = [
        json!({"name": "dig", "verify": "dug"}),
        json!({"name": "write", "effect": "idempotent"}),
        json!({"name": "look", "effect": "read"}),
        json!({"name": "dug", "effect": "read"}),
    ];
    serde_json::from_value(json!(list)).unwrap()
}

impl Journal {
    fn lane(&self) -> Lane<Ear> {
        let highest = |ids: &mut dyn Iterator<Item = &CallIntended>| {
            ids.filter_map(|intended| intended.seq).max().unwrap_or(0)
        };
        let has_result = |intended: &&CallIntended| {
            let outcome = self.outcomes.get(&intended.call_id).map(|r| r.outcome);
            matches!(outcome, Some(Outcome::Done | Outcome::Failed))
        };
        let high_seq = highest(&mut self.intended.values()).max(self.raised);
        let stored_seq = highest(&mut self.intended.values().filter(has_result));
        let mut lane = Lane::new(client_id(), high_seq, stored_seq, LaneLimits::default());
        lane.set_last_boot(self.last_boot.clone());
        lane.set_tools(tool_specs(), Duration::ZERO, &mut Vec::new());
        lane
    }
}

fn task_of(call_id: &CallId) -> TaskId {
    let task = call_id.task().unwrap();
    match task.as_str().ends_with(['0', '2', '4', '6', '8']) {
        true => TaskId::from_unique("many").unwrap(),
        false => task,
    }
}

impl Server {
    pub fn new() -> Self {
        let journal = Journal {
            epoch: 1,
            ..Journal::default()
        };
        Server {
            lane: journal.lane(),
            journal,
            now: Duration::ZERO,
            sent: Vec::new(),
            generation: Generation(1),
            facts: VecDeque::new(),
            writes: VecDeque::new(),
            late: VecDeque::new(),
            ears: HashMap::new(),
            placed: BTreeMap::new(),
            committed: Vec::new(),
        }
    }

    pub fn with<T>(
        &mut self,
        step: impl FnOnce(&mut Lane<Ear>, Duration, &mut Vec<Act<Ear>>) -> T,
    ) -> T {
        let mut acts = Vec::new();
        let said = step(&mut self.lane, self.now, &mut acts);
        for act in acts {
            match act {
                Act::Tell { to, fact } if to.is_alive() => self.facts.push_back(fact),
                Act::Tell { .. } | Act::Note(_) => {}
                Act::Send(message) => {
                    assert!(
                        self.lane.is_connected(),
                        "nothing is sent without a connection"
                    );
                    self.sent.push(message);
                }
                Act::Late { call_id, report } => {
                    if self.late.len() < 64 && !self.late.iter().any(|(id, _)| *id == call_id) {
                        self.late.push_back((call_id, report));
                    }
                }
            }
        }
        let open =
            |c: &&Call<Ear>| c.effect == EffectClass::Effect && matches!(c.stage, Stage::Open(_));
        let effects = self.lane.calls.values().filter(open).count();
        assert!(effects <= 1, "two effects in flight: {:#?}", self.lane);
        said
    }

    fn ear(&mut self, call_id: &CallId) -> Ear {
        let ear = Ear(Rc::new(Cell::new(true)));
        self.ears.insert(call_id.clone(), ear.clone());
        ear
    }

    pub fn place(&mut self, call_id: CallId, tool: &str) {
        self.placed.insert(call_id.clone(), tool.to_owned());
        self.journal
            .decided
            .insert(call_id.clone(), tool.to_owned());
        let reservation = Reservation {
            task_id: task_of(&call_id),
            generation: self.generation,
            tool: tool.to_owned(),
            args: json!({"of": call_id}).into(),
            timeout_ms: None,
            reply: self.ear(&call_id),
            since: Duration::ZERO,
            call_id,
        };
        self.with(|lane, now, acts| lane.place(reservation, now, acts));
    }

    /// The first fact whose task is not busy writing reaches it.
    pub fn task_reads(&mut self) {
        let writing = |id: &CallId| self.writes.iter().any(|w| w.call_id() == Some(id));
        let at = self.facts.iter().position(|fact| !writing(&fact.call_id));
        let Some(fact) = at.and_then(|at| self.facts.remove(at)) else {
            return;
        };
        let call_id = fact.call_id;
        if fact.generation != self.generation || !self.journal.decided.contains_key(&call_id) {
            return;
        }
        let known = self.journal.outcomes.get(&call_id).map(|r| r.outcome);
        let is_open = known.is_none() && !self.journal.not_placed.contains(&call_id);
        match fact.what {
            CallNews::TurnGranted { .. } if !is_open => {
                self.with(|lane, now, acts| lane.cancel(&call_id, now, acts));
            }
            CallNews::TurnGranted { .. } if self.journal.intended.contains_key(&call_id) => {}
            CallNews::TurnGranted {
                client_id,
                seq,
                tool_rev,
                effect,
                timeout_ms,
                boot_id,
            } => self.writes.push_back(Write::Intent(CallIntended {
                client_id,
                seq,
                tool: self.journal.decided[&call_id].clone(),
                tool_rev: tool_rev.into(),
                effect,
                args: json!({"of": call_id}),
                args_hash: String::new(),
                timeout_ms,
                boot_id: boot_id.map(String::from),
                call_id,
            })),
            CallNews::Settled(report) if is_open || known == Some(Outcome::Unknown) => {
                let report = (*report).clone();
                self.writes.push_back(Write::Outcome(call_id, report));
            }
            CallNews::Settled(_) => {
                self.with(|lane, now, acts| lane.outcome_stored(&call_id, now, acts));
            }
            CallNews::NotPlaced(_) => self.writes.push_back(Write::NotPlaced(call_id)),
            _ => {}
        }
    }

    /// The oldest write becomes durable.
    pub fn commit(&mut self) {
        let Some(write) = self.writes.pop_front() else {
            return;
        };
        self.committed.push(write.clone());
        match write {
            Write::Intent(intended) => {
                let call_id = intended.call_id.clone();
                self.journal.intended.insert(call_id.clone(), intended);
                self.with(|lane, now, acts| lane.dispatch(&call_id, now, acts));
            }
            Write::Outcome(call_id, report) => {
                self.keep_outcome(&call_id, report);
                self.with(|lane, now, acts| lane.outcome_stored(&call_id, now, acts));
            }
            Write::Late(call_id, report) => {
                self.keep_outcome(&call_id, report);
                self.with(|lane, now, acts| lane.found_stored(&call_id, now, acts));
            }
            Write::NotPlaced(call_id) => {
                self.journal.not_placed.insert(call_id);
            }
            Write::Raise { high_seq, epoch } => {
                self.journal.raised = self.journal.raised.max(high_seq);
                self.journal.epoch = self.journal.epoch.max(epoch);
            }
        }
    }

    /// An outcome stands for ever; an unknown one may once become known.
    fn keep_outcome(&mut self, call_id: &CallId, report: CallReport) {
        let new = report.outcome;
        let old = self.journal.outcomes.get(call_id).map(|r| r.outcome);
        match (old, new) {
            (None, _) | (Some(Outcome::Unknown), Outcome::Done | Outcome::Failed) => {
                self.journal.outcomes.insert(call_id.clone(), report);
            }
            (Some(Outcome::Unknown), _) => {}
            _ => panic!("{call_id} was {old:?} and became {new:?}"),
        }
    }

    /// The supervisor judges a result that nobody waits for.
    pub fn settle_late(&mut self) {
        let Some((call_id, report)) = self.late.pop_front() else {
            return;
        };
        if self.writes.iter().any(|w| w.call_id() == Some(&call_id)) {
            return self.late.push_back((call_id, report));
        }
        let settles = matches!(report.outcome, Outcome::Done | Outcome::Failed);
        let known = self.journal.outcomes.get(&call_id).map(|r| r.outcome);
        let never_heard_of = !self.journal.decided.contains_key(&call_id);
        match known {
            None if never_heard_of || self.journal.not_placed.contains(&call_id) => {
                self.with(|lane, now, acts| lane.found_stored(&call_id, now, acts));
            }
            None => {}
            Some(Outcome::Unknown) if settles => {
                self.writes.push_back(Write::Late(call_id, report))
            }
            Some(_) => self.with(|lane, now, acts| lane.found_stored(&call_id, now, acts)),
        }
    }

    /// The task of a call ends, if the call has.
    pub fn end_task(&mut self, call_id: &CallId) {
        let writing = self.writes.iter().any(|w| w.call_id() == Some(call_id));
        let ended = self.journal.outcomes.contains_key(call_id);
        if ended && !writing {
            self.journal.over.insert(call_id.clone());
            if let Some(ear) = self.ears.get(call_id) {
                ear.0.set(false);
            }
            self.facts.retain(|fact| &fact.call_id != call_id);
        }
    }

    /// The process dies and is started on this journal: its own, or a backup. `fresh` makes new call ids, as the salt
    /// of a new start does for calls that had not left.
    pub fn start_again(&mut self, journal: Journal, mut fresh: impl FnMut() -> CallId) {
        self.ears.values().for_each(|ear| ear.0.set(false));
        self.ears.clear();
        self.facts.clear();
        self.writes.clear();
        self.late.clear();
        self.sent.clear();
        self.generation = self.generation.next();
        self.lane = journal.lane();
        self.journal = journal;
        let decided = self.journal.decided.clone();
        for (call_id, tool) in decided {
            let outcome = self.journal.outcomes.get(&call_id).map(|r| r.outcome);
            if self.journal.not_placed.contains(&call_id) || self.journal.over.contains(&call_id) {
                continue;
            }
            let intended = self.journal.intended.get(&call_id).cloned();
            let (task_id, generation) = (task_of(&call_id), self.generation);
            match (outcome, intended) {
                (Some(Outcome::Unknown), Some(intended)) => {
                    let ear = self.ear(&call_id);
                    self.with(|lane, _, acts| {
                        lane.remember(task_id, generation, intended, ear, acts);
                    });
                }
                (Some(_), _) => {}
                (None, Some(intended)) => {
                    let ear = self.ear(&call_id);
                    self.with(|lane, now, acts| {
                        lane.adopt(task_id, generation, intended, ear, now, acts);
                    });
                }
                (None, None) => {
                    self.journal.decided.remove(&call_id);
                    self.place(fresh(), &tool);
                }
            }
        }
    }

    /// An operator resumes.
    pub fn resume(&mut self) {
        let resumed = self.with(|lane, now, acts| lane.resume_calls(true, now, acts));
        if let Some(high_seq) = resumed.raised_to {
            let epoch = self.journal.epoch + 1;
            self.writes.push_back(Write::Raise { high_seq, epoch });
        }
    }

    pub fn is_idle(&self) -> bool {
        let nothing_open = self.lane.running() == 0 && self.lane.queued() == 0;
        nothing_open && self.facts.is_empty() && self.writes.is_empty() && self.late.is_empty()
    }
}
