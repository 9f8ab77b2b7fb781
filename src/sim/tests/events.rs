//! The queue, timers, coroutines, reading keys.

use super::{Bench, LIMIT, holds};

#[test]
pub(super) fn the_queue_holds_256_events_and_drops_the_rest_without_a_word() {
    holds(
        r##"
        for i = 1, 600 do os.queueEvent("x", i) end
        os.startTimer(0)
        local got, last = 0, 0
        while true do
          local event, n = os.pullEvent()
          if event == "x" then got, last = got + 1, n end
          if last == 256 then break end
        end
        assert(got == 256, got)
        "##,
    );
}

#[tokio::test]
pub(super) async fn a_timer_that_is_due_while_the_queue_is_full_never_fires() {
    let bench = Bench::start(
        r##"
        local lost = os.startTimer(0.1)
        for i = 1, 256 do os.queueEvent("x", i) end
        print("full")
        local from = os.epoch("utc")
        while os.epoch("utc") - from < 400 do end
        local seen = false
        local late = os.startTimer(60)
        os.cancelTimer(late)
        for i = 1, 256 do os.pullEvent("x") end
        local marker = os.startTimer(0.3)
        repeat
          local _, id = os.pullEvent("timer")
          seen = seen or id == lost
        until id == marker
        assert(not seen, "the timer fired")
        "##,
    );
    bench.finish().await;
}

#[test]
pub(super) fn timers_have_ticks_of_50_ms() {
    holds(
        r##"
        local function took(seconds, count)
          sleep(0) -- to the start of a tick
          local from = os.clock()
          for _ = 1, count do sleep(seconds) end
          return math.floor((os.clock() - from) * 20 + 0.5)
        end
        -- A busy host only makes it more.
        assert(took(0, 4) >= 4 and took(0.06, 2) >= 2 and took(0.12, 2) >= 4 and took(0.3, 1) >= 6)
        local from = os.epoch("utc")
        for _ = 1, 4 do sleep(0) end
        local ms = os.epoch("utc") - from
        assert(ms >= 100, ms)
        assert(os.clock() * 20 % 1 < 1e-6)
        assert(not pcall(os.startTimer, 0 / 0) and os.startTimer(-1))
        "##,
    );
}

#[test]
pub(super) fn queued_tables_are_copied_and_functions_become_nil() {
    holds(
        r##"
        local t = { a = { 1 }, f = print }
        t.me = t
        os.queueEvent("x", t, print, nil, 5)
        t.a[1] = 2
        local _, copy, fn, none, five = os.pullEvent("x")
        assert(copy ~= t and copy.a[1] == 1 and copy.f == nil and copy.me == copy)
        assert(fn == nil and none == nil and five == 5)
        "##,
    );
}

#[test]
pub(super) fn waiting_throws_away_other_events() {
    holds(
        r##"
        os.queueEvent("x")
        sleep(0.05)
        os.queueEvent("y")
        assert(os.pullEvent() == "y")
        "##,
    );
}

#[test]
pub(super) fn terminate_passes_every_filter_and_ends_the_program() {
    holds(
        r##"
        os.queueEvent("terminate")
        local ok, err = pcall(os.pullEvent, "x")
        assert(not ok and err == "Terminated")
        os.queueEvent("terminate")
        assert(os.pullEventRaw("x") == "terminate")
        "##,
    );
}

#[test]
pub(super) fn parallel_gives_every_function_its_own_copy_of_an_event() {
    holds(
        r##"
        local seen = {}
        local function wait(name)
          return function()
            local _, value = os.pullEvent("x")
            seen[#seen + 1] = name .. value
          end
        end
        os.queueEvent("x", 1)
        parallel.waitForAll(wait("a"), wait("b"))
        assert(table.concat(seen, " ") == "a1 b1")
        local which = parallel.waitForAny(function() sleep(9) end, function() end)
        assert(which == 2)
        local ok, err = pcall(parallel.waitForAny, function() error("bad", 0) end, function() sleep(9) end)
        assert(not ok and err == "bad")
        parallel.waitForAll()
        "##,
    );
}

#[tokio::test]
pub(super) async fn read_takes_what_is_typed_with_corrections() {
    let bench = Bench::start("write('name? ') local line = read() print('[' .. line .. ']')");
    let computer = bench.computer().clone();
    computer.wait_for_text("name?", LIMIT).await.unwrap();
    computer.type_text("Bobx");
    computer.queue_event("key", vec![259.into(), false.into()]);
    computer.type_text("!\n");
    assert_eq!(bench.finish().await, "name? Bob!\n[Bob!]");
}

#[test]
pub(super) fn alarms_dates_and_times_work() {
    holds(
        r##"
        assert(os.date("!%Y-%m-%d %H:%M:%S", 1700000000) == "2023-11-14 22:13:20")
        assert(os.time({ year = 2023, month = 11, day = 14, hour = 22, min = 13, sec = 20 }) == 1700000000)
        local t = os.date("*t", 0)
        assert(t.year == 1970 and t.yday == 1 and t.wday == 5)
        assert(os.time() >= 0 and os.time() < 24 and os.day() == 1)
        assert(math.abs(os.epoch("utc") / 1000 - os.time(os.date("*t"))) < 5)
        os.setAlarm((os.time() + 0.01) % 24)
        os.pullEvent("alarm")
        "##,
    );
}
