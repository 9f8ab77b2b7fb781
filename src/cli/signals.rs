//! SIGINT and SIGTERM, as people and service managers send them.

/// The signals that ask the server to stop.
pub(super) struct Signals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    pub fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(not(unix))]
impl Signals {
    pub fn new() -> std::io::Result<Self> {
        Ok(Signals {})
    }

    pub async fn next(&mut self) {
        // Without a handler there is nothing to wait for: stop.
        let _ = tokio::signal::ctrl_c().await;
    }
}
