//! Numbers that a program compares as texts: what `match` captures is text, and of texts "9" is greater than "1250". Nothing fails then, and a
//! small model that reads such a program finds it right.

use super::lua_tokens::{Token, tokens};
use std::collections::BTreeSet;

/// Where a program's captured numbers come from.
const CAPTURES: [&str; 2] = ["match", "gmatch"];

/// What is told of such a comparison; none where there is none.
pub(in crate::strategy) fn told(program: &str) -> Option<String> {
    let pieces = tokens(program)?;
    let pieces: Vec<Token<'_>> = pieces.into_iter().map(|(_, piece)| piece).collect();
    let mut texts: BTreeSet<&str> = captured(&pieces).collect();
    texts.retain(|name| !is_made_a_number(&pieces, name));
    let fields = pieces.windows(3).filter_map(|three| match three {
        [Token::Name(field), Token::Mark('='), Token::Name(name)] if texts.contains(name) => {
            Some(*field)
        }
        _ => None,
    });
    let held: BTreeSet<&str> = fields.collect();
    let compared = pieces.windows(3).find_map(|three| match three {
        [Token::Mark('.'), Token::Name(field), Token::Mark('<' | '>')] => held.get(field),
        [_, Token::Name(name), Token::Mark('<' | '>')] => texts.get(name),
        _ => None,
    })?;
    Some(format!(
        "It compares `{compared}` as text: what match captures is text, and of texts \"9\" is greater than \"1250\". Make it a number where it \
         is read, with tonumber"
    ))
}

/// The names that captures of digits are given to.
fn captured<'a>(pieces: &'a [Token<'a>]) -> impl Iterator<Item = &'a str> {
    pieces
        .windows(3)
        .enumerate()
        .flat_map(|(at, three)| match three {
            [Token::Name(call), Token::Mark('('), Token::Text(pattern)]
                if CAPTURES.contains(call) =>
            {
                let names = names_before(&pieces[..at]);
                let digits = digits_of(pattern);
                names
                    .into_iter()
                    .zip(digits)
                    .filter(|(_, digits)| *digits)
                    .map(|(name, _)| name)
                    .collect()
            }
            _ => Vec::new(),
        })
}

/// The names to which a statement gives what stands at its end: `local a, b = line:`, `for a, b in text:`.
fn names_before<'a>(pieces: &[Token<'a>]) -> Vec<&'a str> {
    let gives = |piece: &Token<'_>| matches!(piece, Token::Mark('=') | Token::Name("in"));
    let Some(end) = pieces.iter().rposition(gives) else {
        return Vec::new();
    };
    let mut names = Vec::new();
    let mut before = pieces[..end].iter().rev();
    while let Some(Token::Name(name)) = before.next() {
        names.push(*name);
        if before.next() != Some(&Token::Mark(',')) {
            break;
        }
    }
    names.reverse();
    names
}

/// Of each capture of a pattern, whether it holds digits alone.
fn digits_of(pattern: &str) -> Vec<bool> {
    let captures = pattern.split('(').skip(1);
    captures
        .map(|capture| {
            ["%d+)", "-?%d+)", "%d*)"]
                .iter()
                .any(|digits| capture.starts_with(digits))
        })
        .collect()
}

fn is_made_a_number(pieces: &[Token<'_>], name: &str) -> bool {
    pieces.windows(3).any(|three| {
        matches!(three, [Token::Name("tonumber"), Token::Mark('('), Token::Name(made)] if *made == name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOP: &str = "local players = {}\nfor line in io.lines(\"/s.txt\") do\n  local name, score = line:match(\"^(%S+) (%d+)$\")\n  \
                       table.insert(players, { name = name, score = score })\nend\ntable.sort(players, function(a, b) return a.score > b.score end)";

    #[test]
    fn captured_numbers_that_are_compared_are_told() {
        let compared = |program: &str| {
            told(program).map(|told| told.split('`').nth(1).unwrap_or_default().to_owned())
        };
        assert_eq!(compared(TOP).as_deref(), Some("score"));
        let plain = "local n = text:match('(%d+)')\nif n > '5' then print(n) end";
        assert_eq!(compared(plain).as_deref(), Some("n"));
        let each = "for k, v in text:gmatch(\"(%a+)=(%d+)\") do\nif v > best then best = v end end";
        assert_eq!(compared(each).as_deref(), Some("v"));
        for right in [
            TOP.replace("score = score", "score = tonumber(score)"),
            TOP.replace("(%d+)", "(%a+)"),
            TOP.replace("a.score > b.score", "a.name > b.name"),
            "if a > b then end".to_owned(),
        ] {
            assert_eq!(compared(&right), None, "{right}");
        }
    }
}
