//! Reading a plan out of a planner's answer: field by field, with the spellings that models use, so that what is wrong
//! is told by step and field. Whether the plan can be carried out is for `check`.

use super::json_text::{self, Found};
use crate::domain::chat::{ChatAnswer, StopReason};
use crate::domain::ids::ClientId;
use crate::domain::work::MadeBy;
use crate::domain::work::plan::{PlanAction, PlanRead, PlanStep, Review, ReviewRead, TaskPlan};
use serde_json::{Map, Value};

/// The most problems that one answer is told.
pub const MOST_PROBLEMS: usize = 8;
/// More steps than this are not even read.
const MOST_STEPS: usize = 200;

/// Reads the plan of an answer. Of several plans the last one counts: models correct themselves.
pub fn plan(answer: &ChatAnswer) -> PlanRead {
    let found = json_text::find(&answer.content);
    let plans = found.values.iter().rev();
    match plans.filter_map(|value| plan_parts(value)).next() {
        Some((head, steps)) => read_plan(head, steps),
        None => PlanRead {
            plan: None,
            problems: vec![nothing_found(answer, &found, "plan with a list of steps")],
        },
    }
}

/// Why an answer holds nothing of use.
pub fn nothing_found(answer: &ChatAnswer, found: &Found, wanted: &str) -> String {
    let at_limit = answer.stop == StopReason::Length;
    if found.cut_off || (at_limit && found.values.is_empty()) {
        let why = if at_limit { " at its length limit" } else { "" };
        return format!(
            "the answer is cut off{why}: the JSON does not end. Write less, and close every bracket"
        );
    }
    match &found.error {
        Some(error) => format!("the answer is no valid JSON: {error}"),
        None if found.values.is_empty() => format!("the answer holds no JSON {wanted}"),
        None => format!("the JSON in the answer is no {wanted}"),
    }
}

/// The plan's own fields and its steps, if a value is a plan: an object with steps (or tasks), such an object in
/// `plan`, or a bare list of steps.
pub(super) fn plan_parts(value: &Value) -> Option<(&Map<String, Value>, &Vec<Value>)> {
    static NONE: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    match value {
        Value::Object(fields) => match first(fields, &["steps", "tasks", "plan"]) {
            Some(Value::Array(steps)) => Some((fields, steps)),
            Some(inner @ Value::Object(_)) => plan_parts(inner),
            _ => None,
        },
        Value::Array(steps) => {
            let all = steps.iter().all(|step| step.get("action").is_some());
            (!steps.is_empty() && all).then_some((&NONE, steps))
        }
        _ => None,
    }
}

/// The first of these fields that is there and not null.
fn first<'a>(fields: &'a Map<String, Value>, names: &[&str]) -> Option<&'a Value> {
    let mut values = names.iter().filter_map(|name| fields.get(*name));
    values.find(|value| !value.is_null())
}

fn text(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::String(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn read_plan(head: &Map<String, Value>, steps: &[Value]) -> PlanRead {
    let mut problems = Vec::new();
    if steps.len() > MOST_STEPS {
        problems.push(format!("{} steps are far too many", steps.len()));
    }
    let unnumbered = steps.iter().all(|step| step.get("id").is_none());
    let read = steps.iter().take(MOST_STEPS).enumerate();
    let steps = read
        .filter_map(|(at, value)| {
            let mut reader = StepReader {
                name: format!("step {}", at + 1),
                problems: &mut problems,
            };
            reader.step(value, unnumbered.then_some(at as u32 + 1))
        })
        .collect();
    problems.truncate(MOST_PROBLEMS);
    let said = |names: &[&str]| text(first(head, names)).unwrap_or_default();
    let plan = TaskPlan {
        plan_id: said(&["plan_id", "id"]),
        query: said(&["query"]),
        goal: said(&["goal", "objective"]),
        steps,
        metadata: head.get("metadata").cloned().unwrap_or_default(),
        made_by: MadeBy::Model,
    };
    PlanRead {
        plan: problems.is_empty().then_some(plan),
        problems,
    }
}

struct StepReader<'a> {
    name: String,
    problems: &'a mut Vec<String>,
}

/// The fields of a step, with the other spellings that are understood. What has none of these names belongs to the
/// params: models leave that level out.
const ID: &[&str] = &["id", "step", "number", "task_id", "step_id"];
const ACTION: &[&str] = &["action", "type", "action_type"];
const TARGET: &[&str] = &["target", "path", "file", "command"];
/// The same inside the params.
const INNER_TARGET: &[&str] = &["target", "path"];
const ON: &[&str] = &["on", "computer", "client_id"];
const REASON: &[&str] = &["reason", "why", "description", "purpose"];
const EXPECTED: &[&str] = &["expected_outcome", "expected", "expect", "outcome"];
const DEPENDS_ON: &[&str] = &["depends_on", "dependencies", "depends", "after"];
const PARAMS: &[&str] = &["params", "parameters", "args", "arguments"];

impl StepReader<'_> {
    fn problem(&mut self, words: &str) {
        self.problems.push(format!("{}: {words}", self.name));
    }

    fn step(&mut self, value: &Value, by_place: Option<u32>) -> Option<PlanStep> {
        let Value::Object(fields) = value else {
            self.problem("is no JSON object");
            return None;
        };
        let id = by_place.or_else(|| first(fields, ID).and_then(number));
        let action = text(first(fields, ACTION));
        if id.is_none() {
            self.problem("id is no number");
        }
        if action.is_none() {
            self.problem("action is missing");
        }
        let reason = text(first(fields, REASON)).unwrap_or_default();
        let on = self.on(fields);
        let depends_on = self.depends_on(fields);
        let action = action.map(|action| PlanAction::named(&action));
        let is_inside = first(fields, TARGET).is_none()
            && action.as_ref().is_some_and(PlanAction::is_about_a_file);
        let target = self.target(fields, is_inside);
        let params = self.params(fields, is_inside);
        Some(PlanStep {
            id: id?,
            action: action?,
            target,
            on,
            reason,
            expected_outcome: text(first(fields, EXPECTED)),
            depends_on,
            params,
        })
    }

    /// The target; `is_inside` the params it is looked for where small models put it there.
    fn target(&mut self, fields: &Map<String, Value>, is_inside: bool) -> Option<String> {
        let value = match is_inside {
            true => first(first(fields, PARAMS)?.as_object()?, INNER_TARGET),
            false => first(fields, TARGET),
        };
        match value? {
            Value::String(target) => Some(target.trim().to_owned()).filter(|t| !t.is_empty()),
            Value::Array(one) if one.len() == 1 => text(one.first()),
            _ => {
                self.problem("target has to be one text; make a step for each target");
                None
            }
        }
    }

    fn on(&mut self, fields: &Map<String, Value>) -> Option<ClientId> {
        let name = text(first(fields, ON))?;
        let id = ClientId::parse(&name);
        if let Err(error) = &id {
            self.problem(&format!("on is no computer's name: {error}"));
        }
        id.ok()
    }

    fn depends_on(&mut self, fields: &Map<String, Value>) -> Vec<u32> {
        let listed = match first(fields, DEPENDS_ON) {
            None => return Vec::new(),
            Some(Value::Array(ids)) => ids.iter().map(number).collect(),
            Some(Value::String(none)) if none.trim().is_empty() => return Vec::new(),
            Some(one) => number(one).map(|id| vec![Some(id)]).unwrap_or(vec![None]),
        };
        if listed.contains(&None) {
            self.problem("depends_on has to be a list of step ids");
        }
        let mut ids: Vec<u32> = listed.into_iter().flatten().collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    fn params(&mut self, fields: &Map<String, Value>, has_target: bool) -> Value {
        let mut params = match first(fields, PARAMS) {
            None => Map::new(),
            Some(Value::Object(params)) => params.clone(),
            // A program's arguments, said without their name.
            Some(Value::Array(args)) if args.is_empty() => Map::new(),
            Some(Value::Array(args)) => Map::from_iter([("args".to_owned(), args.clone().into())]),
            Some(_) => {
                self.problem("params has to be a JSON object");
                return Value::Null;
            }
        };
        if has_target {
            params.retain(|name, _| !INNER_TARGET.contains(&name.as_str()));
        }
        let known = [ID, ACTION, TARGET, ON, REASON, EXPECTED, DEPENDS_ON, PARAMS];
        for (name, value) in fields {
            let is_field = known.iter().any(|names| {
                // Of two spellings of one field the first counts; the other is a detail.
                let said = |n: &&&str| fields.get(**n).is_some_and(|value| !value.is_null());
                names.iter().find(said) == Some(&name.as_str())
            });
            if !is_field && !value.is_null() && !params.contains_key(name) {
                params.insert(name.clone(), value.clone());
            }
        }
        if params.is_empty() {
            Value::Null
        } else {
            Value::Object(params)
        }
    }
}

/// An id: a number, a text that is one, or one behind a word (`step_2`).
fn number(value: &Value) -> Option<u32> {
    match value {
        Value::Number(number) => u32::try_from(number.as_u64()?).ok(),
        Value::String(text) => {
            let digits = text
                .trim()
                .trim_start_matches(|c: char| !c.is_ascii_digit());
            digits.parse().ok()
        }
        _ => None,
    }
}

/// Reads a review: whether the goal holds, and what is missing.
pub fn review(answer: &ChatAnswer) -> ReviewRead {
    let found = json_text::find(&answer.content);
    let verdict = |value: &Value| {
        let fields = value.as_object()?;
        let achieved = first(
            fields,
            &["achieved", "success", "goal_achieved", "complete"],
        )?
        .as_bool()?;
        let listed = match first(fields, &["missing", "issues", "remaining"]) {
            Some(Value::Array(items)) => items.iter().filter_map(|item| text(Some(item))).collect(),
            other => text(other).into_iter().collect(),
        };
        let message = text(first(fields, &["message", "summary", "reason"])).unwrap_or_default();
        Some(Review {
            achieved,
            message,
            missing: listed,
        })
    };
    match found.values.iter().rev().find_map(verdict) {
        Some(review) => ReviewRead {
            review: Some(review),
            problems: Vec::new(),
        },
        None => ReviewRead {
            review: None,
            problems: vec![nothing_found(
                answer,
                &found,
                "object with \"achieved\" (true or false)",
            )],
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::bench::answer;
    use proptest::prelude::*;
    use serde_json::json;

    const WHOLE: &str = r#"{"plan_id": "p-7", "query": "Mend /TODO.lua", "goal": "It works", "tasks": [
        {"id": 1, "action": "read_file", "target": "/TODO.lua", "reason": "See it", "expected_outcome": "the code",
         "depends_on": [], "params": null},
        {"id": 2, "action": "analyze_error", "target": null, "reason": "Find the fault", "depends_on": [1]},
        {"id": 3, "action": "EditFile", "target": "/TODO.lua", "reason": "Mend it", "depends_on": [2],
         "params": {"search": "a", "replace": "b"}}],
        "metadata": {"risk": "low"}}"#;

    #[test]
    fn every_field_of_a_plan_is_read() {
        let read = plan(&answer(WHOLE));
        let plan = read.plan.unwrap();
        assert_eq!(
            (
                plan.plan_id.as_str(),
                plan.query.as_str(),
                plan.goal.as_str()
            ),
            ("p-7", "Mend /TODO.lua", "It works")
        );
        assert_eq!(plan.metadata, json!({"risk": "low"}));
        let first = &plan.steps[0];
        assert_eq!(
            (first.id, &first.action, first.target.as_deref()),
            (1, &PlanAction::ReadFile, Some("/TODO.lua"))
        );
        assert_eq!(
            (first.reason.as_str(), first.expected_outcome.as_deref()),
            ("See it", Some("the code"))
        );
        assert_eq!((&first.params, &first.depends_on), (&Value::Null, &vec![]));
        assert_eq!(plan.steps[2].action, PlanAction::EditFile);
        assert_eq!(plan.steps[2].params, json!({"search": "a", "replace": "b"}));
        let written = serde_json::to_value(&plan).unwrap();
        assert_eq!(serde_json::from_value::<TaskPlan>(written).unwrap(), plan);
    }

    #[test]
    fn the_spellings_of_small_models_are_understood() {
        let plan = plan(&answer(
            "1. I think {so}.\n```json\n{\"steps\": [{\"step\": \"1\", \"action\": \"write\", \"path\": \"/a.lua\", \
             \"content\": \"print(1)\n\", \"why\": \"needed\", \"computer\": \"base\",},\
             {\"step\": 2, \"type\": \"run\", \"target\": [\"/a.lua\"], \"depends_on\": \"step_1\", \"args\": [\"x\"]}]}\n```",
        ));
        let plan = plan.plan.unwrap();
        assert_eq!(plan.steps[0].params, json!({"content": "print(1)\n"}));
        assert_eq!(plan.steps[0].on.as_ref().unwrap().as_str(), "base");
        assert_eq!(plan.steps[1].depends_on, [1]);
        assert_eq!(plan.steps[1].params, json!({"args": ["x"]}));
        assert_eq!(plan.steps[1].target.as_deref(), Some("/a.lua"));
        let details = r#"{"steps": [{"id": 1, "action": "edit_file", "params": {"target": "/a", "search": "b"}}]}"#;
        let step = super::plan(&answer(details)).plan.unwrap().steps.remove(0);
        assert_eq!(step.target.as_deref(), Some("/a"));
        assert_eq!(step.params, json!({"search": "b"}));
        // A tool may take a path or a target of its own.
        for action in ["stock_count", "call_tool", "search"] {
            let params = json!({"path": "/a", "target": "b"});
            let steps = json!({"steps": [{"id": 1, "action": action, "params": params}]});
            let step = super::plan(&answer(&steps.to_string())).plan.unwrap();
            let step = &step.steps[0];
            assert_eq!((&step.target, &step.params), (&None, &params), "{action}");
        }
        let inside = r#"{"plan": {"goal": "It works", "steps": [{"id": 1, "action": "read"}]}}"#;
        let inside = super::plan(&answer(inside)).plan.unwrap();
        assert_eq!((inside.goal.as_str(), inside.steps.len()), ("It works", 1));
    }

    #[test]
    fn what_is_wrong_is_told_by_step_and_field() {
        for (text, expected) in [
            ("I will look first.", "holds no JSON plan"),
            ("{\"goal\": \"x\"}", "is no plan"),
            ("{\"steps\": [{\"id\": 1, \"action\"", "cut off"),
            (
                "{\"steps\": [{\"id\": 1 \"action\": \"x\"}]}",
                "no valid JSON: expected",
            ),
            ("{\"steps\": [{\"id\": 1}]}", "step 1: action is missing"),
            (
                "{\"steps\": [{\"id\": 1, \"action\": \"read\"}, {\"id\": 2}]}",
                "step 2: action is missing",
            ),
            (
                "{\"steps\": [{\"id\": \"one\", \"action\": \"read\"}]}",
                "step 1: id is no number",
            ),
            ("{\"steps\": [7]}", "step 1: is no JSON object"),
            (
                "{\"steps\": [{\"id\": 1, \"action\": \"read\", \"target\": [\"a\", \"b\"]}]}",
                "one text",
            ),
            (
                "{\"steps\": [{\"id\": 1, \"action\": \"read\", \"depends_on\": [\"x\"]}]}",
                "list of step ids",
            ),
            (
                "{\"steps\": [{\"id\": 1, \"action\": \"read\", \"params\": 3}]}",
                "params has to be",
            ),
        ] {
            let read = plan(&answer(text));
            assert_eq!(read.plan, None, "{text}");
            assert!(
                read.problems[0].contains(expected),
                "{text}: {:?}",
                read.problems
            );
        }
        let mut cut = answer("{\"steps\": [");
        cut.stop = StopReason::Length;
        assert!(plan(&cut).problems[0].contains("cut off at its length limit"));
    }

    #[test]
    fn a_review_is_read_and_a_missing_verdict_is_told() {
        let read = review(&answer(
            "```json\n{\"achieved\": false, \"message\": \"no test\", \"missing\": [\"run it\"]}\n```",
        ));
        assert_eq!(read.review.unwrap().missing, ["run it"]);
        assert!(review(&answer("Looks good!")).problems[0].contains("achieved"));
    }

    proptest! {
        #[test]
        fn noise_never_panics(text in "(\\{|\\}|\\[|\\]|\"|,|:|\"steps\": ?|\"id\": 1|\"action\"|null|\\PC){0,40}") {
            plan(&answer(&text));
            review(&answer(&text));
        }

        #[test]
        fn any_json_in_place_of_any_field_is_read_or_told(
            field in prop::sample::select(vec!["id", "action", "target", "on", "reason", "depends_on", "params", "steps", "expected_outcome"]),
            value in prop::sample::select(vec![json!(null), json!(7), json!(-1.5), json!("x"), json!([]), json!([[1]]), json!({"a": {"b": 1}}), json!(u64::MAX)]),
        ) {
            let mut plan_json: Value = serde_json::from_str(WHOLE).unwrap();
            if field == "steps" {
                plan_json["tasks"] = value;
            } else {
                plan_json["tasks"][1][field] = value;
            }
            let read = plan(&answer(&plan_json.to_string()));
            prop_assert_eq!(read.plan.is_some(), read.problems.is_empty());
        }
    }
}
