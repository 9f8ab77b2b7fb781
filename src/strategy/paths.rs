//! Paths as a computer means them, so that one file has one name here however a model writes it.

/// The longest name of one file or folder on a computer, in bytes.
const MAX_NAME: usize = 255;

/// The names from the root down that ComputerCraft makes of a path: backslashes are slashes; empty parts, `.` and three
/// or more dots vanish; forbidden characters are dropped without a word. None if it climbs above the root.
pub fn names_of(path: &str) -> Option<Vec<String>> {
    let mut names: Vec<String> = Vec::new();
    for piece in path.split(['/', '\\']) {
        let name = clean_name(piece);
        match name.as_str() {
            "" | "." => {}
            ".." => {
                names.pop()?;
            }
            dots if dots.len() > 2 && dots.bytes().all(|b| b == b'.') => {}
            _ => names.push(name),
        }
    }
    Some(names)
}

/// The path without what means nothing: `./a//b/../c` is `a/c`. One that climbs above the root is kept as it is.
pub fn normal(path: &str) -> String {
    names_of(path).map_or_else(|| path.to_owned(), |names| names.join("/"))
}

/// Endings of files that are named without a slash: "add a line to wages.txt". What else has a dot in it is no file: `fs.open`, `v1.2`.
const ENDINGS: [&str; 18] = [
    "lua",
    "txt",
    "cfg",
    "conf",
    "ini",
    "json",
    "csv",
    "tsv",
    "log",
    "dat",
    "yaml",
    "yml",
    "toml",
    "xml",
    "properties",
    "nfp",
    "md",
    "bak",
];

/// The paths in a text, in its order, each once and without the first slash. What stands in addresses (`http://…`) is none, nor is what stands
/// among other words in quotes: that is what a file holds, or what a program prints. A bare name is a file at the root, where a
/// computer looks for it, unless the text speaks of a folder: then nobody knows where it lies.
pub fn named_in(text: &str) -> Vec<String> {
    let words: Vec<(usize, &str)> = path_words(text).collect();
    let tells_a_folder = |word: &str| {
        let path = word.trim_matches('/');
        is_from_root(word) && (path.contains('/') || !is_file_like(path))
            || word.contains('/') && is_file_by_name(word)
    };
    let speaks_of_folders = words.iter().any(|(_, word)| tells_a_folder(word));
    let mut named: Vec<String> = Vec::new();
    for (at, word) in words {
        let by_name = || {
            let is_placed = word.contains('/') || !speaks_of_folders;
            is_file_by_name(word) && is_placed && stands_alone(text, at, word.len())
        };
        let path = normal(word);
        if (is_from_root(word) || by_name()) && !path.is_empty() && !named.contains(&path) {
            named.push(path);
        }
    }
    named
}

/// What could be a path, with the place at which it begins; the end of a sentence is no part of it.
fn path_words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let words = text.split(|c| !may_stand_in_path(c));
    let placed = words.map(|word| (word.as_ptr() as usize - text.as_ptr() as usize, word));
    placed.map(|(at, word)| (at, word.trim_end_matches('.')))
}

fn is_from_root(word: &str) -> bool {
    word.starts_with('/') && !word.starts_with("//")
}

/// Whether a word without a first slash is a file by its ending, alone or in folders. A first part with a dot in it is that of an address.
fn is_file_by_name(word: &str) -> bool {
    let known = |ending: &str| {
        ENDINGS
            .iter()
            .any(|known| known.eq_ignore_ascii_case(ending))
    };
    let is_file = file_name(word)
        .rsplit_once('.')
        .is_some_and(|(stem, ending)| !stem.is_empty() && known(ending));
    let folder = word.split_once('/').map(|(first, _)| first);
    is_file && !word.starts_with(['.', '-', '/']) && folder.is_none_or(|first| !first.contains('.'))
}

/// Whether no sign before a word makes it a part of something else, and it stands in no quotes with other words.
fn stands_alone(text: &str, at: usize, length: usize) -> bool {
    let (before, behind) = (&text[..at], &text[at + length..]);
    let is_among_words = |quote: char| {
        let opened = before.matches(quote).count() % 2 == 1;
        let begin = before.rsplit(quote).next().unwrap_or_default();
        let end = behind.split_once(quote).map(|(end, _)| end);
        opened && end.is_some_and(|end| [begin, end].concat().contains(char::is_whitespace))
    };
    !before.ends_with([':', '@', '*', '?']) && !['`', '"'].into_iter().any(is_among_words)
}

/// The files of a folder whose names stand in brackets behind it, "in /crew (anna.txt, ben.txt and cleo.txt)", as [`named_in`] gives paths.
pub fn listed_behind_folders(text: &str) -> Vec<String> {
    let folders = named_in(text)
        .into_iter()
        .filter(|path| !is_file_like(path));
    let listed = folders.flat_map(|folder| {
        let lists = mentions(text, &folder).filter_map(|at| {
            let list = behind(text, at, &folder).trim_start_matches('/');
            Some(list.strip_prefix(" (")?.split_once(')')?.0)
        });
        let names = lists.flat_map(|list| {
            let words = list.split([',', ' ']).map(|word| word.trim_matches(QUOTES));
            let mut names: Vec<&str> = words.filter(|word| !["", "and"].contains(word)).collect();
            let is_name = |name: &&str| {
                is_file_like(name) && name.chars().all(may_stand_in_path) && !name.contains('/')
            };
            if !names.iter().all(is_name) {
                names.clear();
            }
            names
        });
        names
            .map(|name| format!("{folder}/{name}"))
            .collect::<Vec<_>>()
    });
    listed.collect()
}

/// Whether a path in a text may go on with this.
pub fn may_stand_in_path(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-')
}

/// Where a text names this path, which has no first slash here and may have one there: the places at which it begins. `/a.lua` is not named
/// by `/lib/a.lua`, nor by `/a.lua.old`.
pub fn mentions<'a>(text: &'a str, path: &'a str) -> impl Iterator<Item = usize> + 'a {
    text.match_indices(path).filter_map(move |(at, _)| {
        let before = text[..at].strip_suffix('/').unwrap_or(&text[..at]);
        let after = text[at + path.len()..].trim_start_matches('.');
        let apart = !before.ends_with(may_stand_in_path) && !after.starts_with(may_stand_in_path);
        apart.then_some(before.len())
    })
}

/// What may stand around a path or a name.
pub const QUOTES: [char; 3] = ['`', '"', '\''];

/// What follows a path at the place of such a mention, behind the quote that may close it.
pub fn behind<'a>(text: &'a str, at: usize, path: &str) -> &'a str {
    let named = text[at..].trim_start_matches('/');
    let behind = named.strip_prefix(path).unwrap_or_default();
    behind.trim_start_matches(QUOTES)
}

/// What a path ends with: the name of its file.
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// Whether a path's name looks like that of a file: it has an extension.
pub fn is_file_like(path: &str) -> bool {
    let name = file_name(path);
    let parts = name.rsplit_once('.');
    parts.is_some_and(|(stem, extension)| !stem.is_empty() && !extension.is_empty())
}

/// Whether a path is one of the folders or lies in one. Upper and lower case differ, as they do on most servers: where they
/// do not, this refuses too much and never too little.
pub fn lies_in(path: &str, roots: &[String]) -> bool {
    let Some(names) = names_of(path) else {
        return false;
    };
    let roots = roots.iter().filter_map(|root| names_of(root));
    roots.into_iter().any(|root| names.starts_with(&root))
}

fn clean_name(piece: &str) -> String {
    let kept: String = piece
        .chars()
        .filter(|c| {
            let forbidden = matches!(c, '"' | ':' | '<' | '>' | '?' | '|' | '*' | '\u{7f}');
            *c >= ' ' && !forbidden
        })
        .collect();
    // As the game does: other kinds of blank are part of a name.
    let kept = kept.trim_matches(' ');
    let mut end = kept.len().min(MAX_NAME);
    while !kept.is_char_boundary(end) {
        end -= 1;
    }
    kept[..end].trim_end_matches(' ').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_path_means_what_a_computer_makes_of_it() {
        for (path, expected) in [
            ("/a/b", Some("a/b")),
            ("a//./b/", Some("a/b")),
            ("a\\b\\..\\c", Some("a/c")),
            ("/a/../../b", None),
            ("a/.../b", Some("a/b")),
            // A forbidden character is dropped, and what is left climbs.
            ("/work/.:./etc", Some("etc")),
            ("", Some("")),
        ] {
            assert_eq!(
                names_of(path).map(|n| n.join("/")).as_deref(),
                expected,
                "{path}"
            );
        }
    }

    #[test]
    fn a_file_may_be_named_without_a_slash_where_no_folder_is_spoken_of() {
        for (text, named) in [
            ("Add a line to wages.txt.", &["wages.txt"][..]),
            (
                "my smelt.lua crashes, dont touch `smelt.txt`!",
                &["smelt.lua", "smelt.txt"],
            ),
            ("server.properties: pvp off", &["server.properties"]),
            ("Rename /a.txt to b.txt", &["a.txt", "b.txt"]),
            (
                "README.TXT and readme.txt's end",
                &["README.TXT", "readme.txt"],
            ),
            ("Add up shop/sales.csv", &["shop/sales.csv"]),
            // Nobody knows in which folder these lie.
            ("Move farm.lua from /old to /new", &["old", "new"]),
            ("Rename /docs/a.txt to b.txt", &["docs/a.txt"]),
            ("Add up shop/sales.csv in totals.txt", &["shop/sales.csv"]),
            // No files: code, numbers, addresses, endings, and what is printed or held.
            ("It calls fs.open in v1.2, e.g. twice, and 3.5 times", &[]),
            (
                "Get http://x.org/a.lua or x.org/b.lua, at host:8/c.lua",
                &[],
            ),
            ("Delete the .log files and *.txt and ../up.txt", &[]),
            (
                "It prints `usage: chunk.lua x z` and \"see notes.txt\"",
                &[],
            ),
        ] {
            assert_eq!(named_in(text), named, "{text}");
        }
    }

    #[test]
    fn files_in_brackets_behind_a_folder_lie_in_it() {
        let listed = |text: &str| listed_behind_folders(text);
        assert_eq!(
            listed(
                "Anna and Ben each keep a file in /crew (anna.txt, `ben.txt` and cleo.txt) with hours."
            ),
            ["crew/anna.txt", "crew/ben.txt", "crew/cleo.txt"]
        );
        for text in [
            "Look into /docs (see readme.txt).",
            "Look into /docs (/readme.txt).",
            "/a.lua (b.txt)",
            "/crew (anna.txt",
            "/crew ()",
        ] {
            assert!(listed(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn nothing_gets_out_of_its_roots_by_dots() {
        let roots = ["/work".to_owned(), "disk/data".to_owned()];
        for inside in ["/work", "work/a.lua", "/work/x/../y", "disk/data/1"] {
            assert!(lies_in(inside, &roots), "{inside}");
        }
        for outside in [
            "/",
            "/workshop",
            "/work/../startup.lua",
            "/work/.\u{1}./startup.lua",
            "../work",
            "disk",
            "/Work",
        ] {
            assert!(!lies_in(outside, &roots), "{outside}");
        }
    }

    proptest! {
        #[test]
        fn a_normal_path_stays_as_it_is_and_means_the_same(path in "[a-c./\\\\: ]{0,20}") {
            let once = normal(&path);
            prop_assert_eq!(normal(&once), once.clone());
            if let Some(names) = names_of(&path) {
                prop_assert_eq!(names_of(&once), Some(names));
            }
        }
    }
}
