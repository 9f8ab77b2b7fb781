//! What the steps of a first plan write, held against the task's words. Told to write a program that writes a file, small models plan to
//! write that file, and the program runs in no place; told to run a check that is there, they plan to write it first.

use super::leave_out::leave_out;
use super::targets::{absolute, program_of};
use crate::domain::files::from_root;
use crate::domain::work::plan::{PlanAction, PlanStep, TaskPlan};
use crate::strategy::guards::check_program::is_only_run;
use crate::strategy::paths::normal;
use crate::strategy::words::stated::program_that_writes;
use serde_json::Value;

/// The plan without steps that write a check of which the task only says that it runs, and with the program as what is written where a step
/// has the file that this program writes.
pub(super) fn as_told(plan: &TaskPlan, prompt: &str) -> TaskPlan {
    let mut plan = plan.clone();
    let is_told_check = |step: &PlanStep| {
        let check = bare_write(step).map(normal);
        check.is_some_and(|path| is_only_run(prompt, &path))
    };
    while plan.steps.len() > 1
        && let Some(at) = plan.steps.iter().position(is_told_check)
    {
        leave_out(&mut plan, at, None);
    }
    for at in 0..plan.steps.len() {
        write_the_program(&mut plan, prompt, at);
    }
    plan
}

/// A step with the file that a program of the task writes writes this program, where the plan runs it later and has no step that writes it.
fn write_the_program(plan: &mut TaskPlan, prompt: &str, at: usize) {
    use PlanAction::*;
    let file = bare_write(&plan.steps[at]).map(normal);
    let Some(program) = file.and_then(|file| program_that_writes(prompt, &file)) else {
        return;
    };
    let path = from_root(&program);
    let runs_it = |step: &PlanStep| {
        let target = step.target.as_deref();
        let run = target.filter(|_| matches!(step.action, RunProgram | RunTest));
        run.and_then(program_of).map(absolute).as_ref() == Some(&path)
            && step.on == plan.steps[at].on
    };
    let has_it = |step: &PlanStep| {
        let written = matches!(step.action, WriteFile | EditFile);
        written && step.target.as_deref().map(absolute).as_ref() == Some(&path)
    };
    if plan.steps[at..].iter().any(runs_it) && !plan.steps.iter().any(has_it) {
        let step = &mut plan.steps[at];
        step.reason = format!("to write {path}, as the task says");
        step.target = Some(path);
        step.expected_outcome = None;
    }
}

/// The file of a step that writes one and does not say what.
fn bare_write(step: &PlanStep) -> Option<&str> {
    let says_nothing = match &step.params {
        Value::Object(params) => params.is_empty(),
        params => params.is_null(),
    };
    let is_it = step.action == PlanAction::WriteFile && says_nothing;
    step.target.as_deref().filter(|_| is_it)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::plan::place::bench::plan_of;
    use serde_json::json;

    const TASK: &str = "Write /primes.lua, which writes all prime numbers up to its argument to /primes.txt, one a line. Run it with 30. \
        Then run /check.lua, which says whether it is right.";

    /// The steps of a plan as the task says, each as `action target`.
    fn told(task: &str, steps: &[(&str, &str)]) -> Vec<String> {
        let steps = steps.iter().zip(1..).map(|((action, target), id)| {
            let needs: Vec<u32> = (1..id).rev().take(1).collect();
            json!({"id": id, "action": action, "target": target, "reason": "r", "depends_on": needs})
        });
        let plan = as_told(&plan_of(steps.collect()), task);
        let ids: Vec<u32> = plan.steps.iter().map(|step| step.id).collect();
        assert_eq!(ids, (1..=ids.len() as u32).collect::<Vec<u32>>());
        let word = |step: &PlanStep| {
            let target = step.target.as_deref().unwrap_or_default();
            format!("{} {target}", step.action.as_str())
        };
        plan.steps.iter().map(word).collect()
    }

    #[test]
    fn the_program_is_written_and_not_the_file_that_it_writes() {
        let run = ("run_program", "/primes.lua 30");
        let told_so = ["write_file /primes.lua", "run_program /primes.lua 30"];
        assert_eq!(told(TASK, &[("write_file", "/primes.txt"), run]), told_so);
        for steps in [
            &[
                ("write_file", "/primes.lua"),
                run,
                ("write_file", "/primes.txt"),
            ][..],
            &[("write_file", "/other.txt"), run],
            &[("write_file", "/primes.txt"), ("run_test", "/check.lua")],
        ] {
            let same: Vec<String> = steps.iter().map(|(a, t)| format!("{a} {t}")).collect();
            assert_eq!(told(TASK, steps), same);
        }
        let reads = "Write /primes.lua, which reads /primes.txt. Run it.";
        let steps = [("write_file", "/primes.txt"), run];
        assert_eq!(told(reads, &steps)[0], "write_file /primes.txt");
    }

    #[test]
    fn a_check_that_the_task_only_wants_run_is_not_written() {
        let steps = [
            ("write_file", "/primes.lua"),
            ("run_program", "/primes.lua"),
            ("write_file", "/check.lua"),
            ("run_test", "/check.lua"),
        ];
        let left = told(TASK, &steps);
        assert_eq!(left.len(), 3, "{left:?}");
        assert_eq!(left[2], "run_test /check.lua");
        let own = "Write /primes.lua and a test /check.lua, and run both.";
        assert_eq!(told(own, &steps).len(), 4);
    }
}
