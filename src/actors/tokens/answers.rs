//! What the book of tokens answers: texts that do not show themselves, and why one does not count.

use super::MAX_TOKENS;
use crate::actors::journal::messages::JournalError;
use crate::domain::credential::TokenRecord;
use std::fmt;

/// The text of a token. It shows itself only to who asks for it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A text that somebody shows.
    pub fn shown(text: &str) -> Self {
        Secret(text.to_owned())
    }

    /// The text, to be handed out once.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// A computer's token that was right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admitted {
    pub token_id: String,
    pub owner: String,
}

/// Why a text does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("there is no such token")]
    Unknown,
    #[error("the token \"{0}\" has expired")]
    Expired(String),
    #[error("the token \"{0}\" was revoked")]
    Revoked(String),
    #[error("the token \"{0}\" is for computers, and gives no rights to people")]
    NotForPeople(String),
    #[error("the token \"{0}\" is for people, not for computers")]
    NotForComputers(String),
    #[error("the token \"{token}\" is not for a computer of the name \"{client_id}\"")]
    OtherName { token: String, client_id: String },
}

impl Refused {
    /// Whether this was no right token at all, as a guess would be.
    pub fn is_a_guess(&self) -> bool {
        matches!(
            self,
            Refused::Unknown | Refused::Expired(_) | Refused::Revoked(_)
        )
    }
}

/// Why a token was not made or revoked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    #[error("{words}")]
    Bad { field: &'static str, words: String },
    #[error("there is no token \"{0}\"")]
    NoSuchToken(String),
    #[error("there are {MAX_TOKENS} tokens already, revoked ones counted")]
    TooMany,
    #[error("the system gives no random numbers: {0}")]
    NoRandomness(String),
    #[error(transparent)]
    NotKept(#[from] JournalError),
}

/// A token as it is from now on.
pub fn revoked(record: &TokenRecord, now_ms: i64) -> TokenRecord {
    TokenRecord {
        revoked_at_ms: record.revoked_at_ms.or(Some(now_ms)),
        ..record.clone()
    }
}
