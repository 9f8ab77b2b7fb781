//! The feed of a real server, across its death.

use crate::recovery::{
    computer, disk_with_broken_todo, events, serve, start_task, wait_for_computer, wait_for_end,
};
use crate::support::api::Api;
use crate::support::wait_until;
use serde_json::Value;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const WITHIN: Duration = Duration::from_secs(60);

/// One who follows, and comes back with the cursor that it saw last whenever the server is gone.
struct Follower {
    seen: Arc<Mutex<Seen>>,
    enough: Arc<AtomicBool>,
}

#[derive(Default)]
struct Seen {
    connections: usize,
    resets: usize,
    cursor: Option<String>,
    events: Vec<Value>,
}

impl Follower {
    fn start(address: &str) -> Self {
        let follower = Follower {
            seen: Arc::default(),
            enough: Arc::default(),
        };
        let (seen, enough) = (follower.seen.clone(), follower.enough.clone());
        let url = format!("http://{address}/api/v1/events");
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            let client = ccfleet::llm::http_client(&url, Duration::from_secs(5)).unwrap();
            while !enough.load(Ordering::Acquire) {
                runtime.block_on(follow(&client, &url, &seen));
                // The server is gone; how long is none of our business.
                std::thread::park_timeout(Duration::from_millis(20));
            }
        });
        follower
    }

    fn look<T>(&self, look: impl FnOnce(&Seen) -> T) -> T {
        look(&self.seen.lock().unwrap())
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.enough.store(true, Ordering::Release);
    }
}

/// Until the connection ends.
async fn follow(client: &reqwest::Client, url: &str, seen: &Mutex<Seen>) {
    let mut request = client.get(url);
    if let Some(cursor) = &seen.lock().unwrap().cursor {
        request = request.header("Last-Event-ID", cursor);
    }
    let Ok(mut answer) = request.send().await else {
        return;
    };
    seen.lock().unwrap().connections += 1;
    let mut text = String::new();
    while let Ok(Some(piece)) = answer.chunk().await {
        text += std::str::from_utf8(&piece).unwrap();
        while let Some((frame, rest)) = text.split_once("\n\n") {
            let field = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name));
            let mut seen = seen.lock().unwrap();
            match field("event: ") {
                Some("event") => {
                    let data = field("data: ").unwrap();
                    seen.events.push(serde_json::from_str(data).unwrap());
                }
                Some("reset") => seen.resets += 1,
                _ => {}
            }
            if let Some(cursor) = field("id: ") {
                seen.cursor = Some(cursor.to_owned());
            }
            drop(seen);
            text = rest.to_owned();
        }
    }
}

#[test]
fn whoever_follows_the_feed_hears_every_event_once_while_the_server_is_killed_and_started() {
    let dir = tempfile::tempdir().unwrap();
    let (data, disks) = (dir.path().join("data"), dir.path().join("computers"));
    let (mut server, address) = serve("127.0.0.1:0", &data, "todo");
    disk_with_broken_todo(&disks);
    let _sim = computer(&address, &disks);
    let api = Api::new(&address);
    wait_for_computer(&api);
    let follower = Follower::start(&address);
    wait_until("the cursor to begin with", WITHIN, || {
        follower.look(|seen| seen.cursor.clone())
    });
    let task = start_task(&api, "Fix /TODO.lua");
    for calls in [1, 3, 5] {
        wait_until("the next calls", WITHIN, || {
            let events = events(&api, &task);
            let intended = events.iter().filter(|e| e["type"] == "call_intended");
            (intended.count() >= calls).then_some(())
        });
        server.kill();
        (server, _) = serve(&address, &data, "todo");
    }
    let ended = wait_for_end(&api, &task);
    assert_eq!(ended["status"], "completed", "{ended:#}");
    wait_until("the sealed end", WITHIN, || {
        let task = api.get(&format!("/api/v1/tasks/{task}"))?;
        (task["sealed"] == true).then_some(())
    });
    let journal = events(&api, &task);
    wait_until("the last event", WITHIN, || {
        follower.look(|seen| (seen.events.len() >= journal.len()).then_some(()))
    });
    let heard = follower.look(|seen| {
        assert_eq!(seen.resets, 0);
        assert!(seen.connections >= 2, "it was never interrupted");
        seen.events.clone()
    });
    let id = |event: &Value| event["event_id"].as_str().unwrap().to_owned();
    let heard_ids: Vec<_> = heard.iter().map(id).collect();
    assert_eq!(heard_ids, journal.iter().map(id).collect::<Vec<_>>());
    for (heard, journalled) in heard.iter().zip(&journal) {
        assert_eq!(heard["data"], journalled["data"]);
        assert_eq!(heard["task"]["task_id"], task.as_str());
    }
}
