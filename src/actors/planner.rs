//! The planner: asks its model for one directive, exactly once for each journalled consult.

use super::consult::{ConsultModel, Consulting};
use actix::{Actor, Context, Handler, ResponseFuture};

/// Answers consults of the planner's role. It keeps nothing between two of them.
pub struct Planner(pub Consulting);

impl Actor for Planner {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(super::consult::MAILBOX);
    }
}

impl Handler<ConsultModel> for Planner {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, consult: ConsultModel, _ctx: &mut Self::Context) -> Self::Result {
        self.0.answer(consult)
    }
}
