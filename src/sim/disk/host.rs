//! Small questions to the host's file system.

use std::fs;
use std::io;
use std::time::UNIX_EPOCH;

/// What every file and folder counts at least, in bytes.
pub(super) const MIN_COST: u64 = 500;

/// Milliseconds since 1970; 0 where the host does not know.
pub(super) fn millis(time: io::Result<std::time::SystemTime>) -> u64 {
    time.ok()
        .and_then(|t| t.duration_since(UNIX_EPOCH).ok())
        .map_or(0, |d| d.as_millis() as u64)
}

/// What a file, or a folder with all in it, counts.
pub(super) fn cost_of(host: &std::path::Path) -> u64 {
    match fs::symlink_metadata(host) {
        Ok(m) if m.is_dir() => MIN_COST + cost_below(host),
        Ok(m) => m.len().max(MIN_COST),
        Err(_) => 0,
    }
}

/// What everything in a folder counts.
pub(super) fn cost_below(host: &std::path::Path) -> u64 {
    fs::read_dir(host).map_or(0, |entries| {
        entries
            .filter_map(|e| e.ok())
            .map(|e| cost_of(&e.path()))
            .sum()
    })
}

/// A name as the host writes it.
#[cfg(unix)]
pub(super) fn os_name(part: &[u8]) -> std::ffi::OsString {
    use std::os::unix::ffi::OsStringExt;
    std::ffi::OsString::from_vec(part.to_vec())
}

#[cfg(not(unix))]
pub(super) fn os_name(part: &[u8]) -> std::ffi::OsString {
    String::from_utf8_lossy(part).into_owned().into()
}
