//! Whose a session is, and how many there may be.

use rmcp::transport::streamable_http_server::SessionId;
use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The sessions of clients that speak a revision with sessions.
pub(super) struct Sessions {
    manager: Arc<LocalSessionManager>,
    most: usize,
    known: Mutex<HashMap<SessionId, Known>>,
}

struct Known {
    owner: String,
    used: Instant,
}

impl Sessions {
    pub(super) fn new(manager: Arc<LocalSessionManager>, most: usize) -> Self {
        Sessions {
            manager,
            most,
            known: Mutex::default(),
        }
    }

    // Whoever panicked while holding the lock left a whole map behind.
    fn known(&self) -> MutexGuard<'_, HashMap<SessionId, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the session was begun by this owner. Another's is as good as none.
    pub(super) fn is_of(&self, id: &str, owner: &str) -> bool {
        match self.known().get_mut(id) {
            Some(known) if known.owner == owner => {
                known.used = Instant::now();
                true
            }
            _ => false,
        }
    }

    /// A session was begun. If there are too many, those that have ended are forgotten, then the one that was longest
    /// without a request is closed.
    pub(super) async fn begin(&self, id: String, owner: String) {
        let used = Instant::now();
        self.known().insert(id.into(), Known { owner, used });
        if self.known().len() <= self.most {
            return;
        }
        let alive: Vec<SessionId> = self.manager.sessions.read().await.keys().cloned().collect();
        self.known().retain(|id, _| alive.contains(id));
        while let Some(oldest) = self.one_too_many() {
            // It has ended by itself meanwhile: just as well.
            let _ = self.manager.close_session(&oldest).await;
        }
    }

    fn one_too_many(&self) -> Option<SessionId> {
        let mut known = self.known();
        if known.len() <= self.most {
            return None;
        }
        let oldest = known.iter().min_by_key(|(_, known)| known.used);
        let oldest = oldest.map(|(id, _)| id.clone())?;
        known.remove(&oldest);
        Some(oldest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[actix::test]
    async fn a_session_is_its_owners_alone_and_the_longest_unused_makes_room() {
        let manager = Arc::new(LocalSessionManager::default());
        let sessions = Sessions::new(manager.clone(), 2);
        let mut ids = Vec::new();
        for owner in ["ada", "ben"] {
            let (id, _transport) = manager.create_session().await.unwrap();
            sessions.begin(id.to_string(), owner.to_owned()).await;
            ids.push(id);
        }
        assert!(sessions.is_of(&ids[1], "ben") && !sessions.is_of(&ids[1], "ada"));
        assert!(sessions.is_of(&ids[0], "ada") && !sessions.is_of("nobody's", "ada"));
        let (third, _transport) = manager.create_session().await.unwrap();
        sessions.begin(third.to_string(), "ada".to_owned()).await;
        assert!(!sessions.is_of(&ids[1], "ben"), "it was unused the longest");
        assert!(!manager.has_session(&ids[1]).await.unwrap());
        assert!(sessions.is_of(&ids[0], "ada") && sessions.is_of(&third, "ada"));
    }
}
