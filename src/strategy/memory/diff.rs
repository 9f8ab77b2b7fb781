//! Large files that are shown again are shown as what changed in them.

use similar::TextDiff;

/// Lines around a change.
const CONTEXT: usize = 2;

/// The changes from `old` to `new` as a unified diff without file names; none where that is not at least a third
/// shorter than the new text itself.
pub fn shorter(old: &str, new: &str) -> Option<String> {
    let diff = TextDiff::from_lines(old, new);
    let text = diff
        .unified_diff()
        .context_radius(CONTEXT)
        .missing_newline_hint(false)
        .to_string();
    (text.len() * 3 <= new.len() * 2).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::directive::block::is_diff;

    fn program(changed: &str) -> String {
        (1..60)
            .map(|n| format!("print({n}{})\n", if n == 30 { changed } else { "" }))
            .collect()
    }

    #[test]
    fn a_small_change_in_a_large_file_is_a_few_lines() {
        let text = shorter(&program(""), &program(" + 1")).unwrap();
        assert_eq!(
            text,
            "@@ -28,5 +28,5 @@\n print(28)\n print(29)\n-print(30)\n+print(30 + 1)\n print(31)\n print(32)\n"
        );
        assert!(is_diff(&text));
    }

    #[test]
    fn a_rewritten_file_is_shown_as_it_is() {
        assert_eq!(shorter(&program(""), "print(1)\n"), None);
        assert_eq!(shorter("", &program("")), None);
    }
}
