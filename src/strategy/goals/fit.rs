//! Fits a conversation into a model's window: what is fixed stays, older exchanges and long results give way.

use crate::domain::chat::Message;
use crate::domain::tokens::Size;
use crate::prompts::PromptError;
use crate::strategy::memory::window::Room;

/// Below this many bytes a result tells nothing.
const SMALLEST_RESULT: usize = 256;

/// Which exchanges are shown, and how long a result may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cut {
    /// Place of the first exchange that is shown word for word.
    pub from: usize,
    pub result_bytes: usize,
}

/// As much of a history of so many `exchanges` as has room. `history` renders what a cut leaves.
pub(super) fn fitted(
    room: Room,
    exchanges: usize,
    start: Cut,
    history: impl Fn(Cut) -> Result<Vec<Message>, PromptError>,
) -> Result<Vec<Message>, PromptError> {
    let mut cut = start;
    loop {
        let shown = history(cut)?;
        let smallest = cut.from + 1 >= exchanges && cut.result_bytes <= SMALLEST_RESULT;
        if room.holds(Size::of(&shown)) || smallest {
            return Ok(shown);
        }
        if cut.from + 1 < exchanges {
            cut.from += 1;
        } else {
            cut.result_bytes = (cut.result_bytes / 2).max(SMALLEST_RESULT);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::tokens::TokenRatio;
    use std::cell::RefCell;

    fn room(tokens: usize) -> Room {
        Room {
            tokens,
            ceiling_bytes: None,
            ratio: TokenRatio::START,
        }
    }

    /// What is tried for three exchanges of 600 bytes, and how long the last try is.
    fn tried(tokens: usize, start: Cut) -> (Vec<(usize, usize)>, usize) {
        let cuts = RefCell::new(Vec::new());
        let shown = fitted(room(tokens), 3, start, |cut| {
            cuts.borrow_mut().push((cut.from, cut.result_bytes));
            let message = |_| Message::user("x".repeat(cut.result_bytes.min(600)));
            Ok((cut.from..3).map(message).collect())
        });
        (cuts.into_inner(), shown.unwrap().len())
    }

    const WHOLE: Cut = Cut {
        from: 0,
        result_bytes: 1_100,
    };

    #[test]
    fn what_has_room_is_shown_as_it_is() {
        assert_eq!(tried(10_000, WHOLE), (vec![(0, 1_100)], 3));
    }

    #[test]
    fn older_exchanges_give_way_one_by_one_and_no_more_than_needed() {
        let (cuts, shown) = tried(500, WHOLE);
        assert_eq!((cuts, shown), (vec![(0, 1_100), (1, 1_100)], 2));
    }

    #[test]
    fn without_room_the_newest_exchange_stays_with_the_smallest_result() {
        let (cuts, shown) = tried(0, WHOLE);
        let smaller = [
            (0, 1_100),
            (1, 1_100),
            (2, 1_100),
            (2, 550),
            (2, 275),
            (2, 256),
        ];
        assert_eq!((cuts, shown), (smaller.to_vec(), 1));
    }

    #[test]
    fn a_conversation_without_exchanges_is_shown_at_once() {
        let start = Cut {
            from: 0,
            result_bytes: SMALLEST_RESULT,
        };
        let none = fitted(room(0), 0, start, |_| Ok(vec![]));
        assert_eq!(none, Ok(vec![]));
    }
}
