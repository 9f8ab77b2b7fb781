//! The tools of the fleet as MCP tools, and the way from a name back to a tool.

use super::names::{Name, Part, name_of};
use crate::domain::access::Principal;
use crate::domain::call::{Address, Target};
use crate::domain::ids::ClientId;
use crate::domain::tool::{EffectClass, ToolState};
use crate::domain::toolbox::Tool;
use crate::http::ComputerBody;
use crate::http::tools::{ToolBody, by_tool};
use rmcp::model::{JsonObject, Tool as McpTool, ToolAnnotations};
use serde_json::{Value, json};
use std::fmt::Write;

/// The argument that makes a call safe to repeat.
pub(super) const KEY: &str = "idempotency_key";
/// The argument that chooses one of several computers.
pub(super) const ON: &str = "on_computer";
/// What both are called in `_meta`, where a tool's own arguments can never be in the way.
pub(super) const META: &str = "ccfleet/";

/// How many owners a description names.
const MOST_NAMED: usize = 12;

/// Every tool that may be called, by its MCP name. One that is the same on all its computers stands once, under its own
/// name; where computers have different ones under one name, each stands under its computer's.
pub(super) fn offered(computers: &[ComputerBody], caller: &Principal) -> Vec<McpTool> {
    let mut tools = by_tool(computers);
    tools.retain(|body| body.tool.state == ToolState::Active && caller.may_call(&body.tool.name));
    let mut offered = Vec::new();
    for same_name in tools.chunk_by(|a, b| a.tool.name == b.tool.name) {
        match same_name {
            [one] => offered.push(mcp_tool(one, None)),
            several => {
                for body in several {
                    let owners = body.owners.iter();
                    offered.extend(owners.map(|owner| mcp_tool(body, Some(&owner.client_id))));
                }
            }
        }
    }
    offered
}

fn mcp_tool(body: &ToolBody, on: Option<&ClientId>) -> McpTool {
    let name = name_of(on.map(ClientId::as_str), &body.tool.name);
    let title = match on {
        Some(on) => format!("{} on {on}", body.tool.name),
        None => body.tool.name.clone(),
    };
    let schema = input_schema(&body.tool, &reserved(body, on));
    McpTool::new(name, description(body, on), schema)
        .with_title(title)
        .with_annotations(hints(body.tool.effect))
}

/// What the effect class means in the words of MCP. What only repeating is harmless of may still overwrite.
pub(super) fn hints(effect: EffectClass) -> ToolAnnotations {
    ToolAnnotations::new()
        .read_only(effect == EffectClass::Read)
        .destructive(effect != EffectClass::Read)
        .idempotent(effect != EffectClass::Effect)
}

fn description(body: &ToolBody, on: Option<&ClientId>) -> String {
    let tool = &body.tool;
    let mut text = tool.description.clone();
    for (what, words) in [("Arguments", &tool.args), ("Result", &tool.result)] {
        if let Some(words) = words {
            let _ = write!(text, "\n{what}: {words}");
        }
    }
    let owners = body.owners.iter();
    let owners: Vec<String> = owners
        .filter(|owner| on.is_none_or(|on| *on == owner.client_id))
        .map(|owner| {
            let state = if owner.online { "online" } else { "offline" };
            format!("{} ({state})", owner.client_id)
        })
        .collect();
    let shown = owners.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>();
    let _ = write!(text, "\nComputers: {}", shown.join(", "));
    if owners.len() > MOST_NAMED {
        let _ = write!(text, " and {} more", owners.len() - MOST_NAMED);
    }
    text
}

/// The arguments beside the tool's own.
fn reserved(body: &ToolBody, on: Option<&ClientId>) -> Vec<(&'static str, Value)> {
    let mut reserved = Vec::new();
    if body.tool.effect == EffectClass::Effect {
        let words = "Any text of up to 200 bytes, new for each thing that shall happen. The same call under the same \
                     key happens once: to repeat a call whose answer was lost, send the same key.";
        reserved.push((KEY, json!({"type": "string", "description": words})));
    }
    if on.is_none() && body.owners.len() > 1 {
        let words = "The computer that shall do it, or \"group:NAME\" for any one of a group. Without it the least \
                     busy one.";
        reserved.push((ON, json!({"type": "string", "description": words})));
    }
    reserved
}

/// The tool's schema with the reserved arguments. Lua cannot tell an empty object from an empty list, and MCP wants an
/// object at the top.
fn input_schema(tool: &Tool, reserved: &[(&'static str, Value)]) -> JsonObject {
    let own = tool
        .args_schema
        .as_ref()
        .and_then(|s| s.as_object().cloned());
    let mut schema = own.unwrap_or_default();
    schema.insert("type".to_owned(), json!("object"));
    let properties = schema.remove("properties");
    let mut properties = match properties {
        Some(Value::Object(properties)) => properties,
        _ => JsonObject::new(),
    };
    for (name, value) in reserved {
        properties.entry(*name).or_insert_with(|| value.clone());
    }
    schema.insert("properties".to_owned(), Value::Object(properties));
    schema
}

/// What a request's name stands for.
#[derive(Debug, PartialEq)]
pub(super) struct Meant {
    pub(super) tool: String,
    /// None = any one that has it.
    pub(super) computer: Option<ClientId>,
    /// Reserved names that the tool has as arguments of its own.
    pub(super) own: Vec<&'static str>,
}

/// Finds the tool of a name; none if nobody ever had it.
pub(super) fn meant(name: &Name, computers: &[ComputerBody]) -> Option<Meant> {
    let candidates = computers
        .iter()
        .filter(|body| match &name.computer {
            Some(part) => part.means(body.client_id.as_str()),
            None => true,
        })
        .flat_map(|body| body.tools.iter().map(move |tool| (body, tool)));
    let named: Vec<(&ComputerBody, &Tool)> = match &name.tool {
        Part::Plain(plain) => candidates.filter(|(_, t)| t.name == *plain).collect(),
        hashed @ Part::Hashed(_) => candidates.filter(|(_, t)| hashed.means(&t.name)).collect(),
    };
    let (computer, tool) = named.first()?;
    let has = |argument: &str| {
        named.iter().any(|(_, tool)| {
            let schema = tool.args_schema.as_deref();
            schema.is_some_and(|schema| schema["properties"].get(argument).is_some())
        })
    };
    Some(Meant {
        tool: tool.name.clone(),
        computer: name.computer.as_ref().map(|_| computer.client_id.clone()),
        own: [KEY, ON].into_iter().filter(|name| has(name)).collect(),
    })
}

impl Meant {
    /// Where the call goes, with the reserved arguments taken out of the tool's.
    ///
    /// # Errors
    /// In words, what is wrong with a reserved argument.
    pub(super) fn aimed(
        self,
        arguments: &mut JsonObject,
        meta: &JsonObject,
    ) -> Result<Aimed, String> {
        let key = self.reserved(KEY, arguments, meta)?;
        let on = match self.computer {
            Some(_) => None,
            None => self.reserved(ON, arguments, meta)?,
        };
        let target = match (self.computer, on) {
            (Some(computer), _) => Target::Computer(computer),
            (None, None) => Target::Any,
            (None, Some(on)) => match on.strip_prefix("group:") {
                Some(group) if !group.is_empty() => Target::Group(group.to_owned()),
                _ => Target::Computer(
                    ClientId::parse(&on).map_err(|error| format!("`{ON}`: {error}"))?,
                ),
            },
        };
        let tool = self.tool;
        Ok(Aimed {
            address: Address { target, tool },
            idempotency_key: key,
        })
    }

    fn reserved(
        &self,
        name: &'static str,
        arguments: &mut JsonObject,
        meta: &JsonObject,
    ) -> Result<Option<String>, String> {
        let argument = match self.own.contains(&name) {
            true => None,
            false => arguments.remove(name),
        };
        let value = meta.get(&format!("{META}{name}")).cloned().or(argument);
        match value {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(format!("`{name}` is a text")),
        }
    }
}

/// A call with its place.
#[derive(Debug, PartialEq)]
pub(super) struct Aimed {
    pub(super) address: Address,
    pub(super) idempotency_key: Option<String>,
}

#[cfg(test)]
#[path = "catalog_tests.rs"]
mod tests;
