//! The pseudo tool `start_task`: another task as a tool. It stands among the tools that a model is shown; no computer has
//! it, and its result is how that task ended.

use super::fleet::Owner;
use super::turn::Turn;
use crate::domain::family::{Allowance, Child, START_TASK_TOOL};
use crate::domain::ids::{CallId, ClientId, TaskId};
use crate::domain::task::TaskState;
use crate::domain::tool::{ComputerView, ToolSpec};
use crate::domain::toolbox::{Tool, Toolbox};
use serde_json::{Value, json};
use std::sync::LazyLock;

/// Who would have the tool, if somebody had.
struct Nobody {
    computer: ComputerView,
    tool: Tool,
}

static NOBODY: LazyLock<Option<Nobody>> = LazyLock::new(|| {
    let text = json!({"type": "string"});
    let spec: ToolSpec = serde_json::from_value(json!({
        "name": START_TASK_TOOL,
        "description": "Hand a piece of work to another task and wait for its end; how it ended is the result. It knows nothing \
            of this one: say in prompt all that it needs. kind and computer may be left out",
        "args_schema": {"type": "object", "required": ["prompt"], "additionalProperties": false,
            "properties": {"prompt": {"type": "string", "minLength": 1, "maxLength": 65536},
                "kind": text, "computer": {"type": "string", "minLength": 1, "maxLength": 64}}},
    }))
    .ok()?;
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
});

/// The pseudo tool, where the task may start others.
pub fn tool(state: &TaskState) -> Option<Owner<'static>> {
    let nobody = NOBODY.as_ref().filter(|_| state.may_start_tasks())?;
    Some(Owner {
        computer: &nobody.computer,
        tool: &nobody.tool,
    })
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

/// The child of a call whose arguments were checked.
///
/// # Errors
/// The computer's name is none.
pub fn child(turn: &Turn<'_>, call_id: &CallId, args: &Value) -> Result<Child, Vec<String>> {
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
        allowance: left(turn),
    })
}

/// What the task has left for a child.
fn left(turn: &Turn<'_>) -> Allowance {
    let (budgets, spent) = (turn.budgets(), turn.state.spent());
    let now_ms = turn.inputs.now_ms;
    let since = turn.state.started_at_ms.unwrap_or(now_ms);
    let elapsed_s = now_ms.saturating_sub(since).max(0) as u64 / 1000;
    let tokens = spent.tokens_in.saturating_add(spent.tokens_out);
    Allowance {
        steps: budgets.steps.saturating_sub(spent.steps),
        // The call that starts it is one of them.
        calls: budgets.calls.saturating_sub(spent.calls).saturating_sub(1),
        questions: budgets.questions.saturating_sub(spent.questions),
        wall_time_s: budgets.wall_time_s.saturating_sub(elapsed_s),
        tokens: (budgets.tokens > 0).then(|| budgets.tokens.saturating_sub(tokens)),
    }
}
