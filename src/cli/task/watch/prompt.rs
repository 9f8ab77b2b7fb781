//! Lines that a person types while a task is watched.

use std::io::{BufRead, IsTerminal, Write};
use tokio::sync::mpsc::{Receiver, channel};

/// Standard input, if somebody sits there or it was said to be the answers.
pub(super) struct Prompt {
    may_ask: bool,
    /// There from the first question on: before, nothing is taken from what others may want to read.
    lines: Option<Receiver<String>>,
    ended: bool,
}

impl Prompt {
    /// `wanted` is whether people are spoken to at all.
    pub fn new(wanted: bool, from_stdin: bool) -> Self {
        let sits = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        Prompt {
            may_ask: wanted && (sits || from_stdin),
            lines: None,
            ended: false,
        }
    }

    pub fn is_there(&self) -> bool {
        self.may_ask && !self.ended
    }

    /// Asks for a line.
    pub fn show(&mut self, approval: bool) {
        if self.lines.is_none() {
            self.lines = Some(read_lines());
        }
        let words = if approval { "yes or no> " } else { "answer> " };
        // A prompt that cannot be shown is no reason to end.
        let mut out = std::io::stdout();
        let _ = write!(out, "{words}").and_then(|()| out.flush());
    }

    /// The next line; none when there will be no more, and then never again.
    pub async fn typed(&mut self) -> Option<String> {
        match (&mut self.lines, self.ended) {
            (Some(lines), false) => {
                let line = lines.recv().await;
                self.ended = line.is_none();
                line
            }
            _ => std::future::pending().await,
        }
    }
}

/// A thread of its own: reading a terminal cannot be given up, and ends with the process.
fn read_lines() -> Receiver<String> {
    let (sender, lines) = channel(1);
    std::thread::spawn(move || {
        let typed = std::io::stdin().lock().lines().map_while(Result::ok);
        for line in typed {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    lines
}
