//! The command line: one file a subcommand, each with an `Args` and a `run`.
//!
//! Exit codes: 0 done · 1 it went wrong while running · 2 wrong use or settings · 3 the address cannot be
//! listened on · 4 the data folder or its journal cannot be used · 5 no server answers · 6 the task that was
//! watched failed or was cancelled · 130 stopped by Ctrl-C.

/// `println!` to somebody who may have stopped listening: `ccfleet demo | head` goes on to its end.
macro_rules! say {
    ($($words:tt)*) => { $crate::cli::say_line(format_args!($($words)*)) };
}

pub mod call;
pub mod completions;
pub mod config;
mod data;
pub mod demo;
pub mod doctor;
pub mod eval;
mod first_tokens;
pub mod fleet;
pub mod health;
pub mod init;
pub mod journal;
pub mod kind;
pub mod serve;
mod server;
mod signals;
pub mod sim;
pub mod task;
pub mod token;
pub mod torture;
mod words;

use clap::{Parser, Subcommand};
use serde_json::{Value, json};
use std::process::ExitCode;

const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    it went wrong while running
  2    wrong use or settings
  3    the address cannot be listened on; for `call`: not carried out, or nobody can tell
  4    the data folder or its journal cannot be used
  5    no server answers
  6    the task that was watched failed or was cancelled
  130  stopped at once by a second Ctrl-C; for `call` and `task watch`: by the first";

const FIRST_STEPS: &str = "\
First steps:
  ccfleet demo                                 see a model mend a program, with nothing installed
  ccfleet doctor                               is a model server there? what is missing?
  ccfleet serve                                start the server, and leave it running
  wget run http://HOST:PORT/install.lua        on a ComputerCraft computer: it joins
  ccfleet sim                                  or without Minecraft: a simulated computer
  ccfleet fleet                                who is there, and what can they do?
  ccfleet task new \"write /hello.lua that prints the day, and run it\" --watch

Every command has examples: ccfleet COMMAND --help. All that ask a server take --server URL (or CCFLEET_SERVER), --token-file
FILE (or CCFLEET_TOKEN) and --json.
";

/// Local language models run fleets of ComputerCraft computers.
#[derive(Debug, Parser)]
#[command(name = "ccfleet", version, after_help = format!("{FIRST_STEPS}\n{EXIT_CODES}"))]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Call(call::Args),
    Completions(completions::Args),
    Config(config::Args),
    Demo(demo::Args),
    Doctor(doctor::Args),
    Eval(eval::Args),
    Fleet(fleet::Args),
    Health(health::Args),
    Init(init::Args),
    Journal(journal::Args),
    Kind(kind::Args),
    Serve(serve::Args),
    Sim(sim::SimArgs),
    Task(task::Args),
    Token(token::Args),
    Torture(torture::Args),
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    Done = 0,
    Failed = 1,
    Usage = 2,
    Address = 3,
    Data = 4,
    NoServer = 5,
    TaskFailed = 6,
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// A command that did not do what was asked, with the text for people.
#[derive(Debug)]
pub struct Failure {
    pub exit: Exit,
    pub text: String,
    /// What the server said, where it was the server that refused.
    pub problem: Option<Box<Value>>,
    /// The command's own JSON has said it already.
    pub told: bool,
}

impl Failure {
    pub fn new(exit: Exit, error: impl std::fmt::Display) -> Self {
        Failure {
            exit,
            text: error.to_string(),
            problem: None,
            told: false,
        }
    }

    /// For programs: `{"error": {…}}` with the server's own words where there are any.
    fn as_json(&self) -> Value {
        let mut error = json!({"message": self.text, "exit": self.exit as u8});
        if let (Some(problem), Some(error)) = (&self.problem, error.as_object_mut()) {
            for key in ["code", "detail", "field", "hint"] {
                if let Some(said) = problem.get(key) {
                    error.insert(key.to_owned(), said.clone());
                }
            }
        }
        json!({"error": error})
    }
}

/// Whether the command was asked for JSON, of whichever kind it was.
fn wants_json(mut words: impl Iterator<Item = String>) -> bool {
    words
        .find(|word| word == "--json" || word == "--")
        .as_deref()
        == Some("--json")
}

fn say_line(words: std::fmt::Arguments<'_>) {
    use std::io::Write;
    // A pipe that was closed is the reader's choice, no failure of the command.
    let _ = writeln!(std::io::stdout(), "{words}");
}

/// Reads the command line and does what it says.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.command {
        Command::Call(args) => match in_system(call::run(args)) {
            Ok(code) => return code,
            Err(failure) => Err(failure),
        },
        Command::Completions(args) => completions::run(&args),
        Command::Config(args) => config::run(&args),
        Command::Health(args) => in_system(health::run(args)),
        Command::Init(args) => init::run(&args),
        Command::Kind(args) => in_system(kind::run(args)),
        Command::Fleet(args) => in_system(fleet::run(args)),
        Command::Demo(args) => in_system(demo::run(args)),
        Command::Doctor(args) => in_system(doctor::run(args)),
        Command::Eval(args) => in_system(eval::run(args)),
        Command::Serve(args) => in_system(serve::run(args)),
        Command::Journal(args) => journal::run(args),
        Command::Task(args) => task::run(args),
        Command::Token(args) => in_system(token::run(args)),
        Command::Torture(args) => in_system(torture::run(args)),
        Command::Sim(args) => match sim::run(args) {
            Ok(exit) => return exit,
            Err(error) => Err(Failure::new(Exit::Usage, error)),
        },
    };
    match done {
        Ok(exit) => exit.into(),
        Err(failure) => {
            match wants_json(std::env::args().skip(1)) && !failure.told {
                true => eprintln!("{}", failure.as_json()),
                false => eprintln!("ccfleet: {}", failure.text),
            }
            failure.exit.into()
        }
    }
}

/// Runs a command inside an actor system.
fn in_system<T>(command: impl Future<Output = T>) -> T {
    actix::System::new().block_on(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_told_as_json_where_json_was_asked_for() {
        let asked = |line: &str| wants_json(line.split(' ').map(str::to_owned));
        assert!(asked("fleet list --json"));
        assert!(!asked("task new -- --json"));
        assert!(!asked("fleet list"));
        let mut failure = Failure::new(Exit::NoServer, "no server answers");
        assert_eq!(
            failure.as_json(),
            json!({"error": {"message": "no server answers", "exit": 5}})
        );
        failure.problem = Some(Box::new(
            json!({"code": "busy", "hint": "wait", "status": 429}),
        ));
        assert_eq!(failure.as_json()["error"]["code"], "busy");
        assert_eq!(failure.as_json()["error"]["status"], Value::Null);
    }
}
