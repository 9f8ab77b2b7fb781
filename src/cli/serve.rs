//! `ccfleet serve`

use super::signals::Signals;
use super::{Exit, Failure, first_tokens};
use crate::app::{App, AppError, Options, RunningApp};
use crate::config::{Loader, RoleSettings, Settings};
use crate::telemetry;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  ccfleet serve
      models from Ollama on this machine, data in ./ccfleet-data
  ccfleet serve --bind 127.0.0.1:9000 --data /srv/ccfleet
  ccfleet serve --config fleet.toml --log ccfleet=debug
  CCFLEET__MODELS__PLANNER__MODEL=qwen3:8b ccfleet serve

A computer connects to ws://HOST:PORT/ws; to try it without Minecraft:
  ccfleet sim --server ws://127.0.0.1:8080/ws --count 1

Ctrl-C or SIGTERM stops in order (tasks go on at the next start); a second Ctrl-C stops at once.

Exit codes:
  0    stopped in order
  1    it went wrong while running
  2    wrong use or settings
  3    the address cannot be listened on
  4    the data folder or its journal cannot be used
  130  stopped at once by a second Ctrl-C";

/// Run the server: computers connect to it, tasks are given to it.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Address and port to listen on; port 0 takes a free one [default: 127.0.0.1:8080]
    #[arg(long, value_name = "IP:PORT")]
    pub bind: Option<String>,

    /// Folder of the journal; made if it is missing, used by one server at a time [default: ./ccfleet-data]
    #[arg(long, value_name = "DIR")]
    pub data: Option<String>,

    /// Settings file; later wins: defaults, this file, CCFLEET__SECTION__KEY variables, flags
    #[arg(long, value_name = "FILE", env = "CCFLEET_CONFIG")]
    pub config: Option<PathBuf>,

    /// What is logged to standard error, for example "debug" or "ccfleet=debug" [default: info]
    #[arg(long, value_name = "FILTER")]
    pub log: Option<String>,

    /// How the log is written: "text" or "json" [default: text]
    #[arg(long, value_name = "FORMAT")]
    pub log_format: Option<String>,

    /// Listen on an address that others can reach although nobody has to show a token. Everyone who reaches it can
    /// run programs on every computer of the fleet: only for a network that is yours alone
    #[arg(long, env = "CCFLEET_ALLOW_UNSAFE_PUBLIC")]
    pub allow_unsafe_public: bool,

    /// At the first start make a token for you and one for the computers, and print them this once: for containers
    #[arg(long, env = "CCFLEET_FIRST_TOKENS")]
    pub first_tokens: bool,
}

/// Serves until a signal.
///
/// # Errors
/// The server did not start.
pub async fn run(args: Args) -> Result<Exit, Failure> {
    crate::crash_points::arm().map_err(|text| Failure::new(Exit::Usage, text))?;
    let settings = load(&args).map_err(|error| Failure::new(Exit::Usage, error))?;
    telemetry::init(&settings.log).map_err(|text| Failure::new(Exit::Usage, text))?;
    let mut signals = Signals::new().map_err(|error| Failure::new(Exit::Failed, error))?;
    if args.first_tokens {
        first_tokens::make(&settings.server.data_dir)?;
    }
    let options = Options {
        allow_unsafe_public: args.allow_unsafe_public,
        ..Options::default()
    };
    let app = App::start(settings, options)
        .await
        .map_err(|error| Failure::new(exit_of(&error), error))?;
    announce(&app);
    signals.next().await;
    eprintln!("ccfleet: stopping; Ctrl-C again stops at once");
    tokio::select! {
        () = app.stop() => Ok(Exit::Done),
        () = signals.next() => Err(Failure::new(
            Exit::Interrupted,
            "stopped at once; what was answered is durable, tasks go on at the next start",
        )),
    }
}

fn load(args: &Args) -> Result<Settings, crate::config::ConfigError> {
    let mut loader = Loader::new();
    if let Some(file) = &args.config {
        loader = loader.with_file(file);
    }
    loader
        .with_process_env()
        .with_optional_override("server.bind", args.bind.clone())
        .with_optional_override("server.data_dir", args.data.clone())
        .with_optional_override("log.filter", args.log.clone())
        .with_optional_override("log.format", args.log_format.clone())
        .load()
}

pub(super) fn exit_of(error: &AppError) -> Exit {
    match error {
        AppError::PublicBind { .. }
        | AppError::Models(_)
        | AppError::Prompts(_)
        | AppError::Kinds(_) => Exit::Usage,
        AppError::Bind { .. } => Exit::Address,
        AppError::Folder(_)
        | AppError::Store(_)
        | AppError::Computers(_)
        | AppError::Restore(_) => Exit::Data,
    }
}

/// Tells people what they need to go on.
fn announce(app: &RunningApp) {
    let address = app.address();
    let url = app.websocket_url();
    say!(
        "ccfleet {} listens on http://{address}",
        env!("CARGO_PKG_VERSION")
    );
    say!("  data      {}", app.data_folder().display());
    say!("  planner   {}", model(&app.settings().models.planner));
    say!("  executor  {}", model(&app.settings().models.executor));
    say!("  computers connect to {url}");
    say!("  try one   ccfleet sim --server {url} --count 1");
    let tokens = app.tokens();
    if !tokens.is_empty() {
        let people = if tokens.people_need() {
            "people and computers"
        } else {
            "computers"
        };
        say!("  tokens    {people} have to show one");
        if !address.ip().is_loopback() {
            tracing::warn!(%address, "tokens travel unencrypted: put a proxy with TLS before it (docs/security.md)");
        }
    } else if !address.ip().is_loopback() {
        tracing::warn!(
            %address,
            "UNSAFE: others can reach this address and nobody has to show a token; everyone who reaches it can \
             run programs on every computer of the fleet"
        );
    }
}

fn model(role: &RoleSettings) -> String {
    let provider = role.provider.as_str();
    match role.base_url.as_str() {
        "" => format!("{} ({provider})", role.model),
        url => format!("{} ({provider} at {url})", role.model),
    }
}
