//! What people do meanwhile: they answer questions, wake those who sleep, and cancel. Each asks again until the server
//! says yes, and what it said yes to is kept in mind: it has to be in the journal at the end.

use super::feed::{Feed, Load};
use super::looks::{self, Stand};
use super::parts::{Fate, Part};
use super::plan::kills_before_end;
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Between two looks at who wants something.
const PAUSE: Duration = Duration::from_millis(60);
/// How long an answer may take; then it is asked again.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// What the server said yes to.
#[derive(Debug, Default)]
pub struct Promised {
    /// Answers by their questions.
    pub answers: RefCell<BTreeMap<String, String>>,
    /// Numbers of wakes.
    pub wakes: RefCell<BTreeSet<u64>>,
}

/// Whoever runs them.
pub struct Errands {
    pub feed: Rc<Feed>,
    pub load: Load,
    /// The journal's folder.
    pub data: PathBuf,
    pub kills: Arc<AtomicU64>,
    pub promised: Rc<Promised>,
    pub client: reqwest::Client,
    /// The last wake's number.
    pub wakes: Cell<u64>,
}

impl Errands {
    /// Runs until it is dropped.
    pub async fn run(self) {
        loop {
            actix_rt::time::sleep(PAUSE).await;
            let Some(server) = self.feed.server.get() else {
                continue;
            };
            // A journal that cannot be looked at now can be a moment later.
            let Ok(stands) = looks::stands(&self.data) else {
                continue;
            };
            if stands
                .values()
                .any(|stand| stand.status == "waiting_for_user")
            {
                self.answer_all(server).await;
            }
            let accepted = self.feed.accepted.borrow().clone();
            for (number, task_id) in accepted {
                if let Some(stand) = stands.get(&task_id) {
                    self.see_to(server, number, &task_id, stand).await;
                }
            }
        }
    }

    async fn see_to(&self, server: SocketAddr, number: usize, task_id: &str, stand: &Stand) {
        let (part, load) = (Part::of(number), self.load);
        let due = kills_before_end(number, load.tasks, load.live, load.kills);
        let is_due = self.kills.load(Ordering::Relaxed) >= due;
        let at = |what: &str| format!("tasks/{task_id}/{what}");
        if is_due && part.is_endless() && (part.lives_on() || stand.open_calls > 0) {
            let body = json!({"reason": "it was enough"});
            self.ask(server, &at("cancel"), &body).await;
        } else if part.fate == Fate::Woken && stand.status == "sleeping" {
            let number = self.wakes.get() + 1;
            self.wakes.set(number);
            let body = json!({"data": {"number": number}});
            if self.ask(server, &at("wake"), &body).await {
                self.promised.wakes.borrow_mut().insert(number);
            }
        }
    }

    async fn answer_all(&self, server: SocketAddr) {
        let url = format!("http://{server}/api/v1/questions");
        let asked = self.client.get(url).timeout(ANSWER_WITHIN).send().await;
        let Ok(asked) = asked else { return };
        let Ok(page) = asked.json::<Value>().await else {
            return;
        };
        let open = page.get("items").and_then(Value::as_array);
        for question in open.into_iter().flatten() {
            let Some(id) = question.get("question_id").and_then(Value::as_str) else {
                continue;
            };
            let answer = format!("yes, to {id}");
            let path = format!("questions/{id}/answer");
            if self.ask(server, &path, &json!({"answer": answer})).await {
                let mut answers = self.promised.answers.borrow_mut();
                answers.insert(id.to_owned(), answer);
            }
        }
    }

    /// Whether the server said yes.
    async fn ask(&self, server: SocketAddr, path: &str, body: &Value) -> bool {
        let url = format!("http://{server}/api/v1/{path}");
        let request = self.client.post(url).json(body).timeout(ANSWER_WITHIN);
        match request.send().await {
            Ok(answer) => answer.status().is_success(),
            Err(_) => false,
        }
    }
}
