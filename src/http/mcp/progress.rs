//! Waiting for a task, telling the client meanwhile how far it is.

use crate::domain::event::TaskEvent;
use crate::domain::ids::{CallId, ClientId, TaskId};
use crate::domain::task::TaskSummary;
use crate::http::follow::{Ear, News};
use crate::http::{Api, Problem};
use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};
use std::future::Future;
use std::time::Duration;

/// How often a running call is looked at for what its handler told.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// How a wait ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Waited<T> {
    /// What was waited for is there.
    Over(T),
    /// The time is up.
    Still,
    /// The client takes the answer no more: it closed the request, or cancelled it.
    Left,
}

/// Waits for `end`, for the time that `limit` gives and as long as the client does.
pub(super) async fn within<T>(
    limit: Duration,
    left: impl Future<Output = ()>,
    end: impl Future<Output = T>,
) -> Waited<T> {
    tokio::select! {
        // What is over is over, even if it took its whole time.
        biased;
        end = end => Waited::Over(end),
        () = left => Waited::Left,
        () = tokio::time::sleep(limit) => Waited::Still,
    }
}

/// Waits until a task has ended; each thing that becomes durable meanwhile is a progress notice, if the client wants them.
pub(super) async fn follow(
    api: &Api,
    context: &RequestContext<RoleServer>,
    task_id: &TaskId,
    ear: &mut Ear,
    limit: Duration,
) -> Waited<Result<(), Problem>> {
    let mut reporter = Reporter::of(context);
    let end = async {
        match &mut reporter {
            None => ear.until_the_end(api, task_id).await,
            Some(reporter) => until_the_end(api, task_id, ear, reporter).await,
        }
    };
    within(limit, context.ct.cancelled(), end).await
}

async fn until_the_end(
    api: &Api,
    task_id: &TaskId,
    ear: &mut Ear,
    reporter: &mut Reporter,
) -> Result<(), Problem> {
    let mut running: Option<(ClientId, CallId)> = None;
    let mut look = tokio::time::interval(LOOK_EVERY);
    look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    reporter.say(format!("task {task_id}")).await;
    loop {
        tokio::select! {
            news = ear.next(api, task_id) => {
                let news = news?;
                if news.summary.status.is_final() {
                    return Ok(());
                }
                running = call_in(&news).or(running);
                reporter.say(in_words(&news.summary)).await;
            }
            _ = look.tick() => {
                if let Some((client_id, call_id)) = &running
                    && let Some(cell) = api.router.index().computer(client_id)
                    && let Some(words) = cell.progress_of(call_id)
                {
                    reporter.say(words).await;
                }
            }
        }
    }
}

/// The call that left last.
fn call_in(news: &News) -> Option<(ClientId, CallId)> {
    let events = news.events.iter().rev();
    events
        .filter_map(|stored| match &stored.event {
            TaskEvent::CallIntended(call) => Some((call.client_id.clone(), call.call_id.clone())),
            _ => None,
        })
        .next()
}

/// How a task stands, in a line.
pub(super) fn in_words(task: &TaskSummary) -> String {
    let mut words = format!("step {}: {}", task.step, task.status.as_str());
    if let Some(progress) = task.progress {
        words += &format!(", {:.0} %", progress * 100.0);
    }
    if let Some(message) = &task.message {
        words += &format!(", {message}");
    }
    words
}

/// Tells the client of a request how far it is. MCP wants a number that grows; how much there is in all nobody knows, so
/// it is the number of the notice, and the words say the rest.
struct Reporter {
    peer: Peer<RoleServer>,
    token: ProgressToken,
    said: u32,
    last: String,
}

impl Reporter {
    /// None if the client did not ask for progress.
    fn of(context: &RequestContext<RoleServer>) -> Option<Self> {
        Some(Reporter {
            peer: context.peer.clone(),
            token: context.meta.get_progress_token()?,
            said: 0,
            last: String::new(),
        })
    }

    async fn say(&mut self, words: String) {
        if words == self.last {
            return;
        }
        self.said += 1;
        let notice = ProgressNotificationParam::new(self.token.clone(), f64::from(self.said))
            .with_message(words.clone());
        self.last = words;
        // Who does not listen any more is noticed by the wait itself.
        let _ = self.peer.notify_progress(notice).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;
    use tokio::time::Instant;

    #[actix::test]
    async fn a_wait_ends_with_its_time_its_client_or_what_it_waits_for() {
        tokio::time::pause();
        let begun = Instant::now();
        let limit = Duration::from_secs(20);
        let seconds = |begun: Instant| begun.elapsed().as_secs();
        let waited = within(limit, pending(), pending::<()>()).await;
        assert_eq!(waited, Waited::Still);
        assert_eq!(seconds(begun), 20);

        let soon = || tokio::time::sleep(Duration::from_secs(3));
        assert_eq!(within(limit, soon(), pending::<()>()).await, Waited::Left);
        assert_eq!(seconds(begun), 23);
        assert_eq!(within(limit, pending(), soon()).await, Waited::Over(()));
        let at_the_last_moment = tokio::time::sleep(limit);
        assert_eq!(
            within(limit, pending(), at_the_last_moment).await,
            Waited::Over(())
        );
    }
}
