//! WebSockets against a server written with an ordinary library.

use std::time::Duration;

use fastwebsockets::{Frame, OpCode, Payload, Role, WebSocket};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::{Bench, LIMIT};
use crate::sim::ComputerConfig;
use crate::sim::net::accept_for;

pub(super) struct Server {
    listener: TcpListener,
}

impl Server {
    pub(super) async fn start() -> Server {
        Server {
            listener: TcpListener::bind("127.0.0.1:0").await.unwrap(),
        }
    }

    pub(super) fn address(&self) -> std::net::SocketAddr {
        self.listener.local_addr().unwrap()
    }

    /// A program with `SERVER` put in for the address.
    fn bench(&self, source: &str) -> Bench {
        self.bench_with(source, |_| {})
    }

    fn bench_with(&self, source: &str, change: impl FnOnce(&mut ComputerConfig)) -> Bench {
        let url = format!("\"ws://{}/ws\"", self.listener.local_addr().unwrap());
        Bench::with(&source.replace("SERVER", &url), change)
    }

    /// Takes a connection and answers the handshake with `answer`, in which `ACCEPT` is put in.
    async fn handshake(&self, answer: &str) -> (TcpStream, String) {
        let (mut stream, _) = tokio::time::timeout(LIMIT, self.listener.accept())
            .await
            .unwrap()
            .unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            request.push(stream.read_u8().await.unwrap());
        }
        let request = String::from_utf8(request).unwrap();
        let key = request
            .lines()
            .find_map(|l| l.strip_prefix("sec-websocket-key: "))
            .unwrap();
        let answer = answer.replace("ACCEPT", &accept_for(key));
        stream.write_all(answer.as_bytes()).await.unwrap();
        (stream, request)
    }

    pub(super) async fn accept(&self) -> WebSocket<TcpStream> {
        let answer = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                      Sec-WebSocket-Accept: ACCEPT\r\n\r\n";
        let (stream, _) = self.handshake(answer).await;
        let mut socket = WebSocket::after_handshake(stream, Role::Server);
        socket.set_auto_close(false);
        socket.set_max_message_size(1 << 20);
        socket
    }
}

pub(super) async fn send(
    socket: &mut WebSocket<TcpStream>,
    opcode: OpCode,
    fin: bool,
    payload: &[u8],
) {
    let frame = Frame::new(fin, opcode, None, Payload::Owned(payload.to_vec()));
    socket.write_frame(frame).await.unwrap();
}

async fn text(socket: &mut WebSocket<TcpStream>, text: &str) {
    send(socket, OpCode::Text, true, text.as_bytes()).await;
}

pub(super) async fn receive(socket: &mut WebSocket<TcpStream>) -> (OpCode, Vec<u8>) {
    let frame = tokio::time::timeout(LIMIT, socket.read_frame())
        .await
        .unwrap()
        .unwrap();
    assert!(frame.fin, "a computer sends whole messages");
    (frame.opcode, frame.payload.to_vec())
}

/// The end of the connection must come without a Close frame.
async fn ends_without_close(socket: &mut WebSocket<TcpStream>) {
    let end = tokio::time::timeout(LIMIT, socket.read_frame())
        .await
        .expect("the connection ends");
    assert!(end.is_err(), "unexpected frame {:?}", end.unwrap().opcode);
}

#[tokio::test]
pub(super) async fn messages_go_both_ways_as_text_and_binary() {
    let server = Server::start().await;
    let bench = server.bench(
        r##"
        local ws = assert(http.websocket(SERVER))
        local message, binary = ws.receive()
        assert(message == "h\195\169\0" and binary == false)
        message, binary = ws.receive()
        assert(message == "\255\0" and binary == true)
        ws.send("text \233")
        ws.send("\233\0", true)
        ws.send(12)
        ws.send(nil)
        ws.send("")
        assert(ws.receive() == "end")
        "##,
    );
    let mut socket = server.accept().await;
    text(&mut socket, "hé\0").await;
    send(&mut socket, OpCode::Binary, true, &[255, 0]).await;
    assert_eq!(
        receive(&mut socket).await,
        (OpCode::Text, "text \u{fffd}".into())
    );
    assert_eq!(receive(&mut socket).await, (OpCode::Binary, vec![233, 0]));
    assert_eq!(receive(&mut socket).await.1, b"12");
    assert_eq!(receive(&mut socket).await.1, b"nil");
    assert_eq!(receive(&mut socket).await.1, b"");
    text(&mut socket, "end").await;
    bench.finish().await;
}

#[tokio::test]
pub(super) async fn the_handshake_passes_headers_on() {
    let server = Server::start().await;
    let bench = server.bench(
        r##"
        local url = SERVER
        local ok, err = http.websocket(url, { Authorization = "Bearer x", n = 5 })
        assert(ok == false and err == "Invalid handshake response getStatus: 401 Unauthorized", err)
        "##,
    );
    let (_, request) = server
        .handshake("HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n")
        .await;
    assert!(request.starts_with("GET /ws HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("Authorization: Bearer x\r\n"), "{request}");
    assert!(
        request.contains("user-agent: computercraft/1.113.1\r\n")
            && request.contains("host: 127.0.0.1:")
    );
    let lower = request.to_lowercase();
    assert!(
        !lower.contains("origin") && !request.contains("n: 5"),
        "{request}"
    );
    bench.finish().await;
}

#[tokio::test]
pub(super) async fn a_message_of_131072_bytes_arrives_and_one_byte_more_kills_the_connection() {
    let server = Server::start().await;
    let bench = server.bench(
        r##"
        local ws = assert(http.websocket(SERVER))
        assert(#ws.receive() == 131072)
        ws.send(("y"):rep(131072))
        local ok, err = pcall(ws.send, ("y"):rep(131073))
        assert(not ok and err:find("Message is too large"), err)
        ws.send("still usable")
        local event = { os.pullEvent("websocket_closed") }
        assert(event[2] == SERVER and event[3] == "Could not connect" and event[4] == nil)
        ok, err = pcall(function() ws.send("x") end)
        assert(err:find("^/test.lua:%d+: attempt to use a closed file"), err)
        ok, err = pcall(ws.receive)
        assert(err:find("attempt to use a closed file"), err)
        "##,
    );
    let mut socket = server.accept().await;
    send(&mut socket, OpCode::Text, true, &[b'x'; 131_072]).await;
    assert_eq!(receive(&mut socket).await.1.len(), 131_072);
    assert_eq!(receive(&mut socket).await.1, b"still usable");
    let frame = Frame::new(
        true,
        OpCode::Text,
        None,
        Payload::Owned(vec![b'x'; 131_073]),
    );
    let _ = socket.write_frame(frame).await;
    ends_without_close(&mut socket).await;
    bench.finish().await;
}

#[tokio::test]
pub(super) async fn of_a_fragmented_message_only_the_first_frame_arrives() {
    let server = Server::start().await;
    let bench = server.bench(
        r##"
        local ws = assert(http.websocket(SERVER))
        local first, second = ws.receive(), ws.receive()
        assert(first == "one" and second == "whole", first .. second)
        "##,
    );
    let mut socket = server.accept().await;
    send(&mut socket, OpCode::Text, false, b"one").await;
    send(&mut socket, OpCode::Continuation, false, b"two").await;
    send(&mut socket, OpCode::Continuation, true, b"three").await;
    text(&mut socket, "whole").await;
    bench.finish().await;
}

#[tokio::test]
pub(super) async fn closing_sends_no_close_frame_and_makes_no_event() {
    let server = Server::start().await;
    let bench = server.bench(
        r##"
        local ws = assert(http.websocket(SERVER))
        ws.send("last words")
        ws.close()
        ws.close()
        local timer = os.startTimer(0.4)
        while true do
          local event, id = os.pullEvent()
          assert(event ~= "websocket_closed", "an event of its own close")
          if event == "timer" and id == timer then break end
        end
        "##,
    );
    let mut socket = server.accept().await;
    assert_eq!(receive(&mut socket).await.1, b"last words");
    ends_without_close(&mut socket).await;
    bench.finish().await;
}

#[tokio::test]
pub(super) async fn a_close_of_the_server_gives_reason_and_code_and_no_answer() {
    let server = Server::start().await;
    let bench = server.bench(
        r##"
        local ws = assert(http.websocket(SERVER))
        local _, url, message = os.pullEvent("websocket_message")
        assert(url == SERVER and message == "bye")
        local _, url2, reason, code = os.pullEvent("websocket_closed")
        assert(url2 == SERVER and reason == "go away" and code == 4409)
        assert(not pcall(ws.send, "x"))
        ws = assert(http.websocket(SERVER))
        local _, _, reason2, code2 = os.pullEvent("websocket_closed")
        assert(reason2 == "Connection closed" and code2 == nil)
        ws = assert(http.websocket(SERVER))
        local count
        parallel.waitForAny(function() count = select("#", ws.receive()) end, function() ws.send("now") sleep(15) end)
        assert(count == 0)
        "##,
    );
    let mut socket = server.accept().await;
    text(&mut socket, "bye").await;
    let close = [&4409u16.to_be_bytes()[..], b"go away"].concat();
    send(&mut socket, OpCode::Close, true, &close).await;
    ends_without_close(&mut socket).await;
    drop(server.accept().await);
    let mut socket = server.accept().await;
    assert_eq!(receive(&mut socket).await.1, b"now");
    send(&mut socket, OpCode::Close, true, &1000u16.to_be_bytes()).await;
    bench.finish().await;
}

#[tokio::test]
pub(super) async fn pings_are_answered_while_lua_is_busy() {
    let server = Server::start().await;
    let bench = server.bench(
        r##"
        local ws = assert(http.websocket(SERVER))
        ws.send("busy now")
        while true do end
        "##,
    );
    let mut socket = server.accept().await;
    assert_eq!(receive(&mut socket).await.1, b"busy now");
    for n in 0..3u8 {
        send(&mut socket, OpCode::Ping, true, &[n]).await;
        assert_eq!(receive(&mut socket).await, (OpCode::Pong, vec![n]));
    }
    drop(bench);
}

#[tokio::test]
pub(super) async fn a_fifth_socket_is_refused_and_a_closed_one_makes_room() {
    let server = Server::start().await;
    let bench = server.bench(
        r##"
        local open = {}
        for i = 1, 4 do open[i] = assert(http.websocket(SERVER)) end
        local ok, err = pcall(http.websocketAsync, SERVER)
        assert(not ok and err:find("Too many websockets already open"), err)
        open[2].close()
        assert(http.websocket({ url = SERVER, timeout = 5 }))
        "##,
    );
    let mut kept = Vec::new();
    for _ in 0..5 {
        kept.push(server.accept().await);
    }
    bench.finish().await;
}

#[tokio::test]
pub(super) async fn failures_have_computercrafts_texts() {
    let server = Server::start().await;
    let source = r##"
        local function fails(url, text)
          local ok, err = http.websocket(url)
          assert(ok == false and err == text, tostring(err))
        end
        fails("ws://127.0.0.1:1/", "Could not connect")
        fails("not a url", "URL malformed")
        fails("http://127.0.0.1/", "Invalid scheme 'http'")
        os.pullEvent("websocket_failure")
        local ok, err = http.websocketAsync("http://127.0.0.1/")
        assert(ok == false)
        local _, url, reason = os.pullEvent("websocket_failure")
        assert(url == "http://127.0.0.1/" and reason == "Invalid scheme 'http'")
        ok, err = http.websocket({ url = SERVER, timeout = 0.2 })
        assert(ok == false and err == "Timed out", err)
        assert(not pcall(http.websocket, { url = SERVER, timeout = 61 }))
        assert(not pcall(http.websocket, SERVER, { A = "x\ny" }))
    "##;
    server.bench(source).finish().await;
}

#[tokio::test]
pub(super) async fn a_flood_leaves_256_messages_and_takes_the_timer_with_it() {
    let server = Server::start().await;
    let bench = server.bench(
        r##"
        local ws = assert(http.websocket(SERVER))
        ws.send("ready")
        local from = os.epoch("utc")
        while not fs.exists("sent") do end
        local count = 0
        while true do
          local event, _, text = os.pullEvent()
          if event == "websocket_message" then
            count = count + 1
            assert(text == tostring(count), text)
            if count == 256 then break end
          end
        end
        ws.send("seen 256")
        local message = ws.receive()
        assert(message == "after", message)
        "##,
    );
    let mut socket = server.accept().await;
    receive(&mut socket).await;
    for n in 1..=1001 {
        text(&mut socket, &n.to_string()).await;
    }
    let computer = bench.computer();
    computer
        .wait_until(LIMIT, "the flood to be dropped", |c| {
            c.dropped_events() >= 1001 - 256
        })
        .await
        .unwrap();
    std::fs::write(bench.dir.path().join("sent"), "").unwrap();
    assert_eq!(receive(&mut socket).await.1, b"seen 256");
    text(&mut socket, "after").await;
    bench.finish().await;
}

#[tokio::test]
pub(super) async fn at_most_512_messages_wait_to_be_sent() {
    let server = Server::start().await;
    let bench = server.bench(
        r##"
        local ws = assert(http.websocket(SERVER))
        local big = ("x"):rep(100000)
        for i = 1, 2000 do
          local ok, err = pcall(ws.send, big)
          if not ok then
            assert(i > 512 and err:find("Too many ongoing websocket messages"), err)
            return
          end
        end
        error("never refused")
        "##,
    );
    let socket = server.accept().await;
    bench.finish().await;
    drop(socket);
}

#[tokio::test]
pub(super) async fn shutdown_and_kill_end_connections_without_a_close_frame() {
    for kill in [false, true] {
        let server = Server::start().await;
        let bench =
            server.bench("ws = assert(http.websocket(SERVER)) print('open') os.pullEvent('never')");
        let mut socket = server.accept().await;
        let computer = bench.computer();
        computer.wait_for_text("open", LIMIT).await.unwrap();
        assert_eq!(computer.open_sockets(), 1);
        if kill {
            computer.kill()
        } else {
            computer.turn_off()
        }
        ends_without_close(&mut socket).await;
        computer.wait_off(LIMIT).await.unwrap();
        assert_eq!(computer.open_sockets(), 0);
    }
}

#[tokio::test]
pub(super) async fn http_get_reads_answers_and_refusals() {
    let server = Server::start().await;
    let source = r##"
        local url = (SERVER):gsub("^ws", "http")
        local response = assert(http.get(url, { A = "b" }))
        assert(response.getResponseCode() == 200 and response.readLine() == "first")
        assert(response.readAll() == "second" and response.getResponseHeaders()["X-Y"] == "z")
        response.close()
        local none, err, body = http.get(url)
        assert(none == nil and err == "Unauthorized" and body.readAll() == "no")
        none, err = http.get("nonsense")
        assert(none == nil and err)
    "##;
    let bench = server.bench(source);
    for answer in [
        "HTTP/1.1 200 OK\r\nX-Y: z\r\nContent-Length: 12\r\nConnection: close\r\n\r\nfirst\nsecond",
        "HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno",
    ] {
        let (mut stream, _) =
            tokio::time::timeout(Duration::from_secs(10), server.listener.accept())
                .await
                .unwrap()
                .unwrap();
        let mut block = [0; 4096];
        let n = stream.read(&mut block).await.unwrap();
        assert!(block[..n].starts_with(b"GET /ws"));
        stream.write_all(answer.as_bytes()).await.unwrap();
    }
    bench.finish().await;
}
