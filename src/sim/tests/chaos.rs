//! Faults: what a program notices of them.

use std::time::Duration;

use fastwebsockets::OpCode;

use super::sockets::{Server, receive, send};
use super::{Bench, LIMIT};
use crate::sim::{Chaos, Computer, ComputerConfig, FaultKind, SimFleet};

const SHORT: Duration = Duration::from_millis(600);

#[tokio::test]
async fn a_dropped_connection_is_an_event_and_may_be_opened_again() {
    let address = super::facts::server::serve().await;
    let source = r##"
        local ws = assert(http.websocket("ws://SERVER/ws"))
        print("open")
        local _, url, reason, code = os.pullEvent("websocket_closed")
        assert(reason == "Connection closed" and code == nil)
        ws = assert(http.websocket("ws://SERVER/ws"))
        ws.send("say:again")
        assert(ws.receive(5) == "again")
    "##;
    let bench = Bench::start(&source.replace("SERVER", &address));
    bench.computer().wait_for_text("open", LIMIT).await.unwrap();
    bench.computer().suffer(FaultKind::Drop);
    bench.finish().await;
}

#[tokio::test]
async fn held_messages_come_late_but_all_and_in_order() {
    let address = super::facts::server::serve().await;
    let source = r##"
        local ws = assert(http.websocket("ws://SERVER/ws"))
        print("open")
        os.pullEvent("go")
        local from = os.clock()
        ws.send("many:5")
        for i = 1, 5 do assert(ws.receive(30) == tostring(i)) end
        assert(os.clock() - from >= 0.45, os.clock() - from)
    "##;
    for fault in [FaultKind::Hold(SHORT), FaultKind::StopReading(SHORT)] {
        let bench = Bench::start(&source.replace("SERVER", &address));
        let computer = bench.computer();
        computer.wait_for_text("open", LIMIT).await.unwrap();
        computer.suffer(fault);
        computer.queue_event("go", vec![]);
        bench.finish().await;
    }
}

#[tokio::test]
async fn a_paused_computer_stands_still_and_its_timers_are_late_by_as_much() {
    let bench = Bench::start(
        r##"
        print("started")
        local seen, from, clock = false, nil, nil
        repeat
          -- A slow host may be late with its pause: then another round begins.
          from, clock = os.epoch("utc"), os.clock()
          local timer = os.startTimer(0.3)
          repeat
            local event, id = os.pullEvent()
            seen = seen or event == "x"
          until event == "timer" and id == timer
        until seen
        local took = os.epoch("utc") - from
        assert(took >= 550, took)
        -- The program's own clock did not run meanwhile.
        assert(os.clock() - clock <= took / 1000 - 0.4, os.clock() - clock)
        "##,
    );
    let computer = bench.computer();
    computer.wait_for_text("started", LIMIT).await.unwrap();
    computer.suffer(FaultKind::Pause(SHORT));
    assert!(computer.queue_event("x", vec![]), "events still queue up");
    bench.finish().await;
}

#[tokio::test]
async fn a_paused_computer_answers_pings_and_nothing_else() {
    let server = Server::start().await;
    let source = r##"
        local ws = assert(http.websocket("ws://SERVER/ws"))
        ws.send("up")
        while true do ws.send("echo " .. ws.receive()) end
    "##;
    let bench = Bench::start(&source.replace("SERVER", &server.address().to_string()));
    let mut socket = server.accept().await;
    assert_eq!(receive(&mut socket).await.1, b"up");
    bench.computer().suffer(FaultKind::Pause(LIMIT * 3));
    send(&mut socket, OpCode::Text, true, b"x").await;
    for n in 0..3u8 {
        send(&mut socket, OpCode::Ping, true, &[n]).await;
        assert_eq!(receive(&mut socket).await, (OpCode::Pong, vec![n]));
    }
    let more = tokio::time::timeout(SHORT, receive(&mut socket)).await;
    assert!(more.is_err(), "{more:?}");
    assert!(bench.computer().is_connected() && bench.computer().is_on());
    bench.computer().turn_off();
    bench.computer().wait_off(LIMIT).await.unwrap();
}

#[tokio::test]
async fn a_full_disk_refuses_for_a_while_and_then_has_room_again() {
    let bench = Bench::start(
        r##"
        print("ready")
        os.pullEvent("full")
        assert(fs.getFreeSpace("/") == 0 and fs.open("x", "w") == nil)
        repeat
          sleep(0.1)
          local file = fs.open("x", "w")
        until file
        "##,
    );
    bench
        .computer()
        .wait_for_text("ready", LIMIT)
        .await
        .unwrap();
    bench.computer().suffer(FaultKind::DiskFull(SHORT));
    bench.computer().queue_event("full", vec![]);
    bench.finish().await;
}

#[tokio::test]
async fn failing_http_fails_requests_and_sockets_for_a_while() {
    let address = super::facts::server::serve().await;
    let source = r##"
        print("ready")
        os.pullEvent("go")
        local ok, err = http.get("http://SERVER/x")
        assert(ok == nil and err == "Could not connect", err)
        ok, err = http.websocket("ws://SERVER/ws")
        assert(ok == false and err == "Could not connect", err)
        repeat sleep(0.1) until http.get("http://SERVER/x")
        assert(http.websocket("ws://SERVER/ws"))
    "##;
    let bench = Bench::start(&source.replace("SERVER", &address));
    bench
        .computer()
        .wait_for_text("ready", LIMIT)
        .await
        .unwrap();
    // Long enough for a slow host to get through both calls.
    bench
        .computer()
        .suffer(FaultKind::HttpFails(Duration::from_secs(2)));
    bench.computer().queue_event("go", vec![]);
    bench.finish().await;
}

#[tokio::test]
async fn a_crashed_computer_comes_back_by_itself_and_a_rebooted_one_too() {
    let dir = tempfile::tempdir().unwrap();
    let config = ComputerConfig {
        startup: Some("local f = fs.open('boots', 'a') f.write('x') f.close()".into()),
        ..ComputerConfig::new(1, dir.path())
    };
    let fleet = SimFleet::start(vec![config]).unwrap();
    let computer = fleet.computer(1).unwrap();
    let boots = |count: u64| {
        let file = dir.path().join("boots");
        move |c: &Computer| c.is_on() && std::fs::metadata(&file).is_ok_and(|m| m.len() == count)
    };
    computer
        .wait_until(LIMIT, "the first boot", boots(1))
        .await
        .unwrap();
    computer.suffer(FaultKind::Reboot);
    computer
        .wait_until(LIMIT, "the second boot", boots(2))
        .await
        .unwrap();
    computer.suffer(FaultKind::Crash(Duration::from_millis(200)));
    computer
        .wait_until(LIMIT, "the third boot", boots(3))
        .await
        .unwrap();
    fleet.shutdown().await;
}

#[tokio::test]
async fn a_fleet_endures_a_plan_and_tells_of_each_fault() {
    let dir = tempfile::tempdir().unwrap();
    let configs = (0..3).map(|id| ComputerConfig::new(id, dir.path().join(id.to_string())));
    let fleet = SimFleet::start(configs.collect()).unwrap();
    let chaos = Chaos {
        seed: 3,
        per_minute: 6000.0,
    };
    let plan: Vec<_> = chaos.plan(0..3).take(20).collect();
    let mut told = Vec::new();
    let enough = async {
        let (send, mut receive) = tokio::sync::mpsc::unbounded_channel();
        let enduring = fleet.endure(chaos.plan(0..3), |at, fault| {
            drop(send.send((at, fault.clone())))
        });
        tokio::pin!(enduring);
        while told.len() < 20 {
            tokio::select! {
                () = &mut enduring => panic!("the plan ended"),
                one = receive.recv() => told.push(one.unwrap()),
            }
        }
    };
    tokio::time::timeout(LIMIT, enough).await.unwrap();
    assert_eq!(told, plan);
    fleet.shutdown().await;
}
