//! `/healthz`, `/readyz` and `/api/v1/status`

use super::{Api, Problem, Stage, ask};
use crate::actors::journal::messages::ObserveJournal;
use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use serde_json::{Value, json};

/// The process lives and serves requests.
pub(super) async fn alive() -> web::Json<Value> {
    web::Json(json!({"status": "ok"}))
}

/// Whether new work is taken: 200, or 503 with every reason why not.
pub(super) async fn ready(api: web::Data<Api>) -> HttpResponse {
    let mut reasons = Vec::new();
    match api.stage.get() {
        Stage::Ready => {}
        Stage::Starting => reasons.push(reason("starting", "tasks of the last run are taken up")),
        Stage::Stopping => reasons.push(reason("stopping", "no new work is taken")),
    }
    match ask(&api.observe_journal, ObserveJournal).await {
        Ok(health) if health.writable => {}
        Ok(health) => {
            let why = health.error.unwrap_or_else(|| "it is closed".to_owned());
            reasons.push(reason("journal_unavailable", &why));
        }
        Err(problem) => reasons.push(reason("journal_unavailable", &problem.to_string())),
    }
    let status = if reasons.is_empty() {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    HttpResponse::build(status).json(json!({"ready": reasons.is_empty(), "reasons": reasons}))
}

fn reason(code: &str, message: &str) -> Value {
    json!({"code": code, "message": message})
}

/// How everything fares, for people.
pub(super) async fn status(api: web::Data<Api>) -> Result<web::Json<Value>, Problem> {
    let identity = api.journal.identity();
    let mut body = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "server_id": identity.server_id,
        "journal_epoch": api.journal.epoch().get(),
        "stage": match api.stage.get() {
            Stage::Starting => "starting",
            Stage::Ready => "ready",
            Stage::Stopping => "stopping",
        },
        "uptime_s": api.started.elapsed().as_secs(),
        "journal": ask(&api.observe_journal, ObserveJournal).await?,
    });
    for (name, source) in &api.status {
        body[*name] = source().await.unwrap_or_default();
    }
    Ok(web::Json(body))
}
