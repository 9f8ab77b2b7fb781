//! Which CC: Tweaked is simulated: what changed between 1.100 and today in ways that a client can notice.

use std::fmt;
use std::str::FromStr;

/// A release of CC: Tweaked, like `1.113.1`. Versions from 1.100 on are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CcVersion {
    /// The middle number.
    minor: u16,
    /// The last number; 0 if it was not given.
    patch: u16,
}

/// Why a text is no version that can be simulated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no version of CC: Tweaked that is simulated: write one from 1.100 to 1.113.1")]
pub struct VersionError(String);

impl CcVersion {
    /// The newest that is known, and the default.
    pub const LATEST: CcVersion = CcVersion::new(113, 1);
    /// The oldest that the Lua library supports.
    pub const OLDEST: CcVersion = CcVersion::new(100, 0);

    const fn new(minor: u16, patch: u16) -> CcVersion {
        CcVersion { minor, patch }
    }

    /// Lua 5.2, raw bytes in text frames and text files, `r+` and `w+`, no binary chunks (1.109).
    pub(crate) fn has_raw_text(self) -> bool {
        self >= CcVersion::new(109, 0)
    }

    /// `http.websocket{url = ...}` and its time-out (1.105).
    pub(crate) fn has_websocket_options(self) -> bool {
        self >= CcVersion::new(105, 0)
    }

    /// `unicode_strings` of `serialiseJSON` (1.106).
    pub(crate) fn has_unicode_strings(self) -> bool {
        self >= CcVersion::new(106, 0)
    }

    /// `parse_empty_array` of `unserialiseJSON` (1.100.6).
    pub(crate) fn has_parse_empty_array(self) -> bool {
        self >= CcVersion::new(100, 6)
    }

    /// A limit of unsent WebSocket messages (1.109.3).
    pub(crate) fn limits_unsent(self) -> bool {
        self >= CcVersion::new(109, 3)
    }

    /// What Lua 5.3 brought to tables and coroutines: there in 1.108 at the latest, not in 1.100.
    pub(crate) fn has_table_move(self) -> bool {
        self >= CcVersion::new(108, 0)
    }
}

impl Default for CcVersion {
    fn default() -> CcVersion {
        CcVersion::LATEST
    }
}

impl fmt::Display for CcVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}.{}", self.minor, self.patch)
    }
}

impl FromStr for CcVersion {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<CcVersion, VersionError> {
        let wrong = || VersionError(text.to_owned());
        let numbers: Vec<u16> = text
            .split('.')
            .map(|part| part.parse().map_err(|_| wrong()))
            .collect::<Result<_, _>>()?;
        let version = match numbers[..] {
            [1, minor] => CcVersion::new(minor, 0),
            [1, minor, patch] => CcVersion::new(minor, patch),
            _ => return Err(wrong()),
        };
        // `1.113` means the newest of that line.
        let version = if numbers.len() == 2 && version.minor == CcVersion::LATEST.minor {
            CcVersion::LATEST
        } else {
            version
        };
        (CcVersion::OLDEST..=CcVersion::LATEST)
            .contains(&version)
            .then_some(version)
            .ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::CcVersion;

    #[test]
    fn versions_are_read_and_ordered() {
        let read = |text: &str| text.parse::<CcVersion>();
        assert_eq!(read("1.113"), Ok(CcVersion::LATEST));
        assert_eq!(read("1.100.10").unwrap().to_string(), "1.100.10");
        assert!(read("1.109.3").unwrap() > read("1.109").unwrap());
        assert!(!read("1.108.4").unwrap().has_raw_text() && read("1.109").unwrap().has_raw_text());
        for wrong in [
            "",
            "1",
            "2.100",
            "1.99",
            "1.114",
            "1.113.2",
            "1.x",
            "1.100.1.1",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
