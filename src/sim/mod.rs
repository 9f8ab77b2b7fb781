//! Simulated ComputerCraft computers: an embedded Lua machine each, cheap enough for hundreds in one process.
//!
//! They run the same `lua/` folder that runs in the game, unchanged, and keep the truths of real computers that
//! break programs: a queue of 256 events that drops silently, 50 ms ticks, messages of at most 131,072 bytes in
//! one frame, no Close frames, seven seconds without yielding. [`SimFleet`] holds the computers; a program that
//! is to run alone goes through [`run_program_to_end`]. The ROM is our own.
//!
//! How it fits together: a [`Computer`] owns a queue and a Lua machine (`vm`); workers (`sched`) resume machines
//! that have events; one I/O thread (`fleet`) ticks the clock and drives all sockets (`net`). Lua reaches Rust
//! only through the table of `native`, and the host's files only through `disk`. Turtles share one block `world`;
//! `hardware` is what is attached to a computer; `faults` and `chaos` are what goes wrong on purpose.

mod chaos;
mod clock;
mod computer;
mod config;
mod dialect;
mod disk;
mod event;
mod faults;
mod fleet;
mod hardware;
mod limits;
mod native;
mod net;
mod program;
mod sched;
mod screen;
mod settings_file;
mod text;
mod version;
mod vm;
mod world;

#[cfg(test)]
mod tests;

use std::path::PathBuf;

pub(crate) use chaos::Random;
pub use chaos::{Chaos, ChaosPlan, Tally};
pub use computer::Computer;
pub use config::{ComputerConfig, Kind, TurtleSetup, host_computer};
pub use faults::{Fault, FaultKind};
pub use fleet::SimFleet;
pub use hardware::{Attached, Device};
pub use net::{HttpRules, RuleError};
pub use program::{ProgramRun, run_program_to_end};
pub use version::{CcVersion, VersionError};
pub use world::{Facing, Place};

/// What can go wrong around simulated computers (what goes wrong inside of one is shown on its screen).
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// A computer's folder cannot be used.
    #[error("cannot use {} as a computer's disk: {source}", path.display())]
    Disk {
        /// The folder or the file in it.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// An existing `.settings` file does not hold a table.
    #[error("{} is no settings file: {reason}", path.display())]
    Settings {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Two computers of a fleet have the same number.
    #[error("two computers have the number {0}")]
    DuplicateId(u32),
    /// There is no such computer in the fleet.
    #[error("there is no computer number {0}")]
    UnknownComputer(u32),
    /// The fleet's thread or runtime did not start.
    #[error("cannot start the simulation: {0}")]
    Start(#[source] std::io::Error),
    /// What was waited for did not happen.
    #[error("computer {computer}: waited in vain for {what}; its screen:\n{screen}")]
    Timeout {
        /// Which computer.
        computer: u32,
        /// What was waited for.
        what: String,
        /// Its screen at that moment.
        screen: String,
    },
}
