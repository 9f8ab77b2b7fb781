//! Tells the program which fold it has: a hash of the sources that make a task's state. A checkpoint that another fold made is never gone
//! on from, and nobody has to remember to raise a number.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// What a state's form and the fold depend on; the lock file names the versions of what writes and reads JSON.
const SOURCES: [&str; 2] = ["src/domain", "Cargo.lock"];

fn main() {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap_or_default());
    let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
    for source in SOURCES {
        println!("cargo::rerun-if-changed={source}");
        hash.take_in(&root, Path::new(source));
    }
    println!("cargo::rustc-env=CCFLEET_FOLD={:016x}", hash.0);
}

/// FNV-1a with 64 bits: nobody attacks it, and two versions meet in it never.
struct Fnv(u64);

impl Fnv {
    /// A file, or all files of a folder in the order of their names.
    fn take_in(&mut self, root: &Path, path: &Path) {
        let whole = root.join(path);
        let Ok(entries) = fs::read_dir(&whole) else {
            // A package that was packed without a lock file has a hash of its own, too.
            self.add(path.to_string_lossy().as_bytes());
            return self.add(&fs::read(&whole).unwrap_or_default());
        };
        let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
        names.sort();
        for name in names {
            self.take_in(root, &path.join(name));
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        for byte in (bytes.len() as u64).to_le_bytes().iter().chain(bytes) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
