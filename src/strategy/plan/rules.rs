//! Deterministic first: a step whose action, target and params leave one meaning becomes a call by rule, without a
//! model. Whatever leaves a doubt, a detail that no parameter of the tool takes for example, is for the executor.

use super::place::Place;
use super::targets::{absolute, program_of};
use crate::domain::directive::{ASK_USER_TOOL, StrictRequest};
use crate::domain::work::plan::{PlanAction, PlanStep};
use crate::strategy::answers::shell_words::bare;
use serde_json::{Map, Value, json};

/// The one call that a step can mean; none if it could mean several, or nothing certain.
pub fn request_of(step: &PlanStep, place: &Place<'_>) -> Option<StrictRequest> {
    let meant = Meant {
        step,
        place,
        params: step.params.as_object().cloned().unwrap_or_default(),
    };
    let (tool, args) = match step.action {
        PlanAction::ReadFile => meant.read()?,
        PlanAction::WriteFile => meant.write()?,
        PlanAction::EditFile => meant.edit()?,
        PlanAction::RunProgram | PlanAction::RunTest => meant.run()?,
        PlanAction::Search => meant.search()?,
        PlanAction::Shell => meant.shell()?,
        PlanAction::CallTool => meant.call_tool()?,
        PlanAction::Gather => meant.gather()?,
        PlanAction::AskUser => meant.ask()?,
        PlanAction::AnalyseError | PlanAction::Other(_) => return None,
    };
    Some(StrictRequest::Tool {
        explanation: explanation(step),
        tool,
        parameters: Value::Object(args),
        on: step.on.clone(),
    })
}

/// What people are told of a step that is under way.
pub fn explanation(step: &PlanStep) -> String {
    let why = step.reason.lines().next().unwrap_or_default();
    let why: String = why.chars().take(160).collect();
    let dash = if why.is_empty() { "" } else { " — " };
    format!("Step {}: {}{dash}{why}", step.id, title(step))
}

/// What a step does, in a few words.
pub fn title(step: &PlanStep) -> String {
    let target = step.target.as_deref().unwrap_or_default();
    let on = step
        .on
        .as_ref()
        .map(|on| format!(" on {on}"))
        .unwrap_or_default();
    let words: String = format!("{} {target}", step.action.as_str())
        .trim_end()
        .chars()
        .take(120)
        .collect();
    format!("{words}{on}")
}

type Call = (String, Map<String, Value>);

struct Meant<'a> {
    step: &'a PlanStep,
    place: &'a Place<'a>,
    params: Map<String, Value>,
}

impl Meant<'_> {
    fn target(&self) -> Option<&str> {
        self.step.target.as_deref()
    }

    fn has(&self, tool: &str) -> bool {
        self.place.tools(self.step.on.as_ref()).has(tool)
    }

    fn text(&self, names: &[&str]) -> Option<&str> {
        names
            .iter()
            .find_map(|name| self.params.get(*name)?.as_str())
    }

    /// The call, if the tool is there and takes every param that is left.
    fn call(&self, tool: &str, own: Value, used: &[&str]) -> Option<Call> {
        if !self.has(tool) {
            return None;
        }
        let mut args = own.as_object()?.clone();
        for (name, value) in &self.params {
            if used.contains(&name.as_str()) {
                continue;
            }
            if !self.takes(tool, name) || args.contains_key(name) {
                return None;
            }
            args.insert(name.clone(), value.clone());
        }
        Some((tool.to_owned(), args))
    }

    fn takes(&self, tool: &str, param: &str) -> bool {
        let tools = self.place.tools(self.step.on.as_ref());
        let usable = tools.usable(self.place.profile);
        let schema = usable
            .iter()
            .find(|t| t.name == tool)
            .and_then(|t| t.args_schema.as_deref());
        schema.is_some_and(|schema| {
            schema
                .pointer("/properties")
                .and_then(|p| p.get(param))
                .is_some()
        })
    }

    /// The path of one file, no glob.
    fn path(&self) -> Option<&str> {
        let path = self.target().or_else(|| self.text(&["path"]))?;
        (!path.contains(['*', '?', '\n'])).then_some(path)
    }

    fn read(&self) -> Option<Call> {
        let path = self.path()?;
        let is_folder = self.place.is_folder(self.step.on.as_ref(), &absolute(path));
        let tool = if is_folder { "fs_list" } else { "fs_read" };
        self.call(tool, json!({"path": path}), &["path"])
    }

    fn write(&self) -> Option<Call> {
        let content = self.text(&["content", "code", "text"])?;
        let own = json!({"path": self.path()?, "content": content});
        self.call(
            "fs_write",
            own,
            &["path", "content", "code", "text", "language"],
        )
    }

    fn edit(&self) -> Option<Call> {
        let path = self.path()?;
        let search = self.text(&["search", "old", "old_text", "find"]);
        let replace = self.text(&["replace", "new", "new_text", "replacement"]);
        let spellings = [
            "path",
            "search",
            "old",
            "old_text",
            "find",
            "replace",
            "new",
            "new_text",
            "replacement",
            "all",
        ];
        if let (Some(search), Some(replace)) = (search, replace) {
            let mut edit = json!({"search": search, "replace": replace});
            if let Some(all) = self.params.get("all") {
                edit["all"] = json!(all.as_bool()?);
            }
            let own = json!({"path": path, "edits": [edit]});
            return self.call("fs_patch", own, &spellings);
        }
        if self.params.contains_key("edits") || self.params.contains_key("diff") {
            return self.call("fs_patch", json!({"path": path}), &["path"]);
        }
        // The whole new content.
        self.text(&["content"])?;
        self.call("fs_write", json!({"path": path}), &["path", "language"])
    }

    fn run(&self) -> Option<Call> {
        let command = self.target().or_else(|| self.text(&["path", "command"]))?;
        let command = bare(command);
        if command.contains('\n') {
            return None;
        }
        let used = ["path", "command"];
        let words = words(command)?;
        let Some(program) = program_of(command) else {
            // A program of the shell, found by its name.
            let plain = !self.params.contains_key("args");
            return plain
                .then(|| self.call("shell_exec", json!({"command": command}), &used))
                .flatten();
        };
        let args = &words[1..];
        if self.has("run_program") {
            if args.is_empty() {
                return self.call("run_program", json!({"path": program}), &used);
            }
            return self.call("run_program", json!({"path": program, "args": args}), &used);
        }
        let fallback = self.place.profile.plan.allow_tool_fallback;
        let more = self.params.get("args").and_then(Value::as_array);
        let more = more
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(quoted);
        let line: Vec<String> = std::iter::once(command.to_owned()).chain(more).collect();
        let used = ["path", "command", "args"];
        fallback
            .then(|| self.call("shell_exec", json!({"command": line.join(" ")}), &used))
            .flatten()
    }

    fn search(&self) -> Option<Call> {
        let used = ["pattern", "query", "text"];
        let said = self.text(&used);
        match (said, self.target()) {
            (Some(pattern), Some(place)) if place.contains(['*', '?']) => self.call(
                "fs_grep",
                json!({"pattern": pattern, "files": place}),
                &used,
            ),
            (Some(pattern), Some(place)) if place.contains('/') || place.ends_with(".lua") => {
                self.call("fs_grep", json!({"pattern": pattern, "path": place}), &used)
            }
            (Some(pattern), None) => self.call("fs_grep", json!({"pattern": pattern}), &used),
            (None, Some(glob)) if glob.contains(['*', '?']) && !glob.contains(' ') => {
                self.call("fs_find", json!({"pattern": glob}), &[])
            }
            // A path could be what is looked for, or where.
            (None, Some(pattern)) if !pattern.contains('/') => {
                self.call("fs_grep", json!({"pattern": pattern}), &[])
            }
            _ => None,
        }
    }

    fn shell(&self) -> Option<Call> {
        let command = self.target().or_else(|| self.text(&["command"]))?;
        self.call("shell_exec", json!({"command": command}), &["command"])
    }

    fn call_tool(&self) -> Option<Call> {
        let tool = self.target().or_else(|| self.text(&["tool", "name"]))?;
        let named = ["tool", "name"];
        let is_named = self.target().is_none();
        let mut args: Map<String, Value> = self.params.clone();
        if is_named {
            args.retain(|name, _| !named.contains(&name.as_str()));
        }
        // The arguments may be one level deeper.
        if args.len() == 1
            && let Some(Value::Object(inner)) = args.get("args").or(args.get("parameters"))
        {
            args = inner.clone();
        }
        Some((tool.to_owned(), args))
    }

    fn gather(&self) -> Option<Call> {
        if let Some(tool) = self.text(&["tool"]) {
            let reads = self
                .place
                .tools_for(self.step)
                .iter()
                .any(|t| t.name == tool);
            let args = self
                .params
                .get("args")
                .cloned()
                .unwrap_or_else(|| json!({}));
            let plain = self
                .params
                .keys()
                .all(|name| name == "tool" || name == "args");
            return (reads && plain)
                .then(|| Some((tool.to_owned(), args.as_object()?.clone())))
                .flatten();
        }
        match self.target() {
            Some(folder) if folder.ends_with('/') && !folder.contains('*') => {
                self.call("fs_list", json!({"path": folder}), &[])
            }
            Some(glob) if glob.contains(['*', '?']) && !glob.contains(' ') => {
                self.call("fs_find", json!({"pattern": glob}), &[])
            }
            Some(path) if path.starts_with('/') && name_has_ending(path) => {
                self.call("fs_read", json!({"path": path}), &[])
            }
            _ => None,
        }
    }

    fn ask(&self) -> Option<Call> {
        let question = self.target().or_else(|| self.text(&["question"]))?;
        let why = self.text(&["why"]).unwrap_or(&self.step.reason);
        let args = json!({"question": question, "why": why});
        Some((ASK_USER_TOOL.to_owned(), args.as_object()?.clone()))
    }
}

fn name_has_ending(path: &str) -> bool {
    path.rsplit('/')
        .next()
        .is_some_and(|name| name.contains('.'))
}

/// The words of a command line, double quotes around those with blanks; none if a quote is left open.
pub fn words(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut rest = command.trim_start();
    while !rest.is_empty() {
        let (word, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len())),
        };
        words.push(word.to_owned());
        rest = after.trim_start();
    }
    (!words.is_empty()).then_some(words)
}

fn quoted(word: &str) -> String {
    if word.is_empty() || word.contains(char::is_whitespace) {
        format!("\"{word}\"")
    } else {
        word.to_owned()
    }
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
