//! A call as its model means it, before it is checked: where it goes, what it calls, and with what. Small models name a tool of another system,
//! a computer where a path belongs, or a value in a way of their own; what has one meaning is not sent back.

use super::meant_edits;
use super::meant_programs::meant_programs;
use super::own_name;
use super::own_share;
use super::run_tools;
use super::shell_words;
use super::tool_names;
use crate::domain::call::{Address, Target};
use crate::domain::ids::ClientId;
use crate::strategy::alone::tool_source;
use crate::strategy::family;
use crate::strategy::fleet::ToolLookup;
use crate::strategy::guards::{computer_as_folder, misplaced_program};
use crate::strategy::nap;
use crate::strategy::turn::Turn;
use crate::strategy::words::peripherals;
use serde_json::Value;
use std::borrow::Cow;

/// Gives arguments as they are meant, if they are written in another way.
type Mend<'a> = &'a dyn Fn(&Value) -> Option<Value>;

/// Such a call.
pub(in crate::strategy) struct MeantCall<'a> {
    pub target: Target,
    pub tool: String,
    pub parameters: Cow<'a, Value>,
    /// It is a sleep of the task's own.
    pub sleeps: bool,
}

impl Turn<'_> {
    pub(in crate::strategy) fn meant_call<'b>(
        &self,
        tool: &str,
        on: Option<&ClientId>,
        parameters: &'b Value,
    ) -> MeantCall<'b> {
        let (mut target, mut tool) = place_of(tool, on);
        let mut parameters = Cow::Borrowed(parameters);
        let sleeps = nap::sleeps(self.state, &tool);
        if sleeps {
            target = Target::Any;
        }
        if family::starts_task(self.state, &tool)
            && let Target::Computer(on) = &target
        {
            // It runs nowhere itself: the computer is meant for the task.
            parameters = Cow::Owned(family::with_computer(&parameters, on));
            target = Target::Any;
        }
        let tools = ToolLookup::at(self.state, &self.inputs.fleet, &target);
        if let Some(meant) = tool_names::meant(&tool, &tools) {
            tool = meant.to_owned();
        }
        let mut parameters = self.meant_args(&target, &tool, parameters);
        if let Some((on, meant, args)) = self.copy_across(&target, &tool, &parameters) {
            (target, tool) = (Target::Computer(on), meant.to_owned());
            parameters = Cow::Owned(args);
        }
        if let Some(on) = self.where_subtask_is(&target, &tool, &parameters) {
            target = Target::Computer(on);
        }
        if let Some((on, args)) = self.run_there(&target, &tool, &parameters) {
            target = Target::Computer(on);
            parameters = Cow::Owned(args);
        }
        let tools = ToolLookup::at(self.state, &self.inputs.fleet, &target);
        let meant = run_tools::meant(self.state, &tool, &parameters, &tools);
        let meant = meant.or_else(|| shell_words::meant(&tool, &parameters, &tools));
        let meant = meant.or_else(|| tool_source::meant_program(&tool, &parameters, &tools));
        let meant = meant.or_else(|| misplaced_program::meant_write(&tool, &parameters, &tools));
        if let Some((meant, args)) = meant {
            tool = meant;
            parameters = Cow::Owned(args);
        }
        MeantCall {
            target,
            tool,
            parameters,
            sleeps,
        }
    }

    /// What a model must mean by its arguments, where it writes them in a way of its own.
    fn meant_args<'b>(&self, target: &Target, tool: &str, args: Cow<'b, Value>) -> Cow<'b, Value> {
        let mends: [Mend<'_>; 7] = [
            &|args| meant_programs(self.asked_for(), tool, args),
            &|args| own_share::alone(self.asked_for(), tool, args),
            &|args| own_name::left_out(tool, args),
            &|args| peripherals::as_named(self.asked_for(), tool, args),
            &|args| computer_as_folder::left_out(self.state, target, tool, args),
            &|args| meant_edits::listed(tool, args),
            &|args| meant_edits::of_values(self.state, target, tool, args),
        ];
        mends.iter().fold(args, |args, mend| match mend(&args) {
            Some(mended) => Cow::Owned(mended),
            None => args,
        })
    }
}

/// Where a call goes and what it calls. A directive names another computer with ON; in the name of a tool an address
/// (`computer/tool`, `group:name/tool`) says the same, and ON wins.
fn place_of(tool: &str, on: Option<&ClientId>) -> (Target, String) {
    match (on.cloned(), Address::parse(tool)) {
        (Some(on), Ok(address)) => (Target::Computer(on), address.tool),
        (Some(on), Err(_)) => (Target::Computer(on), tool.to_owned()),
        (None, Ok(address)) => (address.target, address.tool),
        (None, Err(_)) => (Target::Any, tool.to_owned()),
    }
}
