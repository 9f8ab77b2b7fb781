//! A one-call task: what `POST /tools/call`, the CLI and MCP make of a direct call. It makes its call, and ends
//! as the call ended.

use super::fleet::ToolLookup;
use super::validate::{Refusal, check_call};
use crate::domain::call::{Address, Target};
use crate::domain::decision::{Decision, Inputs, PlannedCall};
use crate::domain::directive::{StrictRequest, TaskResult, TranslatedBy};
use crate::domain::event::DirectCall;
use crate::domain::ids::{CallId, ClientId};
use crate::domain::profile::Profile;
use crate::domain::task::{CallEnd, CallRecord, TaskState};
use serde_json::{Value, json};

/// The strategy's name in kinds and journals.
pub const NAME: &str = "call";
/// Raised when a change would decide a running task differently.
pub const VERSION: u32 = 1;

/// The next move of a one-call task that has nothing open.
pub fn decide(state: &TaskState, profile: &Profile, inputs: &Inputs) -> Decision {
    let Some(call) = state
        .created
        .as_ref()
        .and_then(|created| created.call.as_ref())
    else {
        return fail(
            "bad_request",
            "a task of kind \"call\" needs the call that it shall make".to_owned(),
        );
    };
    match state.calls().next() {
        Some(made) => ended(made),
        None => make(state, profile, inputs, call),
    }
}

fn make(state: &TaskState, profile: &Profile, inputs: &Inputs, call: &DirectCall) -> Decision {
    let address = match Address::parse(&call.command) {
        Ok(address) => address,
        Err(error) => return fail("bad_address", error.to_string()),
    };
    let on = match &address.target {
        Target::Computer(id) => Some(id),
        Target::Any | Target::Group(_) => None,
    };
    let tools = ToolLookup::new(state, &inputs.fleet, on);
    match check_call(state, profile, &tools, &address.tool, &call.args) {
        Ok(()) => {}
        Err(Refusal::NotAllowed(tool)) => {
            return fail("not_allowed", format!("{tool} is not allowed here"));
        }
        Err(Refusal::UnknownTool(tool)) => {
            return fail(
                "unknown_tool",
                format!("no computer that is meant has a tool {tool}"),
            );
        }
        Err(Refusal::UnknownComputer(id)) => return unknown_computer(&id),
        Err(Refusal::CannotTell) => {
            let why = match on.or(state.home()) {
                Some(id) if !inputs.fleet.has(id) => return unknown_computer(id),
                Some(id) => format!("{id} has registered no tools yet"),
                None => "no computer was ever connected".to_owned(),
            };
            return fail("offline", why);
        }
        Err(Refusal::Arguments(problems)) => return fail("bad_args", problems.join("; ")),
    }
    let call_id = CallId::derive(&state.task_id, state.generation, state.last_seq + 1, 0);
    Decision::Call {
        request: request(call),
        translated_by: TranslatedBy::Rules,
        calls: vec![PlannedCall {
            call_id,
            target: address.target,
            tool: address.tool,
            args: call.args.clone(),
            timeout_ms: call.timeout_ms,
        }],
    }
}

fn request(call: &DirectCall) -> StrictRequest {
    StrictRequest::Tool {
        explanation: format!("Calling {}", call.command),
        tool: call.command.clone(),
        parameters: call.args.clone(),
        on: None,
    }
}

fn ended(call: &CallRecord) -> Decision {
    let report = match &call.end {
        CallEnd::Open => return Decision::Rest,
        CallEnd::NotPlaced(no_route) => {
            let code = serde_json::to_value(no_route.reason).ok();
            let code = code
                .as_ref()
                .and_then(Value::as_str)
                .unwrap_or("not_placed")
                .to_owned();
            return fail(&code, no_route.message.clone());
        }
        CallEnd::Finished(report) => report,
    };
    let result = TaskResult {
        success: report.succeeded(),
        message: report
            .error
            .clone()
            .unwrap_or_else(|| format!("{} is {}", call.tool, report.outcome.as_str())),
        details: json!({"call_id": call.call_id, "report": report}),
    };
    Decision::Finish {
        request: call.request.clone(),
        translated_by: TranslatedBy::Rules,
        result,
    }
}

fn unknown_computer(id: &ClientId) -> Decision {
    fail(
        "unknown_computer",
        format!("no computer \"{id}\" was ever connected"),
    )
}

fn fail(code: &str, error: String) -> Decision {
    Decision::Fail {
        code: code.to_owned(),
        error,
        details: json!({}),
    }
}
