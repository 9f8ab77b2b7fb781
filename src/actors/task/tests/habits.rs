//! A task whose model is offered native tools and writes its calls as text.

use super::*;
use crate::config::ToolChannel;
use crate::strategy::drive::profile_of;

/// Says whether it was offered native tools, and answers with a call as text that is refused.
struct Model(UnboundedSender<bool>);

impl Actor for Model {
    type Context = Context<Self>;
}

impl Handler<ConsultModel> for Model {
    type Result = ();

    fn handle(&mut self, consult: ConsultModel, _: &mut Self::Context) {
        // The test may have seen enough.
        let _ = self.0.send(!consult.tools.is_empty());
        reply(&consult, r#"{"tool": "fs_read", "args": {}}"#);
    }
}

/// Whether the first two prompts of a task had native tools.
async fn offered(tools: ToolChannel, habits: &ToolHabits) -> [bool; 2] {
    let mut profile = profile_of("direct");
    profile.guards.hold_to_form = false;
    let bench = Bench::new(profile);
    let mut settings = Loader::new().load().unwrap();
    settings.models.planner.tools = tools;
    let (told, _heard) = unbounded_channel();
    let router = Router::default();
    router.insert(computer("base", &told));
    let others = Others::silent(told);
    let (asked, mut offers) = unbounded_channel();
    let model = Model(asked).start().recipient();
    let deps = TaskDeps {
        journal: others.clone().recipient(),
        planner: model.clone(),
        executor: model,
        cancel_model_calls: others.clone().recipient(),
        router,
        supervisor: others.clone().recipient(),
        family: others.recipient(),
        settings: Arc::new(settings),
        tool_habits: habits.clone(),
        clock: || 1_000,
    };
    let profile = Arc::new(bench.profile.clone());
    let task = Task::new(deps, bench.state.clone(), profile, Generation(2)).start();
    let mut both = [false; 2];
    for one in &mut both {
        let next = tokio::time::timeout(WITHIN, offers.recv()).await;
        *one = next.expect("the model is asked").unwrap();
    }
    drop(task);
    both
}

#[actix::test]
async fn after_the_first_call_as_text_tools_are_told_in_words_to_every_task_of_that_model() {
    let habits = ToolHabits::default();
    assert_eq!(offered(ToolChannel::Auto, &habits).await, [true, false]);
    assert_eq!(offered(ToolChannel::Auto, &habits).await, [false, false]);
    assert_eq!(offered(ToolChannel::Native, &habits).await, [true, true]);
}

#[actix::test]
async fn who_wants_tools_in_words_has_them_from_the_first_prompt_on() {
    let habits = ToolHabits::default();
    assert_eq!(
        offered(ToolChannel::Prompted, &habits).await,
        [false, false]
    );
}
