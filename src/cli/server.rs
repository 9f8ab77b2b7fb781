//! A running server as the other commands talk with it: over the HTTP API that everybody uses.

use super::{Exit, Failure};
use crate::config::Secret;
use serde_json::Value;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

/// How long a connection may take.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// How long an answer may take that needs nobody else's work.
const ANSWER_WITHIN: Duration = Duration::from_secs(35);

/// The environment variable with a token. It is no flag: others on the machine see the flags of a process.
pub const TOKEN_VARIABLE: &str = "CCFLEET_TOKEN";

/// Which server is meant, and who asks.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct ServerArg {
    /// The server, as http://HOST:PORT (HOST:PORT is understood too)
    #[arg(
        long,
        global = true,
        value_name = "URL",
        env = "CCFLEET_SERVER",
        default_value = "http://127.0.0.1:8080"
    )]
    pub server: String,

    /// File with your token, where the server wants one; or the token itself in the variable CCFLEET_TOKEN
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        env = "CCFLEET_TOKEN_FILE",
        hide_env_values = true
    )]
    pub token_file: Option<PathBuf>,
}

impl ServerArg {
    /// Whether a token is named, of whatever worth.
    pub fn names_a_token(&self) -> bool {
        let said = std::env::var(TOKEN_VARIABLE).is_ok_and(|token| !token.trim().is_empty());
        said || self.token_file.is_some()
    }

    /// The token to show, if there is one.
    fn token(&self) -> Result<Option<Secret>, Failure> {
        let text = match &self.token_file {
            Some(file) => std::fs::read_to_string(file).map_err(|error| {
                let words = format!("--token-file {}: {error}", file.display());
                Failure::new(Exit::Usage, words)
            })?,
            None => std::env::var(TOKEN_VARIABLE).unwrap_or_default(),
        };
        let token = text.trim();
        let sane = token.chars().all(|c| c.is_ascii_graphic());
        match (token.is_empty(), sane) {
            (true, _) if self.token_file.is_some() => {
                Err(Failure::new(Exit::Usage, "--token-file: the file is empty"))
            }
            (true, _) => Ok(None),
            (false, true) => Ok(Some(Secret::new(token))),
            (false, false) => Err(Failure::new(
                Exit::Usage,
                "a token is one word of ASCII; look at the file or at CCFLEET_TOKEN",
            )),
        }
    }
}

/// The server's API.
#[derive(Clone)]
pub struct Server {
    base: String,
    client: reqwest::Client,
    token: Option<Secret>,
}

/// An answer that came: its status and its body.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub status: u16,
    pub body: Value,
}

/// Why no answer came.
#[derive(Debug)]
pub enum Lost {
    /// Nothing was asked: no server listens there.
    Unreachable(String),
    /// It was asked, and the connection ended before the answer.
    NoAnswer(String),
}

impl Server {
    /// # Errors
    /// The address is none.
    pub fn new(arg: &ServerArg) -> Result<Self, Failure> {
        let base = base_url(&arg.server).map_err(|text| Failure::new(Exit::Usage, text))?;
        let client = crate::llm::http_client(&base, CONNECT_WITHIN)
            .map_err(|error| Failure::new(Exit::Failed, error))?;
        let token = arg.token()?;
        Ok(Server {
            base,
            client,
            token,
        })
    }

    /// Shows this key instead of what it showed.
    pub fn showing(self, key: impl Into<String>) -> Self {
        Server {
            token: Some(Secret::new(key)),
            ..self
        }
    }

    /// Whether a token is shown.
    pub fn shows_a_token(&self) -> bool {
        self.token.is_some()
    }

    /// Whether the address is one of this machine alone.
    pub fn is_local(&self) -> bool {
        let host = self.base.split_once("://").map_or("", |(_, host)| host);
        let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((ipv6, _)) => ipv6,
            None => host.split(':').next().unwrap_or_default(),
        };
        name.eq_ignore_ascii_case("localhost")
            || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    }

    /// `http://HOST:PORT`
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Asks for what stands under a path of `/api/v1`.
    ///
    /// # Errors
    /// No server, or an answer that is an error; the text is for people.
    pub async fn get(&self, path: &str) -> Result<Value, Failure> {
        self.look(path).await.map_err(no_answer)?.ok()
    }

    /// As [`Server::get`], with errors told apart.
    ///
    /// # Errors
    /// No answer came.
    pub async fn look(&self, path: &str) -> Result<Answer, Lost> {
        let request = self.client.get(self.url(path));
        self.send(request, ANSWER_WITHIN).await
    }

    /// Puts something there as a whole.
    ///
    /// # Errors
    /// No answer came.
    pub async fn put(&self, path: &str, body: &Value) -> Result<Answer, Lost> {
        let request = self.client.put(self.url(path)).json(body);
        self.send(request, ANSWER_WITHIN).await
    }

    /// Deletes what is there.
    ///
    /// # Errors
    /// As for [`Server::get`].
    pub async fn delete(&self, path: &str) -> Result<Value, Failure> {
        let request = self.client.delete(self.url(path));
        let answer = self.send(request, ANSWER_WITHIN).await;
        answer.map_err(no_answer)?.ok()
    }

    /// As [`Server::get`], with a body.
    ///
    /// # Errors
    /// As for [`Server::get`].
    pub async fn post(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        let answer = self.ask(path, body, ANSWER_WITHIN).await;
        answer.map_err(no_answer)?.ok()
    }

    /// Posts and gives whatever is answered within this time.
    ///
    /// # Errors
    /// No answer came.
    pub async fn ask(&self, path: &str, body: &Value, within: Duration) -> Result<Answer, Lost> {
        self.send(self.client.post(self.url(path)).json(body), within)
            .await
    }

    fn url(&self, path: &str) -> String {
        format!("{}/api/v1{path}", self.base)
    }

    async fn send(
        &self,
        request: reqwest::RequestBuilder,
        within: Duration,
    ) -> Result<Answer, Lost> {
        let lost = |error: reqwest::Error| match error.is_connect() {
            true => Lost::Unreachable(self.base.clone()),
            false => Lost::NoAnswer(format!("{}: {error}", self.base)),
        };
        let request = match &self.token {
            Some(token) => request.bearer_auth(token.reveal()),
            None => request,
        };
        let response = request.timeout(within).send().await.map_err(lost)?;
        let status = response.status().as_u16();
        let text = response.text().await.map_err(lost)?;
        match serde_json::from_str(&text) {
            Ok(body) => Ok(Answer { status, body }),
            Err(_) => Err(Lost::NoAnswer(format!(
                "{} answered {status} without JSON: is it a ccfleet server?",
                self.base
            ))),
        }
    }
}

impl Answer {
    /// The body of a success.
    ///
    /// # Errors
    /// The server said no; the text is its reason and what mends it.
    pub fn ok(self) -> Result<Value, Failure> {
        match self.status {
            200..=299 => Ok(self.body),
            _ => Err(Failure {
                exit: Exit::Failed,
                text: self.problem(),
                problem: Some(Box::new(self.body)),
                told: false,
            }),
        }
    }

    /// The text of an error for people.
    pub fn problem(&self) -> String {
        let text = |key: &str| self.body.get(key).and_then(Value::as_str);
        let detail = text("detail").unwrap_or("the server refused");
        let code = text("code").map_or(format!("HTTP {}", self.status), str::to_owned);
        // Where it is, if the words do not say so.
        let code = match text("field").filter(|field| !detail.contains(field)) {
            Some(field) => format!("{code}, at {field}"),
            None => code,
        };
        let told = match text("hint") {
            Some(hint) => format!("{detail} ({code})\n  {hint}"),
            None => format!("{detail} ({code})"),
        };
        match self.status {
            401 => format!(
                "{told}\n  commands show the token in {TOKEN_VARIABLE}, or in a file: --token-file FILE"
            ),
            _ => told,
        }
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lost::Unreachable(server) => write!(
                f,
                "no server answers at {server}; start one: ccfleet serve (or name another: --server URL)"
            ),
            Lost::NoAnswer(why) => write!(f, "no answer: {why}"),
        }
    }
}

/// A request without an answer, as the end of a command.
pub fn no_answer(lost: Lost) -> Failure {
    let exit = match lost {
        Lost::Unreachable(_) => Exit::NoServer,
        Lost::NoAnswer(_) => Exit::Failed,
    };
    Failure::new(exit, lost)
}

/// A part of a path or a value of a query, percent-encoded.
pub fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
            char::from(byte).to_string()
        }
        other => format!("%{other:02X}"),
    };
    text.bytes().map(byte).collect()
}

/// The address without path for what people write, that of the WebSocket included.
pub(super) fn base_url(given: &str) -> Result<String, String> {
    let given = given.trim();
    let (scheme, rest) = given.split_once("://").unwrap_or(("http", given));
    let scheme = match scheme.to_ascii_lowercase().as_str() {
        "http" | "ws" => "http",
        "https" | "wss" => "https",
        other => {
            return Err(format!(
                "--server {given}: {other}:// is not spoken; use http://HOST:PORT"
            ));
        }
    };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if host.is_empty() || host.contains(char::is_whitespace) {
        return Err(format!(
            "--server {given}: there is no host in it; use http://HOST:PORT"
        ));
    }
    Ok(format!("{scheme}://{host}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_people_write_as_the_server_becomes_its_address() {
        for (given, wanted) in [
            ("http://h:1", "http://h:1"),
            ("http://h:1/", "http://h:1"),
            ("h:1", "http://h:1"),
            ("ws://h:1/ws", "http://h:1"),
            ("https://h/dashboard?x", "https://h"),
        ] {
            assert_eq!(base_url(given).as_deref(), Ok(wanted));
        }
        for given in ["", "ftp://h", "http:///x", "a b"] {
            assert!(base_url(given).unwrap_err().contains("http://HOST:PORT"));
        }
    }

    #[actix::test]
    async fn a_server_that_is_not_there_is_told_with_the_command_that_starts_one() {
        // The discard port: nobody listens there.
        let arg = ServerArg {
            server: "127.0.0.1:9".to_owned(),
            token_file: None,
        };
        let server = Server::new(&arg).unwrap();
        let failure = server.get("/computers").await.unwrap_err();
        assert_eq!(failure.exit, Exit::NoServer);
        assert!(failure.text.contains("ccfleet serve"), "{}", failure.text);
        assert!(failure.text.contains("http://127.0.0.1:9"));
    }

    #[test]
    fn a_token_is_read_from_its_file_and_only_a_sane_one() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let arg = ServerArg {
            server: "127.0.0.1:9".to_owned(),
            token_file: Some(file.path().to_owned()),
        };
        for (text, expected) in [("abc123\n", Some("abc123")), ("", None), ("a\nb", None)] {
            std::fs::write(file.path(), text).unwrap();
            let token = arg.token().ok().flatten();
            assert_eq!(token.as_ref().map(Secret::reveal), expected, "{text:?}");
        }
        drop(file);
        assert_eq!(arg.token().err().unwrap().exit, Exit::Usage);
    }

    #[test]
    fn only_an_address_of_this_machine_is_local() {
        for (given, local) in [
            ("http://127.0.0.1:8080", true),
            ("localhost:1", true),
            ("http://[::1]:8080", true),
            ("http://localhost.evil.example", false),
            ("http://192.168.0.2:8080", false),
        ] {
            let arg = ServerArg {
                server: given.to_owned(),
                token_file: None,
            };
            assert_eq!(Server::new(&arg).unwrap().is_local(), local, "{given}");
        }
    }

    #[test]
    fn what_stands_in_an_address_is_encoded() {
        assert_eq!(encoded("a b/ü&"), "a%20b%2F%C3%BC%26");
    }

    #[test]
    fn an_error_is_told_with_its_code_and_hint() {
        let body =
            json!({"detail": "no computer \"x\"", "code": "unknown_computer", "hint": "look"});
        let answer = Answer { status: 404, body };
        let told = answer.ok().unwrap_err().text;
        let wrong = json!({"detail": "no such key", "code": "bad_kind", "field": "budgets.stepps"});
        let answer = Answer {
            status: 422,
            body: wrong,
        };
        assert_eq!(
            answer.problem(),
            "no such key (bad_kind, at budgets.stepps)"
        );
        let body = json!({"detail": "no", "code": "token_invalid"});
        let answer = Answer { status: 401, body };
        assert!(answer.problem().contains("CCFLEET_TOKEN"));
        assert_eq!(told, "no computer \"x\" (unknown_computer)\n  look");
    }
}
