//! Directives that stand on one line, as small models write them: `DIRECTIVE: RUN PATH: /a.lua ARGS: ["1"]` and
//! `DIRECTIVE: RUN /a.lua 1`. The same fields, each on a line of its own; what could be prose is left alone.

use super::block;
use super::parser::KEYWORDS;

/// The fields of each directive that may stand behind it.
fn names_of(keyword: &str) -> &'static [&'static str] {
    match keyword {
        "ASK_USER" => &["QUESTION", "WHY", "REASON", "NEXT"],
        "WRITE_FILE" => &["PATH", "LANGUAGE", "CONTENT", "ON"],
        "RUN" => &["PATH", "ARGS", "EXPECT", "ON"],
        "SHELL" => &["COMMAND", "EXPECT", "ON"],
        "TOOL" => &["NAME", "ARGS", "ON"],
        _ => &["SUMMARY", "NOTES"],
    }
}

/// The lines of a directive's first line; none if it already is as it should be, or cannot be told apart.
pub fn spread(line: &str) -> Option<Vec<String>> {
    let (_, value) = block::field_of(line)?;
    let (keyword, rest) = value.split_once(char::is_whitespace)?;
    let keyword = keyword.trim_end_matches([':', ',']);
    if !KEYWORDS.contains(&keyword) {
        return None;
    }
    let rest = rest.trim();
    let fields = by_name(rest, names_of(keyword)).or_else(|| by_place(keyword, rest))?;
    let first = format!("DIRECTIVE: {keyword}");
    Some(std::iter::once(first).chain(fields).collect())
}

/// `NAME: value NAME: value`; none if it does not begin with a name or holds one twice.
fn by_name(rest: &str, names: &[&str]) -> Option<Vec<String>> {
    let mut starts: Vec<usize> = Vec::new();
    for name in names {
        let label = format!("{name}:");
        let at_a_word = |at: &usize| *at == 0 || rest[..*at].ends_with(char::is_whitespace);
        let found = rest.match_indices(&label).map(|(at, _)| at);
        let found: Vec<usize> = found.filter(at_a_word).collect();
        if found.len() > 1 {
            return None;
        }
        starts.extend(found);
    }
    starts.sort_unstable();
    if starts.first() != Some(&0) {
        return None;
    }
    let ends = starts.iter().skip(1).copied().chain([rest.len()]);
    let fields = starts
        .iter()
        .zip(ends)
        .map(|(start, end)| rest[*start..end].trim().to_owned());
    Some(fields.collect())
}

/// `RUN /path.lua words`, `WRITE_FILE /path.lua`: only a path shows that this is no prose.
fn by_place(keyword: &str, rest: &str) -> Option<Vec<String>> {
    let (path, words) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if !path.starts_with('/') {
        return None;
    }
    match (keyword, words.trim()) {
        ("RUN" | "WRITE_FILE", "") => Some(vec![format!("PATH: {path}")]),
        ("RUN", words) => Some(vec![format!("PATH: {path}"), format!("ARGS: {words}")]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread_to(line: &str) -> String {
        spread(line).map_or("as it is".to_owned(), |lines| lines[1..].join(" | "))
    }

    #[test]
    fn fields_on_one_line_are_those_of_the_directive_and_prose_is_left_alone() {
        for (line, expected) in [
            (
                "DIRECTIVE: RUN PATH: /a.lua EXPECT: Hello, World!",
                "PATH: /a.lua | EXPECT: Hello, World!",
            ),
            (
                "**DIRECTIVE:** RUN PATH: /a.lua ARGS: [\"x PATHS: y\"]",
                "PATH: /a.lua | ARGS: [\"x PATHS: y\"]",
            ),
            (
                "DIRECTIVE: RUN /a.lua 1 \"two words\"",
                "PATH: /a.lua | ARGS: 1 \"two words\"",
            ),
            ("DIRECTIVE: WRITE_FILE /a.lua", "PATH: /a.lua"),
            (
                "DIRECTIVE: WRITE_FILE PATH: /a.lua LANGUAGE: lua CONTENT:",
                "PATH: /a.lua | LANGUAGE: lua | CONTENT:",
            ),
            (
                "DIRECTIVE: SHELL COMMAND: \"echo NAME: x\" ON: mine",
                "COMMAND: \"echo NAME: x\" | ON: mine",
            ),
            (
                "DIRECTIVE: TOOL NAME: tree_count ARGS: {\"path\": \"/\"} ON: base",
                "NAME: tree_count | ARGS: {\"path\": \"/\"} | ON: base",
            ),
            ("DIRECTIVE: DONE SUMMARY: all holds", "SUMMARY: all holds"),
            ("DIRECTIVE: RUN", "as it is"),
            ("DIRECTIVE: RUN the program", "as it is"),
            ("DIRECTIVE: RUN it with PATH: /a.lua", "as it is"),
            ("DIRECTIVE: RUN PATH: /a.lua PATH: /b.lua", "as it is"),
            ("DIRECTIVE: SHELL list /", "as it is"),
            ("DIRECTIVE: DONE with the first part", "as it is"),
            ("DIRECTIVE: WRITE FILE", "as it is"),
            ("RUN PATH: /a.lua", "as it is"),
        ] {
            assert_eq!(spread_to(line), expected, "{line}");
        }
    }
}
