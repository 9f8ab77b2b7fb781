//! Tools that a task's words call by their whole names ("with its tool ore_count", "tool_write"): a small model looks through files where it
//! was told which tool to call.

use super::places::sentence_of;
use super::said_values::{said_calls, said_values};
use crate::domain::call::Outcome;
use crate::domain::chat::Message;
use crate::domain::ids::ClientId;
use crate::domain::task::CallRecord;
use crate::domain::tool::{ComputerView, ToolState};
use crate::domain::toolbox::Tool;
use crate::prompts::{PromptError, render};
use crate::strategy::act::STANDS_FOR;
use crate::strategy::paths::mentions;
use crate::strategy::shown_tools::skeleton;
use crate::strategy::text::{has_word, sentence_after, sentence_before};
use crate::strategy::turn::Turn;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Calls of one tool that failed, until another one is shown.
const MOST_TRIES: usize = 2;

/// How many of them who plans is told of.
const MOST_TOLD: usize = 4;

/// Words of a sentence that may name a thing so that it is not done.
pub(in crate::strategy) const FORBIDS: [&str; 5] = ["not", "no", "never", "without", "don"];

/// Words of a sentence after which a tool is called in some case, or at some time, or more than once.
const IN_SOME_CASE: [&str; 11] = [
    "if",
    "unless",
    "when",
    "whenever",
    "until",
    "once",
    "otherwise",
    "instead",
    "every",
    "each",
    "or",
];

/// Whether the first sentence that names a tool tells to call it, once and in any case.
pub(in crate::strategy) fn is_plainly_told(prompt: &str, tool: &str) -> bool {
    sentence_of(prompt, tool).is_some_and(|sentence| {
        !has_word(&sentence, &IN_SOME_CASE) && !has_word(&sentence, &FORBIDS)
    })
}

/// What is called next by the task's own words, as the template `shared/tool_to_call` shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(in crate::strategy) struct ToolToCall {
    /// As the model writes calls, with "…" for what it has to take; its name alone where the model writes none.
    pub call: Option<String>,
    /// The task's own sentence that tells what to do where the tool that it names has failed, or is refused.
    pub instead: Option<String>,
    /// The tool that is refused, of which that sentence speaks.
    pub refused: Option<String>,
}

impl<'a> Turn<'a> {
    /// The first of them that was not called so far, or what the task tells to do where it is refused or fails. None once such a form came
    /// back as it was shown.
    pub(in crate::strategy) fn tool_to_call(&self) -> Option<ToolToCall> {
        if self.form_came_back() {
            return None;
        }
        if let Some(otherwise) = self.otherwise() {
            return Some(ToolToCall {
                call: otherwise.call,
                instead: Some(otherwise.sentence.to_owned()),
                refused: otherwise.refused.map(str::to_owned),
            });
        }
        let name = self.tools_to_call().into_iter().next()?;
        let call = self.form_of_call(name);
        Some(ToolToCall {
            call: Some(call.unwrap_or_else(|| name.to_owned())),
            instead: None,
            refused: None,
        })
    }

    /// Such a tool as a call, with "…" for what it has to take and with the values that the task's words give; none where the model
    /// writes no calls, and none once such a form came back as it was shown.
    pub(in crate::strategy) fn form_of_call(&self, name: &str) -> Option<String> {
        if self.form_came_back() {
            return None;
        }
        self.written(name, &self.args_to_give(name))
    }

    /// What such a tool has to take, "…" where the task's words give no value; of several calls that they tell, of the next one.
    pub(in crate::strategy) fn args_to_give(&self, name: &str) -> Value {
        if let Some(next) = self
            .calls_left(name)
            .and_then(|left| left.into_iter().next())
        {
            return next;
        }
        let args = self.schema_of(name).map(|schema| {
            let mut args = skeleton(&schema);
            if let Value::Object(args) = &mut args {
                args.extend(said_values(self.asked_for(), name, &schema));
            }
            args
        });
        args.unwrap_or_else(|| json!({}))
    }

    /// What the calls of a tool take that the task's words tell and that were not made, where they tell several.
    pub(in crate::strategy) fn calls_left(&self, name: &str) -> Option<Vec<Value>> {
        let schema = self.schema_of(name)?;
        let mut said = said_calls(self.asked_for(), name, &schema);
        if said.is_empty() {
            return None;
        }
        let is_made = |said: &Map<String, Value>| {
            let mut calls = self.state.calls();
            calls.any(|call| {
                call.tool == name && call.outcome() == Some(Outcome::Done) && call.gives(said)
            })
        };
        said.retain(|said| !is_made(said));
        Some(said.into_iter().map(Value::Object).collect())
    }

    /// What who plans is told of these tools, by the template `id`; `told` tells one of them, or one of several calls of it with what that
    /// takes. Behind it, which tools are refused.
    pub(in crate::strategy) fn told_to_planner(
        &self,
        id: &str,
        told: impl Fn(&str, Option<&Value>) -> String,
    ) -> Result<Vec<Message>, PromptError> {
        let named = self.tools_to_call().into_iter().take(MOST_TOLD);
        let named = named.flat_map(|name| match self.calls_left(name) {
            Some(left) => left.iter().map(|args| told(name, Some(args))).collect(),
            None => vec![told(name, None)],
        });
        let named: Vec<String> = named.collect();
        let mut messages = Vec::new();
        if !named.is_empty() {
            let told = render(&self.profile.prompts, id, json!({"named": named}))?;
            messages.push(Message::user(told));
        }
        messages.extend(self.told_refused()?);
        Ok(messages)
    }

    /// The computers that have such a tool ready to be called.
    pub(in crate::strategy) fn owners_of(&self, name: &str) -> impl Iterator<Item = &'a ClientId> {
        let has_it = |computer: &&ComputerView| {
            let tool = computer.tool(name);
            tool.is_some_and(|tool| tool.state == ToolState::Active)
        };
        let owners = self.inputs.fleet.computers.iter().filter(has_it);
        owners.map(|computer| &computer.client_id)
    }

    /// The only one of them, where that is not the task's own.
    pub(in crate::strategy) fn only_owner(&self, name: &str) -> Option<&'a ClientId> {
        let mut owners = self.owners_of(name);
        let owner = owners.next().filter(|_| owners.next().is_none())?;
        Some(owner).filter(|id| Some(*id) != self.state.home())
    }

    /// The names of all of them that were not called so far.
    pub(in crate::strategy) fn tools_to_call(&self) -> Vec<&str> {
        let named = self.named_tools().into_iter();
        let left = named.filter(|tool| !self.was_called(tool));
        left.map(|tool| tool.name.as_str()).collect()
    }

    /// Whether each tool that the task names was called with success; none where it names none.
    pub(in crate::strategy) fn named_tools_answered(&self) -> Option<bool> {
        let named = self.named_tools();
        let answered = |tool: &&Tool| {
            let mut calls = self.state.calls();
            calls.any(|call| call.tool == tool.name && call.succeeded())
        };
        (!named.is_empty()).then(|| named.iter().all(answered))
    }

    /// Whether it answered, or failed so often that asking again helps nobody, or was done otherwise.
    fn was_called(&self, tool: &Tool) -> bool {
        let of_it = |call: &&CallRecord| call.tool == tool.name;
        let answered = |call: &CallRecord| call.outcome() == Some(Outcome::Done);
        let calls = || self.state.calls().filter(of_it);
        let left = self.calls_left(&tool.name);
        let most = MOST_TRIES + left.as_ref().map_or(0, Vec::len);
        let is_answered = match left {
            Some(left) => left.is_empty(),
            None => calls().any(answered),
        };
        is_answered
            || calls().filter(|call| !answered(call)).count() >= most
            || self.was_done_otherwise(&tool.name)
    }

    /// The tools that the task may use and calls by their names, in the order of its words, without those that it tells not to use.
    pub(in crate::strategy) fn named_tools(&self) -> Vec<&Tool> {
        let prompt = self.asked_for();
        // Most tasks name none, and no tool is looked at for them.
        if !prompt.contains('_') {
            return Vec::new();
        }
        let is_meant = |at: usize| {
            let (before, after) = prompt.split_at(at);
            let sentence = [sentence_before(before), sentence_after(after)].concat();
            !has_word(&sentence, &FORBIDS)
        };
        let usable = self.tools(None).usable(self.profile).into_iter();
        let named = usable.filter(|tool| tool.name.contains('_'));
        let mut named: Vec<(usize, &Tool)> = named
            .filter_map(|tool| Some((mentions(prompt, &tool.name).next()?, tool)))
            .filter(|(at, _)| is_meant(*at))
            .collect();
        named.sort_by_key(|(at, _)| *at);
        named.into_iter().map(|(_, tool)| tool).collect()
    }

    /// Whether the newest answer was a form as it was shown.
    pub(in crate::strategy) fn form_came_back(&self) -> bool {
        let newest = self.state.newest_closed();
        let refused = newest.and_then(|step| step.blocked.as_ref());
        refused.is_some_and(|refused| refused.evidence.contains(STANDS_FOR))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::chat::Role;
    use crate::domain::task::CallRecord;
    use crate::domain::tool::ToolSpec;
    use crate::domain::work::Work;
    use crate::strategy::drive::{Drive, call, carry_out, done, profile_of};

    fn drive(task: &str) -> Drive {
        let mut drive = Drive::new(profile_of("direct"), task);
        let text = json!({"type": "string"});
        let tool = |name: &str, required: &[&str]| {
            let tool = json!({"name": name, "effect": "read", "description": "Counts.", "args_schema":
                {"type": "object", "required": required, "properties": {"item": text}}});
            serde_json::from_value(tool).unwrap()
        };
        drive.add_tools(vec![tool("ore_count", &[]), tool("stock_count", &["item"])]);
        drive
    }

    const TASK: &str = "Ask stock_count how many torches there are, and ore_count how much iron. Write both to /a.txt.";
    const STOCK: &str = "{\"tool\": \"stock_count\", \"args\": {\"item\":\"torches\"}}";
    const ORE: &str = "{\"tool\": \"ore_count\", \"args\": {}}";

    #[test]
    fn the_next_tool_that_a_task_names_is_shown_until_each_was_called() {
        let mut drive = drive(TASK);
        assert!(drive.run_to_consult());
        let named = "nothing came of it yet:\nstock_count\n";
        assert!(drive.shown().contains(named), "{}", drive.shown());
        drive.say(&[&call("fs_list", json!({}))]);
        let prompt = drive.state().prompt(Role::Planner);
        insta::assert_snapshot!("tool_to_call", prompt.last().unwrap().content);
        assert!(
            drive.shown().contains(STOCK) && !drive.shown().contains(ORE),
            "{}",
            drive.shown()
        );
        let counts = |files: &mut _, call: &CallRecord| match call.tool.as_str() {
            "stock_count" | "ore_count" => done(json!({"count": 3})),
            _ => carry_out(files, call),
        };
        drive.say_with(&[&call("stock_count", json!({"item": "torches"}))], counts);
        assert!(
            drive.shown().contains(ORE) && !drive.shown().contains(STOCK),
            "{}",
            drive.shown()
        );
        drive.say_with(&[&call("ore_count", json!({}))], counts);
        assert!(
            !drive.shown().contains("names this tool"),
            "{}",
            drive.shown()
        );
    }

    #[test]
    fn who_plans_is_told_of_the_tools_that_the_task_names() {
        let told = |strategy: &str, task: &str| {
            let mut drive = Drive::new(profile_of(strategy), task);
            drive.add_computer("mine");
            let pay = json!({"name": "ledger_pay", "effect": "effect", "description": "Pays.", "args_schema":
                {"type": "object", "required": ["to", "amount"], "properties": {"to": {"type": "string"}, "amount": {"type": "integer"}}}});
            let pay: Vec<ToolSpec> = vec![serde_json::from_value(pay).unwrap()];
            drive.fleet.computers[1].tools = pay.into();
            assert!(drive.run_to_consult());
            let prompt = drive.state().prompt(Role::Planner);
            format!("{strategy}: {}", prompt.last().unwrap().content.trim())
        };
        let strategies = ["numbered", "goals", "plan"];
        let task = "Pay 25 coins to `Turing` with the tool ledger_pay of the computer `mine`.";
        let all = strategies.map(|strategy| told(strategy, task));
        insta::assert_snapshot!("named_tools_of_a_plan", all.join("\n=====\n"));
        for task in ["Pay Turing, without ledger_pay.", "Pay Turing 25 coins."] {
            for strategy in strategies {
                let told = told(strategy, task);
                let names = ["names: ledger_pay", "names these tools"];
                assert!(!names.iter().any(|words| told.contains(words)), "{told}");
            }
        }
    }

    const PAY: &str = "Pay 10 coins to `Hopper` and 15 to `Lovelace` with ledger_pay.";
    const HOPPER: &str = "{\"amount\":10,\"to\":\"Hopper\"}";
    const LOVELACE: &str = "{\"amount\":15,\"to\":\"Lovelace\"}";

    fn paying(strategy: &str) -> Drive {
        let mut drive = Drive::new(profile_of(strategy), PAY);
        let pay = json!({"name": "ledger_pay", "effect": "effect", "description": "Pays.", "args_schema":
            {"type": "object", "required": ["to", "amount"], "properties": {"to": {"type": "string"}, "amount": {"type": "integer"}}}});
        drive.add_tools(vec![serde_json::from_value(pay).unwrap()]);
        assert!(drive.run_to_consult());
        drive
    }

    #[test]
    fn of_several_calls_that_a_sentence_tells_the_next_one_is_shown_until_each_was_made() {
        let mut drive = paying("direct");
        let pays = |files: &mut _, call: &CallRecord| match call.tool.as_str() {
            "ledger_pay" => done(json!({"paid": true})),
            _ => carry_out(files, call),
        };
        drive.say(&[&call("fs_list", json!({}))]);
        for (to, amount, due) in [("Hopper", 10, HOPPER), ("Lovelace", 15, LOVELACE)] {
            let form = format!("{{\"tool\": \"ledger_pay\", \"args\": {due}}}");
            assert!(drive.shown().contains(&form), "{}", drive.shown());
            let args = json!({"to": to, "amount": amount});
            drive.say_with(&[&call("ledger_pay", args)], pays);
        }
        let shown = drive.shown();
        assert!(!shown.contains("names this tool"), "{shown}");
    }

    #[test]
    fn who_plans_is_told_each_of_several_calls_and_goals_have_a_subtask_for_each() {
        for strategy in ["numbered", "goals", "plan"] {
            let shown = paying(strategy).shown();
            assert!(
                shown.contains(HOPPER) && shown.contains(LOVELACE),
                "{strategy} {shown}"
            );
        }
        let subtask = |tool: &str| json!({"description": "pay both", "tool": tool, "targets": ["/ledger.txt"]});
        for subtasks in [json!([subtask("ledger_pay")]), json!([subtask("fs_list")])] {
            let mut drive = paying("goals");
            let goals = json!({"objectives": [{"description": "paid", "subtasks": subtasks}]});
            drive.say(&[&goals.to_string()]);
            let Work::Goals(work) = &drive.state().work else {
                panic!("{}", drive.shown());
            };
            let plans = work
                .subtasks()
                .map(|(_, subtask)| subtask.plan.description.clone());
            let plans: Vec<String> = plans.filter(|plan| plan.contains("ledger_pay")).collect();
            let each = [HOPPER, LOVELACE].map(|args| format!("call ledger_pay with {args}"));
            assert_eq!(plans, each);
        }
    }

    #[test]
    fn a_form_that_came_back_and_a_tool_that_is_not_to_be_called_are_not_shown() {
        let mut drive_back = drive(TASK);
        drive_back.say(&[&call("stock_count", json!({"item": "…"}))]);
        assert!(
            !drive_back.shown().contains("names this tool"),
            "{}",
            drive_back.shown()
        );
        for task in [
            "Do not use ore_count. Write /a.txt.",
            "Write ore_counter to /a.txt.",
            "Count the ore.",
        ] {
            let mut other = drive(task);
            assert!(other.run_to_consult());
            assert!(
                !other.shown().contains("names this tool"),
                "{}",
                other.shown()
            );
        }
    }
}
