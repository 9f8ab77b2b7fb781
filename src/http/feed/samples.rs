//! Computers and open questions as they are now, looked at once a second for all followers together.

use super::super::Api;
use crate::actors::supervisor::messages::OpenQuestions;
use crate::domain::access::Principal;
use crate::domain::ids::ClientId;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

/// How old a look may be; a little less than a follower's second.
const FRESH: Duration = Duration::from_millis(900);

/// What the supervisor gets to name the open questions; then the former ones count on.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// The last look. Clones share it.
#[derive(Clone, Default)]
pub struct Samples(Arc<Mutex<Sample>>);

/// What was seen.
#[derive(Clone, Default)]
pub(super) struct Sample {
    at: Option<Instant>,
    computers: Arc<BTreeMap<ClientId, Seen>>,
    questions: Arc<Vec<Asked>>,
}

struct Seen {
    owner: String,
    /// The computer as JSON; the same text is the same allocation, from one look to the next.
    body: Arc<str>,
}

struct Asked {
    owner: String,
    is_approval: bool,
}

/// How many wait for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Open {
    pub(super) questions: usize,
    pub(super) approvals: usize,
}

impl Samples {
    /// A look that is at most a second old.
    pub(super) async fn look(&self, api: &Api) -> Sample {
        let mut last = self.0.lock().await;
        if last.at.is_none_or(|at| at.elapsed() >= FRESH) {
            if let Some(computers) = (api.computers)().await {
                let seen = computers.into_iter().filter_map(|computer| {
                    let text = serde_json::to_string(&computer).ok()?;
                    let former = last.computers.get(&computer.client_id);
                    let body = former.filter(|former| *former.body == *text);
                    let body = body.map_or_else(|| Arc::from(text), |same| same.body.clone());
                    let owner = computer.owner;
                    Some((computer.client_id, Seen { owner, body }))
                });
                last.computers = Arc::new(seen.collect());
            }
            let asked = timeout(ANSWER_WITHIN, api.open_questions.send(OpenQuestions)).await;
            if let Ok(Ok(asked)) = asked {
                let asked = asked.into_iter().map(|question| Asked {
                    is_approval: question.approval.is_some(),
                    owner: question.owner,
                });
                last.questions = Arc::new(asked.collect());
            }
            last.at = Some(Instant::now());
        }
        last.clone()
    }
}

impl Sample {
    /// How many questions wait that the caller sees.
    pub(super) fn open_for(&self, caller: &Principal) -> Open {
        let mut open = Open::default();
        for asked in self.questions.iter().filter(|q| caller.sees(&q.owner)) {
            match asked.is_approval {
                true => open.approvals += 1,
                false => open.questions += 1,
            }
        }
        open
    }

    /// What changed for the caller since it was told `told`, which becomes what it was told.
    pub(super) fn changes(
        &self,
        caller: &Principal,
        told: &mut BTreeMap<ClientId, Arc<str>>,
    ) -> (Vec<Arc<str>>, Vec<ClientId>) {
        let seen = self.computers.iter().filter(|(_, c)| caller.sees(&c.owner));
        let now: BTreeMap<_, _> = seen.map(|(id, c)| (id.clone(), c.body.clone())).collect();
        let is_new = |id: &ClientId, body: &Arc<str>| told.get(id).is_none_or(|t| *t != *body);
        let changed = now.iter().filter(|(id, body)| is_new(id, body));
        let changed = changed.map(|(_, body)| body.clone()).collect();
        let gone = told.keys().filter(|id| !now.contains_key(*id));
        let gone = gone.cloned().collect();
        *told = now;
        (changed, gone)
    }
}
