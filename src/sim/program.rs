//! One program on a computer of its own, to its end.

use std::path::Path;
use std::time::Duration;

use super::{ComputerConfig, SimError, SimFleet};

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramRun {
    /// True if it ended within the time limit.
    pub exited: bool,
    /// What the shell said of it: true if it ended without an error.
    pub ok: bool,
    /// All that was shown on the screen (at most the last 2,000 lines), without trailing spaces.
    pub output: String,
}

/// Runs `program` with `args` by the shell of a fresh computer whose disk is `disk`, and waits for its end.
///
/// The computer has no startup of its own; the call blocks its thread for at most `timeout` and some seconds.
///
/// # Errors
/// See [`SimFleet::start`].
pub fn run_program_to_end(
    disk: &Path,
    program: &str,
    args: &[&str],
    timeout: Duration,
) -> Result<ProgramRun, SimError> {
    let words = std::iter::once(program)
        .chain(args.iter().copied())
        .map(str::to_owned)
        .collect();
    let config = ComputerConfig {
        program: Some(words),
        keep_output: true,
        ..ComputerConfig::new(0, disk)
    };
    run_config_to_end(config, timeout)
}

/// Like [`run_program_to_end`], for a computer whose configuration has a `program`.
pub(crate) fn run_config_to_end(
    config: ComputerConfig,
    timeout: Duration,
) -> Result<ProgramRun, SimError> {
    let id = config.id;
    let fleet = SimFleet::start(vec![config])?;
    let computer = fleet.computer(id)?;
    let ended = |c: &super::Computer| c.program_result().is_some() || c.last_error().is_some();
    let exited = computer.block_until(timeout, ended);
    let output = computer.screen().transcript();
    Ok(ProgramRun {
        exited,
        ok: computer.program_result().unwrap_or(false),
        output,
    })
}
