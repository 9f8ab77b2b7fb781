//! Who speaks on a connection: `hello`, or what a client of document 001 shows of itself.

use super::outbox::Manner;
use super::{Connection, Identity};
use crate::actors::registry::messages::{Refusal, RegisterComputer, Registered, Registration};
use crate::domain::ids::ClientId;
use crate::wire::PROTOCOL_VERSION;
use crate::wire::codes::{CloseWith, ErrorCode};
use crate::wire::frames::incoming::{ClientMessage, FrameKind, Hello};
use crate::wire::frames::outgoing::{ErrorMessage, RefusedTool, ServerMessage, Welcome};
use crate::wire::frames::tools::{read_tools, registered};
use actix::prelude::*;
use std::time::Duration;

/// A registration asks the registry, which may probe another connection first.
const REGISTER_WITHIN: Duration = Duration::from_secs(10);
/// The smallest frame limit that a client may name: an ordinary message has to fit.
const MIN_FRAME_BYTES: usize = 1024;
const MAX_WINDOW: usize = 64;
/// What this server can do beyond protocol 1's beginnings.
const FEATURES: [&str; 5] = [
    "window",
    "receipts",
    "binary_frames",
    "questions",
    "progress",
];

impl Connection {
    pub(super) fn hello(&mut self, hello: Hello, ctx: &mut Context<Self>) {
        if hello.protocol != PROTOCOL_VERSION {
            let words = format!("protocol {} is not spoken here", hello.protocol);
            let error = ErrorMessage::new(ErrorCode::BadProtocol, words);
            return self.close(CloseWith::Protocol, error, ctx);
        }
        let other = self
            .identity()
            .is_some_and(|i| i.client_id != hello.client_id);
        if other {
            let words = "this connection speaks for another computer";
            let error = ErrorMessage::new(ErrorCode::IdentityMismatch, words);
            return self.bad_input(error, ctx);
        }
        let (tools, refused) = read_tools(hello.commands.clone());
        let computer = hello.computer.clone().unwrap_or_default();
        let register = RegisterComputer {
            client_id: hello.client_id.clone(),
            link: self.link(ctx),
            boot_id: hello.boot_id.clone(),
            session_secret: hello.session_secret.clone(),
            // Numbers of another server's lane mean nothing here.
            high_seq: hello
                .high_seq
                .filter(|_| hello.server_id.as_ref() == Some(&self.deps.settings.server_id)),
            journal_epoch: hello
                .journal_epoch
                .filter(|_| hello.server_id.as_ref() == Some(&self.deps.settings.server_id)),
            registration: Registration {
                label: hello.label.clone(),
                kind: computer.kind,
                computer_id: computer.id,
                cc_version: computer.version,
                groups: hello.groups.clone(),
                library_version: hello.library_version.clone(),
                features: hello.features.clone(),
                tools,
                once_owned: Default::default(),
                legacy: false,
            },
            over_quota: self.handshake.over_quota,
        };
        self.register(register, ctx, move |connection, done, ctx| {
            connection.welcome(&hello, done, refused, ctx);
        });
    }

    /// Asks the registry and waits for it: what the client sends meanwhile is read afterwards, in order.
    fn register<F>(&self, register: RegisterComputer, ctx: &mut Context<Self>, then: F)
    where
        F: FnOnce(&mut Self, Registered, &mut Context<Self>) + 'static,
    {
        let asked = self
            .deps
            .register
            .send(register)
            .timeout(REGISTER_WITHIN)
            .into_actor(self);
        ctx.wait(asked.map(|answer, connection, ctx| {
            let refusal = match answer {
                Ok(Ok(registered)) => return then(connection, registered, ctx),
                Ok(Err(refusal)) => refusal,
                Err(_) => Refusal {
                    code: ErrorCode::Internal,
                    message: "the registry does not answer".to_owned(),
                },
            };
            let close = match refusal.code {
                ErrorCode::IdentityInUse => CloseWith::IdentityInUse,
                ErrorCode::RateLimited => CloseWith::RateLimited,
                ErrorCode::Internal => CloseWith::TryLater,
                _ => CloseWith::NotAllowed,
            };
            let error = ErrorMessage::new(refusal.code, refusal.message);
            connection.close(close, error, ctx);
        }));
    }

    fn welcome(
        &mut self,
        hello: &Hello,
        done: Registered,
        refused: Vec<RefusedTool>,
        ctx: &mut Context<Self>,
    ) {
        let settings = self.deps.settings.clone();
        let limit = |named: Option<u64>| named.and_then(|n| usize::try_from(n).ok());
        let window = limit(hello.window).map(|n| n.min(settings.window).clamp(1, MAX_WINDOW));
        let asked_bytes = limit(hello.max_frame_bytes).unwrap_or(settings.max_frame_bytes);
        let max_frame_bytes = asked_bytes.clamp(MIN_FRAME_BYTES, settings.max_frame_bytes);
        let binary = hello.frames == FrameKind::Binary;
        self.set_known(Identity {
            client_id: hello.client_id.clone(),
            boot_id: hello.boot_id.clone(),
            port: done.port,
            legacy: false,
            mend: hello.library_version.is_none(),
            pinged: true,
        });
        self.outbox.set_manner(Manner {
            window,
            ascii: !binary,
            binary,
            max_frame_bytes,
            legacy: false,
        });
        let (tools, _) = read_tools(hello.commands.clone());
        let welcome = Welcome {
            protocol: PROTOCOL_VERSION,
            client_id: hello.client_id.clone(),
            server_id: settings.server_id.clone(),
            journal_epoch: settings.journal_epoch.get(),
            session_secret: done.session_secret,
            server_version: env!("CARGO_PKG_VERSION").to_owned(),
            features: FEATURES.map(str::to_owned).to_vec(),
            heartbeat_ms: u64::try_from(settings.heartbeat.as_millis()).unwrap_or(u64::MAX),
            max_frame_bytes: settings.max_frame_bytes as u64,
            // Until messages are cut into chunks, one message is one frame.
            max_to_computer: max_frame_bytes as u64,
            max_from_computer: settings.max_frame_bytes as u64,
            window: window.unwrap_or(0) as u64,
            library: settings.library.clone(),
            commands: registered(tools.values(), refused),
        };
        self.send(ServerMessage::Welcome(Box::new(welcome)), ctx);
    }

    /// A client that speaks only document 001 has shown who it is; `first` is what it said.
    pub(super) fn identify_legacy(
        &mut self,
        client_id: ClientId,
        first: Option<ClientMessage>,
        ctx: &mut Context<Self>,
    ) {
        // It has no program start of its own: every connection counts as one.
        let boot_id = format!(
            "connection-{}-{:?}",
            crate::actors::computer::now_ms(),
            self.id
        );
        let register = RegisterComputer {
            client_id: client_id.clone(),
            link: self.link(ctx),
            boot_id: boot_id.clone(),
            session_secret: None,
            high_seq: None,
            journal_epoch: None,
            registration: Registration {
                legacy: true,
                ..Registration::default()
            },
            over_quota: self.handshake.over_quota,
        };
        let max_frame_bytes = self.deps.settings.max_frame_bytes;
        self.register(register, ctx, move |connection, done, ctx| {
            connection.set_known(Identity {
                client_id,
                boot_id,
                port: done.port,
                legacy: true,
                mend: true,
                pinged: false,
            });
            connection.outbox.set_manner(Manner {
                window: None,
                ascii: true,
                binary: false,
                max_frame_bytes,
                legacy: true,
            });
            if let Some(message) = first {
                connection.take(message, false, ctx);
            }
        });
    }
}
