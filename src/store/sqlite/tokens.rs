//! Tokens as rows.

use super::super::TokenChange;
use crate::domain::access::Role;
use crate::domain::credential::{Bearer, TokenRecord};
use rusqlite::types::Type;
use rusqlite::{Row, Transaction, params};

pub(super) const LIST: &str =
    "SELECT token_id, name, owner, role, client_id, tools, hash, created_at_ms, last_used_ms,
            expires_at_ms, revoked_at_ms, session_of
     FROM tokens ORDER BY token_id";

pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<TokenRecord> {
    let role: Option<String> = row.get(3)?;
    let client_id: Option<String> = row.get(4)?;
    let tools: Option<String> = row.get(5)?;
    let tools = tools.map(|text| serde_json::from_str(&text)).transpose();
    let role = role.and_then(|role| Role::ALL.into_iter().find(|known| known.as_str() == role));
    let bearer = match (role, client_id) {
        (Some(role), None) => Bearer::Person { role },
        (None, Some(client_id)) => Bearer::Computer { client_id },
        _ => return Err(unreadable(3, "a token is for a person or for computers")),
    };
    Ok(TokenRecord {
        token_id: row.get(0)?,
        name: row.get(1)?,
        owner: row.get(2)?,
        bearer,
        tools: tools.map_err(|_| unreadable(5, "the tools of a token are a list of texts"))?,
        hash: row.get(6)?,
        created_at_ms: row.get(7)?,
        last_used_ms: row.get(8)?,
        expires_at_ms: row.get(9)?,
        revoked_at_ms: row.get(10)?,
        session_of: row.get(11)?,
    })
}

fn unreadable(column: usize, words: &'static str) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, words.into())
}

pub(super) fn change(transaction: &Transaction<'_>, change: &TokenChange) -> rusqlite::Result<()> {
    match change {
        TokenChange::Made(record) => make(transaction, record),
        TokenChange::Used { token_id, at_ms } => {
            let sql = "UPDATE tokens SET last_used_ms = max(coalesce(last_used_ms, 0), ?2) WHERE token_id = ?1";
            transaction
                .prepare_cached(sql)?
                .execute(params![token_id, at_ms])?;
            Ok(())
        }
        TokenChange::Revoked { token_id, at_ms } => {
            let sql =
                "UPDATE tokens SET revoked_at_ms = coalesce(revoked_at_ms, ?2) WHERE token_id = ?1";
            transaction
                .prepare_cached(sql)?
                .execute(params![token_id, at_ms])?;
            let sql = "DELETE FROM tokens WHERE session_of = ?1";
            transaction.prepare_cached(sql)?.execute([token_id])?;
            Ok(())
        }
        TokenChange::Forgotten { token_id } => {
            let sql = "DELETE FROM tokens WHERE token_id = ?1 AND session_of IS NOT NULL";
            transaction.prepare_cached(sql)?.execute([token_id])?;
            Ok(())
        }
    }
}

fn make(transaction: &Transaction<'_>, record: &TokenRecord) -> rusqlite::Result<()> {
    let (role, client_id) = match &record.bearer {
        Bearer::Person { role } => (Some(role.as_str()), None),
        Bearer::Computer { client_id } => (None, Some(client_id)),
    };
    let tools = record
        .tools
        .as_ref()
        .map(|tools| serde_json::json!(tools).to_string());
    transaction
        .prepare_cached(
            "INSERT INTO tokens (token_id, name, owner, role, client_id, tools, hash, created_at_ms, last_used_ms,
                                 expires_at_ms, revoked_at_ms, session_of)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        )?
        .execute(params![
            record.token_id,
            record.name,
            record.owner,
            role,
            client_id,
            tools,
            record.hash,
            record.created_at_ms,
            record.last_used_ms,
            record.expires_at_ms,
            record.revoked_at_ms,
            record.session_of,
        ])?;
    Ok(())
}
