//! The model that plans: two marks a plan, one after the other, and a review that is content only when it is enough.

use super::{call_of, is_refused, last_words, question, seen};
use crate::cli::torture::voice::{Came, Did, Mark, Move, Said, Say};
use crate::domain::nap::SLEEP_TOOL;
use serde_json::{Value, json};

/// The next answer of the `plan` strategy's planner.
pub fn answer(prompt: &[Said], task: usize, then: impl Fn(Option<&Did>) -> Say) -> String {
    let mut told = prompt.iter().rev().filter(|said| !said.by_model);
    let did = told.find_map(|said| last_step(&said.text, task));
    let next = then(did.as_ref());
    let reviews = prompt
        .last()
        .is_some_and(|said| said.text.contains("\"achieved\""));
    if reviews {
        let achieved = next.what == Move::End;
        let answer = match achieved {
            true => json!({"achieved": true, "message": last_words(next.mark), "missing": []}),
            false => {
                json!({"achieved": false, "message": "Not yet.", "missing": ["the next marks"]})
            }
        };
        return answer.to_string();
    }
    let mut moves = vec![match next.what {
        // A plan without a step is none.
        Move::End => Say {
            what: Move::Mark,
            mark: next.mark.next(),
        },
        _ => next,
    }];
    if let [only] = moves[..]
        && only.what == Move::Mark
    {
        let after = then(Some(&Did {
            say: only,
            came: Came::Done,
            seen: None,
        }));
        moves.extend((after.what == Move::Mark).then_some(after));
    }
    let first = first_id(prompt);
    let steps = moves.iter().enumerate();
    let steps: Vec<Value> = steps.map(|(at, say)| step(first, at, *say)).collect();
    json!({"plan_id": "marks", "query": "leave marks", "goal": "the marks are there", "steps": steps})
        .to_string()
}

fn step(first: u64, at: usize, say: Say) -> Value {
    let id = first + at as u64;
    let needs: Vec<u64> = (at > 0).then_some(id - 1).into_iter().collect();
    let mut step = json!({
        "id": id,
        "reason": "it is the next one",
        // Stands beside what came of the step, whatever that is.
        "expected_outcome": format!("after {}", say.mark),
        "depends_on": needs,
    });
    match call_of(say) {
        Some((_, args)) if say.what == Move::Ask => {
            step["action"] = json!("ask_user");
            step["target"] = json!(question(say.mark));
            step["reason"] = args["why"].clone();
        }
        Some((tool, args)) => {
            step["action"] = json!("call_tool");
            step["target"] = json!(tool);
            step["params"] = args;
        }
        None => {}
    }
    step
}

/// The number that the planner is told to begin with.
fn first_id(prompt: &[Said]) -> u64 {
    let told = prompt.iter().rev().filter(|said| !said.by_model);
    let number = |said: &Said| {
        let (_, rest) = said.text.split_once("Ids begin with ")?;
        rest.split('.').next()?.parse().ok()
    };
    told.filter_map(number).next().unwrap_or(1)
}

/// The last step that was begun, among the results of all.
fn last_step(results: &str, task: usize) -> Option<Did> {
    let steps: Vec<&str> = results.split("### Step ").skip(1).collect();
    steps.iter().rev().find_map(|step| {
        let heading = step.lines().next()?;
        let what = match () {
            () if heading.contains("skipped") || heading.contains("given up") => return None,
            () if heading.contains("torture_mark") => Move::Mark,
            () if heading.contains("torture_seal") => Move::Seal,
            () if heading.contains("torture_look") => Move::Look,
            () if heading.contains("start_task") => Move::Child,
            () if heading.contains("ask_user") => Move::Ask,
            () if heading.contains(SLEEP_TOOL) => Move::Nap,
            () => return None,
        };
        // What stands behind the last step's results is about something else.
        let own = step.lines().take_while(|line| !line.starts_with("# "));
        let own: Vec<&str> = own.collect();
        let expected = own.iter().find(|line| line.starts_with("expected: "));
        let text = expected.map_or_else(|| own.join("\n"), |line| (*line).to_owned());
        let mark = Mark::last_of(task, &text)?;
        let came = match () {
            () if heading.ends_with("done") => Came::Done,
            () if what == Move::Seal && is_refused(step) => Came::Refused,
            () if step.contains("UNKNOWN") => Came::Unknown,
            () if step.contains("not carried out") => Came::Nothing,
            () if matches!(what, Move::Mark | Move::Seal) && step.contains(": FAILED") => {
                Came::Nothing
            }
            () => Came::Unknown,
        };
        Some(Did {
            say: Say { what, mark },
            came,
            seen: seen(step),
        })
    })
}
