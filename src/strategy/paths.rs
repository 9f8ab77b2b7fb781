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

/// The paths from the root in a text, in its order, each once and without the first slash. What stands in addresses (`http://…`) is none.
pub fn named_in(text: &str) -> Vec<String> {
    let words = text.split(|c| !may_stand_in_path(c));
    let paths = words.filter(|word| word.starts_with('/') && !word.starts_with("//"));
    let mut named: Vec<String> = Vec::new();
    for path in paths.map(|word| normal(word.trim_end_matches('.'))) {
        if !path.is_empty() && !named.contains(&path) {
            named.push(path);
        }
    }
    named
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
