//! Ends of tasks whose words name a tool of which nothing came: a weak model whose call was refused for its form writes down what should
//! have come of it, and says that all is done. No check of files shows that.

use crate::domain::decision::{Decision, Guard};
use crate::domain::tool::EffectClass;
use crate::strategy::guards::times_told;
use crate::strategy::paths::mentions;
use crate::strategy::text::has_word;
use crate::strategy::turn::Turn;
use crate::strategy::words::places::sentence_of;

/// How often it is told of a tool that only looks or that does the same again: what it brings may be known in another way.
const MOST_OBJECTIONS: usize = 2;

/// Tools for files and programs: what they do can be done in several ways.
const IN_MANY_WAYS: [&str; 3] = ["run_program", "shell_exec", "write_and_run"];

/// Words of a sentence that has a tool called at some time only, or not for certain.
const CONDITIONS: [&str; 8] = [
    "if",
    "when",
    "whenever",
    "unless",
    "until",
    "otherwise",
    "may",
    "can",
];

impl Turn<'_> {
    /// Tools that the task names outright and of which nothing came.
    fn tools_left(&self) -> impl Iterator<Item = &str> {
        let is_certain = |name: &&str| {
            let sentence = sentence_of(self.asked_for(), name).unwrap_or_default();
            let is_alone = !name.starts_with("fs_") && !IN_MANY_WAYS.contains(name);
            is_alone && !has_word(&sentence, &CONDITIONS)
        };
        self.tools_to_call().into_iter().filter(is_certain)
    }

    /// The first of them for which a plan has no part. `parts`: the plan's words, or the names of the tools that it calls.
    pub(in crate::strategy) fn tool_left_out(&self, parts: &str) -> Option<&str> {
        let mut left = self.tools_left();
        left.find(|name| mentions(parts, name).next().is_none())
    }

    /// Why a plan goes back, once, that leaves such a tool out.
    pub(in crate::strategy) fn left_out_of_plan(&self, parts: &str) -> Option<String> {
        let name = self.tool_left_out(parts)?;
        let words = format!("the task names the tool {name}, and nothing here calls it");
        (times_told(self.state, &words) == 0).then_some(words)
    }

    /// What such an end is told. What a tool does that has an effect nothing else stands for: without it, or two calls that failed, the
    /// task does not end well. None in a task that lives on: what it does differs from wake to wake.
    pub(in crate::strategy) fn unused_tool(&self) -> Option<Decision> {
        let state = self.state;
        if !self.profile.demand_proof || !self.may_end() || state.wakes().is_some() {
            return None;
        }
        let name = self.tools_left().next()?;
        let words = format!("nothing came of the tool {name}, which the task names");
        let tool = self.tool_of(name)?;
        let objects =
            tool.effect == EffectClass::Effect || times_told(state, &words) < MOST_OBJECTIONS;
        let more = match tool.effect {
            EffectClass::Effect => {
                "If it cannot be called, end the task and say that it is not done"
            }
            EffectClass::Read | EffectClass::Idempotent => {
                "If it is not to be called, end the task once more"
            }
        };
        objects.then(|| {
            let how = match (self.otherwise(), self.form_of_call(name)) {
                (Some(otherwise), _) => {
                    let call = otherwise
                        .call
                        .map_or_else(String::new, |call| format!("\n{call}"));
                    format!(
                        ". It says what to do then: \"{}\"{call}\n",
                        otherwise.sentence
                    )
                }
                (None, Some(call)) => format!(". Call it, with what the task says:\n{call}\n"),
                (None, None) => ". Call it, with what the task says. ".to_owned(),
            };
            let told = format!("{words}{how}{more}");
            self.block(Guard::Unfinished, told)
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::domain::task::{CallRecord, TaskStatus};
    use crate::domain::work::Work;
    use crate::strategy::drive::{Drive, call, carry_out, done, profile_of};
    use serde_json::json;

    const END: &str = "FINAL ANSWER: it is paid";

    fn drive(task: &str, effect: &str) -> Drive {
        let mut drive = Drive::new(profile_of("direct"), task);
        drive.bench.profile.demand_proof = true;
        let text = json!({"type": "string"});
        let pay = json!({"name": "ledger_pay", "effect": effect, "description": "Pays.", "args_schema":
            {"type": "object", "required": ["to"], "properties": {"to": text}}});
        drive.add_tools(vec![serde_json::from_value(pay).unwrap()]);
        drive.files.insert("/check.lua".into(), "print(1)".into());
        drive
    }

    fn check() -> String {
        call("run_program", json!({"path": "/check.lua"}))
    }

    #[test]
    fn an_end_without_a_call_of_the_tool_that_the_task_names_is_told_so_twice() {
        let mut drive = drive("Pay Turing with ledger_pay. Then run /check.lua.", "read");
        drive.say(&[&check(), END]);
        let told = "nothing came of the tool ledger_pay, which the task names. Call it, with what the task says:\n\
                    {\"tool\": \"ledger_pay\", \"args\": {\"to\":\"…\"}}";
        assert!(drive.shown().contains(told), "{}", drive.shown());
        drive.say(&[END]);
        assert!(drive.state().result.is_none());
        drive.say(&[END]);
        assert!(drive.state().result.is_some(), "{}", drive.shown());
    }

    #[test]
    fn without_an_effect_that_the_task_names_it_never_ends_well_unless_it_was_tried_twice() {
        let task = "Pay Turing with ledger_pay. Then run /check.lua.";
        let mut stubborn = drive(task, "effect");
        let most = stubborn.bench.profile.guards.bounces;
        stubborn.say(&[&check()]);
        for _ in 0..=most {
            stubborn.say(&[END]);
        }
        let result = stubborn.state().result.as_ref();
        assert!(
            result.is_none_or(|result| !result.success),
            "{}",
            stubborn.shown()
        );
        assert_eq!(stubborn.state().status, TaskStatus::Failed);

        let mut broken = drive(task, "effect");
        let pay = |to: &str| call("ledger_pay", json!({"to": to}));
        broken.say_with(
            &[&pay("Turing"), &pay("Ada"), &check(), END],
            |files, call| match call.tool.as_str() {
                "ledger_pay" => serde_json::from_value(
                    json!({"outcome": "failed", "error": "no account", "code": "handler_error"}),
                )
                .unwrap(),
                _ => carry_out(files, call),
            },
        );
        assert!(broken.state().result.is_some(), "{}", broken.shown());
    }

    #[test]
    fn nothing_is_told_once_it_was_called_and_of_what_can_be_done_in_several_ways() {
        let pays = |files: &mut _, call: &CallRecord| match call.tool.as_str() {
            "ledger_pay" => done(json!({"to": "Turing"})),
            _ => carry_out(files, call),
        };
        let pay = call("ledger_pay", json!({"to": "Turing"}));
        for (task, first) in [
            ("Pay Turing with ledger_pay. Run /check.lua.", pay),
            (
                "Look with fs_list and run_program. Run /check.lua.",
                check(),
            ),
            ("Run /check.lua, and do not use ledger_pay.", check()),
            ("Run /check.lua. If it fails, pay with ledger_pay.", check()),
        ] {
            let mut drive = drive(task, "effect");
            drive.say_with(&[&first, &check(), END], pays);
            assert!(drive.state().result.is_some(), "{task}: {}", drive.shown());
        }
    }

    #[test]
    fn a_plan_that_leaves_out_a_tool_that_the_task_names_goes_back_once() {
        let list = "1. Write /paid.txt\n2. Run /check.lua";
        let step = |id: u32, action: &str, target: &str| {
            json!({"id": id, "action": action, "target": target, "reason": "as asked",
            "depends_on": [], "params": {}})
        };
        let steps = json!({"goal": "paid", "steps": [step(1, "write_file", "/paid.txt"), step(2, "run_test", "/check.lua")]}).to_string();
        for (strategy, said, how) in [
            ("numbered", list, "add the item that does"),
            ("plan", &steps, "add the step that does"),
        ] {
            let told = "the task names the tool ledger_pay, and nothing here calls it: ";
            let task = "Pay Turing with ledger_pay. Write /paid.txt and run /check.lua.";
            let mut other = drive(task, "effect");
            other.bench.profile = profile_of(strategy);
            other.say(&[said]);
            let shown = other.shown();
            assert!(
                shown.contains(&format!("{told}{how}")),
                "{strategy}: {shown}"
            );
            assert_eq!(other.state().calls().count(), 0, "{strategy}");
            other.say(&[said]);
            let is_adopted = match &other.state().work {
                Work::None => false,
                Work::Plan(plan) => !plan.plans.is_empty(),
                Work::List(_) | Work::Goals(_) => true,
            };
            assert!(is_adopted, "{strategy}: {}", other.shown());
        }
    }

    #[test]
    fn a_decomposition_gets_a_subtask_for_such_a_tool_in_the_place_of_its_sentence() {
        let subtask = |tool: &str, target: &str| json!({"description": "it is done", "tool": tool, "targets": [target]});
        let subtasks = [
            subtask("fs_write", "/paid.txt"),
            subtask("run_program", "/check.lua"),
        ];
        let goals = json!({"objectives": [{"description": "paid", "subtasks": subtasks}]});
        for (task, place) in [
            (
                "Pay Turing with ledger_pay. Write /paid.txt and run /check.lua.",
                0,
            ),
            (
                "Write /paid.txt, pay Turing with ledger_pay and run /check.lua.",
                1,
            ),
            (
                "Write /paid.txt and run /check.lua. Pay Turing with ledger_pay.",
                2,
            ),
        ] {
            let mut other = drive(task, "effect");
            other.bench.profile = profile_of("goals");
            other.say(&[&goals.to_string()]);
            let Work::Goals(work) = &other.state().work else {
                panic!("{}", other.shown());
            };
            let plans: Vec<_> = work.subtasks().map(|(_, subtask)| &subtask.plan).collect();
            assert_eq!(plans[place].tool, "ledger_pay", "{task}");
            assert!(plans[place].description.contains("Turing") && plans[place].needs_change);
            assert_eq!(plans.len(), 3);
        }
    }
}
