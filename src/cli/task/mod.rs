//! `ccfleet task`: what the journal says of tasks. It reads the data folder, also while a server runs on it.

mod episodes;
mod export;
mod fork;
mod journal;
mod pages;
mod replay;
mod step;
mod wake;

use super::data::DataArg;
use super::server::ServerArg;
use super::{Exit, Failure};
use journal::Journal;
use serde_json::json;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  ccfleet task list                        the newest tasks
  ccfleet task show TASK                   its steps, a line each
  ccfleet task show TASK --step 3          what was decided and done in step 3
  ccfleet task show TASK --step 3 --full   and exactly what each model saw and said
  ccfleet task state TASK                  plan, files, tests, budgets, what it waits for
  ccfleet task history TASK                every event
  ccfleet task loops TASK                  what the guards refused, and why
  ccfleet task ledger TASK                 every call with its number, computer and outcome
  ccfleet task wake TASK                   runs it once more, if it sleeps; asks the server
  ccfleet task replay TASK                 decides everything anew and compares
  ccfleet task replay --all --data DIR
  ccfleet task fork TASK --at 7            go on behind step 7 as a new task; the server has to run
  ccfleet task fork TASK --at 7 --model qwen3:8b
  ccfleet task export TASK --scenario todo.toml
                                           what its models said, as a scenario that the scripted model plays

TASK is a task's id, or a part of it that only one task has. The journal is read in the data folder of this machine;
`fork` alone asks the server.

Exit codes: 0 done, 1 it went wrong (no such task; a replay that differs), 2 wrong use, 4 the journal cannot be read.";

/// What the journal says of tasks: steps, state, calls; replay
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    what: What,

    #[command(flatten)]
    data: DataArg,

    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// The newest tasks
    List {
        /// How many
        #[arg(long, default_value_t = 20)]
        limit: usize,
    },
    /// A task's steps, or one of them
    Show {
        task: String,
        /// One step
        #[arg(long, value_name = "N")]
        step: Option<u32>,
        /// With every prompt and answer, whole
        #[arg(long, requires = "step")]
        full: bool,
    },
    /// How a task stands
    State { task: String },
    /// Go on from a step of a task as a new task; the task itself stays as it is. Asks the running server
    Fork {
        task: String,
        /// The last step that is carried over
        #[arg(long, value_name = "STEP")]
        at: u32,
        /// Another model for the planner, on the same model server
        #[arg(long, value_name = "MODEL")]
        model: Option<String>,
        #[command(flatten)]
        server: ServerArg,
    },
    /// Write what a task's models said as a scenario, which provider "scripted" plays
    Export {
        task: String,
        /// The file; one that is there is not replaced
        #[arg(long, value_name = "FILE")]
        scenario: PathBuf,
    },
    /// Every event of a task
    History { task: String },
    /// What the guards refused
    Loops { task: String },
    /// Every call of a task
    Ledger { task: String },
    /// Wake a task that sleeps, on a running server
    Wake(wake::WakeArgs),
    /// Fold and decide a task anew, with no model and no computer, and compare with the journal
    Replay {
        #[arg(required_unless_present = "all")]
        task: Option<String>,
        /// Every task of the journal
        #[arg(long, conflicts_with = "task")]
        all: bool,
    },
}

/// Does what is asked.
///
/// # Errors
/// No journal, no such task, or a replay that differs.
pub fn run(args: Args) -> Result<Exit, Failure> {
    if let What::Fork {
        task,
        at,
        model,
        server,
    } = &args.what
    {
        let asked = fork::run(server, task, *at, model.as_deref(), args.json);
        return super::in_system(asked);
    }
    if let What::Wake(asked) = &args.what {
        return super::in_system(wake::run(asked, args.json));
    }
    let journal = Journal::open(&args.data.folder()?)?;
    let (lines, value) = match &args.what {
        What::List { limit } => {
            let tasks = journal.newest((*limit).max(1))?;
            (pages::list(&tasks), json!({"items": tasks}))
        }
        What::Wake(_) => return Ok(Exit::Usage),
        What::Replay { all: true, .. } => return replay::all(&journal, args.json),
        What::Replay { task, .. } => {
            let task = journal.task(task.as_deref().unwrap_or_default())?;
            return replay::one(&journal, &task, args.json);
        }
        // Done above: it needs no journal.
        What::Fork { .. } => (Vec::new(), serde_json::Value::Null),
        What::Export { task, scenario } => {
            return export::run(&journal.task(task)?, scenario, args.json);
        }
        What::Show {
            task,
            step: Some(number),
            full,
        } => {
            let task = journal.task(task)?;
            let step = step::of(&task, *number).ok_or_else(|| {
                let last = task.whole.steps.last().map_or(0, |step| step.number);
                Failure::new(
                    Exit::Failed,
                    format!("the task has no step {number}; its last one is {last}"),
                )
            })?;
            (step.lines(*full), json!(step))
        }
        What::Show { task, .. } => {
            let task = journal.task(task)?;
            (pages::steps(&task), json!(task.state.summary()))
        }
        What::State { task } => {
            let task = journal.task(task)?;
            (pages::state(&task), json!(task.state.summary()))
        }
        What::History { task } => {
            let task = journal.task(task)?;
            (pages::history(&task.events), json!({"items": task.events}))
        }
        What::Loops { task } => {
            let task = journal.task(task)?;
            (pages::loops(&task.whole), pages::loops_json(&task.whole))
        }
        What::Ledger { task } => {
            let task = journal.task(task)?;
            (pages::ledger(&task.whole), pages::ledger_json(&task.whole))
        }
    };
    match args.json {
        true => say!("{value:#}"),
        false => lines.iter().for_each(|line| say!("{line}")),
    }
    Ok(Exit::Done)
}
