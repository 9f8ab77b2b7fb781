//! Tools: what a computer offers, how harmful repeating it is, and what the server knows of a fleet.

use super::ids::ClientId;
use super::schema::Schema;
use super::toolbox::{Tool, Toolbox};
use serde::{Deserialize, Serialize};

/// What repeating a call does (the effect class of the design's word list).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EffectClass {
    /// Changes nothing.
    Read,
    /// Repeating is harmless.
    Idempotent,
    /// Repeating does harm: the handler is entered at most once for one call.
    #[default]
    Effect,
}

impl EffectClass {
    pub fn as_str(self) -> &'static str {
        match self {
            EffectClass::Read => "read",
            EffectClass::Idempotent => "idempotent",
            EffectClass::Effect => "effect",
        }
    }
}

/// Where a tool is in its life (source document 001 §8.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ToolState {
    Draft,
    #[default]
    Active,
    Retired,
}

impl ToolState {
    pub fn as_str(self) -> &'static str {
        match self {
            ToolState::Draft => "draft",
            ToolState::Active => "active",
            ToolState::Retired => "retired",
        }
    }

    /// The state of this name.
    pub fn named(name: &str) -> Option<Self> {
        [ToolState::Draft, ToolState::Active, ToolState::Retired]
            .into_iter()
            .find(|state| state.as_str() == name)
    }
}

/// Whether `name` may name a tool: 1 to 64 of `A-Z a-z 0-9 _ . -` (wire contract).
pub fn is_tool_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'))
}

/// One tool as its computer registered it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ToolSpec {
    /// 1 to 64 of letters, digits, `_`, `.` and `-`.
    #[cfg_attr(test, schemars(regex(pattern = r"^[A-Za-z0-9_.-]{1,64}$")))]
    pub name: String,
    /// What it does, for models and people.
    #[serde(default)]
    pub description: String,
    /// JSON Schema of the args object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        test,
        schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")
    )]
    pub args_schema: Option<Schema>,
    /// The args in plain words, where there is no schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<String>,
    /// The result in plain words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    #[serde(default)]
    pub effect: EffectClass,
    /// How long one call may take, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// A `read` tool of the same computer that tells whether a call of this one happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<String>,
    /// The version of the file that it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_version: Option<String>,
    #[serde(default)]
    pub state: ToolState,
}

impl ToolSpec {
    /// The `tool_rev` of the wire: a short hash of schema, effect class and version. It is opaque to
    /// computers; a call whose `tool_rev` differs from theirs is refused as `tool_changed`.
    pub fn rev(&self) -> String {
        let basis = serde_json::json!([self.args_schema, self.effect, self.tool_version]);
        let hash = blake3::hash(basis.to_string().as_bytes()).to_hex();
        format!("rev_{}", &hash[..16])
    }
}

/// The part of the fleet that a task may see when it decides; journalled with the decision.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct FleetView {
    pub computers: Vec<ComputerView>,
    /// Whether anybody in the fleet has any tool, shown here or not.
    #[serde(default)]
    pub has_tools: bool,
}

/// One computer as a decision sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComputerView {
    pub client_id: ClientId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// `computer`, `turtle`, `pocket` or `command`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    pub online: bool,
    /// Sorted by name. Tools of a computer that is offline stay known.
    pub tools: Toolbox,
    /// Names of tools that it had and has no more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub once_owned: Vec<String>,
}

impl FleetView {
    pub fn computer(&self, client_id: &ClientId) -> Option<&ComputerView> {
        self.computers.iter().find(|c| &c.client_id == client_id)
    }

    pub fn has(&self, client_id: &ClientId) -> bool {
        self.computer(client_id).is_some()
    }
}

impl ComputerView {
    pub fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools.get(name)
    }

    /// Whether it has the tool, or ever had it.
    pub fn ever_owned(&self, name: &str) -> bool {
        self.tool(name).is_some() || self.once_owned.iter().any(|once| once == name)
    }
}

/// Matches a tool name against a pattern in which `*` stands for any characters (also none).
pub fn name_matches(pattern: &str, name: &str) -> bool {
    let Some((first, others)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let (middle, last) = others.rsplit_once('*').unwrap_or(("", others));
    let between = name.strip_prefix(first);
    let Some(mut rest) = between.and_then(|rest| rest.strip_suffix(last)) else {
        return false;
    };
    for piece in middle.split('*') {
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_as_people_expect() {
        for (pattern, name, expected) in [
            ("*", "fs_read", true),
            ("fs_*", "fs_read", true),
            ("fs_*", "shell_exec", false),
            ("fs_read", "fs_read", true),
            ("fs_read", "fs_reader", false),
            ("*_read", "fs_read", true),
            ("f*r*d", "fs_read", true),
            ("ab*ab", "ab", false),
        ] {
            assert_eq!(name_matches(pattern, name), expected, "{pattern} ~ {name}");
        }
    }

    #[test]
    fn a_changed_schema_or_effect_class_changes_the_revision_but_a_description_does_not() {
        let tool: ToolSpec =
            serde_json::from_value(serde_json::json!({"name": "dig", "description": "digs"}))
                .unwrap();
        let reworded = ToolSpec {
            description: "digs a block".into(),
            ..tool.clone()
        };
        let reclassed = ToolSpec {
            effect: EffectClass::Read,
            ..tool.clone()
        };
        assert_eq!(tool.rev(), reworded.rev());
        assert_ne!(tool.rev(), reclassed.rev());
    }
}
