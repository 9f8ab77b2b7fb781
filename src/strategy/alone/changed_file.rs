//! The one short file of data that a task wants changed, in a prompt of its own: a small model that is to set a delay in a file of settings
//! writes the line with the delay over all of it, or patches a line that does not stand there. Shown what was asked for and the file, and
//! nothing else, it gives the file back as it shall be, and that is written by rule.

use super::changed_lines::{entry_lines, what_is_wrong};
use super::line_edits::file_to_patch;
use super::listed_entries::{Other, the_changed, wrong_entry};
use super::mending::{RUN, WRITE, wants_mended};
use super::told_entries::untouched;
use super::told_values::lacking;
use crate::domain::by_rule::ByRule;
use crate::domain::chat::Message;
use crate::domain::decision::{Contract, Decision, Guard};
use crate::domain::files::from_root;
use crate::domain::ids::ClientId;
use crate::domain::step::Step;
use crate::domain::task::CallRecord;
use crate::prompts::{PromptError, render};
use crate::strategy::ends::proved::own_words;
use crate::strategy::ends::unmended::only_program;
use crate::strategy::guards::misplaced_program::holds_data;
use crate::strategy::lua_text::only_shows::only_shows;
use crate::strategy::memory::contents;
use crate::strategy::memory::told;
use crate::strategy::paths::{is_file_like, mentions, named_in, normal};
use crate::strategy::shown_tools::named_by;
use crate::strategy::text::{fenced, filled_lines, has_word};
use crate::strategy::turn::Turn;
use crate::strategy::words::asked_questions::sentences;
use crate::strategy::words::places::addressed;
use crate::strategy::words::stated::{self, content_said};
use crate::strategy::words::wanted_changes::asks_for_a_change;
use serde_json::json;

/// Bytes of such a file: this prompt is short, or it is no help.
const MOST_BYTES: usize = 1_000;

/// Lines of one of which some stay: what has one line is written, not changed.
const FEWEST_LINES: usize = 2;

/// Words of a task that wants something changed in a file, beside those of any change.
const CHANGES: [&str; 18] = [
    "set", "raise", "lower", "increase", "decrease", "turn", "switch", "enable", "disable",
    "append", "insert", "put", "take", "drop", "update", "correct", "swap", "reset",
];

/// How it says what something in the file is to be.
const SHALL_BE: [&str; 6] = [
    "shall be",
    "should be",
    "must be",
    "has to be",
    "needs to be",
    "ought to be",
];

/// Words of a sentence that only wants to know what it is.
const ASKS: [&str; 5] = ["does", "how", "what", "whether", "which"];

/// Words of one that wants more than that, or something found out.
const BEYOND: [&str; 14] = [
    "report", "send", "log", "copy", "move", "pay", "answer", "find", "count", "sum", "total",
    "gather", "collect", "if",
];

/// Words of one that wants something done beside the change: it does not end behind it.
const DEEDS: [&str; 14] = [
    "open", "close", "stop", "build", "dig", "craft", "install", "reboot", "restart", "play",
    "create", "show", "display", "explain",
];

/// How it wants to hear something. "As they tell you" is none of it.
const TELLS: [&str; 3] = ["tell me", "tell us", "let me know"];

/// The file, as it is.
pub(in crate::strategy) struct FileChange<'a> {
    /// From the root.
    path: String,
    /// The computer, unless it is the task's own.
    on: Option<ClientId>,
    holds: &'a str,
    /// What the task speaks of beside it.
    others: Vec<Other<'a>>,
}

/// What a file that was changed lacks of what the task says, in words that name it.
fn lacks(asked: &str, held: &str, content: &str) -> Option<String> {
    lacking(asked, held, content).or_else(|| untouched(asked, held, content))
}

/// How a refusal of an answer about it begins.
fn change_of(path: &str) -> String {
    format!("{path} as it shall be: ")
}

impl<'a> Turn<'a> {
    /// That file, before anything else was done; while its answer is not refused for good.
    pub(in crate::strategy) fn file_change(&self, newest: &Step) -> Option<FileChange<'a>> {
        let is_before = |step: &Step| step.prepares() || step.fills_in_vain() || !step.closed;
        if !self.state.steps.iter().all(is_before) || self.asks_somebody() {
            return None;
        }
        let (path, on) = self.file_to_change()?;
        self.schema_of(&addressed(WRITE, on.as_ref()))?;
        let holds = contents::known(self.state, on.as_ref(), &path)?;
        let in_lines = entry_lines(holds);
        let entries = filled_lines(in_lines.as_deref().unwrap_or(holds)).count();
        let fits = holds.len() <= MOST_BYTES && entries >= FEWEST_LINES;
        let others = self.others_to_look_into(&path, on.as_ref())?;
        let is_open = fits && !self.is_refused_for_good(newest, &change_of(&path));
        is_open.then_some(FileChange {
            path,
            on,
            holds,
            others,
        })
    }

    /// The other files of data that the task names, if all of them are short and known.
    fn others_to_look_into(&self, path: &str, on: Option<&ClientId>) -> Option<Vec<Other<'a>>> {
        let others = named_in(self.asked_for()).into_iter();
        let others = others.map(|other| from_root(&other));
        let others = others.filter(|other| other != path && holds_data(other));
        let seen = |path: String| {
            let holds = contents::known(self.state, on, &path)?;
            (holds.len() <= MOST_BYTES).then_some(Other { path, holds })
        };
        others.map(seen).collect()
    }

    /// The only file of data that the task wants changed and its computer, where it wants nothing else but programs run.
    fn file_to_change(&self) -> Option<(String, Option<ClientId>)> {
        let prompt = self.asked_for();
        let named = named_in(prompt);
        let (programs, data): (Vec<&String>, Vec<&String>) =
            named.iter().partition(|path| path.ends_with(".lua"));
        let path = the_changed(prompt, &data)?;
        let changes = |said: &str| asks_for_a_change(said) || has_word(said, &CHANGES);
        let shall_be = || {
            let mut about = sentences(prompt).filter(|said| mentions(said, path).next().is_some());
            about.any(|said| {
                let said = said.to_lowercase();
                !has_word(&said, &ASKS) && SHALL_BE.iter().any(|words| said.contains(words))
            })
        };
        let is_worked_on = |program: &&String| {
            let mut about =
                sentences(prompt).filter(|said| mentions(said, program).next().is_some());
            about.any(|said| {
                let is_about_both = mentions(said, path).next().is_some();
                wants_mended(said) || (changes(said) && !is_about_both)
            }) || stated::is_to_be_made(prompt, program)
        };
        let words = own_words(prompt);
        let place = self.place_of(path)?;
        let on = self.unless_own(place);
        let is_there = |other: &ClientId| Some(other) == on.as_ref();
        let is_wanted = holds_data(path)
            && is_file_like(path)
            && (changes(prompt) || shall_be())
            && !has_word(&words, &BEYOND)
            && !TELLS.iter().any(|tells| words.contains(tells))
            && !self.is_left_alone(&from_root(path), on.as_ref())
            && !programs.iter().any(is_worked_on)
            && content_said(prompt, path).is_none()
            && file_to_patch(prompt).is_none()
            && named_by(&self.shown_tools().shown, &words).next().is_none()
            && self.state.wakes().is_none()
            && self.tools_to_call().is_empty()
            && self.other_computers().iter().all(is_there);
        is_wanted.then(|| (from_root(path), on))
    }

    /// That file, from the root, and what it lacks of the values that the task gives, as far as that is known.
    pub(in crate::strategy) fn value_not_set(&self) -> Option<(String, String)> {
        let (path, on) = self.file_to_change()?;
        let holds = contents::known(self.state, on.as_ref(), &path)?;
        let mut seen = self.state.calls().filter_map(contents::content_in);
        let held = seen.find(|(of, _)| *of == path);
        let held = held.map_or(holds, |(_, held)| held);
        let lacks = lacks(&self.asked_and_answered(), held, holds)?;
        Some((path, lacks))
    }

    /// Whether a call has brought that file to what it shall be.
    pub(in crate::strategy) fn changes_file(&self, call: &CallRecord) -> bool {
        let is_it = |(path, on): (String, Option<ClientId>)| {
            call.args["path"] == path && self.elsewhere(call) == on.as_ref()
        };
        call.tool == WRITE && call.succeeded() && self.file_to_change().is_some_and(is_it)
    }

    /// That file, from the root, once it was changed so.
    pub(in crate::strategy) fn changed_file(&self) -> Option<String> {
        let alone = self.state.steps.iter().filter(|step| step.fills());
        let mut alone = alone.flat_map(|step| &step.calls);
        let was_changed = alone.any(|call| self.changes_file(call));
        self.file_to_change()
            .filter(|_| was_changed)
            .map(|(path, _)| path)
    }

    /// Whether that file was changed so, all ran well of which the task speaks, and it wants no other deed.
    pub(in crate::strategy) fn is_changed_and_run(&self) -> bool {
        self.is_run_as_asked()
            && !has_word(&own_words(self.asked_for()), &DEEDS)
            && self.changed_file().is_some()
            && self.value_not_set().is_none()
    }

    /// Runs the only program that the task names, to see what it makes of the change, where it takes nothing and does nothing but read and print.
    pub(in crate::strategy) fn show_change(&self) -> Option<Decision> {
        let (_, on) = self.file_to_change()?;
        let program = from_root(&only_program(self.asked_for())?);
        let text = contents::known(self.state, on.as_ref(), &program)?;
        let may = only_shows(text)
            && self.tests_since_change().is_empty()
            && !stated::forbids_runs(self.asked_for());
        self.schema_of(&addressed(RUN, on.as_ref()))?;
        let run = || self.call_by_rule(ByRule::ClosingRun, RUN, json!({"path": program}), on);
        may.then(run).flatten()
    }

    pub(in crate::strategy) fn consult_for_change(&self, change: &FileChange<'_>) -> Decision {
        self.ask_aside(Contract::Content, self.change_prompt(change))
    }

    fn change_prompt(&self, change: &FileChange<'_>) -> Result<Vec<Message>, PromptError> {
        let prompts = &self.profile.prompts;
        let others = change.others.iter();
        let others = others
            .map(|other| json!({"path": other.path, "holds": fenced(other.holds.trim_end(), "")}));
        let told = json!({
            "prompt": self.asked_for(),
            "path": change.path,
            "holds": fenced(change.holds.trim_end(), ""),
            "others": others.collect::<Vec<_>>(),
            "answers": told::answers(self.state.steps.iter()),
            "refused": self.refused_just_now(&change_of(&change.path)),
        });
        Ok(vec![
            Message::system(render(prompts, "shared/file_editor", json!({}))?),
            Message::user(render(prompts, "shared/file_to_change", told)?),
        ])
    }

    /// The task's words, and what somebody answered.
    fn asked_and_answered(&self) -> String {
        let questions = self.state.steps.iter();
        let questions = questions.filter_map(|step| step.question.as_ref());
        let answers = questions.filter_map(|asked| Some(asked.answer.as_ref()?.answer.as_str()));
        let asked: Vec<&str> = std::iter::once(self.asked_for()).chain(answers).collect();
        asked.join("\n")
    }

    /// Writes what it answered.
    pub(in crate::strategy) fn write_change(
        &self,
        step: &Step,
        change: &FileChange<'_>,
        said: Option<&str>,
    ) -> Decision {
        let refused = |why: &str| {
            let told = format!("{}{why}", change_of(&change.path));
            self.block(Guard::Invalid, told)
        };
        let content = format!("{}\n", said.unwrap_or_default().trim_matches('\n'));
        let asked = self.asked_and_answered();
        // What is added may stand in another file.
        let others = change.others.iter().map(|other| other.holds);
        let known: Vec<&str> = std::iter::once(asked.as_str()).chain(others).collect();
        let wrong = what_is_wrong(&known.join("\n"), change.holds, &content).or_else(|| {
            let both = (change.holds, content.as_str());
            wrong_entry(&asked, &normal(&change.path), &change.others, both)
        });
        if let Some(why) = wrong {
            return refused(&why);
        }
        // Who leaves it out again is believed: rules see numbers, switches and names, not what they mean.
        let told = self.refused_just_now(&change_of(&change.path));
        let lacks = lacks(&asked, change.holds, &content);
        if let Some(lacks) = lacks.filter(|lacks| told != Some(lacks)) {
            return refused(&lacks);
        }
        let why = format!("Changing {}, as the task says", change.path);
        match self.write_aside(step, why, &change.path, change.on.as_ref(), &content) {
            Ok(decision) => decision,
            Err(problems) => refused(&problems.join("; ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::chat::Role;
    use crate::strategy::bench::shown;
    use crate::strategy::drive::{Drive, carry_out, profile_with_asides};

    const TASK: &str = "The south gate shuts too early, its delay in /gates.ini is too short. set it to 6. only the south gate!";
    const GATES: &str = "; the gates\n[north]\ndelay=2\n\n[south]\ndelay=2\n";
    const RIGHT: &str = "```\n; the gates\n[north]\ndelay=2\n\n[south]\ndelay=6\n```";

    fn begun(strategy: &str, task: &str) -> Drive {
        let mut drive = Drive::new(profile_with_asides(strategy), task);
        drive.bench.profile.one_model = true;
        drive.files.insert("/gates.ini".into(), GATES.into());
        drive.run_to_consult_with(carry_out);
        drive
    }

    fn asked_alone(drive: &Drive) -> String {
        shown(drive.state().prompt(Role::Executor))
    }

    #[test]
    fn a_short_file_of_settings_is_asked_for_alone_and_written() {
        for strategy in ["direct", "directive", "numbered", "plan", "goals"] {
            let mut drive = begun(strategy, TASK);
            let asked = asked_alone(&drive);
            if strategy == "direct" {
                insta::assert_snapshot!("file_to_change", asked);
            }
            drive.say(&[RIGHT]);
            let right = GATES.replace("[south]\ndelay=2", "[south]\ndelay=6");
            assert_eq!(drive.files["/gates.ini"], right, "{strategy}: {asked}");
        }
    }

    #[test]
    fn a_program_that_only_shows_what_the_file_holds_is_run_behind_the_change_and_the_task_ends() {
        let ran_behind = |program: &str| {
            let task = format!("{TASK} /gates.lua moans about broken lines, so give that a spin.");
            let mut drive = Drive::new(profile_with_asides("plan"), &task);
            drive.bench.profile.one_model = true;
            drive.files.insert("/gates.ini".into(), GATES.into());
            drive.files.insert("/gates.lua".into(), program.into());
            let goes_on = drive.say(&[RIGHT]);
            let last = drive.state().calls().last().unwrap();
            (last.tool == RUN, goes_on)
        };
        let shows = "local f = fs.open(\"/gates.ini\", \"r\") print(f.readAll()) f.close()";
        assert_eq!(ran_behind(shows), (true, false));
        assert_eq!(
            ran_behind("redstone.setOutput(\"left\", true)"),
            (false, true)
        );
        assert_eq!(ran_behind("print(...)"), (false, true));
    }

    #[test]
    fn a_change_that_nothing_can_show_is_the_end_where_planner_and_executor_are_one_model() {
        let more = format!("{TASK} And open it now.");
        for (task, one_model, goes_on) in [
            (TASK, true, false),
            (TASK, false, true),
            (more.as_str(), true, true),
        ] {
            let mut drive = Drive::new(profile_with_asides("plan"), task);
            drive.bench.profile.one_model = one_model;
            drive.files.insert("/gates.ini".into(), GATES.into());
            assert_eq!(drive.say(&[RIGHT]), goes_on, "{}", drive.shown());
        }
    }

    #[test]
    fn an_answer_that_cannot_be_the_file_is_asked_for_once_more() {
        for (answer, why) in [
            ("```\ndelay=6\n```", "most lines of the file were not in it"),
            ("I would set it to 6.", "there was no file in it"),
            (
                "```\n; the gates\n[north]\ndelay=2\n\n[south]\ndelay=2\n```",
                "it was the file as it is, and nothing was changed",
            ),
        ] {
            let mut drive = begun("direct", TASK);
            drive.say(&[answer]);
            let asked = asked_alone(&drive);
            assert!(asked.contains(&format!("was not taken: {why}")), "{asked}");
            drive.say(&[RIGHT]);
            assert!(drive.files["/gates.ini"].contains("delay=6"), "{why}");
        }
    }

    #[test]
    fn of_two_lists_the_one_is_changed_and_the_other_one_is_looked_into() {
        let task =
            "Please take everybody who is in /banned.txt out of /white.txt. The others stay on it.";
        let mut drive = Drive::new(profile_with_asides("directive"), task);
        drive.bench.profile.one_model = true;
        for (path, text) in [("/banned.txt", "Bo\nTim\n"), ("/white.txt", "Al\nBo\nCy\n")] {
            drive.files.insert(path.into(), text.into());
        }
        drive.run_to_consult_with(carry_out);
        insta::assert_snapshot!("file_to_change_by_another", asked_alone(&drive));
        drive.say(&["```\nAl\n```"]);
        let asked = asked_alone(&drive);
        assert!(
            asked.contains("Cy does not stand in /banned.txt"),
            "{asked}"
        );
        drive.say(&["```\nAl\nCy\n```"]);
        assert_eq!(drive.files["/white.txt"], "Al\nCy\n");
    }

    #[test]
    fn only_a_task_that_changes_one_file_and_nothing_else_asks_for_it_so() {
        let is_asked =
            |task: &str| asked_alone(&begun("direct", task)).contains("Write /gates.ini");
        assert!(is_asked(TASK));
        for task in [
            "Turn the delay in /gates.ini up to 6, please.",
            "In /gates.ini: raise delay to 30 and turn sound on. Rest of it stays as is. There's a /server/validate.lua that reads the file like \
             the server does and moans about broken lines, so give that a spin once you've saved.",
            "Could you add it to /gates.ini under the name `beach`, in the same shape as the warps that are in there already? The old ones should \
             of course keep working. You'll know it worked when /goto.lua, started with beach, prints the spot.",
        ] {
            assert!(is_asked(task), "{task}");
        }
        assert!(is_asked(
            "The delay of the south gate in /gates.ini should be 6."
        ));
        for other in [
            "Does /gates.ini say what the delay of the south gate should be?",
            "The delay of the south gate should be 6. /gates.ini holds what it is.",
            "What does /gates.ini say about the south gate?",
            "Set the delay in /gates.ini to 6 and tell me what it was.",
            "Do not change /gates.ini. Set up the gates.",
            "Fix /gates.lua, which reads /gates.ini and should set the delay.",
            "Set the delays of /gates.ini and /doors.ini to 6.",
            "Write a program /gates.lua that shows what /gates.ini holds.",
        ] {
            assert!(!is_asked(other), "{other}");
        }
    }
}
