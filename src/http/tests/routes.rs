//! What is registered, as actix-web itself has it, against the table of what each route needs.

use super::super::routes::{NEEDS, is_open};
use super::*;
use actix_web::dev::Service;
use actix_web::http::Method;
use actix_web::http::header::AUTHORIZATION;
use actix_web::test::{TestRequest, init_service};
use actix_web::{App, web};
use std::collections::BTreeSet;
use std::sync::Mutex;

/// Every address that is registered, with what stands before it in its scopes. The map of resources shows itself only as
/// a text for debugging; a version that wrote it in another way would yield nothing, which the test notices.
fn registered(map: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    // Depth of braces at which a scope's address begins, with that address.
    let mut scopes: Vec<(usize, String)> = Vec::new();
    let mut depth = 0;
    let mut rest = map;
    while let Some(at) = rest.find(['{', '}', '"']) {
        let sign = rest.as_bytes()[at];
        let before = rest[..at].to_owned();
        rest = &rest[at + 1..];
        match sign {
            b'{' => depth += 1,
            b'}' => {
                depth -= 1;
                scopes.retain(|(of, _)| *of <= depth);
            }
            _ => {
                let mut end = 0;
                while rest.as_bytes()[end] != b'"'
                    || rest.as_bytes()[end - usize::from(end > 0)] == b'\\'
                {
                    end += 1;
                }
                let text = rest[..end].to_owned();
                rest = &rest[end + 1..];
                if before.ends_with("patterns: Single(") {
                    let above: String = scopes.iter().map(|(_, place)| place.as_str()).collect();
                    let place = format!("{above}{text}");
                    // The children of a map stand behind its own address, at the depth of the map.
                    scopes.push((depth - 1, text));
                    found.insert(place);
                }
            }
        }
    }
    found
}

#[actix::test]
async fn every_route_that_is_registered_has_its_row_and_every_row_its_route() {
    let bench = bench().await;
    let seen: Arc<Mutex<String>> = Arc::default();
    let told = Arc::clone(&seen);
    let app = init_service(
        App::new()
            .app_data(web::Data::new(bench.api.clone()))
            .wrap_fn(move |request, next| {
                *told.lock().unwrap() = format!("{:?}", request.resource_map());
                next.call(request)
            })
            .configure(routes)
            .default_service(web::to(problem::not_found)),
    )
    .await;
    let ask = async |method: &Method, place: &str| {
        let place = place.replace("{path:.*}", "x").replace(['{', '}'], "");
        let request = TestRequest::with_uri(&place).method(method.clone());
        let request = request.insert_header((AUTHORIZATION, format!("Bearer {KEY}")));
        let response = app.call(request.to_request()).await.unwrap();
        response.status().as_u16()
    };
    ask(&Method::GET, "/nothing").await;
    let map = seen.lock().unwrap().clone();
    let places = registered(&map);
    assert!(places.len() > 20, "{places:?}\n{map}");

    let methods = [
        Method::GET,
        Method::POST,
        Method::PUT,
        Method::PATCH,
        Method::DELETE,
    ];
    let (mut missing, mut rows) = (Vec::new(), BTreeSet::new());
    for place in &places {
        if matches!(place.as_str(), "" | "/api/v1") || is_open(place) {
            continue;
        }
        for method in &methods {
            let status = ask(method, place).await;
            let row = NEEDS
                .iter()
                .any(|(known, at, _)| known == method && at == place);
            if status != 405 && !row {
                missing.push(format!("{method} {place} ({status}) has no row"));
            }
            if status == 405 && row {
                missing.push(format!("{method} {place} has a row and is not served"));
            }
            rows.extend(row.then(|| format!("{method} {place}")));
        }
    }
    for (method, place, _) in NEEDS {
        if !rows.contains(&format!("{method} {place}")) {
            missing.push(format!("{method} {place} has a row and is not registered"));
        }
    }
    assert!(
        missing.is_empty(),
        "src/http/routes.rs:\n{}",
        missing.join("\n")
    );
}
