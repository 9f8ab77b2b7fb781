//! Which answer of a scenario comes next.

use super::*;
use proptest::prelude::*;

const SAMPLE: &str = r#"
    [[planner]]
    text = "look"
    [[planner]]
    [[planner.alternative]]
    when = { success = false, contains = "index" }
    text = "mend"
    [[planner.alternative]]
    text = "go on"
    [[planner]]
    text = "done"
    [[executor]]
    text = "{}"
    [[interlude]]
    when = { outcome = "unknown" }
    repeat = true
    [[interlude]]
    when = { contains = "out of space" }
    text = "tidy up"
"#;

fn sample() -> Scenario {
    Scenario::parse(SAMPLE).expect("sample")
}

fn position(prior: &[&str], outcome: &str, success: Option<bool>, text: &str) -> ScriptPosition {
    ScriptPosition {
        prior_answers: prior.iter().map(|s| (*s).to_owned()).collect(),
        last_result: Some(LastResult {
            outcome: outcome.into(),
            success,
            text: text.into(),
        }),
    }
}

fn next(position: ScriptPosition) -> Result<String, &'static str> {
    let answer = sample().answer(Role::Planner, &position);
    answer.map(|a| a.text).map_err(|error| error.code())
}

#[test]
fn answers_come_in_order_and_then_the_script_is_exhausted() {
    assert_eq!(next(ScriptPosition::default()), Ok("look".into()));
    assert_eq!(
        next(position(&["look"], "done", Some(true), "")),
        Ok("go on".into())
    );
    assert_eq!(
        next(position(&["look", "go on"], "done", None, "")),
        Ok("done".into())
    );
    let all = position(&["look", "mend", "done"], "done", None, "");
    assert_eq!(next(all), Err("script_exhausted"));
}

#[test]
fn the_first_alternative_whose_guard_holds_is_taken() {
    let failed = |text| next(position(&["look"], "failed", Some(false), text));
    assert_eq!(failed("attempt to index nil"), Ok("mend".into()));
    assert_eq!(failed("other"), Ok("go on".into()));
}

#[test]
fn an_unknown_outcome_repeats_the_last_ordered_answer_without_advancing() {
    assert_eq!(
        next(position(&["look"], "unknown", None, "")),
        Ok("look".into())
    );
    let repeated = position(&["look", "look"], "done", Some(true), "");
    assert_eq!(next(repeated), Ok("go on".into()));
    let twice = position(&["look", "look", "go on", "go on"], "unknown", None, "");
    assert_eq!(next(twice), Ok("go on".into()));
}

#[test]
fn an_interlude_with_text_does_not_advance() {
    let full = position(&["look"], "failed", Some(false), "out of space");
    assert_eq!(next(full), Ok("tidy up".into()));
    let after = position(&["look", "tidy up"], "done", Some(true), "");
    assert_eq!(next(after), Ok("go on".into()));
    let repeat_skips_it = position(&["look", "tidy up"], "unknown", None, "");
    assert_eq!(next(repeat_skips_it), Ok("look".into()));
}

#[test]
fn the_same_answer_twice_in_order_is_given_twice() {
    let scenario = Scenario::parse(
        "[[planner]]\ntext='a'\n[[planner]]\ntext='a'\n[[planner]]\ntext='b'\n\
         [[interlude]]\nwhen={outcome='unknown'}\nrepeat=true",
    )
    .expect("scenario");
    let cursor = |n| scenario.cursor(Role::Planner, &vec!["a".to_owned(); n]);
    assert_eq!([cursor(0), cursor(1), cursor(2)], [0, 1, 2]);
}

#[test]
fn a_guard_that_nobody_fits_is_an_error_that_names_the_answer() {
    let scenario = Scenario::parse("[[planner]]\nwhen={success=true}\ntext='a'").expect("ok");
    let error = scenario.answer(Role::Planner, &ScriptPosition::default());
    let text = error.expect_err("no fit").to_string();
    assert!(text.contains("planner answer 1"), "{text}");
}

#[test]
fn mistakes_in_a_scenario_are_named() {
    for (text, expected) in [
        ("[[planner]]", "needs `text` or `tool_calls`"),
        ("[[planner]]\ntxt='a'", "unknown field `txt`"),
        ("[[interlude]]\nwhen={}\ntext='a'", "hold for ever"),
        (
            "[[interlude]]\nwhen={success=true}\nrepeat=true\ntext='a'",
            "not both",
        ),
        (
            "[[planner]]\ntext='a'\n[[planner.alternative]]\ntext='b'",
            "one of them",
        ),
    ] {
        let error = Scenario::parse(text).expect_err(text).to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

proptest! {
    #[test]
    fn parsing_never_panics(text in "(\\PC|\n|\\[\\[planner\\]\\]\n|text = 'a'\n){0,60}") {
        let _ = Scenario::parse(&text);
    }

    #[test]
    fn any_history_has_a_next_answer_or_a_clear_end(
        prior in prop::collection::vec("look|mend|go on|done|tidy up|\\PC{0,5}", 0..20),
        outcome in "done|failed|unknown",
        success: Option<bool>,
    ) {
        let last = LastResult { outcome, success, text: String::new() };
        let position = ScriptPosition { prior_answers: prior.clone(), last_result: Some(last) };
        let cursor = sample().cursor(Role::Planner, &prior);
        prop_assert!(cursor <= prior.len());
        if let Err(error) = sample().answer(Role::Planner, &position) {
            prop_assert_eq!(error.code(), "script_exhausted");
            prop_assert!(cursor >= 3);
        }
    }

    #[test]
    fn following_the_script_with_crashes_gives_every_ordered_answer_once_in_order(
        crashes in prop::collection::vec(0usize..3, 3),
    ) {
        let scenario = sample();
        let mut prior = Vec::new();
        let mut ordered = Vec::new();
        for unknowns in crashes {
            let mut position = ScriptPosition { prior_answers: prior.clone(), last_result: None };
            let answer = scenario.answer(Role::Planner, &position).expect("next").text;
            prior.push(answer.clone());
            ordered.push(answer.clone());
            for _ in 0..unknowns {
                position.prior_answers.clone_from(&prior);
                let outcome = "unknown".to_owned();
                position.last_result = Some(LastResult { outcome, ..LastResult::default() });
                let again = scenario.answer(Role::Planner, &position).expect("repeat").text;
                prop_assert_eq!(&again, &answer);
                prior.push(again);
            }
        }
        prop_assert_eq!(ordered, ["look", "go on", "done"]);
    }
}
