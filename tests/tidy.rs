//! The habits of the house, checked on the sources themselves: layers, purity, sizes, and that every invariant
//! in ARCHITECTURE.md names a test that exists.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

#[path = "docs/lua_api.rs"]
mod lua_api;
#[path = "docs/pages.rs"]
mod pages;
#[path = "docs/real_runs.rs"]
mod real_runs;

/// The layers from the bottom up. A module may use its own layer's module (itself) and everything below.
const LAYERS: [&[&str]; 11] = [
    &["domain", "lua_files", "clock", "crash_points"],
    &["wire"],
    &["prompts"],
    &["config"],
    &["strategy"],
    &["llm", "store", "sim", "metrics"],
    &["actors"],
    &["dashboard"],
    &["http"],
    &["app", "telemetry"],
    &["cli"],
];

/// What the pure core must not touch.
const IMPURE: [&str; 12] = [
    "actix",
    "tokio",
    "std::fs",
    "std::net",
    "std::env",
    "std::process",
    "std::thread",
    "SystemTime",
    "Instant",
    "getrandom",
    "rusqlite",
    "reqwest",
];

/// Lines before the tests of a file.
const MOST_LINES: usize = 450;
/// Lines of a whole file, its tests included.
const MOST_LINES_WITH_TESTS: usize = 600;

fn sources(folder: &str, ending: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == ending) {
                let text = fs::read_to_string(&path).unwrap();
                let short = path
                    .strip_prefix(env!("CARGO_MANIFEST_DIR"))
                    .unwrap()
                    .to_owned();
                found.push((short, text));
            }
        }
    }
    assert!(!found.is_empty(), "no .{ending} files under {folder}");
    found
}

/// Holds a page that is made from other files against what it should be, or writes it where somebody asks for that.
fn compare(page: &str, wanted: &str, test: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
    if std::env::var_os("CCFLEET_BLESS").is_some() {
        fs::write(&path, wanted).unwrap();
    }
    let is = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        is == wanted,
        "{page} is old; run CCFLEET_BLESS=1 cargo test --test tidy {test}"
    );
}

/// A file of tests alone.
fn is_test_file(path: &Path) -> bool {
    let text = path.to_string_lossy();
    text.contains("tests/")
        || text.contains("/contract/")
        || text.ends_with("tests.rs")
        || text.ends_with("fixtures.rs")
        || text.ends_with("contract.rs")
}

/// A file without the tests at its end.
fn before_tests(text: &str) -> &str {
    let marks = ["mod ", "pub mod ", "pub(crate) mod "];
    let marks = marks.map(|word| format!("#[cfg(test)]\n{word}"));
    let ends = marks.iter().filter_map(|mark| text.find(mark));
    &text[..ends.min().unwrap_or(text.len())]
}

/// The code of a file without comments and without the tests at its end.
fn code(text: &str) -> String {
    let lines = before_tests(text)
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|modules| modules.contains(&module))
}

fn own_module(path: &Path) -> String {
    let below_src = path.strip_prefix("src").unwrap();
    let first = below_src
        .components()
        .next()
        .unwrap()
        .as_os_str()
        .to_string_lossy()
        .into_owned();
    first.trim_end_matches(".rs").to_owned()
}

#[test]
fn imports_only_go_down_the_layers() {
    let mut wrong = Vec::new();
    for (path, text) in sources("src", "rs") {
        let own = own_module(&path);
        if matches!(own.as_str(), "lib" | "main") || is_test_file(&path) {
            continue;
        }
        let rank = layer(&own).unwrap_or_else(|| panic!("{} is in no layer", path.display()));
        for piece in code(&text).split("crate::").skip(1) {
            let used: String = piece
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            let below = layer(&used).is_some_and(|other| other < rank) || used == own;
            if !below {
                wrong.push(format!("{}: {own} uses {used}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_core_is_pure() {
    let mut wrong = Vec::new();
    for folder in ["src/domain", "src/strategy"] {
        for (path, text) in sources(folder, "rs") {
            if is_test_file(&path) {
                continue;
            }
            let code = code(&text);
            wrong.extend(
                IMPURE
                    .iter()
                    .filter(|word| code.contains(*word))
                    .map(|word| format!("{}: {word}", path.display())),
            );
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn files_are_short_enough_to_be_read() {
    let long: Vec<String> = sources("src", "rs")
        .into_iter()
        .chain(sources("lua", "lua"))
        .filter(|(path, _)| !is_test_file(path) && !path.starts_with("lua/specs"))
        .map(|(path, text)| {
            let lines = before_tests(&text).lines().count();
            (path, lines)
        })
        .filter(|(_, lines)| *lines > MOST_LINES)
        .map(|(path, lines)| format!("{}: {lines} lines", path.display()))
        .collect();
    assert!(long.is_empty(), "split by meaning:\n{}", long.join("\n"));
}

#[test]
fn tests_too_are_divided_by_what_they_are_about() {
    let long: Vec<String> = sources("src", "rs")
        .into_iter()
        .chain(sources("tests", "rs"))
        .map(|(path, text)| (path, text.lines().count()))
        .filter(|(_, lines)| *lines > MOST_LINES_WITH_TESTS)
        .map(|(path, lines)| format!("{}: {lines} lines", path.display()))
        .collect();
    assert!(long.is_empty(), "split by meaning:\n{}", long.join("\n"));
}

#[test]
fn nothing_is_left_unfinished_in_the_code() {
    let marks = ["todo!(", "unimplemented!(", "dbg!("];
    let found: Vec<String> = sources("src", "rs")
        .into_iter()
        .flat_map(|(path, text)| {
            let hit = move |mark: &&str| {
                text.contains(*mark)
                    .then(|| format!("{}: {mark}", path.display()))
            };
            marks.iter().filter_map(hit).collect::<Vec<_>>()
        })
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The names of all functions in the sources, tests among them.
fn functions() -> BTreeSet<String> {
    let sources = sources("src", "rs").into_iter();
    let texts = sources.chain(sources_of_tests()).map(|(_, text)| text);
    let mut names = BTreeSet::new();
    for text in texts {
        for piece in text.split("fn ").skip(1) {
            let name = piece.chars();
            names.insert(
                name.take_while(|c| c.is_alphanumeric() || *c == '_')
                    .collect(),
            );
        }
    }
    names
}

fn sources_of_tests() -> Vec<(PathBuf, String)> {
    sources("tests", "rs")
}

/// The tests that a page says keep its lines, and those of them that do not exist.
fn kept_by(page: &str) -> (usize, Vec<String>) {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).unwrap();
    let lines = page.lines().filter_map(|line| line.split_once("Kept by: "));
    let named = lines.flat_map(|(_, names)| names.split(", "));
    let named: Vec<&str> = named
        .map(|name| name.trim().trim_end_matches('.').trim_matches('`'))
        .collect();
    let tests = functions();
    let missing = named.iter().filter(|name| !tests.contains(**name));
    (
        named.len(),
        missing.map(|name| (*name).to_owned()).collect(),
    )
}

#[test]
fn every_invariant_of_the_architecture_names_a_test_that_exists() {
    let (named, missing) = kept_by("ARCHITECTURE.md");
    assert!(named >= 10, "only {named} invariants name a test");
    assert!(
        missing.is_empty(),
        "ARCHITECTURE.md names tests that do not exist: {missing:?}"
    );
}

#[test]
fn every_line_of_the_threat_model_names_a_test_that_exists_or_says_what_can_be_done() {
    let (named, missing) = kept_by("docs/security.md");
    assert!(named >= 30, "only {named} tests are named");
    assert!(
        missing.is_empty(),
        "docs/security.md names tests that do not exist: {missing:?}"
    );
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/security.md"));
    let page = page.unwrap();
    let model = page.split("## Threat model").nth(1).unwrap();
    let bare: Vec<&str> = model
        .lines()
        .filter(|line| line.starts_with("- "))
        .filter(|line| {
            !line.contains("Kept by: ") && !line.contains("can: ") && !line.contains("They can,")
        })
        .collect();
    assert!(bare.is_empty(), "{bare:?}");
}

#[test]
fn a_task_that_somebody_asks_for_has_no_more_rights_than_they() {
    // A face that made tasks without saying by whom would make them with the rights of an admin.
    let mut wrong = Vec::new();
    for (path, text) in sources("src/http", "rs") {
        if is_test_file(&path) {
            continue;
        }
        for piece in code(&text).split("StartTask {").skip(1) {
            let body = piece.split(".await").next().unwrap_or_default();
            if !body.contains("StartTask::by(") {
                wrong.push(path.display().to_string());
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "use ..StartTask::by(&caller, …): {wrong:?}"
    );
}
