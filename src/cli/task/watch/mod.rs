//! `ccfleet task watch`: follows a task to its end, over a restart of the server too, and takes answers to what it asks.
//!
//! It pages through the task's journal, so nothing is missed and nothing is told twice, however long the server was away.

mod prompt;
mod told;
mod view;

use super::find;
use super::online::ending;
use super::people;
use crate::cli::data::DataArg;
use crate::cli::server::{Answer, Lost, Server};
use crate::cli::signals::Signals;
use crate::cli::words::{at_ms, items, text};
use crate::cli::{Exit, Failure};
use prompt::Prompt;
use serde_json::Value;
use std::time::{Duration, Instant};
use told::Teller;
use view::View;

/// Events of one page.
const PAGE: usize = 200;
/// The next look while something happens, and while nothing does.
const SOON: Duration = Duration::from_millis(250);
const LATER: Duration = Duration::from_millis(1500);
/// Between two tries to reach a server that is away.
const TRY_AGAIN: Duration = Duration::from_secs(1);
/// After this long without the server the watch ends; the task goes on whenever the server does.
const GIVE_UP: Duration = Duration::from_secs(600);

/// Follow a task to its end
#[derive(Debug, clap::Args)]
pub(super) struct WatchArgs {
    /// The task's id, a part of it, or `last`
    task: String,
    #[command(flatten)]
    answers: Answers,
}

/// How questions are answered while a task is watched.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct Answers {
    /// Take lines of standard input as answers, also if it is no terminal
    #[arg(long)]
    answers_from_stdin: bool,
}

/// Follows the task.
///
/// # Errors
/// No server, no such task.
pub(super) async fn run(
    args: &WatchArgs,
    server: Server,
    data: &DataArg,
    as_json: bool,
) -> Result<Exit, Failure> {
    let id = find::id(&server, &args.task).await?;
    follow(server, &id, &args.answers, data, as_json).await
}

/// Follows a task whose id is known. The exit code tells how it ended.
///
/// # Errors
/// The server is gone for good, or does not let us see the task any more.
pub(super) async fn follow(
    server: Server,
    id: &str,
    answers: &Answers,
    data: &DataArg,
    as_json: bool,
) -> Result<Exit, Failure> {
    let mut signals = Signals::new().map_err(|error| Failure::new(Exit::Failed, error))?;
    let view = View::new(as_json);
    let mut watch = Watch {
        prompt: Prompt::new(!as_json, answers.answers_from_stdin),
        server: &server,
        id,
        view,
        data,
        teller: Teller::default(),
        after: 0,
        last: None,
        open: Vec::new(),
    };
    let end = tokio::select! {
        end = watch.until_over() => Some(end),
        () = signals.next() => None,
    };
    watch.view.end();
    match end {
        Some(Ok(task)) => Ok(tell_end(&watch.view, &task)),
        Some(Err(failure)) => Err(failure),
        None => {
            eprintln!("ccfleet: stopped watching; the task goes on");
            eprintln!("  watch it again  ccfleet task watch {id}");
            eprintln!("  cancel it       ccfleet task cancel {id}");
            Ok(Exit::Interrupted)
        }
    }
}

fn tell_end(view: &View, task: &Value) -> Exit {
    view.value("task", task);
    for line in ending(task) {
        view.line(&line);
    }
    match text(task, "status") {
        "completed" => Exit::Done,
        _ => Exit::TaskFailed,
    }
}

struct Watch<'a> {
    server: &'a Server,
    id: &'a str,
    view: View,
    prompt: Prompt,
    data: &'a DataArg,
    teller: Teller,
    /// The last event that was told.
    after: u64,
    /// The event that came last.
    last: Option<Value>,
    /// Questions that are shown and have no answer yet.
    open: Vec<Value>,
}

/// What a look brought.
enum Look {
    /// The task as it is, and whether something new was told.
    Seen { task: Value, news: bool },
    /// The server cannot be reached, or is not ready.
    Away(String),
}

impl Watch<'_> {
    /// Looks again and again; the task at its end.
    async fn until_over(&mut self) -> Result<Value, Failure> {
        let mut away: Option<Instant> = None;
        loop {
            let pause = match self.look().await? {
                Look::Seen { task, news } => {
                    if away.take().is_some() {
                        self.view.aside("the server is back");
                    }
                    if people::is_over(&task) {
                        return Ok(task);
                    }
                    self.show(&task).await?;
                    if news { SOON } else { LATER }
                }
                Look::Away(why) => {
                    let since = *away.get_or_insert_with(|| {
                        let words = format!("{why}\n  trying again; Ctrl-C stops watching");
                        self.view.aside(&words);
                        Instant::now()
                    });
                    if since.elapsed() > GIVE_UP {
                        return Err(self.given_up());
                    }
                    TRY_AGAIN
                }
            };
            self.wait(pause).await?;
        }
    }

    fn given_up(&self) -> Failure {
        let words = format!(
            "the server was away for {} minutes; the task goes on when the server does: ccfleet task watch {}",
            GIVE_UP.as_secs() / 60,
            self.id
        );
        Failure::new(Exit::NoServer, words)
    }

    /// Lets time pass; what is typed meanwhile is an answer.
    async fn wait(&mut self, pause: Duration) -> Result<(), Failure> {
        let typed = tokio::select! {
            () = tokio::time::sleep(pause) => None,
            typed = self.prompt.typed(), if !self.open.is_empty() => typed,
        };
        match typed {
            Some(line) => self.answer(&line).await,
            None => Ok(()),
        }
    }

    async fn look(&mut self) -> Result<Look, Failure> {
        // The task first: if it has ended, all its events are there for the pages below.
        let task = match seen(self.server.look(&format!("/tasks/{}", self.id)).await)? {
            Ok(task) => task,
            Err(why) => return Ok(Look::Away(why)),
        };
        let mut news = false;
        loop {
            let path = format!(
                "/tasks/{}/events?after={}&limit={PAGE}",
                self.id, self.after
            );
            let page = match seen(self.server.look(&path).await)? {
                Ok(page) => page,
                Err(why) => return Ok(Look::Away(why)),
            };
            for event in items(&page) {
                news = true;
                self.tell(event);
            }
            if page["next_cursor"].is_null() {
                break;
            }
        }
        Ok(Look::Seen { task, news })
    }

    fn tell(&mut self, event: &Value) {
        self.after = event["seq"].as_u64().unwrap_or(self.after + 1);
        self.view.value("event", event);
        for line in self.teller.lines(event) {
            self.view.line(&line);
        }
        self.last = Some(event.clone());
    }

    /// Shows how the task stands, and asks what it asks.
    async fn show(&mut self, task: &Value) -> Result<(), Failure> {
        let words = told::now(task, self.last.as_ref());
        let since = at_ms(text(task, "created_at"));
        if text(task, "status") != "waiting_for_user" {
            if !self.open.is_empty() {
                self.open.clear();
                self.view.resume();
            }
            self.view.now(&words, task["progress"].as_f64(), since);
            return Ok(());
        }
        let Ok(open) = people::of_task(self.server, self.id).await else {
            // Away again; the next look tells.
            return Ok(());
        };
        // The rest of a question may change: its deadline counts from when a computer showed it.
        let ids = |questions: &[Value]| -> Vec<String> {
            let id = |question: &Value| text(question, "question_id").to_owned();
            questions.iter().map(id).collect()
        };
        if ids(&open) != ids(&self.open) {
            self.ask(open);
        }
        Ok(())
    }

    fn ask(&mut self, open: Vec<Value>) {
        self.open = open;
        let Some(question) = self.open.first() else {
            return;
        };
        self.view.value("question", question);
        match (self.prompt.is_there(), people::is_approval(question)) {
            // What is asked stands above: its event came before.
            (true, approval) => {
                self.view.pause();
                self.prompt.show(approval);
            }
            (false, true) => self
                .view
                .aside(&format!("consent: ccfleet task approve {}", self.id)),
            (false, false) => {
                let words = format!("answer: ccfleet task answer {} \"…\"", self.id);
                self.view.aside(&words);
            }
        }
    }

    async fn answer(&mut self, line: &str) -> Result<(), Failure> {
        let Some(question) = self.open.first().cloned() else {
            return Ok(());
        };
        let approval = people::is_approval(&question);
        if line.trim().is_empty() {
            self.prompt.show(approval);
            return Ok(());
        }
        let id = text(&question, "question_id");
        let done = match approval {
            false => people::reply(self.server, id, line.trim()).await,
            true => {
                let server = self.server.clone();
                match people::with_key(server, self.data) {
                    Ok(server) => people::reply(&server, id, line.trim()).await,
                    Err(failure) => Err(failure),
                }
            }
        };
        match done {
            Ok(_) => {
                self.open.clear();
                self.view.resume();
            }
            Err(failure) => {
                // Answered elsewhere, away, or not allowed: told, and asked again if it is still open.
                self.view.aside(&failure.text);
                self.open.clear();
            }
        }
        Ok(())
    }
}

/// What the server said, or why it is away. Errors that the next look would meet again end the watch.
fn seen(answer: Result<Answer, Lost>) -> Result<Result<Value, String>, Failure> {
    match answer {
        Err(lost) => Ok(Err(lost.to_string())),
        Ok(answer) if answer.status >= 500 || answer.status == 429 => Ok(Err(answer.problem())),
        Ok(answer) => answer.ok().map(Ok),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_server_that_is_away_or_not_ready_is_tried_again_and_a_refusal_ends_the_watch() {
        let answer = |status| Answer {
            status,
            body: json!({"detail": "d", "code": "c"}),
        };
        let away = Err(Lost::Unreachable("http://h".into()));
        assert!(matches!(seen(away), Ok(Err(_))));
        for status in [429, 500, 503] {
            assert!(matches!(seen(Ok(answer(status))), Ok(Err(_))), "{status}");
        }
        assert!(matches!(seen(Ok(answer(200))), Ok(Ok(_))));
        for status in [401, 403, 404] {
            assert!(seen(Ok(answer(status))).is_err(), "{status}");
        }
    }
}
