//! New tokens: their ids, and texts that nobody guesses.

use super::answers::{Secret, TokenError};
use crate::domain::credential::{NewToken, PREFIX, TokenRecord};

/// What is kept of a token's text.
pub(super) fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

/// A new token and its text, without keeping it: for a data folder that no server has open.
///
/// # Errors
/// It may not be made.
pub fn mint(new: NewToken, now_ms: i64) -> Result<(TokenRecord, Secret), TokenError> {
    new.check(now_ms)
        .map_err(|(field, words)| TokenError::Bad { field, words })?;
    let (token_id, text) = random_text("tok")?;
    let record = TokenRecord {
        token_id,
        owner: new.owner().to_owned(),
        name: new.name,
        bearer: new.bearer,
        tools: new.tools,
        hash: hash(&text),
        created_at_ms: now_ms,
        last_used_ms: None,
        expires_at_ms: new.expires_at_ms,
        revoked_at_ms: None,
        session_of: None,
    };
    Ok((record, Secret::shown(&text)))
}

/// An id, and a text with 256 random bits.
pub(super) fn random_text(kind: &str) -> Result<(String, String), TokenError> {
    let mut random = [0u8; 38];
    getrandom::fill(&mut random).map_err(|error| TokenError::NoRandomness(error.to_string()))?;
    let hex = |bytes: &[u8]| -> String { bytes.iter().map(|byte| format!("{byte:02x}")).collect() };
    let (id, secret) = random.split_at(6);
    let id = hex(id);
    Ok((
        format!("{kind}_{id}"),
        format!("{PREFIX}{id}_{}", hex(secret)),
    ))
}
