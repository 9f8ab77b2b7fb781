//! What a call would change, by its arguments alone. What a program does that it runs nobody can tell.

use crate::strategy::paths::lies_in;
use crate::strategy::policy::commands_of;
use serde_json::Value;
use std::slice::from_ref;

/// A path that a call would change.
pub(super) struct Changed {
    pub path: String,
    /// It goes, with all that lies in it; otherwise it is written.
    pub whole: bool,
}

impl Changed {
    /// Whether this is a path, lies in it, or has it in itself and goes.
    pub fn hits(&self, kept: &str) -> bool {
        lies_in(&self.path, &[kept.to_owned()])
            || (self.whole && lies_in(kept, from_ref(&self.path)))
    }
}

/// The paths that a call would change, as its arguments name them, those of a shell's command too.
pub(super) fn changed_by(tool: &str, args: &Value) -> Vec<Changed> {
    let text = |args: &Value, name: &str| args.get(name)?.as_str().map(str::to_owned);
    let changed = |whole: bool| move |path: String| Changed { path, whole };
    let named = |name: &str, whole: bool| text(args, name).map(changed(whole));
    match tool {
        "fs_write" | "write_and_run" | "fs_patch" => named("path", false).into_iter().collect(),
        "fs_delete" => named("path", true).into_iter().collect(),
        "fs_write_many" => {
            let files = args.get("files").and_then(Value::as_array);
            let paths = files.into_iter().flatten();
            let paths = paths.filter_map(|file| text(file, "path"));
            paths.map(changed(false)).collect()
        }
        "fs_move" => [named("from", true), named("to", false)]
            .into_iter()
            .flatten()
            .collect(),
        "fs_copy" => named("to", false).into_iter().collect(),
        _ => {
            let commands = commands_of(tool, args).into_iter();
            let paths = commands.flat_map(|(name, words)| match name.as_str() {
                "delete" | "move" | "rename" => words.into_iter().map(changed(true)).collect(),
                "edit" | "mkdir" => words.into_iter().map(changed(false)).collect(),
                "copy" => words
                    .into_iter()
                    .next_back()
                    .map(changed(false))
                    .into_iter()
                    .collect(),
                _ => Vec::new(),
            });
            paths.collect()
        }
    }
}
