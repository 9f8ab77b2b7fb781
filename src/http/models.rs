//! `GET /api/v1/models`: what answers for each role, and how it fares.

use super::shapes::List;
use super::{Api, Problem};
use crate::actors::gateway::messages::{BreakerReport, ErrorReport, ServerReport};
use crate::config::RoleSettings;
use crate::domain::chat::Role;
use crate::wire::codes::ErrorCode;
use actix_web::web;
use serde::Serialize;

/// What answers for a role.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Model"))]
pub struct ModelBody {
    #[cfg_attr(test, schemars(with = "String"))]
    pub role: Role,
    /// `ollama`, `openai` or `scripted`.
    pub provider: &'static str,
    /// The model's name as its server knows it; a kind may choose another one.
    pub model: String,
    /// Empty for a scripted model.
    pub base_url: String,
    pub state: ModelState,
    /// Calls that wait for the server. Roles on one server share its queue.
    pub queue: usize,
    /// Calls that it works on.
    pub running: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<crate::wire::schema::Members>"))]
    pub last_error: Option<ErrorReport>,
}

/// Whether the server can be reached, by the calls that were made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum ModelState {
    /// The last call reached it.
    Up,
    /// It was not reached several times in a row: calls fail at once.
    Open,
    /// One call tries whether it is back.
    HalfOpen,
    /// No call has come back from it yet, or the last one did not reach it.
    Unknown,
}

impl ModelBody {
    pub fn new(role: Role, settings: &RoleSettings, server: &ServerReport) -> Self {
        ModelBody {
            role,
            provider: settings.provider.as_str(),
            model: settings.model.clone(),
            base_url: settings.base_url.clone(),
            state: match server.breaker {
                BreakerReport::Open { .. } => ModelState::Open,
                BreakerReport::HalfOpen => ModelState::HalfOpen,
                BreakerReport::Closed { failures: 0 } if server.answered + server.failed > 0 => {
                    ModelState::Up
                }
                BreakerReport::Closed { .. } => ModelState::Unknown,
            },
            queue: server.waiting.len(),
            running: server.running.len(),
            last_error: server.last_error.clone(),
        }
    }
}

pub(super) async fn list(api: web::Data<Api>) -> Result<web::Json<List<ModelBody>>, Problem> {
    match (api.models)().await {
        Some(models) => Ok(web::Json(List::all(models))),
        None => Err(Problem::new(ErrorCode::Stopping, "the server is stopping")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Loader;

    fn state(breaker: BreakerReport, answered: u64) -> ModelState {
        let server = ServerReport {
            name: String::new(),
            waiting: Vec::new(),
            running: Vec::new(),
            last_model: None,
            breaker,
            last_error: None,
            answered,
            failed: 0,
        };
        let settings = Loader::new().load().unwrap();
        ModelBody::new(Role::Planner, &settings.models.planner, &server).state
    }

    #[test]
    fn a_server_is_up_once_it_was_reached_and_unknown_before() {
        let closed = |failures| BreakerReport::Closed { failures };
        assert_eq!(state(closed(0), 0), ModelState::Unknown);
        assert_eq!(state(closed(0), 1), ModelState::Up);
        assert_eq!(state(closed(1), 1), ModelState::Unknown);
        assert_eq!(state(BreakerReport::HalfOpen, 1), ModelState::HalfOpen);
        let open = BreakerReport::Open { probe_in_ms: 5 };
        assert_eq!(state(open, 1), ModelState::Open);
    }
}
