//! Ends of tasks that want values set in one short file, while it lacks one of them: of two settings a weak model changes one, and says that both
//! are done.

use super::unchanged::changes;
use super::untouched::names;
use crate::domain::decision::{Decision, Guard};
use crate::domain::step::CallRecord;
use crate::strategy::guards::times_told;
use crate::strategy::paths::normal;
use crate::strategy::turn::Turn;

/// How often it is told: a task may speak of a value that goes nowhere.
const MOST_OBJECTIONS: usize = 2;

impl Turn<'_> {
    /// What such an end is told.
    pub(in crate::strategy) fn unset_value(&self) -> Option<Decision> {
        if !self.profile.demand_proof || !self.may_end() {
            return None;
        }
        let (path, lack) = self.value_not_set()?;
        // That nothing was written into it is told in other words.
        let is_changed = |call: &CallRecord| changes(call) && names(&call.args, &normal(&path));
        if !self.state.calls().any(is_changed) {
            return None;
        }
        let words = format!("{path} is not as it shall be");
        (times_told(self.state, &words) < MOST_OBJECTIONS).then(|| {
            let told = format!(
                "{words}: {}. Set it, and leave the rest as it is. If it is right so, end the task once more",
                lack.told
            );
            self.block(Guard::Unfinished, told)
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::strategy::drive::{Drive, call, profile_of};
    use serde_json::json;

    #[test]
    fn an_end_without_one_of_two_settings_is_told_so_twice() {
        let task = "/mobs.ini: turn phantoms off, set max of creeper to 8. nothing else.";
        let begun = "[creeper]\nmax=12\n[phantom]\nphantoms=true\n";
        for (content, told) in [
            (begun.replace("12", "8"), Some("the task says phantoms off")),
            (begun.replace("true", "false"), Some("the task speaks of 8")),
            (begun.replace("12", "8").replace("true", "false"), None),
        ] {
            let mut drive = Drive::new(profile_of("direct"), task);
            drive.bench.profile.demand_proof = true;
            drive.files.insert("/mobs.ini".into(), begun.into());
            let end = "FINAL ANSWER: both are set";
            drive.say(&[
                &call("fs_read", json!({"path": "/mobs.ini"})),
                &call("fs_write", json!({"path": "/mobs.ini", "content": content})),
                end,
            ]);
            match told {
                Some(told) => assert!(drive.shown().contains(told), "{}", drive.shown()),
                None => assert!(!drive.shown().contains("is not as it shall be")),
            }
            for _ in 0..2 {
                if drive.state().result.is_none() {
                    drive.say(&[end]);
                }
            }
            assert!(drive.state().result.is_some(), "{}", drive.shown());
        }
    }
}
