//! Steps whose target says in a way of its own what they do: the call of a tool as a command of the shell ("fs_write /note.txt refused"), two
//! files without the command ("/a.txt new /b.txt"), a path with what the prompt shows of it, and a command line among the params.

use super::check::data_to_run;
use crate::domain::work::ReactMove;
use crate::domain::work::plan::{PlanAction, PlanStep};
use crate::strategy::answers::shell_words::bare;
use crate::strategy::numbered;
use serde_json::{Value, json};

/// Around a file as prompts show it.
const FENCE: &str = "```";

/// A step with the action, the target and the params that are meant.
pub(super) fn with_meant_target(step: PlanStep) -> PlanStep {
    with_whole_command(as_move(as_call(with_bare_target(step))))
}

/// A step of the shell whose command reads, writes or runs with a tool, as what it does.
fn as_call(mut step: PlanStep) -> PlanStep {
    let command = step.target.as_deref();
    let command = command.filter(|_| step.action == PlanAction::Shell);
    let Some(ReactMove::Act { tool, args }) = command.and_then(numbered::call_in_line) else {
        return step;
    };
    let values = match args {
        Value::String(path) => vec![path],
        Value::Array(values) => {
            let texts = values.iter().filter_map(Value::as_str);
            texts.map(str::to_owned).collect()
        }
        _ => return step,
    };
    let (action, target, params) = match (tool.as_str(), values.as_slice()) {
        ("fs_read", [path]) => (PlanAction::ReadFile, path.clone(), Value::Null),
        ("fs_write", [path]) => (PlanAction::WriteFile, path.clone(), Value::Null),
        ("fs_write", [path, content]) => {
            let content = json!({"content": content});
            (PlanAction::WriteFile, path.clone(), content)
        }
        ("run_program", [_, ..]) => (PlanAction::RunProgram, values.join(" "), Value::Null),
        _ => return step,
    };
    step.action = action;
    step.target = Some(target);
    step.params = params;
    step
}

/// A step about a file whose target goes on behind it: with what the prompt shows of it ("/map.txt on mine, 50 bytes:" and the file), which
/// one that writes it is to write, or with what the task says of it ("/check.lua, which says whether it is right").
fn with_bare_target(mut step: PlanStep) -> PlanStep {
    use PlanAction::{EditFile, ReadFile, RunProgram, RunTest, WriteFile};
    let is_of_file = matches!(
        step.action,
        ReadFile | WriteFile | EditFile | RunProgram | RunTest
    );
    let Some(target) = step.target.take_if(|_| is_of_file) else {
        return step;
    };
    let (head, shown) = match target.split_once(FENCE) {
        Some((head, shown)) => (head, Some(shown)),
        None => (target.as_str(), None),
    };
    let head = head.split_once(", which ").map_or(head, |(head, _)| head);
    let head = head.trim().trim_end_matches(':');
    let size = |said: &str| {
        let size = said.strip_suffix(" bytes")?;
        size.parse::<u64>().ok()
    };
    let named = head
        .rsplit_once(", ")
        .filter(|(_, said)| size(said).is_some());
    step.target = Some(named.map_or(head, |(named, _)| named).to_owned());
    let held = shown
        .and_then(|shown| shown.split_once('\n'))
        .and_then(|(_, text)| text.split_once(FENCE));
    if let (WriteFile, Value::Null, Some((text, _))) = (&step.action, &step.params, held) {
        step.params = json!({"content": text});
    }
    step
}

/// A step of the shell that says from where to where, and only in its reason what: "/a.txt new /b.txt", "to rename the file".
fn as_move(mut step: PlanStep) -> PlanStep {
    const BETWEEN: [&str; 7] = ["->", "=>", "as", "into", "new", "to", "with"];
    if data_to_run(&step).is_none() || step.action != PlanAction::Shell {
        return step;
    }
    let words: Vec<&str> = step
        .target
        .as_deref()
        .map_or_else(Vec::new, |line| bare(line).split_whitespace().collect());
    let [from, between @ .., to] = words.as_slice() else {
        return step;
    };
    let reason = step.reason.to_lowercase();
    let says = |verbs: &[&str]| {
        let mut words = reason.split(|c: char| !c.is_alphanumeric());
        words.any(|word| verbs.contains(&word))
    };
    let command = match (
        says(&["move", "moves", "rename", "renames"]),
        says(&["copies", "copy"]),
    ) {
        (true, false) => "move",
        (false, true) => "copy",
        _ => return step,
    };
    if to.starts_with('/') && between.iter().all(|word| BETWEEN.contains(word)) {
        step.target = Some(format!("{command} {from} {to}"));
    }
    step
}

/// A run whose target is the program alone while its params hold the whole command line, as a run of that.
fn with_whole_command(mut step: PlanStep) -> PlanStep {
    let runs = matches!(step.action, PlanAction::RunProgram | PlanAction::RunTest);
    let program = step.target.as_deref().filter(|_| runs);
    let whole = ["target", "command"].into_iter().find(|name| {
        let line = step.params.get(*name).and_then(Value::as_str);
        let behind = line
            .zip(program)
            .and_then(|(line, program)| line.strip_prefix(program));
        behind.is_some_and(|behind| behind.is_empty() || behind.starts_with(' '))
    });
    let args = step.params.get("args").and_then(Value::as_array);
    let is_said_once = args.is_none_or(Vec::is_empty);
    if let (Some(name), true, Value::Object(params)) = (whole, is_said_once, &mut step.params) {
        params.remove("args");
        let line = params.remove(name);
        step.target = line.and_then(|line| Some(line.as_str()?.to_owned()));
    }
    step
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(action: &str, target: &str) -> PlanStep {
        PlanStep {
            id: 1,
            action: PlanAction::named(action),
            target: Some(target.to_owned()),
            on: None,
            reason: "r".to_owned(),
            expected_outcome: None,
            depends_on: Vec::new(),
            params: Value::Null,
        }
    }

    #[test]
    fn a_command_that_is_the_call_of_a_tool_for_files_is_what_that_does() {
        for (command, action, target, params) in [
            (
                "fs_write /note.txt 'it is refused'",
                "write_file",
                "/note.txt",
                json!({"content": "it is refused"}),
            ),
            ("fs_write /note.txt", "write_file", "/note.txt", Value::Null),
            ("fs_read /a.txt", "read_file", "/a.txt", Value::Null),
            (
                "run_program /sum.lua 2 3",
                "run_program",
                "/sum.lua 2 3",
                Value::Null,
            ),
            ("fs_delete /a.txt", "shell", "fs_delete /a.txt", Value::Null),
            ("ls /", "shell", "ls /", Value::Null),
            ("fs_read", "shell", "fs_read", Value::Null),
        ] {
            let meant = as_call(step("shell", command));
            assert_eq!(meant.action, PlanAction::named(action), "{command}");
            assert_eq!(meant.target.as_deref(), Some(target), "{command}");
            assert_eq!(meant.params, params, "{command}");
        }
        let other = step("run_program", "fs_read /a.txt");
        assert_eq!(as_call(other.clone()), other);
    }

    #[test]
    fn a_step_of_two_files_is_the_move_or_the_copy_that_its_reason_says() {
        for (target, reason, meant) in [
            (
                "/a.txt new /b.old",
                "to rename the file",
                "move /a.txt /b.old",
            ),
            (
                "/a.txt -> /b/a.txt",
                "Move it away.",
                "move /a.txt /b/a.txt",
            ),
            ("/a.txt /b.txt", "a copy for later", "copy /a.txt /b.txt"),
            ("shell /a.txt /b.txt", "renames it", "move /a.txt /b.txt"),
        ] {
            let mut written = step("shell", target);
            written.reason = reason.to_owned();
            assert_eq!(as_move(written).target.as_deref(), Some(meant));
        }
        for (target, reason) in [
            ("/a.txt /b.txt", "the check needs it"),
            ("/a.txt /b.txt", "copy it, then move it"),
            ("/a.lua /b.txt", "it moves the file"),
            ("/a.txt and /b.txt /c.txt", "move both"),
            ("/a.txt b.txt", "rename it"),
            ("/a.txt", "rename it"),
            ("move /a.txt /b.txt", "rename it"),
        ] {
            let mut written = step("shell", target);
            written.reason = reason.to_owned();
            assert_eq!(as_move(written.clone()), written);
        }
    }

    #[test]
    fn a_target_is_the_file_alone_and_what_is_shown_behind_it_is_written() {
        let shown = "/map.txt on mine, 50 bytes:```\nshaft A 12\nlava at 22\n```";
        let content = json!({"content": "shaft A 12\nlava at 22\n"});
        for (action, target, bare, params) in [
            ("read_file", shown, "/map.txt on mine", Value::Null),
            ("write_file", shown, "/map.txt on mine", content),
            ("write_file", "/map.txt, 50 bytes:", "/map.txt", Value::Null),
            (
                "run_test",
                "/check.lua on depot, which says whether it is right",
                "/check.lua on depot",
                Value::Null,
            ),
            ("run_program", "/sum.lua 2, 3", "/sum.lua 2, 3", Value::Null),
            ("shell", "echo, which one", "echo, which one", Value::Null),
        ] {
            let meant = with_bare_target(step(action, target));
            assert_eq!(meant.target.as_deref(), Some(bare));
            assert_eq!(meant.params, params, "{action} {target}");
        }
        let mut given = step("write_file", shown);
        given.params = json!({"content": "x"});
        assert_eq!(with_bare_target(given).params, json!({"content": "x"}));
    }

    #[test]
    fn a_run_takes_its_arguments_from_the_whole_command_among_its_params() {
        let meant = |action: &str, params: Value| {
            let mut run = step(action, "/sign.lua");
            run.params = params;
            let meant = with_whole_command(run);
            (meant.target.unwrap(), meant.params)
        };
        let whole = ("/sign.lua 9".to_owned(), json!({"timeout_ms": 50}));
        for name in ["target", "command"] {
            let params = json!({name: "/sign.lua 9", "args": [], "timeout_ms": 50});
            assert_eq!(meant("run_test", params), whole, "{name}");
        }
        for (action, params) in [
            ("run_test", json!({"target": "/sign.lua 9", "args": ["9"]})),
            ("run_test", json!({"target": "/signs.lua 9"})),
            ("run_test", json!({"target": 9})),
            ("edit_file", json!({"target": "/sign.lua 9"})),
            ("run_test", Value::Null),
        ] {
            let stays = ("/sign.lua".to_owned(), params.clone());
            assert_eq!(meant(action, params), stays);
        }
    }
}
