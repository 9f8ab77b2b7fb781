//! A running server as the other commands talk with it: over the HTTP API that everybody uses.

use super::{Exit, Failure};
use serde_json::Value;
use std::fmt;
use std::time::Duration;

/// How long a connection may take.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// How long an answer may take that needs nobody else's work.
const ANSWER_WITHIN: Duration = Duration::from_secs(35);

/// Where the token is that the commands show. Not a flag: others on the machine see a command's flags.
pub const TOKEN_VARIABLE: &str = "CCFLEET_TOKEN";

/// Which server is meant.
#[derive(Debug, Clone, clap::Args)]
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
}

/// The server's API.
pub struct Server {
    base: String,
    client: reqwest::Client,
    /// A token, or the operator's key.
    token: Option<String>,
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
        let token = std::env::var(TOKEN_VARIABLE).ok();
        Ok(Server {
            base,
            client,
            token: token.filter(|token| !token.trim().is_empty()),
        })
    }

    /// Shows this instead of what the environment says.
    pub fn showing(self, token: String) -> Self {
        Server {
            token: Some(token),
            ..self
        }
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
        let request = self.client.get(self.url(path));
        let answer = self.send(request, ANSWER_WITHIN).await;
        answer
            .map_err(|lost| Failure::new(Exit::Failed, lost))?
            .ok()
    }

    /// As [`Server::get`], with a body.
    ///
    /// # Errors
    /// As for [`Server::get`].
    pub async fn post(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        let answer = self.ask(path, body, ANSWER_WITHIN).await;
        answer
            .map_err(|lost| Failure::new(Exit::Failed, lost))?
            .ok()
    }

    /// Deletes what stands under a path.
    ///
    /// # Errors
    /// As for [`Server::get`].
    pub async fn delete(&self, path: &str) -> Result<Value, Failure> {
        let request = self.client.delete(self.url(path));
        let answer = self.send(request, ANSWER_WITHIN).await;
        answer
            .map_err(|lost| Failure::new(Exit::Failed, lost))?
            .ok()
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
            Some(token) => request.bearer_auth(token.trim()),
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
            _ => Err(Failure::new(Exit::Failed, self.problem())),
        }
    }

    /// The text of an error for people.
    pub fn problem(&self) -> String {
        let text = |key: &str| self.body.get(key).and_then(Value::as_str);
        let detail = text("detail").unwrap_or("the server refused");
        let code = text("code").map_or(format!("HTTP {}", self.status), str::to_owned);
        match text("hint") {
            Some(hint) => format!("{detail} ({code})\n  {hint}"),
            None => format!("{detail} ({code})"),
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

/// The address without path for what people write, that of the WebSocket included.
fn base_url(given: &str) -> Result<String, String> {
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
        let server = "127.0.0.1:9".to_owned();
        let server = Server::new(&ServerArg { server }).unwrap();
        let failure = server.get("/computers").await.unwrap_err();
        assert!(failure.text.contains("ccfleet serve"), "{}", failure.text);
        assert!(failure.text.contains("http://127.0.0.1:9"));
    }

    #[test]
    fn an_error_is_told_with_its_code_and_hint() {
        let body =
            json!({"detail": "no computer \"x\"", "code": "unknown_computer", "hint": "look"});
        let answer = Answer { status: 404, body };
        let told = answer.ok().unwrap_err().text;
        assert_eq!(told, "no computer \"x\" (unknown_computer)\n  look");
    }
}
