//! One run as the scripted model lives it: which move is next, what it said last, and what the prompt tells of it.

use super::slip::{Dice, Slip, Slips};
use super::voice::{Asked, Said, Seen, Voice, at};
use super::words::{CHATTER, OTHER_ANSWERS, bad_args, invented_path, wrong_tool};
use super::{executor, mender};
use crate::cli::eval::suite::{Act, Move, Task};
use crate::llm::ChatRequest;
use std::collections::BTreeMap;

/// The model's memory of one run.
pub struct Play {
    voice: Box<dyn Voice>,
    slips: Slips,
    moves: Vec<Move>,
    /// The first move that was not yet seen done.
    next: usize,
    last: Last,
    /// The calls that it asked for, oldest first, the wrong ones too.
    asked_for: Vec<Move>,
}

/// What it said last.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Last {
    Nothing,
    /// The next move.
    Right,
    /// Something else; whether the next move was meant.
    Wrong {
        meant: bool,
    },
}

impl Play {
    pub fn new(task: &Task, voice: Box<dyn Voice>, rate: f64, dice: Dice) -> Self {
        Play {
            moves: voice.script(task),
            voice,
            slips: Slips::new(rate, dice),
            next: 0,
            last: Last::Nothing,
            asked_for: Vec::new(),
        }
    }

    /// The mistakes that were really made.
    pub fn into_slips(self) -> BTreeMap<Slip, u32> {
        self.slips.made
    }

    /// The answer to a prompt.
    pub fn answer(&mut self, request: &ChatRequest) -> Said {
        if let Some(name) = mender::asked_for_tool(request) {
            let prompt = request.messages.last().map_or("", |last| &last.content);
            return self.tool(name, prompt);
        }
        if let Some(path) = mender::asked(request) {
            return self.alone(path, mender::mended);
        }
        if let Some(path) = mender::asked_for_content(request) {
            let prompt = request.messages.last().map_or("", |last| &last.content);
            self.next = mender::after_looks_shown(prompt, &self.moves, self.next);
            return match mender::copied(prompt, self.moves.get(self.next), path) {
                Some(text) => self.lines(path, &text),
                None => self.content(path),
            };
        }
        if let Some(path) = mender::asked_for_program(request) {
            return self.program(path);
        }
        if let Some((path, lines)) = mender::asked_for_lines(request) {
            return self.lines(path, &lines);
        }
        if let Some((path, holds)) = mender::asked_for_change(request) {
            let mut moves = self.moves.iter();
            return match moves.any(|mv| mender::patch_of(mv, path).is_some()) {
                true => self.lines(path, &holds),
                false => self.program(path),
            };
        }
        if let Some(asked) = mender::asked_for_files(request) {
            return self.files(asked);
        }
        if let Some(path) = mender::asked_for_input(request) {
            return self.alone(path, mender::typed);
        }
        match self.voice.asked(request) {
            Asked::Move { seen } => {
                self.look(&seen);
                self.say_next()
            }
            Asked::This(index) => {
                self.next = index.min(self.moves.len().saturating_sub(1));
                self.say_next()
            }
            Asked::Outline { seen } => {
                self.look(&seen);
                self.outline()
            }
            Asked::Translate(text) => match self.slip_in_a_side_task() {
                Some(slip) if slip.is_of_words() => self.words(slip),
                slip => {
                    let (pick, share) = (self.slips.dice.below(12), self.share());
                    executor::translated(&text, slip, pick, share)
                }
            },
            Asked::Words(words) => Said::text(words),
        }
    }

    /// An answer in a prompt of its own.
    fn alone(
        &mut self,
        path: &str,
        say: impl Fn(&[Move], usize, &str, Option<Slip>, f64) -> Said,
    ) -> Said {
        let slip = self.slip_in_a_side_task();
        match slip {
            Some(slip) if slip.is_of_words() => self.words(slip),
            slip => {
                let share = self.share();
                say(&self.moves, self.next, path, slip, share)
            }
        }
    }

    /// A program in a prompt of its own. What comes out as the solution has it needs no move any more.
    fn program(&mut self, path: &str) -> Said {
        let right = mender::mended(&self.moves, self.next, path, None, 1.0);
        let said = self.alone(path, mender::mended);
        let writes = |mv: &Move| matches!(&mv.act, Act::Write { path: of, .. } if of == path);
        if said == right
            && let Some(at) = self.moves.iter().skip(self.next).position(writes)
        {
            self.next += at + 1;
        }
        said
    }

    /// The content of a file, which needs no move any more once it comes out as the solution has it.
    fn content(&mut self, path: &str) -> Said {
        let right = mender::content(&self.moves, self.next, path, None, 1.0);
        let said = self.alone(path, mender::content);
        let next = self.moves.get(self.next).map(|mv| &mv.act);
        let is_it = matches!(next, Some(Act::Write { path: of, .. }) if of == path);
        if said == right && is_it {
            self.next += 1;
        }
        said
    }

    /// The file of a tool. What comes out as the solution has it needs no move any more.
    fn tool(&mut self, name: &str, prompt: &str) -> Said {
        let say = |moves: &[Move], next, name: &str, slip, share| {
            mender::tool(moves, next, (name, prompt), slip, share)
        };
        let right = say(&self.moves, self.next, name, None, 1.0);
        let said = self.alone(name, say);
        let writes = |mv: &Move| {
            let source = mender::source_of(mv, name);
            source.is_some_and(|source| right.content.contains(source.trim_end()))
        };
        if said == right
            && let Some(at) = self.moves.iter().skip(self.next).position(writes)
        {
            self.next += at + 1;
            // What is not planned yet needs no mark.
            if let Some(mv) = self.moves.get(self.next)
                && self.voice.ends(mv)
            {
                self.next += 1;
            }
        }
        said
    }

    /// Lines of a file as they shall be. Once they are right, neither the look at them nor their patch is a move any more.
    fn lines(&mut self, path: &str, lines: &str) -> Said {
        let patched = |moves: &[Move], _: usize, path: &str, slip, share| {
            mender::patched(moves, path, lines, slip, share)
        };
        let right = patched(&self.moves, self.next, path, None, 1.0);
        let said = self.alone(path, patched);
        let patches = self
            .moves
            .iter()
            .position(|mv| mender::patch_of(mv, path).is_some());
        if let Some(at) = patches.filter(|at| said == right && *at >= self.next) {
            self.next = at + 1;
        }
        said
    }

    /// The files that are to be deleted or moved, none of which is a move of the solution any more once they are named.
    fn files(&mut self, asked: mender::OfFiles) -> Said {
        let right = mender::files(&self.moves, asked, None, 1.0);
        let said = self.alone("", |moves, _, _, slip, share| {
            mender::files(moves, asked, slip, share)
        });
        let is_named = |mv: &Move| mender::line_of(mv, asked).is_some();
        let last = self.moves.iter().rposition(is_named);
        if let Some(at) = last.filter(|at| said == right && *at >= self.next) {
            self.next = at + 1;
        }
        said
    }

    /// A mistake of who sees one thing only, and does not know what it said before.
    fn slip_in_a_side_task(&mut self) -> Option<Slip> {
        let may = |slip| slip != Slip::Repeated && slip != Slip::Alternation;
        self.slips.next(may)
    }

    fn outline(&mut self) -> Said {
        // What is planned anew begins with a move: a mark for what the former plan had is not taken any more.
        while self.next + 1 < self.moves.len()
            && let Some(mv) = self.moves.get(self.next)
            && self.voice.ends(mv)
        {
            self.next += 1;
        }
        if self.next + 1 == self.moves.len() && self.next > 0 {
            // All was done, and only the last part counts again.
            let earlier = self.moves.get(..self.next).unwrap_or_default();
            let before = earlier.iter().rposition(|mv| self.voice.ends(mv));
            self.next = before.map_or(0, |at| at + 1);
        }
        let slip = self.slips.next(|_| true);
        match slip {
            Some(slip) if slip.is_of_words() => self.words(slip),
            Some(Slip::CutOff) => {
                let share = self.share();
                self.voice.outline(&self.moves, self.next, None).cut(share)
            }
            slip => self.voice.outline(&self.moves, self.next, slip),
        }
    }

    /// Takes in what the prompt says of the last answer.
    fn look(&mut self, seen: &Seen) {
        let Some(mv) = self.moves.get(self.next) else {
            return;
        };
        // Whoever is asked again after the end of all was not believed: a run that was missing was made in its place.
        let is_last = self.next + 1 == self.moves.len() && self.voice.ends(mv);
        let done = match (self.last, seen) {
            (Last::Right, Seen::Done) => !is_last,
            (Last::Right, Seen::Failed) => mv.fails,
            // What was made so often that it is not made again has been done.
            (Last::Right, Seen::Refused(why)) => mv.blocked || says_repeated(why),
            (Last::Wrong { meant: true }, Seen::Done) => !is_last,
            _ => false,
        };
        if done {
            self.next += 1;
        } else if self.last == Last::Right {
            self.step_back(seen);
        }
        self.last = Last::Nothing;
    }

    /// A test that fails although it should not: what was written before it is written again. An end that is refused:
    /// the last thing that was done is done again, which for a task is its test.
    fn step_back(&mut self, seen: &Seen) {
        let Some(mv) = self.moves.get(self.next) else {
            return;
        };
        let earlier = self.moves.get(..self.next).unwrap_or_default();
        let before =
            |wanted: fn(&Act) -> bool| earlier.iter().rposition(|m| wanted(&m.act) && !m.fails);
        let back = match seen {
            Seen::Refused(why) if self.voice.ends(mv) && says_more_is_wanted(why) => earlier
                .iter()
                .rposition(|m| !self.voice.ends(m) && !m.fails),
            Seen::Failed if mv.act.is_run() && !mv.act.is_write() => before(Act::is_write),
            _ => None,
        };
        self.next = back.unwrap_or(self.next);
    }

    fn say_next(&mut self) -> Said {
        while let Some(mv) = self.moves.get(self.next)
            && self.voice.skips(mv, self.next + 1 == self.moves.len())
        {
            self.next += 1;
        }
        let Some(mv) = self.moves.get(self.next).cloned() else {
            return Said::text("There is nothing left to do.");
        };
        let repeated = self.asked_for.last().filter(|m| **m != mv).cloned();
        let before_last = self.asked_for.iter().rev().nth(1);
        let before_last = before_last.filter(|m| **m != mv).cloned();
        let ends = self.voice.ends(&mv);
        let slip = self.slips.next(|slip| match slip {
            Slip::PrematureDone => !ends,
            Slip::Repeated => repeated.is_some(),
            Slip::Alternation => before_last.is_some(),
            _ => true,
        });
        let Some(slip) = slip else {
            self.last = Last::Right;
            return self.call(mv);
        };
        self.last = Last::Wrong {
            meant: slip.means_the_move(),
        };
        let pick = self.slips.dice.below(24);
        let again = match slip {
            Slip::Repeated => repeated,
            Slip::Alternation => before_last,
            _ => None,
        };
        match slip {
            Slip::Malformed => self.voice.broken(&mv, pick),
            Slip::WrongTool => self.call(at(wrong_tool(pick), None)),
            Slip::BadArgs => self.voice.say(&at(bad_args(&mv.act, pick), mv.on.as_ref())),
            Slip::PrematureDone => self.voice.say(&at(
                Act::Finish {
                    message: "Everything is done.".to_owned(),
                },
                None,
            )),
            Slip::CutOff => {
                let share = self.share();
                self.voice.say(&mv).cut(share)
            }
            Slip::InventedPath => self.call(at(invented_path(pick), mv.on.as_ref())),
            Slip::Repeated | Slip::Alternation => self.call(again.unwrap_or(mv)),
            Slip::Chatter | Slip::OtherQuestion => self.words(slip),
        }
    }

    fn words(&mut self, slip: Slip) -> Said {
        let words = match slip {
            Slip::Chatter => &CHATTER,
            _ => &OTHER_ANSWERS,
        };
        Said::text(words[self.slips.dice.below(words.len())])
    }

    /// Where an answer is cut off: somewhere in its middle.
    fn share(&mut self) -> f64 {
        0.3 + 0.6 * self.slips.dice.share()
    }

    fn call(&mut self, mv: Move) -> Said {
        let said = self.voice.say(&mv);
        if !self.voice.ends(&mv) && !matches!(mv.act, Act::Ask { .. }) {
            self.asked_for.push(mv);
        }
        said
    }
}

/// Whether a refused end says that something has to be done first.
fn says_more_is_wanted(why: &str) -> bool {
    ["after the last change", "(unfinished)", "NOT accepted"]
        .iter()
        .any(|words| why.contains(words))
}

/// Whether a refusal says that the same was done too often already.
fn says_repeated(why: &str) -> bool {
    ["(duplicate)", "(loop)", "in a row with the same"]
        .iter()
        .any(|words| why.contains(words))
}

impl Slip {
    /// Whether it is words only, the same in every contract.
    fn is_of_words(self) -> bool {
        matches!(self, Slip::Chatter | Slip::OtherQuestion)
    }
}
