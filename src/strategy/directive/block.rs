//! The lines of a planner's answer: where the directive begins, which lines are fields, what a fence holds.
//! Nothing here knows what the fields mean.

/// One `NAME: value` of a directive, with the lines that belong to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// In capitals.
    pub name: String,
    /// The rest of the field's own line, trimmed.
    pub value: String,
    /// The lines up to the next field, as they are.
    pub lines: Vec<String>,
    /// What a fenced block right after the field holds, without its fences.
    pub fenced: Option<Fenced>,
}

/// The content of a fenced block.
#[derive(Debug, Clone, PartialEq)]
pub struct Fenced {
    /// What stands behind the opening fence, usually a language.
    pub info: String,
    /// Every line ended by a newline.
    pub content: String,
    /// False if the text ended before the fence was closed.
    pub closed: bool,
}

/// The names that begin a field at the start of a line.
pub const FIELD_NAMES: [&str; 18] = [
    "DIRECTIVE",
    "QUESTION",
    "WHY",
    "NEXT",
    "PATH",
    "LANGUAGE",
    "CONTENT",
    "THEN",
    "ARGS",
    "EXPECT",
    "COMMAND",
    "NAME",
    "SUMMARY",
    "NOTES",
    "ON",
    "REASON",
    "TOOL",
    "PLAN",
];

/// The answer without a thinking part before the directive. Models think in `<think>` tags; some servers
/// swallow the opening one.
pub fn without_thinking(text: &str) -> &str {
    let trimmed = text.trim_start();
    if let Some(rest) = trimmed.strip_prefix("<think") {
        return rest.split_once("</think>").map_or("", |(_, after)| after);
    }
    match trimmed.split_once("</think>") {
        Some((before, after)) if !before.lines().any(is_directive_line) => after,
        _ => trimmed,
    }
}

/// Whether a directive begins on this line.
pub fn is_directive_line(line: &str) -> bool {
    field_of(line).is_some_and(|(name, _)| name == "DIRECTIVE")
}

/// Reads `NAME: value`, also with Markdown around the name (`**NAME:** value`, `- NAME: value`).
pub fn field_of(line: &str) -> Option<(&'static str, &str)> {
    let decoration = |c: char| c.is_whitespace() || matches!(c, '*' | '_' | '#' | '>' | '-' | '`');
    let bare = line.trim_start_matches(decoration);
    let (name, value) = bare.split_once(':')?;
    let name = name.trim_end_matches(['*', '_', ' ']);
    let known = FIELD_NAMES
        .into_iter()
        .find(|known| known.eq_ignore_ascii_case(name))?;
    Some((known, value.trim_start_matches(['*', '_']).trim()))
}

/// Whether a text ends in the middle of a field. An answer that was cut off there may lack the rest of a path or of a
/// command; one that was cut off in the chatter behind its directive is whole.
pub fn ends_in_a_field(text: &str) -> bool {
    if text.ends_with('\n') {
        return false;
    }
    let mut below = text.lines().rev().take_while(|line| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with("```")
    });
    below.any(|line| field_of(line).is_some())
}

/// Splits the lines from a `DIRECTIVE:` line on into fields. A fence right after a field belongs to it, and
/// nothing inside it is a field.
pub fn fields(lines: &[&str]) -> Vec<Field> {
    let mut fields: Vec<Field> = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        at += 1;
        if let Some((name, value)) = field_of(line) {
            let mut field = Field {
                name: name.to_owned(),
                value: value.to_owned(),
                lines: Vec::new(),
                fenced: None,
            };
            at = take_fence(lines, at, &mut field);
            fields.push(field);
        } else if let Some(field) = fields.last_mut() {
            field.lines.push(line.to_owned());
        }
    }
    fields
}

/// Takes the fenced block that begins on the next non-blank line (or behind the field's name).
fn take_fence(lines: &[&str], at: usize, field: &mut Field) -> usize {
    let (fence, start) = match fence_of(&field.value) {
        Some(fence) => (Some(fence), at),
        None if field.value.is_empty() => {
            let blank = lines[at..]
                .iter()
                .take_while(|l| l.trim().is_empty())
                .count();
            let opening = lines.get(at + blank).and_then(|l| fence_of(l));
            (opening, at + blank + 1)
        }
        None => (None, at),
    };
    let Some(opening) = fence else { return at };
    let info = opening.info.to_owned();
    let (content, end, closed) = read_fence(lines, start, &opening);
    field.value.clear();
    field.fenced = Some(Fenced {
        info,
        content,
        closed,
    });
    end
}

/// Reads up to the line that closes `opening`. A fence with an info text opens an inner block, which its own
/// bare fence closes.
fn read_fence(lines: &[&str], start: usize, opening: &Fence<'_>) -> (String, usize, bool) {
    let mut content = String::new();
    let mut depth = 0usize;
    for (offset, line) in lines[start.min(lines.len())..].iter().enumerate() {
        if let Some(fence) =
            fence_of(line).filter(|f| f.mark == opening.mark && f.length >= opening.length)
        {
            match (fence.info.is_empty(), depth) {
                (true, 0) => return (content, start + offset + 1, true),
                (true, _) => depth -= 1,
                (false, _) => depth += 1,
            }
        }
        content.push_str(line);
        content.push('\n');
    }
    (content, lines.len(), false)
}

struct Fence<'a> {
    mark: char,
    length: usize,
    info: &'a str,
}

/// Reads a line that is a code fence: three or more backticks or tildes, then perhaps an info text.
fn fence_of(line: &str) -> Option<Fence<'_>> {
    let line = line.trim();
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.chars().take_while(|c| *c == mark).count();
    let info = line[length..].trim();
    // `x` in a text is code, not a fence; nor is a fence line with backticks further on.
    (length >= 3 && !info.contains('`')).then_some(Fence { mark, length, info })
}

/// A fence that nothing in `content` can close, also where a reader takes other characters than a line feed for the end of
/// a line.
pub fn fence_for(content: &str) -> String {
    let runs = content.split(|c| c != '`').map(str::len);
    "`".repeat(runs.max().unwrap_or(0).max(2) + 1)
}

/// Splits a command line at spaces; double and single quotes keep words together.
pub fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    for c in text.chars() {
        match quote {
            Some(q) if c == q => quote = None,
            Some(_) => word.get_or_insert_default().push(c),
            None if c == '"' || c == '\'' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c.is_whitespace() => words.extend(word.take()),
            None => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// Writes words so that [`words`] reads them back, as far as quotes can do that.
pub fn quoted(words: &[String]) -> String {
    let quote = |word: &String| {
        if word.is_empty() || word.contains(char::is_whitespace) || word.contains('\'') {
            format!("\"{word}\"")
        } else if word.contains('"') {
            format!("'{word}'")
        } else {
            word.clone()
        }
    };
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}

/// Whether a text is a diff and no file: models that were shown changes may answer with changes.
pub fn is_diff(content: &str) -> bool {
    let mut lines = content
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty());
    let hunk = |line: &str| line.starts_with("@@ -") && line[3..].contains("@@");
    match lines.next() {
        Some(first) if hunk(first) => true,
        Some(first) if first.starts_with("--- ") => lines
            .next()
            .is_some_and(|second| second.starts_with("+++ ")),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inner_block_with_a_language_does_not_end_the_outer_one() {
        let text = [
            "CONTENT:", "```md", "# doc", "```lua", "print(1)", "```", "end", "```", "ON: b",
        ];
        let fields = fields(&text);
        let fenced = fields[0].fenced.as_ref().unwrap();
        assert_eq!(fenced.content, "# doc\n```lua\nprint(1)\n```\nend\n");
        assert_eq!(fields[1].name, "ON");
    }

    #[test]
    fn thinking_is_cut_off_with_and_without_its_opening_tag() {
        for text in [
            "<think>DIRECTIVE: RUN</think>DIRECTIVE: DONE",
            "hm, so\n</think>DIRECTIVE: DONE",
        ] {
            assert_eq!(without_thinking(text), "DIRECTIVE: DONE");
        }
        assert_eq!(without_thinking("<think>I never stop"), "");
        let inside = "DIRECTIVE: WRITE_FILE\nCONTENT:\n```\n</think>\n```";
        assert_eq!(without_thinking(inside), inside);
    }

    #[test]
    fn a_text_that_stops_in_a_command_ends_in_a_field_and_chatter_below_does_not() {
        assert!(ends_in_a_field("DIRECTIVE: SHELL\nCOMMAND: \"delete /a"));
        assert!(ends_in_a_field("THEN:\n1 RUN /a.lua x\n2 RUN /b.lu"));
        assert!(!ends_in_a_field("COMMAND: \"delete /a\"\n"));
        assert!(!ends_in_a_field("COMMAND: \"ls\"\n\nNow I would like to"));
        assert!(!ends_in_a_field("CONTENT:\n```\nx\n```\nand so"));
    }

    #[test]
    fn quotes_keep_words_together() {
        assert_eq!(
            words("add 2 \"buy milk\" 'it''s' \"\""),
            ["add", "2", "buy milk", "its", ""]
        );
    }

    #[test]
    fn lua_with_comments_is_no_diff() {
        for file in [
            "-- @@ -1 +1 @@",
            "--- a module\nlocal x = 1\n",
            "print(1)",
            "",
        ] {
            assert!(!is_diff(file), "{file}");
        }
        assert!(is_diff("--- a/x.lua\n+++ b/x.lua\n@@ -1 +1 @@\n"));
    }
}
