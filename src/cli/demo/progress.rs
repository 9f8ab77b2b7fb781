//! Live progress: every committed event of the task as at most one line, readable in a terminal and in a log.

use super::super::{Exit, Failure};
use crate::actors::feed::messages::{Committed, Subscribe};
use crate::actors::supervisor::messages::AnswerQuestion;
use crate::app::RunningApp;
use crate::domain::call::Outcome;
use crate::domain::chat::Role;
use crate::domain::decision::Decision;
use crate::domain::directive::Reading;
use crate::domain::event::{StoredEvent, TaskEvent};
use crate::domain::ids::{QuestionId, TaskId};
use crate::domain::task::{TaskState, TaskStatus, TaskSummary};
use crate::strategy::directive::call_title;
use crate::strategy::directive::printer::title;
use crate::strategy::step_log::prompt_text;
use std::io::{BufRead, IsTerminal, Write};
use std::time::Duration;
use tokio::sync::mpsc::Receiver;

/// Batches that may wait for the terminal.
const CAPACITY: usize = 1024;
/// A slow model is said to be at work this often.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);

/// Follows one task.
pub struct Watch {
    feed: Receiver<Committed>,
    show_prompts: bool,
    state: Option<TaskState>,
}

impl Watch {
    pub async fn new(app: &RunningApp, show_prompts: bool) -> Result<Self, Failure> {
        Ok(Watch {
            feed: subscribe(app).await?,
            show_prompts,
            state: None,
        })
    }

    /// Prints what happens until the task has ended.
    pub async fn follow(
        &mut self,
        app: &RunningApp,
        task_id: &TaskId,
    ) -> Result<TaskSummary, Failure> {
        // What was committed before this is told in short, and the rest as it comes.
        self.catch_up(app, task_id).await?;
        let mut waited = Duration::ZERO;
        loop {
            if let Some(ended) = self.state.as_ref().filter(|s| s.status.is_final()) {
                return Ok(ended.summary());
            }
            match tokio::time::timeout(SIGN_OF_LIFE, self.feed.recv()).await {
                Ok(Some(news)) => {
                    waited = Duration::ZERO;
                    for event in news.events.iter().filter(|e| &e.task_id == task_id) {
                        self.take(event, app);
                    }
                }
                Ok(None) => {
                    // Too slow for the feed: read what was missed.
                    self.feed = subscribe(app).await?;
                    self.catch_up(app, task_id).await?;
                }
                Err(_) => {
                    waited += SIGN_OF_LIFE;
                    self.say(
                        "",
                        &format!("… still {} ({} s)", self.doing(), waited.as_secs()),
                    );
                }
            }
        }
    }

    fn doing(&self) -> &'static str {
        match self.state.as_ref().map(|s| s.status) {
            Some(TaskStatus::Running) => "waiting for the model",
            Some(TaskStatus::WaitingForCommand) => "waiting for the computer",
            Some(TaskStatus::WaitingForUser) => "waiting for an answer",
            _ => "waiting",
        }
    }

    async fn catch_up(&mut self, app: &RunningApp, task_id: &TaskId) -> Result<(), Failure> {
        let loaded = app.journal().load_task(task_id.clone()).await;
        let loaded = loaded.map_err(|error| Failure::new(Exit::Failed, error))?;
        for event in &loaded.events {
            self.take(event, app);
        }
        Ok(())
    }

    fn take(&mut self, event: &StoredEvent, app: &RunningApp) {
        let state = self
            .state
            .get_or_insert_with(|| TaskState::new(event.task_id.clone()));
        if event.seq <= state.last_seq {
            return;
        }
        state.apply(event);
        self.tell(event);
        self.offer_question(event, app);
    }

    /// One line for what people care about; the rest is in the journal.
    fn tell(&self, event: &StoredEvent) {
        match &event.event {
            TaskEvent::GenerationStarted { reason, .. } => self.say("restart", reason),
            TaskEvent::Decided { decision, .. } => self.tell_decision(decision),
            TaskEvent::ModelAnswered { role, answer, .. } if self.show_prompts => {
                self.show(&format!("answer of the {}", role.as_str()), &answer.content);
            }
            TaskEvent::ModelFailed { role, failure, .. } => {
                self.say(
                    role.as_str(),
                    &format!("no answer: {} ({})", failure.message, failure.hint),
                );
            }
            TaskEvent::DirectiveRead { reading, .. } => match reading {
                Reading::Clear { directive, .. } => self.say("planner", &title(directive)),
                Reading::Unclear { problems, .. } => {
                    self.say(
                        "planner",
                        &format!("unclear directive: {}", problems.join("; ")),
                    );
                }
                Reading::Nothing { problems } => {
                    self.say("planner", &format!("no directive: {}", problems.join("; ")));
                }
            },
            TaskEvent::RequestRead {
                request, problems, ..
            } => match request {
                Some(request) => self.say("executor", request.explanation()),
                None => self.say(
                    "executor",
                    &format!("invalid answer: {}", problems.join("; ")),
                ),
            },
            TaskEvent::AnswerRead { read, .. } => self.say("model", &read.title()),
            TaskEvent::CallFinished { call_id, report } => {
                let Some(call) = self.state.as_ref().and_then(|s| s.call(call_id)) else {
                    return;
                };
                let end = match report.outcome {
                    Outcome::Done if report.succeeded() => "ok".to_owned(),
                    Outcome::Done => {
                        format!("failed: {}", crate::strategy::guards::failure_text(call))
                    }
                    other => format!(
                        "{}: {}",
                        other.as_str(),
                        crate::strategy::guards::failure_text(call)
                    ),
                };
                self.say("call", &format!("{} → {end}", call_title(call)));
            }
            TaskEvent::CallNotPlaced { no_route, .. } => self.say("call", &no_route.message),
            TaskEvent::WaitStarted { reason } => self.say("waiting", &format!("{reason:?}")),
            TaskEvent::Noted { message, .. } => self.say("note", message),
            TaskEvent::Forked(forked) => self.say("note", &forked.words),
            TaskEvent::QuestionAnswered { answer, by, .. } => {
                self.say("answer", &format!("{by}: {answer}"))
            }
            TaskEvent::QuestionExpired { .. } => self.say("answer", "nobody answered in time"),
            TaskEvent::EpisodeStarted { episode, .. } => {
                self.say("episode", &format!("{episode} begins"));
            }
            TaskEvent::FellAsleep(_) => self.say("episode", "sleeps until it is woken"),
            TaskEvent::TaskCreated(_)
            | TaskEvent::DirectCallEnded(_)
            | TaskEvent::EpisodeEnded(_)
            | TaskEvent::WakeKept { .. }
            | TaskEvent::ModelAnswered { .. }
            | TaskEvent::CallIntended(_)
            | TaskEvent::QuestionDelivered { .. }
            | TaskEvent::WaitEnded { .. }
            | TaskEvent::CallsAway { .. }
            | TaskEvent::TaskCompleted { .. }
            | TaskEvent::TaskFailed { .. }
            | TaskEvent::TaskCancelled { .. } => {}
        }
    }

    fn tell_decision(&self, decision: &Decision) {
        match decision {
            Decision::Consult(consult) => {
                if consult.role == Role::Executor {
                    self.say(
                        "executor",
                        "is asked, for the directive alone cannot be translated by rule",
                    );
                }
                if self.show_prompts
                    && let Some(state) = &self.state
                {
                    let prompt = prompt_text(state.prompt(consult.role));
                    self.show(
                        &format!("prompt for the {}", consult.role.as_str()),
                        &prompt,
                    );
                }
            }
            Decision::Block { guard, evidence } => {
                self.say("sent back", &format!("({}) {evidence}", guard.as_str()));
            }
            Decision::Wait { reason, .. } => self.say("waiting", &format!("{reason:?}")),
            Decision::Ask { question, .. } => {
                self.say(
                    "question",
                    &format!("{} (why: {})", question.question, question.why),
                );
            }
            Decision::Call { .. }
            | Decision::Advance { .. }
            | Decision::Finish { .. }
            | Decision::Fail { .. } => {}
        }
    }

    fn say(&self, who: &str, what: &str) {
        let step = self.state.as_ref().map_or(0, |s| s.usage.steps);
        let mut line: String = what.split_whitespace().collect::<Vec<_>>().join(" ");
        if line.chars().count() > 160 {
            line = line.chars().take(159).chain(['…']).collect();
        }
        say!("[{step:>2}] {who:<9} {line}");
        // A log or a pipe shall show each line when it happens.
        let _ = std::io::stdout().flush();
    }

    fn show(&self, title: &str, text: &str) {
        say!("----- {title} -----\n{}\n-----", text.trim_end());
    }

    /// At a terminal, the person there may answer.
    fn offer_question(&self, event: &StoredEvent, app: &RunningApp) {
        let TaskEvent::Decided { decision, .. } = &event.event else {
            return;
        };
        let Decision::Ask { question, .. } = &**decision else {
            return;
        };
        if std::io::stdin().is_terminal() {
            say!("     Type your answer and press Enter:");
            actix::spawn(answer_from_terminal(
                question.question_id.clone(),
                app.answer_question().clone(),
            ));
        }
    }
}

async fn answer_from_terminal(
    question_id: QuestionId,
    answer_question: actix::Recipient<AnswerQuestion>,
) {
    let typed = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line).map(|_| line)
    });
    if let Ok(Ok(line)) = typed.await {
        let answer = AnswerQuestion {
            question_id,
            answer: line.trim().to_owned(),
            by: "the terminal".to_owned(),
            authenticated: true,
        };
        if let Ok(Err(error)) = answer_question.send(answer).await {
            eprintln!("the answer was not taken: {error}");
        }
    }
}

async fn subscribe(app: &RunningApp) -> Result<Receiver<Committed>, Failure> {
    let subscribed = app.feed().send(Subscribe::to_all(CAPACITY)).await;
    subscribed.map_err(|error| Failure::new(Exit::Failed, error))
}
