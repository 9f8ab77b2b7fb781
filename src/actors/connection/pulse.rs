//! What a connection does by the clock: life signs of both kinds, the wait for a first word, and what is sent again.
//!
//! One timer serves all of it: each further one would cost memory in every connection and a look with every message.

use super::*;

/// When something is to be done, since the start of the connection.
pub(super) struct Due {
    heartbeat: Duration,
    program_ping: Duration,
    /// None once somebody said who is there.
    hello: Option<Duration>,
}

impl Due {
    /// Spread over a half of the time, so that connections which were opened together do not ping together.
    pub(super) fn new(settings: &ConnectionSettings, id: ConnectionId) -> Self {
        let spread = |interval: Duration| interval / 2 + interval / 128 * id.share();
        Due {
            heartbeat: spread(settings.heartbeat),
            program_ping: spread(settings.program_ping),
            hello: Some(settings.hello_deadline),
        }
    }

    pub(super) fn next(&self) -> Duration {
        let beats = self.heartbeat.min(self.program_ping);
        self.hello.map_or(beats, |hello| hello.min(beats))
    }
}

impl Connection {
    /// Does whatever is due.
    pub(super) fn pulse(&mut self, ctx: &mut Context<Self>) {
        let now = self.now();
        let settings = self.deps.settings.clone();
        if self.due.heartbeat <= now {
            self.due.heartbeat = now + settings.heartbeat;
            self.heartbeat(ctx);
            self.look_at_token(ctx);
        }
        if self.due.program_ping <= now {
            self.due.program_ping = now + settings.program_ping;
            self.program_heartbeat(ctx);
        }
        if self.due.hello.take_if(|at| *at <= now).is_some() {
            self.hello_missing(ctx);
        }
        self.with(ctx, Outlet::tick);
    }

    /// WebSocket pings tell whether the connection lives.
    fn heartbeat(&mut self, ctx: &mut Context<Self>) {
        if self.lost_pings >= MAX_LOST_PINGS {
            tracing::debug!(connection = ?self.id, "three pings were lost");
            self.deps.counts.lost.one();
            self.give_up(ctx);
            return;
        }
        self.lost_pings += 1;
        self.with(ctx, Outlet::ping);
    }

    /// `ping` messages tell whether the computer's program lives: a paused game is silent.
    fn program_heartbeat(&mut self, ctx: &mut Context<Self>) {
        if !self.identity().is_some_and(|identity| identity.pinged) {
            return;
        }
        if self.lost_program_pings >= MAX_LOST_PINGS && self.responsive {
            self.responsive = false;
            self.tell_computer(ConnectionFact::Responsive(false));
        }
        self.lost_program_pings = self.lost_program_pings.saturating_add(1);
        self.send_ping(ctx);
    }

    /// Nobody has said who is there.
    fn hello_missing(&mut self, ctx: &mut Context<Self>) {
        if self.identity().is_some() || self.is_closing() {
            return;
        }
        match self.handshake.client_id.clone() {
            Some(client_id) => self.identify_legacy(client_id, None, ctx),
            None => self.close(
                CloseWith::Protocol,
                ErrorMessage::new(ErrorCode::HelloMissing, "nobody said who is there"),
                ctx,
            ),
        }
    }
}
