//! Plans, answers and computers at random.

use super::*;
use crate::domain::work::plan::StepWork;

fn any_step() -> impl Strategy<Value = (usize, usize, Vec<u32>, usize)> {
    (
        0usize..12,
        0usize..5,
        prop::collection::vec(1u32..6, 0..3),
        0usize..3,
    )
}

fn plan_text(steps: &[(usize, usize, Vec<u32>, usize)]) -> String {
    let actions = [
        "read_file",
        "write_file",
        "edit_file",
        "run_program",
        "run_test",
        "search",
        "shell",
        "call_tool",
        "analyse_error",
        "gather",
        "ask_user",
        "fly",
    ];
    let targets = ["/a.lua", "a.lua", "dig", "the notes", "/b/"];
    let steps: Vec<Value> = steps
        .iter()
        .enumerate()
        .map(|(at, (action, target, deps, place))| {
            let id = at as u32 + 1;
            // Mostly valid: dependencies point back.
            let deps: Vec<u32> = deps
                .iter()
                .copied()
                .filter(|dep| *dep < id || *target == 4)
                .collect();
            let mut said = step(id, actions[*action], targets[*target], &deps);
            if *place > 0 {
                said["on"] = json!(["base", "farm"][place - 1]);
            }
            if *target == 0 {
                said["params"] = json!({"content": "x"});
            }
            said
        })
        .collect();
    json!({"goal": "g", "steps": steps}).to_string()
}

/// Answers for each contract, good and bad.
fn any_answers() -> impl Strategy<Value = Vec<(String, usize)>> {
    let plan = prop::collection::vec(any_step(), 1..6).prop_map(|steps| plan_text(&steps));
    let plan = prop_oneof![8 => plan, 1 => Just("no plan".to_owned()), 1 => Just("{\"steps\": [{".to_owned())];
    prop::collection::vec((plan, 0usize..9), 12)
}

fn calls_text(which: usize) -> &'static str {
    [
        "{\"calls\": [{\"tool\": \"fs_read\", \"args\": {\"path\": \"/a\"}}]}",
        "[{\"tool\": \"fs_list\", \"args\": {}}, {\"tool\": \"fs_read\", \"args\": {\"path\": \"/b\"}}]",
        "{\"tool\": \"fs_write\", \"args\": {\"path\": \"/c\", \"content\": \"x\"}}",
        "{\"tool\": \"shell_exec\", \"args\": {\"command\": \"x\"}}",
        "{\"tool\": \"fly\", \"args\": {}}",
        "chatter",
        "{\"unclear\": [\"all\"]}",
        "{\"tool\": \"ask_user\", \"args\": {\"question\": \"q\", \"why\": \"w\"}}",
        "{\"tool\": \"fs_read\", \"args\": {\"pa",
    ][which]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_plan_and_any_computer_lead_to_an_end_and_no_step_is_done_twice(
        answers in any_answers(),
        events in prop::collection::vec((0usize..8, 0usize..8), 60),
        mode in prop_oneof![4 => Just(ExecutorMode::Auto), 1 => Just(ExecutorMode::Always), 1 => Just(ExecutorMode::Never)],
        (strict, review, resolve, replans, proof) in (any::<bool>(), any::<bool>(), any::<bool>(), 0u32..3, any::<bool>()),
    ) {
        let mut profile = plan_profile();
        profile.executor_mode = mode;
        profile.demand_proof = proof;
        profile.plan.strict_dependencies = strict;
        profile.plan.review = review;
        profile.plan.resolve_targets = resolve;
        profile.plan.replans = replans;
        let mut rig = Rig::new(profile);
        let (mut answers, mut events) = (answers.into_iter().cycle(), events.into_iter().cycle());
        for _ in 0..400 {
            rig.run();
            if rig.state.status.is_final() {
                break;
            }
            let (pick, how) = events.next().unwrap();
            let open: Vec<_> = rig.state.calls().filter(|call| call.is_open()).map(|call| call.call_id.clone()).collect();
            if let Some((question, _)) = rig.state.open_question() {
                let question_id = question.question_id.clone();
                rig.push(match how % 2 {
                    0 => TaskEvent::QuestionExpired { question_id },
                    _ => TaskEvent::QuestionAnswered { question_id, answer: "yes".into(), by: "x".into(), authenticated: true },
                });
            } else if rig.consult().is_some() && (open.is_empty() || pick < 4) {
                let (consult, role, contract) = rig.consult().unwrap();
                if how == 7 && pick == 0 {
                    let failure = ChatFailure { code: "model_busy".into(), message: "m".into(), hint: "h".into(), retryable: true };
                    rig.push(TaskEvent::ModelFailed { consult, role, failure });
                } else {
                    let (plan, which) = answers.next().unwrap();
                    rig.say(match contract {
                        Contract::Plan => &plan,
                        Contract::Review => ["{\"achieved\": true}", "{\"achieved\": false}", "hm"][which % 3],
                        Contract::StepWords => ["It follows.", " "][usize::from(which > 6)],
                        _ => calls_text(which),
                    });
                }
            } else if !open.is_empty() {
                let call = rig.state.call(&open[pick % open.len()]).unwrap().clone();
                let found = json!({"found": [{"path": "/a.lua"}], "entries": [], "success": true});
                rig.end(&call.tool, match how {
                    0 => report(Outcome::Failed, Value::Null, Some("broken")),
                    1 => report(Outcome::Done, json!({"success": false}), None),
                    2 => report(Outcome::Unknown, Value::Null, None),
                    _ => report(Outcome::Done, found, None),
                });
            } else {
                rig.now_ms += 61_000;
                for reason in [WaitReason::Model, WaitReason::ComputerOffline] {
                    rig.push(TaskEvent::WaitEnded { reason });
                }
            }
        }
        prop_assert!(rig.state.status.is_final(), "{:?}\n{:?}", rig.state.open, rig.state.work);
        prop_assert!(rig.state.usage.steps <= 60 && rig.state.usage.calls <= 60);
        // What was done stays done, and is done once.
        let mut begun: Vec<u32> = Vec::new();
        let mut settled: Vec<u32> = Vec::new();
        for advance in rig.advances() {
            match advance {
                PlanAdvance::StepBegun { step } => begun.push(*step),
                PlanAdvance::StepSettled { step, .. } => settled.push(*step),
                _ => {}
            }
        }
        for list in [begun, settled] {
            let mut once = list.clone();
            once.sort_unstable();
            once.dedup();
            prop_assert_eq!(once.len(), list.len());
        }
        if rig.state.status == TaskStatus::Completed {
            // A look that failed may have been needless; a later plan without a step says so.
            let failed = |work: &StepWork| work.error().is_some() && work.step.action.may_change();
            let last_failed = rig.work().current().any(failed);
            prop_assert!(!last_failed || rig.work().review.as_ref().is_some_and(|r| r.achieved));
        }
        // The journal alone tells the same.
        let mut again = TaskState::new(rig.state.task_id.clone());
        again.apply_all(&rig.events);
        prop_assert_eq!(&again, &rig.state);
    }
}
