//! Slow listeners and full houses.

use super::*;

#[actix::test]
async fn a_call_whose_listener_was_dropped_as_too_slow_still_finds_its_end() {
    let bench = bench().await;
    // Another task fills the feed of the waiting handler: more batches than it may hold.
    bench
        .post("/api/v1/tasks", json!({"prompt": "noisy"}))
        .await;
    let waiting = bench.post(
        "/api/v1/tools/call",
        json!({"command": "hangs", "timeout_ms": 60_000}),
    );
    let noise = async {
        while bench.get("/api/v1/tasks/tsk_T2").await.0 != 200 {}
        bench.supervisor.send(Noise { count: 600 }).await.unwrap();
        bench.post("/api/v1/tasks/tsk_T2/cancel", json!({})).await
    };
    let ((status, problem), _) = futures_util::future::join(waiting, noise).await;
    assert_eq!((status, &problem["outcome"]), (504, &json!("unknown")));
}

/// Append this many single events to the first task.
#[derive(actix::Message)]
#[rtype(result = "()")]
struct Noise {
    count: usize,
}

impl Handler<Noise> for Scripted {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, noise: Noise, _: &mut Self::Context) -> Self::Result {
        let journal = self.journal.clone();
        let appends: Vec<_> = (0..noise.count)
            .map(|_| self.append(&task("T1"), vec![noted("noise")]))
            .map(|append| journal.send(append))
            .collect();
        Box::pin(async move {
            futures_util::future::join_all(appends).await;
        })
    }
}

#[actix::test]
async fn who_comes_when_all_connections_are_taken_waits_for_one() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;
    let settings = DoorSettings {
        max_connections: 2,
        ..DoorSettings::default()
    };
    let bench = bench_behind(settings, tempfile::tempdir().unwrap()).await;
    let address = bench.url.trim_start_matches("http://").to_owned();
    let ask = async || {
        let mut stream = TcpStream::connect(&address).await.unwrap();
        let request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
        stream.write_all(request).await.unwrap();
        stream
    };
    let mut head = [0; 12];
    let mut taken = Vec::new();
    for _ in 0..2 {
        let mut stream = ask().await;
        stream.read_exact(&mut head).await.unwrap();
        taken.push(stream);
    }
    let mut waits = ask().await;
    let early = tokio::time::timeout(Duration::from_millis(300), waits.read_exact(&mut head));
    assert!(early.await.is_err(), "it was served beside the others");
    taken.clear();
    waits.read_exact(&mut head).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 200");
}
