//! The loop guard: calls that go in circles (source documents 000 and 004, design section 6).
//!
//! A loop is made of calls *with their outcomes*: whoever polls and sees something new goes in no circle. Three shapes are
//! known: the same call in a row, the same call with other looks in between while nothing changed, and a cycle of several
//! calls. What is refused once stays refused until something changed.

use super::history::{Bearing, Entry, Past, states};
use super::signature::Signature;
use crate::domain::guard_rules::{LoopRules, any_matches};
use crate::domain::profile::Guards;
use crate::domain::tool::EffectClass;

/// What wanting a call, or several at once, leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoopVerdict {
    Fine,
    /// Refused; the evidence goes to the planner.
    Block(String),
    /// It was refused before, and nothing came of that: the task ends.
    GiveUp(String),
}

/// A call that is wanted.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    pub track: u32,
    pub call: Signature,
    pub effect: EffectClass,
}

/// So many refusals of one call without a change end the task at the next wish for it, whatever was looked at in between.
const MAX_REFUSALS: usize = 3;
/// As many do if nothing was learned since the first of them. The second is a warning: a model that errs now and then says
/// its last call again by mistake, and has to get the chance to go on.
const MAX_IN_VAIN: usize = 2;
/// Told from the second refusal on.
const WARNING: &str =
    "It was refused before: wanted once more without anything new, it ends the task";

/// Looks whether one of the calls that are wanted now would go on with a loop.
pub fn check(history: &[Entry<'_>], wanted: &[Wanted], rules: &Guards) -> LoopVerdict {
    let view = View::new(history, rules);
    for (at, call) in wanted.iter().enumerate() {
        let former = view.refusals(&call.call);
        let evidence = match former.first() {
            Some((_, first)) => Some(format!("{first}. {WARNING}")),
            None => view.in_history(call),
        };
        let evidence = evidence.or_else(|| in_batch(&wanted[..=at], rules));
        if let Some(evidence) = evidence {
            return if view.is_hopeless(&former) {
                LoopVerdict::GiveUp(evidence)
            } else {
                LoopVerdict::Block(evidence)
            };
        }
    }
    LoopVerdict::Fine
}

/// A history with what is computed from it.
struct View<'a> {
    history: &'a [Entry<'a>],
    /// The state of the world after each entry.
    after: Vec<u64>,
    /// The calls since somebody outside last said anything, with their places in the history.
    recent: Vec<(usize, &'a Past<'a>)>,
    rules: &'a Guards,
}

impl<'a> View<'a> {
    fn new(history: &'a [Entry<'a>], rules: &'a Guards) -> Self {
        let news = history.iter().rposition(|entry| *entry == Entry::News);
        let from = news.map_or(0, |at| at + 1);
        let recent = history.iter().enumerate().skip(from);
        let recent = recent.filter_map(|(at, entry)| match entry {
            Entry::Call(past) => Some((at, past)),
            Entry::News | Entry::Refused(_) => None,
        });
        View {
            history,
            after: states(history),
            recent: recent.collect(),
            rules,
        }
    }

    fn loops(&self) -> &LoopRules {
        &self.rules.loops
    }

    /// Where the last change is: entries from here on were made in the state that is now.
    fn unchanged_from(&self) -> usize {
        let now = self.after.last();
        let other = self.after.iter().rposition(|state| Some(state) != now);
        other.map_or(0, |at| at + 1)
    }

    /// Each time that this call was refused with nothing changed since, oldest first: its place, and the evidence.
    fn refusals(&self, call: &Signature) -> Vec<(usize, &'a str)> {
        let words = call.words();
        let since = self.history.iter().enumerate();
        let since = since.skip(self.unchanged_from());
        let refused = since.filter_map(|(at, entry)| match entry {
            Entry::Refused(evidence) if evidence.starts_with(&words) => {
                Some((at, evidence.as_str()))
            }
            Entry::Refused(_) | Entry::News | Entry::Call(_) => None,
        });
        refused.collect()
    }

    /// Whether refusing a call again would only go on for ever: it was refused too often, or several times with nothing
    /// new learned since the first of them.
    fn is_hopeless(&self, refusals: &[(usize, &str)]) -> bool {
        let first = refusals.len().checked_sub(MAX_IN_VAIN);
        let Some((first, _)) = first.and_then(|at| refusals.get(at)) else {
            return false;
        };
        let (before, since) = self.history.split_at(*first);
        let knew = |past: &Past<'_>| {
            let mut known = before.iter();
            known.any(
                |e| matches!(e, Entry::Call(p) if p.call == past.call && p.outcome == past.outcome),
            )
        };
        let learned = since
            .iter()
            .any(|entry| matches!(entry, Entry::Call(past) if !knew(past)));
        !learned || refusals.len() >= MAX_REFUSALS
    }

    fn in_history(&self, wanted: &Wanted) -> Option<String> {
        let words = wanted.call.words();
        if let Some(count) = self.in_a_row(wanted).or_else(|| self.unchanged(wanted)) {
            return Some(format!(
                "{words} was called {count} times with the same outcome while nothing changed; it will not be called \
                 again until something else has changed. Do something else: change what it depends on, look at \
                 something new, wait, ask, or, if all is done or cannot be done, say so"
            ));
        }
        let (period, times) = self.in_a_cycle(wanted)?;
        Some(format!(
            "{words} is the next of {period} calls that were made {times} times over, each time with the same outcomes; \
             it will not be called again until something else has changed. Leave this circle: try a way that you have \
             not tried"
        ))
    }

    /// How often in a row, up to now, the track made exactly this call with exactly the same outcome; none if that is
    /// no loop.
    fn in_a_row(&self, wanted: &Wanted) -> Option<usize> {
        let track = || self.on_track(wanted.track).rev();
        let last = track().next().filter(|last| last.call == wanted.call)?;
        let same = |past: &&&Past<'_>| past.call == last.call && past.outcome == last.outcome;
        let count = track().take_while(same).count();
        let limit = match &last.bearing {
            Bearing::Works => return None,
            Bearing::Acts | Bearing::Waits => self.loops().patient_repeats,
            Bearing::Looks | Bearing::Sets { .. } | Bearing::Runs { .. } => {
                self.rules.duplicate_calls
            }
        };
        is_reached(limit as usize, count).then_some(count)
    }

    /// How often this call was made within the window with the same outcome, with nothing changed since.
    fn unchanged(&self, wanted: &Wanted) -> Option<usize> {
        let limit = self.rules.duplicate_calls as usize;
        let window = self
            .recent
            .len()
            .saturating_sub(self.loops().window as usize);
        let unchanged_from = self.unchanged_from();
        let since = self.recent[window..].iter().rev();
        // The call that made the state that is now is the first one of it.
        let mut made = since.filter(|(at, past)| *at >= unchanged_from && past.call == wanted.call);
        let (_, last) = made.next()?;
        if matches!(
            last.bearing,
            Bearing::Acts | Bearing::Works | Bearing::Waits
        ) {
            return None;
        }
        let same = made.take_while(|(_, past)| past.outcome == last.outcome);
        let count = 1 + same.count();
        is_reached(limit, count).then_some(count)
    }

    /// The cycle that this call would go on with: how many calls it has, and how often it was gone through.
    fn in_a_cycle(&self, wanted: &Wanted) -> Option<(usize, usize)> {
        let window = self.loops().window as usize;
        if self.loops().cycle_repeats == 0 {
            return None;
        }
        let calls: Vec<&Past<'_>> = self.on_track(wanted.track).copied().collect();
        (2..=window / 2).find_map(|period| {
            let start = calls.len().checked_sub(period)?;
            let cycle = &calls[start..];
            if cycle[0].call != wanted.call || cycle.iter().all(|past| past.call == wanted.call) {
                return None;
            }
            let needed = self.repeats_needed(cycle)?;
            let same =
                |(a, b): (&&Past<'_>, &&Past<'_>)| a.call == b.call && a.outcome == b.outcome;
            let times = calls
                .rchunks_exact(period)
                .take_while(|round| round.iter().zip(cycle).all(same))
                .count();
            (times >= needed).then_some((period, times))
        })
    }

    /// How often a cycle has to be gone through before it is one; none if it never is.
    fn repeats_needed(&self, cycle: &[&Past<'_>]) -> Option<usize> {
        let rules = self.loops();
        let repeats = rules.cycle_repeats as usize;
        let patient = repeats.max(rules.patient_repeats as usize);
        let does = |past: &&Past<'_>| {
            matches!(
                past.bearing,
                Bearing::Acts | Bearing::Sets { core: false, .. }
            )
        };
        // Several deeds by turns, all of which succeed, are what work looks like: dig, go, dig, go.
        let works = |past: &&Past<'_>| past.bearing == Bearing::Works;
        let acts = |past: &&Past<'_>| past.bearing == Bearing::Acts;
        if cycle.iter().any(works) || cycle.iter().all(acts) {
            return None;
        }
        if cycle.iter().any(|past| past.bearing == Bearing::Waits) {
            return Some(patient);
        }
        // What is set to and fro moves something; what is set to what it is already does not.
        let settings = cycle.iter().filter(|past| does(past));
        let moves = settings.clone().any(|past| {
            let other = |p: &&&Past<'_>| p.call.tool == past.call.tool && p.call != past.call;
            past.bearing == Bearing::Acts || settings.clone().any(|p| other(&p))
        });
        Some(match moves {
            true => repeats.max(rules.window as usize / cycle.len()),
            false => repeats,
        })
    }

    fn on_track(&self, track: u32) -> impl DoubleEndedIterator<Item = &&'a Past<'a>> {
        let of_track = move |past: &&&Past<'_>| past.track == track;
        self.recent.iter().map(|(_, past)| past).filter(of_track)
    }
}

/// 0 is no limit, and once is no repetition.
fn is_reached(limit: usize, count: usize) -> bool {
    limit > 0 && count >= limit.max(2)
}

/// Whether the last of these calls, all wanted at once, is one too many of its kind: nothing can have been learned
/// between them.
fn in_batch(wanted: &[Wanted], rules: &Guards) -> Option<String> {
    let (last, others) = wanted.split_last()?;
    let acts = |wanted: &Wanted| {
        wanted.effect == EffectClass::Effect
            && !is_program(&wanted.call.tool)
            && !wanted.call.tool.starts_with("fs_")
    };
    let works = any_matches(&rules.loops.work_tools, &last.call.tool);
    let limit = match acts(last) {
        _ if works => 0,
        true => rules.loops.patient_repeats as usize,
        false => rules.duplicate_calls as usize,
    };
    let count = 1 + others.iter().filter(|w| w.call == last.call).count();
    if is_reached(limit, count) {
        return Some(format!(
            "one answer wants {} {count} times; want it once and look at what comes of it",
            last.call.words()
        ));
    }
    let period = (2..=wanted.len() / 2).find(|period| {
        let (_, tail) = wanted.split_at(wanted.len() - 2 * period);
        let (first, second) = tail.split_at(*period);
        let same = first.iter().zip(second).all(|(a, b)| a.call == b.call);
        let one = first.iter().all(|w| w.call == last.call);
        same && !one && !first.iter().any(acts)
    })?;
    (rules.loops.cycle_repeats > 0).then(|| {
        format!(
            "one answer wants the same {period} calls twice, up to {}; want each of them once",
            last.call.words()
        )
    })
}

fn is_program(tool: &str) -> bool {
    matches!(
        tool,
        "shell_exec" | "run_program" | "write_and_run" | "tool_test" | "http_request"
    )
}

#[cfg(test)]
#[path = "loops_tests.rs"]
mod tests;
