//! The tokens of a first start: a server in a container listens on an address that others can reach from the beginning, and nobody is there
//! to make a token before.

use super::token::{keep, refused};
use super::{Exit, Failure};
use crate::actors::tokens::{Secret, mint};
use crate::app::DataFolder;
use crate::clock::now_ms;
use crate::domain::access::Role;
use crate::domain::credential::{Bearer, NewToken};
use crate::store::{TokenChange, sqlite};
use std::path::Path;

/// Makes and prints them, if the folder never had a token. They are printed as soon as they are durable, so that nothing that
/// goes wrong later keeps them from whoever started the server.
///
/// # Errors
/// The data folder cannot be used.
pub(super) fn make(folder: &Path) -> Result<(), Failure> {
    if let Some([people, computers]) = made(folder)? {
        say!("The first tokens. They are shown this once and kept nowhere:");
        say!("  you        {}", people.reveal());
        say!("  computers  {}", computers.reveal());
        say!(
            "Yours signs you in on the page, and commands take it from CCFLEET_TOKEN; computers have theirs in the"
        );
        say!("setting ccfleet.token. `ccfleet token --help` makes others and revokes these.");
    }
    Ok(())
}

/// Their texts; none if there are, or were, tokens.
fn made(folder: &Path) -> Result<Option<[Secret; 2]>, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::new(Exit::Data, error);
    let lock = DataFolder::lock(folder).map_err(|error| failed(&error))?;
    let mut store = sqlite::open(lock.path()).map_err(|error| failed(&error))?;
    let tokens = store.reads.tokens().map_err(|error| failed(&error))?;
    // Also a revoked one: whoever revoked the last token does not want one to appear.
    if !tokens.is_empty() {
        return Ok(None);
    }
    let new = |name: &str, bearer| NewToken {
        name: name.to_owned(),
        owner: Some("admin".to_owned()),
        bearer,
        tools: None,
        expires_at_ms: None,
    };
    let now = now_ms();
    let people = Bearer::Person { role: Role::Admin };
    let computers = Bearer::Computer {
        client_id: "*".to_owned(),
    };
    let (person, person_text) = mint(new("admin", people), now).map_err(refused)?;
    let (computer, computer_text) = mint(new("fleet", computers), now).map_err(refused)?;
    let changes = [person, computer].map(|record| TokenChange::Made(Box::new(record)));
    keep(&mut store, changes.into())?;
    Ok(Some([person_text, computer_text]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_start_makes_two_tokens_and_no_later_one_does() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("data");
        let [people, computers] = made(&folder).unwrap().unwrap();
        assert_ne!(people, computers);
        let lock = DataFolder::lock(&folder).unwrap();
        let mut store = sqlite::open(lock.path()).unwrap();
        let tokens = store.reads.tokens().unwrap();
        let mut bearers: Vec<_> = tokens.iter().map(|token| token.bearer.clone()).collect();
        bearers.sort_by_key(|bearer| matches!(bearer, Bearer::Computer { .. }));
        assert_eq!(bearers[0], Bearer::Person { role: Role::Admin });
        assert!(tokens.iter().all(|token| token.owner == "admin"));

        // None is made in place of tokens that were revoked either.
        let revoked = tokens.iter().map(|token| TokenChange::Revoked {
            token_id: token.token_id.clone(),
            at_ms: 1,
        });
        keep(&mut store, revoked.collect()).unwrap();
        drop((store, lock));
        assert!(made(&folder).unwrap().is_none());
    }

    #[test]
    fn a_folder_that_another_server_has_is_left_alone() {
        let parent = tempfile::tempdir().unwrap();
        let _held = DataFolder::lock(parent.path()).unwrap();
        assert_eq!(made(parent.path()).unwrap_err().exit, Exit::Data);
    }
}
