//! When lines of a file are asked for alone, and what patch is made of them.

use super::*;
use crate::domain::chat::Role;
use crate::domain::tool::ToolSpec;
use crate::strategy::bench::shown;
use crate::strategy::drive::{Drive, carry_out, done, profile_with_asides};

const TASK: &str = "Near the end of /big.lua the function `answer` returns 41; it shall return 42. Patch it, then run /check.lua.";

#[test]
fn what_is_looked_for_are_names_or_numbers_in_the_one_file_that_is_to_be_patched() {
    let told = |prompt: &str| -> Vec<String> {
        let all = searches(prompt).into_iter();
        all.map(|search| format!("{} in {}", search.pattern, search.at))
            .collect()
    };
    assert_eq!(told(TASK), ["answer in big.lua"]);
    let numbers = "In /table.lua the entries 300 and 600 are to be multiplied by ten (3000 and 6000). Use a unified diff. /check.lua says whether it is right.";
    let each = ["300", "600", "3000", "6000"].map(|number| format!("{number} in table.lua"));
    assert_eq!(told(numbers), each);
    for prompt in [
        "Near the end of /big.lua the function `answer` returns 41.",
        "Patch /a.lua and /b.lua: `speed` is 9.",
        "Write a program /patch.lua with the function `diff`.",
        "Patch /a.lua.",
    ] {
        assert!(told(prompt).is_empty(), "{prompt}");
    }
}

fn looking_and_patching() -> Vec<ToolSpec> {
    let text = json!({"type": "string"});
    let tool = |name: &str, effect: &str, taken: &[&str]| {
        let taken: serde_json::Map<String, Value> = taken
            .iter()
            .map(|name| ((*name).to_owned(), text.clone()))
            .collect();
        let mut schema = json!({"type": "object", "properties": taken});
        schema["properties"]["context"] = json!({"type": "integer"});
        let tool = json!({"name": name, "effect": effect, "description": "Of lines.", "args_schema": schema});
        serde_json::from_value(tool).unwrap()
    };
    vec![
        tool(GREP, "read", &["pattern", "path"]),
        tool(PATCH, "effect", &["path", "diff"]),
    ]
}

#[test]
fn the_uses_of_a_name_are_mended_only_where_the_sentence_that_tells_to_find_them_says_so() {
    for (prompt, is_wanted) in [
        (
            "The function `foo` is now `bar`. Find the programs below /lib that use it and mend them.",
            true,
        ),
        (
            "Find the files in /lib with `foo` and replace it by `bar`.",
            true,
        ),
        (
            "Fix /a.lua. Find out which programs below /lib use `foo`.",
            false,
        ),
        (
            "Find the programs below /lib that use `foo` and replace the list in /list.txt.",
            false,
        ),
        ("Which files in /lib have `foo`?", false),
    ] {
        assert_eq!(wants_uses_mended(prompt), is_wanted, "{prompt}");
    }
}

/// A task before which its search has shown two places.
fn begun(strategy: &str) -> Drive {
    begun_with(strategy, TASK)
}

fn begun_with(strategy: &str, task: &str) -> Drive {
    let mut drive = Drive::new(profile_with_asides(strategy), task);
    drive.bench.profile.one_model = true;
    drive.add_tools(looking_and_patching());
    let matches = json!([
        {"path": "/big.lua", "line": 902, "text": "local function answer()", "before": ["-- x"], "after": ["    return 41", "end"]},
        {"path": "/big.lua", "line": 905, "text": "print(answer())", "before": ["    return 41", "end"], "after": []},
    ]);
    drive.run_to_consult_with(|files, call| match call.tool.as_str() {
        GREP => done(json!({"path": "/big.lua", "truncated": false, "matches": matches})),
        _ => carry_out(files, call),
    });
    drive
}

#[test]
fn the_lines_of_which_the_task_speaks_are_asked_for_alone_and_patched_by_rule() {
    for strategy in ["direct", "directive", "numbered", "plan", "goals"] {
        let mut drive = begun(strategy);
        let asked = shown(drive.state().prompt(Role::Executor));
        if strategy == "direct" {
            insta::assert_snapshot!("lines_to_change", asked);
        }
        assert!(asked.contains("Write these 5 lines"), "{strategy}: {asked}");
        let answer = "```lua\n-- x\nlocal function answer()\nreturn 42\nend\nprint(answer())\n```";
        drive.say_with(&[answer], |files, call| match call.tool.as_str() {
            PATCH => done(json!({"path": "/big.lua"})),
            _ => carry_out(files, call),
        });
        let mut calls = drive.state().calls();
        let patch = calls.find(|call| call.tool == PATCH).map(|call| &call.args);
        let diff = "@@ -903,1 +903,1 @@\n-    return 41\n+    return 42\n";
        let made = json!({"path": "/big.lua", "diff": diff});
        assert_eq!(patch, Some(&made), "{strategy}");
    }
}

#[test]
fn each_file_that_uses_a_name_is_asked_for_in_its_turn_and_then_its_check_runs() {
    let task = "The function `mine_it` is now called `excavate`. Two programs below /lib still use the old name: find them and mend them. /check.lua says whether it is right: run it at the end.";
    let mut drive = Drive::new(profile_with_asides("plan"), task);
    drive.add_tools(looking_and_patching());
    let matches = json!([
        {"path": "/lib/one.lua", "line": 2, "text": "mine_it(1)"},
        {"path": "/lib/check.lua", "line": 1, "text": "mine_it()"},
        {"path": "/lib/two.lua", "line": 7, "text": "  mine_it(2)"},
    ]);
    let mut answer =
        |files: &mut std::collections::BTreeMap<String, String>, call: &CallRecord| match call
            .tool
            .as_str()
        {
            GREP => done(json!({"path": "/lib", "truncated": false, "matches": matches})),
            PATCH => done(json!({"path": call.args["path"]})),
            "run_program" => done(json!({"success": true, "output": "all is right"})),
            _ => carry_out(files, call),
        };
    drive.run_to_consult_with(&mut answer);
    drive.say_with(
        &["```\nexcavate(1)\n```", "```\nexcavate(2)\n```"],
        &mut answer,
    );
    let patched: Vec<&Value> = drive
        .state()
        .calls()
        .filter(|call| call.tool == PATCH)
        .map(|call| &call.args)
        .collect();
    let diff = |path: &str, diff: &str| json!({"path": path, "diff": diff});
    let each = [
        diff(
            "/lib/one.lua",
            "@@ -2,1 +2,1 @@\n-mine_it(1)\n+excavate(1)\n",
        ),
        diff(
            "/lib/two.lua",
            "@@ -7,1 +7,1 @@\n-  mine_it(2)\n+  excavate(2)\n",
        ),
    ];
    assert_eq!(patched, each.iter().collect::<Vec<_>>());
    assert!(
        drive.state().status.is_final(),
        "its check ran well: {}",
        drive.shown()
    );
}

#[test]
fn a_program_whose_lines_were_patched_alone_and_that_ran_is_not_planned() {
    let answer = "```\n-- x\nlocal function answer()\n    return 42\nend\nprint(answer())\n```";
    let task = "The program /big.lua is long. Near its end the function `answer` returns 41; it shall return 42. Do not write the file anew: patch it. Then run /big.lua, which prints the answer.";
    for (task, is_done) in [
        (task.to_owned(), true),
        (format!("{task} Tell me what it prints."), false),
        (format!("{task} Then run it once more."), false),
        (
            task.replace(" Then run /big.lua, which prints the answer.", ""),
            false,
        ),
        (format!("{task} It prints `43`."), false),
    ] {
        let mut drive = begun_with("plan", &task);
        drive.say_with(&[answer], |files, call| match call.tool.as_str() {
            PATCH => done(json!({"path": "/big.lua"})),
            "run_program" => done(json!({"success": true, "output": "42"})),
            _ => carry_out(files, call),
        });
        assert_eq!(
            drive.state().status.is_final(),
            is_done,
            "{task}: {}",
            drive.shown()
        );
    }
}

#[test]
fn other_lines_or_none_changed_are_asked_for_once_more_with_the_reason() {
    let mut drive = begun("plan");
    for (answer, why) in [
        ("```\nreturn 42\n```", "there are 5, and the answer has 1."),
        (
            "```\n-- x\nlocal function answer()\n    return 41\nend\nprint(answer())\n```",
            "none of them is changed.",
        ),
    ] {
        drive.say(&[answer]);
        let asked = shown(drive.state().prompt(Role::Executor));
        assert!(asked.contains(why), "{asked}");
    }
}

#[test]
fn a_number_is_no_part_of_a_longer_one() {
    let lines = BTreeMap::from([(3, "\tT[300] = 300".to_owned()), (4, "x".to_owned())]);
    let diff = diff_of(&lines, "T[300] = 3000\nx\n").unwrap();
    assert_eq!(diff, "@@ -3,1 +3,1 @@\n-\tT[300] = 300\n+\tT[300] = 3000\n");
    assert!(has_word("T[300] = 300", &["300"]) && !has_word("T[1300]", &["300"]));
}
