//! How models call tools, as their answers show it. Many small ones are offered tools over the server's own channel, take them
//! without a word, and write their calls as text all the same; they do better with tools that are told in words (`docs/models.md`).

use dashmap::DashMap;
use std::sync::Arc;

/// What was seen of each model, by its name. Cheap to clone; shared by all tasks of a server, and forgotten with it: one answer shows
/// it again.
#[derive(Debug, Clone, Default)]
pub struct ToolHabits(Arc<DashMap<String, Habit>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Habit {
    Native,
    Text,
}

impl ToolHabits {
    /// A model that was offered native tools called some, natively or as text. One native call counts for good.
    pub fn note(&self, model: &str, native: bool) {
        if native {
            self.0.insert(model.to_owned(), Habit::Native);
        } else if !self.0.contains_key(model) {
            tracing::info!(
                model,
                "the model writes its calls as text: it is told of tools in words from now on"
            );
            self.0.insert(model.to_owned(), Habit::Text);
        }
    }

    /// Whether the model is known to write its calls as text.
    pub fn writes_text(&self, model: &str) -> bool {
        self.0.get(model).is_some_and(|habit| *habit == Habit::Text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_that_never_calls_natively_writes_text_and_one_native_call_counts_for_good() {
        let habits = ToolHabits::default();
        assert!(!habits.writes_text("coder"));
        habits.note("coder", false);
        habits.note("other", true);
        habits.note("other", false);
        assert!(habits.writes_text("coder") && !habits.writes_text("other"));
        habits.note("coder", true);
        assert!(!habits.writes_text("coder"));
    }
}
