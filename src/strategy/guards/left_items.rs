//! Items that a task tells to leave where they are ("Move the iron ingots. Leave the coal where it is"): a small model that was shown what a chest
//! holds moves each of its slots. Such a call is never made.

use super::excepted::stands_behind_except;
use crate::domain::call::Target;
use crate::domain::task::CallRecord;
use crate::strategy::paths::mentions;
use crate::strategy::text::{sentence_after, sentence_before};
use crate::strategy::turn::Turn;
use serde_json::Value;

/// Words before what stays, and what then has to stand behind it.
const LEAVE: [&str; 4] = ["leave", "leaving", "keep", "keeping"];
const WHERE: [&str; 8] = [
    "where",
    "alone",
    "untouched",
    "there",
    "in",
    "as it is",
    "as they are",
    "behind",
];

/// How moving it is forbidden.
const NOT: [&str; 4] = ["not", "don't", "never", "without"];
const MOVE: [&str; 12] = [
    "move", "moving", "take", "taking", "touch", "touching", "push", "pushing", "drop", "dropping",
    "use", "using",
];

/// Words between these and the item that say nothing else.
const FILLERS: [&str; 6] = ["the", "all", "any", "my", "of", "that"];

/// What goes on behind an item's name as another thing: "coal blocks".
const GOES_ON: [&str; 16] = [
    "where",
    "alone",
    "there",
    "in",
    "as",
    "behind",
    "from",
    "to",
    "into",
    "out",
    "away",
    "at",
    "and",
    "or",
    "anywhere",
    "untouched",
];

/// The tool that only chooses a slot.
const SELECT: &str = "turtle_select";

impl Turn<'_> {
    /// What is told of a call that takes from a slot which holds such an item, as far as a list of the slots was seen.
    pub(in crate::strategy) fn takes_left_item(
        &self,
        target: &Target,
        tool: &str,
        args: &Value,
    ) -> Option<String> {
        let slot = args.get("slot").filter(|_| tool != SELECT)?.as_u64()?;
        let place = args.get("from").and_then(Value::as_str);
        let on = match target {
            Target::Any => None,
            Target::Computer(on) => Some(on).filter(|on| Some(*on) != self.state.home()),
            Target::Group(_) => return None,
        };
        let mut calls = self.state.calls().rev();
        let listed = calls.find_map(|call| {
            let slots = slots_of(call, place)?;
            (self.elsewhere(call) == on).then_some(slots)
        })?;
        let item = listed.iter().find(|item| item["slot"] == slot)?;
        let name = item["name"].as_str()?;
        is_left(self.asked_for(), name).then(|| {
            format!(
                "slot {slot} holds {name}, and the task says that this stays where it is: take from the other slots, and leave this one"
            )
        })
    }
}

/// The slots that a call listed: of the inventory of this name, or of the turtle itself.
fn slots_of<'a>(call: &'a CallRecord, place: Option<&str>) -> Option<&'a Vec<Value>> {
    let result = call
        .report()
        .filter(|_| call.succeeded())?
        .result
        .as_ref()?;
    let is_it = result.get("name").and_then(Value::as_str) == place;
    let slots = result.get("items").or_else(|| result.get("slots"))?;
    slots.as_array().filter(|_| is_it)
}

/// Whether a task tells to leave this item (`minecraft:iron_ingot`), as people call it ("the iron ingots").
fn is_left(prompt: &str, item: &str) -> bool {
    let prompt = prompt.to_lowercase();
    let bare = item.rsplit(':').next().unwrap_or(item);
    let spoken = bare.replace('_', " ");
    let names = [
        item.to_owned(),
        bare.to_owned(),
        format!("{spoken}s"),
        spoken,
    ];
    names.iter().any(|name| {
        mentions(&prompt, name).any(|at| {
            let after = sentence_after(&prompt[at + name.len()..]).trim_start_matches('`');
            is_left_at(sentence_before(&prompt[..at]), after)
        })
    })
}

fn is_left_at(before: &str, after: &str) -> bool {
    let next: String = after
        .trim_start()
        .chars()
        .take_while(|c| c.is_alphanumeric())
        .collect();
    let is_whole = next.is_empty()
        || !after.starts_with(char::is_whitespace)
        || GOES_ON.contains(&next.as_str());
    let is_apart = |c: char| c.is_whitespace() || "`,;:".contains(c);
    let words = before.split(is_apart).filter(|word| !word.is_empty());
    let mut words = words.rev().skip_while(|word| FILLERS.contains(word));
    let (last, earlier) = (words.next().unwrap_or_default(), words.next());
    let stays = WHERE.iter().any(|how| after.trim_start().starts_with(how));
    let is_forbidden = || MOVE.contains(&last) && earlier.is_some_and(|word| NOT.contains(&word));
    is_whole && ((LEAVE.contains(&last) && stays) || is_forbidden() || stands_behind_except(before))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::task::CallEnd;
    use crate::strategy::drive::{Drive, call, carry_out, done, profile_of};
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn what_stays_is_said_before_it_or_behind_it() {
        for prompt in [
            "Move the iron. Leave the coal where it is.",
            "Move all and leave `coal` alone.",
            "Move the iron, but do not take any coal.",
            "Don't touch the coal, move the iron.",
            "Move everything except the coal.",
            "Keep all the coal in the chest.",
            "Leave minecraft:coal where it is.",
        ] {
            assert!(is_left(prompt, "minecraft:coal"), "{prompt}");
        }
        for prompt in [
            "Move the coal.",
            "Leave the coal blocks where they are.",
            "Do not wait. Move the coal.",
            "Leave the room and take the coal.",
            "Keep the coal coming.",
            "Do not move the coalface.",
        ] {
            assert!(!is_left(prompt, "minecraft:coal"), "{prompt}");
        }
        let ingots = "Leave the iron ingots where they are.";
        assert!(is_left(ingots, "minecraft:iron_ingot"));
        assert!(!is_left(ingots, "minecraft:gold_ingot"));
    }

    /// Which of the two slots of a chest a task has pushed out of it.
    fn pushed(task: &str) -> Vec<u64> {
        let mut drive = Drive::new(profile_of("direct"), task);
        let tool = |name: &str| {
            let tool = json!({"name": name, "effect": "effect", "description": "Works.", "args_schema": {"type": "object"}});
            serde_json::from_value(tool).unwrap()
        };
        drive.add_tools(["inventory_list", "inventory_push"].map(tool).to_vec());
        let push = |slot: u64| {
            let args = json!({"from": "chest_0", "to": "chest_1", "slot": slot});
            call("inventory_push", args)
        };
        let list = call("inventory_list", json!({"name": "chest_0"}));
        drive.say_with(&[&list, &push(1), &push(2)], |files, call| {
            match call.tool.as_str() {
                "inventory_list" => done(json!({"name": "chest_0", "items": [
                    {"slot": 1, "name": "minecraft:iron_ingot", "count": 20},
                    {"slot": 2, "name": "minecraft:coal", "count": 12}]})),
                "inventory_push" => done(json!({"moved": 20})),
                _ => carry_out(files, call),
            }
        });
        let calls = drive.state().calls();
        let slots = calls.filter_map(|call| call.args["slot"].as_u64());
        slots.collect()
    }

    #[test]
    fn what_is_to_be_left_is_not_taken_out_of_its_chest() {
        let task = "Move all iron ingots from chest_0 to chest_1.";
        assert_eq!(pushed(task), [1, 2]);
        assert_eq!(pushed(&format!("{task} Leave the coal where it is.")), [1]);
    }

    #[test]
    fn only_the_list_of_the_same_inventory_tells_what_a_slot_holds() {
        let listed = |result: Value| {
            let end = CallEnd::Finished(done(result));
            CallRecord {
                end,
                ..crate::domain::fixtures::open_call("turtle_inventory", json!({}))
            }
        };
        let slots = json!([{"slot": 1, "name": "minecraft:coal"}]);
        let turtle = listed(json!({"slots": slots}));
        assert!(slots_of(&turtle, None).is_some() && slots_of(&turtle, Some("chest_0")).is_none());
        let chest = listed(json!({"name": "chest_0", "items": slots}));
        assert!(slots_of(&chest, None).is_none() && slots_of(&chest, Some("chest_0")).is_some());
    }

    proptest! {
        #[test]
        fn any_task_is_read_without_a_panic(words in "(leave|the|coal|not|move| |,|`|\\.|ä|where){0,20}") {
            let _ = is_left(&words, "minecraft:coal");
        }
    }
}
