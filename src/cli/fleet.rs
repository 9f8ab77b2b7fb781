//! `ccfleet fleet`: the computers of a running server, what they can do, and stopping them.

use super::server::{Server, ServerArg};
use super::words::{at_ms, items, length, now_ms, text};
use super::{Exit, Failure};
use crate::domain::schema_brief::brief_schema;
use serde_json::{Value, json};

const EXAMPLES: &str = "\
Examples:
  ccfleet fleet                     every computer that ever connected; the same as: ccfleet fleet list
  ccfleet fleet miner-1             one computer, with its tools and their arguments
  ccfleet fleet tools               every tool, and which computers have it
  ccfleet fleet stop miner-1        no new calls there; running ones are cancelled
  ccfleet fleet stop                the same for all computers
  ccfleet fleet resume              go on
  ccfleet fleet --json              as the API gives it
  ccfleet fleet show tools          a computer whose name is one of the words above

States: ready, busy (a call runs), unresponsive (connected, its program does not answer), offline, stopped.
Run a tool: ccfleet call COMPUTER/TOOL --args JSON

Exit codes: 0 done, 1 it went wrong (no such computer), 2 wrong use, 5 no server answers.";

/// Show computers and their tools; stop and resume them.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub struct Args {
    /// One computer instead of all
    #[arg(value_name = "COMPUTER")]
    pub computer: Option<String>,

    #[command(subcommand)]
    pub what: Option<What>,

    /// Print the API's answer as JSON
    #[arg(long, global = true)]
    pub json: bool,

    #[command(flatten)]
    pub server: ServerArg,
}

#[derive(Debug, clap::Subcommand)]
pub enum What {
    /// Every computer that ever connected
    List,
    /// One computer, with its tools and their arguments
    Show {
        #[arg(value_name = "COMPUTER")]
        computer: String,
    },
    /// Every tool, and which computers have it
    Tools,
    /// No new calls; running ones are cancelled. Without a name: everywhere
    Stop {
        #[arg(value_name = "COMPUTER")]
        computer: Option<String>,
    },
    /// Go on after a stop. Without a name: everywhere
    Resume {
        #[arg(value_name = "COMPUTER")]
        computer: Option<String>,
    },
}

/// Does what is asked.
///
/// # Errors
/// No server, no such computer.
pub async fn run(args: Args) -> Result<Exit, Failure> {
    let server = Server::new(&args.server)?;
    match (&args.what, &args.computer) {
        (Some(What::Stop { computer }), _) => {
            halt(&server, computer.as_deref(), &STOP, args.json).await
        }
        (Some(What::Resume { computer }), _) => {
            halt(&server, computer.as_deref(), &RESUME, args.json).await
        }
        (Some(What::Tools), _) => show(&server.get("/tools").await?, args.json, tools),
        (Some(What::Show { computer }), _) | (None, Some(computer)) => {
            let list = server.get("/computers").await?;
            show(one(&list, computer)?, args.json, |c| {
                vec![computer_page(c, now_ms())]
            })
        }
        (Some(What::List), _) | (None, None) => {
            show(&server.get("/computers").await?, args.json, |list| {
                computers(list, now_ms())
            })
        }
    }
}

fn show(
    answer: &Value,
    as_json: bool,
    lines: impl FnOnce(&Value) -> Vec<String>,
) -> Result<Exit, Failure> {
    match as_json {
        true => say!("{answer:#}"),
        false => lines(answer).iter().for_each(|line| say!("{line}")),
    }
    Ok(Exit::Done)
}

/// How stopping and going on differ.
struct Halt {
    path: &'static str,
    did: &'static str,
    nothing: &'static str,
}

const STOP: Halt = Halt {
    path: "/stop",
    did: "stopped",
    nothing: "nothing to stop: it was stopped before",
};
const RESUME: Halt = Halt {
    path: "/resume",
    did: "resumed",
    nothing: "nothing to resume: nothing was stopped",
};

async fn halt(
    server: &Server,
    computer: Option<&str>,
    halt: &Halt,
    as_json: bool,
) -> Result<Exit, Failure> {
    let body = computer.map_or(json!({}), |id| json!({"client_id": id}));
    let report = server.post(halt.path, &body).await?;
    show(&report, as_json, |report| {
        vec![halted(report, computer, halt)]
    })
}

fn halted(report: &Value, computer: Option<&str>, halt: &Halt) -> String {
    let count = |key: &str| report.get(key).and_then(Value::as_u64).unwrap_or(0);
    let who = match (computer, count("computers")) {
        (_, 0) => return halt.nothing.to_owned(),
        (Some(name), _) => name.to_owned(),
        (None, 1) => "1 computer".to_owned(),
        (None, many) => format!("{many} computers"),
    };
    match count("cancelled_calls") {
        0 => format!("{who} {}", halt.did),
        1 => format!("{who} {}; 1 running call is cancelled", halt.did),
        calls => format!("{who} {}; {calls} running calls are cancelled", halt.did),
    }
}

fn one<'a>(list: &'a Value, name: &str) -> Result<&'a Value, Failure> {
    let named = |computer: &&Value| text(computer, "client_id") == name;
    items(list).iter().find(named).ok_or_else(|| {
        let like = |c: &&Value| strsim::jaro_winkler(name, text(c, "client_id"));
        let best = items(list)
            .iter()
            .max_by(|a, b| like(a).total_cmp(&like(b)));
        let guess = best.filter(|c| like(c) > 0.8);
        let guess = guess.map(|c| format!("; did you mean {}?", text(c, "client_id")));
        let words = format!(
            "no computer \"{name}\" was ever connected{} All: ccfleet fleet",
            guess.unwrap_or_else(|| ".".to_owned())
        );
        Failure::new(Exit::Failed, words)
    })
}

/// One line a computer, below a head.
fn computers(list: &Value, now_ms: i64) -> Vec<String> {
    if items(list).is_empty() {
        return vec![
            "no computer was ever connected; on one: wget run http://HOST:PORT/install.lua"
                .to_owned(),
            "without a game: ccfleet sim --count 1".to_owned(),
        ];
    }
    let head = [
        "NAME", "LABEL", "KIND", "STATE", "SINCE", "TOOLS", "QUEUE", "CALL", "GROUPS",
    ];
    let row = |c: &Value| {
        vec![
            text(c, "client_id").to_owned(),
            text(c, "label").to_owned(),
            text(c, "kind").to_owned(),
            text(c, "state").to_owned(),
            since(c, now_ms),
            tool_count(c),
            c.get("queue").map_or("-".to_owned(), Value::to_string),
            text(c, "current_call").to_owned(),
            groups(c),
        ]
    };
    let mut lines = table(&head, items(list).iter().map(row).collect());
    let recent = |c: &&Value| {
        age_s(c, "second_copy_refused", now_ms).is_some_and(|age| age < SECOND_COPY_SHOWN_S)
    };
    let shared = items(list).iter().filter(recent);
    lines.extend(shared.filter_map(|c| {
        let note = second_copy(c, now_ms)?;
        Some(format!("{}: {note}", text(c, "client_id")))
    }));
    lines
}

/// How long the list tells of a second copy, in seconds; one that lives tries again within a minute.
const SECOND_COPY_SHOWN_S: i64 = 600;

/// That two live computers share a name, if they did.
fn second_copy(computer: &Value, now_ms: i64) -> Option<String> {
    let age = length(age_s(computer, "second_copy_refused", now_ms)?);
    Some(format!(
        "a second live computer of this name was refused {age} ago; run the installer on one of them with --id NAME"
    ))
}

/// How many tools can be called, and how many drafts there are beside them.
fn tool_count(computer: &Value) -> String {
    let tools = computer.get("tools").and_then(Value::as_array);
    let tools = tools.map(Vec::as_slice).unwrap_or_default();
    let drafts = tools
        .iter()
        .filter(|t| text(t, "state") != "active")
        .count();
    match drafts {
        0 => tools.len().to_string(),
        drafts => format!("{}+{drafts}", tools.len() - drafts),
    }
}

fn groups(computer: &Value) -> String {
    let groups = computer.get("groups").and_then(Value::as_array);
    let names: Vec<&str> = groups
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if names.is_empty() {
        "-".to_owned()
    } else {
        names.join(",")
    }
}

/// How long it has been in its state.
fn since(computer: &Value, now_ms: i64) -> String {
    age_s(computer, "since", now_ms).map_or("-".to_owned(), length)
}

/// How many seconds ago a time was.
fn age_s(computer: &Value, key: &str, now_ms: i64) -> Option<i64> {
    let at = at_ms(text(computer, key))?;
    Some(now_ms.saturating_sub(at).max(0) / 1000)
}

/// All that is known of one computer.
fn computer_page(computer: &Value, now_ms: i64) -> String {
    let name = text(computer, "client_id");
    let label = match text(computer, "label") {
        "-" => String::new(),
        label => format!(" \"{label}\""),
    };
    let mut lines = vec![
        format!(
            "{name}{label}: {}, {} since {}",
            text(computer, "kind"),
            text(computer, "state"),
            since(computer, now_ms)
        ),
        format!("  groups   {}", groups(computer)),
        format!("  library  {}", text(computer, "library_version")),
        format!(
            "  queue    {}, now {}",
            computer
                .get("queue")
                .map_or("-".to_owned(), Value::to_string),
            text(computer, "current_call")
        ),
    ];
    lines.extend(second_copy(computer, now_ms).map(|note| format!("  note     {note}")));
    lines.push(String::new());
    let tools = computer.get("tools").and_then(Value::as_array);
    let row = |tool: &Value| {
        vec![
            text(tool, "name").to_owned(),
            text(tool, "effect").to_owned(),
            text(tool, "state").to_owned(),
            arguments(tool),
        ]
    };
    let rows: Vec<Vec<String>> = tools.into_iter().flatten().map(row).collect();
    match rows.is_empty() {
        true => lines.push("no tools registered".to_owned()),
        false => lines.extend(table(&["TOOL", "EFFECT", "STATE", "ARGUMENTS"], rows)),
    }
    lines.join("\n")
}

fn arguments(tool: &Value) -> String {
    match (tool.get("args_schema"), tool.get("args")) {
        (Some(schema), _) => brief_schema(schema),
        (None, Some(Value::String(words))) => words.clone(),
        (None, _) => "any".to_owned(),
    }
}

/// One line a tool, below a head. Tools of one name that differ stand in lines of their own.
fn tools(list: &Value) -> Vec<String> {
    if items(list).is_empty() {
        return vec!["no computer has registered a tool".to_owned()];
    }
    const SHOWN: usize = 4;
    let row = |tool: &Value| {
        let owners = tool.get("owners").and_then(Value::as_array);
        let owners = owners.map(Vec::as_slice).unwrap_or_default();
        let online = |o: &&Value| o.get("online") == Some(&Value::Bool(true));
        let there = owners.iter().filter(online).count();
        let mut names: Vec<&str> = owners
            .iter()
            .take(SHOWN)
            .map(|o| text(o, "client_id"))
            .collect();
        let more = format!("and {} more", owners.len().saturating_sub(SHOWN));
        if owners.len() > SHOWN {
            names.push(&more);
        }
        vec![
            text(tool, "name").to_owned(),
            text(tool, "effect").to_owned(),
            text(tool, "state").to_owned(),
            format!("{there} of {}", owners.len()),
            names.join(" "),
            arguments(tool),
        ]
    };
    let head = [
        "TOOL",
        "EFFECT",
        "STATE",
        "ONLINE",
        "COMPUTERS",
        "ARGUMENTS",
    ];
    table(&head, items(list).iter().map(row).collect())
}

/// Columns as wide as what stands in them; the last one as it is.
pub(super) fn table(head: &[&str], rows: Vec<Vec<String>>) -> Vec<String> {
    let head: Vec<String> = head.iter().map(|&h| h.to_owned()).collect();
    let width = |column: usize| {
        let cells = std::iter::once(&head).chain(&rows);
        let widths = cells
            .filter_map(|row| row.get(column))
            .map(|c| c.chars().count());
        widths.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths);
        let padded: Vec<String> = cells
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        padded.join("  ").trim_end().to_owned()
    };
    std::iter::once(&head).chain(&rows).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> Value {
        json!({"items": [
            {"client_id": "miner-1", "label": "the digger", "kind": "turtle", "groups": ["quarry", "north"],
             "online": true, "state": "busy", "since": "2023-11-14T22:13:20.000Z", "library_version": "0.1.0",
             "queue": 2, "current_call": "cal_1", "owner": "local", "second_copy_refused": "2023-11-14T22:13:25.000Z", "tools": [
                {"name": "dig", "effect": "effect", "state": "active", "args_schema": {
                    "properties": {"depth": {"type": "integer"}, "side": {"type": "string"}}, "required": ["depth"]}},
                {"name": "fill", "effect": "effect", "state": "draft", "args": "how much"}]},
            {"client_id": "base", "label": null, "kind": null, "groups": [], "online": false, "state": "offline",
             "since": "2023-11-14T22:01:20.000Z", "library_version": null, "queue": 0, "owner": "local", "tools": []}]})
    }

    /// 30 seconds after the first one changed.
    const NOW_MS: i64 = 1_700_000_030_000;

    #[test]
    fn the_list_has_a_line_for_each_computer() {
        insta::assert_snapshot!(computers(&list(), NOW_MS).join("\n"));
    }

    #[test]
    fn a_computer_is_shown_with_its_tools_and_their_arguments() {
        insta::assert_snapshot!(computer_page(one(&list(), "miner-1").unwrap(), NOW_MS));
    }

    #[test]
    fn tools_are_shown_with_those_who_have_them() {
        let owner = |n: usize| json!({"client_id": format!("m{n}"), "online": n.is_multiple_of(2)});
        let owners: Vec<Value> = (0..6).map(owner).collect();
        let list = json!({"items": [{"name": "dig", "effect": "effect", "state": "active", "owners": owners},
            {"name": "fs_read", "effect": "read", "state": "active", "owners": [owner(1)],
             "args_schema": {"properties": {"path": {"type": "string"}}, "required": ["path"]}}]});
        insta::assert_snapshot!(tools(&list).join("\n"));
    }

    #[test]
    fn a_computer_that_is_not_known_is_told_with_a_guess() {
        let told = one(&list(), "miner1").unwrap_err().text;
        assert!(told.contains("did you mean miner-1?"), "{told}");
        assert!(
            one(&list(), "zzz")
                .unwrap_err()
                .text
                .contains("ever connected.")
        );
    }

    #[test]
    fn an_empty_fleet_says_how_a_computer_joins() {
        let told = computers(&json!({"items": []}), 0).join("\n");
        assert!(told.contains("install.lua") && told.contains("ccfleet sim"));
    }

    #[test]
    fn what_stop_did_is_told_in_a_sentence() {
        let report = |computers, calls| json!({"computers": computers, "cancelled_calls": calls});
        assert_eq!(
            halted(&report(1, 2), Some("miner-1"), &STOP),
            "miner-1 stopped; 2 running calls are cancelled"
        );
        assert_eq!(halted(&report(3, 0), None, &RESUME), "3 computers resumed");
        assert!(halted(&report(0, 0), None, &RESUME).contains("nothing"));
    }
}
