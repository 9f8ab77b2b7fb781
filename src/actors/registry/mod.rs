//! Which computers there are, and which connection speaks for each. The only writer of the [`Router`].
//!
//! Nothing of a call passes through here: tasks find a computer's lane in the router. Asks come from connections;
//! the registry itself waits only for the probe of an earlier connection, for two seconds.

mod choose;
mod computers;
pub(crate) mod failed;
pub mod index;
pub mod messages;
mod ports;
pub mod router;
mod stops;

pub use stops::Stops;

use crate::actors::computer::lane::LaneLimits;
use crate::actors::computer::link::{Attach, ComputerPort, Detach};
use crate::actors::computer::view::ComputerCell;
use crate::actors::computer::{Computer, LateDesk, now_ms};
use crate::actors::connection::messages::{CloseConnection, ConnectionLink, Probe};
use crate::actors::counts::FleetCounts;
use crate::actors::journal::messages::{
    KeepSystem, NoticeDelivered, SaveComputer, UndeliveredNotices,
};
use crate::actors::near::NearKey;
use crate::actors::shards::Shards;
use crate::domain::access::LOCAL_OWNER;
use crate::domain::ids::ClientId;
use crate::store::{Epoch, KnownComputer};
use crate::wire::codes::{CloseWith, ErrorCode};
use actix::prelude::*;
use failed::Failures;
use messages::{
    ClientGone, CloseConnections, FleetChanged, NoticesMissed, Refusal, RegisterComputer,
    Registered, SetListener, ToolsChanged,
};
use router::Router;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

const MAILBOX: usize = 4096;
/// A probe answers within two seconds; a little more for the way.
const PROBE_WITHIN: Duration = Duration::from_millis(2500);

/// What the registry needs of the journal. Without them nothing outlives the process (tests).
#[derive(Clone, Default)]
pub struct RegistryLinks {
    pub save: Option<Recipient<SaveComputer>>,
    pub undelivered: Option<Recipient<UndeliveredNotices>>,
    pub delivered: Option<Recipient<NoticeDelivered>>,
    pub late: LateDesk,
    pub counts: Arc<FleetCounts>,
    pub system: Option<Recipient<KeepSystem>>,
    /// As the journal kept them.
    pub stops: Stops,
    pub epoch: Epoch,
}

struct Entry {
    addr: Addr<Computer>,
    key: NearKey,
    cell: Arc<ComputerCell>,
    secret_hash: Option<String>,
    last_boot: Option<String>,
    /// The last epoch of the journal that it has heard of.
    epoch: u64,
    current: Option<Current>,
    failures: Failures,
}

/// The connection that speaks for a computer.
struct Current {
    link: ConnectionLink,
    boot_id: String,
    legacy: bool,
}

type Answer = ResponseActFuture<Registry, Result<Registered, Refusal>>;

enum Verdict {
    Admit,
    Refuse(Refusal),
    /// Another computer of this name is there.
    Second,
    Ask(ConnectionLink),
}

/// The actor.
pub struct Registry {
    router: Router,
    limits: LaneLimits,
    links: RegistryLinks,
    /// Where computers run; on the registry's own thread if there are none.
    shards: Shards,
    known: Vec<KnownComputer>,
    entries: HashMap<ClientId, Entry>,
    listener: Option<Recipient<FleetChanged>>,
}

impl Registry {
    /// `known` are the computers of the journal; they are in the router as soon as the actor has started.
    pub fn new(
        router: Router,
        known: Vec<KnownComputer>,
        limits: LaneLimits,
        links: RegistryLinks,
        shards: Shards,
    ) -> Self {
        Registry {
            router,
            limits,
            links,
            shards,
            known,
            entries: HashMap::new(),
            listener: None,
        }
    }

    /// Whether a connection may speak for its computer (wire contract, "Identity").
    fn judge(&self, register: &RegisterComputer) -> Verdict {
        let entry = self.entries.get(&register.client_id);
        let knows_secret = entry.is_some_and(|entry| entry.knows(&register.session_secret));
        if register.over_quota && !knows_secret {
            let message = "too many new connections from this address".to_owned();
            return Verdict::Refuse(Refusal {
                code: ErrorCode::RateLimited,
                message,
            });
        }
        let Some(current) = entry.and_then(|entry| entry.current.as_ref()) else {
            return Verdict::Admit;
        };
        let same_program = current.boot_id == register.boot_id && knows_secret;
        if current.link.id == register.link.id || current.legacy || same_program {
            return Verdict::Admit;
        }
        if register.registration.legacy {
            return Verdict::Second;
        }
        Verdict::Ask(current.link.clone())
    }

    /// The newcomer speaks for its computer; an earlier connection is closed. The answer comes when routing knows.
    fn admit(&mut self, register: RegisterComputer, ctx: &mut Context<Self>) -> Answer {
        let client_id = register.client_id.clone();
        self.ensure_computer(&client_id, ctx);
        let Some(entry) = self.entries.get_mut(&client_id) else {
            return self.refuse(in_use(&client_id));
        };
        if let Some(owner) = &register.owner {
            entry.cell.set_owner(owner);
        }
        let secret = match register.session_secret {
            Some(secret) if entry.knows(&Some(secret.clone())) => secret,
            _ => new_secret(),
        };
        entry.secret_hash = Some(hash(&secret));
        entry.last_boot = Some(register.boot_id.clone());
        let later_epoch = register
            .journal_epoch
            .is_some_and(|epoch| epoch > self.links.epoch.get());
        entry.epoch = entry.epoch.max(register.journal_epoch.unwrap_or_default());
        let former = entry.current.replace(Current {
            link: register.link.clone(),
            boot_id: register.boot_id.clone(),
            legacy: register.registration.legacy,
        });
        if let Some(former) = former
            && former.link.id != register.link.id
        {
            former.link.close.do_send(CloseConnection {
                close: CloseWith::IdentityInUse,
                code: ErrorCode::TakenOver,
            });
        }
        let attached = entry.addr.send(Attach {
            link: register.link,
            boot_id: register.boot_id,
            high_seq: register.high_seq,
            later_epoch,
            registration: register.registration,
        });
        let port = ComputerPort {
            key: entry.key,
            facts: entry.addr.clone().recipient(),
            tools: entry.addr.clone().recipient(),
        };
        let (addr, cell) = (entry.addr.clone(), entry.cell.clone());
        self.bring_notices(&client_id, addr);
        let attached = async move {
            attached.await.map(|()| Registered {
                session_secret: secret,
                port,
                // As they are now that the computer has taken them.
                tools: cell.tools(),
            })
        };
        let attached = attached.into_actor(self);
        Box::pin(attached.map(|attached, _, _| attached.map_err(|_| lane_failed())))
    }

    /// Two live computers share an identity: people have to tell them apart, so it is shown where they look.
    fn refuse_second(&self, client_id: &ClientId) -> Answer {
        tracing::warn!(computer = %client_id, "a second computer of this name is refused");
        if let Some(entry) = self.entries.get(client_id) {
            entry.cell.note_second_copy(now_ms());
        }
        self.refuse(in_use(client_id))
    }

    fn refuse(&self, refusal: Refusal) -> Answer {
        Box::pin(async { Err(refusal) }.into_actor(self))
    }

    fn tell(&self, client_id: &ClientId, online: bool) {
        if let Some(listener) = &self.listener {
            listener.do_send(FleetChanged {
                client_id: client_id.clone(),
                online,
            });
        }
    }
}

impl Entry {
    fn knows(&self, secret: &Option<String>) -> bool {
        match (&self.secret_hash, secret) {
            (Some(known), Some(secret)) => *known == hash(secret),
            _ => false,
        }
    }
}

fn hash(secret: &str) -> String {
    blake3::hash(secret.as_bytes()).to_hex().to_string()
}

fn new_secret() -> String {
    let mut bytes = [0u8; 16];
    // The system's random numbers do not fail on any platform we run on; if they did, an empty secret would
    // only mean that the next connection is probed instead of trusted.
    if getrandom::fill(&mut bytes).is_err() {
        return String::new();
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn lane_failed() -> Refusal {
    Refusal {
        code: ErrorCode::Internal,
        message: "the computer's lane failed; try again".to_owned(),
    }
}

fn in_use(client_id: &ClientId) -> Refusal {
    Refusal {
        code: ErrorCode::IdentityInUse,
        message: format!("computer \"{client_id}\" is connected already"),
    }
}

impl Actor for Registry {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
        for known in std::mem::take(&mut self.known) {
            self.start_known(known, ctx);
        }
    }
}

impl Handler<RegisterComputer> for Registry {
    type Result = Answer;

    fn handle(&mut self, register: RegisterComputer, ctx: &mut Self::Context) -> Self::Result {
        let link = match self.judge(&register) {
            Verdict::Admit => return self.admit(register, ctx),
            Verdict::Refuse(refusal) => return self.refuse(refusal),
            Verdict::Second => return self.refuse_second(&register.client_id),
            Verdict::Ask(link) => link,
        };
        let probe = link.probe.send(Probe).timeout(PROBE_WITHIN);
        let probed = async move { matches!(probe.await, Ok(true)) }.into_actor(self);
        Box::pin(probed.then(move |lives, registry, ctx| {
            // Meanwhile another newcomer may have come, or the probed connection may have ended.
            match registry.judge(&register) {
                Verdict::Admit => registry.admit(register, ctx),
                Verdict::Refuse(refusal) => registry.refuse(refusal),
                Verdict::Ask(now) if !lives && now.id == link.id => registry.admit(register, ctx),
                Verdict::Ask(_) | Verdict::Second => registry.refuse_second(&register.client_id),
            }
        }))
    }
}

impl Handler<ClientGone> for Registry {
    type Result = ();

    fn handle(&mut self, gone: ClientGone, _ctx: &mut Self::Context) {
        let Some(entry) = self.entries.get_mut(&gone.client_id) else {
            return;
        };
        let connection = gone.connection;
        if entry
            .current
            .as_ref()
            .is_some_and(|c| c.link.id == connection)
        {
            entry.current = None;
            entry.addr.do_send(Detach { connection });
            self.tell(&gone.client_id, false);
        }
    }
}

impl Handler<ToolsChanged> for Registry {
    type Result = ();

    fn handle(&mut self, changed: ToolsChanged, _: &mut Self::Context) {
        self.save(&changed.client_id);
        let online = self
            .entries
            .get(&changed.client_id)
            .is_some_and(|entry| entry.current.is_some());
        self.tell(&changed.client_id, online);
    }
}

impl Handler<NoticesMissed> for Registry {
    type Result = ();

    fn handle(&mut self, missed: NoticesMissed, _: &mut Self::Context) {
        if let Some(entry) = self.entries.get(&missed.client_id) {
            self.bring_notices(&missed.client_id, entry.addr.clone());
        }
    }
}

impl Handler<SetListener> for Registry {
    type Result = ();

    fn handle(&mut self, listener: SetListener, _ctx: &mut Self::Context) {
        self.listener = Some(listener.0);
    }
}

impl Handler<CloseConnections> for Registry {
    type Result = ();

    fn handle(&mut self, _: CloseConnections, _ctx: &mut Self::Context) {
        for entry in self.entries.values_mut() {
            if let Some(current) = entry.current.take() {
                current.link.close.do_send(CloseConnection {
                    close: CloseWith::GoingAway,
                    code: ErrorCode::Stopping,
                });
            }
        }
    }
}
