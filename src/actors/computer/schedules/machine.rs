//! A computer of the schedules: the real Lua library, and a disk that can be copied.

use crate::lua_files::LuaFiles;
use mlua::chunk::ChunkMode;
use mlua::{Function, Lua, Table};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, OnceLock};

/// Path → content. What is written is on it at once.
pub type Disk = BTreeMap<String, Vec<u8>>;

/// What really happened, outside of every disk and journal.
#[derive(Debug, Default)]
pub struct Witness {
    /// How often each call entered a handler, on any computer.
    pub entered: HashMap<String, u32>,
    pub finished: HashMap<String, u32>,
}

/// What a machine did since the last look.
#[derive(Debug, Default)]
struct Doings {
    /// Frames, with the number of the connection attempt they went out on.
    out: Vec<(usize, String)>,
    shut: Vec<usize>,
    running: Vec<String>,
}

/// One start of a computer's program.
pub struct Machine {
    api: Table,
    doings: Arc<Mutex<Doings>>,
    /// The connection attempt that was accepted last.
    pub accepted: usize,
    _lua: Lua,
}

/// Every module compiled once for the process.
fn modules() -> &'static [(String, Vec<u8>)] {
    static COMPILED: OnceLock<Vec<(String, Vec<u8>)>> = OnceLock::new();
    COMPILED.get_or_init(|| {
        let lua = Lua::new();
        let compile = |name: &str, source: &[u8]| {
            let chunk = lua.load(source).set_name(format!("@{name}"));
            chunk.into_function().unwrap().dump(false)
        };
        // Read at run time, like the rest of the Lua side.
        let driver = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/src/actors/computer/schedules/driver.lua"
        );
        let driver = std::fs::read(driver).unwrap();
        let mut all = vec![("driver".to_owned(), compile("driver", &driver))];
        for path in LuaFiles::iter() {
            let module = path.strip_suffix(".lua").map(|p| p.replace('/', "."));
            let Some(module) = module else { continue };
            let wanted = module.starts_with("ccfleet.") || module.starts_with("specs.fake_");
            if !wanted {
                continue;
            }
            let name = module
                .trim_start_matches("specs.")
                .trim_end_matches(".init");
            let source = LuaFiles::get(&path).unwrap().data;
            all.push((name.to_owned(), compile(&path, &source)));
        }
        all
    })
}

impl Machine {
    /// Starts the program on `disk`. `boot` is never the same twice, `now` in seconds.
    pub fn start(disk: &Disk, boot: u32, now: f64, witness: &Arc<Mutex<Witness>>) -> Self {
        let lua = Lua::new();
        let doings = Arc::new(Mutex::new(Doings::default()));
        let load = |name: &str| {
            let module = modules().iter().find(|(known, _)| known == name);
            let code = &module.unwrap_or_else(|| panic!("no module {name}")).1;
            let chunk = lua.load(code.as_slice()).set_mode(ChunkMode::Binary);
            chunk.into_function().unwrap()
        };
        let preload: Table = lua
            .globals()
            .get::<Table>("package")
            .unwrap()
            .get("preload")
            .unwrap();
        for (name, _) in modules().iter().filter(|(name, _)| name != "driver") {
            preload.set(name.as_str(), load(name)).unwrap();
        }
        let host = host(&lua, &doings, witness);
        let files = lua.create_table().unwrap();
        for (path, content) in disk {
            let content = lua.create_string(content).unwrap();
            files.set(path.as_str(), content).unwrap();
        }
        host.set("files", files).unwrap();
        host.set("boot", boot).unwrap();
        host.set("now", now).unwrap();
        let api = load("driver").call::<Table>(host).unwrap();
        Machine {
            api,
            doings,
            accepted: 0,
            _lua: lua,
        }
    }

    fn call<A: mlua::IntoLuaMulti, T: mlua::FromLuaMulti>(&self, name: &str, args: A) -> T {
        let function: Function = self.api.get(name).unwrap();
        function
            .call(args)
            .unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The connection attempt that waits to be accepted.
    pub fn attempt(&self) -> Option<usize> {
        let latest: usize = self.call("attempt", ());
        (latest > self.accepted).then_some(latest)
    }

    pub fn accept(&mut self, attempt: usize) {
        self.accepted = attempt;
        self.call::<_, ()>("accept", attempt);
    }

    pub fn message(&self, attempt: usize, frame: &str) {
        self.call::<_, ()>("message", (attempt, frame));
    }

    pub fn closed(&self, attempt: usize) {
        self.call::<_, ()>("closed", attempt);
    }

    pub fn wait(&self, seconds: f64) {
        self.call::<_, ()>("wait", seconds);
    }

    /// Lets the handler that was entered first end.
    pub fn finish_one(&self) {
        let mut doings = self.doings.lock().unwrap();
        if doings.running.is_empty() {
            return;
        }
        let call_id = doings.running.remove(0);
        drop(doings);
        self.call::<_, ()>("finish", call_id);
    }

    /// From now on each write is cut off after so many bytes: a full disk, or a crash in the middle of a write.
    pub fn limit_writes(&self, bytes: Option<u32>) {
        self.call::<_, ()>("limit_writes", bytes);
    }

    pub fn disk(&self) -> Disk {
        let files: Table = self.call("files", ());
        let pairs = files.pairs::<String, mlua::LuaString>();
        pairs
            .map(|pair| {
                pair.map(|(path, text)| (path, text.as_bytes().to_vec()))
                    .unwrap()
            })
            .collect()
    }

    /// Results that the server has not confirmed.
    pub fn unconfirmed(&self) -> usize {
        self.call("unconfirmed", ())
    }

    pub fn take_out(&self) -> Vec<(usize, String)> {
        std::mem::take(&mut self.doings.lock().unwrap().out)
    }

    pub fn take_shut(&self) -> Vec<usize> {
        std::mem::take(&mut self.doings.lock().unwrap().shut)
    }
}

/// What the driver calls.
fn host(lua: &Lua, doings: &Arc<Mutex<Doings>>, witness: &Arc<Mutex<Witness>>) -> Table {
    let host = lua.create_table().unwrap();
    let note = |name: &str, what: Function| host.set(name, what).unwrap();
    let (seen, done) = (witness.clone(), doings.clone());
    note(
        "entered",
        lua.create_function(move |_, call_id: String| {
            *seen
                .lock()
                .unwrap()
                .entered
                .entry(call_id.clone())
                .or_default() += 1;
            done.lock().unwrap().running.push(call_id);
            Ok(())
        })
        .unwrap(),
    );
    let seen = witness.clone();
    note(
        "finished",
        lua.create_function(move |_, call_id: String| {
            *seen.lock().unwrap().finished.entry(call_id).or_default() += 1;
            Ok(())
        })
        .unwrap(),
    );
    let seen = witness.clone();
    note(
        "verify",
        lua.create_function(move |_, call_id: String| {
            let seen = seen.lock().unwrap();
            let ended = seen.finished.contains_key(&call_id);
            let begun = seen.entered.contains_key(&call_id);
            Ok(if ended {
                "done"
            } else if begun {
                "unknown"
            } else {
                "not_done"
            })
        })
        .unwrap(),
    );
    let done = doings.clone();
    note(
        "out",
        lua.create_function(move |_, (attempt, frame): (usize, mlua::LuaString)| {
            let frame = frame.to_string_lossy();
            done.lock().unwrap().out.push((attempt, frame));
            Ok(())
        })
        .unwrap(),
    );
    let done = doings.clone();
    note(
        "shut",
        lua.create_function(move |_, attempt: usize| {
            done.lock().unwrap().shut.push(attempt);
            Ok(())
        })
        .unwrap(),
    );
    host
}
