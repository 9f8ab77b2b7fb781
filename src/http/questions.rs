//! `/api/v1/questions`

use super::caller::Caller;
use super::extract::{Json, question_id};
use super::shapes::{List, time};
use super::{Api, Problem, ask};
use crate::actors::supervisor::messages::{
    AnswerError, AnswerQuestion, OpenQuestion, OpenQuestions,
};
use crate::domain::access::Principal;
use crate::domain::decision::Approval;
use crate::domain::ids::{ClientId, QuestionId, TaskId};
use crate::wire::codes::ErrorCode;
use actix_web::web;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A question that waits for an answer.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Question"))]
pub(super) struct QuestionBody {
    #[cfg_attr(test, schemars(with = "crate::wire::schema::QuestionId"))]
    question_id: QuestionId,
    #[cfg_attr(test, schemars(with = "crate::wire::schema::TaskId"))]
    task_id: TaskId,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<crate::wire::schema::ClientId>"))]
    client_id: Option<ClientId>,
    owner: String,
    question: String,
    why: String,
    /// Calls that wait for consent; only a person who proved who they are can give it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<crate::wire::schema::Members>"))]
    approval: Option<Approval>,
    asked_at: String,
    /// When silence ends it; it counts from the question's delivery.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
}

impl From<OpenQuestion> for QuestionBody {
    fn from(open: OpenQuestion) -> Self {
        QuestionBody {
            question_id: open.question_id,
            task_id: open.task_id,
            client_id: open.client_id,
            owner: open.owner,
            question: open.question,
            why: open.why,
            approval: open.approval,
            asked_at: time(open.asked_ms),
            expires_at: open.expires_ms.map(time),
        }
    }
}

pub(super) async fn list(
    api: web::Data<Api>,
    Caller(caller): Caller,
) -> Result<web::Json<List<QuestionBody>>, Problem> {
    let questions = ask(&api.open_questions, OpenQuestions).await?;
    let seen = questions
        .into_iter()
        .filter(|open| caller.sees(&open.owner));
    Ok(web::Json(List::all(seen.map(QuestionBody::from).collect())))
}

/// An answer to a question.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Answer"))]
pub(super) struct AnswerBody {
    /// What the planner is told.
    #[cfg_attr(test, schemars(regex(pattern = r"\S")))]
    answer: String,
}

pub(super) async fn answer(
    api: web::Data<Api>,
    Caller(caller): Caller,
    id: web::Path<String>,
    Json(body): Json<AnswerBody>,
) -> Result<web::Json<Value>, Problem> {
    let question_id = question_id(&id)?;
    if body.answer.trim().is_empty() {
        return Err(Problem::invalid("answer", "the answer is empty"));
    }
    give(&api, caller, question_id.clone(), body.answer).await?;
    Ok(web::Json(
        json!({"question_id": question_id, "accepted": true}),
    ))
}

/// Gives an answer; the first committed one wins.
pub(super) async fn give(
    api: &Api,
    caller: Principal,
    question_id: QuestionId,
    answer: String,
) -> Result<(), Problem> {
    let message = AnswerQuestion {
        question_id,
        answer,
        by: caller.owner,
        authenticated: caller.authenticated,
    };
    match ask(&api.answer_question, message).await? {
        Ok(()) => Ok(()),
        Err(error @ AnswerError::NotOpen(_)) => {
            Err(Problem::new(ErrorCode::NoSuchQuestion, error.to_string()))
        }
        Err(error @ AnswerError::NeedsPerson) => {
            let problem = Problem::new(ErrorCode::NotAllowed, error.to_string());
            Err(problem.with_hint("show the operator's key (operator.key in the data folder): Authorization: Bearer KEY"))
        }
        Err(error @ AnswerError::Journal(_)) => Err(Problem::new(
            ErrorCode::JournalUnavailable,
            error.to_string(),
        )),
    }
}
