//! The shapes that answers are held to, compiled from what is there now.

use super::Course;
use crate::domain::chat::OutputFormat;
use crate::domain::decision::Contract;
use crate::domain::toolbox::Tool;
use crate::domain::work::plan::{PlanAction, StepWork};
use crate::domain::work::plan_rules::PlanForm;
use crate::strategy::directive::executor::simple_schema;
use serde_json::{Value, json};

impl Course<'_> {
    /// What a plan has to be, and the form to which its model is held: lines need none.
    pub(super) fn plan_format(&self) -> (Contract, OutputFormat) {
        let rules = &self.profile.plan;
        if rules.form == PlanForm::Lines {
            return (Contract::PlanLines, OutputFormat::Text);
        }
        let names: Vec<&str> = PlanAction::names().collect();
        let step = json!({"type": "object", "required": ["id", "action", "reason", "depends_on"], "additionalProperties": false,
            "properties": {
                "id": {"type": "integer"}, "action": {"enum": names}, "target": text(400),
                "on": {"enum": self.place().computers()}, "reason": text(300), "expected_outcome": text(300),
                "depends_on": {"type": "array", "items": {"type": "integer"}, "maxItems": rules.max_steps},
                "params": {"type": "object"}}});
        let plan = json!({"type": "object", "required": ["goal", "steps"], "additionalProperties": false,
            "properties": {"plan_id": text(60), "query": text(400), "goal": text(300),
                "steps": {"type": "array", "items": step, "minItems": 1, "maxItems": rules.max_steps},
                "metadata": {"type": "object"}}});
        (Contract::Plan, OutputFormat::Schema(plan))
    }

    pub(super) fn review_format(&self) -> OutputFormat {
        OutputFormat::Schema(
            json!({"type": "object", "required": ["achieved", "message", "missing"], "additionalProperties": false,
            "properties": {"achieved": {"type": "boolean"}, "message": text(1000),
                "missing": {"type": "array", "items": text(300), "maxItems": 8}}}),
        )
    }

    /// Compiled from the tools that the step may use now: a model that is held to it cannot name another one.
    pub(super) fn calls_format(&self, work: &StepWork) -> OutputFormat {
        let place = self.place();
        let reasoning = self.profile.plan.include_reasoning;
        let call = |tool: &Tool| {
            let args = tool
                .told_args()
                .map_or(json!({"type": "object"}), |schema| simple_schema(schema));
            let mut shape = json!({"type": "object", "required": ["tool", "args"], "additionalProperties": false,
                "properties": {"tool": {"const": tool.name}, "args": args}});
            if reasoning {
                shape["properties"]["reasoning"] = text(300);
            }
            shape
        };
        let calls: Vec<Value> = place.tools_for(&work.step).into_iter().map(call).collect();
        let unclear = json!({"type": "object", "required": ["unclear"], "additionalProperties": false,
            "properties": {"unclear": {"type": "array", "items": text(200), "minItems": 1, "maxItems": 5}}});
        if calls.is_empty() {
            return OutputFormat::Schema(unclear);
        }
        let most = self.profile.plan.max_calls_per_step;
        let several = json!({"type": "object", "required": ["calls"], "additionalProperties": false,
            "properties": {"calls": {"type": "array", "items": {"anyOf": calls}, "minItems": 1, "maxItems": most}}});
        OutputFormat::Schema(json!({"anyOf": [several, unclear]}))
    }
}

fn text(max: u32) -> Value {
    json!({"type": "string", "maxLength": max})
}
