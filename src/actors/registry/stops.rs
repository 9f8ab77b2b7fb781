//! Which computers people stopped. Acts first, is written down second.

use super::Registry;
use super::messages::{OperatorResumes, ResumeCalls, StopCalls, StopError, StopReport};
use crate::actors::computer::messages::{ResumeLane, Resumed, StopLane};
use crate::actors::computer::{Computer, now_ms};
use crate::actors::journal::messages::KeepSystem;
use crate::domain::ids::ClientId;
use crate::store::SystemChange;
use actix::prelude::*;
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A lane waits for nobody; one that does not answer has failed, and is stopped again when it is started again.
const LANE_WITHIN: Duration = Duration::from_secs(5);

/// Who stopped what, as the journal keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Stops {
    /// The whole fleet, also computers that come later.
    fleet: Option<Mark>,
    computers: BTreeMap<ClientId, Mark>,
    /// Resumed alone while the fleet is stopped.
    going: BTreeSet<ClientId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Mark {
    by: String,
    /// Milliseconds since the Unix epoch.
    at_ms: i64,
}

impl Stops {
    /// What the journal kept. If it cannot be read everything is stopped: that harms nobody, and people see it.
    pub fn read(kept: Option<&str>) -> Self {
        let read = kept.map(serde_json::from_str).transpose();
        read.map(Option::unwrap_or_default).unwrap_or_else(|error| {
            tracing::error!(%error, "which computers were stopped cannot be read: all are");
            let mut stops = Stops::default();
            stops.stop(None, "ccfleet");
            stops
        })
    }

    pub(super) fn is_stopped(&self, client_id: &ClientId) -> bool {
        let with_all = self.fleet.is_some() && !self.going.contains(client_id);
        with_all || self.computers.contains_key(client_id)
    }

    fn stop(&mut self, client_id: Option<&ClientId>, by: &str) {
        let mark = Mark {
            by: by.to_owned(),
            at_ms: now_ms(),
        };
        match client_id {
            None => {
                self.fleet = Some(mark);
                self.going.clear();
            }
            Some(id) => {
                self.going.remove(id);
                self.computers.insert(id.clone(), mark);
            }
        }
    }

    fn resume(&mut self, client_id: Option<&ClientId>) {
        match client_id {
            None => *self = Stops::default(),
            Some(id) => {
                self.computers.remove(id);
                if self.fleet.is_some() {
                    self.going.insert(id.clone());
                }
            }
        }
    }
}

type Answer = ResponseActFuture<Registry, Result<StopReport, StopError>>;

impl Registry {
    /// The computers that are meant, and whether they are stopped now.
    fn meant(
        &self,
        client_id: Option<&ClientId>,
    ) -> Result<Vec<(ClientId, Addr<Computer>, bool)>, StopError> {
        let with_state = |(id, entry): (&ClientId, &super::Entry)| {
            (
                id.clone(),
                entry.addr.clone(),
                self.links.stops.is_stopped(id),
            )
        };
        match client_id {
            None => Ok(self.entries.iter().map(with_state).collect()),
            Some(id) => match self.entries.get_key_value(id) {
                Some(entry) => Ok(vec![with_state(entry)]),
                None => Err(StopError::UnknownComputer(id.clone())),
            },
        }
    }

    fn stop_calls(&mut self, stop: StopCalls) -> Answer {
        let meant = match self.meant(stop.client_id.as_ref()) {
            Ok(meant) => meant,
            Err(error) => return Box::pin(async { Err(error) }.into_actor(self)),
        };
        self.links.stops.stop(stop.client_id.as_ref(), &stop.by);
        let who = stop
            .client_id
            .as_ref()
            .map_or("the fleet", ClientId::as_str);
        tracing::warn!(by = stop.by, "{who} is stopped");
        let computers = meant.iter().filter(|(_, _, stopped)| !stopped).count();
        let lanes = meant
            .into_iter()
            .map(|(_, addr, _)| addr.send(StopLane).timeout(LANE_WITHIN));
        let told = join_all(lanes.collect::<Vec<_>>()).into_actor(self);
        Box::pin(told.then(move |told, registry, _| {
            let cancelled_calls = told.into_iter().flatten().sum();
            let report = StopReport {
                computers,
                cancelled_calls,
            };
            registry.keep(SystemChange::default(), report)
        }))
    }

    fn resume_calls(&mut self, client_id: Option<ClientId>, by: &str, by_operator: bool) -> Answer {
        let meant = match self.meant(client_id.as_ref()) {
            Ok(meant) => meant,
            Err(error) => return Box::pin(async { Err(error) }.into_actor(self)),
        };
        self.links.stops.resume(client_id.as_ref());
        let who = client_id.as_ref().map_or("the fleet", ClientId::as_str);
        tracing::warn!(by, "{who} goes on");
        let lanes = meant.into_iter().map(|(id, addr, _)| {
            let resumed = addr.send(ResumeLane { by_operator }).timeout(LANE_WITHIN);
            async move { (id, resumed.await.unwrap_or_default()) }
        });
        let resumed = join_all(lanes.collect::<Vec<_>>()).into_actor(self);
        Box::pin(resumed.then(|resumed, registry, _| {
            let report = StopReport {
                computers: resumed.iter().filter(|(_, r)| r.was_stopped).count(),
                cancelled_calls: 0,
            };
            let change = registry.raises(&resumed);
            registry.keep(change, report)
        }))
    }

    /// The numbers that the journal has to keep, under an epoch that no computer has heard of.
    fn raises(&self, resumed: &[(ClientId, Resumed)]) -> SystemChange {
        let raised = resumed
            .iter()
            .filter_map(|(id, resumed)| Some((id.clone(), resumed.raised_to?)));
        let lanes: Vec<_> = raised.collect();
        let heard = self.entries.values().map(|entry| entry.epoch).max();
        let now = self.links.epoch.get().max(heard.unwrap_or_default());
        SystemChange {
            stops: None,
            epoch: (!lanes.is_empty()).then_some(now + 1),
            lanes,
            tokens: Vec::new(),
        }
    }

    fn keep(&self, change: SystemChange, report: StopReport) -> Answer {
        let Some(journal) = &self.links.system else {
            return Box::pin(async move { Ok(report) }.into_actor(self));
        };
        let stops = serde_json::to_string(&self.links.stops).ok();
        let kept = journal.send(KeepSystem {
            change: SystemChange { stops, ..change },
        });
        let kept = async move {
            match kept.await {
                Ok(Ok(())) => Ok(report),
                Ok(Err(error)) => Err(StopError::NotStored(error.to_string())),
                Err(error) => Err(StopError::NotStored(error.to_string())),
            }
        };
        Box::pin(kept.into_actor(self))
    }
}

impl Handler<StopCalls> for Registry {
    type Result = Answer;

    fn handle(&mut self, stop: StopCalls, _ctx: &mut Self::Context) -> Answer {
        self.stop_calls(stop)
    }
}

impl Handler<ResumeCalls> for Registry {
    type Result = Answer;

    fn handle(&mut self, resume: ResumeCalls, _ctx: &mut Self::Context) -> Answer {
        self.resume_calls(resume.client_id, &resume.by, false)
    }
}

impl Handler<OperatorResumes> for Registry {
    type Result = Answer;

    fn handle(&mut self, resume: OperatorResumes, _ctx: &mut Self::Context) -> Answer {
        self.resume_calls(resume.client_id, &resume.by, true)
    }
}
