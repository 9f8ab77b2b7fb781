//! Going on from a checkpoint is going on from the events, whatever befell it.

use super::super::super::contract::{ended, hourly};
use super::super::super::fixtures::*;
use super::super::super::{OpenStore, Write};
use super::super::tests::tamper;
use super::super::transfer::check;
use super::super::{FILE_NAME, open};
use super::*;
use crate::domain::call::Outcome;
use crate::domain::event::TaskEvent;
use crate::domain::ids::CallId;
use crate::strategy::tests::any_event;
use proptest::prelude::*;

fn write(store: &mut OpenStore, entry: Write) {
    store.writer.write(&[entry]).unwrap()[0].as_ref().unwrap();
}

fn keep(store: &mut OpenStore, state: &TaskState) {
    let checkpoint = Box::new(Checkpoint::of(state).unwrap());
    write(store, Write::Checkpoint(checkpoint));
}

fn kept(folder: &Path) -> i64 {
    let connection = Connection::open(folder.join(FILE_NAME)).unwrap();
    let count = "SELECT count(*) FROM checkpoints";
    connection.query_row(count, [], |row| row.get(0)).unwrap()
}

fn standing(store: &OpenStore, name: &str) -> TaskState {
    *store.reads.standing(&task(name)).unwrap().unwrap().state
}

/// What the events alone come to.
fn folded(store: &OpenStore, name: &str) -> TaskState {
    let journalled = store.reads.load_task(&task(name)).unwrap().unwrap();
    let mut state = TaskState::new(task(name));
    state.apply_all(&journalled.events);
    state
}

fn problems(folder: &Path) -> Vec<String> {
    let (_, problems) = check(folder).unwrap();
    problems.into_iter().map(|problem| problem.what).collect()
}

/// A task with a call and eight events, and its checkpoint after the fifth.
fn journal() -> (tempfile::TempDir, OpenStore, Author) {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(folder.path()).unwrap();
    let mut author = Author::new("A");
    let call = CallId::derive(&author.task_id(), author.generation, 2, 0);
    let decided = decided(&[(call.clone(), "base")]);
    write(&mut store, author.write(vec![created("dig"), decided]));
    let intended = intended(&call, &client("base"), Some(1));
    write(&mut store, author.write(vec![intended, noted("one")]));
    write(
        &mut store,
        author.write(vec![finished(&call, Outcome::Done)]),
    );
    keep(&mut store, author.state());
    let rest = ["two", "three", "four"].map(noted);
    write(&mut store, author.write(rest.to_vec()));
    (folder, store, author)
}

#[test]
fn a_task_goes_on_from_its_checkpoint_and_what_came_since() {
    let (folder, store, author) = journal();
    assert_eq!(&standing(&store, "A"), author.state());
    assert_eq!(standing(&store, "A"), folded(&store, "A"));
    let (counts, problems) = check(folder.path()).unwrap();
    assert_eq!((counts.checkpoints.all, problems), (1, vec![]));
    // Proof that it was gone on from: nothing before it is read. Who looks through the journal is told what is wrong there.
    tamper(
        folder.path(),
        "UPDATE events SET data = replace(data, 'one', 'won') WHERE seq = 4",
    );
    assert_eq!(&standing(&store, "A"), author.state());
    assert!(store.reads.load_task(&task("A")).is_err());
    assert!(self::problems(folder.path())[0].starts_with("event 4 is damaged"));
}

#[test]
fn what_came_after_a_checkpoint_and_is_damaged_keeps_the_task_from_running() {
    let (folder, store, _) = journal();
    tamper(
        folder.path(),
        "UPDATE events SET data = replace(data, 'two', 'won') WHERE seq = 6",
    );
    let error = store.reads.standing(&task("A")).unwrap_err();
    assert_eq!(error.code(), "journal_task_damaged");
}

#[test]
fn whatever_is_wrong_with_a_checkpoint_the_task_is_folded_from_its_events() {
    for (change, told) in [
        (
            "UPDATE checkpoints SET data = zeroblob(octet_length(data))",
            "is damaged: it is not what was written",
        ),
        (
            "UPDATE checkpoints SET seq = 4, mark = (SELECT checksum FROM events WHERE seq = 4)",
            "is damaged: it is not what was written",
        ),
        (
            "UPDATE checkpoints SET seq = 9",
            "is damaged: event 9 is not the one",
        ),
        (
            "UPDATE checkpoints SET mark = mark + 1",
            "is damaged: event 5 is not the one",
        ),
        (
            "UPDATE checkpoints SET bytes = bytes - 1",
            "is damaged: it is not what was written",
        ),
    ] {
        let (folder, store, author) = journal();
        tamper(folder.path(), change);
        assert_eq!(&standing(&store, "A"), author.state(), "{change}");
        let problems = problems(folder.path());
        assert_eq!(problems.len(), 1, "{change}: {problems:?}");
        assert!(problems[0].contains(told), "{change}: {problems:?}");
        assert!(problems[0].contains("drop-checkpoints"), "{problems:?}");
    }
}

#[test]
fn a_checkpoint_that_is_whole_and_wrong_is_told_by_a_look_through_the_journal() {
    let (folder, mut store, author) = journal();
    let mut other = author.state().clone();
    other.bounces += 1;
    keep(&mut store, &other);
    let problems = problems(folder.path());
    assert!(
        problems[0].contains("is not what its events up to 8 come to"),
        "{problems:?}"
    );
    drop(store);
    assert_eq!(drop_all(folder.path()).unwrap(), 1);
    assert_eq!(check(folder.path()).unwrap().1, []);
    let store = open(folder.path()).unwrap();
    assert_eq!(&standing(&store, "A"), author.state());
}

#[test]
fn the_checkpoint_of_another_version_is_no_fault_and_is_not_used() {
    let (folder, mut store, author) = journal();
    let mut state = author.state().clone();
    state.bounces += 1;
    let mut foreign = Checkpoint::of(&state).unwrap();
    foreign.version = "0.0.9/0123456789abcdef".into();
    foreign.checksum = foreign.sum();
    write(&mut store, Write::Checkpoint(Box::new(foreign)));
    assert_eq!(&standing(&store, "A"), author.state());
    let (counts, problems) = check(folder.path()).unwrap();
    let found = Found {
        all: 1,
        of_others: 1,
    };
    assert_eq!((counts.checkpoints, problems), (found, vec![]));
}

#[test]
fn nothing_is_kept_of_a_task_that_has_ended_or_whose_episode_has() {
    let (folder, mut store, mut author) = journal();
    write(&mut store, author.write(vec![completed("dug")]));
    assert_eq!(kept(folder.path()), 0);
    // One that was being made meanwhile comes too late.
    keep(&mut store, author.state());
    assert_eq!(kept(folder.path()), 0);

    let mut long = Author::new("LONG");
    let begun = created_with("sort", hourly());
    write(&mut store, long.write(vec![begun, noted("1"), noted("2")]));
    let early = long.state().clone();
    keep(&mut store, &early);
    assert_eq!(kept(folder.path()), 1);
    let end = ended(&long, 1);
    write(&mut store, long.write(vec![end]));
    assert_eq!(kept(folder.path()), 0);
    keep(&mut store, &early);
    assert_eq!(kept(folder.path()), 0);
    write(&mut store, long.write(vec![noted("3")]));
    keep(&mut store, long.state());
    assert_eq!(kept(folder.path()), 1);
    assert_eq!(standing(&store, "LONG"), folded(&store, "LONG"));
    assert_eq!(check(folder.path()).unwrap().1, []);
}

#[test]
fn a_journal_of_an_earlier_schema_keeps_checkpoints_of_its_tasks_too() {
    let (folder, store, author) = journal();
    drop(store);
    // As version 6 left it, with events of before there were checksums.
    tamper(
        folder.path(),
        "DROP TABLE checkpoints; DROP INDEX tasks_by_age; CREATE INDEX tasks_newest ON tasks (created_at_ms);
         PRAGMA user_version = 6; UPDATE events SET checksum = NULL",
    );
    let mut store = open(folder.path()).unwrap();
    assert_eq!(kept(folder.path()), 0);
    assert_eq!(&standing(&store, "A"), author.state());
    keep(&mut store, author.state());
    assert_eq!(check(folder.path()).unwrap().0.checkpoints.all, 1);
    assert_eq!(&standing(&store, "A"), author.state());
}

#[test]
fn checkpoints_are_not_written_out_and_a_journal_that_was_read_back_folds_its_events() {
    let (folder, store, author) = journal();
    drop(store);
    let mut lines = Vec::new();
    super::super::transfer::export(folder.path(), &mut lines).unwrap();
    let other = tempfile::tempdir().unwrap();
    super::super::transfer::import(other.path(), &mut lines.as_slice()).unwrap();
    assert_eq!(kept(other.path()), 0);
    let store = open(other.path()).unwrap();
    assert_eq!(&standing(&store, "A"), author.state());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// A course of events is cut anywhere, again and again: each time a checkpoint is made of what the store says, as the journal does.
    #[test]
    fn whatever_happens_and_wherever_it_is_cut_a_checkpoint_and_the_rest_are_the_whole_fold(
        pieces in prop::collection::vec(prop::collection::vec(any_event(), 0..6), 1..8),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut store = open(folder.path()).unwrap();
        let mut author = Author::new("A");
        write(&mut store, author.write(vec![created("dig")]));
        for piece in pieces {
            author.now_ms += 10;
            let ends = |event: &TaskEvent| matches!(event,
                TaskEvent::DirectCallEnded(_) | TaskEvent::TaskCompleted { .. } | TaskEvent::TaskFailed { .. } | TaskEvent::TaskCancelled { .. });
            let piece = piece.into_iter().filter(|event| !ends(event)).collect();
            write(&mut store, author.write(piece));
            let stands = standing(&store, "A");
            prop_assert_eq!(&stands, &folded(&store, "A"));
            keep(&mut store, &stands);
            prop_assert_eq!(kept(folder.path()), 1);
            prop_assert_eq!(&standing(&store, "A"), author.state());
        }
        let (counts, problems) = check(folder.path()).unwrap();
        prop_assert_eq!((counts.checkpoints.all, problems), (1, vec![]));
    }
}
