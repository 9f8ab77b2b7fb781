//! One WebSocket of a computer: an ordinary actor that reads and writes its socket itself (`socket.rs`).
//!
//! It decodes frames, says who the computer is to the registry, numbers and paces what goes out, and keeps the
//! heartbeat. It never waits for the socket: a frame leaves when the system takes it (`send.rs`), so a
//! computer that does not read costs at most what its outbox holds and never stops a timer. Messages to it are
//! facts (`do_send`); the bound is the outbox, and a connection whose outbox is over it is closed. What comes from
//! another thread is counted before it waits in the mailbox (`backlog.rs`).

pub mod admission;
pub mod asks;
pub mod guard;
pub mod messages;
pub mod outbox;
pub mod outlet;
pub mod socket;
pub mod window;

mod admit;
mod deps;
mod identify;
mod inbound;
mod pulse;
mod send;
mod tag;
mod tasks;

pub use admit::{Handshake, OwnerLookup, TokenGate};
pub use deps::{
    CallerLookup, ConnectionDeps, ConnectionSettings, StopDesk, TaskDesk, TaskLister, TaskLookup,
};

use crate::actors::backlog::Backlog;
use crate::actors::computer::link::{ComputerPort, ConnectionFact, FromConnection};
use crate::actors::computer::shell::Shell;
use crate::actors::near::{Home, Near};
use crate::actors::registry::messages::ClientGone;
use crate::actors::tokens::Admitted;
use crate::domain::ids::ClientId;
use crate::wire::chunks::Assembler;
use crate::wire::codes::{CloseWith, ErrorCode};
use crate::wire::frames::ServerMessage;
use crate::wire::frames::incoming::Hello;
use crate::wire::frames::outgoing::{ErrorMessage, PingNonce};
use crate::wire::frames::tools::ToolShelf;
use actix::prelude::*;
use guard::{ErrorCount, Rate};
use messages::{
    CloseConnection, ConnectionId, ConnectionLink, LookAfter, MAX_BETWEEN_THREADS, Probe, ToClient,
};
use outlet::Outlet;
use pulse::Due;
use socket::{Incoming, Socket, TakenOver};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// Pings, of either kind, that may be lost in a row.
const MAX_LOST_PINGS: u32 = 3;
/// How long the program has to answer a probe (wire contract, "Identity").
const PROBE_WITHIN: Duration = Duration::from_secs(2);

/// Events of the world that a computer may tell: so many a second, after so many at once.
const EVENTS: (u32, u32) = (16, 64);
/// Registrations of tools likewise: each is written down.
const TOOL_CHANGES: (u32, u32) = (4, 64);
/// After so many facts a connection waits until its computer has taken them, so that no flood fills its mailbox.
const FACTS_AT_ONCE: u32 = 64;
/// A computer waits for nobody.
const FACT_WITHIN: Duration = Duration::from_secs(5);

/// Who speaks on this connection.
enum Phase {
    Nobody,
    Known(Identity),
}

#[derive(Clone)]
struct Identity {
    client_id: ClientId,
    /// The token that let it in.
    token: Option<Admitted>,
    boot_id: String,
    port: ComputerPort,
    /// The computer's lane, if it is on this thread.
    lane: Option<Near<Shell>>,
    legacy: bool,
    /// A client without `library_version` may garble non-ASCII text.
    mend: bool,
    /// Whether its program is asked for life signs.
    pinged: bool,
}

/// The actor.
pub struct Connection {
    id: ConnectionId,
    deps: Arc<ConnectionDeps>,
    handshake: Handshake,
    /// Was said on another thread, from which the connection came here.
    first: Option<Box<Hello>>,
    phase: Phase,
    outlet: Home<Outlet>,
    /// For a lane on another thread.
    from_elsewhere: Backlog<ServerMessage>,
    chunks: Assembler,
    /// A timer looks after the open sets of chunks.
    chunks_watched: bool,
    shelf: ToolShelf,
    tool_changes: Rate,
    events: Rate,
    /// Questions to others that wait for their answer.
    asking: u32,
    /// Facts that were told since the computer was last waited for.
    facts_told: u32,
    errors: ErrorCount,
    started: Instant,
    /// One timer for everything: each would cost memory, and a look at every message.
    timer: Option<SpawnHandle>,
    due: Due,
    heard: bool,
    lost_pings: u32,
    lost_program_pings: u32,
    responsive: bool,
    next_nonce: u64,
    probes: Vec<oneshot::Sender<()>>,
}

impl Connection {
    /// Starts the actor for a WebSocket on another thread.
    pub fn open_at(
        home: &ArbiterHandle,
        stream: TakenOver,
        handshake: Handshake,
        deps: Arc<ConnectionDeps>,
        first: Option<Box<Hello>>,
    ) {
        home.spawn(async move {
            match stream.open(deps.settings.max_frame_bytes) {
                Ok((socket, incoming)) => {
                    Connection::open(socket, incoming, handshake, deps, first);
                }
                Err(error) => tracing::warn!(%error, "a connection could not be taken over"),
            }
        });
    }

    /// Starts the actor for an accepted WebSocket, on the thread that serves it. `first` is what was said already.
    pub fn open(
        socket: Socket,
        incoming: Incoming,
        handshake: Handshake,
        deps: Arc<ConnectionDeps>,
        first: Option<Box<Hello>>,
    ) -> Addr<Self> {
        Connection::create(|ctx| {
            ctx.add_stream(incoming);
            let id = ConnectionId::next();
            Connection {
                id,
                due: Due::new(&deps.settings, id),
                outlet: Home::new(
                    id.key(),
                    Outlet::new(
                        socket,
                        deps.settings.max_frame_bytes,
                        ctx.address().recipient(),
                    ),
                ),
                from_elsewhere: Backlog::new(ctx.address().recipient(), MAX_BETWEEN_THREADS),
                chunks: Assembler::new(deps.settings.max_from_computer, deps.chunk_budget.clone()),
                chunks_watched: false,
                shelf: ToolShelf::default(),
                tool_changes: Rate::new(TOOL_CHANGES.0, TOOL_CHANGES.1),
                events: Rate::new(EVENTS.0, EVENTS.1),
                asking: 0,
                facts_told: 0,
                deps,
                handshake,
                first,
                phase: Phase::Nobody,
                errors: ErrorCount::default(),
                started: Instant::now(),
                timer: None,
                heard: false,
                lost_pings: 0,
                lost_program_pings: 0,
                responsive: true,
                next_nonce: 1,
                probes: Vec::new(),
            }
        })
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    fn identity(&self) -> Option<&Identity> {
        match &self.phase {
            Phase::Nobody => None,
            Phase::Known(identity) => Some(identity),
        }
    }

    fn link(&self, ctx: &Context<Self>) -> ConnectionLink {
        ConnectionLink {
            id: self.id,
            out: self.from_elsewhere.clone(),
            probe: ctx.address().recipient(),
            close: ctx.address().recipient(),
        }
    }

    /// Tells the computer's actor something; nobody is told before it is known whose connection this is.
    fn tell_computer(&self, fact: ConnectionFact) {
        let Some(identity) = self.identity() else {
            return;
        };
        let told = FromConnection {
            connection: self.id,
            fact,
        };
        match &identity.lane {
            // A lane that has failed is started again with the next registration.
            Some(lane) => drop(lane.deliver(told.into())),
            None => identity.port.facts.do_send(told),
        }
    }

    /// Tells what the computer said. After many facts the next message is read only when they were taken.
    fn pass_on(&mut self, fact: ConnectionFact, ctx: &mut Context<Self>) {
        let Some(identity) = self.identity() else {
            return;
        };
        // On the same thread it is taken at once.
        let is_near = identity.lane.is_some();
        self.facts_told += 1;
        if is_near || self.facts_told < FACTS_AT_ONCE {
            return self.tell_computer(fact);
        }
        let told = FromConnection {
            connection: self.id,
            fact,
        };
        let Some(identity) = self.identity() else {
            return;
        };
        let taken = identity.port.facts.send(told).timeout(FACT_WITHIN);
        let taken = taken.into_actor(self);
        self.facts_told = 0;
        ctx.wait(taken.map(|_, _, _| ()));
    }

    fn send_ping(&mut self, ctx: &mut Context<Self>) {
        let nonce = self.next_nonce;
        self.next_nonce += 1;
        self.send(ServerMessage::Ping(PingNonce { nonce }), ctx);
    }

    /// The computer's program said something.
    fn program_lives(&mut self) {
        self.heard = true;
        self.lost_program_pings = 0;
        for probe in self.probes.drain(..) {
            // Whoever asked may have stopped waiting.
            let _ = probe.send(());
        }
        if !self.responsive {
            self.responsive = true;
            self.tell_computer(ConnectionFact::Responsive(true));
        }
    }
}

impl Actor for Connection {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.arm(ctx);
        if let Some(hello) = self.first.take() {
            self.hello(*hello, ctx);
        }
    }

    fn stopped(&mut self, _ctx: &mut Self::Context) {
        if let Some(identity) = self.identity() {
            self.deps.gone.do_send(ClientGone {
                client_id: identity.client_id.clone(),
                connection: self.id,
            });
        }
    }
}

impl Handler<ToClient> for Connection {
    type Result = ();

    fn handle(&mut self, message: ToClient, ctx: &mut Self::Context) {
        self.with(ctx, |outlet| outlet.pass(message.0));
    }
}

impl Handler<LookAfter> for Connection {
    type Result = ();

    fn handle(&mut self, _: LookAfter, ctx: &mut Self::Context) {
        self.look_after(ctx);
    }
}

impl Handler<Probe> for Connection {
    type Result = ResponseFuture<bool>;

    fn handle(&mut self, _: Probe, ctx: &mut Self::Context) -> Self::Result {
        let (tell, told) = oneshot::channel();
        self.probes.push(tell);
        self.send_ping(ctx);
        Box::pin(
            async move { matches!(tokio::time::timeout(PROBE_WITHIN, told).await, Ok(Ok(()))) },
        )
    }
}

impl Handler<CloseConnection> for Connection {
    type Result = ();

    fn handle(&mut self, close: CloseConnection, ctx: &mut Self::Context) {
        if close.code == ErrorCode::SlowReader {
            return self.overfull(ctx);
        }
        let error = ErrorMessage::new(close.code, close.code.hint());
        self.close(close.close, error, ctx);
    }
}
