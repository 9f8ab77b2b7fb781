//! `ccfleet torture`: the real program, killed again and again, and a count at the end.
//!
//! `plan` says what is done to whom, from a seed; `run` does it to the processes that `stage` starts; `voice` is
//! the model behind `model`'s faulty server, and plays the part that `parts` gives each task; `errands` are what people do
//! meanwhile, `bell` is a computer that tells of events; `proxy` is the wire between computers and server. At the end `evidence`
//! collects what the journal and the disks say, and `count` compares them.

mod bell;
mod computers;
mod count;
mod errands;
mod evidence;
mod feed;
mod looks;
mod manners;
mod model;
mod parts;
mod plan;
mod process;
mod proxy;
mod report;
mod run;
mod stage;
mod voice;

use super::signals::Signals;
use super::{Exit, Failure};
use count::{Evidence, Verdict};
use feed::Load;
use model::{Minds, ModelServer};
use report::Report;
use run::{Ended, Run};
use stage::Stage;
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

const EXAMPLES: &str = "\
Examples:
  ccfleet torture                                      40 tasks, 60 kills: about two minutes
  ccfleet torture --tasks 200 --kills 1000 --json      the bar that a release has to pass
  ccfleet torture --seed 7 --dir ./torture             the same plan again; everything stays in ./torture

What it does and what the figures mean: docs/torture.md. The same seed gives the same plan; when each blow falls is not
the same, because time is real.

Exit codes: 0 every promise was kept, 1 one was broken (the folder is kept), 2 wrong use, 130 stopped.";

/// Kill the server and its computers again and again, and count what was lost or done twice
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// How many tasks
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub tasks: u32,

    /// How many processes are killed
    #[arg(long, value_name = "K", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub kills: u64,

    /// Decides who is killed where
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,

    /// How many simulated computers, each a process of its own
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=32))]
    pub computers: u32,

    /// Folder of the server's data and the computers' disks; must be new or empty [default: a temporary one, which is
    /// kept if a promise was broken]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,

    /// The program that is tortured [default: this one]
    #[arg(long, value_name = "FILE")]
    pub server_bin: Option<PathBuf>,

    /// Print one JSON object as the last line
    #[arg(long)]
    pub json: bool,
}

/// Tasks that live at once on each computer: enough that calls are in flight whenever somebody looks.
const LIVE_PER_COMPUTER: usize = 4;

/// Tortures.
///
/// # Errors
/// It did not come about: a folder or a process that could not be had.
pub async fn run(args: Args) -> Result<Exit, Failure> {
    let mut signals = Signals::new().map_err(|error| Failure::new(Exit::Failed, error))?;
    let (dir, temporary) = folder(args.dir.as_deref())?;
    let begun = Instant::now();
    let load = load(&args);
    let kills = Arc::new(AtomicU64::new(0));
    let counted = kills.clone();
    let minds = Minds::new(args.seed, move |mark| {
        load.is_enough(mark, counted.load(Ordering::Relaxed))
    });
    let model = ModelServer::start(minds.clone())?;
    let stop = Rc::new(Cell::new(false));
    let stopping = stop.clone();
    actix_rt::spawn(async move {
        signals.next().await;
        stopping.set(true);
    });
    let binary = match &args.server_bin {
        Some(binary) => binary.clone(),
        None => std::env::current_exe().map_err(|error| Failure::new(Exit::Failed, error))?,
    };
    say!("seed {}, everything in {}", args.seed, dir.display());
    let stage = Stage::build(&dir, &binary, model.address, 2 * load.live + 16)?;
    let ended = Run::new(stage.clone(), load, args.seed, kills, stop)
        .await?
        .carry_out()
        .await;
    model.stop().await;
    let ended = ended.inspect_err(|_| say!("everything is kept in {}", dir.display()))?;
    let report = Report {
        tasks: load.tasks,
        verdict: judge(&stage, load, &ended)?,
        tally: ended.tally,
        model: minds.counts(),
        seconds: begun.elapsed().as_secs(),
    };
    tell(&args, &report);
    let clean = report.verdict.is_clean();
    if clean && ended.finished && temporary {
        // What cannot be removed is in the system's folder for such things.
        let _ = std::fs::remove_dir_all(&dir);
    } else {
        say!("everything is kept in {}", dir.display());
    }
    if args.json {
        say!("{}", report.to_json());
    }
    Ok(match (clean, ended.finished) {
        (false, _) => Exit::Failed,
        (true, false) => Exit::Interrupted,
        (true, true) => Exit::Done,
    })
}

fn load(args: &Args) -> Load {
    let computers = args.computers as usize;
    let tasks = args.tasks as usize;
    Load {
        tasks,
        live: tasks.min(computers * LIVE_PER_COMPUTER),
        computers,
        kills: args.kills,
    }
}

/// The folder, and whether it is a temporary one.
fn folder(wanted: Option<&Path>) -> Result<(PathBuf, bool), Failure> {
    let Some(dir) = wanted else {
        let name = format!("ccfleet-torture-{}", ulid::Ulid::generate());
        return Ok((std::env::temp_dir().join(name), true));
    };
    let used = std::fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some());
    if used {
        let text = format!("{} is not empty; name a new folder", dir.display());
        return Err(Failure::new(Exit::Usage, text));
    }
    Ok((dir.to_owned(), false))
}

fn judge(stage: &Stage, load: Load, ended: &Ended) -> Result<Verdict, Failure> {
    let mut evidence = Evidence {
        accepted: ended.accepted.clone(),
        explained: ended.explained.clone(),
        answers: ended.promised.answers.borrow().clone(),
        wakes: ended.promised.wakes.borrow().clone(),
        forks: ended.promised.forks.borrow().clone(),
        finished: ended.finished,
        ..Evidence::default()
    };
    let data = stage.data();
    evidence::read_journal(&data, &mut evidence)
        .and_then(|()| evidence::check_journal(&data, &mut evidence))
        .map_err(|error| Failure::new(Exit::Failed, error))?;
    for computer in 0..load.computers {
        evidence::read_disk(&stage.disk(computer), &mut evidence);
    }
    let mut verdict = count::count(&evidence);
    let not_taken = load.tasks - ended.accepted.len().min(load.tasks);
    if ended.finished && not_taken > 0 {
        verdict.lost_tasks += not_taken;
        let text = format!("{not_taken} tasks were never taken");
        verdict.complaints.push(text);
    }
    Ok(verdict)
}

/// Complaints that are shown; all of them are in the folder to be found again.
const SHOWN_COMPLAINTS: usize = 20;

fn tell(args: &Args, report: &Report) {
    let complaints = &report.verdict.complaints;
    for complaint in complaints.iter().take(SHOWN_COMPLAINTS) {
        say!("BROKEN {complaint}");
    }
    if complaints.len() > SHOWN_COMPLAINTS {
        say!("… and {} more", complaints.len() - SHOWN_COMPLAINTS);
    }
    if !args.json {
        say!("");
        report.table().iter().for_each(|line| say!("{line}"));
        let verdict = match report.verdict.is_clean() {
            true => "Every promise was kept.",
            false => "A promise was BROKEN.",
        };
        say!("\n{verdict}");
    }
}
