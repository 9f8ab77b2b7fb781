//! What was worked out of a value and would be worked out again, kept beside it.

use std::fmt;
use std::sync::OnceLock;

/// Something that follows from a value which no longer changes. It is no part of that value: it is neither stored nor copied with it, and
/// makes no two values differ.
pub struct Memo<T>(OnceLock<T>);

impl<T> Memo<T> {
    /// What was worked out, by `make` the first time. `make` may look at nothing but the value that this is kept beside.
    pub fn get_or_make(&self, make: impl FnOnce() -> T) -> &T {
        self.0.get_or_init(make)
    }
}

impl<T> Default for Memo<T> {
    fn default() -> Self {
        Memo(OnceLock::new())
    }
}

impl<T> Clone for Memo<T> {
    fn clone(&self) -> Self {
        Memo::default()
    }
}

impl<T> PartialEq for Memo<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<T> fmt::Debug for Memo<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Memo")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_made_once_and_a_copy_makes_its_own() {
        let memo = Memo::default();
        assert_eq!(*memo.get_or_make(|| 1), 1);
        assert_eq!(*memo.get_or_make(|| 2), 1);
        let copy = memo.clone();
        assert_eq!(*copy.get_or_make(|| 3), 3);
        assert_eq!(memo, copy);
    }
}
