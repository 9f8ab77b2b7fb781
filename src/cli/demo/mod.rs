//! `ccfleet demo`: the main job on one machine. A server, a simulated computer with a broken program, a task to
//! mend it, and the proof that it is mended: run on the computer, not taken from the model's word.

pub(in crate::cli) mod model;
mod progress;
mod proof;
pub(in crate::cli) mod witness;

use super::signals::Signals;
use super::{Exit, Failure};
use crate::actors::supervisor::messages::{BudgetOverrides, StartTask};
use crate::app::{App, Options, RunningApp};
use crate::config::{Loader, LogSettings, Settings};
use crate::domain::ids::{ClientId, TaskId};
use crate::domain::task::{TaskStatus, TaskSummary};
use crate::sim::{SimFleet, host_computer};
use crate::telemetry;
use proof::Proof;
use serde_json::{Map, Value, json};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  ccfleet demo                          the Ollama on this machine if it has a model, else scripted answers
  ccfleet demo --model scripted         no model needed: scripted answers with a small model's mistakes
  ccfleet demo --model qwen2.5-coder:7b
  ccfleet demo --model-server http://127.0.0.1:8081 --dialect openai --model any
  ccfleet demo --dir ./demo --json      keep everything in ./demo; one JSON object as the last line

If it is stopped in the middle (Ctrl-C, or killed), the same command with the same --dir goes on.

Exit codes: 0 the proof holds, 1 it does not, 2 wrong use or settings, 130 stopped.";

/// Let a model fix a broken program on a simulated computer, and prove that it works.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Print one JSON object as the last line
    #[arg(long)]
    pub json: bool,

    /// Folder for the server's data and the computer's disk; kept, and gone on from [default: a new temporary one]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,

    /// "scripted", or a model's name on the model server
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,

    /// Address of the model server, without /api or /v1 [default: Ollama's usual one]
    #[arg(long, value_name = "URL")]
    pub model_server: Option<String>,

    /// How the model server is spoken to [default: found out by asking it]
    #[arg(long, value_enum, requires = "model_server")]
    pub dialect: Option<model::DialectArg>,

    /// Show every prompt and every answer, whole
    #[arg(long)]
    pub show_prompts: bool,

    /// Planner turns before the task is given up [default: as configured]
    #[arg(long, value_name = "N")]
    pub steps: Option<u32>,

    /// Seconds before the task is given up [default: as configured]
    #[arg(long, value_name = "S")]
    pub seconds: Option<u64>,

    /// What is logged to standard error, for example "info" or "ccfleet=debug"
    #[arg(long, value_name = "FILTER", default_value = "error")]
    pub log: String,
}

/// The computer's name.
const COMPUTER: &str = "demo-computer";
/// The program that is broken.
const BROKEN: &str = include_str!("broken_todo.lua");
const PROMPT: &str = "Fix /TODO.lua. Its commands add, list, done, remove and stats must work as the comment at \
    the top of the file says, also the very first time, when nothing has been kept yet, and with any text.";
/// How long the computer may take to boot and connect.
const CONNECT_WITHIN: Duration = Duration::from_secs(30);

/// Runs the demo.
///
/// # Errors
/// Something other than the model's work went wrong.
pub async fn run(args: Args) -> Result<Exit, Failure> {
    let mut done = perform(&args).await;
    if let (true, Err(failure)) = (args.json, &mut done) {
        say!("{}", nothing_to_report(failure));
        failure.told = true;
    }
    done
}

/// What programs read when there is no end of a task to report: the keys are always there.
fn nothing_to_report(failure: &Failure) -> Value {
    let keys = [
        "strategy",
        "model",
        "steps",
        "model_calls",
        "executor_model_calls",
        "executor_calls_avoided",
        "tool_calls",
        "questions",
        "handler_entries",
        "duplicate_effects",
        "proof",
    ];
    let nothing = keys.map(|key| (key.to_owned(), Value::Null));
    let mut object: Map<String, Value> = nothing.into_iter().collect();
    object.insert("success".to_owned(), json!(false));
    object.insert("error".to_owned(), json!(failure.text));
    Value::Object(object)
}

async fn perform(args: &Args) -> Result<Exit, Failure> {
    telemetry::init(&LogSettings::lines(&args.log))
        .map_err(|text| Failure::new(Exit::Usage, text))?;
    let mut signals = Signals::new().map_err(|error| Failure::new(Exit::Failed, error))?;
    let place = Place::new(args.dir.clone())?;
    tokio::select! {
        done = play(args, &place) => {
            place.leave(matches!(done, Ok(Exit::Done)));
            done
        }
        () = signals.next() => {
            let again = format!("stopped; nothing is lost: go on with `ccfleet demo --dir {}`", place.dir.display());
            Err(Failure::new(Exit::Interrupted, again))
        }
    }
}

/// Where the demo lives.
struct Place {
    dir: PathBuf,
    temporary: bool,
}

impl Place {
    fn new(dir: Option<PathBuf>) -> Result<Self, Failure> {
        let temporary = dir.is_none();
        let dir = dir.unwrap_or_else(|| {
            std::env::temp_dir().join(format!("ccfleet-demo-{}", ulid::Ulid::generate()))
        });
        std::fs::create_dir_all(&dir)
            .map_err(|e| Failure::new(Exit::Data, format!("cannot make {}: {e}", dir.display())))?;
        Ok(Place { dir, temporary })
    }

    fn disk(&self) -> PathBuf {
        self.dir.join("computer")
    }

    /// A temporary folder goes if all went well; otherwise somebody may want to look.
    fn leave(&self, well: bool) {
        if !self.temporary {
            return;
        }
        // What cannot be removed is in the system's folder for such things.
        let removed = if well {
            let _ = std::fs::remove_dir_all(&self.dir);
            true
        } else {
            // Only if it is empty: nothing was begun.
            std::fs::remove_dir(&self.dir).is_ok()
        };
        if !removed {
            say!("everything is kept in {}", self.dir.display());
        }
    }
}

async fn play(args: &Args, place: &Place) -> Result<Exit, Failure> {
    let wish = model::Wish {
        model: args.model.as_deref(),
        server: args.model_server.as_deref(),
        dialect: args.dialect,
    };
    let chosen = model::choose(wish).await?;
    say!("model      {}", chosen.told);
    let app = App::start(settings(args, place, &chosen)?, Options::default())
        .await
        .map_err(|error| Failure::new(super::serve::exit_of(&error), error))?;
    say!(
        "server     http://{} (data in {})",
        app.address(),
        place.dir.join("data").display()
    );
    let played = with_server(args, place, &chosen, &app).await;
    app.stop().await;
    played
}

fn settings(args: &Args, place: &Place, chosen: &model::Chosen) -> Result<Settings, Failure> {
    let mut loader = Loader::new()
        .with_process_env()
        .with_override("server.bind", "127.0.0.1:0")
        .with_override(
            "server.data_dir",
            place.dir.join("data").display().to_string(),
        )
        .with_override("log.filter", args.log.clone());
    for (key, value) in &chosen.overrides {
        loader = loader.with_override(key, value.clone());
    }
    loader
        .load()
        .map_err(|error| Failure::new(Exit::Usage, error))
}

async fn with_server(
    args: &Args,
    place: &Place,
    chosen: &model::Chosen,
    app: &RunningApp,
) -> Result<Exit, Failure> {
    let api = proof::Api::new(app.address())?;
    let unfinished = api.unfinished_task(COMPUTER).await?;
    if unfinished.is_none() {
        prepare_disk(&place.disk()).map_err(|e| {
            Failure::new(Exit::Data, format!("cannot write the computer's disk: {e}"))
        })?;
    }
    let computer = host_computer(1, place.disk(), &app.websocket_url(), COMPUTER);
    let sim = SimFleet::start(vec![computer]).map_err(|error| Failure::new(Exit::Failed, error))?;
    say!(
        "computer   {COMPUTER}, simulated (disk in {})",
        place.disk().display()
    );
    let ended = async {
        api.wait_for_computer(COMPUTER, CONNECT_WITHIN).await?;
        // Before the task exists, so that nothing is missed.
        let mut watch = progress::Watch::new(app, args.show_prompts).await?;
        let task_id = match unfinished {
            Some(task_id) => {
                say!("task       {task_id} goes on where it stood");
                task_id
            }
            None => start(args, app).await?,
        };
        let ended = watch.follow(app, &task_id).await?;
        say!("");
        tell_end(&ended);
        let proof = proof::take(&api, COMPUTER).await?;
        Ok::<_, Failure>((ended, proof))
    };
    let ended = ended.await;
    sim.shutdown().await;
    let (ended, proof) = ended?;
    Ok(report(args, place, chosen, &ended, &proof))
}

/// The broken program on an otherwise fresh disk.
fn prepare_disk(disk: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(disk)?;
    for leftover in ["todo.txt", witness::FILE] {
        match std::fs::remove_file(disk.join(leftover)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    std::fs::write(disk.join("TODO.lua"), BROKEN)
}

async fn start(args: &Args, app: &RunningApp) -> Result<TaskId, Failure> {
    // Nobody can answer a question where there is no terminal.
    let questions = if std::io::stdin().is_terminal() {
        None
    } else {
        Some(0)
    };
    let request = StartTask {
        prompt: PROMPT.to_owned(),
        kind: Some("code_job".to_owned()),
        client_id: ClientId::parse(COMPUTER).ok(),
        owner: "local".to_owned(),
        metadata: json!({"demo": true}),
        budgets: BudgetOverrides {
            steps: args.steps,
            wall_time_s: args.seconds,
            questions,
            ..BudgetOverrides::default()
        },
        ..StartTask::default()
    };
    let started = app.start_task().send(request).await;
    let started = started.map_err(|error| Failure::new(Exit::Failed, error))?;
    let task_id = started
        .map_err(|error| Failure::new(Exit::Failed, error))?
        .summary
        .task_id;
    say!("task       {task_id}: {PROMPT}\n");
    Ok(task_id)
}

fn tell_end(ended: &TaskSummary) {
    match (ended.status, &ended.error) {
        (TaskStatus::Completed, _) => say!(
            "the model says: {}",
            ended.message.as_deref().unwrap_or("done")
        ),
        (status, Some(error)) => say!("the task ended as {}: {error}", status.as_str()),
        (status, None) => say!("the task ended as {}", status.as_str()),
    }
}

/// Prints the proof, and the object that programs read.
fn report(
    args: &Args,
    place: &Place,
    chosen: &model::Chosen,
    ended: &TaskSummary,
    proof: &Proof,
) -> Exit {
    let witness = witness::read(&place.disk());
    proof.print();
    let holds = proof.holds() && witness.duplicate_effects == 0;
    let usage = &ended.usage;
    say!(
        "\n{} steps, {} model calls ({} of them by the executor, {} more avoided), {} tool calls, {} handler entries, {} of them twice",
        usage.steps,
        usage.model_calls,
        usage.executor_model_calls,
        usage.executor_calls_avoided,
        usage.calls,
        witness.entries,
        witness.duplicate_effects
    );
    say!(
        "{}",
        if holds {
            "The proof holds."
        } else {
            "The proof does NOT hold."
        }
    );
    if args.json {
        let object = json!({
            "success": holds,
            "strategy": ended.strategy,
            "model": chosen.name,
            "steps": usage.steps,
            "model_calls": usage.model_calls,
            "executor_model_calls": usage.executor_model_calls,
            "executor_calls_avoided": usage.executor_calls_avoided,
            "tool_calls": usage.calls,
            "questions": usage.questions,
            "handler_entries": witness.entries,
            "duplicate_effects": witness.duplicate_effects,
            "proof": proof.to_json(),
            "task_id": ended.task_id,
            "status": ended.status,
            "error": ended.error,
        });
        say!("{object}");
    }
    if holds { Exit::Done } else { Exit::Failed }
}
