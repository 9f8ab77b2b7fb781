//! What tasks ask of a computer: calls, notices, questions.

use super::Computer;
use super::lane::Reservation;
use super::messages::{
    AdoptCall, CancelCall, Dispatch, OutcomeStored, PlaceCall, QuestionDelivered, QuestionNotice,
    TaskNotice,
};
use crate::wire::frames::ServerMessage;
use crate::wire::frames::outgoing::{QuestionClosed, UserQuestion};
use actix::prelude::*;
use std::time::Duration;

impl Handler<PlaceCall> for Computer {
    type Result = ();

    fn handle(&mut self, place: PlaceCall, ctx: &mut Self::Context) {
        self.cell.promise_kept();
        let reservation = Reservation {
            task_id: place.task_id,
            generation: place.generation,
            call_id: place.call_id,
            tool: place.tool,
            args: place.args,
            timeout_ms: place.timeout_ms,
            reply: place.reply_to,
            since: Duration::ZERO,
        };
        self.with_lane(ctx, |lane, now, acts| lane.place(reservation, now, acts));
    }
}

impl Handler<AdoptCall> for Computer {
    type Result = ();

    fn handle(&mut self, adopt: AdoptCall, ctx: &mut Self::Context) {
        self.with_lane(ctx, |lane, now, acts| {
            let (task_id, generation) = (adopt.task_id, adopt.generation);
            if adopt.is_unknown {
                return lane.remember(task_id, generation, adopt.intended, adopt.reply_to, acts);
            }
            lane.adopt(
                task_id,
                generation,
                adopt.intended,
                adopt.reply_to,
                now,
                acts,
            );
        });
    }
}

impl Handler<Dispatch> for Computer {
    type Result = ();

    fn handle(&mut self, dispatch: Dispatch, ctx: &mut Self::Context) {
        self.with_lane(ctx, |lane, now, acts| {
            lane.dispatch(&dispatch.call_id, now, acts);
        });
    }
}

impl Handler<OutcomeStored> for Computer {
    type Result = ();

    fn handle(&mut self, stored: OutcomeStored, ctx: &mut Self::Context) {
        self.with_lane(ctx, |lane, now, acts| {
            lane.outcome_stored(&stored.call_id, now, acts);
        });
    }
}

impl Handler<CancelCall> for Computer {
    type Result = ();

    fn handle(&mut self, cancel: CancelCall, ctx: &mut Self::Context) {
        self.with_lane(ctx, |lane, now, acts| {
            lane.cancel(&cancel.call_id, now, acts);
        });
    }
}

impl Handler<TaskNotice> for Computer {
    type Result = ();

    fn handle(&mut self, notice: TaskNotice, _ctx: &mut Self::Context) {
        self.notices.note(&notice.summary);
        let legacy = self.lane.is_legacy();
        self.send(ServerMessage::of_task(&notice.summary, legacy));
    }
}

impl Handler<QuestionNotice> for Computer {
    type Result = ();

    fn handle(&mut self, notice: QuestionNotice, _ctx: &mut Self::Context) {
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
