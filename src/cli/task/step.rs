//! One step of a task, with exactly what each model saw and said.

use super::journal::Task;
use super::pages::call_line;
use crate::domain::chat::{Message, Role};
use crate::domain::decision::{Contract, Decision};
use crate::domain::event::{StoredEvent, TaskEvent};
use crate::domain::fork;
use crate::domain::step::Step;
use crate::domain::task::TaskState;
use crate::strategy::step_log::prompt_text;
use crate::strategy::text::head_and_tail;
use serde::Serialize;
use serde_json::{Value, json};

/// Bytes of an answer or a result where it is not shown in full.
const BRIEF: usize = 1_500;

/// A model call.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Asked {
    pub role: Role,
    pub contract: Contract,
    /// The whole prompt as it was sent.
    pub prompt: Vec<Message>,
    /// None while the model thinks.
    pub answer: Option<Value>,
    pub failure: Option<Value>,
    /// What was read out of the answer.
    pub read: Option<Value>,
    #[serde(skip)]
    consult: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct StepPage {
    pub step: u32,
    pub models: Vec<Asked>,
    /// Everything else that was decided.
    pub decided: Vec<Value>,
    pub calls: Vec<Value>,
    #[serde(skip)]
    call_lines: Vec<String>,
}

/// A step of a task; none if it has no such step.
pub(super) fn of(task: &Task, number: u32) -> Option<StepPage> {
    if let Some(forked) = fork::of(&task.events).filter(|forked| number <= forked.at_step) {
        // The other task's events, with its own positions.
        let mut state = TaskState::new(forked.from.clone());
        state.apply_all(&forked.carried);
        let former = Task {
            events: forked.carried.clone(),
            whole: state.clone(),
            state,
            profile: None,
        };
        return of(&former, number);
    }
    let step = task.whole.steps.iter().find(|step| step.number == number)?;
    let mut page = StepPage {
        step: number,
        models: Vec::new(),
        decided: Vec::new(),
        calls: Vec::new(),
        call_lines: step.calls.iter().map(call_line).collect(),
    };
    page.calls = step
        .calls
        .iter()
        .map(|call| {
            json!({"call_id": call.call_id, "tool": call.tool, "args": call.args, "outcome": call.outcome(),
                "end": match &call.end {
                    crate::domain::task::CallEnd::Finished(report) => json!(report),
                    crate::domain::task::CallEnd::NotPlaced(why) => json!({"not_placed": why.message}),
                    crate::domain::task::CallEnd::Open => Value::Null,
                }})
        })
        .collect();
    let mut state = TaskState::new(task.state.task_id.clone());
    for stored in &task.events {
        state.apply(stored);
        page.take(&state, step, stored);
    }
    Some(page)
}

impl StepPage {
    /// Takes what an event says of the step; `state` is the state after it.
    fn take(&mut self, state: &TaskState, step: &Step, stored: &StoredEvent) {
        match &stored.event {
            TaskEvent::Decided {
                decision, track, ..
            } if *track == step.track => {
                let newest = state.steps.iter().rev().find(|s| s.track == *track);
                if newest.is_none_or(|newest| newest.number != step.number) {
                    return;
                }
                match &**decision {
                    Decision::Consult(consult) => self.models.push(Asked {
                        role: consult.role,
                        contract: consult.contract,
                        prompt: state.prompt(consult.role).to_vec(),
                        answer: None,
                        failure: None,
                        read: None,
                        consult: stored.seq,
                    }),
                    other => self.decided.push(json!(other)),
                }
            }
            TaskEvent::ModelAnswered {
                consult, answer, ..
            } => self.with(*consult, |asked| asked.answer = Some(json!(answer))),
            TaskEvent::ModelFailed {
                consult, failure, ..
            } => self.with(*consult, |asked| asked.failure = Some(json!(failure))),
            TaskEvent::DirectiveRead { consult, reading } => {
                self.with(*consult, |asked| asked.read = Some(json!(reading)));
            }
            TaskEvent::RequestRead {
                consult,
                request,
                problems,
            } => {
                let read = json!({"request": request, "problems": problems});
                self.with(*consult, |asked| asked.read = Some(read));
            }
            TaskEvent::AnswerRead { consult, read } => {
                self.with(*consult, |asked| asked.read = Some(json!(read)));
            }
            _ => {}
        }
    }

    fn with(&mut self, consult: u64, change: impl FnOnce(&mut Asked)) {
        if let Some(asked) = self.models.iter_mut().find(|a| a.consult == consult) {
            change(asked);
        }
    }

    /// The page for people. In full, nothing is left out.
    pub fn lines(&self, full: bool) -> Vec<String> {
        let cut = |text: &str| match full {
            true => text.to_owned(),
            false => head_and_tail(text, BRIEF),
        };
        let mut lines = vec![format!("step {}", self.step)];
        for asked in &self.models {
            let bytes: usize = asked.prompt.iter().map(|m| m.content.len()).sum();
            lines.push(format!(
                "\n=== {} is asked ({} messages, {bytes} bytes)",
                asked.role.as_str(),
                asked.prompt.len()
            ));
            match full {
                true => lines.push(prompt_text(&asked.prompt)),
                false => lines.push("(--full shows the prompt)".to_owned()),
            }
            if let Some(answer) = &asked.answer {
                let said = answer["content"].as_str().unwrap_or_default();
                lines.push(format!("=== {} answers", asked.role.as_str()));
                lines.push(cut(said));
                let calls = &answer["tool_calls"];
                if calls.as_array().is_some_and(|calls| !calls.is_empty()) {
                    lines.push(cut(&format!("{calls:#}")));
                }
            }
            if let Some(failure) = &asked.failure {
                lines.push(format!("=== no answer: {failure}"));
            }
            if let Some(read) = asked.read.as_ref().filter(|_| full) {
                lines.push(format!("=== read as\n{read:#}"));
            }
        }
        for decided in &self.decided {
            let what = decided["decision"].as_str().unwrap_or_default();
            lines.push(format!(
                "\n=== decided: {what}\n{}",
                cut(&format!("{decided:#}"))
            ));
        }
        for (line, call) in self.call_lines.iter().zip(&self.calls) {
            lines.push(format!("\n=== call {line}\n{}", cut(&format!("{call:#}"))));
        }
        lines
    }
}
