//! What a computer gets when it asks, through the same routes as in the server.

use super::*;
use actix_web::App;
use actix_web::body::to_bytes;
use actix_web::dev::ServiceResponse;
use actix_web::http::header::{self, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use actix_web::test::{TestRequest, call_service, init_service};
use proptest::prelude::*;
use serde_json::Value;

async fn get(path: &str, headers: &[(&str, &str)]) -> ServiceResponse {
    let app = init_service(App::new().configure(crate::http::routes_for_computers)).await;
    let asked = TestRequest::get()
        .uri(path)
        .insert_header(("host", "here:1"));
    let request = headers
        .iter()
        .fold(asked, |request, header| request.insert_header(*header));
    call_service(&app, request.to_request()).await
}

async fn body(response: ServiceResponse) -> String {
    String::from_utf8(to_bytes(response.into_body()).await.unwrap().to_vec()).unwrap()
}

fn header_of(response: &ServiceResponse, name: header::HeaderName) -> String {
    let value = response.headers().get(name).unwrap();
    value.to_str().unwrap().to_owned()
}

async fn manifest() -> Value {
    serde_json::from_str(&body(get("/lua/manifest.json", &[]).await).await).unwrap()
}

#[actix_web::test]
async fn the_manifest_lists_every_file_with_its_size_and_hash() {
    let manifest = manifest().await;
    assert_eq!(manifest["version"], library_version());
    let files = manifest["files"].as_array().unwrap();
    for path in [
        "host.lua",
        "boot.lua",
        "ccfleet/init.lua",
        "programs/fleet.lua",
    ] {
        assert!(files.iter().any(|file| file["path"] == path), "{path}");
    }
    for file in files {
        let path = file["path"].as_str().unwrap();
        let response = get(&format!("/lua/{path}"), &[]).await;
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        let kind = header_of(&response, CONTENT_TYPE);
        assert_eq!(kind, "text/x-lua; charset=utf-8");
        let tag = format!("\"{}\"", file["sha256"].as_str().unwrap());
        assert_eq!(header_of(&response, ETAG), tag);
        let text = body(response).await;
        assert_eq!(file["bytes"], text.len());
        assert!(
            text.is_ascii(),
            "{path}: text files before CC 1.109 garble the rest"
        );
    }
}

#[actix_web::test]
async fn what_only_turtles_can_use_is_marked_and_is_there() {
    let manifest = manifest().await;
    let only = |file: &Value| Some((file["path"].clone(), file.get("only")?.clone()));
    let marked: Vec<_> = manifest["files"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(only)
        .collect();
    assert_eq!(
        marked.len(),
        ONLY_FOR.len(),
        "a file was renamed: {marked:?}"
    );
    assert!(marked.iter().all(|(_, kind)| kind == "turtle"));
}

#[actix_web::test]
async fn hashes_are_sha256_of_the_bytes_that_are_served() {
    // Of the empty text and of "abc", from FIPS 180-2.
    let hashed = |text: &[u8]| {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        std::fs::write(&path, text).unwrap();
        rust_embed::utils::read_file_from_fs(&path).map(|file| hex(&file.metadata.sha256_hash()))
    };
    assert_eq!(
        hashed(b"abc").unwrap(),
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    );
    assert_eq!(
        hashed(b"").unwrap(),
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    );
}

#[actix_web::test]
async fn specs_and_the_unrendered_installer_are_not_for_computers() {
    let manifest = manifest().await;
    for file in manifest["files"].as_array().unwrap() {
        let path = file["path"].as_str().unwrap();
        assert!(!path.starts_with("specs/") && path != INSTALLER, "{path}");
    }
    for path in ["/lua/specs/run.lua", "/lua/install.lua"] {
        assert_eq!(get(path, &[]).await.status(), StatusCode::NOT_FOUND);
    }
}

#[actix_web::test]
async fn a_path_that_is_not_there_says_what_is_in_plain_text() {
    for path in [
        "/lua/nope.lua",
        "/lua/",
        "/lua/../Cargo.toml",
        "/lua/..%2fCargo.toml",
        "/lua/%2e%2e/Cargo.toml",
        "/lua//host.lua",
        "/lua/ccfleet/../host.lua",
        "/lua/host.lua%00",
        "/lua/C:%5chost.lua",
    ] {
        let response = get(path, &[]).await;
        assert_eq!(response.status(), StatusCode::NOT_FOUND, "{path}");
        let kind = header_of(&response, CONTENT_TYPE);
        assert_eq!(kind, "text/plain; charset=utf-8");
        let text = body(response).await;
        assert!(text.contains("/lua/manifest.json"), "{path}: {text}");
        assert!(text.contains("/install.lua"), "{path}: {text}");
    }
}

#[actix_web::test]
async fn what_a_client_has_is_not_sent_again() {
    for path in ["/lua/manifest.json", "/lua/host.lua", "/install.lua"] {
        let tag = header_of(&get(path, &[]).await, ETAG);
        for known in [tag.clone(), format!("\"x\", W/{tag}"), "*".to_owned()] {
            let response = get(path, &[(IF_NONE_MATCH.as_str(), &known)]).await;
            assert_eq!(
                response.status(),
                StatusCode::NOT_MODIFIED,
                "{path} {known}"
            );
            assert_eq!(header_of(&response, ETAG), tag);
            assert!(body(response).await.is_empty());
        }
        let response = get(path, &[(IF_NONE_MATCH.as_str(), "\"other\"")]).await;
        assert_eq!(response.status(), StatusCode::OK, "{path}");
    }
}

#[actix_web::test]
async fn the_installer_knows_the_address_that_it_was_asked_at() {
    for host in [
        "192.168.1.10:8080",
        "fleet.example",
        "[::1]:8080",
        "my-pc:1",
    ] {
        let headers = [
            ("host", host),
            ("x-forwarded-host", "evil.example"),
            ("x-forwarded-proto", "https"),
            ("forwarded", "host=evil.example;proto=https"),
        ];
        let response = get("/install.lua", &headers).await;
        assert_eq!(response.status(), StatusCode::OK, "{host}");
        let text = body(response).await;
        assert!(text.contains(&format!("\"http://{host}\"")), "{host}");
        assert!(!text.contains(SERVER_MARK) && !text.contains("evil"));
    }
}

#[actix_web::test]
async fn an_address_that_could_be_code_is_refused() {
    for host in [
        "a\" os.shutdown() --",
        "a]]x",
        "user@host",
        "host/path",
        "host:",
        "host:0",
        "host:65536",
        "host:+80",
        "a:b:c",
        "[::1",
        "[::1]8080",
        "[x]:1",
        "a..b",
        "-a",
        "{{SERVER}}",
    ] {
        let response = get("/install.lua", &[("host", host)]).await;
        assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{host}");
        let kind = header_of(&response, CONTENT_TYPE);
        assert_eq!(kind, "text/plain; charset=utf-8");
    }
}

proptest! {
    #[test]
    fn nothing_but_letters_digits_dots_dashes_and_a_port_gets_into_the_installer(host in ".{0,40}") {
        if is_place(&host) {
            prop_assert!(!host.is_empty());
            prop_assert!(host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.:[]".contains(&b)), "{host}");
        }
    }

    #[test]
    fn usual_addresses_are_taken(name in "[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?(\\.[a-z]{2,8}){0,3}", port in 1u16..) {
        prop_assert!(is_place(&name));
        let place = format!("{}:{}", name, port);
        prop_assert!(is_place(&place));
    }
}
