//! Resources: a task, its journal, and the files of a computer.
//!
//! `ccfleet://tasks/{task_id}`, `ccfleet://tasks/{task_id}/journal?after=N`,
//! `ccfleet://computers/{client_id}/files/{path}`. Names of computers and paths are percent-encoded.

use super::changes::TASKS;
use super::fixed::{require, visible};
use super::progress::{Waited, within};
use crate::domain::access::Principal;
use crate::domain::call::{Address, Target};
use crate::domain::ids::ClientId;
use crate::http::extract::task_id;
use crate::http::tools::{self, CallEnded, WantedCall};
use crate::http::{Api, Problem, computers, shapes};
use crate::store::TaskQuery;
use crate::wire::codes::ErrorCode;
use actix_web::http::Method;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use rmcp::model::{JsonObject, MetaObject, Resource, ResourceContents, ResourceTemplate};
use serde_json::{Value, json};

const SCHEME: &str = "ccfleet://";
/// What lists a folder, and what reads a file.
const LIST: &str = "fs_list";
const READ: &str = "fs_read";

/// Events, and about how many bytes of them, in one answer.
const EVENTS: usize = 1000;
const BYTES: usize = 1024 * 1024;

const KEPT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// What a resource's address names.
#[derive(Debug, PartialEq)]
enum Place {
    Task(String),
    Journal { task_id: String, after: u64 },
    File { client_id: String, path: String },
}

fn place(uri: &str) -> Option<Place> {
    let rest = uri.strip_prefix(SCHEME)?;
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let decoded = |text: &str| {
        let text = percent_decode_str(text).decode_utf8().ok()?;
        Some(text.into_owned())
    };
    match rest.split_once('/')? {
        ("tasks", task) => match task.split_once('/') {
            None => Some(Place::Task(decoded(task)?)),
            Some((task, "journal")) => {
                let after = match query {
                    "" => 0,
                    query => query.strip_prefix("after=")?.parse().ok()?,
                };
                let task_id = decoded(task)?;
                Some(Place::Journal { task_id, after })
            }
            Some(_) => None,
        },
        ("computers", rest) => {
            let (client_id, path) = rest.split_once("/files")?;
            let path = match path {
                "" => "/",
                path => path.strip_prefix('/').map(|_| path)?,
            };
            Some(Place::File {
                client_id: decoded(client_id)?,
                path: decoded(path)?,
            })
        }
        _ => None,
    }
}

fn files_of(client_id: &ClientId) -> String {
    let id = utf8_percent_encode(client_id.as_str(), KEPT);
    format!("{SCHEME}computers/{id}/files/")
}

/// The last tasks, and the files of every computer that can list them.
pub(super) async fn list(api: &Api, caller: &Principal) -> Result<Vec<Resource>, Problem> {
    let mut resources = Vec::new();
    let query = TaskQuery {
        owner: caller.confined_to(),
        limit: TASKS,
        ..TaskQuery::default()
    };
    for task in api.journal.tasks(query).await?.tasks {
        let id = &task.task_id;
        let title: String = task.prompt.chars().take(80).collect();
        let one = Resource::new(format!("{SCHEME}tasks/{id}"), id.as_str())
            .with_title(title.clone())
            .with_description(format!(
                "A task of kind {}: {}",
                task.kind,
                task.status.as_str()
            ))
            .with_mime_type("application/json");
        let journal = Resource::new(
            format!("{SCHEME}tasks/{id}/journal"),
            format!("{id} journal"),
        )
        .with_title(format!("Journal: {title}"))
        .with_description("Everything that happened in the task, one event a line")
        .with_mime_type("application/x-ndjson");
        resources.extend([one, journal]);
    }
    if require(caller, Method::POST, "/api/v1/tools/call").is_ok() {
        let computers = computers::own(api, caller).await?;
        let listed = computers
            .iter()
            .filter(|computer| computer.tools.active(LIST).is_some())
            .map(|computer| {
                let state = if computer.online { "online" } else { "offline" };
                Resource::new(
                    files_of(&computer.client_id),
                    format!("{} files", computer.client_id),
                )
                .with_description(format!(
                    "The root folder of {} ({state})",
                    computer.client_id
                ))
                .with_mime_type("application/json")
            });
        resources.extend(listed);
    }
    Ok(resources)
}

/// The forms of addresses.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    let form = |uri: &str, name: &str, words: &str, mime: &str| {
        ResourceTemplate::new(format!("{SCHEME}{uri}"), name)
            .with_description(words)
            .with_mime_type(mime)
    };
    let files = "A file of a computer as text, or a folder's list as JSON; read while the computer is online";
    vec![
        form(
            "tasks/{task_id}",
            "task",
            "A task as it is now",
            "application/json",
        ),
        form(
            "tasks/{task_id}/journal{?after}",
            "journal",
            "The events of a task, one a line, from the one behind `after` on; the last line says if there are more",
            "application/x-ndjson",
        ),
        ResourceTemplate::new(
            format!("{SCHEME}computers/{{client_id}}/files/{{+path}}"),
            "file",
        )
        .with_description(files),
    ]
}

/// Reads one; none if the address names nothing that there could be.
pub(super) async fn read(
    api: &Api,
    caller: &Principal,
    uri: &str,
) -> Result<Option<ResourceContents>, Problem> {
    let contents = match place(uri) {
        None => return Ok(None),
        Some(Place::Task(id)) => {
            let summary = visible(api, caller, task_id(&id)?).await?;
            text(uri, shapes::task(&summary).to_string(), "application/json")
        }
        Some(Place::Journal { task_id: id, after }) => {
            let summary = visible(api, caller, task_id(&id)?).await?;
            let page = api.journal.events(summary.task_id, after, EVENTS).await?;
            let lines = page
                .events
                .iter()
                .map(|event| (event.seq, shapes::event(event)));
            text(uri, lines_of(lines, page.more), "application/x-ndjson")
        }
        Some(Place::File { client_id, path }) => file(api, caller, uri, &client_id, path).await?,
    };
    Ok(Some(contents))
}

fn text(uri: &str, text: String, mime: &str) -> ResourceContents {
    ResourceContents::text(text, uri).with_mime_type(mime)
}

/// Lines up to a size; if there are more, a last one says behind which event they begin.
fn lines_of(events: impl Iterator<Item = (u64, Value)>, more: bool) -> String {
    let (mut lines, mut last, mut cut) = (String::new(), 0, more);
    for (seq, event) in events {
        let line = event.to_string();
        if !lines.is_empty() && lines.len() + line.len() > BYTES {
            cut = true;
            break;
        }
        lines += &line;
        lines.push('\n');
        last = seq;
    }
    if cut {
        lines += &json!({"more_after": last}).to_string();
        lines.push('\n');
    }
    lines
}

/// A file, or a folder's list: whichever it is, found out with the computer's own tools.
async fn file(
    api: &Api,
    caller: &Principal,
    uri: &str,
    client_id: &str,
    path: String,
) -> Result<ResourceContents, Problem> {
    require(caller, Method::POST, "/api/v1/tools/call")?;
    let client_id = ClientId::parse(client_id)
        .map_err(|error| Problem::new(ErrorCode::UnknownComputer, error.to_string()))?;
    if !path.ends_with('/') {
        let read = json!(call(api, caller, &client_id, READ, &path).await?);
        let read = &read["result"];
        if let Some(content) = read["content"].as_str() {
            let contents = text(uri, content.to_owned(), "text/plain");
            return Ok(match read["truncated"] == json!(true) {
                true => contents.with_meta(cut(&read["bytes"])),
                false => contents,
            });
        }
    }
    // Also what turned out to be no file: the list says the rest.
    let listed = json!(call(api, caller, &client_id, LIST, &path).await?);
    if listed["ok"] == json!(true) {
        return Ok(text(uri, listed["result"].to_string(), "application/json"));
    }
    let words = listed["error"].as_str().unwrap_or("it cannot be read");
    Err(Problem::new(
        ErrorCode::NotFound,
        format!("{path} on {client_id}: {words}"),
    ))
}

/// Says that a file is longer than what is shown of it.
fn cut(bytes: &Value) -> MetaObject {
    let mut meta = JsonObject::new();
    meta.insert("ccfleet/truncated".to_owned(), json!(true));
    meta.insert("ccfleet/bytes".to_owned(), bytes.clone());
    MetaObject::from(meta)
}

async fn call(
    api: &Api,
    caller: &Principal,
    client_id: &ClientId,
    tool: &str,
    path: &str,
) -> Result<CallEnded, Problem> {
    let address = Address {
        target: Target::Computer(client_id.clone()),
        tool: tool.to_owned(),
    };
    let wanted = WantedCall {
        command: address.to_string(),
        args: json!({"path": path}),
        metadata: json!({}),
        ..WantedCall::default()
    };
    let request = tools::request_of(api, caller, wanted)?;
    let deadline = tokio::time::Instant::now() + api.mcp.handle_after;
    if let Some(answer) = tools::read_at_once(api, &request, deadline).await {
        return answer;
    }
    let (started, mut ear) = tools::begin(api, request).await?;
    let id = started.summary.task_id;
    let end = ear.until_the_end(api, &id);
    match within(api.mcp.handle_after, std::future::pending(), end).await {
        Waited::Over(ended) => ended?,
        // Only a look, which nobody can wait for any longer.
        Waited::Still | Waited::Left => {
            super::calls::take_back(api, caller.clone(), id.clone(), None).await;
        }
    }
    tools::outcome(api, &id).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_what_is_none_is_not() {
        let file = |client_id: &str, path: &str| Place::File {
            client_id: client_id.to_owned(),
            path: path.to_owned(),
        };
        for (uri, expected) in [
            ("ccfleet://tasks/tsk_1", Place::Task("tsk_1".into())),
            (
                "ccfleet://tasks/tsk_1/journal",
                Place::Journal {
                    task_id: "tsk_1".into(),
                    after: 0,
                },
            ),
            (
                "ccfleet://tasks/tsk_1/journal?after=7",
                Place::Journal {
                    task_id: "tsk_1".into(),
                    after: 7,
                },
            ),
            ("ccfleet://computers/base/files", file("base", "/")),
            ("ccfleet://computers/base/files/", file("base", "/")),
            (
                "ccfleet://computers/mine%207/files/a%20b/c.lua",
                file("mine 7", "/a b/c.lua"),
            ),
        ] {
            assert_eq!(place(uri), Some(expected), "{uri}");
        }
        for wrong in [
            "",
            "http://tasks/x",
            "ccfleet://tasks",
            "ccfleet://tasks/x/y",
            "ccfleet://computers/a",
            "ccfleet://tasks/x/journal?after=-1",
            "ccfleet://computers/a/filesystem",
            "ccfleet://moon/1",
            "ccfleet://computers/%FF/files/",
        ] {
            assert_eq!(place(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_files_of_any_computer_lead_back_to_it() {
        for name in ["base", "mine 7", "a/b:c%", "höhle?#"] {
            let uri = files_of(&ClientId::parse(name).unwrap());
            let expected = Place::File {
                client_id: name.to_owned(),
                path: "/".into(),
            };
            assert_eq!(place(&uri), Some(expected), "{uri}");
        }
    }

    #[test]
    fn a_journal_that_is_cut_says_where_to_go_on() {
        let big = "x".repeat(600 * 1024);
        let events = (1..=3).map(|seq| (seq, json!({"seq": seq, "data": big})));
        let lines = lines_of(events, false);
        let lines: Vec<&str> = lines.lines().collect();
        assert_eq!((lines.len(), lines[1]), (2, r#"{"more_after":1}"#));
        let whole = lines_of([(4, json!({"seq": 4}))].into_iter(), false);
        assert_eq!(whole, "{\"seq\":4}\n");
    }
}
