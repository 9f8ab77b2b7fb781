//! What a computer's actor holds, and what tasks and connections of its thread deliver to it directly.

use super::attached::Attached;
use super::lane::{Act, Lane, Link, Note, Reply, Reservation};
use super::link::{Attach, ChangeTools, ConnectionFact, FromConnection};
use super::messages::{
    AdoptCall, CallFact, CancelCall, Dispatch, OutcomeStored, PlaceCall, QuestionDelivered,
    QuestionNotice, TaskNotice,
};
use super::notices::Notices;
use super::{Beginning, ComputerLinks, LookAfter};
use crate::actors::connection::messages::ConnectionId;
use crate::actors::journal::messages::NoticeDelivered;
use crate::actors::near::Resident;
use crate::actors::registry::messages::{NoticesMissed, Registration, ToolsChanged};
use crate::domain::call::CallReport;
use crate::domain::ids::CallId;
use crate::domain::lifecycle::ToolRecord;
use crate::domain::toolbox::Toolbox;
use crate::wire::frames::ServerMessage;
use crate::wire::frames::outgoing::{QuestionClosed, UserQuestion};
use actix::Recipient;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Whoever placed a call, to be told of it. One for all that the lane keeps of the call.
#[derive(Debug, Clone)]
pub struct Teller(Arc<Recipient<CallFact>>);

impl From<Recipient<CallFact>> for Teller {
    fn from(to: Recipient<CallFact>) -> Self {
        Teller(Arc::new(to))
    }
}

impl Reply for Teller {
    fn is_alive(&self) -> bool {
        self.0.connected()
    }
}

/// What is delivered directly on one thread; between threads each is a message of its own.
pub enum Delivery {
    Place(PlaceCall),
    Adopt(AdoptCall),
    Dispatch(Dispatch),
    Stored(OutcomeStored),
    Cancel(CancelCall),
    Told(FromConnection),
    Notice(TaskNotice),
}

macro_rules! deliveries {
    ($($message:ident => $name:ident),* $(,)?) => {
        $(impl From<$message> for Delivery {
            fn from(message: $message) -> Self {
                Delivery::$name(message)
            }
        }

        impl TryFrom<Delivery> for $message {
            type Error = ();

            fn try_from(delivery: Delivery) -> Result<Self, ()> {
                match delivery {
                    Delivery::$name(message) => Ok(message),
                    _ => Err(()),
                }
            }
        })*
    };
}

deliveries! {
    PlaceCall => Place,
    AdoptCall => Adopt,
    Dispatch => Dispatch,
    OutcomeStored => Stored,
    CancelCall => Cancel,
    FromConnection => Told,
    TaskNotice => Notice,
}

type LaneActs = Vec<Act<Teller>>;

/// The state of a computer's actor.
pub struct Shell {
    cell: Arc<super::ComputerCell>,
    lane: Lane<Teller>,
    connection: Option<Attached>,
    notices: Notices,
    links: ComputerLinks,
    started: Instant,
    /// When the actor's timer rings.
    armed: Option<Duration>,
    /// Results for the journal.
    lates: Vec<(CallId, CallReport)>,
    /// Kept for its room.
    acts: LaneActs,
    actor: Recipient<LookAfter>,
}

impl Shell {
    pub(super) fn new(begin: Beginning, links: ComputerLinks, actor: Recipient<LookAfter>) -> Self {
        let cell = begin.cell;
        let client_id = cell.client_id().clone();
        let mut lane = Lane::new(client_id, cell.high_seq(), begin.stored_seq, begin.limits);
        lane.set_last_boot(begin.last_boot);
        lane.set_tools(cell.tools(), Duration::ZERO, &mut Vec::new());
        Shell {
            cell,
            lane,
            connection: None,
            notices: Notices::default(),
            links,
            started: Instant::now(),
            armed: None,
            lates: Vec::new(),
            acts: Vec::new(),
            actor,
        }
    }

    pub(super) fn now(&self) -> Duration {
        self.started.elapsed()
    }

    pub(super) fn lane(&self) -> &Lane<Teller> {
        &self.lane
    }

    /// Lets the lane do something, carries out what it wants, and shows how it stands.
    pub(super) fn step<F, T>(&mut self, step: F) -> T
    where
        F: FnOnce(&mut Lane<Teller>, Duration, &mut LaneActs) -> T,
    {
        let now = self.now();
        let mut acts = std::mem::take(&mut self.acts);
        let said = step(&mut self.lane, now, &mut acts);
        for act in acts.drain(..) {
            match act {
                Act::Tell { to, fact } => to.0.do_send(fact),
                Act::Send(message) => self.send(message),
                Act::Late { call_id, report } => self.lates.push((call_id, report)),
                Act::Note(note) => self.note(&note),
            }
        }
        self.acts = acts;
        self.show();
        said
    }

    pub(super) fn show(&mut self) {
        self.cell.publish(&self.lane);
    }

    pub(super) fn tick(&mut self) {
        self.armed = None;
        self.step(|lane, now, acts| lane.tick(now, acts));
    }

    /// A fact for the connection, whose outbox is what bounds it; the lane has at most three calls out.
    fn send(&self, message: ServerMessage) {
        if let Some(connection) = &self.connection {
            connection.send(message, &self.links.counts);
        }
    }

    fn note(&mut self, note: &Note) {
        let computer = self.cell.client_id();
        match note {
            Note::Stray(call_id) => {
                self.links.counts.strays.one();
                tracing::debug!(%computer, call = %call_id, "an answer to no open call is dropped");
            }
            other => tracing::warn!(%computer, note = ?other, "the lane noticed something"),
        }
    }

    /// How long until the timer has to ring, if it would ring too late. One that rings too early looks at the clock and
    /// is set again: cheaper than to move it with every call.
    fn must_arm(&self) -> Option<Duration> {
        let at = self.lane.next_deadline()?;
        self.armed.is_none_or(|armed| armed > at).then_some(at)
    }

    /// What only the actor can do, once: hand on results, and ring after so long.
    pub(super) fn needs(&mut self) -> (Vec<(CallId, CallReport)>, Option<Duration>) {
        let arm = self.must_arm();
        if arm.is_some() {
            self.armed = arm;
        }
        let wait = arm.map(|at| at.saturating_sub(self.now()));
        (std::mem::take(&mut self.lates), wait)
    }

    fn is_current(&self, connection: ConnectionId) -> bool {
        let current = self.connection.as_ref();
        current.is_some_and(|attached| attached.is(connection))
    }

    fn set_registration(&mut self, registration: Registration) {
        self.links.index.register(&self.cell, registration);
        self.show_tools();
    }

    fn show_tools(&mut self) {
        let tools = self.cell.tools();
        self.step(|lane, now, acts| lane.set_tools(tools, now, acts));
    }

    /// Ends of tasks were not taken for want of room; the journal has them.
    pub(super) fn fetch_notices(&self) {
        self.links.notices_missed.do_send(NoticesMissed {
            client_id: self.cell.client_id().clone(),
        });
    }

    fn tell_registry(&self) {
        self.links.tools_changed.do_send(ToolsChanged {
            client_id: self.cell.client_id().clone(),
        });
    }

    fn tell_questions_shown(&self) {
        for (question_id, to) in self.notices.askers() {
            to.do_send(QuestionDelivered {
                question_id: question_id.clone(),
            });
        }
    }

    /// A connection speaks for the computer from now on.
    pub(super) fn attach(&mut self, attach: Attach) {
        let mut registration = attach.registration;
        let legacy = registration.legacy;
        let renewed = self.is_current(attach.link.id);
        if legacy {
            // It names its tools with its tasks, not here; those of earlier tasks stay.
            registration.tools = self.cell.registration().tools.clone();
        }
        self.connection = Some(Attached::new(attach.link));
        self.set_registration(registration);
        self.tell_registry();
        if !renewed {
            let link = Link {
                boot_id: attach.boot_id.into(),
                legacy,
                high_seq: attach.high_seq,
                later_epoch: attach.later_epoch,
            };
            self.step(|lane, now, acts| lane.attach(link, now, acts));
            let again = self.notices.again(legacy);
            again.into_iter().for_each(|message| self.send(message));
            if !legacy {
                self.tell_questions_shown();
            }
        }
    }

    pub(super) fn detach(&mut self, connection: ConnectionId) {
        if self.is_current(connection) {
            self.connection = None;
            self.step(|lane, now, acts| lane.detach(now, acts));
        }
    }

    pub(super) fn tools_told(&mut self, records: Vec<ToolRecord>) {
        self.links.index.record(&self.cell, records);
        self.show_tools();
        self.tell_registry();
    }

    pub(super) fn change_tools(&mut self, change: ChangeTools) -> Toolbox {
        let mut registration = (*self.cell.registration()).clone();
        registration.tools = registration.tools.changed(change.add, &change.remove);
        self.set_registration(registration);
        self.tell_registry();
        self.cell.tools()
    }

    /// What came over a connection, or happened to it.
    pub(super) fn told(&mut self, told: FromConnection) {
        let current = self.is_current(told.connection);
        match told.fact {
            // What an earlier connection of the same computer brought is as true as ever.
            ConnectionFact::Answered {
                call_id, report, ..
            } => self.step(|lane, now, acts| lane.answered(&call_id, report, now, acts)),
            ConnectionFact::Delivered(task_id) => {
                if self.notices.delivered(&task_id)
                    && let Some(to) = &self.links.notice_delivered
                {
                    to.do_send(NoticeDelivered { task_id });
                }
            }
            _ if !current => {}
            ConnectionFact::Receipt { call_id, receipt } => {
                self.step(|lane, now, acts| lane.receipt(&call_id, receipt, now, acts));
            }
            ConnectionFact::Progress {
                call_id,
                message,
                progress,
            } => {
                self.cell
                    .note_progress(&call_id, message.as_deref(), progress);
                self.step(|lane, _, acts| lane.progress(&call_id, message, progress, acts));
            }
            ConnectionFact::NotSent { call_id, why } => {
                self.step(|lane, now, acts| lane.not_sent(&call_id, why, now, acts));
            }
            ConnectionFact::Responsive(responsive) => {
                self.step(|lane, now, acts| lane.set_responsive(responsive, now, acts));
            }
        }
    }

    fn place(&mut self, place: PlaceCall) {
        self.cell.promise_kept();
        let reservation = Reservation {
            task_id: place.task_id,
            generation: place.generation,
            call_id: place.call_id,
            tool: place.tool,
            args: place.args,
            timeout_ms: place.timeout_ms,
            reply: place.reply_to.into(),
            since: Duration::ZERO,
        };
        self.step(|lane, now, acts| lane.place(reservation, now, acts));
    }

    fn adopt(&mut self, adopt: AdoptCall) {
        let (task_id, generation) = (adopt.task_id, adopt.generation);
        let (intended, reply) = (adopt.intended, adopt.reply_to.into());
        self.step(|lane, now, acts| {
            if adopt.is_unknown {
                lane.remember(task_id, generation, intended, reply, acts);
            } else {
                lane.adopt(task_id, generation, intended, reply, now, acts);
            }
        });
    }

    /// Tells the end of a task that the computer was perhaps not told of.
    pub(super) fn remind(&mut self, notice: &TaskNotice) {
        if !self.notices.holds(&notice.summary.task_id) {
            self.notice(notice);
        }
    }

    pub(super) fn notice(&mut self, notice: &TaskNotice) {
        self.notices.note(&notice.summary);
        let legacy = self.lane.is_legacy();
        self.send(ServerMessage::of_task(&notice.summary, legacy));
    }

    pub(super) fn question(&mut self, notice: QuestionNotice) {
        match notice {
            QuestionNotice::Ask {
                task_id,
                question_id,
                question,
                why,
                delivered,
            } => {
                let shown = UserQuestion {
                    question_id: question_id.clone(),
                    task_id,
                    question,
                    why,
                    options: None,
                    deadline_ms: None,
                };
                self.send(ServerMessage::UserQuestion(shown.clone()));
                if self.lane.is_connected() && !self.lane.is_legacy() {
                    delivered.do_send(QuestionDelivered { question_id });
                }
                self.notices.ask(shown, delivered);
            }
            QuestionNotice::Closed {
                question_id,
                answer,
                by,
            } => {
                if self.notices.close(&question_id) {
                    self.send(ServerMessage::QuestionClosed(QuestionClosed {
                        question_id,
                        answer,
                        by,
                    }));
                }
            }
        }
    }
}

impl Resident for Shell {
    type Message = Delivery;

    fn take(&mut self, delivery: Delivery) {
        match delivery {
            Delivery::Place(place) => self.place(place),
            Delivery::Adopt(adopt) => self.adopt(adopt),
            Delivery::Dispatch(Dispatch { call_id }) => {
                self.step(|lane, now, acts| lane.dispatch(&call_id, now, acts));
            }
            Delivery::Stored(OutcomeStored { call_id }) => {
                self.step(|lane, now, acts| lane.outcome_stored(&call_id, now, acts));
            }
            Delivery::Cancel(CancelCall { call_id }) => {
                self.step(|lane, now, acts| lane.cancel(&call_id, now, acts));
            }
            Delivery::Told(told) => self.told(told),
            Delivery::Notice(notice) => self.notice(&notice),
        }
    }

    fn needs_actor(&self) -> bool {
        !self.lates.is_empty() || self.must_arm().is_some()
    }

    fn call_actor(&self) {
        self.actor.do_send(LookAfter);
    }
}
