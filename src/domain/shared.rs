//! One copy in memory of what many hold: equal contents are found by their hash.
//!
//! The books are global, and still the core stays pure: what comes out depends on the content alone.

use serde::Serialize;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A hash of some content (BLAKE3).
pub type ContentHash = [u8; 32];

/// The hash of a value's JSON text. Keys of objects are sorted there, so equal values have equal hashes.
pub fn content_hash(value: &impl Serialize) -> ContentHash {
    let mut hasher = blake3::Hasher::new();
    // Our values have text keys, and a hasher takes every byte: writing cannot fail.
    let _ = serde_json::to_writer(&mut hasher, value);
    *hasher.finalize().as_bytes()
}

/// The same, of a JSON text that is there already.
pub fn text_hash(json: &str) -> ContentHash {
    *blake3::hash(json.as_bytes()).as_bytes()
}

/// Contents that somebody holds, by hash. What nobody holds any more is forgotten.
#[derive(Debug)]
pub struct Shared<T> {
    known: Mutex<Known<T>>,
}

#[derive(Debug)]
struct Known<T> {
    by_hash: HashMap<ContentHash, Weak<T>>,
    /// At this size the entries that nobody holds are thrown out.
    sweep_at: usize,
}

/// Below this size nothing is swept.
const SWEEP_FROM: usize = 256;

impl<T> Default for Shared<T> {
    fn default() -> Self {
        let known = Known {
            by_hash: HashMap::new(),
            sweep_at: SWEEP_FROM,
        };
        Shared {
            known: Mutex::new(known),
        }
    }
}

impl<T> Shared<T> {
    /// The one copy of the content with this hash; `make` makes it if nobody holds it.
    pub fn get(&self, hash: ContentHash, make: impl FnOnce() -> T) -> Arc<T> {
        // Whoever panicked in between left a whole map behind.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(content) = known.by_hash.get(&hash).and_then(Weak::upgrade) {
            return content;
        }
        if known.by_hash.len() >= known.sweep_at {
            known
                .by_hash
                .retain(|_, content| content.strong_count() > 0);
            known.sweep_at = SWEEP_FROM.max(known.by_hash.len() * 2);
        }
        let content = Arc::new(make());
        known.by_hash.insert(hash, Arc::downgrade(&content));
        content
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_contents_are_one_copy_as_long_as_somebody_holds_it() {
        let shared = Shared::default();
        let hash = content_hash(&"a");
        let first = shared.get(hash, || 1);
        assert!(Arc::ptr_eq(&first, &shared.get(hash, || 2)));
        drop(first);
        assert_eq!(*shared.get(hash, || 3), 3);
    }

    #[test]
    fn a_value_and_its_text_have_one_hash() {
        let value = serde_json::json!({"path": "/ä", "args": [1, 2.5, null]});
        assert_eq!(content_hash(&value), text_hash(&value.to_string()));
    }

    #[test]
    fn what_nobody_holds_is_forgotten() {
        let shared = Shared::default();
        for number in 0..10_000u32 {
            shared.get(content_hash(&number), || number);
        }
        let known = shared.known.lock().unwrap();
        assert!(known.by_hash.len() <= SWEEP_FROM, "{}", known.by_hash.len());
    }
}
