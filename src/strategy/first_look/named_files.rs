//! The files that a task's words name, read by rule before its model is asked anything: a small model that is told to mend a file
//! writes it anew without having looked at it, and one that plans cannot say what to change in what it has not seen.

use super::calls_by_rule::request_by_rule;
use super::file_ends::begins_at;
use crate::domain::by_rule::ByRule;
use crate::domain::decision::Decision;
use crate::domain::directive::StrictRequest;
use crate::domain::files::from_root;
use crate::domain::fold::on_computer;
use crate::domain::ids::ClientId;
use crate::domain::profile::Profile;
use crate::domain::task::{CallRecord, TaskState};
use crate::prompts::{PromptError, render};
use crate::strategy::guards::check_program::is_check;
use crate::strategy::guards::misplaced_program::holds_data;
use crate::strategy::paths::{is_file_like, listed_behind_folders, named_in, normal};
use crate::strategy::text::fenced;
use crate::strategy::turn::Turn;
use crate::strategy::words::stated::is_to_be_made;
use serde_json::{Value, json};

pub(in crate::strategy) const READ: &str = "fs_read";

/// Bytes of one file that are read and shown. They stand in every prompt of the task.
const MOST_BYTES: usize = 1_500;

impl Turn<'_> {
    /// Reads what the task names, before its first step. None where nobody can tell on which computer that lies, where nothing
    /// may be read, and in a task that lives on: its files are others at its next wake.
    pub(in crate::strategy) fn first_look(&self) -> Option<Decision> {
        let most = self.profile.memory.named_files;
        let created = self.state.created.as_ref()?;
        if most == 0 || !self.state.steps.is_empty() || self.state.wakes().is_some() {
            return None;
        }
        let bytes = self.profile.memory.result_bytes.min(MOST_BYTES);
        let named = named_in(&created.prompt).into_iter();
        let named = named.chain(listed_behind_folders(&created.prompt));
        let named = named.filter(|path| is_file_like(path) && !is_check(&created.prompt, path));
        let mut named: Vec<String> = named.collect();
        if named.len() > most {
            // Where not all can be read, the file of a result that is still to be made comes last.
            named.sort_by_key(|path| holds_data(path) && is_to_be_made(&created.prompt, path));
        }
        let look = |path: String| {
            let places = self.places_of(&path).into_iter();
            let there = places.filter(|place| place.online && place.tool(READ).is_some());
            there.map(move |place| {
                let parameters = json!({"path": from_root(&path), "max_bytes": bytes});
                let on = self.unless_own(place);
                request_by_rule(ByRule::FirstLook, READ, parameters, on)
            })
        };
        let requests: Vec<StrictRequest> = named.into_iter().flat_map(look).take(most).collect();
        if requests.is_empty() {
            return None;
        }
        self.calls_by_rule(requests)
    }
}

/// What the first look has shown, as it stands below the task; none if there was none.
///
/// # Errors
/// The template `shared/named_files` is broken.
pub fn told(state: &TaskState, profile: &Profile) -> Result<Option<String>, PromptError> {
    told_with(state, profile, true)
}

/// The same for who is asked for one content alone: the length of a file is a number that is taken for what it holds, so of one that is
/// shown whole none is told.
///
/// # Errors
/// The template `shared/named_files` is broken.
pub(in crate::strategy) fn told_for_content(
    state: &TaskState,
    profile: &Profile,
) -> Result<Option<String>, PromptError> {
    told_with(state, profile, false)
}

fn told_with(
    state: &TaskState,
    profile: &Profile,
    with_lengths: bool,
) -> Result<Option<String>, PromptError> {
    let shown = |call: &CallRecord| shown(state, call, with_lengths);
    let files: Vec<Value> = looks(state).filter_map(shown).collect();
    if files.is_empty() {
        return Ok(None);
    }
    let told = render(
        &profile.prompts,
        "shared/named_files",
        json!({"files": files}),
    )?;
    Ok(Some(told))
}

/// The calls of the first look: of a file whose end was read it is that one.
fn looks(state: &TaskState) -> impl Iterator<Item = &CallRecord> {
    let steps = state.steps.iter().take_while(|step| step.looks_first());
    let calls: Vec<&CallRecord> = steps.flat_map(|step| &step.calls).collect();
    let ends = calls.clone();
    calls.into_iter().filter(move |call| {
        let is_its_end = |end: &&CallRecord| {
            let is_of_it = end.args["path"] == call.args["path"] && end.target == call.target;
            begins_at(end).is_some() && end.succeeded() && is_of_it
        };
        begins_at(call).is_some() || !ends.iter().any(is_its_end)
    })
}

/// Whether a call has read a file that the first look has shown, and found it as it was.
pub(in crate::strategy) fn was_shown(state: &TaskState, call: &CallRecord) -> bool {
    let read = |call: &CallRecord| {
        let path = normal(call.args.get("path")?.as_str()?);
        let result = call.report()?.result.as_ref();
        let hash = result.filter(|_| call.tool == READ && call.succeeded())?;
        let on = call.intended.as_ref()?.client_id.clone();
        Some((path, on, hash.get("hash")?.as_str()?.to_owned()))
    };
    let of_call = read(call);
    // Of a long file only a piece was shown.
    let is_same_piece = |shown: &CallRecord| is_whole(shown) || begins_at(shown) == begins_at(call);
    of_call.is_some() && looks(state).any(|shown| read(shown) == of_call && is_same_piece(shown))
}

/// What the files of the first look hold, if each of them is one number: a small model that is to add them up leaves one out, unless it is
/// told them.
pub(in crate::strategy) fn numbers(state: &TaskState) -> Vec<&str> {
    let results = looks(state).filter_map(|call| call.report()?.result.as_ref());
    let read = results.filter_map(|result| Some(result.get("content")?.as_str()?.trim()));
    let numbers: Option<Vec<&str>> = read
        .map(|content| content.parse::<f64>().is_ok().then_some(content))
        .collect();
    numbers.unwrap_or_default()
}

/// Whether the first look has read the end of a file, of which the task speaks. The path has no first slash, and a computer stands only for
/// another one than the task's own.
pub(in crate::strategy) fn shows_end(state: &TaskState, on: Option<&ClientId>, path: &str) -> bool {
    let on = on.or(state.home());
    looks(state).any(|call| {
        let of = call.args.get("path").and_then(Value::as_str).map(normal);
        let place = call.intended.as_ref().map(|intended| &intended.client_id);
        begins_at(call).is_some() && call.succeeded() && of.as_deref() == Some(path) && place == on
    })
}

fn is_whole(read: &CallRecord) -> bool {
    let result = read.report().and_then(|report| report.result.as_ref());
    result.is_some_and(|result| result["truncated"] != true) && begins_at(read).is_none()
}

/// A file that is there. Of one that is not nothing is said: a small model that is told so looks for it, or copies it, before it makes it.
fn shown(state: &TaskState, call: &CallRecord, with_lengths: bool) -> Option<Value> {
    let path = call.args.get("path")?.as_str()?;
    let result = call
        .report()?
        .result
        .as_ref()
        .filter(|_| call.succeeded())?;
    let content = result.get("content")?.as_str()?;
    // Older libraries give more than they were asked for.
    let end = content.floor_char_boundary(MOST_BYTES);
    let bytes = result.get("bytes").and_then(Value::as_u64);
    let bytes = bytes.map_or(content.len(), |bytes| bytes as usize);
    let on = call.intended.as_ref().map(|intended| &intended.client_id);
    let begins_at = begins_at(call);
    // The first line of an end is half a line.
    let content = match content.split_once('\n').filter(|_| begins_at.is_some()) {
        Some((_, lines)) => lines,
        None => &content[..end],
    };
    Some(json!({
        "path": on_computer(path.to_owned(), state.home(), on),
        "bytes": (with_lengths || bytes > end || begins_at.is_some()).then_some(bytes),
        "content": fenced(content.trim_end(), ""),
        "begins_at": begins_at,
        "rest_at": (bytes > end && begins_at.is_none()).then_some(end),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::decision::Inputs;
    use crate::domain::tool::FleetView;
    use crate::strategy::drive::{Drive, fleet, profile_of};

    const TASK: &str = "Mend /sum.lua, which reads /numbers.txt, and write /out/new.txt";

    fn drive(strategy: &str, task: &str, most: usize) -> Drive {
        let mut profile = profile_of(strategy);
        profile.memory.named_files = most;
        let mut drive = Drive::new(profile, task);
        let files = [("/sum.lua", "print(1)\n"), ("/numbers.txt", "1 2 3\n")];
        for (path, content) in files {
            drive.files.insert(path.into(), content.into());
        }
        drive
    }

    #[test]
    fn every_strategy_shows_the_files_that_its_task_names_in_its_first_prompt() {
        for strategy in ["direct", "directive", "plan", "numbered", "goals"] {
            let mut drive = drive(strategy, TASK, 3);
            assert!(drive.run_to_consult(), "{strategy}");
            let shown = drive.shown();
            for part in ["/sum.lua, 9 bytes:\n```\nprint(1)\n```", "1 2 3"] {
                assert!(shown.contains(part), "{strategy}: {part}\n{shown}");
            }
            let state = drive.state();
            assert_eq!(state.calls().count(), 3, "{strategy}");
            assert_eq!(
                (state.usage.steps, state.usage.model_calls),
                (2, 0),
                "{strategy}"
            );
            // Of a file that is not there yet nothing is said.
            let below = shown.split("Files that the task names").nth(1);
            let below = below.and_then(|below| below.split("=== ").next()).unwrap();
            assert!(!below.contains("/out/new.txt"), "{strategy}: {below}");
            assert!(!shown.contains("FAILED"), "{strategy}: {shown}");
        }
    }

    #[test]
    fn what_was_shown_may_be_replaced_at_once_and_stands_in_one_place() {
        let mut drive = drive("direct", TASK, 3);
        let write = json!({"path": "/sum.lua", "content": "print(2)\n"});
        drive.say(&[&json!({"tool": "fs_write", "args": write}).to_string()]);
        assert_eq!(drive.files["/sum.lua"], "print(2)\n");
        let shown = drive.shown();
        assert_eq!(shown.matches("1 2 3").count(), 1, "{shown}");
    }

    #[test]
    fn of_a_long_file_the_beginning_is_shown_and_how_to_read_on() {
        let task = "What do /sum.lua, /long.txt and /no.txt say?";
        let mut drive = drive("direct", task, 3);
        let long = "a line of many\n".repeat(1000);
        drive.files.insert("/long.txt".into(), long);
        assert!(drive.run_to_consult());
        let told = told(drive.state(), &drive.bench.profile).unwrap().unwrap();
        insta::assert_snapshot!("named_files", told);
    }

    #[test]
    fn nothing_is_read_on_a_computer_that_is_away_or_where_the_task_speaks_of_another_one() {
        let drive = drive("direct", "Copy /sum.lua to the computer depot", 3);
        let looks = |change: &dyn Fn(&mut FleetView)| {
            let mut inputs = Inputs {
                fleet: fleet(),
                ..Inputs::default()
            };
            change(&mut inputs.fleet);
            drive.turn(&inputs).first_look().is_some()
        };
        let with = |fleet: &mut FleetView, name: &str| {
            let mut other = fleet.computers[0].clone();
            other.client_id = ClientId::parse(name).unwrap();
            fleet.computers.push(other);
        };
        assert!(looks(&|fleet| with(fleet, "mine")));
        assert!(!looks(&|fleet| with(fleet, "depot")));
        assert!(!looks(&|fleet| fleet.computers[0].online = false));
    }

    #[test]
    fn what_lies_on_another_computer_is_read_there_and_told_with_its_name() {
        for strategy in ["direct", "directive", "plan", "numbered", "goals"] {
            let task = "On the computer `mine` the program /sum.lua is wrong.";
            let mut drive = drive(strategy, task, 3);
            drive.add_computer("mine");
            assert!(drive.run_to_consult(), "{strategy}");
            let shown = drive.shown();
            let told = "/sum.lua on mine, 9 bytes:\n```\nprint(1)\n```";
            assert!(shown.contains(told), "{strategy}: {shown}");
            let call = drive.state().calls().next().unwrap();
            assert_eq!(call.intended.as_ref().unwrap().client_id.as_str(), "mine");
        }
    }

    #[test]
    fn what_lies_on_each_of_several_computers_is_read_on_each() {
        let task = "On each of the computers base (this one), mine and depot there is a file /numbers.txt. Add them up.";
        for strategy in ["direct", "directive", "plan", "numbered", "goals"] {
            let mut drive = drive(strategy, task, 3);
            drive.add_computer("mine");
            drive.add_computer("depot");
            assert!(drive.run_to_consult(), "{strategy}");
            let shown = drive.shown();
            for place in ["", " on mine", " on depot"] {
                let told = format!("/numbers.txt{place}, 6 bytes:\n```\n1 2 3\n```");
                assert!(shown.contains(&told), "{strategy}: {shown}");
            }
        }
    }

    #[test]
    fn nothing_is_read_where_nothing_is_named_or_nobody_can_tell_where_it_lies() {
        for (task, most) in [
            (TASK, 0),
            ("Mend the program that counts", 3),
            ("Make it right: run /sum.lua, then `/check.lua`", 3),
            ("Be well. /sum-check.lua says whether it is right", 3),
            ("Look at http://example.com/a.txt and below /work", 3),
        ] {
            let mut drive = drive("direct", task, most);
            assert!(drive.run_to_consult());
            assert_eq!(drive.state().calls().count(), 0, "{task}");
        }
    }
}
