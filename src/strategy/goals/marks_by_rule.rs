//! Subtasks that are over without the word of their model. Small ones do all the calls of an objective in a row and never mark the first one, come
//! back to it, which is still open, and make its call again, which fails by then; or they do all that the task tells in one subtask, and then the
//! same in each of the others.

use super::Course;
use crate::domain::decision::Decision;
use crate::domain::task::{CallRecord, Step};
use crate::domain::work::{
    Advance, GoalWork, SubtaskPlan, SubtaskState, is_call_of, is_of_its_tool,
};

impl Course<'_> {
    /// The mark of the current subtask, where its own call came out well at any time in this task, and nothing is left that
    /// the task's words tell, as its own check or a run shows. None where the goal would not end after the last one.
    pub(super) fn marked_as_proved(&self, work: &GoalWork) -> Option<Decision> {
        let (_, subtask) = work.current()?;
        let mut calls = self.turn.state.calls();
        let was_made = calls.any(|call| call.succeeded() && is_own(&subtask.plan, call));
        if !was_made || !self.turn.nothing_left() {
            return None;
        }
        let ends = || matches!(self.finish(work), Decision::Finish { .. });
        let reason = "its call came out well, and nothing of the task is left";
        (!work.is_at_the_last() || ends()).then(|| self.marked(true, reason.to_owned()))
    }

    /// The claim that the current subtask is complete, where its own call came out well and the newest one was that of a later subtask. It is
    /// looked at like any other. None after it was refused: its model has to say more then.
    pub(super) fn moved_on(&self, work: &GoalWork) -> Option<Decision> {
        let (_, subtask) = work.current()?;
        let steps = &self.turn.state.steps;
        let answered = |step: &&Step| step.closed && step.planner.is_some();
        let newest = steps.iter().rev().find(answered)?;
        // What was done to files before its turn stays so; a run may come out otherwise.
        let lasts = |call: &CallRecord| call.succeeded() && call.tool.starts_with("fs_");
        let does = |plan: &SubtaskPlan| {
            let mut made = newest.calls.iter();
            made.any(|call| lasts(call) && is_call_of(plan, call))
        };
        let open = work
            .subtasks()
            .filter(|(_, of)| of.state == SubtaskState::Open);
        let begun_after = subtask.begun_after.unwrap_or_default();
        let is_own = |step: &Step| {
            let is_mine = |call: &CallRecord| call.succeeded() && step.number > begun_after;
            let mut calls = step.calls.iter();
            calls.any(|call| (is_mine(call) || lasts(call)) && is_call_of(&subtask.plan, call))
        };
        let is_next = open.skip(1).any(|(_, later)| does(&later.plan));
        let claims = is_next
            && !does(&subtask.plan)
            && subtask.lacks().is_none()
            && !work.told.contains_key(&newest.number)
            && steps.iter().any(is_own);
        claims.then(|| Decision::Advance {
            advance: Advance::SubtaskClaimed {
                reason: "its call came out well, and that of a later subtask was made".to_owned(),
                step: newest.number,
            },
        })
    }
}

/// Whether a call is what a subtask names, with its files where it takes any.
fn is_own(plan: &SubtaskPlan, call: &CallRecord) -> bool {
    let mut files = ["path", "from", "to"].iter();
    let takes_a_file = files.any(|name| call.args.get(name).is_some());
    is_call_of(plan, call) || (!takes_a_file && is_of_its_tool(plan, call))
}
