//! What a store keeps of computers.

use super::*;
use std::sync::Arc;

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
        write_one(&mut store, Write::Append(Arc::new(first.clone()))).unwrap();
        assert_eq!(kept(), std::slice::from_ref(&activated));
        // A refused append leaves nothing behind.
        let refused = Append {
            tools: vec![record(ToolState::Retired, "v1", Some(6))],
            ..first
        };
        write_one(&mut store, Write::Append(Arc::new(refused))).unwrap_err();
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
            write_one(&mut store, Write::Append(Arc::new(append))).unwrap();
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
