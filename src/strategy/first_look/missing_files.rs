//! Files that were not where a call or a program looked for them. A weak model makes one up in their place; so the server looks
//! around for their names, once for each, and the end of the prompt shows how what it found comes there.

use super::named_files::READ;
use crate::domain::by_rule::ByRule;
use crate::domain::decision::Decision;
use crate::domain::files::{from_root, key};
use crate::domain::ids::ClientId;
use crate::domain::step::{CallRecord, Step};
use crate::strategy::guards::failure_text;
use crate::strategy::memory::pins::runs;
use crate::strategy::paths::{file_name, is_file_like, mentions, named_in, normal};
use crate::strategy::plan;
use crate::strategy::text::{has_word, sentence_before};
use crate::strategy::turn::Turn;
use crate::strategy::words::places::addressed;
use crate::strategy::words::stated::is_to_be_made;
use crate::strategy::words::told_changes::is_written_into;
use serde_json::{Value, json};

const FIND: &str = "fs_find";
/// That it takes no notice of upper and lower case.
const IGNORE_CASE: &str = "ignore_case";

/// How many names are looked for in one task.
const MOST_LOOKS: usize = 3;

/// Places of such a name that are shown; of more nobody can tell which one is meant.
const MOST_FOUND: u32 = 20;

/// Words of a failure that is about something which is not there.
const IS_MISSING: [&str; 8] = [
    "cannot open",
    "can't open",
    "could not open",
    "no such file",
    "not found",
    "does not exist",
    "missing",
    "cannot find",
];

/// Words before a file that is to be read, and words before one that is to come.
const READS: [&str; 2] = ["read", "look"];
const MAKES: [&str; 8] = [
    "write", "put", "save", "store", "make", "create", "copy", "move",
];

/// A file that was not there.
struct Missing<'a> {
    /// Without its first slash.
    path: String,
    /// The computer, unless it is the task's own.
    on: Option<&'a ClientId>,
}

/// A file that is not where it is wanted, and where one of its name is. Both from the root.
pub(in crate::strategy) struct Found<'a> {
    pub path: String,
    pub there: String,
    /// The computer, unless it is the task's own.
    pub on: Option<&'a ClientId>,
}

impl<'a> Turn<'a> {
    /// Looks for the name of a file that the last step did not find. None where nothing may be searched, and of a name that was looked
    /// for already, by whomever.
    pub(in crate::strategy) fn look_around(&self) -> Option<Decision> {
        let steps = &self.state.steps;
        let looks = steps.iter().filter(|step| looks_around(step)).count();
        if looks >= MOST_LOOKS || !self.may_step_aside() {
            return None;
        }
        let last = self.state.newest_closed()?;
        // What the first look does not find is most often still to be made.
        let is_wanted =
            |missing: &Missing<'_>| !last.looks_first() || self.is_to_be_read(&missing.path);
        let mut missing = last.calls.iter().filter_map(|call| self.missing_in(call));
        let missing = missing
            .find(|missing| is_wanted(missing) && !self.was_looked_for(file_name(&missing.path)))?;
        let finder = self.tool_of(&addressed(FIND, missing.on))?;
        let mut parameters = json!({"pattern": file_name(&missing.path), "limit": MOST_FOUND});
        // Older libraries tell upper from lower case.
        let takes = finder
            .args_schema
            .as_ref()
            .and_then(|args| args.get("properties"));
        if takes.is_some_and(|takes| takes.get(IGNORE_CASE).is_some()) {
            parameters[IGNORE_CASE] = json!(true);
        }
        let on = missing.on.cloned();
        self.call_by_rule(ByRule::LookAround, FIND, parameters, on)
    }

    /// What the end of a prompt says of such a file while the last run fails for want of it.
    pub(in crate::strategy) fn told_found(&self) -> Option<String> {
        let Found { path, there, on } = self.found_for_run()?;
        let copier = addressed("fs_copy", on);
        self.schema_of(&copier)?;
        let how = match self.written(&copier, &json!({"from": there, "to": path})) {
            Some(copy) => format!(", and then run what failed:\n{copy}"),
            // Who plans is shown a step.
            None if self.profile.strategy == plan::NAME => return None,
            None => format!(" with {copier}, and then run what failed."),
        };
        Some(format!(
            "{path} is not there, and there is {there}, which is called the same. If that is what is missing, put it there{how}"
        ))
    }

    /// The file for want of which the last run fails, and the one place where the look for its name found one.
    pub(in crate::strategy) fn found_for_run(&self) -> Option<Found<'a>> {
        let run = self.state.calls().rev().find(|call| runs(call))?;
        let missing = self.missing_in(run)?;
        let steps = self.state.steps.iter().rev();
        let mut looks = steps
            .filter(|step| looks_around(step))
            .flat_map(|step| &step.calls);
        let look = looks.find(|call| pattern(call) == Some(file_name(&missing.path)))?;
        let path = from_root(&missing.path);
        let there = found_by(look).filter(|found| *found != path)?;
        let on = missing.on;
        Some(Found { path, there, on })
    }

    /// Where the look for a file's name found it, if that is one place and the file itself is not known.
    pub(in crate::strategy) fn found_instead(&self, path: &str) -> Option<String> {
        let path = from_root(&normal(path));
        let looks = self.state.steps.iter().filter(|step| looks_around(step));
        let mut looks = looks.flat_map(|step| &step.calls);
        let is_of_it = |look: &&CallRecord| {
            pattern(look) == Some(file_name(&path)) && self.elsewhere(look).is_none()
        };
        let found = found_by(looks.find(is_of_it)?)?;
        let is_known = self
            .state
            .files
            .contains_key(&key(self.state.home(), None, &path));
        (found != path && !is_known).then_some(found)
    }

    /// What was found just now in another place than where it was to be read, if that is one file, and its computer unless that is the
    /// task's own.
    pub(in crate::strategy) fn found_elsewhere(&self) -> Option<(String, Option<&'a ClientId>)> {
        let mut closed = self.state.steps.iter().rev().filter(|step| step.closed);
        let look = closed.next().filter(|step| looks_around(step))?;
        let look = look.calls.first()?;
        let wanted = closed.next()?.calls.iter();
        let mut wanted = wanted.filter(|call| call.tool == READ && !call.succeeded());
        let is_it = |call: &CallRecord| {
            let missing = self.missing_in(call);
            missing.is_some_and(|missing| pattern(look) == Some(file_name(&missing.path)))
        };
        if !wanted.any(is_it) {
            return None;
        }
        Some((found_by(look)?, self.elsewhere(look)))
    }

    /// The file for want of which a call failed.
    fn missing_in(&self, call: &'a CallRecord) -> Option<Missing<'a>> {
        if !is_missing(call) {
            return None;
        }
        let text = failure_text(call);
        let on = self.elsewhere(call);
        // A program that is not there is most often one that is still to be written.
        let program = call.args.get("path").and_then(Value::as_str).map(normal);
        let program = program.filter(|_| runs(call));
        let is_known = |path: &str| {
            let key = key(self.state.home(), on, &from_root(path));
            self.state.files.contains_key(&key)
        };
        let mut named = named_in(&text).into_iter();
        let path = named
            .find(|path| is_file_like(path) && Some(path) != program.as_ref() && !is_known(path))?;
        Some(Missing { path, on })
    }

    /// Whether the task's words tell to read this file, and not to make it.
    fn is_to_be_read(&self, path: &str) -> bool {
        let prompt = self.asked_for();
        let is_read = |at: usize| {
            let before = sentence_before(&prompt[..at]);
            has_word(before, &READS) && !has_word(before, &MAKES)
        };
        // A name alone may lie in any folder: "clean up the folder progs: the old quarry.lua can go".
        let is_name = !path.contains('/') && !prompt.contains(&from_root(path));
        let is_there = || !is_to_be_made(prompt, path) && !is_written_into(prompt, path);
        mentions(prompt, path).any(is_read) || is_name && is_there()
    }

    fn was_looked_for(&self, name: &str) -> bool {
        let mut calls = self.state.calls();
        calls.any(|call| call.tool == FIND && pattern(call) == Some(name))
    }
}

/// Whether a call failed because what it is about is not there.
pub(in crate::strategy) fn is_missing(call: &CallRecord) -> bool {
    !call.is_open() && !call.succeeded() && is_about_missing(&failure_text(call))
}

/// Whether a failure is about something that is not there.
pub(in crate::strategy) fn is_about_missing(text: &str) -> bool {
    let lower = text.to_lowercase();
    IS_MISSING.iter().any(|words| lower.contains(words))
}

fn looks_around(step: &Step) -> bool {
    step.by_rule() == Some(ByRule::LookAround)
}

fn pattern(call: &CallRecord) -> Option<&str> {
    call.args.get("pattern")?.as_str()
}

/// The one file that a look found.
fn found_by(look: &CallRecord) -> Option<String> {
    let found = look.report()?.result.as_ref()?.get("found")?.as_array()?;
    match found.as_slice() {
        [one] if one.get("is_dir") != Some(&Value::Bool(true)) => {
            path_in(one).map(|path| from_root(&normal(path)))
        }
        _ => None,
    }
}

/// A place that was found: its path, or an object with it.
fn path_in(found: &Value) -> Option<&str> {
    found.as_str().or_else(|| found.get("path")?.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::call::CallReport;
    use crate::domain::tool::{EffectClass, ToolSpec};
    use crate::strategy::drive::{Drive, call, carry_out, done, profile_of, profile_with_asides};
    use std::collections::BTreeMap;

    const TASK: &str =
        "/pump.lua fails because a file that it needs is missing. Put it where it belongs.";

    /// A computer whose /pump.lua needs /etc/pump.cfg; it finds what `found` holds.
    fn computer(
        found: &[&str],
    ) -> impl FnMut(&mut BTreeMap<String, String>, &CallRecord) -> CallReport {
        let found: Vec<Value> = found
            .iter()
            .map(|path| json!({"path": path, "is_dir": false}))
            .collect();
        move |files, call| match call.tool.as_str() {
            FIND => done(json!({"path": "/", "found": found, "truncated": false})),
            "fs_copy" => done(json!({"from": "/a", "to": "/b"})),
            "run_program" if !files.contains_key("/etc/pump.cfg") => {
                done(json!({"success": false, "output": "", "error": "cannot open /etc/pump.cfg"}))
            }
            _ => carry_out(files, call),
        }
    }

    fn tool(name: &str, args: [&str; 2]) -> ToolSpec {
        let text = json!({"type": ["string", "integer"]});
        let properties: serde_json::Map<String, Value> = args
            .iter()
            .map(|arg| ((*arg).to_owned(), text.clone()))
            .collect();
        serde_json::from_value(json!({
            "name": name, "effect": EffectClass::Idempotent, "description": name,
            "args_schema": {"type": "object", "properties": properties},
        }))
        .unwrap()
    }

    fn finder() -> ToolSpec {
        tool(FIND, ["pattern", "limit"])
    }

    fn drive(strategy: &str) -> Drive {
        let mut drive = Drive::new(profile_of(strategy), TASK);
        drive.add_tools(vec![finder(), tool("fs_copy", ["from", "to"])]);
        drive.files.insert("/pump.lua".into(), "print(1)".into());
        drive
    }

    fn run() -> String {
        call("run_program", json!({"path": "/pump.lua"}))
    }

    fn looks(drive: &Drive) -> usize {
        drive
            .state()
            .calls()
            .filter(|call| call.tool == FIND)
            .count()
    }

    #[test]
    fn a_file_that_a_program_lacks_is_looked_for_and_the_prompt_shows_how_it_comes_there() {
        for (strategy, said, shown) in [
            (
                "direct",
                run(),
                "{\"tool\": \"fs_copy\", \"args\": {\"from\":\"/old/pump.cfg\",\"to\":\"/etc/pump.cfg\"}}",
            ),
            (
                "directive",
                "DIRECTIVE: RUN\nPATH: /pump.lua".to_owned(),
                "DIRECTIVE: TOOL\nNAME: fs_copy\nARGS: {\"from\":\"/old/pump.cfg\"",
            ),
        ] {
            let mut drive = drive(strategy);
            drive.say_with(&[&said], computer(&["/old/pump.cfg"]));
            assert_eq!(looks(&drive), 1, "{strategy}");
            let told =
                "/etc/pump.cfg is not there, and there is /old/pump.cfg, which is called the same.";
            let prompt = drive.shown();
            assert!(
                prompt.contains(told) && prompt.contains(shown),
                "{strategy}: {prompt}"
            );
        }
    }

    #[test]
    fn who_has_made_no_call_yet_is_told_with_which_tool_it_comes_there() {
        let task = TASK.replace("belongs.", "belongs and run /pump.lua.");
        let mut drive = Drive::new(profile_with_asides("direct"), &task);
        drive.add_tools(vec![finder(), tool("fs_copy", ["from", "to"])]);
        drive.files.insert("/pump.lua".into(), "print(1)".into());
        assert!(drive.run_to_consult_with(computer(&["/old/pump.cfg"])));
        let told = "there is /old/pump.cfg, which is called the same. If that is what is missing, put it there with fs_copy, and then run \
                    what failed.";
        assert!(drive.shown().contains(told), "{}", drive.shown());
    }

    #[test]
    fn who_plans_is_shown_the_step_that_copies_what_was_found() {
        let task = TASK.replace("belongs.", "belongs and run /pump.lua.");
        let mut drive = Drive::new(profile_with_asides("plan"), &task);
        drive.add_tools(vec![finder()]);
        drive.files.insert("/pump.lua".into(), "print(1)".into());
        assert!(drive.run_to_consult_with(computer(&["/old/pump.cfg"])));
        let told = drive.shown();
        let told = told.split("/etc/pump.cfg is not there, and").nth(1);
        insta::assert_snapshot!("found_elsewhere", told.unwrap_or_default());
    }

    #[test]
    fn a_name_is_looked_for_once_and_of_several_places_none_is_said_to_be_meant() {
        let mut drive = drive("direct");
        let list = call("fs_list", json!({"path": "/"}));
        let two = computer(&["/old/pump.cfg", "/new/pump.cfg"]);
        drive.say_with(&[&run(), &list, &run()], two);
        assert_eq!(looks(&drive), 1);
        assert!(
            !drive.shown().contains("which is called the same"),
            "{}",
            drive.shown()
        );
    }

    #[test]
    fn what_is_there_and_a_program_that_is_still_to_be_written_are_not_looked_for() {
        let mut drive = drive("direct");
        drive.files.insert("/etc/pump.cfg".into(), "rate".into());
        let read = call("fs_read", json!({"path": "/etc/pump.cfg"}));
        let none = call("run_program", json!({"path": "/other.lua"}));
        drive.say_with(&[&read, &run(), &none], computer(&[]));
        assert_eq!(looks(&drive), 0);
        let gone = call("fs_read", json!({"path": "/etc/gone.cfg"}));
        drive.say_with(&[&gone], computer(&[]));
        assert_eq!(looks(&drive), 1, "{}", drive.shown());
    }

    #[test]
    fn what_a_task_tells_to_read_is_looked_for_after_the_first_look_and_what_it_tells_to_write_is_not()
     {
        let task = "Read the word in /docs/Word.txt and write it to /word.txt. It may have been put elsewhere.";
        for strategy in ["direct", "directive", "numbered", "goals", "plan"] {
            let mut profile = profile_of(strategy);
            profile.memory.named_files = 3;
            let mut drive = Drive::new(profile, task);
            drive.add_tools(vec![finder()]);
            drive
                .files
                .insert("/papers/word.txt".into(), "lantern".into());
            assert!(
                drive.run_to_consult_with(computer(&["/papers/word.txt"])),
                "{strategy}"
            );
            let found = drive.state().calls().filter(|call| call.tool == FIND);
            let patterns: Vec<_> = found.filter_map(pattern).collect();
            assert_eq!(patterns, ["Word.txt"], "{strategy}");
            let newest = drive.state().calls().next_back().unwrap();
            assert!(
                newest.tool == READ
                    && newest.args["path"] == "/papers/word.txt"
                    && newest.succeeded(),
                "{strategy}: {newest:?}"
            );
        }
    }

    #[test]
    fn a_file_that_is_named_alone_is_looked_for_and_read_in_whatever_folder_it_lies() {
        let task = "Clean up the folder progs: quarry.lua is buggy and can go. Make new.lua, too.";
        let mut profile = profile_of("directive");
        profile.memory.named_files = 3;
        let mut drive = Drive::new(profile, task);
        drive.add_tools(vec![finder()]);
        let there = "/progs/quarry.lua";
        drive.files.insert(there.into(), "turtle.dig()".into());
        drive.run_to_consult_with(computer(&[there]));
        let calls: Vec<_> = drive.state().calls().collect();
        let patterns: Vec<_> = calls.iter().filter(|call| call.tool == FIND).collect();
        assert_eq!(patterns.len(), 1, "{}", drive.shown());
        assert_eq!(pattern(patterns[0]), Some("quarry.lua"));
        assert!(calls.last().unwrap().args["path"] == there && calls.last().unwrap().succeeded());
    }

    #[test]
    fn a_plan_reads_such_a_file_where_it_was_found() {
        let task = "Read the word in /docs/Word.txt and write it to /word.txt.";
        let mut profile = profile_of("plan");
        profile.memory.named_files = 3;
        let mut drive = Drive::new(profile, task);
        drive.add_tools(vec![finder()]);
        let there = "/papers/word.txt";
        drive.files.insert(there.into(), "lantern".into());
        let step = |id: u32, action: &str, target: &str| {
            let needs: Vec<u32> = (1..id).collect();
            json!({"id": id, "action": action, "target": target, "reason": "r", "depends_on": needs})
        };
        let mut write = step(2, "write_file", "/word.txt");
        write["params"] = json!({"content": "lantern"});
        let plan = json!({"goal": "g", "steps": [step(1, "read_file", "/docs/Word.txt"), write]});
        drive.say_with(&[&plan.to_string()], computer(&[there]));
        assert_eq!(drive.files["/word.txt"], "lantern", "{}", drive.shown());
        let reads = drive.state().calls().filter(|call| call.tool == READ);
        let paths: Vec<_> = reads.map(|call| call.args["path"].clone()).collect();
        assert_eq!(paths, ["/docs/Word.txt", "/word.txt", there, there]);
    }
}
