//! Tasks that this one starts as a tool: the supervisor starts them and tells how they ended.

use super::Task;
use super::messages::{ChildEnded, ChildWanted, FamilyNews};
use crate::domain::family::Child;
use crate::domain::task::CallRecord;
use actix::prelude::*;

impl Task {
    /// Asks for the child of a call, also after a restart: there is one for each call, however often it is asked for.
    pub(super) fn want_child(&self, call: &CallRecord, child: &Child, ctx: &mut Context<Self>) {
        let created = self.state.created.as_ref();
        self.deps
            .family
            .do_send(FamilyNews::Wanted(Box::new(ChildWanted {
                parent: self.state.task_id.clone(),
                generation: self.generation,
                call_id: call.call_id.clone(),
                child: child.clone(),
                owner: created.map(|c| c.owner.clone()).unwrap_or_default(),
                confined_to: created.and_then(|c| c.confined_to.clone()),
                allowed_commands: created.and_then(|c| c.allowed_commands.clone()),
                reply_to: ctx.address().recipient(),
            })));
    }

    /// Tells once that the task has ended. What a direct call's computer started meanwhile is not its own.
    pub(super) fn end_children(&mut self) {
        let direct = self
            .state
            .created
            .as_ref()
            .is_some_and(|c| c.call.is_some());
        if self.state.status.is_final() && !self.told_over && !direct {
            self.told_over = true;
            let task_id = self.state.task_id.clone();
            self.deps.family.do_send(FamilyNews::Over(task_id));
        }
    }

    /// Tells that an episode has ended: nobody waits any more for the children that its open calls started.
    pub(super) fn end_children_of_episode(&mut self) {
        if self.state.wakes().is_some() && !self.state.status.is_final() {
            let task_id = self.state.task_id.clone();
            self.deps.family.do_send(FamilyNews::EpisodeOver(task_id));
        }
    }
}

impl Handler<ChildEnded> for Task {
    type Result = ();

    fn handle(&mut self, ended: ChildEnded, ctx: &mut Self::Context) {
        let open = self.state.call(&ended.call_id);
        let waits = open.is_some_and(|call| call.is_open() && call.child.is_some());
        if ended.generation == self.generation && waits && !self.state.status.is_final() {
            self.settle(ended.call_id, ended.report, ctx);
        }
    }
}
