//! The tokens that count, in memory: looking one up takes no I/O, and a change is durable before it holds.
//!
//! A text is `ccf_ID_SECRET`. The id finds the token, the BLAKE3 of the whole text is compared in constant time; a text
//! without a token is compared with something too, so that the time tells nothing either.

mod answers;
mod mint;

pub use answers::{Admitted, Refused, Secret, TokenError, revoked};
pub use mint::mint;
use mint::{hash, random_text};

use crate::actors::failures::Failures;
use crate::actors::journal::messages::{JournalError, KeepSystem};
use crate::domain::access::Principal;
use crate::domain::credential::{
    Bearer, NewToken, PREFIX, SESSION_MS, SESSIONS_OF_A_TOKEN, TokenRecord,
};
use crate::store::{SystemChange, TokenChange};
use actix::Recipient;
use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// How coarsely the last use is kept, in milliseconds: a write for each request would be one too many.
const USE_KEPT_EVERY_MS: i64 = 60 * 60 * 1000;

/// The most tokens that are kept, revoked ones too.
const MAX_TOKENS: usize = 10_000;

struct Entry {
    record: TokenRecord,
    hash: blake3::Hash,
    used_ms: AtomicI64,
}

#[derive(Default)]
struct Index {
    entries: HashMap<String, Arc<Entry>>,
    people_need: bool,
    computers_need: bool,
}

struct Inner {
    /// Replaced at every change; who looks one up holds the lock only to take the whole.
    index: RwLock<Arc<Index>>,
    /// One change at a time.
    changing: tokio::sync::Mutex<()>,
    keep: Option<Recipient<KeepSystem>>,
    clock: fn() -> i64,
    failures: Failures,
}

/// All tokens. Clones share them.
#[derive(Clone)]
pub struct TokenBook(Arc<Inner>);

impl Default for TokenBook {
    /// A book without tokens, which keeps none.
    fn default() -> Self {
        TokenBook::new(Vec::new(), None, crate::clock::now_ms)
    }
}

impl TokenBook {
    /// A book of these tokens; changes go to `keep` first. `clock` gives milliseconds since the Unix epoch.
    pub fn new(
        records: Vec<TokenRecord>,
        keep: Option<Recipient<KeepSystem>>,
        clock: fn() -> i64,
    ) -> Self {
        TokenBook(Arc::new(Inner {
            index: RwLock::new(Arc::new(Index::of(
                records.into_iter().filter_map(Entry::of),
            ))),
            changing: tokio::sync::Mutex::default(),
            keep,
            clock,
            failures: Failures::default(),
        }))
    }

    /// Who showed wrong ones.
    pub fn failures(&self) -> &Failures {
        &self.0.failures
    }

    fn index(&self) -> Arc<Index> {
        // It is only ever replaced as a whole.
        let index = self.0.index.read();
        index.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn now(&self) -> i64 {
        (self.0.clock)()
    }

    /// Whether people have to show a token: one is there that was not revoked.
    pub fn people_need(&self) -> bool {
        self.index().people_need
    }

    /// Whether computers have to show a token: any is there that was not revoked.
    pub fn computers_need(&self) -> bool {
        self.index().computers_need
    }

    /// Whether any token is there that was not revoked.
    pub fn is_empty(&self) -> bool {
        !self.computers_need()
    }

    /// Who shows this text.
    ///
    /// # Errors
    /// It is no token that counts, or one for computers.
    pub fn person(&self, text: &str) -> Result<(String, Principal), Refused> {
        let index = self.index();
        let entry = self.find(&index, text)?;
        let record = &entry.record;
        let principal = record.principal();
        let principal = principal.ok_or_else(|| Refused::NotForPeople(record.name.clone()))?;
        self.note_use(entry);
        Ok((record.token_id.clone(), principal))
    }

    /// Whose computers show this text, if one of this name may.
    ///
    /// # Errors
    /// It is no token that counts, one for people, or one for other computers.
    pub fn computer(&self, text: &str, client_id: &str) -> Result<Admitted, Refused> {
        let index = self.index();
        let entry = self.find(&index, text)?;
        let record = &entry.record;
        match &record.bearer {
            Bearer::Person { .. } => Err(Refused::NotForComputers(record.name.clone())),
            Bearer::Computer { .. } if !record.admits(client_id) => Err(Refused::OtherName {
                token: record.name.clone(),
                client_id: client_id.to_owned(),
            }),
            Bearer::Computer { .. } => {
                self.note_use(entry);
                Ok(Admitted {
                    token_id: record.token_id.clone(),
                    owner: record.owner.clone(),
                })
            }
        }
    }

    /// Whether a token that was shown before still counts.
    pub fn stands(&self, token_id: &str) -> bool {
        let (index, now) = (self.index(), self.now());
        let entry = index.entries.get(short(token_id));
        entry.is_some_and(|entry| entry.record.is_live(now))
    }

    /// Whether this owner has a token that admits a computer of this name: then nobody else's computer takes it over.
    pub fn keeps(&self, owner: &str, client_id: &str) -> bool {
        let (index, now) = (self.index(), self.now());
        let mut records = index.entries.values().map(|entry| &entry.record);
        records.any(|token| token.owner == owner && token.is_live(now) && token.admits(client_id))
    }

    fn find<'a>(&self, index: &'a Index, text: &str) -> Result<&'a Arc<Entry>, Refused> {
        let text = text.trim();
        let id = text
            .strip_prefix(PREFIX)
            .and_then(|rest| rest.split_once('_'));
        let entry = id.and_then(|(id, _)| index.entries.get(id));
        let shown = blake3::hash(text.as_bytes());
        // The comparison of hashes takes the same time whatever is in them.
        let known = entry.map_or(blake3::Hash::from_bytes([0; 32]), |entry| entry.hash);
        let (true, Some(entry)) = (shown == known, entry) else {
            return Err(Refused::Unknown);
        };
        let (record, now) = (&entry.record, self.now());
        if record.revoked_at_ms.is_some() {
            return Err(Refused::Revoked(record.name.clone()));
        }
        let began_with = record.session_of.as_ref();
        let began_with = began_with.filter(|of| of.starts_with("tok_"));
        let stands = began_with.is_none_or(|of| {
            let parent = index.entries.get(short(of));
            parent.is_some_and(|parent| parent.record.is_live(now))
        });
        match record.is_live(now) && stands {
            true => Ok(entry),
            false => Err(Refused::Expired(record.name.clone())),
        }
    }

    fn note_use(&self, entry: &Entry) {
        let (now, last) = (self.now(), entry.used_ms.load(Ordering::Relaxed));
        if now.saturating_sub(last) < USE_KEPT_EVERY_MS {
            return;
        }
        entry.used_ms.store(now, Ordering::Relaxed);
        if let Some(keep) = &self.0.keep {
            let used = TokenChange::Used {
                token_id: entry.record.token_id.clone(),
                at_ms: now,
            };
            // A fact; one that is lost is told an hour later.
            keep.do_send(kept(vec![used]));
        }
    }

    /// Every token, the newest first; sessions are none of them.
    pub fn list(&self) -> Vec<TokenRecord> {
        let index = self.index();
        let shown = |entry: &Arc<Entry>| {
            let used = entry.used_ms.load(Ordering::Relaxed);
            TokenRecord {
                last_used_ms: (used != 0).then_some(used),
                ..entry.record.clone()
            }
        };
        let tokens = index.entries.values().map(shown);
        let mut tokens: Vec<_> = tokens.filter(|token| token.session_of.is_none()).collect();
        tokens.sort_by(|a, b| (b.created_at_ms, &b.token_id).cmp(&(a.created_at_ms, &a.token_id)));
        tokens
    }

    /// Makes a token; the text is nowhere afterwards but in the answer.
    ///
    /// # Errors
    /// It may not be made, or is not durable.
    pub async fn make(&self, new: NewToken) -> Result<(TokenRecord, Secret), TokenError> {
        let _one = self.0.changing.lock().await;
        if self.index().entries.len() >= MAX_TOKENS {
            return Err(TokenError::TooMany);
        }
        let (record, secret) = mint(new, self.now())?;
        let made = TokenChange::Made(Box::new(record.clone()));
        self.change(vec![made], |entries| {
            entries.extend(Entry::of(record.clone()))
        })
        .await?;
        Ok((record, secret))
    }

    /// Begins a browser's session for who showed a token (its id) or the operator's key (any other word).
    ///
    /// # Errors
    /// It is not durable.
    pub async fn begin_session(
        &self,
        shown: &str,
        principal: &Principal,
    ) -> Result<(TokenRecord, Secret), TokenError> {
        let _one = self.0.changing.lock().await;
        let now = self.now();
        let (token_id, text) = random_text("ses")?;
        let record = TokenRecord {
            token_id,
            name: "session".to_owned(),
            owner: principal.owner.clone(),
            bearer: Bearer::Person {
                role: principal.role,
            },
            tools: principal.tools.clone(),
            hash: hash(&text),
            created_at_ms: now,
            last_used_ms: Some(now),
            expires_at_ms: Some(now + SESSION_MS),
            revoked_at_ms: None,
            session_of: Some(shown.to_owned()),
        };
        let mut over = self.sessions_over(shown, now);
        let forgotten = |token_id: &String| TokenChange::Forgotten {
            token_id: token_id.clone(),
        };
        let mut changes: Vec<_> = over.iter().map(forgotten).collect();
        changes.push(TokenChange::Made(Box::new(record.clone())));
        self.change(changes, |entries| {
            entries.retain(|entry| !over.contains(&entry.record.token_id));
            entries.extend(Entry::of(record.clone()));
            over.clear();
        })
        .await?;
        Ok((record, Secret::shown(&text)))
    }

    /// Sessions that are over by now, and of this token those that are too many with one more.
    fn sessions_over(&self, shown: &str, now: i64) -> Vec<String> {
        let index = self.index();
        let sessions = index.entries.values().map(|entry| &entry.record);
        let (live, over): (Vec<_>, Vec<_>) = sessions
            .filter(|record| record.session_of.is_some())
            .partition(|record| record.is_live(now));
        let mut own: Vec<_> = live
            .into_iter()
            .filter(|record| record.session_of.as_deref() == Some(shown))
            .collect();
        own.sort_by_key(|record| record.created_at_ms);
        let too_many = (own.len() + 1).saturating_sub(SESSIONS_OF_A_TOKEN);
        let over = over.into_iter().chain(own.into_iter().take(too_many));
        over.map(|record| record.token_id.clone()).collect()
    }

    /// Ends a session; one that is not there is ended already.
    ///
    /// # Errors
    /// It is not durable.
    pub async fn end_session(&self, token_id: &str) -> Result<(), TokenError> {
        let _one = self.0.changing.lock().await;
        let token_id = token_id.to_owned();
        let forgotten = TokenChange::Forgotten {
            token_id: token_id.clone(),
        };
        self.change(vec![forgotten], |entries| {
            entries.retain(|entry| {
                entry.record.token_id != token_id || entry.record.session_of.is_none()
            });
        })
        .await
    }

    /// The token counts no more, and neither do sessions that began with it. The token as it is now.
    ///
    /// # Errors
    /// There is none, or it is not durable.
    pub async fn revoke(&self, token_id: &str) -> Result<TokenRecord, TokenError> {
        let _one = self.0.changing.lock().await;
        let known = self.index().entries.get(short(token_id)).cloned();
        let known = known.filter(|entry| entry.record.token_id == token_id);
        let known = known.ok_or_else(|| TokenError::NoSuchToken(token_id.to_owned()))?;
        let record = revoked(&known.record, self.now());
        let change = TokenChange::Revoked {
            token_id: token_id.to_owned(),
            at_ms: record.revoked_at_ms.unwrap_or_default(),
        };
        self.change(vec![change], |entries| {
            entries.retain(|entry| {
                let other = entry.record.token_id != token_id;
                other && entry.record.session_of.as_deref() != Some(token_id)
            });
            entries.extend(Entry::of(record.clone()));
        })
        .await?;
        Ok(record)
    }

    /// First durable, then true.
    async fn change(
        &self,
        changes: Vec<TokenChange>,
        apply: impl FnOnce(&mut Vec<Arc<Entry>>),
    ) -> Result<(), TokenError> {
        if let Some(keep) = &self.0.keep {
            let kept = keep.send(kept(changes)).await;
            kept.map_err(|_| JournalError::Unavailable)??;
        }
        let mut entries: Vec<_> = self.index().entries.values().cloned().collect();
        apply(&mut entries);
        let index = Arc::new(Index::of(entries));
        *self.0.index.write().unwrap_or_else(PoisonError::into_inner) = index;
        Ok(())
    }
}

impl Index {
    fn of(entries: impl IntoIterator<Item = Arc<Entry>>) -> Self {
        let mut index = Index::default();
        for entry in entries {
            if entry.record.locks() {
                index.computers_need = true;
                index.people_need |= matches!(entry.record.bearer, Bearer::Person { .. });
            }
            let id = short(&entry.record.token_id).to_owned();
            index.entries.insert(id, entry);
        }
        index
    }
}

impl Entry {
    /// None if what is kept is no hash: such a token lets nobody in.
    fn of(record: TokenRecord) -> Option<Arc<Self>> {
        let hash = blake3::Hash::from_hex(&record.hash);
        let hash = hash.inspect_err(
            |_| tracing::error!(token = %record.token_id, "what is kept of a token cannot be read"),
        );
        Some(Arc::new(Entry {
            hash: hash.ok()?,
            used_ms: AtomicI64::new(record.last_used_ms.unwrap_or_default()),
            record,
        }))
    }
}

fn kept(tokens: Vec<TokenChange>) -> KeepSystem {
    KeepSystem {
        change: SystemChange {
            tokens,
            ..SystemChange::default()
        },
    }
}

/// An id without what it is the id of, as it stands in the text.
fn short(token_id: &str) -> &str {
    token_id.split_once('_').map_or(token_id, |(_, id)| id)
}

#[cfg(test)]
#[path = "tokens_tests.rs"]
mod tests;
