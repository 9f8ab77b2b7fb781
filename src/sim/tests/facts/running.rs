//! Sections 1, 5 and 6: queue, timers, coroutines, limits.

use super::{Fact, Shown, by_test, fact};
use crate::sim::{Attached, ComputerConfig, Device, Kind};

fn turtle(config: &mut ComputerConfig) {
    config.kind = Kind::Turtle;
}

fn with_chest(config: &mut ComputerConfig) {
    config.attached = vec![Attached {
        name: "top".into(),
        device: Device::Chest(vec![]),
    }];
}

/// The seven-second rule in less time, but enough for a slow host to boot.
fn hasty(config: &mut ComputerConfig) {
    config.yield_limit = std::time::Duration::from_millis(1500);
}

pub(super) fn breaks() -> Vec<Fact> {
    vec![
        fact(
            "1.1",
            "The event queue holds 256 events; further ones are dropped without an error.",
            by_test!(events::the_queue_holds_256_events_and_drops_the_rest_without_a_word),
        ),
        fact(
            "1.2",
            "A timer that comes due while the queue is full never fires.",
            by_test!(events::a_timer_that_is_due_while_the_queue_is_full_never_fires),
        ),
        fact(
            "1.3",
            "Messages of a flood beyond 256 are lost.",
            by_test!(sockets::a_flood_leaves_256_messages_and_takes_the_timer_with_it),
        ),
        fact(
            "1.4",
            "The answer to a turtle's action (`turtle_response`) is lost in a full queue, and the action waits for ever.",
            Shown::With(
                turtle,
                r##"
            for i = 1, 256 do os.queueEvent("x", i) end
            local co = coroutine.create(turtle.turnLeft)
            coroutine.resume(co)
            local from = os.clock()
            while os.clock() - from < 0.3 do end
            for i = 1, 256 do os.pullEvent("x") end
            local timer = os.startTimer(0.3)
            repeat
              local event, id = os.pullEvent()
              assert(event ~= "turtle_response")
            until id == timer
            assert(coroutine.status(co) == "suspended")
            "##,
            ),
        ),
        fact(
            "1.5",
            "The answer to a peripheral's method (`task_complete`) is lost in the same way.",
            Shown::With(
                with_chest,
                r##"
            for i = 1, 300 do os.queueEvent("x", i) end
            local co = coroutine.create(function() peripheral.call("top", "size") end)
            coroutine.resume(co)
            local from = os.clock()
            while os.clock() - from < 0.3 do end
            for i = 1, 256 do os.pullEvent("x") end
            local timer = os.startTimer(0.3)
            repeat
              local event, id = os.pullEvent()
              assert(event ~= "task_complete")
            until id == timer
            assert(coroutine.status(co) == "suspended")
            "##,
            ),
        ),
        fact(
            "1.6",
            "Of a fragmented message only the first frame is delivered.",
            by_test!(sockets::of_a_fragmented_message_only_the_first_frame_arrives),
        ),
        fact(
            "1.7",
            "A message may have 131,072 bytes; a longer one from the server ends the connection with `Could not connect`, a longer one to the server is the error `Message is too large`.",
            by_test!(
                sockets::a_message_of_131072_bytes_arrives_and_one_byte_more_kills_the_connection
            ),
        ),
        fact(
            "1.8",
            "A computer offers permessage-deflate and two older extensions, so a server must know to decline them.",
            Shown::Lua(
                r##"
            local ws = assert(http.websocket("ws://SERVER/headers"))
            local head = ws.receive()
            local offer = head:match("sec%-websocket%-extensions: ([^\r]+)")
            assert(offer == "permessage-deflate;client_no_context_takeover;client_max_window_bits," ..
              "deflate-frame,x-webkit-deflate-frame", offer)
            "##,
            ),
        ),
        fact(
            "1.9",
            "With a server that accepts compression, the size limit counts compressed bytes.",
            Shown::Not(
                "there is no deflate here: a server that accepts an extension gets `Could not connect`, as some versions of Netty answer too",
            ),
        ),
        fact(
            "1.10",
            "A server's answer that accepts an extension can make the handshake fail.",
            Shown::Lua(
                r##"
            local ok, err = http.websocket("ws://SERVER/deflate")
            assert(ok == false and err == "Could not connect", tostring(err))
            "##,
            ),
        ),
        fact(
            "1.11",
            "`ws.close()` sends no Close frame.",
            by_test!(sockets::closing_sends_no_close_frame_and_makes_no_event),
        ),
        fact(
            "1.12",
            "Shutdown, reboot and unloading end connections without a Close frame.",
            by_test!(sockets::shutdown_and_kill_end_connections_without_a_close_frame),
        ),
        fact(
            "1.13",
            "A Close frame of the server is not answered.",
            by_test!(sockets::a_close_of_the_server_gives_reason_and_code_and_no_answer),
        ),
        fact(
            "1.14",
            "The computer's own `ws.close()` makes no event.",
            Shown::Lua(
                r##"
            local ws = assert(http.websocket("ws://SERVER/ws"))
            ws.close()
            local timer = os.startTimer(0.3)
            repeat
              local event, id = os.pullEvent()
              assert(event ~= "websocket_closed")
            until id == timer
            "##,
            ),
        ),
        fact(
            "1.15",
            "Events name the URL only: of two sockets with the same URL, one receives the other's message.",
            Shown::Lua(
                r##"
            local a = assert(http.websocket("ws://SERVER/ws"))
            local b = assert(http.websocket("ws://SERVER/ws"))
            b.send("say:for b")
            assert(a.receive(5) == "for b")
            "##,
            ),
        ),
        fact(
            "1.16",
            "Waiting for one kind of event throws the others away, `sleep` as well as `receive`.",
            Shown::Lua(
                r##"
            local ws = assert(http.websocket("ws://SERVER/ws"))
            os.queueEvent("mine")
            ws.send("say:one")
            assert(ws.receive(5) == "one")
            os.queueEvent("end")
            assert(os.pullEvent() == "end")
            os.queueEvent("mine")
            sleep(0)
            os.queueEvent("end")
            assert(os.pullEvent() == "end")
            "##,
            ),
        ),
        fact(
            "1.17",
            "Seven seconds without yielding raise `Too long without yielding`, once; whoever catches it may go on.",
            by_test!(lua::a_loop_gets_one_error_and_may_go_on_if_it_yields),
        ),
        fact(
            "1.18",
            "A program that goes on for another 1.5 s is stopped with its computer, which stays off.",
            by_test!(lua::a_program_that_swallows_the_error_stops_the_computer),
        ),
        fact(
            "1.19",
            "The limits are 7 s and 1.5 s.",
            by_test!(facts::running::the_limits_are_those_of_the_game),
        ),
    ]
}

#[test]
pub(in crate::sim::tests) fn the_limits_are_those_of_the_game() {
    let config = ComputerConfig::new(1, "unused");
    assert_eq!(
        (
            config.yield_limit.as_millis(),
            config.stop_limit.as_millis()
        ),
        (7000, 1500)
    );
    assert_eq!(config.disk_capacity, 1_000_000);
}

pub(super) fn events() -> Vec<Fact> {
    vec![
        fact(
            "5.1",
            "Timers are rounded to the nearest tick of 50 ms, and to one at least.",
            by_test!(events::timers_have_ticks_of_50_ms),
        ),
        fact(
            "5.2",
            "`os.clock` counts ticks since the start; `os.epoch(\"utc\")` is real time, `os.epoch()` the game's.",
            Shown::Lua(
                r##"
            local ticks = os.clock() * 20
            assert(math.abs(ticks - math.floor(ticks + 0.5)) < 1e-6 and os.clock() < 100)
            assert(os.epoch("utc") > 1.6e12 and os.epoch() < 1e12 and os.epoch() % 3600 == 0)
            "##,
            ),
        ),
        fact(
            "5.3",
            "A NaN as a timer's length is an error; a negative one is taken.",
            Shown::Lua(
                r##"
            local ok, err = pcall(os.startTimer, 0 / 0)
            assert(not ok and err:find("number expected, got nan", 1, true), err)
            local id = os.startTimer(-5)
            local _, fired = os.pullEvent("timer")
            assert(fired == id)
            "##,
            ),
        ),
        fact(
            "5.4",
            "`os.queueEvent` copies tables deeply, cycles kept; functions and coroutines become nil.",
            Shown::Lua(
                r##"
            local t = { deep = { 1 }, fn = print, co = coroutine.create(print) }
            t.me = t
            os.queueEvent("x", t, print, coroutine.create(print), "end")
            t.deep[1] = 2
            local _, copy, fn, co, last = os.pullEvent("x")
            assert(copy ~= t and copy.me == copy and copy.deep[1] == 1 and copy.fn == nil and copy.co == nil)
            assert(fn == nil and co == nil and last == "end")
            "##,
            ),
        ),
        fact(
            "5.5",
            "`terminate` passes every filter: `os.pullEvent` raises `Terminated` without a position, `os.pullEventRaw` returns it.",
            by_test!(events::terminate_passes_every_filter_and_ends_the_program),
        ),
        fact(
            "5.6",
            "`parallel` resumes every function once, then gives each its own copy of each event, and returns the index of the one that ended.",
            by_test!(events::parallel_gives_every_function_its_own_copy_of_an_event),
        ),
        fact(
            "5.7",
            "An error inside of `parallel` reaches the caller as its text alone: position and traceback of the function are lost, the other functions are dropped.",
            Shown::Lua(
                r##"
            local alive = true
            local trace
            local ok, err = xpcall(function()
              parallel.waitForAll(function() local function deep() error("bad") end deep() end,
                function() sleep(0) alive = false end)
            end, function(e) trace = debug.traceback(e) return e end)
            assert(not ok and err:find("^/?test.lua:5: bad$"), err)
            assert(not trace:find("deep", 1, true), trace)
            sleep(0.2)
            assert(alive)
            "##,
            ),
        ),
        fact(
            "5.8",
            "`parallel` never returns what its functions return.",
            Shown::Lua(
                r##"
            assert(select("#", parallel.waitForAny(function() return "a", "b" end)) == 1)
            assert(select("#", parallel.waitForAll(function() return "a" end)) == 0)
            "##,
            ),
        ),
        fact(
            "5.9",
            "A foreign program can be run beside others: its filter is what its coroutine yields, and `terminate` ends it.",
            Shown::Lua(
                r##"
            local co = coroutine.create(function() sleep(0) os.pullEvent("never") end)
            local _, filter = coroutine.resume(co)
            assert(filter == "timer")
            local event = table.pack(os.pullEvent("timer"))
            _, filter = coroutine.resume(co, table.unpack(event, 1, event.n))
            assert(filter == "never")
            local ok, err = coroutine.resume(co, "terminate")
            assert(not ok and err == "Terminated" and coroutine.status(co) == "dead")
            "##,
            ),
        ),
        fact(
            "5.10",
            "Programs may yield inside of `pcall`, `table.sort` and `string.gsub`.",
            by_test!(lua::programs_may_yield_inside_of_pcall_sort_and_gsub),
        ),
        fact(
            "5.11",
            "Programs may yield inside of metamethods.",
            Shown::Lua(
                r##"
            local function wait() os.queueEvent("x") os.pullEvent("x") end
            local t = setmetatable({}, { __index = function(_, k) wait() return k .. "!" end,
              __add = function() wait() return 5 end, __call = function() wait() return 6 end })
            assert(t.a == "a!" and t + 1 == 5 and t() == 6)
            "##,
            ),
        ),
        fact(
            "5.12",
            "A lagging server slows ticks, and with them timers.",
            Shown::Not(
                "a fleet keeps time and makes up for lost ticks; a pause of the game can be had with `--chaos`",
            ),
        ),
    ]
}

pub(super) fn limits() -> Vec<Fact> {
    vec![
        fact(
            "6.1",
            "The error of the seven-second rule carries the line that was running, and kills the coroutine it hits.",
            Shown::With(
                hasty,
                r##"
            local co = coroutine.create(function()
              while true do end
            end)
            local ok, err = coroutine.resume(co)
            assert(not ok and err:find("^/?test.lua:3: Too long without yielding$"), err)
            assert(coroutine.status(co) == "dead")
            "##,
            ),
        ),
        fact(
            "6.2",
            "One looping computer does not stop the others.",
            by_test!(fleet::looping_computers_do_not_hold_up_the_others),
        ),
        fact(
            "6.3",
            "A computer may be switched off while it loops.",
            by_test!(lua::a_looping_computer_can_be_switched_off),
        ),
        fact(
            "6.4",
            "128 files may be open; one more is refused with `Too many files already open`.",
            by_test!(files::at_most_128_files_are_open),
        ),
        fact(
            "6.5",
            "16 HTTP requests run at once; further ones wait.",
            Shown::Lua(
                r##"
            for i = 1, 40 do http.request("http://SERVER/slow") end
            for i = 1, 40 do os.pullEvent("http_success") end
            local most = tonumber(http.get("http://SERVER/most").readAll())
            assert(most <= 16 and most > 1, most)
            "##,
            ),
        ),
        fact(
            "6.6",
            "More than 512 waiting HTTP requests are refused.",
            Shown::Not("requests beyond 16 wait without a limit of their number"),
        ),
        fact(
            "6.7",
            "5,000 tasks for the main thread may wait.",
            by_test!(facts::hardware::a_task_too_many_is_refused),
        ),
        fact(
            "6.8",
            "Memory has no limit of the mod's own; `string.rep` to 64 MiB works.",
            Shown::Lua(r##"assert(#("x"):rep(2 ^ 26) == 2 ^ 26)"##),
        ),
        fact(
            "6.9",
            "Screens are 51 × 19, a turtle's 39 × 13, a pocket computer's 26 × 20.",
            Shown::With(
                turtle,
                r##"local w, h = term.getSize() assert(w == 39 and h == 13)"##,
            ),
        ),
        fact(
            "6.10",
            "A pocket computer's screen is 26 × 20, and it has the API `pocket` but no `turtle`.",
            Shown::With(
                |c| c.kind = Kind::Pocket,
                r##"
            local w, h = term.getSize()
            assert(w == 26 and h == 20 and pocket and not turtle)
            "##,
            ),
        ),
        fact(
            "6.11",
            "A computer that is not advanced has no colours.",
            Shown::With(
                |c| c.advanced = false,
                r##"assert(not term.isColour() and not term.current().isColor())"##,
            ),
        ),
        fact(
            "6.12",
            "Main-thread work gets 5 ms of each tick.",
            Shown::Not(
                "work is done on the next tick, whatever it costs: here it costs microseconds",
            ),
        ),
    ]
}
