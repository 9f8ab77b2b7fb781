//! Tools that a task's words call by their names and that it may not use: "Delete /a.txt with fs_delete if you are allowed to." A small model
//! that is to plan does not find that out: its plan calls them, or does otherwise what they do.

use crate::domain::chat::Message;
use crate::prompts::{PromptError, render};
use crate::strategy::fleet::{Found, is_allowed};
use crate::strategy::turn::Turn;
use serde_json::json;

impl<'a> Turn<'a> {
    /// Their names, in the order of the task's words. None of those of which nobody can tell.
    pub(in crate::strategy) fn refused_tools(&self) -> Vec<&'a str> {
        let tools = self.tools(None);
        let is_refused = |name: &&str| match tools.find(name) {
            Found::Tools(owners) => {
                let mut owners = owners.iter();
                owners.all(|owner| !is_allowed(self.state, self.profile, owner))
            }
            _ => false,
        };
        let words = self.asked_for();
        let words = words.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let mut refused: Vec<&str> = Vec::new();
        for name in words.filter(|word| word.contains('_')).filter(is_refused) {
            if !refused.contains(&name) {
                refused.push(name);
            }
        }
        refused
    }

    /// What who plans is told of them, with what the task says to do then.
    pub(in crate::strategy) fn told_refused(&self) -> Result<Option<Message>, PromptError> {
        let refused = self.refused_tools();
        if refused.is_empty() {
            return Ok(None);
        }
        let otherwise = self.otherwise().map(|otherwise| otherwise.sentence);
        let told = json!({"refused": refused, "otherwise": otherwise});
        let told = render(&self.profile.prompts, "shared/refused_tools", told)?;
        Ok(Some(Message::user(told)))
    }
}

#[cfg(test)]
mod tests {
    use crate::domain::chat::Role;
    use crate::strategy::drive::{Drive, profile_of};

    const TASK: &str = "Delete /keys.txt with fs_delete if you are allowed to. If you are refused, write the one word `refused` to /note.txt.";

    /// A task that may do nothing but write.
    fn drive(strategy: &str, task: &str) -> Drive {
        let mut profile = profile_of(strategy);
        profile.allowed_tools = vec!["fs_write".to_owned()];
        let mut drive = Drive::new(profile, task);
        assert!(drive.run_to_consult());
        drive
    }

    #[test]
    fn who_plans_is_told_of_a_tool_that_is_refused_and_what_the_task_says_of_it() {
        let last = |drive: &Drive| {
            let prompt = drive.state().prompt(Role::Planner);
            prompt.last().unwrap().content.trim().to_owned()
        };
        let plan = last(&drive("plan", TASK));
        insta::assert_snapshot!("refused_tools", plan);
        for strategy in ["numbered", "goals"] {
            assert_eq!(last(&drive(strategy, TASK)), plan, "{strategy}");
        }
        let bare = last(&drive(
            "plan",
            "Delete /keys.txt with fs_delete and fs_del.",
        ));
        assert!(
            bare.ends_with("its words name: plan no call of it."),
            "{bare}"
        );
        for task in ["Delete /keys.txt.", "Write /a.txt with fs_write."] {
            let other = drive("plan", task);
            assert!(!other.shown().contains("may not use"), "{}", other.shown());
        }
    }

    #[test]
    fn who_acts_is_shown_what_the_task_says_to_do_then() {
        for strategy in ["direct", "directive"] {
            let drive = drive(strategy, TASK);
            let told = "This task may not use fs_delete, and its words say what to do then: \"If you are refused, write the one word `refused`";
            assert!(drive.shown().contains(told), "{}", drive.shown());
        }
    }
}
