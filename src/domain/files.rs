//! What a task knows of the files on its computers: their last contents by hash, and where a file turns out to be
//! another one than the task left there.

use super::ids::{BlobHash, ClientId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A file that the task wrote, read or saw in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileRecord {
    /// Of the content as last seen: the computer's own hash where it tells one, else the server's.
    pub hash: String,
    pub bytes: usize,
    /// The step that saw it.
    pub step: u32,
    pub written: bool,
    /// Nothing of this task can have changed it since: no program ran there, no outcome is unknown.
    pub sure: bool,
}

/// What one call showed of one file.
#[derive(Debug, Clone, PartialEq)]
pub struct Sight {
    /// From the root, with a leading slash.
    pub path: String,
    pub bytes: usize,
    /// None where only the size is told (a list).
    pub hash: Option<String>,
    /// The task itself wrote this content.
    pub written: bool,
}

/// A file that is not what the task left there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drift {
    pub path: String,
    pub message: String,
    /// Nothing of this task can have done it: somebody else works there.
    pub foreign: bool,
}

/// The files by path. Those of another computer than the task's own have its name in front (`turtle-2:/a.lua`).
pub type FileBook = BTreeMap<String, FileRecord>;

/// The key of a file in the book.
pub fn key(home: Option<&ClientId>, on: Option<&ClientId>, path: &str) -> String {
    match on {
        Some(on) if home.is_some_and(|home| home != on) => format!("{on}:{path}"),
        _ => path.to_owned(),
    }
}

/// A path from the root as computers tell it: one leading slash, no other empty or `.` parts.
pub fn from_root(path: &str) -> String {
    let parts = path
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".");
    let joined = parts.collect::<Vec<_>>().join("/");
    format!("/{joined}")
}

/// The hash that a record has where the computer told none.
pub fn own_hash(content: &str) -> String {
    let mut hash = BlobHash::of(content).0;
    hash.truncate(12);
    hash
}

/// Takes a file into the book as it was seen in `step`, and says so if it is not what the book expected.
pub fn see(book: &mut FileBook, key: &str, sight: &Sight, step: u32) -> Option<Drift> {
    let former = book.get(key);
    let differs = former.is_some_and(|former| {
        former.bytes != sight.bytes
            || sight
                .hash
                .as_deref()
                .is_some_and(|hash| same_kind(hash, &former.hash) && hash != former.hash)
    });
    let drift = match former {
        Some(former) if differs && !sight.written => Some(drifted(key, former, sight)),
        _ => None,
    };
    match (&sight.hash, book.get_mut(key)) {
        // A list tells no hash: what was known of the same size stays known.
        (None, Some(former)) if !differs => former.step = former.step.max(step),
        (None, Some(_)) => {
            // Its content is not known any more.
            book.remove(key);
        }
        (None, None) => {}
        (Some(hash), former) => {
            let written = sight.written || former.is_some_and(|f| f.written && !differs);
            let record = FileRecord {
                hash: hash.clone(),
                bytes: sight.bytes,
                step,
                written,
                sure: true,
            };
            book.insert(key.to_owned(), record);
        }
    }
    drift
}

/// A list of a folder without a file that the book has there.
pub fn missed(book: &mut FileBook, key: &str) -> Option<Drift> {
    let former = book.remove(key)?;
    let (left, foreign) = left_by(&former);
    Some(Drift {
        path: key.to_owned(),
        message: format!("{key} is gone: {left}"),
        foreign,
    })
}

/// Something ran on a computer that may have changed any file there: `of` tells which keys are meant.
pub fn doubt(book: &mut FileBook, of: impl Fn(&str) -> bool) {
    for (key, record) in book.iter_mut() {
        if of(key) {
            record.sure = false;
        }
    }
}

fn drifted(key: &str, former: &FileRecord, sight: &Sight) -> Drift {
    let (left, foreign) = left_by(former);
    let now = match &sight.hash {
        Some(hash) => format!("{} bytes, version {hash}", sight.bytes),
        None => format!("{} bytes", sight.bytes),
    };
    Drift {
        path: key.to_owned(),
        message: format!("{key} has changed: it has {now} now; {left}"),
        foreign,
    }
}

/// What the task knew of the file, and who can have changed it.
fn left_by(former: &FileRecord) -> (String, bool) {
    let did = if former.written { "written" } else { "seen" };
    let known = format!(
        "it was {did} with {} bytes (version {}) in step {}",
        former.bytes, former.hash, former.step
    );
    if former.sure {
        (
            format!(
                "{known}, and nothing of this task touched it since: somebody else works there. Look before you write."
            ),
            true,
        )
    } else {
        (format!("{known}; what ran since may have done it."), false)
    }
}

/// Hashes of different kinds (`sha256:…` of the computer, the server's own) cannot be compared.
fn same_kind(a: &str, b: &str) -> bool {
    let kind = |hash: &str| hash.split_once(':').map(|(kind, _)| kind.to_owned());
    kind(a) == kind(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sight(bytes: usize, hash: Option<&str>, written: bool) -> Sight {
        Sight {
            path: "/a.lua".into(),
            bytes,
            hash: hash.map(str::to_owned),
            written,
        }
    }

    #[test]
    fn another_hash_or_size_than_the_task_left_is_drift_and_told_once() {
        let mut book = FileBook::new();
        assert_eq!(
            see(&mut book, "/a.lua", &sight(3, Some("h1"), true), 1),
            None
        );
        assert_eq!(see(&mut book, "/a.lua", &sight(3, None, false), 2), None);
        let drift = see(&mut book, "/a.lua", &sight(3, Some("h2"), false), 3).unwrap();
        assert!(
            drift.foreign && drift.message.contains("written with 3 bytes (version h1)"),
            "{drift:?}"
        );
        assert_eq!(
            see(&mut book, "/a.lua", &sight(3, Some("h2"), false), 4),
            None
        );
        let drift = see(&mut book, "/a.lua", &sight(9, None, false), 5).unwrap();
        assert!(
            drift.message.contains("9 bytes now; it was seen"),
            "{drift:?}"
        );
        assert!(book.is_empty(), "its content is not known any more");
    }

    #[test]
    fn what_ran_since_may_have_done_it() {
        let mut book = FileBook::new();
        see(&mut book, "/a.lua", &sight(3, Some("h1"), true), 1);
        doubt(&mut book, |key| !key.contains(':'));
        let drift = see(&mut book, "/a.lua", &sight(4, Some("h2"), false), 2).unwrap();
        assert!(!drift.foreign && drift.message.contains("may have done it"));
        assert!(missed(&mut book, "/a.lua").unwrap().foreign);
        assert_eq!(missed(&mut book, "/a.lua"), None);
    }

    #[test]
    fn hashes_of_two_kinds_are_not_compared_and_an_own_write_is_no_drift() {
        let mut book = FileBook::new();
        see(&mut book, "/a.lua", &sight(3, Some("abc"), true), 1);
        assert_eq!(
            see(&mut book, "/a.lua", &sight(3, Some("sha256:1"), false), 2),
            None
        );
        assert_eq!(book["/a.lua"].hash, "sha256:1");
        assert!(
            book["/a.lua"].written,
            "the same content is still the task's own"
        );
        assert_eq!(
            see(&mut book, "/a.lua", &sight(8, Some("sha256:2"), true), 3),
            None
        );
    }

    #[test]
    fn a_file_of_another_computer_has_a_key_of_its_own() {
        let (home, other) = (
            ClientId::parse("base").unwrap(),
            ClientId::parse("t2").unwrap(),
        );
        assert_eq!(key(Some(&home), Some(&home), "/a"), "/a");
        assert_eq!(key(Some(&home), Some(&other), "/a"), "t2:/a");
        assert_eq!(key(None, Some(&other), "/a"), "/a");
        assert_eq!(from_root("a//b/./c.lua"), "/a/b/c.lua");
        assert_eq!(from_root(""), "/");
    }

    proptest! {
        #[test]
        fn drift_is_told_exactly_when_a_look_differs_from_what_was_left(
            looks in proptest::collection::vec((0usize..3, 0u8..3, any::<bool>()), 1..20),
        ) {
            let mut book = FileBook::new();
            let mut left: Option<(usize, String)> = None;
            for (step, (bytes, hash, written)) in looks.into_iter().enumerate() {
                let hash = format!("h{hash}");
                let seen = sight(bytes, Some(&hash), written);
                let drift = see(&mut book, "/a.lua", &seen, step as u32);
                let now = (bytes, hash);
                prop_assert_eq!(drift.is_some(), !written && left.as_ref().is_some_and(|left| *left != now));
                left = Some(now);
            }
        }
    }
}
