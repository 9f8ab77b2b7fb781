//! The pieces of a Lua program's text, for rules that look at what its names are.

pub(in crate::strategy) const KEYWORDS: [&str; 21] = [
    "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "if", "in", "local",
    "nil", "not", "or", "repeat", "return", "then", "true", "until", "while",
];

/// A piece of a program's text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::strategy) enum Token<'a> {
    Name(&'a str),
    /// With its quotes.
    Text(&'a str),
    Mark(char),
    /// `...`, a program's arguments.
    Rest,
}

const REST: &str = "...";

/// The pieces of a program without its comments, each with where it begins (bytes); none of one that has long brackets, or a text that does not end.
pub(in crate::strategy) fn tokens(program: &str) -> Option<Vec<(usize, Token<'_>)>> {
    let mut tokens = Vec::new();
    let mut rest = program.trim_start();
    while let Some(first) = rest.chars().next() {
        let at = program.len() - rest.len();
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let length = if let Some(comment) = rest.strip_prefix("--") {
            if comment.starts_with("[[") || comment.starts_with("[=") {
                return None;
            }
            rest.find('\n').unwrap_or(rest.len())
        } else if first == '"' || first == '\'' {
            let end = end_of_text(rest, first)?;
            tokens.push((at, Token::Text(&rest[..end])));
            end
        } else if ["[[", "[="].iter().any(|begin| rest.starts_with(begin)) {
            return None;
        } else if rest.starts_with(REST) {
            tokens.push((at, Token::Rest));
            REST.len()
        } else if is_word(first) {
            let is_number = first.is_ascii_digit();
            let is_part = |c: char| is_word(c) || (is_number && c == '.');
            let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            if !is_number {
                tokens.push((at, Token::Name(&rest[..end])));
            }
            end
        } else if let Some(joins) = rest.strip_prefix("..") {
            rest.len() - joins.len()
        } else {
            tokens.push((at, Token::Mark(first)));
            first.len_utf8()
        };
        rest = rest[length..].trim_start();
    }
    Some(tokens)
}

/// Where a text ends that begins with this quote, in its own line.
fn end_of_text(text: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '\n' => return None,
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if c == quote => return Some(at + c.len_utf8()),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_read_piece_by_piece_without_comments_and_numbers() {
        let program = "local a = { ... } -- \"x\nprint('é\\'' .. a[1.5])";
        let read: String = tokens(program)
            .unwrap()
            .iter()
            .map(|(at, token)| match token {
                Token::Name(text) | Token::Text(text) => format!("{at}{text} "),
                Token::Mark(mark) => format!("{mark} "),
                Token::Rest => "rest ".to_owned(),
            })
            .collect();
        assert_eq!(read, "0local 6a = { rest } 24print ( 30'é\\'' 40a [ ] ) ");
        for unread in ["print([[x]])", "--[=[ x ]=]", "print('x", "print('x\n')"] {
            assert_eq!(tokens(unread), None, "{unread}");
        }
    }
}
