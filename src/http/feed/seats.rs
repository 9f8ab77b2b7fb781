//! How many may follow the feed at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Followers of the whole server.
const MOST: usize = 128;

/// Followers of one owner, so that nobody can take the feed from the others.
const MOST_OF_ONE: usize = 64;

/// Who follows. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Followers(Arc<Mutex<HashMap<String, usize>>>);

/// Given back when it is dropped.
#[derive(Debug)]
pub(super) struct Seat {
    followers: Followers,
    owner: String,
}

impl Followers {
    /// None if there is no room.
    pub(super) fn take(&self, owner: &str) -> Option<Seat> {
        let mut seats = self.seats();
        let all: usize = seats.values().sum();
        let own = seats.get(owner).copied().unwrap_or(0);
        if all >= MOST || own >= MOST_OF_ONE {
            return None;
        }
        seats.insert(owner.to_owned(), own + 1);
        Some(Seat {
            followers: self.clone(),
            owner: owner.to_owned(),
        })
    }

    fn seats(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut seats = self.followers.seats();
        if let Some(own) = seats.get_mut(&self.owner) {
            *own = own.saturating_sub(1);
        }
        seats.retain(|_, own| *own > 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_owner_leaves_room_for_others_and_a_seat_that_is_left_is_free() {
        let followers = Followers::default();
        let mut ada: Vec<_> = (0..MOST_OF_ONE).map(|_| followers.take("ada")).collect();
        assert!(ada.iter().all(Option::is_some));
        assert!(followers.take("ada").is_none());
        let ben: Vec<_> = (0..MOST - MOST_OF_ONE)
            .map(|_| followers.take("ben"))
            .collect();
        assert!(ben.iter().all(Option::is_some));
        assert!(followers.take("cyd").is_none());
        ada.pop();
        assert!(followers.take("cyd").is_some());
    }
}
