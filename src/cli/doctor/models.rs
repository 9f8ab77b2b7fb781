//! Whether a role's model is there and does what is asked of it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use super::report::Report;
use crate::config::{ProviderKind, RoleSettings, Settings};
use crate::domain::chat::{ChatAnswer, Message, OutputFormat, Role, StopReason, ToolDef};
use crate::llm::ollama::{Ollama, same_model};
use crate::llm::{
    ChatRequest, Deadline, DeltaSink, LlmError, ModelInfo, Provider, ScriptPosition,
    calls_in_content, set,
};

/// A server that is there lists its models at once.
pub(super) const LISTS_WITHIN: Duration = Duration::from_secs(10);
/// The first call may have to load the model.
const ANSWERS_WITHIN: Duration = Duration::from_secs(180);
/// Enough for the answers asked for here.
const ANSWER_TOKENS: u32 = 64;

/// Checks one role's model. Returns whether it can be used at all.
pub(super) async fn role(role: Role, settings: &Settings, report: &mut Report) -> bool {
    let name = role.as_str();
    let chosen = settings.models.role(role);
    let connect = settings.gateway.connect_timeout;
    let provider = match set::build(chosen, connect) {
        Ok(provider) => provider,
        Err(error) => {
            report.fail(name, &error.to_string(), &mend(&error, role));
            return false;
        }
    };
    if chosen.provider == ProviderKind::Scripted {
        report.pass(name, &provider.describe());
        return true;
    }
    let check = ModelCheck {
        role,
        chosen,
        provider,
    };
    if !check.is_there(report).await {
        return false;
    }
    if !check.honours_format(report).await {
        return false;
    }
    if chosen.provider == ProviderKind::Ollama {
        match set::ollama(chosen, connect) {
            Ok(ollama) => check.context_is_applied(&ollama, report).await,
            Err(error) => report.fail(name, &error.to_string(), &mend(&error, role)),
        }
    }
    check.calls_tools(report).await;
    true
}

/// Hints speak of the planner's keys, from which the executor inherits.
fn mend(error: &LlmError, role: Role) -> String {
    let section = format!("models.{}", role.as_str());
    error.hint().replace("models.planner", &section)
}

struct ModelCheck<'a> {
    role: Role,
    chosen: &'a RoleSettings,
    provider: Arc<dyn Provider>,
}

impl ModelCheck<'_> {
    fn what(&self, part: &str) -> String {
        format!("{} {part}", self.role.as_str())
    }

    /// The server answers and has the model.
    async fn is_there(&self, report: &mut Report) -> bool {
        let what = self.what("server");
        report.waits(&what, LISTS_WITHIN);
        let listed = within(LISTS_WITHIN, self.provider.list_models()).await;
        let models = match listed {
            Ok(models) => models,
            Err(error) => {
                report.fail(&what, &error.to_string(), &mend(&error, self.role));
                return false;
            }
        };
        report.pass(&what, &self.provider.describe());
        let model = &self.chosen.model;
        if models.iter().any(|known| same_model(&known.name, model)) {
            report.pass(&self.what("model"), &format!("{model} is there"));
            return true;
        }
        self.model_is_missing(&models, report)
    }

    fn model_is_missing(&self, models: &[ModelInfo], report: &mut Report) -> bool {
        let (what, model) = (self.what("model"), &self.chosen.model);
        let names: Vec<&str> = models.iter().map(|known| known.name.as_str()).collect();
        let found = match names.as_slice() {
            [] => format!("no {model}, the server has no model at all"),
            names => format!("no {model}, the server has {}", names.join(", ")),
        };
        match self.chosen.provider {
            // llama.cpp's server ignores the name and answers with the one model it has.
            ProviderKind::OpenAi if names.len() == 1 => {
                let advice = format!("set models.{}.model to it", self.role.as_str());
                report.warn(&what, &found, &advice);
                true
            }
            ProviderKind::Ollama => {
                report.fail(&what, &found, &format!("ollama pull {model}"));
                false
            }
            ProviderKind::OpenAi | ProviderKind::Scripted => {
                let mend = format!("set models.{}.model to one of them", self.role.as_str());
                report.fail(&what, &found, &mend);
                false
            }
        }
    }

    /// A tiny call whose answer must follow a schema.
    async fn honours_format(&self, report: &mut Report) -> bool {
        let what = self.what("format");
        let schema = json!({"type": "object", "additionalProperties": false,
            "properties": {"ok": {"type": "boolean"}, "word": {"type": "string", "maxLength": 8}},
            "required": ["ok", "word"]});
        let mut request = self.request("Answer with JSON: {\"ok\": true, \"word\": \"yes\"}");
        request.format = OutputFormat::Schema(schema.clone());
        report.waits(&what, ANSWERS_WITHIN);
        let answer = match self.ask(request).await {
            Ok(answer) => answer,
            Err(error) => {
                report.fail(&what, &error.to_string(), &mend(&error, self.role));
                return false;
            }
        };
        let seconds = answer.duration_ms as f64 / 1000.0;
        match read_json(&answer, &schema) {
            Ok(()) => {
                let speed = speed(&answer);
                report.pass(&what, &format!("JSON by schema in {seconds:.1} s{speed}"));
            }
            Err(why) => report.warn(
                &what,
                &format!("{why}; answers are checked and repaired, at the cost of more calls"),
                "a newer model server, or another model",
            ),
        }
        true
    }

    /// After a call the loaded model shows the context it was loaded with.
    async fn context_is_applied(&self, ollama: &Ollama, report: &mut Report) {
        let what = self.what("context");
        let Some(wanted) = self.chosen.params.num_ctx else {
            return report.warn(&what, "num_ctx is not set", "set models.planner.num_ctx");
        };
        let loaded = within(LISTS_WITHIN, ollama.loaded_context(&self.chosen.model)).await;
        match loaded {
            Ok(Some(got)) if got == u64::from(wanted) => {
                report.pass(&what, &format!("{got} tokens, as set"));
            }
            Ok(Some(got)) => report.warn(
                &what,
                &format!("{got} tokens are loaded, {wanted} are set; a model is never given more than it was trained for"),
                &format!("set models.{}.num_ctx to {got}", self.role.as_str()),
            ),
            Ok(None) => report.warn(
                &what,
                "the server does not say what is loaded",
                "a newer Ollama tells it in /api/ps",
            ),
            Err(error) => report.fail(&what, &error.to_string(), &mend(&error, self.role)),
        }
    }

    /// Tools are called natively, or written as text, or not at all; only some strategies need them.
    async fn calls_tools(&self, report: &mut Report) {
        let what = self.what("tools");
        let mut request = self.request("List the folder /. Use the tool.");
        request.tools = vec![ToolDef {
            name: "fs_list".into(),
            description: "Lists the files of a folder.".into(),
            parameters: json!({"type": "object", "required": ["path"],
                "properties": {"path": {"type": "string"}}})
            .into(),
        }];
        report.waits(&what, ANSWERS_WITHIN);
        match self.ask(request).await {
            Ok(answer) if !answer.tool_calls.is_empty() => {
                report.pass(&what, "called natively");
            }
            Ok(answer) if !calls_in_content(&answer.content).is_empty() => {
                let set = format!("models.{}.tools = \"prompted\"", self.role.as_str());
                report.pass(
                    &what,
                    &format!("called as JSON in the text, which is read; {set} suits it better"),
                );
            }
            Ok(_) => report.warn(
                &what,
                "it did not call one",
                "nothing for kinds with the `directive` strategy, which needs no tool calling",
            ),
            Err(LlmError::Refused { text, .. }) => report.warn(
                &what,
                &text,
                "nothing for kinds with the `directive` strategy, which needs no tool calling",
            ),
            Err(error) => report.fail(&what, &error.to_string(), &mend(&error, self.role)),
        }
    }

    async fn ask(&self, request: ChatRequest) -> Result<ChatAnswer, LlmError> {
        within(
            ANSWERS_WITHIN,
            self.provider.chat(request, DeltaSink::ignore()),
        )
        .await
    }

    /// With the role's own parameters: another `num_ctx` would make Ollama load the model twice.
    fn request(&self, text: &str) -> ChatRequest {
        let mut params = self.chosen.params.clone();
        params.max_tokens = Some(ANSWER_TOKENS);
        params.temperature = Some(0.0);
        ChatRequest {
            role: self.role,
            model: self.chosen.model.clone(),
            messages: vec![Message::user(text)],
            format: OutputFormat::Text,
            tools: Vec::new(),
            params,
            script: ScriptPosition::default(),
        }
    }
}

pub(super) async fn within<T>(
    limit: Duration,
    call: impl Future<Output = Result<T, LlmError>>,
) -> Result<T, LlmError> {
    let late = LlmError::TimedOut {
        deadline: Deadline::Total,
        after: limit,
    };
    timeout(limit, call).await.unwrap_or(Err(late))
}

fn read_json(answer: &ChatAnswer, schema: &Value) -> Result<(), String> {
    if answer.stop == StopReason::Length {
        return Err("the answer did not end".into());
    }
    let value: Value =
        serde_json::from_str(&answer.content).map_err(|_| "the answer is no JSON".to_owned())?;
    if !jsonschema::is_valid(schema, &value) {
        return Err("the answer is JSON of another shape".into());
    }
    Ok(())
}

fn speed(answer: &ChatAnswer) -> String {
    match answer.usage.tokens_out {
        Some(tokens) => format!(", {tokens} tokens"),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Loader;
    use crate::domain::chat::{ToolCall, Usage};
    use futures_util::FutureExt;
    use futures_util::future::BoxFuture;

    /// Answers JSON where a format is asked for, and `tool_text` where tools are offered.
    struct Fake {
        models: &'static [&'static str],
        json: &'static str,
        tool_text: &'static str,
        native: bool,
    }

    impl Provider for Fake {
        fn chat<'a>(
            &'a self,
            request: ChatRequest,
            _: DeltaSink,
        ) -> BoxFuture<'a, Result<ChatAnswer, LlmError>> {
            let with_tools = !request.tools.is_empty();
            let call = ToolCall {
                id: None,
                name: "fs_list".into(),
                arguments: json!({}),
            };
            let answer = ChatAnswer {
                content: if with_tools {
                    self.tool_text
                } else {
                    self.json
                }
                .into(),
                thinking: String::new(),
                tool_calls: if with_tools && self.native {
                    vec![call]
                } else {
                    vec![]
                },
                stop: StopReason::Stop,
                model: "m".into(),
                usage: Usage::default(),
                duration_ms: 1500,
            };
            async { Ok(answer) }.boxed()
        }

        fn list_models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, LlmError>> {
            let info = |name: &&str| ModelInfo {
                name: (*name).to_owned(),
                ..ModelInfo::default()
            };
            let models = self.models.iter().map(info).collect();
            async { Ok(models) }.boxed()
        }

        fn describe(&self) -> String {
            "fake server".into()
        }
    }

    const GOOD: Fake = Fake {
        models: &["qwen2.5-coder:7b"],
        json: r#"{"ok": true, "word": "yes"}"#,
        tool_text: "",
        native: true,
    };

    async fn told(fake: Fake, kind: ProviderKind) -> (String, usize) {
        let mut chosen = Loader::new().load().expect("settings").models.planner;
        chosen.provider = kind;
        let check = ModelCheck {
            role: Role::Planner,
            chosen: &chosen,
            provider: Arc::new(fake),
        };
        let (mut report, said) = Report::to_memory();
        if check.is_there(&mut report).await && check.honours_format(&mut report).await {
            check.calls_tools(&mut report).await;
        }
        let failed = report.end();
        (said.text(), failed)
    }

    #[actix::test]
    async fn a_good_model_passes_every_check() {
        let (text, failed) = told(GOOD, ProviderKind::Ollama).await;
        assert_eq!(failed, 0);
        insta::assert_snapshot!(text);
    }

    #[actix::test]
    async fn a_missing_model_fails_with_the_command_that_fetches_it() {
        let models = &["llama3:latest"];
        let (text, failed) = told(Fake { models, ..GOOD }, ProviderKind::Ollama).await;
        assert_eq!(failed, 1);
        assert!(
            text.contains("mend: ollama pull qwen2.5-coder:7b"),
            "{text}"
        );
        assert!(text.contains("llama3:latest"), "{text}");
    }

    #[actix::test]
    async fn the_one_model_of_a_llama_cpp_server_will_do() {
        let models = &["other"];
        let (text, failed) = told(Fake { models, ..GOOD }, ProviderKind::OpenAi).await;
        assert_eq!(failed, 0);
        assert!(text.contains("WARN  planner model"), "{text}");
    }

    #[actix::test]
    async fn a_model_without_json_or_tools_is_only_warned_about() {
        let weak = Fake {
            json: "Sure! {",
            tool_text: "I would list it.",
            native: false,
            ..GOOD
        };
        let (text, failed) = told(weak, ProviderKind::Ollama).await;
        assert_eq!(failed, 0);
        assert!(
            text.contains("WARN  planner format: the answer is no JSON"),
            "{text}"
        );
        assert!(text.contains("WARN  planner tools"), "{text}");
    }

    #[actix::test]
    async fn a_call_written_as_text_passes() {
        let as_text = Fake {
            tool_text: "```json\n{\"name\":\"fs_list\",\"arguments\":{\"path\":\"/\"}}\n```",
            native: false,
            ..GOOD
        };
        let (text, _) = told(as_text, ProviderKind::Ollama).await;
        assert!(
            text.contains("PASS  planner tools: called as JSON"),
            "{text}"
        );
    }
}
