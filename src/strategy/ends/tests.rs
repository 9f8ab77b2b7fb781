//! What ends a task, and what must not be taken for a whole answer.

use crate::domain::chat::{Role, StopReason};
use crate::domain::decision::{Contract, Decision, Guard};
use crate::domain::event::TaskEvent;
use crate::domain::profile::ExecutorMode;
use crate::domain::task::Open;
use crate::domain::tool::ToolSpec;
use crate::domain::track::Track;
use crate::prompts::PromptLibrary;
use crate::strategy::bench::{Bench, answer, profile};
use crate::strategy::drive::{Drive, done, profile_of, run_tool};
use crate::strategy::{directive, own_part, read_answer, told_behind};
use serde_json::json;

fn ran(success: bool) -> crate::domain::call::CallReport {
    serde_json::from_value(json!({"outcome": "done", "result": {"success": success, "output": ""}}))
        .unwrap()
}

fn blocked(bench: &Bench) -> Option<(Guard, String)> {
    let last = bench
        .state
        .steps
        .iter()
        .rev()
        .find_map(|s| s.blocked.as_ref());
    last.map(|b| (b.guard, b.evidence.clone()))
}

/// Answers the open consult with an answer that its length limit cut off.
fn cut_off(bench: &mut Bench, text: &str) {
    let Open::Consult {
        seq,
        role,
        contract,
        ..
    } = bench.state.open_on(Track::MAIN).clone()
    else {
        panic!("no consult is open");
    };
    let mut answer = answer(text);
    answer.stop = StopReason::Length;
    let read = read_answer(seq, contract, &answer);
    bench.push(TaskEvent::ModelAnswered {
        consult: seq,
        role,
        answer,
    });
    bench.push(read);
}

#[test]
fn neither_a_program_that_is_not_there_nor_a_file_that_stays_as_it_is_takes_the_proof_away() {
    let call = |tool: &str, args| json!({"tool": tool, "args": args}).to_string();
    let write = call("fs_write", json!({"path": "/a.lua", "content": "print(1)"}));
    let run = |path: &str| call("run_program", json!({"path": path}));
    let mut drive = Drive::new(profile_of("direct"), "Write /a.lua and run it.");
    drive.bench.profile.demand_proof = true;
    drive.say(&[&write, &run("/a.lua"), &run("/none.lua"), &write]);
    let tests = &drive.state().tests;
    assert_eq!((tests.len(), drive.state().tests_before_change), (1, 0));
    assert!(!drive.say(&["FINAL ANSWER: written"]), "{}", drive.shown());
    assert!(drive.state().result.is_some());
}

#[test]
fn a_test_that_failed_is_no_proof() {
    let mut bench = Bench::new(profile(ExecutorMode::Auto)).asked_for("Run /a.lua");
    bench.advance();
    for (success, ends) in [(false, false), (true, true)] {
        bench.answer("DIRECTIVE: RUN\nPATH: /a.lua\n");
        bench.advance();
        bench.settle(ran(success));
        bench.advance();
        bench.answer("DIRECTIVE: DONE\nSUMMARY: all well\n");
        let finished = matches!(bench.advance(), Decision::Finish { .. });
        assert_eq!(finished, ends);
    }
    let (guard, evidence) = blocked(&bench).unwrap();
    assert_eq!(guard, Guard::Proof);
    assert!(evidence.contains("/a.lua failed"), "{evidence}");
}

#[test]
fn a_run_that_did_not_print_what_was_expected_is_no_proof_until_it_counts_without_that() {
    let mut bench = Bench::new(profile(ExecutorMode::Auto)).asked_for("Run /sum.lua");
    bench.advance();
    for (expect, output, ends) in [
        ("EXPECT: 9\n", "023", false),
        ("EXPECT: the sum, \"9\"\n", "the sum is 023", false),
        ("EXPECT: the sum of all\n", "023", true),
    ] {
        bench.answer(&format!("DIRECTIVE: RUN\nPATH: /sum.lua\n{expect}"));
        bench.advance();
        let ran = json!({"outcome": "done", "result": {"success": true, "output": output}});
        bench.settle(serde_json::from_value(ran).unwrap());
        bench.advance();
        let prompt = bench.state.prompt(Role::Planner);
        let tail = &prompt.last().unwrap().content;
        let failed = tail.contains("/sum.lua FAILED")
            && tail.contains("Then run /sum.lua again")
            && tail.contains("last failure: /sum.lua: \"9\" is not in its output");
        assert_ne!(failed, ends, "{tail}");
        bench.answer("DIRECTIVE: DONE\nSUMMARY: all well\n");
        let finished = matches!(bench.advance(), Decision::Finish { .. });
        assert_eq!(finished, ends, "{expect}");
    }
}

#[test]
fn half_a_command_is_never_given_to_a_computer() {
    let mut bench = Bench::new(profile(ExecutorMode::Auto));
    bench.advance();
    cut_off(&mut bench, "DIRECTIVE: SHELL\nCOMMAND: \"delete /old");
    assert!(matches!(bench.advance(), Decision::Consult(_)));
    let (guard, evidence) = blocked(&bench).unwrap();
    assert_eq!(guard, Guard::Unreadable);
    assert!(evidence.contains("cut off"), "{evidence}");
    // What stands whole before the cut is carried out.
    cut_off(
        &mut bench,
        "DIRECTIVE: RUN\nPATH: /a.lua\n\nNow I think about",
    );
    assert!(matches!(bench.advance(), Decision::Call { .. }));
}

#[test]
fn half_a_summary_still_says_that_all_is_done() {
    for said in [
        "DIRECTIVE: DONE\nSUMMARY",
        "DIRECTIVE: DONE\nSUMMARY: all th",
    ] {
        let mut bench = Bench::new(profile(ExecutorMode::Auto)).asked_for("Run /a.lua");
        bench.advance();
        bench.answer("DIRECTIVE: RUN\nPATH: /a.lua");
        bench.advance();
        bench.succeed();
        bench.advance();
        cut_off(&mut bench, said);
        assert!(matches!(bench.advance(), Decision::Finish { .. }), "{said}");
    }
}

#[test]
fn an_answer_ends_where_it_goes_on_with_what_only_the_server_writes() {
    let library = PromptLibrary::embedded().unwrap();
    let body = |id: &str| {
        let prompt = library.iter().find(|prompt| prompt.id == id).unwrap();
        format!("\n{}", prompt.body.trim_start())
    };
    for (contract, prompts) in [
        (Contract::Directive, ["directive/result", "directive/tail"]),
        (Contract::Turn, ["direct/result", "direct/tail"]),
        (Contract::React, ["numbered/observation", "numbered/now"]),
    ] {
        for (text, id) in told_behind(contract).iter().zip(prompts) {
            assert!(body(id).contains(text), "{text:?} in {id}");
        }
    }
    // What is left of the heading that the answer ended in is no part of it.
    for directive in [
        "DIRECTIVE: RUN\nPATH: /a.lua\nARGS: []",
        "DIRECTIVE: SHELL\nCOMMAND: list /",
        "DIRECTIVE: WRITE_FILE\nPATH: /a.lua\nLANGUAGE: lua\nCONTENT:\n```lua\nprint(1)\n```",
    ] {
        let read = format!("{directive}\n# Step 3");
        let read = directive::parser::read(own_part(Contract::Directive, &read));
        let whole = directive::parser::read(directive);
        assert_eq!(read.directive(), whole.directive(), "{directive}");
        assert!(whole.directive().is_some());
        assert_eq!(own_part(Contract::Turn, directive), directive);
        let other = format!("{directive}\n# Step 3");
        assert_eq!(own_part(Contract::StepWords, &other), other);
    }
}

#[test]
fn a_check_with_which_the_task_closes_is_made_anew_after_a_tool_has_done_something() {
    let task =
        "Push the iron out with push_iron. /check.lua says whether it is right: run it at the end.";
    let text = json!({"type": "integer"});
    let push: ToolSpec = serde_json::from_value(
        json!({"name": "push_iron", "effect": "effect", "description": "Pushes.",
        "args_schema": {"type": "object", "properties": {"count": text}}}),
    )
    .unwrap();
    let call = |tool: &str, args| json!({"tool": tool, "args": args}).to_string();
    let (push_once, push_back) = (
        call("push_iron", json!({"count": 1})),
        call("push_iron", json!({"count": -1})),
    );
    let check = call("run_program", json!({"path": "/check.lua"}));
    let end = "FINAL ANSWER: it is out";
    let begun = |task: &str, said: &[&str]| {
        let mut out = 0;
        let mut drive = Drive::new(profile_of("direct"), task);
        drive.bench.profile.demand_proof = true;
        drive
            .files
            .insert("/check.lua".into(), "assert(out)".into());
        drive.add_tools(vec![push.clone(), run_tool()]);
        drive.say_with(said, |_, call| match call.tool.as_str() {
            "push_iron" => {
                out += call.args["count"].as_i64().unwrap();
                done(json!({"moved": 1}))
            }
            _ => done(json!({"success": out == 1, "output": "", "error": "it is not out"})),
        });
        drive
    };
    let drive = begun(task, &[&push_once, &check, end]);
    assert!(drive.state().result.is_some(), "{}", drive.shown());
    let drive = begun(task, &[&push_once, &check, &push_back]);
    let told = "- runs since the last change: none\n- ran well before that change: /check.lua";
    assert!(drive.shown().contains(told), "{}", drive.shown());
    let drive = begun(task, &[&push_once, &check, &push_back, end]);
    assert!(drive.state().result.is_none(), "{}", drive.shown());
    assert!(drive.shown().contains("it is not out"), "{}", drive.shown());
    // Where the task goes on behind its check, what the tool did was the task's own.
    let goes_on = task.replace("at the end", "and then push one back");
    let drive = begun(&goes_on, &[&push_once, &check, &push_back, end]);
    assert!(drive.state().result.is_some(), "{}", drive.shown());
}

#[test]
fn what_the_task_says_that_its_new_program_prints_is_never_believed_to_be_otherwise() {
    let call = |tool: &str, args| json!({"tool": tool, "args": args}).to_string();
    let run = call("run_program", json!({"path": "/a.lua", "args": ["2"]}));
    let write = |content: &str| call("fs_write", json!({"path": "/a.lua", "content": content}));
    let end = "FINAL ANSWER: it doubles";
    for (task, ends) in [
        ("Write /a.lua: `/a.lua 2` gives `4`.", false),
        ("`/a.lua 2` gives `4`. Change that.", true),
    ] {
        let mut drive = Drive::new(profile_of("direct"), task);
        drive.bench.profile.demand_proof = true;
        assert!(drive.say(&[&write("5"), &run, end]), "{task}");
        assert_eq!(!drive.say(&[end]), ends, "{task}: {}", drive.shown());
    }
}
