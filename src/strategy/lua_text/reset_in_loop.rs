//! A count that begins anew in each pass of its loop: what is printed behind the loop is what the last pass came to.

use super::lua_tokens::{Token, tokens};

/// What is told of such a count; none where there is none.
pub(in crate::strategy) fn told(program: &str) -> Option<String> {
    let placed = tokens(program)?;
    let pieces: Vec<Token<'_>> = placed.iter().map(|(_, piece)| *piece).collect();
    (0..pieces.len()).find_map(|at| {
        let (Token::Name(name), Some(Token::Mark('='))) = (pieces[at], pieces.get(at + 1)) else {
            return None;
        };
        let begin = loop_around(&pieces, at)?;
        let end = begin + end_of_block(&pieces[begin..])?;
        let is_own = at > 0 && matches!(pieces[at - 1], Token::Name("local") | Token::Mark('.' | ','));
        let grows = |three: &[Token<'_>]| {
            three == [Token::Name(name), Token::Mark('='), Token::Name(name)]
        };
        let is_counted = pieces[at + 2..end].windows(3).any(grows);
        let is_read_behind = pieces[end..].contains(&Token::Name(name));
        let place = placed[at + 1].0 + 1;
        (!is_own && is_zero(&program[place..]) && is_counted && is_read_behind).then(|| {
            format!(
                "`{name}` is set to 0 anew in each pass of the loop, so what was counted before is lost: set it once, before the loop"
            )
        })
    })
}

/// Whether a text begins with 0 and no longer number.
fn is_zero(text: &str) -> bool {
    let behind = text.trim_start().strip_prefix('0');
    behind.is_some_and(|behind| !behind.starts_with(|c: char| c.is_alphanumeric() || c == '.'))
}

/// Where the body of the loop begins in which a piece stands directly, in no other block.
fn loop_around(pieces: &[Token<'_>], at: usize) -> Option<usize> {
    let mut open: Vec<usize> = Vec::new();
    for (place, piece) in pieces[..at].iter().enumerate() {
        match piece {
            Token::Name("do" | "then" | "function" | "repeat") => open.push(place),
            Token::Name("end" | "until" | "elseif") => {
                open.pop();
            }
            _ => {}
        }
    }
    let innermost = open.pop()?;
    (pieces[innermost] == Token::Name("do")).then_some(innermost + 1)
}

/// How many pieces a body has, its end not counted; none where it does not close.
fn end_of_block(body: &[Token<'_>]) -> Option<usize> {
    let mut depth = 1_usize;
    for (at, piece) in body.iter().enumerate() {
        match piece {
            Token::Name("do" | "if" | "function" | "repeat") => depth += 1,
            Token::Name("end" | "until") => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOINS: &str = "local name = ...\nlocal count\nfor line in file.readLine do\n  count = 0\n  if line == name then\n    count = count + 1\n  \
                         end\nend\nprint(name .. count)";

    #[test]
    fn a_count_that_begins_anew_in_each_pass_is_told() {
        let found = told(JOINS).unwrap();
        assert!(found.starts_with("`count` is set to 0 anew"), "{found}");
        for right in [
            JOINS
                .replace("local count\n", "local count = 0\n")
                .replace("  count = 0\n", ""),
            JOINS.replace("  count = 0", "  local count = 0"),
            JOINS.replace("  count = 0", "  if x then count = 0 end"),
            JOINS.replace("  count = 0", "  count = 0.5"),
            JOINS.replace("count = count + 1", "count = 1"),
            JOINS.replace("print(name .. count)", "print(name)"),
            "for do x = 0".to_owned(),
            "end end x = 0 end".to_owned(),
        ] {
            assert_eq!(told(&right), None, "{right}");
        }
    }
}
