//! Entries of a short file of which a task speaks and that are as they were: "lena got promoted, and take Tnt out": of two wishes a small model does one.

use super::changed_lines::bare;
use crate::strategy::text::{filled_lines, has_word};

/// Marks behind what an entry is called by.
const BEHIND_KEY: [char; 7] = [',', '=', ':', ';', '|', ' ', '\t'];

/// Letters that a name has at the least: shorter ones are words of any text.
const FEWEST_LETTERS: usize = 3;

/// Words of a clause that may want such an entry as it is.
const QUIET: [&str; 30] = [
    "stay", "stays", "keep", "keeps", "leave", "leaves", "remain", "remains", "like", "same", "as",
    "than", "only", "not", "no", "never", "without", "don", "dont", "below", "above", "after",
    "before", "under", "behind", "next", "between", "if", "fine", "other",
];

/// The line of the first such entry; none where there is none.
pub(super) fn untouched<'h>(asked: &str, held: &'h str, content: &str) -> Option<&'h str> {
    let now: Vec<&str> = filled_lines(content).map(bare).collect();
    let lines: Vec<&'h str> = filled_lines(held).map(bare).collect();
    let lower = asked.to_lowercase();
    let clauses: Vec<&str> = lower
        .split(['.', ',', ';', '!', '?', '\n'])
        .flat_map(|part| part.split(" and "))
        .flat_map(|part| part.split(" but "))
        .collect();
    let line = lines.iter().enumerate().find(|(at, line)| {
        let key = key_of(line);
        let alike = lines.iter().filter(|other| key_of(other) == key).count();
        // What the columns are called by is no entry.
        let is_head = *at == 0 && line.contains(',');
        let is_spoken_of =
            |clause: &&str| has_word(clause, &[key.as_str()]) && !has_word(clause, &QUIET);
        key.len() >= FEWEST_LETTERS
            && alike == 1
            && !is_head
            && now.contains(*line)
            && clauses.iter().any(is_spoken_of)
    });
    line.map(|(_, line)| *line)
}

/// What an entry is called by, in small letters; nothing of a section, a comment, or a line of marks.
pub(super) fn key_of(line: &str) -> String {
    let first = line.split(BEHIND_KEY).next().unwrap_or_default();
    let key = first.trim_matches('"').to_lowercase();
    let is_name = key
        .chars()
        .all(|c| c.is_alphanumeric() || "_-.".contains(c));
    if is_name { key } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMBERS: &str = "name,rank\nolaf,admin\nlena,member\nTnt_9,member\n";

    #[test]
    fn an_entry_of_which_the_task_speaks_is_told_if_its_line_is_as_it_was() {
        let task = "lena got promoted, shes mod now. and Tnt_9 is banned so take him out of members.csv pls";
        let without = MEMBERS.replace("Tnt_9,member\n", "");
        let told = untouched(task, MEMBERS, &without);
        assert_eq!(told, Some("lena,member"));
        let both = without.replace("lena,member", "lena,mod");
        assert_eq!(untouched(task, MEMBERS, &both), None);
        let json = "{\n  \"iron\": 2,\n  \"gold\": 5\n}";
        let told = untouched("iron costs 3 and gold 6", json, &json.replace("2", "3"));
        assert_eq!(told, Some("\"gold\": 5"));
    }

    #[test]
    fn what_stays_and_what_no_entry_is_called_by_is_not_missed() {
        for task in [
            "Tnt_9 is out, but lena stays",
            "add bo with the same rank as lena",
            "put bo below lena",
            "the rank of olaf, not lena",
            "every name gets a new rank",
        ] {
            assert_eq!(
                untouched(task, MEMBERS, &MEMBERS.replace("olaf,admin", "olaf,mod")),
                None,
                "{task}"
            );
        }
        let gates = "[north]\ndelay=2\n[south]\ndelay=2\n";
        assert_eq!(untouched("set the delay of south to 6", gates, gates), None);
    }
}
