//! What others may see of a computer without asking it. Written by its actor, read by the router.

use super::lane::Lane;
use crate::actors::registry::messages::Registration;
use crate::domain::ids::ClientId;
use crate::domain::tool::{ComputerView, ToolSpec};
use serde::Serialize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// How a computer fares (wire contract, `computer.state`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ComputerState {
    Ready,
    Busy,
    Unresponsive,
    #[default]
    Offline,
    Stopped,
}

impl ComputerState {
    pub fn as_str(self) -> &'static str {
        match self {
            ComputerState::Ready => "ready",
            ComputerState::Busy => "busy",
            ComputerState::Unresponsive => "unresponsive",
            ComputerState::Offline => "offline",
            ComputerState::Stopped => "stopped",
        }
    }
}

/// What changes with every call.
#[derive(Debug, Clone, Default)]
struct Live {
    connected: bool,
    state: ComputerState,
    since_ms: i64,
    queue: usize,
    running: usize,
    current_call: Option<String>,
}

/// A computer as lists show it (wire contract, `computer`). Times are milliseconds since the Unix epoch.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComputerStatus {
    pub client_id: ClientId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    pub groups: Vec<String>,
    pub online: bool,
    pub state: ComputerState,
    pub since_ms: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub library_version: Option<String>,
    pub tools: Vec<ToolSpec>,
    pub queue: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_call: Option<String>,
    pub owner: String,
}

/// The shared view of one computer.
#[derive(Debug)]
pub struct ComputerCell {
    client_id: ClientId,
    owner: String,
    registration: RwLock<Arc<Registration>>,
    live: Mutex<Live>,
    /// The highest lane number granted; outlives a lane that failed.
    high_seq: AtomicU64,
    /// How far the computer certainly came; outlives a lane that failed.
    proven_seq: AtomicU64,
}

impl ComputerCell {
    pub fn new(
        client_id: ClientId,
        owner: String,
        registration: Registration,
        high_seq: u64,
    ) -> Self {
        ComputerCell {
            client_id,
            owner,
            registration: RwLock::new(Arc::new(registration)),
            live: Mutex::new(Live::default()),
            high_seq: AtomicU64::new(high_seq),
            proven_seq: AtomicU64::new(0),
        }
    }

    // Whoever panicked while holding a lock left a whole value behind: they are only ever replaced.
    fn live(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn client_id(&self) -> &ClientId {
        &self.client_id
    }

    pub fn owner(&self) -> &str {
        &self.owner
    }

    pub fn high_seq(&self) -> u64 {
        self.high_seq.load(Ordering::Acquire)
    }

    pub fn proven_seq(&self) -> u64 {
        self.proven_seq.load(Ordering::Acquire)
    }

    pub fn registration(&self) -> Arc<Registration> {
        let guard = self.registration.read();
        guard.unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_registration(&self, registration: Registration) {
        let mut guard = self
            .registration
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *guard = Arc::new(registration);
    }

    /// Shows how the lane stands.
    pub(super) fn publish<R: super::lane::Reply>(&self, lane: &Lane<R>, now_ms: i64) {
        self.high_seq.store(lane.high_seq(), Ordering::Release);
        self.proven_seq.store(lane.proven_seq(), Ordering::Release);
        let state = if !lane.is_connected() {
            ComputerState::Offline
        } else if lane.is_stopped() || lane.is_behind() {
            ComputerState::Stopped
        } else if !lane.is_online() {
            ComputerState::Unresponsive
        } else if lane.current_call().is_some() {
            ComputerState::Busy
        } else {
            ComputerState::Ready
        };
        let mut live = self.live();
        if live.state != state || live.since_ms == 0 {
            live.state = state;
            live.since_ms = now_ms;
        }
        live.connected = lane.is_connected();
        live.queue = lane.queued();
        live.running = lane.running();
        let current = lane.current_call().map(|(id, _, _)| id.as_str());
        if live.current_call.as_deref() != current {
            live.current_call = current.map(str::to_owned);
        }
    }

    pub fn is_online(&self) -> bool {
        self.live().connected
    }

    /// Calls that wait or run.
    pub fn load(&self) -> usize {
        let live = self.live();
        live.queue + live.running
    }

    /// The computer as a decision sees it.
    pub fn view(&self) -> ComputerView {
        let registration = self.registration();
        ComputerView {
            client_id: self.client_id.clone(),
            label: registration.label.clone(),
            kind: registration.kind.clone(),
            groups: registration.groups.clone(),
            online: self.is_online(),
            tools: registration.tools.values().cloned().collect(),
        }
    }

    /// The computer as lists show it.
    pub fn status(&self) -> ComputerStatus {
        let registration = self.registration();
        let live = self.live().clone();
        ComputerStatus {
            client_id: self.client_id.clone(),
            label: registration.label.clone(),
            kind: registration.kind.clone(),
            groups: registration.groups.clone(),
            online: live.connected,
            state: live.state,
            since_ms: live.since_ms,
            library_version: registration.library_version.clone(),
            tools: registration.tools.values().cloned().collect(),
            queue: live.queue,
            current_call: live.current_call,
            owner: self.owner.clone(),
        }
    }
}
