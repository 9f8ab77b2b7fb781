//! A model server that is away for hours and comes back: the task, the planner and the gateway together, on a clock that
//! the test turns.

use super::*;
use crate::actors::consult::Consulting;
use crate::actors::gateway::Gateway;
use crate::actors::planner::Planner;
use crate::domain::chat::ChatAnswer;
use crate::llm::{ChatRequest, DeltaSink, Dialect, LlmError, ModelInfo, Provider, ProviderSet};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use std::sync::Mutex;
use tokio::time::Instant;

const HOUR: Duration = Duration::from_secs(3600);
const DONE: &str = "DIRECTIVE: DONE\nSUMMARY: looked";

/// The temperature of each request.
type Asked = Arc<Mutex<Vec<f64>>>;

/// Fails until it is back.
struct Server {
    back_at: Instant,
    failure: LlmError,
    asked: Asked,
}

impl Provider for Server {
    fn chat<'a>(
        &'a self,
        request: ChatRequest,
        _: DeltaSink,
    ) -> BoxFuture<'a, Result<ChatAnswer, LlmError>> {
        let temperature = request.params.temperature.unwrap();
        self.asked.lock().unwrap().push(temperature);
        let is_back = Instant::now() >= self.back_at;
        let said = is_back.then(|| answer(DONE));
        async move { said.ok_or_else(|| self.failure.clone()) }.boxed()
    }

    fn list_models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, LlmError>> {
        async { Ok(vec![]) }.boxed()
    }

    fn describe(&self) -> String {
        "a server that is away".into()
    }
}

struct Outage {
    running: Running,
    started: Instant,
    asked: Asked,
}

/// A task whose model has answered once, with chatter, and whose server is away from now on.
fn outage(lasts: Duration, failure: LlmError) -> Outage {
    tokio::time::pause();
    let mut profile = profile(ExecutorMode::Auto);
    profile.demand_proof = false;
    let mut bench = Bench::new(profile);
    bench.advance();
    bench.answer("I would rather chat.");
    bench.advance();
    let started = Instant::now();
    let asked = Asked::default();
    let server = Server {
        back_at: started + lasts,
        failure,
        asked: asked.clone(),
    };
    let settings = Arc::new(Loader::new().load().unwrap());
    let providers = ProviderSet::single(Arc::new(server));
    let gateway = Gateway::new(providers, settings.gateway.clone()).start();
    let consulting = Consulting {
        gateway: gateway.clone().recipient(),
        models: Arc::new(settings.models.clone()),
        deltas: Default::default(),
    };
    let (told, heard) = unbounded_channel();
    let router = Router::default();
    router.insert(computer("base", &told));
    let others = Others::silent(told);
    let planner = Planner(consulting).start().recipient();
    let deps = TaskDeps {
        journal: others.clone().recipient(),
        executor: planner.clone(),
        planner,
        cancel_model_calls: gateway.recipient(),
        router,
        supervisor: others.clone().recipient(),
        family: others.recipient(),
        settings,
        tool_habits: Default::default(),
        clock: || 1_000,
    };
    let profile = Arc::new(bench.profile.clone());
    let task = Task::new(deps, bench.state.clone(), profile, Generation(2)).start();
    Outage {
        running: Running {
            task,
            heard,
            commits: Arc::default(),
        },
        started,
        asked,
    }
}

impl Outage {
    /// Every event until the task has completed, how long that took, and what the server was asked.
    async fn until_done(mut self) -> (Vec<String>, Duration, Vec<f64>) {
        let mut all = Vec::new();
        while all.last().is_none_or(|last| last != "task_completed") {
            let next = tokio::time::timeout(100 * HOUR, self.running.heard.recv()).await;
            let next = next
                .unwrap_or_else(|_| panic!("no end after {all:?}"))
                .unwrap();
            assert!(next != "task_failed" && next != "stopped", "{all:?}");
            all.push(next);
        }
        let asked = self.asked.lock().unwrap().clone();
        (all, self.started.elapsed(), asked)
    }
}

fn failures(events: &[String]) -> usize {
    events
        .iter()
        .filter(|event| *event == "model_failed")
        .count()
}

fn away() -> LlmError {
    LlmError::Unreachable {
        dialect: Dialect::Ollama,
        server: "http://127.0.0.1:1".into(),
        detail: "connection refused".into(),
    }
}

#[actix::test]
async fn a_planner_whose_answer_led_to_nothing_is_asked_at_a_higher_temperature() {
    let settings = Loader::new().load().unwrap();
    let own = settings.models.role(Role::Planner).params.temperature;
    let (_, _, asked) = outage(Duration::ZERO, away()).until_done().await;
    assert_eq!(asked, [own.unwrap() + 0.3]);
}

#[actix::test]
async fn a_task_waits_out_a_server_that_is_away_for_two_days_and_goes_on_within_minutes() {
    let (events, took, asked) = outage(48 * HOUR, away()).until_done().await;
    assert!(
        took >= 48 * HOUR && took < 48 * HOUR + Duration::from_secs(360),
        "{took:?}"
    );
    // At most one failure for each five minutes, beside the first short waits; a few tries each.
    let failed = failures(&events);
    assert!((500..=600).contains(&failed), "{failed}");
    let asked = asked.len();
    assert!(asked <= failed * 5, "{asked} tries for {failed} failures");
}

#[actix::test]
async fn a_model_that_is_pulled_anew_is_looked_for_with_growing_pauses() {
    let missing = LlmError::ModelMissing {
        dialect: Dialect::Ollama,
        server: "http://127.0.0.1:1".into(),
        model: "qwen2.5-coder:7b".into(),
    };
    let (events, took, asked) = outage(HOUR, missing).until_done().await;
    assert!(
        took >= HOUR && took < HOUR + Duration::from_secs(360),
        "{took:?}"
    );
    assert!(failures(&events) <= 25, "{}", failures(&events));
    assert_eq!(
        asked.len(),
        failures(&events) + 1,
        "the gateway itself does not repeat it"
    );
}
