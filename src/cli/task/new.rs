//! `ccfleet task new`

use super::watch::{self, Answers};
use crate::cli::data::DataArg;
use crate::cli::server::{Server, encoded};
use crate::cli::words::text;
use crate::cli::{Exit, Failure};
use serde_json::{Map, Value, json};
use std::io::Read;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  ccfleet task new \"write /hello.lua that prints the day\" --on miner-1 --watch
  ccfleet task new \"which chests are full?\" --kind inspect --on base
  ccfleet task new \"build a wall\" --on turtle-1 --interactive --watch     it may ask you
  ccfleet task new \"feed the furnaces\" --on base --every 10m --budget-steps 500
  ccfleet task new \"report\" --kind general_agent --cron \"0 8 * * *\"       at 8:00 UTC
  ccfleet task new - --json < prompt.txt                                  prompt from standard input

Kinds: ccfleet kind list. Computers: ccfleet fleet list.";

/// Give a task to the fleet
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct NewArgs {
    /// What shall be done, in plain words; several words need no quotes, `-` reads standard input
    #[arg(value_name = "PROMPT", required = true, num_args = 1..)]
    prompt: Vec<String>,

    /// How it is done [default: the server's default kind]
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,

    /// The computer that bare tool names mean
    #[arg(long, value_name = "COMPUTER")]
    on: Option<String>,

    /// It may ask you as often as it wants
    #[arg(long)]
    interactive: bool,

    /// Run it again and again, this long after each begin: 90s, 10m, 1h
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, conflicts_with = "cron")]
    every: Option<Duration>,

    /// Run it at these times: minute hour day month weekday, in UTC
    #[arg(long, value_name = "EXPRESSION")]
    cron: Option<String>,

    /// The last moment of --every or --cron, RFC 3339
    #[arg(long, value_name = "TIME")]
    until: Option<String>,

    /// Wake it when an event of this name happens in the world; `*` stands for any text; may be repeated
    #[arg(long, value_name = "NAME")]
    on_event: Vec<String>,

    /// It sleeps after its end and can be woken: ccfleet task wake
    #[arg(long)]
    on_demand: bool,

    /// A tool that it may use, `*` stands for any text; may be repeated [default: what the kind allows]
    #[arg(long, value_name = "TOOL")]
    allow: Vec<String>,

    /// What it should know, as JSON; `@FILE` reads a file
    #[arg(long, value_name = "JSON")]
    context: Option<String>,

    #[command(flatten)]
    budgets: BudgetArgs,

    /// A second request with the same key within 24 hours gives the first one's task
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,

    /// Follow it to its end
    #[arg(long, short)]
    watch: bool,

    #[command(flatten)]
    answers: Answers,
}

#[derive(Debug, clap::Args)]
struct BudgetArgs {
    /// At most so many turns of the model [default: the kind's]
    #[arg(long, value_name = "N")]
    budget_steps: Option<u32>,
    /// At most so many calls
    #[arg(long, value_name = "N")]
    budget_calls: Option<u32>,
    /// At most so many questions
    #[arg(long, value_name = "N")]
    budget_questions: Option<u32>,
    /// At most this long: 90s, 10m, 1h
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    budget_time: Option<Duration>,
    /// At most so many tokens
    #[arg(long, value_name = "N")]
    budget_tokens: Option<u64>,
}

/// Gives the task, and follows it if that is wanted.
///
/// # Errors
/// Wrong use, no server, or a task that the server does not take.
pub(super) async fn run(
    args: &NewArgs,
    server: Server,
    data: &DataArg,
    as_json: bool,
) -> Result<Exit, Failure> {
    let body = body(args).map_err(|words| Failure::new(Exit::Usage, words))?;
    if let Some(kind) = &args.kind {
        // The server would run an unknown one as the default; people misspell.
        server.get(&format!("/kinds/{}", encoded(kind))).await?;
    }
    let task = server.post("/tasks", &body).await?;
    let id = text(&task, "task_id").to_owned();
    match (as_json, args.watch) {
        (true, false) => say!("{task:#}"),
        (true, true) => {}
        (false, _) => say!(
            "{id} is {}, kind {}",
            text(&task, "status"),
            text(&task, "kind")
        ),
    }
    if args.watch {
        return watch::follow(server, &id, &args.answers, data, as_json).await;
    }
    if !as_json {
        say!("  watch it    ccfleet task watch {id}");
        say!("  cancel it   ccfleet task cancel {id}");
    }
    Ok(Exit::Done)
}

fn body(args: &NewArgs) -> Result<Value, String> {
    let mut body = Map::new();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            body.insert(key.to_owned(), value);
        }
    };
    put("prompt", Some(json!(prompt(&args.prompt)?)));
    put("kind", args.kind.as_ref().map(|kind| json!(kind)));
    put("client_id", args.on.as_ref().map(|on| json!(on)));
    put("interactive", args.interactive.then_some(json!(true)));
    put("context", args.context.as_deref().map(context).transpose()?);
    let allowed = (!args.allow.is_empty()).then(|| json!(args.allow));
    put("allowed_commands", allowed);
    put("schedule", schedule(args)?);
    let wakes = !args.on_event.is_empty() || args.on_demand;
    let wakes = wakes.then(|| json!({"events": args.on_event, "on_demand": args.on_demand}));
    put("wakes", wakes);
    put("budgets", budgets(&args.budgets)?);
    let key = args.idempotency_key.as_ref();
    put("idempotency_key", key.map(|key| json!(key)));
    Ok(Value::Object(body))
}

fn prompt(words: &[String]) -> Result<String, String> {
    if words != ["-"] {
        return Ok(words.join(" "));
    }
    let mut text = String::new();
    let read = std::io::stdin().read_to_string(&mut text);
    read.map_err(|error| format!("the prompt on standard input: {error}"))?;
    Ok(text)
}

fn context(given: &str) -> Result<Value, String> {
    let text = match given.strip_prefix('@') {
        Some(file) => {
            std::fs::read_to_string(file).map_err(|error| format!("--context @{file}: {error}"))?
        }
        None => given.to_owned(),
    };
    let read = serde_json::from_str(&text);
    read.map_err(|error| {
        format!("--context is no JSON: {error}; a text needs its quotes: '\"so\"'")
    })
}

fn schedule(args: &NewArgs) -> Result<Option<Value>, String> {
    let mut schedule = Map::new();
    if let Some(every) = args.every {
        schedule.insert("every_s".to_owned(), json!(seconds("--every", every)?));
    }
    if let Some(cron) = &args.cron {
        schedule.insert("cron".to_owned(), json!(cron));
    }
    match (&args.until, schedule.is_empty()) {
        (Some(_), true) => return Err("--until goes with --every or --cron".to_owned()),
        (Some(until), false) => {
            schedule.insert("until".to_owned(), json!(until));
        }
        (None, _) => {}
    }
    Ok((!schedule.is_empty()).then_some(Value::Object(schedule)))
}

fn budgets(args: &BudgetArgs) -> Result<Option<Value>, String> {
    let time = args.budget_time.map(|time| seconds("--budget-time", time));
    let given = [
        ("steps", args.budget_steps.map(u64::from)),
        ("calls", args.budget_calls.map(u64::from)),
        ("questions", args.budget_questions.map(u64::from)),
        ("wall_time_s", time.transpose()?),
        ("tokens", args.budget_tokens),
    ];
    let given = given.into_iter().filter_map(|(key, value)| {
        let value = value?;
        Some((key.to_owned(), json!(value)))
    });
    let budgets: Map<String, Value> = given.collect();
    Ok((!budgets.is_empty()).then_some(Value::Object(budgets)))
}

/// Whole seconds: the server knows no shorter times.
fn seconds(flag: &str, time: Duration) -> Result<u64, String> {
    match (time.as_secs(), time.subsec_nanos()) {
        (seconds @ 1.., 0) => Ok(seconds),
        _ => Err(format!("{flag} is at least 1s, in whole seconds")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: NewArgs,
    }

    fn asked(line: &[&str]) -> Result<Value, String> {
        let line = Line::try_parse_from([&["new"], line].concat());
        body(&line.map_err(|error| error.to_string())?.args)
    }

    #[test]
    fn the_flags_become_the_request() {
        assert_eq!(
            asked(&["dig", "a", "hole"]).unwrap(),
            json!({"prompt": "dig a hole"})
        );
        let all = asked(&[
            "dig",
            "--kind",
            "goals",
            "--on",
            "t1",
            "--interactive",
            "--every",
            "1h",
            "--until",
            "2030-01-01T00:00:00Z",
            "--on-event",
            "chest_*",
            "--on-demand",
            "--allow",
            "fs_*",
            "--allow",
            "dig",
            "--context",
            "{\"depth\": 3}",
            "--budget-steps",
            "5",
            "--budget-time",
            "2m",
            "--idempotency-key",
            "k",
        ]);
        assert_eq!(
            all.unwrap(),
            json!({"prompt": "dig", "kind": "goals", "client_id": "t1", "interactive": true,
                "schedule": {"every_s": 3600, "until": "2030-01-01T00:00:00Z"},
                "wakes": {"events": ["chest_*"], "on_demand": true}, "allowed_commands": ["fs_*", "dig"],
                "context": {"depth": 3}, "budgets": {"steps": 5, "wall_time_s": 120}, "idempotency_key": "k"})
        );
    }

    #[test]
    fn what_cannot_be_meant_is_told_by_its_flag() {
        for (line, told) in [
            (&["dig", "--every", "500ms"][..], "--every is at least 1s"),
            (
                &["dig", "--until", "2030-01-01T00:00:00Z"],
                "--until goes with",
            ),
            (&["dig", "--context", "so"], "--context is no JSON"),
            (
                &["dig", "--every", "1h", "--cron", "* * * * *"],
                "cannot be used with",
            ),
            (&[], "PROMPT"),
        ] {
            let error = asked(line).unwrap_err();
            assert!(error.contains(told), "{line:?}: {error}");
        }
    }
}
