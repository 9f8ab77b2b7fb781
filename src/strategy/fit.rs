//! Fits a conversation into a model's window: what is fixed stays, older exchanges and long results give way.

use super::act::Turn;
use super::text::{BYTES_PER_TOKEN, estimate_tokens};
use crate::domain::chat::{Message, Role};
use crate::prompts::PromptError;

/// Below this many bytes a result tells nothing.
const SMALLEST_RESULT: usize = 256;

/// Which exchanges are shown, and how long a result may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Place of the first exchange that is shown word for word.
    pub from: usize,
    pub result_bytes: usize,
}

/// `head`, as much of the history as fits beside them, and `tail`. `history` renders what a cut leaves.
pub fn fitted(
    turn: &Turn<'_>,
    head: Vec<Message>,
    exchanges: usize,
    start: Cut,
    tail: Message,
    history: impl Fn(Cut) -> Result<Vec<Message>, PromptError>,
) -> Result<Vec<Message>, PromptError> {
    let size = |messages: &[Message]| -> usize {
        messages.iter().map(|m| estimate_tokens(&m.content)).sum()
    };
    let fixed = size(&head) + size(std::slice::from_ref(&tail));
    let room = room(turn).saturating_sub(fixed);
    let mut cut = start;
    loop {
        let shown = history(cut)?;
        let smallest = cut.from + 1 >= exchanges && cut.result_bytes <= SMALLEST_RESULT;
        if size(&shown) <= room || smallest {
            return Ok(head.into_iter().chain(shown).chain([tail]).collect());
        }
        if cut.from + 1 < exchanges {
            cut.from += 1;
        } else {
            cut.result_bytes = (cut.result_bytes / 2).max(SMALLEST_RESULT);
        }
    }
}

/// The tokens a prompt may have: what the window leaves beside the answer, or less if the server refused a prompt
/// before.
fn room(turn: &Turn<'_>) -> usize {
    let limits = turn.inputs.roles.get(&Role::Planner);
    let limits = limits.copied().unwrap_or_default();
    let whole = limits.num_ctx.saturating_sub(limits.max_tokens) as usize;
    let ceiling = turn.state.prompt_ceiling;
    ceiling.map_or(whole, |bytes| whole.min(bytes.div_ceil(BYTES_PER_TOKEN)))
}

/// The first exchange that is shown: the window grows to `most` and is then cut to `keep`, so that the prompt's
/// beginning stays the same for several turns.
pub fn window_start(exchanges: usize, most: usize, keep: usize) -> usize {
    if exchanges <= most {
        return 0;
    }
    let block = most.saturating_sub(keep).saturating_add(1);
    ((exchanges - most - 1) / block + 1) * block
}
