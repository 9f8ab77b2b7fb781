//! Reads how a model breaks a goal down: JSON, with what models put around it and the shapes they like. What it means is
//! checked elsewhere (`check`).

use crate::domain::work::{GoalsRead, ObjectiveDraft, SubtaskDraft};
use serde_json::{Map, Value};

/// How many places of a text are tried as the beginning of the JSON.
const MAX_TRIES: usize = 64;
/// The longest description, in characters.
const MAX_CHARS: usize = 400;
/// More than any check allows.
const MAX_ENTRIES: usize = 64;

/// Reads the objectives in an answer.
pub fn read(answer: &str) -> GoalsRead {
    let mut closest = None;
    for value in values(answer) {
        let objectives = objectives_in(&value, 0);
        if !objectives.is_empty() {
            return GoalsRead {
                objectives,
                problems: Vec::new(),
            };
        }
        closest.get_or_insert(value);
    }
    let problem = match closest {
        Some(_) => "the JSON holds no objectives with subtasks; it has to look like {\"objectives\": [{\"description\": \
                    …, \"subtasks\": [{\"description\": …, \"tool\": …, \"targets\": […]}]}]}"
            .to_owned(),
        None if answer.contains(['{', '[']) => {
            format!("the JSON cannot be read: {}", broken_at(answer))
        }
        None => "there is no JSON in the answer".to_owned(),
    };
    GoalsRead {
        objectives: Vec::new(),
        problems: vec![problem],
    }
}

/// The JSON objects and lists that stand in a text, each but those inside another one.
fn values(text: &str) -> impl Iterator<Item = Value> {
    let mut rest = text;
    let mut tries = 0;
    std::iter::from_fn(move || {
        while tries < MAX_TRIES {
            let at = rest.find(['{', '['])?;
            tries += 1;
            let body = &rest[at..];
            let mut stream = serde_json::Deserializer::from_str(body).into_iter::<Value>();
            match stream.next() {
                Some(Ok(value)) => {
                    rest = body.get(stream.byte_offset()..).unwrap_or_default();
                    return Some(value);
                }
                // Cut off: a part inside may be whole, but it is not all that was meant.
                Some(Err(error)) if error.is_eof() => return None,
                _ => rest = &body[1..],
            }
        }
        None
    })
}

/// Where the first JSON of a text stops being one.
fn broken_at(text: &str) -> String {
    let body = text.find(['{', '[']).map_or("", |at| &text[at..]);
    let mut stream = serde_json::Deserializer::from_str(body).into_iter::<Value>();
    match stream.next() {
        Some(Err(error)) if error.is_eof() => {
            "it is cut off, or a bracket is not closed".to_owned()
        }
        Some(Err(error)) => error.to_string(),
        _ => "it is empty".to_owned(),
    }
}

const LISTS: [&str; 5] = ["objectives", "tasks", "goals", "plan", "decomposition"];
const PARTS: [&str; 5] = ["subtasks", "tasks", "steps", "sub_tasks", "actions"];
const WORDS: [&str; 7] = [
    "description",
    "objective",
    "subtask",
    "title",
    "task",
    "name",
    "action",
];

fn objectives_in(value: &Value, depth: usize) -> Vec<ObjectiveDraft> {
    match value {
        Value::Array(entries) => {
            let entries = entries.iter().take(MAX_ENTRIES);
            entries.filter_map(objective_in).collect()
        }
        Value::Object(fields) => {
            let list = LISTS.iter().find_map(|name| fields.get(*name));
            match list {
                Some(list) if depth < 3 => objectives_in(list, depth + 1),
                // One objective alone, without a list around it.
                _ => objective_in(value).into_iter().collect(),
            }
        }
        _ => Vec::new(),
    }
}

fn objective_in(value: &Value) -> Option<ObjectiveDraft> {
    let fields = value.as_object()?;
    let parts = PARTS
        .iter()
        .find_map(|name| fields.get(*name)?.as_array())?;
    let parts = parts.iter().take(MAX_ENTRIES);
    Some(ObjectiveDraft {
        description: text_of(fields),
        subtasks: parts.filter_map(subtask_in).collect(),
    })
}

fn subtask_in(value: &Value) -> Option<SubtaskDraft> {
    match value {
        Value::String(text) => Some(SubtaskDraft {
            description: short(text),
            ..SubtaskDraft::default()
        }),
        Value::Object(fields) => {
            let text = |names: &[&str]| {
                let found = names.iter().find_map(|name| fields.get(*name)?.as_str());
                found
                    .map(|text| text.trim().to_owned())
                    .filter(|text| !text.is_empty())
            };
            Some(SubtaskDraft {
                description: text_of(fields),
                tool: text(&["tool", "tool_name", "command"]),
                targets: targets_in(fields),
                on: text(&["on", "computer", "client_id"]),
            })
        }
        _ => None,
    }
}

fn targets_in(fields: &Map<String, Value>) -> Vec<String> {
    let names = ["targets", "target", "files", "file", "path", "paths"];
    let found = names.iter().find_map(|name| fields.get(*name));
    let texts: Vec<&str> = match found {
        Some(Value::String(text)) => text.split(',').collect(),
        Some(Value::Array(entries)) => entries.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let texts = texts.into_iter().take(MAX_ENTRIES).map(short);
    texts.filter(|text| !text.is_empty()).collect()
}

fn text_of(fields: &Map<String, Value>) -> String {
    let text = WORDS.iter().find_map(|name| fields.get(*name)?.as_str());
    short(text.unwrap_or_default())
}

/// On one line, cut to its longest length.
fn short(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(MAX_CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn the_asked_shape_is_read_with_chatter_and_fences_around_it() {
        let value = json!({"objectives": [{"description": "Say hello", "subtasks": [
            {"description": "Write the script", "tool": "fs_write", "targets": ["/hello.lua"], "on": "base"},
        ]}]});
        for answer in [
            value.to_string(),
            format!("Here {{is}} my plan [1]:\n```json\n{value:#}\n```\nGood luck!"),
            value["objectives"].to_string(),
            value["objectives"][0].to_string(),
            json!({"goal": "x", "plan": value}).to_string(),
        ] {
            let read = read(&answer);
            let subtask = &read.objectives[0].subtasks[0];
            assert_eq!(read.objectives[0].description, "Say hello", "{answer}");
            assert_eq!(subtask.tool.as_deref(), Some("fs_write"));
            assert_eq!(
                (subtask.targets.as_slice(), subtask.on.as_deref()),
                (&["/hello.lua".to_owned()][..], Some("base"))
            );
        }
    }

    #[test]
    fn the_shape_of_source_document_004_is_read() {
        let answer = r#"[{"description": "Create the game", "subtasks": ["fs_write /rps.lua with the game"]}]"#;
        let read = read(answer);
        assert_eq!(
            read.objectives[0].subtasks[0].description,
            "fs_write /rps.lua with the game"
        );
        assert_eq!(read.objectives[0].subtasks[0].tool, None);
    }

    #[test]
    fn objectives_are_looked_for_three_objects_deep_and_no_deeper() {
        let list = json!([{"description": "Say hello", "subtasks": ["fs_write /hello.lua"]}]);
        let within = |depth: usize| {
            let value = (0..depth).fold(list.clone(), |inner, _| json!({"plan": inner}));
            value.to_string()
        };
        assert_eq!(read(&within(3)).objectives.len(), 1);
        assert!(read(&within(4)).objectives.is_empty());
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        for (answer, expected) in [
            ("I would first think.", "no JSON"),
            (
                "{\"objectives\": [{\"description\": \"x\", \"subtasks\": [",
                "cut off",
            ),
            (
                "{\"objectives\": [{\"description\": \"x\", \"subtasks\": [\"fs_write /a\"]}, {\"desc",
                "cut off",
            ),
            ("{\"objectives\": [x]}", "cannot be read"),
            ("{\"answer\": 42}", "no objectives"),
        ] {
            let read = read(answer);
            assert!(read.objectives.is_empty(), "{answer}");
            assert!(
                read.problems[0].contains(expected),
                "{answer}: {:?}",
                read.problems
            );
        }
    }

    proptest! {
        #[test]
        fn noise_never_panics(text in "\\PC{0,200}", marks in "[\\[\\]{}\":,a-z0-9 \n]{0,120}") {
            let _ = read(&text);
            let _ = read(&marks);
            let _ = read(&format!("{{\"objectives\":[{{\"subtasks\":[{marks}]}}]}}"));
        }
    }
}
