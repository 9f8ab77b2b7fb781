//! The life of tools that are written and activated through calls: draft → test → active → retired (source document
//! 001 §8.3). The computer keeps the files; the server remembers which version of a tool was activated, so that a
//! file that changed afterwards counts as a draft until it is tested and activated again.

use super::call::{CallReport, Outcome};
use super::ids::ClientId;
use super::task::{CallEnd, CallRecord, TaskState};
use super::tool::{ToolSpec, ToolState, is_tool_name};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Puts a tool's file on a computer.
pub const WRITE: &str = "tool_write";
/// Puts a tested tool into use.
pub const ACTIVATE: &str = "tool_activate";
/// Takes a tool out of use.
pub const RETIRE: &str = "tool_retire";

/// The most tools that one call may speak of.
const MAX_RECORDS: usize = 64;
/// The longest version, in bytes.
const MAX_VERSION: usize = 128;

/// What the server knows of one tool of one computer from a finished call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolRecord {
    pub client_id: ClientId,
    pub name: String,
    pub state: ToolState,
    /// The hash of its file, as the computer names it.
    pub tool_version: Option<String>,
    /// The lane number of the call that told; an older call never replaces what a newer one told.
    pub seq: Option<u64>,
}

impl ToolRecord {
    /// Whether this takes the place of what was known before: it was told by a later call, as far as that is known, and
    /// does not only write once more what was activated.
    pub fn replaces(&self, former: &ToolRecord) -> bool {
        let later = match (self.seq, former.seq) {
            (Some(ours), Some(theirs)) => ours >= theirs,
            _ => true,
        };
        let same = self.tool_version.is_some() && self.tool_version == former.tool_version;
        let rewritten = self.state == ToolState::Draft && former.state == ToolState::Active;
        later && !(same && rewritten)
    }
}

/// What the end of a call tells about tools. Which tool was called decides the state, not what the computer claims: only
/// `tool_activate` makes a tool active.
pub fn records_of(call: &CallRecord, report: &CallReport) -> Vec<ToolRecord> {
    let state = match call.tool.as_str() {
        WRITE => ToolState::Draft,
        ACTIVATE => ToolState::Active,
        RETIRE => ToolState::Retired,
        _ => return Vec::new(),
    };
    let (Some(intended), Some(result)) = (&call.intended, &report.result) else {
        return Vec::new();
    };
    if report.outcome != Outcome::Done || !report.succeeded() {
        return Vec::new();
    }
    let listed = result.get("tools").and_then(Value::as_array);
    let told: Vec<&Value> = match listed {
        Some(tools) => tools.iter().take(MAX_RECORDS).collect(),
        None => vec![result],
    };
    let text = |told: &Value, key: &str| told.get(key).and_then(Value::as_str).map(str::to_owned);
    told.into_iter()
        .filter_map(|told| {
            let name = text(told, "name").filter(|name| is_tool_name(name))?;
            // A file of several tools may leave one of them a draft.
            let draft = text(told, "state").as_deref() == Some("draft");
            Some(ToolRecord {
                client_id: intended.client_id.clone(),
                name,
                state: if draft { ToolState::Draft } else { state },
                tool_version: text(told, "tool_version").filter(|v| v.len() <= MAX_VERSION),
                seq: intended.seq,
            })
        })
        .collect()
}

/// The state that counts for a tool as its computer registered it. One that no call ever wrote or activated is what
/// its computer says.
pub fn state_of(tool: &ToolSpec, record: Option<&ToolRecord>) -> ToolState {
    let Some(record) = record else {
        return tool.state;
    };
    match record.state {
        _ if tool.state == ToolState::Retired => ToolState::Retired,
        _ if record.tool_version != tool.tool_version => ToolState::Draft,
        state => state,
    }
}

/// Whether this task activated the tool on this computer itself, in the version that is there now: then it may use it,
/// whatever its kind allows (design section 6). The versions have to agree, so a tool without one never gets in.
pub fn was_activated_by(state: &TaskState, computer: &ClientId, tool: &ToolSpec) -> bool {
    tool.tool_version.is_some()
        && state.calls().any(|call| match &call.end {
            CallEnd::Finished(report) if call.tool == ACTIVATE => {
                records_of(call, report).iter().any(|record| {
                    record.client_id == *computer
                        && record.name == tool.name
                        && record.state == ToolState::Active
                        && record.tool_version == tool.tool_version
                })
            }
            _ => false,
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::event::CallIntended;
    use crate::domain::fixtures::{intended, open_call};
    use crate::domain::ids::TaskId;
    use serde_json::json;

    fn call(tool: &str) -> CallRecord {
        let mut call = open_call(tool, json!({}));
        call.intended = Some(CallIntended {
            seq: Some(7),
            ..intended(&call, "miner")
        });
        call
    }

    fn report(outcome: Outcome, result: Value) -> CallReport {
        CallReport {
            result: Some(result),
            ..CallReport::without_answer(outcome, "", "")
        }
    }

    fn told(tool: &str, outcome: Outcome, result: Value) -> Vec<(String, ToolState)> {
        let records = records_of(&call(tool), &report(outcome, result));
        records.into_iter().map(|r| (r.name, r.state)).collect()
    }

    #[test]
    fn only_a_finished_activation_makes_a_tool_active() {
        let result = json!({"name": "dig", "tool_version": "sha256:1", "state": "active"});
        let active = vec![("dig".to_owned(), ToolState::Active)];
        assert_eq!(told(ACTIVATE, Outcome::Done, result.clone()), active);
        for outcome in [Outcome::Failed, Outcome::Unknown, Outcome::NotStarted] {
            assert_eq!(told(ACTIVATE, outcome, result.clone()), []);
        }
        // A computer that claims more than was asked of it.
        let draft = vec![("dig".to_owned(), ToolState::Draft)];
        assert_eq!(told(WRITE, Outcome::Done, result.clone()), draft);
        assert_eq!(told("fs_write", Outcome::Done, result), []);
        let failed = json!({"success": false, "name": "dig"});
        assert_eq!(told(ACTIVATE, Outcome::Done, failed), []);
    }

    #[test]
    fn one_file_may_hold_several_tools() {
        let result = json!({"tools": [{"name": "dig", "tool_version": "a"}, {"name": "no name"},
            {"name": "fill", "tool_version": "a", "state": "draft"}]});
        assert_eq!(
            told(ACTIVATE, Outcome::Done, result),
            [
                ("dig".to_owned(), ToolState::Active),
                ("fill".to_owned(), ToolState::Draft)
            ]
        );
    }

    #[test]
    fn a_changed_file_counts_as_a_draft() {
        let tool: ToolSpec =
            serde_json::from_value(json!({"name": "dig", "tool_version": "sha256:1"})).unwrap();
        let record = |state, version: &str| ToolRecord {
            client_id: ClientId::parse("miner").unwrap(),
            name: "dig".into(),
            state,
            tool_version: Some(version.into()),
            seq: None,
        };
        let active = |version| state_of(&tool, Some(&record(ToolState::Active, version)));
        assert_eq!(state_of(&tool, None), ToolState::Active);
        assert_eq!(active("sha256:1"), ToolState::Active);
        assert_eq!(active("sha256:2"), ToolState::Draft);
        let retired = record(ToolState::Retired, "sha256:1");
        assert_eq!(state_of(&tool, Some(&retired)), ToolState::Retired);
    }

    #[test]
    fn writing_the_same_content_again_leaves_an_active_tool_active() {
        let record = |state, version: &str, seq| ToolRecord {
            client_id: ClientId::parse("miner").unwrap(),
            name: "dig".into(),
            state,
            tool_version: Some(version.into()),
            seq,
        };
        let active = record(ToolState::Active, "a", Some(5));
        assert!(!record(ToolState::Draft, "a", None).replaces(&active));
        assert!(record(ToolState::Draft, "b", None).replaces(&active));
        assert!(record(ToolState::Retired, "a", Some(6)).replaces(&active));
        assert!(!record(ToolState::Retired, "a", Some(4)).replaces(&active));
    }

    #[test]
    fn a_task_that_activated_a_tool_may_use_that_version_of_it_on_that_computer() {
        let mut state = TaskState::new(TaskId::from_unique("01").unwrap());
        let mut activated = call(ACTIVATE);
        activated.end = CallEnd::Finished(report(
            Outcome::Done,
            json!({"name": "dig", "tool_version": "sha256:1"}),
        ));
        state.steps.push(crate::domain::task::Step {
            number: 1,
            track: Default::default(),
            planner: None,
            reading: None,
            read: None,
            executor: vec![],
            request: None,
            translated_by: None,
            calls: vec![activated],
            question: None,
            blocked: None,
            summary_upto: None,
            recalled: None,
            closed: true,
        });
        let tool = |version: Option<&str>| -> ToolSpec {
            serde_json::from_value(json!({"name": "dig", "tool_version": version})).unwrap()
        };
        let (miner, other) = ("miner", "other");
        let may = |who: &str, version| {
            was_activated_by(&state, &ClientId::parse(who).unwrap(), &tool(version))
        };
        assert!(may(miner, Some("sha256:1")));
        assert!(!may(miner, Some("sha256:2")));
        assert!(!may(other, Some("sha256:1")));
        assert!(!may(miner, None));
    }
}
