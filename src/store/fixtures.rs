//! Small journals for tests.

use super::{Append, ComputerRecord, Write};
use crate::domain::access::Role;
use crate::domain::call::{CallReport, Outcome, Target};
use crate::domain::credential::{Bearer, TokenRecord};
use crate::domain::decision::{Decision, Inputs, PlannedCall};
use crate::domain::directive::{StrictRequest, TranslatedBy};
use crate::domain::event::{
    CallIntended, DirectCall, DirectCallEnded, StoredEvent, TaskCreated, TaskEvent,
};
use crate::domain::ids::{BlobHash, CallId, ClientId, Generation, TaskId};
use crate::domain::profile::Budgets;
use crate::domain::task::{TaskState, TaskSummary};
use crate::domain::tool::EffectClass;
use crate::domain::wakes::Wakes;
use serde_json::{Value, json};
use std::sync::Arc;

pub fn task(name: &str) -> TaskId {
    TaskId::from_unique(name).unwrap()
}

pub fn client(name: &str) -> ClientId {
    ClientId::parse(name).unwrap()
}

pub const PROFILE: &str = r#"{"kind":"code_job"}"#;

pub fn created(prompt: &str) -> TaskEvent {
    TaskEvent::TaskCreated(Box::new(TaskCreated {
        prompt: prompt.into(),
        kind: "code_job".into(),
        kind_label: "code_job".into(),
        strategy: "directive".into(),
        strategy_version: 1,
        profile: BlobHash::of(PROFILE),
        client_id: Some(client("turtle-1")),
        owner: "local".into(),
        confined_to: None,
        context: Value::Null,
        allowed_commands: None,
        metadata: Value::Null,
        interactive: false,
        budgets: Budgets {
            steps: 40,
            calls: 80,
            questions: 2,
            wall_time_s: 3600,
            tokens: 0,
            model_failures: 5,
            per_wake: Default::default(),
        },
        call: None,
        parent: None,
        depth: 0,
        may_start_tasks: false,
        wakes: None,
        up_ms: None,
        may_sleep: false,
    }))
}

/// A task that lives on.
pub fn created_with(prompt: &str, wakes: Wakes) -> TaskEvent {
    match created(prompt) {
        TaskEvent::TaskCreated(mut created) => {
            created.wakes = Some(wakes);
            TaskEvent::TaskCreated(created)
        }
        other => other,
    }
}

pub fn noted(message: &str) -> TaskEvent {
    TaskEvent::Noted {
        code: "test".into(),
        message: message.into(),
    }
}

pub fn completed(message: &str) -> TaskEvent {
    TaskEvent::TaskCompleted {
        result: serde_json::from_value(json!({"success": true, "message": message})).unwrap(),
    }
}

pub fn call(name: &str) -> CallId {
    CallId::derive(&task(name), Generation(1), 1, 0)
}

/// The decision to dig on these computers, with these ids.
pub fn decided(calls: &[(CallId, &str)]) -> TaskEvent {
    let planned = calls.iter().map(|(call_id, computer)| PlannedCall {
        call_id: call_id.clone(),
        target: Target::Computer(client(computer)),
        tool: "dig".into(),
        args: json!({}),
        timeout_ms: None,
        request: None,
        child: None,
        until_ms: None,
    });
    TaskEvent::Decided {
        decision: Box::new(Decision::Call {
            request: StrictRequest::Tool {
                explanation: "dig".into(),
                tool: "dig".into(),
                parameters: json!({}),
                on: None,
            },
            translated_by: TranslatedBy::Rules,
            calls: planned.collect(),
        }),
        inputs: Inputs::default().journalled().0,
        track: Default::default(),
    }
}

pub fn intended(call_id: &CallId, client_id: &ClientId, seq: Option<u64>) -> TaskEvent {
    TaskEvent::CallIntended(CallIntended {
        call_id: call_id.clone(),
        client_id: client_id.clone(),
        seq,
        tool: "dig".into(),
        tool_rev: "rev_1".into(),
        effect: if seq.is_some() {
            EffectClass::Effect
        } else {
            EffectClass::Read
        },
        args: json!({}),
        args_hash: "arg_1".into(),
        timeout_ms: 1000,
        boot_id: None,
    })
}

pub fn finished(call_id: &CallId, outcome: Outcome) -> TaskEvent {
    TaskEvent::CallFinished {
        call_id: call_id.clone(),
        report: CallReport {
            outcome,
            result: None,
            error: None,
            code: None,
            duration_ms: Some(7),
            truncated: false,
        },
    }
}

/// A one-call task from its beginning to an end that is known or not.
pub fn direct_call(name: &str, outcome: Outcome) -> TaskEvent {
    let TaskEvent::TaskCreated(created) = created(name) else {
        unreachable!()
    };
    let TaskEvent::CallIntended(intended) = intended(&call(name), &client("turtle-1"), None) else {
        unreachable!()
    };
    let TaskEvent::CallFinished { report, .. } = finished(&call(name), outcome) else {
        unreachable!()
    };
    let direct = DirectCall {
        command: format!("turtle-1/{}", intended.tool),
        args: intended.args.clone(),
        timeout_ms: None,
    };
    TaskEvent::DirectCallEnded(Arc::new(DirectCallEnded {
        created: TaskCreated {
            call: Some(direct),
            ..*created
        },
        began_ms: 1_000,
        intended,
        report,
    }))
}

pub fn computer(name: &str) -> ComputerRecord {
    ComputerRecord {
        client_id: client(name),
        boot_id: Some("boot-1".into()),
        secret_hash: Some("hash".into()),
        owner: "local".into(),
        registration: json!({"label": "the digger", "tools": [{"name": "dig"}]}),
        last_seen_ms: 1000,
    }
}

/// Writes the journal of one task as its actor would: each append knows the position after the last one.
pub struct Author {
    state: TaskState,
    pub generation: Generation,
    pub now_ms: i64,
}

impl Author {
    /// An author of the task `tsk_<name>`; nothing is written yet.
    pub fn new(name: &str) -> Self {
        Author {
            state: TaskState::new(task(name)),
            generation: Generation(1),
            now_ms: 1_700_000_000_000,
        }
    }

    pub fn task_id(&self) -> TaskId {
        self.state.task_id.clone()
    }

    /// The next append; the author takes it for written.
    pub fn append(&mut self, events: Vec<TaskEvent>) -> Append {
        let expected_seq = self.state.last_seq;
        let mut blobs = Vec::new();
        if expected_seq == 0 {
            blobs.push((BlobHash::of(PROFILE), PROFILE.into()));
        }
        if events
            .iter()
            .any(|e| matches!(e, TaskEvent::Decided { .. }))
        {
            let (_, hash, fleet) = Inputs::default().journalled();
            blobs.push((hash, fleet.into()));
        }
        let events = self.state.apply_next(self.generation, self.now_ms, events);
        Append {
            task_id: self.state.task_id.clone(),
            generation: self.generation,
            expected_seq,
            at_ms: self.now_ms,
            events: events.into(),
            blobs,
            summary: self.summary().into(),
            idempotency_key: None,
            tools: Vec::new(),
        }
    }

    /// Takes an event for written.
    pub fn take(&mut self, stored: &StoredEvent) {
        self.state.apply(stored);
    }

    pub fn state(&self) -> &TaskState {
        &self.state
    }

    /// The task as it stands after what was appended.
    pub fn summary(&self) -> TaskSummary {
        self.state.summary()
    }

    pub fn write(&mut self, events: Vec<TaskEvent>) -> Write {
        Write::Append(Arc::new(self.append(events)))
    }
}

/// A person's token.
pub fn token(id: &str) -> TokenRecord {
    TokenRecord {
        token_id: id.into(),
        name: "the laptop".into(),
        owner: "ada".into(),
        bearer: Bearer::Person {
            role: Role::Operator,
        },
        tools: Some(vec!["fs_*".into()]),
        hash: "ab".repeat(32),
        created_at_ms: 1_000,
        last_used_ms: None,
        expires_at_ms: Some(9_000),
        revoked_at_ms: None,
        session_of: None,
    }
}
