//! What a task and its steps look like in a prompt, the same for all strategies: results with a handle to their rest, large files
//! as what changed in them, recalled pieces, notes.

use super::episode::with_episode;
use super::recall::{self, Handle};
use super::{View, contents, diff, pins};
use crate::domain::chat::Message;
use crate::domain::directive::Action;
use crate::domain::profile::Profile;
use crate::domain::task::{CallRecord, Step, TaskState};
use crate::prompts::{PromptError, render as render_prompt, render_again};
use crate::strategy::directive::block;
use crate::strategy::first_look::named_files;
use crate::strategy::render::{self, Shown};
use crate::strategy::text::{fenced, head_and_tail};
use crate::strategy::words::said_lines;
use serde_json::{Value, json};

/// The task as it was given: the first message to its model.
///
/// # Errors
/// The template `shared/task` is broken.
pub fn task(state: &TaskState, profile: &Profile) -> Result<String, PromptError> {
    let prompt = state.created.as_ref().map(|c| c.prompt.as_str());
    let told = json!({
        "prompt": prompt.unwrap_or_default(),
        "computer": state.home().map_or("any", |id| id.as_str()),
        "task_id": state.task_id,
        "kind": profile.kind,
        "context": context(state, profile),
    });
    let task = render_again(&profile.prompts, "shared/task", told)?;
    first_message(task, state, profile)
}

/// A task in the words of its strategy, with the files that it names and its episode below it. It stays the same for the whole episode.
///
/// # Errors
/// The template `shared/named_files` or `shared/episode` is broken.
pub fn first_message(
    mut task: String,
    state: &TaskState,
    profile: &Profile,
) -> Result<String, PromptError> {
    if let Some(files) = named_files::told(state, profile)? {
        task = format!("{}\n\n{files}", task.trim_end());
    }
    with_episode(task, state, profile)
}

/// What was done aside, for who plans; none if that is nothing.
///
/// # Errors
/// The template `shared/done_already` is broken.
pub fn asides(state: &TaskState, profile: &Profile) -> Result<Option<Message>, PromptError> {
    let view = View {
        first_step: 0,
        max_bytes: profile.memory.result_bytes,
    };
    let steps = state
        .steps
        .iter()
        .filter(|step| step.closed && step.is_aside());
    let answers = answers(steps.clone());
    let calls: Vec<String> = steps
        .flat_map(|step| calls(state, profile, step, view, None))
        .collect();
    if calls.is_empty() && answers.is_empty() {
        return Ok(None);
    }
    let told = render_prompt(
        &profile.prompts,
        "shared/done_already",
        json!({"calls": calls, "answers": answers}),
    )?;
    Ok(Some(Message::user(told)))
}

/// What was given with the task, fenced: it is data.
pub fn context(state: &TaskState, profile: &Profile) -> Option<String> {
    let created = state.created.as_ref()?;
    if created.context.is_null() {
        return None;
    }
    let text = serde_json::to_string_pretty(&created.context).unwrap_or_default();
    let most = profile.memory.result_bytes * 4;
    Some(fenced(&head_and_tail(&text, most), "json"))
}

/// The calls of a step and how they ended, one text each.
pub fn calls(
    state: &TaskState,
    profile: &Profile,
    step: &Step,
    view: View,
    expect: Option<&str>,
) -> Vec<String> {
    let asked = state
        .created
        .as_ref()
        .map(|created| created.prompt.as_str());
    let words = said_lines::words_of(asked.unwrap_or_default());
    let each = step.calls.iter().enumerate();
    each.map(|(index, call)| {
        let shown = Shown {
            expect,
            max_bytes: view.max_bytes,
            handle: Some(handle(step, index)),
            content: known_content(state, profile, step, index, view),
            words: words.clone(),
        };
        let told = render::call_as(call, &shown);
        match call.args.get("content").and_then(Value::as_str) {
            // No answer of the planner's holds it.
            Some(content) if step.mends() => {
                let content = fenced(&head_and_tail(content, view.max_bytes), "lua");
                let from = match state
                    .tests
                    .first()
                    .is_some_and(|test| test.step < step.number)
                {
                    true => "what its run had shown",
                    false => "what the task says",
                };
                format!("{told}\nIt was mended from {from}, and holds now:\n{content}")
            }
            Some(content) if step.fills() => {
                let content = fenced(&head_and_tail(content, view.max_bytes), "");
                format!("{told}\nIt was written from what is known, and holds now:\n{content}")
            }
            _ => told,
        }
    })
    .collect()
}

/// What the planner writes to read on in a result.
fn handle(step: &Step, index: usize) -> Handle {
    Handle {
        step: step.number,
        call: u32::try_from(index + 1).unwrap_or(u32::MAX),
    }
}

/// A large file that was read again, as what changed since it was shown last.
fn known_content(
    state: &TaskState,
    profile: &Profile,
    step: &Step,
    index: usize,
    view: View,
) -> Option<String> {
    let call = step
        .calls
        .get(index)
        .filter(|call| call.tool == "fs_read")?;
    let (path, content) = contents::content_in(call)?;
    let limit = profile.memory.diff_bytes;
    if limit == 0 || content.len() <= limit {
        return None;
    }
    let (known_in, known) = shown_before(state, step, Some(index), call, &path, view)?;
    if known == content {
        return Some(format!("the same as in step {known_in}"));
    }
    let changes = diff::shorter(known, content)?;
    Some(format!(
        "as in step {known_in}, but for these changes:\n{}",
        fenced(&head_and_tail(&changes, view.max_bytes), "diff")
    ))
}

/// The newest whole content of a file that stands in the prompt before a call: in an earlier step, or before `index`
/// in the same one.
fn shown_before<'a>(
    state: &'a TaskState,
    step: &'a Step,
    index: Option<usize>,
    call: &CallRecord,
    path: &str,
    view: View,
) -> Option<(u32, &'a str)> {
    let on = |call: &CallRecord| call.intended.as_ref().map(|i| i.client_id.clone());
    let place = on(call);
    let own = step.calls.iter().take(index.unwrap_or(0)).rev();
    let own = own.map(|call| (step.number, call));
    let earlier = state.steps.iter().rev().filter(|earlier| {
        earlier.track == step.track
            && earlier.number < step.number
            && earlier.number >= view.first_step
    });
    let earlier =
        earlier.flat_map(|earlier| earlier.calls.iter().rev().map(|c| (earlier.number, c)));
    own.chain(earlier)
        .filter(|(_, known)| on(known) == place)
        .find_map(|(number, known)| {
            let (known_path, content) = contents::content_in(known)?;
            // What was cut when it was shown is no ground to build on.
            let whole = contents::is_own(known) || content.len() <= view.max_bytes;
            (known_path == path && whole).then_some((number, content))
        })
}

/// Whether a step holds the very answer that was refused in the step before it, and was refused again: its words stand in the prompt once.
/// A small model that reads the same words of its own again and again says them once more.
pub fn is_said_again(state: &TaskState, step: &Step, first_step: u32) -> bool {
    let before = state.steps.iter().rev();
    let mut before = before.filter(|former| {
        former.closed && former.track == step.track && former.number < step.number
    });
    let former = before.next().filter(|former| former.number >= first_step);
    let refused = |step: &Step| step.blocked.is_some() && step.calls.is_empty();
    let words = |step: &Step| Some(step.planner.as_ref()?.own_words().trim().to_owned());
    former.is_some_and(|former| {
        refused(former) && refused(step) && words(step).is_some() && words(former) == words(step)
    })
}

/// The planner's words of a step, without its thinking; none if they stand in the prompt already. A large file that it wrote again stands
/// there as changes; then the second value says so, for the message that follows.
pub fn answer(
    state: &TaskState,
    profile: &Profile,
    step: &Step,
    view: View,
) -> Option<(String, Option<String>)> {
    let planner = step.planner.as_ref()?;
    if is_said_again(state, step, view.first_step) {
        return None;
    }
    let said = block::without_thinking(planner.own_words()).trim();
    // What was said is kept longer than results: it is what the planner builds on.
    let most = view.max_bytes * 8;
    match with_changes(state, profile, step, view, said) {
        Some((said, note)) => Some((head_and_tail(&said, most), Some(note))),
        None => Some((head_and_tail(said, most), None)),
    }
}

fn with_changes(
    state: &TaskState,
    profile: &Profile,
    step: &Step,
    view: View,
    said: &str,
) -> Option<(String, String)> {
    let directive = step.reading.as_ref()?.directive()?;
    let Action::WriteFile { content, .. } = &directive.action else {
        return None;
    };
    let limit = profile.memory.diff_bytes;
    if limit == 0 || content.len() <= limit {
        return None;
    }
    let call = step.calls.first().filter(|call| !call.kept_a_file())?;
    let (path, written) = contents::content_in(call)?;
    let (known_in, known) = shown_before(state, step, None, call, &path, view)?;
    let changes = diff::shorter(known, written)?;
    let at = said.find(content.as_str())?;
    let fence = said[..at]
        .trim_end_matches('\n')
        .rfind('\n')
        .map_or(0, |at| at + 1);
    let opening: String = said[fence..at]
        .chars()
        .take_while(|c| matches!(c, '`' | '~'))
        .collect();
    if opening.len() < 3 {
        return None;
    }
    let said = format!(
        "{}{opening}diff\n{changes}{}",
        &said[..fence],
        &said[at + content.len()..]
    );
    let note = format!(
        "your file of {} bytes was written whole; above it stands as its changes since step {known_in}. \
         Go on writing whole files",
        written.len()
    );
    Some((said, note))
}

/// The piece of a former result that the step asked for.
///
/// # Errors
/// The template `shared/recalled` is broken.
pub fn recalled(
    state: &TaskState,
    profile: &Profile,
    step: &Step,
    view: View,
) -> Result<Option<String>, PromptError> {
    let Some(asked) = step.recalled else {
        return Ok(None);
    };
    let handle = Handle {
        step: asked.step,
        call: asked.call,
    };
    let Ok(piece) = recall::piece(state, handle, asked.offset, view.max_bytes) else {
        return Ok(None);
    };
    let shown = json!({
        "step": asked.step,
        "call": asked.call,
        "offset": piece.offset,
        "end": piece.offset + piece.text.len(),
        "bytes": piece.bytes,
        "text": fenced(&piece.text, ""),
        "next": piece.next.map(|next| handle.words(next)),
    });
    render_prompt(&profile.prompts, "shared/recalled", shown).map(Some)
}

/// What people and the planner should know since the step before.
pub fn notes<'a>(state: &'a TaskState, step: &Step) -> Vec<&'a str> {
    let of_step = state
        .notes
        .iter()
        .filter(|note| note.after_step == step.number && note.code != "model_failed");
    of_step.map(|note| note.message.as_str()).collect()
}

/// A question and what became of it, as templates show it.
pub fn question(step: &Step) -> Option<Value> {
    let asked = step.question.as_ref()?;
    let answer = asked.answer.as_ref();
    Some(json!({
        "question": asked.question.question,
        "answer": answer.map(|answer| &answer.answer),
        "by": answer.map(|answer| pins::shown_by(&answer.by, answer.authenticated)),
    }))
}

/// What people answered so far, as templates show it.
pub fn answers<'a>(steps: impl Iterator<Item = &'a Step>) -> Vec<Value> {
    let asked = steps.filter_map(question);
    asked.filter(|asked| !asked["answer"].is_null()).collect()
}
