//! `/api/v1/computers`

use super::shapes::List;
use super::{Api, ComputerBody, Problem, ask};
use crate::actors::computer::messages::{ShowQueue, WaitingCall};
use crate::domain::ids::ClientId;
use crate::wire::codes::ErrorCode;
use actix_web::web;

pub(super) async fn list(
    api: web::ThinData<Api>,
) -> Result<web::Json<List<ComputerBody>>, Problem> {
    match (api.computers)().await {
        Some(computers) => Ok(web::Json(List::all(computers))),
        None => Err(Problem::new(ErrorCode::Stopping, "the server is stopping")),
    }
}

/// The calls that wait for their turn on one computer.
pub(super) async fn queue(
    api: web::ThinData<Api>,
    id: web::Path<String>,
) -> Result<web::Json<List<WaitingCall>>, Problem> {
    let known = ClientId::parse(&id)
        .ok()
        .and_then(|id| api.router.lane(&id));
    let Some(lane) = known else {
        let detail = format!("no computer \"{id}\" was ever connected");
        return Err(Problem::new(ErrorCode::UnknownComputer, detail));
    };
    Ok(web::Json(List::all(ask(&lane.queue, ShowQueue).await?)))
}
