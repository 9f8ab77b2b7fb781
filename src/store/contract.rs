//! What every store must do. A new store joins by its name in `each_store!`.

mod computers;
mod episodes;
mod lists;

use super::fixtures::*;
use super::*;
use crate::domain::call::Outcome;
use crate::domain::credential::Bearer;
use crate::domain::episodes::{ArchiveRule, Carried, EpisodeEnd, EpisodeEnded, Sleep};
use crate::domain::event::TaskEvent;
use crate::domain::ids::Generation;
use crate::domain::lifecycle::ToolRecord;
use crate::domain::schedule::Schedule;
use crate::domain::task::TaskStatus;
use crate::domain::tool::ToolState;
use crate::domain::wakes::{Asleep, Wakes};
use proptest::prelude::*;
use std::path::Path;
use std::sync::Arc;

/// Opens the store under test in a folder.
type Opener = fn(&Path) -> Result<OpenStore, StoreError>;

const STORES: &[(&str, Opener)] = &[("sqlite", sqlite::open)];

/// Runs a test on every store, each in a fresh folder.
fn on_each_store(test: impl Fn(&dyn Fn() -> OpenStore)) {
    for (name, open) in STORES {
        let folder = tempfile::tempdir().unwrap();
        test(&|| open(folder.path()).unwrap_or_else(|error| panic!("{name}: {error}")));
    }
}

fn write_one(store: &mut OpenStore, entry: Write) -> Result<Vec<StoredEvent>, Refusal> {
    let mut answers = store.writer.write(&[entry]).unwrap();
    assert_eq!(answers.len(), 1);
    answers.remove(0).map(Arc::unwrap_or_clone)
}

fn load(store: &OpenStore, id: &TaskId) -> Journalled {
    store.reads.load_task(id).unwrap().unwrap()
}

#[test]
fn what_was_appended_is_read_back_after_the_store_was_opened_again() {
    on_each_store(|open| {
        let mut store = open();
        let mut author = Author::new("A");
        let first =
            write_one(&mut store, author.write(vec![created("dig"), noted("one")])).unwrap();
        let second = write_one(&mut store, author.write(vec![noted("two")])).unwrap();
        assert_eq!(first.iter().map(|e| e.seq).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(second[0].seq, 3);
        drop(store);

        let read = load(&open(), &author.task_id());
        assert_eq!(read.events, [first, second].concat());
        assert_eq!(read.profile.as_deref(), Some(PROFILE));
    });
}

#[test]
fn the_identity_stays_the_same_for_the_life_of_a_journal_and_differs_between_journals() {
    on_each_store(|open| {
        let first = open().identity;
        assert!(first.server_id.starts_with("srv_"));
        assert_eq!(first.journal_epoch, 1);
        assert_eq!(open().identity, first);
        let elsewhere = tempfile::tempdir().unwrap();
        assert_ne!(sqlite::open(elsewhere.path()).unwrap().identity, first);
    });
}

#[test]
fn an_append_at_another_position_is_refused_and_changes_nothing() {
    on_each_store(|open| {
        let mut store = open();
        let mut author = Author::new("A");
        write_one(&mut store, author.write(vec![created("dig")])).unwrap();
        let mut stale = author.append(vec![noted("late")]);
        stale.expected_seq = 0;
        Arc::make_mut(&mut stale.summary).message = Some("must not show".into());
        assert_eq!(
            write_one(&mut store, Write::Append(Arc::new(stale))),
            Err(Refusal::Sequence {
                expected: 0,
                found: 1
            })
        );
        assert_eq!(load(&store, &author.task_id()).events.len(), 1);
        let shown = store.reads.task(&author.task_id()).unwrap().unwrap();
        assert_ne!(shown.message.as_deref(), Some("must not show"));
    });
}

#[test]
fn an_append_whose_own_events_are_elsewhere_is_refused_and_changes_nothing() {
    on_each_store(|open| {
        let mut store = open();
        let mut author = Author::new("A");
        write_one(&mut store, author.write(vec![created("dig")])).unwrap();
        let right = author.append(vec![noted("one"), noted("two")]);
        let moves: [fn(&mut StoredEvent); 3] = [
            |stored| stored.seq += 1,
            |stored| stored.task_id = task("B"),
            |stored| stored.generation = Generation(2),
        ];
        for moves in moves {
            let mut wrong = right.clone();
            moves(&mut Arc::make_mut(&mut wrong.events)[1]);
            let refused = write_one(&mut store, Write::Append(Arc::new(wrong)));
            assert!(
                matches!(refused, Err(Refusal::Sequence { .. })),
                "{refused:?}"
            );
            assert_eq!(load(&store, &author.task_id()).events.len(), 1);
        }
        write_one(&mut store, Write::Append(Arc::new(right))).unwrap();
    });
}

#[test]
fn an_older_generation_is_fenced_off_even_at_the_right_position() {
    on_each_store(|open| {
        let mut store = open();
        let mut author = Author::new("A");
        author.generation = Generation(4);
        write_one(&mut store, author.write(vec![created("dig")])).unwrap();
        author.generation = Generation(3);
        assert_eq!(
            write_one(&mut store, author.write(vec![noted("a zombie")])),
            Err(Refusal::Fenced { ours: 3, found: 4 })
        );
    });
}

#[test]
fn one_refused_entry_does_not_undo_the_others_of_its_batch() {
    on_each_store(|open| {
        let mut store = open();
        let (mut a, mut b) = (Author::new("A"), Author::new("B"));
        let mut bad = b.append(vec![created("bad")]);
        bad.expected_seq = 7;
        let batch = [
            a.write(vec![created("good")]),
            Write::Append(Arc::new(bad)),
            Write::SaveComputer(computer("turtle-1")),
            a.write(vec![noted("and more in the same transaction")]),
        ];
        let answers = store.writer.write(&batch).unwrap();
        assert_eq!(
            answers.iter().map(Result::is_ok).collect::<Vec<_>>(),
            [true, false, true, true]
        );
        assert_eq!(load(&store, &a.task_id()).events.len(), 2);
        assert_eq!(store.reads.load_task(&b.task_id()).unwrap(), None);
        assert_eq!(store.reads.computers().unwrap().len(), 1);
    });
}

#[test]
fn a_second_task_under_the_same_key_of_an_owner_is_refused_with_the_first_ones_id() {
    on_each_store(|open| {
        let mut store = open();
        let keyed = |name: &str, owner: &str, at_ms: i64| {
            let mut author = Author::new(name);
            author.now_ms = at_ms;
            let mut append = author.append(vec![created("dig")]);
            Arc::make_mut(&mut append.summary).owner = owner.into();
            append.idempotency_key = Some("order-66".into());
            Write::Append(Arc::new(append))
        };
        let start = 1_700_000_000_000;
        write_one(&mut store, keyed("A", "ann", start)).unwrap();
        let last_moment = start + IDEMPOTENCY_MS - 1;
        assert_eq!(
            write_one(&mut store, keyed("B", "ann", last_moment)),
            Err(Refusal::Duplicate {
                existing: task("A")
            })
        );
        assert_eq!(store.reads.load_task(&task("B")).unwrap(), None);
        write_one(&mut store, keyed("C", "bob", start)).unwrap();
        // A day later the key is free again.
        write_one(&mut store, keyed("D", "ann", start + IDEMPOTENCY_MS)).unwrap();
        assert_eq!(
            write_one(&mut store, keyed("E", "ann", start + IDEMPOTENCY_MS + 1)),
            Err(Refusal::Duplicate {
                existing: task("D")
            })
        );
    });
}

#[test]
fn unfinished_are_live_tasks_and_ended_ones_with_a_call_without_outcome() {
    on_each_store(|open| {
        let mut store = open();
        let turtle = client("turtle-1");
        let (mut live, mut done, mut open_call) = (
            Author::new("LIVE"),
            Author::new("DONE"),
            Author::new("OPEN"),
        );
        live.now_ms += 5;
        let (settled, pending) = (call("DONE"), call("OPEN"));
        let batch = [
            live.write(vec![created("live")]),
            done.write(vec![
                created("done"),
                intended(&settled, &turtle, Some(1)),
                finished(&settled, Outcome::Unknown),
                completed("done"),
            ]),
            open_call.write(vec![
                created("open"),
                intended(&pending, &turtle, Some(2)),
                completed("ended while a call ran"),
            ]),
        ];
        store.writer.write(&batch).unwrap();
        assert_eq!(
            store.reads.unfinished_tasks().unwrap(),
            [task("OPEN"), task("LIVE")]
        );
        let counted = store.reads.open_tasks().unwrap();
        assert_eq!(counted, [(TaskStatus::Queued, 1)]);
        let open_calls = store.reads.open_calls().unwrap();
        assert_eq!(open_calls, [(pending.clone(), EffectClass::Effect)]);
        write_one(
            &mut store,
            open_call.write(vec![finished(&pending, Outcome::Done)]),
        )
        .unwrap();
        assert_eq!(store.reads.unfinished_tasks().unwrap(), [task("LIVE")]);
        assert_eq!(store.reads.open_calls().unwrap(), []);
    });
}

/// A task with episodes, and what its whole journal is; each ended at its number as a time.
pub(super) fn episodes(
    store: &mut OpenStore,
    count: u32,
) -> Vec<crate::domain::event::StoredEvent> {
    let mut author = Author::new("A");
    author.now_ms = 0;
    let first = author.write(vec![created_with("sort", hourly())]);
    write_one(store, first).unwrap();
    for episode in 1..=count {
        author.now_ms = i64::from(episode);
        let long = "words of a model that say the same again and again; ".repeat(40);
        let ended = ended(&author, episode);
        write_one(store, author.write(vec![noted(&long), noted("ü"), ended])).unwrap();
    }
    store.reads.load_task(&task("A")).unwrap().unwrap().events
}

pub(super) fn archive(
    store: &mut OpenStore,
    keep_episodes: u32,
    older_than_ms: i64,
    more_than_bytes: u64,
) {
    let rule = ArchiveRule {
        keep_episodes,
        older_than_ms,
        more_than_bytes,
    };
    let (task_id, now_ms) = (task("A"), 100);
    let entry = Write::Archive {
        task_id,
        rule,
        now_ms,
    };
    store.writer.write(&[entry]).unwrap();
}

pub(super) fn ended(author: &Author, episode: u32) -> TaskEvent {
    let carried = Carried {
        usage: author.state().usage,
        children_usage: Default::default(),
        forked: None,
        awake_ms: 5,
        failures: 0,
        past: vec![],
        calls: vec![],
        salt: None,
        sticky: None,
        ratios: Default::default(),
        no_native_tools: false,
        prompt_ceiling: None,
        seen: None,
    };
    let result = crate::domain::directive::TaskResult {
        success: true,
        message: "sorted".into(),
        details: serde_json::Value::Null,
    };
    TaskEvent::EpisodeEnded(Box::new(EpisodeEnded {
        episode,
        end: EpisodeEnd::Completed { result },
        carried,
    }))
}

pub(super) fn hourly() -> Wakes {
    Wakes {
        schedule: Some(Schedule::of(Some(3600), None, None, 0).unwrap()),
        ..Wakes::default()
    }
}

#[test]
fn contents_are_kept_once_and_found_by_hash() {
    on_each_store(|open| {
        let mut store = open();
        let hash = BlobHash::of("a fleet");
        let with_it = |name: &str| {
            let mut append = Author::new(name).append(vec![created("dig")]);
            append.blobs.push((hash.clone(), "a fleet".into()));
            append
        };
        // What is refused, or has no event, leaves nothing behind.
        let refused = Append {
            expected_seq: 7,
            ..with_it("A")
        };
        write_one(&mut store, Write::Append(Arc::new(refused))).unwrap_err();
        let empty = Append {
            events: Arc::default(),
            ..with_it("A")
        };
        write_one(&mut store, Write::Append(Arc::new(empty))).unwrap();
        assert_eq!(store.reads.blob(&hash).unwrap(), None);
        for name in ["A", "B"] {
            write_one(&mut store, Write::Append(Arc::new(with_it(name)))).unwrap();
        }
        assert_eq!(store.reads.blob(&hash).unwrap().as_deref(), Some("a fleet"));
        assert_eq!(store.reads.blob(&BlobHash::of("other")).unwrap(), None);
    });
}

#[test]
fn tokens_are_kept_with_their_use_and_revoking_one_ends_its_sessions() {
    on_each_store(|open| {
        let mut store = open();
        let computers = TokenRecord {
            bearer: Bearer::Computer {
                client_id: "mine-*".into(),
            },
            tools: None,
            ..token("tok_2")
        };
        let session = |id: &str, of: &str| TokenRecord {
            session_of: Some(of.into()),
            ..token(id)
        };
        let mut change = |tokens: Vec<TokenChange>| {
            let change = SystemChange {
                tokens,
                ..SystemChange::default()
            };
            write_one(&mut store, Write::System(change)).unwrap();
            store.reads.tokens().unwrap()
        };
        let made = |record: &TokenRecord| TokenChange::Made(Box::new(record.clone()));
        let token_id = || "tok_1".to_owned();
        let all = [
            session("ses_1", "tok_1"),
            session("ses_2", "tok_2"),
            token("tok_1"),
            computers.clone(),
        ];
        assert_eq!(change(all.iter().map(made).collect()), all);
        let used = |at_ms| TokenChange::Used {
            token_id: token_id(),
            at_ms,
        };
        let kept = change(vec![used(7_000), used(5_000)]);
        assert_eq!(kept[2].last_used_ms, Some(7_000));
        let revoked = |at_ms| TokenChange::Revoked {
            token_id: token_id(),
            at_ms,
        };
        let forgotten = |id: &str| TokenChange::Forgotten {
            token_id: id.into(),
        };
        // What is no session is not forgotten: people look up who had a token.
        let kept = change(vec![revoked(8_000), revoked(8_500), forgotten("tok_2")]);
        let left: Vec<_> = kept
            .iter()
            .map(|t| (&*t.token_id, t.revoked_at_ms))
            .collect();
        assert_eq!(
            left,
            [("ses_2", None), ("tok_1", Some(8_000)), ("tok_2", None)]
        );
        assert_eq!(change(vec![forgotten("ses_2")]).len(), 2);
        drop(store);
        assert_eq!(open().reads.tokens().unwrap().len(), 2);
    });
}
