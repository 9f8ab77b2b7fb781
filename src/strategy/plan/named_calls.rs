//! Steps that call a tool which the task names: what such a step leaves out is what the task's words say for it.

use super::Course;
use crate::domain::track::Track;
use crate::domain::work::plan::{PlanAction, PlanStep};
use crate::strategy::paths::{QUOTES, mentions};
use crate::strategy::shown_tools::TO_BE_FILLED;
use crate::strategy::turn::Turn;
use crate::strategy::words::said_values::said_values;
use serde::Serialize;
use serde_json::{Map, Value};

/// Words between a tool, its computer and what it is given.
const BETWEEN: [&str; 6] = ["on", "with", "params", "args", "and", ""];

/// Params in which small models name the tool.
const NAMES_OF_TOOL: [&str; 4] = ["tool", "tool_name", "method", "name"];

/// Such a step as a planner is shown it. What it has to have stands first: a small model leaves out what stands behind the values.
#[derive(Serialize)]
pub(super) struct NamedCall<'a> {
    pub action: &'static str,
    pub target: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<&'a str>,
    pub params: Value,
}

impl NamedCall<'_> {
    /// The same as the line of a plan.
    pub(super) fn line(&self) -> String {
        let on = self.on.map_or_else(String::new, |on| format!(" on {on}"));
        format!("call {}{on} {}", self.target, self.params)
    }
}

impl Course<'_> {
    /// A step with the tool and the values that the task gives it, as far as it leaves them open.
    pub(super) fn with_named_call(&self, step: PlanStep) -> PlanStep {
        if step.action != PlanAction::CallTool {
            return step;
        }
        let (mut step, is_open) = self.with_tool_alone(step);
        let turn = self.turn(Track::MAIN);
        let mut params = match step.params.take() {
            Value::Object(params) => params,
            Value::Null => Map::new(),
            other => {
                step.params = other;
                return step;
            }
        };
        if step.target.is_none() {
            step.target = named_in(&mut params, &turn).or_else(|| taking(&params, &turn));
        }
        let named = turn.named_tools();
        let named = named
            .iter()
            .find(|tool| Some(&tool.name) == step.target.as_ref());
        let schema = named.and_then(|tool| turn.schema_of(&tool.name));
        if let Some(schema) = schema.filter(|_| is_open) {
            let target = step.target.as_deref().unwrap_or_default();
            params.retain(|_, value| *value != TO_BE_FILLED);
            for (name, value) in said_values(turn.asked_for(), target, &schema) {
                params.entry(name).or_insert(value);
            }
        }
        if !params.is_empty() {
            step.params = Value::Object(params);
        }
        step
    }
}

impl Course<'_> {
    /// A step whose target says more than its tool, "ledger_pay on depot params {amount: 10, to: Hopper}" or "ledger_pay depot 10 Hopper", with
    /// what stands there as its computer and its params; and whether what it is given may still be the task's word. It is not where the target
    /// says something that no rule reads.
    fn with_tool_alone(&self, mut step: PlanStep) -> (PlanStep, bool) {
        let turn = self.turn(Track::MAIN);
        let target = step.target.as_deref().map_or("", str::trim);
        let end = target.find([' ', '(', '{']).unwrap_or(target.len());
        let (tool, behind) = target.split_at(end);
        let schema = turn.schema_of(tool).filter(|_| !behind.is_empty());
        let Some(schema) = schema else {
            return (step, true);
        };
        let (words, pairs) = behind.split_once(['{', '(']).unwrap_or((behind, ""));
        let bare = |word: &str| {
            word.trim_matches(|c: char| QUOTES.contains(&c) || ",:()".contains(c))
                .to_owned()
        };
        let mut words: Vec<String> = words.split_whitespace().map(bare).collect();
        let computers = self.inputs.fleet.computers.iter();
        let owners = computers.filter(|computer| computer.tool(tool).is_some());
        let on = owners
            .map(|computer| &computer.client_id)
            .find(|id| words.iter().any(|word| *word == id.as_str()));
        words.retain(|word| {
            !BETWEEN.contains(&word.as_str()) && on.is_none_or(|id| id.as_str() != word)
        });
        let is_open = words.is_empty() && pairs.is_empty();
        if step.params.is_null() && !is_open {
            let of_pairs = given_as_pairs(pairs, &schema);
            let prompt = turn.asked_for();
            let is_said = |word: &String| mentions(prompt, word).next().is_some();
            let params = match of_pairs.is_empty() && words.iter().all(is_said) {
                true => given_by_kind(&words, &schema),
                false => of_pairs,
            };
            if !params.is_empty() {
                step.params = Value::Object(params);
            }
        }
        step.on = step.on.take().or_else(|| on.cloned());
        step.target = Some(tool.to_owned());
        (step, is_open)
    }
}

/// "amount: 10, to: Hopper}", as far as a tool takes what is named there.
fn given_as_pairs(pairs: &str, schema: &Value) -> Map<String, Value> {
    let pairs = pairs
        .split(['}', ')'])
        .next()
        .unwrap_or_default()
        .split(',');
    let pairs = pairs.filter_map(|pair| pair.split_once([':', '=']));
    let bare = |text: &str| text.trim().trim_matches(QUOTES).to_owned();
    let pairs = pairs.map(|(name, value)| (bare(name), value_of(&bare(value))));
    pairs
        .filter(|(name, _)| schema["properties"].get(name).is_some())
        .collect()
}

/// Words of the task as what a tool has to take, where there is exactly one that each of it can mean.
fn given_by_kind(words: &[String], schema: &Value) -> Map<String, Value> {
    let (numbers, texts): (Vec<Value>, Vec<Value>) = words
        .iter()
        .map(|word| value_of(word))
        .partition(Value::is_number);
    let required = schema["required"].as_array().into_iter().flatten();
    let taken = required.filter_map(Value::as_str).map(|name| {
        let kind = schema["properties"][name]["type"].as_str()?;
        let one = match kind {
            "integer" | "number" => numbers.as_slice(),
            "string" => texts.as_slice(),
            _ => return None,
        };
        let [one] = one else { return None };
        Some((name.to_owned(), one.clone()))
    });
    let all: Option<Map<String, Value>> = taken.collect();
    // Two of a kind would be the same word.
    all.filter(|all| all.len() == words.len())
        .unwrap_or_default()
}

/// A word as a number, if it is one.
fn value_of(word: &str) -> Value {
    let number = serde_json::from_str(word).ok();
    let number = number.filter(Value::is_number);
    number.unwrap_or_else(|| Value::from(word))
}

/// The tool that one of the params names, which is none of its arguments.
fn named_in(params: &mut Map<String, Value>, turn: &Turn<'_>) -> Option<String> {
    let is_tool = |name: &&&str| {
        let named = params.get(**name).and_then(Value::as_str);
        named.is_some_and(|named| turn.schema_of(named).is_some())
    };
    let key = NAMES_OF_TOOL.iter().find(is_tool)?;
    match params.remove(*key)? {
        Value::String(tool) => Some(tool),
        _ => None,
    }
}

/// The only tool that the task names which takes all these params.
fn taking(params: &Map<String, Value>, turn: &Turn<'_>) -> Option<String> {
    let takes_all = |name: &str| {
        let schema = turn.schema_of(name)?;
        let takes = |param: &String| schema["properties"].get(param).is_some();
        params.keys().all(takes).then(|| name.to_owned())
    };
    let named = turn.named_tools().into_iter();
    let mut fitting = named.filter_map(|tool| takes_all(&tool.name));
    let one = fitting.next().filter(|_| !params.is_empty())?;
    fitting.next().is_none().then_some(one)
}

#[cfg(test)]
mod tests {
    use crate::strategy::plan::rig::{Rig, plan_profile};
    use serde_json::{Value, json};

    const TASK: &str = "Let the turtle dig the block below it (turtle_dig, direction down), and pay 25 coins to `Ada` (ledger_pay).";

    fn rig() -> Rig {
        let mut profile = plan_profile();
        profile.plan.resolve_targets = false;
        let mut rig = Rig::new(profile);
        rig.state.created.as_mut().unwrap().prompt = TASK.to_owned();
        let tool = |name: &str, args: Value| {
            let required = match name {
                "ledger_pay" => vec!["to", "amount"],
                _ => vec![],
            };
            let args = json!({"type": "object", "additionalProperties": false, "required": required, "properties": args});
            let tool = json!({"name": name, "effect": "effect", "args_schema": args});
            crate::domain::toolbox::Tool::of(serde_json::from_value(tool).unwrap())
        };
        let mut tools: Vec<_> = rig.fleet.computers[0].tools.iter().cloned().collect();
        tools.extend([
            tool(
                "turtle_dig",
                json!({"direction": {"enum": ["up", "down"]}, "times": {"type": "integer"}}),
            ),
            tool("turtle_look", json!({"slot": {"type": "integer"}})),
            tool(
                "ledger_pay",
                json!({"to": {"type": "string"}, "amount": {"type": "integer"}}),
            ),
        ]);
        rig.fleet.computers[0].tools = tools.into_iter().collect();
        rig
    }

    /// The steps of a plan as they were adopted, or what was wrong with them.
    fn adopted(steps: Value) -> String {
        let mut rig = rig();
        rig.run();
        rig.plan(steps);
        let work = rig.work();
        if work.plans.is_empty() {
            return work.refused.concat().join("; ");
        }
        let steps = work.current().map(|work| {
            let target = work.step.target.as_deref().unwrap_or_default();
            format!("{target} {}", work.step.params)
        });
        steps.collect::<Vec<_>>().join("; ")
    }

    fn step(id: u32, target: Value, params: Value) -> Value {
        let action = "call_tool";
        json!({"id": id, "action": action, "target": target, "reason": "r", "depends_on": [], "params": params})
    }

    const PAY: &str = r#"{"amount":25,"to":"Ada"}"#;

    #[test]
    fn a_step_that_calls_a_named_tool_takes_from_the_task_what_it_leaves_out() {
        let pay = || step(2, json!("ledger_pay"), json!({"to": "Ada", "amount": 25}));
        for (first, taken) in [
            (
                step(1, json!("turtle_dig"), Value::Null),
                r#"turtle_dig {"direction":"down"}"#,
            ),
            (
                step(1, json!("turtle_dig"), json!({"times": 2})),
                r#"turtle_dig {"direction":"down","times":2}"#,
            ),
            (
                step(1, json!("turtle_dig"), json!({"direction": "…"})),
                r#"turtle_dig {"direction":"down"}"#,
            ),
            (
                step(1, json!("turtle_dig"), json!({"direction": "up"})),
                r#"turtle_dig {"direction":"up"}"#,
            ),
            (
                step(1, Value::Null, json!({"direction": "down"})),
                r#"turtle_dig {"direction":"down"}"#,
            ),
            (
                step(1, Value::Null, json!({"method": "turtle_dig"})),
                r#"turtle_dig {"direction":"down"}"#,
            ),
        ] {
            let plan = json!([first, pay()]);
            assert_eq!(
                adopted(plan.clone()),
                format!("{taken}; ledger_pay {PAY}"),
                "{plan}"
            );
        }
    }

    #[test]
    fn a_target_that_says_more_than_its_tool_is_read_as_the_call_that_it_is() {
        let pay =
            |amount: u32, to: &str| format!("ledger_pay {}", json!({"amount": amount, "to": to}));
        let dig = step(1, json!("turtle_dig"), Value::Null);
        for (target, call) in [
            (
                "ledger_pay on base params {amount: 10, to: Hopper}",
                pay(10, "Hopper"),
            ),
            ("ledger_pay(\"to\" = \"Grace\", amount: 5)", pay(5, "Grace")),
            ("ledger_pay on base", pay(25, "Ada")),
            ("ledger_pay base 25 Ada", pay(25, "Ada")),
            ("ledger_pay base 15 Lovelace", "ledger_pay null".to_owned()),
            ("ledger_pay 15 16", "ledger_pay null".to_owned()),
            ("ledger_pay Ada Alan 3", "ledger_pay null".to_owned()),
        ] {
            let plan = json!([dig, step(2, json!(target), Value::Null)]);
            let wanted = format!("turtle_dig {{\"direction\":\"down\"}}; {call}");
            assert_eq!(adopted(plan), wanted, "{target}");
        }
        let given = step(
            2,
            json!("ledger_pay on base"),
            json!({"to": "Alan", "amount": 1}),
        );
        assert!(adopted(json!([dig, given])).ends_with(&pay(1, "Alan")));
    }

    #[test]
    fn a_step_whose_tool_nothing_tells_goes_back() {
        for params in [Value::Null, json!({"slot": 1}), json!({"method": "fly"})] {
            let plan = json!([step(1, Value::Null, params)]);
            assert!(
                adopted(plan.clone()).contains("call_tool needs a target"),
                "{plan}"
            );
        }
    }
}
