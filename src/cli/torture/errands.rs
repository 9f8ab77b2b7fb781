//! What people do meanwhile: they answer questions, consent to calls, and refuse, wake those who sleep, fork what has ended,
//! and cancel. Each asks again until the server
//! says yes, and what it said yes to is kept in mind: it has to be in the journal at the end.

use super::bell;
use super::evidence::CONSENT;
use super::feed::{Feed, Load};
use super::looks::{self, Stand};
use super::parts::{Fate, Manner, Part};
use super::plan::kills_before_end;
use super::voice::{Mark, TURNING_POINT};
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
    /// Forks, by the numbers of the tasks that they go on from.
    pub forks: RefCell<BTreeMap<usize, String>>,
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
            // First, so that who is in it and not among those that live has ended.
            let accepted = self.feed.accepted.borrow().clone();
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
            for (number, task_id) in accepted {
                match stands.get(&task_id) {
                    Some(stand) => self.see_to(server, number, &task_id, stand).await,
                    None => self.fork(server, number, &task_id).await,
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
        } else if part.fate == Fate::Told && stand.status == "sleeping" {
            let told = self.wakes.get() + 1;
            self.wakes.set(told);
            // Silence is the answer, also when nobody heard it: then it is rung again.
            bell::ring(server, &bell::event(number), told).await;
        }
    }

    /// A task whose part it is goes on as another one, from one of the last steps at which it can. What a plan still has to do would be
    /// done with the marks of the plan: it is behind it.
    async fn fork(&self, server: SocketAddr, number: usize, task_id: &str) {
        let part = Part::of(number);
        if part.fate != Fate::Forked || self.promised.forks.borrow().contains_key(&number) {
            return;
        }
        let path = format!("tasks/{task_id}/fork");
        let key = format!("torture-fork-{number}");
        let body = |at: u64| json!({"at": at, "idempotency_key": key});
        // The refusal names the steps.
        let Some((_, refused)) = self.post(server, &path, &body(u64::from(u32::MAX))).await else {
            return;
        };
        let steps = refused.get("steps").and_then(Value::as_array);
        let behind = usize::from(part.manner != Manner::Plan);
        let mut last = steps.into_iter().flatten().rev();
        let Some(at) = last.nth(behind).and_then(Value::as_u64) else {
            return;
        };
        if let Some((true, forked)) = self.post(server, &path, &body(at)).await
            && let Some(id) = forked.get("task_id").and_then(Value::as_str)
        {
            self.promised
                .forks
                .borrow_mut()
                .insert(number, id.to_owned());
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
            let wanted = question.pointer("/approval/calls/0/args/mark");
            let wanted = wanted.and_then(Value::as_str).and_then(Mark::find);
            let answer = match wanted {
                Some(mark) if mark.number == TURNING_POINT => "no".to_owned(),
                Some(_) => CONSENT.to_owned(),
                None => format!("yes, to {id}"),
            };
            let path = format!("questions/{id}/answer");
            if self.ask(server, &path, &json!({"answer": answer})).await {
                let mut answers = self.promised.answers.borrow_mut();
                answers.insert(id.to_owned(), answer);
            }
        }
    }

    /// Whether the server said yes.
    async fn ask(&self, server: SocketAddr, path: &str, body: &Value) -> bool {
        let answer = self.post(server, path, body).await;
        answer.is_some_and(|(yes, _)| yes)
    }

    /// Whether the server said yes, and what it said; none if it said nothing.
    async fn post(&self, server: SocketAddr, path: &str, body: &Value) -> Option<(bool, Value)> {
        let url = format!("http://{server}/api/v1/{path}");
        let mut request = self.client.post(url).json(body).timeout(ANSWER_WITHIN);
        // It shows that a person asks, without which nobody may consent.
        if let Ok(key) = std::fs::read_to_string(self.data.join("operator.key")) {
            request = request.bearer_auth(key.trim());
        }
        let answer = request.send().await.ok()?;
        let yes = answer.status().is_success();
        Some((yes, answer.json().await.unwrap_or_default()))
    }
}
