use super::{FINAL_MARK, NAME};
use crate::domain::call::{CallReport, Outcome, Target};
use crate::domain::chat::{ChatAnswer, ChatFailure, Message, Role, Speaker, ToolCall};
use crate::domain::decision::{Decision, Guard, ToolsDelta};
use crate::domain::event::TaskEvent;
use crate::domain::fold::TOOLS_UNSUPPORTED;
use crate::domain::profile::{ExecutorMode, Profile};
use crate::domain::task::{Open, TaskStatus};
use crate::domain::tool::EffectClass;
use crate::domain::track::Track;
use crate::prompts::PromptLibrary;
use crate::strategy::bench::{Bench, answer, inputs, profile as directive_profile, tool};
use crate::strategy::drive::{Drive, done as report};
use crate::strategy::read_answer;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::LazyLock;

static PROMPTS: LazyLock<BTreeMap<String, String>> =
    LazyLock::new(|| PromptLibrary::embedded().unwrap().texts(NAME));

fn profile() -> Profile {
    Profile {
        strategy: NAME.into(),
        strategy_version: super::VERSION,
        demand_proof: false,
        prompts: PROMPTS.clone(),
        ..directive_profile(ExecutorMode::Auto)
    }
}

fn call(name: &str, arguments: Value) -> ToolCall {
    ToolCall {
        id: Some(format!("id_{name}")),
        name: name.into(),
        arguments,
    }
}

fn native(calls: Vec<ToolCall>) -> ChatAnswer {
    ChatAnswer {
        tool_calls: calls,
        ..answer("")
    }
}

/// Answers the open consult natively.
fn answer_with(bench: &mut Bench, answer: ChatAnswer) {
    let Open::Consult {
        seq,
        role,
        contract,
        ..
    } = bench.state.open_on(Track::MAIN).clone()
    else {
        panic!("no consult is open");
    };
    let read = read_answer(seq, contract, &answer);
    bench.push(TaskEvent::ModelAnswered {
        consult: seq,
        role,
        answer,
    });
    bench.push(read);
}

fn settle_all(bench: &mut Bench, report: &CallReport) {
    let open: Vec<_> = bench
        .state
        .calls()
        .filter(|c| c.is_open())
        .cloned()
        .collect();
    for call in open {
        bench.push(TaskEvent::CallFinished {
            call_id: call.call_id,
            report: report.clone(),
        });
    }
}

fn prompt(bench: &Bench) -> &[Message] {
    bench.state.prompt(Role::Planner)
}

#[test]
fn a_native_call_is_made_its_result_answers_it_and_the_final_answer_ends_the_task() {
    let mut bench = Bench::new(profile());
    let Decision::Consult(consult) = bench.advance() else {
        panic!()
    };
    let ToolsDelta::Set(tools) = consult.tools else {
        panic!("the tools are told natively")
    };
    assert!(tools.iter().any(|tool| tool.name == "fs_read"));
    assert!(!prompt(&bench)[0].content.contains("- fs_read ("));
    answer_with(
        &mut bench,
        native(vec![call("fs_read", json!({"path": "/a"}))]),
    );
    assert!(matches!(bench.advance(), Decision::Call { calls, .. } if calls[0].tool == "fs_read"));
    settle_all(&mut bench, &report(json!({"content": "print(1)"})));
    let Decision::Consult(consult) = bench.advance() else {
        panic!()
    };
    assert_eq!(consult.tools, ToolsDelta::Same);
    let told = prompt(&bench);
    let [.., called, result, _tail] = told else {
        panic!()
    };
    assert_eq!(called.tool_calls[0].name, "fs_read");
    assert_eq!(result.speaker, Speaker::Tool);
    assert_eq!(
        result.answers.as_ref().unwrap().id.as_deref(),
        Some("id_fs_read")
    );
    assert!(result.content.contains("print(1)"));
    bench.answer(&format!("{FINAL_MARK}\nIt prints 1."));
    assert!(
        matches!(bench.advance(), Decision::Finish { result, .. } if result.message == "It prints 1.")
    );
    assert_eq!(bench.state.status, TaskStatus::Completed);
}

#[test]
fn a_model_that_refuses_tools_is_told_of_them_in_words_and_writes_calls_as_json() {
    let mut bench = Bench::new(profile());
    bench.advance();
    let consult = bench.state.last_seq;
    bench.push(TaskEvent::ModelFailed {
        consult,
        role: Role::Planner,
        failure: ChatFailure {
            code: TOOLS_UNSUPPORTED.into(),
            message: "m does not take tools".into(),
            hint: String::new(),
            retryable: false,
        },
    });
    let Decision::Consult(consult) = bench.advance() else {
        panic!("it goes on in the other way")
    };
    assert_eq!(consult.tools, ToolsDelta::Set(Vec::new()));
    assert!(prompt(&bench)[0].content.contains("- fs_read ("));
    bench.answer(
        "Let me look.\n```json\n{\"tool\": \"fs_read\", \"args\": {\"path\": \"/a\"}}\n```",
    );
    assert!(matches!(bench.advance(), Decision::Call { calls, .. } if calls[0].tool == "fs_read"));
    settle_all(&mut bench, &report(json!({"content": "print(1)"})));
    bench.advance();
    assert!(prompt(&bench).iter().all(|m| m.speaker != Speaker::Tool));
}

#[test]
fn chatter_is_reminded_of_the_contract_and_what_stays_words_is_taken_as_the_end() {
    let mut bench = Bench::new(profile());
    bench.advance();
    for _ in 0..2 {
        bench.answer("I will read the file now.");
        assert!(matches!(bench.advance(), Decision::Consult(_)));
        let blocked = bench
            .state
            .steps
            .iter()
            .rev()
            .find_map(|s| s.blocked.as_ref());
        assert_eq!(blocked.unwrap().guard, Guard::Unclear);
    }
    bench.answer("There is nothing to do.");
    assert!(matches!(bench.advance(), Decision::Finish { .. }));
}

#[test]
fn a_final_answer_without_proof_is_sent_back_where_the_kind_demands_it() {
    let mut bench = Bench::new(Profile {
        demand_proof: true,
        ..profile()
    });
    bench.advance();
    bench.answer(&format!("{FINAL_MARK} done"));
    assert!(matches!(bench.advance(), Decision::Consult(_)));
    let blocked = bench.state.steps[0].blocked.as_ref().unwrap();
    assert_eq!(blocked.guard, Guard::Proof);
}

#[test]
fn who_ends_before_the_change_has_run_is_shown_the_call_that_runs_it_again() {
    let mut drive = Drive::new(profile(), "Mend /a.lua");
    drive.bench.profile.demand_proof = true;
    let call = |tool: &str, args: Value| json!({"tool": tool, "args": args}).to_string();
    let write = |content: &str| call("fs_write", json!({"path": "/a.lua", "content": content}));
    let run = json!({"path": "/a.lua", "args": ["2", "3"]});
    drive.say(&[
        &write("print(1)"),
        &call("run_program", run.clone()),
        &write("print(2)"),
        &format!("{FINAL_MARK} done"),
    ]);
    let shown = drive.shown();
    let again = call("run_program", run);
    let told = "run your tests first, for example\n{\"tool\": \"run_program\", \"args\": ";
    assert!(shown.contains(told) && again.contains("/a.lua"), "{shown}");
}

#[test]
fn a_form_that_was_not_filled_in_is_sent_back() {
    let mut drive = Drive::new(profile(), "Mend /a.lua");
    drive.files.insert("/a.lua".into(), "print(1)".into());
    let args = json!({"path": "/a.lua", "content": "…"});
    drive.say(&[&json!({"tool": "fs_write", "args": args}).to_string()]);
    let told = "content: \"…\" only stands for what you have to put there";
    assert!(drive.shown().contains(told), "{}", drive.shown());
    assert_eq!(drive.files["/a.lua"], "print(1)");
}

#[test]
fn an_end_that_is_written_as_a_call_is_one() {
    for args in [r#"{"answer": "It prints 1."}"#, r#""It prints 1.""#] {
        let mut bench = Bench::new(profile());
        bench.advance();
        bench.answer(&format!(r#"{{"tool": "FINAL ANSWER", "args": {args}}}"#));
        let Decision::Finish { result, .. } = bench.advance() else {
            panic!("no tool has this name");
        };
        assert_eq!(result.message, "It prints 1.");
    }
}

#[test]
fn the_mark_of_the_end_is_read_in_the_ways_in_which_models_write_it() {
    for said in [
        "FINAL ANSWER\nIt prints 1.",
        "All is done.\n\n**Final Answer:** It prints 1.",
        "## Final answer\n\nIt prints 1.",
        "FINAL ANSWER: no\nFINAL ANSWER: It prints 1.",
        "It prints 1.\nFINAL ANSWER",
    ] {
        let mut bench = Bench::new(profile());
        bench.advance();
        bench.answer(said);
        let Decision::Finish { result, .. } = bench.advance() else {
            panic!("{said}");
        };
        assert_eq!(result.message, "It prints 1.", "{said}");
    }
    for said in [
        "The final answer is that it prints 1.",
        "Final answers follow.\nIt prints 1.",
        "FINAL ANSWER:",
        "**Final answer**\n",
    ] {
        let mut bench = Bench::new(profile());
        bench.advance();
        bench.answer(said);
        assert!(matches!(bench.advance(), Decision::Consult(_)), "{said}");
    }
}

#[test]
fn a_tool_that_is_named_like_the_end_is_called() {
    let mut bench = Bench::new(profile());
    bench.advance();
    bench.answer(r#"{"tool": "final_answer", "args": {"answer": "It prints 1."}}"#);
    let mut inputs = inputs(bench.now_ms);
    let text = json!({"type": "object", "properties": {"answer": {"type": "string"}}});
    let own = tool("final_answer", EffectClass::Effect, text);
    inputs.fleet.computers[0].tools = vec![own].into();
    let decided = super::decide(&bench.state, &bench.profile, &inputs);
    assert!(
        matches!(decided, Some(Decision::Call { .. })),
        "{decided:?}"
    );
}

#[test]
fn a_final_answer_that_says_it_is_none_is_sent_back() {
    let mut bench = Bench::new(profile());
    bench.advance();
    bench.answer(&format!("{FINAL_MARK} The task is not complete."));
    assert!(matches!(bench.advance(), Decision::Consult(_)));
    assert!(bench.state.steps[0].blocked.is_some());
    bench.answer(&format!("{FINAL_MARK} The task is complete."));
    assert!(matches!(bench.advance(), Decision::Finish { .. }));
}

#[test]
fn several_calls_leave_in_one_decision_and_all_or_none_are_made() {
    let mut bench = Bench::new(profile());
    bench.advance();
    let (a, b) = (json!({"path": "/a"}), json!({"path": "/b"}));
    answer_with(
        &mut bench,
        native(vec![call("fs_read", a.clone()), call("fs_read", b)]),
    );
    assert!(matches!(bench.advance(), Decision::Call { calls, .. } if calls.len() == 2));
    settle_all(&mut bench, &report(json!({"content": ""})));
    bench.advance();
    let wrong = call("fs_read", json!({"name": 1}));
    answer_with(&mut bench, native(vec![call("fs_read", a), wrong]));
    assert!(matches!(bench.advance(), Decision::Consult(_)));
    let told: Vec<&Message> = prompt(&bench).iter().rev().skip(1).take(2).collect();
    assert!(
        told.iter()
            .all(|m| m.speaker == Speaker::Tool && m.content.contains("NOT carried out"))
    );
}

#[test]
fn a_call_that_names_another_computer_goes_there() {
    let mut bench = Bench::new(profile());
    bench.advance();
    answer_with(
        &mut bench,
        native(vec![call("fs_read", json!({"path": "/a", "on": "base"}))]),
    );
    let Decision::Call { calls, .. } = bench.advance() else {
        panic!()
    };
    assert!(matches!(&calls[0].target, Target::Computer(id) if id.as_str() == "base"));
    assert_eq!(calls[0].args, json!({"path": "/a"}));
}

#[test]
fn a_question_is_asked_and_stands_alone() {
    let mut bench = Bench::new(profile());
    bench.advance();
    let ask = call(
        "ask_user",
        json!({"question": "Which chest?", "why": "there are two"}),
    );
    let read = call("fs_read", json!({"path": "/a"}));
    answer_with(&mut bench, native(vec![ask.clone(), read]));
    assert!(matches!(bench.advance(), Decision::Consult(_)));
    answer_with(&mut bench, native(vec![ask]));
    assert!(matches!(bench.advance(), Decision::Ask { .. }));
}

/// What the model sees in both ways, after a call, a blocked one and a failed run; looked at by a person.
#[test]
fn what_the_model_sees() {
    for (name, native_tools) in [("native", true), ("prompted", false)] {
        let mut bench = Bench::new(profile());
        bench.state.no_native_tools = !native_tools;
        bench.advance();
        let answers: [(&str, Value); 3] = [
            ("fs_read", json!({"path": "/TODO.lua"})),
            ("fs_read", json!({"name": "/TODO.lua"})),
            (
                "run_program",
                json!({"path": "/TODO.lua", "args": ["list"]}),
            ),
        ];
        for (tool, args) in answers {
            if native_tools {
                answer_with(&mut bench, native(vec![call(tool, args)]));
            } else {
                bench.answer(&json!({"tool": tool, "args": args}).to_string());
            }
            if matches!(bench.advance(), Decision::Call { .. }) {
                let result = match tool {
                    "fs_read" => json!({"content": "print(1)\n"}),
                    _ => json!({"success": false, "output": "", "error": "/TODO.lua:1: oh"}),
                };
                settle_all(&mut bench, &report(result));
                bench.advance();
            }
        }
        let text: String = prompt(&bench)
            .iter()
            .map(|m| {
                let calls: Vec<String> = m
                    .tool_calls
                    .iter()
                    .map(|c| format!("[call {} {}]\n", c.name, c.arguments))
                    .collect();
                format!("--- {:?}\n{}{}\n", m.speaker, m.content, calls.concat())
            })
            .collect();
        insta::assert_snapshot!(format!("direct_{name}"), text);
    }
}

fn any_answer() -> impl Strategy<Value = ChatAnswer> {
    let args = prop_oneof![
        Just(json!({"path": "/a"})),
        Just(json!({"path": "/a", "args": ["x"]})),
        Just(json!({"command": "list"})),
        Just(json!({"path": "/a", "content": "x"})),
        Just(json!([])),
        Just(json!({"on": "nobody", "path": "/a"})),
    ];
    let tool = prop_oneof![
        Just("fs_read"),
        Just("run_program"),
        Just("shell_exec"),
        Just("fs_write"),
        Just("ask_user"),
        Just("nothing")
    ];
    let calls = prop::collection::vec((tool, args).prop_map(|(t, a)| call(t, a)), 1..4);
    prop_oneof![
        4 => calls.prop_map(native),
        1 => "\\PC{0,30}".prop_map(|text| answer(&text)),
        1 => Just(answer("{\"tool\": \"fs_read\", \"args\": {\"path\": \"/b\"}}")),
        1 => Just(answer(&format!("{FINAL_MARK} all done"))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_model_and_any_computer_lead_to_an_end_within_the_budgets(
        answers in prop::collection::vec(any_answer(), 40),
        ends in prop::collection::vec((0u8..4, any::<bool>()), 60),
        proof: bool,
    ) {
        let mut bench = Bench::new(Profile { demand_proof: proof, ..profile() });
        let (mut answers, mut ends) = (answers.into_iter(), ends.into_iter().cycle());
        let mut former: Vec<Message> = Vec::new();
        let mut compacted = 0;
        for _ in 0..200 {
            match bench.advance() {
                Decision::Consult(_) => {
                    let now = prompt(&bench).to_vec();
                    let upto = bench.state.compaction.as_ref().map_or(0, |c| c.upto_step);
                    if upto == compacted && !former.is_empty() {
                        let kept = former.len() - 1;
                        prop_assert_eq!(&now[..kept], &former[..kept]);
                    }
                    (former, compacted) = (now, upto);
                    answer_with(&mut bench, answers.next().unwrap());
                }
                Decision::Call { .. } => {
                    let (outcome, success) = ends.next().unwrap();
                    let outcome =
                        [Outcome::Done, Outcome::Failed, Outcome::NotStarted, Outcome::Unknown][outcome as usize];
                    let end = CallReport { outcome, ..report(json!({"success": success, "output": "x"})) };
                    settle_all(&mut bench, &end);
                }
                Decision::Ask { question, .. } => {
                    bench.push(TaskEvent::QuestionExpired { question_id: question.question_id });
                }
                Decision::Wait { reason, .. } => {
                    bench.now_ms += 61_000;
                    bench.push(TaskEvent::WaitEnded { reason });
                }
                Decision::Finish { .. } | Decision::Fail { .. } => break,
                Decision::Block { .. } | Decision::Advance { .. } => unreachable!("advance goes past both"),
            }
        }
        prop_assert!(bench.state.status.is_final());
        prop_assert!(bench.state.usage.steps <= 8 && bench.state.usage.calls <= 12);
    }
}
