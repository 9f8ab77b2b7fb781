//! What others may see of a computer without asking it. Written by its actor, read by the router.

use super::lane::Lane;
pub use super::status::{ComputerState, ComputerStatus};
use crate::actors::registry::messages::Registration;
use crate::domain::ids::{CallId, ClientId, TaskId};
use crate::domain::lifecycle::{ToolRecord, state_of};
use crate::domain::tool::ComputerView;
use crate::domain::toolbox::Toolbox;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

/// Names of former tools that are remembered of one computer: one that registers and drops tools for ever shall not
/// fill the memory.
const MAX_ONCE_OWNED: usize = 1024;

/// The longest words of progress that are kept, in characters.
const MAX_PROGRESS: usize = 200;

/// What changes with every call.
#[derive(Debug, Clone, Default)]
struct Live {
    connected: bool,
    state: ComputerState,
    since_ms: i64,
    queue: usize,
    current_call: Option<CallId>,
    caller: Option<TaskId>,
    second_copy_ms: Option<i64>,
    /// The call whose handler told last how far it is, and its words.
    progress: Option<(CallId, String)>,
}

/// What changes when a computer registers or its tools live on.
#[derive(Debug, Default)]
struct Known {
    registration: Arc<Registration>,
    records: BTreeMap<String, ToolRecord>,
    /// The registered tools in the states that count.
    tools: Toolbox,
}

impl Known {
    fn settle(&mut self) {
        let records = &self.records;
        let state = |tool: &crate::domain::toolbox::Tool| state_of(tool, records.get(&tool.name));
        self.tools = self.registration.tools.in_states(state);
    }
}

/// The shared view of one computer.
#[derive(Debug)]
pub struct ComputerCell {
    client_id: ClientId,
    owner: RwLock<Arc<str>>,
    known: RwLock<Known>,
    live: Mutex<Live>,
    /// Of `live`, for routing, which looks at many computers: the state's place in [`ComputerState::ALL`], and calls
    /// that wait or run.
    state: AtomicU8,
    load: AtomicUsize,
    /// Calls that were routed here and have not arrived yet.
    promised: AtomicUsize,
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
        // Before anything was heard of it: else a list would say that it is offline since 1970.
        let live = Live {
            since_ms: super::now_ms(),
            ..Live::default()
        };
        let cell = ComputerCell {
            client_id,
            owner: RwLock::new(owner.into()),
            known: RwLock::default(),
            live: Mutex::new(live),
            state: AtomicU8::new(3),
            load: AtomicUsize::new(0),
            promised: AtomicUsize::new(0),
            high_seq: AtomicU64::new(high_seq),
            proven_seq: AtomicU64::new(0),
        };
        cell.set_registration(registration);
        cell
    }

    // Whoever panicked while holding a lock left a whole value behind: they are only ever replaced.
    fn live(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn client_id(&self) -> &ClientId {
        &self.client_id
    }

    pub fn owner(&self) -> Arc<str> {
        let owner = self.owner.read();
        owner.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether a task may use it: one of its owner, or one that may use all computers.
    pub fn is_for(&self, owner: Option<&str>) -> bool {
        owner.is_none_or(|owner| *self.owner() == *owner)
    }

    /// It shows a token of this owner now.
    pub fn set_owner(&self, owner: &str) {
        let mut now = self.owner.write().unwrap_or_else(PoisonError::into_inner);
        if **now != *owner {
            *now = owner.into();
        }
    }

    pub fn high_seq(&self) -> u64 {
        self.high_seq.load(Ordering::Acquire)
    }

    pub fn proven_seq(&self) -> u64 {
        self.proven_seq.load(Ordering::Acquire)
    }

    fn known(&self) -> RwLockReadGuard<'_, Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Known)) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        change(&mut known);
        known.settle();
    }

    /// What the computer says of itself.
    pub fn registration(&self) -> Arc<Registration> {
        self.known().registration.clone()
    }

    /// Looks at its tools in the states that count, without taking them along: they are shared by many computers, and so
    /// is the count of who holds them.
    pub fn with_tools<T>(&self, look: impl FnOnce(&Toolbox) -> T) -> T {
        look(&self.known().tools)
    }

    /// Its tools in the states that count.
    pub fn tools(&self) -> Toolbox {
        self.known().tools.clone()
    }

    /// Whether it has a tool of this name that may be called.
    pub fn has_active(&self, tool: &str) -> bool {
        self.known().tools.active(tool).is_some()
    }

    /// Whether it has a tool of this name, or ever had one.
    pub fn ever_owned(&self, tool: &str) -> bool {
        let known = self.known();
        known.tools.get(tool).is_some() || known.registration.once_owned.contains(tool)
    }

    /// Through [`crate::actors::registry::index::ToolIndex::register`], which keeps the books. What it had and has no more
    /// is remembered.
    pub(in crate::actors) fn set_registration(&self, mut registration: Registration) {
        self.change(|known| {
            let former = &known.registration;
            let had = former.tools.names().map(str::to_owned);
            let once = former.once_owned.iter().cloned();
            let remembered = once.chain(had).take(MAX_ONCE_OWNED);
            registration.once_owned.extend(remembered);
            let tools = &registration.tools;
            registration
                .once_owned
                .retain(|name| tools.get(name).is_none());
            known.registration = Arc::new(registration);
        });
    }

    /// As if its lane stood so.
    #[cfg(test)]
    pub(in crate::actors) fn pretend(&self, state: ComputerState, load: usize) {
        let place = ComputerState::ALL.iter().position(|s| *s == state);
        self.state
            .store(place.unwrap_or(3) as u8, Ordering::Relaxed);
        self.load.store(load, Ordering::Relaxed);
    }

    /// Adds what calls told of its tools. Through [`crate::actors::registry::index::ToolIndex::record`].
    pub(in crate::actors) fn set_records(&self, records: Vec<ToolRecord>) {
        self.change(|known| {
            for record in records {
                let former = known.records.get(&record.name);
                if former.is_none_or(|former| record.replaces(former)) {
                    known.records.insert(record.name.clone(), record);
                }
            }
        });
    }

    /// Shows how the lane stands.
    pub(super) fn publish<R: super::lane::Reply>(&self, lane: &Lane<R>) {
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
        let place = ComputerState::ALL.iter().position(|s| *s == state);
        self.state
            .store(place.unwrap_or(3) as u8, Ordering::Relaxed);
        self.load
            .store(lane.queued() + lane.running(), Ordering::Relaxed);
        let mut live = self.live();
        if live.state != state {
            live.state = state;
            live.since_ms = super::now_ms();
        }
        live.connected = lane.is_connected();
        live.queue = lane.queued();
        let current = lane.current_call().map(|(id, _, _)| id);
        if live.current_call.as_ref() != current {
            live.current_call = current.cloned();
        }
        let caller = lane.caller();
        if live.caller.as_ref() != caller {
            live.caller = caller.cloned();
        }
    }

    /// When it was last heard of, before it comes back: milliseconds since the Unix epoch.
    pub(in crate::actors) fn set_last_seen(&self, at_ms: i64) {
        self.live().since_ms = at_ms;
    }

    /// A second live computer of this name was refused at this time.
    pub(in crate::actors) fn note_second_copy(&self, at_ms: i64) {
        self.live().second_copy_ms = Some(at_ms);
    }

    /// A handler told how far its call is. The last word counts; nothing of it is kept longer.
    pub(super) fn note_progress(
        &self,
        call_id: &CallId,
        message: Option<&str>,
        progress: Option<f64>,
    ) {
        let percent = progress.map(|progress| format!("{:.0} %", progress * 100.0));
        let words: Vec<&str> = percent.as_deref().into_iter().chain(message).collect();
        let words: String = words.join(", ").chars().take(MAX_PROGRESS).collect();
        self.live().progress = Some((call_id.clone(), words));
    }

    /// What the handler of a call told last of how far it is, in words.
    pub fn progress_of(&self, call_id: &CallId) -> Option<String> {
        let live = self.live();
        let told = live.progress.as_ref().filter(|(id, _)| id == call_id);
        told.map(|(_, words)| words.clone())
    }

    /// The task that has a call under way here.
    pub fn caller(&self) -> Option<TaskId> {
        self.live().caller.clone()
    }

    pub fn is_online(&self) -> bool {
        self.live().connected
    }

    pub fn state(&self) -> ComputerState {
        let place = self.state.load(Ordering::Relaxed) as usize;
        ComputerState::ALL.get(place).copied().unwrap_or_default()
    }

    /// Whether a call would be sent soon: it is connected, answers, and is not stopped.
    pub fn can_take(&self) -> bool {
        matches!(self.state(), ComputerState::Ready | ComputerState::Busy)
    }

    /// Calls that wait or run, or are on their way here.
    pub fn load(&self) -> usize {
        self.load.load(Ordering::Relaxed) + self.promised.load(Ordering::Relaxed)
    }

    /// A call was routed here: whoever looks before it arrives shall see it.
    pub(in crate::actors) fn promise(&self) {
        self.promised.fetch_add(1, Ordering::Relaxed);
    }

    /// What was on its way to a lane that failed never arrives.
    pub(in crate::actors) fn forget_promises(&self) {
        self.promised.store(0, Ordering::Relaxed);
    }

    /// A call that was routed here has arrived, or will not.
    pub(in crate::actors) fn promise_kept(&self) {
        let less = |promised: usize| promised.checked_sub(1);
        // At zero there is nothing to take back: a call may come without a promise.
        let _ = self
            .promised
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// How it stands and since when, in words: "is offline since 12 min".
    pub fn whereabouts(&self, now_ms: i64) -> String {
        let since_ms = self.live().since_ms;
        let words = match self.state() {
            ComputerState::Ready => return "is ready".to_owned(),
            ComputerState::Busy => return "is busy".to_owned(),
            ComputerState::Unresponsive => "does not answer",
            ComputerState::Offline => "is offline",
            ComputerState::Stopped => "is stopped",
        };
        format!("{words} since {}", ago(now_ms.saturating_sub(since_ms)))
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
            tools: self.tools(),
            once_owned: registration.once_owned.iter().cloned().collect(),
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
            tools: self.tools(),
            queue: live.queue,
            current_call: live.current_call.map(String::from),
            owner: self.owner().to_string(),
            second_copy_ms: live.second_copy_ms,
        }
    }
}

/// A length of time in one unit, for people.
fn ago(ms: i64) -> String {
    let seconds = ms.max(0) / 1000;
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_computer_that_has_just_named_itself_is_not_offline_since_1970() {
        let id = ClientId::parse("cc-1").unwrap();
        let cell = ComputerCell::new(id, "local".to_owned(), Registration::default(), 0);
        let told = cell.whereabouts(cell.status().since_ms + 1000);
        assert_eq!(told, "is offline since 1 s");
        assert!(cell.status().since_ms > 0);
    }

    #[test]
    fn a_length_of_time_is_told_in_one_unit() {
        let told = [-5, 59_999, 12 * 60_000, 3 * 3_600_000, 400_000_000].map(ago);
        assert_eq!(told, ["0 s", "59 s", "12 min", "3 h", "4 d"]);
    }
}
