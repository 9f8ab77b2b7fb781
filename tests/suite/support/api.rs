//! The HTTP API as a client sees it, without waiting on async code in tests.

use serde_json::Value;

/// A server's API.
pub struct Api {
    base: String,
    client: reqwest::Client,
    runtime: tokio::runtime::Runtime,
}

impl Api {
    /// `address` is `host:port`.
    pub fn new(address: &str) -> Self {
        let base = format!("http://{address}");
        let client = ccfleet::llm::http_client(&base, std::time::Duration::from_secs(5)).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        Api {
            base,
            client,
            runtime,
        }
    }

    /// The body of an answer; none while the server cannot be reached.
    pub fn get(&self, path: &str) -> Option<Value> {
        let request = self.client.get(format!("{}{path}", self.base));
        self.runtime
            .block_on(async { request.send().await.ok()?.json().await.ok() })
    }

    /// Status and text of an answer, asked for with a token if there is one.
    pub fn text(&self, path: &str, token: Option<&str>) -> (u16, String) {
        let request = self.client.get(format!("{}{path}", self.base));
        let request = match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        self.runtime.block_on(async {
            let answer = request.send().await.unwrap();
            let status = answer.status().as_u16();
            (status, answer.text().await.unwrap())
        })
    }

    pub fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let request = self.client.post(format!("{}{path}", self.base)).json(body);
        self.runtime.block_on(async {
            let answer = request.send().await.unwrap();
            let status = answer.status().as_u16();
            (status, answer.json().await.unwrap())
        })
    }
}
