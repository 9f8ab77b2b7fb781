//! Which computers have a tool, and which belong to a group, so that routing a bare name visits its owners alone.
//!
//! Written by the registry when a computer becomes known and by the computer's actor when its tools change, each for
//! its own computer only: one that leaves never touches what is written of another.

use super::messages::Registration;
use crate::actors::computer::view::ComputerCell;
use crate::domain::ids::ClientId;
use crate::domain::lifecycle::ToolRecord;
use crate::domain::toolbox::Toolbox;
use dashmap::DashMap;
use dashmap::mapref::one::Ref;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Computers by name: whoever is first in it is first for everybody.
pub type Computers = BTreeMap<ClientId, Arc<ComputerCell>>;

/// The shared books. Cheap to clone.
#[derive(Clone, Default)]
pub struct ToolIndex(Arc<Books>);

#[derive(Default)]
struct Books {
    computers: DashMap<ClientId, Arc<ComputerCell>>,
    /// Also of tools that are drafts, so that whoever asks is told so.
    owners: DashMap<String, Computers>,
    members: DashMap<String, Computers>,
}

impl ToolIndex {
    /// A computer is known from now on, with what it has.
    pub fn enter(&self, cell: &Arc<ComputerCell>) {
        let id = cell.client_id().clone();
        let none = (&[][..], &Toolbox::default());
        if let Some(former) = self.0.computers.insert(id, cell.clone()) {
            let (left, tools) = (former.registration(), former.tools());
            self.moved(cell, (&left.groups, &tools), none);
        }
        let (said, tools) = (cell.registration(), cell.tools());
        self.moved(cell, none, (&said.groups, &tools));
    }

    /// A computer says anew what it is and has.
    pub fn register(&self, cell: &Arc<ComputerCell>, registration: Registration) {
        self.change(cell, |cell| cell.set_registration(registration));
    }

    /// Calls told of tools of a computer.
    pub fn record(&self, cell: &Arc<ComputerCell>, records: Vec<ToolRecord>) {
        self.change(cell, |cell| cell.set_records(records));
    }

    fn change(&self, cell: &Arc<ComputerCell>, change: impl FnOnce(&ComputerCell)) {
        let (before, had) = (cell.registration(), cell.tools());
        change(cell);
        let (after, has) = (cell.registration(), cell.tools());
        self.moved(cell, (&before.groups, &had), (&after.groups, &has));
    }

    fn moved(
        &self,
        cell: &Arc<ComputerCell>,
        (groups_before, tools_before): (&[String], &Toolbox),
        (groups_now, tools_now): (&[String], &Toolbox),
    ) {
        if tools_before != tools_now {
            let gone = tools_before.names().filter(|n| tools_now.get(n).is_none());
            gone.for_each(|name| leave(&self.0.owners, name, cell.client_id()));
            let new = tools_now.names().filter(|n| tools_before.get(n).is_none());
            new.for_each(|name| join(&self.0.owners, name, cell));
        }
        if groups_before != groups_now {
            let gone = groups_before.iter().filter(|g| !groups_now.contains(g));
            gone.for_each(|name| leave(&self.0.members, name, cell.client_id()));
            let new = groups_now.iter().filter(|g| !groups_before.contains(g));
            new.for_each(|name| join(&self.0.members, name, cell));
        }
    }

    pub fn computer(&self, client_id: &ClientId) -> Option<Arc<ComputerCell>> {
        self.0.computers.get(client_id).map(|cell| cell.clone())
    }

    /// The computers that have a tool of this name, active or not.
    pub fn owners(&self, tool: &str) -> Option<Ref<'_, String, Computers>> {
        self.0.owners.get(tool)
    }

    pub fn members(&self, group: &str) -> Option<Ref<'_, String, Computers>> {
        self.0.members.get(group)
    }

    /// Names of tools that somebody has and `wanted` takes, sorted.
    pub fn tool_names(&self, wanted: impl Fn(&str) -> bool) -> Vec<String> {
        let names = self.0.owners.iter().map(|owners| owners.key().clone());
        // Collected first: `wanted` may look into the same map.
        let mut names: Vec<String> = names.collect();
        names.retain(|name| wanted(name));
        names.sort_unstable();
        names
    }

    pub fn has_tools(&self) -> bool {
        !self.0.owners.is_empty()
    }

    /// The same, of one owner's computers.
    pub fn has_tools_of(&self, owner: &str) -> bool {
        let has = |cell: &Arc<ComputerCell>| {
            cell.is_for(Some(owner)) && cell.with_tools(|tools| tools.names().next().is_some())
        };
        self.0.computers.iter().any(|cell| has(&cell))
    }

    /// All computers, by name.
    pub fn computers(&self) -> Vec<Arc<ComputerCell>> {
        let mut all: Vec<_> = self.0.computers.iter().map(|c| c.clone()).collect();
        all.sort_by(|a, b| a.client_id().cmp(b.client_id()));
        all
    }
}

fn join(books: &DashMap<String, Computers>, name: &str, cell: &Arc<ComputerCell>) {
    let id = cell.client_id().clone();
    match books.get_mut(name) {
        Some(mut computers) => {
            computers.insert(id, cell.clone());
        }
        None => {
            let mut computers = books.entry(name.to_owned()).or_default();
            computers.insert(id, cell.clone());
        }
    }
}

fn leave(books: &DashMap<String, Computers>, name: &str, client_id: &ClientId) {
    if let Some(mut computers) = books.get_mut(name) {
        computers.remove(client_id);
    }
    books.remove_if(name, |_, computers| computers.is_empty());
}
