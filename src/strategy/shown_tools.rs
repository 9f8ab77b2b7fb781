//! Which tools a small model is shown: of many, those that matter for the task. The others may be used all the same;
//! only their names are told.

use crate::domain::profile::{Profile, ToolRules};
use crate::domain::schema::Schema;
use crate::domain::task::TaskState;
use crate::domain::tool::{EffectClass, name_matches};
use crate::domain::toolbox::Tool;
use crate::strategy::fleet::ToolLookup;
use serde_json::{Value, json};
use std::cmp::Reverse;

/// The core tools that nearly every task needs (those of source document 001 §7 and their kin), the most needed first.
const CORE: [&str; 10] = [
    "fs_read",
    "fs_write",
    "run_program",
    "shell_exec",
    "fs_list",
    "write_and_run",
    "fs_patch",
    "fs_move",
    "fs_copy",
    "fs_delete",
];

/// Words that say nothing of what a task is about.
const EMPTY_WORDS: [&str; 28] = [
    "and", "the", "with", "for", "from", "that", "this", "into", "then", "than", "are", "all",
    "its", "has", "have", "not", "but", "you", "your", "can", "use", "used", "one", "each", "what",
    "which", "there", "where",
];

/// The word in the names of tools that run programs.
const RUN: &str = "run";

/// The shorter one of two words has to be at least this long to count as the stem of the other.
const STEM: usize = 4;

/// Tools as a model is shown them.
#[derive(Debug, Clone, PartialEq)]
pub struct ShownTools<'a> {
    /// By name, told with all they take.
    pub shown: Vec<&'a Tool>,
    /// By name, told by name alone.
    pub others: Vec<&'a str>,
}

impl ShownTools<'_> {
    /// Those that are told with all they take, as templates list them.
    pub fn told(&self) -> Vec<Value> {
        self.shown.iter().map(|tool| told(tool)).collect()
    }
}

/// The tools that the models of a task are shown from where `lookup` stands.
pub fn of_task<'a>(
    state: &TaskState,
    profile: &Profile,
    lookup: &ToolLookup<'a>,
) -> ShownTools<'a> {
    let prompt = state.created.as_ref().map_or("", |c| c.prompt.as_str());
    choose(lookup.usable(profile), prompt, &profile.tools)
}

/// A tool as templates list it.
pub fn told(tool: &Tool) -> Value {
    let args = tool.told_args().map(Schema::brief).or(tool.args.as_deref());
    json!({"name": tool.name, "effect": tool.effect, "description": tool.description, "args": args})
}

/// What a schema requires, each with a value of its kind that says nothing: `{"path": "…"}`.
pub fn skeleton(schema: &Value) -> Value {
    let required = schema.get("required").and_then(Value::as_array);
    let names = required.into_iter().flatten().filter_map(Value::as_str);
    let empty = |name: &str| match schema["properties"][name]["type"].as_str() {
        Some("boolean") => json!(false),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => json!(TO_BE_FILLED),
    };
    names.map(|name| (name.to_owned(), empty(name))).collect()
}

/// What stands for a value that the model has to give itself.
pub(super) const TO_BE_FILLED: &str = "…";

/// The argument that was copied from such a form and never filled in: a small model writes "…" over a file.
pub fn unfilled(args: &Value) -> Option<&str> {
    let mut fields = args.as_object()?.iter();
    let open = fields.find(|(_, value)| is_unfilled(value));
    open.map(|(name, _)| name.as_str())
}

fn is_unfilled(value: &Value) -> bool {
    match value {
        Value::String(text) => text.trim() == TO_BE_FILLED,
        Value::Array(items) => items.iter().any(is_unfilled),
        Value::Object(fields) => fields.values().any(is_unfilled),
        _ => false,
    }
}

/// Chooses at most `rules.max_shown` of the tools (0 = all): the core tools, then those of the kind's toolsets, then
/// those that share words with the task. The choice depends on nothing else, so it stays the same from turn to turn.
pub fn choose<'a>(tools: Vec<&'a Tool>, task: &str, rules: &ToolRules) -> ShownTools<'a> {
    if rules.max_shown == 0 || tools.len() <= rules.max_shown {
        return ShownTools {
            shown: tools,
            others: Vec::new(),
        };
    }
    let wanted = words(task);
    let mut ranked: Vec<(Rank, &Tool)> = tools
        .into_iter()
        .map(|tool| (rank(tool, task, &wanted, rules), tool))
        .collect();
    ranked.sort_by(|(a, x), (b, y)| a.cmp(b).then_with(|| x.name.cmp(&y.name)));
    let mut shown: Vec<&Tool> = ranked.iter().map(|(_, tool)| *tool).collect();
    let mut others: Vec<&str> = shown
        .split_off(rules.max_shown)
        .into_iter()
        .map(|tool| tool.name.as_str())
        .collect();
    shown.sort_by(|a, b| a.name.cmp(&b.name));
    others.sort_unstable();
    ShownTools { shown, others }
}

/// Lower is shown first: whether the task names the tool, whether it is about tools and the task is not, its place in the
/// core, its place in the toolsets, how many words it shares with the task.
type Rank = (bool, bool, usize, usize, Reverse<usize>);

/// The tools that write, test and keep tools begin so (source document 001 §8). To a small model one of them looks like the way
/// to write a program.
const ABOUT_TOOLS: [&str; 2] = ["tool_", "tools_"];

/// Whether a tool is one of them.
pub(super) fn is_about_tools(tool: &str) -> bool {
    ABOUT_TOOLS.iter().any(|begin| tool.starts_with(begin))
}

fn rank(tool: &Tool, task: &str, wanted: &[String], rules: &ToolRules) -> Rank {
    let named = task.contains(tool.name.as_str());
    let core = CORE.iter().position(|core| *core == tool.name);
    let first = rules
        .first
        .iter()
        .position(|glob| name_matches(glob, &tool.name));
    let shared = shared_words(tool, wanted);
    let about_tools = is_about_tools(&tool.name);
    let speaks_of_tools = || wanted.iter().any(|word| alike(word, "tool"));
    (
        !named,
        about_tools && !speaks_of_tools(),
        core.unwrap_or(CORE.len()),
        first.unwrap_or(rules.first.len()),
        Reverse(shared),
    )
}

/// Those of `tools` that change something, and whose name's words all stand in a task: "Move /a.txt" names `fs_move`. What runs programs
/// is none of them.
pub fn named_by<'a>(tools: &[&'a Tool], task: &str) -> impl Iterator<Item = &'a Tool> {
    let wanted = words(task);
    let is_named = move |tool: &&Tool| {
        let own = words(&tool.name);
        let stands = |own: &String| *own != RUN && wanted.iter().any(|word| alike(own, word));
        tool.effect != EffectClass::Read && !own.is_empty() && own.iter().all(stands)
    };
    tools.iter().copied().filter(is_named)
}

/// Words of the name weigh more than those of the description.
fn shared_words(tool: &Tool, wanted: &[String]) -> usize {
    let count = |text: &str| {
        let own = words(text);
        wanted
            .iter()
            .filter(|word| own.iter().any(|own| alike(own, word)))
            .count()
    };
    3 * count(&tool.name) + count(&tool.description)
}

fn alike(a: &str, b: &str) -> bool {
    a == b || (a.len().min(b.len()) >= STEM && (a.starts_with(b) || b.starts_with(a)))
}

/// The telling words of a text, in small letters, each once.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.chars().count() >= 3)
        .map(str::to_lowercase)
        .filter(|word| !EMPTY_WORDS.contains(&word.as_str()))
        .collect();
    words.sort_unstable();
    words.dedup();
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::tool::ToolSpec;
    use proptest::prelude::*;
    use serde_json::json;

    fn tool(name: &str, description: &str) -> Tool {
        let spec: ToolSpec =
            serde_json::from_value(json!({"name": name, "description": description})).unwrap();
        Tool::of(spec)
    }

    fn fleet() -> Vec<Tool> {
        vec![
            tool("chest_list", "What lies in an inventory."),
            tool("fs_list", "List a folder."),
            tool("fs_read", "Read a text file."),
            tool("monitor_write", "Write text on a monitor."),
            tool("redstone_set", "Set a redstone output."),
            tool("turtle_dig", "Dig the block in front of the turtle."),
            tool("turtle_forward", "Move the turtle forward."),
        ]
    }

    fn rules(max_shown: usize, first: &[&str]) -> ToolRules {
        ToolRules {
            max_shown,
            first: first.iter().map(|glob| (*glob).to_owned()).collect(),
        }
    }

    fn chosen(task: &str, rules: &ToolRules) -> Vec<String> {
        let fleet = fleet();
        let shown = choose(fleet.iter().collect(), task, rules).shown;
        shown.iter().map(|tool| tool.name.clone()).collect()
    }

    #[test]
    fn the_core_comes_first_then_the_toolset_then_shared_words() {
        assert_eq!(
            chosen("Show the sum on the monitors", &rules(3, &[])),
            ["fs_list", "fs_read", "monitor_write"]
        );
        assert_eq!(
            chosen("Show the sum on the monitor", &rules(4, &["turtle_*"])),
            ["fs_list", "fs_read", "turtle_dig", "turtle_forward"]
        );
        assert_eq!(
            chosen("Let the turtle dig a hole", &rules(3, &[])),
            ["fs_list", "fs_read", "turtle_dig"]
        );
    }

    #[test]
    fn a_task_names_the_tools_whose_words_it_uses_and_none_that_only_look_or_run() {
        let mut fleet = fleet();
        fleet.extend(["fs_move", "fs_delete", "write_and_run"].map(|name| tool(name, "")));
        let all: Vec<&Tool> = fleet.iter().collect();
        for (task, named) in [
            (
                "Move /a.txt into /archive, then run /check.lua",
                vec!["fs_move"],
            ),
            (
                "The turtle shall dig; write down what it finds",
                vec!["turtle_dig"],
            ),
            ("Write /a.lua and run it", vec![]),
        ] {
            let names: Vec<&str> = named_by(&all, task)
                .map(|tool| tool.name.as_str())
                .collect();
            assert_eq!(names, named, "{task}");
        }
    }

    #[test]
    fn a_tool_that_the_task_names_is_always_among_them() {
        assert_eq!(
            chosen("call redstone_set once", &rules(1, &[])),
            ["redstone_set"]
        );
    }

    #[test]
    fn tools_that_write_tools_are_shown_only_to_a_task_that_speaks_of_tools() {
        let mut fleet = fleet();
        fleet.push(tool("tool_write", "Write a tool as a Lua program."));
        let shown = |task: &str| {
            let shown = choose(fleet.iter().collect(), task, &rules(3, &["tool_*"])).shown;
            shown.iter().any(|tool| tool.name == "tool_write")
        };
        assert!(!shown("Write a Lua program that prints a text"));
        assert!(shown("Write a tool that prints a text"));
        assert!(shown("Mend the broken tools"));
        assert!(shown("Use tool_write for a program"));
    }

    #[test]
    fn few_tools_are_all_shown_and_of_many_the_others_are_named() {
        assert_eq!(chosen("anything", &rules(7, &[])).len(), 7);
        assert_eq!(chosen("anything", &rules(0, &[])).len(), 7);
        let fleet = fleet();
        let others = choose(fleet.iter().collect(), "dig", &rules(3, &[])).others;
        assert_eq!(
            others,
            [
                "chest_list",
                "monitor_write",
                "redstone_set",
                "turtle_forward"
            ]
        );
    }

    proptest! {
        #[test]
        fn every_tool_is_shown_or_named_once_whatever_the_task_says(task in "\\PC{0,80}", max in 0usize..9) {
            let fleet = fleet();
            let chosen = choose(fleet.iter().collect(), &task, &rules(max, &["redstone_*"]));
            let mut names: Vec<&str> = chosen.shown.iter().map(|tool| tool.name.as_str()).collect();
            prop_assert!(max == 0 || names.len() <= max);
            names.extend(&chosen.others);
            names.sort_unstable();
            prop_assert_eq!(names, fleet.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>());
        }
    }
}
