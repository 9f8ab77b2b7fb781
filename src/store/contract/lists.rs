//! Lists and their pages, and the order of commits.

use super::*;
use std::sync::Arc;

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
                Arc::make_mut(&mut append.summary).status = TaskStatus::Failed;
                Arc::make_mut(&mut append.summary).kind = "mining".into();
                Arc::make_mut(&mut append.summary).client_id = Some(client("x"));
                Arc::make_mut(&mut append.summary).owner = "bob".into();
            }
            write_one(&mut store, Write::Append(Arc::new(append))).unwrap();
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
        assert!(write_one(&mut store, Write::Append(Arc::new(stale))).is_err());
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

#[test]
fn a_task_that_one_event_tells_all_of_is_listed_as_it_ended_and_as_it_turned_out_later() {
    on_each_store(|open| {
        let mut store = open();
        let mut author = Author::new("A");
        let listed = |author: &Author, store: &mut OpenStore| {
            let expected = author.summary();
            let alone = std::slice::from_ref(&expected);
            let turtle = TaskQuery {
                client_id: Some(client("turtle-1")),
                limit: 10,
                ..TaskQuery::default()
            };
            assert_eq!(store.reads.tasks(&turtle).unwrap().tasks, alone);
            let to_tell = store.reads.undelivered_notices(&client("turtle-1"), 10);
            assert_eq!(to_tell.unwrap(), alone);
            let told = store
                .reads
                .committed_after(Place { pos: 0, mark: 0 }, 10, &|task| *task == expected);
            assert!(!told.unwrap().unwrap().events.is_empty());
            assert_eq!(store.reads.task(&author.task_id()).unwrap(), Some(expected));
        };
        write_one(
            &mut store,
            author.write(vec![direct_call("A", Outcome::Unknown)]),
        )
        .unwrap();
        listed(&author, &mut store);
        assert_eq!(author.summary().message.as_deref(), Some("dig is unknown"));
        let late = finished(&call("A"), Outcome::Done);
        write_one(&mut store, author.write(vec![late])).unwrap();
        listed(&author, &mut store);
    });
}
