//! The load over HTTP: connections that are kept, each with one request under way. The same bytes for both servers.

use crate::control::{Ran, cpu_seconds_of};
use crate::tools;
use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What starts is not counted.
const WARM_UP: Duration = Duration::from_millis(200);

struct Plan {
    address: SocketAddr,
    computers: usize,
    in_flight: usize,
    counts: Cell<bool>,
    ends: Cell<bool>,
}

/// Keeps `in_flight` requests under way for so long; `pid` is the server's.
pub async fn run(
    address: SocketAddr,
    pid: u32,
    computers: usize,
    in_flight: usize,
    length: Duration,
) -> Ran {
    let plan = Rc::new(Plan {
        address,
        computers,
        in_flight,
        counts: Cell::new(false),
        ends: Cell::new(false),
    });
    let askers: Vec<_> = (0..in_flight)
        .map(|index| tokio::task::spawn_local(asker(plan.clone(), index)))
        .collect();
    tokio::time::sleep(WARM_UP).await;
    let pid = pid.to_string();
    let (began, cpu) = (Instant::now(), cpu_seconds_of(&pid));
    plan.counts.set(true);
    tokio::time::sleep(length).await;
    plan.counts.set(false);
    let (seconds, cpu) = (began.elapsed().as_secs_f64(), cpu_seconds_of(&pid) - cpu);
    plan.ends.set(true);
    let (mut nanos, mut failed) = (Vec::new(), 0);
    for asker in askers {
        let (mut more, bad) = asker.await.expect("every asker comes to its end");
        nanos.append(&mut more);
        failed += bad;
    }
    Ran::new(nanos, seconds, cpu, failed)
}

async fn asker(plan: Rc<Plan>, index: usize) -> (Vec<u32>, u64) {
    let stream = TcpStream::connect(plan.address).await;
    let mut stream = stream.expect("the server accepts");
    stream.set_nodelay(true).expect("a TCP socket");
    let (mut nanos, mut failed, mut made) = (Vec::new(), 0, 0);
    let mut answer = Vec::with_capacity(4096);
    while !plan.ends.get() {
        made += 1;
        let computer = tools::client_id((index + made * plan.in_flight) % plan.computers);
        let body = format!(
            "{{\"command\":\"{computer}/fs_read\",\"args\":{{\"path\":\"/farm/log\",\"offset\":0,\"max_bytes\":512}}}}"
        );
        let request = format!(
            "POST /api/v1/tools/call HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            plan.address,
            body.len()
        );
        let began = Instant::now();
        stream
            .write_all(request.as_bytes())
            .await
            .expect("the server reads");
        answer.clear();
        read_answer(&mut stream, &mut answer).await;
        let good = answer.starts_with(b"HTTP/1.1 200") && has(&answer, b"\"ok\":true");
        if !good {
            failed += 1;
            if failed == 1 {
                eprintln!("{}", String::from_utf8_lossy(&answer));
            }
        } else if plan.counts.get() {
            nanos.push(u32::try_from(began.elapsed().as_nanos()).unwrap_or(u32::MAX));
        }
    }
    (nanos, failed)
}

/// Reads one whole answer; both servers tell its length.
async fn read_answer(stream: &mut TcpStream, answer: &mut Vec<u8>) {
    loop {
        let read = stream.read_buf(answer).await.expect("an answer");
        assert!(read > 0, "hung up in the middle of an answer");
        let Some(end) = answer.windows(4).position(|four| four == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.and_then(|n| n.parse().ok()).expect("a length");
        if answer.len() >= end + 4 + length {
            return;
        }
    }
}

fn has(bytes: &[u8], what: &[u8]) -> bool {
    bytes.windows(what.len()).any(|some| some == what)
}
