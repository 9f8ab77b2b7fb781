use super::*;

fn user(text: &str) -> Said {
    Said {
        by_model: false,
        text: text.into(),
    }
}

fn model(text: &str) -> Said {
    Said {
        by_model: true,
        text: text.into(),
    }
}

/// The first message of a task: 0 is `directive` and plain, the others say what they are for.
fn task(number: usize) -> Said {
    user(&format!("# Task\n\n{}\n\n# State", prompt(number)))
}

/// The number of a task that plays this part.
fn playing(manner: Manner, fate: Fate) -> usize {
    let plays = |task: &usize| Part::of(*task) == Part { manner, fate };
    (0..50).find(plays).unwrap()
}

fn marked(task: usize, number: u32) -> Said {
    let mark = Mark { task, number };
    model(&format!(
        "DIRECTIVE: TOOL\nNAME: torture_mark\nARGS: {{\"mark\":\"{mark}\"}}"
    ))
}

fn looked(task: usize, number: u32) -> Said {
    let mark = Mark { task, number };
    model(&format!(
        "DIRECTIVE: TOOL\nNAME: torture_look\nARGS: {{\"mark\":\"{mark}\"}}"
    ))
}

fn came(line: &str) -> Said {
    user(&format!(
        "# Step 1: what came of it\n\n## torture_mark on c1: {line}"
    ))
}

fn says(prompt: &[Said]) -> String {
    next(prompt, |mark| mark.number >= 9).unwrap()
}

const MARK: &str = "NAME: torture_mark\nARGS: ";

#[test]
fn it_marks_looks_and_ends() {
    assert!(says(&[task(0)]).contains("\"t0m1\""));
    assert!(
        says(&[task(0), marked(0, 1), came("done")])
            .contains(&format!("{MARK}{{\"mark\":\"t0m2\"}}"))
    );
    let look = says(&[task(0), marked(0, 4), came("done")]);
    assert!(
        look.contains("torture_look") && look.contains("t0m4"),
        "{look}"
    );
    assert!(says(&[task(0), marked(0, 9), came("done")]).contains("DIRECTIVE: DONE"));
}

#[test]
fn what_is_unknown_is_looked_at_and_what_did_not_happen_is_done_again() {
    let unknown = "outcome UNKNOWN: it may or may not have happened";
    let look = says(&[task(0), marked(0, 5), came(unknown)]);
    assert!(look.contains("torture_look") && look.contains("t0m5"));
    for nothing in ["not carried out (nothing happened)", "FAILED"] {
        let again = says(&[task(0), marked(0, 5), came(nothing)]);
        assert!(
            again.contains(&format!("{MARK}{{\"mark\":\"t0m5\"}}")),
            "{again}"
        );
    }
    let saw = |count: u32| {
        let result = format!(
            "## torture_look on c1: done\n```json\n{{\"count\": {count}, \"last\": 7, \"mark\": \"t0m5\"}}\n```"
        );
        says(&[task(0), looked(0, 5), user(&result)])
    };
    assert!(saw(0).contains(&format!("{MARK}{{\"mark\":\"t0m5\"}}")));
    // What is there already is not done again, whoever did it.
    assert!(saw(1).contains("\"t0m8\""));
}

#[test]
fn what_it_cannot_have_meant_is_passed_over() {
    let prompt = [
        task(0),
        marked(0, 2),
        came("done"),
        model("blub"),
        user("Your directive was NOT carried out (unreadable)."),
    ];
    assert!(says(&prompt).contains("\"t0m3\""));
    let cut = [
        task(0),
        user("facts: torture_mark t0m6 was called, then t0m12"),
    ];
    assert!(says(&cut).contains("torture_look") && says(&cut).contains("t0m12"));
    assert_eq!(next(&[user("something else")], |_| true), None);
}

#[test]
fn each_fate_shows_after_the_second_mark() {
    let after_two = |fate| {
        let number = playing(Manner::Directive, fate);
        says(&[task(number), marked(number, 2), came("done")])
    };
    assert!(after_two(Fate::Plain).contains("m3\""));
    assert!(after_two(Fate::Asks).contains("DIRECTIVE: ASK_USER"));
    let child = after_two(Fate::Parent);
    assert!(child.contains("start_task"), "{child}");
    let number = task_of(&child).unwrap();
    assert!(super::super::parts::is_child(number));
    assert!(after_two(Fate::Scheduled).contains("DIRECTIVE: DONE"));
    // And after that it goes on, whatever came of it.
    let number = playing(Manner::Directive, Fate::Parent);
    for line in ["done", "FAILED"] {
        let end = user(&format!(
            "## start_task: {line}\n{{\"task_id\": \"t1000003m9\"}}"
        ));
        let then = says(&[task(number), model(&child), end]);
        assert!(then.contains(&format!("\"t{number}m3\"")), "{then}");
    }
    let again = [
        task(number),
        model(&child),
        user("## start_task: not carried out (nothing happened)"),
    ];
    assert!(says(&again).contains("start_task"));
}

#[test]
fn it_sleeps_once_and_goes_on_behind_the_last_mark() {
    let number = playing(Manner::Directive, Fate::Naps);
    let begun = [task(number), marked(number, 2), came("done")];
    let nap = says(&begun);
    assert!(nap.contains("NAME: sleep"), "{nap}");
    let then = |line: &str| {
        let mut prompt = begun.to_vec();
        prompt.extend([model(&nap), user(line)]);
        says(&prompt)
    };
    let next = then("# Step 3: what came of it\n\n## sleep: done\n{\"woken_by\": \"its time\"}");
    assert!(next.contains(&format!("\"t{number}m3\"")), "{next}");
    let again = then("Your directive was NOT carried out (unreadable).");
    assert!(again.contains("NAME: sleep"), "{again}");
}

#[test]
fn a_mark_that_needs_consent_is_wished_for_until_it_is_there_or_somebody_says_no() {
    let number = playing(Manner::Directive, Fate::Consents);
    let asked_for = |before: u32| {
        let begun = [task(number), marked(number, before), came("done")];
        let seal = says(&begun);
        let mark = before + 1;
        let wanted = format!("NAME: torture_seal\nARGS: {{\"mark\":\"t{number}m{mark}\"}}");
        assert!(seal.contains(&wanted), "{seal}");
        seal
    };
    asked_for(1);
    let seal = asked_for(2);
    let then = |line: &str| says(&[task(number), model(&seal), user(line)]);
    let refused = "Your directive was NOT carried out (policy): torture_seal needs a person's consent: x said: no";
    let other_way = then(refused);
    assert!(
        other_way.contains(&format!("{MARK}{{\"mark\":\"t{number}m3\"}}")),
        "{other_way}"
    );
    assert_eq!(then("## torture_seal: not carried out (c1 is away)"), seal);
    assert!(
        then("## torture_seal on c1: outcome UNKNOWN: it may have happened")
            .contains("torture_look")
    );
    // Former refusals are shown too.
    assert!(
        then("## torture_seal on c1: done\n\n- torture_seal needs a person's consent: x said: no")
            .contains(&format!("{MARK}{{\"mark\":\"t{number}m4\"}}"))
    );
}

#[test]
fn a_fork_leaves_marks_of_its_own() {
    let number = playing(Manner::Directive, Fate::Forked);
    let own = super::super::parts::fork_of(number);
    let past = [task(number), marked(number, 2), came("done")];
    let mut forked = past.to_vec();
    forked.push(user(
        "This task goes on from another one, tsk_1: the steps up to 2",
    ));
    assert!(says(&forked).contains(&format!("\"t{own}m1\"")));
    // Also when those words have been cut away.
    let mut later = past.to_vec();
    later.extend([marked(own, 1), came("done")]);
    assert!(says(&later).contains(&format!("\"t{own}m2\"")));
    assert!(says(&past).contains(&format!("\"t{number}m3\"")));
}

#[test]
fn a_new_episode_looks_before_it_goes_on() {
    let number = playing(Manner::Goals, Fate::Scheduled);
    let first = says(&[user("You work"), task(number)]);
    assert!(
        first.contains("torture_look") && first.contains("m1"),
        "{first}"
    );
    let number = playing(Manner::Direct, Fate::Woken);
    let told =
        format!("What came of the last episodes:\n- 1: The marks up to t{number}m2 are there.");
    let next = says(&[task(number), user(&told)]);
    assert!(
        next.contains("torture_look") && next.contains(&format!("t{number}m2")),
        "{next}"
    );
}

#[test]
fn a_planner_plans_two_marks_and_is_content_when_it_is_enough() {
    let number = playing(Manner::Plan, Fate::Plain);
    let plan: serde_json::Value = serde_json::from_str(&says(&[task(number)])).unwrap();
    assert_eq!(plan["steps"][1]["params"]["mark"], format!("t{number}m2"));
    assert_eq!(plan["steps"][1]["depends_on"], serde_json::json!([1]));
    let results = |end: &str, first: u32| {
        format!(
            "### Step 1: call_tool torture_mark — done\ntorture_mark on c1: ok\nexpected: after t{number}m{first}\n\n\
             ### Step 2: call_tool torture_mark — {end}\nexpected: after t{number}m{}\n\n\
             ### Step 3: call_tool torture_mark — skipped, because step 2 failed\nexpected: after t{number}m99\n",
            first + 1
        )
    };
    let review = |first| {
        let asked = format!(
            "{}\nAnswer: {{\"achieved\": true or false}}",
            results("done", first)
        );
        let answer = says(&[task(number), model("{}"), user(&asked)]);
        serde_json::from_str::<serde_json::Value>(&answer).unwrap()["achieved"].clone()
    };
    assert_eq!((review(1), review(9)), (false.into(), true.into()));
    let again = |end: &str| {
        let asked = format!(
            "{}\n# What is not good\n\nt{number}m77 is missing\nIds begin with 4. Done: 1.",
            results(end, 1)
        );
        let plan = says(&[task(number), model("{}"), user(&asked)]);
        let plan: serde_json::Value = serde_json::from_str(&plan).unwrap();
        let step = &plan["steps"][0];
        assert_eq!(step["id"], 4);
        format!(
            "{} {}",
            step["target"].as_str().unwrap(),
            step["params"]["mark"].as_str().unwrap()
        )
    };
    let unknown = "FAILED\ntorture_mark on c1: outcome UNKNOWN: it may or may not have happened";
    assert_eq!(again(unknown), format!("torture_look t{number}m2"));
    let nothing = "FAILED\ntorture_mark: not carried out: c1 is offline";
    assert_eq!(again(nothing), format!("torture_mark t{number}m2"));
}

#[test]
fn a_numbered_list_and_a_goal_come_first() {
    let number = playing(Manner::Numbered, Fate::Plain);
    let list = says(&[
        user("Answer with a numbered list and nothing else"),
        task(number),
    ]);
    assert!(list.starts_with("1. "), "{list}");
    assert!(
        says(&[user("You work"), task(number)]).contains("Action: torture_mark\nAction Input:")
    );
    let number = playing(Manner::Goals, Fate::Plain);
    let goal = says(&[user("You break a goal down into steps"), task(number)]);
    assert!(goal.contains("\"objectives\""), "{goal}");
    let end = says(&[
        user("You work"),
        task(number),
        model(&format!(
            "{{\"tool\": \"torture_mark\", \"args\": {{\"mark\":\"t{number}m9\"}}}}"
        )),
        user("## torture_mark on c1: done"),
    ]);
    assert!(end.contains("mark_subtask_complete"), "{end}");
}
