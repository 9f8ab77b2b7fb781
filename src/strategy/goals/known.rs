//! What a decomposition may name: the tools and computers as the task sees them now.

use super::check::{Known, Limits, ToolFacts};
use crate::domain::ids::ClientId;
use crate::domain::tool::EffectClass;
use crate::domain::toolbox::Tool;
use crate::strategy::shown_tools;
use crate::strategy::turn::Turn;
use serde_json::{Value, json};

/// Tools that leave behind the files that they are given.
const WRITERS: [&str; 4] = ["fs_write", "fs_write_many", "write_and_run", "fs_patch"];
/// Arguments that name files, whatever the tool.
const PATH_ARGS: [&str; 3] = ["path", "files", "file"];
/// Tools that take files by `from` and `to`; elsewhere these are people, chests or slots.
const MOVERS: [&str; 2] = ["fs_move", "fs_copy"];

/// Looks names up in the fleet.
pub struct FleetKnown<'a> {
    turn: Turn<'a>,
    usable: Vec<&'a Tool>,
    /// What the task may use on other computers and not at home.
    elsewhere: Vec<(&'a ClientId, Vec<&'a Tool>)>,
}

/// Other computers that a decomposition may use; of more, the first by name.
const MOST_COMPUTERS: usize = 16;

impl<'a> FleetKnown<'a> {
    pub fn new(turn: &Turn<'a>) -> Self {
        let usable = turn.tools(None).usable(turn.profile);
        let others = turn.inputs.fleet.computers.iter().map(|c| &c.client_id);
        let others = others.filter(|id| Some(*id) != turn.state.home());
        let elsewhere = others.take(MOST_COMPUTERS).map(|id| {
            let mut there = turn.tools(Some(id)).usable(turn.profile);
            there.retain(|tool| !usable.iter().any(|own| own.name == tool.name));
            (id, there)
        });
        FleetKnown {
            turn: *turn,
            elsewhere: elsewhere.collect(),
            usable,
        }
    }

    /// Other computers, and the tools that only they have, as templates list them.
    pub fn told_elsewhere(&self) -> Vec<Value> {
        let told = |(id, tools): &(&ClientId, Vec<&Tool>)| {
            let tools: Vec<Value> = tools.iter().map(|tool| shown_tools::told(tool)).collect();
            json!({"name": id, "tools": tools})
        };
        let others = self.elsewhere.iter().filter(|(_, tools)| !tools.is_empty());
        others.map(told).collect()
    }

    /// The computers that a subtask may name.
    fn computer_names(&self) -> Vec<&str> {
        let home = self.turn.state.home().map(ClientId::as_str);
        let others = self.elsewhere.iter().map(|(id, _)| id.as_str());
        home.into_iter().chain(others).collect()
    }

    /// The shape of a decomposition: it can name no tool and no computer that is not there. Only as many tools as a grammar takes.
    pub fn schema(&self, limits: Limits) -> Value {
        let text = json!({"type": "string", "minLength": 1, "maxLength": 300});
        let mut names = self.tool_names();
        let elsewhere = self.elsewhere.iter().flat_map(|(_, tools)| tools);
        names.extend(elsewhere.map(|tool| tool.name.as_str()));
        names.sort_unstable();
        names.dedup();
        let tool = match names.len() {
            1..=128 => json!({"type": "string", "enum": names}),
            _ => json!({"type": "string", "minLength": 1, "maxLength": 64}),
        };
        let mut subtask = json!({
            "type": "object",
            "properties": {
                "description": text,
                "tool": tool,
                "targets": {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 128}, "maxItems": 6},
            },
            "required": ["description", "tool", "targets"],
        });
        let computers = self.computer_names();
        if !computers.is_empty() {
            subtask["properties"]["on"] = json!({"enum": computers});
        }
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
                takes_path: MOVERS.contains(&tool.name.as_str()) || PATH_ARGS.iter().any(takes),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::decision::Inputs;
    use crate::domain::tool::ComputerView;
    use crate::domain::track::Track;
    use crate::domain::work::{ObjectiveDraft, SubtaskDraft};
    use crate::strategy::bench::{Bench, inputs};
    use crate::strategy::drive::profile_of;
    use crate::strategy::goals::{NAME, check};
    use crate::strategy::plan::place::bench::two_computers;

    const LIMITS: Limits = Limits {
        objectives: 3,
        subtasks: 6,
    };

    /// A task at home on `base`, which once had `dig`, as `farm` has now; and how many further computers there are.
    fn with_known<T>(more: usize, look: impl FnOnce(&FleetKnown<'_>) -> T) -> T {
        let bench = Bench::new(profile_of(NAME));
        let mut fleet = two_computers();
        fleet.computers[0].once_owned = vec!["dig".into()];
        let farm = fleet.computers[1].clone();
        fleet.computers.extend((0..more).map(|n| ComputerView {
            client_id: ClientId::parse(&format!("farm-{n}")).unwrap(),
            ..farm.clone()
        }));
        let inputs = Inputs {
            fleet,
            ..inputs(1_000)
        };
        look(&FleetKnown::new(&Turn {
            state: &bench.state,
            profile: &bench.profile,
            inputs: &inputs,
            track: Track::MAIN,
            again: "",
        }))
    }

    fn field(schema: &Value, name: &str) -> Vec<String> {
        let at = format!(
            "/properties/objectives/items/properties/subtasks/items/properties/{name}/enum"
        );
        let names = schema.pointer(&at).and_then(Value::as_array);
        let names = names.unwrap_or_else(|| panic!("{at}: {schema}")).iter();
        names
            .map(|name| name.as_str().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn a_decomposition_may_name_the_tools_of_other_computers_and_they_pass_the_check() {
        with_known(0, |known| {
            let schema = known.schema(LIMITS);
            assert_eq!(field(&schema, "on"), ["base", "farm"]);
            let tools = field(&schema, "tool");
            assert_eq!(tools.iter().filter(|tool| *tool == "dig").count(), 1);
            assert_eq!(tools.iter().filter(|tool| *tool == "fs_read").count(), 1);
            let told = known.told_elsewhere();
            assert_eq!(told[0]["name"], "farm");
            assert_eq!(told[0]["tools"].as_array().map(Vec::len), Some(1));
            let subtask = |on: Option<&str>| ObjectiveDraft {
                description: "Dig".into(),
                subtasks: vec![SubtaskDraft {
                    description: "Dig down".into(),
                    tool: Some("dig".into()),
                    targets: vec![],
                    on: on.map(str::to_owned),
                }],
            };
            assert!(check::check(&[subtask(Some("farm"))], known, LIMITS).is_ok());
            assert!(check::check(&[subtask(None)], known, LIMITS).is_err());
        });
    }

    #[test]
    fn of_very_many_computers_only_the_first_may_be_named() {
        with_known(40, |known| {
            let names = field(&known.schema(LIMITS), "on");
            assert_eq!(names.len(), 1 + MOST_COMPUTERS);
        });
    }
}
