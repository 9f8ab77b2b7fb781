use super::*;
use crate::wire::text::ascii_json;
use proptest::prelude::*;
use serde_json::{Value, json};

const T0: Duration = Duration::ZERO;

fn assembler(max_bytes: usize) -> Assembler {
    Assembler::new(max_bytes, Arc::default())
}

fn piece(chunk_id: &str, index: u64, count: u64, data: &str) -> ChunkPiece {
    ChunkPiece {
        chunk_id: chunk_id.into(),
        index,
        count,
        data: data.into(),
    }
}

impl Assembler {
    fn put(
        &mut self,
        id: &str,
        index: u64,
        count: u64,
        data: &str,
    ) -> Result<Option<String>, ChunkError> {
        let taken = self.take(piece(id, index, count, data), false, MAX_OPEN_SETS, T0);
        taken.map(|joined| joined.map(|joined| joined.json))
    }
}

#[test]
fn chunks_in_any_order_are_joined() {
    let mut chunks = assembler(100);
    assert_eq!(chunks.put("a", 2, 3, "}"), Ok(None));
    assert_eq!(chunks.put("a", 0, 3, "{\"x\":"), Ok(None));
    assert_eq!(chunks.put("a", 1, 3, "1"), Ok(Some("{\"x\":1}".into())));
    assert_eq!((chunks.open_sets(), chunks.budget.used()), (0, 0));
}

#[test]
fn the_same_chunk_again_is_harmless_also_after_the_message_is_complete() {
    let mut chunks = assembler(100);
    assert_eq!(chunks.put("a", 0, 2, "x"), Ok(None));
    assert_eq!(chunks.put("a", 0, 2, "x"), Ok(None));
    assert_eq!(chunks.put("a", 1, 2, "y"), Ok(Some("xy".into())));
    assert_eq!(chunks.put("a", 1, 2, "y"), Ok(None));
    assert_eq!(chunks.open_sets(), 0);
}

#[test]
fn an_id_that_is_used_again_for_another_message_begins_a_new_set() {
    let mut chunks = assembler(100);
    assert_eq!(chunks.put("a", 0, 1, "one"), Ok(Some("one".into())));
    assert_eq!(chunks.put("a", 0, 1, "two"), Ok(Some("two".into())));
}

#[test]
fn chunks_that_contradict_each_other_drop_their_message_once() {
    for (index, count, data) in [(0, 3, "z"), (0, 2, "x"), (2, 4, "x")] {
        let mut chunks = assembler(100);
        assert_eq!(chunks.put("a", 0, 3, "x"), Ok(None));
        let error = chunks.put("a", index, count, data).unwrap_err();
        assert!(matches!(error, ChunkError::Conflict { .. }), "{error}");
        // What else comes of it is neither joined nor refused again.
        assert_eq!(chunks.put("a", 1, 3, "y"), Ok(None));
        assert_eq!(chunks.put("a", 2, 3, "y"), Ok(None));
        assert_eq!((chunks.open_sets(), chunks.budget.used()), (0, 0));
    }
}

#[test]
fn a_message_over_its_limit_is_refused_once() {
    let mut chunks = assembler(10);
    assert_eq!(chunks.put("a", 0, 3, "12345"), Ok(None));
    assert_eq!(
        chunks.put("a", 1, 3, "678901"),
        Err(ChunkError::TooLarge {
            chunk_id: "a".into(),
            max: 10
        })
    );
    assert_eq!(chunks.put("a", 2, 3, "x"), Ok(None));
    assert_eq!(
        chunks.put("b", 0, 1, "1234567890"),
        Ok(Some("1234567890".into()))
    );
    assert_eq!(chunks.budget.used(), 0);
}

#[test]
fn the_ninth_open_message_is_refused_and_the_others_are_not_hurt() {
    let mut chunks = assembler(100);
    for id in 0..MAX_OPEN_SETS {
        assert_eq!(chunks.put(&id.to_string(), 0, 2, "x"), Ok(None));
    }
    let error = chunks.put("one more", 0, 2, "x").unwrap_err();
    assert!(matches!(error, ChunkError::TooManySets { .. }), "{error}");
    assert_eq!(chunks.put("one more", 1, 2, "y"), Ok(None));
    assert_eq!(chunks.put("0", 1, 2, "y"), Ok(Some("xy".into())));
}

#[test]
fn all_connections_share_one_budget_and_give_it_back() {
    let budget = Arc::new(ChunkBudget::new(1000));
    let mut one = Assembler::new(1000, budget.clone());
    let mut two = Assembler::new(1000, budget.clone());
    assert_eq!(one.put("a", 0, 2, &"x".repeat(500)), Ok(None));
    assert_eq!(
        two.put("b", 0, 2, &"x".repeat(500)),
        Err(ChunkError::NoRoom("b".into()))
    );
    drop(one);
    assert_eq!(budget.used(), 0);
    assert_eq!(two.put("c", 0, 2, &"x".repeat(500)), Ok(None));
}

#[test]
fn a_set_expires_a_minute_after_its_last_chunk() {
    let mut chunks = assembler(100);
    let at = |seconds| Duration::from_secs(seconds);
    let put = |chunks: &mut Assembler, index, now| {
        let taken = chunks.take(piece("a", index, 3, "x"), false, MAX_OPEN_SETS, now);
        assert_eq!(taken, Ok(None));
    };
    put(&mut chunks, 0, at(0));
    put(&mut chunks, 1, at(50));
    assert_eq!(chunks.expires_at(), Some(at(110)));
    assert_eq!(chunks.expire(at(109)), [] as [String; 0]);
    assert_eq!(chunks.expire(at(110)), ["a"]);
    assert_eq!((chunks.expires_at(), chunks.budget.used()), (None, 0));
    // The chunk that was missing comes too late.
    put(&mut chunks, 2, at(111));
    assert_eq!(chunks.open_sets(), 0);
}

#[test]
fn impossible_numbers_and_ids_are_refused_before_anything_is_kept() {
    let mut chunks = assembler(100);
    for (id, index, count) in [
        ("a", 0, 0),
        ("a", 3, 3),
        ("a", 0, MAX_PIECES + 1),
        ("a", 0, 1 << 46),
        ("", 0, 1),
    ] {
        assert!(
            chunks.put(id, index, count, "x").is_err(),
            "{id} {index}/{count}"
        );
    }
    assert!(chunks.put(&"x".repeat(65), 0, 1, "x").is_err());
    assert_eq!((chunks.open_sets(), chunks.budget.used()), (0, 0));
}

#[test]
fn a_flood_of_ids_is_forgotten_again() {
    let mut chunks = assembler(100);
    for id in 0..1000 {
        assert_eq!(chunks.put(&id.to_string(), 0, 1, "x"), Ok(Some("x".into())));
    }
    assert_eq!(chunks.ended.len(), REMEMBERED);
}

fn joined(frames: &[String]) -> Vec<String> {
    let mut chunks = assembler(usize::MAX);
    let taken = frames.iter().filter_map(|frame| {
        let chunk: Value = serde_json::from_str(frame).unwrap();
        assert_eq!(chunk["type"], "chunk");
        let data = chunk["data"].as_str().unwrap();
        let (index, count) = (&chunk["index"], &chunk["count"]);
        let id = chunk["chunk_id"].as_str().unwrap();
        chunks
            .put(id, index.as_u64().unwrap(), count.as_u64().unwrap(), data)
            .unwrap()
    });
    taken.collect()
}

#[test]
fn a_cut_is_never_inside_a_character_or_an_escape() {
    let text = ascii_json(serde_json::to_string("a\\\n😀é→").unwrap());
    for room in 24..40 {
        let pieces = cut(&text, room).unwrap();
        assert_eq!(pieces.concat(), text);
        for piece in pieces {
            let quoted = format!("\"{}\"", piece.trim_matches('"'));
            assert!(
                serde_json::from_str::<String>(&quoted).is_ok(),
                "{piece} cannot be read for itself"
            );
        }
    }
    assert_eq!(cut(&text, 13), None, "a pair of escapes takes 14 bytes");
}

#[test]
fn a_frame_without_room_for_a_character_splits_nothing() {
    assert_eq!(split("{}", "c1", 10, false), None);
}

proptest! {
    #[test]
    fn what_is_split_is_joined_again_and_every_frame_fits(
        text in "(\\PC|[\"\\\\\n\u{0}-\u{1f}]|😀){0,300}", room in 24usize..200, ascii in any::<bool>(),
    ) {
        let mut json = json!({"type": "x", "text": text}).to_string();
        if ascii {
            json = ascii_json(json);
        }
        let max = 100 + room;
        let frames = split(&json, "c1", max, ascii).unwrap();
        for frame in &frames {
            prop_assert!(frame.len() <= max, "{} > {max}", frame.len());
            prop_assert!(!ascii || frame.is_ascii());
        }
        prop_assert_eq!(joined(&frames), [json]);
    }

    #[test]
    fn order_and_repetition_change_nothing(
        data in prop::collection::vec("[a-z]{0,6}", 1..12), order in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
    ) {
        let count = data.len() as u64;
        let mut chunks = assembler(1000);
        let all = order.iter().map(|i| i.index(data.len())).chain(0..data.len());
        let mut heard = Vec::new();
        for index in all {
            heard.extend(chunks.put("a", index as u64, count, &data[index]).unwrap());
        }
        prop_assert_eq!(heard, [data.concat()]);
        prop_assert_eq!(chunks.budget.used(), 0);
    }

    #[test]
    fn no_sequence_of_chunks_breaks_a_bound(
        steps in prop::collection::vec((0u8..12, 0u64..6, 0u64..6, "[a-z]{0,40}", 0u64..40), 0..200),
    ) {
        let budget = Arc::new(ChunkBudget::new(2000));
        let mut chunks = Assembler::new(100, budget.clone());
        let mut now = T0;
        for (id, index, count, data, pause) in steps {
            now += Duration::from_secs(pause);
            chunks.expire(now);
            if let Ok(Some(joined)) =
                chunks.take(piece(&id.to_string(), index, count, &data), false, MAX_OPEN_SETS, now)
            {
                prop_assert!(joined.json.len() <= 100);
            }
            let held: usize = chunks.open.iter().map(|set| set.cost).sum();
            prop_assert_eq!(held, budget.used());
            prop_assert!(held <= 2000 && chunks.open_sets() <= MAX_OPEN_SETS);
            prop_assert!(chunks.ended.len() <= REMEMBERED);
        }
        drop(chunks);
        prop_assert_eq!(budget.used(), 0);
    }
}
