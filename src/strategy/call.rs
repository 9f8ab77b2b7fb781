//! A one-call task: what `POST /tools/call`, the CLI and MCP make of a direct call. It makes its call, and ends
//! as the call ended.

use crate::domain::call::{Address, NoRoute, Target};
use crate::domain::decision::{Decision, Inputs, PlannedCall};
use crate::domain::directive::TranslatedBy;
use crate::domain::event::DirectCall;
use crate::domain::ids::{CallId, ClientId};
use crate::domain::profile::Profile;
use crate::domain::task::{CallEnd, CallRecord, TaskState};
use crate::strategy::answers::validate::{Refusal, check_call};
use crate::strategy::fleet::{Found, ToolLookup};
use crate::strategy::guards;
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
        request: call.request(),
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

fn ended(call: &CallRecord) -> Option<Decision> {
    let report = match &call.end {
        CallEnd::Open => return None,
        CallEnd::NotPlaced(no_route) => {
            return Some(fail(no_route.reason.as_str(), no_route.message.clone()));
        }
        CallEnd::Finished(report) => report,
    };
    Some(Decision::Finish {
        request: call.request.clone(),
        translated_by: TranslatedBy::Rules,
        result: report.task_result(&call.call_id, &call.tool),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::call::Outcome;
    use crate::domain::event::{DirectCallEnded, TaskCreated, TaskEvent};
    use crate::domain::fixtures;
    use crate::domain::ids::{Generation, TaskId};
    use crate::strategy::bench::{Bench, profile, report};
    use std::sync::Arc;

    fn created_by() -> TaskId {
        TaskId::from_unique("01HZX4W1V7Y6T5S4R3Q2P1N0M7").unwrap()
    }

    /// A task of one call that is decided and open.
    fn decided() -> (Bench, DirectCall) {
        let direct = DirectCall {
            command: "base/fs_read".into(),
            args: json!({"path": "/a"}),
            timeout_ms: Some(5_000),
        };
        let own = Profile {
            strategy: NAME.into(),
            strategy_version: VERSION,
            ..profile(Default::default())
        };
        let mut bench = Bench::new(own);
        if let Some(created) = &mut bench.state.created {
            created.call = Some(direct.clone());
            created.metadata = json!({"shift": "night"});
            created.allowed_commands = Some(vec!["fs_*".into()]);
            created.parent = Some(created_by());
        }
        bench.advance();
        (bench, direct)
    }

    #[test]
    fn a_task_without_a_call_fails_and_says_what_it_needs() {
        let mut bench = Bench::new(Profile {
            strategy: NAME.into(),
            strategy_version: VERSION,
            ..profile(Default::default())
        });
        let Decision::Fail { code, error, .. } = bench.advance() else {
            panic!("there is nothing to call");
        };
        assert_eq!(code, "bad_request");
        assert!(error.contains("needs the call"), "{error}");
    }

    #[test]
    fn a_whole_call_in_one_event_folds_to_what_its_six_events_fold_to() {
        let ends = [
            (Outcome::Done, true),
            (Outcome::Done, false),
            (Outcome::Failed, false),
            (Outcome::Unknown, false),
        ];
        for (outcome, success) in ends {
            let (mut six, _) = decided();
            let call = six.state.calls().next().unwrap().clone();
            let report = report(outcome, success);
            six.settle(report.clone());
            let Decision::Finish { result, .. } = six.advance() else {
                panic!("a call that ended ends its task");
            };
            six.push(TaskEvent::TaskCompleted { result });

            let mut one = TaskState::new(six.state.task_id.clone());
            let whole = DirectCallEnded {
                created: six.state.created.clone().unwrap(),
                began_ms: six.state.created_at_ms,
                intended: fixtures::intended(&call, "base"),
                report,
            };
            let whole = TaskEvent::DirectCallEnded(Arc::new(whole));
            let stored = one.apply_next(Generation(1), six.now_ms, vec![whole]);
            let summary = |state: &TaskState| json!(state.summary());
            assert_eq!(summary(&one), summary(&six.state), "{outcome:?}");
            assert_eq!(stored[0].short_form(), Some(one.summary()), "{outcome:?}");
            let made = |state: &TaskState| state.calls().cloned().collect::<Vec<_>>();
            assert_eq!(made(&one), made(&six.state));
            assert_eq!(one.result, six.state.result);
            assert_eq!(one.is_sealed(), six.state.is_sealed());
        }
    }

    #[test]
    fn a_whole_call_is_the_beginning_of_its_task_or_nothing() {
        let (bench, _) = decided();
        let call = bench.state.calls().next().unwrap().clone();
        let whole = |created| {
            let whole = DirectCallEnded {
                created,
                began_ms: 0,
                intended: fixtures::intended(&call, "base"),
                report: report(Outcome::Done, true),
            };
            vec![TaskEvent::DirectCallEnded(Arc::new(whole))]
        };
        let created = bench.state.created.clone().unwrap();
        let mut running = bench.state.clone();
        running.apply_next(Generation(1), 5, whole(created.clone()));
        assert_eq!(running.status, bench.state.status);
        // One that says of no call is none.
        let mut fresh = TaskState::new(TaskId::from_unique("01HZX4W1V7Y6T5S4R3Q2P1N0M8").unwrap());
        let stored = fresh.apply_next(
            Generation(1),
            5,
            whole(TaskCreated {
                call: None,
                ..created
            }),
        );
        assert_eq!(fresh.created, None);
        assert_eq!(stored[0].short_form(), None);
    }
}
