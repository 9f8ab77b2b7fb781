//! The actors and the rules by which they talk.
//!
//! ```text
//!            http, cli            (ask)
//!               │
//! Connection ─► Supervisor ─► Task ─► Planner, Executor ─► Gateway ─► models
//!     │             │           │
//!     │             │           ├─► Computer (place, dispatch, cancel)   found through the Router
//!     ▼             │           │
//!  Registry ─► Computer         ▼
//!                  └──────► Journal ─► Feed ─► subscribers
//! ```
//!
//! Beside it `DirectReads` (http → lane → journal): a call to a `read` tool that is answered before it is journalled.
//!
//! Send rules: asks go down this picture, facts go up, so no cycle of waiting can exist. A sender gets a
//! `Recipient<M>` in its constructor. `do_send` is for facts only (actix lets it ignore the mailbox bound);
//! everything else is `try_send` with an answer to "full", or `send` with a deadline. Every answer carries
//! id and generation; a stale one is dropped. Messages live in the receiver's `messages.rs`.

pub mod backlog;
pub mod computer;
pub mod connection;
pub mod consult;
pub mod counts;
pub mod deltas;
pub mod direct_reads;
pub mod executor;
pub mod failures;
pub mod feed;
pub mod gateway;
pub mod journal;
pub mod near;
pub mod planner;
pub mod registry;
pub mod shards;
pub mod spans;
pub mod supervisor;
pub mod task;
pub mod tokens;
pub mod tool_habits;
