//! `/` and `/dashboard/*`: the web page. It is the same for everybody and holds no data; what it shows, it asks
//! `/api/v1` for, as any other client.

use super::Problem;
use super::embedded::answer;
use crate::dashboard::{self, CONTENT_SECURITY_POLICY, START};
use crate::wire::codes::ErrorCode;
use actix_web::http::header::{CONTENT_SECURITY_POLICY as POLICY, HeaderValue, REFERRER_POLICY};
use actix_web::{HttpRequest, HttpResponse, web};

/// `GET /`
pub(super) async fn start(request: HttpRequest) -> Result<HttpResponse, Problem> {
    page_file(&request, START)
}

/// `GET /dashboard/{path}`
pub(super) async fn file(
    request: HttpRequest,
    path: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    page_file(&request, &path)
}

fn page_file(request: &HttpRequest, path: &str) -> Result<HttpResponse, Problem> {
    let Some(file) = dashboard::file(path) else {
        let detail = format!("the page has no file {path:?}");
        return Err(Problem::new(ErrorCode::NotFound, detail));
    };
    let mut response = answer(request, file.content_type, &file.sha256, file.bytes);
    let headers = response.headers_mut();
    headers.insert(POLICY, HeaderValue::from_static(CONTENT_SECURITY_POLICY));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::http::StatusCode;
    use actix_web::http::header::{CONTENT_TYPE, ETAG, IF_NONE_MATCH};
    use actix_web::{App, test};

    async fn get(place: &str, tag: Option<&str>) -> actix_web::dev::ServiceResponse {
        let app = test::init_service(App::new().configure(super::super::routes_of_page)).await;
        let mut request = test::TestRequest::get().uri(place);
        if let Some(tag) = tag {
            request = request.insert_header((IF_NONE_MATCH, tag));
        }
        test::call_service(&app, request.to_request()).await
    }

    #[actix_web::test]
    async fn the_page_is_served_at_the_root_under_a_policy_without_exceptions() {
        let response = get("/", None).await;
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(
            response.headers().get(CONTENT_TYPE).unwrap(),
            "text/html; charset=utf-8"
        );
        let policy = response
            .headers()
            .get(POLICY)
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"));
        let text = test::read_body(response).await;
        assert!(text.starts_with(b"<!doctype html>"));
    }

    #[actix_web::test]
    async fn what_a_browser_has_already_is_not_sent_again() {
        let first = get("/dashboard/js/main.js", None).await;
        assert_eq!(
            first.headers().get(CONTENT_TYPE).unwrap(),
            "text/javascript; charset=utf-8"
        );
        let tag = first
            .headers()
            .get(ETAG)
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        let again = get("/dashboard/js/main.js", Some(&tag)).await;
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
        assert!(test::read_body(again).await.is_empty());
    }

    #[actix_web::test]
    async fn a_file_that_is_not_there_is_a_problem() {
        for place in ["/dashboard/nothing.js", "/dashboard/..%2f..%2fCargo.toml"] {
            assert_eq!(
                get(place, None).await.status(),
                StatusCode::NOT_FOUND,
                "{place}"
            );
        }
    }
}
