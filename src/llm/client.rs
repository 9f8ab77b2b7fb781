//! The HTTP client for a model server.

use std::sync::OnceLock;
use std::time::Duration;

/// How long a connection is kept for the next request: less than any server keeps it (llama.cpp and many frameworks 5 s), so
/// that no request is sent into one that is being closed.
const IDLE_WITHIN: Duration = Duration::from_secs(3);

/// An HTTP client for one server: no redirects, no proxy to this machine, and no certificates where none are used.
///
/// # Errors
/// The system's certificates cannot be read.
pub fn client(base_url: &str, connect_timeout: Duration) -> reqwest::Result<reqwest::Client> {
    install_crypto();
    let mut builder = reqwest::Client::builder()
        .connect_timeout(connect_timeout)
        .pool_idle_timeout(IDLE_WITHIN)
        .redirect(reqwest::redirect::Policy::none())
        .tcp_nodelay(true);
    if base_url.starts_with("http://") {
        // A plain server needs no certificates; looking for the system's would fail in an image
        // that has none.
        builder = builder.tls_backend_preconfigured(no_certificates());
    }
    if is_loopback(base_url) {
        builder = builder.no_proxy();
    }
    builder.build()
}

fn no_certificates() -> rustls::ClientConfig {
    rustls::ClientConfig::builder()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth()
}

/// The process-wide choice of cryptography; another part may have made the same one before.
fn install_crypto() {
    static DONE: OnceLock<()> = OnceLock::new();
    DONE.get_or_init(|| {
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

fn is_loopback(base_url: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(base_url) else {
        return false;
    };
    match url.host_str().unwrap_or_default() {
        "localhost" => true,
        host => host
            .trim_matches(['[', ']'])
            .parse::<std::net::IpAddr>()
            .is_ok_and(|ip| ip.is_loopback()),
    }
}
