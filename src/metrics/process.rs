//! What the system says of this process, and of the disk under its data.

use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// This process, as the usual `process_` metrics tell it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Process {
    pub resident_bytes: u64,
    pub cpu_seconds: f64,
    pub open_fds: u64,
    /// None if there is no limit.
    pub max_fds: Option<u64>,
    /// Seconds since the Unix epoch.
    pub started_s: f64,
}

impl Process {
    /// Reads `/proc`; none where there is none. `running` is how long the server has been running.
    pub fn read(running: Duration) -> Option<Self> {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let cpu = clock_gettime(ClockId::ProcessCPUTime);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        Some(Process {
            resident_bytes: resident(&status)?,
            cpu_seconds: cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9,
            // One of them is the folder that is being read.
            open_fds: (std::fs::read_dir("/proc/self/fd").ok()?.count() as u64).saturating_sub(1),
            max_fds: getrlimit(Resource::Nofile).current,
            started_s: now.saturating_sub(running).as_secs_f64(),
        })
    }
}

/// `VmRSS:     12345 kB`
fn resident(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// Bytes of the files in a folder whose names begin so; the journal has up to three.
pub fn bytes_of(folder: &Path, beginning: &str) -> Option<u64> {
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let ours = entries.filter(|entry| {
        let name = entry.file_name();
        name.to_str()
            .is_some_and(|name| name.starts_with(beginning))
    });
    let sizes = ours.filter_map(|entry| Some(entry.metadata().ok()?.len()));
    Some(sizes.sum())
}

/// Bytes that this user may still write to the disk under a folder.
pub fn disk_free(folder: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    disk.f_bavail.checked_mul(disk.f_frsize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_is_read_from_the_systems_words() {
        let status = "Name:\tccfleet\nVmPeak:\t  300 kB\nVmRSS:\t   12345 kB\nThreads:\t9\n";
        assert_eq!(resident(status), Some(12345 * 1024));
        assert_eq!(resident("Name:\tccfleet\n"), None);
        assert_eq!(resident("VmRSS: many kB\n"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_uses_something_of_everything() {
        let process = Process::read(Duration::from_secs(1)).unwrap();
        assert!(process.resident_bytes > 1024 * 1024);
        assert!(process.open_fds >= 3);
        assert!(process.max_fds.is_none_or(|most| most >= process.open_fds));
        assert!(process.started_s > 1.7e9);
    }

    #[test]
    fn only_the_journals_own_files_count() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: usize| {
            std::fs::write(folder.path().join(name), vec![0; bytes]).unwrap();
        };
        write("journal.db", 100);
        write("journal.db-wal", 20);
        write("ccfleet.lock", 3);
        assert_eq!(bytes_of(folder.path(), "journal.db"), Some(120));
        assert!(disk_free(folder.path()).unwrap() > 0);
        assert_eq!(bytes_of(&folder.path().join("gone"), "x"), None);
    }
}
