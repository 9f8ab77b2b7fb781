//! How the lines of a file of data are taken apart, as its own lines show it: a small model that is to write a program over it takes the parts of
//! `Moss 10` for what stands between commas.

/// Lines of a file that are too few to show a form.
const FEWEST: usize = 2;

/// Parts of a line that are more than a program would name.
const MOST_PARTS: usize = 4;

/// Names of the parts of a line.
const NAMES: [&str; MOST_PARTS] = ["a", "b", "c", "d"];

/// A pattern of Lua that takes any of these lines apart, as the line of a program; none where they have no common form.
pub(in crate::strategy) fn taken_apart(text: &str) -> Option<String> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let lines: Vec<&str> = lines.collect();
    if lines.len() < FEWEST || lines.iter().any(|line| line.trim() != *line) {
        return None;
    }
    let pairs = lines
        .iter()
        .all(|line| line.matches('=').count() == 1 && !line.starts_with('='));
    if pairs {
        return Some(r#"local key, value = line:match("^([^=]+)=(.*)$")"#.to_owned());
    }
    let parts_at = |mark: char| {
        let count = |line: &&str| line.split(mark).filter(|part| !part.is_empty()).count();
        let counts: Vec<usize> = lines.iter().map(count).collect();
        let first = counts[0];
        let is_one = |line: &&str| line.matches(mark).count() + 1 == first;
        ((2..=MOST_PARTS).contains(&first) && lines.iter().all(is_one)).then_some(first)
    };
    let pattern = |mark: char, part: &str, count: usize| {
        let is_number = |at: usize| {
            let mut parts = lines.iter().filter_map(|line| line.split(mark).nth(at));
            parts.all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let part = |at: usize| if is_number(at) { "(%d+)" } else { part };
        let parts: Vec<&str> = (0..count).map(part).collect();
        let names = NAMES[..count].join(", ");
        format!(
            "local {names} = line:match(\"^{}$\")",
            parts.join(&mark.to_string())
        )
    };
    let by_commas = parts_at(',').map(|count| pattern(',', "([^,]+)", count));
    by_commas.or_else(|| parts_at(' ').map(|count| pattern(' ', "(%S+)", count)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_of_one_form_are_taken_apart_by_it() {
        for (text, told) in [
            (
                "Moss 10\nQuill 5\n",
                r#"local a, b = line:match("^(%S+) (%d+)$")"#,
            ),
            (
                "friday Tarek\nsunday Pia\n",
                r#"local a, b = line:match("^(%S+) (%S+)$")"#,
            ),
            (
                "iron,3,a b\ngold,12,c\n",
                r#"local a, b, c = line:match("^([^,]+),(%d+),([^,]+)$")"#,
            ),
            (
                "job=digging\nhours=6\n",
                r#"local key, value = line:match("^([^=]+)=(.*)$")"#,
            ),
        ] {
            assert_eq!(taken_apart(text).as_deref(), Some(told), "{text}");
        }
    }

    #[test]
    fn lines_without_a_common_form_are_left_as_they_are() {
        for text in [
            "Ada\nBob\n",
            "Moss 10\n",
            "Moss 10\nQuill\n",
            "one two three four five\nsix seven eight nine ten\n",
            "",
            "  a b\n  c d\n",
            "a  b\nc d\n",
        ] {
            assert_eq!(taken_apart(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "(a|1|,| |=|\n|\\PC){0,30}") {
            let _ = taken_apart(&text);
        }
    }
}
