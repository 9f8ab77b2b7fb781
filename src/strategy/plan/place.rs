//! Where a plan's steps happen: the computers and tools that are there, and which steps may run at the same time.

use super::finish::leaves_the_change_open;
use super::targets::absolute;
use crate::domain::ids::ClientId;
use crate::domain::profile::Profile;
use crate::domain::task::{CallRecord, TaskState};
use crate::domain::tool::{EffectClass, FleetView};
use crate::domain::toolbox::Tool;
use crate::domain::work::plan::{PlanAction, PlanStep};
use crate::strategy::fleet::ToolLookup;
use crate::strategy::guards::misplaced_program::holds_data;
use crate::strategy::memory::contents;
use crate::strategy::paths::normal;
use crate::strategy::text::has_word;
use serde_json::Value;

/// What a plan is checked against and carried out on.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    pub state: &'a TaskState,
    pub profile: &'a Profile,
    pub fleet: &'a FleetView,
}

impl<'a> Place<'a> {
    /// The tools from where a step stands.
    pub fn tools<'b>(&'b self, on: Option<&'b ClientId>) -> ToolLookup<'b> {
        ToolLookup::new(self.state, self.fleet, on)
    }

    /// The computers in view, by name.
    pub fn computers(&self) -> Vec<&'a str> {
        let computers = self.fleet.computers.iter();
        computers.map(|c| c.client_id.as_str()).collect()
    }

    /// Whether both steps may be under way at once: on different computers, or if neither changes anything. A step
    /// without a computer, in a task without one, may land anywhere.
    pub fn may_overlap(&self, a: &PlanStep, b: &PlanStep) -> bool {
        // A question stops nobody's hands, but people are asked one thing at a time.
        if a.action == PlanAction::AskUser && b.action == PlanAction::AskUser {
            return false;
        }
        let is_quiet =
            |step: &PlanStep| step.action.is_thought() || step.action == PlanAction::AskUser;
        if is_quiet(a) || is_quiet(b) {
            return true;
        }
        let (on_a, on_b) = (self.computer_of(a), self.computer_of(b));
        match (on_a, on_b) {
            (Some(a_on), Some(b_on)) if a_on != b_on => true,
            // The first call decides where the others go.
            (None, None) => false,
            _ => !a.action.may_change() && !b.action.may_change(),
        }
    }

    /// The computer of a step: the one that it names, or the task's own.
    pub fn computer_of<'b>(&'b self, step: &'b PlanStep) -> Option<&'b ClientId> {
        let home = self.state.home();
        let tool = step
            .target
            .as_deref()
            .filter(|_| step.action == PlanAction::CallTool);
        let stays = |tool: &str| {
            let own = home.and_then(|home| self.fleet.computer(home));
            own.is_none_or(|own| own.ever_owned(tool))
        };
        // A tool that the task's own computer never had is called wherever it is.
        if step.on.is_none() && tool.is_some_and(|tool| !stays(tool)) {
            return None;
        }
        step.on.as_ref().or(home)
    }

    /// The tools that an executor may choose from for a step: those of its action, or, if the computer has none of
    /// these, all. A step that only looks gets no tool that changes something.
    pub fn tools_for<'b>(&'b self, step: &'b PlanStep) -> Vec<&'b Tool> {
        let looks = |tool: &&Tool| {
            tool.effect == EffectClass::Read || LOOKING.contains(&tool.name.as_str())
        };
        let mut usable = self.tools(step.on.as_ref()).usable(self.profile);
        if !step.action.may_change() {
            usable.retain(looks);
        }
        let meant = if self.is_written_whole(step) {
            vec!["fs_write"]
        } else {
            meant(step)
        };
        let is_meant = |tool: &&&Tool| meant.contains(&tool.name.as_str());
        let narrowed: Vec<&Tool> = usable.iter().filter(is_meant).copied().collect();
        if narrowed.is_empty() {
            usable
        } else {
            narrowed
        }
    }
}

impl Place<'_> {
    /// Whether a step changes a short file that was seen whole, and leaves open how: a small model that is to give edits repeats the
    /// file's lines as they are, and writes the whole file well.
    fn is_written_whole(&self, step: &PlanStep) -> bool {
        let target = step.target.as_deref().map(absolute);
        let open = step.action == PlanAction::EditFile && leaves_the_change_open(step);
        let known = target.filter(|_| open);
        let known = known.and_then(|path| contents::known(self.state, step.on.as_ref(), &path));
        known.is_some_and(|content| content.len() <= SHORT)
    }
}

impl Place<'_> {
    /// Whether a search or a list of the task has shown that this is a folder, which has its first slash here.
    pub fn is_folder(&self, on: Option<&ClientId>, path: &str) -> bool {
        let on = on.or(self.state.home());
        let is_there = |call: &&CallRecord| {
            let there = call.intended.as_ref().map(|intended| &intended.client_id);
            call.succeeded() && there == on
        };
        let is_it = |entry: &Value| entry["path"] == path && entry["is_dir"] == true;
        let shows = |call: &CallRecord| {
            let found = call.report().and_then(|report| report.result.as_ref());
            let found = found.and_then(|result| result["found"].as_array());
            found.is_some_and(|found| found.iter().any(is_it))
        };
        self.state.calls().filter(is_there).any(shows)
    }
}

/// Bytes of a file that an executor writes whole.
const SHORT: usize = 800;

/// Tools that change nothing, also where their computer does not say so.
const LOOKING: [&str; 5] = ["fs_list", "fs_read", "fs_find", "fs_grep", "tool_list"];

/// The tools that an action means; none if it may mean any.
fn meant(step: &PlanStep) -> Vec<&str> {
    use PlanAction::*;
    let target = step.target.as_deref();
    // What is no program cannot run, and its step would fail with all written.
    let runs = (!target.is_some_and(holds_data)).then_some("write_and_run");
    match step.action {
        ReadFile => vec!["fs_read", "fs_list", "fs_find"],
        WriteFile => {
            let mut tools = vec!["fs_write", "fs_write_many", "fs_copy"];
            tools.extend(runs);
            // Small models take it for the tool that writes.
            if target.is_none_or(may_be_tool) {
                tools.push("tool_write");
            }
            tools
        }
        EditFile if deletes(step) => vec!["fs_delete"],
        EditFile => {
            let mut tools = vec!["fs_patch", "fs_write", "fs_write_many"];
            tools.extend(runs);
            tools
        }
        RunProgram | RunTest => vec!["run_program", "shell_exec", "tool_test"],
        Search => vec!["fs_grep", "fs_find"],
        Shell => vec!["shell_exec"],
        CallTool => step.target.as_deref().into_iter().collect(),
        Gather | AnalyseError | AskUser | Other(_) => Vec::new(),
    }
}

/// Words of a reason that files go away.
const DELETES: [&str; 6] = ["remove", "removing", "delete", "deleting", "clear", "clean"];

/// Whether a step that is called an edit does away with files: its reason says so, and its target is several files, which nobody can edit. Not
/// a folder: who removes "the size of the folder" would do away with all of it.
pub fn deletes(step: &PlanStep) -> bool {
    let target = step.target.as_deref().unwrap_or_default();
    step.action == PlanAction::EditFile
        && leaves_the_change_open(step)
        && target.starts_with('/')
        && target.contains(['*', '?'])
        && has_word(&step.reason, &DELETES)
}

/// Whether a step that writes this may be about a tool, which is written under its name, into a folder that only its computer knows. What
/// lies at the root is none.
pub fn may_be_tool(target: &str) -> bool {
    !target.starts_with('/') || normal(target).contains('/')
}

#[cfg(test)]
pub mod bench {
    //! A task with two computers, for the tests of plans.

    use super::*;
    use crate::domain::tool::ComputerView;
    use crate::domain::work::plan::TaskPlan;
    use crate::strategy::bench::{Bench, fleet, profile};
    use serde_json::{Value, json};

    pub struct Setting {
        pub state: TaskState,
        pub profile: Profile,
        pub fleet: FleetView,
    }

    /// `base` has the core tools, `farm` those and `dig`.
    pub fn two_computers() -> FleetView {
        let mut fleet = fleet();
        let base = fleet.computers.remove(0);
        let spec =
            |value: Value| serde_json::from_value::<crate::domain::tool::ToolSpec>(value).unwrap();
        let text = json!({"type": "string"});
        let more = [
            json!({"name": "fs_list", "effect": "read", "args_schema": {"type": "object", "properties": {"path": text}, "additionalProperties": false}}),
            json!({"name": "fs_find", "effect": "read", "args_schema": {"type": "object", "required": ["pattern"],
                "properties": {"pattern": text, "path": text, "limit": {"type": "integer"}}, "additionalProperties": false}}),
            json!({"name": "fs_grep", "effect": "read", "args_schema": {"type": "object", "required": ["pattern"],
                "properties": {"pattern": text, "path": text, "files": text}, "additionalProperties": false}}),
            json!({"name": "fs_patch", "effect": "effect", "args_schema": {"type": "object", "required": ["path"],
                "properties": {"path": text, "diff": text, "edits": {"type": "array", "items": {"type": "object",
                    "required": ["search", "replace"], "properties": {"search": text, "replace": text}}}}, "additionalProperties": false}}),
        ];
        let mut tools: Vec<Tool> = base.tools.iter().cloned().collect();
        tools.extend(more.into_iter().map(|t| Tool::of(spec(t))));
        let dig = Tool::of(spec(
            json!({"name": "dig", "effect": "effect", "args_schema": {"type": "object",
            "properties": {"direction": text}, "additionalProperties": false}}),
        ));
        let mut of_farm = tools.clone();
        of_farm.push(dig);
        let farm = ComputerView {
            client_id: ClientId::parse("farm").unwrap(),
            tools: of_farm.into_iter().collect(),
            ..base.clone()
        };
        let base = ComputerView {
            tools: tools.into_iter().collect(),
            ..base
        };
        fleet.computers = vec![base, farm];
        fleet
    }

    impl Setting {
        pub fn begin() -> Self {
            let profile = profile(crate::domain::profile::ExecutorMode::Auto);
            let state = Bench::new(profile.clone()).state;
            Setting {
                state,
                profile,
                fleet: two_computers(),
            }
        }

        pub fn place(&self) -> Place<'_> {
            Place {
                state: &self.state,
                profile: &self.profile,
                fleet: &self.fleet,
            }
        }
    }

    pub fn plan_of(steps: Value) -> TaskPlan {
        serde_json::from_value(json!({"plan_id": "p", "query": "q", "goal": "g", "steps": steps}))
            .unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_edit_of_several_files_that_are_to_go_deletes_them() {
        let step = |action: &str, target: &str, reason: &str, params: Value| -> PlanStep {
            let step = json!({"id": 1, "action": action, "target": target, "reason": reason, "depends_on": [], "params": params});
            serde_json::from_value(step).unwrap()
        };
        let reason = "remove all files except sunday.dat";
        for target in ["/backups/*", "/backups/*.dat"] {
            let step = step("edit_file", target, reason, Value::Null);
            assert_eq!(meant(&step), ["fs_delete"], "{target}");
        }
        for other in [
            step("edit_file", "/backups/a.txt", reason, Value::Null),
            step("edit_file", "/backups", reason, Value::Null),
            step(
                "edit_file",
                "/backups/*",
                "put the date into all files",
                Value::Null,
            ),
            step("write_file", "/backups/*", reason, Value::Null),
            step(
                "edit_file",
                "/backups/*",
                reason,
                json!({"search": "a", "replace": "b"}),
            ),
            step("edit_file", "the backups", reason, Value::Null),
        ] {
            assert!(!deletes(&other), "{other:?}");
        }
    }
}
