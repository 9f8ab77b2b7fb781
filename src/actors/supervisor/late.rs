//! Late results of tasks that have ended: no actor lives for them, so their journal is read and written here.

use super::Supervisor;
use super::messages::LateResult;
use crate::actors::computer::messages::{LateSettled, ToolsTold};
use crate::actors::journal::messages::{AppendEvents, JournalError, LoadTask};
use crate::actors::registry::router::Router;
use crate::actors::task::late::{Late, judge_late, resolution};
use crate::domain::ids::TaskId;
use crate::domain::lifecycle::records_of;
use crate::domain::task::TaskState;
use crate::store::Append;
use actix::prelude::*;

/// Journals that are read at once for this; a computer whose result is not taken now repeats it at its next
/// reconnect.
const MOST_AT_ONCE: usize = 16;

impl Handler<LateResult> for Supervisor {
    type Result = ();

    fn handle(&mut self, late: LateResult, ctx: &mut Self::Context) {
        let task_id = late.call_id.task();
        if let Some(live) = task_id.as_ref().and_then(|id| self.live.get(id)) {
            // Bounded: each computer has one late result under way.
            return live.addr.do_send(late);
        }
        let Some(task_id) = task_id.filter(|_| self.late < MOST_AT_ONCE && !self.stopping) else {
            return answer(&late, false);
        };
        self.late += 1;
        let written = write_down(
            self.load.clone(),
            self.journal().clone(),
            self.deps.clock,
            self.deps.router.clone(),
            task_id,
            late,
        );
        ctx.spawn(
            written
                .into_actor(self)
                .map(|(), supervisor, _| supervisor.late -= 1),
        );
    }
}

fn answer(late: &LateResult, stored: bool) {
    late.reply_to.do_send(LateSettled {
        call_id: late.call_id.clone(),
        stored,
    });
}

async fn write_down(
    load: Recipient<LoadTask>,
    journal: Recipient<AppendEvents>,
    clock: fn() -> i64,
    router: Router,
    task_id: TaskId,
    late: LateResult,
) {
    let asked = LoadTask {
        task_id: task_id.clone(),
    };
    let events = match load.send(asked).await {
        Ok(Ok(loaded)) => loaded.events,
        Ok(Err(JournalError::NoTask(_))) => {
            tracing::warn!(call = %late.call_id, computer = %late.client_id,
                "a result of a task that this journal does not know is dropped");
            return answer(&late, true);
        }
        _ => return answer(&late, false),
    };
    let mut state = TaskState::new(task_id);
    state.apply_all(&events);
    match judge_late(&state, &late) {
        Late::Known => answer(&late, true),
        // Another unfinished task without an actor is about to be started again, or waits for the next start.
        Late::Resolves if state.status.is_final() || state.is_asleep() => {
            let append = append(&mut state, &late, clock());
            let records = append.tools.clone();
            let stored = matches!(journal.send(append.into()).await, Ok(Ok(_)));
            if let Some(lane) = router.lane(&late.client_id)
                && stored
                && !records.is_empty()
            {
                lane.tools.do_send(ToolsTold { records });
            }
            answer(&late, stored);
        }
        Late::Resolves | Late::NotNow => answer(&late, false),
    }
}

/// The resolution, under the generation that wrote last: nobody else writes for an ended task.
fn append(state: &mut TaskState, late: &LateResult, at_ms: i64) -> Append {
    let call = state.call(&late.call_id);
    let tools = call.map_or_else(Vec::new, |call| records_of(call, &late.report));
    let generation = state.generation;
    Append {
        tools,
        ..Append::behind(state, generation, at_ms, vec![resolution(late)])
    }
}
