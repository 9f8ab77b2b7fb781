//! Steps as they are meant that a small model plans in a way of its own: the calls of its tools as commands of the shell
//! ("fs_write /note.txt refused"), a computer beside a path ("/map.txt on mine"), the tool of a computer as a file of it
//! ("depot/stock_count"), and an edit of a file that is not there.

use super::Course;
use super::check::data_to_run;
use super::step_line::with_computer;
use crate::domain::call::{Address, Target};
use crate::domain::ids::ClientId;
use crate::domain::track::Track;
use crate::domain::work::ReactMove;
use crate::domain::work::plan::{PlanAction, PlanStep, TaskPlan};
use crate::strategy::answers::shell_words::bare;
use crate::strategy::numbered;
use crate::strategy::paths::normal;
use serde_json::{Value, json};

/// Around a file as prompts show it.
const FENCE: &str = "```";

impl Course<'_> {
    /// A step whose target names a computer of the fleet beside a path or a command is carried out there, and one that names none and is about
    /// what the task has on another computer there.
    pub(super) fn placed(&self, mut step: PlanStep) -> PlanStep {
        use PlanAction::{EditFile, ReadFile, RunProgram, RunTest, WriteFile};
        let Some(target) = step.target.as_deref().filter(|_| step.on.is_none()) else {
            return step;
        };
        let turn = self.turn(Track::MAIN);
        let beside = computer_beside(target).or_else(|| {
            let (path, id) = computer_behind(target)?;
            // Behind a program it may be its argument.
            let has_it = || {
                turn.place_of(&normal(&path))
                    .is_some_and(|place| place.client_id == id)
            };
            let is_place = match step.action {
                ReadFile | WriteFile | EditFile => true,
                RunProgram | RunTest => has_it(),
                _ => false,
            };
            is_place.then_some((path, id))
        });
        if let Some((rest, id)) = beside.filter(|(_, id)| self.inputs.fleet.has(id)) {
            step.target = Some(rest);
            step.on = Some(id);
        } else if matches!(step.action, ReadFile | RunProgram | RunTest) {
            let path = target.split_whitespace().next().unwrap_or_default();
            let place = turn.place_of(&normal(path));
            step.on = place.and_then(|place| turn.unless_own(place));
        } else if matches!(step.action, WriteFile | EditFile) {
            let writes = step.action == WriteFile;
            step.on = turn.elsewhere_by_words(&normal(target), writes);
        }
        step
    }

    /// A step whose target begins with the address of a tool that is there, `depot/stock_count`, as a call of that tool.
    pub(super) fn calling(&self, mut step: PlanStep) -> PlanStep {
        let target = step.target.as_deref().map_or("", str::trim);
        let end = target.find([' ', '(', '{']).unwrap_or(target.len());
        let (called, given) = target.split_at(end);
        let Ok(Address {
            target: Target::Computer(on),
            tool,
        }) = Address::parse(called)
        else {
            return step;
        };
        let computer = self.inputs.fleet.computer(&on);
        if computer.is_some_and(|computer| computer.tool(&tool).is_some()) {
            step.action = PlanAction::CallTool;
            step.target = Some(format!("{tool}{given}"));
            step.on = Some(on);
        }
        step
    }

    /// An edit of a file that the task has looked for and not found, and that no earlier step makes, writes it.
    pub(super) fn write_what_is_missing(&self, plan: &mut TaskPlan) {
        let turn = self.turn(Track::MAIN);
        for at in 0..plan.steps.len() {
            let step = &plan.steps[at];
            let target = step.target.as_deref().map(normal);
            let Some(path) = target.filter(|_| step.action == PlanAction::EditFile) else {
                continue;
            };
            let makes_it = |other: &PlanStep| {
                let other_path = other.target.as_deref().map(normal);
                other.action == PlanAction::WriteFile && other_path.as_ref() == Some(&path)
            };
            if plan.steps[..at].iter().any(makes_it) || !turn.was_not_there(&path, step.on.as_ref())
            {
                continue;
            }
            let params = &step.params;
            let content = params.get("content").or_else(|| params.get("replace"));
            let content = content.filter(|content| content.is_string()).cloned();
            let step = &mut plan.steps[at];
            step.action = PlanAction::WriteFile;
            step.params = content.map_or(Value::Null, |content| json!({"content": content}));
        }
    }
}

/// A path or a command, and the computer that stands beside it: "/check.lua 2 on depot", "/map.txt on the computer `mine`", "mine:/map.txt".
fn computer_beside(target: &str) -> Option<(String, ClientId)> {
    let id = |name: &str| {
        let name = name.trim_matches(['`', '"', '\'']);
        let is_word = !name.contains(char::is_whitespace);
        ClientId::parse(name).ok().filter(|_| is_word)
    };
    let behind = || {
        let (rest, id) = with_computer(target);
        Some((rest.to_owned(), id?))
    };
    let before = || {
        let (name, path) = target.split_once(":/")?;
        Some((format!("/{path}"), id(name)?))
    };
    let beside = behind().or_else(before);
    beside.filter(|(rest, _)| rest.starts_with('/') && !rest.starts_with("//"))
}

/// A path and the only word behind it, as the name of a computer: "/map.txt mine".
fn computer_behind(target: &str) -> Option<(String, ClientId)> {
    let (path, name) = target.trim().split_once(' ')?;
    let id = ClientId::parse(name.trim_matches(['`', '"', '\'', '(', ')'])).ok()?;
    (path.starts_with('/') && !name.contains(' ')).then(|| (path.to_owned(), id))
}

/// A step of the shell whose command reads, writes or runs with a tool, as what it does.
pub(super) fn as_call(mut step: PlanStep) -> PlanStep {
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
pub(super) fn with_bare_target(mut step: PlanStep) -> PlanStep {
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
pub(super) fn as_move(mut step: PlanStep) -> PlanStep {
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
pub(super) fn with_whole_command(mut step: PlanStep) -> PlanStep {
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
    use crate::strategy::plan::rig::{Rig, plan_profile};

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

    #[test]
    fn a_computer_beside_a_path_is_where_the_step_is_carried_out() {
        for (target, rest, on) in [
            ("/map.txt on mine", "/map.txt", "mine"),
            (
                "/check.lua 2 on the computer `depot`",
                "/check.lua 2",
                "depot",
            ),
            ("mine:/map.txt", "/map.txt", "mine"),
        ] {
            let beside = computer_beside(target);
            let beside = beside.map(|(rest, id)| (rest, id.to_string()));
            assert_eq!(beside, Some((rest.to_owned(), on.to_owned())));
        }
        for target in [
            "/map.txt",
            "turn it on now",
            "/a.lua on two of them",
            "http://mine",
            "",
        ] {
            assert_eq!(computer_beside(target), None, "{target}");
        }
    }

    #[test]
    fn a_step_goes_to_the_computer_that_it_or_the_task_names() {
        let adopted = |target: &str| {
            let mut profile = plan_profile();
            profile.plan.resolve_targets = false;
            let mut rig = Rig::new(profile);
            rig.state.created.as_mut().unwrap().prompt =
                "Write /a.txt here. Run /check.lua on the computer `farm`.".to_owned();
            rig.run();
            rig.plan(json!([{"id": 1, "action": "run_program", "target": target, "reason": "r", "depends_on": []}]));
            let step = &rig.work().steps[0].step;
            let on = step.on.as_ref().map(|on| on.as_str().to_owned());
            (step.target.clone().unwrap(), on)
        };
        let there = |target: &str| (target.to_owned(), Some("farm".to_owned()));
        assert_eq!(adopted("/b.lua on farm"), there("/b.lua"));
        assert_eq!(adopted("/check.lua 2"), there("/check.lua 2"));
        assert_eq!(adopted("/check.lua farm"), there("/check.lua"));
        let argument = ("/b.lua farm".to_owned(), None);
        assert_eq!(adopted("/b.lua farm"), argument, "it may be one");
        let written = |prompt: &str| {
            let mut rig = Rig::new(plan_profile());
            rig.state.created.as_mut().unwrap().prompt = prompt.to_owned();
            rig.run();
            rig.plan(json!([{"id": 1, "action": "write_file", "target": "/b.txt", "reason": "r", "depends_on": []}]));
            let on = rig.work().steps[0].step.on.clone();
            on.map(|on| on.as_str().to_owned())
        };
        let farm = Some("farm".to_owned());
        assert_eq!(
            written("The computer `farm` lacks /b.txt: it holds `1`."),
            farm
        );
        assert_eq!(written("Write /b.txt, which says what the farm has."), None);
        let brought = "The computer `farm` has /b.txt. Bring it here as /b.txt.";
        assert_eq!(written(brought), None);
        assert_eq!(adopted("/b.lua"), ("/b.lua".to_owned(), None));
        assert_eq!(
            adopted("/b.lua on barn"),
            ("/b.lua on barn".to_owned(), None)
        );
    }

    #[test]
    fn a_tool_that_is_planned_as_a_file_of_its_computer_is_called_there() {
        let adopted = |target: &str| {
            let mut profile = plan_profile();
            profile.plan.resolve_targets = false;
            let mut rig = Rig::new(profile);
            rig.run();
            rig.plan(json!([{"id": 1, "action": "gather", "target": target, "reason": "r", "depends_on": []}]));
            let step = &rig.work().steps[0].step;
            let on = step.on.as_ref().map(|on| on.as_str().to_owned());
            (
                step.action.as_str().to_owned(),
                step.target.clone().unwrap(),
                on,
            )
        };
        let called = (
            "call_tool".to_owned(),
            "dig".to_owned(),
            Some("farm".to_owned()),
        );
        assert_eq!(adopted("farm/dig"), called);
        assert_eq!(adopted("farm/dug").0, "gather");
        assert_eq!(adopted("/farm/dig").0, "gather", "that is a file");
    }

    #[test]
    fn an_edit_of_what_is_not_there_writes_it() {
        let edit = |params: Value| json!({"id": 1, "action": "edit_file", "target": "/note.txt", "reason": "r", "depends_on": [], "params": params});
        let adopted = |looked: bool, params: Value| {
            let mut profile = plan_profile();
            profile.plan.resolve_targets = false;
            profile.memory.named_files = usize::from(looked);
            let mut rig = Rig::new(profile);
            rig.state.created.as_mut().unwrap().prompt = "Write `no` to /note.txt.".to_owned();
            rig.run();
            if looked {
                rig.fails("fs_read", "/note.txt: no such file or folder");
            }
            rig.plan(json!([edit(params)]));
            let step = &rig.work().steps[0].step;
            (step.action.as_str().to_owned(), step.params.clone())
        };
        let patch = json!({"search": "yes", "replace": "no"});
        let written = ("write_file".to_owned(), json!({"content": "no"}));
        assert_eq!(adopted(true, patch.clone()), written);
        assert_eq!(adopted(true, Value::Null).0, "write_file");
        assert_eq!(adopted(false, patch).0, "edit_file");
    }
}
