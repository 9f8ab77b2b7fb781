//! The shared map of computers: read by everybody, written by the registry alone.
//!
//! Looking a computer up here saves a hop through the registry on the path of every call.

use crate::actors::computer::messages::{
    AdoptCall, CancelCall, Dispatch, OutcomeStored, PlaceCall, QuestionNotice, ShowQueue,
    TaskNotice,
};
use crate::actors::computer::view::{ComputerCell, ComputerStatus};
use crate::domain::call::{NoRoute, NoRouteReason, Target};
use crate::domain::ids::ClientId;
use crate::domain::tool::{FleetView, ToolState};
use actix::Recipient;
use dashmap::DashMap;
use std::ops::Deref;
use std::sync::Arc;

/// How many computers a task without one of its own sees when it decides.
const MAX_FLEET_VIEW: usize = 64;

/// A computer's lane, as tasks use it. Cheap to clone.
#[derive(Clone)]
pub struct Lane(Arc<LaneParts>);

/// What can be sent to a lane.
pub struct LaneParts {
    pub client_id: ClientId,
    pub place: Recipient<PlaceCall>,
    pub adopt: Recipient<AdoptCall>,
    pub dispatch: Recipient<Dispatch>,
    pub stored: Recipient<OutcomeStored>,
    pub cancel: Recipient<CancelCall>,
    pub notice: Recipient<TaskNotice>,
    pub question: Recipient<QuestionNotice>,
    pub queue: Recipient<ShowQueue>,
    pub view: Arc<ComputerCell>,
}

impl Lane {
    pub fn new(parts: LaneParts) -> Self {
        Lane(Arc::new(parts))
    }

    fn has(&self, tool: &str) -> bool {
        let registration = self.view.registration();
        let spec = registration.tools.get(tool);
        spec.is_some_and(|spec| spec.state == ToolState::Active)
    }

    fn ever_had(&self, tool: &str) -> bool {
        self.view.registration().once_owned.contains(tool)
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
}

impl Router {
    /// Only the registry writes.
    pub(in crate::actors) fn insert(&self, lane: Lane) {
        self.lanes.insert(lane.client_id.clone(), lane);
    }

    /// The lane of a computer that is known, online or not.
    pub fn lane(&self, client_id: &ClientId) -> Option<Lane> {
        self.lanes.get(client_id).map(|lane| lane.clone())
    }

    /// Where a call goes (design section 8, "Routing"). A computer that is named, or is the task's own, takes
    /// the call also while it is offline: the call waits in its lane.
    ///
    /// # Errors
    /// Nobody can take it, with the reason.
    pub fn route(
        &self,
        target: &Target,
        home: Option<&ClientId>,
        tool: &str,
    ) -> Result<Lane, NoRoute> {
        match target {
            Target::Computer(client_id) => self.named(client_id, tool),
            Target::Group(group) => {
                let member = |lane: &Lane| lane.view.registration().groups.contains(group);
                self.least_busy(tool, member, &format!("group \"{group}\""))
            }
            Target::Any => {
                // A bare name never leaves a computer that ever owned the tool.
                let own = home.and_then(|home| self.lane(home));
                match own.filter(|lane| lane.ever_had(tool)) {
                    Some(lane) => self.owned(lane, tool),
                    None => self.least_busy(tool, |_| true, "the fleet"),
                }
            }
        }
    }

    fn named(&self, client_id: &ClientId, tool: &str) -> Result<Lane, NoRoute> {
        let lane = self.lane(client_id).ok_or_else(|| NoRoute {
            reason: NoRouteReason::UnknownComputer,
            message: format!("no computer \"{client_id}\" was ever connected"),
        })?;
        self.owned(lane, tool)
    }

    fn owned(&self, lane: Lane, tool: &str) -> Result<Lane, NoRoute> {
        if lane.has(tool) {
            return Ok(lane);
        }
        let message = format!("computer \"{}\" has no tool \"{tool}\" now", lane.client_id);
        Err(NoRoute {
            reason: NoRouteReason::UnknownTool,
            message,
        })
    }

    fn least_busy(
        &self,
        tool: &str,
        wanted: impl Fn(&Lane) -> bool,
        place: &str,
    ) -> Result<Lane, NoRoute> {
        let mut owners: Vec<Lane> = self
            .lanes
            .iter()
            .map(|entry| entry.value().clone())
            .filter(|lane| lane.has(tool) && wanted(lane))
            .collect();
        if owners.is_empty() {
            return Err(NoRoute {
                reason: NoRouteReason::UnknownTool,
                message: format!("nobody in {place} has a tool \"{tool}\""),
            });
        }
        owners.retain(|lane| lane.view.is_online());
        // The name decides between equals, so that the same fleet gives the same answer.
        let best = owners
            .into_iter()
            .min_by(|a, b| (a.view.load(), &a.client_id).cmp(&(b.view.load(), &b.client_id)));
        best.ok_or_else(|| NoRoute {
            reason: NoRouteReason::Offline,
            message: format!("every computer in {place} with tool \"{tool}\" is offline"),
        })
    }

    /// What a task may see of the fleet: its own computer, or up to 64 when it has none.
    pub fn fleet_view(&self, home: Option<&ClientId>) -> FleetView {
        self.fleet_view_with(home, &[])
    }

    /// As [`Router::fleet_view`], with computers that were named beside.
    pub fn fleet_view_with(&self, home: Option<&ClientId>, named: &[ClientId]) -> FleetView {
        let mut lanes: Vec<Lane> = match home.and_then(|home| self.lane(home)) {
            Some(lane) => vec![lane],
            None => {
                let mut all: Vec<Lane> = self.lanes.iter().map(|e| e.value().clone()).collect();
                all.sort_by_key(|lane| (!lane.view.is_online(), lane.client_id.clone()));
                all.truncate(MAX_FLEET_VIEW);
                all
            }
        };
        for client_id in named {
            if lanes.iter().all(|lane| &lane.client_id != client_id) {
                lanes.extend(self.lane(client_id));
            }
        }
        lanes.sort_by(|a, b| a.client_id.cmp(&b.client_id));
        FleetView {
            computers: lanes.iter().map(|lane| lane.view.view()).collect(),
        }
    }

    /// All computers that are known, by name.
    pub fn computers(&self) -> Vec<ComputerStatus> {
        let mut all: Vec<ComputerStatus> = self.lanes.iter().map(|e| e.view.status()).collect();
        all.sort_by(|a, b| a.client_id.cmp(&b.client_id));
        all
    }
}

#[cfg(test)]
#[path = "router_tests.rs"]
mod tests;
