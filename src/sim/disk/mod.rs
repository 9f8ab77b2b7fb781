//! A computer's file system: a folder of the host, plus the read-only `/rom`.
//!
//! Nothing a program writes as a path can leave the folder: `..` above the root is refused, and so is every
//! symbolic link, wherever it points. Sizes count as ComputerCraft counts them: at least 500 bytes for every
//! file and folder.

mod handle;
mod host;
mod path;
pub(crate) mod rom;

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::crash_points::{self, Point};
pub(crate) use handle::{FileHandle, OpenMode};
use host::{MIN_COST, cost_below, cost_of, millis, os_name};
pub(crate) use path::CcPath;
use rom::{RomEntry, rom};

/// Files a computer may have open at once.
const MAX_OPEN: usize = 128;

/// Why a file operation was refused; `Display` is ComputerCraft's text.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum FsError {
    /// With the path in front.
    #[error("{0}: {1}")]
    At(CcPath, &'static str),
    /// The bare text.
    #[error("{0}")]
    Plain(&'static str),
}

type FsResult<T> = Result<T, FsError>;

/// Size and times of a file or folder.
pub(crate) struct Attributes {
    /// Bytes; 0 for a folder.
    pub(crate) size: u64,
    pub(crate) is_dir: bool,
    pub(crate) read_only: bool,
    /// Milliseconds since 1970.
    pub(crate) created: u64,
    /// Milliseconds since 1970.
    pub(crate) modified: u64,
}

/// One place among the 128 open files; given back when dropped.
pub(crate) struct OpenSlot(Arc<Disk>);

impl Drop for OpenSlot {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The disk of one computer.
pub(crate) struct Disk {
    root: PathBuf,
    capacity: u64,
    used: AtomicU64,
    open: AtomicUsize,
    /// A fault: as if nothing fitted any more.
    full: AtomicBool,
}

impl Disk {
    /// Opens the folder, which is made if it is missing. `capacity` in bytes.
    pub(crate) fn open_folder(root: &std::path::Path, capacity: u64) -> io::Result<Disk> {
        fs::create_dir_all(root)?;
        let root = root.canonicalize()?;
        let disk = Disk {
            root,
            capacity,
            used: AtomicU64::new(0),
            open: AtomicUsize::new(0),
            full: AtomicBool::new(false),
        };
        disk.recount();
        Ok(disk)
    }

    /// Counts the folder anew: somebody outside may have changed it while the computer was off.
    pub(crate) fn recount(&self) {
        let used = fs::read_dir(&self.root)
            .map(|_| cost_below(&self.root))
            .unwrap_or(0);
        self.used.store(used, Ordering::Relaxed);
    }

    /// Bytes that fit in total.
    pub(crate) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Fills the disk up, or empties it of what filled it.
    pub(crate) fn fill_up(&self, full: bool) {
        self.full.store(full, Ordering::Relaxed);
    }

    /// Bytes still free.
    pub(crate) fn free(&self) -> u64 {
        if self.full.load(Ordering::Relaxed) {
            return 0;
        }
        self.capacity
            .saturating_sub(self.used.load(Ordering::Relaxed))
    }

    /// Counts that a file grew or shrank; refuses what does not fit.
    fn charge(&self, before: u64, after: u64) -> io::Result<()> {
        let (before, after) = (before.max(MIN_COST), after.max(MIN_COST));
        if after > before {
            self.take(after - before)
                .map_err(|_| io::Error::from(io::ErrorKind::StorageFull))
        } else {
            self.give_back(before - after);
            Ok(())
        }
    }

    fn take(&self, bytes: u64) -> Result<(), ()> {
        if bytes > 0 && self.full.load(Ordering::Relaxed) {
            return Err(());
        }
        let fits = |used: u64| used.checked_add(bytes).filter(|&sum| sum <= self.capacity);
        self.used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits)
            .map(drop)
            .map_err(drop)
    }

    fn give_back(&self, bytes: u64) {
        let less = |used: u64| Some(used.saturating_sub(bytes));
        let _ = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// The sorted names in a folder.
    pub(crate) fn list(&self, path: &CcPath) -> FsResult<Vec<Vec<u8>>> {
        if in_rom(path)? {
            return match rom().get(path) {
                Some(RomEntry::Dir(names)) => Ok(names.to_vec()),
                Some(RomEntry::File(_)) => Err(FsError::At(path.clone(), "Not a directory")),
                None => Err(FsError::At(path.clone(), "No such file")),
            };
        }
        let host = self
            .find(path)?
            .ok_or_else(|| FsError::At(path.clone(), "No such file"))?;
        let entries =
            fs::read_dir(&host).map_err(|_| FsError::At(path.clone(), "Not a directory"))?;
        let mut names: Vec<Vec<u8>> = entries
            .filter_map(|e| e.ok())
            .map(|e| e.file_name().into_encoded_bytes())
            .collect();
        if path.is_root() && !names.iter().any(|n| n == b"rom") {
            names.push(b"rom".to_vec());
        }
        names.sort();
        Ok(names)
    }

    /// What stands at the path; `None` if nothing does (or a symbolic link, which counts as nothing).
    pub(crate) fn attributes(&self, path: &CcPath) -> FsResult<Option<Attributes>> {
        if in_rom(path)? {
            return Ok(rom().get(path).map(|entry| match entry {
                RomEntry::File(bytes) => rom_attributes(bytes.len() as u64, false),
                RomEntry::Dir(_) => rom_attributes(0, true),
            }));
        }
        let Ok(Some(host)) = self.find(path) else {
            return Ok(None);
        };
        let Ok(meta) = fs::metadata(&host) else {
            return Ok(None);
        };
        let modified = millis(meta.modified());
        Ok(Some(Attributes {
            size: if meta.is_dir() { 0 } else { meta.len() },
            is_dir: meta.is_dir(),
            read_only: false,
            created: meta.created().map_or(modified, |t| millis(Ok(t))),
            modified,
        }))
    }

    /// Makes a folder and those above it.
    pub(crate) fn make_dir(&self, path: &CcPath) -> FsResult<()> {
        self.refuse_rom(path)?;
        let mut missing = Vec::new();
        let mut at = Some(path.clone());
        while let Some(here) = at {
            match self.attributes(&here)? {
                Some(a) if a.is_dir => break,
                Some(_) => return Err(FsError::At(path.clone(), "File exists")),
                None => missing.push(here.clone()),
            }
            at = here.parent();
        }
        self.take(MIN_COST * missing.len() as u64)
            .map_err(|()| FsError::At(path.clone(), "Out of space"))?;
        for dir in missing.iter().rev() {
            fs::create_dir(self.host(dir)?)
                .map_err(|_| FsError::At(path.clone(), "Access denied"))?;
        }
        Ok(())
    }

    /// Removes a file or a whole folder; a missing one is no error.
    pub(crate) fn delete(&self, path: &CcPath) -> FsResult<()> {
        self.refuse_rom(path)?;
        if path.is_root() {
            return Err(FsError::At(path.clone(), "Access denied"));
        }
        let Some(host) = self.find(path)? else {
            return Ok(());
        };
        let cost = cost_of(&host);
        let removed = if host.is_dir() {
            fs::remove_dir_all(&host)
        } else {
            fs::remove_file(&host)
        };
        removed.map_err(|_| FsError::At(path.clone(), "Access denied"))?;
        self.give_back(cost);
        Ok(())
    }

    /// Moves a file or folder to a path where nothing is.
    pub(crate) fn rename(&self, from: &CcPath, to: &CcPath) -> FsResult<()> {
        self.refuse_rom(from)?;
        self.refuse_rom(to)?;
        if from.is_root() {
            return Err(FsError::At(from.clone(), "Access denied"));
        }
        let source = self.find(from)?.ok_or(FsError::Plain("No such file"))?;
        if self.attributes(to)?.is_some() {
            return Err(FsError::Plain("File exists"));
        }
        if to.is_within(from) {
            return Err(FsError::Plain("Can't move a directory inside itself"));
        }
        if let Some(parent) = to.parent() {
            self.make_dir(&parent)?;
        }
        fs::rename(source, self.host(to)?).map_err(|_| FsError::At(to.clone(), "Access denied"))
    }

    /// Copies a file or folder to a path where nothing is.
    pub(crate) fn copy(&self, from: &CcPath, to: &CcPath) -> FsResult<()> {
        self.refuse_rom(to)?;
        let source = self
            .attributes(from)?
            .ok_or_else(|| FsError::At(from.clone(), "No such file"))?;
        if self.attributes(to)?.is_some() {
            return Err(FsError::At(to.clone(), "File exists"));
        }
        if to.is_within(from) {
            return Err(FsError::At(
                from.clone(),
                "Can't copy a directory inside itself",
            ));
        }
        if let Some(parent) = to.parent() {
            self.make_dir(&parent)?;
        }
        self.copy_tree(from, to, source.is_dir)
    }

    fn copy_tree(&self, from: &CcPath, to: &CcPath, is_dir: bool) -> FsResult<()> {
        if is_dir {
            self.make_dir(to)?;
            for name in self.list(from)? {
                let (from, to) = (from.child(&name), to.child(&name));
                if let Some(a) = self.attributes(&from)? {
                    self.copy_tree(&from, &to, a.is_dir)?;
                }
            }
            return Ok(());
        }
        let bytes = self.read_whole(from)?;
        let cost = (bytes.len() as u64).max(MIN_COST);
        self.take(cost)
            .map_err(|()| FsError::At(to.clone(), "Out of space"))?;
        fs::write(self.host(to)?, &*bytes).map_err(|_| FsError::At(to.clone(), "Access denied"))
    }

    fn read_whole(&self, path: &CcPath) -> FsResult<Arc<[u8]>> {
        let missing = || FsError::At(path.clone(), "No such file");
        if in_rom(path)? {
            return match rom().get(path).ok_or_else(missing)? {
                RomEntry::File(bytes) => Ok(bytes.clone()),
                RomEntry::Dir(_) => Err(FsError::At(path.clone(), "Not a file")),
            };
        }
        let host = self.find(path)?.ok_or_else(missing)?;
        if host.is_dir() {
            return Err(FsError::At(path.clone(), "Not a file"));
        }
        fs::read(host)
            .map(Into::into)
            .map_err(|_| FsError::At(path.clone(), "Access denied"))
    }

    /// Opens a file. Reading takes a snapshot (`latin1`: as text was read before 1.109); writing makes the folders
    /// above.
    pub(crate) fn open_file(
        self: &Arc<Disk>,
        path: &CcPath,
        mode: OpenMode,
        latin1: bool,
    ) -> FsResult<FileHandle> {
        let slot = self.slot()?;
        if mode == OpenMode::Read {
            let mut bytes = self.read_whole(path)?;
            if latin1 {
                bytes = crate::sim::text::utf8_to_latin1(&bytes).into();
            }
            return Ok(FileHandle::memory(bytes, Some(slot)));
        }
        self.refuse_rom(path)?;
        let exists = match self.attributes(path)? {
            Some(a) if a.is_dir => return Err(FsError::At(path.clone(), "Not a file")),
            Some(a) => Some(a.size),
            None if mode == (OpenMode::Update { truncate: false }) => {
                return Err(FsError::At(path.clone(), "No such file"));
            }
            None => None,
        };
        if let Some(parent) = path.parent() {
            self.make_dir(&parent)?;
        }
        let truncate = matches!(mode, OpenMode::Write | OpenMode::Update { truncate: true });
        match exists {
            None => self
                .take(MIN_COST)
                .map_err(|()| FsError::At(path.clone(), "Out of space"))?,
            Some(size) if truncate => self.give_back(size.max(MIN_COST) - MIN_COST),
            Some(_) => {}
        }
        let file = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(truncate)
            .open(self.host(path)?)
            .map_err(|_| FsError::At(path.clone(), "Access denied"))?;
        crash_points::pass(Point::FileOpened);
        Ok(FileHandle::file(
            file,
            self.clone(),
            mode == OpenMode::Append,
            slot,
        ))
    }

    /// A place for one more open file (or an HTTP response kept as one).
    fn slot(self: &Arc<Disk>) -> FsResult<OpenSlot> {
        if self.open.fetch_add(1, Ordering::Relaxed) >= MAX_OPEN {
            self.open.fetch_sub(1, Ordering::Relaxed);
            return Err(FsError::Plain("Too many files already open"));
        }
        Ok(OpenSlot(self.clone()))
    }

    fn refuse_rom(&self, path: &CcPath) -> FsResult<()> {
        if in_rom(path)? {
            Err(FsError::At(path.clone(), "Access denied"))
        } else {
            Ok(())
        }
    }

    /// The host path, with every step checked: no symbolic link is ever followed.
    fn host(&self, path: &CcPath) -> FsResult<PathBuf> {
        let mut host = self.root.clone();
        for part in path.parts() {
            host.push(os_name(part));
            if fs::symlink_metadata(&host).is_ok_and(|m| m.file_type().is_symlink()) {
                return Err(FsError::At(path.clone(), "Access denied"));
            }
        }
        Ok(host)
    }

    /// The host path if something stands there.
    fn find(&self, path: &CcPath) -> FsResult<Option<PathBuf>> {
        let host = self.host(path)?;
        Ok(fs::symlink_metadata(&host).is_ok().then_some(host))
    }
}

/// Whether the path lies in `/rom`; an error if it climbs above the root.
fn in_rom(path: &CcPath) -> FsResult<bool> {
    if path.climbs_out() {
        return Err(FsError::At(path.clone(), "Invalid Path"));
    }
    Ok(path.parts().first().is_some_and(|p| p == b"rom"))
}

fn rom_attributes(size: u64, is_dir: bool) -> Attributes {
    Attributes {
        size,
        is_dir,
        read_only: true,
        created: 0,
        modified: 0,
    }
}
