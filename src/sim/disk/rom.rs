//! The read-only `/rom` of every simulated computer, embedded in the program.
//!
//! All of it is our own, written from ComputerCraft's documented behaviour. The folder `bios/` is not mounted:
//! it is what the machine itself runs before a program does.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use rust_embed::RustEmbed;

use super::path::CcPath;

#[derive(RustEmbed)]
#[folder = "src/sim/rom/"]
struct Embedded;

/// Folders (as sorted lists of names) and files of `/rom`, by path below `/rom`.
pub(crate) struct Rom {
    files: BTreeMap<Vec<u8>, Arc<[u8]>>,
    dirs: BTreeMap<Vec<u8>, Vec<Vec<u8>>>,
}

/// What stands at a path of `/rom`.
pub(crate) enum RomEntry<'a> {
    /// A file with its bytes.
    File(&'a Arc<[u8]>),
    /// A folder with its sorted names.
    Dir(&'a [Vec<u8>]),
}

/// The ROM, read once.
pub(crate) fn rom() -> &'static Rom {
    static ROM: OnceLock<Rom> = OnceLock::new();
    ROM.get_or_init(Rom::load)
}

/// The source of a file of `bios/`.
pub(crate) fn bios_source(name: &str) -> Option<Vec<u8>> {
    Embedded::get(&format!("bios/{name}")).map(|f| f.data.into_owned())
}

impl Rom {
    fn load() -> Rom {
        let mut rom = Rom {
            files: BTreeMap::new(),
            dirs: BTreeMap::new(),
        };
        rom.dirs.insert(Vec::new(), Vec::new());
        for name in Embedded::iter() {
            if name.starts_with("bios/") {
                continue;
            }
            if let Some(file) = Embedded::get(&name) {
                rom.add(&name, file.data.as_ref());
            }
        }
        rom
    }

    fn add(&mut self, name: &str, bytes: &[u8]) {
        self.files.insert(name.as_bytes().to_vec(), bytes.into());
        let mut path = CcPath::parse(name.as_bytes(), false);
        while let Some(parent) = path.parent() {
            let names = self.dirs.entry(parent.to_bytes()).or_default();
            if let Some(last) = path.parts().last()
                && let Err(at) = names.binary_search(last)
            {
                names.insert(at, last.clone());
            }
            path = parent;
        }
    }

    /// Looks up a full path whose first name is `rom`.
    pub(crate) fn get(&self, path: &CcPath) -> Option<RomEntry<'_>> {
        let key = path.parts().get(1..)?.join(&b'/');
        if let Some(bytes) = self.files.get(&key) {
            return Some(RomEntry::File(bytes));
        }
        self.dirs.get(&key).map(|names| RomEntry::Dir(names))
    }
}
