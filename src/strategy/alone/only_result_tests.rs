//! When the one thing that a task wants is a file made of what others hold.

use super::*;
use crate::domain::chat::Role;
use crate::domain::decision::Decision;
use crate::strategy::bench::shown;
use crate::strategy::drive::{Drive, profile_with_asides, run_tool};

const PLAIN: &str = "Write the sum of the numbers in /a.txt to /sum.txt.";

fn asked(drive: &Drive) -> Role {
    match drive.decisions.last() {
        Some(Decision::Consult(consult)) => consult.role,
        other => panic!("nobody is asked: {other:?}"),
    }
}

/// A task that its own model is not asked about yet.
fn begun(strategy: &str, task: &str) -> Drive {
    let mut drive = Drive::new(profile_with_asides(strategy), task);
    for (path, text) in [
        ("/a.txt", "2\n3\n"),
        ("/b.txt", "1"),
        ("/check.lua", "right"),
    ] {
        drive.files.insert(path.into(), text.into());
    }
    assert!(drive.run_to_consult());
    drive
}

#[test]
fn where_nothing_else_is_to_be_done_the_content_is_asked_for_before_any_planner() {
    let task = format!("{PLAIN} Then run /check.lua, which says whether it is right.");
    for strategy in ["direct", "directive", "plan", "numbered", "goals"] {
        let mut drive = begun(strategy, &task);
        assert_eq!(drive.state().usage.model_calls, 0);
        let on_main = matches!(drive.decisions.last(), Some(Decision::Consult(c)) if c.role == Role::Executor);
        assert!(on_main, "{strategy}: {:?}", drive.decisions.last());
        let goes_on = drive.say(&["```\n5\n```"]);
        assert_eq!(drive.files["/sum.txt"], "5\n", "{strategy}");
        let runs = drive
            .state()
            .calls()
            .filter(|call| call.tool == "run_program");
        assert_eq!(runs.count(), 1, "{strategy}");
        // What is proved is not planned any more.
        assert_eq!(
            goes_on,
            !["plan", "goals"].contains(&strategy),
            "{strategy}"
        );
    }
    assert_eq!(asked(&begun("direct", PLAIN)), Role::Executor);
    for other in [
        format!("{} when you know it.", PLAIN.trim_end_matches('.')),
        PLAIN.replace("/sum.txt", "/b.txt"),
        PLAIN.replace("in /a.txt", "that /b.lua prints"),
        format!("{task} What does it print?"),
        task.replace("Then run", "If that is right, run"),
        task.replace("/a.txt to", "/a.txt and what /b.lua prints to"),
        task.replace("/sum.txt", "/b.txt"),
        task.replace("Write", "Delete /b.txt with fs_delete and write"),
    ] {
        assert_eq!(asked(&begun("direct", &other)), Role::Planner, "{other}");
    }
}

#[test]
fn a_report_out_of_two_files_is_asked_for_alone_and_its_calculations_are_worked_out() {
    let task = "sales.txt says how many of each thing were sold, prices.txt what one costs. Please write to report.txt one line per thing with sold times price, \
        like \"bread 24\", and as last line \"total\" and the sum of it all.";
    let mut drive = Drive::new(profile_with_asides("directive"), task);
    for (path, text) in [
        ("/sales.txt", "bread 12\ncake 5\n"),
        ("/prices.txt", "bread 2\ncake 15\n"),
    ] {
        drive.files.insert(path.into(), text.into());
    }
    assert!(drive.run_to_consult());
    insta::assert_snapshot!("report", shown(drive.state().prompt(Role::Executor)));
    drive.say(&["```\nbread 12 * 2\ncake 5*15\ntotal 24 + 70\n```"]);
    assert_eq!(drive.files["/report.txt"], "bread 24\ncake 75\ntotal 99\n");
}

#[test]
fn a_copy_that_is_not_the_same_is_a_content() {
    let check = "/check.lua says whether it is right: run it at the end.";
    let changed = format!("Make /c.txt a copy of /a.txt in which the line `2` is `7`. {check}");
    assert_eq!(asked(&begun("plan", &changed)), Role::Executor);
}

#[test]
fn a_program_in_whose_output_something_is_wanted_runs_before_that_is_asked_for() {
    let task = "/count.lua prints some lines. One of them is a number. Write it (nothing else) to /n.txt, then run /check.lua, which says whether it is right.";
    for strategy in ["direct", "directive", "plan", "numbered", "goals"] {
        let mut drive = Drive::new(profile_with_asides(strategy), task);
        for (path, text) in [("/count.lua", "12"), ("/check.lua", "right")] {
            drive.files.insert(path.into(), text.into());
        }
        assert!(drive.run_to_consult());
        assert_eq!(asked(&drive), Role::Executor, "{strategy}");
        let shown = shown(drive.state().prompt(Role::Executor));
        let told = "## run /count.lua on base: done";
        assert!(shown.contains(told), "{strategy}: {shown}");
        let goes_on = drive.say(&["```\n12\n```"]);
        assert_eq!(drive.files["/n.txt"], "12\n", "{strategy}");
        let is_planned = !["plan", "goals"].contains(&strategy);
        assert_eq!(goes_on, is_planned, "{strategy}");
    }
}

#[test]
fn what_is_put_into_a_file_is_asked_for_alone_where_a_program_that_is_started_takes_it_up() {
    let task = "who has the friday shift? the rota is /rota.txt. put just the name into /friday.txt here and then start /badge.lua \
                (also here), it prints a badge or tells you if it can't read the name";
    for strategy in ["plan", "goals"] {
        let mut drive = Drive::new(profile_with_asides(strategy), task);
        drive.bench.profile.one_model = true;
        drive.add_tools(vec![run_tool()]);
        drive
            .files
            .insert("/rota.txt".into(), "thursday Lio\nfriday Tarek\n".into());
        drive
            .files
            .insert("/badge.lua".into(), "badge for Tarek".into());
        assert!(drive.run_to_consult());
        let asked = shown(drive.state().prompt(Role::Executor));
        assert!(
            asked.contains("What does /friday.txt have to hold?"),
            "{strategy}: {asked}"
        );
        assert!(
            !drive.say(&["```\nTarek\n```"]),
            "{strategy}: {}",
            drive.shown()
        );
        assert_eq!(drive.files["/friday.txt"], "Tarek\n");
        assert_eq!(
            drive.state().calls().last().unwrap().args["path"],
            "/badge.lua"
        );
    }
}

#[test]
fn what_a_program_does_in_some_case_is_no_condition_of_the_task() {
    for plain in [
        "Put the name into /a.txt and then start /badge.lua, it prints a badge or tells you if it can't read it.",
        "Make a /a.txt. I have a /a_test.lua that grumbles if it isn't in order, start it when you think you're finished.",
    ] {
        assert!(!is_conditional(plain), "{plain}");
    }
    for other in [
        "Write 1 to /a.txt if the door is open.",
        "Run /a.lua. If it fails, write why to /a.txt.",
    ] {
        assert!(is_conditional(other), "{other}");
    }
}

#[test]
fn a_copy_in_which_something_differs_is_no_plain_one() {
    let differs = "Make /b.txt a copy of /a.txt in which `x` is `y`.";
    assert!(is_changed_copy(differs));
    for plain in [
        "Make /b.txt a copy of /a.txt.",
        "Make /b.txt a copy of /a.txt. The folder in which it lies is /.",
        "Write the file in which `x` is `y`.",
    ] {
        assert!(!is_changed_copy(plain), "{plain}");
    }
}
