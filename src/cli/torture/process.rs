//! A child process: its lines as they come, SIGKILL, and a disk that is full for it alone.

use crate::cli::{Exit, Failure};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// A running `ccfleet`. Killed when dropped.
pub struct Process {
    child: Child,
    /// What it prints on standard output. Its number is bounded by what a start says.
    pub lines: UnboundedReceiver<String>,
}

/// A file that several processes append what they say to.
#[derive(Clone)]
pub struct LogFile(Arc<Mutex<std::fs::File>>);

impl LogFile {
    /// # Errors
    /// It cannot be made.
    pub fn new(path: &Path) -> std::io::Result<Self> {
        let file = std::fs::File::options()
            .create(true)
            .append(true)
            .open(path)?;
        Ok(LogFile(Arc::new(Mutex::new(file))))
    }

    /// What cannot be logged is lost: the log is for people who look for a reason later.
    pub fn line(&self, line: &str) {
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = writeln!(file, "{line}");
    }
}

/// The shell turns the signal for files over the limit off, which a program inherits: writing then fails with an error,
/// as on a full disk.
const WITHOUT_SIGNAL: &str = "trap '' XFSZ; exec \"$0\" \"$@\"";

impl Process {
    /// # Errors
    /// It cannot be started.
    pub fn start(
        program: &Path,
        args: &[String],
        env: &[(&str, String)],
        log: &LogFile,
    ) -> Result<Self, Failure> {
        let mut command = if cfg!(target_os = "linux") {
            let mut shell = Command::new("sh");
            shell.arg("-c").arg(WITHOUT_SIGNAL).arg(program);
            shell
        } else {
            Command::new(program)
        };
        command.args(args);
        for (name, _) in std::env::vars_os() {
            // Somebody's own settings must not decide what is tortured.
            if name.to_string_lossy().starts_with("CCFLEET") {
                command.env_remove(name);
            }
        }
        command.env_remove("RUST_LOG");
        command.envs(env.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| {
            let text = format!("cannot start {}: {error}", program.display());
            Failure::new(Exit::Failed, text)
        })?;
        let (told, lines) = unbounded_channel();
        read_lines(child.stdout.take(), log.clone(), move |line| {
            // Who stopped listening has heard enough.
            let _ = told.send(line);
        });
        read_lines(child.stderr.take(), log.clone(), |_| {});
        Ok(Process { child, lines })
    }

    /// Whether it has ended.
    pub fn is_dead(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// SIGKILL; returns when it is gone.
    pub fn kill(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// From now on no file of the process grows and none is written to, or all is well again. False where this cannot
    /// be done.
    pub fn fill_disk(&self, full: bool) -> bool {
        limit_files(self.child.id(), full)
    }

    /// SIGTERM.
    pub fn terminate(&self) {
        #[cfg(unix)]
        {
            use rustix::process::{Pid, Signal, kill_process};
            let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
            if let Some(pid) = pid {
                // It may have ended by itself.
                let _ = kill_process(pid, Signal::TERM);
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

fn read_lines(
    from: Option<impl Read + Send + 'static>,
    log: LogFile,
    mut told: impl FnMut(String) + Send + 'static,
) {
    let Some(from) = from else { return };
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            log.line(&line);
            told(line);
        }
    });
}

#[cfg(target_os = "linux")]
fn limit_files(process: u32, full: bool) -> bool {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    let Some(pid) = i32::try_from(process).ok().and_then(Pid::from_raw) else {
        return false;
    };
    let limit = Rlimit {
        current: full.then_some(0),
        maximum: None,
    };
    prlimit(Some(pid), Resource::Fsize, limit).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn limit_files(_process: u32, _full: bool) -> bool {
    false
}
