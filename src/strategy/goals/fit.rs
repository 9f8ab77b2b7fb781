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
