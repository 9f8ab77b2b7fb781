//! What the scripted model says when it errs: words and arguments that no task asked for.

use crate::cli::eval::suite::{Act, Move};
use serde_json::{Map, Value, json};

/// Friendly words without any content.
pub const CHATTER: [&str; 3] = [
    "Great question! I would be happy to help you with your computer. Let me think about the best way to do this.",
    "I have looked at the task, and I understand what is wanted. There are several ways to go on from here, and each \
     of them has its own merits.",
    "Sure, I can do that for you! Just let me know whenever you are ready and we will begin.",
];

/// Answers to questions that nobody asked.
pub const OTHER_ANSWERS: [&str; 3] = [
    "The three laws of motion were written down by Isaac Newton. The first one says that a body stays at rest unless a \
     force acts on it.",
    "Dear Sir or Madam,\n\nthank you for your letter of the 12th. We are pleased to offer you the position.\n\nYours \
     faithfully",
    "To bake the bread: mix 500 g of flour with 300 g of water, 10 g of salt and the yeast, wait an hour, then bake it \
     at 220 degrees.",
];

/// Names that small models like to give to tools.
const INVENTED_TOOLS: [&str; 4] = ["read_file", "execute_command", "open_editor", "search_web"];

/// Paths that are nowhere.
const INVENTED_PATHS: [&str; 4] = [
    "/src/main_v2.lua",
    "/home/user/project/todo.md",
    "/data/results_final.txt",
    "/programs/helper_new.lua",
];

/// A move in a few plain words, as an item of a list.
pub fn title(mv: &Move) -> String {
    let on = mv
        .on
        .as_deref()
        .map(|on| format!(" on {on}"))
        .unwrap_or_default();
    let what = match &mv.act {
        Act::Read { path } => format!("read {path} with fs_read"),
        Act::Write { path, .. } => format!("write {path} with fs_write"),
        Act::WriteAndRun { path, .. } => format!("write {path} and run it with write_and_run"),
        Act::Run { path, args } if args.is_empty() => format!("run {path}"),
        Act::Run { path, args } => format!("run {path} with {}", args.join(" ")),
        Act::Shell { command } => format!("give the shell the command {command}"),
        Act::Call { tool, args } => {
            let of = |name: &str| args.get(name).and_then(Value::as_str);
            let about = ["path", "from", "name", "pattern", "item", "ore", "to"]
                .iter()
                .find_map(|name| of(name));
            format!("call {tool} for {}", about.unwrap_or("this computer"))
        }
        Act::Ask { question, .. } => format!("ask a person: {question}"),
        Act::Finish { message } => format!("say that {message}"),
    };
    format!("{what}{on}")
}

/// A tool that does not exist, or one that has nothing to do with it.
pub fn wrong_tool(pick: usize) -> Act {
    let (tool, args) = match pick % 6 {
        n @ 0..=3 => (INVENTED_TOOLS[n], json!({"path": "/"})),
        4 => ("fs_list", json!({"path": "/"})),
        _ => ("fs_find", json!({"pattern": "*.cfg"})),
    };
    Act::Call {
        tool: tool.to_owned(),
        args,
    }
}

/// Reads or runs what is not there.
pub fn invented_path(pick: usize) -> Act {
    let path = INVENTED_PATHS[pick % INVENTED_PATHS.len()].to_owned();
    match pick / INVENTED_PATHS.len() % 2 {
        0 => Act::Read { path },
        _ => Act::Run {
            path,
            args: Vec::new(),
        },
    }
}

/// The same act with arguments that its tool does not take.
pub fn bad_args(act: &Act, pick: usize) -> Act {
    match act {
        Act::Ask { question, .. } => Act::Ask {
            question: question.clone(),
            why: String::new(),
        },
        Act::Finish { .. } => Act::Finish {
            message: String::new(),
        },
        _ => {
            let (tool, args) = act.call().unwrap_or_default();
            let args = args.as_object().cloned().unwrap_or_default();
            Act::Call {
                tool,
                args: spoilt(args, pick),
            }
        }
    }
}

fn spoilt(args: Map<String, Value>, pick: usize) -> Value {
    let Some(first) = args.keys().next().cloned() else {
        return json!({"verbose": true, "target": [1, 2]});
    };
    let mut args = args;
    match pick % 3 {
        // Another name for the field.
        0 => {
            if let Some(value) = args.remove(&first) {
                args.insert(format!("the_{first}"), value);
            }
        }
        // Another type.
        1 => {
            args.insert(first, json!({"value": null}));
        }
        // Nothing at all.
        _ => args.clear(),
    }
    Value::Object(args)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spoilt_arguments_are_never_those_that_are_right() {
        let act = Act::Run {
            path: "/a".to_owned(),
            args: vec!["1".to_owned()],
        };
        for pick in 0..3 {
            let Act::Call { args, .. } = bad_args(&act, pick) else {
                panic!("no call");
            };
            assert_ne!(Some(args), act.call().map(|(_, args)| args));
        }
    }
}
