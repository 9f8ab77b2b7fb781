//! Places in the write path at which a process can be told to die, for `ccfleet torture` (docs/torture.md).
//!
//! `CCFLEET_CRASH_AT=point:n` makes the process send itself SIGKILL when it comes to that point for the n-th time: no
//! destructor runs, nothing is flushed, as when the power goes. Without the variable a point costs one relaxed load.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The variable that arms one point.
pub const VARIABLE: &str = "CCFLEET_CRASH_AT";

macro_rules! points {
    ($($(#[$words:meta])* $point:ident = $name:literal,)*) => {
        /// A place where a process may be told to die.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Point {
            $($(#[$words])* $point,)*
        }

        impl Point {
            /// All of them, in the order in which a call comes by.
            pub const ALL: &'static [Point] = &[$(Point::$point,)*];

            /// Its name in [`VARIABLE`].
            pub fn name(self) -> &'static str {
                match self {
                    $(Point::$point => $name,)*
                }
            }
        }
    };
}

points! {
    /// A task is taken up after a restart; its next generation is durable, its actor does not run yet.
    GenerationCommitted = "after_generation_commit",
    /// A model has answered, and nobody wrote it down.
    BeforeAnswerCommit = "before_answer_commit",
    /// The answer is durable with what was decided on it, and nothing of that was done.
    AfterAnswerCommit = "after_answer_commit",
    /// A decision is made and exists in memory only.
    BeforeDecidedCommit = "before_decided_commit",
    /// A decision is durable, and nothing of it was done.
    AfterDecidedCommit = "after_decided_commit",
    /// A lane granted a call its turn, and its number.
    AfterReserve = "after_reserve",
    /// The intent of a call is about to be handed to the journal.
    BeforeIntentCommit = "before_intent_commit",
    /// Rows are written, the transaction is open.
    InTransaction = "in_transaction",
    /// The transaction is durable, and those who wait for it were not told.
    CommittedUntold = "committed_untold",
    /// A call's intent is durable, its task knows, and its lane does not.
    BeforeDispatch = "before_dispatch",
    /// The lane was told to send the call.
    AfterDispatch = "after_dispatch",
    /// A call's outcome is known and about to be handed to the journal.
    BeforeResultCommit = "before_result_commit",
    /// The outcome is durable, and the computer was not told.
    BeforeResultStored = "before_result_stored",
    /// The computer is being told that it may forget the result.
    AfterResultStored = "after_result_stored",
    /// A task's end is decided and exists in memory only.
    BeforeEndCommit = "before_end_commit",
    /// A task's end is durable, and nothing was wound down.
    AfterEndCommit = "after_end_commit",
    /// A simulated computer has opened a file for writing: an emptied one is empty now.
    FileOpened = "sim_file_opened",
    /// A simulated computer is about to write into a file.
    BeforeFileWrite = "sim_before_write",
    /// A simulated computer has written into a file.
    AfterFileWrite = "sim_after_write",
}

struct Plan {
    point: Point,
    /// How often the point is still passed, the last time included.
    left: AtomicU64,
}

static ARMED: AtomicBool = AtomicBool::new(false);
static PLAN: OnceLock<Plan> = OnceLock::new();

/// Arms the point that [`VARIABLE`] names, if it names one. For the start of a process.
///
/// # Errors
/// The variable is set and names no point; the text says what it may be.
pub fn arm() -> Result<(), String> {
    let Ok(wanted) = std::env::var(VARIABLE) else {
        return Ok(());
    };
    let (point, left) = parse(&wanted)?;
    let left = AtomicU64::new(left);
    ARMED.store(PLAN.set(Plan { point, left }).is_ok(), Ordering::Relaxed);
    Ok(())
}

fn parse(wanted: &str) -> Result<(Point, u64), String> {
    let (name, count) = wanted.split_once(':').unwrap_or((wanted, "1"));
    let point = Point::ALL.iter().find(|point| point.name() == name);
    let count = count.parse().ok().filter(|count| *count > 0);
    point.copied().zip(count).ok_or_else(|| {
        let names: Vec<&str> = Point::ALL.iter().map(|point| point.name()).collect();
        let names = names.join(", ");
        format!("{VARIABLE}={wanted}: give POINT:N, with N from 1 on and POINT one of {names}")
    })
}

/// The process comes by a point, and may end here.
#[inline]
pub fn pass(point: Point) {
    if ARMED.load(Ordering::Relaxed) {
        passed(point);
    }
}

#[cold]
fn passed(point: Point) {
    if let Some(plan) = PLAN.get()
        && plan.point == point
        && plan.left.fetch_sub(1, Ordering::Relaxed) == 1
    {
        die();
    }
}

#[cfg(unix)]
fn die() {
    use rustix::process::{Signal, getpid, kill_process};
    // A process may always signal itself, and there is no way on from SIGKILL.
    let _ = kill_process(getpid(), Signal::KILL);
    loop {
        std::thread::park();
    }
}

#[cfg(not(unix))]
fn die() {
    std::process::abort();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_named_with_how_often_it_is_passed() {
        assert_eq!(parse("after_reserve:3"), Ok((Point::AfterReserve, 3)));
        assert_eq!(parse("in_transaction"), Ok((Point::InTransaction, 1)));
        for wrong in ["", "nowhere:1", "after_reserve:0", "after_reserve:x"] {
            let told = parse(wrong).unwrap_err();
            assert!(told.contains("before_dispatch"), "{told}");
        }
    }

    #[test]
    fn names_lead_back_to_their_points() {
        for point in Point::ALL {
            assert_eq!(parse(point.name()), Ok((*point, 1)));
        }
    }

    #[test]
    fn a_point_that_is_not_armed_does_nothing() {
        pass(Point::AfterReserve);
    }
}
