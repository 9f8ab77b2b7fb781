//! What tasks ask of a computer: calls, notices, questions.

use super::Computer;
use super::messages::{
    AdoptCall, CancelCall, Dispatch, OutcomeStored, PlaceCall, QuestionNotice, TaskNotice,
};
use crate::actors::backlog::Weighed;
use crate::actors::near::Resident;
use actix::prelude::*;

/// What is delivered directly on one thread comes from others by the mailbox.
macro_rules! delivered {
    ($($message:ident),*) => {
        $(impl Handler<$message> for Computer {
            type Result = ();

            fn handle(&mut self, message: $message, ctx: &mut Self::Context) {
                self.with(ctx, |shell| shell.take(message.into()));
            }
        })*
    };
}

delivered!(PlaceCall, AdoptCall, Dispatch, OutcomeStored, CancelCall);

/// From the journal, which does not know what is under way.
impl Handler<TaskNotice> for Computer {
    type Result = ();

    fn handle(&mut self, notice: TaskNotice, ctx: &mut Self::Context) {
        self.with(ctx, |shell| shell.remind(&notice));
    }
}

/// From another thread.
impl Handler<Weighed<TaskNotice>> for Computer {
    type Result = ();

    fn handle(&mut self, weighed: Weighed<TaskNotice>, ctx: &mut Self::Context) {
        let Weighed(notice, held) = weighed;
        self.with(ctx, |shell| shell.notice(&notice));
        if held.release() {
            self.with(ctx, |shell| shell.fetch_notices());
        }
    }
}

impl Handler<QuestionNotice> for Computer {
    type Result = ();

    fn handle(&mut self, notice: QuestionNotice, ctx: &mut Self::Context) {
        self.with(ctx, |shell| shell.question(notice));
    }
}
