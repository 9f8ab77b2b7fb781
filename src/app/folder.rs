//! The data folder: made if it is missing, and held by one server at a time.

use crate::http::OperatorKey;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// Locked while a server runs. The file stays when it stops: the lock, not the file, says who is there.
const LOCK_FILE: &str = "ccfleet.lock";
/// The operator's key, readable by the folder's owner alone.
const KEY_FILE: &str = "operator.key";

/// Why the folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error(
        "another ccfleet{} uses the data folder {}; stop it, or choose another folder with --data",
        holder(pid), folder.display()
    )]
    InUse { folder: PathBuf, pid: Option<u32> },
    #[error(
        "cannot use the data folder {}: {attempt}: {source}; choose another one with --data",
        folder.display()
    )]
    Unusable {
        folder: PathBuf,
        attempt: &'static str,
        source: std::io::Error,
    },
}

fn holder(pid: &Option<u32>) -> String {
    pid.map(|pid| format!(" (process {pid})"))
        .unwrap_or_default()
}

/// A folder that is ours until this is dropped, also if the process is killed.
#[derive(Debug)]
pub struct DataFolder {
    path: PathBuf,
    _lock: File,
}

impl DataFolder {
    /// Makes the folder if it is missing, readable by its owner alone, and locks it.
    ///
    /// # Errors
    /// Another server has it, or it cannot be written.
    pub fn lock(folder: &Path) -> Result<Self, FolderError> {
        let unusable = |attempt, source| FolderError::Unusable {
            folder: folder.to_owned(),
            attempt,
            source,
        };
        create(folder).map_err(|source| unusable("create it", source))?;
        let path = folder
            .canonicalize()
            .map_err(|source| unusable("find it", source))?;
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path.join(LOCK_FILE))
            .map_err(|source| unusable("open its lock file", source))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(FolderError::InUse {
                    folder: path,
                    pid: read_pid(&mut file),
                });
            }
            Err(TryLockError::Error(source)) => return Err(unusable("lock it", source)),
        }
        write_pid(&mut file).map_err(|source| unusable("write to it", source))?;
        Ok(DataFolder { path, _lock: file })
    }

    /// Absolute.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The operator's key of a folder that a server has, as it is shown to that server; none if it cannot be read.
    pub fn key_beside(folder: &Path) -> Option<String> {
        let text = fs::read_to_string(folder.join(KEY_FILE)).ok()?;
        Some(text.trim().to_owned())
    }

    /// The operator's key, made at the first start. Whoever puts another one of at least 32 characters there sets it.
    ///
    /// # Errors
    /// The file cannot be read or made.
    pub fn operator_key(&self) -> Result<OperatorKey, FolderError> {
        let path = self.path.join(KEY_FILE);
        let unusable = |attempt, source| FolderError::Unusable {
            folder: self.path.clone(),
            attempt,
            source,
        };
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let key =
                    new_key().map_err(|source| unusable("make the operator's key", source))?;
                write_private(&path, &key)
                    .map_err(|source| unusable("write the operator's key", source))?;
                key
            }
            Err(source) => return Err(unusable("read the operator's key", source)),
        };
        OperatorKey::new(&text).ok_or_else(|| {
            let short = std::io::Error::other(format!(
                "{KEY_FILE} has fewer than 32 characters; delete it, and a new one is made"
            ));
            unusable("read the operator's key", short)
        })
    }
}

fn new_key() -> std::io::Result<String> {
    let mut random = [0u8; 32];
    getrandom::fill(&mut random).map_err(std::io::Error::other)?;
    Ok(blake3::hash(&random).to_hex().to_string())
}

/// Whole or not at all, also after a power cut in between.
fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    let new = path.with_extension("new");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&new)?;
    writeln!(file, "{text}")?;
    file.sync_all()?;
    fs::rename(&new, path)
}

fn create(folder: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Only for the text of an error, so anything unreadable is none.
fn read_pid(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

fn write_pid(file: &mut File) -> std::io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_made_and_held_by_one_until_it_is_let_go() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("a/b");
        let first = DataFolder::lock(&folder).unwrap();
        let text = DataFolder::lock(&folder).unwrap_err().to_string();
        assert!(
            text.contains(&format!("(process {})", std::process::id())),
            "{text}"
        );
        assert!(text.contains("a/b"), "{text}");
        assert!(text.contains("--data"), "{text}");
        drop(first);
        DataFolder::lock(&folder).unwrap();
    }

    #[test]
    fn a_path_that_is_a_file_is_refused_with_what_to_do() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = DataFolder::lock(file.path()).unwrap_err().to_string();
        assert!(text.contains("choose another one with --data"), "{text}");
    }

    #[test]
    fn the_operators_key_is_made_once_and_is_for_the_owner_alone() {
        let parent = tempfile::tempdir().unwrap();
        let folder = DataFolder::lock(&parent.path().join("data")).unwrap();
        folder.operator_key().unwrap();
        let key = fs::read_to_string(folder.path().join(KEY_FILE)).unwrap();
        folder.operator_key().unwrap();
        let again = fs::read_to_string(folder.path().join(KEY_FILE)).unwrap();
        assert_eq!((key.trim().len(), &key), (64, &again));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(folder.path().join(KEY_FILE))
                .unwrap()
                .permissions();
            assert_eq!(mode.mode() & 0o777, 0o600);
        }
        fs::write(folder.path().join(KEY_FILE), "short").unwrap();
        let text = folder.operator_key().unwrap_err().to_string();
        assert!(text.contains("delete it"), "{text}");
    }

    #[cfg(unix)]
    #[test]
    fn a_new_folder_is_for_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let parent = tempfile::tempdir().unwrap();
        let folder = DataFolder::lock(&parent.path().join("data")).unwrap();
        let mode = fs::metadata(folder.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
}
