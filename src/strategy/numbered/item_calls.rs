//! Items of a plan that are a whole call, `fs_move("/a.txt", "/archive/a.txt")`: a small model plans so, and then says its item again in
//! the place of an action, or the next one. What such an item says needs no model any more.

use super::{Course, bare_line, function_call};
use crate::domain::by_rule::ByRule;
use crate::domain::call::{Address, Outcome, Target};
use crate::domain::decision::Decision;
use crate::domain::tool::EffectClass;
use crate::domain::work::{ListWork, ReactMove, ReactRead, begins_with_run};
use crate::strategy::alone::mending::RUN;
use crate::strategy::answers::shell_words::call_of_line;
use crate::strategy::fleet::ToolLookup;
use crate::strategy::guards::copied_instead;
use crate::strategy::paths::mentions;
use crate::strategy::words::asked_runs;
use crate::strategy::words::stated;
use serde_json::Value;

/// What is called so beside tools that only look. Nothing that cannot be made undone, and no tool of which only its owner knows what it
/// does.
const CALLED: [&str; 4] = ["fs_write", "fs_copy", "fs_move", "run_program"];

impl Course<'_> {
    /// Carries the current item out, if it is a call and nothing was done in it yet, and all that the call says is known: a plan is
    /// made before anything was seen, and what it makes up is for the model to say once more.
    pub(super) fn item_by_rule(&self, list: &ListWork) -> Option<Decision> {
        let (_, item) = list.current()?;
        if item.succeeded > 0 || item.failed > 0 {
            return None;
        }
        let (tool, parameters) = match call_in(&item.text) {
            Some(ReactMove::Act { tool, args }) => {
                let tool = self.turn.meant_tool(&tool).unwrap_or(tool);
                let parameters = self.whole_args(&tool, &args);
                (tool, parameters)
            }
            Some(_) => return None,
            None => (RUN.to_owned(), self.run_in(&item.text)?),
        };
        let mut made = self.turn.state.calls();
        // What may or may not have happened is the model's to look at.
        let is_certain = made.all(|call| call.outcome() != Some(Outcome::Unknown));
        let may = is_certain && self.may_be_called(&tool);
        if !may || !is_known(&parameters, &self.known_words()) {
            return None;
        }
        self.turn
            .call_by_rule(ByRule::PlanItem, &tool, parameters, None)
    }

    /// The call that the current item is, where its model was asked for it just now and says once more that the item is done: it has written
    /// the call into its plan, and a small model takes what it planned for done.
    pub(super) fn claimed_call(&self, said: &ReactRead, list: &ListWork) -> Option<ReactMove> {
        let (_, item) = list.current()?;
        let newest = self.turn.state.newest_closed()?.blocked.as_ref()?;
        let was_asked = newest.evidence.starts_with(&super::after_item_done(list));
        let nothing_done = item.succeeded == 0 && item.failed == 0;
        if said.next.is_some() || said.item_done.is_none() || !was_asked || !nothing_done {
            return None;
        }
        call_in(&item.text).filter(|call| match call {
            ReactMove::Act { tool, .. } => self.may_be_called(tool),
            ReactMove::Answer { .. } => false,
        })
    }

    /// The only run of a program of which the task speaks, where an item says in words that this program is run; none while nobody can
    /// tell whether that is meant on the task's own computer.
    fn run_in(&self, item: &str) -> Option<Value> {
        let turn = &self.turn;
        let asked = asked_runs::asked(turn.asked_for());
        let is_named = |run: &&String| {
            let program = asked_runs::program_of(run);
            mentions(item, &program).next().is_some()
        };
        let named: Vec<&String> = asked.iter().filter(is_named).collect();
        let [run] = named.as_slice() else {
            return None;
        };
        let place = turn.place_of(&asked_runs::program_of(run))?;
        let is_own = turn.unless_own(place).is_none();
        (begins_with_run(item) && is_own).then(|| asked_runs::args_of(run))
    }

    /// Why a plan goes back, once, that copies what the task wants moved: its items are what its model says from then on.
    pub(super) fn copies_for_moves(&self, items: &[String]) -> Option<String> {
        items.iter().find_map(|item| {
            let ReactMove::Act { tool, args } = call_in(item)? else {
                return None;
            };
            let args = self.whole_args(&tool, &args);
            let from = args.get("from")?.as_str()?;
            let told = copied_instead::in_plan(self.turn.state, &tool, from)?;
            let moved = item.replacen(&tool, "fs_move", 1);
            Some(format!("{told}: write such items as \"{moved}\""))
        })
    }

    /// A plan without items that copy a file onto itself where the task has it, on another computer, or that change what the task tells to leave
    /// as it is; as it is if nothing else is in it.
    pub(super) fn without_vain_items(&self, items: Vec<String>) -> Vec<String> {
        let is_vain = |item: &String| match call_in(item) {
            Some(ReactMove::Act { tool, args }) => {
                let args = self.whole_args(&tool, &args);
                let left_alone = || self.turn.left_alone(&Target::Any, &tool, &args);
                self.turn.copies_onto_itself(&tool, &args) || left_alone().is_some()
            }
            _ => false,
        };
        match items.iter().all(is_vain) {
            true => items,
            false => items.into_iter().filter(|item| !is_vain(item)).collect(),
        }
    }

    /// A plan that calls a tool which it makes, where another computer has it and the task only wants it called. A small model that is told so
    /// writes the same plan once more.
    pub(super) fn calling_what_is_there(&self, items: Vec<String>) -> Vec<String> {
        let tools = self.turn.tools(None);
        let called = |item: &str| {
            call_of_line(item, &tools).or_else(|| match call_in(item)? {
                ReactMove::Act { tool, args } => {
                    let args = self.whole_args(&tool, &args);
                    Some((tool, args))
                }
                ReactMove::Answer { .. } => None,
            })
        };
        let made = |item: &str| {
            let (tool, args) = called(item)?;
            self.turn
                .made_though_elsewhere(&Target::Any, &tool, &args)?;
            Some(args.get("name")?.as_str()?.to_owned())
        };
        let mut whole: Vec<String> = Vec::with_capacity(items.len());
        for item in &items {
            let Some(name) = made(item) else {
                whole.push(item.clone());
                continue;
            };
            // What writes its file says its name, too.
            let calls_it = |item: &String| match called(item) {
                Some((tool, _)) => tool.rsplit('/').next() == Some(name.as_str()),
                None => mentions(item, &name).next().is_some(),
            };
            if !items.iter().chain(&whole).any(calls_it) {
                whole.push(format!("{name} {}", self.turn.args_to_give(&name)));
            }
        }
        whole
    }

    fn may_be_called(&self, tool: &str) -> bool {
        let turn = &self.turn;
        let meant = turn.meant_tool(tool);
        let Ok(address) = Address::parse(meant.as_deref().unwrap_or(tool)) else {
            return false;
        };
        if address.tool == "run_program" && stated::forbids_runs(turn.asked_for()) {
            return false;
        }
        let tools = ToolLookup::at(turn.state, &turn.inputs.fleet, &address.target);
        let usable = tools.usable(turn.profile);
        let mut named = usable.iter().filter(|tool| tool.name == address.tool);
        named
            .any(|tool| tool.effect == EffectClass::Read || CALLED.contains(&address.tool.as_str()))
    }

    /// The task's words, what was given with it, and what people answered.
    fn known_words(&self) -> String {
        let state = self.turn.state;
        let mut words = self.turn.asked_for().to_owned();
        if let Some(created) = &state.created {
            words.push_str(&created.context.to_string());
        }
        let asked = state.steps.iter().filter_map(|step| step.question.as_ref());
        for answer in asked.filter_map(|asked| asked.answer.as_ref()) {
            words.push('\n');
            words.push_str(&answer.answer);
        }
        words
    }
}

/// A plan without the items that copy or move a file onto itself, which do nothing; as it is if there is nothing else in it.
pub(super) fn without_self_copies(items: &[String]) -> Vec<String> {
    let does_nothing = |item: &&String| match call_in(item) {
        Some(ReactMove::Act { tool, args }) if matches!(tool.as_str(), "fs_copy" | "fs_move") => {
            let (from, to) = match &args {
                Value::Array(values) => (values.first(), values.get(1)),
                args => (args.get("from"), args.get("to")),
            };
            from.is_some() && from == to
        }
        _ => false,
    };
    let left: Vec<String> = items
        .iter()
        .filter(|item| !does_nothing(item))
        .cloned()
        .collect();
    if left.is_empty() {
        items.to_vec()
    } else {
        left
    }
}

/// Endings of a copy that is kept beside its file.
const KEPT: [&str; 5] = [".bak", ".old", ".orig", ".backup", ".copy"];

/// The call that an item is, and nothing else.
pub(super) fn call_in(item: &str) -> Option<ReactMove> {
    let item = item.trim().trim_end_matches('.');
    if item.contains('\n') {
        return None;
    }
    match function_call::at_end(item) {
        Some(read) => read.ok().map(|(call, _)| call),
        None => bare_line::call(item),
    }
}

/// Whether every text and number of a call stands among known words; of a path it is enough if its file and its folder do, and a copy beside
/// its file (`/a.lua.bak`) is one of it.
fn is_known(args: &Value, words: &str) -> bool {
    match args {
        Value::String(text) => is_known_text(text.trim(), words),
        Value::Number(number) => is_known_text(&number.to_string(), words),
        Value::Array(items) => items.iter().all(|item| is_known(item, words)),
        Value::Object(fields) => fields.iter().all(|(name, value)| {
            let of = fields.get("from").filter(|_| name == "to");
            let kept = of.and_then(|of| value.as_str()?.strip_prefix(of.as_str()?));
            kept.is_some_and(|ending| KEPT.contains(&ending)) || is_known(value, words)
        }),
        Value::Bool(_) | Value::Null => true,
    }
}

fn is_known_text(text: &str, words: &str) -> bool {
    let stands = |text: &str| {
        let mut places = words.match_indices(text);
        places.any(|(at, _)| {
            let before = words[..at].chars().next_back();
            let after = words[at + text.len()..].chars().next();
            [before, after]
                .iter()
                .all(|c| c.is_none_or(|c| !c.is_alphanumeric()))
        })
    };
    if text.is_empty() || stands(text) {
        return true;
    }
    match text.rsplit_once('/') {
        Some((folder, file)) if !file.is_empty() => {
            (folder.is_empty() || stands(folder)) && stands(file)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::call::CallReport;
    use crate::domain::decision::Contract;
    use crate::domain::task::CallRecord;
    use crate::domain::tool::ToolSpec;
    use crate::domain::work::Work;
    use crate::strategy::drive::{Drive, carry_out, done, profile_of};
    use crate::strategy::numbered::NAME;
    use proptest::prelude::*;
    use serde_json::json;

    const TASK: &str = "Write the one word red to /a.txt and run /check.lua at the end.";

    /// The task after its model has planned so.
    fn planned(task: &str, plan: &str) -> Drive {
        let mut drive = Drive::new(profile_of(NAME), task);
        drive
            .files
            .insert("/check.lua".into(), "all is right".into());
        drive.say(&[plan]);
        drive
    }

    fn made(drive: &Drive) -> Vec<(&str, &Value)> {
        let calls = drive.state().calls();
        calls.map(|call| (call.tool.as_str(), &call.args)).collect()
    }

    #[test]
    fn items_that_are_whole_calls_are_carried_out_without_their_model() {
        for plan in [
            "1. fs_write(\"/a.txt\", \"red\")\n2. run_program(\"/check.lua\")",
            "1. `fs_write /a.txt \"red\"`\n2. run_program /check.lua.",
            "1. fs_write({\"path\": \"/a.txt\", \"content\": \"red\"})\n2. run_program(\"/check.lua\")",
            "1. fs_write /a.txt \"red\"\n2. Run /check.lua and look for what it prints",
            "1. fs_write /a.txt \"red\"\n2. run_program /check.lua",
        ] {
            let mut drive = planned(TASK, plan);
            assert_eq!(drive.files["/a.txt"], "red", "{plan}");
            let tools: Vec<&str> = made(&drive).iter().map(|(tool, _)| *tool).collect();
            assert_eq!(tools, ["fs_write", "run_program"], "{plan}");
            assert_eq!(drive.state().usage.model_calls, 1, "{plan}");
            let shown = drive.shown();
            for part in ["1. [done]", "2. [done]", "## run /check.lua on base: done"] {
                assert!(shown.contains(part), "{plan}: {part}\n{shown}");
            }
            assert!(!drive.say(&["Thought: both are done\nFinal Answer: it is red"]));
        }
    }

    #[test]
    fn what_a_plan_makes_up_and_what_cannot_be_undone_is_for_the_model_to_say() {
        for (task, item) in [
            (TASK, "fs_write(\"/a.txt\", \"the right word\")"),
            (TASK, "fs_write(\"/b.txt\", \"red\")"),
            (TASK, "Write red to /a.txt with fs_write"),
            (TASK, "fs_write(\"/a.txt\")"),
            (TASK, "fs_write(\"/a.txt\", \"…\")"),
            ("Delete /a.txt.", "fs_delete(\"/a.txt\")"),
            (TASK, "run_program(\"/checks.lua\")"),
            (
                "Mend /check.lua, but do not run it.",
                "run_program(\"/check.lua\")",
            ),
        ] {
            let drive = planned(task, &format!("1. {item}\n2. run /check.lua"));
            assert_eq!(made(&drive), [], "{item}");
            assert_eq!(drive.state().usage.model_calls, 1, "{item}");
        }
    }

    #[test]
    fn an_item_that_is_said_to_be_done_again_in_the_place_of_its_call_is_called() {
        let mut drive = planned(
            "Write /a.lua, which prints a word, and run it.",
            "1. fs_copy /a.lua /a.lua\n2. fs_write /a.lua \"print('made up')\"\n3. fs_delete /check.lua",
        );
        assert!(
            !drive.shown().contains("fs_copy /a.lua"),
            "{}",
            drive.shown()
        );
        drive.say(&["Item done"]);
        assert_eq!(made(&drive), []);
        drive.say(&["Item done"]);
        assert_eq!(drive.files["/a.lua"], "print('made up')");
        // What cannot be undone is not.
        drive.say(&["Item done", "Item done", "Item done"]);
        assert_eq!(made(&drive).len(), 1, "{}", drive.shown());
    }

    #[test]
    fn an_item_that_copies_a_file_onto_itself_on_another_computer_is_left_out() {
        let task = "The computer `mine` has the file /map.txt. Bring it to the computer `depot`.";
        let mut drive = Drive::new(profile_of(NAME), task);
        drive.add_computer("mine");
        drive.add_computer("depot");
        drive.add_copy();
        drive.say(&["1. fs_copy /map.txt mine\n2. fs_copy /map.txt depot"]);
        let shown = drive.shown();
        let left = "1. [now] fs_copy /map.txt depot";
        assert!(
            shown.contains(left) && !shown.contains("/map.txt mine"),
            "{shown}"
        );
    }

    #[test]
    fn an_item_that_changes_what_is_to_be_left_as_it_is_is_left_out() {
        let task =
            "/lights.lua fails. You must not change anything below /vault. Mend it and run it.";
        let plan = "1. fs_copy /vault/a.cfg /vault/a.cfg.bak\n2. fs_delete /vault/a.cfg\n3. write /lights.lua anew";
        let mut drive = Drive::new(profile_of(NAME), task);
        drive.add_copy();
        drive.say(&[plan]);
        let shown = drive.shown();
        assert!(shown.contains("1. [now] write /lights.lua"), "{shown}");
    }

    #[test]
    fn an_item_that_makes_a_tool_which_another_computer_has_calls_it_instead_once() {
        let task = "Pay Turing with the tool ledger_pay of mine. Write that to /a.txt.";
        let tools = |name: &str, needs: &str| -> Vec<ToolSpec> {
            let tool = json!({"name": name, "effect": "effect", "description": "Does it.", "args_schema":
                {"type": "object", "required": [needs], "properties": {needs: {"type": "string"}}}});
            vec![serde_json::from_value(tool).unwrap()]
        };
        let makes = "tool_write(source = \"mine\", name = \"ledger_pay\")";
        for (plan, adopted) in [
            (
                format!("1. {makes}\n2. tool_activate(name = \"ledger_pay\")\n3. write /a.txt"),
                "1. [now] ledger_pay {\"to\":\"…\"}\n2. [open] write /a.txt\n",
            ),
            (
                "1. tool_activate ledger_pay\n2. write /a.txt".to_owned(),
                "1. [now] ledger_pay {\"to\":\"…\"}\n2. [open] write /a.txt\n",
            ),
            (
                format!("1. {makes}\n2. run_program(\"ledger_pay.lua\")"),
                "1. [now] ledger_pay {\"to\":\"…\"}\n2. [open] run_program",
            ),
            (
                format!("1. {makes}\n2. pay with ledger_pay\n3. write /a.txt"),
                "1. [now] pay with ledger_pay\n2. [open] write /a.txt\n",
            ),
        ] {
            let mut drive = Drive::new(profile_of(NAME), task);
            drive.add_tools([tools("tool_write", "name"), tools("tool_activate", "name")].concat());
            drive.add_computer("mine");
            drive.fleet.computers[1].tools = tools("ledger_pay", "to").into();
            drive.say(&[&plan]);
            let shown = drive.shown();
            assert!(shown.contains(adopted), "{shown}");
        }
    }

    #[test]
    fn what_is_looked_around_for_after_an_item_s_action_failed_does_not_make_the_item_look_done() {
        let mut drive = Drive::new(profile_of(NAME), "Tell what the notes say.");
        let find = json!({"name": "fs_find", "effect": "read", "description": "Finds."});
        drive.add_tools(vec![serde_json::from_value(find).unwrap()]);
        let reads = "Action: fs_read\nAction Input: {\"path\": \"/notes.txt\"}";
        let finds_nothing = |files: &mut _, call: &CallRecord| match call.tool.as_str() {
            "fs_find" => done(json!({"path": "/", "found": [], "truncated": false})),
            _ => carry_out(files, call),
        };
        drive.say_with(
            &["1. look into the notes\n2. tell it", reads],
            finds_nothing,
        );
        let looked = drive
            .state()
            .steps
            .iter()
            .any(|step| step.by_rule() == Some(ByRule::LookAround));
        let Work::List(list) = &drive.state().work else {
            panic!("{}", drive.shown());
        };
        let item = &list.items[0];
        assert_eq!(
            (looked, item.succeeded, item.failed),
            (true, 0, 1),
            "{}",
            drive.shown()
        );
    }

    #[test]
    fn an_item_whose_call_failed_is_the_model_s_and_is_not_called_again_by_rule() {
        let plan = "1. fs_read(\"/a.txt\")\n2. run_program(\"/check.lua\")";
        let drive = planned(TASK, plan);
        assert_eq!(made(&drive), [("fs_read", &json!({"path": "/a.txt"}))]);
        let asked = match drive.decisions.last() {
            Some(Decision::Consult(consult)) => consult.contract,
            other => panic!("{other:?}"),
        };
        assert_eq!(asked, Contract::React);
    }

    #[test]
    fn after_a_call_whose_fate_nobody_knows_each_item_is_the_model_s() {
        let mut drive = Drive::new(profile_of(NAME), "Run /check.lua, then run /pay.lua.");
        let plan = "1. run_program(\"/check.lua\")\n2. run_program(\"/pay.lua\")\n3. run_program(\"/check.lua\")";
        drive.say_with(&[plan], |_, _| {
            CallReport::without_answer(Outcome::Unknown, "lost", "nobody knows".to_owned())
        });
        assert_eq!(made(&drive).len(), 1, "{}", drive.shown());
        drive.say(&["Thought: on\nItem: 2\nAction: run_program\nAction Input: /pay.lua"]);
        assert_eq!(made(&drive).len(), 2, "{}", drive.shown());
    }

    #[test]
    fn a_path_is_known_by_its_file_and_its_folder_and_no_piece_of_a_word_is() {
        let words = "Move /a.txt and /b.txt into the folder /archive, at most 12 times.";
        for (text, known) in [
            ("/archive/a.txt", true),
            ("/a.txt", true),
            ("/archive/c.txt", false),
            ("/archiv/a.txt", false),
            ("/arch", false),
            ("12", true),
            ("1", false),
            ("", true),
        ] {
            assert_eq!(is_known_text(text, words), known, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_item_is_too_odd_to_look_for_a_call(item in "(fs_write|run_program|\\(|\\)|\"|/a|, |`|\\.|é| ){0,10}") {
            call_in(&item);
            is_known_text(&item, &item);
        }
    }
}
