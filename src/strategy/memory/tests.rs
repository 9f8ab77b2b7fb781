//! Properties of a task's memory, on the `directive` strategy.

mod files;

use super::pins::Pins;
use super::recall;
use crate::config::Loader;
use crate::config::kinds::Kinds;
use crate::domain::call::{CallReport, Target};
use crate::domain::chat::{ChatFailure, Message, Role};
use crate::domain::decision::{Contract, Decision, Guard};
use crate::domain::directive::{Action, TranslatedBy};
use crate::domain::event::TaskEvent;
use crate::domain::profile::{DriftRule, ExecutorMode, Summarizer};
use crate::domain::task::{Open, TaskStatus};
use crate::domain::tokens::{Size, TokenRatio};
use crate::domain::track::Track;
use crate::prompts::PromptLibrary;
use crate::strategy::bench::{Bench, directive, profile, run, shown};
use crate::strategy::drive::done as report;
use proptest::prelude::*;
use serde_json::{Value, json};

fn bench() -> Bench {
    let mut profile = profile(ExecutorMode::Auto);
    profile.budgets.steps = 1000;
    profile.budgets.calls = 1000;
    profile.guards.duplicate_calls = 0;
    profile.guards.bounces = 1000;
    Bench::new(profile)
}

fn tool(name: &str, args: Value) -> String {
    directive(Action::Tool {
        name: name.into(),
        args,
    })
}

fn write(path: &str, content: &str) -> String {
    directive(Action::WriteFile {
        path: path.into(),
        language: None,
        content: content.into(),
        then: vec![],
    })
}

fn read_of(path: &str, content: &str) -> CallReport {
    report(
        json!({"path": path, "content": content, "bytes": content.len(), "truncated": false,
        "hash": format!("sha256:{}", crate::domain::files::own_hash(content))}),
    )
}

/// What a model sees before its tail.
fn before_tail(prompt: &[Message]) -> String {
    shown(&prompt[..prompt.len() - 1])
}

/// One turn that a planner may take, with what its call comes to.
#[derive(Debug, Clone)]
enum Taken {
    Chatter(String),
    Run { ok: bool, output: String },
    Read { path: String, content: String },
    Write { path: String, content: String },
    Ask { answer: String },
    Recall { step: u32 },
}

fn any_turn() -> impl Strategy<Value = Taken> {
    let path = prop_oneof![Just("/a.lua".to_owned()), Just("/b.lua".to_owned())];
    let content = prop_oneof![
        "[a-z ]{0,60}\n",
        (0usize..6000).prop_map(|n| "print(1)\n".repeat(n / 9)),
        (0usize..3000).prop_map(|n| "日本語".repeat(n / 9)),
    ];
    prop_oneof![
        "[a-z ]{1,40}".prop_map(Taken::Chatter),
        (any::<bool>(), "\\PC{0,300}").prop_map(|(ok, output)| Taken::Run { ok, output }),
        (path.clone(), content.clone()).prop_map(|(path, content)| Taken::Read { path, content }),
        (path, content).prop_map(|(path, content)| Taken::Write { path, content }),
        "[a-z]{1,20}".prop_map(|answer| Taken::Ask { answer }),
        (1u32..30).prop_map(|step| Taken::Recall { step }),
    ]
}

/// Lets the planner take a turn: `plan` stands in front of its directive.
fn take(bench: &mut Bench, turn: &Taken, plan: &str) {
    let say = |bench: &mut Bench, text: String| bench.answer(&format!("{plan}{text}"));
    match turn {
        Taken::Chatter(text) => say(bench, text.clone()),
        Taken::Run { ok, output } => {
            say(bench, run("/a.lua"));
            bench.advance();
            let error = (!ok).then_some("a.lua:1: oops");
            let result =
                json!({"success": ok, "output": output, "error": error, "traceback": error});
            bench.settle(report(result));
        }
        Taken::Read { path, content } => {
            say(bench, tool("fs_read", json!({"path": path})));
            bench.advance();
            bench.settle(read_of(path, content));
        }
        Taken::Write { path, content } => {
            say(bench, write(path, content));
            bench.advance();
            bench.settle(report(
                json!({"path": path, "bytes": content.len(), "created": false}),
            ));
        }
        Taken::Ask { answer } => {
            say(
                bench,
                directive(Action::AskUser {
                    question: "Which colour?".into(),
                    why: Some("it is nowhere".into()),
                    next: None,
                }),
            );
            if let Decision::Ask { question, .. } = bench.advance() {
                bench.push(TaskEvent::QuestionAnswered {
                    question_id: question.question_id,
                    answer: answer.clone(),
                    by: "steve".into(),
                    authenticated: true,
                });
            }
        }
        Taken::Recall { step } => say(bench, tool("recall", json!({"step": step}))),
    }
}

/// Decides up to the next question to the planner for a directive, answering what is asked for a summary.
fn next_prompt(bench: &mut Bench) -> Vec<Message> {
    for _ in 0..8 {
        match bench.state.open_on(Track::MAIN).clone() {
            Open::Consult {
                contract: Contract::Directive | Contract::DirectiveAfterFailure,
                ..
            } => break,
            Open::Consult { .. } => bench.answer("- the first fact\n- the second fact"),
            _ if bench.next().is_none() => break,
            _ => {}
        }
    }
    bench.state.prompt(Role::Planner).to_vec()
}

fn settings() -> impl Strategy<Value = (bool, u32)> {
    (any::<bool>(), prop_oneof![Just(2u32), Just(40)])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn each_prompt_up_to_its_tail_begins_the_next_until_a_compaction(
        turns in proptest::collection::vec(any_turn(), 1..26), (by_model, questions) in settings(),
    ) {
        let mut bench = bench();
        bench.profile.budgets.questions = questions;
        if by_model {
            bench.profile.memory.summarizer = Summarizer::Model;
        }
        let mut former = next_prompt(&mut bench);
        for turn in &turns {
            let compacted = bench.state.compaction.clone();
            take(&mut bench, turn, "");
            let prompt = next_prompt(&mut bench);
            if bench.state.status.is_final() {
                break;
            }
            if bench.state.compaction == compacted {
                let (before, now) = (before_tail(&former), before_tail(&prompt));
                prop_assert!(now.starts_with(&before), "{before}\n----------\n{now}");
            }
            former = prompt;
        }
    }

    #[test]
    fn a_compaction_never_loses_a_pinned_item_and_the_prompt_fits(
        turns in proptest::collection::vec(any_turn(), 12..30), by_model in any::<bool>(),
    ) {
        let mut bench = bench();
        bench.profile.budgets.questions = 100;
        if by_model {
            bench.profile.memory.summarizer = Summarizer::Model;
        }
        next_prompt(&mut bench);
        let plan = "PLAN:\n- [x] look around\n- [ ] mend the roof\n\n";
        for (at, turn) in turns.iter().enumerate() {
            take(&mut bench, turn, if at == 0 { plan } else { "" });
            let prompt = next_prompt(&mut bench);
            let tail = &prompt.last().unwrap().content;
            prop_assert!(tail.contains("[x] look around") && tail.contains("[ ] mend the roof"), "{tail}");
            let pins = Pins::of(&bench.state, &bench.profile);
            for file in &pins.files {
                let known = format!("{} ({} bytes, version {}", file.path, file.bytes, file.version);
                prop_assert!(tail.contains(&known), "{known} is missing:\n{tail}");
            }
            for answer in bench.state.steps.iter().filter_map(|s| s.question.as_ref()?.answer.as_ref()) {
                prop_assert!(tail.contains(&answer.answer));
            }
            if let Some(failure) = &pins.failure {
                prop_assert!(tail.contains(&failure.text) && tail.contains("failing line: a.lua:1"), "{tail}");
            }
            let tokens = TokenRatio::START.tokens(Size::of(&prompt));
            prop_assert!(tokens <= 8192 - 1024, "{tokens}");
        }
        prop_assert!(bench.state.compaction.is_some(), "twelve steps are more than ten");
    }
}

#[test]
fn a_trace_stands_in_its_result_and_once_that_is_a_fact_at_the_end_of_the_prompt() {
    const TRACE: &str = "TODO.lua:88: in main chunk";
    let mut bench = bench();
    next_prompt(&mut bench);
    bench.answer(&run("/TODO.lua"));
    bench.advance();
    bench.settle(report(
        json!({"success": false, "error": "TODO.lua:6: oops", "traceback": TRACE}),
    ));
    for turn in 1..23 {
        let prompt = next_prompt(&mut bench);
        let (tail, before) = prompt.split_last().unwrap();
        let before = before.iter().any(|told| told.content.contains(TRACE));
        assert_ne!(tail.content.contains(TRACE), before, "turn {turn}");
        assert_eq!(bench.state.compaction.is_none(), before, "turn {turn}");
        bench.answer("I would rather chat.");
    }
    assert!(bench.state.compaction.is_some());
}

#[test]
fn older_steps_become_facts_in_blocks() {
    let mut bench = bench();
    next_prompt(&mut bench);
    let mut upto = Vec::new();
    for _ in 0..23 {
        take(
            &mut bench,
            &Taken::Run {
                ok: true,
                output: "x".into(),
            },
            "",
        );
        next_prompt(&mut bench);
        upto.push(bench.state.compaction.as_ref().map_or(0, |c| c.upto_step));
    }
    assert_eq!(upto[..12], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6, 6]);
    assert_eq!(upto[12..], [6, 6, 6, 6, 12, 12, 12, 12, 12, 12, 18]);
    let compaction = bench.state.compaction.unwrap();
    assert_eq!(compaction.by, TranslatedBy::Rules);
    assert_eq!(compaction.facts.len(), 18);
    assert_eq!(compaction.facts[0], "1. RUN: run /a.lua ok");
}

#[test]
fn the_planner_s_model_sums_up_where_that_is_wanted_and_rules_where_it_fails() {
    for (answer, by, fact) in [
        (
            Some("Facts:\n- /a.lua prints x"),
            TranslatedBy::Model,
            "/a.lua prints x",
        ),
        (
            Some("I would rather not."),
            TranslatedBy::Rules,
            "1. RUN: run /a.lua ok",
        ),
        (None, TranslatedBy::Rules, "1. RUN: run /a.lua ok"),
    ] {
        let mut bench = bench();
        bench.profile.memory.summarizer = Summarizer::Model;
        bench.advance();
        for _ in 0..11 {
            take(
                &mut bench,
                &Taken::Run {
                    ok: true,
                    output: "x".into(),
                },
                "",
            );
            bench.advance();
        }
        let Open::Consult { contract, seq, .. } = bench.state.open_on(Track::MAIN).clone() else {
            panic!("{:?}", bench.state.open)
        };
        assert_eq!(contract, Contract::Summary { upto_step: 6 });
        let former = bench.state.prompt(Role::Planner).to_vec();
        assert!(former.last().unwrap().content.contains("up to step 6"));
        match answer {
            Some(text) => bench.answer(text),
            None => bench.push(TaskEvent::ModelFailed {
                consult: seq,
                role: Role::Planner,
                failure: ChatFailure {
                    code: "model_missing".into(),
                    message: "gone".into(),
                    hint: String::new(),
                    retryable: false,
                },
            }),
        }
        bench.advance();
        let compaction = bench.state.compaction.clone().unwrap();
        assert_eq!((compaction.by, compaction.facts[0].as_str()), (by, fact));
        assert_eq!(bench.state.status, TaskStatus::Running);
        let prompt = bench.state.prompt(Role::Planner);
        assert!(prompt[2].content.contains(fact), "{}", shown(prompt));
        assert!(!shown(prompt).contains("Your memory is nearly full"));
    }
}

#[test]
fn the_server_s_counts_decide_how_much_fits() {
    let upto = |tokens_for_each_byte: f64| {
        let mut bench = bench();
        next_prompt(&mut bench);
        for _ in 0..8 {
            let bytes: usize = bench
                .state
                .prompt(Role::Planner)
                .iter()
                .map(|m| m.content.len())
                .sum();
            let tokens = (bytes as f64 * tokens_for_each_byte) as u64;
            bench.answer_counted(&run("/a.lua"), tokens);
            bench.advance();
            let output = "word ".repeat(380);
            bench.settle(report(json!({"success": true, "output": output})));
            next_prompt(&mut bench);
        }
        bench.state.compaction.map_or(0, |c| c.upto_step)
    };
    assert_eq!(upto(0.25), 0, "eight results fit");
    assert!(upto(0.6) > 0, "eight results are too many for this model");
}

#[test]
fn a_kind_s_ready_plan_is_shown_until_the_planner_writes_its_own() {
    let mut bench = bench();
    let prompts = PromptLibrary::embedded().unwrap();
    let settings = Loader::new().load().unwrap();
    let kinds = Kinds::load(&settings, &prompts, crate::strategy::version_of).unwrap();
    bench.profile.templates = kinds.resolve(Some("code_job")).0.templates.clone();
    let tail = |bench: &mut Bench| next_prompt(bench).last().unwrap().content.clone();
    let first = tail(&mut bench);
    assert!(first.contains("[ ] read_file /TODO.lua: "), "{first}");
    let turn = Taken::Run {
        ok: true,
        output: "x".into(),
    };
    take(&mut bench, &turn, "PLAN:\n- [ ] my own way\n\n");
    let own = tail(&mut bench);
    assert!(
        own.contains("[ ] my own way") && !own.contains("read_file"),
        "{own}"
    );
}

#[test]
fn what_an_executor_is_told_about_a_wrong_answer() {
    let mut profile = profile(ExecutorMode::Always);
    profile.guards.repair_attempts = 1;
    let mut bench = Bench::new(profile);
    bench.advance();
    bench.answer(&run("/TODO.lua"));
    bench.advance();
    bench.answer("{\"kind\": \"tool\", \"tool\": \"run_program\"}");
    bench.advance();
    let prompt = bench.state.prompt(Role::Executor);
    insta::assert_snapshot!("executor_repair", shown(&prompt[1..]));
}

#[test]
fn what_a_planner_sees_after_a_compaction() {
    let mut bench = bench();
    bench.profile.memory.verbatim_results = 2;
    bench.profile.memory.cut_to = 1;
    bench.profile.memory.result_bytes = 400;
    next_prompt(&mut bench);
    let plan = "PLAN:\n- [x] read /TODO.lua\n- [ ] mend add\n- [ ] run add, list, done, stats\n\n";
    let source = "local todo = {}\ntodo.add(\n";
    let turns = [
        Taken::Read {
            path: "/TODO.lua".into(),
            content: source.into(),
        },
        Taken::Ask {
            answer: "green".into(),
        },
        Taken::Run {
            ok: false,
            output: "usage: ".to_owned() + &"add list done stats ".repeat(40),
        },
        Taken::Recall { step: 3 },
    ];
    for (at, turn) in turns.iter().enumerate() {
        take(&mut bench, turn, if at == 0 { plan } else { "" });
        next_prompt(&mut bench);
    }
    let prompt = bench.state.prompt(Role::Planner);
    insta::assert_snapshot!("after_a_compaction", shown(&prompt[1..]));

    let before = Taken::Run {
        ok: true,
        output: "fine".into(),
    };
    let change = Taken::Write {
        path: "/TODO.lua".into(),
        content: "local todo = {}\n".into(),
    };
    for turn in [before, change] {
        take(&mut bench, &turn, "");
        next_prompt(&mut bench);
    }
    let tail = bench.state.prompt(Role::Planner).last().unwrap();
    let good = "- runs since the last change: none\n- ran well before that change: /a.lua (step 5)";
    assert!(tail.content.contains(good), "{}", tail.content);

    bench.profile.memory.summarizer = Summarizer::Model;
    take(&mut bench, &Taken::Chatter("hm".into()), "");
    bench.advance();
    let prompt = bench.state.prompt(Role::Planner);
    insta::assert_snapshot!("asked_for_the_facts", shown(&prompt[prompt.len() - 1..]));
}
