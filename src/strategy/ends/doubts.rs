//! What the server held against the end of a task, and its model said done again without doing anything more: rules may be wrong and a model right, so the
//! end is taken, and whoever asked for the task is told.

use crate::domain::decision::Guard;
use crate::strategy::turn::Turn;

/// How many of them are told.
const MOST: usize = 3;

impl Turn<'_> {
    /// These objections, the newest first, each once and without what it told the model to do.
    pub(super) fn doubts(&self) -> Vec<String> {
        let steps = self.state.steps.iter().rev();
        let since = steps.take_while(|step| step.calls.is_empty());
        let blocked = since.filter_map(|step| step.blocked.as_ref());
        let objections =
            blocked.filter(|blocked| matches!(blocked.guard, Guard::Unfinished | Guard::Proof));
        let mut doubts: Vec<String> = Vec::new();
        for objection in objections {
            let said = objection.evidence.split(". ").next().unwrap_or_default();
            let said = said.trim_end_matches('.').to_owned();
            if !doubts.contains(&said) && doubts.len() < MOST {
                doubts.push(said);
            }
        }
        doubts
    }
}

#[cfg(test)]
mod tests {
    use crate::strategy::drive::{Drive, call, profile_of};
    use serde_json::json;

    const END: &str = "FINAL ANSWER: it is done";

    /// What the result of a task tells as not confirmed, after these answers.
    fn doubts(said: &[&str]) -> Vec<String> {
        let task = "Add the line `Olaf 35` at the end of /wages.txt, after a look at /all.txt";
        let mut drive = Drive::new(profile_of("direct"), task);
        drive.bench.profile.demand_proof = true;
        drive.files.insert("/wages.txt".into(), "Ann 20\n".into());
        drive.say(said);
        let result = drive
            .state()
            .result
            .as_ref()
            .unwrap_or_else(|| panic!("{}", drive.shown()));
        result.doubts().map(str::to_owned).collect()
    }

    #[test]
    fn an_end_that_was_objected_to_and_said_again_is_taken_and_told_as_not_confirmed() {
        let read = call("fs_read", json!({"path": "/wages.txt"}));
        let other = call("fs_write", json!({"path": "/c.txt", "content": "2\n"}));
        let right = json!({"path": "/wages.txt", "content": "Ann 20\nOlaf 35\n"});
        let told = "the task tells to write into /wages.txt, and nothing was written there";
        assert_eq!(doubts(&[&read, &other, END, END, END]), [told]);
        let write = call("fs_write", right);
        assert_eq!(doubts(&[&read, &other, END, &write, END]), [""; 0]);
    }
}
