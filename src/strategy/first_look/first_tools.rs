//! Tools that a task's words call by name, that only look, and of whose arguments those words give all: they are called by rule before any
//! model is asked, as the files that a task names are read. A small model looks through files where it was told which tool to call, or
//! plans the whole task without knowing what the tool says.

use super::calls_by_rule::request_by_rule;
use crate::domain::by_rule::ByRule;
use crate::domain::decision::Decision;
use crate::domain::directive::StrictRequest;
use crate::domain::step::Step;
use crate::domain::tool::EffectClass;
use crate::domain::toolbox::Tool;
use crate::strategy::paths::{behind, mentions};
use crate::strategy::shown_tools::named_by;
use crate::strategy::text::has_word;
use crate::strategy::turn::Turn;
use crate::strategy::words::peripherals::peripherals_in;
use crate::strategy::words::places::addressed;
use crate::strategy::words::said_values::said_values;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Words before the name of a tool that is called later, or in some case only, or on each of several computers.
const NOT_FIRST: [&str; 12] = [
    "then",
    "after",
    "afterwards",
    "when",
    "if",
    "unless",
    "until",
    "once",
    "again",
    "every",
    "each",
    "finally",
];

/// How many peripherals are looked into with one tool.
const MOST_PERIPHERALS: usize = 3;

/// What stands behind the name of a tool of which it is only said what it is for: "Move the iron (inventory_list shows the slots)".
const SHOWS: [&str; 4] = [" shows ", " lists ", " tells ", " says "];

/// Words of a task that has a tool called through a group.
const GROUPS: [&str; 2] = ["group", "groups"];

impl Turn<'_> {
    /// Calls all of them that stand before any other work of the task, in one step. None after anything was done but to look at files, where
    /// no files are read by rule either, and in a task that lives on.
    pub(in crate::strategy) fn first_tools(&self) -> Option<Decision> {
        let only_looks =
            |step: &Step| step.looks_first() || step.by_rule() == Some(ByRule::FirstSearch);
        let is_begun = !self.state.steps.iter().all(only_looks);
        if is_begun
            || self.profile.memory.named_files == 0
            || !self.may_step_aside()
            || self.state.wakes().is_some()
        {
            return None;
        }
        let named = self.named_tools().into_iter();
        let leading = named.take_while(|tool| tool.effect == EffectClass::Read);
        let requests: Vec<StrictRequest> = leading
            .filter_map(|tool| self.requests_of_first(tool, ByRule::FirstTool))
            .flatten()
            .collect();
        match requests.is_empty() {
            true => None,
            false => self.calls_by_rule(requests),
        }
    }

    /// The calls of a tool before whose name no other work of the task stands, where the task's words give all that it takes.
    pub(super) fn requests_of_first(&self, tool: &Tool, why: ByRule) -> Option<Vec<StrictRequest>> {
        let prompt = self.asked_for();
        let at = mentions(prompt, &tool.name).next()?;
        let before = &prompt[..at];
        let shown = self.shown_tools().shown;
        let said = behind(prompt, at, &tool.name);
        let is_after_work = named_by(&shown, before).any(|other| other.name != tool.name)
            && !SHOWS.iter().any(|words| said.starts_with(words));
        let is_later = has_word(before, &NOT_FIRST) || is_after_work;
        let called = self.address_of(&tool.name).filter(|_| !is_later)?;
        let schema = tool.told_args()?;
        let args = said_values(prompt, &tool.name, schema);
        let required = schema.get("required").and_then(Value::as_array);
        let required = required.into_iter().flatten().filter_map(Value::as_str);
        let request = |args| request_by_rule(why, &called, Value::Object(args), None);
        let of_each: Vec<_> = of_each_peripheral(prompt, schema)
            .take(MOST_PERIPHERALS)
            .collect();
        // Of several in quotes one alone may have been read.
        if !of_each.is_empty() && (args.is_empty() || of_each.contains(&args)) {
            return Some(of_each.into_iter().map(request).collect());
        }
        let mut lacking = required.filter(|name| !args.contains_key(*name));
        lacking.next().is_none().then(|| vec![request(args)])
    }

    /// How such a tool is called: on the only computer that has it ready, or through the one group of which the task speaks.
    fn address_of(&self, tool: &str) -> Option<String> {
        let prompt = self.asked_for();
        if !has_word(prompt, &GROUPS) {
            let mut owners = self.owners_of(tool);
            let owner = owners.next().filter(|_| owners.next().is_none())?;
            let on = Some(owner).filter(|owner| Some(*owner) != self.state.home());
            return Some(addressed(tool, on));
        }
        let owners = self.owners_of(tool).collect::<Vec<_>>();
        let computers = self.inputs.fleet.computers.iter();
        let computers = computers.filter(|computer| owners.contains(&&computer.client_id));
        let groups: BTreeSet<&String> = computers
            .flat_map(|computer| &computer.groups)
            .filter(|group| prompt.contains(&format!("`{group}`")))
            .collect();
        let mut groups = groups.into_iter();
        let group = groups.next().filter(|_| groups.next().is_none())?;
        Some(format!("group:{group}/{tool}"))
    }
}

/// What a tool takes that takes one text alone, for each peripheral that the task names.
fn of_each_peripheral(prompt: &str, schema: &Value) -> impl Iterator<Item = Map<String, Value>> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let mut taken = properties.into_iter().flatten();
    let only = taken.next().filter(|_| taken.next().is_none());
    let only = only.filter(|(_, of)| of["type"] == "string" && of.get("enum").is_none());
    let named = only.into_iter().flat_map(|(name, _)| {
        let named = peripherals_in(prompt).into_iter();
        named.map(move |peripheral| (name.clone(), Value::from(peripheral)))
    });
    named.map(|taken| Map::from_iter([taken]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::call::Target;
    use crate::domain::task::CallRecord;
    use crate::strategy::drive::{Drive, carry_out, done, profile_with_asides};
    use serde_json::json;

    /// A task on `base`, beside which `mine` counts ore, and `depot` counts what is in store and pays.
    fn begun(strategy: &str, task: &str) -> Drive {
        let mut drive = Drive::new(profile_with_asides(strategy), task);
        let text = json!({"type": "string"});
        let tool = |name: &str, effect: &str, required: &[&str]| {
            let properties: serde_json::Map<String, Value> = required
                .iter()
                .map(|name| ((*name).to_owned(), text.clone()))
                .collect();
            serde_json::from_value(
                json!({"name": name, "effect": effect, "description": "Counts.",
                "args_schema": {"type": "object", "required": required, "properties": properties}}),
            )
            .unwrap()
        };
        drive.add_computer("mine");
        drive.add_computer("depot");
        drive.fleet.computers[1].tools = vec![tool("ore_count", "read", &["ore"])].into();
        drive.fleet.computers[2].tools = vec![
            tool("stock_count", "read", &["item"]),
            tool("stock_list", "read", &[]),
            tool("ledger_pay", "effect", &[]),
        ]
        .into();
        drive.fleet.computers[2].groups = vec!["storage".to_owned()];
        drive.run_to_consult_with(|files, call| match call.tool.as_str() {
            "ore_count" | "stock_count" | "stock_list" => done(json!({"count": 3})),
            _ => carry_out(files, call),
        });
        drive
    }

    fn called(drive: &Drive) -> Vec<(String, Value)> {
        let tools = drive
            .state()
            .calls()
            .filter(|call| call.tool.contains("_count") || call.tool == "stock_list");
        let place = |call: &CallRecord| match &call.target {
            Target::Computer(id) => format!("{id}/{}", call.tool),
            Target::Group(group) => format!("group:{group}/{}", call.tool),
            _ => call.tool.clone(),
        };
        tools.map(|call| (place(call), call.args.clone())).collect()
    }

    #[test]
    fn what_the_task_names_whole_and_only_looks_is_called_before_any_model_is_asked() {
        let task = "Ask the computer `mine` with its tool ore_count how much iron it has, and depot with stock_count how many torches. Write both to /a.txt.";
        for strategy in ["direct", "directive", "numbered", "plan", "goals"] {
            let drive = begun(strategy, task);
            let both = [
                ("mine/ore_count".to_owned(), json!({"ore": "iron"})),
                ("depot/stock_count".to_owned(), json!({"item": "torches"})),
            ];
            assert_eq!(called(&drive), both, "{strategy}");
        }
    }

    #[test]
    fn what_is_not_whole_or_comes_later_is_the_model_s() {
        for (task, tools) in [
            (
                "Only depot has stock_count. Find out with it how many ladders there are.",
                vec!["depot/stock_count"],
            ),
            (
                "Look with stock_list what there is, then pay with ledger_pay. Ask stock_count how many ladders are left.",
                vec!["depot/stock_list"],
            ),
            ("Find out with stock_count what is there.", vec![]),
            ("Do not call stock_list.", vec![]),
            ("Pay with ledger_pay, and look with stock_list.", vec![]),
            ("Write 5 to /a.txt, and call stock_list.", vec![]),
            ("If it rains, call stock_list.", vec![]),
            (
                "Ask the group `storage` with stock_count how many torches there are.",
                vec!["group:storage/stock_count"],
            ),
            (
                "Ask a group with stock_count how many torches there are.",
                vec![],
            ),
        ] {
            let drive = begun("direct", task);
            let names: Vec<String> = called(&drive).into_iter().map(|(name, _)| name).collect();
            assert_eq!(names, tools, "{task}");
        }
    }

    #[test]
    fn a_tool_that_takes_one_name_looks_into_each_peripheral_that_the_task_names() {
        let task = "Move the iron from minecraft:chest_0 to `create:item_vault_12` (stock_count shows what is there, ledger_pay moves it).";
        let drive = begun("plan", task);
        let each = ["minecraft:chest_0", "create:item_vault_12"];
        let each = each.map(|name| ("depot/stock_count".to_owned(), json!({"item": name})));
        assert_eq!(called(&drive), each);
    }
}
