//! What cannot be meant with a short file as a model gives it back changed: rules see which lines came and went, and hold them against the words
//! of the task.

use super::told_entries::key_of;
use crate::strategy::text::{filled_lines, has_word};
use serde_json::Value;

/// Why a text cannot be what such a file shall hold, as far as rules see it. `asked`: the task, and what somebody answered.
pub(in crate::strategy) fn what_is_wrong(
    asked: &str,
    holds: &str,
    content: &str,
) -> Option<String> {
    let in_lines = entry_lines(holds).zip(entry_lines(content));
    let (holds, content) = match &in_lines {
        Some((holds, content)) => (holds.as_str(), content.as_str()),
        None => (holds, content),
    };
    let (old, new): (Vec<&str>, Vec<&str>) = (
        filled_lines(holds).collect(),
        filled_lines(content).collect(),
    );
    let (gone, come) = (only_in(&old, &new), only_in(&new, &old));
    if new.is_empty() {
        return Some("there was no file in it".to_owned());
    }
    if gone.is_empty() && come.is_empty() {
        return Some("it was the file as it is, and nothing was changed".to_owned());
    }
    if (old.len() - gone.len()) * 3 < old.len() {
        return Some("most lines of the file were not in it".to_owned());
    }
    let is_json = |text: &str| serde_json::from_str::<Value>(text);
    if is_json(holds).is_ok()
        && let Err(error) = is_json(content)
    {
        return Some(format!("it is no JSON any more: {error}"));
    }
    let is_asked = |line: &str| is_spoken_of(asked, line) || is_switch_told(asked, line, content);
    if let Some(line) = come.iter().find(|line| !is_asked(line)) {
        return Some(format!("nobody asked for this line of it: {line}"));
    }
    let mut lost = gone.iter().filter(|line| is_lost(asked, line, &come));
    let is_fewer = gone.len() > come.len() && in_lines.is_none();
    if let Some(line) = lost.next().filter(|_| is_fewer) {
        return Some(format!(
            "nobody asked for this line of it to go: {}",
            bare(line)
        ));
    }
    let others = others_than_meant(asked, holds);
    let (meant, other, line) = gone.into_iter().find_map(|line| {
        let (meant, other) = others.iter().find(|(_, other)| holds_word(line, other))?;
        Some((meant, other, bare(line)))
    })?;
    Some(format!(
        "the task says \"{meant}, not {other}\", so this line stays as it is, and the one of {meant} is meant: {line}"
    ))
}

/// A file of JSON with a line for each entry, however it is written; none if it is none.
pub(super) fn entry_lines(text: &str) -> Option<String> {
    let value: Value = serde_json::from_str(text).ok()?;
    serde_json::to_string_pretty(&value).ok()
}

/// Lines of a text that another one does not have, or less often.
fn only_in<'t>(these: &[&'t str], those: &[&str]) -> Vec<&'t str> {
    let mut others: Vec<&str> = those.iter().map(|line| bare(line)).collect();
    let is_other = |line: &&str| {
        let at = others.iter().position(|other| *other == bare(line));
        at.map(|at| others.swap_remove(at)).is_none()
    };
    these.iter().copied().filter(is_other).collect()
}

/// Words that are said of anything.
const SWITCHES: [&str; 6] = ["on", "off", "yes", "no", "true", "false"];

/// Whether a new line has anything to do with what was asked for: the key of a setting, else a word of it.
fn is_spoken_of(asked: &str, line: &str) -> bool {
    let asked = asked.to_lowercase();
    let line = line.to_lowercase();
    let words = line.split(|c: char| !c.is_alphanumeric());
    let telling = |word: &&str| {
        let is_long = word.len() > 1 || word.chars().all(|c| c.is_ascii_digit());
        !word.is_empty() && is_long && !SWITCHES.contains(word)
    };
    let mut words = words.filter(telling).peekable();
    words.peek().is_none() || words.any(|word| asked.contains(word))
}

/// Words of a task that sets a switch, and keys of one in a section that has the name of what is switched.
const SWITCHED: [&str; 8] = [
    "on",
    "off",
    "enable",
    "disable",
    "enabled",
    "disabled",
    "activate",
    "deactivate",
];
pub(super) const KEYS: [&str; 6] = ["enabled", "enable", "active", "on", "disabled", "disable"];

/// Whether a new line switches what the section around it is called by, and the task speaks of that: `enabled=false` below `[phantom]` for "turn
/// phantoms off".
fn is_switch_told(asked: &str, line: &str, content: &str) -> bool {
    let key = line.split(['=', ':']).next().unwrap_or_default();
    let key = key.trim().trim_matches('"').to_lowercase();
    let mut lines = in_sections(content);
    let mut stands_in_one = || {
        lines.any(|(section, held)| {
            held == line && !section.is_empty() && is_spoken_of(asked, section)
        })
    };
    KEYS.contains(&key.as_str()) && has_word(asked, &SWITCHED) && stands_in_one()
}

/// The filled lines of a file, each behind the name of the section that it stands in, which is empty before the first one.
pub(super) fn in_sections(content: &str) -> impl Iterator<Item = (&str, &str)> {
    filled_lines(content).scan("", |section, line| {
        *section = section_of(line).unwrap_or(section);
        Some((*section, line))
    })
}

/// The name of a section that begins with a line: `[phantom]`, `"phantom": {`, `phantom:`.
fn section_of(line: &str) -> Option<&str> {
    let in_brackets = || line.strip_prefix('[')?.strip_suffix(']');
    let before_brace = || line.strip_suffix('{')?.trim_end().strip_suffix(':');
    in_brackets()
        .or_else(before_brace)
        .or_else(|| line.strip_suffix(':'))
}

/// Words of a task that takes out entries which it does not name.
const GROUPS: [&str; 24] = [
    "all",
    "every",
    "everybody",
    "everyone",
    "everything",
    "each",
    "any",
    "anybody",
    "who",
    "those",
    "them",
    "these",
    "which",
    "that",
    "duplicates",
    "double",
    "twice",
    "older",
    "empty",
    "lines",
    "first",
    "last",
    "others",
    "rest",
];

/// Whether a line went away of whose name the task does not speak, and no other of that name came.
fn is_lost(asked: &str, line: &str, come: &[&str]) -> bool {
    let key = key_of(bare(line));
    let is_short = key.len() < 2 || key.chars().all(|c| c.is_ascii_digit());
    !is_short
        && !has_word(asked, &GROUPS)
        && !asked.to_lowercase().contains(&key)
        && !come.iter().any(|line| key_of(bare(line)) == key)
}

/// The pairs of names with "not" between them that both stand in a file: "take out Lumi, not Lumi_2".
fn others_than_meant<'p>(asked: &'p str, holds: &str) -> Vec<(&'p str, &'p str)> {
    let is_edge = |c: char| !c.is_alphanumeric() && c != '_';
    let words = asked.split_whitespace();
    let words: Vec<&str> = words.map(|word| word.trim_matches(is_edge)).collect();
    let stands = |word: &str| !word.is_empty() && holds_word(holds, word);
    let pairs = words.windows(3).filter(|words| words[1] == "not");
    let pairs = pairs.map(|words| (words[0], words[2]));
    let pairs = pairs.filter(|(meant, other)| meant != other && stands(meant) && stands(other));
    pairs.collect()
}

/// Whether a text holds a word, letter for letter and not as a part of another one.
fn holds_word(text: &str, word: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.any(|held| held == word)
}

/// A line without the comma that it needs where another one follows.
pub(super) fn bare(line: &str) -> &str {
    line.trim_end_matches(',')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_json_any_more_or_takes_out_the_other_one_is_not_written() {
        let list = "[\n {\"name\": \"Lumi\"},\n {\"name\": \"Lumi_2\"},\n {\"name\": \"Bo\"}\n]\n";
        let task = "Take Lumi off the list /banned.json. Lumi, not Lumi_2.";
        let wrong = |content: &str| what_is_wrong(task, list, content).unwrap_or_default();
        let without = |line: &str| list.replace(line, "");
        assert_eq!(wrong(&without(" {\"name\": \"Lumi\"},\n")), "");
        let other = wrong(&without(" {\"name\": \"Lumi_2\"},\n"));
        assert!(
            other.starts_with("the task says \"Lumi, not Lumi_2\""),
            "{other}"
        );
        let broken = wrong(&list.replace(" {\"name\": \"Bo\"}\n", ""));
        assert!(broken.starts_with("it is no JSON any more"), "{broken}");
        let other = "Set the delay of the south gate to 6.";
        let line = what_is_wrong(
            other,
            "delay=2\nsound=off\nsound=on",
            "delay=6\nsound=on\nsound=on",
        );
        assert_eq!(
            line.as_deref(),
            Some("nobody asked for this line of it: sound=on")
        );
        // All of it may stand in one line.
        let settings = r#"{"name": "boiler", "limit": 20, "zones": ["a", "b"]}"#;
        let task = "In /settings.json the value of `limit` shall be 30; everything else stays.";
        let wrong = |content: &str| what_is_wrong(task, settings, content).unwrap_or_default();
        assert_eq!(wrong(&settings.replace("20", "30")), "");
        for (content, why) in [
            (settings.replace("20", "20 "), "it was the file as it is"),
            (r#"{"limit": 30}"#.to_owned(), "most lines of the file"),
            (
                settings.replace("boiler", "pump"),
                "nobody asked for this line of it: \"name\": \"pump\"",
            ),
        ] {
            assert!(wrong(&content).starts_with(why), "{content}");
        }
        let members = "olaf,admin\nlena,member\nTnt,member\nmarco,mod\n";
        let task = "Tnt is banned so take him out of members.csv";
        let without = members.replace("Tnt,member\n", "");
        assert_eq!(what_is_wrong(task, members, &without), None);
        let lost = what_is_wrong(task, members, &without.replace("marco,mod\n", ""));
        assert_eq!(
            lost.as_deref(),
            Some("nobody asked for this line of it to go: marco,mod")
        );
        assert_eq!(
            what_is_wrong(
                "Take out all mods",
                members,
                &members.replace("marco,mod\n", "")
            ),
            None
        );
        // A section is switched by a key that nobody names.
        let mobs = "[zombie]\nenabled=true\n[phantom]\nenabled=true\nmax=5\n";
        let task = "mobs.ini: turn phantoms off";
        let off = mobs.replace("[phantom]\nenabled=true", "[phantom]\nenabled=false");
        assert_eq!(what_is_wrong(task, mobs, &off), None);
        let other = mobs.replace("[zombie]\nenabled=true", "[zombie]\nenabled=false");
        assert!(what_is_wrong(task, mobs, &other).is_some());
        // The one that is named last takes the place of the other.
        let renamed = what_is_wrong(
            "It is called Bo now, not Al.",
            "name=Al\nx=1",
            "name=Bo\nx=1",
        );
        assert_eq!(renamed, None);
    }
}
