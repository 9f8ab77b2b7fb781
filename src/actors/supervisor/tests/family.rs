//! Forks, parents and children.

use super::*;
use crate::domain::fork;

/// Answers the open consult of a task in its present generation.
async fn say(bench: &mut Bench, text: &str) -> ConsultModel {
    let consult = bench.next_consult().await;
    answer(&consult, consult.generation, text);
    consult
}

fn fork_of(task_id: &TaskId, at: u32) -> ForkTask {
    ForkTask {
        task_id: task_id.clone(),
        at,
        model: None,
        owner: "local".into(),
        confined_to: None,
        idempotency_key: None,
    }
}

fn prompt_of(consult: &ConsultModel) -> String {
    consult.prompt.iter().map(|m| m.content.as_str()).collect()
}

#[actix::test]
async fn a_fork_goes_on_with_another_model_and_the_task_itself_stays_as_it_is() {
    let mut bench = bench(steady);
    let task = bench.start(false).await;
    say(&mut bench, "I would rather chat.").await;
    // Step 1 was sent back; in step 2 its model thinks.
    let second = bench.next_consult().await;
    let request = ForkTask {
        model: Some("other".into()),
        idempotency_key: Some("once".into()),
        ..fork_of(&task, 1)
    };
    let forked = bench
        .supervisor
        .send(request.clone())
        .await
        .unwrap()
        .unwrap();
    assert!(forked.created);
    let from = forked.summary.forked_from.clone().unwrap();
    assert_eq!((from.task_id, from.step), (task.clone(), 1));
    let new = forked.summary.task_id.clone();
    let consult = bench.next_consult().await;
    assert_eq!(
        (&consult.task_id, consult.generation),
        (&new, Generation(1))
    );
    assert_eq!(consult.choice.model.as_deref(), Some("other"));
    let prompt = prompt_of(&consult);
    assert!(prompt.contains("I would rather chat."), "{prompt}");
    assert!(prompt.contains("The world may differ"), "{prompt}");
    let again = bench.supervisor.send(request).await.unwrap().unwrap();
    assert_eq!((again.created, again.summary.task_id), (false, new.clone()));
    answer(&consult, consult.generation, DONE);
    bench.until_status(&new, TaskStatus::Completed).await;
    answer(&second, second.generation, DONE);
    bench.until_status(&task, TaskStatus::Completed).await;
    assert!(fork::of(&bench.events(&task).await).is_none());
    // A task that has ended can be forked as well as one that lives.
    let late = bench.supervisor.send(fork_of(&task, 1)).await.unwrap();
    assert!(late.is_ok(), "{late:?}");
}

#[actix::test]
async fn a_fork_goes_on_after_a_restart_of_the_server() {
    let mut first = bench(steady);
    let task = first.start(false).await;
    say(&mut first, "I would rather chat.").await;
    first.next_consult().await;
    let forked = first.supervisor.send(fork_of(&task, 1)).await.unwrap();
    let new = forked.unwrap().summary.task_id;
    first.next_consult().await;
    let mut second = restarted(first).await;
    for _ in 0..2 {
        say(&mut second, DONE).await;
    }
    second.until_status(&new, TaskStatus::Completed).await;
    let mut state = TaskState::new(new.clone());
    state.apply_all(&second.events(&new).await);
    assert_eq!(state.steps.len(), 2);
    assert_eq!(state.generation, Generation(2));
}

#[actix::test]
async fn what_cannot_be_forked_is_told_with_what_can() {
    let mut bench = bench(steady);
    let task = bench.start(false).await;
    let refused = |at| bench.supervisor.send(fork_of(&task, at));
    let none = ForkError::NoPlace {
        step: 1,
        places: vec![],
    };
    assert_eq!(refused(1).await.unwrap().unwrap_err(), none);
    say(&mut bench, "I would rather chat.").await;
    bench.next_consult().await;
    let beyond = bench.supervisor.send(fork_of(&task, 7)).await.unwrap();
    let told = beyond.unwrap_err();
    assert!(told.to_string().contains("those that can are 1"), "{told}");
    let nobody = TaskId::from_unique("NOBODY").unwrap();
    let unknown = bench.supervisor.send(fork_of(&nobody, 1)).await.unwrap();
    assert_eq!(unknown.unwrap_err(), ForkError::NoSuchTask(nobody));
    let model = ForkTask {
        model: Some(" ".into()),
        ..fork_of(&task, 1)
    };
    let unnamed = bench.supervisor.send(model).await.unwrap();
    assert_eq!(unnamed.unwrap_err(), ForkError::BadModel);
}

/// The same house after its server was stopped and started again.
async fn restarted(first: Bench) -> Bench {
    first.supervisor.send(Shutdown).await.unwrap();
    first.journal.send(Flush).await.unwrap().unwrap();
    let second = bench_in(first.folder.clone(), steady, 10_000);
    second.supervisor.send(Restore).await.unwrap().unwrap();
    second
}

// Parents and children ----------------------------------------------------------------------------------------------

/// A task of a kind that may start others.
async fn parent(bench: &Bench) -> TaskId {
    start_below(bench, None).await.unwrap()
}

async fn start_below(bench: &Bench, parent: Option<&TaskId>) -> Result<TaskId, StartError> {
    let request = StartTask {
        prompt: "Find out how many files there are".into(),
        kind: Some("general_agent".into()),
        owner: "local".into(),
        parent: parent.cloned(),
        ..StartTask::default()
    };
    let started = bench.supervisor.send(request).await.unwrap()?;
    Ok(started.summary.task_id)
}

const START: &str = "DIRECTIVE: TOOL\nNAME: start_task\nARGS: {\"prompt\": \"Count the files\", \"kind\": \"inspect\"}";

/// A parent that waits for its child, and what the child's model is asked.
async fn waiting_parent(bench: &mut Bench) -> (TaskId, ConsultModel) {
    let parent = parent(bench).await;
    say(bench, START).await;
    let asked = bench.next_consult().await;
    assert_ne!(asked.task_id, parent);
    (parent, asked)
}

async fn stands(bench: &Bench, task: &TaskId) -> TaskState {
    let mut state = TaskState::new(task.clone());
    state.apply_all(&bench.events(task).await);
    state
}

/// Writes into a task's journal while no server runs on it.
async fn write(bench: &Bench, task: &TaskId, event: TaskEvent) {
    let mut state = stands(bench, task).await;
    let generation = state.generation;
    let append = crate::store::Append::behind(&mut state, generation, 1_000, vec![event]);
    bench
        .journal
        .send(AppendEvents::from(append))
        .await
        .unwrap()
        .unwrap();
}

#[actix::test]
async fn a_task_that_starts_another_waits_for_its_end_which_is_the_result() {
    let mut bench = bench(steady);
    let (parent, asked) = waiting_parent(&mut bench).await;
    let child = asked.task_id.clone();
    let prompt = prompt_of(&asked);
    assert!(prompt.contains("Count the files"), "{prompt}");
    assert!(
        !prompt.contains("Find out how many"),
        "it knows its prompt alone"
    );
    let waits = bench.reader.task(parent.clone()).await.unwrap();
    assert_eq!(waits.status, TaskStatus::WaitingForCommand);
    let message = waits.message.unwrap();
    assert!(message.contains(child.as_str()), "{message}");
    let made = bench.reader.task(child.clone()).await.unwrap();
    assert_eq!(
        (made.parent, made.kind.as_str()),
        (Some(parent.clone()), "inspect")
    );
    answer(
        &asked,
        Generation(1),
        "DIRECTIVE: DONE\nSUMMARY: there are 7 files",
    );
    let next = bench.next_consult().await;
    assert_eq!(next.task_id, parent);
    let told = prompt_of(&next);
    assert!(told.contains("there are 7 files"), "{told}");
    answer(&next, Generation(1), DONE);
    bench.until_status(&parent, TaskStatus::Completed).await;
    assert_eq!(stands(&bench, &parent).await.children_usage.steps, 1);
}

#[actix::test]
async fn children_and_their_children_are_cancelled_with_the_task_that_ends() {
    let mut bench = bench(steady);
    let first = parent(&bench).await;
    bench.next_consult().await;
    let second = start_below(&bench, Some(&first)).await.unwrap();
    bench.next_consult().await;
    let third = start_below(&bench, Some(&second)).await.unwrap();
    bench.next_consult().await;
    let stranger = parent(&bench).await;
    let cancel = CancelTask {
        task_id: first.clone(),
        reason: "no longer needed".into(),
        by: "me".into(),
    };
    bench.supervisor.send(cancel).await.unwrap().unwrap();
    for child in [&second, &third] {
        bench.until_status(child, TaskStatus::Cancelled).await;
        let error = stands(&bench, child).await.error.unwrap();
        assert!(error.error.contains("its parent"), "{error:?}");
    }
    assert!(!stands(&bench, &stranger).await.status.is_final());
}

#[actix::test]
async fn a_child_ends_with_a_parent_that_fails_or_completes() {
    for end in [DONE, "I would rather chat."] {
        let mut bench = bench(steady);
        let parent = parent(&bench).await;
        let mut asked = bench.next_consult().await;
        let child = start_below(&bench, Some(&parent)).await.unwrap();
        bench.next_consult().await;
        // Chatting goes on until the task is given up.
        while !stands(&bench, &parent).await.status.is_final() {
            answer(&asked, asked.generation, end);
            let consult = asked.consult;
            bench
                .until(&parent, "it goes on", |events| {
                    let last = events.last().map_or(0, |e| e.seq);
                    let mut state = TaskState::new(parent.clone());
                    state.apply_all(events);
                    state.status.is_final() || (last > consult + 2 && !state.is_idle())
                })
                .await;
            if !stands(&bench, &parent).await.status.is_final() {
                asked = bench.next_consult().await;
            }
        }
        bench.until_status(&child, TaskStatus::Cancelled).await;
    }
}

#[actix::test]
async fn parent_and_child_go_on_after_a_restart_and_there_is_one_child() {
    let mut first = bench(steady);
    let (parent, asked) = waiting_parent(&mut first).await;
    let child = asked.task_id.clone();
    let mut second = restarted(first).await;
    let asked = second.next_consult().await;
    assert_eq!((&asked.task_id, asked.generation), (&child, Generation(2)));
    answer(
        &asked,
        Generation(2),
        "DIRECTIVE: DONE\nSUMMARY: there are 7 files",
    );
    let next = second.next_consult().await;
    assert_eq!(next.task_id, parent);
    assert!(prompt_of(&next).contains("there are 7 files"));
    let all = second.reader.tasks(crate::store::TaskQuery {
        limit: 10,
        ..Default::default()
    });
    assert_eq!(all.await.unwrap().tasks.len(), 2);
}

#[actix::test]
async fn a_child_that_ended_unheard_is_heard_after_a_restart() {
    let mut first = bench(steady);
    let (parent, asked) = waiting_parent(&mut first).await;
    first.supervisor.send(Shutdown).await.unwrap();
    let result = crate::domain::directive::TaskResult {
        success: true,
        message: "there are 7 files".into(),
        details: serde_json::Value::Null,
    };
    write(&first, &asked.task_id, TaskEvent::TaskCompleted { result }).await;
    let mut second = restarted(first).await;
    let next = second.next_consult().await;
    assert_eq!(next.task_id, parent);
    assert!(prompt_of(&next).contains("there are 7 files"));
}

#[actix::test]
async fn a_child_whose_parent_ended_as_the_server_died_is_cancelled_at_the_next_start() {
    let mut first = bench(steady);
    let (parent, asked) = waiting_parent(&mut first).await;
    let child = asked.task_id;
    first.supervisor.send(Shutdown).await.unwrap();
    let event = TaskEvent::TaskCancelled {
        reason: "enough".into(),
        by: "me".into(),
    };
    write(&first, &parent, event).await;
    let second = restarted(first).await;
    second.until_status(&child, TaskStatus::Cancelled).await;
}

#[actix::test]
async fn a_child_that_cannot_be_started_is_told_to_its_parent() {
    let mut bench = bench(steady);
    let parent = parent(&bench).await;
    let wrong = START.replace("inspect", "gardening");
    say(&mut bench, &wrong).await;
    let next = bench.next_consult().await;
    assert_eq!(next.task_id, parent);
    let told = prompt_of(&next);
    assert!(
        told.contains("there is no kind \"gardening\"; there are: "),
        "{told}"
    );
}

#[actix::test]
async fn a_task_stands_below_one_that_lives_and_not_too_deep() {
    let bench = bench(steady);
    let mut above = parent(&bench).await;
    for depth in 1..=3 {
        above = start_below(&bench, Some(&above)).await.unwrap();
        let state = stands(&bench, &above).await;
        let created = state.created.unwrap();
        // Whoever stands at the limit is not offered what would be refused.
        assert_eq!((created.depth, created.may_start_tasks), (depth, depth < 3));
    }
    let deeper = start_below(&bench, Some(&above)).await;
    assert_eq!(deeper, Err(StartError::TooDeep { depth: 4, max: 3 }));
    let cancel = CancelTask {
        task_id: above.clone(),
        reason: String::new(),
        by: String::new(),
    };
    bench.supervisor.send(cancel).await.unwrap().unwrap();
    let late = start_below(&bench, Some(&above)).await;
    assert_eq!(late, Err(StartError::ParentEnded(above)));
    let nobody = TaskId::from_unique("NOBODY").unwrap();
    let below = start_below(&bench, Some(&nobody)).await;
    assert_eq!(below, Err(StartError::NoParent(nobody)));
}
