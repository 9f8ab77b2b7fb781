//! The results of earlier steps in a prompt, cut to a size: headings stay, failures are told, and it always fits.

use super::summary::Section;
use crate::domain::work::plan_rules::Compression;
use crate::strategy::text::estimate_tokens;

/// Below this many bytes a text tells nothing.
const SMALLEST_TEXT: usize = 120;

/// The sections as one text of at most `max_tokens`, by our estimate. `max_text` bounds each text in it, in bytes.
pub fn compress(
    sections: &[Section],
    compression: Compression,
    max_text: usize,
    max_tokens: usize,
) -> String {
    let fits = |text: &str| estimate_tokens(text) <= max_tokens;
    let whole = render(sections, |_| max_text);
    if fits(&whole) {
        return whole;
    }
    let stays_whole = |at: usize| match compression {
        Compression::KeepEnds { first, last } => {
            at < first || at + last >= sections.len() || sections[at].is_needed
        }
        Compression::SummaryOnly => false,
        Compression::None => true,
    };
    let mut texts = max_text;
    while texts >= SMALLEST_TEXT {
        let shorter = render(sections, |at| if stays_whole(at) { texts } else { 0 });
        if fits(&shorter) {
            return shorter;
        }
        texts = if texts > 16 * SMALLEST_TEXT {
            texts / 2
        } else {
            texts * 3 / 4
        };
    }
    let headings = render(sections, |_| 0);
    if fits(&headings) {
        return headings;
    }
    bare(sections, max_tokens)
}

fn render(sections: &[Section], max: impl Fn(usize) -> usize) -> String {
    let parts = sections.iter().enumerate();
    parts
        .map(|(at, section)| section.render(max(at)))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Headings without reasons; if even these are too long, the last ones, and how many are missing.
fn bare(sections: &[Section], max_tokens: usize) -> String {
    let heading = |section: &Section| format!("### {}\n", section.heading);
    for left_out in 0..=sections.len() {
        let (older, shown) = sections.split_at(left_out);
        let failed = older.iter().filter(|s| s.failure.is_some()).count();
        let note = match left_out {
            0 => String::new(),
            n => format!("({n} earlier steps are left out, {failed} of them failed)\n"),
        };
        let text = note + &shown.iter().map(heading).collect::<String>();
        if estimate_tokens(&text) <= max_tokens {
            return text;
        }
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::plan::summary::Line;
    use proptest::prelude::*;

    fn section(number: usize, failed: bool, text: &str) -> Section {
        Section {
            heading: format!(
                "Step {number}: read_file /a{number}.lua — {}",
                if failed { "FAILED" } else { "done" }
            ),
            failure: failed.then(|| format!("error {number}")),
            lines: vec![
                Line::Words("fs_read: ok".into()),
                Line::Data {
                    label: "content".into(),
                    text: text.into(),
                },
            ],
            is_needed: false,
        }
    }

    const KEEP: Compression = Compression::KeepEnds { first: 2, last: 3 };

    #[test]
    fn what_fits_is_not_touched() {
        let sections: Vec<Section> = (1..=9).map(|n| section(n, false, "short")).collect();
        for compression in [KEEP, Compression::SummaryOnly, Compression::None] {
            let text = compress(&sections, compression, 2000, 8000);
            assert_eq!(text.matches("short").count(), 9);
        }
    }

    #[test]
    fn the_ends_keep_their_results_and_the_middle_its_headings_and_failures() {
        let long = "x".repeat(900);
        let sections: Vec<Section> = (1..=9).map(|n| section(n, n == 5, &long)).collect();
        let text = compress(&sections, KEEP, 2000, 2000);
        assert_eq!(text.matches("### Step").count(), 9);
        assert_eq!(text.matches(&long).count(), 5);
        assert!(
            text.contains("### Step 5: read_file /a5.lua — FAILED\nFailed: error 5\n"),
            "{text}"
        );
        let text = compress(&sections, Compression::SummaryOnly, 2000, 2000);
        assert_eq!(
            (
                text.matches("### Step").count(),
                text.matches(&long).count()
            ),
            (9, 0)
        );
        assert!(text.contains("Failed: error 5"));
        let mut needed = sections.clone();
        needed[6 - 3].is_needed = true;
        let text = compress(&needed, KEEP, 2000, 2200);
        assert_eq!(text.matches(&long).count(), 6);
        // Without a rule all are cut alike.
        let text = compress(&sections, Compression::None, 2000, 2000);
        assert_eq!(
            (
                text.matches("content:").count(),
                text.matches("left out").count()
            ),
            (9, 9)
        );
    }

    #[test]
    fn long_texts_lose_a_half_at_a_time_and_shorter_ones_a_quarter() {
        let sections = [section(1, false, &"x".repeat(9_000))];
        let long = 16 * SMALLEST_TEXT;
        // Twice as long it is halved; what is left is no longer a long one.
        let shorter = render(&sections, |_| long * 3 / 4);
        let max_tokens = estimate_tokens(&shorter);
        let text = compress(&sections, Compression::None, 2 * long, max_tokens);
        assert_eq!(text, shorter);
    }

    proptest! {
        #[test]
        fn headings_stay_failures_are_told_and_it_always_fits(
            steps in prop::collection::vec((any::<bool>(), "\\PC{0,400}"), 0..30),
            max_tokens in 0usize..3000,
            first in 0usize..4, last in 0usize..4, kind in 0usize..3,
        ) {
            let sections: Vec<Section> = steps.iter().enumerate().map(|(at, (failed, text))| section(at + 1, *failed, text)).collect();
            let compression = [Compression::KeepEnds { first, last }, Compression::SummaryOnly, Compression::None][kind];
            let text = compress(&sections, compression, 2000, max_tokens);
            prop_assert!(text.is_empty() || estimate_tokens(&text) <= max_tokens);
            let headings: String = sections.iter().map(|s| format!("### {}\n", s.heading)).collect();
            if estimate_tokens(&headings) <= max_tokens {
                for section in &sections {
                    prop_assert!(text.contains(&section.heading), "{} in {}", section.heading, text);
                }
            } else if max_tokens >= 40 {
                // Failed ones are counted where they are no longer named.
                let named = sections.iter().filter(|s| s.failure.is_some() && text.contains(&s.heading)).count();
                let failed = sections.iter().filter(|s| s.failure.is_some()).count();
                prop_assert!(text.contains(&format!("{} of them failed", failed - named)), "{}", text);
            }
        }
    }
}
