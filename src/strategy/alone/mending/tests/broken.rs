//! Programs that their task tells to be broken.

use super::*;

/// A program that does something, which nobody tries out unasked.
const DIGS: &str = "turtle.dig(23)";

#[test]
fn a_program_that_is_told_to_be_broken_is_mended_where_the_task_tells_of_no_run() {
    let task = "my /sum.lua is drunk, it says 23 for 2 and 3. can you get it working again?";
    for strategy in ["direct", "plan", "goals"] {
        let mut drive = drive_of(strategy, task, 6);
        drive.files.insert("/sum.lua".into(), DIGS.into());
        assert!(drive.run_to_consult());
        assert_eq!(asked(&drive), Role::Executor, "{strategy}");
        let shown = prompt(&drive);
        assert!(!shown.contains("# What a run did"), "{shown}");
        drive.say(&[&format!("```lua\n{DIGS}\n```"), RIGHT]);
        assert_eq!(asked(&drive), Role::Planner, "{strategy}");
        assert_eq!(drive.files["/sum.lua"], "5\n", "{strategy}");
        let told = "It was mended from what the task says, and holds now:\n```lua\n5\n```";
        assert!(drive.shown().contains(told), "{}", drive.shown());
    }
    for task in [
        "my /sum.lua says 23 for 2 and 3. why?",
        "mend whatever is wrong in /sum.lua or /mul.lua",
        "fix it. /check.lua tells whether /sum.lua is right",
    ] {
        let mut drive = drive_of("direct", task, 6);
        assert!(drive.run_to_consult());
        assert_eq!(asked(&drive), Role::Planner, "{task}");
    }
}

#[test]
fn a_broken_program_that_only_shows_something_is_run_before_and_behind_and_ends_the_task_if_it_shows_something_else()
 {
    let task = "my /sum.lua is drunk, it says 23 for 2 and 3. can you fix it?";
    for strategy in ["plan", "goals"] {
        let begun = |task: &str| {
            let mut drive = drive_of(strategy, task, 6);
            drive.bench.profile.one_model = true;
            assert!(drive.run_to_consult());
            assert!(
                prompt(&drive).contains("# What a run did"),
                "{}",
                prompt(&drive)
            );
            drive
        };
        let mut drive = begun(task);
        assert!(!drive.say(&[RIGHT]), "{strategy}: {}", drive.shown());
        assert!(drive.state().result.is_some());
        // Where it shows the same, or the task wants more, it is planned.
        let mut drive = begun(task);
        assert!(drive.say(&["```lua\n23  \n```"]), "{strategy}");
        for more in ["Put the new one on mine, too.", "Dig down 3 blocks."] {
            let mut drive = begun(&format!("{task} {more}"));
            assert!(drive.say(&[RIGHT]), "{strategy} {more}");
        }
    }
}

#[test]
fn of_two_programs_the_one_is_mended_that_the_other_loads_and_that_returns_nothing() {
    let task = "/status.lua was always showing the crops. Since yesterday it dies. My friend was cleaning in /crops.lua. Can you bring it back to work?";
    let crops = "local crops = {\n    { name = \"wheat\" },\n}\n";
    let of_status =
        |shows: &str| format!("local crops = dofile(\"/crops.lua\")\n{shows}(#crops)\n");
    for (strategy, shows, heading) in [
        ("direct", "print", "# What a run did"),
        ("plan", "print", "# What a run did"),
        ("goals", "turtle.dig", "# What is wrong"),
    ] {
        let mut drive = drive_of(strategy, task, 6);
        let status = of_status(shows);
        drive.files.insert("/status.lua".into(), status.clone());
        drive.files.insert("/crops.lua".into(), crops.into());
        assert!(drive.run_to_consult());
        assert_eq!(asked(&drive), Role::Executor, "{strategy}");
        let shown = prompt(&drive);
        let told = "\n\nWhat loads /crops.lua takes what it returns, and it returns nothing: `return crops` is missing as its last line\n";
        assert!(shown.contains(told) && shown.contains(heading), "{shown}");
        if strategy == "goals" {
            insta::assert_snapshot!("told_to_lack_a_return", shown);
        }
        // Also who leaves it as it is has it mended.
        drive.say(&[&format!("```lua\n{crops}```")]);
        assert_eq!(
            drive.files["/crops.lua"],
            format!("{crops}\nreturn crops\n"),
            "{strategy}"
        );
        assert_eq!(drive.files["/status.lua"], status, "{strategy}");
    }
}

#[test]
fn a_program_whose_function_nothing_calls_gets_its_call_where_a_model_leaves_it_as_it_is() {
    let silent = "local function sum(a, b)\n    print(a + b)\nend\n-- sum(2, 3)\n";
    let runs = |files: &mut BTreeMap<String, String>, call: &CallRecord| {
        let prints = match files["/sum.lua"].ends_with("\nsum(...)\n") {
            true => "5",
            false => "",
        };
        match call.tool.as_str() {
            "run_program" => done(json!({"success": true, "output": prints})),
            _ => carry_out(files, call),
        }
    };
    let mut drive = drive_of("direct", TASK, 6);
    drive.files.insert("/sum.lua".into(), silent.into());
    assert!(drive.run_to_consult_with(runs));
    let shown = prompt(&drive);
    assert!(
        shown.contains("its function `sum` is called nowhere"),
        "{shown}"
    );
    drive.say_with(&[&format!("```lua\n{silent}```")], runs);
    let called = format!("{}\n\nsum(...)\n", silent.trim_end());
    assert_eq!(drive.files["/sum.lua"], called);
    let last = drive.state().calls().last().unwrap();
    assert_eq!(last.tool, "run_program", "{}", drive.shown());
}
