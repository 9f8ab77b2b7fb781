//! Programs that were asked for alone, whole or by their lines, once they are written: the runs of which the task speaks are made, the files
//! that they write are read, and where the task wants nothing more it is done before anything was planned.

use super::line_edits::{PATCH, file_to_patch};
use super::mended_and_run::MORE;
use super::mending::{WRITE, program_of};
use crate::domain::by_rule::ByRule;
use crate::domain::decision::Decision;
use crate::domain::files::from_root;
use crate::domain::step::{CallRecord, Step};
use crate::domain::toolbox::Tool;
use crate::strategy::ends::proved::{ABOUT_IT, BEYOND, own_words};
use crate::strategy::first_look::named_files::READ;
use crate::strategy::memory::contents;
use crate::strategy::memory::pins::runs;
use crate::strategy::paths::{mentions, named_in, normal};
use crate::strategy::shown_tools::named_by;
use crate::strategy::text::has_word;
use crate::strategy::turn::Turn;
use crate::strategy::words::asked_questions::sentences;
use crate::strategy::words::asked_runs;
use crate::strategy::words::stated::{self, program_that_writes};
use serde_json::json;

/// Words of a task that wants another run.
const ONCE_MORE: [&str; 4] = ["again", "more", "twice", "each"];

/// Words of one whose examples its runs have shown that tell of no work then.
const IN_PASSING: [&str; 3] = ["also", "both", "then"];

impl Turn<'_> {
    /// After a run of such a program that the task speaks of: the next such run, or a look at what it wrote.
    pub(in crate::strategy) fn after_run(&self, newest: &Step) -> Option<Decision> {
        let [run] = newest.calls.as_slice() else {
            return None;
        };
        let program = program_of(run).map(normal)?;
        let is_due = newest.by_rule().is_some()
            && runs(run)
            && run.succeeded()
            && self.may_step_aside()
            && self.was_asked_for_alone(&program);
        if !is_due {
            return None;
        }
        self.closing_run()
            .or_else(|| self.look_at_written(&program))
    }

    /// Reads a file that the program writes, as the task says, where no check of the task does so.
    fn look_at_written(&self, program: &str) -> Option<Decision> {
        let prompt = self.asked_for();
        let is_its = |path: &String| program_that_writes(prompt, path).as_deref() == Some(program);
        let path = named_in(prompt).into_iter().find(is_its)?;
        let is_own = |path: &str| {
            let place = self.place_of(path);
            place.is_some_and(|place| self.unless_own(place).is_none())
        };
        if self.has_closing_check() || !is_own(&path) {
            return None;
        }
        self.schema_of(READ)?;
        let parameters =
            json!({"path": from_root(&path), "max_bytes": self.profile.memory.result_bytes});
        self.call_by_rule(ByRule::LookInto, READ, parameters, None)
    }

    /// Whether the task only wants programs on its own computer and runs of them, they were asked for alone, each run of which it speaks ended
    /// well, what they print or write is there, and nothing of it stands against the task's words. Where they printed all that examples show,
    /// story may be told around them. Whether the programs are right no rule
    /// knows, so a planner that is another model than the one that wrote them looks at it.
    pub(in crate::strategy) fn is_written_and_run(&self) -> bool {
        let prompt = self.asked_for();
        let bare = stated::bare_run(prompt).map(str::to_owned);
        let asked: Vec<String> = asked_runs::asked(prompt).into_iter().chain(bare).collect();
        let named = named_in(prompt);
        let (programs, others): (Vec<&String>, Vec<&String>) = named
            .iter()
            .partition(|path| self.was_asked_for_alone(path));
        let is_theirs =
            |path: &String| self.is_written_by(path, &programs) || self.is_given(path, &asked);
        let is_about_them = |sentence: &str| {
            let names_one = |path: &&String| mentions(sentence, path).next().is_some();
            let says_more = (has_word(sentence, &["run", "prints", "test", "try"])
                || sentence.contains('`'))
                && !has_word(sentence, &["write"]);
            let has_its = |path: &&String| names_one(path) && is_theirs(path);
            programs.iter().any(names_one) || others.iter().any(has_its) || says_more
        };
        let is_shown = stated::shows_examples(self.state);
        let all: Vec<&str> = sentences(prompt).collect();
        let is_story = |(at, sentence): (usize, &&str)| {
            let next = all.get(at + 1).copied().unwrap_or_default();
            let is_its_making = next.starts_with("It ") && is_about_them(next);
            is_about_them(sentence) || (is_shown && (is_its_making || !wants_more(sentence)))
        };
        let made = self.tests_since_change();
        let is_made = |run: &String| made.iter().any(|test| asked_runs::names(run, &test.what));
        let words = own_words(prompt);
        let is_passing = |word: &str| word == "write" || (is_shown && IN_PASSING.contains(&word));
        let beyond: Vec<&str> = BEYOND
            .into_iter()
            .filter(|word| !is_passing(word))
            .collect();
        let shown = self.shown_tools().shown;
        self.profile.one_model
            && !programs.is_empty()
            && others.iter().all(|path| is_theirs(path))
            && all.iter().enumerate().all(is_story)
            && !has_word(&words, &beyond)
            && self.other_computers().is_empty()
            && named_by(&shown, &words).all(|tool| tool.name == WRITE)
            && (!asked.is_empty() || is_shown)
            && asked.iter().all(is_made)
            && made.iter().all(|run| {
                let call = self.call_of(&run.what);
                let prints = || call.is_some_and(stated::printed_something);
                run.success && (prints() || self.writes_a_file(&programs))
            })
            && stated::unlike(self.state).is_empty()
    }

    /// Whether the task wants nothing but a patch of one program and its run, its lines were asked for alone, and it ran well then and printed
    /// something against which the task's words say nothing. Whether they are right no rule knows, so a planner that is another model
    /// looks at it.
    pub(in crate::strategy) fn is_patched_and_run(&self) -> bool {
        let prompt = self.asked_for();
        let Some(path) = file_to_patch(prompt) else {
            return false;
        };
        let is_about_it = |sentence: &str| {
            let names_it = mentions(sentence, &path).next().is_some();
            names_it || has_word(sentence, &ABOUT_IT) || sentence.contains('`')
        };
        // What comes then is the run, and "the answer" is what it prints.
        let words = own_words(prompt).to_lowercase();
        let words = words.replace("then run", "run").replace("the answer", "it");
        let mut beyond = BEYOND.into_iter().filter(|word| *word != "write");
        let shown = self.shown_tools().shown;
        let is_its_tool = |tool: &Tool| [PATCH, WRITE].contains(&tool.name.as_str());
        let ran = self.tests_since_change().last();
        let ran = ran.filter(|run| run.success && asked_runs::program_of(&run.what) == path);
        let run = ran.and_then(|run| self.call_of(&run.what));
        self.profile.one_model
            && self.was_patched(&from_root(&path), None)
            && sentences(prompt).all(is_about_it)
            && !beyond.any(|word| has_word(&words, &[word]))
            && !has_word(&words, &ONCE_MORE)
            && named_by(&shown, &words).all(is_its_tool)
            && self.other_computers().is_empty()
            && stated::bare_run(prompt).is_some()
            && self.unmade_run().is_none()
            && run.is_some_and(stated::printed_something)
            && stated::unlike(self.state).is_empty()
    }

    /// Whether a file, which has no first slash here, is what such a run is given or what its program reads.
    fn is_given(&self, path: &str, asked: &[String]) -> bool {
        let mut args = asked.iter().flat_map(|run| run.split(' ').skip(1));
        let is_read = || {
            self.is_read_by_program(path) && program_that_writes(self.asked_for(), path).is_none()
        };
        (args.any(|arg| normal(arg) == path) || is_read()) && self.is_known_wherever(path)
    }

    /// Whether one of these programs writes a file, as the task says, and it is known to hold something.
    fn is_written_by(&self, path: &str, programs: &[&String]) -> bool {
        let writer = program_that_writes(self.asked_for(), path);
        let content = contents::known(self.state, None, &from_root(path));
        writer.is_some_and(|writer| programs.contains(&&writer))
            && content.is_some_and(|content| !content.trim().is_empty())
    }

    fn writes_a_file(&self, programs: &[&String]) -> bool {
        let named = named_in(self.asked_for());
        named.iter().any(|path| self.is_written_by(path, programs))
    }

    /// Whether a program of the task's own computer, which has no first slash here, was written by a model that was asked for it and nothing else.
    fn was_asked_for_alone(&self, path: &str) -> bool {
        let is_it = |call: &CallRecord| {
            let is_it = program_of(call).map(normal).as_deref() == Some(path);
            is_it && call.succeeded() && self.elsewhere(call).is_none()
        };
        let mut steps = self.state.steps.iter().filter(|step| step.fills());
        path.ends_with(".lua") && steps.any(|step| step.calls.iter().any(is_it))
    }
}

/// Whether a sentence wants something beside programs. What shows up is not shown.
fn wants_more(sentence: &str) -> bool {
    has_word(&sentence.replace("show up", ""), &MORE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::chat::Role;
    use crate::domain::task::TaskStatus;
    use crate::domain::work::Work;
    use crate::strategy::drive::{Drive, carry_out, done, profile_with_asides};

    /// A task whose program is asked for alone, with a file that it may be given.
    fn written(strategy: &str, task: &str, program: &str) -> Drive {
        let mut drive = begun(strategy, task);
        drive.say(&[&format!("```lua\n{program}\n```")]);
        drive
    }

    fn begun(strategy: &str, task: &str) -> Drive {
        let mut drive = Drive::new(profile_with_asides(strategy), task);
        drive.bench.profile.one_model = true;
        drive.files.insert("/poem.txt".into(), "the moon\n".into());
        assert!(drive.run_to_consult());
        drive
    }

    #[test]
    fn programs_that_were_asked_for_alone_and_ran_as_the_task_says_are_not_planned() {
        let task = "Write /wc.lua: `/wc.lua FILE` prints the number of lines of that file. Run it on /poem.txt.";
        for strategy in ["plan", "goals"] {
            let drive = written(strategy, task, "1");
            assert_eq!(
                drive.state().status,
                TaskStatus::Completed,
                "{}",
                drive.shown()
            );
            assert!(drive.state().prompt(Role::Planner).is_empty(), "{strategy}");
            for (task, program) in [
                (task, ""),
                (&format!("{task} Be polite."), "1"),
                (&format!("{task} Then run it once more."), "1"),
                (&format!("{task} Run it and tell me the result."), "1"),
                (&format!("{task} Run it here and write to /log.txt."), "1"),
                (&format!("{task} /poem.txt is Ada's. Read /notes.txt."), "1"),
                (&task.replace(" Run it on /poem.txt.", ""), "1"),
                (&task.replace("prints the", "prints `lines:` and the"), "1"),
            ] {
                let drive = written(strategy, task, program);
                assert!(!drive.state().status.is_final(), "{strategy} {task}");
            }
        }
        let chatty = "need a lil script, /wc.lua. i type a number and it counts, e.g. `/wc.lua 2` gives `1`. 3 would be `2`, don't care about more. test it with 2";
        for strategy in ["plan", "goals"] {
            let drive = written(strategy, chatty, "1");
            assert_eq!(drive.state().status, TaskStatus::Completed, "{strategy}");
            assert!(written(strategy, chatty, "5").state().result.is_none());
        }
        assert!(written("direct", task, "1").state().result.is_none());
        let numbered = written("numbered", task, "1");
        let Work::List(list) = &numbered.state().work else {
            panic!("{}", numbered.shown());
        };
        assert_eq!(list.items.len(), 1, "its one item is the task");
        let told =
            "All that the task tells was done, and its runs came out well. Write the last turn now";
        assert!(numbered.shown().contains(told), "{}", numbered.shown());
    }

    #[test]
    fn story_around_a_program_is_no_work_once_its_examples_are_shown() {
        let nether = "Could you please make me a nether calculator? It should live in /nether.lua. You type X and Z after it, it divides both by 8 and prints the two results with one space in between. For instance 800 and -45 would come out as `100 -6`. Nothing else on the screen, I want to feed it to another program later.";
        let thanks = "People chip in and I jot it down in /poem.txt. Many give more than once, so names show up again. Write /thanks.lua for me. It goes through that file and prints every donor, e.g. `Moss 25`. Whoever comes first then is fine by me.";
        let reads = "local f = fs.open(\"/poem.txt\", \"r\") print(f.readLine())";
        let ends = |task: &str, program: &str, prints: &str| {
            let mut drive = begun("plan", task);
            let said = format!("```lua\n{program}\n```");
            let run = |files: &mut _, call: &CallRecord| match call.tool.as_str() {
                "run_program" => done(json!({"success": true, "output": prints})),
                _ => carry_out(files, call),
            };
            drive.say_with(&[&said], run);
            drive.state().status.is_final()
        };
        assert!(ends(nether, "print(1)", "100 -6\n"));
        assert!(ends(thanks, reads, "Fenn 40\nMoss 25\n"));
        assert!(!ends(nether, "print(1)", "result: 100 -6"));
        assert!(!ends(thanks, reads, "Fenn 40\nMoss 250"));
        for more in [
            "Put a sign there.",
            "Make a backup of the server.",
            "And tell me what it says.",
        ] {
            assert!(
                !ends(&format!("{nether} {more}"), "print(1)", "100 -6"),
                "{more}"
            );
        }
    }

    #[test]
    fn a_planner_that_is_another_model_looks_at_what_was_written() {
        let mut drive = begun("plan", "Write /a.lua and run it.");
        drive.bench.profile.one_model = false;
        drive.say(&["```lua\n1\n```"]);
        assert!(!drive.state().status.is_final(), "{}", drive.shown());
        assert!(
            written("plan", "Write /a.lua and run it.", "1")
                .state()
                .status
                .is_final()
        );
    }

    #[test]
    fn each_run_of_which_the_task_speaks_is_made_once() {
        let task = "Create a game, /rps.lua. `/rps.lua MOVE OTHER` (each rock or paper) prints exactly `win` or `lose` as seen by MOVE; anything else prints `usage: rps MOVE OTHER`. Run it with rock paper, and with paper rock.";
        let drive = written("plan", task, "win lose usage: rps MOVE OTHER");
        assert_eq!(drive.state().status, TaskStatus::Completed);
        let made: Vec<&str> = drive
            .state()
            .tests
            .iter()
            .map(|run| run.what.as_str())
            .collect();
        assert_eq!(made, ["/rps.lua rock paper", "/rps.lua paper rock"]);
    }

    #[test]
    fn what_a_program_writes_is_read_once_it_ran_and_is_proof_only_if_it_holds_something() {
        let task =
            "Write a program /sum.lua that reads /poem.txt and writes the sum to /sum.txt. Run it.";
        for (holds, ends) in [("5\n", true), ("", false)] {
            let mut drive = begun("plan", task);
            drive.say_with(&["```lua\ntotal:\n```"], |files, call| {
                match call.tool.as_str() {
                    "run_program" => {
                        files.insert("/sum.txt".into(), holds.into());
                        done(json!({"success": true, "output": ""}))
                    }
                    _ => carry_out(files, call),
                }
            });
            assert_eq!(
                drive.state().status.is_final(),
                ends,
                "{holds}: {}",
                drive.shown()
            );
            let looks = drive
                .state()
                .calls()
                .filter(|call| call.args["path"] == "/sum.txt" && call.tool == READ);
            assert_eq!(looks.filter(|call| call.succeeded()).count(), 1);
        }
    }
}
