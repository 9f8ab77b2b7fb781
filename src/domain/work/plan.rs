//! A plan (source document 002): steps with dependencies, and how far each of them is. Plain data and its fold; what a
//! plan must be and what happens next is decided by `strategy/plan`.

use crate::domain::ids::ClientId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a planner makes of a task. A plan that was adopted has its steps numbered on from those of the plan before it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TaskPlan {
    pub plan_id: String,
    /// The task as the planner read it.
    pub query: String,
    /// What holds once the plan is carried out.
    pub goal: String,
    #[serde(alias = "tasks")]
    pub steps: Vec<PlanStep>,
    /// Whatever else the planner noted.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub metadata: Value,
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanStep {
    /// From 1, in order.
    pub id: u32,
    pub action: PlanAction,
    /// What the action is about: a path, a command, a tool, a question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Another computer than the task's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<ClientId>,
    pub reason: String,
    /// Evidence for people and models; only a quoted part of it is looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_outcome: Option<String>,
    /// Earlier steps that have to be done first.
    #[serde(default)]
    pub depends_on: Vec<u32>,
    /// Details of the action; an object, or null.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub params: Value,
}

/// What a step does (source document 002's action types, without those of Git and of builds).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum PlanAction {
    ReadFile,
    WriteFile,
    EditFile,
    RunProgram,
    RunTest,
    Search,
    Shell,
    CallTool,
    AnalyseError,
    Gather,
    AskUser,
    /// None that is known; a plan with it is not valid unless it names a tool.
    Other(String),
}

/// Every action that a plan may name, with the other words for it that are understood.
const ACTIONS: [(PlanAction, &str, &[&str]); 11] = [
    (
        PlanAction::ReadFile,
        "read_file",
        &["read", "view_file", "view", "open_file", "cat", "show_file", "file_read", "fs_read"],
    ),
    (
        PlanAction::WriteFile,
        "write_file",
        &["write", "create_file", "save_file", "overwrite_file", "file_write", "fs_write", "create"],
    ),
    (
        PlanAction::EditFile,
        "edit_file",
        &["edit", "modify_file", "modify", "patch_file", "patch", "update_file", "fix_file", "change_file", "file_patch", "fs_patch", "replace_in_file"],
    ),
    (
        PlanAction::RunProgram,
        "run_program",
        &["run", "execute", "execute_program", "run_file", "run_script", "start_program", "run_code"],
    ),
    (
        PlanAction::RunTest,
        "run_test",
        &["test", "run_tests", "execute_test", "verify", "check", "test_program"],
    ),
    (
        PlanAction::Search,
        "search",
        &["search_code", "search_files", "grep", "find", "find_file", "find_files", "search_text", "fs_grep", "fs_find"],
    ),
    (
        PlanAction::Shell,
        "shell",
        &["shell_exec", "run_shell", "run_command", "command", "exec", "shell_command"],
    ),
    (
        PlanAction::CallTool,
        "call_tool",
        &["tool", "use_tool", "tool_call", "invoke_tool"],
    ),
    (
        PlanAction::AnalyseError,
        "analyse_error",
        &["analyze_error", "analyse", "analyze", "analyze_code", "analyse_code", "think", "reason", "understand", "diagnose", "explain", "summarise", "summarize"],
    ),
    (
        PlanAction::Gather,
        "gather",
        &["gather_from_computer", "gather_facts", "inspect", "inspect_computer", "list_files", "list", "list_directory", "ls", "fs_list", "look"],
    ),
    (
        PlanAction::AskUser,
        "ask_user",
        &["ask", "ask_question", "question", "clarify"],
    ),
];

impl PlanAction {
    /// The action that a word means: its name or one of its synonyms, in any case, with blanks, hyphens or capitals
    /// between its parts.
    pub fn named(word: &str) -> Self {
        let word = snake_case(word);
        let found = ACTIONS
            .iter()
            .find(|(_, name, synonyms)| *name == word || synonyms.contains(&word.as_str()));
        found.map_or(PlanAction::Other(word), |(action, _, _)| action.clone())
    }

    pub fn as_str(&self) -> &str {
        if let PlanAction::Other(word) = self {
            return word;
        }
        ACTIONS
            .iter()
            .find(|(action, _, _)| action == self)
            .map_or("", |(_, name, _)| name)
    }

    /// The names of all actions, in the order in which they are told.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ACTIONS.iter().map(|(_, name, _)| *name)
    }

    /// Whether such a step may change something on a computer.
    pub fn may_change(&self) -> bool {
        use PlanAction::*;
        matches!(
            self,
            WriteFile | EditFile | RunProgram | RunTest | Shell | CallTool | Other(_)
        )
    }

    /// Whether such a step is done by thinking: a model's words are its result, no tool is called.
    pub fn is_thought(&self) -> bool {
        *self == PlanAction::AnalyseError
    }
}

fn snake_case(word: &str) -> String {
    let mut out = String::new();
    let mut after_lower = false;
    for c in word.trim().chars() {
        if c.is_uppercase() && after_lower {
            out.push('_');
        }
        after_lower = c.is_lowercase() || c.is_ascii_digit();
        match c {
            ' ' | '-' => out.push('_'),
            c => out.extend(c.to_lowercase()),
        }
    }
    out
}

impl From<String> for PlanAction {
    fn from(word: String) -> Self {
        PlanAction::named(&word)
    }
}

impl From<PlanAction> for String {
    fn from(action: PlanAction) -> Self {
        action.as_str().to_owned()
    }
}

/// What was read out of a planner's answer that had to be a plan.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PlanRead {
    /// The plan as it was said; whether it can be carried out is decided with the fleet in view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<TaskPlan>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

impl PlanRead {
    pub fn title(&self) -> String {
        match &self.plan {
            Some(plan) => format!("plan of {} steps: {}", plan.steps.len(), plan.goal),
            None => format!("no plan: {}", self.problems.join("; ")),
        }
    }
}

/// What was read out of an executor's answer for one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum StepRead {
    /// At least one call, to be made in this order.
    Calls { calls: Vec<StepCall> },
    /// The words of a step that is done by thinking.
    Words { text: String },
    /// The executor declines: this is what it would have to guess.
    Unclear { missing: Vec<String> },
    Invalid { problems: Vec<String> },
}

impl StepRead {
    pub fn title(&self) -> String {
        match self {
            StepRead::Calls { calls } => {
                let tools: Vec<&str> = calls.iter().map(|call| call.tool.as_str()).collect();
                tools.join(", ")
            }
            StepRead::Words { text } => text.lines().next().unwrap_or_default().to_owned(),
            StepRead::Unclear { missing } => format!("unclear: {}", missing.join("; ")),
            StepRead::Invalid { problems } => format!("no call: {}", problems.join("; ")),
        }
    }
}

/// One call as an executor says it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepCall {
    pub tool: String,
    pub args: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
}

/// What a planner says of the whole at the end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Review {
    /// Whether the task's goal holds.
    pub achieved: bool,
    pub message: String,
    /// What is still to be done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// What was read out of a review.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ReviewRead {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Review>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

impl ReviewRead {
    pub fn title(&self) -> String {
        match &self.review {
            Some(review) if review.achieved => format!("achieved: {}", review.message),
            Some(review) => format!("not achieved: {}", review.message),
            None => format!("no review: {}", self.problems.join("; ")),
        }
    }
}

/// A move of the plan's books.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "plan_move", rename_all = "snake_case")]
pub enum PlanAdvance {
    /// An answer is no plan that can be carried out.
    Refused { problems: Vec<String> },
    /// A plan is sound but for its targets, which are looked up first.
    Drafted { plan: TaskPlan },
    /// The plan is followed from now on. `after_step` is the number of the task's last step by then.
    Adopted { plan: TaskPlan, after_step: u32 },
    /// A step is under way, on the track of its number.
    StepBegun { step: u32 },
    /// A step has ended; those in `skips` will not be begun because of it.
    StepSettled {
        step: u32,
        settled: Settled,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        skips: Vec<u32>,
    },
    /// The planner looked at the results.
    Reviewed { review: Review },
}

/// How a step ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "settled", rename_all = "snake_case")]
pub enum Settled {
    Done,
    /// The same was done by an earlier step, and nothing has changed since: its result is taken.
    Carried {
        from: u32,
    },
    Failed {
        error: String,
    },
}

/// How far a step is.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum StepState {
    #[default]
    Waiting,
    Running,
    Settled(Settled),
    /// Never begun, because step `because` failed (0: because another plan was adopted).
    Skipped {
        because: u32,
    },
}

/// A step in the books.
#[derive(Debug, Clone, PartialEq)]
pub struct StepWork {
    pub step: PlanStep,
    pub state: StepState,
    /// Milliseconds since the Unix epoch.
    pub started_at_ms: Option<i64>,
    pub ended_at_ms: Option<i64>,
}

impl StepWork {
    pub fn is_done(&self) -> bool {
        matches!(
            self.state,
            StepState::Settled(Settled::Done | Settled::Carried { .. })
        )
    }

    pub fn is_over(&self) -> bool {
        matches!(
            self.state,
            StepState::Settled(_) | StepState::Skipped { .. }
        )
    }

    /// Why it failed, if it did.
    pub fn error(&self) -> Option<&str> {
        match &self.state {
            StepState::Settled(Settled::Failed { error }) => Some(error),
            _ => None,
        }
    }

    /// How long it took, in milliseconds; none if it was never begun or goes on.
    pub fn duration_ms(&self) -> Option<i64> {
        Some(self.ended_at_ms?.saturating_sub(self.started_at_ms?).max(0))
    }

    /// The outcome in one word.
    pub fn outcome(&self) -> &'static str {
        match &self.state {
            StepState::Waiting => "waiting",
            StepState::Running => "running",
            StepState::Settled(Settled::Done | Settled::Carried { .. }) => "done",
            StepState::Settled(Settled::Failed { .. }) => "failed",
            StepState::Skipped { .. } => "skipped",
        }
    }
}

/// The books of a task with the strategy `plan`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PlanWork {
    /// A plan whose targets are being looked up.
    pub draft: Option<TaskPlan>,
    /// The plans that were adopted, in order, without their steps.
    pub plans: Vec<TaskPlan>,
    /// The steps of all plans, numbered through.
    pub steps: Vec<StepWork>,
    /// The number of the current plan's first step.
    pub first: u32,
    /// The planner's word on the current plan.
    pub review: Option<Review>,
    /// What was wrong with each answer since the last plan was adopted.
    pub refused: Vec<Vec<String>>,
    /// The number of the task's last step when the last plan was adopted.
    pub adopted_after: u32,
}

impl PlanWork {
    /// Takes an advance into the books; `at_ms` is when it was committed. What makes no sense changes nothing.
    pub fn advance(&mut self, advance: &PlanAdvance, at_ms: i64) {
        match advance {
            PlanAdvance::Refused { problems } => {
                self.draft = None;
                self.refused.push(problems.clone());
            }
            PlanAdvance::Drafted { plan } => self.draft = Some(plan.clone()),
            PlanAdvance::Adopted { plan, after_step } => {
                self.adopt(plan);
                self.adopted_after = *after_step;
            }
            PlanAdvance::StepBegun { step } => {
                if let Some(work) = self.step_mut(*step)
                    && work.state == StepState::Waiting
                {
                    work.state = StepState::Running;
                    work.started_at_ms = Some(at_ms);
                }
            }
            PlanAdvance::StepSettled {
                step,
                settled,
                skips,
            } => self.settle(*step, settled, skips, at_ms),
            PlanAdvance::Reviewed { review } => self.review = Some(review.clone()),
        }
    }

    fn settle(&mut self, step: u32, settled: &Settled, skips: &[u32], at_ms: i64) {
        if let Some(work) = self.step_mut(step).filter(|work| !work.is_over()) {
            work.state = StepState::Settled(settled.clone());
            work.started_at_ms.get_or_insert(at_ms);
            work.ended_at_ms = Some(at_ms);
        }
        for skipped in skips {
            let waiting = self.step_mut(*skipped);
            if let Some(work) = waiting.filter(|work| work.state == StepState::Waiting) {
                work.state = StepState::Skipped { because: step };
            }
        }
    }

    fn adopt(&mut self, plan: &TaskPlan) {
        for step in &mut self.steps {
            if step.state == StepState::Waiting {
                step.state = StepState::Skipped { because: 0 };
            }
        }
        self.draft = None;
        self.review = None;
        self.refused.clear();
        self.first = plan.steps.first().map_or(self.first, |step| step.id);
        self.steps.extend(plan.steps.iter().map(|step| StepWork {
            step: step.clone(),
            state: StepState::Waiting,
            started_at_ms: None,
            ended_at_ms: None,
        }));
        let steps = Vec::new();
        self.plans.push(TaskPlan {
            steps,
            ..plan.clone()
        });
    }

    fn step_mut(&mut self, number: u32) -> Option<&mut StepWork> {
        self.steps.iter_mut().find(|work| work.step.id == number)
    }

    pub fn step(&self, number: u32) -> Option<&StepWork> {
        self.steps.iter().find(|work| work.step.id == number)
    }

    /// The steps of the current plan.
    pub fn current(&self) -> impl Iterator<Item = &StepWork> {
        self.steps.iter().filter(|work| work.step.id >= self.first)
    }

    /// The number that the next plan's first step gets.
    pub fn next_number(&self) -> u32 {
        self.steps
            .iter()
            .map(|work| work.step.id)
            .max()
            .unwrap_or(0)
            .saturating_add(1)
    }

    /// The waiting steps that need `failed`, directly or through others, in order.
    pub fn dependents(&self, failed: u32) -> Vec<u32> {
        let mut lost = vec![failed];
        // Dependencies point to earlier steps, so one pass in order finds them all.
        for work in self.current() {
            let hit = work.step.depends_on.iter().any(|id| lost.contains(id));
            if work.state == StepState::Waiting && hit {
                lost.push(work.step.id);
            }
        }
        lost.split_off(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn plan(steps: Value) -> TaskPlan {
        serde_json::from_value(
            json!({"plan_id": "p", "query": "q", "goal": "g", "tasks": steps}),
        )
        .unwrap()
    }

    fn step(id: u32, depends_on: &[u32]) -> Value {
        json!({"id": id, "action": "read_file", "target": "/a", "reason": "r", "depends_on": depends_on})
    }

    #[test]
    fn every_action_has_one_meaning_whatever_its_spelling() {
        for (action, name, synonyms) in &ACTIONS {
            for word in std::iter::once(name).chain(synonyms.iter()) {
                assert_eq!(&PlanAction::named(word), action, "{word}");
                assert_eq!(&PlanAction::named(&word.replace('_', "-").to_uppercase()), action);
            }
        }
        assert_eq!(PlanAction::named("ReadFile"), PlanAction::ReadFile);
        assert_eq!(PlanAction::named("analyzeError"), PlanAction::AnalyseError);
        assert_eq!(PlanAction::named("git_commit"), PlanAction::Other("git_commit".into()));
        let written = serde_json::to_value(PlanAction::named("Analyze Error")).unwrap();
        assert_eq!(written, "analyse_error");
    }

    #[test]
    fn a_failed_step_takes_its_dependents_along_and_leaves_the_others() {
        let mut work = PlanWork::default();
        let plan = plan(json!([step(1, &[]), step(2, &[1]), step(3, &[]), step(4, &[2, 3])]));
        work.advance(&PlanAdvance::Adopted { plan, after_step: 1 }, 10);
        assert_eq!(work.dependents(1), [2, 4]);
        let settled = Settled::Failed { error: "gone".into() };
        work.advance(&PlanAdvance::StepBegun { step: 1 }, 20);
        let skips = work.dependents(1);
        work.advance(&PlanAdvance::StepSettled { step: 1, settled, skips }, 50);
        let outcomes: Vec<&str> = work.steps.iter().map(StepWork::outcome).collect();
        assert_eq!(outcomes, ["failed", "skipped", "waiting", "skipped"]);
        assert_eq!(work.steps[0].duration_ms(), Some(30));
        assert_eq!(work.steps[3].state, StepState::Skipped { because: 1 });
    }

    #[test]
    fn a_new_plan_goes_on_behind_the_old_one() {
        let mut work = PlanWork::default();
        let first = plan(json!([step(1, &[]), step(2, &[])]));
        work.advance(&PlanAdvance::Adopted { plan: first, after_step: 1 }, 0);
        let settled = Settled::Done;
        work.advance(&PlanAdvance::StepSettled { step: 1, settled, skips: vec![] }, 1);
        assert_eq!(work.next_number(), 3);
        work.advance(&PlanAdvance::Adopted { plan: plan(json!([step(3, &[])])), after_step: 2 }, 2);
        let current: Vec<u32> = work.current().map(|w| w.step.id).collect();
        assert_eq!(current, [3]);
        assert_eq!(work.steps[1].state, StepState::Skipped { because: 0 });
        assert!(work.steps[0].is_done());
    }
}
