//! `ccfleet journal`: the journal as a whole.

use super::data::DataArg;
use super::{Exit, Failure};
use crate::store::StoreError;
use crate::store::sqlite::checkpoints::{self, Found};
use crate::store::sqlite::prune::{Pruned, prune};
use crate::store::sqlite::transfer;
use serde_json::json;
use std::io::{BufWriter, IsTerminal, Write};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  ccfleet journal check                           every checksum, position, blob, fold and checkpoint
  ccfleet journal backup /backups/journal.db      a copy as of this moment; the server may run on
  ccfleet journal export > journal.jsonl          everything as JSON lines
  ccfleet journal import --data /srv/new < journal.jsonl
  ccfleet journal prune --days 90 --dry-run       what ended over 90 days ago; without --dry-run it is taken out
  ccfleet journal drop-checkpoints                the next start folds every task from its events

To put a backup back: stop the server, put the file into the data folder as journal.db (without journal.db-wal and journal.db-shm
beside it), start again. Computers that got further than the backup are held back until an operator resumes them.

Exit codes: 0 done, 1 something is wrong with the journal, 2 wrong use, 4 the journal cannot be read or written.";

/// Look the whole journal through, back it up, write it out as JSON lines and read it back, take old tasks out
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    what: What,

    #[command(flatten)]
    data: DataArg,

    /// Print JSON (`check`, `prune`, `drop-checkpoints`)
    #[arg(long, global = true)]
    json: bool,
}

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Look everything through; nothing is changed
    Check,
    /// Write everything out as JSON lines, to standard output
    Export,
    /// Make a new journal out of JSON lines, from standard input
    Import,
    /// Take tasks out that ended long ago, and what nothing refers to any more; no server may run on the journal
    Prune {
        /// Only tasks that ended more than so many days ago
        #[arg(long, value_name = "DAYS")]
        days: u32,

        /// Only tell what would be taken out
        #[arg(long)]
        dry_run: bool,
    },
    /// Throw all checkpoints away: tasks are folded from their events; no server may run on the journal
    DropCheckpoints,
    /// Copy the journal to a new file, also while a server runs
    Backup {
        #[arg(value_name = "FILE")]
        to: PathBuf,
    },
}

fn failed(error: StoreError) -> Failure {
    Failure::new(Exit::Data, format!("{error} ({})", error.code()))
}

fn told(found: Found) -> String {
    match found {
        Found { all, of_others: 0 } => format!("{all} checkpoints"),
        Found { all, of_others } => {
            format!("{all} checkpoints ({of_others} of another version, not used)")
        }
    }
}

/// Does what is asked.
///
/// # Errors
/// There is no journal, or it cannot be read or written.
pub fn run(args: Args) -> Result<Exit, Failure> {
    let folder = args.data.folder()?;
    match args.what {
        What::Check => {
            let (counts, problems) = transfer::check(&folder).map_err(failed)?;
            if args.json {
                let items: Vec<_> = problems
                    .iter()
                    .map(|p| json!({"task_id": p.task_id, "problem": p.what}))
                    .collect();
                say!(
                    "{:#}",
                    json!({"tasks": counts.tasks, "events": counts.events, "blobs": counts.blobs,
                        "checkpoints": counts.checkpoints.all, "checkpoints_of_other_versions": counts.checkpoints.of_others,
                        "problems": items})
                );
            } else {
                for problem in &problems {
                    match &problem.task_id {
                        Some(task) => say!("{task}: {}", problem.what),
                        None => say!("{}", problem.what),
                    }
                }
                let end = match problems.len() {
                    0 => "nothing is wrong".to_owned(),
                    many => format!("{many} problems"),
                };
                say!(
                    "{} tasks, {} events, {} blobs, {}: {end}",
                    counts.tasks,
                    counts.events,
                    counts.blobs,
                    told(counts.checkpoints),
                );
            }
            Ok(if problems.is_empty() {
                Exit::Done
            } else {
                Exit::Failed
            })
        }
        What::Export => {
            let mut out = BufWriter::new(std::io::stdout().lock());
            let lines = transfer::export(&folder, &mut out).map_err(failed)?;
            out.flush()
                .map_err(|error| Failure::new(Exit::Data, error))?;
            eprintln!("ccfleet: {lines} rows written out");
            Ok(Exit::Done)
        }
        What::Import => {
            let input = std::io::stdin();
            if input.is_terminal() {
                let words = "give the lines on standard input: ccfleet journal import --data DIR < journal.jsonl";
                return Err(Failure::new(Exit::Usage, words));
            }
            // Held while the journal is made, so that no server begins one there meanwhile.
            let folder = crate::app::DataFolder::lock(&folder)
                .map_err(|error| Failure::new(Exit::Data, error))?;
            let rows = transfer::import(folder.path(), &mut input.lock()).map_err(failed)?;
            say!("{rows} rows read into {}", folder.path().display());
            Ok(Exit::Done)
        }
        What::Prune { days, dry_run } => {
            // Held, so that no server begins on it meanwhile.
            let folder = crate::app::DataFolder::lock(&folder)
                .map_err(|error| Failure::new(Exit::Data, error))?;
            let before = crate::clock::now_ms().saturating_sub(i64::from(days) * DAY_MS);
            let out = prune(folder.path(), before, dry_run).map_err(failed)?;
            let Pruned {
                tasks,
                events,
                blobs,
            } = out;
            match (args.json, dry_run) {
                (true, _) => say!(
                    "{:#}",
                    json!({"tasks": tasks, "events": events, "blobs": blobs, "dry_run": dry_run})
                ),
                (false, true) => say!(
                    "{tasks} tasks with {events} events, and {blobs} blobs, would be taken out"
                ),
                (false, false) => {
                    say!("{tasks} tasks with {events} events, and {blobs} blobs, are taken out")
                }
            }
            Ok(Exit::Done)
        }
        What::DropCheckpoints => {
            let folder = crate::app::DataFolder::lock(&folder)
                .map_err(|error| Failure::new(Exit::Data, error))?;
            let dropped = checkpoints::drop_all(folder.path()).map_err(failed)?;
            match args.json {
                true => say!("{:#}", json!({"checkpoints": dropped})),
                false => say!("{dropped} checkpoints are thrown away"),
            }
            Ok(Exit::Done)
        }
        What::Backup { to } => {
            transfer::backup(&folder, &to).map_err(failed)?;
            say!("backed up to {}", to.display());
            Ok(Exit::Done)
        }
    }
}
