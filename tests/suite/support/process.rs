//! The `ccfleet` program as a process: its lines as they come, and its end, gentle or not.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// A running `ccfleet`. Killed when dropped.
pub struct Program {
    child: Child,
    lines: Receiver<String>,
    /// Everything it printed so far, standard error included.
    pub said: Vec<String>,
}

impl Program {
    pub fn start(args: &[&str], env: &[(&str, &str)]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ccfleet"));
        command
            .args(args)
            .envs(env.iter().copied())
            .stdin(Stdio::null());
        // A developer's own settings must not decide a test.
        command.env_remove("RUST_LOG");
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let stdout = child.stdout.take().unwrap();
        let stderr = child.stderr.take().unwrap();
        let also = sender.clone();
        std::thread::spawn(move || {
            BufReader::new(stdout)
                .lines()
                .map_while(Result::ok)
                .all(|l| sender.send(l).is_ok())
        });
        std::thread::spawn(move || {
            BufReader::new(stderr)
                .lines()
                .map_while(Result::ok)
                .all(|l| also.send(l).is_ok())
        });
        Program {
            child,
            lines,
            said: Vec::new(),
        }
    }

    /// Reads until a line holds `part`, and gives that line.
    pub fn wait_for_line(&mut self, part: &str, within: Duration) -> String {
        let deadline = Instant::now() + within;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => {
                    self.said.push(line.clone());
                    if line.contains(part) {
                        return line;
                    }
                }
                Err(RecvTimeoutError::Timeout) => panic!(
                    "no line with {part:?} in {within:?}:\n{}",
                    self.said.join("\n")
                ),
                Err(RecvTimeoutError::Disconnected) => panic!(
                    "it ended without a line with {part:?}:\n{}",
                    self.said.join("\n")
                ),
            }
        }
    }

    /// Waits for its own end and reads all that it says until then.
    pub fn wait_for_end(&mut self, within: Duration) -> ExitStatus {
        let deadline = Instant::now() + within;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => self.said.push(line),
                Err(RecvTimeoutError::Disconnected) => return self.child.wait().unwrap(),
                Err(RecvTimeoutError::Timeout) => {
                    panic!("it did not end in {within:?}:\n{}", self.said.join("\n"))
                }
            }
        }
    }

    /// SIGKILL: nothing is tidied up.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// SIGTERM.
    pub fn terminate(&self) {
        let done = Command::new("kill")
            .args(["-TERM", &self.child.id().to_string()])
            .status()
            .unwrap();
        assert!(done.success());
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
