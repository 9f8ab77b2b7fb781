//! Builds the providers that the settings ask for.

use std::sync::Arc;
use std::time::Duration;

use super::error::{Dialect, LlmError};
use super::http::Server;
use super::ollama::Ollama;
use super::openai::OpenAi;
use super::provider::Provider;
use super::scripted::Scripted;
use crate::config::{ProviderKind, RoleSettings, Settings};
use crate::domain::chat::Role;

/// The providers of all roles. Roles that use one server share one entry, so that the gateway bounds
/// the calls to a server and not to a role.
#[derive(Clone)]
pub struct ProviderSet {
    entries: Vec<Arc<dyn Provider>>,
    planner: usize,
    executor: usize,
}

impl ProviderSet {
    /// Builds what `settings.models` describe. Nothing is contacted yet.
    ///
    /// # Errors
    /// A scenario that cannot be used, or an HTTP client that cannot be made.
    pub fn from_settings(settings: &Settings) -> Result<Self, LlmError> {
        let connect_timeout = settings.gateway.connect_timeout;
        let models = &settings.models;
        let planner = build(&models.planner, connect_timeout)?;
        if same_server(&models.planner, &models.executor) {
            return Ok(ProviderSet::single(planner));
        }
        let executor = build(&models.executor, connect_timeout)?;
        Ok(ProviderSet::pair(planner, executor))
    }

    /// One provider for all roles.
    pub fn single(provider: Arc<dyn Provider>) -> Self {
        ProviderSet {
            entries: vec![provider],
            planner: 0,
            executor: 0,
        }
    }

    /// A provider per role.
    pub fn pair(planner: Arc<dyn Provider>, executor: Arc<dyn Provider>) -> Self {
        ProviderSet {
            entries: vec![planner, executor],
            planner: 0,
            executor: 1,
        }
    }

    /// The position of a role's provider in [`ProviderSet::entries`].
    pub fn index(&self, role: Role) -> usize {
        match role {
            Role::Planner => self.planner,
            Role::Executor => self.executor,
        }
    }

    /// The provider of a role.
    pub fn of(&self, role: Role) -> Option<&Arc<dyn Provider>> {
        self.entries.get(self.index(role))
    }

    /// All distinct providers.
    pub fn entries(&self) -> &[Arc<dyn Provider>] {
        &self.entries
    }
}

fn same_server(a: &RoleSettings, b: &RoleSettings) -> bool {
    a.provider == b.provider
        && a.base_url == b.base_url
        && a.api_key == b.api_key
        && a.script == b.script
}

/// Builds one role's provider.
///
/// # Errors
/// As [`ProviderSet::from_settings`].
pub fn build(
    role: &RoleSettings,
    connect_timeout: Duration,
) -> Result<Arc<dyn Provider>, LlmError> {
    match role.provider {
        ProviderKind::Ollama => Ok(Arc::new(ollama(role, connect_timeout)?)),
        ProviderKind::OpenAi => {
            let key = role.api_key.clone();
            let server = Server::new(Dialect::OpenAi, &role.base_url, key, connect_timeout)?;
            Ok(Arc::new(OpenAi::new(server)))
        }
        ProviderKind::Scripted => {
            let script = role.script.as_deref().unwrap_or_default();
            Ok(Arc::new(Scripted::load(script)?))
        }
    }
}

/// As [`build`], where Ollama's further questions (`/api/ps`, `/api/show`) are needed.
///
/// # Errors
/// An HTTP client that cannot be made.
pub fn ollama(role: &RoleSettings, connect_timeout: Duration) -> Result<Ollama, LlmError> {
    let key = role.api_key.clone();
    let server = Server::new(Dialect::Ollama, &role.base_url, key, connect_timeout)?;
    Ok(Ollama::new(server))
}
