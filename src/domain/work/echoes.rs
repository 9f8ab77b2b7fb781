//! Lists that go in circles: a model that repeats itself writes the same item, or the same row of items, over and over.

/// So many rounds of one row are a model that cannot stop; two may be meant.
const ROUNDS: usize = 3;

/// Items without such that repeat the one right before them, and without further rounds of one row that the whole list
/// goes through again and again.
pub fn without_echoes<T>(mut items: Vec<T>, same: impl Fn(&T, &T) -> bool) -> Vec<T> {
    items.dedup_by(|a, b| same(a, b));
    let count = items.len();
    let goes_round = |row: usize| {
        let mut pairs = items.iter().zip(items.iter().skip(row));
        count.is_multiple_of(row) && count / row >= ROUNDS && pairs.all(|(a, b)| same(a, b))
    };
    let row = (1..=count / ROUNDS).find(|row| goes_round(*row));
    items.truncate(row.unwrap_or(count));
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(items: &str) -> String {
        without_echoes(items.chars().collect(), |a, b| a == b)
            .into_iter()
            .collect()
    }

    #[test]
    fn a_list_that_goes_round_keeps_one_round() {
        assert_eq!(heard("aabbbc"), "abc");
        assert_eq!(heard("abababab"), "ab");
        assert_eq!(heard("abcabcabc"), "abc");
        assert_eq!(heard("aaaa"), "a");
    }

    #[test]
    fn what_may_be_meant_stays() {
        for items in ["", "a", "abab", "abac", "abcab", "ababa", "cababab"] {
            assert_eq!(heard(items), items);
        }
    }
}
