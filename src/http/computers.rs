//! `/api/v1/computers`

use super::caller::Caller;
use super::scope::no_computer;
use super::shapes::List;
use super::{Api, ComputerBody, Problem, ask};
use crate::actors::computer::messages::{ShowQueue, WaitingCall};
use crate::domain::access::Principal;
use crate::domain::ids::ClientId;
use crate::wire::codes::ErrorCode;
use actix_web::web;

pub(super) async fn list(
    api: web::Data<Api>,
    Caller(caller): Caller,
) -> Result<web::Json<List<ComputerBody>>, Problem> {
    Ok(web::Json(List::all(own(&api, &caller).await?)))
}

/// The computers that are there for whoever asks.
pub(super) async fn own(api: &Api, caller: &Principal) -> Result<Vec<ComputerBody>, Problem> {
    let computers = (api.computers)().await;
    let mut computers =
        computers.ok_or_else(|| Problem::new(ErrorCode::Stopping, "the server is stopping"))?;
    computers.retain(|computer| caller.sees(&computer.owner));
    Ok(computers)
}

/// The calls that wait for their turn on one computer.
pub(super) async fn queue(
    api: web::Data<Api>,
    id: web::Path<String>,
) -> Result<web::Json<List<WaitingCall>>, Problem> {
    let known = ClientId::parse(&id)
        .ok()
        .and_then(|id| api.router.lane(&id));
    let Some(lane) = known else {
        return Err(no_computer(&id));
    };
    Ok(web::Json(List::all(ask(&lane.queue, ShowQueue).await?)))
}
