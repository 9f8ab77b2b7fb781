//! The pseudo tool `start_task`: another task as a tool. It stands among the tools that a model is shown; no computer has
//! it, and its result is how that task ended.

use crate::domain::decision::PlannedCall;
use crate::domain::family::{Allowance, Child, START_TASK_TOOL};
use crate::domain::ids::{CallId, ClientId, TaskId};
use crate::domain::task::TaskState;
use crate::domain::task_summary::Usage;
use crate::domain::tool::{ComputerView, ToolSpec};
use crate::domain::toolbox::{Tool, Toolbox};
use crate::domain::work::Work;
use crate::domain::work::plan::StepState;
use crate::strategy::fleet::Owner;
use crate::strategy::turn::Turn;
use serde_json::{Value, json};
use std::sync::LazyLock;

/// Who would have a tool that no computer has, if somebody had.
pub(super) struct Nobody {
    computer: ComputerView,
    tool: Tool,
}

impl Nobody {
    /// The tool of a specification as computers write theirs.
    pub(super) fn with(spec: Value) -> Option<Self> {
        let spec: ToolSpec = serde_json::from_value(spec).ok()?;
        Some(Nobody {
            computer: ComputerView {
                client_id: ClientId::parse("ccfleet").ok()?,
                label: None,
                kind: None,
                groups: Vec::new(),
                online: true,
                once_owned: Vec::new(),
                tools: Toolbox::default(),
            },
            tool: Tool::of(spec),
        })
    }

    pub(super) fn owner(&self) -> Owner<'_> {
        Owner {
            computer: &self.computer,
            tool: &self.tool,
        }
    }
}

static NOBODY: LazyLock<Option<Nobody>> = LazyLock::new(|| {
    let text = json!({"type": "string"});
    Nobody::with(json!({
        "name": START_TASK_TOOL,
        "description": "Hand a piece of work to another task and wait for its end; how it ended is the result. It knows nothing \
            of this one: say in prompt all that it needs. kind and computer may be left out",
        "args_schema": {"type": "object", "required": ["prompt"], "additionalProperties": false,
            "properties": {"prompt": {"type": "string", "minLength": 1, "maxLength": 65536},
                "kind": text, "computer": {"type": "string", "minLength": 1, "maxLength": 64}}},
    }))
});

/// The pseudo tool, where the task may start others.
pub fn tool(state: &TaskState) -> Option<Owner<'static>> {
    let nobody = NOBODY.as_ref().filter(|_| state.may_start_tasks())?;
    Some(nobody.owner())
}

/// Whether a call of this name starts a task.
pub fn starts_task(state: &TaskState, tool: &str) -> bool {
    tool == START_TASK_TOOL && state.may_start_tasks()
}

/// The arguments with the computer that a directive named beside them.
pub fn with_computer(args: &Value, on: &ClientId) -> Value {
    let mut args = args.clone();
    if let Some(fields) = args.as_object_mut() {
        fields.entry("computer").or_insert_with(|| json!(on));
    }
    args
}

/// The calls of one decision, as one that starts a child stands among them.
#[derive(Clone, Copy)]
pub struct Batch<'a> {
    pub before: &'a [PlannedCall],
    /// All of them.
    pub calls: u32,
    /// This one, and those behind it that start tasks too.
    pub children_to_come: u32,
}

/// The child of a call whose arguments were checked.
///
/// # Errors
/// The computer's name is none.
pub fn child(
    turn: &Turn<'_>,
    call_id: &CallId,
    args: &Value,
    batch: Batch<'_>,
) -> Result<Child, Vec<String>> {
    let text = |key: &str| args.get(key).and_then(Value::as_str).map(str::trim);
    let computer = match text("computer").filter(|name| !name.is_empty()) {
        Some(name) => {
            let named = ClientId::parse(name);
            Some(named.map_err(|error| vec![format!("/computer: {error}")])?)
        }
        None => turn.state.home().cloned(),
    };
    let prompt = text("prompt").unwrap_or_default();
    if prompt.is_empty() {
        return Err(vec!["/prompt: say what the task shall do".to_owned()]);
    }
    Ok(Child {
        task_id: TaskId::of_call(call_id),
        prompt: prompt.to_owned(),
        kind: text("kind")
            .filter(|kind| !kind.is_empty())
            .map(str::to_owned),
        computer,
        allowance: allowance(turn, batch),
    })
}

/// The child's share of what the task has left. Where others can run beside it, each has an equal one.
fn allowance(turn: &Turn<'_>, batch: Batch<'_>) -> Allowance {
    let state = turn.state;
    let promised = batch.before.iter().filter_map(|call| call.child.as_ref());
    let promised = promised.fold(Usage::default(), |all, child| {
        all.plus(&child.allowance.as_usage())
    });
    let taken = Usage {
        // The calls that are made now are the task's own.
        calls: promised.calls.saturating_add(batch.calls),
        ..promised
    };
    let left = state.left(&turn.budgets(), turn.inputs.now_ms);
    left.without(&taken)
        .share(batch.children_to_come.saturating_add(beside(state)))
}

/// Steps of a plan that may run beside the one that starts a child now: each other child, and all else together.
fn beside(state: &TaskState) -> u32 {
    let Work::Plan(work) = &state.work else {
        return 0;
    };
    let waiting = work.current().filter(|w| w.state == StepState::Waiting);
    let (children, others): (Vec<_>, Vec<_>) =
        waiting.partition(|work| work.step.target.as_deref() == Some(START_TASK_TOOL));
    u32::try_from(children.len())
        .unwrap_or(u32::MAX)
        .saturating_add(u32::from(!others.is_empty()))
}
