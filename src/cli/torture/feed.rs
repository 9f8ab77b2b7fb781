//! Who gives the tasks: a person with an idempotency key, who asks again until the server says yes.

use super::bell;
use super::parts::{Fate, Part, is_child, is_fork};
use super::plan::kills_before_end;
use super::stage;
use super::voice;
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

/// How long an answer may take; then it is asked again.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(20);

/// What the driver and the giver of tasks both know.
#[derive(Default)]
pub struct Feed {
    /// Where the server is, while it is up.
    pub server: Cell<Option<SocketAddr>>,
    /// Tasks that have ended.
    pub ended: Cell<usize>,
    /// Tasks that the server confirmed, by number.
    pub accepted: RefCell<BTreeMap<usize, String>>,
}

/// How many tasks there are, and how many of them live at once.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    pub tasks: usize,
    pub live: usize,
    pub computers: usize,
    pub kills: u64,
}

/// Marks of the shortest task.
const FEWEST_MARKS: u32 = 2;

impl Load {
    /// Whether a task may end with this mark, after so many kills.
    pub fn is_enough(&self, mark: voice::Mark, kills: u64) -> bool {
        // A child is waited for, and its parent has its own time; a fork goes on from what had its time.
        let due = match is_child(mark.task) || is_fork(mark.task) {
            true => 0,
            false => kills_before_end(mark.task, self.tasks, self.live, self.kills),
        };
        mark.number >= FEWEST_MARKS && kills >= due
    }
}

/// Gives all tasks, a few at a time.
pub async fn give(feed: Rc<Feed>, load: Load, client: reqwest::Client) {
    for task in 0..load.tasks {
        while task >= feed.ended.get() + load.live {
            actix_rt::time::sleep(PAUSE).await;
        }
        let body = request(task, load.computers);
        let task_id = loop {
            match feed.server.get() {
                Some(server) => match ask(&client, server, &body).await {
                    Some(task_id) => break task_id,
                    None => actix_rt::time::sleep(PAUSE).await,
                },
                None => actix_rt::time::sleep(PAUSE).await,
            }
        };
        feed.accepted.borrow_mut().insert(task, task_id);
    }
}

fn request(task: usize, computers: usize) -> Value {
    let part = Part::of(task);
    let mut body = json!({
        "prompt": voice::prompt(task),
        "kind": part.manner.kind(),
        "client_id": stage::name(task % computers),
        "idempotency_key": format!("torture-{task}"),
    });
    match part.fate {
        Fate::Scheduled => body["schedule"] = json!({"every_s": 1}),
        Fate::Woken => body["wakes"] = json!({"on_demand": true}),
        Fate::Told => body["wakes"] = json!({"events": [bell::event(task)]}),
        Fate::Plain
        | Fate::Cancelled
        | Fate::Asks
        | Fate::Parent
        | Fate::Naps
        | Fate::Consents
        | Fate::Forked => {}
    }
    body
}

/// The id of the task, if the server says that it has it.
async fn ask(client: &reqwest::Client, server: SocketAddr, body: &Value) -> Option<String> {
    let url = format!("http://{server}/api/v1/tasks");
    let request = client.post(url).json(body).timeout(ANSWER_WITHIN);
    let answer = request.send().await.ok()?;
    if !answer.status().is_success() {
        return None;
    }
    let task: Value = answer.json().await.ok()?;
    Some(task.get("task_id")?.as_str()?.to_owned())
}
