//! What the planner of a task that lives on is told: why it runs now, and what former episodes came to.

use crate::domain::profile::Profile;
use crate::domain::task::TaskState;
use crate::domain::wakes::Wake;
use crate::prompts::{PromptError, render};
use crate::strategy::text::{fenced, head_and_tail, one_line};
use crate::wire::api::time;
use serde_json::{Value, json};

/// The first message to a model, with its episode after it. It stays the same for the whole episode.
///
/// # Errors
/// The template `shared/episode` is broken.
pub fn with_episode(
    task: String,
    state: &TaskState,
    profile: &Profile,
) -> Result<String, PromptError> {
    let Some(wakes) = state.wakes() else {
        return Ok(task);
    };
    let episodes = &state.episodes;
    let why: Vec<Value> = episodes
        .why
        .iter()
        .map(|wake| shown(wake, profile))
        .collect();
    let past = episodes.past.iter().map(|past| {
        json!({
            "episode": past.episode,
            "at": time(past.ended_at_ms),
            "woken_by": past.woken_by,
            "success": past.success,
            "result": past.result,
            "files": past.files,
        })
    });
    let told = json!({
        "episode": episodes.number,
        "rhythm": one_line(&wakes.words(), 400),
        "wakes": why,
        "past": past.collect::<Vec<Value>>(),
    });
    let told = render(&profile.prompts, "shared/episode", told)?;
    Ok(format!("{}\n\n{told}", task.trim_end()))
}

fn shown(wake: &Wake, profile: &Profile) -> Value {
    let data = wake.cause.data();
    // What a computer or a program gives along is data; it may begin no line of its own.
    let fence = (!data.is_null()).then(|| {
        let text = serde_json::to_string_pretty(data).unwrap_or_default();
        fenced(&head_and_tail(&text, profile.memory.result_bytes), "json")
    });
    json!({
        "at": time(wake.at_ms),
        "by": one_line(&wake.cause.words(), 200),
        "data": fence,
    })
}
