//! Waits for a call, but not for ever: one deadline for its first byte, one between pieces, one total.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::error::{Deadline, LlmError};
use super::provider::{ChatRequest, DeltaSink, Provider};
use crate::config::GatewaySettings;
use crate::domain::chat::ChatAnswer;

/// How long each part of a call may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// To the first byte of the answer: the server queues, loads and reads the prompt in silence.
    pub first_byte: Duration,
    /// Between two pieces after that.
    pub between_chunks: Duration,
}

impl From<&GatewaySettings> for Deadlines {
    fn from(settings: &GatewaySettings) -> Self {
        Deadlines {
            first_byte: settings.headers_timeout,
            between_chunks: settings.chunk_timeout,
        }
    }
}

/// When something last came from the server.
#[derive(Default)]
struct Signs {
    /// `None` before the first byte.
    last: Mutex<Option<Instant>>,
    /// Wakes the wait, whose deadline has moved.
    came: Notify,
}

impl Signs {
    fn last(&self) -> Option<Instant> {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        self.came.notify_one();
    }
}

/// Makes one call under deadlines. `overall` is `(when, how long the whole was allowed)`; it is shared
/// by all tries of a call.
///
/// # Errors
/// `TimedOut` naming the deadline; what the provider says otherwise.
pub async fn chat_with_deadlines(
    provider: &dyn Provider,
    request: ChatRequest,
    sink: DeltaSink,
    deadlines: Deadlines,
    overall: (Instant, Duration),
) -> Result<ChatAnswer, LlmError> {
    let started = Instant::now();
    let signs = Arc::new(Signs::default());
    let watching = {
        let signs = signs.clone();
        DeltaSink::new(move |delta| {
            signs.note();
            sink.emit(delta);
        })
    };
    let call = provider.chat(request, watching);
    tokio::pin!(call);
    loop {
        let (due, error) = next_deadline(started, signs.last(), deadlines, overall);
        tokio::select! {
            biased;
            answer = &mut call => return answer,
            () = signs.came.notified() => {}
            () = tokio::time::sleep_until(due) => return Err(error),
        }
    }
}

fn next_deadline(
    started: Instant,
    sign: Option<Instant>,
    deadlines: Deadlines,
    (total_at, total): (Instant, Duration),
) -> (Instant, LlmError) {
    let (at, deadline, after) = match sign {
        None => {
            let after = deadlines.first_byte;
            (started + after, Deadline::FirstByte, after)
        }
        Some(sign) => {
            let after = deadlines.between_chunks;
            (sign + after, Deadline::BetweenChunks, after)
        }
    };
    if total_at <= at {
        let deadline = Deadline::Total;
        return (
            total_at,
            LlmError::TimedOut {
                deadline,
                after: total,
            },
        );
    }
    (at, LlmError::TimedOut { deadline, after })
}
