//! What planner and executor share: one model call, its answer read by the contract, and the news for the task.

use super::deltas::Deltas;
use super::gateway::messages::Complete;
use super::spans::ModelSpan;
use crate::config::ModelSettings;
use crate::domain::chat::{
    ChatAnswer, ChatFailure, Message as ChatMessage, OutputFormat, Role, ToolDef,
};
use crate::domain::decision::Contract;
use crate::domain::event::TaskEvent;
use crate::domain::ids::{Generation, TaskId};
use crate::domain::model_call::ScriptPosition;
use crate::domain::profile::ModelChoice;
use crate::llm::ChatRequest;
use crate::strategy;
use actix::{Message, Recipient, ResponseFuture};
use std::sync::Arc;

/// Consults that may wait for a role's actor. One more is refused, and its task asks again later.
pub const MAILBOX: usize = 1024;

/// Texts that end an answer, of one call: servers of the OpenAI dialect take no more.
const MOST_STOPS: usize = 4;

/// Ask a role's model. Answered by [`Consulted`], always.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct ConsultModel {
    pub task_id: TaskId,
    pub generation: Generation,
    /// The journal position of the decision.
    pub consult: u64,
    pub role: Role,
    pub contract: Contract,
    pub prompt: Vec<ChatMessage>,
    pub format: OutputFormat,
    pub tools: Vec<ToolDef>,
    /// What the task's kind sets for this role.
    pub choice: ModelChoice,
    /// So many of its last answers, in a row, led to nothing.
    pub in_vain: u32,
    pub script: ScriptPosition,
    /// Ends when the answer is here.
    pub span: ModelSpan,
    pub reply_to: Recipient<Consulted>,
}

/// How a consult ended. A fact for the task.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct Consulted {
    pub generation: Generation,
    pub consult: u64,
    pub role: Role,
    /// The raw answer, and the facts that were read out of it.
    pub answer: Result<(ChatAnswer, TaskEvent), ChatFailure>,
}

/// The way to the models.
#[derive(Clone)]
pub struct Consulting {
    pub gateway: Recipient<Complete>,
    pub models: Arc<ModelSettings>,
    /// Who watches answers while they are made.
    pub deltas: Deltas,
}

impl Consulting {
    /// Makes the call and tells the task. The gateway's own deadlines bound the wait.
    pub fn answer(&self, consult: ConsultModel) -> ResponseFuture<()> {
        let settings = self.models.role(consult.role);
        let choice = consult.choice;
        let mut params = settings.params.clone();
        params.temperature = choice.temperature.or(params.temperature);
        params.max_tokens = choice.max_tokens.or(params.max_tokens);
        if consult.tools.is_empty() {
            let room = MOST_STOPS.saturating_sub(params.stop.len());
            let told = strategy::told_behind(consult.contract).iter().take(room);
            params.stop.extend(told.map(|text| (*text).to_owned()));
        }
        let request = ChatRequest {
            role: consult.role,
            model: choice.model.unwrap_or_else(|| settings.model.clone()),
            messages: consult.prompt,
            format: consult.format,
            tools: consult.tools,
            params: params.warmer(consult.in_vain),
            script: consult.script,
        };
        let span = consult.span;
        span.requested(
            settings.provider.as_str(),
            &request.model,
            &request.messages,
        );
        let watched = self
            .deltas
            .sink(consult.task_id.clone(), consult.consult, consult.role);
        let call = Complete {
            on_delta: watched,
            ..Complete::new(consult.task_id, consult.generation, request)
        };
        let call = self.gateway.send(call.within(span.span()));
        Box::pin(async move {
            let answer = call.await.unwrap_or_else(|_| {
                Err(ChatFailure {
                    code: "gateway_gone".to_owned(),
                    message: "the model gateway is not running".to_owned(),
                    hint: "the server is stopping, or the gateway failed: see its log".to_owned(),
                    retryable: true,
                })
            });
            match &answer {
                Ok(answer) => span.answered(answer),
                Err(failure) => span.failed(failure),
            }
            let answer = answer.map(|answer| {
                let read = strategy::read_answer(consult.consult, consult.contract, &answer);
                (answer, read)
            });
            consult.reply_to.do_send(Consulted {
                generation: consult.generation,
                consult: consult.consult,
                role: consult.role,
                answer,
            });
        })
    }
}
