//! Looking tools up in the fleet as a decision sees it.

use crate::strategy::family;

use crate::domain::call::{Address, Target};
use crate::domain::ids::ClientId;
use crate::domain::lifecycle::was_activated_by;
use crate::domain::profile::Profile;
use crate::domain::task::TaskState;
use crate::domain::tool::{ComputerView, FleetView, ToolState, name_matches};
use crate::domain::toolbox::Tool;
use crate::strategy::nap;
use std::collections::BTreeSet;

/// What a task's next move may want of the fleet beside its own computer. What it does not want, its decision does not
/// see, so that the journalled view stays small.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Wants {
    /// Computers that it names; they are seen whole.
    pub computers: Vec<ClientId>,
    /// A group that it names, with the tool.
    pub in_group: Option<(String, String)>,
    tools: Vec<Filter>,
}

#[derive(Debug, Clone, PartialEq)]
enum Filter {
    /// This tool alone.
    Name(String),
    /// What one of these patterns matches.
    Globs(Vec<String>),
}

impl Wants {
    /// Every tool that the task may use.
    pub fn of(state: &TaskState, profile: &Profile, targets: Vec<Address>) -> Self {
        let mut wants = Wants::default();
        wants
            .tools
            .push(Filter::Globs(profile.allowed_tools.clone()));
        let created = state.created.as_ref();
        wants.tools.extend(
            created
                .and_then(|c| c.allowed_commands.clone())
                .map(Filter::Globs),
        );
        if let Some(direct) = created.and_then(|c| c.call.as_ref())
            && let Ok(address) = Address::parse(&direct.command)
        {
            wants.tools.push(Filter::Name(address.tool));
        }
        for address in targets {
            match address.target {
                Target::Computer(id) if Some(&id) != state.home() => wants.computers.push(id),
                Target::Group(group) => wants.in_group = Some((group, address.tool)),
                Target::Computer(_) | Target::Any => {}
            }
        }
        wants
    }

    /// The only tool that is wanted, if there is one alone.
    pub fn one_tool(&self) -> Option<&str> {
        self.tools.iter().find_map(|filter| match filter {
            Filter::Name(name) => Some(name.as_str()),
            Filter::Globs(_) => None,
        })
    }

    pub fn takes(&self, tool: &str) -> bool {
        self.tools.iter().all(|filter| match filter {
            Filter::Name(name) => name == tool,
            Filter::Globs(globs) => globs.iter().any(|glob| name_matches(glob, tool)),
        })
    }
}

/// Words of a task's text that may be computers.
const MOST_WORDS: usize = 500;

/// What a text may mean with computers: most of its words are none, and no such computer was ever seen.
pub fn computers_in(text: &str) -> BTreeSet<ClientId> {
    let is_apart = |c: char| {
        c.is_whitespace() || matches!(c, ',' | ';' | '"' | '\'' | '`' | '(' | ')' | '?' | '!')
    };
    let words = text
        .split(is_apart)
        .map(|word| word.trim_end_matches(['.', ':']));
    let words = words.filter(|word| word.len() <= 64).take(MOST_WORDS);
    words
        .filter_map(|word| ClientId::parse(word).ok())
        .collect()
}

/// The computers that the task's text may name. Most words are none; those are left out of the view.
pub fn named_in_task(state: &TaskState) -> Vec<Address> {
    let created = state.created.as_ref();
    let text = created.map_or("", |created| created.prompt.as_str());
    let address = |id| Address {
        target: Target::Computer(id),
        tool: String::new(),
    };
    computers_in(text).into_iter().map(address).collect()
}

/// The tools that a task can reach from where it stands.
pub struct ToolLookup<'a> {
    state: &'a TaskState,
    fleet: &'a FleetView,
    place: Place<'a>,
}

/// Where a call may go.
enum Place<'a> {
    /// Nothing is said: the task's own computer, or whoever has what that one never had.
    Own,
    On(&'a ClientId),
    Group(&'a str),
}

/// What is known of a tool name.
pub enum Found<'a> {
    /// Who has it; at least one.
    Tools(Vec<Owner<'a>>),
    /// It is there, but only as a draft.
    Draft(&'a ClientId),
    /// No computer that is meant has it; perhaps another one.
    Unknown { elsewhere: Option<&'a ClientId> },
    /// A computer is named that was never seen.
    NoComputer(&'a ClientId),
    /// The task's own computer was never seen, or has shown no tools yet: nobody can tell.
    CannotTell,
}

/// A tool and the computer that has it.
#[derive(Clone, Copy)]
pub struct Owner<'a> {
    pub computer: &'a ComputerView,
    pub tool: &'a Tool,
}

impl<'a> ToolLookup<'a> {
    /// `on`: another computer that the directive names.
    pub fn new(state: &'a TaskState, fleet: &'a FleetView, on: Option<&'a ClientId>) -> Self {
        ToolLookup {
            state,
            fleet,
            place: on.map_or(Place::Own, Place::On),
        }
    }

    /// From the place that an address names.
    pub fn at(state: &'a TaskState, fleet: &'a FleetView, target: &'a Target) -> Self {
        let place = match target {
            Target::Any => Place::Own,
            Target::Computer(id) => Place::On(id),
            Target::Group(name) => Place::Group(name),
        };
        ToolLookup {
            state,
            fleet,
            place,
        }
    }

    fn home(&self) -> Option<&'a ComputerView> {
        self.state.home().and_then(|home| self.fleet.computer(home))
    }

    /// Whether a call of this name without further address may go to this computer. One that the task's own computer
    /// ever had never leaves it.
    fn reaches(&self, computer: &ComputerView, name: &str) -> bool {
        match self.place {
            Place::On(id) => computer.client_id == *id,
            Place::Group(group) => computer.groups.iter().any(|g| g == group),
            Place::Own => match self.home() {
                Some(home) if home.ever_owned(name) => computer.client_id == home.client_id,
                Some(_) => true,
                None => self.state.home().is_none(),
            },
        }
    }

    /// Everybody whom a call of this name may go to, active or not.
    fn owners(&self, name: &str) -> impl Iterator<Item = Owner<'a>> {
        let computers = self.fleet.computers.iter();
        computers
            .filter(move |computer| self.reaches(computer, name))
            .filter_map(move |computer| {
                let tool = computer.tool(name)?;
                Some(Owner { computer, tool })
            })
    }

    pub fn find(&self, name: &str) -> Found<'a> {
        if let Some(pseudo) = self.pseudo().find(|owner| owner.tool.name == name) {
            return Found::Tools(vec![pseudo]);
        }
        if let Place::On(on) = self.place
            && !self.fleet.has(on)
        {
            return Found::NoComputer(on);
        }
        let (active, others): (Vec<Owner<'_>>, Vec<Owner<'_>>) = self
            .owners(name)
            .partition(|owner| owner.tool.state == ToolState::Active);
        if !active.is_empty() {
            return Found::Tools(active);
        }
        let draft = others.iter().find(|o| o.tool.state == ToolState::Draft);
        if let Some(owner) = draft {
            return Found::Draft(&owner.computer.client_id);
        }
        if self.cannot_tell() {
            return Found::CannotTell;
        }
        let elsewhere = self.fleet.computers.iter().find(|computer| {
            let tool = computer.tool(name);
            tool.is_some_and(|tool| tool.state == ToolState::Active)
        });
        Found::Unknown {
            elsewhere: elsewhere.map(|computer| &computer.client_id),
        }
    }

    /// The tools that no computer has; they are called without an address.
    fn pseudo(&self) -> impl Iterator<Item = Owner<'a>> + use<'a> {
        let is_own = match self.place {
            Place::Own => true,
            Place::On(id) => self.state.home() == Some(id),
            Place::Group(_) => false,
        };
        let tools = [family::tool(self.state), nap::tool(self.state)];
        tools.into_iter().flatten().filter(move |_| is_own)
    }

    /// Whether those who would know have shown no tools: one that is connected may still be about to.
    pub fn cannot_tell(&self) -> bool {
        let silent =
            |computer: &ComputerView| computer.tools.is_empty() && computer.once_owned.is_empty();
        match (&self.place, self.state.home()) {
            (Place::On(id), _) => self.fleet.computer(id).is_none_or(silent),
            (Place::Own, Some(_)) => self.home().is_none_or(silent),
            (Place::Own, None) => !self.fleet.has_tools && self.fleet.computers.iter().all(silent),
            (Place::Group(_), _) => false,
        }
    }

    /// Whether the task's own computer has never been seen.
    pub fn home_is_unseen(&self) -> bool {
        self.state.home().is_some_and(|home| !self.fleet.has(home))
    }

    pub fn has(&self, name: &str) -> bool {
        matches!(self.find(name), Found::Tools(_))
    }

    /// The active tools that the task may use, by name, each once.
    pub fn usable(&self, profile: &Profile) -> Vec<&'a Tool> {
        // First, so that it stands for a computer's tool of the same name.
        let mut owners: Vec<Owner<'a>> = self.pseudo().collect();
        for computer in &self.fleet.computers {
            let tools = computer.tools.iter().filter(|tool| {
                tool.state == ToolState::Active && self.reaches(computer, &tool.name)
            });
            owners.extend(tools.map(|tool| Owner { computer, tool }));
        }
        owners.retain(|owner| is_allowed(self.state, profile, owner));
        let mut tools: Vec<&Tool> = owners.into_iter().map(|owner| owner.tool).collect();
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        tools.dedup_by(|a, b| a.name == b.name);
        tools
    }
}

/// Whether the task may use a tool there: its name is allowed, or the task activated it itself.
pub fn is_allowed(state: &TaskState, profile: &Profile, owner: &Owner<'_>) -> bool {
    is_allowed_name(state, profile, &owner.tool.name)
        || was_activated_by(state, &owner.computer.client_id, owner.tool)
}

/// Whether the task may use tools of this name: its kind allows it, and so does its creator if they said anything.
pub fn is_allowed_name(state: &TaskState, profile: &Profile, tool: &str) -> bool {
    let matches = |patterns: &[String]| patterns.iter().any(|p| name_matches(p, tool));
    let asked = state
        .created
        .as_ref()
        .and_then(|c| c.allowed_commands.as_deref());
    matches(&profile.allowed_tools) && asked.is_none_or(matches)
}

#[cfg(test)]
#[path = "fleet_tests.rs"]
mod tests;
