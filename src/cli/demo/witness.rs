//! The witness of at-most-once: the computer's own list of handler entries, written before each entry. The
//! server's books play no part in it.

use std::collections::HashMap;
use std::path::Path;

/// Where the host writes its entries, on the computer's disk.
pub const FILE: &str = "entries.log";

/// What the computer counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Witness {
    /// How often any handler was entered.
    pub entries: usize,
    /// Calls with a lane number (effects) that entered a handler more than once.
    pub duplicate_effects: usize,
}

/// Reads the list from the computer's disk. Without a list nothing was entered.
pub fn read(disk: &Path) -> Witness {
    let text = std::fs::read(disk.join(FILE)).unwrap_or_default();
    count(&String::from_utf8_lossy(&text))
}

/// Each line is `call_id tool seq`; only effects have a `seq`.
pub fn count(list: &str) -> Witness {
    let mut effects: HashMap<&str, usize> = HashMap::new();
    let mut entries = 0;
    for line in list.lines().filter(|line| !line.trim().is_empty()) {
        entries += 1;
        let mut words = line.split_whitespace();
        let call_id = words.next().unwrap_or_default();
        if words.nth(1).is_some_and(|seq| seq.parse::<u64>().is_ok()) {
            *effects.entry(call_id).or_default() += 1;
        }
    }
    Witness {
        entries,
        duplicate_effects: effects.values().filter(|count| **count > 1).count(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effect_that_was_entered_twice_is_counted_and_a_repeated_read_is_not() {
        let list = "cal_1 run_program 1\ncal_2 fs_read -\ncal_2 fs_read -\ncal_1 run_program 1\n";
        assert_eq!(
            count(list),
            Witness {
                entries: 4,
                duplicate_effects: 1
            }
        );
    }
}
