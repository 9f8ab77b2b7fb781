//! The rules that guards go by: when calls go in circles, how large arguments may be, and what a task may touch. Pinned
//! in the task's profile.

use super::tool::name_matches;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// When a row of calls counts as a loop (source documents 000 and 004). How often the same call may be repeated is
/// [`super::profile::Guards::duplicate_calls`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LoopRules {
    /// How many calls back cycles and repeats are looked for.
    pub window: u32,
    /// A cycle of calls with the same outcomes this many times over is blocked; 0 = never.
    pub cycle_repeats: u32,
    /// The limit in place of both, where calls change something in the world each time or let time pass.
    pub patient_repeats: u32,
    /// Globs of tools that do work each time they succeed: repeating them is no loop.
    pub work_tools: Vec<String>,
    /// Globs of tools that let time pass.
    pub wait_tools: Vec<String>,
    /// Fields of results that differ each time and mean nothing.
    pub volatile_fields: Vec<String>,
}

impl Default for LoopRules {
    /// What profiles mean that were pinned before these keys were there. The defaults of new tasks are in
    /// `config/default.toml`.
    fn default() -> Self {
        LoopRules {
            window: 10,
            cycle_repeats: 0,
            patient_repeats: 9,
            work_tools: Vec::new(),
            wait_tools: Vec::new(),
            volatile_fields: vec!["duration_ms".to_owned()],
        }
    }
}

/// How large the arguments of one call may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ArgLimits {
    /// Levels of objects and lists within each other.
    pub depth: u32,
    /// Bytes as JSON.
    pub bytes: usize,
}

impl Default for ArgLimits {
    fn default() -> Self {
        ArgLimits {
            depth: 64,
            bytes: 1_048_576,
        }
    }
}

/// What a task may do without asking, only after asking, or not at all. Empty lists of paths, programs and hosts confine
/// nothing.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PolicyRules {
    /// The first one that fits a call counts.
    pub rules: Vec<PolicyRule>,
    /// Folders that file tools stay in.
    pub path_roots: Vec<String>,
    /// Globs of programs that may be run by `shell_exec` and `run_program`.
    pub shell_programs: Vec<String>,
    /// Globs of hosts, with or without a port, that URLs may name.
    pub url_hosts: Vec<String>,
    /// Whether a person has to approve what is destructive.
    pub confirm_destructive: bool,
    /// What is destructive: commands by their first words.
    pub destructive: Vec<String>,
    /// Globs of tools that are destructive.
    pub destructive_tools: Vec<String>,
    /// Which of the three lists end the task when they are violated.
    pub fatal: Vec<Confine>,
}

/// A list that confines a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confine {
    Paths,
    Programs,
    Hosts,
}

/// One rule about calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyRule {
    /// Globs of tools.
    pub tools: Vec<String>,
    /// Globs of computers; empty = all.
    #[serde(default)]
    pub computers: Vec<String>,
    /// Arguments by name, each with a glob that its text must match.
    #[serde(default)]
    pub args: BTreeMap<String, String>,
    pub verdict: RuleVerdict,
    /// Why, for the planner and for people.
    #[serde(default)]
    pub reason: String,
    /// Whether a denied call ends the task.
    #[serde(default)]
    pub fatal: bool,
}

/// What a rule says of the calls that it fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleVerdict {
    Allow,
    /// A person has to approve it.
    Confirm,
    Deny,
}

/// Whether one of the globs matches.
pub fn any_matches(globs: &[String], name: &str) -> bool {
    globs.iter().any(|glob| name_matches(glob, name))
}
