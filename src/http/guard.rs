//! Every request comes through here: is the server called by its name, who asks, and may they do that.

use super::door::Shown;
use super::hosts::refuse;
use super::{Api, Problem, headers, routes};
use crate::domain::access::Principal;
use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage, ResponseError, web};

/// Lets a request through with the [`Principal`] that it speaks for, or answers why not.
pub(super) async fn guard(
    api: web::Data<Api>,
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    if request.method() == Method::HEAD && request.path() != routes::FEED {
        // Answered as GET is; the body is left out where the answer is written.
        request.head_mut().method = Method::GET;
    }
    let pattern = request.match_pattern();
    let is_open = pattern.as_deref().is_some_and(routes::is_open);
    let checked = if is_open {
        Ok(None)
    } else {
        enter(&api, &request, pattern.as_deref()).map(Some)
    };
    let mut response = match checked {
        Ok(found) => {
            if let Some((principal, shown)) = found {
                request.extensions_mut().insert(principal);
                request.extensions_mut().insert(shown);
            }
            next.call(request).await?.map_into_boxed_body()
        }
        Err(problem) => request.into_response(problem.error_response()),
    };
    headers::dress(response.headers_mut(), is_open);
    Ok(response)
}

/// Who asks, if they may: the route's row in [`routes::NEEDS`] decides, and a route without a row is for admins alone.
fn enter(
    api: &Api,
    request: &ServiceRequest,
    pattern: Option<&str>,
) -> Result<(Principal, Shown), Problem> {
    let (method, headers) = (request.method(), request.headers());
    api.door.settings.hosts.check(method, headers)?;
    let Some(pattern) = pattern else {
        // There is nothing, and it is nobody's secret that there is nothing.
        return Ok((Principal::nobody(), Shown::Nothing));
    };
    let peer = request.peer_addr().map(|peer| peer.ip());
    let (principal, shown) = api.door.admit(method, peer, headers)?;
    let needed = routes::needed(method, pattern);
    match principal.has(needed) {
        true => Ok((principal, shown)),
        false => Err(refuse(format!(
            "{method} {pattern} needs the role {}, and {} has {}",
            needed.as_str(),
            principal.owner,
            principal.role.as_str()
        ))),
    }
}
