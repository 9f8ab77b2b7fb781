//! What the scripted model says: a good planner that leaves one mark after another. It knows the prompt alone, so that it
//! can be asked again at any time: its own moves and what came of each. [`super::manners`] puts it into the words of
//! each strategy.

use super::manners;
use super::parts::{Fate, Manner, Part, fork_of};

/// A mark's name: `t3m12` is the 12th of task 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    pub task: usize,
    pub number: u32,
}

impl Mark {
    /// Reads the first mark in a text.
    pub fn find(text: &str) -> Option<Mark> {
        Mark::all_in(text).next()
    }

    /// The highest mark of this task that a text names.
    pub fn last_of(task: usize, text: &str) -> Option<Mark> {
        let own = Mark::all_in(text).filter(|mark| mark.task == task);
        own.max_by_key(|mark| mark.number)
    }

    fn all_in(text: &str) -> impl Iterator<Item = Mark> {
        let starts = text
            .match_indices('t')
            .map(|(at, _)| text.get(at + 1..).unwrap_or_default());
        starts.filter_map(Mark::read)
    }

    fn read(text: &str) -> Option<Mark> {
        let (task, rest) = text.split_once('m')?;
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        Some(Mark {
            task: task.parse().ok()?,
            number: digits.parse().ok()?,
        })
    }

    pub fn next(self) -> Mark {
        Mark {
            number: self.number + 1,
            ..self
        }
    }
}

impl std::fmt::Display for Mark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "t{}m{}", self.task, self.number)
    }
}

/// One message of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// True for what the model said itself.
    pub by_model: bool,
    pub text: String,
}

/// The prompt of a task's number.
pub fn prompt(task: usize) -> String {
    format!("Torture task {task}: leave your marks, one after another, until it is enough.")
}

/// The task of a prompt.
pub fn task_of(text: &str) -> Option<usize> {
    let (_, rest) = text.split_once("Torture task ")?;
    rest.split(':').next()?.parse().ok()
}

/// What is done, whatever the strategy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    Mark,
    Look,
    /// Another task is started.
    Child,
    /// A person is asked.
    Ask,
    /// A mark that needs a person's consent.
    Seal,
    /// The model sleeps.
    Nap,
    End,
}

/// A move and the mark that it is about: what leaves or looks at one names it, for all others it is the last one that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Say {
    pub what: Move,
    pub mark: Mark,
}

/// What came of a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Came {
    Done,
    /// It did not happen, or failed before it left anything.
    Nothing,
    /// A person said no to it, for good.
    Refused,
    Unknown,
}

/// The last move that was made, and its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Did {
    pub say: Say,
    pub came: Came,
    /// A look that saw none, or the last mark that it saw.
    pub seen: Option<u32>,
}

/// A mark is looked at after so many.
const LOOK_AFTER: u32 = 4;
/// After this mark a task asks, sleeps, or starts another one. Where its part says so, it and the next one need consent.
pub const TURNING_POINT: u32 = 2;
/// Marks of one episode.
const EPISODE: u32 = 2;

/// What the task asks for next. `enough` tells of a mark that is there whether it may have been the last one.
pub fn next(prompt: &[Said], enough: impl Fn(Mark) -> bool) -> Option<String> {
    let task = prompt.iter().find_map(|said| task_of(&said.text))?;
    let task = if is_forked(prompt, task) {
        fork_of(task)
    } else {
        task
    };
    let part = Part::of(task);
    let enough = |mark| !part.is_endless() && enough(mark);
    let then = |did: Option<&Did>| match did {
        Some(did) => follow(part, did, &enough),
        None => begin(part, task, prompt),
    };
    Some(match part.manner {
        Manner::Plan => manners::plan::answer(prompt, task, then),
        manner => manners::answer(manner, prompt, task, then),
    })
}

/// Whether it goes on from the task of its prompt: it was told so, or has left marks of its own since.
fn is_forked(prompt: &[Said], task: usize) -> bool {
    let own = fork_of(task);
    let tells = |text: &str| {
        text.contains("This task goes on from another one") || Mark::last_of(own, text).is_some()
    };
    prompt.iter().any(|said| tells(&said.text))
}

/// Leaves a mark in the way that the part asks for.
fn leave(part: Part, mark: Mark) -> Say {
    let sealed = [TURNING_POINT, TURNING_POINT + 1].contains(&mark.number);
    let sealed = sealed && part.fate == Fate::Consents;
    say(if sealed { Move::Seal } else { Move::Mark }, mark)
}

/// Nothing of its own is in view.
fn begin(part: Part, task: usize, prompt: &[Said]) -> Say {
    let recalled = prompt.iter().rev();
    let recalled = recalled
        .filter_map(|said| Mark::last_of(task, &said.text))
        .next();
    let first = Mark { task, number: 1 };
    let look = recalled.is_some() || part.lives_on();
    Say {
        // Its own words were cut away, or an episode is over, and nobody knows what came of them.
        what: if look { Move::Look } else { Move::Mark },
        mark: recalled.unwrap_or(first),
    }
}

fn follow(part: Part, did: &Did, enough: &dyn Fn(Mark) -> bool) -> Say {
    let mark = did.say.mark;
    let go_on = |mark: Mark| {
        let what = match part.fate {
            Fate::Asks if mark.number == TURNING_POINT => Move::Ask,
            Fate::Parent if mark.number == TURNING_POINT => Move::Child,
            Fate::Naps if mark.number == TURNING_POINT => Move::Nap,
            Fate::Consents if mark.number <= TURNING_POINT => return leave(part, mark.next()),
            _ if enough(mark) => Move::End,
            _ => return leave(part, mark.next()),
        };
        say(what, mark)
    };
    match (did.say.what, did.came) {
        (Move::Mark, Came::Done) if part.lives_on() && mark.number.is_multiple_of(EPISODE) => {
            say(Move::End, mark)
        }
        (Move::Mark, Came::Done) if mark.number.is_multiple_of(LOOK_AFTER) => say(Move::Look, mark),
        (Move::Mark | Move::Seal, Came::Done) => go_on(mark),
        (Move::Mark | Move::Seal, Came::Unknown) => say(Move::Look, mark),
        // Another way.
        (Move::Seal, Came::Refused) => say(Move::Mark, mark),
        // Nothing happened: the same mark again is no second one.
        (Move::Mark | Move::Seal, Came::Nothing | Came::Refused) => leave(part, mark),
        (Move::Look, Came::Done) => match did.seen {
            Some(0) => leave(part, mark),
            seen => go_on(Mark {
                number: seen.unwrap_or_default().max(mark.number),
                ..mark
            }),
        },
        (Move::Look, _) => say(Move::Look, mark),
        (what @ (Move::Ask | Move::Child | Move::Nap), Came::Nothing) => say(what, mark),
        (Move::Ask | Move::Child | Move::Nap | Move::End, _) => say(Move::Mark, mark.next()),
    }
}

fn say(what: Move, mark: Mark) -> Say {
    Say { what, mark }
}

#[cfg(test)]
#[path = "voice_tests.rs"]
mod tests;
