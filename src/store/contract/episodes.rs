//! Episodes, their archive, and tasks that sleep.

use super::*;

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
