//! What goes along with a model call beside its messages: parameters, and a scripted model's place.

use serde::{Deserialize, Serialize};

/// Sampling parameters and sizes of a role. What is `None` is not sent, so the server's own value
/// holds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelParams {
    /// 0 = always the likeliest token.
    pub temperature: Option<f64>,
    /// Context window in tokens. Only Ollama's own dialect can send it. It must be the same on
    /// every call to one model: another value makes the server reload the model.
    pub num_ctx: Option<u32>,
    /// Limit of the answer, in tokens.
    pub max_tokens: Option<u32>,
    /// How long the model stays loaded after the call, for example `10m`; `-1m` = for ever.
    pub keep_alive: Option<String>,
    /// Thinking on, off, or how much; `None` leaves it to the model.
    pub think: Option<Think>,
    /// Makes sampling repeatable.
    pub seed: Option<u64>,
    /// Texts that end the answer.
    pub stop: Vec<String>,
}

/// What each answer in a row that led to nothing adds to the temperature of the next one.
const WARMER: f64 = 0.3;
/// No answer is asked for at more than this, unless the settings do.
const WARMEST: f64 = 1.0;

impl ModelParams {
    /// The parameters for a model whose last answers, so many in a row, led to nothing: at the same low temperature it would give
    /// the same answer again. Where the server's own temperature holds, that stays.
    pub fn warmer(mut self, in_vain: u32) -> Self {
        if let Some(own) = self.temperature {
            let warmer = own + WARMER * f64::from(in_vain);
            self.temperature = Some(warmer.min(WARMEST).max(own));
        }
        self
    }
}

/// How much a thinking model thinks before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Think {
    /// Sends `false`: turns a thinking model's thinking off.
    Off,
    /// Sends `true`.
    On,
    Low,
    Medium,
    High,
    Max,
}

impl Think {
    /// Reads the configuration's word.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "off" | "false" => Some(Think::Off),
            "on" | "true" => Some(Think::On),
            "low" => Some(Think::Low),
            "medium" => Some(Think::Medium),
            "high" => Some(Think::High),
            "max" => Some(Think::Max),
            _ => None,
        }
    }
}

/// Where a scripted model stands in its scenario.
///
/// It is derived by the task from its journal, so a restarted server goes on at the right answer
/// and the provider keeps no state of its own.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ScriptPosition {
    /// This role's journalled raw answers of this task, oldest first.
    pub prior_answers: Vec<String>,
    /// How the last tool call of the task ended, if there was one.
    pub last_result: Option<LastResult>,
}

/// How a task's last tool call ended, as far as a scripted model may look at it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LastResult {
    /// The call's outcome in the journal's words, for example `done`, `failed`, `unknown`.
    pub outcome: String,
    /// Whether the tool itself reported success, where it said so.
    pub success: Option<bool>,
    /// The result as the planner sees it.
    pub text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_think_is_read_from_its_word() {
        let ways = [
            Think::Off,
            Think::On,
            Think::Low,
            Think::Medium,
            Think::High,
            Think::Max,
        ];
        for way in ways {
            let word = serde_json::to_value(way).unwrap();
            assert_eq!(Think::parse(word.as_str().unwrap()), Some(way));
        }
        assert_eq!(Think::parse("true"), Some(Think::On));
        assert_eq!(Think::parse("false"), Some(Think::Off));
        assert_eq!(Think::parse("Max"), None);
    }
}
