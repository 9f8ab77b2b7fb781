use super::*;
use crate::domain::access::Role;
use crate::domain::credential::{Bearer, NewToken};
use actix_web::ResponseError;
use actix_web::http::header::{HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};

const KEY: &str = "0123456789abcdef0123456789abcdef";

fn peer() -> Option<IpAddr> {
    Some(IpAddr::from([10, 0, 0, 9]))
}

fn door(settings: DoorSettings) -> Door {
    Door::new(
        settings,
        TokenBook::default(),
        OperatorKey::new(KEY).unwrap(),
    )
}

async fn make(door: &Door, bearer: Bearer) -> String {
    let new = NewToken {
        name: "ada".into(),
        owner: None,
        bearer,
        tools: None,
        expires_at_ms: None,
    };
    let (_, secret) = door.tokens.make(new).await.unwrap();
    secret.reveal().to_owned()
}

async fn person(door: &Door) -> String {
    make(
        door,
        Bearer::Person {
            role: Role::Operator,
        },
    )
    .await
}

fn showing(lines: &[(HeaderName, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        headers.append(name.clone(), HeaderValue::from_str(value).unwrap());
    }
    headers
}

fn bearer(text: &str) -> HeaderMap {
    showing(&[(AUTHORIZATION, &format!("Bearer {text}"))])
}

fn ask(door: &Door, headers: &HeaderMap) -> Result<(Principal, Shown), u16> {
    let answer = door.admit(&Method::GET, peer(), headers);
    answer.map_err(|problem| problem.status_code().as_u16())
}

#[actix::test]
async fn on_loopback_nobody_shows_anything_until_a_person_has_a_token() {
    let door = door(DoorSettings::default());
    let nothing = HeaderMap::new();
    let (local, shown) = ask(&door, &nothing).unwrap();
    assert_eq!((local, shown), (Principal::local(), Shown::Nothing));
    make(
        &door,
        Bearer::Computer {
            client_id: "*".into(),
        },
    )
    .await;
    assert!(
        ask(&door, &nothing).is_ok(),
        "a computer's token locks no people out"
    );
    let text = person(&door).await;
    assert_eq!(ask(&door, &nothing), Err(401));
    let (ada, _) = ask(&door, &bearer(&text)).unwrap();
    assert_eq!(
        (ada.owner.as_str(), ada.role, ada.authenticated),
        ("ada", Role::Operator, true)
    );
    // Who can read the data folder is never locked out.
    assert_eq!(
        ask(&door, &bearer(KEY)).unwrap().0,
        Principal::holder_of_the_folder()
    );
}

#[actix::test]
async fn a_server_that_others_reach_wants_a_token_from_the_first_request_on() {
    let settings = DoorSettings {
        always_locked: true,
        ..DoorSettings::default()
    };
    let door = door(settings);
    assert_eq!(ask(&door, &HeaderMap::new()), Err(401));
    let refused = door
        .admit(&Method::GET, peer(), &HeaderMap::new())
        .unwrap_err();
    assert!(
        refused
            .error_response()
            .headers()
            .contains_key(WWW_AUTHENTICATE)
    );
}

#[actix::test]
async fn a_computers_token_gives_no_rights_to_people() {
    let door = door(DoorSettings::default());
    let text = make(
        &door,
        Bearer::Computer {
            client_id: "*".into(),
        },
    )
    .await;
    assert_eq!(ask(&door, &bearer(&text)), Err(403));
    let cookie = format!("{SESSION_COOKIE}={text}");
    assert_eq!(ask(&door, &showing(&[(COOKIE, &cookie)])), Err(403));
}

#[actix::test]
async fn wrong_tokens_make_an_address_wait_and_who_was_right_there_goes_on() {
    let door = door(DoorSettings::default());
    let text = person(&door).await;
    ask(&door, &bearer(&text)).unwrap();
    let answers: Vec<_> = (0..7)
        .map(|_| ask(&door, &bearer("ccf_00_guess")).unwrap_err())
        .collect();
    assert_eq!(answers, [401, 401, 401, 401, 401, 401, 429]);
    let refused = door
        .admit(&Method::GET, peer(), &bearer("ccf_00_guess"))
        .unwrap_err();
    assert_eq!(
        refused.error_response().headers().get(RETRY_AFTER).unwrap(),
        "1"
    );
    assert!(ask(&door, &bearer(&text)).is_ok());
    // A token that was never right from there waits, be it right or not; from elsewhere it does not.
    let other = person(&door).await;
    assert_eq!(ask(&door, &bearer(&other)), Err(429));
    let elsewhere = Some(IpAddr::from([10, 0, 0, 8]));
    assert!(door.admit(&Method::GET, elsewhere, &bearer(&other)).is_ok());
}

#[actix::test]
async fn who_asks_too_often_is_told_to_wait_and_others_are_not_concerned() {
    let settings = DoorSettings {
        requests_per_second: 1,
        requests_burst: 3,
        ..DoorSettings::default()
    };
    let door = door(settings);
    let nothing = HeaderMap::new();
    assert!(
        (0..9).all(|_| ask(&door, &nothing).is_ok()),
        "on loopback without tokens nobody counts"
    );
    let text = person(&door).await;
    let answers: Vec<_> = (0..4).map(|_| ask(&door, &bearer(&text)).err()).collect();
    assert_eq!(answers, [None, None, None, Some(429)]);
    assert!(ask(&door, &bearer(KEY)).is_ok());
}

#[actix::test]
async fn a_session_changes_nothing_unless_its_page_asks() {
    let door = door(DoorSettings::default());
    let (id, ada) = door.tokens.person(&person(&door).await).unwrap();
    let (_, session) = door.tokens.begin_session(&id, &ada).await.unwrap();
    let cookie = format!("theme=dark; {SESSION_COOKIE}={}", session.reveal());
    let host = "fleet.example:8080";
    let mut tried = Vec::new();
    for extra in [
        vec![],
        vec![(ORIGIN, "http://evil.example")],
        vec![(FETCH_SITE, "same-site")],
        vec![(ORIGIN, "http://fleet.example:8080")],
        vec![(FETCH_SITE, "same-origin")],
    ] {
        let mut lines = vec![(COOKIE, cookie.as_str()), (HOST, host)];
        lines.extend(extra);
        let headers = showing(&lines);
        assert!(door.admit(&Method::GET, peer(), &headers).is_ok());
        tried.push(door.admit(&Method::POST, peer(), &headers).is_ok());
    }
    assert_eq!(tried, [false, false, false, true, true]);
}

#[test]
fn only_a_trusted_proxy_says_who_really_asks() {
    let proxy = IpAddr::from([127, 0, 0, 1]);
    let settings = DoorSettings {
        trusted_proxies: vec![proxy, IpAddr::from([10, 0, 0, 2])],
        ..DoorSettings::default()
    };
    let door = door(settings);
    let line = |text: &str| showing(&[(FORWARDED_FOR, text)]);
    let real = IpAddr::from([203, 0, 113, 7]);
    for text in [
        "203.0.113.7",
        "1.2.3.4, 203.0.113.7",
        "1.2.3.4, 203.0.113.7, 10.0.0.2",
    ] {
        assert_eq!(door.address(Some(proxy), &line(text)), real, "{text}");
        assert_eq!(door.address(peer(), &line(text)), peer().unwrap(), "{text}");
    }
    let written = "203.0.113.7, evil";
    assert_eq!(door.address(Some(proxy), &line(written)), proxy);
    let twice = showing(&[(FORWARDED_FOR, "1.2.3.4"), (FORWARDED_FOR, "203.0.113.7")]);
    assert_eq!(door.address(Some(proxy), &twice), real);
}
