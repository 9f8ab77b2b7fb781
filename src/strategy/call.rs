//! A one-call task: what `POST /tools/call`, the CLI and MCP make of a direct call. It makes its call, and ends
//! as the call ended.

use super::fleet::{Found, ToolLookup};
use super::guards;
use super::validate::{Refusal, check_call};
use crate::domain::call::{Address, NoRoute, Target};
use crate::domain::decision::{Decision, Inputs, PlannedCall};
use crate::domain::directive::{StrictRequest, TaskResult, TranslatedBy};
use crate::domain::event::DirectCall;
use crate::domain::ids::{CallId, ClientId};
use crate::domain::profile::Profile;
use crate::domain::task::{CallEnd, CallRecord, TaskState};
use serde_json::json;

/// The strategy's name in kinds and journals.
pub const NAME: &str = "call";
/// Raised when a change would decide a running task differently.
pub const VERSION: u32 = 1;

/// The next move of a one-call task that has nothing open.
pub fn decide(state: &TaskState, profile: &Profile, inputs: &Inputs) -> Option<Decision> {
    let Some(call) = state
        .created
        .as_ref()
        .and_then(|created| created.call.as_ref())
    else {
        return Some(fail(
            "bad_request",
            "a task of kind \"call\" needs the call that it shall make".to_owned(),
        ));
    };
    match state.calls().next() {
        Some(made) => ended(made),
        None => Some(make(state, profile, inputs, call)),
    }
}

fn make(state: &TaskState, profile: &Profile, inputs: &Inputs, call: &DirectCall) -> Decision {
    let address = match Address::parse(&call.command) {
        Ok(address) => address,
        Err(error) => return fail("bad_address", error.to_string()),
    };
    let tools = ToolLookup::at(state, &inputs.fleet, &address.target);
    let mended = match check_call(state, profile, &tools, &address.tool, &call.args) {
        Ok(mended) => mended,
        Err(refusal) => return refused(state, inputs, &address, refusal),
    };
    let args = mended.unwrap_or_else(|| call.args.clone());
    let owners = match tools.find(&address.tool) {
        Found::Tools(owners) => owners,
        _ => Vec::new(),
    };
    let on: Vec<&str> = owners
        .iter()
        .map(|owner| owner.computer.client_id.as_str())
        .collect();
    // Nobody who makes a call like this has proved who they are, so there is nobody to consent either.
    if let Some(reason) = guards::denied(profile, &address.tool, &args, &on) {
        return fail("policy_violation", format!("{}: {reason}", address.tool));
    }
    let call_id = CallId::derive(&state.task_id, state.generation, state.last_seq + 1, 0);
    Decision::Call {
        request: request(call),
        translated_by: TranslatedBy::Rules,
        calls: vec![PlannedCall {
            call_id,
            target: address.target,
            tool: address.tool,
            args,
            timeout_ms: call.timeout_ms,
            request: None,
            child: None,
            until_ms: None,
        }],
    }
}

/// Ends the task with the reason why its call cannot be made.
fn refused(state: &TaskState, inputs: &Inputs, address: &Address, refusal: Refusal) -> Decision {
    let on = match &address.target {
        Target::Computer(id) => Some(id),
        Target::Any => state.home(),
        Target::Group(_) => None,
    };
    match refusal {
        Refusal::NotAllowed(tool) => fail(
            "not_allowed",
            format!(
                "calls of this kind may not use \"{tool}\"; `allowed_tools` of the kind names what they may"
            ),
        ),
        Refusal::UnknownTool { tool, elsewhere } => {
            let words = match (&address.target, on) {
                (Target::Group(group), _) => {
                    format!("no computer of the group \"{group}\" has a tool \"{tool}\"")
                }
                (_, Some(id)) => format!("computer \"{id}\" has no tool \"{tool}\""),
                (_, None) => format!("no computer has a tool \"{tool}\""),
            };
            let words = match elsewhere {
                Some(other) => {
                    let target = Target::Computer(other);
                    format!(
                        "{words}; another one has it: \"{}\"",
                        Address { target, tool }
                    )
                }
                None => words,
            };
            fail("unknown_tool", words)
        }
        Refusal::Draft { tool, on } => fail("tool_draft", NoRoute::draft_words(&tool, &on)),
        Refusal::UnknownComputer(id) => unknown_computer(&id),
        Refusal::CannotTell => match on {
            Some(id) if !inputs.fleet.has(id) => unknown_computer(id),
            Some(id) => fail("offline", format!("{id} has registered no tools yet")),
            None => fail(
                "offline",
                "no computer has registered a tool yet".to_owned(),
            ),
        },
        Refusal::Arguments(problems) => fail("bad_args", problems.join("; ")),
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

fn ended(call: &CallRecord) -> Option<Decision> {
    let report = match &call.end {
        CallEnd::Open => return None,
        CallEnd::NotPlaced(no_route) => {
            return Some(fail(no_route.reason.as_str(), no_route.message.clone()));
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
    Some(Decision::Finish {
        request: call.request.clone(),
        translated_by: TranslatedBy::Rules,
        result,
    })
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
