//! Logging: one line an event on standard error, so that standard output stays for results.

use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;

/// Others' crates that tell of their own workings as `info`; heard below `warn` only when they are named.
const QUIET: &[&str] = &["actix_server"];

fn with_quiet_guests(filter: &str) -> String {
    let unnamed = QUIET.iter().filter(|guest| !filter.contains(**guest));
    unnamed.fold(filter.to_owned(), |all, guest| {
        format!("{guest}=warn,{all}")
    })
}

/// Starts logging with a filter such as `info` or `ccfleet=debug,actix_web=warn`. A second call changes nothing.
///
/// # Errors
/// The filter cannot be read; the text says why.
pub fn init(filter: &str) -> Result<(), String> {
    let filter = EnvFilter::builder()
        .parse(with_quiet_guests(filter))
        .map_err(|error| format!("the log filter \"{filter}\" cannot be read: {error}"))?;
    // Fails only if logging was started before, for example by a test.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .try_init();
    Ok(())
}
