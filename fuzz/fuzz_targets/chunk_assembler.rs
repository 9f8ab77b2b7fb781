//! Any sequence of chunks and pauses keeps every bound, and whatever is split is joined again.
#![no_main]

use arbitrary::Arbitrary;
use core_under_test::wire::chunks::{Assembler, ChunkBudget, MAX_OPEN_SETS, split};
use core_under_test::wire::frames::incoming::{ChunkPiece, ClientMessage};
use core_under_test::wire::frames::decode;
use core_under_test::wire::text::ascii_json;
use libfuzzer_sys::fuzz_target;
use std::sync::Arc;
use std::time::Duration;

const MAX_BYTES: usize = 256;
const BUDGET: usize = 4096;

#[derive(Arbitrary, Debug)]
struct Step {
    second_connection: bool,
    id: u8,
    index: u8,
    count: u16,
    data: String,
    pause: u8,
}

#[derive(Arbitrary, Debug)]
struct Input {
    steps: Vec<Step>,
    text: String,
    room: u8,
    ascii: bool,
}

fuzz_target!(|input: Input| {
    let budget = Arc::new(ChunkBudget::new(BUDGET));
    let mut connections =
        [0, 1].map(|_| Assembler::new(MAX_BYTES, budget.clone()));
    let mut now = Duration::ZERO;
    for step in input.steps {
        now += Duration::from_secs(step.pause.into());
        let chunks = &mut connections[usize::from(step.second_connection)];
        chunks.expire(now);
        let piece = ChunkPiece {
            chunk_id: (step.id % 12).to_string(),
            index: step.index.into(),
            count: step.count.into(),
            data: step.data,
        };
        if let Ok(Some(joined)) = chunks.take(piece, false, MAX_OPEN_SETS, now) {
            assert!(joined.json.len() <= MAX_BYTES);
        }
        assert!(chunks.open_sets() <= MAX_OPEN_SETS);
        assert!(budget.used() <= BUDGET);
    }
    drop(connections);
    assert_eq!(budget.used(), 0);
    split_and_join(&input.text, usize::from(input.room), input.ascii);
});

fn split_and_join(text: &str, room: usize, ascii: bool) {
    let mut json = serde_json::json!({"type": "ping", "nonce": text}).to_string();
    if ascii {
        json = ascii_json(json);
    }
    let max = 110 + room;
    let Some(frames) = split(&json, "s1", max, ascii) else {
        return;
    };
    let mut chunks = Assembler::new(usize::MAX, Arc::new(ChunkBudget::new(usize::MAX)));
    let mut joined = None;
    for frame in frames.iter().rev().take(1024) {
        assert!(frame.len() <= max);
        let ClientMessage::Chunk(piece) = decode(frame, false).unwrap().message else {
            panic!("no chunk: {frame}");
        };
        if let Ok(Some(complete)) = chunks.take(piece, false, 8, Duration::ZERO) {
            joined = Some(complete.json);
        }
    }
    if frames.len() <= 1024 {
        assert_eq!(joined.as_ref(), Some(&json));
    }
}
