//! A recorded task as a scenario: what its models said, in order, for the scripted provider to say again.

use serde::Serialize;
use serde_json::Value;

use super::scenario::Told;
use crate::domain::chat::{ChatAnswer, Role, ToolCall};
use crate::domain::event::{StoredEvent, TaskEvent};

/// The file, field for field as [`super::Scenario::parse`] reads it.
#[derive(Debug, Serialize)]
struct File<'a> {
    description: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    planner: Vec<Answer<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    executor: Vec<Answer<'a>>,
}

#[derive(Debug, Serialize)]
struct Answer<'a> {
    text: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    thinking: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_calls: Option<&'a [ToolCall]>,
    /// The same where TOML cannot hold them: it has no null and no number above 2^63.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_calls_json: Option<String>,
    told: Told,
}

/// Why a task makes no scenario.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    #[error("no model has answered in this task yet")]
    NoAnswers,
    #[error("the answers cannot be written as TOML: {0}")]
    Toml(String),
}

/// The answers of a journal as a scenario, also those that a fork carried over: a new task begins at the beginning. Failed
/// model calls are left out, for a scripted model does not fail.
///
/// # Errors
/// There is no answer.
pub fn export(events: &[StoredEvent], description: &str) -> Result<String, ExportError> {
    let mut file = File {
        description,
        planner: Vec::new(),
        executor: Vec::new(),
    };
    collect(events, &mut file);
    if file.planner.is_empty() && file.executor.is_empty() {
        return Err(ExportError::NoAnswers);
    }
    toml::to_string(&file).map_err(|error| ExportError::Toml(error.to_string()))
}

fn collect<'a>(events: &'a [StoredEvent], file: &mut File<'a>) {
    for stored in events {
        match &stored.event {
            TaskEvent::Forked(forked) => collect(&forked.carried, file),
            TaskEvent::ModelAnswered { role, answer, .. } => match role {
                Role::Planner => file.planner.push(written(answer)),
                Role::Executor => file.executor.push(written(answer)),
            },
            _ => {}
        }
    }
}

fn written(answer: &ChatAnswer) -> Answer<'_> {
    let calls = answer.tool_calls.as_slice();
    let fits = calls.iter().all(|call| fits_toml(&call.arguments));
    Answer {
        text: &answer.content,
        thinking: &answer.thinking,
        tool_calls: Some(calls).filter(|calls| fits && !calls.is_empty()),
        tool_calls_json: (!fits).then(|| serde_json::to_string(calls).unwrap_or_default()),
        told: Told {
            stop: answer.stop,
            tokens_in: answer.usage.tokens_in,
            tokens_out: answer.usage.tokens_out,
            tokens_cached: answer.usage.tokens_cached,
        },
    }
}

fn fits_toml(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Number(number) => number.is_i64() || number.is_f64(),
        Value::Array(items) => items.iter().all(fits_toml),
        Value::Object(fields) => fields.values().all(fits_toml),
        Value::Bool(_) | Value::String(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::chat::{StopReason, Usage};
    use crate::domain::decision::Decision;
    use crate::domain::ids::{Generation, TaskId};
    use crate::domain::model_call::{LastResult, ScriptPosition};
    use crate::domain::task::Open;
    use crate::domain::track::Track;
    use crate::llm::scripted::Scenario;
    use crate::strategy::bench::answer;
    use crate::strategy::drive::{Drive, calls, profile_of};
    use proptest::prelude::*;
    use serde_json::json;

    /// What a task decided, and how it stood at the end.
    fn decided(drive: &Drive) -> Vec<Value> {
        drive.decisions.iter().map(|d| json!(d)).collect()
    }

    /// Where a scripted model stands, as the task's actor tells it.
    fn position(drive: &Drive, role: Role) -> ScriptPosition {
        let state = drive.state();
        let answers = state.conversations.get(&role).map(|c| c.answers.clone());
        let last = state.calls().rev().find(|call| !call.is_open());
        ScriptPosition {
            prior_answers: answers.unwrap_or_default(),
            last_result: last.map(|call| LastResult {
                outcome: call.outcome().map_or("", |o| o.as_str()).to_owned(),
                success: Some(call.succeeded()),
                text: String::new(),
            }),
        }
    }

    /// Runs a task from its beginning; `model` answers until it has nothing more to say.
    fn run(strategy: &str, mut model: impl FnMut(&Drive, Role) -> Option<ChatAnswer>) -> Drive {
        let mut drive = Drive::new(profile_of(strategy), "Write /a.lua and run it");
        while drive.run_to_consult() {
            let Open::Consult { role, .. } = *drive.state().open_on(Track::MAIN) else {
                panic!("no consult is open")
            };
            let Some(answer) = model(&drive, role) else {
                break;
            };
            drive.answer(answer);
        }
        drive
    }

    fn says_again(scenario: &Scenario, drive: &Drive, role: Role) -> ChatAnswer {
        let said = scenario.answer(role, &position(drive, role)).unwrap();
        crate::llm::scripted::said(said, 1)
    }

    fn plays_to_the_same_decisions(strategy: &str, script: Vec<(Role, ChatAnswer)>) {
        let mut left = script.into_iter();
        let recorded = run(strategy, |_, role| {
            let (of, answer) = left.next()?;
            assert_eq!(of, role);
            Some(answer)
        });
        assert!(
            recorded.state().status.is_final(),
            "{strategy}: {:?}",
            recorded.decisions.last()
        );
        let text = export(&recorded.bench.journal, "a recorded task").unwrap();
        let scenario = Scenario::parse(&text).unwrap();
        let again = run(strategy, |drive, role| {
            Some(says_again(&scenario, drive, role))
        });
        assert_eq!(decided(&recorded), decided(&again), "{strategy}");
        assert_eq!(recorded.state().usage, again.state().usage, "{strategy}");
    }

    #[test]
    fn a_recorded_task_that_is_played_again_decides_the_same() {
        let planner = |text: &str| (Role::Planner, answer(text));
        plays_to_the_same_decisions(
            "directive",
            vec![
                planner("Let me think about it."),
                planner(
                    "PLAN:\n- [ ] write\nDIRECTIVE: WRITE_FILE\nPATH: /a.lua\nLANGUAGE: lua\nCONTENT:\n```lua\nprint(\"x\")\n```",
                ),
                // A directive that the rules cannot read goes to the executor.
                planner("DIRECTIVE: RUN\nPATH: /a.lua list"),
                (
                    Role::Executor,
                    answer(r#"{"kind": "unclear", "missing": ["which program"]}"#),
                ),
                planner("DIRECTIVE: RUN\nPATH: /a.lua"),
                planner("DIRECTIVE: DONE\nSUMMARY: it runs"),
            ],
        );
        let native = |made: &[(&str, Value)]| (Role::Planner, calls(made));
        plays_to_the_same_decisions(
            "direct",
            vec![
                native(&[
                    ("fs_write", json!({"path": "/a.lua", "content": "print(1)"})),
                    // No null in TOML.
                    ("fs_list", json!({"path": null})),
                ]),
                native(&[("fs_write", json!({"path": "/a.lua", "content": "print(1)"}))]),
                native(&[("run_program", json!({"path": "/a.lua"}))]),
                planner("FINAL ANSWER: it runs"),
            ],
        );
    }

    #[test]
    fn a_task_without_answers_makes_no_scenario() {
        let mut drive = Drive::new(profile_of("directive"), "Wait");
        assert!(matches!(drive.decide(), Some(Decision::Consult(_))));
        let none = export(&drive.bench.journal, "");
        assert_eq!(none, Err(ExportError::NoAnswers));
    }

    fn any_arguments() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            "\\PC{0,8}|[\r\n\t\"'\\\\\u{0}-\u{1f}]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[a-z. ]{0,4}", inner, 0..3)
                    .prop_map(|fields| json!(fields)),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_written_out_is_said_again_letter_for_letter(
            text in "(\\PC|[\r\n\t\"'\\\\\u{0}-\u{1f}]){0,40}",
            thinking in "\\PC{0,10}",
            arguments in any_arguments(),
            tokens in proptest::option::of(0u64..1_000_000),
            cut_off: bool,
        ) {
            let said = ChatAnswer {
                thinking,
                tool_calls: vec![ToolCall { id: Some("c1".into()), name: "t".into(), arguments }],
                stop: if cut_off { StopReason::Length } else { StopReason::Stop },
                usage: Usage { tokens_in: tokens, ..Usage::default() },
                model: "scripted".into(),
                ..answer(&text)
            };
            let event = TaskEvent::ModelAnswered { consult: 2, role: Role::Planner, answer: said.clone() };
            let task_id = TaskId::from_unique("01").unwrap();
            let stored = StoredEvent { task_id, seq: 3, at_ms: 0, generation: Generation(1), event };
            let text = export(&[stored], "one answer").unwrap();
            let scenario = Scenario::parse(&text).unwrap();
            let again = scenario.answer(Role::Planner, &ScriptPosition::default()).unwrap();
            prop_assert_eq!(crate::llm::scripted::said(again, 1), said);
        }
    }
}
