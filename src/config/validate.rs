//! From raw values to [`Settings`]: every rule that spans more than one type is here.

use std::net::IpAddr;
use std::time::Duration;

use super::error::ConfigError;
use super::layers::Merged;
use super::raw::Raw;
use super::roles;
use super::settings::*;
use crate::domain::episodes::ArchiveRule;
use crate::domain::profile::{Budgets, DriftRule, ExecutorMode, MemoryRules, Summarizer};
use crate::domain::work::plan_rules::PlanRules;
use crate::domain::work::{GoalRules, NumberedRules};

/// Milliseconds of a day.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// ComputerCraft's own limit of a frame (`http.websocket` default).
const CC_MAX_FRAME: u64 = 131_072;

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
        &roles::inherited(&raw.models.executor, &raw.models.planner),
        Some(&planner),
    )?;
    Ok(Settings {
        server: check.server(&raw)?,
        models: ModelSettings { planner, executor },
        gateway: check.gateway(&raw)?,
        executor: ExecutorSettings {
            mode: check.executor_mode(&raw.executor.mode)?,
            draft: raw.executor.draft,
            mends: raw.executor.mends,
        },
        budgets: Budgets {
            steps: check.at_least_one("budgets.steps", raw.budgets.steps)?,
            calls: check.at_least_one("budgets.calls", raw.budgets.calls)?,
            questions: raw.budgets.questions,
            wall_time_s: raw.budgets.wall_time_s,
            tokens: raw.budgets.tokens,
            model_failures: check
                .at_least_one("budgets.model_failures", raw.budgets.model_failures)?,
            per_wake: raw.budgets.per_wake,
        },
        guards: check.guards(raw.guards.clone())?,
        policy: check.policy(raw.policy.clone())?,
        memory: check.memory(&raw)?,
        numbered: check.numbered(raw.numbered)?,
        goals: check.goals(raw.goals)?,
        wakes: check.wakes(raw.wakes.clone())?,
        plan: check.plan(&raw)?,
        mcp: McpSettings {
            handle_after: check.millis("mcp.handle_after_ms", raw.mcp.handle_after_ms)?,
            max_sessions: check.at_least_one("mcp.max_sessions", raw.mcp.max_sessions)? as usize,
        },
        tools: ToolSettings {
            max_shown: raw.tools.max_shown as usize,
        },
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
            start_tasks: raw.tasks.start_tasks,
            max_depth: raw.tasks.max_depth,
            max_sleeping: raw.tasks.max_sleeping as usize,
            question_timeout: seconds(raw.tasks.question_timeout_s),
            prompts_dir: raw.tasks.prompts_dir.map(Into::into),
            kinds_dir: raw.tasks.kinds_dir.map(Into::into),
        },
        journal: ArchiveRule {
            keep_episodes: check
                .at_least_one("journal.keep_episodes", raw.journal.keep_episodes)?,
            older_than_ms: i64::from(raw.journal.archive_after_days) * DAY_MS,
            more_than_bytes: raw.journal.archive_over_bytes,
        },
        checkpoint_every: u64::from(raw.journal.checkpoint_every),
        log: LogSettings {
            format: check.log_format(&raw.log.format)?,
            filter: raw.log.filter,
            spans: raw.log.spans,
            prompts: raw.log.prompts,
        },
    })
}

pub(super) struct Check<'a> {
    merged: &'a Merged,
}

impl Check<'_> {
    pub(super) fn invalid(&self, key: &str, reason: impl Into<String>) -> ConfigError {
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
            allowed_hosts: self.hosts(&server.allowed_hosts)?,
            trusted_proxies: self.proxies(&server.trusted_proxies)?,
            requests_per_second: server.requests_per_second,
            requests_burst: self.at_least_one("server.requests_burst", server.requests_burst)?,
            max_connections: self.at_least_one("server.max_connections", server.max_connections)?,
        })
    }

    fn hosts(&self, hosts: &[String]) -> Result<Vec<String>, ConfigError> {
        let is_name = |host: &&String| {
            !host.is_empty() && !host.contains("/") && !host.contains(char::is_whitespace)
        };
        match hosts.iter().find(|host| !is_name(host)) {
            None => Ok(hosts.to_vec()),
            Some(host) => Err(self.invalid(
                "server.allowed_hosts",
                format!("has names such as fleet.example.org, without https://, not `{host}`"),
            )),
        }
    }

    fn proxies(&self, proxies: &[String]) -> Result<Vec<IpAddr>, ConfigError> {
        let parse = |text: &String| {
            text.parse().map_err(|_| {
                let reason = format!("has IP addresses such as 127.0.0.1, not `{text}`");
                self.invalid("server.trusted_proxies", reason)
            })
        };
        proxies.iter().map(parse).collect()
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
            rules: MemoryRules {
                verbatim_results: verbatim as usize,
                cut_to: memory.cut_to as usize,
                result_bytes: memory.result_bytes as usize,
                summarizer: self.summarizer("memory.summarizer", &memory.summarizer)?,
                diff_bytes: memory.diff_bytes as usize,
                drift: self.drift("memory.drift", &memory.drift)?,
                named_files: memory.named_files as usize,
            },
            step_log_bytes: memory.step_log_bytes as usize,
        })
    }

    fn numbered(&self, rules: NumberedRules) -> Result<NumberedRules, ConfigError> {
        self.at_least_one("numbered.plan_tries", rules.plan_tries)?;
        self.at_least_one("numbered.max_items", rules.max_items)?;
        Ok(rules)
    }

    fn goals(&self, rules: GoalRules) -> Result<GoalRules, ConfigError> {
        self.at_least_one("goals.rounds", rules.rounds)?;
        self.at_least_one("goals.history_keep", rules.history_keep)?;
        self.at_least_one("goals.max_objectives", rules.max_objectives)?;
        self.at_least_one("goals.max_subtasks", rules.max_subtasks)?;
        self.at_least_one("goals.plan_tries", rules.plan_tries)?;
        Ok(rules)
    }

    fn plan(&self, raw: &Raw) -> Result<PlanRules, ConfigError> {
        let rules = raw.plan.over(PlanRules::default());
        rules.map_err(|(key, reason)| self.invalid(&format!("plan.{key}"), reason))
    }

    fn log_format(&self, word: &str) -> Result<LogFormat, ConfigError> {
        match word {
            "text" => Ok(LogFormat::Text),
            "json" => Ok(LogFormat::Json),
            other => Err(self.invalid(
                "log.format",
                format!("must be \"text\" or \"json\", not \"{other}\""),
            )),
        }
    }

    fn summarizer(&self, key: &str, word: &str) -> Result<Summarizer, ConfigError> {
        match word {
            "rules" => Ok(Summarizer::Rules),
            "model" => Ok(Summarizer::Model),
            other => Err(self.invalid(
                key,
                format!("must be \"rules\" or \"model\", not \"{other}\""),
            )),
        }
    }

    fn drift(&self, key: &str, word: &str) -> Result<DriftRule, ConfigError> {
        match word {
            "tell" => Ok(DriftRule::Tell),
            "fail" => Ok(DriftRule::Fail),
            other => Err(self.invalid(
                key,
                format!("must be \"tell\" or \"fail\", not \"{other}\""),
            )),
        }
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

    pub(super) fn filled(&self, key: &str, text: &str) -> Result<String, ConfigError> {
        match text.trim() {
            "" => Err(self.invalid(key, "must not be empty")),
            _ => Ok(text.to_owned()),
        }
    }

    fn at_least_one(&self, key: &str, value: u32) -> Result<u32, ConfigError> {
        if value == 0 {
            return Err(self.invalid(key, "must be at least 1"));
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
