//! `docs/lua-api.md`, made from the doc comments (LDoc) of the Lua library's public modules.

use super::sources;
use std::fmt::Write;

const PAGE: &str = "docs/lua-api.md";

const HEAD: &str = "# The Lua library, function by function

Made from the comments in `lua/ccfleet/` by a test; change those, then run
`CCFLEET_BLESS=1 cargo test --test tidy the_page_of_the_lua_library`. How the parts belong together, with a whole program: [lua.md](lua.md). Tools
without a program of your own: [tools.md](tools.md#tools-of-your-own).

A function that can fail for an expected reason returns nil and the reason; wrong types of arguments are errors. Callbacks must not wait.
";

/// A documented thing: the name that people write, its parameters, its words and tags.
struct Entry {
    place: String,
    /// `ccfleet.new(options)`, `fleet:run()`, or a field.
    title: String,
    parameters: Vec<String>,
    is_function: bool,
    text: Vec<String>,
    tags: Vec<Tag>,
}

/// `@tparam[opt] table spec What it is.`, with the lines below it.
struct Tag {
    name: String,
    option: Option<String>,
    words: String,
    more: Vec<String>,
}

/// One public module: its name, what it says of itself, what it has.
struct Module {
    name: String,
    text: Vec<String>,
    entries: Vec<Entry>,
}

/// `-- text` without its mark and one space.
fn bare(line: &str) -> &str {
    let line = line.trim_start().trim_start_matches('-');
    line.strip_prefix(' ').unwrap_or(line)
}

/// Splits a comment into its words and its tags.
fn split(lines: &[&str]) -> (Vec<String>, Vec<Tag>) {
    let (mut text, mut tags) = (Vec::new(), Vec::<Tag>::new());
    for line in lines.iter().map(|line| bare(line)) {
        // `@{name}` is a link, not a tag.
        if let Some(tag) = line.strip_prefix('@').filter(|tag| !tag.starts_with('{')) {
            let (head, words) = tag.split_once(' ').unwrap_or((tag, ""));
            let (name, option) = match head.split_once('[') {
                Some((name, option)) => (name, Some(option.trim_end_matches(']').to_owned())),
                None => (head, None),
            };
            tags.push(Tag {
                name: name.to_owned(),
                option,
                words: words.to_owned(),
                more: Vec::new(),
            });
        } else if let Some(tag) = tags.last_mut() {
            tag.more.push(line.to_owned());
        } else {
            text.push(line.to_owned());
        }
    }
    while text.last().is_some_and(|line| line.trim().is_empty()) {
        text.pop();
    }
    (text, tags)
}

/// What a line below a comment declares: its title, its parameters, whether it is a function.
fn declared(line: &str, module: &str) -> Option<(String, Vec<String>, bool)> {
    let short = module.rsplit('.').next().unwrap_or(module);
    let code = line.trim_start();
    if let Some(rest) = code.strip_prefix("function ") {
        let (path, rest) = rest.split_once('(')?;
        let (arguments, _) = rest.split_once(')')?;
        let at = path.find([':', '.'])?;
        let (owner, name) = (&path[..at], &path[at + 1..]);
        if name.starts_with('_') {
            return None;
        }
        // A class is shown as the thing that people hold: `Fleet:run` is `fleet:run`.
        let owner = if owner == short {
            module.to_owned()
        } else {
            owner.to_lowercase()
        };
        let title = format!("{owner}{}{name}({arguments})", &path[at..=at]);
        let parameters = arguments.split(", ").filter(|p| !p.is_empty());
        return Some((title, parameters.map(str::to_owned).collect(), true));
    }
    let (path, _) = code.split_once(" = ")?;
    let title = match path.split_once('.') {
        Some(("self", name)) => format!("fleet.{name}"),
        Some((owner, name)) if owner == short => format!("{module}.{name}"),
        None => format!("{module}.{path}"),
        Some(_) => return None,
    };
    let is_public = !title.contains("._") && !path.starts_with("local ");
    is_public.then(|| (title, Vec::new(), false))
}

/// Reads a file, if it is of a public module.
fn module(path: &str, source: &str) -> Option<Module> {
    let lines: Vec<&str> = source.lines().collect();
    let mut found: Option<Module> = None;
    let mut at = 0;
    while at < lines.len() {
        if !lines[at].trim_start().starts_with("---") || lines[at].contains("----") {
            at += 1;
            continue;
        }
        let begin = at;
        while at < lines.len() && lines[at].trim_start().starts_with("--") {
            at += 1;
        }
        let (text, tags) = split(&lines[begin..at]);
        let named = |name: &str| tags.iter().find(|tag| tag.name == name);
        if let Some(tag) = named("module") {
            if tag.option.is_some() {
                return None;
            }
            found = Some(Module {
                name: tag.words.clone(),
                text,
                entries: Vec::new(),
            });
        } else if named("type").is_none()
            && let Some(module) = &mut found
            && let Some(line) = lines.get(at)
            && let Some((title, parameters, is_function)) = declared(line, &module.name)
        {
            module.entries.push(Entry {
                place: format!("{path}:{}", at + 1),
                title,
                parameters,
                is_function,
                text,
                tags,
            });
        }
    }
    found
}

/// The public modules, those of one name joined, the library itself first.
fn modules() -> Vec<Module> {
    let mut files = sources("lua/ccfleet", "lua");
    // `init.lua` begins its module; what other files add to it follows.
    files.sort_by_key(|(path, _)| (!path.ends_with("init.lua"), path.clone()));
    let mut found: Vec<Module> = Vec::new();
    for (path, source) in files {
        let Some(read) = module(&path.display().to_string(), &source) else {
            continue;
        };
        match found.iter_mut().find(|module| module.name == read.name) {
            Some(module) => module.entries.extend(read.entries),
            None => found.push(read),
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// `@{ccfleet.Fleet:run}` as people write it.
fn linked(text: &str) -> String {
    let mut pieces = text.split("@{");
    let mut whole = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (name, rest) = piece.split_once('}').unwrap_or((piece, ""));
        let name = name.replace("ccfleet.Fleet:", "fleet:");
        let _ = write!(whole, "`{}`{rest}", name.replace("Fleet:", "fleet:"));
    }
    whole
}

fn written(lines: &[String]) -> String {
    lines.iter().map(|line| linked(line) + "\n").collect()
}

fn tag_line(tag: &Tag) -> Option<String> {
    let mut words = tag.words.splitn(3, ' ');
    let mut line = match tag.name.as_str() {
        "tparam" => {
            let (kind, name) = (words.next()?, words.next()?);
            let rest = words.next().unwrap_or_default();
            let may = match tag.option.as_deref() {
                None => String::new(),
                Some(option) => match option.split_once('=') {
                    Some((_, default)) => format!(", default `{}`", default.trim_matches('"')),
                    None => ", optional".to_owned(),
                },
            };
            format!("- `{name}` ({kind}{may}): {rest}")
        }
        "param" => {
            let (name, rest) = tag.words.split_once(' ').unwrap_or((&tag.words, ""));
            let may = tag.option.as_ref().map_or("", |_| ", optional");
            format!("- `{name}` (anything{may}): {rest}")
        }
        "treturn" => {
            let (kind, rest) = tag.words.split_once(' ').unwrap_or((&tag.words, ""));
            format!("- returns {kind}: {rest}")
        }
        "return" => format!("- returns: {}", tag.words),
        "throws" => format!("- throws: {}", tag.words),
        _ => return None,
    };
    line = linked(line.trim_end().trim_end_matches(':'));
    for more in tag.more.iter().filter(|more| !more.trim().is_empty()) {
        let _ = write!(line, "\n  {}", linked(more));
    }
    Some(line + "\n")
}

fn page() -> String {
    let mut page = HEAD.to_owned();
    for module in modules() {
        let _ = write!(page, "\n## {}\n\n{}", module.name, written(&module.text));
        for entry in &module.entries {
            let _ = write!(page, "\n### `{}`\n\n{}", entry.title, written(&entry.text));
            let tags: String = entry.tags.iter().filter_map(tag_line).collect();
            if !tags.is_empty() {
                let _ = write!(page, "\n{tags}");
            }
        }
    }
    page
}

#[test]
fn the_page_of_the_lua_library_is_what_its_comments_say() {
    super::compare(PAGE, &page(), "the_page_of_the_lua_library");
}

#[test]
fn every_public_function_of_the_lua_library_says_what_it_takes() {
    let mut wrong = Vec::new();
    for entry in modules().into_iter().flat_map(|module| module.entries) {
        let tags = entry.tags.iter();
        let told: Vec<&str> = tags
            .filter_map(|tag| match tag.name.as_str() {
                "tparam" => tag.words.split(' ').nth(1),
                "param" => tag.words.split(' ').next(),
                _ => None,
            })
            .collect();
        if entry.is_function && told != entry.parameters {
            wrong.push(format!(
                "{}: {} tells of {told:?}",
                entry.place, entry.title
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_public_function_of_the_lua_library_is_without_a_comment() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for (path, source) in sources("lua/ccfleet", "lua") {
        let Some(read) = module("", &source) else {
            continue;
        };
        for line in source.lines().filter(|line| line.starts_with("function ")) {
            let Some((title, ..)) = declared(line, &read.name) else {
                continue;
            };
            seen += 1;
            if !read.entries.iter().any(|entry| entry.title == title) {
                wrong.push(format!("{}: {title}", path.display()));
            }
        }
    }
    assert!(seen > 20, "only {seen} public functions were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
