//! Prepares a conversation for the wire; shared by both HTTP dialects.

use serde_json::{Value, json};

use crate::domain::chat::{Message, Speaker};

/// Joins neighbouring messages of the same speaker, since strict chat templates (Mistral's, Gemma's)
/// refuse two user or two assistant messages in a row.
///
/// Tool messages stay apart: each answers its own call. Merging at the end of a growing conversation
/// only appends text, so a prompt cache keeps its prefix.
pub fn merged(messages: &[Message]) -> Vec<Message> {
    let mut out: Vec<Message> = Vec::with_capacity(messages.len());
    for message in messages {
        match out.last_mut() {
            Some(last) if last.speaker == message.speaker && last.speaker != Speaker::Tool => {
                if !last.content.is_empty() && !message.content.is_empty() {
                    last.content.push_str("\n\n");
                }
                last.content.push_str(&message.content);
                last.tool_calls.extend_from_slice(&message.tool_calls);
            }
            _ => out.push(message.clone()),
        }
    }
    out
}

/// The wire's word for a speaker; the same in both dialects.
pub(super) fn role_word(speaker: Speaker) -> &'static str {
    match speaker {
        Speaker::System => "system",
        Speaker::User => "user",
        Speaker::Assistant => "assistant",
        Speaker::Tool => "tool",
    }
}

/// Arguments as the object that servers insist on (Ollama answers 400 to anything else): a text that
/// holds an object becomes it, other values are wrapped.
pub(super) fn arguments_object(arguments: &Value) -> Value {
    match arguments {
        Value::Object(_) => arguments.clone(),
        Value::Null => json!({}),
        Value::String(text) => match serde_json::from_str(text) {
            Ok(Value::Object(object)) => Value::Object(object),
            _ => json!({ "value": text }),
        },
        other => json!({ "value": other }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::chat::{ToolCall, ToolCallRef};

    #[test]
    fn neighbours_of_the_same_speaker_become_one_message() {
        let messages = [
            Message::system("rules"),
            Message::user("task"),
            Message::user("result"),
            Message::assistant("answer"),
            Message::user(""),
            Message::user("tail"),
        ];
        let contents: Vec<_> = merged(&messages)
            .into_iter()
            .map(|m| (m.speaker, m.content))
            .collect();
        assert_eq!(
            contents,
            [
                (Speaker::System, "rules".to_owned()),
                (Speaker::User, "task\n\nresult".into()),
                (Speaker::Assistant, "answer".into()),
                (Speaker::User, "tail".into()),
            ]
        );
    }

    #[test]
    fn tool_messages_stay_apart_and_calls_are_kept() {
        let call = |name: &str| ToolCall {
            id: None,
            name: name.into(),
            arguments: json!({}),
        };
        let tool = |name: &str| Message {
            speaker: Speaker::Tool,
            content: "ok".into(),
            tool_calls: vec![],
            answers: Some(ToolCallRef {
                id: None,
                name: name.into(),
            }),
        };
        let with_calls = |name: &str| Message {
            tool_calls: vec![call(name)],
            ..Message::assistant("")
        };
        let out = merged(&[with_calls("a"), with_calls("b"), tool("a"), tool("b")]);
        assert_eq!(out.len(), 3);
        assert_eq!(out[0].tool_calls.len(), 2);
        assert_eq!(out[2].answers.as_ref().map(|a| a.name.as_str()), Some("b"));
    }

    #[test]
    fn merging_an_appended_message_keeps_the_earlier_text_as_prefix() {
        let mut messages = vec![Message::system("s"), Message::user("one")];
        let before = merged(&messages);
        messages.push(Message::user("two"));
        let after = merged(&messages);
        assert!(after[1].content.starts_with(&before[1].content));
    }

    #[test]
    fn arguments_are_always_an_object_on_the_wire() {
        assert_eq!(arguments_object(&json!("{\"a\":1}")), json!({"a":1}));
        assert_eq!(
            arguments_object(&json!("rubbish")),
            json!({"value":"rubbish"})
        );
        assert_eq!(arguments_object(&Value::Null), json!({}));
    }
}
