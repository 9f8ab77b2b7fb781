//! The scenario format and the pure rule for the next answer.
//!
//! ```toml
//! description = "optional words for people"
//!
//! [[planner]]                      # the planner's answers, in order
//! text = "DIRECTIVE: RUN ..."
//! thinking = "optional"
//! delay_ms = 50                    # optional
//! tool_calls = [{ name = "fs_list", arguments = { path = "/" } }]  # optional
//! tool_calls_json = '[…]'          # the same as JSON, for what TOML cannot hold
//! told = { stop = "length", tokens_in = 10, tokens_out = 5 }       # optional: what the model server would tell
//!
//! [[planner]]                      # one answer with alternatives: the first whose guard holds
//! [[planner.alternative]]
//! when = { success = false, contains = "attempt to index" }
//! text = "..."
//! [[planner.alternative]]
//! text = "..."
//!
//! [[executor]]
//! text = "..."
//!
//! [[interlude]]                    # out of order, whenever its guard holds
//! role = "planner"                 # the default
//! when = { outcome = "unknown" }
//! repeat = true                    # or `text` and the other fields of an answer
//! ```

use serde::{Deserialize, Serialize};

use crate::domain::chat::{Role, StopReason, ToolCall};
use crate::domain::model_call::{LastResult, ScriptPosition};
use crate::llm::error::LlmError;

/// Why a scenario cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ScenarioError(String);

/// Ordered answers per role, and answers out of order.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    pub description: String,
    planner: Vec<Step>,
    executor: Vec<Step>,
    interludes: Vec<Interlude>,
}

/// One place in the order: the alternatives of one answer, never empty.
type Step = Vec<Guarded>;

#[derive(Debug, Clone, PartialEq)]
struct Guarded {
    when: When,
    answer: ScriptedAnswer,
}

/// What a scripted model says.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ScriptedAnswer {
    pub text: String,
    pub thinking: String,
    pub tool_calls: Vec<ToolCall>,
    /// Milliseconds before it says it.
    pub delay_ms: u64,
    pub told: Told,
}

/// What a model server tells beside an answer. A recorded one is told again, for decisions look at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Told {
    pub stop: StopReason,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_in: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_out: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_cached: Option<u64>,
}

impl Default for Told {
    fn default() -> Self {
        Told {
            stop: StopReason::Stop,
            tokens_in: None,
            tokens_out: None,
            tokens_cached: None,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
struct Interlude {
    role: Role,
    when: When,
    /// `None` repeats the role's last answer that was no interlude.
    answer: Option<ScriptedAnswer>,
}

/// A guard on the task's last result; what is not set holds always.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct When {
    pub outcome: Option<String>,
    pub success: Option<bool>,
    pub contains: Option<String>,
}

impl When {
    /// Whether the guard holds. Without a last result only an empty guard does.
    pub fn holds(&self, last: Option<&LastResult>) -> bool {
        let Some(last) = last else {
            return *self == When::default();
        };
        let outcome = self.outcome.as_ref().is_none_or(|o| *o == last.outcome);
        let success = self.success.is_none_or(|s| last.success == Some(s));
        let contains = self.contains.as_ref();
        outcome && success && contains.is_none_or(|part| last.text.contains(part.as_str()))
    }
}

impl Scenario {
    /// Reads the TOML format described at the top of this file.
    ///
    /// # Errors
    /// What does not fit, with its line where TOML knows it.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let raw: RawScenario =
            toml::from_str(text).map_err(|error| ScenarioError(error.to_string()))?;
        let steps = |role: Role, raw: Vec<RawStep>| {
            raw.into_iter()
                .enumerate()
                .map(|(at, step)| step.checked(&format!("{} answer {}", role.as_str(), at + 1)))
                .collect::<Result<Vec<Step>, ScenarioError>>()
        };
        let interludes = raw.interlude.into_iter().enumerate();
        Ok(Scenario {
            description: raw.description,
            planner: steps(Role::Planner, raw.planner)?,
            executor: steps(Role::Executor, raw.executor)?,
            interludes: interludes
                .map(|(at, interlude)| interlude.checked(&format!("interlude {}", at + 1)))
                .collect::<Result<_, _>>()?,
        })
    }

    /// The next answer of a role: an interlude whose guard holds, else the next in order.
    ///
    /// # Errors
    /// `script_exhausted` after the last answer; `script_invalid` if no alternative's guard holds.
    pub fn answer(
        &self,
        role: Role,
        position: &ScriptPosition,
    ) -> Result<ScriptedAnswer, LlmError> {
        let fold = self.fold(role, &position.prior_answers);
        let last = position.last_result.as_ref();
        for interlude in self.interludes_of(role).filter(|i| i.when.holds(last)) {
            match (&interlude.answer, fold.last_ordered) {
                (Some(answer), _) => return Ok(answer.clone()),
                (None, Some(text)) => return Ok(self.said_before(role, fold.cursor, text)),
                // Nothing to repeat yet.
                (None, None) => {}
            }
        }
        let Some(step) = self.steps(role).get(fold.cursor) else {
            return Err(LlmError::ScriptExhausted {
                role,
                given: position.prior_answers.len(),
            });
        };
        let fitting = step.iter().find(|guarded| guarded.when.holds(last));
        match fitting {
            Some(guarded) => Ok(guarded.answer.clone()),
            None => Err(LlmError::ScriptInvalid {
                detail: format!(
                    "no alternative of {} answer {} fits the last result {last:?}",
                    role.as_str(),
                    fold.cursor + 1
                ),
            }),
        }
    }

    /// How many ordered answers of a role were given.
    pub fn cursor(&self, role: Role, prior_answers: &[String]) -> usize {
        self.fold(role, prior_answers).cursor
    }

    /// Goes through the answers given so far. One that is next in order advances; an interlude's text
    /// does not; a repeat of the last ordered answer does not, if there is a repeating interlude; any
    /// other (a scenario that was edited meanwhile) advances, so that nothing is said for ever.
    fn fold<'a>(&self, role: Role, prior_answers: &'a [String]) -> Fold<'a> {
        let steps = self.steps(role);
        let may_repeat = self.interludes_of(role).any(|i| i.answer.is_none());
        let mut fold = Fold::default();
        for text in prior_answers {
            let is_next = steps
                .get(fold.cursor)
                .is_some_and(|step| step.iter().any(|g| g.answer.text == *text));
            let is_interlude = self
                .interludes_of(role)
                .any(|i| i.answer.as_ref().is_some_and(|a| a.text == *text));
            let is_repeat = may_repeat && fold.last_ordered == Some(text.as_str());
            if is_next || !(is_interlude || is_repeat) {
                fold.cursor += 1;
                fold.last_ordered = Some(text);
            }
        }
        fold
    }

    /// An earlier answer again, with its tool calls where the scenario still has it.
    fn said_before(&self, role: Role, cursor: usize, text: &str) -> ScriptedAnswer {
        let step = cursor
            .checked_sub(1)
            .and_then(|at| self.steps(role).get(at));
        let known = step.and_then(|step| step.iter().find(|g| g.answer.text == text));
        match known {
            Some(guarded) => guarded.answer.clone(),
            None => ScriptedAnswer {
                text: text.to_owned(),
                ..ScriptedAnswer::default()
            },
        }
    }

    fn steps(&self, role: Role) -> &[Step] {
        match role {
            Role::Planner => &self.planner,
            Role::Executor => &self.executor,
        }
    }

    fn interludes_of(&self, role: Role) -> impl Iterator<Item = &Interlude> {
        self.interludes.iter().filter(move |i| i.role == role)
    }
}

#[derive(Debug, Default)]
struct Fold<'a> {
    cursor: usize,
    last_ordered: Option<&'a str>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawScenario {
    #[serde(default)]
    description: String,
    #[serde(default)]
    planner: Vec<RawStep>,
    #[serde(default)]
    executor: Vec<RawStep>,
    #[serde(default)]
    interlude: Vec<RawInterlude>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStep {
    when: Option<When>,
    text: Option<String>,
    thinking: Option<String>,
    tool_calls: Option<Vec<ToolCall>>,
    tool_calls_json: Option<String>,
    delay_ms: Option<u64>,
    told: Option<Told>,
    #[serde(default)]
    alternative: Vec<RawAlternative>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawAlternative {
    #[serde(default)]
    when: When,
    text: Option<String>,
    thinking: Option<String>,
    tool_calls: Option<Vec<ToolCall>>,
    tool_calls_json: Option<String>,
    delay_ms: Option<u64>,
    told: Option<Told>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawInterlude {
    #[serde(default = "planner")]
    role: Role,
    when: When,
    #[serde(default)]
    repeat: bool,
    text: Option<String>,
    thinking: Option<String>,
    tool_calls: Option<Vec<ToolCall>>,
    delay_ms: Option<u64>,
}

fn planner() -> Role {
    Role::Planner
}

impl RawStep {
    fn checked(self, place: &str) -> Result<Step, ScenarioError> {
        let own = RawAlternative {
            when: self.when.unwrap_or_default(),
            text: self.text,
            thinking: self.thinking,
            tool_calls: self.tool_calls,
            tool_calls_json: self.tool_calls_json,
            delay_ms: self.delay_ms,
            told: self.told,
        };
        if self.alternative.is_empty() {
            return Ok(vec![own.checked(place)?]);
        }
        if !own.is_empty() {
            return Err(ScenarioError(format!(
                "{place}: has alternatives, so its own fields belong into one of them"
            )));
        }
        self.alternative
            .into_iter()
            .map(|alternative| alternative.checked(place))
            .collect()
    }
}

impl RawAlternative {
    fn is_empty(&self) -> bool {
        self.when == When::default()
            && self.text.is_none()
            && self.thinking.is_none()
            && self.tool_calls.is_none()
            && self.tool_calls_json.is_none()
            && self.told.is_none()
            && self.delay_ms.is_none()
    }

    fn checked(self, place: &str) -> Result<Guarded, ScenarioError> {
        let told_as_json = self.tool_calls_json.as_deref();
        let told_as_json = told_as_json.map(serde_json::from_str).transpose();
        let told_as_json = told_as_json
            .map_err(|error| ScenarioError(format!("{place}: tool_calls_json: {error}")))?;
        let tool_calls = self.tool_calls.or(told_as_json);
        if self.text.is_none() && tool_calls.is_none() {
            return Err(ScenarioError(format!(
                "{place}: needs `text` or `tool_calls`"
            )));
        }
        Ok(Guarded {
            when: self.when,
            answer: ScriptedAnswer {
                text: self.text.unwrap_or_default(),
                thinking: self.thinking.unwrap_or_default(),
                tool_calls: tool_calls.unwrap_or_default(),
                delay_ms: self.delay_ms.unwrap_or_default(),
                told: self.told.unwrap_or_default(),
            },
        })
    }
}

impl RawInterlude {
    fn checked(self, place: &str) -> Result<Interlude, ScenarioError> {
        if self.when == When::default() {
            return Err(ScenarioError(format!(
                "{place}: an empty `when` would hold for ever"
            )));
        }
        let body = RawAlternative {
            when: When::default(),
            text: self.text,
            thinking: self.thinking,
            tool_calls: self.tool_calls,
            tool_calls_json: None,
            delay_ms: self.delay_ms,
            told: None,
        };
        let answer = match (self.repeat, body.is_empty()) {
            (true, true) => None,
            (true, false) => {
                return Err(ScenarioError(format!(
                    "{place}: either `repeat` or an answer, not both"
                )));
            }
            (false, _) => Some(body.checked(place)?.answer),
        };
        Ok(Interlude {
            role: self.role,
            when: self.when,
            answer,
        })
    }
}

#[cfg(test)]
#[path = "scenario_tests.rs"]
mod tests;
