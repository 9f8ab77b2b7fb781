//! Lua programs that give several names what a pattern without brackets finds: `local item, count = line:match("%S+,%S+")` gives the first name the
//! whole text and the others nothing. Small models write so, and copy it when they mend.

/// Marks at which such a pattern is taken apart.
const SEPARATORS: [char; 5] = [',', ';', ':', '=', '|'];

/// The program with each part of such a pattern in brackets, where it has as many parts as there are names; none if it has none.
pub(super) fn with_captures(program: &str) -> Option<String> {
    let mut mended = false;
    let lines = program.split_inclusive('\n').map(|line| {
        let captured = captured(line);
        mended |= captured.is_some();
        captured.unwrap_or_else(|| line.to_owned())
    });
    let whole: String = lines.collect();
    mended.then_some(whole)
}

fn captured(line: &str) -> Option<String> {
    let (names, value) = line.split_once('=')?;
    let names = names.trim().strip_prefix("local ").unwrap_or(names.trim());
    let count = names.split(',').count();
    let is_name = |name: &str| {
        let name = name.trim();
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    if count < 2 || !names.split(',').all(is_name) {
        return None;
    }
    let call = [":match(", "string.match("]
        .iter()
        .find_map(|call| value.find(call))?;
    // `local a, b = x:match("…"), y` has a value for each name.
    let rest = &value[call..];
    let begin = rest.find('"')? + 1;
    let end = begin + rest[begin..].find('"')?;
    let pattern = &rest[begin..end];
    let ends = rest[end + 1..].trim() == ")";
    if !ends || pattern.contains(['(', ')', '[', '\\']) {
        return None;
    }
    let mut separators = SEPARATORS.iter();
    let separator = separators.find(|mark| pattern.split(**mark).count() == count)?;
    let parts = pattern.split(*separator).map(|part| format!("({part})"));
    let parts: Vec<String> = parts.collect();
    let at = line.len() - rest.len() + begin;
    let separator = separator.to_string();
    Some(format!(
        "{}{}{}",
        &line[..at],
        parts.join(&separator),
        &line[at + pattern.len()..]
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_part_of_a_pattern_is_for_a_name() {
        for (written, meant) in [
            (
                "x = 1\n    local item, count, price = line:match(\"%S+,%S+,%S+\")\nprint(item)\n",
                "x = 1\n    local item, count, price = line:match(\"(%S+),(%S+),(%S+)\")\nprint(item)\n",
            ),
            (
                "key, value = string.match(line, \"%w+=%w+\")",
                "key, value = string.match(line, \"(%w+)=(%w+)\")",
            ),
        ] {
            assert_eq!(with_captures(written).as_deref(), Some(meant));
        }
        for program in [
            "local item = line:match(\"%S+,%S+\")",
            "local a, b = line:match(\"(%S+),(%S+)\")",
            "local a, b = line:match(\"%S+,%S+,%S+\")",
            "local a, b = line:match(\"%S+,%S+\"), 2",
            "local a, b = line:gmatch(\"%S+,%S+\")",
            "local a, t.b = line:match(\"%S+,%S+\")",
            "local a, b = line:match(\"[^,]+,[^,]+\")",
            "local a, b = line:match(\"",
            "",
        ] {
            assert_eq!(with_captures(program), None, "{program}");
        }
    }

    proptest! {
        #[test]
        fn what_was_mended_has_nothing_to_mend(program in "(local |a|, |b|é| = |x:match\\(|\"|%S\\+|,|\\)|\n| ){0,14}") {
            if let Some(mended) = with_captures(&program) {
                prop_assert_eq!(with_captures(&mended), None);
            }
        }
    }
}
