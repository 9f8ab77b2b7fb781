//! How files that are inside of the program are sent: with a tag, so that what somebody has already is not sent again.

use actix_web::http::header::{
    self, CacheControl, CacheDirective, ETag, EntityTag, Header, IfNoneMatch,
};
use actix_web::{HttpRequest, HttpResponse};
use std::borrow::Cow;

/// The file, or 304 where the request knows `tag`.
pub(super) fn answer(
    request: &HttpRequest,
    content_type: &'static str,
    tag: &str,
    body: Cow<'static, [u8]>,
) -> HttpResponse {
    let tag = EntityTag::new_strong(tag.to_owned());
    let is_known = match IfNoneMatch::parse(request) {
        Ok(IfNoneMatch::Any) => true,
        Ok(IfNoneMatch::Items(tags)) => tags.iter().any(|other| other.weak_eq(&tag)),
        Err(_) => false,
    };
    let mut response = if is_known {
        HttpResponse::NotModified()
    } else {
        HttpResponse::Ok()
    };
    response
        .insert_header(ETag(tag))
        .insert_header(CacheControl(vec![CacheDirective::NoCache]))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"));
    match (is_known, body) {
        (true, _) => response.finish(),
        (false, Cow::Borrowed(bytes)) => response.content_type(content_type).body(bytes),
        (false, Cow::Owned(bytes)) => response.content_type(content_type).body(bytes),
    }
}
