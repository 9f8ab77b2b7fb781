//! Looking tools up in the fleet as a decision sees it.

use crate::domain::ids::ClientId;
use crate::domain::profile::Profile;
use crate::domain::task::TaskState;
use crate::domain::tool::{ComputerView, FleetView, ToolSpec, ToolState, name_matches};

/// The tools that a task can reach from where it stands.
pub struct ToolLookup<'a> {
    fleet: &'a FleetView,
    home: Option<&'a ClientId>,
    /// Another computer that the directive names.
    on: Option<&'a ClientId>,
}

/// What is known of a tool name.
pub enum Found<'a> {
    Tool(&'a ToolSpec),
    /// No computer that is meant has it.
    Unknown,
    /// The directive names a computer that was never seen.
    NoComputer(&'a ClientId),
    /// The task's own computer was never seen, or has shown no tools yet: nobody can tell.
    CannotTell,
}

impl<'a> ToolLookup<'a> {
    pub fn new(state: &'a TaskState, fleet: &'a FleetView, on: Option<&'a ClientId>) -> Self {
        ToolLookup {
            fleet,
            home: state.home(),
            on,
        }
    }

    /// The computers that a call without further address may go to.
    fn candidates(&self) -> impl Iterator<Item = &'a ComputerView> {
        let place = self.on.or(self.home);
        self.fleet
            .computers
            .iter()
            .filter(move |c| place.is_none_or(|id| &c.client_id == id))
    }

    pub fn find(&self, name: &str) -> Found<'a> {
        if let Some(on) = self.on.filter(|on| !self.fleet.has(on)) {
            return Found::NoComputer(on);
        }
        let mut seen = false;
        for computer in self.candidates() {
            if let Some(tool) = computer.tool(name).filter(|t| t.state == ToolState::Active) {
                return Found::Tool(tool);
            }
            // One that is connected may still be about to register its tools.
            seen |= !computer.tools.is_empty();
        }
        if seen {
            Found::Unknown
        } else {
            Found::CannotTell
        }
    }

    /// Whether the task's own computer has never been seen.
    pub fn home_is_unseen(&self) -> bool {
        self.home.is_some_and(|home| !self.fleet.has(home))
    }

    pub fn has(&self, name: &str) -> bool {
        matches!(self.find(name), Found::Tool(_))
    }

    /// All active tools by name, each once.
    pub fn all(&self) -> Vec<&'a ToolSpec> {
        let mut tools: Vec<&ToolSpec> = self
            .candidates()
            .flat_map(|c| &c.tools)
            .filter(|t| t.state == ToolState::Active)
            .collect();
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        tools.dedup_by(|a, b| a.name == b.name);
        tools
    }
}

/// Whether the task may use a tool: its kind allows it, and so does its creator if they said anything.
pub fn is_allowed(state: &TaskState, profile: &Profile, tool: &str) -> bool {
    let matches = |patterns: &[String]| patterns.iter().any(|p| name_matches(p, tool));
    let asked = state
        .created
        .as_ref()
        .and_then(|c| c.allowed_commands.as_deref());
    matches(&profile.allowed_tools) && asked.is_none_or(matches)
}
