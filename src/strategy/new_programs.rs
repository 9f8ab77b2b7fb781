//! A program that the task tells to write, in a prompt of its own: before anything else, where the task tells nothing to be done before it, or
//! once a run did not find it, its file was missed by a check or was to be written by hand, or once the item of a list is due that says to
//! write it. A small model that has forgotten to write it runs it again, and writes by hand what the program should have written; one that
//! plans does something else first. Shown what was asked for and nothing else, it writes the program.

use super::checked_files::Fault;
use super::guards::hand_written;
use super::guards::misplaced_program::holds_data;
use super::memory::contents;
use super::mending::{WRITE, program_of};
use super::named_files;
use super::numbered;
use super::paths::{QUOTES, behind, mentions, named_in, normal};
use super::places::addressed;
use super::stated::{self, program_that_writes};
use super::text::{fenced, has_word, sentence_before};
use super::turn::Turn;
use crate::domain::chat::Message;
use crate::domain::decision::{Contract, Decision, Guard};
use crate::domain::files::{from_root, key};
use crate::domain::ids::ClientId;
use crate::domain::read::Read;
use crate::domain::step::{CallRecord, Step};
use crate::domain::work::Work;
use crate::prompts::{PromptError, render};
use serde_json::json;

/// Bytes of another program of the task that is shown whole.
const MOST_BYTES: usize = 2_000;

/// Such a program.
pub(super) struct NewProgram {
    /// From the root.
    path: String,
    /// The computer, unless it is the task's own.
    on: Option<ClientId>,
}

/// How a refusal of an answer about a program begins.
fn program_named(path: &str) -> String {
    format!("the program {path}: ")
}

impl Turn<'_> {
    /// The program that the newest step's run did not find, whose file its check missed or it was to write by hand, that the current item of a
    /// list writes, or that is written before anything else; once each, and once more while that answer is refused.
    pub(super) fn new_program(&self, newest: &Step) -> Option<NewProgram> {
        let mut runs = newest.calls.iter();
        let run = runs.find(|call| call.found_no_program());
        let name = match run {
            Some(run) => normal(program_of(run)?),
            None => {
                let refused = newest.blocked.as_ref();
                let told = refused.and_then(|told| hand_written::program_told(&told.evidence));
                let missed = || self.writer_of_missed(newest);
                let told = told.map(normal).or_else(missed);
                let told = told.or_else(|| self.program_of_item());
                told.or_else(|| self.first_to_write())?
            }
        };
        let path = from_root(&name);
        let on = match run {
            Some(run) => self.elsewhere(run),
            None => {
                let place = self.place_of(&name).map(|place| &place.client_id);
                place.filter(|id| Some(*id) != self.state.home())
            }
        };
        let is_of_it =
            |call: &CallRecord| program_of(call) == Some(&path) && self.elsewhere(call) == on;
        let mut asked = self.state.steps.iter().filter(|step| step.fills());
        let is_refusal = |step: &Step| {
            let refused = step.blocked.as_ref();
            refused.is_some_and(|refused| refused.evidence.starts_with(&program_named(&path)))
        };
        let was_asked = asked.any(|step| step.calls.iter().any(is_of_it))
            || self.is_refused_for_good(newest, is_refusal);
        let is_known = self
            .state
            .files
            .contains_key(&key(self.state.home(), on, &path));
        if was_asked || is_known || !stated::is_to_be_made(self.asked_for(), &name) {
            return None;
        }
        self.schema_of(&addressed(WRITE, on))?;
        let on = on.cloned();
        Some(NewProgram { path, on })
    }

    /// The program that writes a file, as the task says, which a check missed just now.
    fn writer_of_missed(&self, newest: &Step) -> Option<String> {
        let faulted = self.faulted()?;
        let mut calls = newest.calls.iter();
        let is_new = calls.any(|call| call.call_id == faulted.check.call_id);
        let is_missed = is_new && faulted.on.is_none() && faulted.fault == Fault::Missing;
        program_that_writes(self.asked_for(), &normal(&faulted.path)).filter(|_| is_missed)
    }

    /// The program that the current item of a list writes, while nothing was done in it.
    fn program_of_item(&self) -> Option<String> {
        let Work::List(list) = &self.state.work else {
            return None;
        };
        let (_, item) = list.current()?;
        let is_new = item.succeeded == 0 && item.failed == 0;
        numbered::program_of_item(&item.text).filter(|_| is_new)
    }

    /// The first program that the task tells to write and that is not there, where nothing was done yet but to look and to write others of
    /// them, and the task tells of nobody who is asked and of no tool that is called.
    fn first_to_write(&self) -> Option<String> {
        let prompt = self.asked_for();
        let steps = &self.state.steps;
        let is_before = |step: &Step| step.prepares() || step.fills() || !step.closed;
        if !steps.iter().all(is_before)
            || self.state.wakes().is_some()
            || !self.tools_to_call().is_empty()
            || has_word(prompt, &["ask"])
        {
            return None;
        }
        // No first look reads a test, and one that is there all the same is not written over unseen.
        let is_missing = |path: &str, on: Option<&ClientId>| {
            let book = key(self.state.home(), on, &from_root(path));
            let is_new_test =
                stated::is_test(prompt, path) && !self.state.files.contains_key(&book);
            is_new_test || self.was_not_there(path, on)
        };
        let is_to_write = |path: &String| {
            let place = self.place_of(path);
            let on = place.map(|place| self.unless_own(place));
            path.ends_with(".lua")
                && stated::is_plainly_to_be_made(prompt, path)
                && on.is_some_and(|on| is_missing(path, on.as_ref()))
        };
        named_in(prompt).into_iter().find(is_to_write)
    }

    pub(super) fn consult_for_program(&self, program: &NewProgram) -> Decision {
        self.ask_aside(Contract::Content, self.program_prompt(program))
    }

    fn program_prompt(&self, program: &NewProgram) -> Result<Vec<Message>, PromptError> {
        let prompts = &self.profile.prompts;
        let prompt = self.asked_for();
        let name = normal(&program.path);
        let usage = stated::usage_of(prompt, &name);
        let others = named_in(prompt).into_iter().filter(|path| {
            *path != name && path.ends_with(".lua") && stated::is_to_be_made(prompt, path)
        });
        let data = || named_in(prompt).into_iter().filter(|path| holds_data(path));
        let other = |path: String| {
            let path = from_root(&path);
            let text = contents::known(self.state, program.on.as_ref(), &path);
            let text = text.filter(|text| text.len() <= MOST_BYTES);
            json!({"path": path, "text": text.map(|text| fenced(text.trim_end(), "lua"))})
        };
        let told = json!({
            "prompt": prompt,
            "path": program.path,
            "known": named_files::told_for_content(self.state, self.profile)?,
            "usage": usage.as_ref().map(|usage| usage.command),
            "names": usage.map(|usage| usage.names.join(", ")),
            "otherwise": stated::printed_else(prompt),
            "others": others.map(other).collect::<Vec<_>>(),
            "writes": data().find(|path| program_that_writes(prompt, path).as_ref() == Some(&name)).map(|path| from_root(&path)),
            "reads": data().find(|path| self.is_read_by_program(path)).map(|path| from_root(&path)),
            "is_test": stated::is_test(prompt, &name),
            "is_module": is_module(prompt, &name),
            "refused": self.refusal_of(program),
        });
        Ok(vec![
            Message::system(render(prompts, "shared/programmer", json!({}))?),
            Message::user(render(prompts, "shared/new_program", told)?),
        ])
    }

    /// Why the answer of just now was refused.
    fn refusal_of(&self, program: &NewProgram) -> Option<&str> {
        let refused = self.state.newest_closed()?.blocked.as_ref()?;
        refused.evidence.strip_prefix(&program_named(&program.path))
    }

    /// What an answer lacks by the task's words, whatever it does: what a module gives to who loads it, and in a test the program that it tests.
    fn lacks(&self, program: &NewProgram, content: &str) -> Option<String> {
        let prompt = self.asked_for();
        let name = normal(&program.path);
        if is_module(prompt, &name) && !content.lines().any(|line| line.starts_with("return")) {
            return Some("a module ends with `return` and what it gives".to_owned());
        }
        if !stated::is_test(prompt, &name) {
            return None;
        }
        let mut others = named_in(prompt).into_iter().filter(|path| {
            *path != name && is_module(prompt, path) && stated::is_to_be_made(prompt, path)
        });
        let unused = others.find(|path| !loads(content, path))?;
        let path = from_root(&unused);
        Some(format!(
            "it does not load {path}, which it tests: `dofile(\"{path}\")`"
        ))
    }

    /// Whether a file of data, which has no first slash here, is what the program of the task reads: the task says that it reads one, and this
    /// one is there.
    pub(super) fn is_read_by_program(&self, path: &str) -> bool {
        has_word(self.asked_for(), &["reads"]) && self.is_known_wherever(path)
    }

    /// Writes what it answered.
    pub(super) fn write_program(
        &self,
        step: &Step,
        program: &NewProgram,
        read: Option<&Read>,
    ) -> Decision {
        let refused = |why: &str| {
            let told = format!("{}{why}", program_named(&program.path));
            self.block(Guard::Invalid, told)
        };
        let Some(Read::Content {
            content: Some(content),
        }) = read
        else {
            return refused("the answer holds none");
        };
        // No program of Lua begins with a table.
        if content.trim_start().starts_with('{') {
            return refused("the answer is JSON, and no program");
        }
        if let Some(lacking) = self.lacks(program, content) {
            return refused(&lacking);
        }
        let why = format!("Writing {}, as the task says", program.path);
        match self.write_aside(step, why, &program.path, program.on.as_ref(), content) {
            Ok(decision) => decision,
            Err(problems) => refused(&problems.join("; ")),
        }
    }
}

/// Whether a program, whose path has no first slash, is what the task calls a module.
fn is_module(prompt: &str, path: &str) -> bool {
    mentions(prompt, path).any(|at| {
        let before = sentence_before(&prompt[..at]).trim_end_matches(QUOTES);
        let said = behind(prompt, at, path);
        let returns = [" that returns ", " which returns ", " returns "];
        before.trim_end().ends_with("module") || returns.iter().any(|words| said.starts_with(words))
    })
}

/// Whether a program loads such a module: by its path, or by its name as `require` takes it.
fn loads(content: &str, module: &str) -> bool {
    let name = module.trim_end_matches(".lua");
    let name = name.strip_suffix("/init").unwrap_or(name);
    [name.to_owned(), name.replace('/', ".")]
        .iter()
        .any(|name| {
            let quoted = |quote: char| {
                let loads = |(at, _): (usize, &str)| content[..at].ends_with(['/', quote]);
                content.match_indices(name.as_str()).any(loads)
            };
            quoted('"') || quoted('\'')
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::chat::Role;
    use crate::strategy::bench::shown;
    use crate::strategy::drive::{Drive, call, profile_of, profile_with_asides};

    const TASK: &str = "Write /primes.lua, which writes all prime numbers up to its argument to /primes.txt. Run it with 30.";

    fn drive(task: &str) -> Drive {
        let mut profile = profile_of("direct");
        profile.executor_mends = 6;
        Drive::new(profile, task)
    }

    #[test]
    fn a_program_that_a_run_did_not_find_is_asked_for_alone_and_runs_as_the_task_says() {
        let mut drive = drive(TASK);
        drive.say(&[&call("run_program", json!({"path": "/primes.lua"}))]);
        let prompt = drive.state().prompt(Role::Executor);
        insta::assert_snapshot!("new_program", shown(prompt));
        drive.say(&["Here it is:\n```lua\nmissing = 2\n```\n"]);
        assert_eq!(drive.files["/primes.lua"], "missing = 2\n");
        let mut calls = drive.state().calls().rev();
        let ran = calls.find(|call| call.tool == "run_program");
        assert_eq!(
            ran.map(|call| call.args.clone()),
            Some(json!({"path": "/primes.lua", "args": ["30"]})),
            "{}",
            drive.shown()
        );
    }

    #[test]
    fn who_writes_the_file_of_a_program_by_hand_is_asked_for_the_program() {
        let mut drive = drive(TASK);
        let by_hand = json!({"path": "/primes.txt", "content": "4\n"});
        drive.say(&[&call("fs_write", by_hand), "```lua\nprint(2)\n```"]);
        assert_eq!(drive.files["/primes.lua"], "print(2)\n");
        assert!(!drive.files.contains_key("/primes.txt"));
    }

    /// The program of which the executor was asked last.
    fn asked_alone(drive: &Drive) -> bool {
        let prompt = drive.state().prompt(Role::Executor).last();
        prompt.is_some_and(|asked| asked.content.contains("There is no /primes.lua yet."))
    }

    #[test]
    fn a_check_that_misses_its_file_is_told_by_the_program() {
        let mut drive = drive(&format!("{TASK} Then run /check.lua."));
        let check = "error('/check.lua:1: there is no /primes.txt')";
        drive.files.insert("/check.lua".into(), check.into());
        drive.say(&[&call("run_program", json!({"path": "/check.lua"}))]);
        assert!(asked_alone(&drive), "{}", drive.shown());
    }

    #[test]
    fn an_item_that_writes_it_needs_no_turn_and_is_left_once_it_is_written() {
        let list = "1. fs_write /primes.lua\n2. run_program /primes.lua 30\n3. look at the result";
        let mut numbered = drive(TASK);
        numbered.bench.profile.strategy = "numbered".into();
        numbered.bench.profile.strategy_version = super::numbered::VERSION;
        let prompts = crate::prompts::PromptLibrary::embedded().unwrap();
        numbered.bench.profile.prompts = prompts.texts("numbered");
        numbered.say(&[list]);
        assert!(asked_alone(&numbered), "{}", numbered.shown());
        numbered.say(&["```lua\nprint(2)\n```"]);
        let shown = numbered.shown();
        assert!(
            shown.contains("1. [done]") && shown.contains("3. [now]"),
            "{shown}"
        );
        assert_eq!(numbered.state().usage.model_calls, 2);
    }

    /// A task of which nothing was done yet, with a file.
    fn begun(strategy: &str, task: &str) -> Drive {
        let mut drive = Drive::new(profile_with_asides(strategy), task);
        drive.files.insert("/poem.txt".into(), "the moon\n".into());
        assert!(drive.run_to_consult());
        drive
    }

    #[test]
    fn a_program_that_is_not_there_is_asked_for_before_any_planner() {
        let task = "Write /wc.lua: `/wc.lua FILE` prints the number of lines of that file. Run it on /poem.txt.";
        for strategy in ["direct", "directive", "numbered", "plan", "goals"] {
            let mut drive = begun(strategy, task);
            let asked = shown(drive.state().prompt(Role::Executor));
            if strategy == "direct" {
                insta::assert_snapshot!("first_program", asked);
            }
            assert!(
                asked.contains("There is no /wc.lua yet."),
                "{strategy}: {asked}"
            );
            drive.say(&["```lua\nprint(1)\n```"]);
            let ran = drive.state().calls().last().map(|call| call.args.clone());
            let run = json!({"path": "/wc.lua", "args": ["/poem.txt"]});
            assert_eq!(ran, Some(run), "{strategy}");
        }
    }

    #[test]
    fn json_in_the_place_of_a_program_is_not_written() {
        let mut drive = begun("direct", "Write /a.lua and run it.");
        let unclear = "{\"kind\": \"unclear\", \"missing\": \"what it shall do\"}";
        drive.say(&[unclear]);
        assert!(!drive.files.contains_key("/a.lua"), "{}", drive.shown());
        drive.say(&["```lua\nprint(1)\n```"]);
        assert_eq!(
            drive.files["/a.lua"], "print(1)\n",
            "it is asked for once more"
        );
        let mut drive = begun("direct", "Write /a.lua and run it.");
        drive.say(&[unclear, unclear, unclear]);
        let shown = drive.shown();
        assert!(
            shown.contains("You work on a ComputerCraft computer"),
            "{shown}"
        );
    }

    #[test]
    fn of_several_programs_each_is_asked_for_in_its_turn_and_shown_with_the_others() {
        let task = "Create a module /m/init.lua that adds, and a test program /m/test.lua that checks it. Run the tests.";
        let mut drive = begun("direct", task);
        let asked = shown(drive.state().prompt(Role::Executor));
        assert!(!asked.contains("A test is short"), "{asked}");
        let later = "There is no /m/init.lua yet. Write it, whole, in one ```lua block. /m/test.lua is written later, and is no part of it.";
        assert!(asked.contains(later), "{asked}");
        drive.say(&["```lua\nreturn {}\n```"]);
        let asked = shown(drive.state().prompt(Role::Executor));
        for part in [
            "# /m/init.lua, which is there\n\n```lua\nreturn {}\n```",
            "There is no /m/test.lua yet. Write it, whole, in one ```lua block. Its first line is `local m = dofile(\"/m/init.lua\")`.",
        ] {
            assert!(asked.contains(part), "{asked}");
        }
        drive.say(&["```lua\nlocal m = dofile(\"/m/init.lua\")\nprint(1)\n```"]);
        let ran = drive.state().calls().last().map(|call| call.args.clone());
        assert_eq!(ran, Some(json!({"path": "/m/test.lua"})));
    }

    #[test]
    fn a_module_gives_something_and_a_test_loads_it_or_it_is_told_and_asked_for_once_more() {
        let task = "Create a module /m/init.lua that adds, and a test program /m/test.lua that checks it. Run the tests.";
        let mut drive = begun("plan", task);
        drive.say(&["```lua\nlocal m = {}\nprint(1)\n```"]);
        let asked = |drive: &Drive| shown(drive.state().prompt(Role::Executor));
        insta::assert_snapshot!("module_refused", asked(&drive));
        drive.say(&[
            "```lua\nreturn {}\n```",
            "```lua\nlocal m = {}\nprint(1)\n```",
        ]);
        let why = "Your last answer was not taken: it does not load /m/init.lua, which it tests: `dofile(\"/m/init.lua\")`.";
        assert!(asked(&drive).contains(why), "{}", asked(&drive));
        for content in [
            "dofile('/m/init.lua')",
            "require(\"m\")",
            "require(\"m.init\")",
            "require '/m'",
        ] {
            assert!(loads(content, "m/init.lua"), "{content}");
        }
        for content in ["-- the test of m", "require(\"am\")"] {
            assert!(!loads(content, "m/init.lua"), "{content}");
        }
    }

    #[test]
    fn what_the_task_says_of_a_program_s_files_and_of_other_calls_stands_in_its_prompt() {
        let task = "Write /a.lua that reads /poem.txt and writes its length to /n.txt. `/a.lua WHAT` prints `ok`; anything else prints `usage: a WHAT`.";
        let drive = begun("direct", task);
        insta::assert_snapshot!(
            "program_with_files",
            drive.state().prompt(Role::Executor).last().unwrap().content
        );
    }

    #[test]
    fn what_is_to_be_done_before_a_program_comes_before_it() {
        for task in [
            "Ask the person for a name. Write /a.lua that prints it.",
            "Write what /a.lua prints to /b.txt.",
            "Write /poem.txt anew.",
        ] {
            let drive = begun("direct", task);
            let asked = shown(drive.state().prompt(Role::Executor));
            assert!(!asked.contains("There is no"), "{task}: {asked}");
        }
    }

    #[test]
    fn a_program_that_nobody_wants_written_is_not_asked_for() {
        for (task, ran) in [
            ("Run /primes.lua.", "/primes.lua"),
            (TASK, "/other.lua"),
            ("Read /notes.txt. Then run /primes.lua.", "/primes.lua"),
        ] {
            let mut drive = drive(task);
            drive.say(&[&call("run_program", json!({"path": ran}))]);
            assert!(drive.state().prompt(Role::Executor).is_empty(), "{task}");
        }
    }
}
