//! Source document 004: a goal is broken down into objectives and subtasks; the model works on one subtask at a time with
//! a focused context, and says itself, with a mark, when one is complete. What it says is checked.

mod breakdown;
pub mod check;
pub mod claim;
pub mod decomposition;
mod done_before;
pub mod facts;
mod fit;
pub mod known;
pub mod mark;
mod marks_by_rule;
pub mod memory;
mod ready;

use super::calling;
use super::guards;
use crate::domain::call::{Address, Target};
use crate::domain::chat::ToolCall;
use crate::domain::decision::{Contract, Decision, Guard, Inputs};
use crate::domain::directive::{StrictRequest, TaskResult, TranslatedBy};
use crate::domain::ids::ClientId;
use crate::domain::profile::Profile;
use crate::domain::read::Read;
use crate::domain::task::{Step, TaskState};
use crate::domain::track::Track;
use crate::domain::work::{Advance, GoalWork, Standing, Work};
use crate::strategy::answers::call_form::{self, Callable};
use crate::strategy::text::has_word;
use crate::strategy::turn::Turn;
use facts::FileState;
use mark::{is_mark, mark_tool};
use serde_json::json;
use std::collections::BTreeSet;

/// The strategy's name in kinds and journals.
pub const NAME: &str = "goals";
/// Raised when a change would decide a running task differently.
pub const VERSION: u32 = 51;

/// The pseudo tool that is the only way to complete a subtask; no computer owns it.
pub const MARK_TOOL: &str = "mark_subtask_complete";
/// What a task that went well ends with.
pub const ACHIEVED: &str = "goal achieved";

/// The next move of a task that runs this strategy and has nothing open.
pub fn decide(state: &TaskState, profile: &Profile, inputs: &Inputs) -> Option<Decision> {
    let turn = Turn {
        state,
        profile,
        inputs,
        track: Track::MAIN,
        again: "Call one tool with its arguments, in the form you were shown.",
    };
    let course = Course { turn };
    let decision = turn.opening().or_else(|| match &state.work {
        Work::Goals(work) => course.go_on(work),
        _ => Some(course.break_down()),
    })?;
    Some(with_status(decision, &state.work))
}

/// A failure tells what is done and what is open.
fn with_status(mut decision: Decision, work: &Work) -> Decision {
    if let (Decision::Fail { details, .. }, Work::Goals(work)) = (&mut decision, work)
        && let Some(fields) = details.as_object_mut()
    {
        fields.insert("goal".to_owned(), work.status());
    }
    decision
}

/// Words of a model that does not call its subtask complete; "t" is the end of "doesn't".
const DENIES: [&str; 9] = [
    "not", "t", "cannot", "never", "unable", "fail", "fails", "failed", "error",
];

/// A task's course under this strategy.
struct Course<'a> {
    turn: Turn<'a>,
}

impl<'a> Course<'a> {
    /// The goal is broken down.
    fn go_on(&self, work: &GoalWork) -> Option<Decision> {
        let replans = self.may_replan(work);
        match self.turn.state.current_step() {
            None => Some(self.between_steps(work)),
            // Its calls are under way, and the fold closes it after them.
            Some(step) if step.calls.iter().any(|call| call.is_open()) => None,
            Some(step) if step.planner.is_none() && replans => {
                Some(self.consult_for_goals(Some(work)))
            }
            Some(step) if step.planner.is_none() => Some(self.consult_for_subtask(work)),
            Some(step) if matches!(step.read, Some(Read::Goals(_))) => {
                Some(self.adopt(step, Some(work)))
            }
            Some(step) => Some(self.carry_out(step, work)),
        }
    }

    fn may_replan(&self, work: &GoalWork) -> bool {
        work.failed_now && work.replans < self.turn.profile.goals.replans
    }

    fn between_steps(&self, work: &GoalWork) -> Decision {
        if let Some(claim) = &work.claim {
            return self.settle_claim(work, claim);
        }
        match work.standing() {
            Standing::Achieved => self.achieved(work),
            Standing::Failed if self.may_replan(work) => {
                let before = self.turn.before_step();
                before.unwrap_or_else(|| self.consult_for_goals(Some(work)))
            }
            Standing::Failed => self.turn.fail("goal_not_achieved", work.status_line()),
            Standing::UnderWay => {
                let over = self.marked_as_proved(work).or_else(|| self.moved_on(work));
                let before = over.or_else(|| self.out_of_rounds(work));
                let before = before.or_else(|| self.turn.before_step());
                before.unwrap_or_else(|| self.consult_for_subtask(work))
            }
        }
    }

    /// Model turns after the decomposition.
    fn rounds(&self) -> u32 {
        let steps = self.turn.state.steps.iter();
        steps
            .filter(|step| matches!(step.read, Some(Read::Turn(_))))
            .count() as u32
    }

    fn out_of_rounds(&self, work: &GoalWork) -> Option<Decision> {
        let most = self.turn.profile.goals.rounds;
        if self.rounds() < most {
            return None;
        }
        let over = guards::UsedUp {
            key: "goals.rounds",
            limit: u64::from(most),
        };
        let mut decision = guards::fail_over(self.turn.state, over);
        if let Decision::Fail { error, .. } = &mut decision {
            error.push_str(&format!(": {}", work.status_line()));
        }
        Some(decision)
    }

    fn consult_for_subtask(&self, work: &GoalWork) -> Decision {
        match memory::focused_prompt(&self.turn, work, self.rounds()) {
            Ok((prompt, tools)) => {
                let there = work.current().and_then(|(_, subtask)| {
                    let on = subtask.plan.on.as_ref()?;
                    Some(format!("{on}/{}", subtask.plan.tool))
                });
                let callable = Callable {
                    own: mark_tool(),
                    also: there,
                    ends: false,
                };
                call_form::consult(&self.turn, Contract::Subtask, prompt, tools, callable)
            }
            Err(error) => self.turn.fail("prompt_broken", error.to_string()),
        }
    }

    /// The model has answered in a subtask.
    fn carry_out(&self, step: &Step, work: &GoalWork) -> Decision {
        let Some(Read::Turn(said)) = &step.read else {
            let evidence = "the answer could not be read".to_owned();
            return self.turn.block(Guard::Unreadable, evidence);
        };
        if said.calls.is_empty() && !said.problems.is_empty() {
            let evidence = self.turn.restate(&said.problems);
            return self.turn.block(Guard::Unreadable, evidence);
        }
        let (marks, calls): (Vec<&ToolCall>, Vec<&ToolCall>) =
            said.calls.iter().partition(|call| is_mark(call));
        match (calls.as_slice(), marks.first()) {
            ([], None) => self.words_alone(step, work),
            ([], Some(mark)) => self.mark(step, &mark.arguments, work),
            ([call], None) if self.is_said_for_a_mark(call, work) => {
                let reason = "its call was made and came out well, and was asked for again";
                let args = json!({"success": true, "reason": reason});
                match self.mark(step, &args, work) {
                    Decision::Block { .. } => {
                        calling::carry_out(&self.turn, step, &said.text, &[*call])
                    }
                    marked => marked,
                }
            }
            // A mark beside calls would claim what was not seen yet; the model is told to mark it afterwards.
            (calls, _) => calling::carry_out(&self.turn, step, &said.text, calls),
        }
    }

    /// One reminder; a second answer without a call in a row fails the subtask, or is its mark where its actions came out well: who sees nothing
    /// more to do says so in words.
    fn words_alone(&self, step: &Step, work: &GoalWork) -> Decision {
        let Some((place, subtask)) = work.current() else {
            return self.turn.fail("goal_not_achieved", work.status_line());
        };
        let begun_after = subtask.begun_after.unwrap_or_default();
        let former = self.turn.state.steps.iter().rev();
        let former = former
            .filter(|s| s.number < step.number && s.number > begun_after)
            .find(|s| s.planner.is_some());
        let reminded = former.is_some_and(|s| {
            let blocked = s.blocked.as_ref();
            blocked.is_some_and(|blocked| blocked.guard == Guard::Reminder)
        });
        if reminded {
            let said = step.planner.as_ref().map_or("", |said| said.own_words());
            let reason = "its actions came out well, and its model called nothing more";
            let args = json!({"success": true, "reason": reason});
            let mark = (!has_word(said, &DENIES)).then(|| self.mark(step, &args, work));
            let mark = mark.filter(|mark| !matches!(mark, Decision::Block { .. }));
            let reason = "two answers in a row without a tool call";
            return mark.unwrap_or_else(|| self.marked(false, reason.to_owned()));
        }
        self.turn.block(
            Guard::Reminder,
            format!(
                "subtask {place} is still open, and words change nothing: call a tool that does it, or {MARK_TOOL} with {{\"success\": \
                 true, \"reason\": \"…\"}} if it is complete (success false if it cannot be done)"
            ),
        )
    }

    fn marked(&self, success: bool, reason: String) -> Decision {
        let step = self.turn.state.usage.steps;
        Decision::Advance {
            advance: Advance::SubtaskMarked {
                success,
                reason,
                step,
            },
        }
    }

    fn achieved(&self, work: &GoalWork) -> Decision {
        match self.finish(work) {
            // A call of which nobody knew turned out to have changed something after the last test.
            Decision::Block { evidence, .. } => self.turn.fail("goal_not_achieved", evidence),
            decision => decision,
        }
    }

    /// The end that the goal has when every subtask is done, or what the guards say against it.
    fn finish(&self, work: &GoalWork) -> Decision {
        let (request, result) = self.end_of(Some(work));
        self.turn.finish(request, TranslatedBy::Rules, result)
    }

    /// The end of a goal that is reached before it was broken down.
    fn proved_end(&self) -> Option<Decision> {
        let (request, result) = self.end_of(None);
        self.turn.proved_end(request, result)
    }

    fn end_of(&self, work: Option<&GoalWork>) -> (StrictRequest, TaskResult) {
        let facts = facts::gather(self.turn.state, &[]);
        let home = self.turn.state.home();
        let written: Vec<String> = facts
            .files
            .iter()
            .filter(|f| f.written_in.is_some())
            .map(|f| f.shown(home))
            .collect();
        let result = TaskResult {
            success: true,
            message: ACHIEVED.to_owned(),
            details: json!({
                "goal": work.map(GoalWork::status),
                "rounds": self.rounds(),
                "files_written": written,
                "files_exist": facts.named(FileState::Exists, home),
                "files_missing": facts.named(FileState::Missing, home),
                "commands_run": facts.commands,
            }),
        };
        let request = StrictRequest::Final {
            explanation: ACHIEVED.to_owned(),
            result: result.clone(),
        };
        (request, result)
    }
}

/// Computers that the next move may be about beside the task's own.
pub fn named_computers(state: &TaskState) -> Vec<Address> {
    let whole = |id: ClientId| Address {
        target: Target::Computer(id),
        tool: String::new(),
    };
    let mut named = Vec::new();
    if let Work::Goals(work) = &state.work {
        let open = work
            .current()
            .and_then(|(_, subtask)| subtask.plan.on.clone());
        named.extend(open.map(whole));
        if work.claim.is_some() {
            // Its files are looked for where they were written.
            let intended = state.calls().filter_map(|call| call.intended.as_ref());
            let places: BTreeSet<&ClientId> = intended.map(|call| &call.client_id).collect();
            named.extend(places.into_iter().cloned().map(whole));
        }
    }
    if let Some(Read::Goals(goals)) = state.current_step().and_then(|step| step.read.as_ref()) {
        let subtasks = goals.objectives.iter().flat_map(|o| &o.subtasks);
        let names = subtasks.filter_map(|subtask| subtask.on.as_deref());
        let ids = names.filter_map(|name| ClientId::parse(name).ok());
        named.extend(ids.map(whole));
    }
    named
}

#[cfg(test)]
mod tests;
