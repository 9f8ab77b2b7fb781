//! Several computers: power, fairness, the usual host.

use std::time::{Duration, Instant};

use super::LIMIT;
use crate::sim::{Computer, ComputerConfig, SimError, SimFleet, host_computer};

fn plain(id: u32, dir: &std::path::Path, startup: &str) -> ComputerConfig {
    ComputerConfig {
        startup: Some(startup.into()),
        ..ComputerConfig::new(id, dir.join(id.to_string()))
    }
}

#[tokio::test]
pub(super) async fn looping_computers_do_not_hold_up_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let mut configs: Vec<_> = (0..4)
        .map(|id| plain(id, dir.path(), "while true do end"))
        .collect();
    configs.push(plain(
        9,
        dir.path(),
        "for i = 1, 10 do sleep(0) end print('done')",
    ));
    let fleet = SimFleet::start(configs).unwrap();
    let begun = Instant::now();
    fleet
        .computer(9)
        .unwrap()
        .wait_for_text("done", LIMIT)
        .await
        .unwrap();
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "took {:?}",
        begun.elapsed()
    );
    fleet.shutdown().await;
}

#[tokio::test]
pub(super) async fn computers_are_switched_off_and_on_again_from_outside() {
    let dir = tempfile::tempdir().unwrap();
    let startup = "_G.n = (n or 0) + 1 local f = fs.open('boots', 'a') f.write('x') f.close() print('life ' .. n)";
    let fleet = SimFleet::start(vec![plain(1, dir.path(), startup)]).unwrap();
    let computer = fleet.computer(1).unwrap();
    computer.wait_for_text("life 1\n>", LIMIT).await.unwrap();
    computer.turn_off();
    computer.wait_off(LIMIT).await.unwrap();
    assert!(
        !computer.queue_event("x", vec![]),
        "a computer that is off takes no events"
    );
    computer.turn_on();
    let boots = dir.path().join("1/boots");
    let count = || std::fs::read_to_string(&boots).unwrap_or_default().len();
    computer
        .wait_until(LIMIT, "the second boot", |c| count() == 2 && c.is_on())
        .await
        .unwrap();
    computer.reboot();
    computer
        .wait_until(LIMIT, "the third boot", |c| count() == 3 && c.is_on())
        .await
        .unwrap();
    computer.kill();
    computer.wait_off(LIMIT).await.unwrap();
    assert_eq!(computer.lua_memory(), 0);
    fleet.shutdown().await;
}

#[tokio::test]
pub(super) async fn a_computer_that_boots_is_not_off_for_a_moment() {
    let dir = tempfile::tempdir().unwrap();
    let startup = "local f = fs.open('boots', 'a') f.write('x') f.close()";
    let fleet = SimFleet::start(vec![plain(1, dir.path(), startup)]).unwrap();
    let computer = fleet.computer(1).unwrap();
    let boots = dir.path().join("1/boots");
    let count = || std::fs::read_to_string(&boots).unwrap_or_default().len();
    for boot in 1..=20 {
        let begun = Instant::now();
        while count() < boot {
            assert!(computer.is_on(), "boot {boot}");
            assert!(begun.elapsed() < LIMIT, "boot {boot}");
            std::hint::spin_loop();
        }
        computer.reboot();
    }
    fleet.shutdown().await;
}

#[test]
pub(super) fn a_number_used_twice_and_an_unknown_one_are_errors() {
    let dir = tempfile::tempdir().unwrap();
    let twice = SimFleet::start(vec![
        ComputerConfig::new(1, dir.path()),
        ComputerConfig::new(1, dir.path()),
    ]);
    assert!(matches!(twice, Err(SimError::DuplicateId(1))));
    let fleet = SimFleet::start(vec![]).unwrap();
    assert!(matches!(
        fleet.computer(5),
        Err(SimError::UnknownComputer(5))
    ));
}

#[test]
pub(super) fn a_disk_that_cannot_be_made_is_an_error_that_names_it() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file"), "").unwrap();
    let error = SimFleet::start(vec![ComputerConfig::new(1, dir.path().join("file/x"))])
        .err()
        .unwrap();
    assert!(error.to_string().contains("file/x"), "{error}");
}

/// Resident memory of this process, in bytes.
#[cfg(target_os = "linux")]
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm
        .split_whitespace()
        .nth(1)
        .unwrap()
        .parse::<u64>()
        .unwrap()
        * 4096
}

#[cfg(target_os = "linux")]
#[tokio::test]
#[ignore = "measures; run by hand: cargo test --lib measure_ -- --ignored --nocapture"]
async fn measure_idle_shells_and_connected_hosts() {
    let count: u32 = std::env::var("CCFLEET_COUNT").map_or(500, |n| n.parse().unwrap());
    // It echoes what the hosts say, which is enough to keep them connected.
    let url = format!("ws://{}/ws", super::facts::server::serve().await);
    for what in ["idle shells", "hosts behind a shell", "light hosts"] {
        let dir = tempfile::tempdir().unwrap();
        let hosts = what != "idle shells";
        let configs = (0..count)
            .map(|id| {
                let disk = dir.path().join(id.to_string());
                if !hosts {
                    return ComputerConfig::new(id, disk);
                }
                let mut config = host_computer(id, disk, &url, &format!("m{id}"));
                if what == "light hosts" {
                    config.program = Some(vec!["/ccfleet/host.lua".into()]);
                }
                config
            })
            .collect();
        let (before, begun) = (resident(), Instant::now());
        let fleet = SimFleet::start(configs).unwrap();
        let disks = begun.elapsed();
        for computer in fleet.computers() {
            let ready =
                |c: &Computer| c.is_connected() || (!hosts && c.screen_text().contains("\n>"));
            computer
                .wait_until(LIMIT * 30, "the prompt or the connection", ready)
                .await
                .unwrap();
        }
        let up = begun.elapsed();
        let lua: u64 = fleet.computers().map(|c| c.lua_memory()).sum();
        println!(
            "{count} {what}: disks {disks:?}, all up after {up:?} ({:?} each), resident {} KiB each, Lua {} KiB each",
            up / count,
            (resident() - before) / 1024 / u64::from(count),
            lua / 1024 / u64::from(count),
        );
        fleet.shutdown().await;
    }
}

#[tokio::test]
pub(super) async fn a_disk_that_cannot_be_used_is_an_error_and_no_panic() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    let started = SimFleet::start(vec![ComputerConfig::new(1, file.join("disk"))]);
    assert!(started.is_err());
}
