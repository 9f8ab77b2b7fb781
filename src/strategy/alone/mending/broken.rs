//! A program that its task tells to be broken, and of no run of it: "my /leader.lua is drunk, it keeps printing Bob. can you fix it". It is mended
//! from what the task says, and what it shows is found out before and after, where it does nothing but show.

use super::RUN;
use super::candidates::{Ailing, MOST_BYTES};
use super::returns_nothing::LostReturn;
use crate::domain::by_rule::ByRule;
use crate::domain::decision::Decision;
use crate::domain::files::from_root;
use crate::domain::ids::ClientId;
use crate::domain::step::{CallRecord, Step};
use crate::strategy::guards::check_program::is_check;
use crate::strategy::lua_text::only_shows::only_shows;
use crate::strategy::lua_text::slip;
use crate::strategy::memory::contents;
use crate::strategy::memory::pins::runs;
use crate::strategy::paths::{named_in, normal};
use crate::strategy::text::has_word;
use crate::strategy::turn::Turn;
use crate::strategy::words::asked_runs;
use crate::strategy::words::stated;
use serde_json::json;

/// Words of a task that wants a program mended which it did not write itself, some of them German.
const MENDS: [&str; 10] = [
    "mend",
    "mends",
    "fix",
    "fixes",
    "fixing",
    "repair",
    "debug",
    "reparieren",
    "reparier",
    "fixen",
];

/// How else it says so: "could you get it going again".
const AGAIN: [&str; 12] = [
    "is broken",
    "stopped working",
    "ist kaputt",
    "going again",
    "working again",
    "running again",
    "work again",
    "like before",
    "like it did",
    "like it used to",
    "as it used to",
    "back to work",
];

/// Such a program.
struct Broken<'a> {
    path: String,
    on: Option<&'a ClientId>,
    content: &'a str,
    /// What it lacks, if that is known without a run, and the program that loads it.
    lacks: Option<Lack>,
}

struct Lack {
    lost: LostReturn,
    /// Without its first slash.
    loader: String,
}

impl<'a> Turn<'a> {
    /// The only program that a task names and wants mended, if its words tell of no run of it; of two, the one that the other one loads for
    /// what it returns, and that returns nothing.
    fn told_broken(&self) -> Option<Broken<'a>> {
        let prompt = self.asked_for();
        if !wants_mended(prompt)
            || !asked_runs::asked(prompt).is_empty()
            || stated::bare_run(prompt).is_some()
        {
            return None;
        }
        let mut named = named_in(prompt);
        named.retain(|path| path.ends_with(".lua"));
        let (program, lacks) = match named.as_slice() {
            [program] => (program.clone(), None),
            [_, _] => {
                let mut lost = named.iter().filter_map(|program| {
                    let place = self.place_of(program)?;
                    let on = Some(&place.client_id).filter(|on| self.state.home() != Some(*on));
                    let (path, lost) = self.loaded_for_nothing(Some(program), on)?;
                    let loader = program.clone();
                    Some((normal(&path), Lack { lost, loader }))
                });
                let (path, lack) = lost.next()?;
                (path, Some(lack))
            }
            _ => return None,
        };
        let program = &program;
        let place = self.place_of(program)?;
        let on = Some(&place.client_id).filter(|on| self.state.home() != Some(*on));
        let path = from_root(program);
        let content = contents::known(self.state, on, &path);
        let content = content.filter(|content| content.len() <= MOST_BYTES)?;
        let may = !is_check(prompt, program) && !self.is_left_alone(&path, on);
        may.then_some(Broken {
            path,
            on,
            content,
            lacks,
        })
    }

    /// Such a program as one that is to be mended, while nothing was done but to look at it.
    pub(super) fn ailing_as_told(&self) -> Option<Ailing<'a>> {
        let looks = |step: &Step| {
            let in_vain = step.mends() && step.calls.is_empty();
            step.prepares() || step.by_rule() == Some(ByRule::FirstRun) || in_vain || !step.closed
        };
        if !self.state.steps.iter().all(looks) {
            return None;
        }
        let broken = self.told_broken()?;
        let lost = broken.lacks.map(|lack| (lack.lost.told, lack.lost.whole));
        let (failure, whole) = lost.unzip();
        Some(Ailing {
            whole: whole.flatten(),
            path: broken.path,
            on: broken.on,
            content: broken.content,
            run: self.state.calls().rev().find(|call| runs(call)),
            failure: failure.or_else(|| slip(broken.content)),
        })
    }

    /// The run of such a program, or of the one that loads it, if it takes no arguments and does nothing but read and print: nobody has asked for
    /// a run.
    pub(super) fn first_run_of_broken(&self) -> Option<Decision> {
        if !self.state.steps.iter().all(Step::prepares) {
            return None;
        }
        let broken = self.told_broken()?;
        let (path, shows) = match &broken.lacks {
            None => (broken.path.clone(), only_shows(broken.content)),
            Some(lack) => {
                let path = from_root(&lack.loader);
                let text = contents::known(self.state, broken.on, &path)?;
                let own = text.replacen("dofile", "print", 1);
                (path, only_shows(&own) && only_shows(broken.content))
            }
        };
        let may = shows && !stated::forbids_runs(self.asked_for());
        let run = json!({"path": path});
        may.then(|| self.call_by_rule(ByRule::FirstRun, RUN, run, broken.on.cloned()))?
    }

    /// Whether such a program was mended, ended well when it ran anew, and shows something else than before.
    pub(in crate::strategy) fn shows_otherwise(&self) -> bool {
        let ran: Vec<&CallRecord> = self.state.calls().filter(|call| runs(call)).collect();
        let [first, .., last] = ran.as_slice() else {
            return false;
        };
        let shown = |call: &CallRecord| stated::output(call).trim().to_owned();
        last.succeeded() && !shown(last).is_empty() && shown(first) != shown(last)
    }
}

/// Whether a task wants something mended.
pub(in crate::strategy) fn wants_mended(prompt: &str) -> bool {
    let lower = prompt.to_lowercase();
    has_word(prompt, &MENDS) || AGAIN.iter().any(|words| lower.contains(words))
}
