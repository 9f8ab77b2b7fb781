//! When a short file is asked for alone, and what is made of the answer.

use super::*;
use crate::domain::chat::Role;
use crate::strategy::bench::shown;
use crate::strategy::drive::{Drive, carry_out, profile_with_asides};

const TASK: &str = "The south gate shuts too early, its delay in /gates.ini is too short. set it to 6. only the south gate!";
const GATES: &str = "; the gates\n[north]\ndelay=2\n\n[south]\ndelay=2\n";
const RIGHT: &str = "```\n; the gates\n[north]\ndelay=2\n\n[south]\ndelay=6\n```";

fn begun(strategy: &str, task: &str) -> Drive {
    let mut drive = Drive::new(profile_with_asides(strategy), task);
    drive.bench.profile.one_model = true;
    drive.files.insert("/gates.ini".into(), GATES.into());
    drive.run_to_consult_with(carry_out);
    drive
}

fn asked_alone(drive: &Drive) -> String {
    shown(drive.state().prompt(Role::Executor))
}

#[test]
fn a_short_file_of_settings_is_asked_for_alone_and_written() {
    for strategy in ["direct", "directive", "numbered", "plan", "goals"] {
        let mut drive = begun(strategy, TASK);
        let asked = asked_alone(&drive);
        if strategy == "direct" {
            insta::assert_snapshot!("file_to_change", asked);
        }
        drive.say(&[RIGHT]);
        let right = GATES.replace("[south]\ndelay=2", "[south]\ndelay=6");
        assert_eq!(drive.files["/gates.ini"], right, "{strategy}: {asked}");
    }
}

#[test]
fn a_program_that_only_shows_what_the_file_holds_is_run_behind_the_change_and_the_task_ends() {
    let ran_behind = |program: &str| {
        let task = format!("{TASK} /gates.lua moans about broken lines, so give that a spin.");
        let mut drive = Drive::new(profile_with_asides("plan"), &task);
        drive.bench.profile.one_model = true;
        drive.files.insert("/gates.ini".into(), GATES.into());
        drive.files.insert("/gates.lua".into(), program.into());
        let goes_on = drive.say(&[RIGHT]);
        let last = drive.state().calls().last().unwrap();
        (last.tool == RUN, goes_on)
    };
    let shows = "local f = fs.open(\"/gates.ini\", \"r\") print(f.readAll()) f.close()";
    assert_eq!(ran_behind(shows), (true, false));
    assert_eq!(
        ran_behind("redstone.setOutput(\"left\", true)"),
        (false, true)
    );
    assert_eq!(ran_behind("print(...)"), (false, true));
}

#[test]
fn a_change_that_nothing_can_show_is_the_end_where_planner_and_executor_are_one_model() {
    let more = format!("{TASK} And open it now.");
    for (task, one_model, goes_on) in [
        (TASK, true, false),
        (TASK, false, true),
        (more.as_str(), true, true),
    ] {
        let mut drive = Drive::new(profile_with_asides("plan"), task);
        drive.bench.profile.one_model = one_model;
        drive.files.insert("/gates.ini".into(), GATES.into());
        assert_eq!(drive.say(&[RIGHT]), goes_on, "{}", drive.shown());
    }
}

#[test]
fn an_answer_that_cannot_be_the_file_is_asked_for_once_more() {
    for (answer, why) in [
        ("```\ndelay=6\n```", "most lines of the file were not in it"),
        ("I would set it to 6.", "there was no file in it"),
        (
            "```\n; the gates\n[north]\ndelay=2\n\n[south]\ndelay=2\n```",
            "it was the file as it is, and nothing was changed",
        ),
    ] {
        let mut drive = begun("direct", TASK);
        drive.say(&[answer]);
        let asked = asked_alone(&drive);
        assert!(asked.contains(&format!("was not taken: {why}")), "{asked}");
        drive.say(&[RIGHT]);
        assert!(drive.files["/gates.ini"].contains("delay=6"), "{why}");
    }
}

#[test]
fn what_a_change_lacks_is_asked_for_once_more_and_then_left_to_the_planner() {
    let task = "/gates.ini: delay of south to 6, and turn sound off";
    let begun = || {
        let mut drive = Drive::new(profile_with_asides("directive"), task);
        let gates = format!("{GATES}sound=on\n");
        drive.files.insert("/gates.ini".into(), gates);
        drive.say(&[&RIGHT.replace("=6", "=6\nsound=on")]);
        assert!(drive.files["/gates.ini"].contains("delay=6\nsound=on"));
        drive
    };
    let mut drive = begun();
    insta::assert_snapshot!("file_to_change_once_more", asked_alone(&drive));
    drive.say(&[&RIGHT.replace("=6", "=6\nsound=off")]);
    assert!(drive.files["/gates.ini"].contains("delay=6\nsound=off"));
    let mut content = begun();
    content.say(&[&RIGHT.replace("=6", "=6\nsound=on")]);
    let last = content.decisions.last();
    let to_planner =
        matches!(last, Some(Decision::Consult(consult)) if consult.role == Role::Planner);
    assert!(to_planner, "{}", content.shown());
    let mut stubborn = begun();
    stubborn.say(&[&RIGHT.replace("=6", "=7\nsound=on")]);
    let last = stubborn.decisions.last();
    let to_planner =
        matches!(last, Some(Decision::Consult(consult)) if consult.role == Role::Planner);
    assert!(to_planner, "{}", stubborn.shown());
}

#[test]
fn of_two_lists_the_one_is_changed_and_the_other_one_is_looked_into() {
    let task =
        "Please take everybody who is in /banned.txt out of /white.txt. The others stay on it.";
    let mut drive = Drive::new(profile_with_asides("directive"), task);
    drive.bench.profile.one_model = true;
    for (path, text) in [("/banned.txt", "Bo\nTim\n"), ("/white.txt", "Al\nBo\nCy\n")] {
        drive.files.insert(path.into(), text.into());
    }
    drive.run_to_consult_with(carry_out);
    insta::assert_snapshot!("file_to_change_by_another", asked_alone(&drive));
    drive.say(&["```\nAl\n```"]);
    let asked = asked_alone(&drive);
    assert!(
        asked.contains("Cy does not stand in /banned.txt"),
        "{asked}"
    );
    drive.say(&["```\nAl\nCy\n```"]);
    assert_eq!(drive.files["/white.txt"], "Al\nCy\n");
}

#[test]
fn only_a_task_that_changes_one_file_and_nothing_else_asks_for_it_so() {
    let is_asked = |task: &str| asked_alone(&begun("direct", task)).contains("Write /gates.ini");
    assert!(is_asked(TASK));
    for task in [
        "Turn the delay in /gates.ini up to 6, please.",
        "In /gates.ini: raise delay to 30 and turn sound on. Rest of it stays as is. There's a /server/validate.lua that reads the file like \
         the server does and moans about broken lines, so give that a spin once you've saved.",
        "Could you add it to /gates.ini under the name `beach`, in the same shape as the warps that are in there already? The old ones should \
         of course keep working. You'll know it worked when /goto.lua, started with beach, prints the spot.",
    ] {
        assert!(is_asked(task), "{task}");
    }
    assert!(is_asked(
        "The delay of the south gate in /gates.ini should be 6."
    ));
    for other in [
        "Does /gates.ini say what the delay of the south gate should be?",
        "The delay of the south gate should be 6. /gates.ini holds what it is.",
        "What does /gates.ini say about the south gate?",
        "Set the delay in /gates.ini to 6 and tell me what it was.",
        "Do not change /gates.ini. Set up the gates.",
        "Fix /gates.lua, which reads /gates.ini and should set the delay.",
        "Set the delays of /gates.ini and /doors.ini to 6.",
        "Write a program /gates.lua that shows what /gates.ini holds.",
        "my /gates.lua can list, now i'd like a set too: \"gates set 6\" should put the delay into /gates.ini",
    ] {
        assert!(!is_asked(other), "{other}");
    }
}

#[test]
fn an_entry_that_is_still_to_be_changed_does_not_go_for_it() {
    let task =
        "lena got promoted, shes mod now. and Tnt is banned so take him out of members.csv pls";
    let mut drive = Drive::new(profile_with_asides("directive"), task);
    let members = "name,rank\nolaf,admin\nlena,member\nleon,member\nTnt,member\n";
    drive.files.insert("/members.csv".into(), members.into());
    drive.say(&["```\nname,rank\nolaf,admin\nlena,member\nleon,member\n```"]);
    assert!(
        asked_alone(&drive).contains("the task speaks of lena"),
        "{}",
        drive.shown()
    );
    drive.say(&["```\nname,rank\nolaf,admin\nleon,member\n```"]);
    assert!(
        drive.files["/members.csv"].contains("lena,member"),
        "{}",
        drive.shown()
    );
    assert!(
        drive.shown().contains("lena,member is to be changed"),
        "{}",
        drive.shown()
    );
}
