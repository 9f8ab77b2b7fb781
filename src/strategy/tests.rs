//! Properties of deciding and folding: total, deterministic, never spinning.

use super::directive::printer;
use super::episodes::close;
use super::{decide, read_answer};
use crate::domain::call::{CallReport, NoRoute, NoRouteReason, Outcome, Target};
use crate::domain::chat::{ChatAnswer, ChatFailure, Role, StopReason, Usage};
use crate::domain::decision::{
    Decision, Guard, Inputs, InputsRef, Move, PlannedCall, RoleLimits, WaitReason,
};
use crate::domain::directive::{
    Action, Directive, StrictRequest, TaskResult, ThenItem, TranslatedBy,
};
use crate::domain::event::{CallIntended, StoredEvent, TaskCreated, TaskEvent};
use crate::domain::ids::{BlobHash, CallId, ClientId, Generation, QuestionId, TaskId};
use crate::domain::profile::{
    Budgets, DriftRule, ExecutorMode, Guards, MemoryRules, Profile, Summarizer, ToolRules,
};
use crate::domain::task::{Open, TaskState, TaskStatus};
use crate::domain::tool::{ComputerView, EffectClass, FleetView, ToolSpec};
use crate::domain::toolbox::Toolbox;
use crate::domain::track::Track;
use crate::prompts::PromptLibrary;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::LazyLock;

static PROMPTS: LazyLock<BTreeMap<String, String>> =
    LazyLock::new(|| PromptLibrary::embedded().unwrap().texts("directive"));

pub(crate) const MEMORY: MemoryRules = MemoryRules {
    verbatim_results: 10,
    cut_to: 5,
    result_bytes: 2000,
    summarizer: Summarizer::Rules,
    diff_bytes: 4096,
    drift: DriftRule::Tell,
};

pub(crate) fn profile(mode: ExecutorMode) -> Profile {
    Profile {
        kind: "code_job".into(),
        description: String::new(),
        strategy: "directive".into(),
        strategy_version: crate::strategy::directive::VERSION,
        executor_mode: mode,
        executor_draft: false,
        allowed_tools: vec!["*".into()],
        demand_proof: true,
        instructions: String::new(),
        budgets: Budgets {
            steps: 8,
            calls: 12,
            questions: 2,
            wall_time_s: 3600,
            tokens: 0,
            model_failures: 3,
            per_wake: Default::default(),
        },
        guards: Guards {
            duplicate_calls: 3,
            bounces: 3,
            repair_attempts: 1,
            loops: Default::default(),
            args: Default::default(),
        },
        policy: Default::default(),
        numbered: Default::default(),
        goals: Default::default(),
        memory: MEMORY,
        tools: ToolRules::default(),
        start_tasks: false,
        models: BTreeMap::new(),
        templates: vec![],
        wakes: Default::default(),
        plan: Default::default(),
        prompts: PROMPTS.clone(),
    }
}

fn tool(name: &str, effect: EffectClass, schema: Value) -> ToolSpec {
    serde_json::from_value(
        json!({"name": name, "description": format!("{name} on a computer"),
        "effect": effect, "args_schema": schema}),
    )
    .unwrap()
}

pub(crate) fn fleet() -> FleetView {
    let text = json!({"type": "string"});
    let texts = json!({"type": "array", "items": text});
    let object = |properties: Value, required: &[&str]| json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    FleetView {
        computers: vec![ComputerView {
            client_id: ClientId::parse("base").unwrap(),
            label: None,
            kind: None,
            groups: vec![],
            online: true,
            once_owned: vec![],
            tools: vec![
                tool(
                    "fs_read",
                    EffectClass::Read,
                    object(json!({"path": text}), &["path"]),
                ),
                tool(
                    "fs_write",
                    EffectClass::Idempotent,
                    object(json!({"path": text, "content": text}), &["path", "content"]),
                ),
                tool(
                    "run_program",
                    EffectClass::Effect,
                    object(json!({"path": text, "args": texts}), &["path"]),
                ),
                tool(
                    "shell_exec",
                    EffectClass::Effect,
                    object(json!({"command": text}), &["command"]),
                ),
                tool(
                    "write_and_run",
                    EffectClass::Effect,
                    object(
                        json!({"path": text, "content": text, "args": texts}),
                        &["path", "content"],
                    ),
                ),
            ]
            .into(),
        }],
        has_tools: true,
    }
}

pub(crate) fn inputs(now_ms: i64) -> Inputs {
    let limits = RoleLimits {
        num_ctx: 8192,
        max_tokens: 1024,
        native_tools: true,
    };
    Inputs {
        now_ms,
        fleet: fleet(),
        roles: [(Role::Planner, limits), (Role::Executor, limits)].into(),
        offline_timeout_ms: 60_000,
    }
}

pub(crate) fn answer(text: &str) -> ChatAnswer {
    ChatAnswer {
        content: text.into(),
        thinking: String::new(),
        tool_calls: vec![],
        stop: StopReason::Stop,
        model: "m".into(),
        usage: Usage {
            tokens_in: Some(10),
            tokens_out: Some(5),
            tokens_cached: None,
        },
        duration_ms: 1,
    }
}

fn report(outcome: Outcome, success: bool) -> CallReport {
    CallReport {
        outcome,
        result: Some(json!({"success": success, "output": "text", "run": {"success": success}})),
        error: None,
        code: None,
        duration_ms: Some(3),
        truncated: false,
    }
}

/// A task that is driven by hand: events in, decisions out, no actors.
pub(crate) struct Bench {
    pub state: TaskState,
    pub profile: Profile,
    pub now_ms: i64,
    /// Everything that happened, in order.
    pub journal: Vec<StoredEvent>,
    fleets: BTreeMap<BlobHash, String>,
}

impl Bench {
    pub fn new(profile: Profile) -> Self {
        Self::of_computer("base", profile)
    }

    pub fn of_computer(home: &str, profile: Profile) -> Self {
        let state = TaskState::new(TaskId::from_unique("01HZX4W1V7Y6T5S4R3Q2P1N0M9").unwrap());
        let mut bench = Bench {
            state,
            profile,
            now_ms: 1_000,
            journal: Vec::new(),
            fleets: BTreeMap::new(),
        };
        let created = TaskCreated {
            prompt: "Fix /TODO.lua".into(),
            kind: bench.profile.kind.clone(),
            kind_label: bench.profile.kind.clone(),
            strategy: bench.profile.strategy.clone(),
            strategy_version: bench.profile.strategy_version,
            profile: BlobHash::of(""),
            client_id: Some(ClientId::parse(home).unwrap()),
            owner: "local".into(),
            context: Value::Null,
            allowed_commands: None,
            metadata: Value::Null,
            interactive: false,
            budgets: bench.profile.budgets,
            call: None,
            parent: None,
            depth: 0,
            may_start_tasks: false,
            wakes: None,
        };
        bench.push(TaskEvent::TaskCreated(Box::new(created)));
        bench
    }

    pub fn push(&mut self, event: TaskEvent) {
        let stored = StoredEvent {
            task_id: self.state.task_id.clone(),
            seq: self.state.last_seq + 1,
            at_ms: self.now_ms,
            generation: Generation(1),
            event,
        };
        self.state.apply(&stored);
        self.journal.push(stored);
    }

    /// A task whose model first chatted and then ran a program, which is open.
    pub fn chatted_then_runs() -> Self {
        let mut bench = Bench::new(profile(ExecutorMode::Auto));
        bench.advance();
        bench.answer("I would rather chat.");
        bench.advance();
        bench.answer(&run("/a.lua"));
        bench.advance();
        bench
    }

    /// Journals a call that the bench's fleet could not make, as if it had been decided.
    pub fn decide_by_hand(&mut self, target: Target, tool: &str, args: Value) -> CallId {
        let call_id = self.state.call_id(self.state.last_seq + 1, 0);
        let call = PlannedCall {
            call_id: call_id.clone(),
            target,
            tool: tool.into(),
            args,
            timeout_ms: None,
            request: None,
            child: None,
        };
        self.push(TaskEvent::Decided {
            decision: Box::new(Decision::Call {
                request: StrictRequest::Unclear { missing: vec![] },
                translated_by: TranslatedBy::Rules,
                calls: vec![call],
            }),
            inputs: Inputs::default().journalled().0,
            track: Track::MAIN,
        });
        call_id
    }

    /// Keeps what a decision was based on.
    pub fn keep(&mut self, inputs: &Inputs) -> InputsRef {
        let (inputs, hash, fleet) = inputs.journalled();
        self.fleets.insert(hash, fleet);
        inputs
    }

    /// What was kept.
    pub fn blob(&self, hash: &BlobHash) -> Option<String> {
        self.fleets.get(hash).cloned()
    }

    /// Decides, journals the decision and what closes with it; blocks are decided past.
    pub fn advance(&mut self) -> Decision {
        self.next().expect("there is something to decide")
    }

    /// As [`Bench::advance`]; none if there is nothing to decide now.
    pub fn next(&mut self) -> Option<Decision> {
        for _ in 0..4 {
            let inputs = inputs(self.now_ms);
            let Move { track, decision } = decide(&self.state, &self.profile, &inputs)?;
            let inputs = self.keep(&inputs);
            self.push(TaskEvent::Decided {
                decision: Box::new(decision.clone()),
                inputs,
                track,
            });
            match &decision {
                Decision::Block { .. } | Decision::Advance { .. } => continue,
                _ => {}
            }
            for closing in close(&self.state, &self.profile, &decision, self.now_ms) {
                self.push(closing);
            }
            return Some(decision);
        }
        panic!("deciding spins: {:?}", self.state.steps.last());
    }

    /// Answers the open consult.
    pub fn answer(&mut self, text: &str) {
        self.answer_counted(text, 10);
    }

    /// The same; the server counts so many tokens in the prompt.
    pub fn answer_counted(&mut self, text: &str, tokens_in: u64) {
        let Open::Consult {
            seq,
            role,
            contract,
            ..
        } = self.state.open_on(Track::MAIN).clone()
        else {
            panic!("no consult is open: {:?}", self.state.open)
        };
        let mut answer = answer(text);
        answer.usage.tokens_in = Some(tokens_in);
        let read = read_answer(seq, contract, &answer);
        self.push(TaskEvent::ModelAnswered {
            consult: seq,
            role,
            answer,
        });
        self.push(read);
    }

    /// Ends the open call.
    pub fn settle(&mut self, report: CallReport) {
        let call = self.state.calls().next_back().unwrap().clone();
        self.push(TaskEvent::CallIntended(CallIntended {
            call_id: call.call_id.clone(),
            client_id: ClientId::parse("base").unwrap(),
            seq: None,
            tool: call.tool.clone(),
            tool_rev: "rev_1".into(),
            effect: EffectClass::Effect,
            args: call.args.clone(),
            args_hash: String::new(),
            timeout_ms: 1000,
            boot_id: None,
        }));
        self.push(TaskEvent::CallFinished {
            call_id: call.call_id,
            report,
        });
    }

    /// Ends the open call well.
    pub fn succeed(&mut self) {
        self.settle(report(Outcome::Done, true));
    }

    fn guard(&self) -> Option<Guard> {
        self.state
            .steps
            .iter()
            .rev()
            .find_map(|s| s.blocked.as_ref())
            .map(|b| b.guard)
    }
}

pub(crate) fn directive(action: Action) -> String {
    printer::print(&Directive { action, on: None })
}

pub(crate) fn run(path: &str) -> String {
    directive(Action::Run {
        path: path.into(),
        args: vec![],
        expect: None,
    })
}

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
fn done_is_sent_back_until_a_test_ran_after_the_last_change() {
    let mut bench = Bench::new(profile(ExecutorMode::Auto));
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
    bench.answer("DIRECTIVE: DONE");
    bench.advance();
    bench.answer(r#"{"kind": "unclear", "missing": ["what you would have to guess"]}"#);
    bench.advance();
    let blocked = bench.state.steps[0].blocked.as_ref().unwrap();
    assert!(blocked.evidence.contains("SUMMARY"), "{}", blocked.evidence);
}

#[test]
fn a_directive_that_is_only_a_keyword_goes_back_without_a_model_call() {
    let mut bench = Bench::new(profile(ExecutorMode::Auto));
    bench.advance();
    bench.answer("DIRECTIVE: DONE");
    bench.advance();
    assert_eq!(bench.state.usage.executor_model_calls, 0);
    let prompt = bench.state.prompt(Role::Planner);
    let told: String = prompt.iter().map(|m| m.content.as_str()).collect();
    assert!(
        told.contains("SUMMARY is missing: add a line that begins with \"SUMMARY:\""),
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
        ("12345", "EXPECT: \"12345\" was NOT found in the output"),
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
        assert_eq!(
            super::wants(&bench.state, &bench.profile).computers,
            [ClientId::parse("other").unwrap()]
        );
    }
}

fn any_answer() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(run("/a.lua")),
        Just(run("/b.lua")),
        Just(directive(Action::Shell { command: "list".into(), expect: Some("\"x\"".into()) })),
        Just(directive(Action::Done { summary: "ok".into(), notes: None })),
        Just(directive(Action::Tool { name: "fs_read".into(), args: json!({"path": 3}) })),
        Just(directive(Action::Tool { name: "nope".into(), args: json!({}) })),
        Just(directive(Action::AskUser { question: "q".into(), why: Some("w".into()), next: None })),
        Just(directive(Action::WriteFile {
            path: "/a.lua".into(),
            language: None,
            content: "x\n".into(),
            then: vec![ThenItem::Run { path: "/a.lua".into(), args: vec![] }]
        })),
        Just("DIRECTIVE: RUN".to_owned()),
        Just("{\"kind\":\"final\",\"explanation\":\"\",\"result\":{\"success\":true,\"message\":\"\"}}".to_owned()),
        "\\PC{0,40}",
    ]
}

fn any_event() -> impl Strategy<Value = TaskEvent> {
    let task = TaskId::from_unique("01HZX4W1V7Y6T5S4R3Q2P1N0M9").unwrap();
    let call = move |seq: u64| CallId::derive(&task, Generation(1), seq, 0);
    let outcomes = prop_oneof![
        Just(Outcome::Done),
        Just(Outcome::Failed),
        Just(Outcome::NotStarted),
        Just(Outcome::Unknown)
    ];
    let asked = QuestionId::parse("qst_x_1_5").unwrap();
    prop_oneof![
        (0u64..20, any_answer()).prop_map(|(consult, text)| TaskEvent::ModelAnswered {
            consult,
            role: Role::Planner,
            answer: answer(&text)
        }),
        (0u64..20, any_answer()).prop_map(|(consult, text)| read_answer(
            consult,
            crate::domain::decision::Contract::Directive,
            &answer(&text)
        )),
        (0u64..20, outcomes, any::<bool>()).prop_map({
            let call = call.clone();
            move |(seq, outcome, success)| TaskEvent::CallFinished {
                call_id: call(seq),
                report: report(outcome, success),
            }
        }),
        (0u64..20).prop_map(move |seq| TaskEvent::CallNotPlaced {
            call_id: call(seq),
            no_route: NoRoute {
                reason: NoRouteReason::Offline,
                message: "away".into()
            }
        }),
        Just(TaskEvent::QuestionAnswered {
            question_id: asked,
            answer: "a".into(),
            by: "b".into(),
            authenticated: true
        }),
        Just(TaskEvent::WaitStarted {
            reason: WaitReason::Model
        }),
        Just(TaskEvent::WaitEnded {
            reason: WaitReason::Model
        }),
        Just(TaskEvent::Noted {
            code: "x".into(),
            message: "y".into()
        }),
        Just(TaskEvent::TaskCompleted {
            result: TaskResult::default()
        }),
        Just(TaskEvent::GenerationStarted {
            salt: None,
            generation: Generation(2),
            reason: "crash".into()
        }),
        (any_answer(), 0i64..100_000).prop_map(|(text, now_ms)| {
            // Decisions of another task, out of place here.
            let mut other = Bench::new(profile(ExecutorMode::Auto));
            other.advance();
            other.answer(&text);
            let Move { decision, track } =
                decide(&other.state, &other.profile, &inputs(now_ms)).unwrap();
            let known = Inputs {
                now_ms,
                ..Inputs::default()
            };
            TaskEvent::Decided {
                decision: Box::new(decision),
                inputs: known.journalled().0,
                track,
            }
        }),
    ]
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

pub(crate) fn shown(prompt: &[crate::domain::chat::Message]) -> String {
    prompt
        .iter()
        .map(|m| format!("=== {:?}\n{}\n", m.speaker, m.content))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_fold_is_total_and_deterministic_and_deciding_never_panics(
        events in proptest::collection::vec(any_event(), 0..25),
        created_at in 0usize..25,
    ) {
        let task = TaskId::from_unique("01HZX4W1V7Y6T5S4R3Q2P1N0M9").unwrap();
        let (mut once, mut twice) = (TaskState::new(task.clone()), TaskState::new(task.clone()));
        let created = Bench::new(profile(ExecutorMode::Auto)).state.created.unwrap();
        let mut events = events;
        events.insert(created_at.min(events.len()), TaskEvent::TaskCreated(Box::new(created)));
        let profile = profile(ExecutorMode::Auto);
        for (at, event) in events.into_iter().enumerate() {
            let stored = StoredEvent {
                task_id: task.clone(),
                seq: at as u64 + 1,
                at_ms: at as i64 * 10,
                generation: Generation(1),
                event,
            };
            once.apply(&stored);
            twice.apply(&stored);
            let first = decide(&once, &profile, &inputs(5_000));
            prop_assert_eq!(first, decide(&twice, &profile, &inputs(5_000)));
        }
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn any_model_and_any_computer_lead_to_an_end_within_the_budgets(
        answers in proptest::collection::vec(any_answer(), 40),
        ends in proptest::collection::vec((0u8..4, any::<bool>()), 40),
        mode in prop_oneof![Just(ExecutorMode::Auto), Just(ExecutorMode::Always), Just(ExecutorMode::Never)],
    ) {
        let mut bench = Bench::new(profile(mode));
        let (mut answers, mut ends) = (answers.into_iter().cycle(), ends.into_iter().cycle());
        for _ in 0..200 {
            match bench.advance() {
                Decision::Consult(_) => bench.answer(&answers.next().unwrap()),
                Decision::Call { .. } => {
                    let (outcome, success) = ends.next().unwrap();
                    let outcome =
                        [Outcome::Done, Outcome::Failed, Outcome::NotStarted, Outcome::Unknown][outcome as usize];
                    bench.settle(report(outcome, success));
                }
                Decision::Ask { question, .. } => {
                    bench.push(TaskEvent::QuestionExpired { question_id: question.question_id });
                }
                Decision::Wait { reason, .. } => {
                    bench.now_ms += 61_000;
                    bench.push(TaskEvent::WaitEnded { reason });
                }
                Decision::Finish { .. } | Decision::Fail { .. } => break,
                Decision::Block { .. } | Decision::Advance { .. } => {
                    unreachable!("advance goes past both")
                }
            }
        }
        prop_assert!(bench.state.status.is_final());
        prop_assert!(bench.state.usage.steps <= 8 && bench.state.usage.calls <= 12);
    }
}
