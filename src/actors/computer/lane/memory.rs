//! What a lane remembers of calls that have no turn any more. All of it is bounded.

use super::*;

/// Of older ones the journal is asked. Each takes about 80 bytes of every computer.
const MAX_STORED: usize = 64;
const MAX_UNKNOWN: usize = 64;
const MAX_UNCLAIMED: usize = 8;

/// An `unknown` call that may still turn out done or failed.
#[derive(Debug)]
pub(super) struct Unresolved<R> {
    pub task_id: TaskId,
    pub tool: Text,
    pub args: Arc<Value>,
    /// The program start that it was sent to.
    pub boot_id: Option<Text>,
    pub verify: Verify,
    pub generation: Generation,
    pub effect: EffectClass,
    pub seq: Option<u64>,
    pub reply: R,
    /// Set by the late answer.
    pub report: Option<Arc<CallReport>>,
}

/// What was asked of the tool's `verify`.
#[derive(Debug, Default)]
pub(super) struct Verify {
    /// The call can run no more, so what `verify` finds will stay true.
    pub is_safe: bool,
    pub tries: u8,
    /// The question that is out, and how long it is waited for.
    pub asked: Option<(CallId, Duration)>,
}

#[derive(Debug)]
pub(super) struct Memory<R> {
    /// `effect` calls whose results are durable: a repeated result is answered with `result_stored`.
    stored: VecDeque<CallId>,
    unknown: VecDeque<(CallId, Unresolved<R>)>,
    /// Results of calls that nobody has placed or adopted yet: after a restart a computer may come back before
    /// the tasks do.
    unclaimed: VecDeque<(CallId, CallReport)>,
}

impl<R> Default for Memory<R> {
    fn default() -> Self {
        Memory {
            stored: VecDeque::new(),
            unknown: VecDeque::new(),
            unclaimed: VecDeque::new(),
        }
    }
}

fn push_bounded<T>(queue: &mut VecDeque<T>, item: T, max: usize) {
    queue.push_back(item);
    if queue.len() > max {
        queue.pop_front();
    }
}

impl<R> Memory<R> {
    pub fn is_stored(&self, call_id: &CallId) -> bool {
        self.stored.contains(call_id)
    }

    pub fn note_stored(&mut self, call_id: CallId) {
        self.unclaimed.retain(|(id, _)| id != &call_id);
        if !self.is_stored(&call_id) {
            push_bounded(&mut self.stored, call_id, MAX_STORED);
        }
    }

    pub fn note_unknown(&mut self, call_id: CallId, call: Unresolved<R>) {
        self.forget_unknown(&call_id);
        push_bounded(&mut self.unknown, (call_id, call), MAX_UNKNOWN);
    }

    pub fn unknown(&mut self, call_id: &CallId) -> Option<&mut Unresolved<R>> {
        let mut calls = self.unknown.iter_mut();
        calls.find(|(id, _)| id == call_id).map(|(_, call)| call)
    }

    /// Every unknown call, oldest first.
    pub fn unknowns(&self) -> impl Iterator<Item = &(CallId, Unresolved<R>)> {
        self.unknown.iter()
    }

    pub fn unknowns_mut(&mut self) -> impl Iterator<Item = &mut Unresolved<R>> {
        self.unknown.iter_mut().map(|(_, call)| call)
    }

    pub fn forget_unknown(&mut self, call_id: &CallId) {
        self.unknown.retain(|(id, _)| id != call_id);
    }

    /// The `effect` calls about which a computer that comes back is asked once more.
    pub fn unresolved(&self) -> impl Iterator<Item = (&CallId, Option<u64>)> {
        self.unknown
            .iter()
            .filter(|(_, call)| call.effect == EffectClass::Effect && call.report.is_none())
            .map(|(id, call)| (id, call.seq))
    }

    /// Keeps a result for whoever adopts its call; returns whether it is new.
    pub fn note_unclaimed(&mut self, call_id: CallId, report: CallReport) -> bool {
        if self.unclaimed.iter().any(|(id, _)| id == &call_id) {
            return false;
        }
        push_bounded(&mut self.unclaimed, (call_id, report), MAX_UNCLAIMED);
        true
    }

    pub fn claim(&mut self, call_id: &CallId) -> Option<CallReport> {
        let at = self.unclaimed.iter().position(|(id, _)| id == call_id)?;
        self.unclaimed.remove(at).map(|(_, report)| report)
    }
}
