//! A tool that is run as if it were a program: `RUN /tools/ledger_pay {"to": "Olaf", "amount": 35}`. Small models take the list of tools for
//! a list of files, hear that there is no such program, and say that all is done.

use crate::domain::task::TaskState;
use crate::strategy::alone::mending::RUN;
use crate::strategy::fleet::ToolLookup;
use crate::strategy::paths::{file_name, normal};
use serde_json::{Map, Value};

/// Where models believe that tools lie.
const FOLDER: &str = "tools/";

/// The tool that such a run means, with its arguments: those of its only argument where that is an object, none where it has none. What the task
/// has seen as a file is a program.
pub(in crate::strategy) fn meant(
    state: &TaskState,
    tool: &str,
    args: &Value,
    tools: &ToolLookup<'_>,
) -> Option<(String, Value)> {
    let path = normal(args.get("path")?.as_str()?);
    let name = file_name(&path).trim_end_matches(".lua");
    let is_tool = tool == RUN && name != RUN && tools.has(name);
    let looks_like_one = path.starts_with(FOLDER) || name.contains('_');
    if !is_tool || !looks_like_one || state.files.keys().any(|file| file.ends_with(&path)) {
        return None;
    }
    let given: Vec<&Value> = args
        .get("args")
        .and_then(Value::as_array)
        .map_or_else(Vec::new, |args| args.iter().collect());
    let own: Map<String, Value> = match given.as_slice() {
        [] => Map::new(),
        [one] => serde_json::from_str(one.as_str()?).ok()?,
        _ => return None,
    };
    Some((name.to_owned(), Value::Object(own)))
}

#[cfg(test)]
mod tests {
    use crate::strategy::drive::{Drive, call, profile_of};
    use serde_json::{Value, json};

    /// The tool of the newest call and what it was given, after such a run.
    fn called(path: &str, args: &[&str]) -> (String, Value) {
        let mut drive = Drive::new(profile_of("direct"), "Switch the lamp on.");
        drive.add_redstone();
        drive
            .files
            .insert("/tools/seen_once.lua".into(), "print(1)".into());
        drive.say(&[&call("run_program", json!({"path": path, "args": args}))]);
        let last = drive.state().calls().last().unwrap();
        (last.tool.clone(), last.args.clone())
    }

    #[test]
    fn a_tool_that_is_run_like_a_program_is_called() {
        let given = json!({"side": "back", "power": 15});
        let whole = given.to_string();
        for path in [
            "/tools/redstone_set",
            "tools/redstone_set.lua",
            "redstone_set",
        ] {
            assert_eq!(
                called(path, &[&whole]),
                ("redstone_set".to_owned(), given.clone()),
                "{path}"
            );
        }
        for (path, args) in [
            ("/tools/no_such_tool", &[whole.as_str()][..]),
            ("/redstone_set", &["back", "15"]),
            ("/tools/seen_once.lua", &[]),
        ] {
            assert_eq!(called(path, args).0, "run_program", "{path}");
        }
    }
}
