//! Tokens: what is kept of them, for whom they are, and whether they count. The texts themselves are kept nowhere.

use super::access::{LOCAL_OWNER, Principal, Role};
use super::tool::name_matches;
use serde::{Deserialize, Serialize};

/// What the text of every token begins with, so that people and scanners of repositories know one when they see it.
pub const PREFIX: &str = "ccf_";

/// How long a browser's session lasts, in milliseconds.
pub const SESSION_MS: i64 = 24 * 60 * 60 * 1000;

/// Sessions of one token; the oldest one ends when there is one more.
pub const SESSIONS_OF_A_TOKEN: usize = 16;

/// For whom a token is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "for", rename_all = "snake_case")]
pub enum Bearer {
    /// Somebody who uses the API, the page or MCP.
    Person { role: Role },
    /// Computers whose name matches: one name, or a glob.
    Computer { client_id: String },
}

/// What is kept of a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenRecord {
    pub token_id: String,
    /// What people call it.
    pub name: String,
    /// Whose it makes things, and whose computers those are that show it.
    pub owner: String,
    #[serde(flatten)]
    pub bearer: Bearer,
    /// Tools that it may call, as names or globs; none = all. For people alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// BLAKE3 of the text, as hexadecimal digits. Never leaves the process.
    #[serde(skip)]
    pub hash: String,
    /// All times are milliseconds since the Unix epoch.
    pub created_at_ms: i64,
    /// To the hour or so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_ms: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at_ms: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at_ms: Option<i64>,
    /// The token, or the operator's key, that a browser showed to begin this session. It counts no longer than that one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_of: Option<String>,
}

impl TokenRecord {
    /// Whether it may be shown now, as far as it alone knows.
    pub fn is_live(&self, now_ms: i64) -> bool {
        self.revoked_at_ms.is_none() && self.expires_at_ms.is_none_or(|end| now_ms < end)
    }

    /// Whether it locks the door for those who have none. One that has expired does: a door that opens by itself some
    /// night is worse than one that stays shut.
    pub fn locks(&self) -> bool {
        self.revoked_at_ms.is_none() && self.session_of.is_none()
    }

    /// Who shows it; none for a computer's.
    pub fn principal(&self) -> Option<Principal> {
        match &self.bearer {
            Bearer::Person { role } => Some(Principal {
                owner: self.owner.clone(),
                role: *role,
                authenticated: true,
                tools: self.tools.clone(),
            }),
            Bearer::Computer { .. } => None,
        }
    }

    /// Whether a computer of this name may show it.
    pub fn admits(&self, name: &str) -> bool {
        match &self.bearer {
            Bearer::Computer { client_id } => name_matches(client_id, name),
            Bearer::Person { .. } => false,
        }
    }
}

/// A token that is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct NewToken {
    pub name: String,
    /// As the name, if it is not said.
    #[serde(default)]
    pub owner: Option<String>,
    #[serde(flatten)]
    pub bearer: Bearer,
    #[serde(default)]
    pub tools: Option<Vec<String>>,
    #[serde(default)]
    pub expires_at_ms: Option<i64>,
}

impl NewToken {
    /// Whose it will be.
    pub fn owner(&self) -> &str {
        self.owner.as_deref().unwrap_or(&self.name)
    }

    /// Whether it may be made; the error is the field and what is wrong with it.
    ///
    /// # Errors
    /// A text that is too long or holds what it may not, or rights that do not fit.
    pub fn check(&self, now_ms: i64) -> Result<(), (&'static str, String)> {
        const GLOBS: usize = 64;
        let words = "1 to 64 letters, digits, spaces, `_`, `.`, `@` and `-`";
        if !is_word(&self.name, 64, true) {
            return Err(("name", format!("a name has {words}")));
        }
        if !is_word(self.owner(), 64, false) {
            let words = words.replace(" spaces,", "");
            return Err(("owner", format!("an owner has {words}")));
        }
        let admin = matches!(self.bearer, Bearer::Person { role: Role::Admin });
        if self.owner() == LOCAL_OWNER && !admin {
            let words = format!(
                "`{LOCAL_OWNER}` owns what was made without a token; only an admin's token may be its"
            );
            return Err(("owner", words));
        }
        match (&self.bearer, &self.tools) {
            (Bearer::Computer { .. }, Some(_)) => {
                return Err(("tools", "a computer's token calls no tools".to_owned()));
            }
            (Bearer::Computer { client_id }, None) if !is_name_or_glob(client_id) => {
                let words = "1 to 64 characters, in which `*` stands for any";
                return Err(("client_id", format!("a computer's name or a glob: {words}")));
            }
            (Bearer::Person { .. }, Some(globs))
                if globs.is_empty()
                    || globs.len() > GLOBS
                    || !globs.iter().all(|glob| is_name_or_glob(glob)) =>
            {
                let words = format!("1 to {GLOBS} tool names or globs");
                return Err(("tools", format!("{words}; leave it out for all tools")));
            }
            _ => {}
        }
        match self.expires_at_ms {
            Some(end) if end <= now_ms => Err(("expires_at", "that moment has passed".to_owned())),
            _ => Ok(()),
        }
    }
}

fn is_word(text: &str, most: usize, spaces: bool) -> bool {
    let fits =
        |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '@' | '-') || (spaces && c == ' ');
    (1..=most).contains(&text.chars().count()) && text.trim() == text && text.chars().all(fits)
}

fn is_name_or_glob(text: &str) -> bool {
    (1..=64).contains(&text.chars().count()) && !text.chars().any(char::is_control)
}

/// The tools that are in both lists of names and globs, as one list. It never holds more than both allow; two globs of
/// which neither holds the other have nothing in common here.
pub fn in_both(one: &[String], other: &[String]) -> Vec<String> {
    let mut both: Vec<String> = Vec::new();
    for a in one {
        for b in other {
            // A glob as a text matches another one only if that one holds everything it does.
            let narrower = match (name_matches(b, a), name_matches(a, b)) {
                (true, _) => a,
                (false, true) => b,
                (false, false) => continue,
            };
            if !both.contains(narrower) {
                both.push(narrower.clone());
            }
        }
    }
    both
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn person(role: Role) -> NewToken {
        NewToken {
            name: "ada".into(),
            owner: None,
            bearer: Bearer::Person { role },
            tools: None,
            expires_at_ms: None,
        }
    }

    fn record(bearer: Bearer) -> TokenRecord {
        TokenRecord {
            token_id: "tok_1".into(),
            name: "ada".into(),
            owner: "ada".into(),
            bearer,
            tools: None,
            hash: "0".repeat(64),
            created_at_ms: 1,
            last_used_ms: None,
            expires_at_ms: None,
            revoked_at_ms: None,
            session_of: None,
        }
    }

    #[test]
    fn an_expired_token_counts_no_more_and_still_locks_the_door_and_a_revoked_one_does_neither() {
        let role = Role::Viewer;
        let mut token = record(Bearer::Person { role });
        assert!(token.is_live(10) && token.locks());
        token.expires_at_ms = Some(10);
        assert!(token.is_live(9) && !token.is_live(10) && token.locks());
        token.revoked_at_ms = Some(5);
        assert!(!token.is_live(9) && !token.locks());
    }

    #[test]
    fn a_computers_token_is_no_person_and_a_persons_admits_no_computer() {
        let client_id = "mine-*".to_owned();
        let computers = record(Bearer::Computer { client_id });
        assert_eq!(computers.principal(), None);
        assert!(computers.admits("mine-7") && !computers.admits("farm-7"));
        let role = Role::Admin;
        let persons = record(Bearer::Person { role });
        assert!(persons.principal().unwrap().authenticated);
        assert!(!persons.admits("mine-7"));
    }

    #[test]
    fn what_cannot_be_a_token_is_refused_with_the_field() {
        let refused = |new: NewToken| new.check(100).map_err(|(field, _)| field);
        assert_eq!(refused(person(Role::Viewer)), Ok(()));
        let named = |name: &str| NewToken {
            name: name.into(),
            ..person(Role::Operator)
        };
        for name in ["", " ada", "a\nb", &"x".repeat(65), "computer:x"] {
            assert_eq!(refused(named(name)), Err("name"), "{name:?}");
        }
        let owned = |owner: &str, role| NewToken {
            owner: Some(owner.into()),
            ..person(role)
        };
        assert_eq!(refused(owned("a b", Role::Admin)), Err("owner"));
        assert_eq!(refused(owned("local", Role::Operator)), Err("owner"));
        assert_eq!(refused(owned("local", Role::Admin)), Ok(()));
        let computer = |client_id: &str| NewToken {
            bearer: Bearer::Computer {
                client_id: client_id.into(),
            },
            ..person(Role::Viewer)
        };
        assert_eq!(refused(computer("")), Err("client_id"));
        assert_eq!(refused(computer("mine-*")), Ok(()));
        let tools = Some(vec![]);
        assert_eq!(
            refused(NewToken {
                tools: tools.clone(),
                ..person(Role::Operator)
            }),
            Err("tools")
        );
        let both = NewToken {
            tools,
            ..computer("x")
        };
        assert_eq!(refused(both), Err("tools"));
        let late = NewToken {
            expires_at_ms: Some(100),
            ..person(Role::Viewer)
        };
        assert_eq!(refused(late), Err("expires_at"));
    }

    #[test]
    fn what_just_fits_can_be_a_token() {
        let fine = |new: NewToken| new.check(100) == Ok(());
        for name in ["a", "ada b", "a_b.c@d-e", "Ädä9", &"x".repeat(64)] {
            let name = name.to_owned();
            let owner = Some("ada".to_owned());
            let bearer = person(Role::Viewer);
            assert!(fine(NewToken {
                name,
                owner,
                ..bearer
            }));
        }
        let with = |tools: Vec<String>| NewToken {
            tools: Some(tools),
            ..person(Role::Operator)
        };
        assert!(fine(with(vec!["fs_*".into(); 64])));
        assert!(!fine(with(vec!["fs_*".into(); 65])));
        assert!(!fine(with(vec!["fs_*".into(), String::new()])));
        assert!(!fine(with(vec!["fs\n".into()])));
        let later = NewToken {
            expires_at_ms: Some(101),
            ..person(Role::Viewer)
        };
        assert!(fine(later));
    }

    #[test]
    fn the_hash_of_a_token_is_never_written_out() {
        let role = Role::Viewer;
        let text = serde_json::to_string(&record(Bearer::Person { role })).unwrap();
        assert!(!text.contains("hash") && !text.contains("000"), "{text}");
    }

    proptest! {
        #[test]
        fn what_two_lists_have_in_common_allows_nothing_that_one_of_them_does_not(
            one in proptest::collection::vec("[ab*]{1,4}", 0..4),
            other in proptest::collection::vec("[ab*]{1,4}", 0..4),
            name in "[ab]{0,6}",
        ) {
            let allows = |globs: &[String]| globs.iter().any(|glob| name_matches(glob, &name));
            let both = in_both(&one, &other);
            if allows(&both) {
                prop_assert!(allows(&one) && allows(&other), "{both:?}");
            }
            // A tool that is named is not lost.
            if one.contains(&name) && allows(&other) {
                prop_assert!(allows(&both), "{both:?}");
            }
        }
    }
}
