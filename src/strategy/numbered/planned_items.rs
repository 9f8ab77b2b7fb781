//! What becomes of a plan's items before it is adopted: small models plan what does nothing, what the task tells to leave alone, or another
//! thing than it wants, and follow their plan from then on, whatever they are told.

use super::Course;
use super::item_calls::call_in;
use crate::domain::call::Target;
use crate::domain::files::from_root;
use crate::domain::work::ReactMove;
use crate::strategy::alone::mending::WRITE;
use crate::strategy::alone::moved_files::MOVE;
use crate::strategy::answers::shell_words::call_of_line;
use crate::strategy::guards::copied_instead::{self, COPY};
use crate::strategy::paths::{mentions, normal};
use crate::strategy::words::stated;
use serde_json::{Value, json};

impl Course<'_> {
    /// The call that an item is: its tool, and what that takes by name.
    fn planned_call(&self, item: &str) -> Option<(String, Value)> {
        let in_order = || call_of_line(item, &self.turn.tools(None));
        match call_in(item) {
            Some(ReactMove::Act { tool, args }) => {
                let args = self.whole_args(&tool, &args);
                Some((tool, args))
            }
            Some(ReactMove::Answer { .. }) => None,
            None => in_order(),
        }
    }

    /// Why a plan goes back, once, that copies what the task wants moved: its items are what its model says from then on.
    pub(super) fn copies_for_moves(&self, items: &[String]) -> Option<String> {
        items.iter().find_map(|item| {
            let (tool, args) = self.planned_call(item)?;
            let from = args.get("from")?.as_str()?;
            let told = copied_instead::in_plan(self.turn.state, &tool, from)?;
            let moved = item.replacen(&tool, "fs_move", 1);
            Some(format!("{told}: write such items as \"{moved}\""))
        })
    }

    /// A plan without items that copy a file onto itself where the task has it, on another computer, or that change or take what the task tells to
    /// leave as it is; as it is if nothing else is in it.
    pub(super) fn without_vain_items(&self, items: Vec<String>) -> Vec<String> {
        let is_vain = |item: &String| {
            self.planned_call(item).is_some_and(|(tool, args)| {
                self.turn.copies_onto_itself(&tool, &args)
                    || self.turn.left_alone(&Target::Any, &tool, &args).is_some()
                    || self
                        .turn
                        .takes_left_item(&Target::Any, &tool, &args)
                        .is_some()
            })
        };
        match items.iter().all(is_vain) {
            true => items,
            false => items.into_iter().filter(|item| !is_vain(item)).collect(),
        }
    }

    /// A plan that calls a tool which it makes, where another computer has it and the task only wants it called; as it is if nothing else is in
    /// it, and the tool was called. A small model that is told so writes the same plan once more.
    pub(super) fn calling_what_is_there(&self, items: Vec<String>) -> Vec<String> {
        let mut whole: Vec<String> = Vec::with_capacity(items.len());
        for item in &items {
            let Some(name) = self.made_for_call(item) else {
                whole.push(item.clone());
                continue;
            };
            // What writes its file says its name, too.
            let calls_it = |item: &String| match self.planned_call(item) {
                Some((tool, _)) => tool.rsplit('/').next() == Some(name.as_str()),
                None => names(item, &name),
            };
            let is_due = self.turn.tools_to_call().contains(&name.as_str());
            if is_due && !items.iter().chain(&whole).any(calls_it) {
                whole.push(format!("{name} {}", self.turn.args_to_give(&name)));
            }
        }
        if whole.is_empty() { items } else { whole }
    }

    /// A plan whose items write what they copy or move, where the first look did not find it, the task wants it made, and no item before writes it:
    /// small models read "make the files /a.txt and /b.txt" and copy them.
    pub(super) fn writing_what_is_missing(&self, items: Vec<String>) -> Vec<String> {
        let mut whole: Vec<String> = Vec::with_capacity(items.len());
        for item in items {
            let path = self.copied_though_missing(&item);
            let is_new = |path: &String| !whole.iter().any(|item| names(item, path));
            whole.push(match path.filter(is_new) {
                Some(path) => self.item_that_writes(&path),
                None => item,
            });
        }
        whole
    }

    /// The file, without its first slash, that an item copies or moves although it is not there and is to be made.
    fn copied_though_missing(&self, item: &str) -> Option<String> {
        let (tool, args) = self.planned_call(item)?;
        let path = normal(args.get("from")?.as_str()?);
        let turn = &self.turn;
        let is_missing = [COPY, MOVE].contains(&tool.as_str())
            && turn.was_not_there(&path, None)
            && stated::is_to_be_made(turn.asked_for(), &path);
        (is_missing && turn.schema_of(WRITE).is_some()).then_some(path)
    }

    fn item_that_writes(&self, path: &str) -> String {
        let rooted = from_root(path);
        match stated::content_said(self.turn.asked_for(), path) {
            Some(content) => format!("{WRITE} {}", json!({"path": rooted, "content": content})),
            None => format!("{WRITE} {rooted}"),
        }
    }

    /// The tool that an item makes in the place of calling it.
    fn made_for_call(&self, item: &str) -> Option<String> {
        let (tool, args) = self.planned_call(item)?;
        let turn = &self.turn;
        turn.made_though_elsewhere(&Target::Any, &tool, &args)?;
        Some(args.get("name")?.as_str()?.to_owned())
    }
}

fn names(item: &str, path: &str) -> bool {
    mentions(item, path).next().is_some()
}

#[cfg(test)]
mod tests {
    use crate::domain::tool::ToolSpec;
    use crate::strategy::drive::{Drive, carry_out, done, profile_of, profile_with_asides};
    use crate::strategy::numbered::NAME;
    use serde_json::json;

    /// A task that wants a tool of `mine` called, on a computer that makes tools.
    fn fleet() -> Drive {
        let task = "Pay Turing with the tool ledger_pay of mine. Write that to /a.txt.";
        let tools = |name: &str, needs: &str| -> Vec<ToolSpec> {
            let tool = json!({"name": name, "effect": "effect", "description": "Does it.", "args_schema":
                {"type": "object", "required": [needs], "properties": {needs: {"type": "string"}}}});
            vec![serde_json::from_value(tool).unwrap()]
        };
        let mut drive = Drive::new(profile_of(NAME), task);
        drive.add_tools([tools("tool_write", "name"), tools("tool_activate", "name")].concat());
        drive.add_computer("mine");
        drive.fleet.computers[1].tools = tools("ledger_pay", "to").into();
        drive
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
    fn an_item_that_copies_a_file_which_is_missing_and_to_be_made_writes_it() {
        let task = "Make the two files /rooms/1.txt and /rooms/2.txt; each holds one line, `room 1` and `room 2`. /old.txt stays.";
        let plan = "1. fs_copy /rooms/1.txt /rooms/1_copy.txt\n2. fs_copy /rooms/2.txt /rooms/2_copy.txt\n\
                    3. fs_copy /rooms/2.txt /last.txt\n4. fs_copy /old.txt /kept.txt";
        let mut drive = Drive::new(profile_with_asides(NAME), task);
        drive.files.insert("/old.txt".into(), "x".into());
        drive.add_copy();
        drive.say(&[plan]);
        let shown = drive.shown();
        let adopted = "1. [now] fs_write {\"content\":\"room 1\\n\",\"path\":\"/rooms/1.txt\"}\n\
                       2. [open] fs_write {\"content\":\"room 2\\n\",\"path\":\"/rooms/2.txt\"}\n\
                       3. [open] fs_copy /rooms/2.txt /last.txt\n4. [open] fs_copy /old.txt /kept.txt\n";
        assert!(shown.contains(adopted), "{shown}");
        // What an item before makes may be copied.
        let plan = "1. write /rooms/1.txt\n2. fs_copy /rooms/1.txt /rooms/2.txt";
        let mut drive = Drive::new(profile_with_asides(NAME), task);
        drive.add_copy();
        drive.say(&[plan]);
        let shown = drive.shown();
        assert!(shown.contains("2. [open] fs_copy /rooms/1.txt"), "{shown}");
    }

    #[test]
    fn an_item_that_makes_a_tool_which_another_computer_has_calls_it_instead_once() {
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
            let mut drive = fleet();
            drive.say(&[&plan]);
            let shown = drive.shown();
            assert!(shown.contains(adopted), "{shown}");
        }
    }

    #[test]
    fn a_plan_written_anew_that_makes_the_tool_once_more_does_not_call_it_twice() {
        let mut drive = fleet();
        let pays = "Action: ledger_pay\nAction Input: {\"to\": \"Turing\"}";
        let anew = "Plan:\n1. tool_activate ledger_pay\n2. write /a.txt\nAction: fs_list\nAction Input: {}";
        drive.say_with(
            &["1. pay with ledger_pay\n2. write /a.txt", pays, anew],
            |files, call| match call.tool.as_str() {
                "ledger_pay" => done(json!({"paid": true})),
                _ => carry_out(files, call),
            },
        );
        let shown = drive.shown();
        let left = "# The plan now\n\n1. [now] write /a.txt\n\n";
        assert!(shown.contains(left), "{shown}");
    }
}
