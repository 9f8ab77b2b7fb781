//! Breaking a goal down, and planning again what remains of it: the model's JSON is checked, sent back with reasons, and
//! after the tries a rule takes its place.

use super::check::Known;
use super::known::FleetKnown;
use super::{Course, check, memory};
use crate::domain::chat::{OutputFormat, Role, StopReason};
use crate::domain::decision::{Contract, Decision, Guard};
use crate::domain::files::from_root;
use crate::domain::read::Read;
use crate::domain::task::Step;
use crate::domain::work::{Advance, GoalWork, MadeBy, ObjectivePlan, SubtaskPlan};
use crate::strategy::alone::mending::WRITE;
use crate::strategy::guards::check_program::is_only_run;
use crate::strategy::guards::copied_instead;
use crate::strategy::paths::{is_file_like, mentions, named_in, normal};
use crate::strategy::words::places::sentence_of;
use crate::strategy::words::stated::program_that_writes;
use serde_json::Value;

impl<'a> Course<'a> {
    /// The goal is not broken down yet.
    pub(super) fn break_down(&self) -> Decision {
        match self.turn.state.current_step() {
            None => {
                let before = self.turn.before_step().or_else(|| self.ready_goals());
                let before = before.or_else(|| self.proved_end());
                before.unwrap_or_else(|| self.consult_for_goals(None))
            }
            Some(step) if step.planner.is_none() => self.consult_for_goals(None),
            Some(step) => self.adopt(step, None),
        }
    }

    pub(super) fn consult_for_goals(&self, work: Option<&GoalWork>) -> Decision {
        let known = FleetKnown::new(&self.turn);
        let prompt = memory::decompose_prompt(&self.turn, work);
        let format = OutputFormat::Schema(known.schema(self.limits()));
        self.turn
            .consult(Role::Planner, Contract::Goals, prompt, format, Vec::new())
    }

    pub(super) fn limits(&self) -> check::Limits {
        let rules = self.turn.profile.goals;
        check::Limits {
            objectives: rules.max_objectives as usize,
            subtasks: rules.max_subtasks as usize,
        }
    }

    /// Takes a decomposition, sends it back with reasons, or, after the tries, makes one by rule.
    pub(super) fn adopt(&self, step: &Step, work: Option<&GoalWork>) -> Decision {
        let known = FleetKnown::new(&self.turn);
        let checked = match &step.read {
            Some(Read::Goals(goals)) if goals.problems.is_empty() => {
                check::check(&goals.objectives, &known, self.limits())
            }
            Some(Read::Goals(goals)) => Err(goals.problems.clone()),
            _ => Err(vec!["the answer could not be read".to_owned()]),
        };
        let steps = self.turn.state.steps.iter().rev();
        let tries = steps
            .take_while(|s| matches!(s.read, Some(Read::Goals(_))))
            .count();
        let is_last = tries >= self.turn.profile.goals.plan_tries as usize;
        let problems = match checked {
            Ok(mut objectives) => {
                self.settle_computers(&mut objectives);
                // Later decompositions may write by hand what a program failed to write.
                if work.is_none() {
                    write_programs(self.prompt(), &mut objectives);
                    self.use_named_tools(&mut objectives, &known);
                }
                leave_out_checks(self.prompt(), &mut objectives);
                let told = self.copies_for_moves(&objectives);
                let told = told.or_else(|| self.left_out(&objectives));
                match told.filter(|_| !is_last) {
                    None => return self.adopted(objectives, MadeBy::Model, work),
                    Some(told) => vec![told],
                }
            }
            Err(problems) => problems,
        };
        if !is_last {
            let cut = cut_off(step);
            let evidence = format!("{}{cut}", problems.join("; "));
            return self.turn.block(Guard::Unclear, evidence);
        }
        let objectives = match work {
            None => check::fallback(self.prompt(), &known),
            // Nobody can plan what remains, so what failed has failed.
            Some(_) => Vec::new(),
        };
        self.adopted(objectives, MadeBy::Rules, work)
    }

    /// Why a decomposition goes back, once, that copies what the task wants moved.
    fn copies_for_moves(&self, objectives: &[ObjectivePlan]) -> Option<String> {
        let subtasks = objectives.iter().flat_map(|objective| &objective.subtasks);
        subtasks
            .flat_map(|subtask| subtask.targets.iter().map(|target| (&subtask.tool, target)))
            .find_map(|(tool, target)| copied_instead::in_plan(self.turn.state, tool, target))
            .map(|told| format!("{told}: its tool is fs_move"))
    }

    /// A form with a place for a computer has one filled in: a subtask whose files lie on the task's own computer, as its words say for
    /// certain, is for that one.
    fn settle_computers(&self, objectives: &mut [ObjectivePlan]) {
        let turn = &self.turn;
        let is_at_home = |target: &String| {
            let place = turn.place_of(&normal(target));
            is_file_like(target) && place.is_some_and(|place| turn.unless_own(place).is_none())
        };
        let named = named_in(turn.asked_for());
        for subtask in objectives
            .iter_mut()
            .flat_map(|objective| &mut objective.subtasks)
        {
            let mut files = subtask
                .targets
                .iter()
                .filter(|target| named.contains(&normal(target)));
            let names_one = files.clone().next().is_some();
            if names_one && files.all(is_at_home) {
                subtask.on = None;
            }
        }
    }

    /// A first decomposition without a subtask for a tool which the task names gets one, before what its words name behind it: a small model
    /// that is told so breaks the goal down as before. Where the words tell several calls, each has its own: one for all of them is marked
    /// behind the first.
    fn use_named_tools(&self, objectives: &mut [ObjectivePlan], known: &FleetKnown<'_>) {
        let (turn, prompt) = (&self.turn, self.prompt());
        for tool in turn.tools_to_call() {
            let is_several = turn.calls_left(tool).is_some_and(|left| left.len() > 1);
            let mut places = objectives.iter().enumerate().flat_map(|(nth, objective)| {
                let subtasks = objective.subtasks.iter().enumerate();
                let of_it = subtasks.filter(|(_, subtask)| subtask.tool == tool);
                of_it.map(move |(at, _)| (nth, at))
            });
            if let (true, Some((nth, at)), None) = (is_several, places.next(), places.next()) {
                let subtasks = self.subtasks_of_tool(tool, known);
                objectives[nth].subtasks.splice(at..=at, subtasks);
            }
        }
        loop {
            let subtasks = objectives.iter().flat_map(|objective| &objective.subtasks);
            let tools: Vec<&str> = subtasks.map(|subtask| subtask.tool.as_str()).collect();
            let Some(tool) = turn.tool_left_out(&tools.join(" ")) else {
                return;
            };
            let subtasks = self.subtasks_of_tool(tool, known);
            let named_at = mentions(prompt, tool).next();
            let is_behind = |subtask: &SubtaskPlan| {
                let targets = subtask.targets.iter().map(|target| normal(target));
                let at = targets.filter_map(|target| mentions(prompt, &target).next());
                at.min() > named_at
            };
            let place = objectives.iter().enumerate().find_map(|(nth, objective)| {
                Some((nth, objective.subtasks.iter().position(is_behind)?))
            });
            match (place, objectives.last_mut()) {
                (Some((nth, at)), _) => {
                    objectives[nth].subtasks.splice(at..at, subtasks);
                }
                (None, Some(last)) => last.subtasks.extend(subtasks),
                (None, None) => return,
            }
        }
    }

    /// One for each call of a tool that the task's words tell and that was not made.
    fn subtasks_of_tool(&self, tool: &str, known: &FleetKnown<'_>) -> Vec<SubtaskPlan> {
        let turn = &self.turn;
        let on = turn.only_owner(tool);
        let subtask = |description: String| SubtaskPlan {
            description,
            tool: tool.to_owned(),
            targets: Vec::new(),
            on: on.cloned(),
            needs_change: known.tool(tool, on).is_some_and(|facts| facts.changes),
            writes: Vec::new(),
        };
        if let Some(left) = turn.calls_left(tool) {
            let call = |args: &Value| subtask(format!("call {tool} with {args}"));
            return left.iter().map(call).collect();
        }
        let sentence = sentence_of(self.prompt(), tool);
        let told = sentence.map_or_else(|| tool.to_owned(), |said| said.trim().to_owned());
        vec![subtask(told)]
    }

    /// Why a later decomposition goes back, once, that has no subtask for a tool which the task names.
    fn left_out(&self, objectives: &[ObjectivePlan]) -> Option<String> {
        let subtasks = objectives.iter().flat_map(|objective| &objective.subtasks);
        let tools: Vec<&str> = subtasks.map(|subtask| subtask.tool.as_str()).collect();
        let told = self.turn.left_out_of_plan(&tools.join(" "))?;
        Some(format!("{told}: it is the tool of a subtask of its own"))
    }

    pub(super) fn adopted(
        &self,
        objectives: Vec<ObjectivePlan>,
        by: MadeBy,
        work: Option<&GoalWork>,
    ) -> Decision {
        let step = self.turn.state.usage.steps;
        let advance = match work {
            None => Advance::GoalsAdopted {
                objectives,
                by,
                step,
            },
            Some(_) => Advance::GoalsReplanned {
                objectives,
                by,
                step,
            },
        };
        Decision::Advance { advance }
    }

    fn prompt(&self) -> &'a str {
        let created = self.turn.state.created.as_ref();
        created.map(|c| c.prompt.as_str()).unwrap_or_default()
    }
}

/// Without the subtasks that write a check which the task only wants run: models that give back the example of their prompt write whatever the
/// goal names. A decomposition of nothing else stays.
fn leave_out_checks(prompt: &str, objectives: &mut Vec<ObjectivePlan>) {
    let is_check = |subtask: &SubtaskPlan| {
        let mut files = subtask.writes.iter();
        !subtask.writes.is_empty() && files.all(|file| is_only_run(prompt, &normal(file)))
    };
    let mut subtasks = objectives.iter().flat_map(|objective| &objective.subtasks);
    if subtasks.all(is_check) {
        return;
    }
    for objective in objectives.iter_mut() {
        objective.subtasks.retain(|subtask| !is_check(subtask));
    }
    objectives.retain(|objective| !objective.subtasks.is_empty());
}

/// A subtask that writes the file which a program of the task writes writes this program, unless another one does.
fn write_programs(prompt: &str, objectives: &mut Vec<ObjectivePlan>) {
    let written_by = |subtask: &SubtaskPlan| {
        let mut files = subtask.targets.iter().filter(|_| subtask.tool == WRITE);
        files.find_map(|file| program_that_writes(prompt, &normal(file)))
    };
    let subtasks = objectives.iter().flat_map(|objective| &objective.subtasks);
    let mut written: Vec<String> = subtasks
        .filter(|subtask| !subtask.writes.is_empty() && written_by(subtask).is_none())
        .flat_map(|subtask| subtask.writes.iter().map(|file| normal(file)))
        .collect();
    for objective in objectives.iter_mut() {
        objective.subtasks.retain_mut(|subtask| {
            let Some(program) = written_by(subtask) else {
                return true;
            };
            if written.contains(&program) {
                return false;
            }
            let path = from_root(&program);
            subtask.description = format!("write {path}, as the task says");
            subtask.targets = vec![path.clone()];
            subtask.writes = vec![path];
            written.push(program);
            true
        });
    }
    objectives.retain(|objective| !objective.subtasks.is_empty());
}

/// What is added to the evidence if an answer ended at its length limit.
fn cut_off(step: &Step) -> &'static str {
    let answer = step.planner.as_ref().map(|planner| &planner.answer);
    match answer.map(|answer| answer.stop) {
        Some(StopReason::Length) => " Your answer was cut off at its length limit: write less.",
        _ => "",
    }
}
