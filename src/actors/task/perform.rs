//! Carrying out what was decided and committed, and going on after a restart.

use super::Task;
use super::messages::Cancel;
use crate::actors::computer::messages::{AdoptCall, PlaceCall, QuestionNotice};
use crate::actors::consult::ConsultModel;
use crate::actors::registry::router::Lane;
use crate::domain::call::{CallReport, NoRoute, Outcome};
use crate::domain::chat::{ChatFailure, OutputFormat, Role};
use crate::domain::decision::{Contract, Decision, Question, WaitReason};
use crate::domain::event::TaskEvent;
use crate::domain::model_call::{LastResult, ScriptPosition};
use crate::domain::task::{CallEnd, CallRecord, Open};
use crate::domain::track::Track;
use crate::strategy::{self, render, warmth};
use actix::prelude::*;
use std::time::Duration;

impl Task {
    /// Goes on where the journal ends. The last decision is taken as it stands, never made again.
    pub(super) fn resume(&mut self, ctx: &mut Context<Self>) {
        self.remember_unknown_calls(ctx);
        if self.state.is_asleep() {
            // Calls of its last episode have no outcome yet.
            return self.wind_down(ctx);
        }
        self.watch_wall_time(ctx);
        let tracks: Vec<Track> = self.state.open.keys().copied().collect();
        self.take_up(&tracks, ctx);
    }

    /// Takes up what is open on these tracks, then decides what else there is to do.
    fn take_up(&mut self, tracks: &[Track], ctx: &mut Context<Self>) {
        // What comes of it at once is journalled together: each append has to know the last position.
        let mut events = Vec::new();
        for track in tracks {
            events.extend(self.take_up_track(*track, ctx));
        }
        if events.is_empty() {
            self.advance(ctx);
        } else {
            self.append_then_advance(ctx, events);
        }
    }

    /// Takes up what is open on a track; answers what is to be journalled at once.
    fn take_up_track(&mut self, track: Track, ctx: &mut Context<Self>) -> Vec<TaskEvent> {
        let event = match self.state.open_on(track).clone() {
            Open::Nothing => None,
            Open::Consult {
                seq,
                role,
                contract,
                format,
            } => self.consult(seq, role, contract, format, ctx),
            Open::Calls { .. } => return self.take_up_calls(track, ctx),
            Open::Question {
                question,
                delivered,
                ..
            } => self.ask(&question, delivered, ctx),
            Open::Wait {
                reason,
                until_ms,
                since_ms,
                ..
            } => {
                self.wait_until(reason, until_ms, since_ms, ctx);
                None
            }
        };
        event.into_iter().collect()
    }

    fn take_up_calls(&mut self, track: Track, ctx: &mut Context<Self>) -> Vec<TaskEvent> {
        let step = self.state.current_step_on(track);
        let calls = step.into_iter().flat_map(|step| &step.calls);
        let open: Vec<CallRecord> = calls.filter(|call| call.is_open()).cloned().collect();
        let taken = open.iter().map(|call| match (&call.child, &call.intended) {
            (Some(child), _) => {
                self.want_child(call, child, ctx);
                None
            }
            (None, Some(_)) => self.adopt(call, ctx),
            (None, None) if call.until_ms.is_some() => {
                self.nap(call, ctx);
                None
            }
            (None, None) => self.place(call, ctx),
        });
        taken.flatten().collect()
    }

    /// Carries out what was decided for a track. It is folded by now: what is open there is what was decided.
    pub(super) fn perform(&mut self, track: Track, decision: &Decision, ctx: &mut Context<Self>) {
        match decision {
            Decision::Consult(_)
            | Decision::Call { .. }
            | Decision::Ask { .. }
            | Decision::Wait { .. } => self.take_up(&[track], ctx),
            Decision::Block { .. } | Decision::Advance { .. } => self.advance(ctx),
            Decision::Finish { .. } | Decision::Fail { .. } => self.after_an_end(ctx),
        }
    }

    /// Asks the role's model. The prompt is the one that was journalled.
    fn consult(
        &mut self,
        seq: u64,
        role: Role,
        contract: Contract,
        format: OutputFormat,
        ctx: &mut Context<Self>,
    ) -> Option<TaskEvent> {
        let log_prompts = self.deps.settings.log.prompts;
        let span = self.spans.asks(&self.state, seq, role, log_prompts);
        let consult = ConsultModel {
            task_id: self.state.task_id.clone(),
            generation: self.generation,
            consult: seq,
            role,
            contract,
            prompt: self.state.prompt(role).to_vec(),
            format,
            tools: self.state.native_tools(role).to_vec(),
            choice: self.profile.models.get(&role).cloned().unwrap_or_default(),
            in_vain: warmth::of(&self.state, &self.profile, role, contract),
            script: self.script_position(role),
            span,
            reply_to: ctx.address().recipient(),
        };
        let actor = match role {
            Role::Planner => &self.deps.planner,
            Role::Executor => &self.deps.executor,
        };
        actor.try_send(consult).err().map(|_| {
            let failure = ChatFailure {
                code: "model_busy".to_owned(),
                message: format!("the {} has too many consults waiting", role.as_str()),
                hint: "the task asks again later; fewer tasks at once, or a faster model, help"
                    .to_owned(),
                retryable: true,
            };
            TaskEvent::ModelFailed {
                consult: seq,
                role,
                failure,
            }
        })
    }

    /// Where a scripted model stands: told by the journal alone.
    fn script_position(&self, role: Role) -> ScriptPosition {
        let answers = self
            .state
            .conversations
            .get(&role)
            .map(|c| c.answers.clone());
        let last = self.state.calls().rev().find(|call| !call.is_open());
        ScriptPosition {
            prior_answers: answers.unwrap_or_default(),
            last_result: last.map(|call| LastResult {
                outcome: call
                    .outcome()
                    .map(Outcome::as_str)
                    .unwrap_or_default()
                    .to_owned(),
                success: Some(call.succeeded()),
                text: render::call(call, None, self.profile.memory.result_bytes),
            }),
        }
    }

    /// Reserves a turn on the computer that the call is for.
    fn place(&mut self, call: &CallRecord, ctx: &mut Context<Self>) -> Option<TaskEvent> {
        let lane = match self.router().route_call(
            &call.target,
            self.state.home(),
            &call.tool,
            Some(&call.args),
        ) {
            Ok(lane) => lane,
            Err(no_route) => return Some(not_placed(call, no_route)),
        };
        let place = PlaceCall {
            task_id: self.state.task_id.clone(),
            generation: self.generation,
            call_id: call.call_id.clone(),
            tool: call.tool.clone(),
            args: call.args.clone().into(),
            timeout_ms: call.timeout_ms,
            reply_to: ctx.address().recipient(),
        };
        if let Err(busy) = lane.try_place(place) {
            return Some(not_placed(call, busy));
        }
        self.lanes.insert(call.call_id.clone(), lane);
        None
    }

    /// Takes over a call that may have left the process before a restart; answers what is to be journalled at once.
    pub(super) fn adopt(
        &mut self,
        call: &CallRecord,
        ctx: &mut Context<Self>,
    ) -> Option<TaskEvent> {
        let intended = call.intended.clone()?;
        self.spans.calls(&self.state, &intended);
        let Some(lane) = self.deps.router.lane(&intended.client_id) else {
            // The journal knows the call but nobody knows the computer: its outcome cannot be learned.
            let report = CallReport::without_answer(
                Outcome::Unknown,
                "computer_forgotten",
                format!("{} is not known any more", intended.client_id),
            );
            let call_id = call.call_id.clone();
            return Some(TaskEvent::CallFinished { call_id, report });
        };
        lane.adopt.do_send(AdoptCall {
            task_id: self.state.task_id.clone(),
            generation: self.generation,
            intended,
            is_unknown: !call.is_open(),
            reply_to: ctx.address().recipient(),
        });
        self.lanes.insert(call.call_id.clone(), lane);
        None
    }

    /// Shows a question where the task comes from. Over HTTP it can be answered whether shown or not.
    fn ask(
        &mut self,
        question: &Question,
        delivered: bool,
        ctx: &mut Context<Self>,
    ) -> Option<TaskEvent> {
        if delivered {
            self.expire_question_later(ctx);
        }
        if question.approval.is_some() {
            // A computer can give no consent, so nobody is asked there; people find it in the list of questions.
            let question_id = question.question_id.clone();
            return (!delivered).then(|| {
                self.expire_question_later(ctx);
                TaskEvent::QuestionDelivered { question_id }
            });
        }
        let lane = self.state.home().and_then(|id| self.deps.router.lane(id))?;
        lane.question.do_send(QuestionNotice::Ask {
            task_id: self.state.task_id.clone(),
            question_id: question.question_id.clone(),
            question: question.question.clone(),
            why: question.why.clone(),
            delivered: ctx.address().recipient(),
        });
        None
    }

    /// The clock of a question starts when it was first delivered.
    pub(super) fn expire_question_later(&mut self, ctx: &mut Context<Self>) {
        let Some((question, _)) = self.state.open_question() else {
            return;
        };
        // A later question has its own clock.
        let question_id = question.question_id.clone();
        let timeout = self.deps.settings.tasks.question_timeout;
        let timeout_ms = i64::try_from(timeout.as_millis()).unwrap_or(i64::MAX);
        let ends_ms = (self.deps.clock)().saturating_add(timeout_ms);
        self.question_ends = Some((question_id.clone(), ends_ms));
        self.later(ctx, timeout, move |task, ctx| {
            if task.state.asks(&question_id) {
                let expired = vec![TaskEvent::QuestionExpired { question_id }];
                task.append_then_advance(ctx, expired);
            }
        });
    }

    /// Waits no longer than was decided, also where the clock was moved back since.
    fn wait_until(
        &mut self,
        reason: WaitReason,
        until_ms: Option<i64>,
        since_ms: i64,
        ctx: &mut Context<Self>,
    ) {
        let Some(until_ms) = until_ms else { return };
        let rest = until_ms.saturating_sub((self.deps.clock)());
        let rest = rest.min(until_ms.saturating_sub(since_ms)).max(0) as u64;
        self.later(ctx, Duration::from_millis(rest), move |task, ctx| {
            task.end_wait(reason, ctx)
        });
    }

    /// Ends a wait for `reason`, if that is what the task waits for.
    pub(super) fn end_wait(&mut self, reason: WaitReason, ctx: &mut Context<Self>) {
        let ends = |open: &Open| matches!(open, Open::Wait { reason: waits_for, .. } if *waits_for == reason);
        if self.state.open.values().any(ends) {
            let ended = vec![TaskEvent::WaitEnded { reason }];
            self.append_then_advance(ctx, ended);
        }
    }

    /// Goes to the new lane with calls whose lane failed and was started again; false if there were none.
    pub(super) fn renew_lanes(&mut self, ctx: &mut Context<Self>) -> bool {
        let dead = |lane: &Lane| !lane.adopt.connected();
        let lost: Vec<CallRecord> = self
            .open_calls()
            .into_iter()
            .filter(|call| self.lanes.get(&call.call_id).is_some_and(dead))
            .collect();
        let mut events = Vec::new();
        for call in &lost {
            events.extend(match &call.intended {
                Some(_) => self.adopt(call, ctx),
                None => self.place(call, ctx),
            });
        }
        if !events.is_empty() {
            self.append_then_advance(ctx, events);
        }
        !lost.is_empty()
    }

    /// Whether another look at the fleet would lead to the same wait: a computer came that this task does not
    /// need, and its journal shall not grow by that.
    pub(super) fn would_wait_again(&self) -> bool {
        let waits = |open: &Open| matches!(open, Open::Wait { .. });
        if !self.state.open.values().any(waits) {
            return false;
        }
        let mut looked = self.state.clone();
        looked.open.retain(|_, open| !waits(open));
        let next = strategy::decide(&looked, &self.profile, &self.inputs((self.deps.clock)()));
        let offline = |decision: &Decision| {
            matches!(
                decision,
                Decision::Wait {
                    reason: WaitReason::ComputerOffline,
                    ..
                }
            )
        };
        next.is_some_and(|next| offline(&next.decision))
    }

    /// The wall-time budget ends a task even while it waits.
    pub(super) fn watch_wall_time(&mut self, ctx: &mut Context<Self>) {
        let Some(created) = &self.state.created else {
            return;
        };
        let now = (self.deps.clock)();
        let spent_s = |since: Option<i64>| {
            let spent = since.map_or(0, |start| now.saturating_sub(start).max(0));
            spent as u64 / 1000
        };
        let budgets = &created.budgets;
        let whole = spent_s(self.state.started_at_ms);
        let mut rest = budgets.wall_time_s.saturating_sub(whole);
        if budgets.per_wake.wall_time_s > 0 {
            let woken = self.state.woken.as_ref().map(|woken| woken.at_ms);
            let spent = spent_s(woken.or(self.state.started_at_ms));
            rest = rest.min(budgets.per_wake.wall_time_s.saturating_sub(spent));
        }
        // A second more, so that the budget is over by then in whole seconds.
        self.later(
            ctx,
            Duration::from_secs(rest.saturating_add(1)),
            |task, ctx| {
                task.advance(ctx);
                // The clock may have been set back meanwhile: then it is not over yet.
                task.watch_wall_time(ctx);
            },
        );
    }

    fn later(
        &mut self,
        ctx: &mut Context<Self>,
        after: Duration,
        what: impl FnOnce(&mut Task, &mut Context<Task>) + 'static,
    ) {
        self.timers.push(ctx.run_later(after, what));
    }

    pub(super) fn cancel(&mut self, cancel: Cancel) -> TaskEvent {
        TaskEvent::TaskCancelled {
            reason: cancel.reason,
            by: cancel.by,
        }
    }
}

pub(super) fn not_placed(call: &CallRecord, no_route: NoRoute) -> TaskEvent {
    let call_id = call.call_id.clone();
    TaskEvent::CallNotPlaced { call_id, no_route }
}

/// Whether a late report may still change a call.
pub(super) fn may_settle(call: &CallRecord) -> bool {
    match &call.end {
        CallEnd::Open => true,
        CallEnd::Finished(report) => report.outcome == Outcome::Unknown,
        CallEnd::NotPlaced(_) => false,
    }
}
