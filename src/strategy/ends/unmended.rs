//! Ends of tasks that want a program mended while it is as it was: a weak model makes the file that was missing, and the fault stays.

use super::unchanged::changes;
use super::untouched::is_about;
use crate::domain::decision::{Decision, Guard};
use crate::strategy::alone::mending::wants_mended;
use crate::strategy::guards::check_program::is_check;
use crate::strategy::guards::times_told;
use crate::strategy::paths::named_in;
use crate::strategy::turn::Turn;

/// How often it is told: what a program did to it no call shows.
const MOST_OBJECTIONS: usize = 2;

impl Turn<'_> {
    /// What such an end is told. Of several programs nobody can tell which one is meant.
    pub(in crate::strategy) fn unmended(&self) -> Option<Decision> {
        let prompt = self.asked_for();
        if !self.profile.demand_proof || !self.may_end() || !wants_mended(prompt) {
            return None;
        }
        let path = only_program(prompt)?;
        let is_changed = self
            .state
            .calls()
            .any(|call| changes(call) && is_about(prompt, &call.args, &path));
        let words = format!("the task wants /{path} mended, and it is as it was");
        // That nothing at all was changed is told in other words.
        let has_changed = self.state.calls().any(changes);
        let objects =
            has_changed && !is_changed && times_told(self.state, &words) < MOST_OBJECTIONS;
        objects.then(|| {
            let told = format!(
                "{words}. Change what is wrong in it, and run what shows it. If nothing has to be changed in it, end the task once more"
            );
            self.block(Guard::Unfinished, told)
        })
    }
}

/// The only program that a task names, without its first slash, checks aside.
pub(in crate::strategy) fn only_program(prompt: &str) -> Option<String> {
    let mut programs = named_in(prompt);
    programs.retain(|path| path.ends_with(".lua") && !is_check(prompt, path));
    match programs.as_slice() {
        [program] => Some(program.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::drive::{Drive, profile_of};
    use serde_json::{Value, json};

    #[test]
    fn an_end_while_the_program_is_as_it_was_is_told_so_twice() {
        let task = "/visits.lua fails without /visits.txt. Mend it and run it.";
        let mut drive = Drive::new(profile_of("direct"), task);
        drive.bench.profile.demand_proof = true;
        drive.files.insert("/visits.lua".into(), "print(1)".into());
        let call = |tool: &str, args: Value| json!({"tool": tool, "args": args}).to_string();
        let hide = call("fs_write", json!({"path": "/visits.txt", "content": "1"}));
        let run = call("run_program", json!({"path": "/visits.lua"}));
        let end = "FINAL ANSWER: it runs";
        drive.say(&[&hide, &run, end]);
        let told = "the task wants /visits.lua mended, and it is as it was";
        assert!(drive.shown().contains(told), "{}", drive.shown());
        let mut stubborn = drive;
        stubborn.say(&[end]);
        assert!(stubborn.state().result.is_none());
        let mend = call(
            "fs_write",
            json!({"path": "/visits.lua", "content": "print(2)"}),
        );
        stubborn.say(&[&mend, &run, end]);
        assert!(stubborn.state().result.is_some(), "{}", stubborn.shown());
    }

    #[test]
    fn the_only_program_is_no_check() {
        for (task, only) in [
            (
                "Mend /a.lua. /check.lua says whether it is right.",
                Some("a.lua"),
            ),
            ("Mend /a.lua, which loads /b.lua.", None),
            ("Mend what is wrong in /a.cfg.", None),
        ] {
            assert_eq!(only_program(task).as_deref(), only, "{task}");
        }
    }
}
