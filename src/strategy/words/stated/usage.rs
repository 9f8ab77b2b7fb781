//! How a program that is to be written is called: "`/wc.lua FILE` prints the number of lines".

use super::reading::{is_placeholder, pieces};
use crate::strategy::paths::normal;

/// Words that Lua keeps for itself.
const KEYWORDS: [&str; 22] = [
    "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if", "in",
    "local", "nil", "not", "or", "repeat", "return", "then", "true", "until", "while",
];

/// How a program is called.
#[derive(Debug, PartialEq)]
pub struct Usage<'a> {
    /// As the task says it.
    pub command: &'a str,
    /// The names of its arguments, as a program may have them.
    pub names: Vec<String>,
}

/// How a program, which has no first slash here, is called, where the task says it with a word in capitals for each argument.
pub fn usage_of<'a>(prompt: &'a str, program: &str) -> Option<Usage<'a>> {
    pieces(prompt).find_map(|(_, command, _)| {
        let mut words = command.split(' ');
        let is_of_it = words.next().map(normal).as_deref() == Some(program);
        let names: Vec<String> = words.map(name_of).collect::<Option<_>>()?;
        (is_of_it && !names.is_empty()).then_some(Usage { command, names })
    })
}

/// Words before what a program prints where it is called in another way.
const ELSE: [&str; 4] = [
    "anything else prints",
    "anything else it prints",
    "otherwise it prints",
    "else it prints",
];

/// What a program prints where it is not called so: "anything else prints `usage: rps MOVE OPPONENT`".
pub fn printed_else(prompt: &str) -> Option<&str> {
    ELSE.iter().find_map(|words| {
        let (_, after) = prompt.split_once(words)?;
        let (between, text, _) = pieces(after).next()?;
        between.trim().is_empty().then_some(text)
    })
}

fn name_of(word: &str) -> Option<String> {
    let name = word.to_ascii_lowercase();
    let is_plain = word.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    (is_plain && is_placeholder(word) && !KEYWORDS.contains(&name.as_str())).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_of_a_program_are_named_as_the_task_names_them() {
        for (prompt, names) in [
            (
                "Write /wc.lua: `/wc.lua FILE` prints its lines.",
                Some(vec!["file"]),
            ),
            (
                "`/wc.lua x` fails. `/wc.lua FROM TO` copies.",
                Some(vec!["from", "to"]),
            ),
            ("`/wc.lua [FILE]` prints it.", None),
            ("`/wc.lua END` prints it.", None),
            ("`/wc.lua` prints it.", None),
            ("`/other.lua FILE` prints it.", None),
            ("`/wc.lua FILE", None),
        ] {
            let usage = usage_of(prompt, "wc.lua").map(|usage| usage.names);
            let names = names.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
            assert_eq!(usage, names, "{prompt}");
        }
    }

    #[test]
    fn what_is_printed_else_is_the_text_right_behind_its_words() {
        for (prompt, text) in [
            (
                "It prints `on`; anything else prints `usage: a.lua`.",
                Some("usage: a.lua"),
            ),
            ("It prints `on`, otherwise it prints `off`.", Some("off")),
            (
                "It prints `on`; anything else prints what it gets, `a`.",
                None,
            ),
            ("It prints `on`.", None),
        ] {
            assert_eq!(printed_else(prompt), text, "{prompt}");
        }
    }
}
