//! Edits as small models write them: without the list around them, or with a value in the place of the name that has it.

use crate::domain::call::Target;
use crate::domain::files::from_root;
use crate::domain::task::TaskState;
use crate::strategy::memory::contents;
use crate::strategy::paths::normal;
use serde_json::{Map, Value, json};
use std::ops::Range;

/// An edit whose `search` and `replace` stand beside the path, as the list of one that it is; none if there is nothing to change.
pub(in crate::strategy) fn listed(tool: &str, args: &Value) -> Option<Value> {
    let mut mended = args.as_object().filter(|_| tool == "fs_patch")?.clone();
    if mended.contains_key("edits") || mended.contains_key("diff") {
        return None;
    }
    let mut edit = Map::new();
    for name in ["search", "replace"] {
        let text = mended.remove(name).filter(Value::is_string)?;
        edit.insert(name.to_owned(), text);
    }
    if let Some(all) = mended.remove("all") {
        edit.insert("all".to_owned(), all);
    }
    mended.insert("edits".to_owned(), json!([edit]));
    Some(mended.into())
}

/// The arguments of an edit that would put a value in the place of the name that has it: a small model that is to set `limit` to 30 replaces
/// the word `limit` by `30`. Where the file is known, and its words leave one meaning, the name's value is what is replaced.
pub(in crate::strategy) fn of_values(
    state: &TaskState,
    target: &Target,
    tool: &str,
    args: &Value,
) -> Option<Value> {
    let on = match target {
        Target::Any => None,
        Target::Computer(on) => Some(on),
        Target::Group(_) => return None,
    };
    let path = args["path"].as_str().filter(|_| tool == "fs_patch")?;
    let edits = args["edits"].as_array()?;
    let content = contents::after_patches(state, on, &from_root(&normal(path)))?;
    let meant: Vec<Option<Value>> = edits
        .iter()
        .map(|edit| value_meant(edit, &content))
        .collect();
    if meant.iter().all(Option::is_none) {
        return None;
    }
    let edits = edits.iter().zip(meant);
    let edits: Vec<Value> = edits
        .map(|(edit, meant)| meant.unwrap_or_else(|| edit.clone()))
        .collect();
    let mut args = args.clone();
    args["edits"] = json!(edits);
    Some(args)
}

fn value_meant(edit: &Value, content: &str) -> Option<Value> {
    let (name, new) = (
        edit["search"].as_str()?.trim(),
        edit["replace"].as_str()?.trim(),
    );
    if let Some(new) = assigned(new, name) {
        return line_meant(name, new, content);
    }
    let new_kind = kind(new)?;
    // One text in quotes for another may as well be a new name.
    let may_rename = name.starts_with('"') && new_kind == Kind::Text;
    let name = name.trim_matches('"');
    let is_name = !name.is_empty() && name.chars().all(in_name) && kind(name).is_none();
    let renames_all = edit["all"] == true && new_kind == Kind::Text;
    if !is_name || may_rename || renames_all {
        return None;
    }
    let places = content.match_indices(name).map(|(at, _)| at);
    let mut values = places.filter_map(|at| Some((at, value_of(content, at, name)?)));
    let (at, value) = values.next().filter(|_| values.next().is_none())?;
    let whole = &content[at..value.end];
    let (before, value) = whole.split_at(value.start - at);
    let is_of_it = kind(value) == Some(new_kind) && value != new;
    is_of_it.then(|| json!({"search": whole, "replace": format!("{before}{new}")}))
}

/// The value in an assignment to that name, which is all that the text is: `max-players=30`.
fn assigned<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let value = text.strip_prefix(name)?.trim_start();
    let value = value.strip_prefix(['=', ':'])?.trim();
    let is_name = !name.is_empty() && name.chars().all(in_name);
    (is_name && !value.is_empty() && !value.contains('\n')).then_some(value)
}

/// The edit that gives the one line of a settings file that is about a name this value.
fn line_meant(name: &str, new: &str, content: &str) -> Option<Value> {
    let value_in = |line: &str| {
        let line = line.trim_start();
        let line = line.strip_prefix("local ").unwrap_or(line);
        let value = line.strip_prefix(name)?.trim_start();
        let value = value.strip_prefix(['=', ':'])?.trim();
        let is_more = value.contains("--") || value.contains(['{', '}', ',', ';', '(']);
        let is_plain = !value.is_empty() && !is_more;
        is_plain.then(|| value.to_owned())
    };
    let lines = content.lines().map(str::trim_end);
    let mut of_it = lines.filter_map(|line| Some((line, value_in(line)?)));
    let (line, value) = of_it.next().filter(|_| of_it.next().is_none())?;
    let before = line.strip_suffix(value.as_str())?;
    (value != new).then(|| json!({"search": line, "replace": format!("{before}{new}")}))
}

/// Where the value stands that the name at this place has; none where the word stands for something else.
fn value_of(content: &str, at: usize, name: &str) -> Option<Range<usize>> {
    let behind = &content[at + name.len()..];
    let is_whole = !content[..at].ends_with(in_name) && !behind.starts_with(in_name);
    let rest = behind
        .strip_prefix('"')
        .unwrap_or(behind)
        .trim_start_matches([' ', ']']);
    let rest = rest.strip_prefix([':', '=']).filter(|_| is_whole)?;
    let rest = rest.trim_start_matches(' ');
    let end = match rest.strip_prefix('"') {
        Some(text) => text.find(['"', '\n']).map(|end| end + 2),
        None => rest.find(|c: char| c.is_whitespace() || ",;}".contains(c)),
    };
    let start = content.len() - rest.len();
    Some(start..start + end.unwrap_or(rest.len()).min(rest.len()))
}

fn in_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '-'
}

/// What a value is; none where it is no plain one.
#[derive(PartialEq)]
enum Kind {
    Number,
    Boolean,
    Text,
}

fn kind(value: &str) -> Option<Kind> {
    let is_text = value.len() > 1 && value.starts_with('"') && value.ends_with('"');
    match value {
        "true" | "false" => Some(Kind::Boolean),
        _ if is_text => Some(Kind::Text),
        _ => value.parse::<f64>().ok().map(|_| Kind::Number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::drive::{Drive, call, profile_of};
    use proptest::prelude::*;

    fn meant_in(content: &str, search: &str, replace: &str) -> Option<String> {
        let edit = json!({"search": search, "replace": replace});
        let meant = value_meant(&edit, content)?;
        let (search, replace) = (meant["search"].as_str()?, meant["replace"].as_str()?);
        Some(content.replacen(search, replace, 1))
    }

    #[test]
    fn a_value_in_the_place_of_its_name_is_the_names_new_value() {
        for (content, search, replace, becomes) in [
            (
                "{\"name\": \"boiler\", \"limit\": 20}",
                "limit",
                "30",
                Some("{\"name\": \"boiler\", \"limit\": 30}"),
            ),
            ("{\"limit\":20}", "\"limit\"", "30", Some("{\"limit\":30}")),
            (
                "return { speed = 4, wait = 1 }",
                "speed",
                "9",
                Some("return { speed = 9, wait = 1 }"),
            ),
            (
                "t = { [\"a b\"] = 1, [\"on\"] = true }",
                "on",
                "false",
                Some("t = { [\"a b\"] = 1, [\"on\"] = false }"),
            ),
            (
                "side = \"left\"\n",
                "side",
                "\"right\"",
                Some("side = \"right\"\n"),
            ),
            ("limit=20", "limit", "30", Some("limit=30")),
            ("max-limit=20", "max-limit", "30", Some("max-limit=30")),
            // The whole assignment in the place of its name.
            (
                "a=1\nmax-limit = 20\nb=2",
                "max-limit",
                "max-limit=30",
                Some("a=1\nmax-limit = 30\nb=2"),
            ),
            ("mode: hard\n", "mode", "mode: easy", Some("mode: easy\n")),
            (
                "  local mode = 'hard'",
                "mode",
                "mode = 'easy'",
                Some("  local mode = 'easy'"),
            ),
            ("local mode = 1 -- or 2", "mode", "mode = 2", None),
            ("mode: hard\nmode: soft", "mode", "mode: easy", None),
            ("mode: easy", "mode", "mode: easy", None),
            ("old-mode: hard", "mode", "mode: easy", None),
            ("{ limit = 20, wait = 1 }", "limit", "limit = 30", None),
            ("limit = 20 + f(1)", "limit", "limit = 30", None),
            ("no limit", "limit", "limit = 30", None),
            // Another name, or a value of another kind.
            ("limit = 20", "limit", "limits", None),
            ("limit = \"20\"", "limit", "30", None),
            ("limit = 20", "20", "30", None),
            ("limit = 30", "limit", "30", None),
            ("{\"a\": \"x\"}", "\"a\"", "\"b\"", None),
            // Which one of them?
            ("limit = 20\nlimit = 40", "limit", "30", None),
            ("limits = 20", "limit", "30", None),
            ("print(limit)", "limit", "30", None),
            ("if limit == 20 then", "limit", "30", None),
        ] {
            assert_eq!(
                meant_in(content, search, replace).as_deref(),
                becomes,
                "{content}"
            );
        }
    }

    #[test]
    fn a_number_in_the_place_of_a_name_is_its_value_also_where_all_places_are_meant() {
        let meant = |replace: &str, content: &str| {
            let edit = json!({"search": "limit", "replace": replace, "all": true});
            Some(value_meant(&edit, content)?["replace"].clone())
        };
        assert_eq!(meant("30", "limit=20"), Some(json!("limit=30")));
        assert_eq!(meant("30", "limit=20\nx=limit"), Some(json!("limit=30")));
        assert_eq!(meant("\"b\"", "limit=\"a\""), None);
    }

    #[test]
    fn an_edit_beside_the_path_is_a_list_of_one() {
        let flat = json!({"path": "/a", "search": "x", "replace": "y", "all": true});
        let whole = json!({"path": "/a", "edits": [{"search": "x", "replace": "y", "all": true}]});
        assert_eq!(listed("fs_patch", &flat), Some(whole.clone()));
        assert_eq!(listed("fs_patch", &whole), None);
        assert_eq!(listed("fs_grep", &flat), None);
        assert_eq!(
            listed("fs_patch", &json!({"path": "/a", "search": "x"})),
            None
        );
    }

    #[test]
    fn such_an_edit_of_a_file_that_was_read_changes_the_value() {
        let mut drive = Drive::new(profile_of("direct"), "The `limit` in /a.json shall be 30.");
        let patch = json!({"name": "fs_patch", "effect": "effect", "description": "Patches a file.", "args_schema": {
            "type": "object", "required": ["path"], "properties": {"path": {"type": "string"}, "edits": {"type": "array"}}}});
        drive.add_tools(vec![serde_json::from_value(patch).unwrap()]);
        drive
            .files
            .insert("/a.json".into(), "{\"limit\": 20}".into());
        drive.say(&[&call("fs_read", json!({"path": "/a.json"}))]);
        let patch = json!({"path": "/a.json", "search": "limit", "replace": "30"});
        drive.say(&[&call("fs_patch", patch)]);
        let made = drive.state().calls().last().unwrap().args.clone();
        let whole = json!([{"search": "limit\": 20", "replace": "limit\": 30"}]);
        assert_eq!(made["edits"], whole, "{made}");
    }

    proptest! {
        #[test]
        fn any_file_and_any_edit_are_read_without_a_panic(
            content in "(limit|\"|=|:| |é|20|\\]|\n|,){0,16}", search in "(limit|\"|é|20){0,3}", replace in "(\"|30|é|true){0,3}",
        ) {
            meant_in(&content, &search, &replace);
        }
    }
}
