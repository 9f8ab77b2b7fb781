//! The tools of a computer as the server holds them: each tool once in memory, and each set of tools once, however
//! many computers have them.

use super::schema::Schema;
use super::shared::{ContentHash, Shared, content_hash};
use super::tool::{ToolSpec, ToolState};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

/// One tool with what is computed from it. Cheap to clone; equal tools are one in memory.
#[derive(Clone)]
pub struct Tool(Arc<HeldTool>);

struct HeldTool {
    spec: ToolSpec,
    rev: String,
    hash: ContentHash,
    /// What models are told of the arguments.
    told: Option<Schema>,
}

static TOOLS: LazyLock<Shared<HeldTool>> = LazyLock::new(Shared::default);

impl Tool {
    pub fn of(spec: ToolSpec) -> Self {
        let hash = content_hash(&spec);
        Tool(TOOLS.get(hash, || HeldTool {
            rev: spec.rev(),
            told: spec.args_schema.as_ref().map(Schema::told),
            spec,
            hash,
        }))
    }

    /// As [`ToolSpec::rev`], computed once.
    pub fn rev(&self) -> &str {
        &self.0.rev
    }

    /// The schema of the arguments as models are told it: without what the server fills in.
    pub fn told_args(&self) -> Option<&Schema> {
        self.0.told.as_ref()
    }

    /// The same tool in another state.
    pub fn in_state(&self, state: ToolState) -> Self {
        if self.state == state {
            return self.clone();
        }
        Tool::of(ToolSpec {
            state,
            ..self.0.spec.clone()
        })
    }
}

impl Deref for Tool {
    type Target = ToolSpec;

    fn deref(&self) -> &ToolSpec {
        &self.0.spec
    }
}

impl From<ToolSpec> for Tool {
    fn from(spec: ToolSpec) -> Self {
        Tool::of(spec)
    }
}

impl PartialEq for Tool {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.hash == other.0.hash
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.spec.fmt(f)
    }
}

impl Serialize for Tool {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.spec.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Tool {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        ToolSpec::deserialize(deserializer).map(Tool::of)
    }
}

/// A set of tools, sorted by name, each name once. Cheap to clone; equal sets are one in memory.
#[derive(Clone)]
pub struct Toolbox(Arc<Box<[Tool]>>);

static TOOLBOXES: LazyLock<Shared<Box<[Tool]>>> = LazyLock::new(Shared::default);

impl Toolbox {
    fn of(tools: BTreeMap<String, Tool>) -> Self {
        let mut hasher = blake3::Hasher::new();
        tools.values().for_each(|tool| {
            hasher.update(&tool.0.hash);
        });
        let hash = *hasher.finalize().as_bytes();
        Toolbox(TOOLBOXES.get(hash, || tools.into_values().collect()))
    }

    pub fn get(&self, name: &str) -> Option<&Tool> {
        let at = self.0.binary_search_by(|tool| tool.name.as_str().cmp(name));
        at.ok().and_then(|at| self.0.get(at))
    }

    /// The tool of this name, if it may be called.
    pub fn active(&self, name: &str) -> Option<&Tool> {
        self.get(name)
            .filter(|tool| tool.state == ToolState::Active)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|tool| tool.name.as_str())
    }

    /// The set with tools added, or put in the place of those of the same name, and others removed.
    pub fn changed(&self, add: impl IntoIterator<Item = Tool>, remove: &[String]) -> Self {
        let kept = self.0.iter().filter(|tool| !remove.contains(&tool.name));
        kept.cloned().chain(add).collect()
    }

    /// The set with each tool in the state that `state_of` gives it.
    pub fn in_states(&self, state_of: impl Fn(&Tool) -> ToolState) -> Self {
        if self.0.iter().all(|tool| tool.state == state_of(tool)) {
            return self.clone();
        }
        self.0
            .iter()
            .map(|tool| tool.in_state(state_of(tool)))
            .collect()
    }
}

impl Default for Toolbox {
    fn default() -> Self {
        Toolbox::of(BTreeMap::new())
    }
}

impl Deref for Toolbox {
    type Target = [Tool];

    fn deref(&self) -> &[Tool] {
        &self.0
    }
}

impl FromIterator<Tool> for Toolbox {
    /// Of several tools with one name the last counts.
    fn from_iter<I: IntoIterator<Item = Tool>>(tools: I) -> Self {
        let named = |tool: Tool| (tool.name.clone(), tool);
        Toolbox::of(tools.into_iter().map(named).collect())
    }
}

impl FromIterator<ToolSpec> for Toolbox {
    fn from_iter<I: IntoIterator<Item = ToolSpec>>(tools: I) -> Self {
        tools.into_iter().map(Tool::of).collect()
    }
}

impl From<Vec<ToolSpec>> for Toolbox {
    fn from(tools: Vec<ToolSpec>) -> Self {
        tools.into_iter().collect()
    }
}

impl PartialEq for Toolbox {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Toolbox {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter())
    }
}

impl<'de> Deserialize<'de> for Toolbox {
    /// A list, or an object by name as journals of the first version have it.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Tools;
        impl<'de> Visitor<'de> for Tools {
            type Value = Toolbox;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of tools")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Toolbox, A::Error> {
                let mut tools = Vec::new();
                while let Some(tool) = list.next_element::<Tool>()? {
                    tools.push(tool);
                }
                Ok(tools.into_iter().collect())
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Toolbox, A::Error> {
                let mut tools = Vec::new();
                while let Some((_, tool)) = map.next_entry::<String, Tool>()? {
                    tools.push(tool);
                }
                Ok(tools.into_iter().collect())
            }
        }
        deserializer.deserialize_any(Tools)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tools(names: &[&str]) -> Toolbox {
        let spec = |name: &&str| -> ToolSpec {
            serde_json::from_value(json!({"name": name, "args_schema": {"type": "object"}}))
                .unwrap()
        };
        names.iter().map(spec).collect()
    }

    #[test]
    fn equal_sets_and_equal_tools_are_one_in_memory() {
        let (first, second) = (tools(&["dig", "fly"]), tools(&["fly", "dig"]));
        assert!(Arc::ptr_eq(&first.0, &second.0));
        let third = tools(&["dig"]);
        assert!(Arc::ptr_eq(&first[0].0, &third[0].0));
        assert_ne!(first, third);
        let schema = |tools: &Toolbox| tools[0].args_schema.clone().unwrap();
        assert!(schema(&first).is(&schema(&third)));
    }

    #[test]
    fn a_tool_is_found_by_its_name_and_only_an_active_one_may_be_called() {
        let mut set = tools(&["dig", "fly", "swim"]);
        assert_eq!(set.get("fly").unwrap().name, "fly");
        assert!(set.get("crawl").is_none());
        set = set.in_states(|tool| match tool.name.as_str() {
            "fly" => ToolState::Draft,
            _ => ToolState::Active,
        });
        assert!(set.active("fly").is_none() && set.active("dig").is_some());
        assert!(set.get("fly").is_some());
    }

    #[test]
    fn a_change_adds_replaces_and_removes() {
        let set = tools(&["dig", "fly"]);
        let dig = Tool::of(ToolSpec {
            description: "digs".into(),
            ..(*set[0]).clone()
        });
        let changed = set.changed([dig], &["fly".to_owned()]);
        assert_eq!(changed.names().collect::<Vec<_>>(), ["dig"]);
        assert_eq!(changed[0].description, "digs");
    }

    #[test]
    fn a_set_reads_back_from_a_list_and_from_the_object_of_old_journals() {
        let set = tools(&["dig", "fly"]);
        let list = serde_json::to_value(&set).unwrap();
        assert!(list.is_array());
        let named = json!({"dig": list[0], "fly": list[1]});
        for form in [list, named] {
            assert_eq!(serde_json::from_value::<Toolbox>(form).unwrap(), set);
        }
    }
}
