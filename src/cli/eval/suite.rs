//! The suite: tasks as data (`config/eval/*.toml`, or a folder of the user's own). A task has a prompt, files on simulated computers, the
//! right solution as a list of moves that every strategy can make in its own words, and checks that look at the
//! computers afterwards.

use super::suite_files::{SuiteError, SuiteText, SuiteTexts, embedded, of_folder};
use crate::domain::tool::name_matches;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// Everything that is simulated and asked for.
#[derive(Debug, Clone)]
pub struct Suite {
    pub computers: Vec<ComputerSpec>,
    /// By file, then in the file's order.
    pub tasks: Vec<Arc<Task>>,
    kind: String,
}

/// A computer that every task finds.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComputerSpec {
    pub name: String,
    #[serde(default)]
    pub kind: ComputerKind,
    #[serde(default)]
    pub groups: Vec<String>,
    #[serde(default)]
    pub files: Vec<FileText>,
    #[serde(default)]
    pub chests: Vec<ChestSpec>,
    pub monitor: Option<String>,
    /// Of a turtle, in moves.
    #[serde(default)]
    pub fuel: u32,
    /// Of a turtle: slot (from 1), item, count.
    #[serde(default)]
    pub items: Vec<(usize, String, u32)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ComputerKind {
    #[default]
    Computer,
    Turtle,
}

/// A chest on the wired network.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChestSpec {
    pub name: String,
    pub items: Vec<(usize, String, u32)>,
}

/// A file that lies on a computer before the task begins. A line `@fill N` in it stands for N lines `T[i] = i`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileText {
    /// Only in tasks; none = the task's own computer.
    pub on: Option<String>,
    pub path: String,
    text: String,
}

impl FileText {
    pub fn content(&self) -> String {
        let mut out = String::new();
        for line in self.text.lines() {
            match line.strip_prefix("@fill ").and_then(|n| n.parse().ok()) {
                Some(count) => (1..=count).for_each(|i: u32| {
                    out.push_str(&format!("T[{i}] = {i}\n"));
                }),
                None => {
                    out.push_str(line);
                    out.push('\n');
                }
            }
        }
        out
    }
}

/// One task of the suite.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    pub name: String,
    pub prompt: String,
    /// The computer that it runs on; none = the first of the world.
    pub computer: Option<String>,
    /// It changes what files cannot put back (tools, hardware, blocks), so it gets computers of its own.
    #[serde(default)]
    pub fresh: bool,
    /// Most rounds of an error-free run, decomposition and planning not counted (source document 004).
    pub rounds: Option<u32>,
    /// Only these tools are allowed.
    pub only_tools: Option<Vec<String>>,
    /// What a person answers when asked.
    pub answer: Option<String>,
    #[serde(default)]
    pub files: Vec<FileText>,
    pub moves: Vec<Move>,
    pub checks: Vec<Check>,
}

/// One move of the right solution.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Move {
    #[serde(flatten)]
    pub act: Act,
    /// Another computer than the task's own.
    pub on: Option<String>,
    /// It is made to see how it fails: a reported failure is its right end.
    #[serde(default)]
    pub fails: bool,
    /// It is refused, and that is its right end.
    #[serde(default)]
    pub blocked: bool,
}

/// What a move does, in no strategy's words.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Act {
    Read {
        path: String,
    },
    Write {
        path: String,
        text: String,
    },
    WriteAndRun {
        path: String,
        text: String,
        #[serde(default)]
        args: Vec<String>,
    },
    Run {
        path: String,
        #[serde(default)]
        args: Vec<String>,
    },
    Shell {
        command: String,
    },
    Call {
        tool: String,
        args: Value,
    },
    Ask {
        question: String,
        why: String,
    },
    Finish {
        message: String,
    },
}

impl Act {
    /// The tool call that it comes to; none for the end of a task.
    pub fn call(&self) -> Option<(String, Value)> {
        let (tool, args) = match self {
            Act::Read { path } => ("fs_read", json!({"path": path})),
            Act::Write { path, text } => ("fs_write", json!({"path": path, "content": text})),
            Act::WriteAndRun { path, text, args } => (
                "write_and_run",
                json!({"path": path, "content": text, "args": args}),
            ),
            Act::Run { path, args } => ("run_program", json!({"path": path, "args": args})),
            Act::Shell { command } => ("shell_exec", json!({"command": command})),
            Act::Call { tool, args } => (tool.as_str(), args.clone()),
            Act::Ask { question, why } => ("ask_user", json!({"question": question, "why": why})),
            Act::Finish { .. } => return None,
        };
        Some((tool.to_owned(), args))
    }

    /// Whether it runs a program, which is what counts as a test.
    pub fn is_run(&self) -> bool {
        match self {
            Act::Run { .. } | Act::WriteAndRun { .. } => true,
            Act::Call { tool, .. } => tool == "run_program",
            _ => false,
        }
    }

    /// Whether it writes a file as a whole, so that making it again puts the file right.
    pub fn is_write(&self) -> bool {
        matches!(self, Act::Write { .. } | Act::WriteAndRun { .. })
    }
}

/// What must hold on the computers when the task has ended. The first of `file`, `run`, `lua`, `call` says what is
/// looked at; the others say what is expected of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    pub on: Option<String>,
    /// Deleted before the check.
    pub delete: Option<String>,
    pub file: Option<String>,
    /// All of the file; blanks and line breaks at either one's end do not count.
    pub equals: Option<String>,
    pub contains: Option<String>,
    #[serde(default)]
    pub missing: bool,
    /// As the task or the world laid it there.
    #[serde(default)]
    pub unchanged: bool,
    /// A program that must end without an error.
    pub run: Option<String>,
    #[serde(default)]
    pub args: Vec<String>,
    /// A program's source, run in the same way.
    pub lua: Option<String>,
    /// A tool that must answer.
    pub call: Option<String>,
    pub args_json: Option<String>,
    /// What is printed, or (of a tool) a part of the result.
    pub output: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskFile {
    tasks: Vec<Task>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WorldFile {
    computers: Vec<ComputerSpec>,
}

impl Suite {
    /// Reads the suite that the program holds.
    ///
    /// # Errors
    /// What does not fit, with the name of the file.
    pub fn load() -> Result<Self, SuiteError> {
        Self::of(embedded()?)
    }

    /// Reads the tasks of a folder in place of those that the program holds.
    ///
    /// # Errors
    /// What cannot be read or does not fit, with the name of the file.
    pub fn load_own(dir: &Path) -> Result<Self, SuiteError> {
        Self::of(of_folder(dir)?)
    }

    fn of(texts: SuiteTexts) -> Result<Self, SuiteError> {
        let world: WorldFile = read(&texts.world)?;
        let mut names = BTreeSet::new();
        let mut tasks = Vec::new();
        for text in &texts.tasks {
            let of_file: TaskFile = read(text)?;
            for task in of_file.tasks {
                check_task(&task, &world.computers)
                    .and_then(|()| match names.insert(task.name.clone()) {
                        true => Ok(()),
                        false => Err("there is another task of this name".to_owned()),
                    })
                    .map_err(|reason| SuiteError {
                        file: text.file.clone(),
                        reason: format!("task {}: {reason}", task.name),
                    })?;
                tasks.push(Arc::new(task));
            }
        }
        Ok(Suite {
            computers: world.computers,
            tasks,
            kind: texts.kind.text,
        })
    }

    /// The tasks whose names match one of these, each once and in the suite's order.
    pub fn matching(&self, globs: &[impl AsRef<str>]) -> Vec<Arc<Task>> {
        let wanted = |name: &str| globs.iter().any(|glob| name_matches(glob.as_ref(), name));
        let found = self.tasks.iter().filter(|task| wanted(&task.name));
        found.cloned().collect()
    }

    /// What a file of a computer holds before a task begins; none if nobody laid it there.
    pub fn laid(&self, task: &Task, on: &str, path: &str) -> Option<String> {
        laid(task, &self.computers, on, path)
    }

    /// The kind file of a strategy.
    pub fn kind_of(&self, strategy: &str) -> String {
        self.kind.replace("NAME", strategy)
    }

    /// The computer that a task runs on.
    pub fn home<'a>(&'a self, task: &'a Task) -> &'a str {
        home(task, &self.computers)
    }
}

fn home<'a>(task: &'a Task, computers: &'a [ComputerSpec]) -> &'a str {
    let first = computers.first().map(|c| c.name.as_str());
    task.computer.as_deref().or(first).unwrap_or_default()
}

// A task's own files lie over those of the world.
fn laid(task: &Task, computers: &[ComputerSpec], on: &str, path: &str) -> Option<String> {
    let of_task = |f: &&FileText| f.on.as_deref().unwrap_or_else(|| home(task, computers)) == on;
    let of_world = computers.iter().filter(|c| c.name == on);
    let mut files = task.files.iter().filter(of_task);
    files
        .find(|f| f.path == path)
        .or_else(|| of_world.flat_map(|c| &c.files).find(|f| f.path == path))
        .map(FileText::content)
}

fn read<T: serde::de::DeserializeOwned>(text: &SuiteText) -> Result<T, SuiteError> {
    toml::from_str(&text.text).map_err(|error| SuiteError {
        file: text.file.clone(),
        reason: error.to_string(),
    })
}

fn check_task(task: &Task, computers: &[ComputerSpec]) -> Result<(), String> {
    // It names the file of a transcript.
    let may_stand = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if task.name.is_empty() || !task.name.chars().all(may_stand) {
        return Err("a name has letters, digits, - and _".to_owned());
    }
    if !matches!(task.moves.last().map(|m| &m.act), Some(Act::Finish { .. })) {
        return Err("the last move is no finish".to_owned());
    }
    if task.checks.is_empty() {
        return Err("it has no check".to_owned());
    }
    let asks = task.moves.iter().any(|m| matches!(m.act, Act::Ask { .. }));
    if asks && task.answer.is_none() {
        return Err("it asks, and nobody answers".to_owned());
    }
    let named = [task.computer.as_ref()]
        .into_iter()
        .chain(task.files.iter().map(|f| f.on.as_ref()))
        .chain(task.moves.iter().map(|m| m.on.as_ref()))
        .chain(task.checks.iter().map(|c| c.on.as_ref()))
        .flatten();
    for name in named {
        if computers.iter().all(|c| c.name != *name) {
            return Err(format!("there is no computer {name}"));
        }
    }
    for check in task.checks.iter().filter(|check| check.unchanged) {
        let on = (check.on.as_deref()).unwrap_or_else(|| home(task, computers));
        let path = check.file.as_deref().unwrap_or_default();
        if laid(task, computers, on, path).is_none() {
            return Err(format!(
                "a check wants {path:?} on {on} unchanged, but neither the task nor the world has that file"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "suite_tests.rs"]
mod tests;
