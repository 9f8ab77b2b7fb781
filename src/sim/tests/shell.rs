//! The shell: arguments, programs, errors, modules, startup.

use super::{Bench, LIMIT, holds, run};
use crate::sim::{ComputerConfig, SimFleet};

#[test]
pub(super) fn arguments_are_split_at_spaces_unless_quoted() {
    holds(
        r##"
        local file = fs.open("args.lua", "w")
        file.write("_G.got = { ... }")
        file.close()
        local function args(...) return table.concat(got, "|") end
        shell.run("args", "a b", "c")
        assert(args() == "a|b|c", args())
        shell.run('args "a b" c')
        assert(args() == "a b|c", args())
        shell.execute("args", "a b", "c")
        assert(args() == "a b|c", args())
        "##,
    );
}

#[test]
pub(super) fn a_syntax_error_is_explained_with_its_line() {
    let result = run("local x = 1\nlocal y = = 2\n");
    assert!(!result.ok);
    assert!(
        result
            .output
            .contains("/test.lua:2: unexpected symbol near '='"),
        "{}",
        result.output
    );
    assert!(
        result.output.contains("2 | local y = = 2"),
        "{}",
        result.output
    );
}

#[test]
pub(super) fn a_runtime_error_is_shown_with_its_line() {
    let result = run("local t\n  print(t.x)");
    assert!(!result.ok);
    assert!(
        result
            .output
            .contains("/test.lua:2: attempt to index local 't' (a nil"),
        "{}",
        result.output
    );
    assert!(
        result.output.contains("2 | print(t.x)"),
        "{}",
        result.output
    );
}

#[test]
pub(super) fn the_result_of_a_program_is_only_whether_it_failed() {
    let output = holds(
        r##"
        assert(shell.run("none") == false)
        local file = fs.open("fail.lua", "w")
        file.write("error('msg', 0)")
        file.close()
        assert(shell.run("fail") == false)
        assert(select("#", shell.run("id")) == 1 and shell.run("id") == true)
        assert(shell.getRunningProgram() == "test.lua")
        assert(os.run({}, "fail.lua") == false)
        "##,
    );
    assert!(
        output.contains("No such program") && output.contains("msg"),
        "{output}"
    );
}

#[test]
pub(super) fn modules_are_found_beside_the_program_and_loaded_once_a_run() {
    holds(
        r##"
        fs.makeDir("lib/sub")
        local function put(path, text)
          local file = fs.open(path, "w")
          file.write(text)
          file.close()
        end
        put("lib/mod.lua", "_G.loads = (_G.loads or 0) + 1 return { name = ..., path = select(2, ...) }")
        put("lib/sub/init.lua", "return 'sub'")
        put("lib/prog.lua", [[
          local mod = require("mod")
          assert(mod == require("mod") and mod.name == "mod" and mod.path == "lib/mod.lua", mod.path)
          assert(require("sub") == "sub")
          local ok, err = pcall(require, "nothing")
          assert(not ok and err:find("module 'nothing' not found") and err:find("lib/nothing.lua"), err)
          assert(package.loaded.mod == mod and package.loaders and not package.searchers)
          assert(require("cc.expect").expect(1, "x", "string") == "x")
          x = 5
        ]])
        assert(shell.run("lib/prog") and loads == 1)
        assert(shell.run("/lib/prog.lua") and loads == 2 and x == nil)
        assert(_G.require == nil and _G.shell == nil)
        "##,
    );
}

#[test]
pub(super) fn the_usual_programs_are_there() {
    let output = holds(
        r##"
        for _, line in ipairs({ "mkdir a", "cd a", "mkdir b", "cd ..", "label set Bob", "cp test.lua a/x.lua",
          "mv a/x.lua a/y.lua", "ls a", "rm a/y.lua", "type a", "cd a", "cd /", "set k 5", "programs" }) do
          assert(shell.run(line), line)
        end
        assert(shell.dir() == "" and os.getComputerLabel() == "Bob" and settings.get("k") == 5)
        assert(not fs.exists("a/y.lua") and fs.exists("a/b"))
        "##,
    );
    assert!(
        output.contains("b\ny.lua") && output.contains("directory"),
        "{output}"
    );
}

#[tokio::test]
pub(super) async fn the_prompt_runs_what_is_typed_and_startup_ran_before() {
    let dir = tempfile::tempdir().unwrap();
    let config = ComputerConfig {
        startup: Some("print('good morning')".into()),
        ..ComputerConfig::new(3, dir.path())
    };
    let fleet = SimFleet::start(vec![config]).unwrap();
    let computer = fleet.computer(3).unwrap();
    computer
        .wait_for_text("good morning\n>", LIMIT)
        .await
        .unwrap();
    computer.type_text("id\n");
    computer
        .wait_for_text("This is computer #3\n>", LIMIT)
        .await
        .unwrap();
    computer.type_text("nonsense\n");
    computer
        .wait_for_text("No such program\n>", LIMIT)
        .await
        .unwrap();
    computer.type_text("exit\n");
    computer.wait_off(LIMIT).await.unwrap();
    fleet.shutdown().await;
}

#[tokio::test]
pub(super) async fn a_program_reboots_its_computer_and_loses_everything() {
    let source = r##"
        if fs.exists("twice") then print("second life, g is " .. tostring(g)) return end
        fs.open("twice", "w").close()
        _G.g = 1
        os.queueEvent("x")
        os.reboot()
    "##;
    assert_eq!(Bench::start(source).finish().await, "second life, g is nil");
}
