//! One computer's Lua machine: built from our ROM, resumed with events.

use std::ffi::c_int;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use mlua::chunk::ChunkMode;
use mlua::state::{GcIncParams, GcMode};
use mlua::thread::ThreadStatus;
use mlua::{Function, Lua, LuaOptions, MultiValue, StdLib, Thread, Value};

use super::computer::Computer;
use super::disk::rom::bios_source;
use super::event::Event;
use super::native;

/// Memory one Lua machine may use before it gets `not enough memory`, in bytes. The mod has no limit; a host
/// that runs hundreds of computers needs one.
const MEMORY_LIMIT: usize = 256 << 20;

/// The collector starts again when memory has grown to this many percent: less garbage for a little more work.
const GC_PAUSE: c_int = 125;

/// Garbage that is not worth a collection, in bytes.
const TIDY_SLACK: usize = 64 << 10;

/// The files of `bios/`, in the order in which they run.
const BIOS: [&str; 9] = [
    "sandbox.lua",
    "lua51.lua",
    "utf8.lua",
    "os.lua",
    "fs.lua",
    "term.lua",
    "http.lua",
    "hardware.lua",
    "main.lua",
];

/// A running Lua machine.
pub(crate) struct Vm {
    lua: Lua,
    main: Thread,
    wrap: Function,
    filter: Option<Vec<u8>>,
    kept: usize,
}

/// How a slice of the program ended.
pub(crate) enum Slice {
    /// It waits for its next event.
    Waiting,
    /// The main program came to its end or failed; the text is for the screen.
    Ended(Option<String>),
}

impl Vm {
    /// Builds the machine; nothing of a program has run yet.
    pub(crate) fn build(computer: &Arc<Computer>) -> mlua::Result<Vm> {
        let lua = new_state();
        lua.set_memory_limit(MEMORY_LIMIT)?;
        lua.gc_set_mode(GcMode::Incremental(GcIncParams::default().pause(GC_PAUSE)));
        let native = native::table(&lua, computer)?;
        for (name, code) in BIOS.iter().zip(bios(&lua)?) {
            let chunk = lua
                .load(code)
                .set_name(format!("@bios/{name}"))
                .set_mode(ChunkMode::Binary);
            chunk.into_function()?.call::<()>(&native)?;
        }
        let main: Thread = native.get("main")?;
        let wrap: Function = native.get("wrap")?;
        Ok(Vm {
            lua,
            main,
            wrap,
            filter: None,
            kept: 0,
        })
    }

    /// First resume: no event yet.
    pub(crate) fn begin(&mut self) -> Slice {
        self.resume(MultiValue::new())
    }

    /// Resumes the program with `event` if it waits for it; `terminate` passes every filter.
    pub(crate) fn deliver(&mut self, event: Event) -> Slice {
        let values = match event.into_values(&self.lua, &self.wrap) {
            Ok(values) => values,
            Err(error) => return Slice::Ended(Some(error.to_string())),
        };
        if let (Some(filter), Some(Value::String(name))) = (&self.filter, values.front()) {
            let name = name.as_bytes();
            if *name != *filter.as_slice() && *name != *b"terminate" {
                return Slice::Waiting;
            }
        }
        self.resume(values)
    }

    /// Bytes that the machine uses now.
    pub(crate) fn memory(&self) -> usize {
        self.lua.used_memory()
    }

    /// Called when it has nothing to do: an idle machine does not collect, so what grew since the last time
    /// goes now.
    pub(crate) fn tidy(&mut self) {
        if self.memory() > self.kept + self.kept / 4 + TIDY_SLACK {
            let _ = self.lua.gc_collect();
            self.kept = self.memory();
        }
    }

    fn resume(&mut self, values: MultiValue) -> Slice {
        match self.main.resume::<MultiValue>(values) {
            Ok(yielded) if self.main.status() == ThreadStatus::Resumable => {
                self.filter = match yielded.front() {
                    Some(Value::String(name)) => Some(name.as_bytes().to_vec()),
                    _ => None,
                };
                Slice::Waiting
            }
            Ok(_) => Slice::Ended(None),
            Err(error) => Slice::Ended(Some(plain_message(&error))),
        }
    }
}

#[allow(unsafe_code)]
fn new_state() -> Lua {
    let libs = StdLib::COROUTINE
        | StdLib::TABLE
        | StdLib::STRING
        | StdLib::BIT
        | StdLib::MATH
        | StdLib::DEBUG;
    // This keeps the original `pcall`, through which programs can yield.
    let options = LuaOptions::new().catch_rust_panics(true);
    // SAFETY: `unsafe` is asked for because of the debug library only. `bios/sandbox.lua` runs before any
    // program and takes away or guards what could touch native state: the registry, metatables of userdata,
    // and locals and upvalues of native functions. Binary chunks cannot be loaded by programs.
    unsafe { Lua::unsafe_new_with(libs, options) }
}

/// The bios compiled once for the process: building a machine then parses nothing.
fn bios(lua: &Lua) -> mlua::Result<Vec<Vec<u8>>> {
    static COMPILED: OnceLock<Mutex<Vec<Vec<u8>>>> = OnceLock::new();
    let mut compiled = COMPILED
        .get_or_init(Mutex::default)
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    if compiled.is_empty() {
        let mut fresh = Vec::new();
        for name in BIOS {
            let source = bios_source(name)
                .ok_or_else(|| mlua::Error::runtime(format!("bios/{name} is missing")))?;
            fresh.push(
                lua.load(source)
                    .set_name(format!("@bios/{name}"))
                    .into_function()?
                    .dump(false),
            );
        }
        *compiled = fresh;
    }
    Ok(compiled.clone())
}

/// The message as Lua raised it, without the host's words around it.
fn plain_message(error: &mlua::Error) -> String {
    match error {
        mlua::Error::RuntimeError(message) | mlua::Error::MemoryError(message) => message.clone(),
        mlua::Error::CallbackError { cause, .. } => plain_message(cause),
        other => other.to_string(),
    }
}
