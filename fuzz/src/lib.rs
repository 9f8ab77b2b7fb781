//! The pure modules of ccfleet that are fuzzed, read from where they lie. Taken without the rest of the package
//! (SQLite, Lua, HTTP), they build in a minute with coverage instrumentation.
#![allow(dead_code, reason = "only a part of each module is fuzzed")]

#[path = "../../src/strategy/directive/block.rs"]
pub mod block;
#[path = "../../src/domain/mod.rs"]
pub mod domain;
#[path = "../../src/strategy/directive/parser.rs"]
pub mod parser;
#[path = "../../src/strategy/directive/printer.rs"]
pub mod printer;
#[path = "../../src/wire/mod.rs"]
pub mod wire;
