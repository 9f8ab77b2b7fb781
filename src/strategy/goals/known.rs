//! What a decomposition may name: the tools and computers as the task sees them now.

use super::check::{Known, Limits, ToolFacts};
use crate::domain::ids::ClientId;
use crate::domain::tool::EffectClass;
use crate::domain::toolbox::Tool;
use crate::strategy::turn::Turn;
use serde_json::{Value, json};

/// Tools that leave behind the files that they are given.
const WRITERS: [&str; 4] = ["fs_write", "fs_write_many", "write_and_run", "fs_patch"];
/// Arguments that name files, whatever the tool.
const PATH_ARGS: [&str; 3] = ["path", "files", "file"];
/// A tool that moves files; elsewhere `from` and `to` are people, chests or slots.
const MOVER: &str = "fs_move";

/// Looks names up in the fleet.
pub struct FleetKnown<'a> {
    turn: Turn<'a>,
    usable: Vec<&'a Tool>,
}

impl<'a> FleetKnown<'a> {
    pub fn new(turn: &Turn<'a>) -> Self {
        FleetKnown {
            turn: *turn,
            usable: turn.tools(None).usable(turn.profile),
        }
    }

    /// The shape of a decomposition: it can name no tool that is not there. Only as many tools as a grammar takes.
    pub fn schema(&self, limits: Limits) -> Value {
        let text = json!({"type": "string", "minLength": 1, "maxLength": 300});
        let names = self.tool_names();
        let tool = match names.len() {
            1..=128 => json!({"type": "string", "enum": names}),
            _ => json!({"type": "string", "minLength": 1, "maxLength": 64}),
        };
        let subtask = json!({
            "type": "object",
            "properties": {
                "description": text,
                "tool": tool,
                "targets": {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 128}, "maxItems": 6},
                "on": {"type": "string", "maxLength": 64},
            },
            "required": ["description", "tool", "targets"],
        });
        let objective = json!({
            "type": "object",
            "properties": {
                "description": text,
                "subtasks": {"type": "array", "items": subtask, "minItems": 1, "maxItems": limits.subtasks},
            },
            "required": ["description", "subtasks"],
        });
        json!({
            "type": "object",
            "properties": {
                "objectives": {"type": "array", "items": objective, "minItems": 1, "maxItems": limits.objectives},
            },
            "required": ["objectives"],
        })
    }
}

impl Known for FleetKnown<'_> {
    fn tool(&self, name: &str, on: Option<&ClientId>) -> Option<ToolFacts> {
        let facts = |tool: &Tool| {
            let schema = tool.args_schema.as_deref();
            let properties = schema.and_then(|schema| schema.get("properties"));
            let takes = |name: &&str| properties.is_some_and(|p| p.get(name).is_some());
            ToolFacts {
                changes: tool.effect != EffectClass::Read,
                takes_path: tool.name == MOVER || PATH_ARGS.iter().any(takes),
                writes: WRITERS.contains(&tool.name.as_str()),
            }
        };
        let of = |tools: &[&Tool]| {
            tools
                .iter()
                .find(|tool| tool.name == name)
                .map(|tool| facts(tool))
        };
        match on {
            None => of(&self.usable),
            Some(on) => of(&self.turn.tools(Some(on)).usable(self.turn.profile)),
        }
    }

    fn tool_names(&self) -> Vec<&str> {
        self.usable.iter().map(|tool| tool.name.as_str()).collect()
    }

    fn computer(&self, name: &str) -> Option<ClientId> {
        let id = ClientId::parse(name.trim()).ok()?;
        let known = self.turn.inputs.fleet.has(&id) || self.turn.state.home() == Some(&id);
        known.then_some(id)
    }
}
