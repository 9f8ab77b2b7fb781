//! What is counted of whole tasks: their ends, what was promised to people meanwhile, children, and wakes.

use super::{Count, End, TaskSeen};
use crate::cli::torture::parts::{Part, child_of, is_child};
use std::collections::{BTreeMap, HashMap};

/// What became of the tasks, for people.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lives {
    /// By strategy.
    pub strategies: BTreeMap<String, Share>,
    pub cancelled: usize,
    pub children: usize,
    /// Questions that were answered.
    pub answers: usize,
    /// Wakes by people that began an episode.
    pub wakes: usize,
    pub episodes: usize,
    /// Sleeps of models that ended.
    pub naps: usize,
    /// Episodes that an event of the world began.
    pub told: usize,
    /// Consents that were given.
    pub consents: usize,
    pub forks: usize,
}

/// What the tasks of one strategy did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Share {
    pub tasks: usize,
    pub calls: usize,
}

impl Count<'_> {
    /// A task that people gave.
    pub(super) fn given(&mut self, number: usize, task_id: &str) {
        let wanted = match Part::of(number).is_endless() {
            true => End::Cancelled,
            false => End::Completed,
        };
        let naps = Part::of(number).fate == super::Fate::Naps;
        let lost = match self.evidence.tasks.get(task_id) {
            None => "is not in the journal".to_owned(),
            Some(task) if self.evidence.finished && task.end != wanted => task.status.clone(),
            Some(task) if naps && self.evidence.finished && task.naps.is_empty() => {
                "its model never slept".to_owned()
            }
            Some(_) => return,
        };
        self.verdict.lost_tasks += 1;
        self.complain(format!("task {number} ({task_id}): {lost}"));
    }

    /// What one task did, given or started by another one, or going on from one.
    pub(super) fn life(&mut self, task_id: &str, task: &TaskSeen) {
        let lives = &mut self.verdict.lives;
        let share = lives.strategies.entry(task.strategy.clone()).or_default();
        share.tasks += 1;
        share.calls += task.calls.len();
        lives.cancelled += usize::from(task.end == End::Cancelled);
        lives.answers += task.answers.len();
        lives.wakes += task.woken_by.len().saturating_sub(task.told);
        lives.episodes += task.episodes;
        lives.naps += task.naps.len();
        lives.told += task.told;
        lives.consents += task.consents;
        lives.forks += usize::from(task.forked_from.is_some());
        self.moves(task_id, task);
        for call in &task.begun_after_cancel {
            self.verdict.wrong_results += 1;
            self.complain(format!("{task_id} call {call}: begun after the cancel"));
        }
        if let Some(parent) = &task.parent {
            self.verdict.lives.children += 1;
            self.child(task_id, task, parent);
        }
        for (child, told) in &task.children_told {
            let really = self.evidence.tasks.get(child).map(|child| child.end);
            if really.map(End::as_str) != Some(told) {
                self.verdict.wrong_results += 1;
                self.complain(format!(
                    "{task_id}: was told that {child} ended {told}; it is {really:?}"
                ));
            }
        }
    }

    /// Sleeps end once, and each consent is for one call.
    fn moves(&mut self, task_id: &str, task: &TaskSeen) {
        for (nap, ends) in task.naps.iter().filter(|(_, ends)| **ends > 1) {
            self.verdict.duplicate_effects += 1;
            self.complain(format!("{task_id}: its sleep {nap} ended {ends} times"));
        }
        let (seals, consents) = (task.seals, task.consents);
        if seals > consents {
            self.verdict.wrong_results += 1;
            self.complain(format!(
                "{task_id}: {seals} calls left that need consent, which was given {consents} times"
            ));
        }
    }

    /// A task whose part it is was forked once, and what was confirmed is there.
    pub(super) fn forks(&mut self) {
        let evidence = self.evidence;
        for (number, task_id) in &evidence.accepted {
            let from = |task: &&TaskSeen| task.forked_from.as_ref() == Some(task_id);
            let forks: Vec<&TaskSeen> = evidence.tasks.values().filter(from).collect();
            let confirmed = evidence.forks.get(number);
            let is_lost = confirmed.is_some_and(|fork| !evidence.tasks.contains_key(fork));
            let is_due = Part::of(*number).fate == super::Fate::Forked && evidence.finished;
            if is_lost || (is_due && forks.is_empty()) {
                self.verdict.lost_tasks += 1;
                self.complain(format!("task {number} ({task_id}): its fork is lost"));
            }
            if forks.len() > 1 {
                self.verdict.duplicate_effects += 1;
                let many = forks.len();
                self.complain(format!("task {number} ({task_id}): has {many} forks"));
            }
            let ended = |fork: &&&TaskSeen| fork.end != End::Completed && evidence.finished;
            for fork in forks.iter().filter(ended) {
                self.verdict.lost_tasks += 1;
                let status = &fork.status;
                self.complain(format!("the fork of task {number} ({task_id}): {status}"));
            }
        }
    }

    fn child(&mut self, task_id: &str, child: &TaskSeen, parent: &str) {
        if !self.evidence.finished {
            return;
        }
        let parent_end = self.evidence.tasks.get(parent).map(|parent| parent.end);
        let may_be_cut_short = parent_end == Some(End::Cancelled);
        let fine = child.end == End::Completed || (may_be_cut_short && child.end == End::Cancelled);
        if !fine {
            self.verdict.lost_tasks += 1;
            self.complain(format!("child {task_id} of {parent}: {}", child.status));
        }
    }

    /// A parent has one child of each name, and one that completed has had it.
    pub(super) fn families(&mut self) {
        let evidence = self.evidence;
        let mut born: HashMap<usize, usize> = HashMap::new();
        for task in evidence.tasks.values() {
            let number = task.number.filter(|number| is_child(*number));
            *born.entry(number.unwrap_or_default()).or_default() += 1;
        }
        for (number, task_id) in &evidence.accepted {
            let is_parent = Part::of(*number).fate == super::Fate::Parent;
            let ended = evidence.tasks.get(task_id).map(|task| task.end);
            let count = born.get(&child_of(*number)).copied().unwrap_or_default();
            match count {
                0 if is_parent && ended == Some(End::Completed) => {
                    self.verdict.lost_tasks += 1;
                    self.complain(format!("task {number} ({task_id}): its child never was"));
                }
                0 | 1 => {}
                many => {
                    self.verdict.duplicate_effects += 1;
                    self.complain(format!("task {number} ({task_id}): has {many} children"));
                }
            }
        }
    }

    /// What the server said yes to is in the journal, and counts once.
    pub(super) fn promises(&mut self) {
        let evidence = self.evidence;
        let tasks = || evidence.tasks.values();
        for (question, answer) in &evidence.answers {
            let mut kept = tasks().filter_map(|task| task.answers.get(question));
            if kept.next() != Some(answer) {
                self.verdict.lost_answers += 1;
                self.complain(format!("the answer to {question} is lost"));
            }
        }
        for wake in &evidence.wakes {
            if !tasks().any(|task| task.wakes.contains(wake)) {
                self.verdict.lost_wakes += 1;
                self.complain(format!("the wake {wake} is lost"));
            }
        }
        let mut began: HashMap<u64, usize> = HashMap::new();
        for wake in tasks().flat_map(|task| &task.woken_by) {
            *began.entry(*wake).or_default() += 1;
        }
        for (wake, count) in began.into_iter().filter(|(_, count)| *count > 1) {
            self.verdict.duplicate_effects += 1;
            self.complain(format!("the wake {wake} began {count} episodes"));
        }
    }
}
