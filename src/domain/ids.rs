//! Typed ids. What the server makes has a prefix that tells its kind (`tsk_`, `cal_`, `qst_`); what
//! people choose (a `client_id`) is checked once and then trusted.
//!
//! Ids of calls and questions derive from task, generation and journal position, so that deciding
//! needs no randomness and a replay yields the same ids.

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::sync::Arc;

/// Why a text is no id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    #[error("an id of kind {expected} begins with \"{expected}\", got \"{got}\"")]
    Prefix { expected: &'static str, got: String },
    #[error("an id has 1 to {max} characters, got {got}")]
    Length { max: usize, got: usize },
    #[error("character {0:?} is not allowed in an id")]
    Character(char),
}

/// The longest id or name that is accepted, in characters (wire contract).
pub const MAX_ID_CHARS: usize = 64;

fn check_length(text: &str) -> Result<(), IdError> {
    let got = text.chars().count();
    if got == 0 || got > MAX_ID_CHARS {
        return Err(IdError::Length {
            max: MAX_ID_CHARS,
            got,
        });
    }
    Ok(())
}

/// What all ids are: checked text. An id is passed on often, so it is cheap to clone.
macro_rules! text_id {
    ($name:ident) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;
            fn try_from(text: String) -> Result<Self, IdError> {
                Self::parse(&text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0.as_ref().to_owned()
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Read;
                impl Visitor<'_> for Read {
                    type Value = $name;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str("a string")
                    }

                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$name, E> {
                        $name::parse(text).map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(Read)
            }
        }
    };
}

macro_rules! prefixed_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Arc<str>);

        text_id!($name);

        impl $name {
            /// What every id of this kind begins with.
            pub const PREFIX: &'static str = $prefix;

            /// Reads an id that came from outside.
            pub fn parse(text: &str) -> Result<Self, IdError> {
                check_length(text)?;
                let body = text.strip_prefix($prefix).ok_or_else(|| IdError::Prefix {
                    expected: $prefix,
                    got: text.chars().take(12).collect(),
                })?;
                match body.chars().find(|c| !c.is_ascii_alphanumeric() && *c != '_') {
                    Some(c) => Err(IdError::Character(c)),
                    None if body.is_empty() => Err(IdError::Length { max: MAX_ID_CHARS, got: 0 }),
                    None => Ok($name(text.into())),
                }
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }

        }
    };
}

prefixed_id!(
    /// One task.
    TaskId,
    "tsk_"
);
prefixed_id!(
    /// One request to run one tool on one computer.
    CallId,
    "cal_"
);
prefixed_id!(
    /// One question to a person.
    QuestionId,
    "qst_"
);

/// Characters of a child's id behind its prefix: as many as a ULID has.
const CHILD_CHARS: usize = 26;

impl TaskId {
    /// The task that a call starts. It follows from the call's id, so that there is one however often it is asked for.
    pub fn of_call(call: &CallId) -> Self {
        let hash = blake3::hash(call.as_str().as_bytes()).to_hex();
        let body: String = hash.chars().take(CHILD_CHARS).collect();
        TaskId(format!("{}{}", Self::PREFIX, body.to_ascii_uppercase()).into())
    }

    /// What makes it unlike all others: the id without its prefix.
    pub fn unique(&self) -> &str {
        &self.0[Self::PREFIX.len()..]
    }

    /// The id of a new task; `unique` (letters and digits, for example a ULID) comes from outside the core.
    pub fn from_unique(unique: &str) -> Result<Self, IdError> {
        Self::parse(&format!("{}{unique}", Self::PREFIX))
    }
}

impl CallId {
    /// The call that the decision at journal position `position` asks for; `index` tells apart several
    /// calls of one decision.
    pub fn derive(task: &TaskId, generation: Generation, position: u64, index: usize) -> Self {
        let (prefix, body, generation) = (Self::PREFIX, task.unique(), generation.0);
        CallId(format!("{prefix}{body}_{generation}_{position}_{index}").into())
    }
}

impl CallId {
    /// The task that made the call; none if the id was not made by [`CallId::derive`].
    pub fn task(&self) -> Option<TaskId> {
        let body = self.0[Self::PREFIX.len()..].split('_').next()?;
        TaskId::from_unique(body).ok()
    }

    /// The journal position of the decision that asks for the call; none if the id was not made by [`CallId::derive`].
    pub fn position(&self) -> Option<u64> {
        self.0[Self::PREFIX.len()..].split('_').nth(2)?.parse().ok()
    }

    /// The same call of the same decision, since a start of the server that has this salt. A former salt goes.
    pub fn salted(&self, salt: &str) -> Self {
        let plain: Vec<&str> = self.0.split('_').take(5).collect();
        CallId(format!("{}_{salt}", plain.join("_")).into())
    }

    /// The id under which a computer is asked, for the `number`th time, to verify this call.
    pub fn verification(&self, number: u8) -> Self {
        CallId(format!("{}_v{number}", self.0).into())
    }
}

impl QuestionId {
    /// Whether a task asked this question.
    pub fn belongs_to(&self, task: &TaskId) -> bool {
        let body = &self.0[Self::PREFIX.len()..];
        body.strip_prefix(task.unique())
            .is_some_and(|rest| rest.starts_with('_'))
    }

    /// The question that the decision at journal position `position` asks.
    pub fn derive(task: &TaskId, generation: Generation, position: u64) -> Self {
        let (prefix, body, generation) = (Self::PREFIX, task.unique(), generation.0);
        QuestionId(format!("{prefix}{body}_{generation}_{position}").into())
    }

    /// The task that asks; none if the id was not made by [`QuestionId::derive`].
    pub fn task(&self) -> Option<TaskId> {
        let body = self.0[Self::PREFIX.len()..].split('_').next()?;
        TaskId::from_unique(body).ok()
    }
}

/// How often a task has been started from its journal; every answer to a task carries it, and an answer
/// to an older generation is dropped.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Default,
)]
pub struct Generation(pub u64);

impl Generation {
    /// The generation after a restart.
    pub fn next(self) -> Self {
        Generation(self.0.saturating_add(1))
    }
}

/// The name of a computer as people chose it: 1 to 64 characters, no control characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClientId(Arc<str>);

text_id!(ClientId);

impl ClientId {
    pub fn parse(text: &str) -> Result<Self, IdError> {
        check_length(text)?;
        match text.chars().find(|c| c.is_control()) {
            Some(c) => Err(IdError::Character(c)),
            None => Ok(ClientId(text.into())),
        }
    }
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The blake3 hash of a text that is kept once as a blob, as 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct BlobHash(pub String);

impl BlobHash {
    pub fn of(content: &str) -> Self {
        BlobHash(blake3::hash(content.as_bytes()).to_hex().to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task() -> TaskId {
        TaskId::from_unique("01HZX4W1V7Y6T5S4R3Q2P1N0M9").unwrap()
    }

    #[test]
    fn derived_ids_are_valid_ids_within_the_wire_limit() {
        let call = CallId::derive(&task(), Generation(12), 99_999, 7);
        assert_eq!(CallId::parse(call.as_str()), Ok(call.clone()));
        let question = QuestionId::derive(&task(), Generation(12), 99_999);
        assert_eq!(QuestionId::parse(question.as_str()), Ok(question));
    }

    #[test]
    fn a_call_starts_one_task_whose_own_calls_name_it() {
        let call = CallId::derive(&task(), Generation(1), 7, 0);
        let child = TaskId::of_call(&call);
        assert_eq!(TaskId::of_call(&call), child);
        assert_eq!(TaskId::parse(child.as_str()), Ok(child.clone()));
        let other = CallId::derive(&task(), Generation(1), 7, 1);
        assert_ne!(TaskId::of_call(&other), child);
        let of_child = CallId::derive(&child, Generation(1), 3, 0);
        assert_eq!(of_child.task(), Some(child));
    }

    #[test]
    fn an_id_of_another_kind_is_refused_with_the_kind_that_was_wanted() {
        let error = CallId::parse(task().as_str()).unwrap_err();
        assert!(
            error.to_string().contains("begins with \"cal_\""),
            "{error}"
        );
    }

    #[test]
    fn a_client_id_may_hold_any_printable_text_but_no_control_character() {
        assert!(ClientId::parse("Größe/Ost: 1").is_ok());
        assert_eq!(ClientId::parse("a\nb"), Err(IdError::Character('\n')));
        assert!(ClientId::parse("").is_err());
        assert!(ClientId::parse(&"x".repeat(65)).is_err());
    }
}
