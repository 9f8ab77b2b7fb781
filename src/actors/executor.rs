//! The executor: asks its model to translate one directive, exactly once for each journalled consult. Its prompt is
//! built from an `ExecutorInput`, which by its type holds a directive and no history.

use super::consult::{ConsultModel, Consulting};
use actix::{Actor, Context, Handler, ResponseFuture};

/// Answers consults of the executor's role. It keeps nothing between two of them.
pub struct Executor(pub Consulting);

impl Actor for Executor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(super::consult::MAILBOX);
    }
}

impl Handler<ConsultModel> for Executor {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, consult: ConsultModel, _ctx: &mut Self::Context) -> Self::Result {
        self.0.answer(consult)
    }
}
