//! The least of several numbers, looked for from 0: nothing is less, and what belongs to the least stays nil. A small model reads the failing line behind
//! the loop, where nothing is wrong.

use super::lua_tokens::{Token, tokens};

/// What is told of such a search; none where there is none.
pub(in crate::strategy) fn told(program: &str) -> Option<String> {
    let pieces = tokens(program)?;
    let begins_with_zero = |at: usize| {
        let (place, mark) = pieces[at];
        let text = program[place + 1..].trim_start();
        let behind = text.strip_prefix('0').unwrap_or("0");
        mark == Token::Mark('=') && !behind.starts_with(|c: char| c.is_alphanumeric() || c == '.')
    };
    let name_at = |at: usize| match pieces.get(at) {
        Some((_, Token::Name(name))) => Some(*name),
        _ => None,
    };
    let is_set = |at: usize, name: &str| {
        let marks =
            [pieces.get(at + 1), pieces.get(at + 2)].map(|piece| piece.map(|(_, piece)| *piece));
        name_at(at) == Some(name)
            && marks[0] == Some(Token::Mark('='))
            && marks[1] != Some(Token::Mark('='))
    };
    let set =
        |name: &str| -> Vec<usize> { (0..pieces.len()).filter(|at| is_set(*at, name)).collect() };
    (0..pieces.len()).find_map(|at| {
        let least = match pieces[at].1 {
            Token::Mark('<') => name_at(at + 1),
            Token::Mark('>') if at > 0 => name_at(at - 1),
            _ => None,
        }?;
        // Where another condition stands beside it, the first one may be let through so.
        let behind = pieces[at..].iter().map(|(_, piece)| *piece);
        let then = at + behind.clone().position(|piece| piece == Token::Name("then"))?;
        let condition = pieces[..then].iter().rev();
        let mut condition = condition.map(|(_, piece)| *piece).take_while(|piece| *piece != Token::Name("if"));
        let end = at + behind.clone().position(|piece| piece == Token::Name("end"))?;
        let [first, second] = set(least)[..] else {
            return None;
        };
        let is_search = first < at && begins_with_zero(first + 1) && (then..end).contains(&second);
        let is_alone = !condition.any(|piece| matches!(piece, Token::Name("or" | "not")));
        (is_search && is_alone).then(|| {
            format!(
                "`{least}` begins with 0, and no number there is less than 0, so the least is never found: begin it with `math.huge`"
            )
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: &str = "local who = nil\nlocal least = 0\nfor line in file.readLine do\n  local a, b = line:match('^(%S+) (%d+)$')\n  \
                         local time = tonumber(b)\n  if time < least then\n    least = time\n    who = a\n  end\nend\nprint(who .. least)";

    #[test]
    fn a_least_that_begins_with_zero_is_told() {
        let found = told(LEAST).unwrap();
        assert!(found.starts_with("`least` begins with 0"), "{found}");
        assert!(told(&LEAST.replace("time < least", "least > time")).is_some());
        for right in [
            LEAST.replace("least = 0", "least = 0.5"),
            LEAST.replace("least = 0", "least = math.huge"),
            LEAST.replace("time < least", "time > least"),
            LEAST.replace("time < least", "who == nil or time < least"),
            LEAST.replace("    least = time\n", ""),
            LEAST.replace("who = nil", "who = nil\nleast = 99"),
            "if a < b then".to_owned(),
            "<".to_owned(),
        ] {
            assert_eq!(told(&right), None, "{right}");
        }
    }
}
