//! Who asks, and what they may do. Pure rules: who somebody is, is found out by the HTTP layer.

use super::credential::in_both;
use super::guard_rules::any_matches;
use serde::{Deserialize, Serialize};

/// The owner of everything that is made on this machine without a token.
pub const LOCAL_OWNER: &str = "local";

/// What a person may do; each role may also do what the ones before it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Role {
    /// Sees, and changes nothing.
    Viewer,
    /// Gives tasks and calls tools, and works with what is its own.
    Operator,
    /// Everything, also what belongs to others: consents to calls, stops the fleet.
    Admin,
}

impl Role {
    pub const ALL: [Role; 3] = [Role::Viewer, Role::Operator, Role::Admin];

    pub fn as_str(self) -> &'static str {
        match self {
            Role::Viewer => "viewer",
            Role::Operator => "operator",
            Role::Admin => "admin",
        }
    }
}

/// Who a request speaks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// Whose it makes things.
    pub owner: String,
    pub role: Role,
    /// It showed a secret that only a person has: it may consent to what a policy asks about.
    pub authenticated: bool,
    /// Tools that it may call, as names or globs; none = all.
    pub tools: Option<Vec<String>>,
}

impl Principal {
    /// Somebody on this machine, where nobody has to show a token.
    pub fn local() -> Self {
        Principal {
            owner: LOCAL_OWNER.to_owned(),
            role: Role::Admin,
            authenticated: false,
            tools: None,
        }
    }

    /// Who can read the data folder of the server.
    pub fn holder_of_the_folder() -> Self {
        Principal {
            authenticated: true,
            ..Principal::local()
        }
    }

    /// Somebody who asks for what is not there.
    pub fn nobody() -> Self {
        Principal {
            owner: String::new(),
            role: Role::Viewer,
            authenticated: false,
            tools: Some(Vec::new()),
        }
    }

    /// Whether it may do what needs this role.
    pub fn has(&self, needed: Role) -> bool {
        self.role >= needed
    }

    /// The one owner whose computers its tasks may use; none = all computers.
    pub fn confined_to(&self) -> Option<String> {
        (self.role != Role::Admin).then(|| self.owner.clone())
    }

    /// Whether it may call this tool.
    pub fn may_call(&self, tool: &str) -> bool {
        let globs = self.tools.as_ref();
        globs.is_none_or(|globs| any_matches(globs, tool))
    }

    /// What a task may call that it makes: what was asked for, and no more than it may itself. None = whatever the task's
    /// kind allows; an empty list = nothing of what was asked for.
    pub fn allowed(&self, asked: Option<Vec<String>>) -> Option<Vec<String>> {
        match (&self.tools, asked) {
            (None, asked) => asked,
            (Some(own), None) => Some(own.clone()),
            (Some(own), Some(asked)) => Some(in_both(&asked, own)),
        }
    }

    /// Whether what belongs to `owner` is there for it: its own, and everything for an admin.
    pub fn sees(&self, owner: &str) -> bool {
        self.role == Role::Admin || self.owner == owner
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_may_what_the_ones_before_it_may_and_others_things_are_for_admins_alone() {
        for (at, role) in Role::ALL.into_iter().enumerate() {
            let ada = Principal {
                owner: "ada".into(),
                role,
                ..Principal::local()
            };
            for (below, needed) in Role::ALL.into_iter().enumerate() {
                assert_eq!(ada.has(needed), below <= at);
            }
            assert!(ada.sees("ada"));
            assert_eq!(ada.sees("ben"), role == Role::Admin);
        }
    }

    #[test]
    fn only_who_showed_a_secret_may_consent() {
        assert!(Principal::holder_of_the_folder().authenticated);
        assert!(Principal::holder_of_the_folder().has(Role::Admin));
        for unknown in [Principal::local(), Principal::nobody()] {
            assert!(!unknown.authenticated);
        }
        assert!(!Principal::nobody().has(Role::Operator));
        assert!(!Principal::nobody().may_call("turtle_dig"));
        assert!(Principal::local().may_call("turtle_dig"));
    }

    #[test]
    fn a_task_may_call_what_was_asked_for_and_no_more_than_its_maker_may() {
        let ada = Principal {
            tools: Some(vec!["fs_*".into()]),
            ..Principal::local()
        };
        let list = |names: &[&str]| Some(names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>());
        assert_eq!(ada.allowed(None), list(&["fs_*"]));
        assert_eq!(
            ada.allowed(list(&["fs_read", "turtle_dig"])),
            list(&["fs_read"])
        );
        assert_eq!(Principal::local().allowed(None), None);
        assert_eq!(Principal::local().allowed(list(&["a"])), list(&["a"]));
    }

    #[test]
    fn who_is_no_admin_uses_its_own_computers_alone() {
        let ada = Principal {
            owner: "ada".into(),
            role: Role::Operator,
            ..Principal::local()
        };
        assert_eq!(ada.confined_to(), Some("ada".to_owned()));
        assert_eq!(Principal::local().confined_to(), None);
    }
}
