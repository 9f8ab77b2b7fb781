//! Peripherals that a task names as ComputerCraft's wired modems do, "minecraft:chest_0", and values that mean one of them: a small model writes
//! such a name as a path, or leaves the family out, and takes the same name once more when it is told that there is none of that name.

use serde_json::{Value, json};

/// The peripherals that a text names, each once.
pub fn peripherals_in(text: &str) -> Vec<&str> {
    let may_stand = |c: char| c.is_ascii_alphanumeric() || "_:.-/".contains(c);
    let words = text.split(|c| !may_stand(c));
    let words = words.map(|word| word.trim_end_matches(['.', ':']));
    let is_one = |word: &&str| {
        let parts = word.split_once(':').zip(word.rsplit_once('_'));
        parts.is_some_and(|((family, name), (_, number))| {
            let is_number = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit());
            !family.is_empty() && !name.contains([':', '/']) && is_number
        })
    };
    let mut named: Vec<&str> = Vec::new();
    for word in words.filter(is_one) {
        if !named.contains(&word) {
            named.push(word);
        }
    }
    named
}

/// The arguments with the names of the task; none if they are so already. What works with files takes paths.
pub fn as_named(prompt: &str, tool: &str, args: &Value) -> Option<Value> {
    let takes_paths = tool.starts_with("fs_") || tool == "run_program";
    let named = peripherals_in(prompt);
    if takes_paths || named.is_empty() {
        return None;
    }
    let mut meant = args.clone();
    let mut is_changed = false;
    for value in meant.as_object_mut()?.values_mut() {
        if let Some(name) = value.as_str().and_then(|said| meant_by(said, &named)) {
            *value = json!(name);
            is_changed = true;
        }
    }
    is_changed.then_some(meant)
}

/// The only one that a value means which is not its name.
fn meant_by<'a>(said: &str, named: &[&'a str]) -> Option<&'a str> {
    let bare = said.strip_prefix('/').unwrap_or(said);
    let is_it = |name: &&&str| **name == bare || name.split_once(':').is_some_and(|n| n.1 == bare);
    let mut meant = named.iter().filter(is_it);
    let only = meant.next().filter(|_| meant.next().is_none())?;
    (*only != said).then_some(*only)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASK: &str = "Move the iron from minecraft:chest_0 to `create:item_vault_12`.";

    #[test]
    fn a_name_that_is_written_as_a_path_or_without_its_family_is_the_one_of_the_task() {
        let push = |from: &str, to: &str| json!({"from": from, "to": to, "slot": 1});
        let right = push("minecraft:chest_0", "create:item_vault_12");
        for (from, to) in [
            ("/minecraft:chest_0", "create:item_vault_12"),
            ("chest_0", "/item_vault_12"),
        ] {
            let meant = as_named(TASK, "inventory_push", &push(from, to));
            assert_eq!(meant.as_ref(), Some(&right), "{from} {to}");
        }
        let two = format!("{TASK} What is in other:chest_0 stays.");
        for (task, tool, args) in [
            (TASK, "inventory_push", right),
            (TASK, "inventory_push", push("chest_1", "chest")),
            (TASK, "inventory_push", json!(["chest_0"])),
            (TASK, "fs_move", push("/chest_0", "/item_vault_12")),
            (two.as_str(), "inventory_list", json!({"name": "chest_0"})),
            ("Move it.", "inventory_list", json!({"name": "/chest_0"})),
        ] {
            assert_eq!(as_named(task, tool, &args), None, "{args}");
        }
    }

    #[test]
    fn a_peripheral_has_a_family_and_a_number() {
        assert_eq!(
            peripherals_in(TASK),
            ["minecraft:chest_0", "create:item_vault_12"]
        );
        for text in [
            "at 10:30_2/x",
            "http://a_1",
            "chest_0",
            "minecraft:chest",
            ":a_1",
        ] {
            assert!(peripherals_in(text).is_empty(), "{text}");
        }
    }
}
