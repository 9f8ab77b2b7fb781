//! Events of a task as lines for people.

use crate::cli::task::people;
use crate::cli::words::{at_ms, clock, text};
use crate::strategy::text::one_line;
use serde_json::{Value, json};
use std::collections::HashMap;

/// Bytes of a line's words.
const LINE: usize = 200;

/// Tells events, in their order.
#[derive(Debug, Default)]
pub(super) struct Teller {
    /// When the task was created.
    since_ms: Option<i64>,
    /// Calls that are under way, by id: what is called, and where.
    calls: HashMap<String, (String, String)>,
}

impl Teller {
    /// What an event has to say; most have nothing.
    pub fn lines(&mut self, event: &Value) -> Vec<String> {
        let at = at_ms(text(event, "at")).unwrap_or_default();
        let since = *self.since_ms.get_or_insert(at);
        let clock = clock((at - since).max(0) / 1000);
        let words = self.words(text(event, "type"), &event["data"]);
        let line = |words: String| format!("{clock:>7}  {}", one_line(&words, LINE));
        words.into_iter().map(line).collect()
    }

    fn words(&mut self, kind: &str, data: &Value) -> Vec<String> {
        match kind {
            "task_created" => vec![created(data)],
            "forked" => vec![format!(
                "goes on from {} behind step {}",
                text(data, "from"),
                data["at_step"]
            )],
            "generation_started" => vec![format!("taken up again: {}", text(data, "reason"))],
            "decided" => decided(&data["decision"]),
            "model_failed" => vec![format!(
                "the {} did not answer: {}",
                text(data, "role"),
                text(&data["failure"], "message")
            )],
            "call_intended" => self.call_leaves(data).into_iter().collect(),
            "call_finished" => vec![self.call_ends(data)],
            "call_not_placed" => vec![format!(
                "nobody takes the call: {}",
                text(&data["no_route"], "message")
            )],
            "question_answered" => vec![format!(
                "{} answered: {}",
                text(data, "by"),
                text(data, "answer")
            )],
            "question_expired" => vec!["nobody answered in time".to_owned()],
            "wait_started" => vec![format!("waits: {}", waits_for(text(data, "reason")))],
            "episode_ended" => vec![format!(
                "episode {} ends: {}",
                data["episode"],
                end_of(data)
            )],
            "fell_asleep" => vec!["sleeps until it is woken".to_owned()],
            "episode_started" => vec![format!(
                "episode {} begins, woken by {}",
                data["episode"],
                woken_by(data)
            )],
            "noted" => vec![format!("note: {}", text(data, "message"))],
            _ => Vec::new(),
        }
    }

    fn call_leaves(&mut self, data: &Value) -> Option<String> {
        let what = format!("{} {}", text(data, "tool"), brief_args(&data["args"]));
        let on = text(data, "client_id").to_owned();
        let told = format!("{on}: {what}");
        let call = (text(data, "tool").to_owned(), on);
        self.calls.insert(text(data, "call_id").to_owned(), call);
        Some(told)
    }

    fn call_ends(&mut self, data: &Value) -> String {
        let report = &data["report"];
        let call = self.calls.remove(text(data, "call_id"));
        let (tool, on) = call.unwrap_or_else(|| ("a call".to_owned(), "-".to_owned()));
        let result = &report["result"];
        let how = match (text(report, "outcome"), result["success"].as_bool()) {
            ("done", Some(false)) => "did not succeed",
            ("done", _) => "done",
            ("unknown", _) => "nobody can tell whether it happened",
            (other, _) => other,
        };
        let output = match (text(report, "error"), text(result, "output")) {
            ("-", "-" | "") => String::new(),
            ("-", output) => format!(": {output}"),
            (error, _) => format!(": {error}"),
        };
        format!("{on}: {tool} {how}{output}")
    }
}

fn created(data: &Value) -> String {
    let on = match text(data, "client_id") {
        "-" => String::new(),
        on => format!(" on {on}"),
    };
    format!(
        "{}{on}, kind {}, strategy {}",
        text(data, "prompt"),
        text(data, "kind"),
        text(data, "strategy")
    )
}

fn decided(decision: &Value) -> Vec<String> {
    match text(decision, "decision") {
        "call" => match text(&decision["request"], "explanation") {
            "-" | "" => Vec::new(),
            words => vec![format!("> {words}")],
        },
        "ask" => {
            let lines = people::asked(&decision["question"]);
            // Whose question it is, is clear here.
            let mut lines = lines.into_iter();
            let first = lines.next().unwrap_or_default();
            let first = first.strip_prefix("- ").unwrap_or(&first).to_owned();
            std::iter::once(first).chain(lines).collect()
        }
        "block" => vec![format!(
            "sent back ({}): {}",
            text(decision, "guard"),
            text(decision, "evidence")
        )],
        _ => Vec::new(),
    }
}

/// What a task waits for, in words.
pub(super) fn waits_for(reason: &str) -> &str {
    match reason {
        "computer_offline" => "the computer is not connected",
        "model" => "the model server does not answer",
        "approval" => "somebody has to consent",
        "answer" => "somebody has to answer",
        "schedule" => "its next time",
        "event" => "something has to happen in the world",
        "stopped" => "it was stopped; ccfleet fleet resume",
        other => other,
    }
}

fn end_of(data: &Value) -> String {
    let end = &data["end"];
    let completed = end.pointer("/completed/result/message");
    let failed = end.pointer("/failed/error");
    let words = completed.or(failed).and_then(Value::as_str);
    words.unwrap_or("cancelled").to_owned()
}

fn woken_by(data: &Value) -> String {
    let wakes = data["wakes"].as_array().into_iter().flatten();
    let words = wakes.map(|wake| match text(wake, "cause") {
        "schedule" => "its schedule".to_owned(),
        "event" => format!(
            "the event {} on {}",
            text(wake, "name"),
            text(wake, "client_id")
        ),
        _ => text(wake, "by").to_owned(),
    });
    words.collect::<Vec<_>>().join(", ")
}

/// Arguments in a few words: long texts are told by their size.
fn brief_args(args: &Value) -> String {
    const SHOWN: usize = 60;
    let Some(fields) = args.as_object() else {
        return args.to_string();
    };
    let field = |(name, value): (&String, &Value)| match value {
        Value::String(text) if text.len() > SHOWN => format!("{name} ({} bytes)", text.len()),
        Value::String(text) => format!("{name}={text}"),
        other if other.to_string().len() > SHOWN => format!("{name}=…"),
        other => format!("{name}={other}"),
    };
    fields.iter().map(field).collect::<Vec<_>>().join(" ")
}

/// What goes on now, in a line.
pub(super) fn now(task: &Value, last: Option<&Value>) -> String {
    let asked = last.filter(|event| text(event, "type") == "decided");
    let decision = asked.map(|event| &event["data"]["decision"]);
    let asks = decision.filter(|decision| text(decision, "decision") == "consult");
    let step = task["step"].as_u64().unwrap_or_default();
    let what = match (text(task, "wait_reason"), text(task, "status"), asks) {
        ("-", "running", Some(consult)) => format!("the {} thinks", text(consult, "role")),
        ("-", "waiting_for_command", _) => match text(task, "message") {
            "-" => "a computer works".to_owned(),
            words => words.to_owned(),
        },
        ("-", "sleeping", _) => match text(task, "wakes_at") {
            "-" => "sleeps".to_owned(),
            at => format!("sleeps until {at}"),
        },
        ("-", status, _) => status.replace('_', " "),
        (reason, ..) => format!("waits: {}", waits_for(reason)),
    };
    one_line(&format!("step {step}  {what}"), LINE)
}

/// An event or the end as a line of JSON.
pub(super) fn json_line(name: &str, value: &Value) -> String {
    json!({name: value}).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(second: i64, kind: &str, data: Value) -> Value {
        let at = crate::wire::api::time(1_700_000_000_000 + second * 1000);
        json!({"at": at, "type": kind, "data": data})
    }

    #[test]
    fn a_task_is_told_from_its_beginning_to_its_last_call() {
        let call = |id: &str, tool: &str, args: Value| json!({"call_id": id, "client_id": "sim-1", "tool": tool, "args": args});
        let ended = |id: &str, report: Value| json!({"call_id": id, "report": report});
        let events = [
            event(
                0,
                "task_created",
                json!({"prompt": "Fix /TODO.lua", "kind": "code_job", "strategy": "directive", "client_id": "sim-1"}),
            ),
            event(
                0,
                "decided",
                json!({"decision": {"decision": "consult", "role": "planner"}}),
            ),
            event(
                4,
                "model_failed",
                json!({"role": "planner", "failure": {"message": "it is away"}}),
            ),
            event(4, "wait_started", json!({"reason": "model"})),
            event(
                7,
                "model_answered",
                json!({"role": "planner", "answer": {"content": "DIRECTIVE: RUN"}}),
            ),
            event(
                7,
                "decided",
                json!({"decision": {"decision": "call", "request": {"explanation": "See it fail"}}}),
            ),
            event(
                7,
                "call_intended",
                call(
                    "c1",
                    "run_program",
                    json!({"path": "/TODO.lua", "args": ["list"]}),
                ),
            ),
            event(
                9,
                "call_finished",
                ended(
                    "c1",
                    json!({"outcome": "done", "result": {"success": false, "output": "TODO.lua:3: nil\u{1b}[31m\nmore"}}),
                ),
            ),
            event(
                61,
                "decided",
                json!({"decision": {"decision": "block", "guard": "proof", "evidence": "nothing ran"}}),
            ),
            event(
                62,
                "decided",
                json!({"decision": {"decision": "ask", "question": {"question_id": "qst_1", "question": "Overwrite it?", "why": "it is there"}}}),
            ),
            event(
                99,
                "question_answered",
                json!({"by": "ada", "answer": "yes"}),
            ),
            event(
                3700,
                "call_intended",
                call(
                    "c2",
                    "fs_write",
                    json!({"path": "/a", "content": "x".repeat(100)}),
                ),
            ),
            event(
                3701,
                "call_finished",
                ended("c2", json!({"outcome": "unknown", "error": "rebooted"})),
            ),
            event(
                3702,
                "generation_started",
                json!({"generation": 2, "reason": "the server started"}),
            ),
            event(
                3703,
                "episode_ended",
                json!({"episode": 1, "end": {"completed": {"result": {"success": true, "message": "all fed"}}}}),
            ),
            event(3703, "fell_asleep", json!({})),
            event(
                200_000,
                "episode_started",
                json!({"episode": 2, "wakes": [{"cause": "schedule"}, {"cause": "asked", "by": "ada"}]}),
            ),
            event(200_001, "task_completed", json!({"result": {}})),
        ];
        let mut teller = Teller::default();
        let lines: Vec<String> = events
            .iter()
            .flat_map(|event| teller.lines(event))
            .collect();
        insta::assert_snapshot!(lines.join("\n"));
    }

    #[test]
    fn what_goes_on_now_is_one_line() {
        let asked = event(
            0,
            "decided",
            json!({"decision": {"decision": "consult", "role": "planner"}}),
        );
        let mut told = Vec::new();
        for task in [
            json!({"status": "running", "step": 3}),
            json!({"status": "waiting_for_command", "step": 3, "message": "Run /a.lua\nnow"}),
            json!({"status": "waiting_for_command", "step": 3, "wait_reason": "computer_offline"}),
            json!({"status": "sleeping", "step": 0, "wakes_at": "2030-01-01T00:00:00Z"}),
            json!({"status": "waiting_for_user", "step": 1, "wait_reason": "answer"}),
        ] {
            told.push(now(&task, Some(&asked)));
        }
        insta::assert_snapshot!(told.join("\n"));
    }
}
