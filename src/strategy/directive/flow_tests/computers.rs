//! Computers that are away, new or unknown.

use super::*;

#[test]
fn a_task_waits_for_its_own_computer_and_gives_up_after_the_configured_time() {
    let mut bench = Bench::of_computer("faraway", profile(ExecutorMode::Auto));
    assert!(matches!(
        bench.advance(),
        Decision::Wait {
            reason: WaitReason::ComputerOffline,
            ..
        }
    ));
    bench.push(TaskEvent::WaitEnded {
        reason: WaitReason::ComputerOffline,
    });
    bench.now_ms += 61_000;
    assert!(matches!(bench.advance(), Decision::Fail { code, .. } if code == "computer_offline"));
    assert_eq!(
        bench.state.usage.model_calls, 0,
        "without its computer a planner would not know the tools"
    );
}

#[test]
fn the_time_without_a_server_does_not_count_as_time_without_the_computer() {
    let mut bench = Bench::of_computer("faraway", profile(ExecutorMode::Auto));
    bench.advance();
    bench.now_ms += 600_000;
    bench.push(TaskEvent::GenerationStarted {
        up_ms: None,
        salt: None,
        generation: Generation(2),
        reason: "the server was started".into(),
    });
    bench.push(TaskEvent::WaitEnded {
        reason: WaitReason::ComputerOffline,
    });
    assert!(matches!(bench.advance(), Decision::Wait { .. }));
}

#[test]
fn a_computer_that_connected_but_has_no_tools_yet_is_waited_for() {
    let bench = {
        let mut bench = Bench::new(profile(ExecutorMode::Auto));
        bench.advance();
        bench.answer("DIRECTIVE: RUN\nPATH: /a.lua");
        bench
    };
    let mut inputs = inputs(bench.now_ms);
    inputs.fleet.computers[0].tools = Toolbox::default();
    assert!(matches!(
        decide(&bench.state, &bench.profile, &inputs).map(|next| next.decision),
        Some(Decision::Wait { .. })
    ));
}

#[test]
fn a_computer_that_is_named_and_was_never_seen_is_told_to_the_planner() {
    let mut bench = Bench::new(profile(ExecutorMode::Auto));
    bench.advance();
    bench.answer("DIRECTIVE: RUN\nPATH: /a.lua\nON: ghost");
    assert!(matches!(bench.advance(), Decision::Consult(_)));
    assert_eq!(bench.guard(), Some(Guard::Tool));
}

#[test]
fn the_computer_of_an_on_line_is_named_also_when_the_directive_is_unclear() {
    for text in [
        "DIRECTIVE: RUN\nPATH: /a.lua\nON: other",
        "DIRECTIVE: RUN\nPATH: /a.lua list\nON: other",
    ] {
        let mut bench = Bench::new(profile(ExecutorMode::Auto));
        bench.advance();
        bench.answer(text);
        let wants = crate::strategy::wants(&bench.state, &bench.profile);
        let other = ClientId::parse("other").unwrap();
        assert!(wants.computers.contains(&other), "{text}");
    }
}
