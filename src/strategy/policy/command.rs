//! Reads the programs out of what a call gives a computer's shell.

use crate::strategy::paths::names_of;
use serde_json::Value;

/// Programs that run another one, and how many words stand before its name.
const RUNNERS: &[(&str, usize)] = &[
    ("background", 0),
    ("bg", 0),
    ("fg", 0),
    ("foreground", 0),
    ("monitor", 1),
    ("sh", 0),
    ("shell", 0),
];

/// Short names that every CraftOS shell knows.
const ALIASES: &[(&str, &str)] = &[
    ("background", "bg"),
    ("clr", "clear"),
    ("cp", "copy"),
    ("dir", "list"),
    ("foreground", "fg"),
    ("ls", "list"),
    ("mv", "move"),
    ("rm", "delete"),
    ("rs", "redstone"),
    ("sh", "shell"),
];

/// The words of the command that a call runs; empty for a call that runs none.
pub fn words_of(tool: &str, args: &Value) -> Vec<String> {
    let text = |name: &str| args.get(name).and_then(Value::as_str);
    match tool {
        "shell_exec" => split(text("command").unwrap_or_default()),
        "run_program" => {
            let given = args.get("args").and_then(Value::as_array);
            let given = given.into_iter().flatten().map(|word| match word {
                Value::String(word) => word.clone(),
                other => other.to_string(),
            });
            let program = text("path").unwrap_or_default().to_owned();
            std::iter::once(program).chain(given).collect()
        }
        _ => Vec::new(),
    }
}

/// The command that a call runs, and those that this one runs in turn (`bg rm x`, `monitor left rm x`, what is typed into
/// a `shell`).
pub fn commands_of(tool: &str, args: &Value) -> Vec<Vec<String>> {
    let mut words = words_of(tool, args);
    let mut commands = Vec::new();
    while let Some(first) = words.first() {
        let name = program_name(first);
        let runner = RUNNERS.iter().find(|(runner, _)| *runner == name);
        let inner = runner.map(|(_, before)| words.get(before + 1..).unwrap_or_default().to_vec());
        if inner.as_ref().is_some_and(Vec::is_empty) {
            commands.extend(typed(args));
        }
        commands.push(words);
        words = inner.unwrap_or_default();
    }
    commands
}

/// The lines that are typed into what a call runs, as commands.
fn typed(args: &Value) -> Vec<Vec<String>> {
    let lines = match args.get("input") {
        Some(Value::String(line)) => vec![line.as_str()],
        Some(Value::Array(lines)) => lines.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let lines = lines.into_iter().flat_map(str::lines).map(split);
    lines.filter(|words| !words.is_empty()).collect()
}

/// The programs that a call runs: CraftOS's own by their names, others by their whole path if one is given.
pub fn programs_of(tool: &str, args: &Value) -> Vec<String> {
    let commands = commands_of(tool, args);
    let first = commands.iter().filter_map(|words| words.first());
    let named = first.map(|word| {
        let names = names_of(word).unwrap_or_default();
        let from_rom = names.iter().take(2).eq(["rom", "programs"]);
        match names.len() {
            0 | 1 => program_name(word),
            _ if from_rom => program_name(word),
            _ => format!("/{}", names.join("/")),
        }
    });
    named.collect()
}

/// Whether a command begins with the words of `prefix`.
pub fn begins_with(words: &[String], prefix: &str) -> bool {
    let mut wanted = prefix.split_whitespace();
    let program = wanted.next().map(program_name);
    let same = words.first().map(|word| program_name(word)) == program;
    let mut rest = words.iter().skip(1);
    same && wanted.all(|word| rest.next().is_some_and(|w| w.eq_ignore_ascii_case(word)))
}

/// `/rom/programs/delete.lua`, `delete` and `rm` are one program.
pub fn program_name(word: &str) -> String {
    let names = names_of(word);
    let last = names.as_ref().and_then(|names| names.last());
    let name = last.map_or(word, String::as_str);
    let name = name
        .strip_suffix(".lua")
        .unwrap_or(name)
        .to_ascii_lowercase();
    let long = ALIASES.iter().find(|(short, _)| *short == name);
    long.map_or(name, |(_, long)| (*long).to_owned())
}

/// Splits a line as the CraftOS shell does: what stands between quotes is one word, the rest is cut at blanks.
fn split(line: &str) -> Vec<String> {
    let pieces = line.split('"').enumerate();
    let words = pieces.flat_map(|(at, piece)| match at % 2 {
        1 => vec![piece],
        _ => piece.split([' ', '\t']).collect(),
    });
    words
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}
