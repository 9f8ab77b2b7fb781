//! A model server with faults: it speaks the OpenAI dialect over real HTTP, and now and then it hangs, fails, breaks off
//! in the middle or sends garbage.

use super::voice::{self, Mark, Said};
use crate::cli::{Exit, Failure};
use crate::sim::Random;
use actix_web::web::{self, Bytes};
use actix_web::{App, HttpResponse, HttpServer};
use futures_util::stream;
use serde::Deserialize;
use serde_json::json;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Of 1,000 answers so many are a fault each.
const FAULTS: u64 = 60;
/// The longest prompt that is read, in bytes.
const MOST_BYTES: usize = 4 << 20;
/// Longer than anybody waits.
const HANG: Duration = Duration::from_secs(30);

/// What the model has to know beside the prompt.
pub struct Minds {
    random: Mutex<Random>,
    asked: AtomicU64,
    faults: AtomicU64,
    /// Whether a task may end with this mark.
    enough: Box<dyn Fn(Mark) -> bool + Send + Sync>,
}

impl Minds {
    pub fn new(seed: u64, enough: impl Fn(Mark) -> bool + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Minds {
            // Another stream than the plan's.
            random: Mutex::new(Random::new(seed ^ 0x006D_6F64_656C)),
            asked: AtomicU64::new(0),
            faults: AtomicU64::new(0),
            enough: Box::new(enough),
        })
    }

    /// Answers asked for, and how many of them were faults.
    pub fn counts(&self) -> (u64, u64) {
        (
            self.asked.load(Ordering::Relaxed),
            self.faults.load(Ordering::Relaxed),
        )
    }

    fn draw(&self) -> u64 {
        let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        random.below(1000)
    }
}

/// A model server that runs until it is dropped with its runtime.
pub struct ModelServer {
    pub address: SocketAddr,
    handle: actix_web::dev::ServerHandle,
}

impl ModelServer {
    /// # Errors
    /// No port is to be had.
    pub fn start(minds: Arc<Minds>) -> Result<Self, Failure> {
        let failed = |error: std::io::Error| {
            Failure::new(Exit::Failed, format!("cannot serve the model: {error}"))
        };
        let minds = web::Data::from(minds);
        let server = HttpServer::new(move || {
            App::new()
                .app_data(minds.clone())
                .app_data(web::JsonConfig::default().limit(MOST_BYTES))
                .route("/v1/chat/completions", web::post().to(complete))
        });
        // Its faults would fill the shutdown with waiting.
        let server = server.workers(1).disable_signals().shutdown_timeout(0);
        let server = server.bind(("127.0.0.1", 0)).map_err(failed)?;
        let address = server.addrs().first().copied();
        let address =
            address.ok_or_else(|| Failure::new(Exit::Failed, "the model server has no address"))?;
        let server = server.run();
        let handle = server.handle();
        actix_rt::spawn(server);
        Ok(ModelServer { address, handle })
    }

    pub async fn stop(&self) {
        self.handle.stop(false).await;
    }
}

#[derive(Deserialize)]
struct Request {
    messages: Vec<RequestMessage>,
}

#[derive(Deserialize)]
struct RequestMessage {
    role: String,
    #[serde(default)]
    content: Option<String>,
}

async fn complete(minds: web::Data<Minds>, request: web::Json<Request>) -> HttpResponse {
    minds.asked.fetch_add(1, Ordering::Relaxed);
    let draw = minds.draw();
    if draw < FAULTS {
        minds.faults.fetch_add(1, Ordering::Relaxed);
    }
    let said = said(request.into_inner());
    let answer = voice::next(&said, |mark| (minds.enough)(mark));
    let Some(answer) = answer else {
        return HttpResponse::BadRequest()
            .json(json!({"error": {"message": "no task in the prompt"}}));
    };
    // The fault before the answer is even begun, in its middle, or in what it says.
    match draw * 6 / FAULTS {
        0 => {
            actix_rt::time::sleep(HANG).await;
            HttpResponse::ServiceUnavailable().finish()
        }
        1 => {
            HttpResponse::InternalServerError().json(json!({"error": {"message": "out of memory"}}))
        }
        2 => broken(&answer, Broken::Closed),
        3 => broken(&answer, Broken::Hangs),
        4 => HttpResponse::Ok()
            .content_type("text/event-stream")
            .body("data: <html>\u{fffd}{{{\n\n"),
        5 => whole("I am not sure what a directive is. Shall we talk about marks?"),
        _ => whole(&answer),
    }
}

fn said(request: Request) -> Vec<Said> {
    let messages = request.messages.into_iter();
    let one = |message: RequestMessage| Said {
        by_model: message.role == "assistant",
        text: message.content.unwrap_or_default(),
    };
    messages.map(one).collect()
}

fn piece(content: &str) -> Bytes {
    let chunk = json!({"model": "scripted", "choices": [{"delta": {"content": content}}]});
    Bytes::from(format!("data: {chunk}\n\n"))
}

fn whole(answer: &str) -> HttpResponse {
    let end = json!({
        "choices": [{"delta": {}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20},
    });
    let end = format!("data: {end}\n\ndata: [DONE]\n\n");
    let pieces = [piece(answer), Bytes::from(end)];
    HttpResponse::Ok()
        .content_type("text/event-stream")
        .streaming(stream::iter(pieces.map(Ok::<_, std::io::Error>)))
}

enum Broken {
    Closed,
    Hangs,
}

/// Half an answer; then the connection ends, or nothing comes any more.
fn broken(answer: &str, how: Broken) -> HttpResponse {
    let half: String = answer.chars().take(answer.chars().count() / 2).collect();
    let rest = stream::once(async move {
        if let Broken::Hangs = how {
            actix_rt::time::sleep(HANG).await;
        }
        Err(std::io::Error::other("broken off"))
    });
    let pieces = stream::once(async move { Ok(piece(&half)) });
    HttpResponse::Ok()
        .content_type("text/event-stream")
        .streaming(futures_util::StreamExt::chain(pieces, Box::pin(rest)))
}
