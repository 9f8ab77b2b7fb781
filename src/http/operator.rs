//! The operator's key: whoever can read the data folder may show it, and only who shows it can consent to what a kind's
//! policy asks about. A computer cannot read it, though it may well reach this address.

use super::Problem;
use crate::domain::access::Principal;
use crate::wire::codes::ErrorCode;
use actix_web::http::header::{AUTHORIZATION, HeaderMap};

/// The key's hash, which is compared in constant time.
#[derive(Debug, Clone)]
pub struct OperatorKey(blake3::Hash);

impl OperatorKey {
    /// None for a text that is too short to be a secret.
    pub fn new(key: &str) -> Option<Self> {
        let key = key.trim();
        (key.len() >= 32).then(|| OperatorKey(blake3::hash(key.as_bytes())))
    }

    /// Who asks, by what the request shows: the key, or nothing.
    ///
    /// # Errors
    /// It shows another one: whoever sends a key wants it to count.
    pub(super) fn principal(&self, headers: &HeaderMap) -> Result<Principal, Problem> {
        let Some(shown) = headers.get(AUTHORIZATION) else {
            return Ok(Principal::local());
        };
        let shown = shown.to_str().ok();
        let shown = shown.and_then(|shown| shown.strip_prefix("Bearer "));
        if shown.is_some_and(|shown| blake3::hash(shown.trim().as_bytes()) == self.0) {
            return Ok(Principal::holder_of_the_folder());
        }
        let problem = Problem::new(
            ErrorCode::NotAllowed,
            "the key in Authorization is not the operator's",
        );
        Err(problem.with_hint("send the content of operator.key in the server's data folder: Authorization: Bearer KEY"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::test::TestRequest;

    #[test]
    fn only_the_right_key_counts_and_a_wrong_one_is_refused() {
        let key = "0123456789abcdef0123456789abcdef";
        let operator = OperatorKey::new(key).unwrap();
        let shows = |header: Option<&str>| {
            let request = TestRequest::default();
            let request = match header {
                Some(header) => request.insert_header((AUTHORIZATION, header)),
                None => request,
            };
            let request = request.to_http_request();
            let shown = operator.principal(request.headers()).ok();
            shown.map(|principal| principal.authenticated)
        };
        assert_eq!(shows(None), Some(false));
        assert_eq!(shows(Some(&format!("Bearer {key}"))), Some(true));
        for wrong in ["Bearer x", key, ""] {
            assert_eq!(shows(Some(wrong)), None, "{wrong}");
        }
        assert!(OperatorKey::new("short").is_none());
    }
}
