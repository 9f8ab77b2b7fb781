//! `/api/v1/questions`

use super::caller::Caller;
use super::extract::{Json, question_id};
use super::scope::own_questions;
use super::shapes::List;
use super::{Api, Problem, ask};
use crate::actors::supervisor::messages::{
    AnswerError, AnswerQuestion, OpenQuestion, OpenQuestions,
};
use crate::domain::ids::QuestionId;
use crate::wire::codes::ErrorCode;
use actix_web::web;
use serde::Deserialize;
use serde_json::{Value, json};

pub(super) async fn list(
    api: web::ThinData<Api>,
    Caller(caller): Caller,
) -> Result<web::Json<List<OpenQuestion>>, Problem> {
    let questions = ask(&api.open_questions, OpenQuestions).await?;
    Ok(web::Json(List::all(own_questions(&api, &caller, questions).await)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerBody {
    answer: String,
}

pub(super) async fn answer(
    api: web::ThinData<Api>,
    Caller(caller): Caller,
    id: web::Path<String>,
    Json(body): Json<AnswerBody>,
) -> Result<web::Json<Value>, Problem> {
    let question_id = question_id(&id)?;
    let by = Answering {
        by: caller.owner,
        authenticated: caller.authenticated,
    };
    given(&api, by, question_id, body.answer)
        .await
        .map(web::Json)
}

/// Who answers a question.
pub(super) struct Answering {
    pub(super) by: String,
    /// Whether the answer may consent to calls.
    pub(super) authenticated: bool,
}

/// Gives an answer; the first that is committed wins.
///
/// # Errors
/// Nothing is open under this id, the answer is empty, or it needs somebody who may consent.
pub(super) async fn given(
    api: &Api,
    who: Answering,
    question_id: QuestionId,
    answer: String,
) -> Result<Value, Problem> {
    if answer.trim().is_empty() {
        return Err(Problem::invalid("answer", "the answer is empty"));
    }
    let message = AnswerQuestion {
        question_id: question_id.clone(),
        answer,
        by: who.by,
        authenticated: who.authenticated,
    };
    match ask(&api.answer_question, message).await? {
        Ok(()) => Ok(json!({"question_id": question_id, "accepted": true})),
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
