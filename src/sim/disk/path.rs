//! ComputerCraft's path rules: what a program writes as a path, and what it means.
//!
//! A path is a list of names below the computer's root. Backslashes are slashes, empty parts, `.` and runs of
//! three or more dots vanish, forbidden characters are dropped without a word, names are cut to 255 bytes.

use std::fmt;

/// Longest name of one file or folder, in bytes.
const MAX_NAME: usize = 255;

/// A cleaned path below a computer's root; empty means the root itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CcPath {
    parts: Vec<Vec<u8>>,
}

impl CcPath {
    /// Cleans `raw`. `wildcards` keeps `*` and `?`, as `fs.combine` does.
    /// Parts that climb above the root stay as leading `..`; see [`CcPath::climbs_out`].
    pub(crate) fn parse(raw: &[u8], wildcards: bool) -> CcPath {
        let mut parts: Vec<Vec<u8>> = Vec::new();
        for piece in raw.split(|&b| b == b'/' || b == b'\\') {
            let name = clean_name(piece, wildcards);
            if name.is_empty() || name == b"." || is_dots(&name) {
                continue;
            }
            if name == b".." {
                match parts.last() {
                    Some(last) if last != b".." => {
                        parts.pop();
                    }
                    _ => parts.push(name),
                }
            } else {
                parts.push(name);
            }
        }
        CcPath { parts }
    }

    /// True if the path leads above the root (`../x`): every file operation refuses it.
    pub(crate) fn climbs_out(&self) -> bool {
        self.parts.first().is_some_and(|p| p == b"..")
    }

    /// The names from the root down.
    pub(crate) fn parts(&self) -> &[Vec<u8>] {
        &self.parts
    }

    /// True for the computer's root folder.
    pub(crate) fn is_root(&self) -> bool {
        self.parts.is_empty()
    }

    /// The path one level up; `None` for the root.
    pub(crate) fn parent(&self) -> Option<CcPath> {
        let (_, above) = self.parts.split_last()?;
        Some(CcPath {
            parts: above.to_vec(),
        })
    }

    /// This path with one more name.
    pub(crate) fn child(&self, name: &[u8]) -> CcPath {
        let mut parts = self.parts.clone();
        parts.push(name.to_vec());
        CcPath { parts }
    }

    /// True if `self` is `other` or lies below it.
    pub(crate) fn is_within(&self, other: &CcPath) -> bool {
        self.parts.starts_with(&other.parts)
    }

    /// The names joined by `/`, without a leading slash: the form Lua sees.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        self.parts.join(&b'/')
    }
}

impl fmt::Display for CcPath {
    /// With a leading slash, as ComputerCraft's error texts show it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}", String::from_utf8_lossy(&self.to_bytes()))
    }
}

fn clean_name(piece: &[u8], wildcards: bool) -> Vec<u8> {
    let kept: Vec<u8> = piece
        .iter()
        .copied()
        .filter(|&b| match b {
            b'"' | b':' | b'<' | b'>' | b'|' | 127 => false,
            b'*' | b'?' => wildcards,
            _ => b >= 32,
        })
        .collect();
    let cut = &trim(&kept)[..trim(&kept).len().min(MAX_NAME)];
    trim(cut).to_vec()
}

fn trim(name: &[u8]) -> &[u8] {
    name.trim_ascii()
}

/// Three or more dots mean nothing, like a single one.
fn is_dots(name: &[u8]) -> bool {
    name.len() >= 3 && name.iter().all(|&b| b == b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(raw: &str) -> String {
        CcPath::parse(raw.as_bytes(), false).to_string()
    }

    #[test]
    fn slashes_dots_and_empty_parts_collapse() {
        assert_eq!(shown("\\a//./b/.../c/../d/"), "/a/b/d");
        assert_eq!(shown(""), "/");
        assert_eq!(shown("/"), "/");
    }

    #[test]
    fn forbidden_characters_vanish_and_names_are_trimmed() {
        assert_eq!(shown("we ird:?*<>|\"name"), "/we irdname");
        assert_eq!(shown(" a \u{7} /b"), "/a/b");
    }

    #[test]
    fn names_are_cut_to_255_bytes() {
        assert_eq!(shown(&"x".repeat(400)).len(), 256);
    }

    #[test]
    fn climbing_above_the_root_is_seen() {
        let path = CcPath::parse(b"a/../../x", false);
        assert!(path.climbs_out());
        assert_eq!(path.to_string(), "/../x");
        assert!(!CcPath::parse(b"a/../x", false).climbs_out());
    }
}
