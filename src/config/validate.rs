//! From raw values to [`Settings`]: every rule that spans more than one type is here.

use std::time::Duration;

use super::error::ConfigError;
use super::layers::Merged;
use super::raw::{Raw, RawRole};
use super::settings::*;
use crate::domain::model_call::{ModelParams, Think};

/// ComputerCraft's own limit of a frame (`http.websocket` default).
const CC_MAX_FRAME: u64 = 131_072;
/// Below this no prompt of ours fits.
const MIN_NUM_CTX: u32 = 512;

/// Checks the merged values.
pub(super) fn settings(merged: &Merged) -> Result<Settings, ConfigError> {
    let raw: Raw = serde_path_to_error::deserialize(merged.table()).map_err(|error| {
        let key = error.path().to_string();
        ConfigError::Invalid {
            origin: merged.origin(&key),
            reason: format!("cannot be used: {}", error.inner().message()),
            key,
        }
    })?;
    let check = Check { merged };
    let planner = check.role("planner", &raw.models.planner, None)?;
    let executor = check.role(
        "executor",
        &inherited(&raw.models.executor, &raw.models.planner),
        Some(&planner),
    )?;
    Ok(Settings {
        server: check.server(&raw)?,
        models: ModelSettings { planner, executor },
        gateway: check.gateway(&raw)?,
        executor: ExecutorSettings {
            mode: check.executor_mode(&raw.executor.mode)?,
        },
        budgets: BudgetSettings {
            steps: check.at_least_one("budgets.steps", raw.budgets.steps)?,
            calls: check.at_least_one("budgets.calls", raw.budgets.calls)?,
            questions: raw.budgets.questions,
            wall_time: seconds(raw.budgets.wall_time_s),
            tokens: (raw.budgets.tokens > 0).then_some(raw.budgets.tokens),
            model_failures: check
                .at_least_one("budgets.model_failures", raw.budgets.model_failures)?,
        },
        guards: GuardSettings {
            duplicate_calls: check.at_least(
                "guards.duplicate_calls",
                raw.guards.duplicate_calls,
                2,
            )?,
            bounces: check.at_least_one("guards.bounces", raw.guards.bounces)?,
            repair_attempts: raw.guards.repair_attempts,
        },
        memory: check.memory(&raw)?,
        calls: CallSettings {
            timeout: check.millis("calls.timeout_ms", raw.calls.timeout_ms)?,
            cancel_grace: Duration::from_millis(raw.calls.cancel_grace_ms),
            offline_timeout: seconds(raw.calls.offline_timeout_s),
            queue_per_computer: check
                .at_least_one("calls.queue_per_computer", raw.calls.queue_per_computer)?
                as usize,
        },
        tasks: TaskSettings {
            default_kind: check.filled("tasks.default_kind", &raw.tasks.default_kind)?,
            max_live: check.at_least_one("tasks.max_live", raw.tasks.max_live)? as usize,
        },
        log: LogSettings {
            filter: raw.log.filter,
        },
    })
}

/// Fills what the executor leaves out from the planner. Where to connect is only inherited by the
/// same kind of provider, how to think only by the same model.
fn inherited(executor: &RawRole, planner: &RawRole) -> RawRole {
    let mut role = executor.clone();
    let same_provider = role.provider.is_none() || role.provider == planner.provider;
    if same_provider {
        let has_own_key = role.api_key.is_some() || role.api_key_file.is_some();
        let same_server = role.base_url.is_none() || role.base_url == planner.base_url;
        // A key goes only to the server it was given for.
        if same_server && !has_own_key {
            role.api_key.clone_from(&planner.api_key);
            role.api_key_file.clone_from(&planner.api_key_file);
        }
        let same_model = role.model.is_none() || role.model == planner.model;
        if same_model {
            role.think = role.think.or_else(|| planner.think.clone());
        }
        role.base_url = role.base_url.or_else(|| planner.base_url.clone());
        role.model = role.model.or_else(|| planner.model.clone());
        role.keep_alive = role.keep_alive.or_else(|| planner.keep_alive.clone());
        role.script = role.script.or_else(|| planner.script.clone());
    }
    role.provider = role.provider.or_else(|| planner.provider.clone());
    role.temperature = role.temperature.or(planner.temperature);
    role.num_ctx = role.num_ctx.or(planner.num_ctx);
    role.max_tokens = role.max_tokens.or(planner.max_tokens);
    role.seed = role.seed.or(planner.seed);
    role.stop = role.stop.or_else(|| planner.stop.clone());
    role
}

struct Check<'a> {
    merged: &'a Merged,
}

impl Check<'_> {
    fn invalid(&self, key: &str, reason: impl Into<String>) -> ConfigError {
        ConfigError::Invalid {
            origin: self.merged.origin(key),
            key: key.to_owned(),
            reason: reason.into(),
        }
    }

    fn server(&self, raw: &Raw) -> Result<ServerSettings, ConfigError> {
        let server = &raw.server;
        let bind = server.bind.parse().map_err(|_| {
            self.invalid(
                "server.bind",
                format!(
                    "must be an address and a port such as 127.0.0.1:8080, not `{}`",
                    server.bind
                ),
            )
        })?;
        if !(1024..=CC_MAX_FRAME).contains(&server.max_frame_bytes) {
            return Err(self.invalid(
                "server.max_frame_bytes",
                format!("must be from 1024 to {CC_MAX_FRAME}, ComputerCraft's own limit"),
            ));
        }
        for (key, size) in [
            ("server.max_to_computer", server.max_to_computer),
            ("server.max_from_computer", server.max_from_computer),
        ] {
            if size < server.max_frame_bytes {
                return Err(self.invalid(key, "must not be less than server.max_frame_bytes"));
            }
        }
        Ok(ServerSettings {
            bind,
            data_dir: self.filled("server.data_dir", &server.data_dir)?.into(),
            heartbeat: self.millis("server.heartbeat_ms", server.heartbeat_ms)?,
            program_ping: self.millis("server.program_ping_ms", server.program_ping_ms)?,
            window: self.at_least_one("server.window", server.window)?,
            max_frame_bytes: server.max_frame_bytes as usize,
            max_to_computer: server.max_to_computer as usize,
            max_from_computer: server.max_from_computer as usize,
            shutdown_grace: Duration::from_millis(server.shutdown_grace_ms),
        })
    }

    fn gateway(&self, raw: &Raw) -> Result<GatewaySettings, ConfigError> {
        let gateway = &raw.gateway;
        let ms = |name: &str, value| self.millis(&format!("gateway.{name}"), value);
        let count = |name: &str, value| self.at_least_one(&format!("gateway.{name}"), value);
        Ok(GatewaySettings {
            max_concurrent: count("max_concurrent", gateway.max_concurrent)? as usize,
            queue: count("queue", gateway.queue)? as usize,
            batch: count("batch", gateway.batch)? as usize,
            connect_timeout: ms("connect_timeout_ms", gateway.connect_timeout_ms)?,
            headers_timeout: ms("headers_timeout_ms", gateway.headers_timeout_ms)?,
            chunk_timeout: ms("chunk_timeout_ms", gateway.chunk_timeout_ms)?,
            total_timeout: ms("total_timeout_ms", gateway.total_timeout_ms)?,
            retries: gateway.retries as usize,
            backoff: ms("backoff_ms", gateway.backoff_ms)?,
            backoff_max: ms("backoff_max_ms", gateway.backoff_max_ms)?,
            breaker_failures: count("breaker_failures", gateway.breaker_failures)?,
            breaker_cooldown: ms("breaker_cooldown_ms", gateway.breaker_cooldown_ms)?,
        })
    }

    fn memory(&self, raw: &Raw) -> Result<MemorySettings, ConfigError> {
        let memory = &raw.memory;
        let verbatim = self.at_least_one("memory.verbatim_results", memory.verbatim_results)?;
        if memory.cut_to > verbatim {
            return Err(self.invalid(
                "memory.cut_to",
                "must not be more than memory.verbatim_results",
            ));
        }
        if memory.result_bytes < 256 {
            return Err(self.invalid("memory.result_bytes", "must be at least 256"));
        }
        Ok(MemorySettings {
            verbatim_results: verbatim as usize,
            cut_to: memory.cut_to as usize,
            result_bytes: memory.result_bytes as usize,
            step_log_bytes: memory.step_log_bytes as usize,
        })
    }

    fn executor_mode(&self, mode: &str) -> Result<ExecutorMode, ConfigError> {
        match mode {
            "auto" => Ok(ExecutorMode::Auto),
            "always" => Ok(ExecutorMode::Always),
            "never" => Ok(ExecutorMode::Never),
            other => Err(self.invalid(
                "executor.mode",
                format!("must be \"auto\", \"always\" or \"never\", not \"{other}\""),
            )),
        }
    }

    fn role(
        &self,
        name: &str,
        raw: &RawRole,
        planner: Option<&RoleSettings>,
    ) -> Result<RoleSettings, ConfigError> {
        let key = |field: &str| format!("models.{name}.{field}");
        let provider = self.provider(&key("provider"), raw.provider.as_deref())?;
        let scripted = provider == ProviderKind::Scripted;
        let base_url = match &raw.base_url {
            _ if scripted => String::new(),
            Some(url) => self.base_url(&key("base_url"), url)?,
            None => {
                return Err(self.invalid(
                    &key("base_url"),
                    "must be set, since this role's provider is not the planner's",
                ));
            }
        };
        let model = match &raw.model {
            _ if scripted => "scripted".to_owned(),
            Some(model) => self.filled(&key("model"), model)?,
            None => {
                return Err(self.invalid(
                    &key("model"),
                    "must be set, since this role's provider is not the planner's",
                ));
            }
        };
        if scripted && raw.script.as_ref().is_none_or(String::is_empty) {
            return Err(self.invalid(
                &key("script"),
                "must be set for provider \"scripted\": a file, or a built-in name",
            ));
        }
        let role = RoleSettings {
            provider,
            base_url,
            api_key: self.api_key(name, raw)?,
            model,
            params: self.params(name, raw)?,
            script: raw.script.clone().filter(|_| scripted),
        };
        self.one_num_ctx_per_model(&role, planner)?;
        Ok(role)
    }

    /// Another `num_ctx` on every second call would make Ollama reload the model each time.
    fn one_num_ctx_per_model(
        &self,
        executor: &RoleSettings,
        planner: Option<&RoleSettings>,
    ) -> Result<(), ConfigError> {
        let Some(planner) = planner else {
            return Ok(());
        };
        let same = executor.provider == planner.provider
            && executor.base_url == planner.base_url
            && executor.model == planner.model;
        if same
            && executor.provider == ProviderKind::Ollama
            && executor.params.num_ctx != planner.params.num_ctx
        {
            return Err(self.invalid(
                "models.executor.num_ctx",
                "must equal models.planner.num_ctx, since both roles use one model on one server \
                 and every change of it makes the server reload the model",
            ));
        }
        Ok(())
    }

    fn provider(&self, key: &str, word: Option<&str>) -> Result<ProviderKind, ConfigError> {
        match word {
            Some("ollama") => Ok(ProviderKind::Ollama),
            Some("openai") => Ok(ProviderKind::OpenAi),
            Some("scripted") => Ok(ProviderKind::Scripted),
            other => Err(self.invalid(
                key,
                format!(
                    "must be \"ollama\", \"openai\" or \"scripted\", not \"{}\"",
                    other.unwrap_or_default()
                ),
            )),
        }
    }

    fn base_url(&self, key: &str, url: &str) -> Result<String, ConfigError> {
        let trimmed = url.trim_end_matches('/');
        let host = trimmed
            .strip_prefix("http://")
            .or_else(|| trimmed.strip_prefix("https://"));
        if host.is_none_or(|host| host.is_empty() || host.contains(char::is_whitespace)) {
            return Err(self.invalid(
                key,
                format!("must start with http:// or https:// and name a host, not `{url}`"),
            ));
        }
        let bare = trimmed
            .strip_suffix("/v1")
            .or_else(|| trimmed.strip_suffix("/api"));
        Ok(bare.unwrap_or(trimmed).to_owned())
    }

    fn api_key(&self, role: &str, raw: &RawRole) -> Result<Option<Secret>, ConfigError> {
        let key = format!("models.{role}.api_key_file");
        let text = match (&raw.api_key, &raw.api_key_file) {
            (Some(_), Some(_)) => {
                return Err(self.invalid(&key, "cannot be set together with api_key"));
            }
            (None, None) => return Ok(None),
            (Some(text), None) => text.clone(),
            (None, Some(path)) => std::fs::read_to_string(path)
                .map_err(|error| self.invalid(&key, format!("cannot be read: {path}: {error}")))?,
        };
        let secret = text.lines().next().unwrap_or_default().trim();
        Ok((!secret.is_empty()).then(|| Secret::new(secret)))
    }

    fn params(&self, role: &str, raw: &RawRole) -> Result<ModelParams, ConfigError> {
        let key = |field: &str| format!("models.{role}.{field}");
        if raw.temperature.is_some_and(|t| !(0.0..=2.0).contains(&t)) {
            return Err(self.invalid(&key("temperature"), "must be from 0 to 2"));
        }
        if raw.num_ctx.is_some_and(|n| n < MIN_NUM_CTX) {
            let reason = format!("must be at least {MIN_NUM_CTX}");
            return Err(self.invalid(&key("num_ctx"), reason));
        }
        if raw.max_tokens == Some(0) {
            return Err(self.invalid(&key("max_tokens"), "must be at least 1"));
        }
        if let Some(text) = raw.keep_alive.as_deref() {
            if !is_keep_alive(text) {
                return Err(self.invalid(
                    &key("keep_alive"),
                    format!(
                        "must be a duration with a unit such as \"10m\" or \"-1m\", not \"{text}\""
                    ),
                ));
            }
        }
        let think = match raw.think.as_deref() {
            None => None,
            Some(word) => Some(Think::parse(word).ok_or_else(|| {
                self.invalid(
                    &key("think"),
                    format!("must be one of off, on, low, medium, high, max, not \"{word}\""),
                )
            })?),
        };
        Ok(ModelParams {
            temperature: raw.temperature,
            num_ctx: raw.num_ctx,
            max_tokens: raw.max_tokens,
            keep_alive: raw.keep_alive.clone(),
            think,
            seed: raw.seed,
            stop: raw.stop.clone().unwrap_or_default(),
        })
    }

    fn filled(&self, key: &str, text: &str) -> Result<String, ConfigError> {
        match text.trim() {
            "" => Err(self.invalid(key, "must not be empty")),
            _ => Ok(text.to_owned()),
        }
    }

    fn at_least_one(&self, key: &str, value: u32) -> Result<u32, ConfigError> {
        self.at_least(key, value, 1)
    }

    fn at_least(&self, key: &str, value: u32, least: u32) -> Result<u32, ConfigError> {
        if value < least {
            return Err(self.invalid(key, format!("must be at least {least}")));
        }
        Ok(value)
    }

    fn millis(&self, key: &str, value: u64) -> Result<Duration, ConfigError> {
        if value == 0 {
            return Err(self.invalid(key, "must be more than 0"));
        }
        Ok(Duration::from_millis(value))
    }
}

fn seconds(value: u64) -> Duration {
    Duration::from_secs(value)
}

/// Whether Ollama reads this as a duration: Go's `ParseDuration`, so a unit is needed (`-1` is a 400).
fn is_keep_alive(text: &str) -> bool {
    let positive = text.strip_prefix('-').unwrap_or(text);
    let starts_with_digit = positive.starts_with(|c: char| c.is_ascii_digit());
    let known = positive
        .chars()
        .all(|c| c.is_ascii_digit() || matches!(c, '.' | 'h' | 'm' | 's' | 'u' | 'n' | 'µ'));
    starts_with_digit && known && positive.ends_with(['h', 'm', 's'])
}
