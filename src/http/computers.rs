//! `/api/v1/computers`

use super::shapes::List;
use super::{Api, ComputerBody, Problem};
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
