//! A file that the task has not seen as it is now is not replaced: the write says which content it means to replace, and the
//! computer keeps any other one and shows it (`if_hash` of the core tools).
//!
//! The computer compares at the moment of writing, so nothing is read beforehand and no change in between is lost. Whoever is shown
//! a file that was kept has seen it, and may write something else into it; who writes the same again is told once more, and then believed.

use super::same_again::is_shown_wrong;
use super::times_told;
use crate::domain::call::{CallReport, Target};
use crate::domain::decision::PlannedCall;
use crate::domain::files;
use crate::domain::ids::ClientId;
use crate::domain::task::TaskState;
use crate::strategy::fleet::{Found, ToolLookup};
use crate::strategy::paths::normal;
use crate::strategy::text::{fenced, filled_lines};
use serde_json::Value;

/// The argument by which a write names the content that it replaces.
pub const IF_HASH: &str = "if_hash";

/// Its value where the task knows of no file there.
const NO_FILE: &str = "none";

/// Bytes of a file that is shown once more to who did not take it into account.
const SHOWN_AGAIN: usize = 400;

/// What is done to a file by those who care for what it holds.
const CARES: [&str; 5] = ["fs_read", "fs_patch", "fs_delete", "fs_move", "fs_copy"];

/// What a write is judged by.
pub struct Sights<'a> {
    pub state: &'a TaskState,
    /// The calls of the same decision that are made before this one: what they leave is not known yet.
    pub before: &'a [PlannedCall],
}

/// The arguments of a call, with what the task knows of each file that it would replace. Other calls, those to a group, whose
/// computer is not known yet, and those to older libraries stay as they are.
///
/// # Errors
/// Evidence for the planner: the same content was kept from the file before, nobody has looked at it since, and that was not told yet.
pub fn with_known_content(
    mut args: Value,
    tool: &str,
    target: &Target,
    tools: &ToolLookup<'_>,
    sights: &Sights<'_>,
) -> Result<Value, String> {
    let on = match target {
        Target::Any => sights.state.home(),
        Target::Computer(on) => Some(on),
        Target::Group(_) => return Ok(args),
    };
    let Found::Tools(owners) = tools.find(tool) else {
        return Ok(args);
    };
    let takes = |place: &str| {
        let mut schemas = owners.iter().map(|owner| owner.tool.args_schema.as_deref());
        schemas.all(|schema| schema.is_some_and(|schema| schema.pointer(place).is_some()))
    };
    match tool {
        "fs_write" | "write_and_run" if takes("/properties/if_hash") => {
            sights.tell(&mut args, on)?;
        }
        "fs_write_many" if takes("/properties/files/items/properties/if_hash") => {
            let files = args.get_mut("files").and_then(Value::as_array_mut);
            for file in files.into_iter().flatten() {
                sights.tell(file, on)?;
            }
        }
        _ => {}
    }
    Ok(args)
}

impl Sights<'_> {
    /// Writes down what is known of the file at `path` of these arguments.
    fn tell(&self, args: &mut Value, on: Option<&ClientId>) -> Result<(), String> {
        let path = args.get("path").and_then(Value::as_str).map(str::to_owned);
        let (Some(path), Some(fields)) = (path, args.as_object_mut()) else {
            return Ok(());
        };
        // Only rules fill it in.
        fields.remove(IF_HASH);
        if self.before.iter().any(|call| names(&call.args, &path)) {
            return Ok(());
        }
        let key = self.key(on, &path);
        let known = self
            .state
            .files
            .get(&key)
            .map(|record| record.hash.as_str());
        // A hash that the server made itself means nothing to the computer.
        let known = known.filter(|hash| hash.contains(':'));
        let content = fields.get("content").and_then(Value::as_str);
        let words = format!("{key} was kept from exactly this content");
        if let Some(there) = known.and_then(|_| self.insists(&key, content))
            && times_told(self.state, &words) == 0
            // To replace a program that is wrong is what such a task is for.
            && !is_shown_wrong(self.state, &key)
            && !keeps_most_of(there, content.unwrap_or_default())
        {
            let shown = match there.len() {
                0..=SHOWN_AGAIN => format!(". It holds\n{}", fenced(there.trim_end(), "")),
                _ => String::new(),
            };
            return Err(format!(
                "{words}, and you were shown what it holds. If it is right as it is, leave it alone and do what the task \
                 still lacks; if a part of it has to change, use fs_patch, or write it with all that is still needed. To put \
                 this content in its place all the same, read it, or say so once more{shown}"
            ));
        }
        fields.insert(IF_HASH.to_owned(), known.unwrap_or(NO_FILE).into());
        Ok(())
    }

    fn key(&self, on: Option<&ClientId>, path: &str) -> String {
        files::key(self.state.home(), on, &files::from_root(&normal(path)))
    }

    /// What the file holds, if the same content was kept from it before and nobody has looked at it or done away with it since: a
    /// small model that is shown a file often says the same again, without a thought for what it was shown.
    fn insists(&self, key: &str, content: Option<&str>) -> Option<&str> {
        for call in self.state.calls().rev() {
            let on = call.intended.as_ref().map(|intended| &intended.client_id);
            let is_meant = |args: &Value, name: &str| {
                let path = args.get(name).and_then(Value::as_str);
                path.is_some_and(|path| self.key(on, path) == key)
            };
            let written = call.args.get("files").and_then(Value::as_array);
            let mut written = written.into_iter().flatten().chain([&call.args]);
            let written = written.find(|args| is_meant(args, "path"));
            let said = written.and_then(|args| args.get("content")?.as_str());
            let kept = call
                .report()
                .map(CallReport::kept_files)
                .unwrap_or_default();
            if let Some(file) = kept.into_iter().find(|file| is_meant(file, "path")) {
                let there = file.get("content").and_then(Value::as_str);
                return there.filter(|_| said == content);
            }
            let cares = CARES.contains(&call.tool.as_str())
                && ["path", "from", "to"]
                    .iter()
                    .any(|name| is_meant(&call.args, name));
            if call.succeeded() && (cares || said.is_some()) {
                return None;
            }
        }
        None
    }
}

/// Whether a new content is the old one with a part of its lines made anew: then nothing is lost of which its author may not have thought.
fn keeps_most_of(old: &str, new: &str) -> bool {
    let (old, new): (Vec<&str>, Vec<&str>) =
        (filled_lines(old).collect(), filled_lines(new).collect());
    let kept = old.iter().filter(|line| new.contains(line)).count();
    new.len() >= old.len() && kept * 2 >= old.len() && kept > 0
}

/// The edit that a write of one line probably meant, whose file was kept: small models give the new line alone, `side=north` for
/// a file in which `side=south` is one line of many.
pub fn likely_edit(said: &str, there: &str) -> Option<(String, String)> {
    let line = said.trim();
    let (key, _) = line.split_once(['=', ':'])?;
    let begins = |old: &&str| {
        let behind = old.trim().strip_prefix(key.trim()).map(str::trim_start);
        behind.is_some_and(|behind| behind.starts_with(['=', ':']))
    };
    let mut old = there.lines().filter(begins);
    let (found, others) = (old.next()?.trim(), old.next());
    let one_of_many = !line.contains('\n') && there.trim().contains('\n');
    let differs = found != line && others.is_none() && !key.trim().is_empty();
    (one_of_many && differs).then(|| (found.to_owned(), line.to_owned()))
}

/// Whether arguments name this file.
fn names(args: &Value, path: &str) -> bool {
    match args {
        Value::String(text) => normal(text) == normal(path),
        Value::Array(items) => items.iter().any(|item| names(item, path)),
        Value::Object(fields) => fields.values().any(|value| names(value, path)),
        _ => false,
    }
}

#[cfg(test)]
#[path = "overwrite_tests.rs"]
mod tests;
