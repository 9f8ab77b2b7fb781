//! Where the server would live: its data folder and its port.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::report::Report;
use crate::app::{DataFolder, FolderError};
use crate::store::sqlite;

/// Below this a journal soon has no room.
const LITTLE_SPACE_MIB: u64 = 512;
/// A ccfleet on this machine answers at once.
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);

/// Whether the folder can be made, locked and written.
pub(super) fn data_folder(folder: &Path, report: &mut Report) {
    let shown = folder.display();
    match DataFolder::lock(folder) {
        Ok(held) => {
            room(&held, &shown.to_string(), report);
            journal(&held, report);
        }
        Err(error @ FolderError::InUse { .. }) => report.warn(
            "data folder",
            &error.to_string(),
            "nothing, if that is the server you mean",
        ),
        Err(error) => report.fail(
            "data folder",
            &error.to_string(),
            &format!("mkdir -p {shown} && chmod u+rwx {shown}"),
        ),
    }
}

fn room(held: &DataFolder, shown: &str, report: &mut Report) {
    match free_mib(held.path()) {
        Some(free) if free < LITTLE_SPACE_MIB => report.warn(
            "data folder",
            &format!("{shown} can be written; only {free} MiB free"),
            "make room, or choose another one with --data",
        ),
        Some(free) => {
            report.pass(
                "data folder",
                &format!("{shown} can be written and locked; {free} MiB free"),
            );
        }
        None => report.pass("data folder", &format!("{shown} can be written and locked")),
    }
}

/// Whether the journal that is there can be opened by this version. A folder without one is fine.
fn journal(held: &DataFolder, report: &mut Report) {
    if !held.path().join(sqlite::FILE_NAME).exists() {
        return;
    }
    match sqlite::open(held.path()) {
        Ok(_) => report.pass("journal", "opens, and this version knows everything in it"),
        Err(error) => report.fail(
            "journal",
            &format!("{}: {error}", error.code()),
            "put back a copy of journal.db, or choose another folder with --data",
        ),
    }
}

/// Free space as `df` says; there is no portable call for it, and it is only good to know.
fn free_mib(folder: &Path) -> Option<u64> {
    let output = Command::new("df").arg("-Pk").arg(folder).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let kib: u64 = text
        .lines()
        .nth(1)?
        .split_whitespace()
        .nth(3)?
        .parse()
        .ok()?;
    Some(kib / 1024)
}

/// Whether the address can be listened on, or a ccfleet listens there already.
pub(super) async fn port(address: SocketAddr, report: &mut Report) {
    let taken = match TcpListener::bind(address) {
        Ok(_) => return report.pass("port", &format!("{address} is free")),
        Err(error) => error,
    };
    match version_at(address).await {
        Some(version) => report.pass(
            "port",
            &format!("a ccfleet {version} answers at {address} already"),
        ),
        None => report.fail(
            "port",
            &format!("{address} cannot be listened on: {taken}"),
            &format!(
                "choose another one with --bind, or see who has it: ss -ltnp 'sport = :{}'",
                address.port()
            ),
        ),
    }
}

async fn version_at(address: SocketAddr) -> Option<String> {
    let url = format!("http://{address}");
    let client = crate::llm::http_client(&url, ANSWERS_WITHIN).ok()?;
    let request = client
        .get(format!("{url}/api/v1/status"))
        .timeout(ANSWERS_WITHIN);
    let status: Value = request.send().await.ok()?.json().await.ok()?;
    // Ours, and not just anything that speaks JSON.
    status["server_id"].as_str()?;
    Some(status["version"].as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(report: (Report, super::super::report::Said), failed: usize) -> String {
        let (mut report, said) = report;
        assert_eq!(report.end(), failed);
        said.text()
    }

    #[actix::test]
    async fn a_port_that_a_stranger_has_fails() {
        let stranger = TcpListener::bind("127.0.0.1:0").expect("bind");
        let mut report = Report::to_memory();
        port(stranger.local_addr().expect("address"), &mut report.0).await;
        let text = told(report, 1);
        assert!(
            text.contains("FAIL  port") && text.contains("--bind"),
            "{text}"
        );
    }

    #[test]
    fn a_folder_that_is_a_file_fails_and_one_in_use_is_only_a_warning() {
        let file = tempfile::NamedTempFile::new().expect("file");
        let mut report = Report::to_memory();
        data_folder(file.path(), &mut report.0);
        assert!(told(report, 1).contains("FAIL  data folder"));

        let broken = tempfile::tempdir().expect("folder");
        std::fs::write(broken.path().join(sqlite::FILE_NAME), vec![7u8; 8192]).expect("journal");
        let mut report = Report::to_memory();
        data_folder(broken.path(), &mut report.0);
        assert!(told(report, 1).contains("FAIL  journal: journal_damaged"));

        let folder = tempfile::tempdir().expect("folder");
        let _held = DataFolder::lock(folder.path()).expect("lock");
        let mut report = Report::to_memory();
        data_folder(folder.path(), &mut report.0);
        assert!(told(report, 0).contains("WARN  data folder"));
    }
}
