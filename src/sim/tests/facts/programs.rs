//! Sections 9 and 10: running programs, startup, modules, settings.

use super::{Fact, Shown, by_test, fact};

pub(super) fn running() -> Vec<Fact> {
    vec![
        fact(
            "9.1",
            "`shell.run` joins its arguments and splits them at spaces; quotes hold words together; `shell.execute` passes them as they are.",
            by_test!(shell::arguments_are_split_at_spaces_unless_quoted),
        ),
        fact(
            "9.2",
            "The result of a program is only whether it failed; errors are printed, not returned; a missing one is `No such program`.",
            by_test!(shell::the_result_of_a_program_is_only_whether_it_failed),
        ),
        fact(
            "9.3",
            "An error is printed in red with the line of the source.",
            by_test!(shell::a_runtime_error_is_shown_with_its_line),
        ),
        fact(
            "9.4",
            "Syntax errors are explained over several lines by the game's own parser.",
            Shown::Not("the message is the compiler's, with the line of the source"),
        ),
        fact(
            "9.5",
            "`error({})` prints `table: …` and counts as a failure; `error(\"msg\", 0)` prints `msg`.",
            Shown::Lua(
                r##"
            local function put(text) local f = fs.open("p.lua", "w") f.write(text) f.close() end
            local win = window.create(term.current(), 1, 1, 51, 5, false)
            local function shown(text)
              put(text)
              win.clear()
              win.setCursorPos(1, 1)
              local old = term.redirect(win)
              local ok = shell.run("p")
              term.redirect(old)
              return ok, (win.getLine(1):gsub(" +$", ""))
            end
            local ok, line = shown("error({})")
            assert(ok == false and line:find("^table: "), line)
            ok, line = shown("error('msg', 0)")
            assert(ok == false and line == "msg", line)
            "##,
            ),
        ),
        fact(
            "9.6",
            "`shell.exit` lets the program finish and then ends the shell.",
            Shown::Lua(
                r##"
            local f = fs.open("inner.lua", "w")
            f.write("shell.exit() _G.after = true")
            f.close()
            f = fs.open("outer.lua", "w")
            f.write("os.queueEvent('char', 'i') for c in ('nner'):gmatch('.') do os.queueEvent('char', c) end os.queueEvent('key', 257, false) shell.run('shell') _G.ended = true")
            f.close()
            assert(shell.run("outer") and after and ended)
            "##,
            ),
        ),
        fact(
            "9.7",
            "`os.run` returns true or false and gives no `shell`, `require` or `package`.",
            Shown::Lua(
                r##"
            local f = fs.open("p.lua", "w")
            f.write("_G.seen = { shell, require, package, multishell, mine, print }")
            f.close()
            assert(os.run({ mine = 5 }, "p.lua") == true)
            assert(seen[1] == nil and seen[2] == nil and seen[3] == nil and seen[4] == nil and seen[5] == 5 and seen[6] == print)
            assert(os.run({}, "none.lua") == false)
            "##,
            ),
        ),
        fact(
            "9.8",
            "Output can be caught in a window, or in a terminal of one's own that has all functions.",
            by_test!(text::output_can_be_captured_in_a_window_and_in_a_terminal_of_ones_own),
        ),
        fact(
            "9.9",
            "`term.redirect` takes a partial table; a missing function is noticed when it is called.",
            Shown::Lua(
                r##"
            local old = term.redirect({ write = function() end })
            local ok, err = pcall(term.getSize)
            term.redirect(old)
            assert(not ok and err:find("missing method getSize", 1, true), err)
            "##,
            ),
        ),
        fact(
            "9.10",
            "A redirect counts for the whole computer, not for one coroutine.",
            Shown::Lua(
                r##"
            local win = window.create(term.current(), 1, 1, 5, 1, false)
            local old = term.current()
            local co = coroutine.create(function() term.redirect(win) end)
            coroutine.resume(co)
            assert(term.current() == win)
            term.redirect(old)
            "##,
            ),
        ),
        fact(
            "9.11",
            "Compile errors carry path and line; `@path` and `=name` in chunk names count.",
            Shown::Lua(
                r##"
            local fn, err = load("x = = 1", "@/file.lua")
            assert(fn == nil and err:find("^/?file.lua:1: ") or err:find("^/file.lua:1: "), err)
            fn, err = load("\nx = = 1", "=name")
            assert(fn == nil and err:find("^name:2: "), err)
            local ok, problem = pcall(load("error('bad')", "=name"))
            assert(problem == "name:1: bad", problem)
            "##,
            ),
        ),
        fact(
            "9.12",
            "A traceback can be had with `xpcall` or from a dead coroutine.",
            by_test!(lua::debug_and_error_levels_name_the_programs_own_lines),
        ),
        fact(
            "9.13",
            "Errors of native functions carry the caller's position.",
            Shown::Lua(
                r##"
            local function at(fn) local _, err = pcall(fn) return err end
            assert(at(function() fs.list("none") end):find("^/?test.lua:3: /none: No such file$"))
            assert(at(function() os.startTimer("x") end):find("^/?test.lua:4: bad argument #1"))
            local ws = assert(http.websocket("ws://SERVER/ws"))
            assert(at(function() ws.send(("x"):rep(131073)) end):find("^/?test.lua:6: Message is too large$"))
            "##,
            ),
        ),
        fact(
            "9.14",
            "Output wraps at the screen's width and scrolls away.",
            by_test!(text::long_words_and_lines_wrap_at_51_columns),
        ),
        fact(
            "9.15",
            "`read` edits a line with history and completion.",
            by_test!(events::read_takes_what_is_typed_with_corrections),
        ),
        fact(
            "9.16",
            "`wget run URL ARGUMENTS` runs a program from the network.",
            Shown::Lua(
                r##"
            assert(shell.run("wget", "run", "http://SERVER/program", "a", "b"))
            local f = fs.open("ran", "r")
            assert(f.readAll() == "a+b")
            "##,
            ),
        ),
        fact(
            "9.17",
            "The usual programs are there: cd, copy, delete, list, lua, move, monitor, set, type, wget and others.",
            Shown::Lua(
                r##"
            for _, name in ipairs({ "alias", "cd", "clear", "copy", "delete", "exit", "help", "id", "label", "list", "lua",
              "mkdir", "monitor", "move", "programs", "reboot", "rename", "set", "shutdown", "time", "type", "wget" }) do
              assert(shell.resolveProgram(name), name)
            end
            "##,
            ),
        ),
        fact(
            "9.18",
            "`edit`, `pastebin`, `paint`, games and the other programs of the ROM are there.",
            Shown::Not("nobody needs them for a fleet; files are written by tools or from outside"),
        ),
    ]
}

pub(super) fn startup() -> Vec<Fact> {
    vec![
        fact(
            "10.1",
            "The shell runs `/startup.lua`, `/startup`, or all files in `/startup/`; a prompt follows.",
            by_test!(shell::the_prompt_runs_what_is_typed_and_startup_ran_before),
        ),
        fact(
            "10.2",
            "All files of a folder `/startup` run, in order.",
            by_test!(facts::programs::a_startup_folder_runs_in_order),
        ),
        fact(
            "10.3",
            "`shell.allow_startup` switches that off.",
            by_test!(facts::programs::startup_can_be_switched_off),
        ),
        fact(
            "10.4",
            "A startup on a disk comes before the own one.",
            Shown::Not("there are no disk drives"),
        ),
        fact(
            "10.5",
            "`require` and `package` exist only in programs that the shell started; each run loads its modules anew, relative to the program's folder.",
            by_test!(shell::modules_are_found_beside_the_program_and_loaded_once_a_run),
        ),
        fact(
            "10.6",
            "A module gets its name and its path; a missing one lists every file that was tried.",
            Shown::Lua(
                r##"
            local f = fs.open("m.lua", "w")
            f.write("return { ... }")
            f.close()
            local got = require("m")
            assert(got[1] == "m" and got[2] == "m.lua", got[2])
            local ok, err = pcall(require, "sub.none")
            assert(err:find("module 'sub.none' not found:", 1, true) and err:find("no file 'sub/none.lua'", 1, true), err)
            assert(err:find("/rom/modules/main/sub/none.lua", 1, true))
            "##,
            ),
        ),
        fact(
            "10.7",
            "Turtles look for modules in `/rom/modules/turtle` too.",
            Shown::With(
                |c| c.kind = crate::sim::Kind::Turtle,
                r##"
            assert(package.path:find("/rom/modules/turtle/?.lua", 1, true), package.path)
            "##,
            ),
        ),
        fact(
            "10.8",
            "Settings are kept in memory until `settings.save()` writes `/.settings`, which is read at boot.",
            by_test!(files::settings_survive_in_their_file),
        ),
        fact(
            "10.9",
            "Settings have definitions with defaults and types, and an event for every change.",
            Shown::Lua(
                r##"
            settings.define("t.x", { default = 5, type = "number", description = "d" })
            assert(settings.get("t.x") == 5 and not pcall(settings.set, "t.x", "text"))
            settings.set("t.x", 6)
            local _, name, new, old = os.pullEvent("setting_changed")
            assert(name == "t.x" and new == 6 and settings.getDetails("t.x").changed and settings.getDetails("t.x").value == 6)
            settings.unset("t.x")
            assert(settings.get("t.x") == 5 and settings.get("none", "or") == "or")
            settings.undefine("t.x")
            assert(settings.get("t.x") == nil)
            "##,
            ),
        ),
        fact(
            "10.10",
            "`multishell` opens tabs on advanced computers.",
            Shown::Not(
                "there is one tab; `multishell` is nil, as on a computer that is not advanced",
            ),
        ),
        fact(
            "10.11",
            "A label is cut to 32 characters; what the game cannot show becomes `?`.",
            Shown::Lua(
                r##"
            os.setComputerLabel(("x"):rep(40))
            assert(#os.getComputerLabel() == 32)
            os.setComputerLabel("a\1b")
            assert(os.getComputerLabel() == "a?b" and os.computerLabel() == "a?b")
            os.setComputerLabel(nil)
            assert(os.getComputerLabel() == nil)
            "##,
            ),
        ),
        fact(
            "10.12",
            "A reboot loses all of Lua and the queue; the id stays.",
            by_test!(shell::a_program_reboots_its_computer_and_loses_everything),
        ),
        fact(
            "10.13",
            "A computer that is switched on again boots from its startup.",
            by_test!(fleet::computers_are_switched_off_and_on_again_from_outside),
        ),
        fact(
            "10.14",
            "`cc.completion`, `cc.shell.completion` and `shell.setCompletionFunction` complete what is typed.",
            Shown::Lua(
                r##"
            local completion = require("cc.completion")
            assert(completion.choice("gr", { "green", "grey ", "red" })[1] == "een")
            assert(completion.side("t")[1] == "op" and completion.side("t", true)[1] == "op ")
            local complete = require("cc.shell.completion")
            shell.setCompletionFunction("rom/programs/id.lua", complete.build(
              { complete.choice, { "one", "other" }, true }, nil, { complete.file, many = true }))
            local function offers(line) return table.concat(shell.complete(line) or { "-" }, ",") end
            assert(offers("id o") == "ne ,ther ", offers("id o"))
            assert(offers("id one x") == "-", offers("id one x"))
            assert(offers("id one x tes") == "t.lua", offers("id one x tes"))
            assert(offers("id one x y tes") == "t.lua")
            assert(offers("prog"):find("rams"))
            assert(shell.getCompletionInfo()["rom/programs/id.lua"].fnComplete)
            "##,
            ),
        ),
    ]
}

async fn first_lines(prepare: impl FnOnce(&std::path::Path)) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    prepare(dir.path());
    let config = crate::sim::ComputerConfig::new(1, dir.path());
    let fleet = crate::sim::SimFleet::start(vec![config]).unwrap();
    let computer = fleet.computer(1).unwrap();
    computer
        .wait_for_text("\n>", crate::sim::tests::LIMIT)
        .await
        .unwrap();
    let lines = computer.screen_lines();
    fleet.shutdown().await;
    lines
}

#[tokio::test]
pub(in crate::sim::tests) async fn a_startup_folder_runs_in_order() {
    let lines = first_lines(|disk| {
        std::fs::create_dir(disk.join("startup")).unwrap();
        for (name, word) in [("b.lua", "second"), ("a.lua", "first")] {
            std::fs::write(disk.join("startup").join(name), format!("print('{word}')")).unwrap();
        }
    });
    assert_eq!(lines.await[1..3], ["first", "second"]);
}

#[tokio::test]
pub(in crate::sim::tests) async fn startup_can_be_switched_off() {
    let lines = first_lines(|disk| {
        std::fs::write(disk.join("startup.lua"), "print('ran')").unwrap();
        std::fs::write(
            disk.join(".settings"),
            "{ [\"shell.allow_startup\"] = false }",
        )
        .unwrap();
    });
    assert_eq!(lines.await[1], ">");
}
