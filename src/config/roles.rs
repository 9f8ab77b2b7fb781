//! Validation of `[models.*]`: who answers for a role, with which parameters, and what is inherited.

use super::error::ConfigError;
use super::raw::RawRole;
use super::settings::{ProviderKind, RoleSettings, Secret, ToolChannel};
use super::validate::Check;
use crate::domain::model_call::{ModelParams, Think};

/// Below this no prompt of ours fits.
const MIN_NUM_CTX: u32 = 512;

/// Fills what the executor leaves out from the planner. Where to connect is only inherited by the
/// same kind of provider, how to think only by the same model.
pub(super) fn inherited(executor: &RawRole, planner: &RawRole) -> RawRole {
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
            role.tools = role.tools.or_else(|| planner.tools.clone());
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

impl Check<'_> {
    pub(super) fn role(
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
            tools: self.tool_channel(&key("tools"), raw.tools.as_deref())?,
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

    fn tool_channel(&self, key: &str, word: Option<&str>) -> Result<ToolChannel, ConfigError> {
        match word {
            None | Some("auto") => Ok(ToolChannel::Auto),
            Some("native") => Ok(ToolChannel::Native),
            Some("prompted") => Ok(ToolChannel::Prompted),
            Some(other) => Err(self.invalid(
                key,
                format!("must be \"auto\", \"native\" or \"prompted\", not \"{other}\""),
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
        // Addresses of model servers are shown in reports, logs and metrics.
        let place = host.and_then(|host| host.split('/').next());
        if place.is_some_and(|place| place.contains('@')) {
            return Err(self.invalid(
                key,
                "must hold no user and no password, since it is shown: put the key into api_key or api_key_file",
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
        if let Some(text) = raw.keep_alive.as_deref()
            && !is_keep_alive(text)
        {
            return Err(self.invalid(
                &key("keep_alive"),
                format!(
                    "must be a duration with a unit such as \"10m\" or \"-1m\", not \"{text}\""
                ),
            ));
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
