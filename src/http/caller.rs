//! Who a request speaks for, as handlers get it.

use super::Problem;
use crate::domain::access::Principal;
use crate::wire::codes::ErrorCode;
use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpMessage, HttpRequest};
use std::future::{Ready, ready};

/// The principal that the guard found out; there is none where the guard did not look.
pub(super) struct Caller(pub(super) Principal);

impl FromRequest for Caller {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let known = request.extensions().get::<Principal>().cloned();
        let nobody = || Problem::new(ErrorCode::NotAllowed, "nobody asks here");
        ready(known.map(Caller).ok_or_else(nobody))
    }
}
