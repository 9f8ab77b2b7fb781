//! Which computer takes a call, or why nobody can (design section 8, "Routing").

use super::index::{Computers, ToolIndex};
use crate::actors::computer::view::{ComputerCell, ComputerState};
use crate::domain::call::{Address, NoRoute, NoRouteReason, Target};
use crate::domain::ids::ClientId;
use crate::domain::schema::Schema;
use serde_json::Value;
use std::sync::Arc;

/// How many computers a reason names.
const NAMED: usize = 4;

/// Below this likeness a name is no guess at what was meant.
const LIKE: f64 = 0.8;

/// Everything that decides where a call goes.
pub struct Wanted<'a> {
    pub target: &'a Target,
    pub home: Option<&'a ClientId>,
    pub tool: &'a str,
    /// None: whoever has the tool takes them.
    pub args: Option<&'a Value>,
    /// Only computers of this owner are there; none: all are.
    pub owner: Option<&'a str>,
    /// Milliseconds since the Unix epoch; read only for the words.
    pub now_ms: fn() -> i64,
}

type Chosen = Result<Arc<ComputerCell>, NoRoute>;

/// The computer that takes the call. One that is named, or is the task's own, takes it also while it is away: the call
/// waits in its lane. Of several owners it is the least busy one that is there and takes these arguments; the name
/// decides between equals, so that the same fleet gives the same answer.
///
/// # Errors
/// Nobody can take it, with the reason.
pub fn choose(index: &ToolIndex, wanted: &Wanted<'_>) -> Chosen {
    match wanted.target {
        Target::Computer(client_id) => match computer(index, client_id, wanted.owner) {
            Some(cell) => owned(index, cell, wanted),
            None => Err(unknown_computer(index, client_id, wanted.owner)),
        },
        Target::Group(group) => match index.members(group) {
            Some(members) => least_busy(&members, wanted, &format!("group \"{group}\"")),
            None => Err(no_route(
                NoRouteReason::UnknownTool,
                format!("no computer ever said that it belongs to group \"{group}\""),
            )),
        },
        Target::Any => {
            let own = wanted.home;
            let own = own.and_then(|home| computer(index, home, wanted.owner));
            match own.filter(|own| own.ever_owned(wanted.tool)) {
                Some(own) => owned(index, own, wanted),
                None => match index.owners(wanted.tool) {
                    Some(owners) => least_busy(&owners, wanted, "the fleet"),
                    None => Err(no_route(
                        NoRouteReason::UnknownTool,
                        format!("no computer in the fleet has a tool \"{}\"", wanted.tool),
                    )),
                },
            }
        }
    }
}

fn computer(
    index: &ToolIndex,
    client_id: &ClientId,
    owner: Option<&str>,
) -> Option<Arc<ComputerCell>> {
    index.computer(client_id).filter(|cell| cell.is_for(owner))
}

fn owned(index: &ToolIndex, cell: Arc<ComputerCell>, wanted: &Wanted<'_>) -> Chosen {
    let tool = wanted.tool;
    let tools = cell.tools();
    if tools.active(tool).is_some() {
        return Ok(cell);
    }
    if tools.get(tool).is_some() {
        return Err(draft(tool, cell.client_id()));
    }
    let who = cell.client_id();
    let had = match cell.ever_owned(tool) {
        true => format!("computer \"{who}\" had a tool \"{tool}\" and has it no more"),
        false => format!("computer \"{who}\" has no tool \"{tool}\""),
    };
    let elsewhere = index.owners(tool).and_then(|owners| {
        let mut others = owners
            .values()
            .filter(|c| c.is_for(wanted.owner) && c.tools().active(tool).is_some());
        let other = others.next()?.client_id().clone();
        let address = Address {
            target: Target::Computer(other),
            tool: tool.to_owned(),
        };
        Some(format!("; another computer has it: \"{address}\""))
    });
    let message = format!("{had}{}", elsewhere.unwrap_or_default());
    Err(no_route(NoRouteReason::UnknownTool, message))
}

/// The least busy of those who have the tool and can take the call now.
fn least_busy(computers: &Computers, wanted: &Wanted<'_>, place: &str) -> Chosen {
    let tool = wanted.tool;
    let mut taste = Taste {
        args: wanted.args,
        last: None,
    };
    let mut best: Option<(usize, &Arc<ComputerCell>)> = None;
    for cell in computers.values() {
        let load = cell.load();
        let better = best.is_none_or(|(least, _)| load < least);
        if !better || !cell.can_take() || !cell.is_for(wanted.owner) {
            continue;
        }
        let tools = cell.tools();
        let Some(found) = tools.active(tool) else {
            continue;
        };
        if !taste.accepts(found.args_schema.as_ref()) {
            continue;
        }
        best = Some((load, cell));
        // Nobody is less busy than one that is idle, and the first by name wins.
        if load == 0 {
            break;
        }
    }
    match best {
        Some((_, cell)) => Ok(cell.clone()),
        None => Err(nobody(computers, wanted, place)),
    }
}

/// Whether schemas take the arguments; computers that follow each other mostly share one.
struct Taste<'a> {
    args: Option<&'a Value>,
    last: Option<(Schema, bool)>,
}

impl Taste<'_> {
    fn accepts(&mut self, schema: Option<&Schema>) -> bool {
        let (Some(schema), Some(args)) = (schema, self.args) else {
            return true;
        };
        match &self.last {
            Some((last, accepts)) if last.is(schema) => *accepts,
            _ => {
                let accepts = schema.accepts(args);
                self.last = Some((schema.clone(), accepts));
                accepts
            }
        }
    }
}

/// Why none of these computers can take the call, and what to do next.
fn nobody(computers: &Computers, wanted: &Wanted<'_>, place: &str) -> NoRoute {
    let tool = wanted.tool;
    let owners: Vec<&Arc<ComputerCell>> = computers
        .values()
        .filter(|cell| cell.is_for(wanted.owner) && cell.tools().get(tool).is_some())
        .collect();
    let Some(first) = owners.first() else {
        let message = format!("no computer in {place} has a tool \"{tool}\"");
        return no_route(NoRouteReason::UnknownTool, message);
    };
    let active: Vec<_> = owners
        .iter()
        .filter(|cell| cell.tools().active(tool).is_some())
        .collect();
    if active.is_empty() {
        return draft(tool, first.client_id());
    }
    let mut taste = Taste {
        args: wanted.args,
        last: None,
    };
    let taking: Vec<&Arc<ComputerCell>> = active
        .into_iter()
        .filter(|cell| {
            let tools = cell.tools();
            let found = tools.active(tool);
            found.is_some_and(|found| taste.accepts(found.args_schema.as_ref()))
        })
        .copied()
        .collect();
    if taking.is_empty() {
        let message = format!(
            "every computer in {place} with a tool \"{tool}\" takes other arguments than these"
        );
        return no_route(NoRouteReason::UnknownTool, message);
    }
    let stopped = taking
        .iter()
        .any(|cell| cell.state() == ComputerState::Stopped);
    let now_ms = (wanted.now_ms)();
    let each: Vec<String> = taking
        .iter()
        .take(NAMED)
        .map(|cell| format!("{} {}", cell.client_id(), cell.whereabouts(now_ms)))
        .collect();
    let more = match taking.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let (reason, next) = match stopped {
        true => (NoRouteReason::Stopped, "resume one (ccfleet fleet resume)"),
        false => (NoRouteReason::Offline, "switch one on, or wait for it"),
    };
    let message = format!("\"{tool}\": {}{more}; {next}", each.join(", "));
    no_route(reason, message)
}

fn unknown_computer(index: &ToolIndex, client_id: &ClientId, owner: Option<&str>) -> NoRoute {
    let like = |cell: &Arc<ComputerCell>| {
        strsim::jaro_winkler(client_id.as_str(), cell.client_id().as_str())
    };
    let known = index.computers();
    let known = known.iter().filter(|cell| cell.is_for(owner));
    let best = known.max_by(|a, b| like(a).total_cmp(&like(b)));
    let guess = best.filter(|cell| like(cell) > LIKE);
    let guess = guess.map(|cell| format!("; did you mean \"{}\"?", cell.client_id()));
    let message = format!(
        "no computer \"{client_id}\" was ever connected{}",
        guess.unwrap_or_default()
    );
    no_route(NoRouteReason::UnknownComputer, message)
}

fn draft(tool: &str, computer: &ClientId) -> NoRoute {
    let message = NoRoute::draft_words(tool, computer);
    no_route(NoRouteReason::ToolDraft, message)
}

fn no_route(reason: NoRouteReason, message: impl Into<String>) -> NoRoute {
    NoRoute {
        reason,
        message: message.into(),
    }
}

#[cfg(test)]
#[path = "choose_tests.rs"]
mod tests;
