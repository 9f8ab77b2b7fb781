//! The shared map of computers: read by everybody, written by the registry alone.
//!
//! Looking a computer up here saves a hop through the registry on the path of every call.

use super::choose::{Wanted, choose};
use super::index::ToolIndex;
pub use super::ports::{NoticePort, Port};
use crate::actors::computer::messages::{
    AdoptCall, CancelCall, Dispatch, OutcomeStored, PlaceCall, QuestionNotice, ShowQueue, ToolsTold,
};
use crate::actors::computer::now_ms;
use crate::actors::computer::view::{ComputerCell, ComputerStatus};
use crate::actors::shards::Shards;
use crate::domain::call::{NoRoute, NoRouteReason, Target};
use crate::domain::ids::ClientId;
use crate::domain::tool::{ComputerView, FleetView};
use crate::domain::toolbox::{Tool, Toolbox};
use crate::strategy::fleet::Wants;
use actix::prelude::Recipient;
use dashmap::DashMap;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

/// How many computers a decision sees beside the task's own and those that it names.
const MAX_OTHERS: usize = 32;
/// How many tools of others it sees.
const MAX_TOOLS: usize = 128;
/// How many owners of a tool are looked at to find different ones.
const LOOKED_AT: usize = 64;
/// How many different tools of one name a decision sees.
const MAX_DIFFERENT: usize = 4;

/// A computer's lane, as tasks use it. Cheap to clone.
#[derive(Clone)]
pub struct Lane(Arc<LaneParts>);

/// What can be sent to a lane.
pub struct LaneParts {
    pub client_id: ClientId,
    pub place: Port<PlaceCall>,
    pub adopt: Port<AdoptCall>,
    pub dispatch: Port<Dispatch>,
    pub stored: Port<OutcomeStored>,
    pub cancel: Port<CancelCall>,
    pub notice: NoticePort,
    pub question: Recipient<QuestionNotice>,
    pub queue: Recipient<ShowQueue>,
    pub tools: Recipient<ToolsTold>,
    pub view: Arc<ComputerCell>,
}

impl Lane {
    pub fn new(parts: LaneParts) -> Self {
        Lane(Arc::new(parts))
    }

    /// Reserves a turn, and lets everybody who routes see it at once.
    ///
    /// # Errors
    /// The lane has too much to do.
    pub fn try_place(&self, call: PlaceCall) -> Result<(), NoRoute> {
        self.view.promise();
        self.place.try_send(call).map_err(|_| {
            self.view.promise_kept();
            NoRoute {
                reason: NoRouteReason::Busy,
                message: format!("{} has too much to do; try again later", self.client_id),
            }
        })
    }
}

impl Deref for Lane {
    type Target = LaneParts;

    fn deref(&self) -> &LaneParts {
        &self.0
    }
}

/// Finds computers and routes calls. Cheap to clone.
#[derive(Clone, Default)]
pub struct Router {
    lanes: Arc<DashMap<ClientId, Lane>>,
    index: ToolIndex,
    shards: Shards,
    /// Only the computers of this owner are there.
    owner: Option<Arc<str>>,
}

impl Router {
    /// The same for a task that may use the computers of this owner alone; none = all computers.
    pub fn of_owner(&self, owner: Option<&str>) -> Self {
        Router {
            owner: owner.map(Arc::from),
            ..self.clone()
        }
    }

    fn owner(&self) -> Option<&str> {
        self.owner.as_deref()
    }

    /// A computer that is there for this owner.
    fn computer(&self, client_id: &ClientId) -> Option<Arc<ComputerCell>> {
        let cell = self.index.computer(client_id);
        cell.filter(|cell| cell.is_for(self.owner()))
    }

    /// For computers that are divided among these threads.
    pub fn over(shards: Shards) -> Self {
        Router {
            shards,
            ..Router::default()
        }
    }

    /// The threads among which computers are divided.
    pub fn shards(&self) -> &Shards {
        &self.shards
    }

    /// Only the registry writes.
    pub(in crate::actors) fn insert(&self, lane: Lane) {
        let view = lane.view.clone();
        self.lanes.insert(lane.client_id.clone(), lane);
        self.index.enter(&view);
    }

    /// Which computers have which tools; computers write there what they themselves have.
    pub fn index(&self) -> &ToolIndex {
        &self.index
    }

    /// The lane of a computer that is known, online or not.
    pub fn lane(&self, client_id: &ClientId) -> Option<Lane> {
        self.lanes.get(client_id).map(|lane| lane.clone())
    }

    /// As [`Router::route_call`], for a call whose arguments every owner takes.
    ///
    /// # Errors
    /// Nobody can take it, with the reason.
    pub fn route(
        &self,
        target: &Target,
        home: Option<&ClientId>,
        tool: &str,
    ) -> Result<Lane, NoRoute> {
        self.route_call(target, home, tool, None)
    }

    /// Where a call goes, as `choose` says: of several owners to one whose schema takes `args`.
    ///
    /// # Errors
    /// Nobody can take it, with the reason.
    pub fn route_call(
        &self,
        target: &Target,
        home: Option<&ClientId>,
        tool: &str,
        args: Option<&Value>,
    ) -> Result<Lane, NoRoute> {
        // Mostly a task's own computer has what it wants; `choose` would say the same.
        if let (Target::Any, Some(home)) = (target, home)
            && let Some(own) = self.lanes.get(home)
            && own.view.has_active(tool)
            && own.view.is_for(self.owner())
        {
            return Ok(own.clone());
        }
        let wanted = Wanted {
            target,
            home,
            tool,
            args,
            owner: self.owner(),
            now_ms,
        };
        let chosen = choose(&self.index, &wanted)?;
        self.lane(chosen.client_id()).ok_or_else(|| NoRoute {
            reason: NoRouteReason::UnknownComputer,
            message: format!("computer \"{}\" is not known any more", chosen.client_id()),
        })
    }

    /// What a task may see of the fleet when it decides: its own computer and those that it names, whole; of others the
    /// tools that it may want there, one computer for each different one.
    pub fn fleet_view(&self, home: Option<&ClientId>, wants: &Wants) -> FleetView {
        let own = home.and_then(|home| self.computer(home));
        let named = wants.computers.iter().filter_map(|id| self.computer(id));
        let whole: BTreeMap<ClientId, Arc<ComputerCell>> = own
            .iter()
            .cloned()
            .chain(named)
            .map(|cell| (cell.client_id().clone(), cell))
            .collect();
        let mut others = Others::default();
        if let Some((group, tool)) = &wants.in_group
            && let Some(members) = self.index.members(group)
        {
            others.take_different(self.own(members.values()), tool);
        }
        // A tool that its own computer ever had never leaves it; for one alone that a named computer has, nobody else
        // is needed.
        let elsewhere = |tool: &str| {
            let stays = own.as_ref().is_some_and(|own| own.ever_owned(tool));
            let has = |cell: &Arc<ComputerCell>| cell.tools().active(tool).is_some();
            let found = wants.one_tool().is_some() && whole.values().any(has);
            !stays && !found
        };
        for tool in self.names(wants, elsewhere) {
            if let Some(owners) = self.index.owners(&tool) {
                others.take_different(self.own(owners.values()), &tool);
            }
        }
        let mut computers: Vec<ComputerView> = whole.values().map(|cell| cell.view()).collect();
        let others = others
            .0
            .into_iter()
            .filter(|(id, _)| !whole.contains_key(id));
        computers.extend(others.map(|(_, (cell, tools))| ComputerView {
            tools: tools.into_iter().collect::<Toolbox>(),
            once_owned: Vec::new(),
            ..cell.view()
        }));
        computers.sort_by(|a, b| a.client_id.cmp(&b.client_id));
        FleetView {
            computers,
            has_tools: match self.owner() {
                None => self.index.has_tools(),
                Some(owner) => self.index.has_tools_of(owner),
            },
        }
    }

    fn own<'a>(
        &'a self,
        cells: impl Iterator<Item = &'a Arc<ComputerCell>>,
    ) -> impl Iterator<Item = &'a Arc<ComputerCell>> {
        cells.filter(|cell| cell.is_for(self.owner()))
    }

    /// The tools that a decision may want from others.
    fn names(&self, wants: &Wants, elsewhere: impl Fn(&str) -> bool) -> Vec<String> {
        match wants.one_tool() {
            Some(tool) => Vec::from_iter(elsewhere(tool).then(|| tool.to_owned())),
            None => {
                let own = |tool: &str| match (self.owner(), self.index.owners(tool)) {
                    (Some(_), Some(owners)) => self.own(owners.values()).next().is_some(),
                    (owner, _) => owner.is_none(),
                };
                let wanted = |tool: &str| wants.takes(tool) && elsewhere(tool) && own(tool);
                let mut names = self.index.tool_names(wanted);
                names.truncate(MAX_TOOLS);
                names
            }
        }
    }

    /// All computers that are known, by name.
    pub fn computers(&self) -> Vec<ComputerStatus> {
        let all = self.index.computers();
        all.iter().map(|cell| cell.status()).collect()
    }
}

/// Parts of computers that a decision sees.
#[derive(Default)]
struct Others(BTreeMap<ClientId, (Arc<ComputerCell>, Vec<Tool>)>);

impl Others {
    /// Takes one owner of each different tool of this name; of equal ones the first that can take a call.
    fn take_different<'a>(
        &mut self,
        owners: impl Iterator<Item = &'a Arc<ComputerCell>>,
        name: &str,
    ) {
        let mut found: Vec<(Tool, Arc<ComputerCell>)> = Vec::new();
        for cell in owners.take(LOOKED_AT) {
            let tools = cell.tools();
            let Some(tool) = tools.get(name) else {
                continue;
            };
            let full = found.len() >= MAX_DIFFERENT;
            match found.iter_mut().find(|(other, _)| other == tool) {
                Some((_, taken)) if !taken.can_take() && cell.can_take() => *taken = cell.clone(),
                Some(_) => {}
                None if full => {}
                None => found.push((tool.clone(), cell.clone())),
            }
        }
        for (tool, cell) in found {
            let id = cell.client_id().clone();
            if self.0.len() < MAX_OTHERS || self.0.contains_key(&id) {
                self.0.entry(id).or_insert((cell, Vec::new())).1.push(tool);
            }
        }
    }
}

#[cfg(test)]
#[path = "router_tests.rs"]
mod tests;
