//! Names that models know for tools from elsewhere: a small model calls `fs_run`, `read_file` or `execute_command` again and again,
//! whatever list of names it is told.

use crate::domain::call::Address;
use crate::strategy::fleet::{Found, ToolLookup};
use crate::strategy::turn::Turn;

/// A tool, the words of which a name has to have one, and those that may stand beside it.
struct Known {
    tool: &'static str,
    verbs: &'static [&'static str],
    beside: &'static [&'static str],
}

/// In the order in which they are looked at.
const KNOWN: [Known; 9] = [
    known(
        "run_program",
        &["run", "execute", "exec", "launch"],
        &["fs", "program", "script", "lua", "file", "code"],
    ),
    known(
        "shell_exec",
        &["run", "execute", "exec"],
        &["shell", "command", "cmd", "bash", "terminal"],
    ),
    known("fs_read", &["read", "open", "cat", "view"], &FILE),
    known("fs_write", &["write", "create", "make", "save"], &FILE),
    known("fs_patch", &["edit", "patch", "replace", "modify"], &FILE),
    known("fs_copy", &["copy", "cp"], &FILE),
    known("fs_move", &["move", "rename", "mv"], &FILE),
    known("fs_delete", &["delete", "remove", "rm"], &FILE),
    known(
        "fs_list",
        &["list", "ls"],
        &["fs", "files", "dir", "directory", "folder"],
    ),
];

/// What stands beside the verb where it is about files.
const FILE: [&str; 5] = ["fs", "file", "text", "content", "contents"];

const fn known(
    tool: &'static str,
    verbs: &'static [&'static str],
    beside: &'static [&'static str],
) -> Known {
    Known {
        tool,
        verbs,
        beside,
    }
}

impl Known {
    fn is(&self, words: &[&str]) -> bool {
        let mut verbs = 0;
        let all = words.iter().all(|word| {
            let is_verb = self.verbs.contains(word);
            verbs += usize::from(is_verb);
            is_verb || self.beside.contains(word)
        });
        all && verbs == 1
    }
}

/// The tool that a name means which no computer has; none if it may mean anything else, or that tool is not there.
pub(in crate::strategy) fn meant(called: &str, tools: &ToolLookup<'_>) -> Option<&'static str> {
    if !matches!(tools.find(called), Found::Unknown { elsewhere: None }) {
        return None;
    }
    let lower = called.to_lowercase();
    let words: Vec<&str> = lower
        .split(['_', '-', '.'])
        .filter(|word| !word.is_empty())
        .collect();
    let known = KNOWN
        .iter()
        .find(|known| known.is(&words) && tools.has(known.tool))?;
    Some(known.tool)
}

impl Turn<'_> {
    /// The same for a name with its address (`mine/read_file`).
    pub(in crate::strategy) fn meant_tool(&self, called: &str) -> Option<String> {
        let address = Address::parse(called).ok()?;
        let tools = ToolLookup::at(self.state, &self.inputs.fleet, &address.target);
        let tool = meant(&address.tool, &tools)?.to_owned();
        Some(Address { tool, ..address }.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::bench::Bench;
    use crate::strategy::drive::{Drive, call, fleet, profile_of};
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn a_name_from_elsewhere_means_the_tool_that_does_the_same() {
        let bench = Bench::new(profile_of("direct"));
        let fleet = fleet();
        let tools = ToolLookup::new(&bench.state, &fleet, None);
        for (called, tool) in [
            ("fs_run", Some("run_program")),
            ("run", Some("run_program")),
            ("execute_lua_script", Some("run_program")),
            ("read_file", Some("fs_read")),
            ("File.Write", Some("fs_write")),
            // What is there means itself; what may mean anything, nothing.
            ("fs_read", None),
            ("run_and_read", None),
            ("file", None),
            ("search_web", None),
            ("", None),
        ] {
            assert_eq!(meant(called, &tools), tool, "{called}");
        }
        // Here no computer has the shell.
        let shell = KNOWN.iter().find(|known| known.is(&["execute", "command"]));
        assert_eq!(shell.map(|known| known.tool), Some("shell_exec"));
        assert_eq!(meant("execute_command", &tools), None);
    }

    #[test]
    fn a_call_by_such_a_name_is_made() {
        for strategy in ["direct", "numbered"] {
            let mut drive = Drive::new(profile_of(strategy), "Run /a.lua.");
            drive.files.insert("/a.lua".into(), "print(1)".into());
            let said = match strategy {
                "direct" => call("fs_run", json!({"path": "/a.lua"})),
                _ => {
                    drive.say(&["1. Run /a.lua"]);
                    "fs_run /a.lua 30".to_owned()
                }
            };
            drive.say(&[&said]);
            let run = drive.state().calls().last().map(|call| call.tool.clone());
            assert_eq!(run.as_deref(), Some("run_program"), "{}", drive.shown());
        }
    }

    proptest! {
        #[test]
        fn no_name_is_too_odd(called in "[a-z_.\\-É ]{0,20}") {
            let bench = Bench::new(profile_of("direct"));
            let fleet = fleet();
            meant(&called, &ToolLookup::new(&bench.state, &fleet, None));
        }
    }
}
