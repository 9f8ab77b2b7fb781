//! What every store must do. A new store joins by its name in `each_store!`.

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

fn write_one(store: &mut OpenStore, entry: Write) -> Written {
    let mut answers = store.writer.write(&[entry]).unwrap();
    assert_eq!(answers.len(), 1);
    answers.remove(0)
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
        stale.summary.message = Some("must not show".into());
        assert_eq!(
            write_one(&mut store, Write::Append(Box::new(stale))),
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
            Write::Append(Box::new(bad)),
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
            append.summary.owner = owner.into();
            append.idempotency_key = Some("order-66".into());
            Write::Append(Box::new(append))
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

#[test]
fn who_sleeps_is_listed_with_what_wakes_it_and_is_not_unfinished() {
    on_each_store(|open| {
        let mut store = open();
        let turtle = client("turtle-1");
        let slept = || {
            TaskEvent::FellAsleep(Sleep {
                episodes: 1,
                wake_at_ms: Some(5_000),
            })
        };
        let (mut sleeper, mut busy) = (Author::new("SLEEPER"), Author::new("BUSY"));
        let pending = call("BUSY");
        let batch = [
            sleeper.write(vec![created_with("sort", hourly()), slept()]),
            busy.write(vec![
                created_with("sort", hourly()),
                intended(&pending, &turtle, Some(1)),
                slept(),
            ]),
        ];
        store.writer.write(&batch).unwrap();
        let sleeping = store.reads.sleeping_tasks().unwrap();
        let asleep = Asleep {
            from_ms: sleeper.now_ms,
            wake_at_ms: Some(5_000),
            wakes: hourly(),
        };
        assert!(sleeping.contains(&(task("SLEEPER"), asleep)));
        let asleep = TaskStatus::Sleeping;
        assert_eq!(
            store
                .reads
                .open_tasks()
                .unwrap()
                .iter()
                .map(|(s, n)| if *s == asleep { *n } else { 0 })
                .sum::<u64>(),
            2
        );
        // A call without outcome is waited for.
        assert_eq!(store.reads.unfinished_tasks().unwrap(), [task("BUSY")]);
        let woken = TaskEvent::EpisodeStarted {
            episode: 2,
            wakes: vec![],
        };
        write_one(&mut store, sleeper.write(vec![woken])).unwrap();
        write_one(&mut store, busy.write(vec![completed("over")])).unwrap();
        assert_eq!(store.reads.sleeping_tasks().unwrap(), []);
        assert_eq!(
            store.reads.unfinished_tasks().unwrap(),
            [task("BUSY"), task("SLEEPER")]
        );
    });
}

#[test]
fn a_task_goes_on_from_the_end_of_its_last_episode_and_everything_is_there_to_be_looked_at() {
    on_each_store(|open| {
        let mut store = open();
        let mut author = Author::new("A");
        let slept = |episodes| {
            TaskEvent::FellAsleep(Sleep {
                episodes,
                wake_at_ms: Some(5_000),
            })
        };
        write_one(
            &mut store,
            author.write(vec![created_with("sort", hourly()), noted("1")]),
        )
        .unwrap();
        let whole = store.reads.load_task(&task("A")).unwrap();
        assert_eq!(store.reads.load_last_episode(&task("A")).unwrap(), whole);
        for episode in 1..=3 {
            let events = vec![noted("2"), ended(&author, episode), slept(episode)];
            write_one(&mut store, author.write(events)).unwrap();
            let events = vec![
                TaskEvent::EpisodeStarted {
                    episode: episode + 1,
                    wakes: vec![],
                },
                noted("3"),
            ];
            write_one(&mut store, author.write(events)).unwrap();
        }
        let seqs = |journalled: Option<Journalled>| -> Vec<u64> {
            let events = journalled.unwrap().events;
            events.iter().map(|stored| stored.seq).collect()
        };
        let last = store.reads.load_last_episode(&task("A")).unwrap();
        let mut state = crate::domain::task::TaskState::new(task("A"));
        state.apply_all(&last.as_ref().unwrap().events);
        assert_eq!(&state, author.state());
        assert_eq!(seqs(last), [1, 14, 15, 16, 17]);
        let whole = store.reads.load_task(&task("A")).unwrap();
        assert_eq!(seqs(whole), (1..=17).collect::<Vec<u64>>());
        assert_eq!(store.reads.load_last_episode(&task("B")).unwrap(), None);
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

#[test]
fn archived_episodes_are_read_as_before_in_whole_and_in_pages() {
    on_each_store(|open| {
        let mut store = open();
        let whole = episodes(&mut store, 30);
        let last = store.reads.load_last_episode(&task("A")).unwrap();
        // Twice: what was archived once is not touched again.
        archive(&mut store, 5, 85, u64::MAX);
        archive(&mut store, 3, 80, u64::MAX);
        assert_eq!(
            store.reads.load_task(&task("A")).unwrap().unwrap().events,
            whole
        );
        assert_eq!(store.reads.load_last_episode(&task("A")).unwrap(), last);
        let mut paged = Vec::new();
        loop {
            let after = paged
                .last()
                .map_or(0, |e: &crate::domain::event::StoredEvent| e.seq);
            let page = store.reads.events(&task("A"), after, 7).unwrap().unwrap();
            paged.extend(page.events);
            if !page.more {
                break;
            }
        }
        assert_eq!(paged, whole);
        // It goes on, and more is archived.
        let mut author = Author::new("A");
        for stored in &whole {
            author.take(stored);
        }
        write_one(&mut store, author.write(vec![noted("more")])).unwrap();
        archive(&mut store, 1, 1_000_000, 0);
        let events = store.reads.load_task(&task("A")).unwrap().unwrap().events;
        assert_eq!(
            (events.len(), &events[..whole.len()]),
            (whole.len() + 1, &whole[..])
        );
    });
}

#[test]
fn a_task_without_older_episodes_and_one_that_is_not_there_stay_as_they_are() {
    on_each_store(|open| {
        let mut store = open();
        archive(&mut store, 1, 0, 0);
        let whole = episodes(&mut store, 2);
        archive(&mut store, 2, 1_000, 0);
        archive(&mut store, 9, 0, 0);
        assert_eq!(
            store.reads.load_task(&task("A")).unwrap().unwrap().events,
            whole
        );
    });
}

fn ended(author: &Author, episode: u32) -> TaskEvent {
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

fn hourly() -> Wakes {
    Wakes {
        schedule: Some(Schedule::of(Some(3600), None, None, 0).unwrap()),
        ..Wakes::default()
    }
}

#[test]
fn a_lane_remembers_the_highest_number_granted_and_the_highest_with_a_result() {
    on_each_store(|open| {
        let mut store = open();
        let turtle = client("turtle-1");
        assert_eq!(store.reads.lane(&turtle).unwrap(), Lane::default());
        let mut author = Author::new("A");
        let calls: Vec<_> = (0..4)
            .map(|i| crate::domain::ids::CallId::derive(&task("A"), Generation(1), 9, i))
            .collect();
        let mut events = vec![created("dig")];
        events.extend(
            (1..)
                .zip(&calls[..3])
                .map(|(seq, id)| intended(id, &turtle, Some(seq))),
        );
        events.push(intended(&calls[3], &turtle, None));
        write_one(&mut store, author.write(events)).unwrap();
        assert_eq!(
            store.reads.lane(&turtle).unwrap(),
            Lane {
                high_seq: 3,
                stored_seq: 0
            }
        );

        let outcomes = vec![
            finished(&calls[0], Outcome::Failed),
            finished(&calls[1], Outcome::Unknown),
            finished(&calls[2], Outcome::NotStarted),
            finished(&calls[3], Outcome::Done),
        ];
        write_one(&mut store, author.write(outcomes)).unwrap();
        assert_eq!(
            store.reads.lane(&turtle).unwrap(),
            Lane {
                high_seq: 3,
                stored_seq: 1
            }
        );

        let known = |store: &OpenStore| -> Vec<bool> {
            let ids = calls.iter();
            ids.map(|id| store.reads.has_result(id).unwrap()).collect()
        };
        assert_eq!(known(&store), [true, false, false, true]);

        // An unknown outcome that turns out later counts then.
        write_one(
            &mut store,
            author.write(vec![finished(&calls[1], Outcome::Done)]),
        )
        .unwrap();
        assert_eq!(
            store.reads.lane(&turtle).unwrap(),
            Lane {
                high_seq: 3,
                stored_seq: 2
            }
        );
        assert_eq!(known(&store), [true, true, false, true]);
    });
}

#[test]
fn a_saved_computer_replaces_what_was_known_of_it_and_comes_with_its_lane() {
    on_each_store(|open| {
        let mut store = open();
        write_one(&mut store, Write::SaveComputer(computer("b"))).unwrap();
        write_one(&mut store, Write::SaveComputer(computer("a"))).unwrap();
        let renewed = ComputerRecord {
            boot_id: None,
            last_seen_ms: 2000,
            ..computer("b")
        };
        write_one(&mut store, Write::SaveComputer(renewed.clone())).unwrap();
        let mut author = Author::new("A");
        let events = vec![created("dig"), intended(&call("A"), &client("b"), Some(9))];
        write_one(&mut store, author.write(events)).unwrap();
        assert_eq!(
            open().reads.computers().unwrap(),
            [
                KnownComputer {
                    record: computer("a"),
                    lane: Lane::default(),
                    tools: vec![],
                },
                KnownComputer {
                    record: renewed,
                    lane: Lane {
                        high_seq: 9,
                        stored_seq: 0
                    },
                    tools: vec![],
                },
            ]
        );
    });
}

#[test]
fn what_a_call_told_of_tools_is_written_with_its_end_or_not_at_all() {
    on_each_store(|open| {
        let mut store = open();
        write_one(&mut store, Write::SaveComputer(computer("a"))).unwrap();
        let record = |state, version: &str, seq| ToolRecord {
            client_id: client("a"),
            name: "dig".into(),
            state,
            tool_version: Some(version.into()),
            seq,
        };
        let mut author = Author::new("A");
        let mut told = |record: &ToolRecord| Append {
            tools: vec![record.clone()],
            ..author.append(vec![created("dig"), finished(&call("A"), Outcome::Done)])
        };
        let kept = || open().reads.computers().unwrap().remove(0).tools;
        let activated = record(ToolState::Active, "v1", Some(5));
        let first = told(&activated);
        write_one(&mut store, Write::Append(Box::new(first.clone()))).unwrap();
        assert_eq!(kept(), std::slice::from_ref(&activated));
        // A refused append leaves nothing behind.
        let refused = Append {
            tools: vec![record(ToolState::Retired, "v1", Some(6))],
            ..first
        };
        write_one(&mut store, Write::Append(Box::new(refused))).unwrap_err();
        assert_eq!(kept(), std::slice::from_ref(&activated));
        // An older call whose end came late does not undo a newer one.
        for (late, wanted) in [
            (record(ToolState::Retired, "v1", Some(4)), activated.clone()),
            // What was activated stays so when it is written once more.
            (record(ToolState::Draft, "v1", None), activated.clone()),
            (
                record(ToolState::Draft, "v2", Some(7)),
                record(ToolState::Draft, "v2", Some(7)),
            ),
        ] {
            let append = told(&late);
            write_one(&mut store, Write::Append(Box::new(append))).unwrap();
            assert_eq!(kept(), [wanted]);
        }
    });
}

#[test]
fn the_end_of_a_task_is_kept_for_its_computer_until_it_was_told() {
    on_each_store(|open| {
        let mut store = open();
        let turtle = client("turtle-1");
        let mut author = Author::new("A");
        write_one(&mut store, author.write(vec![created("dig")])).unwrap();
        let told_ids = |store: &OpenStore| -> Vec<TaskId> {
            let due = store.reads.undelivered_notices(&turtle, 10).unwrap();
            due.into_iter().map(|task| task.task_id).collect()
        };
        assert!(told_ids(&store).is_empty());
        // Marking it before the end means nothing.
        write_one(&mut store, Write::NoticeDelivered(task("A"))).unwrap();
        write_one(&mut store, author.write(vec![completed("dug")])).unwrap();
        assert_eq!(told_ids(&store), [task("A")]);
        assert!(
            store
                .reads
                .undelivered_notices(&client("other"), 10)
                .unwrap()
                .is_empty()
        );
        write_one(&mut store, Write::NoticeDelivered(task("A"))).unwrap();
        assert!(told_ids(&store).is_empty());
        // A late outcome of a call does not tell the end a second time.
        write_one(
            &mut store,
            author.write(vec![finished(&call("A"), Outcome::Done)]),
        )
        .unwrap();
        assert!(told_ids(&store).is_empty());
    });
}

#[test]
fn a_list_is_filtered_and_its_pages_meet_without_gap_or_overlap() {
    on_each_store(|open| {
        let mut store = open();
        for (index, name) in ["A", "B", "C", "D", "E"].into_iter().enumerate() {
            let mut author = Author::new(name);
            // Two of a kind share a moment: the id decides.
            author.now_ms += i64::try_from(index / 2).unwrap();
            let mut append = author.append(vec![created(name)]);
            if name == "C" {
                append.summary.status = TaskStatus::Failed;
                append.summary.kind = "mining".into();
                append.summary.client_id = Some(client("x"));
                append.summary.owner = "bob".into();
            }
            write_one(&mut store, Write::Append(Box::new(append))).unwrap();
        }
        let names = |page: &TaskPage| -> Vec<String> {
            page.tasks.iter().map(|task| task.prompt.clone()).collect()
        };
        let mut seen = Vec::new();
        let mut query = TaskQuery {
            limit: 2,
            ..TaskQuery::default()
        };
        loop {
            let page = store.reads.tasks(&query).unwrap();
            seen.extend(names(&page));
            let Some(next) = page.next else { break };
            query.before = Some(next.to_string().parse().unwrap());
        }
        assert_eq!(seen, ["E", "D", "C", "B", "A"]);
        let all = TaskQuery {
            limit: 10,
            ..TaskQuery::default()
        };
        for only_c in [
            TaskQuery {
                status: Some(TaskStatus::Failed),
                ..all.clone()
            },
            TaskQuery {
                kind: Some("mining".into()),
                ..all.clone()
            },
            TaskQuery {
                client_id: Some(client("x")),
                ..all.clone()
            },
            TaskQuery {
                owner: Some("bob".into()),
                ..all.clone()
            },
        ] {
            assert_eq!(names(&store.reads.tasks(&only_c).unwrap()), ["C"]);
        }
    });
}

#[test]
fn events_come_in_pages_and_an_unknown_task_is_told_apart_from_an_empty_page() {
    on_each_store(|open| {
        let mut store = open();
        let mut author = Author::new("A");
        let events = vec![created("dig"), noted("2"), noted("3")];
        write_one(&mut store, author.write(events)).unwrap();
        let page = |after, limit| {
            store
                .reads
                .events(&task("A"), after, limit)
                .unwrap()
                .unwrap()
        };
        let seqs = |page: &EventPage| page.events.iter().map(|e| e.seq).collect::<Vec<_>>();
        assert_eq!((seqs(&page(0, 2)), page(0, 2).more), (vec![1, 2], true));
        assert_eq!((seqs(&page(2, 2)), page(2, 2).more), (vec![3], false));
        assert_eq!((seqs(&page(u64::MAX, 2)), page(3, 2).more), (vec![], false));
        assert_eq!(store.reads.events(&task("B"), 0, 2).unwrap(), None);
    });
}

#[test]
fn contents_are_kept_once_and_found_by_hash() {
    on_each_store(|open| {
        let mut store = open();
        let hash = BlobHash::of("a fleet");
        for name in ["A", "B"] {
            let mut append = Author::new(name).append(vec![created("dig")]);
            append.blobs.push((hash.clone(), "a fleet".into()));
            write_one(&mut store, Write::Append(Box::new(append))).unwrap();
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

#[test]
fn a_text_that_no_list_gave_out_is_no_cursor() {
    for text in ["", ".", "zz.tsk_A", "1f.cal_A", "1f", "1f.tsk_"] {
        assert_eq!(text.parse::<Cursor>(), Err(BadCursor), "{text}");
    }
}

fn any_event() -> impl Strategy<Value = TaskEvent> {
    let text = "\\PC{0,40}";
    let json = prop_oneof![
        Just(serde_json::Value::Null),
        any::<i64>().prop_map(Into::into),
        any::<bool>().prop_map(Into::into),
        text.prop_map(Into::into),
        proptest::collection::vec(text, 0..4).prop_map(Into::into),
        proptest::collection::btree_map(text, text, 0..4).prop_map(|m| serde_json::json!(m)),
    ];
    prop_oneof![
        text.prop_map(|prompt| created(&prompt)),
        (text, text).prop_map(|(code, message)| TaskEvent::Noted { code, message }),
        (any::<u32>(), text).prop_map(|(generation, reason)| TaskEvent::GenerationStarted {
            up_ms: Some(1),
            salt: None,
            generation: Generation(generation.into()),
            reason,
        }),
        (text, text, json).prop_map(|(code, error, details)| TaskEvent::TaskFailed {
            code,
            error,
            details,
        }),
        (text, text).prop_map(|(reason, by)| TaskEvent::TaskCancelled { reason, by }),
        (0u64..9).prop_map(|seq| intended(&call("A"), &client("turtle-1"), Some(seq))),
        Just(finished(&call("A"), Outcome::Done)),
        text.prop_map(|message| completed(&message)),
    ]
}

proptest! {
    // Each case syncs a file to disk several times.
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_events_in_any_batches_read_back_as_they_were_answered(
        batches in proptest::collection::vec(proptest::collection::vec(any_event(), 0..5), 1..6)
    ) {
        on_each_store(|open| {
            let mut store = open();
            let mut author = Author::new("A");
            let mut expected = write_one(&mut store, author.write(vec![created("first")])).unwrap();
            for events in &batches {
                expected.extend(write_one(&mut store, author.write(events.clone())).unwrap());
            }
            drop(store);
            assert_eq!(load(&open(), &task("A")).events, expected);
        });
    }
}

/// Everything behind a place, page by page; none at a reset.
fn follow(store: &OpenStore, mut place: Place, limit: usize) -> Option<Vec<CommittedEvent>> {
    let mut events = Vec::new();
    loop {
        let page = store.reads.committed_after(place, limit, &|_| true);
        let page = page.unwrap()?;
        events.extend(page.events);
        place = page.upto;
        if !page.more {
            assert_eq!(place, store.reads.head().unwrap());
            return Some(events);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn from_any_place_what_was_committed_behind_it_follows_whole_and_in_order(
        appends in prop::collection::vec((0..3usize, 1..5usize), 1..20),
        cut in 0..60usize,
        limit in 1..6usize,
    ) {
        on_each_store(|open| {
            let mut store = open();
            let begin = store.reads.head().unwrap();
            let mut authors = ["A", "B", "C"].map(Author::new);
            let mut written = Vec::new();
            for (who, count) in &appends {
                let author = &mut authors[*who];
                let is_new = author.state().last_seq == 0;
                let mut events = vec![if is_new { created("dig") } else { noted("more") }];
                events.extend((1..*count).map(|_| noted("and more")));
                let before = store.writer.position();
                written.extend(write_one(&mut store, author.write(events)).unwrap());
                assert_eq!(store.writer.position(), before + *count as u64);
            }
            drop(store);
            let store = open();
            let all = follow(&store, begin, limit).unwrap();
            let told: Vec<_> = all.iter().map(|told| told.event.clone()).collect();
            assert_eq!(told, written);
            let cut = cut.min(all.len());
            let place = cut.checked_sub(1).map_or(begin, |last| all[last].place);
            assert_eq!(place.pos, cut as u64);
            assert_eq!(follow(&store, place, limit).unwrap(), all[cut..]);
            // The same position with another mark is another journal's.
            let other = Place { mark: place.mark ^ 6, ..place };
            assert_eq!(follow(&store, other, limit), None);
        });
    }
}

#[test]
fn a_refused_append_takes_no_place_and_what_is_not_wanted_is_passed_by() {
    on_each_store(|open| {
        let mut store = open();
        let (mut a, mut b) = (Author::new("A"), Author::new("B"));
        write_one(&mut store, a.write(vec![created("dig")])).unwrap();
        let mut stale = a.append(vec![noted("late")]);
        stale.expected_seq = 0;
        assert!(write_one(&mut store, Write::Append(Box::new(stale))).is_err());
        write_one(&mut store, b.write(vec![created("dig"), noted("x")])).unwrap();
        let begin = Place { pos: 0, mark: 0 };
        assert_eq!(follow(&store, begin, 1).unwrap().len(), 3);
        let of_a = |task: &TaskSummary| task.task_id == a.task_id();
        let page = store
            .reads
            .committed_after(begin, 10, &of_a)
            .unwrap()
            .unwrap();
        assert_eq!((page.events.len(), page.upto.pos, page.more), (1, 3, false));
    });
}

#[test]
fn what_is_archived_is_told_to_followers_as_before() {
    on_each_store(|open| {
        let mut store = open();
        let whole = episodes(&mut store, 9);
        archive(&mut store, 2, 0, 0);
        let begin = Place { pos: 0, mark: 0 };
        let told = follow(&store, begin, 4).unwrap();
        let told: Vec<_> = told.into_iter().map(|told| told.event).collect();
        assert_eq!(told, whole);
    });
}
