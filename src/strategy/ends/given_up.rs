//! Ends that say of themselves that they are none: a weak model that is stuck writes its last line all the same.

use crate::domain::decision::{Decision, Guard};
use crate::domain::directive::TaskResult;
use crate::domain::task::Step;
use crate::strategy::turn::Turn;

/// The failure of a task whose model stays with it.
const GIVEN_UP: &str = "given_up";

/// How often a model is asked to go on that gives up; it may have tried something in between.
const ASKED: usize = 2;

const GO_ON: &str = "your end says that the task is not done. Do what is missing. If it cannot be done, end the task once \
                     more and say why; if it is done, end it with what holds now";

/// How far a completion may stand behind its negation, in words: "has not yet been fully completed".
const REACH: usize = 4;

impl Turn<'_> {
    /// What becomes of an end that denies itself: its author is asked to go on, then the task fails with its words.
    pub(in crate::strategy) fn given_up(&self, result: &TaskResult) -> Option<Decision> {
        if result.success && !denies_itself(&result.message) {
            return None;
        }
        let asked = |step: &&Step| {
            let blocked = step.blocked.as_ref();
            blocked.is_some_and(|b| b.guard == Guard::Unfinished && b.evidence == GO_ON)
        };
        let closed = || self.state.steps.iter().filter(|step| step.closed);
        let tried_nothing = closed().next_back().as_ref().is_some_and(asked);
        let stays = tried_nothing || closed().filter(asked).count() >= ASKED;
        Some(match stays {
            true => self.fail(GIVEN_UP, result.message.clone()),
            false => self.block(Guard::Unfinished, GO_ON.to_owned()),
        })
    }
}

/// Whether a sentence says of the whole task that it is not done.
fn denies_itself(message: &str) -> bool {
    let sentences = message.split(['.', '!', '?', ';', '\n']);
    sentences.map(words_of).any(|words| denies(&words))
}

fn words_of(sentence: &str) -> Vec<String> {
    let plain = sentence.to_lowercase().replace('’', "'");
    let words = plain.split(|c: char| !c.is_alphanumeric() && c != '\'');
    let words = words.filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

fn denies(words: &[String]) -> bool {
    let is = |word: &String, among: &[&str]| among.contains(&word.as_str());
    if !words.iter().any(|word| is(word, &["task", "job", "goal"])) {
        return false;
    }
    let undone = ["incomplete", "unfinished", "impossible", "unsolved"];
    let negates = |word: &String| {
        let plain = ["not", "never", "cannot", "unable", "failed", "fails"];
        is(word, &plain) || word.ends_with("n't")
    };
    let completion = [
        "complete",
        "completed",
        "done",
        "finish",
        "finished",
        "achieve",
        "achieved",
        "accomplish",
        "accomplished",
        "solve",
        "solved",
        "fulfil",
        "fulfilled",
        "succeed",
        "succeeded",
        "successful",
        "possible",
    ];
    let negated = |at: usize| {
        let reach = words.iter().skip(at + 1).take(REACH);
        negates(&words[at]) && reach.into_iter().any(|word| is(word, &completion))
    };
    words.iter().any(|word| is(word, &undone)) || (0..words.len()).any(negated)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::profile::{ExecutorMode, Profile};
    use crate::domain::task::TaskStatus;
    use crate::domain::track::Track;
    use crate::strategy::bench::{Bench, inputs, profile};
    use serde_json::json;

    const GIVES_UP: &str = "DIRECTIVE: DONE\nSUMMARY: The task is not complete.\n";

    fn bench() -> Bench {
        let mut bench = Bench::new(Profile {
            demand_proof: false,
            ..profile(ExecutorMode::Auto)
        });
        bench.advance();
        bench
    }

    fn asked_to_go_on(bench: &Bench) -> usize {
        let blocked = bench.state.steps.iter().filter_map(|s| s.blocked.as_ref());
        blocked.filter(|b| b.evidence == GO_ON).count()
    }

    fn look(bench: &mut Bench) {
        bench.answer("DIRECTIVE: RUN\nPATH: /a.lua\n");
        bench.advance();
        let ran = json!({"outcome": "done", "result": {"success": true, "output": "1"}});
        bench.settle(serde_json::from_value(ran).unwrap());
        bench.advance();
    }

    #[test]
    fn an_end_that_says_it_is_none_is_sent_back_and_said_again_fails_the_task_with_its_words() {
        let mut bench = bench();
        bench.answer(GIVES_UP);
        assert!(matches!(bench.advance(), Decision::Consult(_)));
        assert_eq!(asked_to_go_on(&bench), 1);
        bench.answer(GIVES_UP);
        let Decision::Fail { code, error, .. } = bench.advance() else {
            panic!("it stays with it")
        };
        assert_eq!(
            (code.as_str(), error.as_str()),
            (GIVEN_UP, "The task is not complete.")
        );
        assert_eq!(bench.state.status, TaskStatus::Failed);
    }

    #[test]
    fn a_model_that_goes_on_may_end_well_and_one_that_gives_up_between_its_tries_is_asked_twice() {
        let mut well = bench();
        well.answer(GIVES_UP);
        well.advance();
        look(&mut well);
        well.answer("DIRECTIVE: DONE\nSUMMARY: It prints 1.\n");
        assert!(matches!(well.advance(), Decision::Finish { .. }));

        let mut badly = bench();
        for times in 1..=2 {
            badly.answer(GIVES_UP);
            badly.advance();
            assert_eq!(asked_to_go_on(&badly), times);
            look(&mut badly);
        }
        badly.answer(GIVES_UP);
        assert!(matches!(badly.advance(), Decision::Fail { .. }));
    }

    #[test]
    fn what_denies_the_end_of_the_task_is_told_from_what_speaks_of_something_else() {
        for denies in [
            "The task is not complete.",
            "I moved two files. However, the task hasn’t yet been fully completed",
            "The job could not be done: there is no modem.",
            "I was unable to complete the task",
            "Task incomplete: /a.lua is missing",
            "Failed to finish the task",
            "It is impossible to reach the goal.",
            "The task was not successful",
        ] {
            assert!(denies_itself(denies), "{denies}");
        }
        for ends in [
            "The task is complete.",
            "The task is done and checked; it prints 9.",
            "The program that could not finish now ends.",
            "Files that were not complete are written anew. The task is done.",
            "I did not change /lib.lua. The task is complete",
            "Nothing failed.",
            "",
        ] {
            assert!(!denies_itself(ends), "{ends}");
        }
    }

    #[test]
    fn a_result_that_is_no_success_denies_itself_whatever_its_words() {
        let bench = bench();
        let turn = Turn {
            state: &bench.state,
            profile: &bench.profile,
            inputs: &inputs(1_000),
            track: Track::MAIN,
            again: "",
        };
        let ends = |success| {
            turn.given_up(&TaskResult {
                success,
                message: "as you wished".into(),
                details: json!(null),
            })
        };
        assert!(matches!(ends(false), Some(Decision::Block { .. })));
        assert_eq!(ends(true), None);
    }
}
