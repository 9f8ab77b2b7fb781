//! Subtasks that hold from before they began: what they are for was done by rule or asked for alone, before any plan, and cannot be done in them once more.

use super::Course;
use crate::domain::decision::Guard;
use crate::domain::ids::ClientId;
use crate::domain::read::Read;
use crate::domain::task::{CallRecord, Step};
use crate::domain::work::Subtask;
use crate::strategy::alone::chosen_files::DELETE;
use crate::strategy::alone::moved_files::MOVE;
use crate::strategy::paths::normal;
use crate::strategy::words::asked_runs::program_of;
use crate::strategy::words::places::addressed;
use serde_json::Value;

impl Course<'_> {
    /// Whether what the subtask is for holds from before it, and cannot be done in it any more: the run that it wants was refused since it had
    /// come out the same often enough, and well; or its files are programs that were mended by themselves, or were moved or deleted before any plan.
    pub(super) fn was_done_before(&self, subtask: &Subtask) -> bool {
        let plan = &subtask.plan;
        let targets =
            |paths: &[String]| -> Vec<String> { paths.iter().map(|path| normal(path)).collect() };
        let home = self.turn.state.home();
        let on = plan.on.as_ref().filter(|on| Some(*on) != home);
        if plan.tool == "run_program" {
            let targets = targets(&plan.targets);
            let begun_after = subtask.begun_after.unwrap_or_default();
            let steps = self.turn.state.steps.iter();
            let mut refused = steps
                .filter(|step| step.number > begun_after)
                .filter(|step| {
                    step.blocked
                        .as_ref()
                        .is_some_and(|b| b.guard == Guard::Duplicate)
                });
            return refused.any(|step| {
                let mut wanted = wanted_runs(step, on);
                wanted.any(|path| targets.contains(&path) && self.ran_well(&path, on))
            });
        }
        if [DELETE, MOVE].contains(&plan.tool.as_str()) {
            let is_about = |call: &CallRecord, path: &String| {
                let named = ["path", "from", "to"].map(|name| call.args[name].as_str());
                named
                    .into_iter()
                    .flatten()
                    .any(|named| normal(named) == normal(path))
            };
            let is_done = |path: &String| {
                let mut made = self.made_alone().filter(|call| call.tool == plan.tool);
                made.any(|call| is_about(call, path))
            };
            return !plan.targets.is_empty() && plan.targets.iter().all(is_done);
        }
        let mended = self.turn.mended();
        let mut writes = targets(&plan.writes).into_iter();
        !plan.writes.is_empty() && writes.all(|path| mended.contains(&(path, on)))
    }

    /// The files that were deleted and moved before any plan, as the task tells it or a model was asked for it alone: no call of a subtask can do it
    /// once more.
    pub(super) fn made_alone(&self) -> impl Iterator<Item = &CallRecord> {
        let alone = self
            .turn
            .state
            .steps
            .iter()
            .filter(|step| step.asks_aside());
        let calls = alone.flat_map(|step| &step.calls);
        calls.filter(|call| [DELETE, MOVE].contains(&call.tool.as_str()) && call.succeeded())
    }

    /// Whether a program ran since the last change, and well at last; on the task's own computer, or on another one.
    fn ran_well(&self, path: &str, on: Option<&ClientId>) -> bool {
        let ran = self.turn.tests_since_change().iter().rev();
        let mut ran = ran.filter(|test| {
            let there = test.what.rsplit_once(" on ");
            let is_there = match on {
                Some(on) => there.is_some_and(|(_, there)| there == on.as_str()),
                None => true,
            };
            program_of(&test.what) == path && is_there
        });
        ran.next().is_some_and(|test| test.success)
    }
}

/// The programs that the answer of a step wants to run on the task's own computer, or on another one.
fn wanted_runs(step: &Step, on: Option<&ClientId>) -> impl Iterator<Item = String> {
    let there = addressed("run_program", on);
    let calls = match &step.read {
        Some(Read::Turn(said)) => said.calls.as_slice(),
        _ => &[],
    };
    let runs = calls.iter().filter(move |call| {
        let named = call.arguments.get("on").and_then(Value::as_str);
        let is_there = named == on.map(ClientId::as_str) && call.name == "run_program";
        is_there || on.is_some() && call.name == there
    });
    runs.filter_map(|call| Some(normal(call.arguments.get("path")?.as_str()?)))
}
