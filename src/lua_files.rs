//! The `lua/` folder inside of the program: what the server hands out and what simulated computers run.

use rust_embed::RustEmbed;

/// The files of `lua/`, by path below it.
#[derive(RustEmbed)]
#[folder = "lua/"]
pub struct LuaFiles;
