//! Numbers that are rounded by hand and by a function: `math.floor(x / 8 - 0.5)` is one less than "rounded down". Small models remember the half of
//! "rounded to the nearest".

/// A function, and what is written at the end of what it is given.
const ROUNDS: [(&str, &str); 2] = [("math.floor(", "-0.5"), ("math.ceil(", "+0.5")];

/// What is told of such a rounding; none where there is none.
pub(in crate::strategy) fn told(program: &str) -> Option<String> {
    ROUNDS.iter().find_map(|(call, half)| {
        let mut calls = program.match_indices(call);
        calls.find_map(|(at, _)| {
            let given = in_brackets(&program[at + call.len()..])?;
            let bare: String = given.split_whitespace().collect();
            let name = call.trim_end_matches('(');
            bare.ends_with(half).then(|| {
                format!("`{name}` rounds by itself: with the half in `{call}{given})` it is one off; leave the half out")
            })
        })
    })
}

/// What stands before the bracket that closes.
fn in_brackets(text: &str) -> Option<&str> {
    let mut depth = 1_usize;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            '\n' => return None,
            _ => {}
        }
        if depth == 0 {
            return Some(&text[..at]);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_half_in_what_is_rounded_down_or_up_is_told() {
        let found = told("local x = math.floor((x / 8) - 0.5)\nprint(x)").unwrap();
        assert!(found.contains("`math.floor((x / 8) - 0.5)`"), "{found}");
        assert!(told("y = math.ceil(y+0.5)").is_some());
        for right in [
            "math.floor(x + 0.5)",
            "math.ceil(x - 0.5)",
            "math.floor(x / 8) - 0.5",
            "math.floor((x",
            "math.floor(x\n- 0.5)",
        ] {
            assert_eq!(told(right), None, "{right}");
        }
    }
}
