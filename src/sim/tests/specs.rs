//! The specs of the Lua side, run inside of a simulated computer.

use std::time::Duration;

use crate::lua_files::LuaFiles;
use crate::sim::program::run_config_to_end;
use crate::sim::{CcVersion, ComputerConfig};

/// How long all specs may take.
const SPECS_LIMIT: Duration = Duration::from_secs(240);
/// Where the specs leave their count.
const REPORT: &str = "ccfleet-specs.txt";

#[test]
fn the_lua_specs_pass_on_a_simulated_computer() {
    run_specs(CcVersion::LATEST);
}

/// Lua 5.1's syntax, Latin-1 in text files and text frames: what many packs still run.
#[test]
fn the_lua_specs_pass_on_the_oldest_version_that_is_supported() {
    run_specs(CcVersion::OLDEST);
}

fn run_specs(version: CcVersion) {
    let dir = tempfile::tempdir().unwrap();
    assert!(
        LuaFiles::get("specs/run.lua").is_some(),
        "lua/specs/run.lua is missing: the Lua side is untested"
    );
    for name in LuaFiles::iter() {
        let target = dir.path().join("lua").join(name.as_ref());
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::write(target, LuaFiles::get(&name).unwrap().data).unwrap();
    }
    let config = ComputerConfig {
        program: Some(vec!["/lua/specs/run.lua".into()]),
        keep_output: true,
        cc_version: version,
        ..ComputerConfig::new(0, dir.path())
    };
    let run = run_config_to_end(config, SPECS_LIMIT).unwrap();
    assert!(run.exited, "the specs did not end:\n{}", run.output);
    let report = std::fs::read_to_string(dir.path().join(REPORT))
        .unwrap_or_else(|e| panic!("no {REPORT} ({e}); the computer said:\n{}", run.output));
    assert!(
        report.trim_end().ends_with(", 0 failed") && !report.starts_with("0 passed"),
        "{}\n{report}",
        run.output
    );
}
