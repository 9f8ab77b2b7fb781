//! Answers that go on with the end of their own prompt.

/// Fewer lines may be there by chance.
const LEAST_LINES: usize = 2;

/// Where `said` begins to repeat the end of its prompt line by line, up to its own end; none if it does not, or is nothing else.
/// Small models do that behind what they were asked for: remembered, it would be read again in every turn, copied again, and
/// taken for items of a plan.
pub fn echo_at(said: &str, end_of_prompt: &str) -> Option<usize> {
    let lines = end_of_prompt.lines().map(without_numbers);
    let shown: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
    let mut echo = None;
    let mut lines = 0;
    let mut begin = said.len();
    for line in said.split_inclusive('\n').rev() {
        begin -= line.len();
        let line = without_numbers(line);
        if line.is_empty() {
            continue;
        }
        // The last line may be cut off.
        let repeats = match lines {
            0 => shown.iter().any(|shown| shown.starts_with(&line)),
            _ => shown.contains(&line),
        };
        if !repeats && !repeats_label(&line, &shown) {
            break;
        }
        lines += 1;
        echo = Some(begin);
    }
    echo.filter(|at| lines >= LEAST_LINES && !said[..*at].trim().is_empty())
}

/// Counts change from turn to turn, and an echo often has those of an earlier one.
fn without_numbers(line: &str) -> String {
    line.trim().replace(|c: char| c.is_ascii_digit(), "")
}

/// Whether a list item begins as one that was shown; what follows may be of an earlier turn, too.
fn repeats_label(line: &str, shown: &[String]) -> bool {
    let own = label(line);
    own.is_some() && shown.iter().any(|shown| label(shown) == own)
}

fn label(line: &str) -> Option<&str> {
    let (label, _) = line.strip_prefix("- ")?.split_once(':')?;
    Some(label)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TAIL: &str = "# Now\n\n- this is step 5 of at most 40\n- your plan:\n  [ ] run it\n\
        - runs since the last change: /a.lua FAILED\n- last failure: run_program: oops\n\n\
        Write exactly one directive.\n";

    fn kept(said: &str) -> &str {
        echo_at(said, TAIL).map_or(said, |at| &said[..at])
    }

    #[test]
    fn an_answer_ends_where_it_begins_to_repeat_the_end_of_its_prompt() {
        let own = "DIRECTIVE: RUN\nPATH: /a.lua\n\nPLAN:\n- [ ] run it\n";
        for echo in [
            "- runs since the last change: /a.lua FAILED\n- last failure: run_program: oops\n\nWrite exactly one directive.",
            // With the values of an earlier turn, and cut off.
            "- runs since the last change: none\n- last failure: run_pro",
            "\n# Now\n\n- this is step 6 of at most 40\n",
        ] {
            assert_eq!(kept(&format!("{own}{echo}")).trim(), own.trim(), "{echo}");
        }
    }

    #[test]
    fn a_line_that_is_alone_or_in_front_of_the_models_own_is_none_and_an_echo_alone_is_kept() {
        for said in [
            "DIRECTIVE: RUN\nPATH: /a.lua\nWrite exactly one directive.",
            "- runs since the last change: none\n- last failure: none\n\nDIRECTIVE: RUN\nPATH: /a.lua",
            TAIL,
            "",
        ] {
            assert_eq!(kept(said), said);
        }
    }

    proptest! {
        #[test]
        fn what_is_kept_of_noise_is_its_beginning(said in "(- a: b|# Now|\\[x\\] |\n|\\PC){0,40}", tail in "(- a: |# Now|\n|\\PC){0,40}") {
            let at = echo_at(&said, &tail);
            prop_assert!(at.is_none_or(|at| said.is_char_boundary(at) && at > 0));
        }
    }
}
