//! How a computer fares, as lists and lanes tell it.

use crate::domain::ids::ClientId;
use crate::domain::toolbox::Toolbox;
use serde::Serialize;

/// How a computer fares (wire contract, `computer.state`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ComputerState {
    Ready,
    Busy,
    Unresponsive,
    #[default]
    Offline,
    Stopped,
}

impl ComputerState {
    /// Every state.
    pub const ALL: [ComputerState; 5] = [
        ComputerState::Ready,
        ComputerState::Busy,
        ComputerState::Unresponsive,
        ComputerState::Offline,
        ComputerState::Stopped,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            ComputerState::Ready => "ready",
            ComputerState::Busy => "busy",
            ComputerState::Unresponsive => "unresponsive",
            ComputerState::Offline => "offline",
            ComputerState::Stopped => "stopped",
        }
    }
}

/// A computer as lists show it (wire contract, `computer`). Times are milliseconds since the Unix epoch.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComputerStatus {
    pub client_id: ClientId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    pub groups: Vec<String>,
    pub online: bool,
    pub state: ComputerState,
    pub since_ms: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub library_version: Option<String>,
    pub tools: Toolbox,
    pub queue: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_call: Option<String>,
    pub owner: String,
    /// When a second live computer of this name was refused last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second_copy_ms: Option<i64>,
}
