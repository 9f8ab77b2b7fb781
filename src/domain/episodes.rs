//! Episodes: what a task that lives on keeps from one wake to the next. The end of an episode is an event that makes
//! everything before it unnecessary: what goes on is carried in it, all else begins anew.

use super::chat::Role;
use super::directive::TaskResult;
use super::fork::ForkPoint;
use super::ids::ClientId;
use super::step::CallRecord;
use super::task_summary::Usage;
use super::tokens::TokenRatio;
use super::uptime::Seen;
use super::wakes::Wake;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Bytes of what is told of one former episode.
pub const MAX_RESULT: usize = 1_000;
/// Files that are named of one former episode.
pub const MOST_FILES: usize = 12;

/// An episode ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EpisodeEnded {
    /// From 1.
    pub episode: u32,
    pub end: EpisodeEnd,
    pub carried: Carried,
}

/// How an episode ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EpisodeEnd {
    Completed {
        result: TaskResult,
    },
    Failed {
        code: String,
        error: String,
        #[serde(default, skip_serializing_if = "Value::is_null")]
        details: Value,
    },
}

/// What goes on after an episode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Carried {
    /// Of the whole task.
    pub usage: Usage,
    /// What ended children used up; budgets count it too.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub children_usage: Usage,
    /// Behind a fork budgets begin anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked: Option<ForkPoint>,
    /// How long the task has been awake in all, in milliseconds.
    pub awake_ms: i64,
    /// Episodes that failed in a row.
    pub failures: u32,
    /// What former episodes came to, the oldest first.
    pub past: Vec<PastEpisode>,
    /// Calls that left and have no outcome yet, or an unknown one that may become known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub salt: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sticky: Option<ClientId>,
    /// What servers' counts say of the models.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ratios: BTreeMap<Role, TokenRatio>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_native_tools: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_ceiling: Option<usize>,
    /// The last start of the server, by both clocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Seen>,
}

fn is_nothing(usage: &Usage) -> bool {
    *usage == Usage::default()
}

/// What an episode came to, as later ones are told it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PastEpisode {
    pub episode: u32,
    /// Milliseconds since the Unix epoch.
    pub ended_at_ms: i64,
    /// In a few words.
    pub woken_by: String,
    pub success: bool,
    /// At most [`MAX_RESULT`] bytes.
    pub result: String,
    /// Files that it wrote.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}

/// How long a task sleeps. What wakes it stands in its creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sleep {
    /// Episodes until now.
    pub episodes: u32,
    /// The next time of its schedule, milliseconds since the Unix epoch; none if it waits for events or people alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wake_at_ms: Option<i64>,
}

/// Which episodes go out of the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArchiveRule {
    /// So many of the last ones stay; at least one does.
    pub keep_episodes: u32,
    /// Of the others those that ended longer ago than this, in milliseconds.
    pub older_than_ms: i64,
    /// All others, if the task's events take more than this.
    pub more_than_bytes: u64,
}

/// What a task's state knows of its episodes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Episodes {
    /// The one that runs, or ran last; 0 in a task that has none.
    pub number: u32,
    /// Why it runs.
    pub why: Vec<Wake>,
    pub past: Vec<PastEpisode>,
    /// Episodes that failed in a row.
    pub failures: u32,
    /// Wakes that came while it runs: the next one follows at once.
    pub kept: Vec<Wake>,
    pub sleep: Option<Sleep>,
    /// In milliseconds, of the former episodes.
    pub awake_ms: i64,
    /// Calls of former episodes whose outcome is not certain.
    pub calls: Vec<CallRecord>,
}
