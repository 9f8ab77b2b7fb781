//! A computer's name where a folder stands: small models that shall run `/check.lua` on `depot` run it in the folder `/depot`, and on `base`
//! itself in `/base`.

use super::{failure_text, on_other_computer, times_told};
use crate::domain::call::Target;
use crate::domain::task::{CallRecord, TaskState};
use crate::domain::tool::FleetView;
use crate::strategy::paths::normal;
use serde_json::Value;

/// Arguments that name a place on a computer.
const PLACES: [&str; 4] = ["path", "cwd", "from", "to"];

/// What is told once of a call whose path begins with the name of a computer, while no such folder is known.
pub fn objection(
    state: &TaskState,
    fleet: &FleetView,
    target: &Target,
    tool: &str,
    args: &Value,
) -> Option<String> {
    let on = match target {
        Target::Any => state.home(),
        Target::Computer(on) => Some(on),
        Target::Group(_) => return None,
    };
    let mut first = PLACES.iter().filter_map(|place| {
        let path = args.get(place)?.as_str()?.strip_prefix('/')?;
        path.split('/').next().filter(|name| !name.is_empty())
    });
    let computer = first.find_map(|name| {
        let mut computers = fleet.computers.iter();
        computers.find(|computer| computer.client_id.as_str() == name)
    })?;
    let name = &computer.client_id;
    let (what, instead) = match Some(name) == on {
        true => ("this computer", "Leave it out: its root is /".to_owned()),
        false => {
            let there = on_other_computer(name, tool);
            (
                "a computer",
                format!("{there}, with the path that it has there"),
            )
        }
    };
    let words = format!("{name} is {what}, and no folder of that name is known");
    (!is_known_folder(state, name.as_str()) && times_told(state, &words) == 0)
        .then(|| format!("{words}. {instead}. If you do mean a folder here, say it once more"))
}

/// Whether the task or its files know a folder of this name: it may be that of a computer, too.
pub fn is_known_folder(state: &TaskState, name: &str) -> bool {
    let folder = format!("/{name}/");
    let created = state.created.as_ref();
    let prompt = created.map_or("", |created| created.prompt.as_str());
    prompt.contains(&folder) || state.files.keys().any(|path| path.contains(&folder))
}

/// The arguments of a command that shall run in a folder of its own computer's name, without that folder, once the computer has said
/// that there is none: a small model that was told says the same to the end. A command in the folder of another name is not moved, for it may
/// change what it finds where it runs.
pub fn left_out(state: &TaskState, target: &Target, tool: &str, args: &Value) -> Option<Value> {
    let on = match target {
        Target::Any => state.home()?,
        Target::Computer(on) => on,
        Target::Group(_) => return None,
    };
    let folder = |args: &Value| args.get("cwd").and_then(Value::as_str).map(normal);
    if tool != "shell_exec" || folder(args)? != on.as_str() {
        return None;
    }
    let is_none = |call: &CallRecord| {
        let intended = call.intended.as_ref();
        folder(&call.args).as_deref() == Some(on.as_str())
            && intended.is_some_and(|call| call.client_id == *on)
            && failure_text(call).ends_with(IS_NO_FOLDER)
    };
    let mut calls = state
        .calls()
        .filter(|call| call.tool == tool && !call.succeeded());
    calls.any(is_none).then(|| {
        let mut mended = args.clone();
        if let Some(fields) = mended.as_object_mut() {
            fields.remove("cwd");
        }
        mended
    })
}

/// How `shell_exec` says so.
const IS_NO_FOLDER: &str = "not a folder";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::decision::Guard;
    use crate::domain::ids::ClientId;
    use crate::domain::profile::ExecutorMode;
    use crate::domain::task::{Blocked, Step};
    use crate::domain::track::Track;
    use crate::strategy::bench::{Bench, fleet, profile};
    use crate::strategy::drive::{Drive, done, profile_of};
    use serde_json::json;

    fn told(bench: &Bench, path: &str) -> Option<String> {
        let mut fleet = fleet();
        let mut depot = fleet.computers[0].clone();
        depot.client_id = ClientId::parse("depot").unwrap();
        fleet.computers.push(depot);
        let args = json!({"path": path});
        objection(&bench.state, &fleet, &Target::Any, "run_program", &args)
    }

    #[test]
    fn a_folder_of_the_own_computer_s_name_is_left_out_once_there_is_known_to_be_none() {
        let mut drive = Drive::new(profile_of("direct"), "List the files.");
        let text = json!({"type": "string"});
        let shell = json!({"name": "shell_exec", "effect": "effect", "description": "Runs.", "args_schema": {"type": "object",
            "required": ["command"], "properties": {"command": text, "cwd": text}}});
        drive.add_tools(vec![serde_json::from_value(shell).unwrap()]);
        let list = |cwd: &str| {
            json!({"tool": "shell_exec", "args": {"command": "ls", "cwd": cwd}}).to_string()
        };
        let runs = |_: &mut _, call: &CallRecord| match call.args.get("cwd") {
            Some(cwd) => done(
                json!({"success": false, "error": format!("{}: not a folder", cwd.as_str().unwrap())}),
            ),
            None => done(json!({"success": true, "output": "a.lua"})),
        };
        drive.say_with(
            &[
                &list("/base"),
                &list("/base"),
                &list("/base"),
                &list("/mine"),
            ],
            runs,
        );
        let folders = drive.state().calls().map(|call| call.args["cwd"].as_str());
        assert_eq!(
            folders.collect::<Vec<_>>(),
            [Some("/base"), None, Some("/mine")]
        );
    }

    #[test]
    fn a_path_that_begins_with_a_computer_is_told_of_once() {
        let bench = || Bench::new(profile(ExecutorMode::Auto));
        let mut first = bench();
        for path in ["/depot", "/depot/check.lua"] {
            let evidence = told(&first, path).unwrap();
            assert!(
                evidence.contains("call the tool as depot/run_program"),
                "{evidence}"
            );
        }
        let own = told(&first, "/base/check.lua").unwrap();
        assert!(
            own.contains("base is this computer") && own.contains("its root is /"),
            "{own}"
        );
        for path in ["/check.lua", "depot", "/depots/a.lua", "/"] {
            assert_eq!(told(&first, path), None, "{path}");
        }
        let mut step = Step::new(1, Track::MAIN);
        step.blocked = told(&first, "/depot").map(|evidence| Blocked {
            guard: Guard::Arguments,
            evidence,
        });
        first.state.steps.push(step);
        assert_eq!(told(&first, "/depot/check.lua"), None);
        let named = bench().asked_for("Read /depot/a.lua of this computer");
        assert_eq!(told(&named, "/depot/b.lua"), None);
    }
}
