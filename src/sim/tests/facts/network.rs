//! Sections 2, 3 and 7: WebSockets and HTTP.

use super::{Fact, Shown, by_test, fact};
use crate::sim::{ComputerConfig, HttpRules};

fn private_denied(config: &mut ComputerConfig) {
    config.http_rules = HttpRules::deny_private();
}

fn one_range_allowed(config: &mut ComputerConfig) {
    config.http_rules = HttpRules::deny_private()
        .first("127.0.0.0/8", true)
        .unwrap();
}

pub(super) fn opening() -> Vec<Fact> {
    vec![
        fact(
            "2.1",
            "`http.websocketAsync` returns at once; the result comes as `websocket_success` with the handle, or `websocket_failure` with the reason.",
            Shown::Lua(
                r##"
            assert(http.websocketAsync("ws://SERVER/ws") == true)
            local event, url, handle = os.pullEvent()
            assert(event == "websocket_success" and url == "ws://SERVER/ws" and handle.send)
            assert(http.websocketAsync("ws://SERVER/status/500_Broken") == true)
            local event, url, reason = os.pullEvent()
            assert(event == "websocket_failure" and url == "ws://SERVER/status/500_Broken")
            assert(reason == "Invalid handshake response getStatus: 500 Broken", reason)
            "##,
            ),
        ),
        fact(
            "2.2",
            "The form with a table of options works from 1.105 on.",
            Shown::Lua(
                r##"
            local ws = assert(http.websocket({ url = "ws://SERVER/headers", headers = { A = "b" }, timeout = 9 }))
            assert(ws.receive():find("A: b", 1, true))
            "##,
            ),
        ),
        fact(
            "2.3",
            "Before 1.105 that form is an error.",
            Shown::On(
                "1.104.0",
                r##"
            local ok, err = pcall(http.websocket, { url = "ws://SERVER/ws" })
            assert(not ok and err:find("string expected, got table", 1, true), err)
            "##,
            ),
        ),
        fact(
            "2.4",
            "A handle has `receive`, `send` and `close`, nothing else.",
            Shown::Lua(
                r##"
            local names = {}
            for name in pairs(assert(http.websocket("ws://SERVER/ws"))) do names[#names + 1] = name end
            table.sort(names)
            assert(table.concat(names, " ") == "close receive send")
            "##,
            ),
        ),
        fact(
            "2.5",
            "`http.websocket` that fails returns `false` and a text.",
            by_test!(sockets::failures_have_computercrafts_texts),
        ),
        fact(
            "2.6",
            "It raises for wrong types, a timeout out of range, illegal headers and a fifth socket.",
            Shown::Lua(
                r##"
            local function raises(text, ...)
              local ok, err = pcall(http.websocket, ...)
              assert(not ok and err:find(text, 1, true), tostring(err))
            end
            raises("bad argument #1", 5)
            raises("bad argument #2", "ws://SERVER/ws", 5)
            raises("timeout out of range (between 0.0 and 60.0)", { url = "ws://SERVER/ws", timeout = 61 })
            raises("Failed to convert object value for header 'A'", "ws://SERVER/ws", { A = "x\ny" })
            for i = 1, 4 do assert(http.websocket("ws://SERVER/ws")) end
            raises("Too many websockets already open", "ws://SERVER/ws")
            "##,
            ),
        ),
        fact(
            "2.7",
            "A handle that is forgotten without `close` keeps its place among the four.",
            Shown::Lua(
                r##"
            for i = 1, 4 do http.websocket("ws://SERVER/ws") end
            local garbage
            for i = 1, 2e5 do garbage = { i } end
            assert(not pcall(http.websocket, "ws://SERVER/ws"))
            "##,
            ),
        ),
        fact(
            "2.8",
            "A closed socket makes room at once.",
            by_test!(sockets::a_fifth_socket_is_refused_and_a_closed_one_makes_room),
        ),
        fact(
            "2.9",
            "The timeout counts for connecting and the handshake: `false, \"Timed out\"`.",
            Shown::Lua(
                r##"
            local ok, err = http.websocket({ url = "ws://SERVER/never", timeout = 0.5 })
            assert(ok == false and err == "Timed out", err)
            "##,
            ),
        ),
        fact(
            "2.10",
            "An address without a scheme means `ws://`.",
            Shown::Lua(
                r##"local ws = assert(http.websocket("SERVER/ws")) ws.send("say:x") assert(ws.receive(5) == "x")"##,
            ),
        ),
        fact(
            "2.11",
            "Headers arrive unchanged; a value that is no string is dropped without a word; no Origin is sent.",
            Shown::Lua(
                r##"
            local ws = assert(http.websocket("ws://SERVER/headers", { Authorization = "Bearer x", n = 5, [3] = "y" }))
            local head = ws.receive()
            assert(head:find("Authorization: Bearer x\r\n", 1, true))
            assert(not head:find("\r\nn:") and not head:lower():find("origin"))
            "##,
            ),
        ),
        fact(
            "2.12",
            "Its own header names are lower case, `host` has the port, `user-agent` is `computercraft/VERSION`.",
            Shown::Lua(
                r##"
            local head = assert(http.websocket("ws://SERVER/headers")).receive()
            assert(head:find("\r\nhost: SERVER\r\n", 1, true) and head:find("\r\nuser-agent: computercraft/1.113.1\r\n", 1, true), head)
            assert(head:find("\r\nsec-websocket-version: 13\r\n", 1, true))
            "##,
            ),
        ),
        fact(
            "2.13",
            "User-Agent and Origin may be set by the program.",
            Shown::Lua(
                r##"
            local head = assert(http.websocket("ws://SERVER/headers", { ["User-Agent"] = "me", Origin = "http://o" })).receive()
            assert(head:find("User-Agent: me\r\n", 1, true) and head:find("Origin: http://o\r\n", 1, true))
            assert(not head:find("computercraft/", 1, true))
            "##,
            ),
        ),
        fact(
            "2.14",
            "A sub-protocol is asked for with a header; one that the server does not choose is a failure.",
            Shown::Lua(
                r##"
            local wanted = { ["Sec-WebSocket-Protocol"] = "zz" }
            assert(http.websocket("ws://SERVER/protocol/zz", wanted))
            local ok, err = http.websocket("ws://SERVER/ws", wanted)
            assert(ok == false and err == "Invalid subprotocol. Actual: null. Expected one of: zz", err)
            "##,
            ),
        ),
        fact(
            "2.15",
            "The answer to a handshake may have 8,192 bytes.",
            Shown::Lua(r##"assert(http.websocket("ws://SERVER/long") == false)"##),
        ),
        fact(
            "2.16",
            "Redirects are not followed; refusals are `Invalid handshake response getStatus: CODE TEXT`.",
            Shown::Lua(
                r##"
            for _, status in ipairs({ "302 Found", "401 Unauthorized", "200 OK" }) do
              local ok, err = http.websocket("ws://SERVER/status/" .. status:gsub(" ", "_"))
              assert(ok == false and err == "Invalid handshake response getStatus: " .. status, err)
            end
            "##,
            ),
        ),
        fact(
            "2.17",
            "A closed port is `Could not connect`, an unknown host `Unknown host`, nonsense `URL malformed`.",
            Shown::Lua(
                r##"
            local function fails(url, text)
              local ok, err = http.websocket(url)
              assert(ok == false and err == text, tostring(err))
            end
            fails("ws://127.0.0.1:1/", "Could not connect")
            fails("ws://" .. ("x"):rep(70) .. "/", "Unknown host")
            fails("not a url", "URL malformed")
            "##,
            ),
        ),
        fact(
            "2.18",
            "A wrong scheme is `Invalid scheme 'http'`; the async form returns false and queues the failure too.",
            Shown::Lua(
                r##"
            local ok, err = http.websocketAsync("http://SERVER/")
            assert(ok == false and err == "Invalid scheme 'http'", err)
            local _, url, reason = os.pullEvent("websocket_failure")
            assert(url == "http://SERVER/" and reason == "Invalid scheme 'http'")
            "##,
            ),
        ),
        fact(
            "2.19",
            "`wss://` works.",
            Shown::Not(
                "there is no TLS for sockets: `wss://` ends with `Could not connect` and a hint",
            ),
        ),
        fact(
            "2.20",
            "Ten rounds of connecting, sending, receiving and closing to one URL work.",
            Shown::Lua(
                r##"
            for i = 1, 10 do
              local ws = assert(http.websocket("ws://SERVER/ws"))
              ws.send("say:" .. i)
              assert(ws.receive(5) == tostring(i))
              ws.close()
            end
            "##,
            ),
        ),
    ]
}

pub(super) fn messages() -> Vec<Fact> {
    vec![
        fact(
            "3.1",
            "`receive` returns the message and whether it was binary; after a timeout or a close it returns nothing at all.",
            Shown::Lua(
                r##"
            local ws = assert(http.websocket("ws://SERVER/ws"))
            ws.send("say:a")
            local message, binary = ws.receive()
            assert(message == "a" and binary == false)
            ws.send("\0\255", true)
            message, binary = ws.receive()
            assert(message == "\0\255" and binary == true)
            assert(select("#", ws.receive(0.1)) == 0)
            local got
            -- It waits before the server is asked to close: a socket that is closed already raises (3.2).
            parallel.waitForAll(
                function() got = select("#", ws.receive()) end,
                function() ws.send("close:1000") end
            )
            assert(got == 0)
            "##,
            ),
        ),
        fact(
            "3.2",
            "On a closed socket `receive` and `send` raise `attempt to use a closed file` with the caller's position, even if messages wait; `close` twice is harmless.",
            Shown::Lua(
                r##"
            local ws = assert(http.websocket("ws://SERVER/ws"))
            ws.send("say:waits")
            ws.send("close:1000")
            os.pullEvent("websocket_closed")
            for _, name in ipairs({ "receive", "send" }) do
              local ok, err = pcall(function() ws[name]("x" and nil) end)
              assert(not ok and err:find("^/?test.lua:%d+: attempt to use a closed file$"), err)
            end
            ws.close()
            ws.close()
            "##,
            ),
        ),
        fact(
            "3.3",
            "A message that was sent right before the server closed comes first.",
            Shown::Lua(
                r##"
            local ws = assert(http.websocket("ws://SERVER/ws"))
            ws.send("say:last")
            ws.send("close:4000:done")
            assert(os.pullEvent() == "websocket_message")
            local event, _, reason, code = os.pullEvent()
            assert(event == "websocket_closed" and reason == "done" and code == 4000)
            "##,
            ),
        ),
        fact(
            "3.4",
            "`send` turns any value into a string; an empty message works both ways.",
            Shown::Lua(
                r##"
            local ws = assert(http.websocket("ws://SERVER/echo"))
            local function echo(value, pattern)
              ws.send(value)
              local got = ws.receive(5)
              assert(got:find(pattern), got)
            end
            echo(nil, "^nil$")
            echo({}, "^table: ")
            echo(12, "^12$")
            echo(true, "^true$")
            echo("", "^$")
            "##,
            ),
        ),
        fact(
            "3.5",
            "`send` does not wait; with 512 unsent messages it raises `Too many ongoing websocket messages`.",
            by_test!(sockets::at_most_512_messages_wait_to_be_sent),
        ),
        fact(
            "3.6",
            "From 1.109 on a text frame carries the raw bytes; bytes that are no UTF-8 leave as U+FFFD.",
            Shown::Lua(
                r##"
            local ws = assert(http.websocket("ws://SERVER/ws"))
            ws.send("bytes:C3A9E282AC")
            assert(ws.receive(5) == "\195\169\226\130\172")
            ws.send("hex:\195\169|\233")
            local got = ws.receive(5)
            assert(got == "C3A97CEFBFBD", got)
            "##,
            ),
        ),
        fact(
            "3.7",
            "Before 1.109 a text frame becomes Latin-1 when it comes in, with `?` for what does not fit, and each byte leaves as a Latin-1 character.",
            Shown::On(
                "1.108.4",
                r##"
            local ws = assert(http.websocket("ws://SERVER/ws"))
            ws.send("bytes:C3A9E282AC")
            assert(ws.receive(5) == "\233?")
            ws.send("hex:\195\169|\233")
            local got = ws.receive(5)
            assert(got == "C383C2A97CC3A9", got)
            "##,
            ),
        ),
        fact(
            "3.8",
            "Binary frames pass all bytes both ways, in old versions too.",
            Shown::On(
                "1.100.0",
                r##"
            local all = {}
            for i = 0, 255 do all[#all + 1] = string.char(i) end
            local ws = assert(http.websocket("ws://SERVER/ws"))
            ws.send(table.concat(all), true)
            local message, binary = ws.receive(5)
            assert(message == table.concat(all) and binary)
            "##,
            ),
        ),
        fact(
            "3.9",
            "NUL bytes pass in text frames.",
            Shown::Lua(
                r##"
            local ws = assert(http.websocket("ws://SERVER/echo"))
            ws.send("a\0b")
            assert(ws.receive(5) == "a\0b")
            "##,
            ),
        ),
        fact(
            "3.10",
            "Pings are answered while the program is busy.",
            by_test!(sockets::pings_are_answered_while_lua_is_busy),
        ),
        fact(
            "3.11",
            "A pong that nobody asked for is ignored.",
            Shown::Lua(
                r##"
            local ws = assert(http.websocket("ws://SERVER/ws"))
            ws.send("pong")
            assert(ws.receive(5) == "after")
            "##,
            ),
        ),
        fact(
            "3.12",
            "`websocket_closed` has reason and code as the server sent them; no reason is nil; a lost connection is `Connection closed` without a code.",
            Shown::Lua(
                r##"
            local function closed(order)
              local ws = assert(http.websocket("ws://SERVER/ws"))
              ws.send(order)
              local _, url, reason, code = os.pullEvent("websocket_closed")
              assert(url == "ws://SERVER/ws")
              return tostring(reason) .. " " .. tostring(code)
            end
            assert(closed("close:1011:trouble") == "trouble 1011")
            assert(closed("close:4001:own") == "own 4001")
            assert(closed("close:1000") == "nil 1000")
            assert(closed("close:") == "nil nil")
            assert(closed("drop") == "Connection closed nil")
            "##,
            ),
        ),
        fact(
            "3.13",
            "Messages do not wait for ticks: an echo may come within one.",
            Shown::Lua(
                r##"
            local ws = assert(http.websocket("ws://SERVER/echo"))
            -- If they did, no answer could come within the tick in which it was asked for.
            repeat
              local tick = os.clock()
              ws.send("x")
              ws.receive(5)
            until os.clock() == tick
            "##,
            ),
        ),
        fact(
            "3.14",
            "Two waiting `receive`s in `parallel` both get the same message.",
            Shown::Lua(
                r##"
            local ws = assert(http.websocket("ws://SERVER/echo"))
            local got = {}
            local function wait()
              local message = ws.receive(5)
              got[#got + 1] = message
            end
            parallel.waitForAll(wait, wait, function() ws.send("one") end)
            assert(#got == 2 and got[1] == "one" and got[2] == "one")
            "##,
            ),
        ),
        fact(
            "3.15",
            "How a connection ended, the server sees only as a loss.",
            Shown::Lua(
                r##"
            local first = assert(http.websocket("ws://SERVER/ws"))
            first.send("name:CASE315")
            first.send("say:noted")
            first.receive(5)
            first.close()
            local second = assert(http.websocket("ws://SERVER/ws?2"))
            second.send("how:CASE315")
            assert(second.receive(9) == "lost")
            "##,
            ),
        ),
        fact(
            "3.16",
            "All computers of a server share 32 MiB/s each way.",
            Shown::Not("there is no limit of bandwidth"),
        ),
    ]
}

pub(super) fn rules() -> Vec<Fact> {
    vec![
        fact(
            "7.1",
            "With the default rules private addresses are `Domain not permitted`, for sockets and for HTTP.",
            Shown::With(
                private_denied,
                r##"
            local ok, err = http.websocket("ws://SERVER/ws")
            assert(ok == false and err == "Domain not permitted", err)
            ok, err = http.get("http://SERVER/x")
            assert(ok == nil and err == "Domain not permitted", err)
            ok, err = http.checkURL("http://SERVER/x")
            assert(ok == false and err == "Domain not permitted", err)
            "##,
            ),
        ),
        fact(
            "7.2",
            "The address counts that a name leads to: `localhost` is denied too.",
            Shown::With(
                private_denied,
                r##"
            local ok, err = http.websocket("ws://localhost:1/")
            assert(ok == false and err == "Domain not permitted", err)
            "##,
            ),
        ),
        fact(
            "7.3",
            "A rule for a range before the others opens it; `[::1]` stays denied.",
            Shown::With(
                one_range_allowed,
                r##"
            assert(http.websocket("ws://SERVER/ws"))
            assert(http.get("http://SERVER/x"))
            assert(http.checkURL("http://SERVER/x") == true)
            local ok, err = http.websocket("ws://[::1]:1/")
            assert(ok == false and err == "Domain not permitted", err)
            "##,
            ),
        ),
        fact(
            "7.4",
            "With HTTP disabled the global `http` is nil.",
            Shown::With(|c| c.http_enabled = false, "assert(http == nil)"),
        ),
        fact(
            "7.5",
            "`http.get` of a refusal returns nil, the status text and a response whose body can be read.",
            Shown::Lua(
                r##"
            local none, err, response = http.get("http://SERVER/refused")
            assert(none == nil and err == "Unauthorized", err)
            assert(response.getResponseCode() == 401 and response.readAll() == "who are you")
            "##,
            ),
        ),
        fact(
            "7.6",
            "A request's body may have 4 MiB.",
            Shown::Lua(
                r##"
            assert(http.post("http://SERVER/x", ("x"):rep(4 * 1024 * 1024)))
            local ok, err = http.post("http://SERVER/x", ("x"):rep(4 * 1024 * 1024 + 1))
            assert(ok == nil and err == "Request body is too large", err)
            "##,
            ),
        ),
        fact(
            "7.7",
            "An answer may have 16 MiB.",
            Shown::Lua(
                r##"
            local ok, err = http.get("http://SERVER/huge")
            assert(ok == nil and err == "Response is too large", err)
            "##,
            ),
        ),
        fact(
            "7.8",
            "Requests carry `user-agent: computercraft/VERSION`, or the program's.",
            Shown::Lua(
                r##"
            assert(http.get("http://SERVER/x").readAll():find("user%-agent: computercraft/1.113.1"))
            assert(http.get("http://SERVER/x", { ["User-Agent"] = "me" }).readAll():find("user%-agent: me"))
            "##,
            ),
        ),
        fact(
            "7.9",
            "Before 1.109 a text answer was decoded to Latin-1; a binary one never.",
            Shown::On(
                "1.108.4",
                r##"
            assert(http.get("http://SERVER/utf8").readAll() == "\233?")
            assert(http.get("http://SERVER/utf8", nil, true).readAll() == "\195\169\226\130\172")
            "##,
            ),
        ),
        fact(
            "7.10",
            "Rules may name ports, proxies and limits of their own.",
            Shown::Not("rules here know addresses only; limits are the defaults"),
        ),
    ]
}
