//! How a task of this strategy goes, from directive to directive.

mod computers;
mod models;

use crate::domain::call::{CallReport, Outcome};
use crate::domain::chat::{ChatFailure, Role, Speaker};
use crate::domain::decision::{Contract, Decision, Guard, WaitReason};
use crate::domain::directive::{Action, ThenItem};
use crate::domain::event::TaskEvent;
use crate::domain::ids::{ClientId, Generation};
use crate::domain::profile::ExecutorMode;
use crate::domain::task::{Open, TaskStatus};
use crate::domain::toolbox::Toolbox;
use crate::domain::track::Track;
use crate::strategy::bench::*;
use crate::strategy::decide;
use serde_json::json;

#[test]
fn a_write_with_two_then_items_is_one_fused_call_and_one_single_call() {
    let mut bench = Bench::new(profile(ExecutorMode::Auto));
    bench.advance();
    let then = |arg: &str| ThenItem::Run {
        path: "/a.lua".into(),
        args: vec![arg.into()],
    };
    bench.answer(&directive(Action::WriteFile {
        path: "/a.lua".into(),
        language: None,
        content: "print(1)\n".into(),
        then: vec![then("x"), then("y")],
    }));
    assert!(
        matches!(bench.advance(), Decision::Call { calls, .. } if calls[0].tool == "write_and_run")
    );
    bench.settle(report(Outcome::Done, true));
    assert!(
        matches!(bench.advance(), Decision::Call { calls, .. } if calls[0].tool == "run_program")
    );
    bench.settle(report(Outcome::Done, true));
    assert!(matches!(bench.advance(), Decision::Consult(_)));
    assert_eq!((bench.state.usage.steps, bench.state.usage.calls), (2, 2));
}

#[test]
fn then_items_stop_at_the_first_failure() {
    let mut bench = Bench::new(profile(ExecutorMode::Auto));
    bench.advance();
    bench.answer(&directive(Action::WriteFile {
        path: "/a.lua".into(),
        language: None,
        content: "error()\n".into(),
        then: vec![
            ThenItem::Run {
                path: "/a.lua".into(),
                args: vec![],
            },
            ThenItem::Shell {
                command: "list /".into(),
            },
        ],
    }));
    bench.advance();
    bench.settle(report(Outcome::Done, false));
    let Decision::Consult(consult) = bench.advance() else {
        panic!()
    };
    let told = &consult
        .prompt
        .append
        .iter()
        .map(|m| m.content.as_str())
        .collect::<String>();
    assert!(
        told.contains("Not run because of the failure before it: SHELL list /"),
        "{told}"
    );
}

#[test]
fn who_gives_several_directives_has_the_first_one_carried_out_and_is_told_so() {
    let mut bench = Bench::new(profile(ExecutorMode::Auto)).asked_for("Run /a.lua");
    let run = "DIRECTIVE: RUN\nPATH: /a.lua";
    let done = "DIRECTIVE: DONE\nSUMMARY: it ran";
    bench.advance();
    bench.answer(&format!("{run}\n\n{done}"));
    assert!(matches!(bench.advance(), Decision::Call { .. }));
    bench.settle(report(Outcome::Done, true));
    let Decision::Consult(consult) = bench.advance() else {
        panic!("the second directive was never given");
    };
    let told = shown(&consult.prompt.append);
    assert!(told.contains("all but the first directive"), "{told}");
    // An end with more behind it is sent back once.
    let end_first = format!("{done}\n\n{run}");
    bench.answer(&end_first);
    let Decision::Consult(consult) = bench.advance() else {
        panic!("nobody can tell whether that is an end");
    };
    assert_eq!(bench.guard(), Some(Guard::Unreadable));
    assert_eq!(consult.contract, Contract::FirstDirective);
}

#[test]
fn done_is_sent_back_until_a_test_ran_after_the_last_change() {
    let mut bench = Bench::new(profile(ExecutorMode::Auto)).asked_for("Run /a.lua");
    let done = directive(Action::Done {
        summary: "all well".into(),
        notes: None,
    });
    bench.advance();
    bench.answer(&done);
    assert!(matches!(bench.advance(), Decision::Consult(_)));
    assert_eq!(bench.guard(), Some(Guard::Proof));
    bench.answer(&run("/a.lua"));
    bench.advance();
    bench.settle(report(Outcome::Done, true));
    bench.advance();
    bench.answer(&done);
    let Decision::Finish { result, .. } = bench.advance() else {
        panic!()
    };
    assert_eq!(result.details["tests_run"][0]["what"], "/a.lua");
    assert_eq!(bench.state.status, TaskStatus::Completed);
}

#[test]
fn a_shell_command_that_only_handles_files_is_no_proof() {
    let mut bench = Bench::new(profile(ExecutorMode::Auto));
    // Looking takes no proof away; moving files about does.
    for (command, proven) in [
        ("list /", false),
        ("/TODO.lua list", true),
        ("ls", true),
        ("delete /todo.txt", false),
    ] {
        bench.advance();
        bench.answer(&directive(Action::Shell {
            command: command.into(),
            expect: None,
        }));
        bench.advance();
        bench.settle(report(Outcome::Done, true));
        assert_eq!(
            bench.state.tests.len() > bench.state.tests_before_change,
            proven,
            "{command}"
        );
    }
}

#[test]
fn a_question_needs_a_reason_and_stays_within_the_limit() {
    let mut bench = Bench::new(profile(ExecutorMode::Auto));
    let ask = |why: Option<&str>| {
        directive(Action::AskUser {
            question: "Which file?".into(),
            why: why.map(str::to_owned),
            next: None,
        })
    };
    bench.advance();
    bench.answer(&ask(None));
    assert!(matches!(bench.advance(), Decision::Consult(_)));
    assert_eq!(bench.guard(), Some(Guard::Question));
    for _ in 0..2 {
        bench.answer(&ask(Some("only you know")));
        let Decision::Ask { question, .. } = bench.advance() else {
            panic!()
        };
        assert_eq!(bench.state.status, TaskStatus::WaitingForUser);
        bench.push(TaskEvent::QuestionAnswered {
            question_id: question.question_id,
            answer: "TODO.lua".into(),
            by: "base".into(),
            authenticated: false,
        });
        assert!(matches!(bench.advance(), Decision::Consult(_)));
    }
    bench.answer(&ask(Some("only you know")));
    bench.advance();
    assert_eq!(bench.guard(), Some(Guard::Question));
}

#[test]
fn an_invalid_executor_answer_is_repaired_once_and_then_goes_back_to_the_planner() {
    let mut bench = Bench::new(profile(ExecutorMode::Always));
    bench.advance();
    bench.answer(&run("/a.lua"));
    let Decision::Consult(first) = bench.advance() else {
        panic!()
    };
    assert_eq!(first.role, Role::Executor);
    bench.answer("{\"kind\":\"tool\"}");
    let Decision::Consult(repair) = bench.advance() else {
        panic!()
    };
    assert_eq!(repair.role, Role::Executor);
    let said: String = bench
        .state
        .prompt(Role::Executor)
        .iter()
        .map(|m| m.content.clone())
        .collect();
    assert!(
        !said.contains("TODO.lua"),
        "the executor must not know the task: {said}"
    );
    bench.answer("still nothing");
    let Decision::Consult(next) = bench.advance() else {
        panic!()
    };
    assert_eq!(
        (next.role, bench.guard()),
        (Role::Planner, Some(Guard::Invalid))
    );
    assert_eq!(bench.state.usage.executor_model_calls, 2);
}

#[test]
fn an_unclear_directive_goes_to_the_executor_only_where_the_mode_allows_it() {
    for (mode, expected) in [
        (ExecutorMode::Auto, Role::Executor),
        (ExecutorMode::Never, Role::Planner),
    ] {
        let mut bench = Bench::new(profile(mode));
        bench.advance();
        bench.answer("DIRECTIVE: RUN\nPATH: /a.lua list");
        let Decision::Consult(consult) = bench.advance() else {
            panic!()
        };
        assert_eq!(consult.role, expected);
    }
    let mut bench = Bench::new(profile(ExecutorMode::Auto));
    bench.advance();
    bench.answer("DIRECTIVE: RUN\nPATH: /a.lua list");
    bench.advance();
    bench.answer(
        "{\"kind\":\"tool\",\"explanation\":\"run\",\"tool\":\"run_program\",\"parameters\":{\"path\":\"/a.lua\",\"args\":[\"list\"]}}",
    );
    assert!(matches!(bench.advance(), Decision::Call { .. }));
}

#[test]
fn the_same_call_with_the_same_outcome_is_blocked_the_fourth_time_and_ends_the_task_the_sixth() {
    let mut bench = Bench::new(profile(ExecutorMode::Auto));
    bench.advance();
    for _ in 0..3 {
        bench.answer(&run("/a.lua"));
        assert!(matches!(bench.advance(), Decision::Call { .. }));
        bench.settle(report(Outcome::Done, false));
        bench.advance();
    }
    for _ in 0..2 {
        bench.answer(&run("/a.lua"));
        assert!(matches!(bench.advance(), Decision::Consult(_)));
        assert_eq!(bench.guard(), Some(Guard::Duplicate));
    }
    bench.answer(&run("/a.lua"));
    assert!(matches!(bench.advance(), Decision::Fail { code, .. } if code == "loop"));
}

#[test]
fn over_budget_ends_with_the_last_directive_and_the_last_error() {
    let mut bench = Bench::new(profile(ExecutorMode::Auto));
    for n in 0..8 {
        assert!(matches!(bench.advance(), Decision::Consult(_)));
        bench.answer(&run(&format!("/a{n}.lua")));
        bench.advance();
        bench.settle(report(Outcome::Done, false));
    }
    let Decision::Fail { code, details, .. } = bench.advance() else {
        panic!()
    };
    assert_eq!(code, "budget_exceeded");
    assert!(
        details["last_directive"]
            .as_str()
            .unwrap()
            .contains("/a7.lua")
    );
    assert!(
        details["last_error"]
            .as_str()
            .unwrap()
            .contains("run_program")
    );
}

#[test]
fn an_executor_that_cannot_tell_leaves_in_the_evidence_what_the_rules_found() {
    let mut bench = Bench::new(profile(ExecutorMode::Auto));
    bench.advance();
    bench.answer("DIRECTIVE: SHELL");
    bench.advance();
    bench.answer(r#"{"kind": "unclear", "missing": ["what you would have to guess"]}"#);
    bench.advance();
    let blocked = bench.state.steps[0].blocked.as_ref().unwrap();
    assert!(blocked.evidence.contains("COMMAND"), "{}", blocked.evidence);
}

#[test]
fn a_directive_that_is_only_a_keyword_goes_back_without_a_model_call() {
    let mut bench = Bench::new(profile(ExecutorMode::Auto));
    bench.advance();
    bench.answer("DIRECTIVE: SHELL");
    bench.advance();
    assert_eq!(bench.state.usage.executor_model_calls, 0);
    let prompt = bench.state.prompt(Role::Planner);
    let told: String = prompt.iter().map(|m| m.content.as_str()).collect();
    assert!(
        told.contains(
            "below the line \"DIRECTIVE: SHELL\" add a line that begins with \"COMMAND:\""
        ),
        "{told}"
    );
}

#[test]
fn a_run_without_its_path_is_shown_whole_where_it_is_known_what_is_to_be_run() {
    let mut bench = Bench::new(profile(ExecutorMode::Auto));
    bench.advance();
    bench.answer("DIRECTIVE: RUN");
    bench.advance();
    let told = |bench: &Bench| shown(bench.state.prompt(Role::Planner));
    assert!(!told(&bench).contains("If you want to run"));
    bench.answer(&run("/hello.lua"));
    bench.advance();
    bench.settle(report(Outcome::Done, false));
    bench.advance();
    bench.answer("I run it.\nDIRECTIVE: RUN");
    bench.advance();
    let told = told(&bench);
    assert!(
        told.contains("If you want to run /hello.lua:\nDIRECTIVE: RUN\nPATH: /hello.lua"),
        "{told}"
    );
}

#[test]
fn an_expectation_that_nothing_can_be_matched_with_is_told_as_unchecked() {
    let mut bench = Bench::new(profile(ExecutorMode::Auto));
    bench.advance();
    for (expect, expected) in [
        (
            "the sum of both",
            "EXPECT was not checked, compare it yourself: the sum of both",
        ),
        (
            "12345",
            "mend it:\nDIRECTIVE: TOOL\nNAME: fs_read\nARGS: {\"path\":\"/a.lua\"}",
        ),
    ] {
        bench.answer(&format!("DIRECTIVE: RUN\nPATH: /a.lua\nEXPECT: {expect}"));
        bench.advance();
        bench.succeed();
        bench.advance();
        let prompt = bench.state.prompt(Role::Planner);
        let told: String = prompt.iter().map(|m| m.content.as_str()).collect();
        assert!(told.contains(expected), "{told}");
    }
}

#[test]
fn each_prompt_but_its_tail_is_a_prefix_of_the_next() {
    let mut bench = Bench::new(profile(ExecutorMode::Auto));
    let mut former = Vec::new();
    for n in 0..6 {
        bench.advance();
        let prompt = bench.state.prompt(Role::Planner).to_vec();
        let stable = former.len().saturating_sub(1);
        assert_eq!(former[..stable], prompt[..stable], "step {n}");
        former = prompt;
        bench.answer(&run(&format!("/a{n}.lua")));
        bench.advance();
        bench.settle(report(Outcome::Done, true));
    }
}

/// What the planner sees at the start, after a blocked move and after a failed run; looked at by a person.
#[test]
fn what_the_models_see() {
    let mut bench = Bench::new(profile(ExecutorMode::Always));
    bench.state.created.as_mut().unwrap().context = json!({"hint": "the file is /TODO.lua"});
    bench.advance();
    bench.answer("I would rather chat.");
    bench.advance();
    bench.answer(&directive(Action::WriteFile {
        path: "/TODO.lua".into(),
        language: Some("lua".into()),
        content: "print(\"hi\")\n".into(),
        then: vec![
            ThenItem::Run {
                path: "/TODO.lua".into(),
                args: vec!["list".into()],
            },
            ThenItem::Shell {
                command: "list /".into(),
            },
        ],
    }));
    bench.advance();
    insta::assert_snapshot!("executor_prompt", shown(bench.state.prompt(Role::Executor)));
    bench.answer(
        &json!({"kind": "tool", "explanation": "write and run", "tool": "write_and_run",
        "parameters": {"path": "/TODO.lua", "content": "print(\"hi\")\n", "args": ["list"]}})
        .to_string(),
    );
    bench.advance();
    let result = json!({"success": false, "write": {"success": true, "bytes": 12},
        "run": {"success": false, "output": "hi\n", "error": "TODO.lua:1: oops", "traceback": "stack", "duration_ms": 5}});
    bench.settle(CallReport {
        result: Some(result),
        ..report(Outcome::Done, false)
    });
    bench.advance();
    insta::assert_snapshot!("planner_prompt", shown(bench.state.prompt(Role::Planner)));
}
