//! What a computer shows to be let in, and how it is sent away.

use super::Connection;
use crate::actors::tokens::{Admitted, Refused, Secret, TokenBook};
use crate::domain::access::LOCAL_OWNER;
use crate::domain::ids::ClientId;
use crate::wire::codes::{CloseWith, ErrorCode};
use crate::wire::frames::outgoing::ErrorMessage;
use actix::prelude::*;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Tells to which owner a computer belongs; none if it was never here.
pub type OwnerLookup = Arc<dyn Fn(&ClientId) -> Option<Arc<str>> + Send + Sync>;

/// What computers have to show.
#[derive(Clone, Default)]
pub struct TokenGate {
    pub book: TokenBook,
    /// Everybody has to show a token, also before the first one is made.
    pub always: bool,
    pub owner_of: Option<OwnerLookup>,
}

/// What the handshake told.
#[derive(Debug, Clone, Default)]
pub struct Handshake {
    /// `?client_id=` of the URL.
    pub client_id: Option<ClientId>,
    pub over_quota: bool,
    /// Of the `Authorization` header.
    pub token: Option<Secret>,
    pub address: Option<IpAddr>,
}

/// The longest that a wrong token waits for its answer. A right one never waits: all computers of a game server share one
/// address, and one of them must not be able to keep the others out.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Why a computer is not let in.
#[derive(Debug)]
pub(super) enum NotIn {
    /// It shows no token that counts.
    Token(String, Guess),
    /// Its token does not let it do that.
    NotAllowed(String),
}

/// Whether the token was none at all.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Guess(bool);

impl Connection {
    /// The token with which a computer of this name comes in; none where none is needed.
    pub(super) fn admit(
        &self,
        in_hello: Option<&str>,
        client_id: &ClientId,
    ) -> Result<Option<Admitted>, NotIn> {
        let gate = &self.deps.tokens;
        let needed = gate.always || gate.book.computers_need();
        let header = self.handshake.token.as_ref().map(|token| token.reveal());
        let Some(text) = in_hello.or(header).filter(|text| !text.is_empty()) else {
            return match needed {
                true => Err(NotIn::Token(
                    "this server wants a token".into(),
                    Guess(false),
                )),
                false => Ok(None),
            };
        };
        match gate.book.computer(text, client_id.as_str()) {
            Ok(admitted) => self.not_anothers(client_id, admitted).map(Some),
            // Where none is needed, one of another server does no harm.
            Err(_) if !needed => Ok(None),
            Err(refused @ (Refused::OtherName { .. } | Refused::NotForComputers(_))) => {
                Err(NotIn::NotAllowed(refused.to_string()))
            }
            Err(refused) => Err(NotIn::Token(
                refused.to_string(),
                Guess(refused.is_a_guess()),
            )),
        }
    }

    /// A computer stays its owner's as long as that one has a token for it, or somebody with a wide glob could take over
    /// the name, and with it the calls, of a neighbour's computer that is switched off.
    fn not_anothers(&self, client_id: &ClientId, admitted: Admitted) -> Result<Admitted, NotIn> {
        let gate = &self.deps.tokens;
        let owner = gate.owner_of.as_ref().and_then(|of| of(client_id));
        let other = owner.filter(|owner| **owner != *admitted.owner && **owner != *LOCAL_OWNER);
        match other {
            Some(other) if gate.book.keeps(&other, client_id.as_str()) => {
                let words = format!("computer \"{client_id}\" belongs to another owner");
                Err(NotIn::NotAllowed(words))
            }
            _ => Ok(admitted),
        }
    }

    pub(super) fn send_away(&mut self, why: NotIn, ctx: &mut Context<Self>) {
        self.deps.counts.refused.one();
        let (close, error, guess) = match why {
            NotIn::Token(words, Guess(guess)) => (
                CloseWith::Token,
                ErrorMessage::new(ErrorCode::TokenInvalid, words),
                guess,
            ),
            NotIn::NotAllowed(words) => (
                CloseWith::NotAllowed,
                ErrorMessage::new(ErrorCode::NotAllowed, words),
                false,
            ),
        };
        match self.handshake.address.filter(|_| guess) {
            None => self.close(close, error, ctx),
            Some(address) => {
                let (failures, now) = (self.deps.tokens.book.failures(), Instant::now());
                failures.failed(address, now);
                let wait = failures.wait(address, "", now).unwrap_or_default();
                let waited = tokio::time::sleep(wait.min(LONGEST_WAIT)).into_actor(self);
                // What it says meanwhile is not read.
                ctx.wait(
                    waited.map(move |(), connection, ctx| connection.close(close, error, ctx)),
                );
            }
        }
    }

    /// A token that was revoked, or expired, while its computer is connected ends the connection.
    pub(super) fn look_at_token(&mut self, ctx: &mut Context<Self>) {
        let token = self.identity().and_then(|identity| identity.token.as_ref());
        let book = &self.deps.tokens.book;
        if token.is_some_and(|token| !book.stands(&token.token_id)) && !self.is_closing() {
            let words = "the token counts no more".to_owned();
            self.send_away(NotIn::Token(words, Guess(false)), ctx);
        }
    }
}
