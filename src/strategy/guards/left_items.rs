//! Items that a task tells to leave where they are ("Move the iron ingots. Leave the coal where it is"): a small model that was shown what a chest
//! holds moves each of its slots. Such a call is never made.

use super::excepted::stands_behind_except;
use super::leave_words::{behind_others, tells_to_leave};
use crate::domain::call::Target;
use crate::domain::task::CallRecord;
use crate::strategy::paths::mentions;
use crate::strategy::text::{sentence_after, sentence_before};
use crate::strategy::turn::Turn;
use serde_json::Value;

/// The tools that take items out of a slot, which is their `slot`; `from` names the inventory, where it is not the turtle's own.
const TAKES: [&str; 5] = [
    "inventory_push",
    "inventory_pull",
    "turtle_drop",
    "turtle_place",
    "turtle_refuel",
];

/// What is forbidden with such an item.
const MOVES: [&str; 10] = [
    "move", "moving", "take", "taking", "touch", "touching", "push", "pushing", "drop", "dropping",
];

/// How it is left. "Leave the coal in the chest" may tell to put it there.
const WHERE: [&str; 5] = [
    "where it is",
    "where they are",
    "alone",
    "untouched",
    "behind",
];

/// Words behind "everything except the coal" that say which way the others go.
const WAYS: [&str; 3] = ["from", "to", "into"];

impl Turn<'_> {
    /// What is told of a call that takes from a slot which holds such an item, as far as a list of the slots was seen.
    pub(in crate::strategy) fn takes_left_item(
        &self,
        target: &Target,
        tool: &str,
        args: &Value,
    ) -> Option<String> {
        let slot = args
            .get("slot")
            .filter(|_| TAKES.contains(&tool))?
            .as_u64()?;
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
            let after = sentence_after(&prompt[at + name.len()..]);
            is_left_at(sentence_before(&prompt[..at]), after)
        })
    })
}

fn is_left_at(before: &str, after: &str) -> bool {
    let behind = behind_others(after);
    let way = behind.split(' ').next().unwrap_or_default();
    let is_taken_out =
        || (behind.is_empty() || WAYS.contains(&way)) && stands_behind_except(before);
    tells_to_leave(before, after, &MOVES, &WHERE) || is_taken_out()
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
            "Move everything except the coal from chest_0 to chest_1.",
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
            "Do not move the coal to chest_2, move it to chest_1.",
            "Take all of it along, and leave the coal in chest_1.",
            "Keep the coal in the furnace, take it from chest_0.",
            "Do not use the coal as fuel. Move it to chest_1.",
            "Leave the coal where it is until the iron is moved.",
            "If chest_1 is full, leave the coal where it is.",
            "Everything except the coal blocks can go.",
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
