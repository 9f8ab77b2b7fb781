//! The language and the base functions.

use std::time::Duration;

use super::{Bench, LIMIT, holds, run};

#[test]
pub(super) fn a_program_prints_and_ends() {
    assert_eq!(holds("print('hello', 1, nil)"), "hello 1 nil");
}

#[test]
pub(super) fn what_the_mod_removes_is_gone() {
    holds(
        r##"
        for _, name in ipairs({ "collectgarbage", "module", "newproxy" }) do assert(_G[name] == nil, name) end
        for _, name in ipairs({ "execute", "exit", "getenv", "remove", "rename", "tmpname" }) do
          assert(os[name] == nil, name)
        end
        assert(io.popen == nil)
        local ok, err = pcall(string.dump, print)
        assert(not ok and err:find("unable to dump given function"), err)
        assert(load("\27Lua", "x", "b") == nil)
        "##,
    );
}

#[test]
pub(super) fn what_the_mod_keeps_from_lua_51_is_there() {
    holds(
        r##"
        assert(_VERSION == "Lua 5.2" and _HOST:find("^ComputerCraft 1%.113%.1"))
        assert(unpack({ 1, 2 }) == 1 and loadstring("return 5")() == 5)
        assert(table.maxn({ [3] = 1 }) == 3 and table.getn({ 1, 2 }) == 2 and math.pow(2, 3) == 8)
        local function f() return x end
        setfenv(f, { x = 9 })
        assert(f() == 9 and getfenv(f).x == 9)
        assert(("%d"):format(3.5) == "3" and ("%5.1f%%|%d"):format(1.25, -2.5) == "  1.2%|-2")
        assert(tostring(2 ^ 53) == "9007199254740992" and tostring(1e16) == "10000000000000000")
        assert(tostring(1e100) == "1e+100" and tostring(0.1) == "0.1")
        assert(utf8.char(233, 0x1F600) == "\195\169\240\159\152\128" and utf8.len("h\195\169") == 2)
        local moved = table.move({ 1, 2, 3 }, 1, 3, 2)
        assert(moved[1] == 1 and moved[2] == 1 and moved[4] == 3)
        "##,
    );
}

#[test]
pub(super) fn programs_may_yield_inside_of_pcall_sort_and_gsub() {
    holds(
        r##"
        assert(pcall(sleep, 0))
        local list = { 3, 1, 2 }
        table.sort(list, function(a, b) os.queueEvent("x") os.pullEvent("x") return a < b end)
        assert(table.concat(list) == "123")
        local text = ("a-b"):gsub("%a", function(c) os.queueEvent("x") os.pullEvent("x") return c:upper() end)
        assert(text == "A-B")
        assert(("hello world"):gsub("o", "0", 1) == "hell0 world")
        assert(("abc"):gsub("", function() return "-" end) == "-a-b-c-")
        assert(("abc"):gsub("(b)(c)", function(x, y) return y .. x end) == "acb")
        "##,
    );
}

#[test]
pub(super) fn debug_and_error_levels_name_the_programs_own_lines() {
    holds(
        r##"
        local co = coroutine.create(function() local y = nil; return y.z end)
        local ok, err = coroutine.resume(co)
        assert(err:find("^/test.lua:2: attempt to index"), err)
        assert(debug.traceback(co):find("/test.lua:2"), debug.traceback(co))
        local _, message = pcall(function() sleep("x") end)
        assert(message:find("^/test.lua:6: bad argument #1"), message)
        "##,
    );
}

#[test]
pub(super) fn the_host_cannot_be_reached_through_the_debug_library() {
    holds(
        r##"
        assert(next(debug.getregistry()) == nil)
        for _, fn in ipairs({ os.queueEvent, print, fs.open, load, debug.sethook, http.websocketAsync }) do
          assert(debug.getupvalue(fn, 1) == nil)
          assert(debug.setupvalue(fn, 1, {}) == nil)
        end
        for level = 0, 20 do
          local info = debug.getinfo(level, "S")
          if info and (info.what == "C" or info.source:find("^@bios")) then
            assert(debug.getlocal(level, 1) == nil)
          end
        end
        local x = 42
        local name, value = debug.getlocal(1, 1)
        assert(value ~= nil)
        "##,
    );
}

#[tokio::test]
pub(super) async fn a_loop_gets_one_error_and_may_go_on_if_it_yields() {
    let source = r##"
        local ok, err = pcall(function() while true do end end)
        assert(not ok and err:find("Too long without yielding"), err)
        sleep(0)
        print("survived")
    "##;
    let bench = Bench::with(source, |c| c.yield_limit = Duration::from_millis(200));
    assert_eq!(bench.finish().await, "survived");
}

#[tokio::test]
pub(super) async fn a_program_that_swallows_the_error_stops_the_computer() {
    let source = r##"
        local function spin() while true do pcall(function() while true do end end) end end
        local co = coroutine.wrap(function() while true do xpcall(spin, spin) end end)
        while true do pcall(co) end
    "##;
    let bench = Bench::with(source, |c| {
        c.yield_limit = Duration::from_millis(100);
        c.stop_limit = Duration::from_millis(100);
    });
    let computer = bench.computer();
    computer.wait_off(LIMIT).await.unwrap();
    computer
        .wait_for_text("Too long without yielding", LIMIT)
        .await
        .unwrap();
    assert_eq!(computer.screen_lines()[0], "Error running computer");
    // It stands on the screen first.
    assert!(computer.block_until(LIMIT, |computer| computer.last_error().is_some()));
    assert_eq!(
        computer.last_error().as_deref(),
        Some("Too long without yielding")
    );
}

#[tokio::test]
pub(super) async fn a_looping_computer_can_be_switched_off() {
    let bench = Bench::start("print('in') while true do end");
    bench.computer().wait_for_text("in", LIMIT).await.unwrap();
    bench.computer().turn_off();
    bench
        .computer()
        .wait_off(Duration::from_secs(5))
        .await
        .unwrap();
}

#[test]
pub(super) fn a_table_too_big_for_the_host_is_an_error_of_the_program() {
    let result = run("local t = {} while true do t[#t + 1] = ('x'):rep(2 ^ 22) .. #t end");
    assert!(
        !result.ok && result.output.contains("not enough memory"),
        "{}",
        result.output
    );
}
