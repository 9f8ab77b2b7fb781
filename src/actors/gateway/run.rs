//! One granted call: its tries, its deadlines, its two ways to be cancelled.

use std::sync::Arc;

use backon::{BackoffBuilder, ExponentialBuilder};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::config::GatewaySettings;
use crate::domain::chat::{ChatAnswer, ChatFailure, OutputFormat};
use crate::llm::deadlines::{Deadlines, chat_with_deadlines};
use crate::llm::error::Deadline;
use crate::llm::{ChatRequest, DeltaSink, LlmError, Provider};

/// How a sender is answered; closed when the sender has gone.
pub(super) type Reply = oneshot::Sender<Result<ChatAnswer, ChatFailure>>;

/// How a granted call ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub result: Result<ChatAnswer, LlmError>,
    /// How many tries in a row, the last ones, could not reach the server.
    pub unreachable_tries: u32,
}

/// Makes the call until it succeeds, fails for good, is cancelled, or its sender has gone. Returning
/// drops the provider's future, which closes the connection.
pub(super) async fn run(
    provider: Arc<dyn Provider>,
    request: ChatRequest,
    on_delta: DeltaSink,
    settings: GatewaySettings,
    cancel: oneshot::Receiver<()>,
    reply: &mut Reply,
) -> Ended {
    let cancelled = Ended {
        result: Err(LlmError::Cancelled),
        unreachable_tries: 0,
    };
    tokio::select! {
        biased;
        _ = cancel => cancelled,
        () = reply.closed() => cancelled,
        ended = tries(provider.as_ref(), request, &on_delta, &settings) => ended,
    }
}

async fn tries(
    provider: &dyn Provider,
    mut request: ChatRequest,
    on_delta: &DeltaSink,
    settings: &GatewaySettings,
) -> Ended {
    let total = settings.total_timeout;
    let end = Instant::now() + total;
    let mut delays = ExponentialBuilder::default()
        .with_min_delay(settings.backoff)
        .with_max_delay(settings.backoff_max)
        .with_max_times(settings.retries)
        .with_jitter()
        .build();
    let mut unreachable_tries = 0;
    loop {
        let result = chat_with_deadlines(
            provider,
            request.clone(),
            on_delta.clone(),
            Deadlines::from(settings),
            (end, total),
        )
        .await;
        unreachable_tries = match &result {
            Err(error) if error.is_unreachable() => unreachable_tries + 1,
            _ => 0,
        };
        if let Err(error @ LlmError::Refused { .. }) = &result
            && request.format != OutputFormat::Text
        {
            // Not every server can hold an answer to every form, and whoever asked validates what comes.
            tracing::warn!(model = request.model, %error, "refused with a form for the answer; asked again without it");
            request.format = OutputFormat::Text;
            continue;
        }
        let pause = match &result {
            Err(error) if worth_another_try(error) => delays.next(),
            _ => None,
        };
        match pause {
            Some(pause) if Instant::now() + pause < end => tokio::time::sleep(pause).await,
            _ => {
                return Ended {
                    result,
                    unreachable_tries,
                };
            }
        }
    }
}

/// What is retryable, except a server that stayed silent for minutes: asking again at once would only
/// double the wait. Whoever asked decides.
fn worth_another_try(error: &LlmError) -> bool {
    match error {
        LlmError::TimedOut { deadline, .. } => *deadline == Deadline::Connect,
        other => other.retryable(),
    }
}
