//! What comes in: frames become messages, messages become facts and asks.

use super::Connection;
use crate::actors::computer::lane::Receipt;
use crate::actors::computer::link::{ChangeTools, ConnectionFact};
use crate::domain::call::{CallReport, Outcome};
use crate::wire::codes::{CloseWith, ErrorCode};
use crate::wire::frames::incoming::{CallReceipt, ClientMessage, CommandResult, ReceiptState};
use crate::wire::frames::outgoing::{ErrorMessage, PongNonce, RefusedTool, ServerMessage};
use crate::wire::frames::tools::registered;
use crate::wire::frames::{Decoded, FrameError, decode, decode_joined};
use crate::wire::text;
use actix::prelude::*;
use actix_http::ws::{Message, ProtocolError};
use serde_json::{Value, json};
use std::io::ErrorKind;
use std::time::Duration;

/// Tools are changed by an actor that waits for nobody.
const CHANGE_WITHIN: Duration = Duration::from_secs(5);

impl StreamHandler<Result<Message, ProtocolError>> for Connection {
    fn handle(&mut self, item: Result<Message, ProtocolError>, ctx: &mut Self::Context) {
        if self.is_closing() {
            return;
        }
        // Whatever arrives proves that the connection lives.
        self.lost_pings = 0;
        match item {
            Ok(Message::Text(text)) => self.frame(&text, false, ctx),
            Ok(Message::Binary(bytes)) => {
                let (text, latin1) = text::read_binary(&bytes);
                self.frame(&text, latin1, ctx);
            }
            // The HTTP layer leaves pings to us.
            Ok(Message::Ping(bytes)) => self.with(ctx, |outlet| outlet.pong(bytes)),
            // Pieces of messages are put together before they come here.
            Ok(Message::Pong(_) | Message::Continuation(_) | Message::Nop) => {}
            Ok(Message::Close(_)) => ctx.stop(),
            Err(error) => self.broken_frame(&error, ctx),
        }
    }
}

impl Connection {
    fn broken_frame(&mut self, error: &ProtocolError, ctx: &mut Context<Self>) {
        let (close, code) = match error {
            ProtocolError::Overflow => (CloseWith::TooBig, ErrorCode::TooLarge),
            ProtocolError::Io(io) if io.kind() == ErrorKind::InvalidData => {
                (CloseWith::NotUtf8, ErrorCode::NotUtf8)
            }
            ProtocolError::Io(_) => {
                ctx.stop();
                return;
            }
            _ => (CloseWith::ProtocolError, ErrorCode::BadProtocol),
        };
        self.close(close, ErrorMessage::new(code, error.to_string()), ctx);
    }

    fn frame(&mut self, json: &str, latin1: bool, ctx: &mut Context<Self>) {
        self.program_lives();
        self.deps.counts.messages.one();
        match self.read(json, false) {
            Ok(decoded) => {
                if let Some(n) = decoded.ack {
                    self.acknowledged(n, ctx);
                }
                self.take(decoded.message, latin1, ctx);
            }
            Err(error) => self.unreadable(error, ctx),
        }
    }

    /// Reads a message; `joined` is one that came in chunks.
    pub(super) fn read(&self, json: &str, joined: bool) -> Result<Decoded, FrameError> {
        let decode = if joined { decode_joined } else { decode };
        if let Some(identity) = self.identity() {
            return decode(json, identity.mend);
        }
        // Before it is known who speaks, only a `hello` can tell that its text is not garbled.
        let plain = decode(json, false);
        match &plain {
            Ok(Decoded {
                message: ClientMessage::Hello(hello),
                ..
            }) if hello.library_version.is_some() => plain,
            _ => decode(json, true),
        }
    }

    pub(super) fn acknowledged(&mut self, n: u64, ctx: &mut Context<Self>) {
        if let Some(Err(error)) = self.with(ctx, |outlet| Some(outlet.ack(n))) {
            let error = ErrorMessage::new(ErrorCode::BadAck, error.to_string());
            self.bad_input(error, ctx);
        }
    }

    pub(super) fn unreadable(&mut self, error: FrameError, ctx: &mut Context<Self>) {
        let message = ErrorMessage {
            field: error.field,
            ..ErrorMessage::new(error.code, error.message)
        };
        self.bad_input(message.to_request(error.request_id), ctx);
    }

    /// Tells the client what was wrong; the tenth time within ten seconds is the last.
    pub(super) fn bad_input(&mut self, error: ErrorMessage, ctx: &mut Context<Self>) {
        let now = self.now();
        self.deps.counts.bad_messages.one();
        self.send(ServerMessage::Error(error), ctx);
        if self.errors.note(now) {
            self.deps.counts.too_many_errors.one();
            let words = "too many bad messages";
            let error = ErrorMessage::new(ErrorCode::TooManyErrors, words);
            self.close(CloseWith::Policy, error, ctx);
        }
    }

    /// Does what a message asks for.
    pub(super) fn take(&mut self, message: ClientMessage, latin1: bool, ctx: &mut Context<Self>) {
        use ClientMessage as M;
        match message {
            M::Hello(hello) => self.hello(*hello, ctx),
            M::Ping(ping) => self.send(ServerMessage::Pong(PongNonce { nonce: ping.nonce }), ctx),
            M::Ack | M::Pong(_) => {}
            M::Error(error) => {
                let computer = self.identity().map(|i| i.client_id.as_str());
                // Its words may quote what it was sent, which is nothing for a log.
                tracing::warn!(
                    computer,
                    code = error.code,
                    call = error.call_id,
                    bytes = error.error.len(),
                    "a computer reports an error"
                );
            }
            M::Chunk(chunk) => self.chunk(chunk, latin1, ctx),
            message if self.identity().is_none() => self.introduce(message, ctx),
            M::RegisterCommands(_) | M::UnregisterCommands(_) if !self.may_change_tools() => {
                self.over_rate("registrations", None, ctx);
            }
            M::RegisterCommands(register) => {
                let (tools, refused) = self.shelf.read(register.commands);
                self.deps.counts.tools_refused.add(refused.len() as u64);
                let change = ChangeTools {
                    add: tools.to_vec(),
                    remove: Vec::new(),
                };
                self.change_tools(change, Some(refused), ctx);
            }
            M::UnregisterCommands(unregister) => {
                self.shelf.remove(&unregister.names);
                let change = ChangeTools {
                    add: Vec::new(),
                    remove: unregister.names,
                };
                self.change_tools(change, None, ctx);
            }
            M::CommandResult(result) => {
                let fact = ConnectionFact::Answered {
                    task_id: result.task_id.clone(),
                    call_id: result.call_id.clone(),
                    report: report_of(*result, latin1),
                };
                self.pass_on(fact, ctx);
            }
            M::CallReceipt(receipt) => {
                let call_id = receipt.call_id.clone();
                let receipt = receipt_of(*receipt);
                self.pass_on(ConnectionFact::Receipt { call_id, receipt }, ctx);
            }
            M::CommandProgress(progress) => {
                let fact = ConnectionFact::Progress {
                    call_id: progress.call_id,
                    message: progress.message,
                    progress: progress.progress.map(|p| p.clamp(0.0, 1.0)),
                };
                self.pass_on(fact, ctx);
            }
            M::CreateTask(create) => self.create_task(*create, ctx),
            M::CancelTask(cancel) => self.cancel_task(cancel.task_id, ctx),
            M::UserAnswer(answer) => self.user_answer(answer, ctx),
            M::WorldEvent(event) => self.world_event(event, ctx),
            M::TaskQuery(query) => self.task_query(query, ctx),
            M::Stop(asked) => self.stop(asked, true, ctx),
            M::Resume(asked) => self.stop(asked, false, ctx),
        }
    }

    /// A client that says no `hello` is one of document 001, and has to show who it is.
    fn introduce(&mut self, message: ClientMessage, ctx: &mut Context<Self>) {
        let known = self.handshake.client_id.clone();
        match (known, message) {
            (
                Some(client_id),
                message @ (ClientMessage::CreateTask(_)
                | ClientMessage::CommandResult(_)
                | ClientMessage::CancelTask(_)),
            ) => self.identify_legacy(client_id, Some(message), ctx),
            (None, ClientMessage::CreateTask(create)) => {
                let client_id = create.client_id.clone();
                self.identify_legacy(client_id, Some(ClientMessage::CreateTask(create)), ctx);
            }
            (None, ClientMessage::CommandResult(result)) if self.deps.find_task.is_some() => {
                self.identify_by_task(*result, ctx);
            }
            _ => {
                let error = ErrorMessage::new(ErrorCode::WhoAreYou, "who are you?");
                self.bad_input(error, ctx);
            }
        }
    }

    fn identify_by_task(&mut self, result: CommandResult, ctx: &mut Context<Self>) {
        let Some(find) = &self.deps.find_task else {
            return;
        };
        let found = find(result.task_id.clone()).into_actor(self);
        ctx.wait(found.map(|owner, connection, ctx| match owner {
            Some(client_id) => {
                let first = ClientMessage::CommandResult(Box::new(result));
                connection.identify_legacy(client_id, Some(first), ctx);
            }
            None => {
                let error = ErrorMessage::new(ErrorCode::WhoAreYou, "who are you?");
                connection.bad_input(error, ctx);
            }
        }));
    }

    /// Each change of the tools is written down, so they are paced.
    pub(super) fn may_change_tools(&mut self) -> bool {
        let now = self.now();
        self.tool_changes.take(now)
    }

    fn change_tools(
        &mut self,
        change: ChangeTools,
        refused: Option<Vec<RefusedTool>>,
        ctx: &mut Context<Self>,
    ) {
        let Some(identity) = self.identity() else {
            return;
        };
        let names: Vec<String> = change.add.iter().map(|tool| tool.name.clone()).collect();
        let changed = identity.port.tools.send(change).timeout(CHANGE_WITHIN);
        ctx.wait(
            changed
                .into_actor(self)
                .map(move |changed, connection, ctx| match (changed, refused) {
                    (Ok(tools), Some(refused)) => {
                        let added = names.iter().filter_map(|name| tools.get(name));
                        let answer = registered(added, refused);
                        connection.send(ServerMessage::CommandsRegistered(answer), ctx);
                    }
                    (Ok(_), None) => {}
                    (Err(_), _) => {
                        let words = "the computer's lane does not answer";
                        let error = ErrorMessage::new(ErrorCode::Internal, words);
                        connection.send(ServerMessage::Error(error), ctx);
                    }
                }),
        );
    }
}

/// How a call ended, as its computer tells it.
fn report_of(result: CommandResult, latin1: bool) -> CallReport {
    let outcome = match (result.ok, result.receipt) {
        (true, _) => Outcome::Done,
        (false, Some(ReceiptState::NotStarted)) => Outcome::NotStarted,
        (false, Some(ReceiptState::Unknown)) => Outcome::Unknown,
        (false, _) => Outcome::Failed,
    };
    // Lua writes an empty table either way; a result is an object.
    let mut value = result.result.map(|value| match value {
        Value::Array(items) if items.is_empty() => json!({}),
        value => value,
    });
    if latin1 && let Some(Value::Object(fields)) = &mut value {
        fields.entry("encoding").or_insert_with(|| json!("latin1"));
    }
    CallReport {
        outcome,
        result: value,
        error: result.error,
        code: result.code,
        duration_ms: result.duration_ms,
        truncated: result.truncated,
    }
}

fn receipt_of(receipt: CallReceipt) -> Receipt {
    match receipt.state {
        ReceiptState::NotStarted => Receipt::NotStarted,
        ReceiptState::Started => Receipt::Started,
        ReceiptState::Unknown => Receipt::Unknown,
        ReceiptState::Done => {
            let ok = receipt.ok.unwrap_or(receipt.error.is_none());
            Receipt::Done(CallReport {
                outcome: if ok { Outcome::Done } else { Outcome::Failed },
                result: receipt.result,
                error: receipt.error,
                code: receipt.code,
                duration_ms: None,
                truncated: receipt.truncated,
            })
        }
    }
}
