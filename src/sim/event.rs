//! Events on their way into a computer.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::Arc;

use mlua::{Lua, MultiValue, Table, Value};

use super::net::{Response, Socket};

/// One argument of an event that comes from outside of Lua.
#[derive(Clone)]
pub(crate) enum Arg {
    Nil,
    Bool(bool),
    Number(f64),
    Bytes(Vec<u8>),
    /// Keys and values.
    Table(Vec<(Arg, Arg)>),
    Socket(Arc<Socket>),
    Response(Arc<Response>),
}

impl From<&str> for Arg {
    fn from(text: &str) -> Arg {
        Arg::Bytes(text.as_bytes().to_vec())
    }
}

/// An entry of a computer's queue.
pub(crate) enum Event {
    /// From the world: timers, sockets, keys.
    World { name: &'static str, args: Vec<Arg> },
    /// From `os.queueEvent` or the Rust API: name first; tables are copies already.
    Lua(MultiValue),
    /// From the Rust API: a name that is not known at compile time.
    Named {
        name: String,
        args: Vec<serde_json::Value>,
    },
}

impl Event {
    /// An event of the world.
    pub(crate) fn world(name: &'static str, args: impl Into<Vec<Arg>>) -> Event {
        Event::World {
            name,
            args: args.into(),
        }
    }

    /// The values that the main coroutine is resumed with. `wrap` makes the Lua handle of a native object.
    pub(crate) fn into_values(self, lua: &Lua, wrap: &mlua::Function) -> mlua::Result<MultiValue> {
        match self {
            Event::Lua(values) => Ok(values),
            Event::World { name, args } => {
                let mut values = vec![Value::String(lua.create_string(name)?)];
                for arg in args {
                    values.push(arg_value(lua, arg, wrap)?);
                }
                Ok(MultiValue::from_vec(values))
            }
            Event::Named { name, args } => {
                let mut values = vec![Value::String(lua.create_string(name)?)];
                for arg in &args {
                    values.push(json_value(lua, arg)?);
                }
                Ok(MultiValue::from_vec(values))
            }
        }
    }
}

/// An argument as Lua sees it. `wrap` makes the Lua handle of a native object.
pub(crate) fn arg_value(lua: &Lua, arg: Arg, wrap: &mlua::Function) -> mlua::Result<Value> {
    Ok(match arg {
        Arg::Nil => Value::Nil,
        Arg::Bool(b) => Value::Boolean(b),
        Arg::Number(n) => Value::Number(n),
        Arg::Bytes(bytes) => Value::String(lua.create_string(bytes)?),
        Arg::Table(pairs) => {
            let table = lua.create_table()?;
            for (key, item) in pairs {
                table.raw_set(arg_value(lua, key, wrap)?, arg_value(lua, item, wrap)?)?;
            }
            Value::Table(table)
        }
        Arg::Socket(socket) => wrap.call(("socket", lua.create_any_userdata(socket)?))?,
        Arg::Response(response) => wrap.call(("response", lua.create_any_userdata(response)?))?,
    })
}

/// A JSON value as Lua sees it; `null` is nil.
pub(crate) fn json_value(lua: &Lua, json: &serde_json::Value) -> mlua::Result<Value> {
    Ok(match json {
        serde_json::Value::Null => Value::Nil,
        serde_json::Value::Bool(b) => Value::Boolean(*b),
        serde_json::Value::Number(n) => Value::Number(n.as_f64().unwrap_or(0.0)),
        serde_json::Value::String(s) => Value::String(lua.create_string(s)?),
        serde_json::Value::Array(items) => {
            let table = lua.create_table()?;
            for (i, item) in items.iter().enumerate() {
                table.raw_set(i + 1, json_value(lua, item)?)?;
            }
            Value::Table(table)
        }
        serde_json::Value::Object(fields) => {
            let table = lua.create_table()?;
            for (key, item) in fields {
                table.raw_set(key.as_str(), json_value(lua, item)?)?;
            }
            Value::Table(table)
        }
    })
}

/// Copies what `os.queueEvent` is given: tables deeply (cycles stay cycles), functions and coroutines become nil.
pub(crate) fn copy_values(lua: &Lua, values: MultiValue) -> mlua::Result<MultiValue> {
    let mut seen = HashMap::new();
    values
        .into_iter()
        .map(|value| copy_value(lua, value, &mut seen))
        .collect()
}

fn copy_value(
    lua: &Lua,
    value: Value,
    seen: &mut HashMap<*const c_void, Table>,
) -> mlua::Result<Value> {
    match value {
        Value::Nil
        | Value::Boolean(_)
        | Value::Integer(_)
        | Value::Number(_)
        | Value::String(_) => Ok(value),
        Value::Table(table) => {
            if let Some(copy) = seen.get(&table.to_pointer()) {
                return Ok(Value::Table(copy.clone()));
            }
            let copy = lua.create_table()?;
            seen.insert(table.to_pointer(), copy.clone());
            for pair in table.pairs::<Value, Value>() {
                let (key, item) = pair?;
                let key = copy_value(lua, key, seen)?;
                if !key.is_nil() {
                    copy.raw_set(key, copy_value(lua, item, seen)?)?;
                }
            }
            Ok(Value::Table(copy))
        }
        _ => Ok(Value::Nil),
    }
}
