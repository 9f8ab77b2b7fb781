//! Tasks of which nothing is left before anything was planned: what is typed into a program was asked for alone, or a file was written by
//! rule, and the check of which the task's last sentence speaks has run well; or the only program of which it speaks was mended, and prints
//! what it says; or all that it wants are programs, which were asked for alone, and their runs, which ended well; or lines of one program were
//! asked for alone, and it ran well. A small model that is to plan then plans the whole task once more, and does it twice.

use super::unchanged::changes;
use super::untouched::names;
use crate::domain::decision::Decision;
use crate::domain::directive::{StrictRequest, TaskResult, TranslatedBy};
use crate::domain::files::from_root;
use crate::domain::ids::ClientId;
use crate::domain::step::Step;
use crate::domain::task::CallRecord;
use crate::strategy::alone::mending::program_of;
use crate::strategy::alone::typed_input::is_typed_run;
use crate::strategy::guards::check_program::{is_called_check, is_check};
use crate::strategy::guards::misplaced_program::holds_data;
use crate::strategy::memory::contents;
use crate::strategy::paths::normal;
use crate::strategy::paths::{mentions, named_in};
use crate::strategy::text::has_word;
use crate::strategy::turn::Turn;
use crate::strategy::words::asked_questions::sentences;
use crate::strategy::words::asked_runs;

/// Words of the sentences of a task that only wants a program mended: each has one, or an output in quotes.
pub(in crate::strategy) const ABOUT_IT: [&str; 13] = [
    "mend", "fix", "fixes", "repair", "debug", "fails", "wrong", "not", "shall", "should",
    "prints", "print", "run",
];

/// Words of a task that wants more than that.
pub(in crate::strategy) const BEYOND: [&str; 17] = [
    "tell", "report", "send", "note", "log", "ask", "write", "copy", "move", "delete", "rename",
    "save", "pay", "answer", "also", "both", "then",
];

impl Turn<'_> {
    /// The end of such a task, if nothing stands against it.
    pub(in crate::strategy) fn proved_end(
        &self,
        request: StrictRequest,
        result: TaskResult,
    ) -> Option<Decision> {
        let end = || self.end(request, TranslatedBy::Rules, result);
        let end = self.is_proved().then(end);
        // Before files that were moved or deleted are the end, the server may look at where they are.
        let looks = || self.is_moved_and_run() || self.is_deleted_and_run();
        end.filter(|decision| match decision {
            Decision::Finish { .. } => true,
            Decision::Call { .. } => looks(),
            _ => false,
        })
    }

    /// What shows that such a task is done, in words for people.
    pub(in crate::strategy) fn proof(&self) -> Option<String> {
        let ran = self.tests_since_change().last();
        let ran = ran.map(|run| format!("{} ran well", run.what));
        let changed = || Some(format!("{} was changed", self.changed_file()?));
        let put = || Some("its files are where it wants them".to_owned());
        ran.or_else(changed)
            .or_else(|| put().filter(|_| self.is_moved_and_run() || self.is_deleted_and_run()))
    }

    /// Whether nothing of the task is left before anything was done that a planner wanted: a plan that was refused has done nothing.
    pub(in crate::strategy) fn is_proved(&self) -> bool {
        let mut steps = self.state.steps.iter();
        let is_by_rule = |step: &Step| step.planner.is_none() || step.calls.is_empty();
        steps.all(is_by_rule) && self.nothing_left()
    }

    /// Whether nothing of the task is left that its words tell, as far as rules read them.
    pub(in crate::strategy) fn nothing_left(&self) -> bool {
        self.state.wakes().is_none()
            && self.tools_to_call().is_empty()
            && !self.is_tool_left()
            && (self.is_done_and_checked()
                || self.is_mended_as_said()
                || self.is_mended_and_run()
                || self.is_written_and_run()
                || self.is_patched_and_run()
                || self.is_changed_and_run()
                || self.is_filled_and_run()
                || self.is_moved_and_run()
                || self.is_deleted_and_run())
    }

    fn is_done_and_checked(&self) -> bool {
        let (state, prompt) = (self.state, self.asked_for());
        let works = |call: &&CallRecord| call.succeeded() && (changes(call) || is_typed_run(call));
        let worked: Vec<&CallRecord> = state.calls().filter(works).collect();
        let is_done = |path: &String| {
            let mut worked = worked.iter();
            is_check(prompt, path)
                || worked.any(|call| names(&call.args, path) || self.runs_what_names(call, path))
                || (holds_data(path) && self.is_known_wherever(path))
                || self.is_patched_below(path)
                || self.is_cleared(path)
                || self.was_heard(path)
                || self.is_folder_of_made_tool(path)
        };
        self.is_checked() && !worked.is_empty() && named_in(prompt).iter().all(is_done)
    }

    /// Whether the check of which the task's last sentence speaks has run well since the last change.
    pub(in crate::strategy) fn is_checked(&self) -> bool {
        let newest = self.tests_since_change().last().filter(|run| run.success);
        let check = newest.map(|run| asked_runs::program_of(&run.what));
        check.is_some_and(|check| self.is_closing_check(&check))
    }

    /// Whether the task's last sentence speaks of a program that checks the work.
    pub(in crate::strategy) fn has_closing_check(&self) -> bool {
        let programs = named_in(self.asked_for());
        programs.iter().any(|path| self.is_closing_check(path))
    }

    /// Whether a program checks the work, was there, and has the task's last sentence, behind which nothing more is to be done.
    fn is_closing_check(&self, program: &str) -> bool {
        closes_with(self.asked_for(), program) && self.is_given_check(program, None)
    }

    /// Whether a call typed into a program whose text names a file: that is its own work.
    fn runs_what_names(&self, call: &CallRecord, file: &str) -> bool {
        let program = program_of(call).filter(|_| is_typed_run(call));
        program.is_some_and(|program| self.is_named_in(program, self.elsewhere(call), file))
    }

    /// Whether the text of a program names a file.
    pub(in crate::strategy) fn is_named_in(
        &self,
        program: &str,
        on: Option<&ClientId>,
        file: &str,
    ) -> bool {
        let text = contents::known(self.state, on, &from_root(&normal(program)));
        text.is_some_and(|text| mentions(text, file).next().is_some())
    }
}

/// Whether the last sentence of a task is about a program that is called a check, and behind it nothing more is to be done.
pub(in crate::strategy) fn closes_with(prompt: &str, program: &str) -> bool {
    let last = sentences(prompt).last().unwrap_or_default();
    let behind = mentions(last, program).last().map(|at| &last[at..]);
    is_called_check(program) && behind.is_some_and(|behind| !has_word(behind, &BEYOND))
}

/// The words of a task without paths and what stands in quotes or for something: "`/rps.lua MOVE OPPONENT` prints who wins, as seen by MOVE". What
/// comes "then" in an output is no work of its own ("one line for each, and then `total: SUM`"), nor does one order anything that ends a
/// sentence: "It shall print 1 then."
pub(in crate::strategy) fn own_words(prompt: &str) -> String {
    let is_own = |word: &&str| {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let stands_for = bare.len() > 1 && bare.chars().all(|c| c.is_ascii_uppercase());
        let is_when = bare == "then" && word.ends_with(['.', '!', ';']);
        !stands_for && !is_when && !word.contains('/')
    };
    let outside = prompt.split('`').step_by(2).map(|text| text.trim_end());
    let outside = outside.map(|text| text.strip_suffix(" then").unwrap_or(text));
    let words: Vec<&str> = outside
        .flat_map(str::split_whitespace)
        .filter(is_own)
        .collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::call::CallReport;
    use crate::domain::chat::Role;
    use crate::domain::task::TaskStatus;
    use crate::strategy::drive::{Drive, carry_out, done, profile_with_asides, run_tool};
    use serde_json::json;
    use std::collections::BTreeMap;

    const TASK: &str =
        "/order.lua asks what, and keeps it in /order.txt. Order ladders. Then run /check.lua.";

    /// A computer with a program that waits for a line, and a check that passes or not.
    fn computer(
        passes: bool,
    ) -> impl FnMut(&mut BTreeMap<String, String>, &CallRecord) -> CallReport {
        move |files, call| match (call.tool.as_str(), &call.args["path"]) {
            ("run_program", path) if path == "/check.lua" && !passes => {
                done(json!({"success": false, "output": "", "error": "there is no order"}))
            }
            ("run_program", _) => done(json!({"success": true, "output": "ordered"})),
            _ => carry_out(files, call),
        }
    }

    /// A task whose model is asked what is typed, and says it.
    fn typed(task: &str, strategy: &str, passes: bool) -> Drive {
        let mut drive = Drive::new(profile_with_asides(strategy), task);
        drive.add_tools(vec![run_tool()]);
        let order = "local what = read()\nfs.open(\"/order.txt\", \"w\")";
        drive.files.insert("/order.lua".into(), order.into());
        drive.say_with(&["```\nladders\n```"], computer(passes));
        drive
    }

    #[test]
    fn what_is_proved_before_it_was_planned_is_not_planned() {
        for strategy in ["plan", "goals"] {
            let drive = typed(TASK, strategy, true);
            assert_eq!(drive.state().status, TaskStatus::Completed, "{strategy}");
            assert!(drive.state().prompt(Role::Planner).is_empty(), "{strategy}");
            let result = drive.state().result.clone().unwrap();
            assert_eq!(result.details["tests_run"][1]["what"], "/check.lua");
            let told = [
                "goal achieved",
                "done before anything was planned: /check.lua ran well",
            ];
            assert!(
                told.contains(&result.message.as_str()),
                "{}",
                result.message
            );
        }
        // Who does not plan says itself that all is done.
        for strategy in ["direct", "directive", "numbered"] {
            assert!(typed(TASK, strategy, true).state().result.is_none());
        }
    }

    #[test]
    fn what_is_proved_behind_a_plan_that_was_refused_is_not_planned_again() {
        let task = "Delete /keys.txt with fs_delete if you are allowed to. If you are refused, leave it, write the one word `refused` to /note.txt and run /check.lua, which says whether it is right.";
        let mut drive = Drive::new(profile_with_asides("goals"), task);
        let allowed = ["fs_read", "fs_write", "run_program"].map(str::to_owned);
        drive.bench.profile.allowed_tools = allowed.to_vec();
        for (path, text) in [("/keys.txt", "k"), ("/check.lua", "all is right")] {
            drive.files.insert(path.into(), text.into());
        }
        // It runs a file of data.
        let subtask =
            json!({"description": "look", "tool": "run_program", "targets": ["/note.txt"]});
        let goals = json!({"objectives": [{"description": "the note", "subtasks": [subtask]}]});
        drive.say_with(&[&goals.to_string(), "refused"], computer(true));
        assert_eq!(drive.files["/note.txt"].trim(), "refused");
        assert_eq!(drive.state().status, TaskStatus::Completed);
    }

    #[test]
    fn what_a_check_does_not_prove_is_planned() {
        for (task, passes) in [
            (TASK, false),
            (&format!("{TASK} Tell somebody about it."), true),
            (&TASK.replace("/check.lua", "/show.lua"), true),
            (
                &TASK.replace("/check.lua", "/check.lua and tell what it says"),
                true,
            ),
            (
                &TASK.replace("Order ladders", "Order ladders (also in /list.txt)"),
                true,
            ),
        ] {
            for strategy in ["plan", "goals"] {
                let drive = typed(task, strategy, passes);
                assert!(!drive.state().status.is_final(), "{strategy} {task}");
            }
        }
    }
    /// A task whose program is mended by a model that is asked for it alone.
    fn mended(strategy: &str, task: &str) -> Drive {
        let mut drive = Drive::new(profile_with_asides(strategy), task);
        drive.files.insert("/a.lua".into(), "print(error())".into());
        assert!(drive.run_to_consult());
        drive.say(&["```lua\nready\n```"]);
        drive
    }

    #[test]
    fn a_program_that_was_mended_and_prints_what_the_task_says_is_not_planned() {
        let task = "The program /a.lua fails. Mend it: it shall print `ready`. Run it.";
        for strategy in ["plan", "goals"] {
            let drive = mended(strategy, task);
            assert_eq!(drive.state().status, TaskStatus::Completed, "{strategy}");
            assert_eq!(drive.files["/a.lua"], "ready\n");
            let kept = mended(
                strategy,
                &format!("{task} Make it use `a = 1`. You must not change anything below /vault."),
            );
            assert_eq!(kept.state().status, TaskStatus::Completed, "{strategy}");
            for more in [
                "It prints what /vault/a.txt says.",
                "It shall not lack `a = 1`.",
                "Copy it to /b.lua.",
                "Then `/a.lua 2` prints `two`.",
                "Mend /c.lua, too.",
                "Be polite.",
                "Tell whether it runs.",
            ] {
                let drive = mended(strategy, &format!("{task} {more}"));
                assert!(!drive.state().status.is_final(), "{strategy} {more}");
            }
        }
        assert!(mended("direct", task).state().result.is_none());
    }

    #[test]
    fn a_file_that_the_mended_program_works_with_is_no_work_of_the_task() {
        let task = "/a.lua keeps its last run in /kept.txt. The first run fails. It shall print `ready` then. Mend it and run it.";
        for strategy in ["plan", "goals"] {
            let begun = |task: &str, mended: &str| {
                let mut drive = Drive::new(profile_with_asides(strategy), task);
                drive.files.insert("/a.lua".into(), "print(error())".into());
                assert!(drive.run_to_consult());
                drive.say(&[mended]);
                drive.state().status
            };
            let keeps = "```lua\nready -- fs.open(\"/kept.txt\", \"w\")\n```";
            assert_eq!(begun(task, keeps), TaskStatus::Completed, "{strategy}");
            for (task, mended) in [
                (task.to_owned(), "```lua\nready\n```"),
                (format!("{task} /kept.txt shall not fail."), keeps),
                (
                    task.replace("keeps its last run", "shall keep its last run"),
                    keeps,
                ),
                (
                    task.replace("keeps its last run", "can add its last run"),
                    keeps,
                ),
                (task.replace("/a.lua keeps", "Mend /a.lua: it keeps"), keeps),
                (task.replace(" then.", ", then 2."), keeps),
            ] {
                assert!(
                    !begun(&task, mended).is_final(),
                    "{strategy} {task} {mended}"
                );
            }
        }
    }
}
