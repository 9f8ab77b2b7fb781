//! `ccfleet health`: whether the server on this machine takes work; for supervisors and containers that have no other client.

use super::server::base_url;
use super::{Exit, Failure};
use crate::config::Loader;
use serde_json::Value;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  ccfleet health                             the server that these settings describe, on this machine
  ccfleet health --server 10.0.0.5:8080
  ccfleet health --alive                     does it answer at all? (it may be starting or stopping)

It needs no token. Exit codes: 0 it does, 1 it does not and says why, 2 wrong use or settings, 5 no server answers.";

/// How long the answer may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(4);

/// Whether the server takes work.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Which server, if not that of the settings
    #[arg(long, value_name = "URL", env = "CCFLEET_SERVER")]
    server: Option<String>,

    /// Settings file, as for `serve`
    #[arg(long, value_name = "FILE", env = "CCFLEET_CONFIG")]
    config: Option<PathBuf>,

    /// Only whether it answers
    #[arg(long)]
    alive: bool,
}

/// Asks once.
///
/// # Errors
/// No server answers, it takes no work, or the settings cannot be read.
pub async fn run(args: Args) -> Result<Exit, Failure> {
    let address = match &args.server {
        Some(server) => server.clone(),
        None => own_address(args.config)?,
    };
    let base = base_url(&address).map_err(|text| Failure::new(Exit::Usage, text))?;
    let path = if args.alive { "healthz" } else { "readyz" };
    let client = crate::llm::http_client(&base, ANSWER_WITHIN)
        .map_err(|error| Failure::new(Exit::Failed, error))?;
    let request = client.get(format!("{base}/{path}")).timeout(ANSWER_WITHIN);
    let lost = |error: reqwest::Error| Failure::new(Exit::NoServer, format!("{base}: {error}"));
    let answer = request.send().await.map_err(lost)?;
    let fine = answer.status().is_success();
    let body: Value = answer.json().await.map_err(lost)?;
    match fine {
        true => {
            say!("{base} {}", if args.alive { "answers" } else { "is ready" });
            Ok(Exit::Done)
        }
        false => {
            let reasons = body["reasons"].as_array();
            let reasons = reasons.into_iter().flatten();
            let reasons = reasons.filter_map(|reason| reason["message"].as_str());
            let reasons = reasons.collect::<Vec<_>>().join("; ");
            let words = format!("{base} takes no work: {reasons}");
            Err(Failure::new(Exit::Failed, words))
        }
    }
}

/// Where the server of the settings is reached from this machine.
fn own_address(config: Option<PathBuf>) -> Result<String, Failure> {
    let mut loader = Loader::new().with_process_env();
    if let Some(file) = config {
        loader = loader.with_file(file);
    }
    let settings = loader.load();
    let settings = settings.map_err(|error| Failure::new(Exit::Usage, error))?;
    Ok(reached_at(settings.server.bind).to_string())
}

/// One that listens everywhere listens on loopback, too.
fn reached_at(bind: SocketAddr) -> SocketAddr {
    let ip = match bind.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, bind.port())
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::{App, HttpResponse, HttpServer, web};
    use serde_json::json;

    fn ask(server: String, alive: bool) -> Args {
        Args {
            server: Some(server),
            config: None,
            alive,
        }
    }

    /// A server that lives and takes no work.
    fn stopping() -> (String, actix_web::dev::ServerHandle) {
        let app = || {
            let fine = || async { web::Json(json!({"status": "ok"})) };
            let reasons = json!({"ready": false, "reasons": [{"code": "stopping", "message": "no new work is taken"}]});
            let stopping = move || {
                let reasons = reasons.clone();
                async move { HttpResponse::ServiceUnavailable().json(reasons) }
            };
            App::new()
                .route("/healthz", web::get().to(fine))
                .route("/readyz", web::get().to(stopping))
        };
        let server = HttpServer::new(app).workers(1).disable_signals();
        let server = server.bind(("127.0.0.1", 0)).unwrap();
        let address = server.addrs()[0].to_string();
        let server = server.run();
        let handle = server.handle();
        actix_web::rt::spawn(server);
        (address, handle)
    }

    #[actix::test]
    async fn a_server_that_takes_no_work_is_alive_and_not_ready_and_says_why() {
        let (address, handle) = stopping();
        let failure = run(ask(address.clone(), false)).await.unwrap_err();
        assert_eq!(failure.exit, Exit::Failed);
        assert!(
            failure
                .text
                .ends_with("takes no work: no new work is taken"),
            "{}",
            failure.text
        );
        assert_eq!(run(ask(address.clone(), true)).await.unwrap(), Exit::Done);
        handle.stop(false).await;
        let failure = run(ask(address, false)).await.unwrap_err();
        assert_eq!(failure.exit, Exit::NoServer);
    }

    #[test]
    fn a_server_that_listens_everywhere_is_reached_on_loopback() {
        for (bind, reached) in [
            ("0.0.0.0:80", "127.0.0.1:80"),
            ("[::]:80", "[::1]:80"),
            ("10.0.0.5:8080", "10.0.0.5:8080"),
        ] {
            let bind: SocketAddr = bind.parse().unwrap();
            assert_eq!(reached_at(bind).to_string(), reached);
        }
    }
}
