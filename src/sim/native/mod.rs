//! What the bios can ask of Rust. Programs never see this table.
//!
//! These functions raise no Lua errors of their own: a failure is a second value, and the bios raises it at the
//! caller's line, as ComputerCraft does.

mod fs;
mod hardware;
mod net;
mod os;
mod pack;
mod term;

use std::fmt::Display;
use std::sync::Arc;

use mlua::{FromLuaMulti, IntoLuaMulti, Lua, Table};

use super::computer::Computer;

/// Builds the table for one computer.
pub(crate) fn table(lua: &Lua, computer: &Arc<Computer>) -> mlua::Result<Table> {
    let mut natives = Natives {
        lua,
        computer,
        table: lua.create_table()?,
    };
    os::add(&mut natives)?;
    pack::add(&mut natives)?;
    fs::add(&mut natives)?;
    term::add(&mut natives)?;
    net::add(&mut natives)?;
    hardware::add(&mut natives)?;
    Ok(natives.table)
}

struct Natives<'a> {
    lua: &'a Lua,
    computer: &'a Arc<Computer>,
    table: Table,
}

impl Natives<'_> {
    /// Adds a function that gets the computer and its arguments.
    fn add<A, R, F>(&mut self, name: &str, function: F) -> mlua::Result<()>
    where
        A: FromLuaMulti,
        R: IntoLuaMulti,
        F: Fn(&Arc<Computer>, A) -> R + Send + Sync + 'static,
    {
        // A weak reference: the computer owns this machine.
        let weak = Arc::downgrade(self.computer);
        let function = self.lua.create_function(move |_, args: A| {
            let computer = weak
                .upgrade()
                .ok_or_else(|| mlua::Error::runtime("computer is gone"))?;
            Ok(function(&computer, args))
        })?;
        self.table.raw_set(name, function)
    }

    /// Adds a function that also needs Lua itself.
    fn add_lua<A, R, F>(&mut self, name: &str, function: F) -> mlua::Result<()>
    where
        A: FromLuaMulti,
        R: IntoLuaMulti,
        F: Fn(&Lua, &Arc<Computer>, A) -> mlua::Result<R> + Send + Sync + 'static,
    {
        let weak = Arc::downgrade(self.computer);
        let function = self.lua.create_function(move |lua, args: A| {
            let computer = weak
                .upgrade()
                .ok_or_else(|| mlua::Error::runtime("computer is gone"))?;
            function(lua, &computer, args)
        })?;
        self.table.raw_set(name, function)
    }
}

/// A result as Lua gets it: the value, or nil and the text.
fn answer<T, E: Display>(result: Result<T, E>) -> (Option<T>, Option<String>) {
    match result {
        Ok(value) => (Some(value), None),
        Err(error) => (None, Some(error.to_string())),
    }
}
