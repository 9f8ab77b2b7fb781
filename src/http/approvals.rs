//! `/api/v1/approvals`: the questions that ask for consent to calls, apart from the others. They are the same questions, under the
//! same ids.

use super::caller::Caller;
use super::extract::{Json, question_id};
use super::shapes::{List, time};
use super::{Api, Problem, ask, questions};
use crate::actors::supervisor::messages::{OpenQuestion, OpenQuestions};
use crate::domain::call::Target;
use crate::domain::decision::AskedCall;
use crate::domain::ids::{ClientId, QuestionId, TaskId};
use crate::wire::codes::ErrorCode;
use actix_web::web;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Consent that somebody waits for.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Approval"))]
pub(super) struct ApprovalBody {
    #[cfg_attr(test, schemars(with = "crate::wire::schema::QuestionId"))]
    approval_id: QuestionId,
    #[cfg_attr(test, schemars(with = "crate::wire::schema::TaskId"))]
    task_id: TaskId,
    /// The computer of the first call, if it is settled.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<crate::wire::schema::ClientId>"))]
    client_id: Option<ClientId>,
    /// Of the first call.
    tool: String,
    args: Value,
    /// All calls that the consent is for.
    #[cfg_attr(test, schemars(with = "Vec<crate::wire::schema::Members>"))]
    calls: Vec<AskedCall>,
    question: String,
    /// The rule that asks for it.
    reason: String,
    owner: String,
    asked_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
}

impl ApprovalBody {
    /// None for a question that asks for no consent.
    fn of(open: OpenQuestion) -> Option<Self> {
        let approval = open.approval?;
        let first = approval.calls.first()?.clone();
        let client_id = match first.target {
            Target::Computer(client_id) => Some(client_id),
            _ => open.client_id,
        };
        Some(ApprovalBody {
            approval_id: open.question_id,
            task_id: open.task_id,
            client_id,
            tool: first.tool,
            args: first.args,
            calls: approval.calls,
            question: open.question,
            reason: approval.reason,
            owner: open.owner,
            asked_at: time(open.asked_ms),
            expires_at: open.expires_ms.map(time),
        })
    }
}

pub(super) async fn list(
    api: web::Data<Api>,
    Caller(caller): Caller,
) -> Result<web::Json<List<ApprovalBody>>, Problem> {
    let open = ask(&api.open_questions, OpenQuestions).await?.into_iter();
    let seen = open.filter(|question| caller.sees(&question.owner));
    Ok(web::Json(List::all(
        seen.filter_map(ApprovalBody::of).collect(),
    )))
}

/// Consent, or a refusal.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Decision"))]
pub(super) struct DecideBody {
    /// Whether the calls may be made, exactly as they are shown.
    allow: bool,
    /// Told to the planner with a refusal.
    #[serde(default)]
    note: Option<String>,
}

impl DecideBody {
    /// As it is written down: consent is one clear word, to which nothing may be added.
    fn answer(self) -> String {
        let note = self.note.filter(|note| !note.trim().is_empty());
        match (self.allow, note) {
            (true, _) => "yes".to_owned(),
            (false, None) => "no".to_owned(),
            (false, Some(note)) => format!("no: {note}"),
        }
    }
}

pub(super) async fn decide(
    api: web::Data<Api>,
    Caller(caller): Caller,
    id: web::Path<String>,
    Json(body): Json<DecideBody>,
) -> Result<web::Json<Value>, Problem> {
    let approval_id = question_id(&id)?;
    let open = ask(&api.open_questions, OpenQuestions).await?;
    let mut open = open.iter().filter(|question| caller.sees(&question.owner));
    let asked = open.find(|question| question.question_id == approval_id);
    if asked.is_none_or(|question| question.approval.is_none()) {
        let detail = format!("no open approval {approval_id}");
        return Err(Problem::new(ErrorCode::NoSuchQuestion, detail));
    }
    questions::give(&api, caller, approval_id.clone(), body.answer()).await?;
    Ok(web::Json(
        json!({"approval_id": approval_id, "accepted": true}),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::task::UserAnswer;

    fn consents(allow: bool, note: &str) -> bool {
        let note = Some(note.to_owned());
        UserAnswer {
            answer: DecideBody { allow, note }.answer(),
            by: "ada".into(),
            authenticated: true,
        }
        .consents()
    }

    #[test]
    fn consent_is_clear_whatever_the_note_says_and_a_refusal_stays_one() {
        assert!(consents(true, ""));
        assert!(consents(true, "but only once"));
        assert!(!consents(false, ""));
        assert!(!consents(false, "yes"));
    }
}
