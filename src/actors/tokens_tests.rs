use super::*;
use crate::domain::access::Role;
use std::cell::Cell;

thread_local! {
    static NOW: Cell<i64> = const { Cell::new(1_000) };
}

fn book() -> TokenBook {
    NOW.set(1_000);
    TokenBook::new(Vec::new(), None, || NOW.get())
}

fn person(name: &str, role: Role) -> NewToken {
    NewToken {
        name: name.into(),
        owner: None,
        bearer: Bearer::Person { role },
        tools: None,
        expires_at_ms: None,
    }
}

fn computers(owner: &str, client_id: &str) -> NewToken {
    NewToken {
        bearer: Bearer::Computer {
            client_id: client_id.into(),
        },
        ..person(owner, Role::Viewer)
    }
}

async fn make(book: &TokenBook, new: NewToken) -> (TokenRecord, String) {
    let (record, secret) = book.make(new).await.unwrap();
    (record, secret.reveal().to_owned())
}

#[actix::test]
async fn a_token_opens_with_its_whole_text_alone() {
    let book = book();
    assert!(book.is_empty() && !book.people_need() && !book.computers_need());
    let (record, text) = make(&book, person("ada", Role::Operator)).await;
    assert!(book.people_need() && book.computers_need());
    // 256 bits beside the id.
    assert_eq!(text.rsplit_once('_').unwrap().1.len(), 64, "{text}");
    let (id, principal) = book.person(&text).unwrap();
    assert_eq!((id, principal.owner), (record.token_id, "ada".to_owned()));
    assert!(principal.authenticated);
    let mut wrong = text.clone();
    let last = if wrong.pop() == Some('0') { '1' } else { '0' };
    wrong.push(last);
    let cut = &text[..text.len() - 1];
    for guess in ["", "ccf_", cut, &wrong, &record.hash, "ccf_ffffffffffff_00"] {
        assert_eq!(book.person(guess), Err(Refused::Unknown), "{guess}");
        assert_eq!(book.computer(guess, "x"), Err(Refused::Unknown), "{guess}");
    }
}

#[actix::test]
async fn a_revoked_token_opens_nothing_from_that_moment_on_and_its_sessions_end_with_it() {
    let book = book();
    let (record, text) = make(&book, person("ada", Role::Admin)).await;
    let (_, principal) = book.person(&text).unwrap();
    let (_, session) = book
        .begin_session(&record.token_id, &principal)
        .await
        .unwrap();
    assert_eq!(book.person(session.reveal()).unwrap().1, principal);
    book.revoke(&record.token_id).await.unwrap();
    assert_eq!(book.person(&text), Err(Refused::Revoked("ada".into())));
    assert_eq!(book.person(session.reveal()), Err(Refused::Unknown));
    assert!(!book.people_need());
    let gone = book.revoke("tok_none").await.unwrap_err();
    assert_eq!(gone, TokenError::NoSuchToken("tok_none".into()));
}

#[actix::test]
async fn an_expired_token_opens_nothing_and_the_door_stays_shut() {
    let book = book();
    let new = NewToken {
        expires_at_ms: Some(2_000),
        ..person("ada", Role::Admin)
    };
    let (record, text) = make(&book, new).await;
    let (_, principal) = book.person(&text).unwrap();
    let (_, session) = book
        .begin_session(&record.token_id, &principal)
        .await
        .unwrap();
    NOW.set(2_000);
    assert_eq!(book.person(&text), Err(Refused::Expired("ada".into())));
    let over = book.person(session.reveal());
    assert_eq!(over, Err(Refused::Expired("session".into())));
    assert!(book.people_need());
}

#[actix::test]
async fn a_computers_token_is_for_its_names_and_never_for_people() {
    let book = book();
    let (_, text) = make(&book, computers("ben", "mine-*")).await;
    assert!(!book.people_need() && book.computers_need());
    let admitted = book.computer(&text, "mine-1").unwrap();
    assert_eq!(admitted.owner, "ben");
    assert!(book.stands(&admitted.token_id) && !book.stands("tok_none"));
    assert!(matches!(
        book.computer(&text, "farm-1"),
        Err(Refused::OtherName { .. })
    ));
    assert_eq!(book.person(&text), Err(Refused::NotForPeople("ben".into())));
    let (_, persons) = make(&book, person("ada", Role::Admin)).await;
    let refused = book.computer(&persons, "mine-1");
    assert_eq!(refused, Err(Refused::NotForComputers("ada".into())));
    assert!(
        book.keeps("ben", "mine-1") && !book.keeps("ben", "farm-1") && !book.keeps("ada", "mine-1")
    );
}

#[actix::test]
async fn a_token_has_so_many_sessions_and_then_the_oldest_ends() {
    let book = book();
    let (record, text) = make(&book, person("ada", Role::Viewer)).await;
    let (_, principal) = book.person(&text).unwrap();
    let mut sessions = Vec::new();
    for at in 0..=SESSIONS_OF_A_TOKEN {
        NOW.set(1_001 + i64::try_from(at).unwrap());
        let (_, secret) = book
            .begin_session(&record.token_id, &principal)
            .await
            .unwrap();
        sessions.push(secret);
    }
    let open = |secret: &Secret| book.person(secret.reveal()).is_ok();
    assert!(!open(&sessions[0]) && sessions[1..].iter().all(open));
    let id = |secret: &Secret| book.person(secret.reveal()).unwrap().0;
    book.end_session(&id(&sessions[3])).await.unwrap();
    assert!(!open(&sessions[3]) && open(&sessions[4]));
    NOW.set(1_001 + SESSION_MS + 100);
    assert!(!open(&sessions[4]));
    // The next one takes those that are over away.
    book.begin_session(&record.token_id, &principal)
        .await
        .unwrap();
    assert_eq!(book.index().entries.len(), 2);
}

#[actix::test]
async fn hashes_are_compared_in_constant_time() {
    // What the comparison is made of: `blake3::Hash` compares all of its bytes whatever they are, which its documentation
    // promises, and no text is compared anywhere. A text that was compared would be kept, and none is.
    let source = include_str!("tokens.rs");
    assert!(
        source.contains("shown == known") && source.contains("known = entry.map_or(blake3::Hash::")
    );
    let book = book();
    let (record, text) = make(&book, person("ada", Role::Viewer)).await;
    assert!(!format!("{record:?}").contains(&text[PREFIX.len() + 13..]));
    assert_eq!(record.hash, hash(&text));
}

#[test]
fn a_secret_does_not_show_itself() {
    let (_, secret) = mint(person("ada", Role::Viewer), 1).unwrap();
    assert!(!format!("{secret:?}").contains("ccf_"));
}
