//! The calls that have a turn: a handful, sorted by id.

use super::Call;
use crate::domain::ids::CallId;

/// A map of few entries whose room is kept: a lane fills and empties it with every call.
#[derive(Debug)]
pub(super) struct Turns<R>(Vec<(CallId, Call<R>)>);

impl<R> Default for Turns<R> {
    fn default() -> Self {
        Turns(Vec::new())
    }
}

impl<R> Turns<R> {
    fn place(&self, call_id: &CallId) -> Result<usize, usize> {
        self.0.binary_search_by(|(id, _)| id.cmp(call_id))
    }

    pub fn get(&self, call_id: &CallId) -> Option<&Call<R>> {
        let at = self.place(call_id).ok()?;
        self.0.get(at).map(|(_, call)| call)
    }

    pub fn get_mut(&mut self, call_id: &CallId) -> Option<&mut Call<R>> {
        let at = self.place(call_id).ok()?;
        self.0.get_mut(at).map(|(_, call)| call)
    }

    pub fn contains_key(&self, call_id: &CallId) -> bool {
        self.place(call_id).is_ok()
    }

    pub fn insert(&mut self, call_id: CallId, call: Call<R>) {
        match self.place(&call_id) {
            Ok(at) => self.0[at].1 = call,
            Err(at) => self.0.insert(at, (call_id, call)),
        }
    }

    pub fn remove(&mut self, call_id: &CallId) -> Option<Call<R>> {
        let at = self.place(call_id).ok()?;
        Some(self.0.remove(at).1)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&CallId, &Call<R>)> {
        self.0.iter().map(|(id, call)| (id, call))
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&CallId, &mut Call<R>)> {
        self.0.iter_mut().map(|(id, call)| (&*id, call))
    }

    pub fn keys(&self) -> impl Iterator<Item = &CallId> {
        self.0.iter().map(|(id, _)| id)
    }

    pub fn values(&self) -> impl Iterator<Item = &Call<R>> {
        self.0.iter().map(|(_, call)| call)
    }
}
