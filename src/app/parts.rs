//! The two storeys of the server: leaves that ask nobody, and what stands on them.

use super::AppError;
use crate::actors::feed::Feed;
use crate::actors::gateway::Gateway;
use crate::actors::gateway::messages::Observe;
use crate::actors::journal::{Journal, JournalReader};
use crate::actors::supervisor::messages::{
    AnswerQuestion, CancelTask, OpenQuestions, Shutdown, StartTask,
};
use crate::config::Settings;
use crate::http::{ComputerBody, Source};
use actix::{Addr, Recipient};
use actix_web::web::ServiceConfig;
use serde_json::Value;
use std::sync::Arc;

/// What asks nobody, and the settings.
pub struct Leaves {
    pub settings: Arc<Settings>,
    pub journal: Addr<Journal>,
    pub reader: JournalReader,
    pub feed: Addr<Feed>,
    pub gateway: Addr<Gateway>,
}

/// What stands on the leaves: computers with their registry, and tasks with their supervisor.
pub struct Upper {
    pub start_task: Recipient<StartTask>,
    pub cancel_task: Recipient<CancelTask>,
    pub answer_question: Recipient<AnswerQuestion>,
    pub open_questions: Recipient<OpenQuestions>,
    /// Halts all tasks where they stand.
    pub shutdown: Recipient<Shutdown>,
    /// Takes up the tasks of the last run; the error is for people.
    pub restore: Source<Result<(), String>>,
    pub computers: Source<Vec<ComputerBody>>,
    /// `/ws`, and later the files for computers.
    pub routes: Arc<dyn Fn(&mut ServiceConfig) + Send + Sync>,
    /// Closes every connection with 1001.
    pub close: Source<()>,
}

/// The further parts of `GET /api/v1/status`.
pub(super) fn status(leaves: &Leaves) -> Vec<(&'static str, Source<Value>)> {
    let gateway = leaves.gateway.clone();
    let models: Source<Value> = Arc::new(move || {
        let report = gateway.send(Observe);
        Box::pin(async move { serde_json::to_value(report.await.ok()?).ok() })
    });
    vec![("models", models)]
}

/// Builds the upper storey. This is the one place where the supervisor and the registry are plugged in.
pub(super) fn upper(_leaves: &Leaves) -> Result<Upper, AppError> {
    Err(AppError::Restore("this build has no supervisor".into()))
}
