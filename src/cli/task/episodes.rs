//! The episodes of a task that lives on, as plain text.

use super::pages::{LINE, time};
use crate::domain::task::TaskState;
use crate::strategy::text::one_line;

/// What wakes it, why it runs, and what former episodes came to; nothing of a task that ends where it ends.
pub(super) fn episodes(state: &TaskState) -> Vec<String> {
    let Some(wakes) = state.wakes() else {
        return Vec::new();
    };
    let episodes = &state.episodes;
    let mut lines = vec![format!(
        "episode {}; wakes {}; awake {} s in former ones",
        episodes.number,
        wakes.words(),
        episodes.awake_ms / 1000
    )];
    for wake in &episodes.why {
        lines.push(format!(
            "woken {} by {}",
            time(wake.at_ms),
            wake.cause.words()
        ));
    }
    for past in &episodes.past {
        let mark = if past.success { "done" } else { "NOT done" };
        let words = one_line(&past.result, LINE);
        lines.push(format!(
            "  {}. {} {mark}: {words}",
            past.episode,
            time(past.ended_at_ms)
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::event::TaskEvent;
    use crate::domain::wakes::Wakes;
    use crate::store::fixtures::{Author, created_with};

    #[test]
    fn a_task_that_lives_on_tells_what_wakes_it_and_another_tells_nothing() {
        let mut author = Author::new("A");
        let wakes = Wakes {
            events: vec!["redstone".into()],
            ..Wakes::default()
        };
        let woken = TaskEvent::EpisodeStarted {
            episode: 1,
            wakes: vec![crate::domain::wakes::Wake {
                at_ms: 0,
                cause: crate::domain::wakes::WakeCause::Asked {
                    by: "ada".into(),
                    data: serde_json::Value::Null,
                },
            }],
        };
        author.append(vec![created_with("look", wakes), woken]);
        assert_eq!(
            episodes(author.state()),
            [
                "episode 1; wakes on redstone; awake 0 s in former ones",
                "woken 1970-01-01T00:00:00Z by ada"
            ]
        );
        let mut plain = Author::new("B");
        plain.append(vec![crate::store::fixtures::created("look")]);
        assert!(episodes(plain.state()).is_empty());
    }
}
