//! What a task did so far as the loop guard sees it: each call with its outcome and with what it changed, oldest first.

use super::signature::{Signature, key_of, outcome_of};
use crate::domain::call::{Outcome, did_something};
use crate::domain::decision::Guard;
use crate::domain::fork::FORKED;
use crate::domain::guard_rules::{LoopRules, any_matches};
use crate::domain::shared::content_hash;
use crate::domain::task::{CallEnd, CallRecord, Note, TaskState};
use crate::domain::tool::EffectClass;
use crate::domain::work::Work;
use serde::Serialize;
use serde_json::Value;
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};

/// How far back anything is looked at, in calls. A task of days has many thousands.
const HORIZON: usize = 128;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry<'a> {
    Call(Past<'a>),
    /// A person answered, or something outside of the task happened.
    News,
    /// A call was refused as a loop, with these words.
    Refused(String),
}

/// One call that has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Past<'a> {
    pub track: u32,
    pub call: Signature,
    pub outcome: Ending<'a>,
    pub bearing: Bearing,
}

/// How a call ended; equal for outcomes that say the same. It is read only where two are compared, which most calls never are: they ask
/// for something else, and results are long.
#[derive(Debug, Clone)]
pub struct Ending<'a> {
    call: Option<&'a CallRecord>,
    volatile: &'a [String],
    key: OnceCell<u64>,
}

impl Ending<'_> {
    fn key(&self) -> u64 {
        let read = || self.call.and_then(|call| outcome_of(call, self.volatile));
        *self.key.get_or_init(|| read().unwrap_or_default())
    }
}

impl PartialEq for Ending<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

#[cfg(test)]
impl From<u64> for Ending<'static> {
    fn from(key: u64) -> Self {
        Ending {
            call: None,
            volatile: &[],
            key: OnceCell::from(key),
        }
    }
}

/// What a call did to the world.
#[derive(Debug, Clone, PartialEq)]
pub enum Bearing {
    /// Nothing that anybody knows of.
    Looks,
    /// Gave things (a file, a tool, a lamp) this content or state. `core`: a file or a tool of the computer.
    Sets {
        what: Vec<(String, u64)>,
        core: bool,
    },
    /// Ran a program, which may have written anything.
    Runs { wrote: Vec<(String, u64)> },
    /// Did something with a tool of which nothing more is known.
    Acts,
    /// Did work, as configured: each time counts.
    Works,
    /// Let time pass.
    Waits,
}

/// Notes that tell of something that happened outside of the task's own doing.
const NEWS: &[&str] = &["late_outcome", FORKED];

/// The history of a task, as far back as the horizon.
pub fn of<'a>(state: &'a TaskState, rules: &'a LoopRules) -> Vec<Entry<'a>> {
    // Backwards, since a task of days has many thousands of calls and the last ones count.
    let mut entries: Vec<Entry<'a>> = Vec::new();
    let begun_after = begun_after(state);
    let woken_after = state.woken.as_ref().map(|woken| woken.usage.steps);
    let mut newer = u32::MAX;
    for step in state.steps.iter().rev() {
        if entries.len() >= HORIZON {
            break;
        }
        let noted = |note: &Note| {
            (step.number..newer).contains(&note.after_step) && NEWS.contains(&note.code.as_str())
        };
        let woken = woken_after.is_some_and(|after| (step.number..newer).contains(&after));
        if woken || state.notes.iter().any(noted) {
            entries.push(Entry::News);
        }
        let is_former = step.number <= begun_after;
        if let Some(blocked) = &step.blocked
            && blocked.guard == Guard::Duplicate
            && !is_former
        {
            entries.push(Entry::Refused(blocked.evidence.clone()));
        }
        let calls = step.calls.iter().rev();
        let ended = calls.filter_map(|call| past(state, step.track.0, call, rules));
        let counts = ended.filter(|past| !is_former || past.bearing != Bearing::Looks);
        entries.extend(counts.map(Entry::Call));
        // A question comes before the calls that it is about; one of its own has none.
        if step.question.as_ref().is_some_and(|q| q.answer.is_some()) {
            entries.push(Entry::News);
        }
        newer = step.number;
    }
    entries.reverse();
    entries
}

/// The last step before the current subtask of a goal. What was looked at before may be looked at for it again: a subtask whose own
/// look is refused can never be done.
fn begun_after(state: &TaskState) -> u32 {
    let Work::Goals(work) = &state.work else {
        return 0;
    };
    let current = work.current();
    current
        .and_then(|(_, subtask)| subtask.begun_after)
        .unwrap_or_default()
}

pub(super) fn past<'a>(
    state: &TaskState,
    track: u32,
    call: &'a CallRecord,
    rules: &'a LoopRules,
) -> Option<Past<'a>> {
    if matches!(call.end, CallEnd::Open) {
        return None;
    }
    let signature = Signature::of_call(call, state.home());
    Some(Past {
        track,
        bearing: bearing(call, &signature, rules),
        call: signature,
        outcome: Ending {
            call: Some(call),
            volatile: &rules.volatile_fields,
            key: OnceCell::new(),
        },
    })
}

/// Whether a call may have changed anything: neither a look, nor a program that ran well and wrote nothing that is known.
pub fn may_have_changed(state: &TaskState, call: &CallRecord, rules: &LoopRules) -> bool {
    match past(state, 0, call, rules).map(|past| past.bearing) {
        Some(Bearing::Looks) | None => false,
        Some(Bearing::Runs { wrote }) => !wrote.is_empty() || !call.succeeded(),
        Some(_) => true,
    }
}

/// What a call did, by its tool, its effect class, and what its result says.
fn bearing(call: &CallRecord, signature: &Signature, rules: &LoopRules) -> Bearing {
    let effect = call.intended.as_ref().map(|intended| intended.effect);
    let (Some(effect), Some(result)) = (effect, result_of(call)) else {
        return Bearing::Looks;
    };
    let tool = call.tool.as_str();
    if any_matches(&rules.wait_tools, tool) {
        return Bearing::Waits;
    }
    if effect == EffectClass::Read {
        return Bearing::Looks;
    }
    let set = Setter {
        place: &signature.place,
        args: &call.args,
    };
    if let Some(what) = set.files_and_tools(tool) {
        return match tool {
            "write_and_run" => Bearing::Runs { wrote: what },
            _ if !call.succeeded() || !did_something(result) => Bearing::Looks,
            _ => Bearing::Sets { what, core: true },
        };
    }
    match tool {
        // A client that names no effect classes has all its tools in the worst one.
        "fs_list" | "fs_read" | "fs_find" | "fs_grep" | "tool_list" => return Bearing::Looks,
        "shell_exec" | "run_program" | "tool_test" => return Bearing::Runs { wrote: vec![] },
        "http_request" if only_looks(&call.args) => return Bearing::Looks,
        _ if !call.succeeded() || !did_something(result) => return Bearing::Looks,
        _ => {}
    }
    if any_matches(&rules.work_tools, tool) {
        return Bearing::Works;
    }
    if effect == EffectClass::Idempotent {
        let what = vec![(format!("{}/{tool}", signature.place), signature.args_key())];
        return Bearing::Sets { what, core: false };
    }
    Bearing::Acts
}

/// The result of a call that ran; an empty one if its end is not known.
fn result_of(call: &CallRecord) -> Option<&Value> {
    match &call.end {
        CallEnd::Finished(report) if report.outcome != Outcome::NotStarted => {
            Some(report.result.as_ref().unwrap_or(&Value::Null))
        }
        CallEnd::Finished(_) | CallEnd::NotPlaced(_) | CallEnd::Open => None,
    }
}

fn only_looks(request: &Value) -> bool {
    let method = request.get("method").and_then(Value::as_str);
    method.is_none_or(|method| matches!(method.to_ascii_uppercase().as_str(), "GET" | "HEAD"))
}

/// Reads out of arguments which files and tools a call gives which content.
struct Setter<'a> {
    place: &'a str,
    args: &'a Value,
}

impl Setter<'_> {
    fn text(&self, name: &str) -> &str {
        self.args
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    fn file(&self, path: &str) -> String {
        format!("{}:{}", self.place, crate::strategy::paths::normal(path))
    }

    fn files_and_tools(&self, tool: &str) -> Option<Vec<(String, u64)>> {
        let path = || self.file(self.text("path"));
        Some(match tool {
            "fs_write" | "write_and_run" => vec![(path(), key(&self.text("content")))],
            "fs_write_many" => {
                let files = self.args.get("files").and_then(Value::as_array);
                let text = |file: &Value, name: &str| {
                    file.get(name)
                        .and_then(Value::as_str)
                        .unwrap_or_default()
                        .to_owned()
                };
                let written = files.into_iter().flatten();
                written
                    .map(|file| (self.file(&text(file, "path")), key(&text(file, "content"))))
                    .collect()
            }
            "fs_patch" => vec![(path(), key(self.args))],
            "fs_delete" => vec![(path(), 0)],
            "fs_move" => {
                let from = self.text("from");
                let to = (self.file(self.text("to")), key(&("moved", from)));
                vec![(self.file(from), 0), to]
            }
            "fs_copy" => {
                let copied = key(&("copied", self.text("from")));
                vec![(self.file(self.text("to")), copied)]
            }
            "tool_write" | "tool_rollback" => {
                let file = match self.text("file") {
                    "" => self.text("name"),
                    file => file,
                };
                vec![(format!("{}/source/{file}", self.place), key(self.args))]
            }
            "tool_activate" | "tool_retire" => {
                let name = self.text("name");
                vec![(format!("{}/state/{name}", self.place), key(&tool))]
            }
            _ => return None,
        })
    }
}

fn key(content: &impl Serialize) -> u64 {
    key_of(&content_hash(content))
}

/// The state of the world as far as the history tells, after each of its entries: equal numbers mean that nothing is known
/// to have changed.
pub(super) fn states(history: &[Entry<'_>]) -> Vec<u64> {
    let mut things: BTreeMap<&str, u64> = BTreeMap::new();
    let mut said: HashMap<(&str, &str, u64), &Ending<'_>> = HashMap::new();
    let mut turns: u64 = 0;
    let mut states = Vec::with_capacity(history.len());
    for entry in history {
        match entry {
            Entry::Refused(_) => {}
            Entry::News => turns += 1,
            Entry::Call(past) => {
                let call = &past.call;
                let id = (call.place.as_str(), call.tool.as_str(), call.args_key());
                let before = said.insert(id, &past.outcome);
                // Whoever gets another answer to the same question knows that something changed.
                let told = before.is_some_and(|before| *before != past.outcome);
                let changed = match &past.bearing {
                    Bearing::Looks => false,
                    Bearing::Sets { what, .. } => {
                        set(&mut things, what);
                        false
                    }
                    Bearing::Runs { wrote } => {
                        set(&mut things, wrote);
                        // A program may have written anything when it ran first.
                        before.is_none()
                    }
                    Bearing::Acts | Bearing::Works | Bearing::Waits => true,
                };
                turns += u64::from(told || changed);
            }
        }
        states.push(key(&(&things, turns)));
    }
    states
}

fn set<'a>(things: &mut BTreeMap<&'a str, u64>, what: &'a [(String, u64)]) {
    things.extend(
        what.iter()
            .map(|(thing, content)| (thing.as_str(), *content)),
    );
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
