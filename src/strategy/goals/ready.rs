//! A decomposition without a model: the ready one of the task's kind, checked as a model's is.

use super::Course;
use super::check::{self, Known, paths_in};
use super::known::FleetKnown;
use crate::domain::decision::Decision;
use crate::domain::profile::TemplateStep;
use crate::domain::work::plan::PlanAction;
use crate::domain::work::{MadeBy, ObjectiveDraft, SubtaskDraft};
use crate::strategy::templates::Filled;

impl Course<'_> {
    /// Begins with the ready decomposition that fits the task's words, if there is one.
    pub(super) fn ready_goals(&self) -> Option<Decision> {
        let known = FleetKnown::new(&self.turn);
        self.turn.begin_ready(|filled| {
            let drafts = drafts_of(filled, &known);
            let objectives = check::check(&drafts, &known, self.limits())?;
            Ok(self.adopted(objectives, MadeBy::Template, None))
        })
    }
}

/// The objectives of a template: steps in a row that are good for the same belong together. What is done by thinking
/// alone is no subtask.
fn drafts_of(filled: &Filled, known: &dyn Known) -> Vec<ObjectiveDraft> {
    let mut drafts: Vec<ObjectiveDraft> = Vec::new();
    for step in &filled.steps {
        let Some(subtask) = subtask_of(step, known) else {
            continue;
        };
        match drafts.last_mut() {
            Some(draft) if draft.description == step.objective => draft.subtasks.push(subtask),
            _ => drafts.push(ObjectiveDraft {
                description: step.objective.clone(),
                subtasks: vec![subtask],
            }),
        }
    }
    drafts
}

fn subtask_of(step: &TemplateStep, known: &dyn Known) -> Option<SubtaskDraft> {
    let action = PlanAction::named(&step.action);
    if action.is_thought() {
        return None;
    }
    let target = step.target.as_deref().unwrap_or_default();
    let paths = paths_in(target);
    let tool = tool_of(&action, target, known);
    let targets = match (paths.is_empty(), tool == target) {
        (false, _) => paths,
        (true, true) => Vec::new(),
        (true, false) => step.target.clone().into_iter().collect(),
    };
    let mut description = step.line().replacen('_', " ", 1);
    if let Some(expected) = &step.expected_outcome {
        description.push_str(&format!("; expected: {expected}"));
    }
    if !step.params.is_null() {
        description.push_str(&format!("; with {}", step.params));
    }
    Some(SubtaskDraft {
        description,
        tool: Some(tool),
        targets,
        on: step.on.clone(),
    })
}

/// The tool that carries an action out: the first that is there of those that can, else the usual one, which the check
/// then names as missing.
fn tool_of(action: &PlanAction, target: &str, known: &dyn Known) -> String {
    use PlanAction::*;
    let could: &[&str] = match action {
        ReadFile => &["fs_read"],
        WriteFile => &["fs_write", "write_and_run"],
        EditFile => &["fs_patch", "fs_write"],
        RunProgram | RunTest => &["run_program", "shell_exec"],
        Search => &["fs_grep", "fs_find"],
        Shell => &["shell_exec"],
        Gather => &["fs_list", "fs_read"],
        CallTool => return target.to_owned(),
        AskUser => &["ask_user"],
        AnalyseError | Other(_) => return action.as_str().to_owned(),
    };
    let names = known.tool_names();
    let there = could.iter().find(|tool| names.contains(tool));
    there.unwrap_or(&could[0]).to_string()
}

#[cfg(test)]
mod tests {
    use crate::domain::decision::{Contract, Decision};
    use crate::domain::profile::Template;
    use crate::domain::task::TaskStatus;
    use crate::domain::work::{MadeBy, Work};
    use crate::strategy::drive::{Drive, call, profile_of};
    use crate::strategy::goals::{MARK_TOOL, NAME};
    use serde_json::{Value, json};

    fn drive(steps: Value) -> Drive {
        let template = json!({"name": "mend", "patterns": ["fix {path}"], "steps": steps});
        let template: Template = serde_json::from_value(template).unwrap();
        let mut profile = profile_of(NAME);
        profile.templates = vec![template];
        let mut drive = Drive::new(profile, "Fix /a.lua");
        drive.files.insert("/a.lua".into(), "error()".into());
        drive
    }

    fn step(objective: &str, action: &str) -> Value {
        json!({"objective": objective, "action": action, "target": "{path}", "reason": "it is needed"})
    }

    fn asked(drive: &Drive) -> Option<Contract> {
        match drive.decisions.last() {
            Some(Decision::Consult(consult)) => Some(consult.contract),
            _ => None,
        }
    }

    #[test]
    fn a_ready_decomposition_is_followed_without_asking_for_one() {
        let mut drive = drive(json!([
            step("Mend it", "read_file"),
            step("Mend it", "analyse_error"),
            step("Mend it", "edit_file"),
            step("Prove it", "run_test"),
        ]));
        assert!(drive.run_to_consult());
        assert_eq!(asked(&drive), Some(Contract::Subtask));
        let Work::Goals(work) = &drive.state().work else {
            panic!("{:?}", drive.state().work)
        };
        assert_eq!(work.made_by, MadeBy::Template);
        let tools: Vec<_> = work
            .subtasks()
            .map(|(place, it)| (place.to_string(), it.plan.tool.as_str()))
            .collect();
        let expected = [
            ("1.1", "fs_read"),
            ("1.2", "fs_write"),
            ("2.1", "run_program"),
        ];
        assert_eq!(
            tools,
            expected.map(|(place, tool)| (place.to_owned(), tool))
        );
        let mark = || call(MARK_TOOL, json!({"success": true, "reason": "seen"}));
        let said = [
            call("fs_read", json!({"path": "/a.lua"})),
            mark(),
            call("fs_write", json!({"path": "/a.lua", "content": "print(1)"})),
            mark(),
            call("run_program", json!({"path": "/a.lua"})),
            mark(),
        ];
        let said: Vec<&str> = said.iter().map(String::as_str).collect();
        assert!(!drive.say(&said));
        assert_eq!(drive.state().status, TaskStatus::Completed);
        let result = drive.state().result.clone().unwrap();
        assert_eq!(result.details["goal"]["made_by"], "template");
        assert_eq!(drive.state().usage.model_calls, 6);
    }

    #[test]
    fn a_ready_decomposition_with_a_missing_tool_is_noted_and_the_model_makes_one() {
        let teleport =
            json!({"objective": "o", "action": "call_tool", "target": "teleport", "reason": "r"});
        let mut drive = drive(json!([teleport]));
        assert!(drive.run_to_consult());
        assert_eq!(asked(&drive), Some(Contract::Goals));
        let note = drive.state().notes.last().unwrap();
        assert_eq!(note.code, "template_refused");
        assert!(note.message.contains("teleport"), "{}", note.message);
        assert_eq!(drive.state().bounces, 0);
    }

    #[test]
    fn nothing_is_said_of_tools_that_nobody_has_shown_yet() {
        let mut drive = drive(json!([step("Mend it", "read_file")]));
        let mut inputs = crate::strategy::bench::inputs(1_000);
        inputs.fleet.computers[0].tools = vec![].into();
        inputs.fleet.has_tools = false;
        let next = crate::strategy::decide(drive.state(), &drive.bench.profile, &inputs);
        assert!(matches!(next.unwrap().decision, Decision::Wait { .. }));
        assert!(drive.run_to_consult());
        assert_eq!(asked(&drive), Some(Contract::Subtask));
    }
}
