//! Values that a task's words give for what stands in a short file, and that a file as a model gives it back does not have: of two settings small models
//! change one.

use super::changed_lines::{KEYS, in_sections};

/// Words before a number that is no value, and behind one: "raise it by 5", "the first 3 lines".
const NO_VALUE_BEFORE: [&str; 14] = [
    "by", "first", "last", "next", "line", "lines", "top", "least", "most", "every", "than",
    "version", "about", "times",
];
const NO_VALUE_BEHIND: [&str; 24] = [
    "line", "lines", "row", "rows", "entry", "entries", "time", "times", "more", "less", "other",
    "others", "of", "files", "percent", "days", "weeks", "hours", "minutes", "mins", "min",
    "players", "people", "settings",
];

/// How a switch is told and written.
const ON: [&str; 5] = ["on", "true", "yes", "enabled", "1"];
const OFF: [&str; 5] = ["off", "false", "no", "disabled", "0"];

/// What such a file lacks, in words that name it; none where nothing is known to be lacking. `asked`: the task, and what somebody answered; `held`: the
/// file before it was changed, with the values that the task may tell to go.
pub(super) fn lacking(asked: &str, held: &str, content: &str) -> Option<String> {
    let number = || {
        let missing = numbers_told(asked)
            .find(|number| !has_number(held, number) && !has_number(content, number))?;
        Some(format!(
            "the task speaks of {missing}, which stands nowhere in it"
        ))
    };
    let switch = || {
        let told = switches_told(asked);
        told.into_iter().find_map(|(key, on)| {
            let line = wrong_switch(content, &key, on)?;
            let state = if on { "on" } else { "off" };
            Some(format!(
                "the task says {key} {state}, and this line says otherwise: {line}"
            ))
        })
    };
    number().or_else(switch)
}

/// A word without the marks around it.
fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric() && c != '-' && c != '_')
}

/// The numbers of a text that may be values.
fn numbers_told(asked: &str) -> impl Iterator<Item = &str> {
    let words: Vec<&str> = asked.split_whitespace().collect();
    let is_value = move |at: usize| {
        let word = |at: Option<usize>| {
            at.and_then(|at| words.get(at))
                .map(|word| bare(word).to_lowercase())
        };
        let (before, behind) = (word(at.checked_sub(1)), word(at.checked_add(1)));
        let is_in = |word: Option<String>, among: &[&str]| {
            word.is_some_and(|word| among.contains(&word.as_str()))
        };
        !is_in(before, &NO_VALUE_BEFORE) && !is_in(behind, &NO_VALUE_BEHIND)
    };
    let numbers = asked.split_whitespace().enumerate();
    numbers.filter_map(move |(at, word)| {
        let number = bare(word);
        let is_number = number.chars().all(|c| c.is_ascii_digit()) && !number.is_empty();
        (is_number && is_value(at)).then_some(number)
    })
}

/// Whether a text has a number that is no part of a longer one.
fn has_number(text: &str, number: &str) -> bool {
    text.match_indices(number).any(|(at, found)| {
        let joins = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        !joins(text[..at].chars().next_back()) && !joins(text[at + found.len()..].chars().next())
    })
}

/// What a text says to be on or off: "turn phantoms off", "pvp off", "replant on", "enable flight".
fn switches_told(asked: &str) -> Vec<(String, bool)> {
    let lower = asked.to_lowercase();
    let words: Vec<&str> = lower
        .split_whitespace()
        .map(bare)
        .filter(|word| !word.is_empty())
        .collect();
    let state = |word: &str| match word {
        "on" | "enable" => Some(true),
        "off" | "disable" => Some(false),
        _ => None,
    };
    let mut told = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let Some(on) = state(word) else {
            continue;
        };
        let is_verb = word.ends_with("able");
        let turns = at > 0 && ["turn", "switch"].contains(&words[at - 1]);
        let key = match is_verb || turns {
            true => words.get(at + 1),
            false => at.checked_sub(1).map(|at| &words[at]),
        };
        told.extend(key.map(|key| ((*key).to_owned(), on)));
    }
    told
}

/// A line that sets this key to the other state, where none sets it to this one; or that switches a section which is called so.
fn wrong_switch<'a>(content: &'a str, key: &str, on: bool) -> Option<&'a str> {
    let switches = |line: &'a str, keys: &[&str]| {
        let (name, value) = line.split_once(['=', ':'])?;
        let is_key = keys.iter().any(|key| bare(name).eq_ignore_ascii_case(key));
        let value = bare(value).to_lowercase();
        let is_on = ON.contains(&value.as_str());
        (is_key && (is_on || OFF.contains(&value.as_str()))).then_some((line, is_on))
    };
    // Those that say that it is on: what is "disabled" is told the other way round.
    let says_on: &[&str] = &KEYS[..4];
    let mut found: Vec<(&str, bool)> = Vec::new();
    for (section, line) in in_sections(content) {
        let section = bare(section).to_lowercase();
        let is_its = section == key || key.strip_suffix('s') == Some(&section);
        found.extend(switches(line, &[key]));
        found.extend(switches(line, says_on).filter(|_| is_its));
    }
    let is_right = found.iter().any(|(_, is_on)| *is_on == on);
    let (line, _) = found.first()?;
    (!is_right).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOBS: &str = "; limits\n[zombie]\nmax=20\n[creeper]\nmax=12\n[phantom]\nphantoms=true\n";

    #[test]
    fn a_value_that_the_task_gives_and_the_file_lacks_is_named() {
        let task = "mobs.ini: turn phantoms off, set max of creeper to 8. nothing else.";
        let lacks = |content: &str| lacking(task, MOBS, content);
        let (off, eight) = (MOBS.replace("true", "false"), MOBS.replace("12", "8"));
        assert_eq!(
            lacks(&off).as_deref(),
            Some("the task speaks of 8, which stands nowhere in it")
        );
        assert_eq!(
            lacks(&eight).as_deref(),
            Some("the task says phantoms off, and this line says otherwise: phantoms=true")
        );
        assert_eq!(lacks(&off.replace("12", "8")), None);
        let sections = "[creeper]\nenabled=true\nmax=8\n[phantom]\nenabled=true\n";
        let told = lacking(task, sections, sections);
        assert!(told.unwrap().ends_with("otherwise: enabled=true"));
        let off = sections.replace("[phantom]\nenabled=true", "[phantom]\nenabled=false");
        assert_eq!(lacking(task, sections, &off), None);
        let json = "{\n  \"pvp\": true,\n  \"limit\": 10\n}";
        assert!(lacking("disable pvp pls", json, json).is_some());
        assert_eq!(
            lacking("disable pvp pls", json, &json.replace("true", "false")),
            None
        );
    }

    #[test]
    fn what_is_no_value_of_the_file_is_not_missed() {
        for task in [
            "raise the limit by 5",
            "take the first 3 lines out",
            "the max of 12 is ok, turn on the light",
            "go on with phantoms, as in version 2",
            "set it to 80%",
        ] {
            let content = MOBS.replace("20", "80");
            assert_eq!(lacking(task, MOBS, &content), None, "{task}");
        }
    }
}
