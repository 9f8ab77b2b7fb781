//! Guesses at misspelt names.

/// A guess at a misspelt name, from serde's list of the names it knows; none for other errors.
pub fn did_you_mean(text: &str) -> Option<String> {
    if !text.starts_with("unknown ") {
        return None;
    }
    let mut names = text.split('`').skip(1).step_by(2);
    let wrong = names.next()?;
    nearest(wrong, names).map(|best| format!("did you mean `{best}`?"))
}

/// The name that is most like a misspelt one; none if nothing is like it.
pub fn nearest<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let (best, likeness) = known
        .map(|known| (known, strsim::jaro_winkler(wrong, known)))
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
    (likeness > 0.75).then_some(best)
}
