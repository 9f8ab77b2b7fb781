//! Items of a plan that are a whole call, `fs_move("/a.txt", "/archive/a.txt")`: a small model plans so, and then says its item again in
//! the place of an action, or the next one. What such an item says needs no model any more.

use super::{Course, bare_line, function_call};
use crate::domain::by_rule::ByRule;
use crate::domain::call::Address;
use crate::domain::decision::Decision;
use crate::domain::ids::ClientId;
use crate::domain::tool::EffectClass;
use crate::domain::work::{ListWork, ReactMove, ReactRead, begins_with_run};
use crate::strategy::alone::mending::RUN;
use crate::strategy::fleet::ToolLookup;
use crate::strategy::paths::mentions;
use crate::strategy::words::asked_runs;
use crate::strategy::words::named_tools::is_plainly_told;
use crate::strategy::words::places::addressed;
use crate::strategy::words::stated;
use serde_json::Value;

/// What is called so beside tools that only look. Nothing that cannot be made undone, and no tool of which only its owner knows what it
/// does.
const CALLED: [&str; 4] = ["fs_write", "fs_copy", "fs_move", "run_program"];

/// What stands for a value that nobody has said.
const UNKNOWN: &str = "…";

impl Course<'_> {
    /// Carries the current item out, if it is a call and nothing was done in it yet, and all that the call says is known: a plan is
    /// made before anything was seen, and what it makes up is for the model to say once more.
    pub(super) fn item_by_rule(&self, list: &ListWork) -> Option<Decision> {
        let (_, item) = list.current()?;
        if item.succeeded > 0 || item.failed > 0 || self.turn.any_unknown() {
            return None;
        }
        let (tool, parameters, on) = match self.told_call(&item.text) {
            Some(told) => told,
            None => {
                let (tool, parameters) = self.known_call(&item.text)?;
                (tool, parameters, None)
            }
        };
        self.turn
            .call_by_rule(ByRule::PlanItem, &tool, parameters, on)
    }

    /// The call that an item is, of a tool that may be called unasked, with nothing that nobody has said.
    fn known_call(&self, item: &str) -> Option<(String, Value)> {
        let (tool, parameters) = match call_in(item) {
            Some(ReactMove::Act { tool, args }) => {
                let tool = self.turn.meant_tool(&tool).unwrap_or(tool);
                let parameters = self.whole_args(&tool, &args);
                (tool, parameters)
            }
            Some(_) => return None,
            None => (RUN.to_owned(), self.run_in(item)?),
        };
        let may = self.may_be_called(&tool) && is_known(&parameters, &self.known_words());
        may.then_some((tool, parameters))
    }

    /// The call of a tool that the task names and that was not made yet, whatever it changes, where the item gives just what the task's own words
    /// give: "redstone_set(back, 15)". Both the task and the plan say it; a small model whose item it is goes on with the next one.
    fn told_call(&self, item: &str) -> Option<(String, Value, Option<ClientId>)> {
        let turn = &self.turn;
        let mut due = turn.tools_to_call().into_iter();
        let name = due.find(|name| mentions(item, name).next().is_some())?;
        let args = turn.args_to_give(name);
        let on = turn.only_owner(name).cloned();
        turn.schema_of(&addressed(name, on.as_ref()))?;
        let is_it =
            is_plainly_told(turn.asked_for(), name) && gives_just(item, name, on.as_ref(), &args);
        is_it.then(|| (name.to_owned(), args, on))
    }

    /// The call that the current item is, where its model was asked for it just now and says once more that the item is done: it has written
    /// the call into its plan, and a small model takes what it planned for done.
    pub(super) fn claimed_call(&self, said: &ReactRead, list: &ListWork) -> Option<ReactMove> {
        let (_, item) = list.current()?;
        let newest = self.turn.state.newest_closed()?.blocked.as_ref()?;
        let was_asked = newest.evidence.starts_with(&super::after_item_done(list));
        let nothing_done = item.succeeded == 0 && item.failed == 0;
        if said.next.is_some() || said.item_done.is_none() || !was_asked || !nothing_done {
            return None;
        }
        call_in(&item.text).filter(|call| match call {
            ReactMove::Act { tool, .. } => self.may_be_called(tool),
            ReactMove::Answer { .. } => false,
        })
    }

    /// The only run of a program of which the task speaks, where an item says in words that this program is run; none while nobody can
    /// tell whether that is meant on the task's own computer.
    fn run_in(&self, item: &str) -> Option<Value> {
        let turn = &self.turn;
        let asked = asked_runs::asked(turn.asked_for());
        let is_named = |run: &&String| {
            let program = asked_runs::program_of(run);
            mentions(item, &program).next().is_some()
        };
        let named: Vec<&String> = asked.iter().filter(is_named).collect();
        let [run] = named.as_slice() else {
            return None;
        };
        let place = turn.place_of(&asked_runs::program_of(run))?;
        let is_own = turn.unless_own(place).is_none();
        (begins_with_run(item) && is_own).then(|| asked_runs::args_of(run))
    }

    fn may_be_called(&self, tool: &str) -> bool {
        let turn = &self.turn;
        let meant = turn.meant_tool(tool);
        let Ok(address) = Address::parse(meant.as_deref().unwrap_or(tool)) else {
            return false;
        };
        if address.tool == "run_program" && stated::forbids_runs(turn.asked_for()) {
            return false;
        }
        let tools = ToolLookup::at(turn.state, &turn.inputs.fleet, &address.target);
        let usable = tools.usable(turn.profile);
        let mut named = usable.iter().filter(|tool| tool.name == address.tool);
        named
            .any(|tool| tool.effect == EffectClass::Read || CALLED.contains(&address.tool.as_str()))
    }

    /// The task's words, what was given with it, and what people answered.
    fn known_words(&self) -> String {
        let state = self.turn.state;
        let mut words = self.turn.asked_for().to_owned();
        if let Some(created) = &state.created {
            words.push_str(&created.context.to_string());
        }
        let asked = state.steps.iter().filter_map(|step| step.question.as_ref());
        for answer in asked.filter_map(|asked| asked.answer.as_ref()) {
            words.push('\n');
            words.push_str(&answer.answer);
        }
        words
    }
}

/// A plan without the items that copy or move a file onto itself, which do nothing; as it is if there is nothing else in it.
pub(super) fn without_self_copies(items: &[String]) -> Vec<String> {
    let does_nothing = |item: &&String| match call_in(item) {
        Some(ReactMove::Act { tool, args }) if matches!(tool.as_str(), "fs_copy" | "fs_move") => {
            let (from, to) = match &args {
                Value::Array(values) => (values.first(), values.get(1)),
                args => (args.get("from"), args.get("to")),
            };
            from.is_some() && from == to
        }
        _ => false,
    };
    let left: Vec<String> = items
        .iter()
        .filter(|item| !does_nothing(item))
        .cloned()
        .collect();
    if left.is_empty() {
        items.to_vec()
    } else {
        left
    }
}

/// Endings of a copy that is kept beside its file.
const KEPT: [&str; 5] = [".bak", ".old", ".orig", ".backup", ".copy"];

/// The call that an item is, and nothing else.
pub(super) fn call_in(item: &str) -> Option<ReactMove> {
    let item = item.trim().trim_end_matches('.');
    if item.contains('\n') {
        return None;
    }
    match function_call::at_end(item) {
        Some(read) => read.ok().map(|(call, _)| call),
        None => bare_line::call(item),
    }
}

/// Whether an item gives a tool all of these values, which are known, and says nothing else but what they are called and which computer has it.
fn gives_just(item: &str, tool: &str, on: Option<&ClientId>, args: &Value) -> bool {
    let fields = args.as_object().into_iter().flatten();
    let values: Vec<String> = fields.map(|(_, value)| value.to_string()).collect();
    let owner = on.map_or("", |on| on.as_str());
    let all = format!("{tool} {owner} {args}");
    let (all, said): (Vec<&str>, Vec<&str>) = (words(&all).collect(), words(item).collect());
    let mut given = values.iter().flat_map(|value| words(value));
    given.all(|word| word != UNKNOWN && said.contains(&word))
        && said.iter().all(|word| all.contains(word))
}

/// What a text is made of, without marks: words, names, numbers, and what stands for an unknown value.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || UNKNOWN.contains(c);
    text.split(move |c| !is_part(c))
        .filter(|word| !word.is_empty())
}

/// Whether every text and number of a call stands among known words; of a path it is enough if its file and its folder do, and a copy beside
/// its file (`/a.lua.bak`) is one of it.
fn is_known(args: &Value, words: &str) -> bool {
    match args {
        Value::String(text) => is_known_text(text.trim(), words),
        Value::Number(number) => is_known_text(&number.to_string(), words),
        Value::Array(items) => items.iter().all(|item| is_known(item, words)),
        Value::Object(fields) => fields.iter().all(|(name, value)| {
            let of = fields.get("from").filter(|_| name == "to");
            let kept = of.and_then(|of| value.as_str()?.strip_prefix(of.as_str()?));
            kept.is_some_and(|ending| KEPT.contains(&ending)) || is_known(value, words)
        }),
        Value::Bool(_) | Value::Null => true,
    }
}

fn is_known_text(text: &str, words: &str) -> bool {
    let stands = |text: &str| {
        let mut places = words.match_indices(text);
        places.any(|(at, _)| {
            let before = words[..at].chars().next_back();
            let after = words[at + text.len()..].chars().next();
            [before, after]
                .iter()
                .all(|c| c.is_none_or(|c| !c.is_alphanumeric()))
        })
    };
    if text.is_empty() || stands(text) {
        return true;
    }
    match text.rsplit_once('/') {
        Some((folder, file)) if !file.is_empty() => {
            (folder.is_empty() || stands(folder)) && stands(file)
        }
        _ => false,
    }
}

#[cfg(test)]
#[path = "item_calls_tests.rs"]
mod tests;
