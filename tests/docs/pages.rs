//! The pages that people read: links that lead somewhere, codes that are explained, tables that are what the files say.

use super::{before_tests, is_test_file, sources};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The text of a page.
pub fn read(page: &str) -> String {
    fs::read_to_string(root().join(page)).unwrap_or_else(|e| panic!("{page}: {e}"))
}

/// Every page for people: Markdown but the prompts, which are for models.
fn pages() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let is_foreign = ["target", "node_modules", "prompts"].contains(&name.as_str());
            if path.is_dir() && !is_foreign && !name.starts_with('.') {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The lines of a page that are no code, with their numbers.
fn prose(text: &str) -> Vec<(usize, &str)> {
    let mut lines = Vec::new();
    let mut fence: Option<String> = None;
    for (number, line) in text.lines().enumerate() {
        let ticks: String = line.chars().take_while(|c| *c == '`').collect();
        match &fence {
            Some(open) if line.trim_end() == open => fence = None,
            Some(_) => {}
            None if ticks.len() >= 3 => fence = Some(ticks),
            None => lines.push((number + 1, line)),
        }
    }
    lines
}

/// What a line of prose links to; what stands in code is no link.
fn links(line: &str) -> Vec<String> {
    let outside: String = line.split('`').step_by(2).collect::<Vec<_>>().join("code");
    let ends = outside.split("](").skip(1);
    ends.filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target.to_owned())
        .collect()
}

/// The anchor that GitHub gives a heading.
fn slug(heading: &str) -> String {
    let kept = heading.trim().chars().filter_map(|c| match c {
        ' ' => Some('-'),
        c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c.to_ascii_lowercase()),
        _ => None,
    });
    kept.collect()
}

fn anchors(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (_, line) in prose(text) {
        if let Some((_, rest)) = line.split_once("<a id=\"") {
            found.extend(rest.split('"').next().map(str::to_owned));
        }
        let heading = line.trim_start_matches('#');
        if line.starts_with('#') && heading.starts_with(' ') {
            let anchor = slug(heading);
            let again = (1..).map(|n| format!("{anchor}-{n}"));
            let mut names = std::iter::once(anchor.clone()).chain(again);
            found.insert(names.find(|name| !found.contains(name)).unwrap());
        }
    }
    found
}

/// Why a link of `page` leads nowhere, if it does.
fn dead(page: &Path, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = if file.is_empty() {
        page.to_path_buf()
    } else {
        page.parent().unwrap().join(file)
    };
    if !path.exists() {
        return Some(format!("there is no {file}"));
    }
    let known = anchor.is_empty() || anchors(&fs::read_to_string(&path).ok()?).contains(anchor);
    (!known).then(|| format!("{} has no heading #{anchor}", path.display()))
}

#[test]
fn every_link_leads_to_a_file_and_a_heading_that_are_there() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for (number, line) in prose(&text) {
            for target in links(line) {
                seen += 1;
                if let Some(why) = dead(&page, &target) {
                    wrong.push(format!("{}:{number}: {why}", page.display()));
                }
            }
        }
    }
    assert!(seen > 100, "only {seen} links were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_link_that_leads_nowhere_is_found() {
    let page = root().join("docs/README.md");
    for gone in [
        "nowhere.md",
        "concepts.md#nothing",
        "../src/nowhere.rs",
        "#nothing",
    ] {
        assert!(dead(&page, gone).is_some(), "{gone}");
    }
    for there in [
        "concepts.md",
        "concepts.md#a-call",
        "#use-it",
        "https://example.org/x",
    ] {
        assert_eq!(dead(&page, there), None, "{there}");
    }
    let line = "see [a](b.md), `[c](d.md)` and ![e](f.png)";
    assert_eq!(links(line), ["b.md", "f.png"]);
    let text =
        "# One\n```\n# no heading\n```\n## One\n<a id=\"mine\"></a>\n### `a_b`: the *Rest* (2)\n";
    let found = anchors(text);
    let found: Vec<&str> = found.iter().map(String::as_str).collect();
    assert_eq!(found, ["a_b-the-rest-2", "mine", "one", "one-1"]);
}

#[test]
fn every_page_of_docs_stands_in_its_table_of_contents() {
    let contents = read("docs/README.md");
    let listed: BTreeSet<String> = prose(&contents)
        .into_iter()
        .flat_map(|(_, line)| links(line))
        .collect();
    let there: BTreeSet<String> = fs::read_dir(root().join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".md") && name != "README.md")
        .collect();
    let missing: Vec<_> = there.difference(&listed).collect();
    assert!(missing.is_empty(), "docs/README.md leaves out {missing:?}");
}

#[test]
fn every_page_that_the_program_names_is_there() {
    let mut wrong = Vec::new();
    for (folder, ending) in [("src", "rs"), ("lua", "lua"), ("config", "toml")] {
        for (path, text) in sources(folder, ending) {
            for piece in text.split("docs/").skip(1) {
                let name: String = piece
                    .chars()
                    .take_while(|c| c.is_ascii_lowercase() || *c == '-' || *c == '.')
                    .collect();
                let name = name.trim_end_matches('.');
                if name.ends_with(".md") && !root().join("docs").join(name).exists() {
                    wrong.push(format!("{}: docs/{name}", path.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

// Error codes ----------------------------------------------------------------------------------------------------

/// What stands right before a code where the program makes one.
const MADE_BY: [&str; 9] = [
    "code: ",
    "code: Some(",
    "fail(",
    "give_up(",
    "note(",
    "Verdict::Fail(",
    "NotGood { code: ",
    "not_started(",
    "without_answer(Outcome::Unknown, ",
];

/// A code at the beginning of `rest`: as a text, or as the name of a constant that holds it.
fn code_at(rest: &str, constants: &BTreeMap<String, String>) -> Option<String> {
    if let Some(text) = rest.strip_prefix('"') {
        let (code, _) = text.split_once('"')?;
        return is_code(code).then(|| code.to_owned());
    }
    let name: String = rest
        .chars()
        .take_while(|c| c.is_ascii_uppercase() || *c == '_')
        .collect();
    constants.get(&name).cloned()
}

fn is_code(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase() || c == '_')
}

/// Every `const NAME: &str = "text"` of the sources.
fn constants(texts: &[String]) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for piece in texts.iter().flat_map(|text| text.split("const ").skip(1)) {
        let Some((name, rest)) = piece.split_once(": &str = \"") else {
            continue;
        };
        let value = rest.split('"').next().unwrap_or_default();
        if name.chars().all(|c| c.is_ascii_uppercase() || c == '_') && is_code(value) {
            found.insert(name.to_owned(), value.to_owned());
        }
    }
    found
}

/// The codes that `fn code(&self) -> &'static str` of an error type may answer.
fn codes_of_errors(text: &str, constants: &BTreeMap<String, String>) -> Vec<String> {
    let bodies = text.split("pub fn code(&self) -> &'static str {").skip(1);
    let bodies = bodies.filter_map(|rest| rest.split("\n    }\n").next());
    let arms = bodies.flat_map(|body| body.split("=> ").skip(1));
    arms.filter_map(|arm| code_at(arm, constants)).collect()
}

/// Worlds and machines that tests play with.
fn is_for_tests(path: &Path) -> bool {
    let is_schedule = path
        .components()
        .any(|part| part.as_os_str() == "schedules");
    path.ends_with("bench.rs") || path.ends_with("rig.rs") || is_schedule
}

/// Every code that may reach a person, as the sources make it.
fn codes_of_the_program() -> BTreeSet<String> {
    let mut texts = Vec::new();
    for folder in ["domain", "strategy", "actors", "llm", "store", "wire"] {
        for (path, text) in sources(&format!("src/{folder}"), "rs") {
            if !is_test_file(&path) && !is_for_tests(&path) {
                let words: Vec<&str> = before_tests(&text).split_whitespace().collect();
                texts.push((before_tests(&text).to_owned(), words.join(" ")));
            }
        }
    }
    let whole: Vec<String> = texts.iter().map(|(text, _)| text.clone()).collect();
    let constants = constants(&whole);
    let mut codes = BTreeSet::new();
    for (text, words) in &texts {
        codes.extend(codes_of_errors(text, &constants));
        // Where a line is broken behind a bracket, a space is left.
        let words = words.replace("( ", "(");
        for mark in MADE_BY {
            let made = words.split(mark).skip(1);
            codes.extend(made.filter_map(|rest| code_at(rest, &constants)));
        }
    }
    for line in read("src/wire/codes.rs").lines() {
        // `BadJson "bad_json" 400 false "hint";`
        let parts: Vec<&str> = line.split('"').collect();
        let is_row = parts.len() >= 5 && (parts[2].contains("true") || parts[2].contains("false"));
        if is_row {
            codes.insert(parts[1].to_owned());
        }
    }
    for (path, text) in sources("lua", "lua") {
        if path.starts_with("lua/specs") {
            continue;
        }
        for mark in ["failure(", "_refuse(call, ", "_answer_unknown(call, "] {
            let made = text.split(mark).skip(1);
            codes.extend(made.filter_map(|rest| code_at(rest, &constants)));
        }
        if !path.ends_with("desk.lua") && !path.ends_with("client.lua") {
            continue;
        }
        // What programs on the computer hear: `return nil, "words", "code"` and `answer(id, false, words, "code")`.
        for line in text.lines() {
            let line = line.trim_end_matches(" end").trim_end_matches(')');
            let is_refusal = line.contains("return nil, \"") || line.contains("(id, false, ");
            let last = line
                .strip_suffix('"')
                .and_then(|line| line.rsplit_once(", \""));
            if let Some((_, code)) = last.filter(|(_, code)| is_refusal && is_code(code)) {
                codes.insert(code.to_owned());
            }
        }
    }
    codes
}

#[test]
fn every_error_code_is_explained_and_no_other() {
    let page = read("docs/troubleshooting.md");
    let tables = page
        .split("\n| code | what it means | what to do |\n")
        .skip(1);
    let tables = tables.filter_map(|rest| rest.split("\n\n").next());
    let rows = tables.flat_map(|table| table.lines().filter_map(|line| line.strip_prefix("| `")));
    let explained: Vec<&str> = rows
        .filter_map(|row| row.split_once("` | "))
        .map(|(code, _)| code)
        .collect();
    let known = codes_of_the_program();
    let set: BTreeSet<String> = explained.iter().map(|&code| code.to_owned()).collect();
    assert_eq!(explained.len(), set.len(), "a code is explained twice");
    let missing: Vec<_> = known.difference(&set).collect();
    let invented: Vec<_> = set.difference(&known).collect();
    assert!(
        missing.is_empty() && invented.is_empty(),
        "docs/troubleshooting.md leaves out {missing:?} and explains {invented:?}, which nothing in the sources makes"
    );
}

// The table of prompts -------------------------------------------------------------------------------------------

const BEGIN: &str = "<!-- prompts: made by a test; CCFLEET_BLESS=1 cargo test --test tidy the_table_of_prompts -->\n";
const END: &str = "<!-- end of prompts -->\n";

fn prompt_row(path: &Path, text: &str) -> (String, String) {
    let front = text.split("+++\n").nth(1).unwrap();
    let front: toml::Table = front
        .parse()
        .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let word = |key: &str| front[key].as_str().unwrap().to_owned();
    let variables = front["variables"].as_array().unwrap().iter();
    let variables: Vec<String> = variables
        .map(|name| format!("`{}`", name.as_str().unwrap()))
        .collect();
    let row = format!(
        "| `{}` | {} | {} | {} |\n",
        word("id"),
        word("role"),
        word("description"),
        variables.join(", ")
    );
    (word("id"), row)
}

#[test]
fn the_table_of_prompts_is_what_the_files_say() {
    let prompts = sources("prompts", "md");
    let rows: BTreeMap<String, String> = prompts
        .iter()
        .map(|(path, text)| prompt_row(path, text))
        .collect();
    let mut table =
        "| prompt | role | what for | variables |\n| --- | --- | --- | --- |\n".to_owned();
    for row in rows.values() {
        let _ = write!(table, "{row}");
    }
    let page = read("docs/prompts.md");
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let wanted = format!("{before}{BEGIN}{table}{END}{after}");
    super::compare("docs/prompts.md", &wanted, "the_table_of_prompts");
}
