//! `ccfleet task`: gives tasks to a running server, follows them, and reads what its journal says of them.
//!
//! Some of it reads the journal in the data folder, also while a server runs on it: what is too large or too
//! old for the API, and what must work when no server does.

mod episodes;
mod export;
mod find;
mod fork;
mod journal;
mod loops;
mod new;
mod online;
mod pages;
mod people;
mod replay;
mod step;
mod wake;
mod watch;

use super::data::DataArg;
use super::server::{Server, ServerArg};
use super::{Exit, Failure};
use journal::Journal;
use serde_json::json;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples, with a running server:
  ccfleet task new \"write /hello.lua that prints the day\" --on miner-1 --watch
  ccfleet task list --status running       the newest tasks; --kind, --on, --owner, --limit
  ccfleet task show TASK                   how it stands, its steps, its end
  ccfleet task watch last                  follow the newest task to its end; Ctrl-C only stops watching
  ccfleet task questions                   what people are asked
  ccfleet task answer TASK \"the left one\"
  ccfleet task approve TASK                consent to what it wants to do; --deny
  ccfleet task cancel TASK --reason \"enough\"
  ccfleet task wake TASK                   run it once more, if it sleeps
  ccfleet task fork TASK --at 7            go on behind step 7 as a new task; --model M for another planner

Examples that read the journal in the data folder of this machine, with or without a server:
  ccfleet task show TASK --step 3 --full   exactly what each model saw and said in step 3
  ccfleet task state TASK                  plan, files, tests, budgets, what it waits for
  ccfleet task history TASK                every event
  ccfleet task loops TASK                  what the guards refused, and why
  ccfleet task ledger TASK                 every call with its number, computer and outcome
  ccfleet task replay TASK                 decide everything anew and compare; --all
  ccfleet task export TASK --scenario F    what its models said, for the scripted model
  ccfleet task list --data DIR             with --data or --config, list and show read the journal, too

TASK is a task's id, a part of it that only one task has, or `last`.

Exit codes:
  0    done; for `watch` and `new --watch`: the task completed
  1    it went wrong: no such task, refused, a replay that differs
  2    wrong use
  4    the journal cannot be read
  5    no server answers
  6    the task that was watched failed or was cancelled
  130  Ctrl-C: the task goes on";

/// Give tasks, follow them, answer what they ask; read what happened
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    what: What,

    #[command(flatten)]
    server: ServerArg,

    #[command(flatten)]
    data: DataArg,

    /// Print JSON; `watch`: a line for each event, and one with the task at its end
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    New(new::NewArgs),
    /// The newest tasks
    List(online::ListArgs),
    /// How a task stands, with its steps; or one step
    Show {
        task: String,
        /// One step, from the journal
        #[arg(long, value_name = "N")]
        step: Option<u32>,
        /// With every prompt and answer, whole
        #[arg(long, requires = "step")]
        full: bool,
    },
    Watch(watch::WatchArgs),
    /// What people are asked, by one task or by all
    Questions {
        task: Option<String>,
    },
    /// Answer what a task asks
    Answer {
        /// The task, or the question's id
        #[arg(value_name = "TASK|QUESTION")]
        task: String,
        /// Several words need no quotes
        #[arg(required = true, num_args = 1..)]
        answer: Vec<String>,
    },
    /// Consent to the calls that a task asks for. Shows your token, or the operator's key of a server on this machine
    Approve {
        /// The task, or the question's id
        #[arg(value_name = "TASK|QUESTION")]
        task: String,
        /// Do not consent
        #[arg(long)]
        deny: bool,
        /// Why not, or what else; the task is told
        #[arg(long, value_name = "WORDS", requires = "deny")]
        note: Option<String>,
    },
    /// End a task; calls that run are cancelled
    Cancel {
        task: String,
        /// What its journal will say
        #[arg(long, value_name = "WORDS")]
        reason: Option<String>,
    },
    /// Wake a task that sleeps
    Wake(wake::WakeArgs),
    /// Go on from a step of a task as a new task; the task itself stays as it is
    Fork {
        task: String,
        /// The last step that is carried over
        #[arg(long, value_name = "STEP")]
        at: u32,
        /// Another model for the planner, on the same model server
        #[arg(long, value_name = "MODEL")]
        model: Option<String>,
    },
    /// How a task stands, in full; from the journal
    State {
        task: String,
    },
    /// Every event of a task; from the journal
    History {
        task: String,
    },
    /// What the guards refused; from the journal
    Loops {
        task: String,
    },
    /// Every call of a task; from the journal
    Ledger {
        task: String,
    },
    /// Fold and decide a task anew, with no model and no computer, and compare with the journal
    Replay {
        #[arg(required_unless_present = "all")]
        task: Option<String>,
        /// Every task of the journal
        #[arg(long, conflicts_with = "task")]
        all: bool,
    },
    /// Write what a task's models said as a scenario, which provider "scripted" plays; from the journal
    Export {
        task: String,
        /// The file; one that is there is not replaced
        #[arg(long, value_name = "FILE")]
        scenario: PathBuf,
    },
}

impl Args {
    /// Whether the server is asked; the others read the journal.
    fn asks_the_server(&self) -> bool {
        match &self.what {
            What::List(_) | What::Show { step: None, .. } => !self.data.is_given(),
            What::New(_)
            | What::Watch(_)
            | What::Questions { .. }
            | What::Answer { .. }
            | What::Approve { .. }
            | What::Cancel { .. }
            | What::Wake(_)
            | What::Fork { .. } => true,
            _ => false,
        }
    }
}

/// Does what is asked.
///
/// # Errors
/// No server or no journal, no such task, or what the server does not do.
pub fn run(args: Args) -> Result<Exit, Failure> {
    match args.asks_the_server() {
        true => super::in_system(online(args)),
        false => offline(args),
    }
}

/// What a running server does.
async fn online(args: Args) -> Result<Exit, Failure> {
    let server = Server::new(&args.server)?;
    let (data, json) = (&args.data, args.json);
    match &args.what {
        What::New(asked) => new::run(asked, server, data, json).await,
        What::List(asked) => online::list(&server, asked, json).await,
        What::Watch(asked) => watch::run(asked, server, data, json).await,
        What::Questions { task } => people::questions(&server, task.as_deref(), json).await,
        What::Answer { task, answer } => people::answer(&server, task, answer, json).await,
        What::Approve { task, deny, note } => {
            let word = match (deny, note) {
                (false, _) => "yes".to_owned(),
                (true, None) => "no".to_owned(),
                (true, Some(note)) => format!("no: {note}"),
            };
            people::approve(server, task, &word, data, json).await
        }
        What::Cancel { task, reason } => {
            people::cancel(&server, task, reason.as_deref(), json).await
        }
        What::Wake(asked) => wake::run(asked, &server, json).await,
        What::Fork { task, at, model } => {
            fork::run(&server, task, *at, model.as_deref(), json).await
        }
        What::Show { task, .. } => online::show(&server, task, json).await,
        _ => Ok(Exit::Usage),
    }
}

/// What the journal tells.
fn offline(args: Args) -> Result<Exit, Failure> {
    let journal = Journal::open(&args.data.folder()?)?;
    let (lines, value) = match &args.what {
        What::List(asked) => {
            if asked.filters() {
                let words = "--status, --kind, --on and --owner need the server; leave --data and --config out";
                return Err(Failure::new(Exit::Usage, words));
            }
            let tasks = journal.newest(asked.limit.max(1))?;
            (pages::list(&tasks), json!({"items": tasks}))
        }
        What::Replay { all: true, .. } => return replay::all(&journal, args.json),
        What::Replay { task, .. } => {
            let task = journal.task(task.as_deref().unwrap_or_default())?;
            return replay::one(&journal, &task, args.json);
        }
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
            (loops::loops(&task.whole), loops::loops_json(&task.whole))
        }
        What::Ledger { task } => {
            let task = journal.task(task)?;
            (pages::ledger(&task.whole), pages::ledger_json(&task.whole))
        }
        // The server does these.
        _ => return Ok(Exit::Usage),
    };
    match args.json {
        true => say!("{value:#}"),
        false => lines.iter().for_each(|line| say!("{line}")),
    }
    Ok(Exit::Done)
}
