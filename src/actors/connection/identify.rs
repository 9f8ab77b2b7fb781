//! Who speaks on a connection: `hello`, or what a client of document 001 shows of itself.

use super::outbox::Manner;
use super::outlet::Outlet;
use super::{Connection, Identity};
use crate::actors::near::Near;
use crate::actors::registry::messages::{Refusal, RegisterComputer, Registered, Registration};
use crate::actors::tokens::Admitted;
use crate::domain::ids::ClientId;
use crate::wire::PROTOCOL_VERSION;
use crate::wire::codes::{CloseWith, ErrorCode};
use crate::wire::frames::incoming::{ClientMessage, FrameKind, Hello};
use crate::wire::frames::outgoing::{ErrorMessage, RefusedTool, ServerMessage, Welcome};
use crate::wire::frames::tools::{ToolShelf, registered};
use actix::prelude::*;
use std::time::Duration;

/// A registration asks the registry, which may probe another connection first.
const REGISTER_WITHIN: Duration = Duration::from_secs(10);
/// The smallest frame limit that a client may name: an ordinary message has to fit.
const MIN_FRAME_BYTES: usize = 1024;
const MAX_WINDOW: usize = 64;
/// The most frames that a message to a computer may take, or twice as many where every character is escaped.
const MAX_CHUNKS_OUT: usize = 64;
/// What this server can do beyond protocol 1's beginnings; a client that names `chunks` gets them too.
const FEATURES: [&str; 9] = [
    "window",
    "receipts",
    "binary_frames",
    "questions",
    "progress",
    CHUNKS,
    "world_event",
    "task_query",
    "stop",
];
const CHUNKS: &str = "chunks";

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
        if let Err(error) = check(&hello) {
            return self.bad_input(*error, ctx);
        }
        let hello = match self.go_home(hello, ctx) {
            Some(hello) => hello,
            None => return,
        };
        if self.identity().is_some() && !self.may_change_tools() {
            return self.over_rate("registrations", None, ctx);
        }
        let (mut hello, mut shelf) = (hello, ToolShelf::default());
        let shown = hello.token.take();
        let token = match self.admit(shown.as_deref(), &hello.client_id) {
            Ok(token) => token,
            Err(why) => return self.send_away(why, ctx),
        };
        let (tools, refused) = shelf.read(std::mem::take(&mut hello.commands));
        self.deps.counts.tools_refused.add(refused.len() as u64);
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
            owner: token.as_ref().map(|token| token.owner.clone()),
        };
        self.register(register, ctx, move |connection, done, ctx| {
            connection.shelf = shelf;
            connection.welcome(&hello, token, done, refused, ctx);
        });
    }

    /// A connection that turns out to be of a computer that lives on another thread goes there, with what it said.
    fn go_home(&mut self, hello: Hello, ctx: &mut Context<Self>) -> Option<Hello> {
        if self.identity().is_some() {
            return Some(hello);
        }
        let Some(home) = self.deps.shards.elsewhere(&hello.client_id) else {
            return Some(hello);
        };
        // One for whom something waits stays: its computer is reached by mailboxes.
        let Some(stream) = self.outlet.visit(Outlet::hand_over).flatten() else {
            return Some(hello);
        };
        let (handshake, deps) = (self.handshake.clone(), self.deps.clone());
        Connection::open_at(home, stream, handshake, deps, Some(Box::new(hello)));
        ctx.stop();
        None
    }

    /// Asks the registry and waits for it: what the client sends meanwhile is read afterwards, in order.
    fn register<F>(&self, register: RegisterComputer, ctx: &mut Context<Self>, then: F)
    where
        F: FnOnce(&mut Self, Registered, &mut Context<Self>) + 'static,
    {
        // A lane on this thread learns of the connection before the connection is answered.
        self.outlet.visit(Outlet::hold);
        let asked = self
            .deps
            .register
            .send(register)
            .timeout(REGISTER_WITHIN)
            .into_actor(self);
        ctx.wait(asked.map(|answer, connection, ctx| {
            let refusal = match answer {
                Ok(Ok(registered)) => {
                    then(connection, registered, ctx);
                    return connection.with(ctx, Outlet::release);
                }
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
            connection.deps.counts.refused.one();
            let error = ErrorMessage::new(refusal.code, refusal.message);
            connection.close(close, error, ctx);
        }));
    }

    fn welcome(
        &mut self,
        hello: &Hello,
        token: Option<Admitted>,
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
        let joins = hello.features.iter().any(|feature| feature == CHUNKS);
        let max_joined = settings.max_to_computer;
        let max_joined_bytes = joins.then_some(max_joined.min(max_frame_bytes * MAX_CHUNKS_OUT));
        self.set_known(Identity {
            client_id: hello.client_id.clone(),
            token,
            boot_id: hello.boot_id.clone(),
            lane: Near::find(done.port.key),
            port: done.port,
            legacy: false,
            mend: hello.library_version.is_none(),
            pinged: true,
        });
        let manner = Manner {
            window,
            ascii: !binary,
            binary,
            max_frame_bytes,
            max_joined_bytes,
            legacy: false,
        };
        self.with(ctx, |outlet| outlet.set_manner(manner));
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
            max_to_computer: max_joined_bytes.unwrap_or(max_frame_bytes) as u64,
            max_from_computer: settings.max_from_computer as u64,
            window: window.unwrap_or(0) as u64,
            library: settings.library.clone(),
            commands: registered(done.tools.iter(), refused),
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
        let token = match self.admit(None, &client_id) {
            Ok(token) => token,
            Err(why) => return self.send_away(why, ctx),
        };
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
            owner: token.as_ref().map(|token| token.owner.clone()),
        };
        let max_frame_bytes = self.deps.settings.max_frame_bytes;
        self.register(register, ctx, move |connection, done, ctx| {
            // The tools that its earlier tasks named stay, and count.
            for tool in done.tools.iter() {
                connection.shelf.put(tool);
            }
            connection.set_known(Identity {
                client_id,
                token,
                boot_id,
                lane: Near::find(done.port.key),
                port: done.port,
                legacy: true,
                mend: true,
                pinged: false,
            });
            let manner = Manner {
                window: None,
                ascii: true,
                binary: false,
                max_frame_bytes,
                max_joined_bytes: None,
                legacy: true,
            };
            connection.with(ctx, |outlet| outlet.set_manner(manner));
            if let Some(message) = first {
                connection.take(message, false, ctx);
            }
        });
    }
}

/// What a computer says of itself is kept and written down, so it has bounds.
fn check(hello: &Hello) -> Result<(), Box<ErrorMessage>> {
    const NAME: usize = 64;
    const SECRET: usize = 512;
    const NAMES: usize = 64;
    let computer = hello.computer.as_ref();
    let texts = [
        ("boot_id", Some(&hello.boot_id), NAME),
        ("label", hello.label.as_ref(), NAME),
        ("library_version", hello.library_version.as_ref(), NAME),
        ("server_id", hello.server_id.as_ref(), NAME),
        ("session_secret", hello.session_secret.as_ref(), SECRET),
        ("token", hello.token.as_ref(), SECRET),
        (
            "computer.kind",
            computer.and_then(|c| c.kind.as_ref()),
            NAME,
        ),
        (
            "computer.version",
            computer.and_then(|c| c.version.as_ref()),
            NAME,
        ),
    ];
    let too_long = |text: &String, max: usize| text.chars().count() > max;
    let refuse = |field: String, words: String| {
        let mut error = ErrorMessage::new(ErrorCode::BadField, words);
        error.field = Some(field);
        Err(Box::new(error))
    };
    for (field, text, max) in texts {
        if text.is_some_and(|text| too_long(text, max)) {
            return refuse(
                field.to_owned(),
                format!("it has more than {max} characters"),
            );
        }
    }
    for (field, names) in [("groups", &hello.groups), ("features", &hello.features)] {
        if names.len() > NAMES {
            return refuse(field.to_owned(), format!("there are more than {NAMES}"));
        }
        if let Some(at) = names.iter().position(|name| too_long(name, NAME)) {
            let words = format!("it has more than {NAME} characters");
            return refuse(format!("{field}[{at}]"), words);
        }
    }
    Ok(())
}
