//! An effect that was had already and is wanted once more: a small model pays again, because the check that would show its payment was not
//! run. Who means it says so.

use super::history::{self, Bearing, Entry};
use super::signature::Signature;
use super::times_told;
use crate::domain::call::Target;
use crate::domain::guard_rules::LoopRules;
use crate::domain::task::{CallRecord, TaskState};
use crate::domain::tool::EffectClass;
use crate::domain::work::Work;
use serde_json::Value;

/// How often it is told of one call.
const MOST_OBJECTIONS: usize = 2;

/// What is told of a call that was made exactly so since somebody outside last said anything, came out well and did something of which
/// nothing more is known. One without arguments is a move, which is made as often as there is way to go; and who writes a plan has
/// written down how often.
pub fn objection(
    state: &TaskState,
    rules: &LoopRules,
    target: &Target,
    tool: &str,
    args: &Value,
) -> Option<String> {
    let has_args = args.as_object().is_some_and(|args| !args.is_empty());
    let is_effect = |call: &CallRecord| {
        let intended = call.intended.as_ref();
        call.tool == tool && intended.is_some_and(|call| call.effect == EffectClass::Effect)
    };
    // Most calls are none of these, and no history is looked at for them.
    if !has_args || matches!(state.work, Work::Plan(_)) || !state.calls().any(is_effect) {
        return None;
    }
    let wanted = Signature::of(target, tool, args, state.home());
    let history = history::of(state, rules);
    let mut since = history
        .iter()
        .rev()
        .take_while(|entry| **entry != Entry::News);
    since.find(|entry| match entry {
        Entry::Call(past) => past.call == wanted && past.bearing == Bearing::Acts,
        Entry::News | Entry::Refused(_) => false,
    })?;
    let words = format!("this was done before and came out well: {}", wanted.words());
    (times_told(state, &words) < MOST_OBJECTIONS).then(|| {
        format!(
            "{words}. Done again it happens again. Go on with what is still to be done, or run what shows how it stands; only if the \
             task wants it once more, say it again"
        )
    })
}

#[cfg(test)]
mod tests {
    use crate::domain::call::CallReport;
    use crate::domain::task::CallRecord;
    use crate::strategy::drive::{Drive, call, carry_out, done, profile_of};
    use serde_json::json;
    use std::collections::BTreeMap;

    fn pay(to: &str) -> String {
        call("ledger_pay", json!({"to": to}))
    }

    /// A computer that pays, dims a lamp and goes.
    fn computer(files: &mut BTreeMap<String, String>, call: &CallRecord) -> CallReport {
        match call.tool.as_str() {
            "ledger_pay" if call.args["to"] == "nobody" => {
                done(json!({"success": false, "error": "there is no nobody"}))
            }
            "ledger_pay" | "lamp_set" | "go" => done(json!({"done": true})),
            _ => carry_out(files, call),
        }
    }

    fn drive() -> Drive {
        let mut drive = Drive::new(profile_of("direct"), "Pay Ada and Alan.");
        let text = json!({"type": "string"});
        let tool = |name: &str, effect: &str, required: &[&str]| {
            let tool = json!({"name": name, "effect": effect, "description": name, "args_schema":
                {"type": "object", "required": required, "properties": {"to": text}}});
            serde_json::from_value(tool).unwrap()
        };
        drive.add_tools(vec![
            tool("ledger_pay", "effect", &["to"]),
            tool("lamp_set", "idempotent", &["to"]),
            tool("go", "effect", &[]),
        ]);
        drive
    }

    fn times(drive: &Drive, tool: &str) -> usize {
        let calls = drive.state().calls();
        calls.filter(|call| call.tool == tool).count()
    }

    #[test]
    fn who_pays_once_more_is_told_twice_that_it_was_done_and_then_pays() {
        let mut drive = drive();
        drive.say_with(
            &[&pay("Ada"), &pay("Alan"), &pay("Ada"), &pay("Ada")],
            computer,
        );
        let told = "this was done before and came out well: ledger_pay";
        assert_eq!(drive.shown().matches(told).count(), 2, "{}", drive.shown());
        assert_eq!(times(&drive, "ledger_pay"), 2);
        drive.say_with(&[&pay("Ada")], computer);
        assert_eq!(times(&drive, "ledger_pay"), 3);
    }

    #[test]
    fn what_failed_what_is_set_and_where_somebody_goes_is_done_again() {
        let mut drive = drive();
        let set = call("lamp_set", json!({"to": "7"}));
        let go = call("go", json!({}));
        for (tool, said) in [("ledger_pay", pay("nobody")), ("lamp_set", set), ("go", go)] {
            drive.say_with(&[&said, &said], computer);
            assert_eq!(times(&drive, tool), 2, "{}", drive.shown());
        }
    }
}
