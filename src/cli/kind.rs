//! `ccfleet kind`: the kinds of a running server.

use super::fleet::table;
use super::server::{Server, ServerArg, encoded, no_answer};
use super::words::{harmless, items, text};
use super::{Exit, Failure};
use serde_json::{Map, Value, json};
use std::io::Read;

const EXAMPLES: &str = "\
Examples:
  ccfleet kind list
  ccfleet kind show code_job
  ccfleet kind show code_job --toml > mine.toml     as a file to change
  ccfleet kind create mine.toml                     a new one; tasks can have it at once
  ccfleet kind create mine.toml --replace           or changes the one of that name
  ccfleet kind create - < mine.toml
  ccfleet kind delete mine                          a built-in one is then as it came with the program
  ccfleet kind strategies                           what `strategy` may be
  ccfleet kind toolsets                             what `toolsets` may hold

docs/kinds.md explains the keys. Tasks that were begun keep the kind that they began with.

Exit codes: 0 done, 1 it went wrong (no such kind, one that cannot be used), 2 wrong use, 5 no server answers.";

/// What an answer says beside a kind's own keys.
const TOLD: [&str; 4] = ["embedded", "changed", "default", "effective"];

/// Show, make, change and delete kinds: how tasks are done.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    what: What,

    /// Print the API's answer as JSON
    #[arg(long, global = true)]
    json: bool,

    #[command(flatten)]
    server: ServerArg,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Every kind
    List,
    /// One kind
    Show {
        kind: String,
        /// As a file
        #[arg(long, conflicts_with = "json")]
        toml: bool,
    },
    /// Make a kind of a file, TOML or JSON; `-` reads standard input
    Create {
        file: String,
        /// Also if there is one of that name
        #[arg(long)]
        replace: bool,
    },
    /// Take a kind away, or take back what was changed of a built-in one
    Delete { kind: String },
    /// What a kind's `strategy` may be
    Strategies,
    /// What a kind's `toolsets` may hold
    Toolsets,
}

/// Does what is asked.
///
/// # Errors
/// No server, no such kind, or one that cannot be used; the text names its key.
pub async fn run(args: Args) -> Result<Exit, Failure> {
    let server = Server::new(&args.server)?;
    let (answer, lines) = match &args.what {
        What::List => {
            let list = server.get("/kinds").await?;
            let lines = kinds(&list);
            (list, lines)
        }
        What::Show { kind, toml } => {
            let kind = server.get(&format!("/kinds/{}", encoded(kind))).await?;
            let lines = match toml {
                true => vec![file_of(&kind)?],
                false => page(&kind),
            };
            (kind, lines)
        }
        What::Create { file, replace } => create(&server, file, *replace).await?,
        What::Delete { kind } => {
            let done = server.delete(&format!("/kinds/{}", encoded(kind))).await?;
            let line = match done["restored"].as_bool() {
                Some(true) => format!("{kind} is again as it came with the program"),
                _ => format!("{kind} is gone; tasks that were begun with it keep it"),
            };
            (done, vec![line])
        }
        What::Strategies => {
            let list = server.get("/strategies").await?;
            let lines = named(&list, "STRATEGY");
            (list, lines)
        }
        What::Toolsets => {
            let list = server.get("/toolsets").await?;
            let lines = named(&list, "TOOLSET");
            (list, lines)
        }
    };
    match args.json {
        true => say!("{answer:#}"),
        false => lines.iter().for_each(|line| say!("{line}")),
    }
    Ok(Exit::Done)
}

async fn create(
    server: &Server,
    file: &str,
    replace: bool,
) -> Result<(Value, Vec<String>), Failure> {
    let usage = |words: String| Failure::new(Exit::Usage, words);
    let body = read(file).map_err(usage)?;
    let kind = body.get("kind").and_then(Value::as_str);
    let kind = kind.ok_or_else(|| usage(format!("{file}: there is no `kind = \"NAME\"` in it")))?;
    let path = format!("/kinds/{}", encoded(kind));
    if !replace && server.look(&path).await.map_err(no_answer)?.status == 200 {
        let words = format!("there is a kind \"{kind}\" already; --replace changes it");
        return Err(Failure::new(Exit::Failed, words));
    }
    let answer = server.put(&path, &body).await.map_err(no_answer)?;
    let word = match answer.status {
        201 => "there, and tasks can have it",
        _ => "changed, for tasks that begin from now on",
    };
    let line = format!("{kind} is {word}: ccfleet task new \"…\" --kind {kind}");
    Ok((answer.ok()?, vec![line]))
}

/// A file of a kind, as JSON.
fn read(file: &str) -> Result<Value, String> {
    let mut text = String::new();
    let read = match file {
        "-" => std::io::stdin().read_to_string(&mut text).map(|_| ()),
        _ => std::fs::read_to_string(file).map(|read| text = read),
    };
    read.map_err(|error| format!("{file}: {error}"))?;
    match text.trim_start().starts_with('{') {
        true => serde_json::from_str(&text).map_err(|error| format!("{file}: {error}")),
        false => toml::from_str(&text).map_err(|error| format!("{file}: {error}")),
    }
}

/// A kind as the file that would make it.
fn file_of(kind: &Value) -> Result<String, Failure> {
    let own = kind.as_object().cloned().unwrap_or_default();
    let says_something =
        |value: &Value| !value.is_null() && value.as_object().is_none_or(|v| !v.is_empty());
    let own: Map<String, Value> = own
        .into_iter()
        .filter(|(key, value)| !TOLD.contains(&key.as_str()) && says_something(value))
        .collect();
    toml::to_string_pretty(&own)
        .map(|text| text.trim_end().to_owned())
        .map_err(|error| Failure::new(Exit::Failed, error))
}

fn from(kind: &Value) -> &'static str {
    let is = |key: &str| kind[key] == json!(true);
    match (is("embedded"), is("changed")) {
        (true, true) => "built-in, changed",
        (true, false) => "built-in",
        (false, _) => "yours",
    }
}

fn kinds(list: &Value) -> Vec<String> {
    let row = |kind: &Value| {
        let default = match kind["default"].as_bool() {
            Some(true) => "*",
            _ => "",
        };
        vec![
            format!("{}{default}", text(kind, "kind")),
            text(kind, "strategy").to_owned(),
            from(kind).to_owned(),
            harmless(text(kind, "description")),
        ]
    };
    let head = ["KIND", "STRATEGY", "FROM", "DESCRIPTION"];
    let mut lines = table(&head, items(list).iter().map(row).collect());
    lines.push("* runs where no kind is named".to_owned());
    lines
}

fn page(kind: &Value) -> Vec<String> {
    let mut lines = vec![
        format!(
            "{} ({}): {}",
            text(kind, "kind"),
            from(kind),
            harmless(text(kind, "description"))
        ),
        format!("  strategy  {}", text(kind, "strategy")),
        format!("  tools     {}", words(&kind["effective"]["allowed_tools"])),
    ];
    let budgets = kind["effective"]["budgets"].as_object();
    let budgets = budgets.into_iter().flatten();
    let budgets: Vec<String> = budgets
        .map(|(key, value)| format!("{key} {value}"))
        .collect();
    lines.push(format!("  budgets   {}", budgets.join(", ")));
    let models = kind["models"].as_object().into_iter().flatten();
    for (role, choice) in models {
        lines.push(format!("  {role:<9} {choice}"));
    }
    let instructions = harmless(text(kind, "instructions"));
    if !instructions.trim().is_empty() {
        lines.push("  instructions".to_owned());
        let told = instructions.trim().lines();
        lines.extend(told.map(|line| format!("    {line}")));
    }
    lines.push(format!(
        "All its keys: ccfleet kind show {} --toml; with what the settings add: --json",
        text(kind, "kind")
    ));
    lines
}

fn words(list: &Value) -> String {
    let words = list.as_array().into_iter().flatten();
    let words: Vec<&str> = words.filter_map(Value::as_str).collect();
    match words.is_empty() {
        true => "none".to_owned(),
        false => words.join(" "),
    }
}

fn named(list: &Value, head: &str) -> Vec<String> {
    let row = |item: &Value| {
        let tools = item.get("tools").map(words);
        let description = text(item, "description").to_owned();
        let description = tools.map_or(description.clone(), |tools| {
            format!("{description}: {tools}")
        });
        vec![text(item, "name").to_owned(), description]
    };
    table(
        &[head, "DESCRIPTION"],
        items(list).iter().map(row).collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind() -> Value {
        json!({"kind": "fishing", "description": "Fish\u{1b}[2J", "strategy": "direct", "allowed_tools": [], "toolsets": ["look"],
            "demand_proof": false, "instructions": "Be patient.\nBe quiet.\n", "models": {"planner": {"model": "qwen3:8b"}},
            "budgets": {"steps": 3}, "memory": {}, "embedded": false, "changed": false, "default": true,
            "effective": {"allowed_tools": ["fs_read", "fs_list"], "budgets": {"steps": 3, "calls": 80}}})
    }

    #[test]
    fn kinds_are_listed_and_shown() {
        let mut other = kind();
        other["embedded"] = json!(true);
        other["changed"] = json!(true);
        other["default"] = json!(false);
        let mut told = kinds(&json!({"items": [kind(), other]}));
        told.push("---".to_owned());
        told.extend(page(&kind()));
        told.push("---".to_owned());
        let sets =
            json!({"items": [{"name": "look", "description": "Look", "tools": ["fs_*", "dig"]}]});
        told.extend(named(&sets, "TOOLSET"));
        insta::assert_snapshot!(told.join("\n"));
    }

    #[test]
    fn a_shown_file_is_read_back_as_the_kind_without_what_was_told_beside_it() {
        let text = file_of(&kind()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("k.toml");
        std::fs::write(&file, &text).unwrap();
        let back = read(file.to_str().unwrap()).unwrap();
        let mut expected = kind();
        let fields = expected.as_object_mut().unwrap();
        fields.retain(|key, _| !TOLD.contains(&key.as_str()) && key != "memory");
        assert_eq!(back, expected);
        std::fs::write(&file, expected.to_string()).unwrap();
        assert_eq!(read(file.to_str().unwrap()), Ok(expected));
        std::fs::write(&file, "kind = ").unwrap();
        assert!(read(file.to_str().unwrap()).unwrap_err().contains("k.toml"));
    }
}
