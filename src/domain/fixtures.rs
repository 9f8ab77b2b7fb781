//! Calls for tests, of the core and of what is built on it.

use super::call::{Target, args_hash};
use super::directive::StrictRequest;
use super::event::CallIntended;
use super::ids::{CallId, ClientId, Generation, TaskId};
use super::memo::Memo;
use super::step::{CallEnd, CallRecord};
use super::tool::EffectClass;
use serde_json::Value;

/// A call that was decided and has not ended.
pub(crate) fn open_call(tool: &str, args: Value) -> CallRecord {
    let task_id = TaskId::from_unique("01").unwrap();
    CallRecord {
        call_id: CallId::derive(&task_id, Generation(1), 1, 0),
        target: Target::Any,
        tool: tool.to_owned(),
        args,
        timeout_ms: None,
        request: StrictRequest::Unclear { missing: vec![] },
        child: None,
        until_ms: None,
        intended: None,
        end: CallEnd::Open,
        settled: Memo::default(),
    }
}

/// The intent of a call that was decided, on this computer, with an effect.
pub(crate) fn intended(call: &CallRecord, on: &str) -> CallIntended {
    CallIntended {
        call_id: call.call_id.clone(),
        client_id: ClientId::parse(on).unwrap(),
        seq: None,
        tool: call.tool.clone(),
        tool_rev: "rev_1".into(),
        effect: EffectClass::Effect,
        args: call.args.clone(),
        args_hash: args_hash(&call.args),
        timeout_ms: 1000,
        boot_id: None,
    }
}
