//! The actions that steps of plans are made of, and the words that mean them.

use serde::{Deserialize, Serialize};

/// What a step does (source document 002's action types, without those of Git and of builds).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum PlanAction {
    ReadFile,
    WriteFile,
    EditFile,
    RunProgram,
    RunTest,
    Search,
    Shell,
    CallTool,
    AnalyseError,
    Gather,
    AskUser,
    /// None that is known; a plan with it is not valid unless it names a tool.
    Other(String),
}

/// Every action that a plan may name, with the other words for it that are understood.
const ACTIONS: [(PlanAction, &str, &[&str]); 11] = [
    (
        PlanAction::ReadFile,
        "read_file",
        &[
            "read",
            "view_file",
            "view",
            "open_file",
            "cat",
            "show_file",
            "file_read",
            "fs_read",
        ],
    ),
    (
        PlanAction::WriteFile,
        "write_file",
        &[
            "write",
            "create_file",
            "save_file",
            "overwrite_file",
            "file_write",
            "fs_write",
            "create",
        ],
    ),
    (
        PlanAction::EditFile,
        "edit_file",
        &[
            "edit",
            "modify_file",
            "modify",
            "patch_file",
            "patch",
            "update_file",
            "fix_file",
            "change_file",
            "file_patch",
            "fs_patch",
            "replace_in_file",
        ],
    ),
    (
        PlanAction::RunProgram,
        "run_program",
        &[
            "run",
            "execute",
            "execute_program",
            "run_file",
            "run_script",
            "start_program",
            "run_code",
        ],
    ),
    (
        PlanAction::RunTest,
        "run_test",
        &[
            "test",
            "run_tests",
            "execute_test",
            "verify",
            "check",
            "test_program",
        ],
    ),
    (
        PlanAction::Search,
        "search",
        &[
            "search_code",
            "search_files",
            "grep",
            "find",
            "find_file",
            "find_files",
            "search_text",
            "fs_grep",
            "fs_find",
        ],
    ),
    (
        PlanAction::Shell,
        "shell",
        &[
            "shell_exec",
            "run_shell",
            "run_command",
            "command",
            "exec",
            "shell_command",
        ],
    ),
    (
        PlanAction::CallTool,
        "call_tool",
        &["tool", "use_tool", "tool_call", "invoke_tool"],
    ),
    (
        PlanAction::AnalyseError,
        "analyse_error",
        &[
            "analyze_error",
            "analyse",
            "analyze",
            "analyze_code",
            "analyse_code",
            "think",
            "reason",
            "understand",
            "diagnose",
            "explain",
            "summarise",
            "summarize",
        ],
    ),
    (
        PlanAction::Gather,
        "gather",
        &[
            "gather_from_computer",
            "gather_facts",
            "inspect",
            "inspect_computer",
            "list_files",
            "list",
            "list_directory",
            "ls",
            "fs_list",
            "look",
        ],
    ),
    (
        PlanAction::AskUser,
        "ask_user",
        &["ask", "ask_question", "question", "clarify"],
    ),
];

impl PlanAction {
    /// The action that a word means: its name or one of its synonyms, in any case, with blanks, hyphens or capitals
    /// between its parts.
    pub fn named(word: &str) -> Self {
        let word = snake_case(word);
        let found = ACTIONS
            .iter()
            .find(|(_, name, synonyms)| *name == word || synonyms.contains(&word.as_str()));
        found.map_or(PlanAction::Other(word), |(action, _, _)| action.clone())
    }

    pub fn as_str(&self) -> &str {
        if let PlanAction::Other(word) = self {
            return word;
        }
        ACTIONS
            .iter()
            .find(|(action, _, _)| action == self)
            .map_or("", |(_, name, _)| name)
    }

    /// The names of all actions, in the order in which they are told.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ACTIONS.iter().map(|(_, name, _)| *name)
    }

    /// Whether such a step may change something on a computer.
    pub fn may_change(&self) -> bool {
        use PlanAction::*;
        matches!(
            self,
            WriteFile | EditFile | RunProgram | RunTest | Shell | CallTool | Other(_)
        )
    }

    /// Whether the target of such a step is a file.
    pub fn is_about_a_file(&self) -> bool {
        use PlanAction::*;
        matches!(self, ReadFile | WriteFile | EditFile | RunProgram | RunTest)
    }

    /// Whether such a step is done by thinking: a model's words are its result, no tool is called.
    pub fn is_thought(&self) -> bool {
        *self == PlanAction::AnalyseError
    }
}

fn snake_case(word: &str) -> String {
    let mut out = String::new();
    let mut after_lower = false;
    for c in word.trim().chars() {
        if c.is_uppercase() && after_lower {
            out.push('_');
        }
        after_lower = c.is_lowercase() || c.is_ascii_digit();
        match c {
            ' ' | '-' => out.push('_'),
            c => out.extend(c.to_lowercase()),
        }
    }
    out
}

impl From<String> for PlanAction {
    fn from(word: String) -> Self {
        PlanAction::named(&word)
    }
}

impl From<PlanAction> for String {
    fn from(action: PlanAction) -> Self {
        action.as_str().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_action_has_one_meaning_whatever_its_spelling() {
        for (action, name, synonyms) in &ACTIONS {
            for word in std::iter::once(name).chain(synonyms.iter()) {
                assert_eq!(&PlanAction::named(word), action, "{word}");
                assert_eq!(
                    &PlanAction::named(&word.replace('_', "-").to_uppercase()),
                    action
                );
            }
        }
        assert_eq!(PlanAction::named("ReadFile"), PlanAction::ReadFile);
        assert_eq!(PlanAction::named("analyzeError"), PlanAction::AnalyseError);
        assert_eq!(
            PlanAction::named("git_commit"),
            PlanAction::Other("git_commit".into())
        );
        let written = serde_json::to_value(PlanAction::named("Analyze Error")).unwrap();
        assert_eq!(written, "analyse_error");
    }
}
