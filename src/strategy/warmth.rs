//! How much warmer than usual a model is asked. At a low temperature a prompt that grew by a line has the same likeliest answer: a
//! small model that was refused, or whose program failed as before, says the same again.

use crate::domain::chat::Role;
use crate::domain::decision::Contract;
use crate::domain::profile::Profile;
use crate::domain::task::{Open, TaskState};
use crate::domain::work::Work;
use crate::strategy::guards::history::{self, Bearing, Entry};

/// How many answers in a row led to nothing: they were refused, or what came of them had come of the same calls before. Each further
/// plan counts one, and so does each further answer to one step of a plan. Who only translates is asked as ever, since nothing new
/// shall come of that.
pub fn of(state: &TaskState, profile: &Profile, role: Role, contract: Contract) -> u32 {
    match (role, contract, &state.work) {
        (Role::Planner, Contract::Plan | Contract::PlanLines, Work::Plan(work)) => {
            state.bounces.max(count(work.plans.len()))
        }
        (Role::Planner, ..) => state.bounces.max(repeats(state, profile)),
        (Role::Executor, Contract::StepCalls, _) => former_tries(state, contract),
        (Role::Executor, Contract::Program, _) => {
            let mends = state
                .steps
                .iter()
                .filter(|step| step.closed && step.mends());
            count(mends.count())
        }
        // Asked for once more, it says the same as ever.
        (Role::Executor, Contract::Content, _) => {
            let in_vain = state.steps.iter().filter(|step| step.fills_in_vain());
            count(in_vain.count())
        }
        (Role::Executor, ..) => 0,
    }
}

/// The answers to the step that is asked about now.
fn former_tries(state: &TaskState, contract: Contract) -> u32 {
    let is_asked = |open: &Open| matches!(open, Open::Consult { role: Role::Executor, contract: of, .. } if *of == contract);
    let asked = state.open.iter().filter(|(_, open)| is_asked(open));
    let tries = asked.filter_map(|(track, _)| {
        let step = state.current_step_on(*track)?;
        Some(step.executor.iter().filter(|t| t.answer.is_some()).count())
    });
    count(tries.max().unwrap_or_default())
}

/// How many of the last runs and changes each came out as they had before, refusals of such among them. A look that sees the same is
/// no failure, and other work may be meant to be done many times.
fn repeats(state: &TaskState, profile: &Profile) -> u32 {
    let entries = history::of(state, &profile.guards.loops);
    let mut repeats = 0;
    for (at, entry) in entries.iter().enumerate().rev() {
        let past = match entry {
            Entry::News => break,
            Entry::Refused(_) => {
                repeats += 1;
                continue;
            }
            Entry::Call(past) => past,
        };
        match past.bearing {
            Bearing::Looks => continue,
            Bearing::Sets { .. } | Bearing::Runs { .. } => {}
            Bearing::Acts | Bearing::Works | Bearing::Waits => break,
        }
        let came_before = entries[..at].iter().any(|former| {
            matches!(former, Entry::Call(former) if former.call == past.call && former.outcome == past.outcome)
        });
        if !came_before {
            break;
        }
        repeats += 1;
    }
    repeats
}

fn count(of: usize) -> u32 {
    u32::try_from(of).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::drive::{Drive, call, profile_of};
    use serde_json::json;

    fn of_planner(drive: &Drive) -> u32 {
        let (state, profile) = (drive.state(), &drive.bench.profile);
        of(state, profile, Role::Planner, Contract::Turn)
    }

    #[test]
    fn a_program_that_comes_out_as_before_is_mended_by_a_warmer_model() {
        let mut drive = Drive::new(profile_of("direct"), "Mend /a.lua");
        let write = |content: &str| call("fs_write", json!({"path": "/a.lua", "content": content}));
        let (first, second) = (write("print(1)"), write("print(2)"));
        let run = call("run_program", json!({"path": "/a.lua"}));
        drive.files.insert("/a.lua".into(), "print(0)".into());
        drive.say(&[&call("fs_read", json!({"path": "/a.lua"})), &first, &run]);
        assert_eq!(of_planner(&drive), 0, "{}", drive.shown());
        // Something new, although it is as wrong.
        drive.say(&[&second, &run]);
        assert_eq!(of_planner(&drive), 0, "{}", drive.shown());
        drive.say(&[&first]);
        assert_eq!(of_planner(&drive), 1, "{}", drive.shown());
        drive.say(&[&run]);
        assert_eq!(of_planner(&drive), 2, "{}", drive.shown());
        drive.say(&[&write("print(3)")]);
        assert_eq!(of_planner(&drive), 0, "{}", drive.shown());
    }

    #[test]
    fn looking_at_the_same_again_warms_nobody() {
        let mut drive = Drive::new(profile_of("direct"), "Look at /a.lua");
        drive.files.insert("/a.lua".into(), "print(1)".into());
        let read = call("fs_read", json!({"path": "/a.lua"}));
        drive.say(&[&read, &read]);
        assert_eq!(of_planner(&drive), 0, "{}", drive.shown());
    }

    #[test]
    fn each_further_plan_is_asked_for_warmer() {
        let mut drive = Drive::new(profile_of("plan"), "Run /a.lua");
        let of_plan = |drive: &Drive| {
            of(
                drive.state(),
                &drive.bench.profile,
                Role::Planner,
                Contract::Plan,
            )
        };
        assert_eq!(of_plan(&drive), 0);
        drive.files.insert("/a.lua".into(), "error('no')".into());
        let run = json!({"id": 1, "action": "run_program", "target": "/a.lua"});
        drive.say(&[&json!({"goal": "it runs", "steps": [run]}).to_string()]);
        assert_eq!(of_plan(&drive), 1, "{}", drive.shown());
    }
}
