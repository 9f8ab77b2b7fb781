//! Models that fail, are away or were taken away.

use super::*;

/// The open consult fails.
fn fail_consult(bench: &mut Bench, code: &str, retryable: bool) {
    let Open::Consult { seq, role, .. } = *bench.state.open_on(Track::MAIN) else {
        panic!("no consult is open: {:?}", bench.state.open)
    };
    bench.push(TaskEvent::ModelFailed {
        consult: seq,
        role,
        failure: ChatFailure {
            code: code.into(),
            message: "no".into(),
            hint: "ollama serve".into(),
            retryable,
        },
    });
}

/// The open consult fails, which is waited out.
fn fails_and_is_waited_out(bench: &mut Bench, code: &str, retryable: bool) -> i64 {
    fail_consult(bench, code, retryable);
    let Decision::Wait {
        reason: WaitReason::Model,
        until_ms: Some(until),
    } = bench.advance()
    else {
        panic!("{code} is not waited out")
    };
    let waited = until - bench.now_ms;
    bench.push(TaskEvent::WaitEnded {
        reason: WaitReason::Model,
    });
    assert!(matches!(bench.advance(), Decision::Consult(_)), "{code}");
    waited
}

#[test]
fn a_model_server_that_is_away_is_waited_for_however_it_is_told() {
    let mut bench = Bench::new(profile(ExecutorMode::Auto));
    bench.advance();
    let away = ["model_unreachable", "model_circuit_open", "model_busy"];
    let others = ["gateway_full", "gateway_gone"];
    let mut waits = Vec::new();
    for code in away.iter().chain(&others).cycle().take(20) {
        waits.push(fails_and_is_waited_out(&mut bench, code, true));
    }
    assert_eq!(waits[..3], [2_000, 4_000, 8_000]);
    assert_eq!(*waits.last().unwrap(), 300_000);
    assert_eq!(bench.state.usage.steps, 1, "waiting costs no steps");
    // What comes of it when it starts again counts by itself, not with the absence before it.
    fails_and_is_waited_out(&mut bench, "model_crashed", true);
    fails_and_is_waited_out(&mut bench, "model_crashed", true);
    fail_consult(&mut bench, "model_crashed", true);
    assert!(matches!(bench.advance(), Decision::Fail { code, .. } if code == "model_crashed"));
}

#[test]
fn a_model_that_was_taken_away_is_waited_for_and_one_that_never_answered_ends_the_task() {
    let mut bench = Bench::new(profile(ExecutorMode::Auto));
    bench.advance();
    fail_consult(&mut bench, "model_missing", false);
    let never = bench.advance();
    assert!(
        matches!(&never, Decision::Fail { code, error, .. } if code == "model_missing" && error.contains("ollama serve")),
        "{never:?}"
    );

    let mut bench = Bench::new(profile(ExecutorMode::Auto));
    bench.advance();
    bench.answer("I would rather chat.");
    bench.advance();
    for _ in 0..10 {
        fails_and_is_waited_out(&mut bench, "model_missing", false);
        fails_and_is_waited_out(&mut bench, "model_auth", false);
    }
    fail_consult(&mut bench, "model_missing", false);
    bench.advance();
    let summary = bench.state.summary();
    assert_eq!(summary.wait_reason, Some(WaitReason::Model));
    assert_eq!(
        summary.message.as_deref(),
        Some("waits for the model (model_missing): no. ollama serve")
    );
    assert_eq!(bench.state.usage.steps, 2, "waiting costs no steps");
    // The executor never answered in this task.
    bench.push(TaskEvent::WaitEnded {
        reason: WaitReason::Model,
    });
    bench.advance();
    bench.answer("DIRECTIVE: RUN\nPATH: /a.lua list");
    bench.advance();
    fail_consult(&mut bench, "model_missing", false);
    assert!(matches!(bench.advance(), Decision::Fail { code, .. } if code == "model_missing"));
}

#[test]
fn a_prompt_that_did_not_fit_is_made_shorter() {
    let mut bench = Bench::new(profile(ExecutorMode::Auto));
    let long = json!({"success": true, "output": "x".repeat(30_000)});
    for n in 0..4 {
        bench.advance();
        bench.answer(&run(&format!("/a{n}.lua")));
        bench.advance();
        bench.settle(CallReport {
            result: Some(long.clone()),
            ..report(Outcome::Done, true)
        });
    }
    bench.advance();
    let size = |bench: &Bench| {
        bench
            .state
            .prompt(Role::Planner)
            .iter()
            .map(|m| m.content.len())
            .sum::<usize>()
    };
    let before = size(&bench);
    let Open::Consult { seq, role, .. } = *bench.state.open_on(Track::MAIN) else {
        panic!()
    };
    let failure = ChatFailure {
        code: crate::domain::fold::PROMPT_TOO_LONG.into(),
        message: "too long".into(),
        hint: String::new(),
        retryable: false,
    };
    bench.push(TaskEvent::ModelFailed {
        consult: seq,
        role,
        failure,
    });
    assert!(matches!(bench.advance(), Decision::Consult(_)));
    assert!(
        size(&bench) < before,
        "{} is not below {before}",
        size(&bench)
    );
}

#[test]
fn an_answer_that_goes_on_with_the_end_of_its_prompt_is_remembered_without_that() {
    let mut bench = Bench::new(profile(ExecutorMode::Auto));
    bench.advance();
    let own = "DIRECTIVE: RUN\nPATH: /a.lua\n\nPLAN:\n- run it";
    let tail = bench.state.prompt(Role::Planner).last().unwrap().clone();
    let echo = tail.content.split_once("- runs since").unwrap().1;
    bench.answer(&format!("{own}\n- runs since{echo}"));
    bench.advance();
    bench.succeed();
    bench.advance();
    let prompt = bench.state.prompt(Role::Planner);
    let said = prompt.iter().rfind(|m| m.speaker == Speaker::Assistant);
    assert_eq!(said.unwrap().content, own);
    let tail = &prompt.last().unwrap().content;
    assert!(
        tail.contains("- your plan:\n  [ ] run it\n- runs since"),
        "{tail}"
    );
}
