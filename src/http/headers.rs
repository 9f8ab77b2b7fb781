//! What every answer tells a browser, in one place.

use actix_web::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderMap, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};

/// Everything comes from this server, no script stands in a page, and no page shows ours in a frame.
const POLICY: &str = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; \
                      img-src 'self' data:; object-src 'none'";

const EVERYWHERE: [(HeaderName, &str); 6] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    (REFERRER_POLICY, "no-referrer"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

/// Adds them. What the open addresses serve may be kept by a browser, as they say themselves.
pub(super) fn dress(headers: &mut HeaderMap, is_open: bool) {
    for (name, value) in EVERYWHERE {
        // A page may be stricter with itself.
        if !headers.contains_key(&name) {
            headers.insert(name, HeaderValue::from_static(value));
        }
    }
    if !is_open {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
}
