//! The form to which an answer is held after one that led to nothing (`direct`, `goals`).
//!
//! A model that writes its calls as text answers freely first. If that answer could not be carried out, the next one is held to
//! a JSON schema, compiled from what can be called now: it can then neither misspell a call nor give an argument of another type.
//! It may decline, so that nobody makes it guess. Servers that cannot hold an answer to a schema ignore it, or refuse it and are
//! asked without; whatever comes is read and validated as any other answer.

use crate::domain::chat::{Message, OutputFormat, Role, ToolDef};
use crate::domain::decision::{Contract, Decision, Guard};
use crate::domain::read::{Read, TurnRead};
use crate::domain::task::Step;
use crate::strategy::calling;
use crate::strategy::direct::FINAL_MARK;
use crate::strategy::directive::executor::simple_schema;
use crate::strategy::turn::Turn;
use serde_json::{Map, Value, json};

/// What refuses answers for their form: a call with wrong arguments, one that could not be read, and none at all.
const OF_FORM: [Guard; 4] = [
    Guard::Arguments,
    Guard::Unreadable,
    Guard::Unclear,
    Guard::Reminder,
];

/// The key of an answer that ends the task.
const FINAL: &str = "final";
/// The key of an answer that declines to call anything.
const UNCLEAR: &str = "unclear";
/// The most characters of either.
const MOST_WORDS: u32 = 400;

/// What the answer to a prompt may call beside the tools that are shown.
pub struct Callable {
    /// Tools of the strategy itself.
    pub own: ToolDef,
    /// The name or address of one more tool.
    pub also: Option<String>,
    /// Whether words may end the task.
    pub ends: bool,
}

/// Asks for the next answer: freely, or held to the form, and then without native tools, since servers promise nothing of both
/// in one request.
pub fn consult(
    turn: &Turn<'_>,
    contract: Contract,
    prompt: Vec<Message>,
    tools: Vec<ToolDef>,
    callable: Callable,
) -> Decision {
    let (format, tools) = match refused(turn) {
        None => (OutputFormat::Text, tools),
        Some(refused) => (form(turn, refused, callable), Vec::new()),
    };
    turn.consult(Role::Planner, contract, Ok(prompt), format, tools)
}

fn form(turn: &Turn<'_>, refused: &TurnRead, callable: Callable) -> OutputFormat {
    let Callable { own, also, ends } = callable;
    let callable = calling::callable(turn, &turn.shown_tools(), [own]);
    let mut shapes: Vec<Value> = callable
        .iter()
        .map(|tool| call_shape(&tool.name, &tool.parameters))
        .collect();
    // What it tried to call may be a tool that is not shown, or one of another computer.
    let mut named: Vec<String> = refused.calls.iter().map(|call| call.name.clone()).collect();
    named.extend(also);
    named.sort_unstable();
    named.dedup();
    named.retain(|name| callable.iter().all(|tool| tool.name != *name));
    let schemas = named
        .iter()
        .filter_map(|name| Some((name, turn.schema_of(name)?)));
    shapes.extend(schemas.map(|(name, schema)| call_shape(name, &schema)));
    shapes.extend(ends.then(|| words_shape(FINAL)));
    shapes.push(words_shape(UNCLEAR));
    OutputFormat::Schema(json!({ "anyOf": shapes }))
}

/// What the newest answer said, if it led to nothing for its form.
fn refused<'a>(turn: &Turn<'a>) -> Option<&'a TurnRead> {
    if !turn.profile.guards.hold_to_form || calling::writes_natively(turn) {
        return None;
    }
    let newest = turn.state.newest_closed()?;
    let for_form = OF_FORM.contains(&newest.blocked.as_ref()?.guard);
    match &newest.read {
        // One that declines found nothing in the form that it wanted to say.
        Some(Read::Turn(said)) if for_form && !declines(newest) => Some(said),
        _ => None,
    }
}

/// A call under the names that prompts show: a model that wants to write `"tool"` and is made to write another name goes on with what
/// it wanted.
fn call_shape(name: &str, arguments: &Value) -> Value {
    json!({"type": "object", "required": ["tool", "args"], "additionalProperties": false,
        "properties": {"tool": {"const": name}, "args": simple_schema(arguments)}})
}

fn words_shape(key: &str) -> Value {
    json!({"type": "object", "required": [key], "additionalProperties": false,
        "properties": {key: {"type": "string", "maxLength": MOST_WORDS}}})
}

/// Reads an answer in the form that calls nothing; none if it is of another kind.
pub fn read_words(text: &str) -> Option<TurnRead> {
    let fields: Map<String, Value> = serde_json::from_str(text).ok()?;
    let (key, said) = fields.iter().next().filter(|_| fields.len() == 1)?;
    let said = said.as_str()?.trim();
    match key.as_str() {
        FINAL => Some(TurnRead {
            text: format!("{FINAL_MARK} {said}"),
            ..TurnRead::default()
        }),
        UNCLEAR => Some(TurnRead {
            problems: vec![format!("nothing is called, for this is unclear: {said}")],
            ..TurnRead::default()
        }),
        _ => None,
    }
}

fn declines(step: &Step) -> bool {
    let said = step.planner.as_ref().map(|said| said.answer.content.trim());
    said.and_then(read_words)
        .is_some_and(|said| !said.problems.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::schema::Schema;
    use crate::domain::task::Open;
    use crate::domain::track::Track;
    use crate::strategy::drive::{Drive, profile_of};
    use crate::strategy::{direct, goals};

    const GOOD: &str = r#"{"tool": "fs_write", "args": {"path": "/a.lua", "content": "print(1)"}}"#;
    const BAD: &str =
        r#"{"tool": "run_program", "args": {"path": "/a.lua", "args": {"x": 1, "y": 2}}}"#;
    const HELLO: &str = r#"{"objectives": [{"description": "Say hello", "subtasks": [
        {"description": "Write /a.lua", "tool": "fs_write", "targets": ["/a.lua"]}]}]}"#;

    /// The form that the open consult is held to; none if it is free.
    fn form(drive: &Drive) -> Option<Schema> {
        match drive.state().open_on(Track::MAIN) {
            Open::Consult { format, .. } => match format {
                OutputFormat::Schema(schema) => Some(Schema::of(schema.clone())),
                _ => None,
            },
            other => panic!("{other:?}"),
        }
    }

    fn takes(form: &Schema, answer: &str) -> bool {
        form.accepts(&serde_json::from_str(answer).unwrap())
    }

    #[test]
    fn the_first_answer_is_free_and_one_after_wrong_arguments_is_held_to_the_right_ones() {
        let mut drive = Drive::new(profile_of(direct::NAME), "Write and run /a.lua");
        drive.say(&[GOOD]);
        assert!(form(&drive).is_none());
        drive.say(&[BAD]);
        let held = form(&drive).unwrap();
        for good in [
            r#"{"tool": "run_program", "args": {"path": "/a.lua"}}"#,
            r#"{"tool": "run_program", "args": {"path": "/a.lua", "args": ["1"]}}"#,
            r#"{"tool": "ask_user", "args": {"question": "Which?", "why": "two fit"}}"#,
            r#"{"final": "it ran"}"#,
            r#"{"unclear": "which file"}"#,
        ] {
            assert!(takes(&held, good), "{good}");
        }
        for bad in [
            r#"{"tool": "run_program", "args": {"path": "/a.lua", "args": {"x": 1, "y": 2}}}"#,
            r#"{"tool": "run_program", "args": {}}"#,
            r#"{"tool": "no_such_tool", "args": {}}"#,
            r#"{"final": "it ran", "unclear": "or not"}"#,
        ] {
            assert!(!takes(&held, bad), "{bad}");
        }
        drive.say(&[r#"{"tool": "run_program", "args": {"path": "/a.lua"}}"#]);
        assert_eq!(drive.state().bounces, 0);
        assert!(form(&drive).is_none());
    }

    #[test]
    fn who_declines_is_asked_freely_again() {
        let mut drive = Drive::new(profile_of(direct::NAME), "Write and run /a.lua");
        drive.say(&[BAD]);
        assert!(form(&drive).is_some());
        drive.say(&[r#"{"unclear": "which program"}"#]);
        assert_eq!(drive.state().bounces, 2);
        assert!(form(&drive).is_none());
    }

    #[test]
    fn the_end_may_be_said_in_the_form() {
        let mut drive = Drive::new(profile_of(direct::NAME), "Write /a.lua");
        drive.say(&[GOOD, BAD]);
        let over = !drive.say(&[r#"{"final": "written"}"#]);
        assert!(over);
        let result = drive.state().result.as_ref().unwrap();
        assert_eq!((result.success, result.message.as_str()), (true, "written"));
    }

    #[test]
    fn who_does_not_want_the_form_never_gets_it() {
        let mut profile = profile_of(direct::NAME);
        profile.guards.hold_to_form = false;
        let mut drive = Drive::new(profile, "Write and run /a.lua");
        drive.say(&[BAD]);
        assert_eq!(drive.state().bounces, 1);
        assert!(form(&drive).is_none());
    }

    #[test]
    fn a_subtask_may_be_marked_in_the_form_and_its_end_is_no_end_of_the_task() {
        let mut drive = Drive::new(profile_of(goals::NAME), "Write /a.lua");
        drive.say(&[HELLO, GOOD, "Mark subtask 1.1 as complete."]);
        let held = form(&drive).unwrap();
        let mark = r#"{"tool": "mark_subtask_complete", "args": {"success": true, "reason": "it is there"}}"#;
        assert!(takes(&held, mark));
        assert!(!takes(&held, r#"{"final": "it is there"}"#));
        assert!(!drive.say(&[mark]), "the mark achieves the goal");
    }

    #[test]
    fn every_answer_in_the_form_is_read_as_what_it_says() {
        let said = read_words(r#"{"final": " all done "}"#).unwrap();
        assert_eq!(said.text, "FINAL ANSWER: all done");
        assert!(read_words(r#"{"unclear": "x"}"#).unwrap().problems[0].ends_with(": x"));
        for other in [
            r#"{"final": 3}"#,
            r#"{"finally": "x"}"#,
            "{}",
            "final",
            r#"{"tool": "a", "args": {}}"#,
        ] {
            assert!(read_words(other).is_none(), "{other}");
        }
    }
}
