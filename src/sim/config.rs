//! What a simulated computer is made of, and how its disk is prepared.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use super::SimError;
use super::hardware::Attached;
use super::net::HttpRules;
use super::settings_file;
use super::version::CcVersion;
use super::world::{Facing, Place};
use crate::lua_files::LuaFiles;

/// Capacity of a computer's disk in the game's default configuration, in bytes.
const DISK_CAPACITY: u64 = 1_000_000;

/// The startup of [`host_computer`]: the host works behind a shell, which stays usable.
const HOST_STARTUP: &str = "shell.run(\"/ccfleet/host.lua\", \"--shell\")\n";

/// What kind of computer it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// A block that stands where it is.
    #[default]
    Computer,
    /// A robot that moves through the block world.
    Turtle,
    /// A computer in a player's hand.
    Pocket,
}

impl Kind {
    /// Columns and lines of its screen.
    pub(crate) fn screen_size(self) -> (usize, usize) {
        match self {
            Kind::Computer => (51, 19),
            Kind::Turtle => (39, 13),
            Kind::Pocket => (26, 20),
        }
    }
}

/// How a turtle comes into the block world; afterwards it is where it went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurtleSetup {
    /// Where it stands and looks; `None` gives every turtle of a fleet a place of its own, looking north.
    pub place: Option<(Place, Facing)>,
    /// Moves it can make.
    pub fuel: u32,
    /// What it holds: slot (from 1), item, count.
    pub items: Vec<(usize, String, u32)>,
}

impl Default for TurtleSetup {
    fn default() -> TurtleSetup {
        TurtleSetup {
            place: None,
            fuel: 1000,
            items: Vec::new(),
        }
    }
}

/// How one computer is made. [`ComputerConfig::new`] gives the usual values.
#[derive(Clone, Debug)]
pub struct ComputerConfig {
    /// The computer's number, unique in its fleet.
    pub id: u32,
    /// Label, if it has one.
    pub label: Option<String>,
    /// The host folder that is its disk; it is made if missing.
    pub disk: PathBuf,
    /// Settings (`/.settings`) to set before it boots; others in the file stay.
    pub settings: Vec<(String, serde_json::Value)>,
    /// Writes the embedded `lua/` folder to `/ccfleet` before it boots.
    pub install_lua: bool,
    /// Content of `/startup.lua`, written if the disk has none.
    pub startup: Option<String>,
    /// Bytes that fit on the disk; every file and folder counts at least 500.
    pub disk_capacity: u64,
    /// A program and its arguments to run instead of the shell's prompt; then the computer switches off.
    pub program: Option<Vec<String>>,
    /// Keeps up to 2,000 lines that scroll off the screen, for [`super::ProgramRun::output`].
    pub keep_output: bool,
    /// Computer, turtle or pocket computer.
    pub kind: Kind,
    /// With colours; a turtle holds more fuel.
    pub advanced: bool,
    /// The release of CC: Tweaked whose manners it has.
    pub cc_version: CcVersion,
    /// Which addresses its programs reach.
    pub http_rules: HttpRules,
    /// False takes away the global `http`, as a server's configuration can.
    pub http_enabled: bool,
    /// What is attached to it when it is made.
    pub attached: Vec<Attached>,
    /// How it comes into the world, if it is a turtle.
    pub turtle: TurtleSetup,
    /// Time without yielding until `Too long without yielding` is raised.
    pub yield_limit: Duration,
    /// Further time until the computer is stopped.
    pub stop_limit: Duration,
    /// False leaves the computer off until [`super::Computer::turn_on`].
    pub turned_on: bool,
}

impl ComputerConfig {
    /// A plain computer with the game's default limits.
    pub fn new(id: u32, disk: impl Into<PathBuf>) -> ComputerConfig {
        ComputerConfig {
            id,
            label: None,
            disk: disk.into(),
            settings: Vec::new(),
            install_lua: false,
            startup: None,
            disk_capacity: DISK_CAPACITY,
            program: None,
            keep_output: false,
            kind: Kind::Computer,
            advanced: true,
            cc_version: CcVersion::LATEST,
            http_rules: HttpRules::allow_all(),
            http_enabled: true,
            attached: Vec::new(),
            turtle: TurtleSetup::default(),
            yield_limit: Duration::from_secs(7),
            stop_limit: Duration::from_millis(1500),
            turned_on: true,
        }
    }

    /// Writes what the computer finds on its disk at its first boot.
    pub(crate) fn prepare_disk(&self) -> Result<(), SimError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| SimError::Disk { path, source }
        };
        fs::create_dir_all(&self.disk).map_err(failed(&self.disk))?;
        if self.install_lua {
            for (name, bytes) in installed_files() {
                let target = self.disk.join("ccfleet").join(name);
                if let Some(folder) = target.parent() {
                    fs::create_dir_all(folder).map_err(failed(folder))?;
                    fs::write(&target, bytes).map_err(failed(&target))?;
                }
            }
        }
        if let Some(startup) = &self.startup {
            let target = self.disk.join("startup.lua");
            if !target.exists() && !self.disk.join("startup").exists() {
                fs::write(&target, startup).map_err(failed(&target))?;
            }
        }
        if !self.settings.is_empty() {
            settings_file::merge(&self.disk.join(".settings"), &self.settings)?;
        }
        Ok(())
    }
}

/// The files of `lua/` that belong on a computer, read once for all of them.
fn installed_files() -> &'static [(String, Vec<u8>)] {
    static FILES: OnceLock<Vec<(String, Vec<u8>)>> = OnceLock::new();
    FILES.get_or_init(|| {
        let wanted =
            LuaFiles::iter().filter(|name| name.ends_with(".lua") && !name.starts_with("specs/"));
        wanted
            .filter_map(|name| Some((name.to_string(), LuaFiles::get(&name)?.data.into_owned())))
            .collect()
    })
}

/// The usual computer of a fleet: the ccfleet host is installed, knows the server, and starts at boot.
///
/// `server_url` is the full WebSocket address (`ws://host:port/ws`). Handlers that are entered are noted in
/// `/entries.log` on its disk.
pub fn host_computer(
    id: u32,
    disk: impl Into<PathBuf>,
    server_url: &str,
    client_id: &str,
) -> ComputerConfig {
    ComputerConfig {
        label: Some(client_id.to_owned()),
        settings: vec![
            ("ccfleet.url".into(), server_url.into()),
            ("ccfleet.client_id".into(), client_id.into()),
            ("ccfleet.entry_log".into(), "/entries.log".into()),
        ],
        install_lua: true,
        startup: Some(HOST_STARTUP.into()),
        ..ComputerConfig::new(id, disk)
    }
}
