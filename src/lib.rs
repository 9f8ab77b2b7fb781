//! ccfleet: locally hosted language models run fleets of ComputerCraft computers.
//!
//! The folders are layers and imports only go down this list (kept by `tests/tidy.rs`):
//! `cli` → `app` → `http` → `dashboard` → `actors` → `sim`, `llm`, `store` → `strategy` → `prompts`, `config` →
//! `wire` → `domain`. `ARCHITECTURE.md` is the map with the invariants.

pub mod actors;
pub mod app;
pub mod cli;
pub mod clock;
pub mod config;
pub mod crash_points;
pub mod dashboard;
pub mod domain;
pub mod http;
pub mod llm;
pub mod lua_files;
pub mod metrics;
pub mod prompts;
pub mod sim;
pub mod store;
pub mod strategy;
pub mod telemetry;
pub mod wire;
