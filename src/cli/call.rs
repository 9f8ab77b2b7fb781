//! `ccfleet call`: one tool on one computer, now.

use super::server::{Answer, Lost, Server, ServerArg};
use super::signals::Signals;
use super::{Exit, Failure};
use crate::domain::call::Address;
use serde_json::{Map, Value, json};
use std::io::Read;
use std::process::ExitCode;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  ccfleet call miner-1/fs_list --args '{\"path\": \"/\"}'
  ccfleet call miner-1/run_program --args '{\"path\": \"/dig.lua\", \"args\": [\"3\"]}' --timeout 5m
  ccfleet call group:quarry/fs_read --args '{\"path\": \"/log\"}'      any one of the group
  ccfleet call dig                                          the least busy computer that has it
  ccfleet call miner-1/fs_write --args @request.json        arguments from a file
  echo '{\"path\": \"/a\"}' | ccfleet call miner-1/fs_read --args -

What computers can do, and with which arguments: ccfleet fleet COMPUTER

Ctrl-C stops waiting, not the call: it says under which task the call goes on.

Exit codes:
  0    the tool did it
  1    the tool failed, or reports no success
  2    wrong use: no address, no JSON, arguments that the tool does not take
  3    not carried out (offline, stopped, busy, unknown, not allowed), or nobody can tell whether it was
  130  stopped by Ctrl-C";

/// Longer work is a task.
const MAX_TIMEOUT: Duration = Duration::from_secs(600);
/// The server answers shortly after the call's own deadline, whatever happened.
const ANSWER_GRACE: Duration = Duration::from_secs(60);
/// How long Ctrl-C may take to find out where the call goes on.
const LOOK_WITHIN: Duration = Duration::from_secs(3);

/// Not carried out, or nobody can tell.
const NOT_DONE: u8 = 3;

/// Run one tool on a computer and print what it answers.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// COMPUTER/TOOL, group:NAME/TOOL, or TOOL alone; `/`, `:` and `%` in a computer's name are written %2F, %3A, %25
    #[arg(value_name = "ADDRESS")]
    pub address: String,

    /// Arguments as a JSON object; `-` reads them from standard input, `@FILE` from a file
    #[arg(long, value_name = "JSON", default_value = "{}")]
    pub args: String,

    /// How long the call may take, up to 10m
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = timeout)]
    pub timeout: Duration,

    /// Print the server's whole answer as JSON
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub server: ServerArg,
}

fn timeout(text: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(text)
        .map_err(|error| format!("{error}; write it like 30s, 2m or 500ms"))?;
    match (Duration::from_millis(1)..=MAX_TIMEOUT).contains(&time) {
        true => Ok(time),
        false => Err("a call takes 1ms to 10m; give longer work to a task".to_owned()),
    }
}

/// Makes the call.
///
/// # Errors
/// Wrong use; everything else is an exit code.
pub async fn run(args: Args) -> Result<ExitCode, Failure> {
    let usage = |text: String| Failure::new(Exit::Usage, text);
    Address::parse(&args.address).map_err(|error| usage(error.to_string()))?;
    let given = read_args(&args.args).map_err(usage)?;
    let server = Server::new(&args.server)?;
    let mut signals = Signals::new().map_err(|error| Failure::new(Exit::Failed, error))?;
    // Marks the call, so that it is found again without its answer.
    let mark = format!("call-{}", ulid::Ulid::generate());
    let timeout_ms = u64::try_from(args.timeout.as_millis()).unwrap_or(u64::MAX);
    let body = json!({"command": args.address, "args": given, "timeout_ms": timeout_ms, "metadata": {"call": mark}});
    let answer = tokio::select! {
        answer = server.ask("/tools/call", &body, args.timeout + ANSWER_GRACE) => answer,
        () = signals.next() => {
            eprintln!("ccfleet: {}", goes_on(&server, &mark).await);
            return Ok(Exit::Interrupted.into());
        }
    };
    Ok(tell(&args, answer))
}

fn read_args(given: &str) -> Result<Value, String> {
    let text = match given.strip_prefix('@') {
        Some(file) => {
            std::fs::read_to_string(file).map_err(|error| format!("--args @{file}: {error}"))?
        }
        None if given == "-" => {
            let mut text = String::new();
            let read = std::io::stdin().read_to_string(&mut text);
            read.map_err(|error| format!("--args -: {error}"))?;
            text
        }
        None => given.to_owned(),
    };
    let example = "for example --args '{\"path\": \"/\"}'";
    match serde_json::from_str(&text) {
        Ok(args @ Value::Object(_)) => Ok(args),
        Ok(_) => Err(format!("--args is a JSON object, {example}")),
        Err(error) => Err(format!("--args is no JSON ({error}); {example}")),
    }
}

/// Says where the call goes on that nobody waits for any more.
async fn goes_on(server: &Server, mark: &str) -> String {
    let look = server.get("/tasks?kind=call&limit=100");
    let tasks = tokio::time::timeout(LOOK_WITHIN, look).await;
    let found = tasks.ok().and_then(Result::ok).and_then(|tasks| {
        let items = tasks.get("items")?.as_array()?.clone();
        let ours = items
            .iter()
            .find(|task| task.pointer("/metadata/call").and_then(Value::as_str) == Some(mark))?;
        ours.get("task_id")?.as_str().map(str::to_owned)
    });
    let at = format!(" --server {}", server.base());
    match found {
        Some(id) => format!(
            "stopped waiting; the call goes on as task {id}\n  \
             its end:    ccfleet task watch {id}{at}\n  \
             cancel it:  ccfleet task cancel {id}{at}"
        ),
        None => format!(
            "stopped waiting; whether the call was made is shown by: ccfleet task list --kind call --limit 5{at}"
        ),
    }
}

/// Prints what came of it, and says so with the exit code.
fn tell(args: &Args, answer: Result<Answer, Lost>) -> ExitCode {
    let answer = match answer {
        Ok(answer) => answer,
        Err(lost) => {
            let words = match lost {
                Lost::Unreachable(_) => "the call was not made",
                Lost::NoAnswer(_) => "nobody can tell yet whether the call was made",
            };
            eprintln!("ccfleet: {lost}\n  {words}");
            return ExitCode::from(NOT_DONE);
        }
    };
    let code = exit_code(&answer);
    if args.json {
        say!("{:#}", answer.body);
    } else if answer.status == 200 {
        if let Some(result) = answer.body.get("result") {
            let shown = readable(result);
            if !shown.is_empty() {
                say!("{shown}");
            }
        }
        if let Some(words) = ending(&answer.body) {
            eprintln!("ccfleet: {words}");
        }
    } else {
        eprintln!("ccfleet: {}", answer.problem());
    }
    ExitCode::from(code)
}

fn exit_code(answer: &Answer) -> u8 {
    let outcome = answer.body.get("outcome").and_then(Value::as_str);
    match (answer.status, outcome) {
        (200, Some("done")) => {
            // Tools that run programs report how those ended.
            let failed = answer.body.pointer("/result/success") == Some(&Value::Bool(false));
            u8::from(failed)
        }
        (200, Some("failed")) => 1,
        (400 | 413 | 422, _) => 2,
        _ => NOT_DONE,
    }
}

/// What there is to say of a call that ran and did not do what it should.
fn ending(body: &Value) -> Option<String> {
    let text = |key: &str| body.get(key).and_then(Value::as_str);
    let words = match text("outcome") {
        Some("done") => return None,
        Some("failed") => "the tool failed",
        Some("not_started") => "the call did not start",
        _ => "nobody can tell whether it happened; look before you repeat it",
    };
    let error = text("error").map(|error| format!(": {error}"));
    let code = text("code").map(|code| format!(" ({code})"));
    let task = text("task_id").map(|id| format!("\n  task {id}"));
    let parts = [error, code, task].into_iter().flatten();
    Some(parts.fold(words.to_owned(), |words, part| words + &part))
}

/// A result for people: texts as they are, the rest field by field.
fn readable(result: &Value) -> String {
    match result {
        Value::Object(fields) => {
            let mut lines = Vec::new();
            fields_into(&mut lines, fields, "");
            lines.join("\n")
        }
        Value::String(text) => text.trim_end().to_owned(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn fields_into(lines: &mut Vec<String>, fields: &Map<String, Value>, indent: &str) {
    for (name, value) in fields {
        match value {
            Value::Null => {}
            Value::String(text) if text.trim_end().contains('\n') => {
                lines.push(format!("{indent}{name}:"));
                lines.extend(
                    text.trim_end()
                        .lines()
                        .map(|line| format!("{indent}  {line}")),
                );
            }
            Value::String(text) => lines.push(format!("{indent}{name}: {}", text.trim_end())),
            Value::Array(items) if !items.is_empty() => {
                lines.push(format!("{indent}{name}:"));
                lines.extend(
                    items
                        .iter()
                        .map(|item| format!("{indent}  {}", in_line(item))),
                );
            }
            Value::Object(inner) if !inner.is_empty() => {
                lines.push(format!("{indent}{name}:"));
                fields_into(lines, inner, &format!("{indent}  "));
            }
            other => lines.push(format!("{indent}{name}: {other}")),
        }
    }
}

/// A value of a list in one line.
fn in_line(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| format!("{name} {}", in_line(value));
            fields.iter().map(field).collect::<Vec<_>>().join("  ")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(status: u16, body: Value) -> u8 {
        exit_code(&Answer { status, body })
    }

    #[test]
    fn the_exit_code_says_how_it_ended() {
        assert_eq!(code(200, json!({"outcome": "done", "result": {}})), 0);
        let failed = json!({"outcome": "done", "result": {"success": false}});
        assert_eq!(code(200, failed), 1);
        assert_eq!(code(200, json!({"outcome": "failed"})), 1);
        for outcome in ["unknown", "not_started"] {
            assert_eq!(code(200, json!({"outcome": outcome})), 3);
        }
        assert_eq!(code(422, json!({"code": "bad_args"})), 2);
        for status in [403, 404, 409, 503, 504] {
            assert_eq!(code(status, json!({})), 3);
        }
    }

    #[test]
    fn arguments_are_an_object_from_the_line_or_a_file() {
        assert_eq!(read_args("{\"a\": 1}"), Ok(json!({"a": 1})));
        assert!(read_args("[1]").unwrap_err().contains("for example"));
        assert!(read_args("path=/").unwrap_err().contains("no JSON"));
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "{\"b\": 2}").unwrap();
        let from_file = read_args(&format!("@{}", file.path().display()));
        assert_eq!(from_file, Ok(json!({"b": 2})));
        assert!(
            read_args("@/no/such/file")
                .unwrap_err()
                .contains("@/no/such/file")
        );
    }

    #[test]
    fn a_time_is_written_with_its_unit_and_bounded() {
        assert_eq!(timeout("2m"), Ok(Duration::from_secs(120)));
        for wrong in ["5", "11m", "0s", "soon"] {
            assert!(timeout(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_result_is_shown_field_by_field_with_texts_as_they_are() {
        let result = json!({"output": "a\nb\n", "success": true, "left": null,
            "entries": [{"name": "x", "size": 3}], "run": {"duration_ms": 5}, "none": []});
        assert_eq!(
            readable(&result),
            "entries:\n  name x  size 3\nnone: []\noutput:\n  a\n  b\nrun:\n  duration_ms: 5\nsuccess: true"
        );
        assert_eq!(readable(&json!("plain\n")), "plain");
    }

    #[test]
    fn what_did_not_work_is_told_with_its_task() {
        let body = json!({"outcome": "unknown", "error": "no answer", "code": "timeout", "task_id": "tsk_1"});
        let told = ending(&body).unwrap();
        assert!(told.contains("look before you repeat it: no answer (timeout)"));
        assert!(told.contains("tsk_1"));
        assert_eq!(ending(&json!({"outcome": "done"})), None);
    }
}
