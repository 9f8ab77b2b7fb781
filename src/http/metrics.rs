//! `GET /metrics`: what the server counts, for Prometheus.

use super::{Api, Stage};
use crate::actors::computer::view::ComputerState;
use crate::actors::counts::FleetCounts;
use crate::actors::gateway::messages::{BreakerReport, Observe, ServerReport};
use crate::actors::journal::messages::ObserveJournal;
use crate::metrics::{
    BREAKER_STATES, Format, JournalState, Metrics, ModelServer, Process, Snapshot, bytes_of,
    disk_free, names,
};
use actix::{Message, Recipient};
use actix_web::http::header::ACCEPT;
use actix_web::{HttpRequest, HttpResponse, web};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How long one part is waited for; Prometheus gives up after 10 s. What does not answer is left out, so that the rest
/// is seen just when something hangs.
const PART_WITHIN: Duration = Duration::from_secs(3);

/// The kinds of computers that there are; a computer may call itself anything.
const KINDS: [&str; 5] = ["computer", "turtle", "pocket", "command", "other"];

/// Where the figures come from.
#[derive(Clone)]
pub struct Sources {
    pub metrics: Arc<Metrics>,
    pub counts: Arc<FleetCounts>,
    pub gateway: Option<Recipient<Observe>>,
    /// Where the journal lies.
    pub folder: PathBuf,
}

pub(super) async fn scrape(api: web::Data<Api>, request: HttpRequest) -> HttpResponse {
    let accept = request.headers().get(ACCEPT);
    let accept = accept.and_then(|accept| accept.to_str().ok());
    let format = Format::accepted(accept.unwrap_or_default());
    let snapshot = snapshot(&api).await;
    let text = api.sources.metrics.render(snapshot, format);
    HttpResponse::Ok()
        .content_type(format.content_type())
        .body(text)
}

/// All parts at once, each within its time.
async fn snapshot(api: &Api) -> Snapshot {
    let sources = &api.sources;
    let models = async {
        let report = part(sources.gateway.as_ref()?, Observe).await?;
        Some(report.servers.into_iter().map(model_server).collect())
    };
    let journal = async {
        let health = part(&api.observe_journal, ObserveJournal).await?;
        Some(JournalState {
            queued: health.queued,
            writable: health.writable,
        })
    };
    let tasks = async {
        let counted = tokio::time::timeout(PART_WITHIN, api.journal.open_tasks());
        counted.await.ok()?.ok()
    };
    let running = api.started.elapsed();
    let folder = sources.folder.clone();
    let files = async {
        let looked = tokio::task::spawn_blocking(move || {
            let journal = bytes_of(&folder, "journal.db");
            (journal, disk_free(&folder), Process::read(running))
        });
        let looked = tokio::time::timeout(PART_WITHIN, looked).await;
        looked.ok().and_then(Result::ok).unwrap_or_default()
    };
    let (models, journal, tasks, (journal_bytes, disk_free, process)) =
        tokio::join!(models, journal, tasks, files);
    let mut snapshot = Snapshot {
        uptime: running,
        ready: api.stage.get() == Stage::Ready,
        tasks,
        models,
        journal,
        journal_bytes,
        disk_free,
        process,
        counts: link_counts(&sources.counts),
        ..Snapshot::default()
    };
    count_computers(api, &mut snapshot);
    snapshot
}

async fn part<M>(recipient: &Recipient<M>, message: M) -> Option<M::Result>
where
    M: Message + Send + 'static,
    M::Result: Send,
{
    let answer = tokio::time::timeout(PART_WITHIN, recipient.send(message));
    answer.await.ok()?.ok()
}

fn model_server(report: ServerReport) -> ModelServer {
    let [closed, open, half_open] = BREAKER_STATES;
    ModelServer {
        name: report.name,
        waiting: report.waiting.len(),
        running: report.running.len(),
        breaker: match report.breaker {
            BreakerReport::Closed { .. } => closed,
            BreakerReport::Open { .. } => open,
            BreakerReport::HalfOpen => half_open,
        },
    }
}

fn count_computers(api: &Api, snapshot: &mut Snapshot) {
    let computers = api.router.computers();
    let mut states = ComputerState::ALL.map(|state| (state.as_str(), 0));
    let mut online = KINDS.map(|kind| (kind, 0));
    for computer in &computers {
        let state = computer.state.as_str();
        add_to(&mut states, state);
        if computer.online {
            let kind = computer.kind.as_deref();
            let known = kind.filter(|kind| KINDS.contains(kind));
            add_to(&mut online, known.unwrap_or("other"));
        }
        let running = usize::from(computer.current_call.is_some());
        snapshot.lanes.push(computer.queue + running);
    }
    snapshot.computers = states.to_vec();
    snapshot.online = online.to_vec();
}

fn add_to(rows: &mut [(&'static str, u64)], word: &str) {
    if let Some((_, count)) = rows.iter_mut().find(|(known, _)| *known == word) {
        *count += 1;
    }
}

fn link_counts(counts: &FleetCounts) -> Vec<(&'static names::Name, u64)> {
    let all = counts.all().into_iter();
    let named = all.map(|(name, count)| {
        let name = names::find(&format!("ccfleet_link_{name}_total"))?;
        Some((name, count))
    });
    named.flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_of_the_computers_side_has_its_metric() {
        let counts = FleetCounts::default();
        let told = link_counts(&counts);
        assert_eq!(told.len(), counts.all().len());
        let links = names::ALL.iter();
        let links = links.filter(|name| name.name.starts_with("ccfleet_link_"));
        assert_eq!(links.count(), told.len());
    }
}
