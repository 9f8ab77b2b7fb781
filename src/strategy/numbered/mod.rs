//! Source document 003: one planning call gives a numbered list, which lies in the task's state with a cursor; from then
//! on every turn is ReAct text. The planning boundary is the only place that is not the same for every turn.

mod bare_line;
mod bare_values;
mod function_call;
pub mod input;
mod item_calls;
pub mod labels;
pub mod list;
mod loose_json;
mod meant_items;
pub mod memory;
mod planned_items;
pub mod printer;
pub mod react;
mod ready;

pub(super) use bare_line::call as call_in_line;
pub(super) use meant_items::program_of_item;

use super::memory::Next;
use crate::domain::call::{Address, Target};
use crate::domain::chat::{OutputFormat, Role, StopReason};
use crate::domain::decision::{Contract, Decision, Guard, Inputs};
use crate::domain::directive::{StrictRequest, TaskResult, TranslatedBy};
use crate::domain::profile::Profile;
use crate::domain::read::Read;
use crate::domain::task::{Blocked, CallRecord, Step, TaskState};
use crate::domain::track::Track;
use crate::domain::work::{Advance, ListWork, MadeBy, ReactMove, ReactRead, Work};
use crate::strategy::calling::without_faults;
use crate::strategy::ends::unchanged::changes;
use crate::strategy::guards::history::may_have_changed;
use crate::strategy::shown_tools::skeleton;
use crate::strategy::turn::Turn;
use serde_json::{Value, json};

/// The strategy's name in kinds and journals.
pub const NAME: &str = "numbered";
/// Raised when a change would decide a running task differently.
pub const VERSION: u32 = 53;

/// The next move of a task that runs this strategy and has nothing open.
pub fn decide(state: &TaskState, profile: &Profile, inputs: &Inputs) -> Option<Decision> {
    let turn = Turn {
        state,
        profile,
        inputs,
        track: Track::MAIN,
        again: "Give the turn again: Thought, Action and Action Input, or a Final Answer, each at the start of a line.",
    };
    let course = Course { turn };
    turn.opening().or_else(|| match &state.work {
        Work::List(list) => course.take_turn(list),
        _ => Some(course.plan()),
    })
}

/// A task's course under this strategy.
struct Course<'a> {
    turn: Turn<'a>,
}

impl<'a> Course<'a> {
    /// The planning boundary: until a plan lies in the state.
    fn plan(&self) -> Decision {
        match self.turn.state.current_step() {
            None => {
                let before = self.turn.before_step().or_else(|| self.ready());
                let is_done = !self.turn.mended().is_empty()
                    || self.turn.has_typed()
                    || self.turn.is_proved();
                before.unwrap_or_else(|| match is_done {
                    // A small model plans once more what was done: what is left needs no list.
                    true => self.adopt_by_rule(),
                    false => self.consult_for_plan(),
                })
            }
            Some(step) if step.planner.is_none() => self.consult_for_plan(),
            Some(step) => self.adopt(step),
        }
    }

    fn consult_for_plan(&self) -> Decision {
        let prompt = memory::plan_prompt(&self.turn);
        let (role, format) = (Role::Planner, OutputFormat::Text);
        self.turn
            .consult(role, Contract::List, prompt, format, Vec::new())
    }

    fn adopt(&self, step: &Step) -> Decision {
        let tries = self.turn.state.steps.iter();
        let tries = tries.filter(|step| step.planner.is_some()).count();
        let is_last = tries >= self.turn.profile.numbered.plan_tries as usize;
        let problem = match &step.read {
            Some(Read::List(list)) if list.problems.is_empty() => {
                let items = meant_items::as_meant(&list.items, self.turn.asked_for());
                let items = self.without_vain_items(self.calling_what_is_there(items));
                let items = self.writing_what_is_missing(items);
                let problem = self.too_long(items.len());
                // Half a plan looks done too early; where no other comes it is better than none.
                let cut_off = list.cut_off && !is_last;
                let cut_off = cut_off.then(|| "the end of the list is missing.".to_owned());
                let copies = || self.copies_for_moves(&items).filter(|_| !is_last);
                let left_out = || {
                    let left_out = self.turn.left_out_of_plan(&items.join("\n"));
                    let told = left_out.filter(|_| !is_last)?;
                    Some(format!("{told}: add the item that does"))
                };
                match problem.or(cut_off).or_else(copies).or_else(left_out) {
                    None => {
                        return Decision::Advance {
                            advance: Advance::ListAdopted {
                                items,
                                by: MadeBy::Model,
                            },
                        };
                    }
                    Some(problem) => problem,
                }
            }
            Some(Read::List(list)) => list.problems.join("; "),
            _ => "the answer could not be read".to_owned(),
        };
        if is_last {
            return self.adopt_by_rule();
        }
        let cut = cut_off(step);
        self.turn
            .block(Guard::Unreadable, format!("{problem}{cut}"))
    }

    /// A plan of one item: the task itself. So a model that cannot plan may still act.
    fn adopt_by_rule(&self) -> Decision {
        let created = self.turn.state.created.as_ref();
        let prompt = created.map(|c| c.prompt.as_str()).unwrap_or_default();
        let line = prompt.split_whitespace().collect::<Vec<_>>().join(" ");
        let item: String = line.chars().take(400).collect();
        Decision::Advance {
            advance: Advance::ListAdopted {
                items: vec![item],
                by: MadeBy::Rules,
            },
        }
    }

    fn too_long(&self, items: usize) -> Option<String> {
        let most = self.turn.profile.numbered.max_items;
        (items > most as usize)
            .then(|| format!("the plan has {items} items, and at most {most} are allowed"))
    }

    /// The default path: every turn after the plan.
    fn take_turn(&self, list: &ListWork) -> Option<Decision> {
        match self.turn.state.current_step() {
            None => {
                let before = self.turn.before_step().or_else(|| self.item_by_rule(list));
                Some(before.unwrap_or_else(|| self.consult_for_turn(list)))
            }
            Some(step) if step.planner.is_none() => Some(self.consult_for_turn(list)),
            // Its calls are under way, and the fold closes it after them.
            Some(step) if step.calls.iter().any(|call| call.is_open()) => None,
            Some(step) => Some(self.carry_out(step, list)),
        }
    }

    fn consult_for_turn(&self, list: &ListWork) -> Decision {
        match memory::next(&self.turn, list) {
            Ok(Next::Ask(prompt)) => {
                let (role, format) = (Role::Planner, OutputFormat::Text);
                self.turn
                    .consult(role, Contract::React, Ok(prompt), format, Vec::new())
            }
            Ok(Next::Instead(decision)) => *decision,
            Err(error) => self.turn.fail("prompt_broken", error.to_string()),
        }
    }

    fn carry_out(&self, step: &Step, list: &ListWork) -> Decision {
        let Some(Read::React(said)) = &step.read else {
            let evidence = "the answer could not be read".to_owned();
            return self.turn.block(Guard::Unreadable, evidence);
        };
        if !said.problems.is_empty() {
            let evidence = self.turn.restate(&said.problems);
            let (cut, form) = (cut_off(step), self.form_of_call(step));
            return self
                .turn
                .block(Guard::Unreadable, format!("{evidence}{cut}{form}"));
        }
        if let Some(decision) = self.rewrite(step, said, list) {
            return decision;
        }
        let claimed = self.claimed_call(said, list);
        match said.next.as_ref().or(claimed.as_ref()) {
            Some(ReactMove::Act { tool, args }) => {
                let request = self.request(said, tool, args);
                let tried = self.turn.try_act(step, request, TranslatedBy::Rules);
                tried.unwrap_or_else(|problems| {
                    let evidence = self.turn.restate(&problems);
                    let form = without_faults(&self.turn, tool, args).map(|(words, args)| {
                        format!(" {words}:\nAction: {tool}\nAction Input: {args}")
                    });
                    let evidence = evidence + &form.unwrap_or_default();
                    self.turn.block(Guard::Arguments, evidence)
                })
            }
            Some(ReactMove::Answer { text }) => self.answer(step, text, list),
            None if said.item_done.is_some() => {
                let or_end = match self.has_proof() {
                    true => "; or end the task with a Final Answer: its check has run well",
                    false => "",
                };
                let told = format!("{}{or_end}", after_item_done(list));
                self.turn.block(Guard::Unclear, told)
            }
            None => {
                let problem = "the plan says this already: go on with an action".to_owned();
                self.turn.block(Guard::Unclear, problem)
            }
        }
    }

    /// How a call is written of the tool that an unreadable answer names: small models write `fs_write("/a.lua", "…")`, or say
    /// their item again (`fs_read /a.lua`). What it shall be called with, the model says.
    fn form_of_call(&self, step: &Step) -> String {
        let said = step.planner.as_ref();
        let said = said.map_or("", |said| said.answer.content.as_str());
        let lookup = self.turn.tools(None);
        let usable = lookup.usable(self.turn.profile);
        let calls = usable.iter().filter_map(|tool| {
            let at = said.find(&tool.name)?;
            let begins = !said[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            let more = said[at + tool.name.len()..].trim_start_matches(['`', '"']);
            (begins && more.starts_with(['(', ' '])).then_some((at, tool))
        });
        let Some((at, tool)) = calls.min_by_key(|(at, _)| *at) else {
            return String::new();
        };
        let input = tool.told_args().map(|schema| &**schema).map(skeleton);
        let mut input = input.unwrap_or_else(|| json!({}));
        let line = said[at..].lines().next().unwrap_or_default();
        let mut words = line.split(|c: char| c.is_whitespace() || "()\"',`{}".contains(c));
        let path = words.find(|word| word.len() > 1 && word.starts_with('/'));
        if let (Some(path), Some(slot)) = (path, input.get_mut("path")) {
            *slot = path.trim_end_matches(['.', ':', ';']).into();
        }
        format!(
            " To call {0}, write two lines, with your own values:\nAction: {0}\nAction Input: {input}",
            tool.name
        )
    }

    /// Takes a `Plan:` block into the books, once, before the turn's move; a block that changes nothing is overlooked.
    fn rewrite(&self, step: &Step, said: &ReactRead, list: &ListWork) -> Option<Decision> {
        let plan = self.calling_what_is_there(meant_items::without_marks(&said.plan));
        let plan = self.writing_what_is_missing(plan);
        let known = list.rewritten_in == step.number || list.says_already(&plan);
        if plan.is_empty() || known {
            return None;
        }
        let most = self.turn.profile.numbered.rewrites;
        let refused = if list.rewrites >= most {
            Some(format!(
                "the plan was written anew {most} times already: carry it out as it stands"
            ))
        } else {
            self.too_long(plan.len())
        };
        if let Some(evidence) = refused {
            return Some(self.turn.block(Guard::Unclear, evidence));
        }
        Some(Decision::Advance {
            advance: Advance::ListRewritten {
                items: plan,
                step: step.number,
                closes: said.next.is_none(),
            },
        })
    }

    fn request(&self, said: &ReactRead, tool: &str, args: &Value) -> StrictRequest {
        let meant = self.turn.meant_tool(tool);
        let tool = meant.as_deref().unwrap_or(tool);
        let thought = said.thought.lines().next().unwrap_or_default();
        let explanation: String = match thought {
            "" => tool.to_owned(),
            thought => thought.chars().take(200).collect(),
        };
        StrictRequest::Tool {
            explanation,
            tool: tool.to_owned(),
            parameters: self.whole_args(tool, args),
            on: None,
        }
    }

    /// Whether the task changed something and its own check has run well since, or nothing is left that its words tell: items that are still
    /// open are no reason to go on.
    fn has_proof(&self) -> bool {
        let is_proved = self.turn.is_checked() || self.turn.nothing_left();
        is_proved && self.turn.state.calls().any(changes)
    }

    /// A final answer moves on from the current item; with later items open it is early.
    fn answer(&self, step: &Step, text: &str, list: &ListWork) -> Decision {
        if let Some(objection) = still_open(list)
            && !self.is_answered(&objection)
            && !self.has_proof()
        {
            return self.turn.block(Guard::Unfinished, objection);
        }
        let items = list.items.iter();
        let plan: Vec<Value> = items
            .map(|item| json!({"item": item.text, "state": item.state}))
            .collect();
        let first = text.lines().next().unwrap_or_default();
        let request = StrictRequest::Final {
            explanation: first.chars().take(200).collect(),
            result: TaskResult {
                success: true,
                message: text.to_owned(),
                details: json!({"plan": plan, "plan_by": list.by}),
            },
        };
        self.turn.act(step, request, TranslatedBy::Rules)
    }

    /// Whether this objection was raised often enough, or the model has looked or tested since and says the same. Only a
    /// change raises it anew: a model that is refused although it did what it could would go in circles.
    fn is_answered(&self, objection: &str) -> bool {
        let (state, rules) = (self.turn.state, &self.turn.profile.guards.loops);
        let mut left = self.turn.profile.numbered.early_answers;
        let mut looked = false;
        for step in state.steps.iter().rev().filter(|step| step.closed) {
            let mut calls = step.calls.iter();
            if calls.any(|call| may_have_changed(state, call, rules)) {
                break;
            }
            looked |= step.calls.iter().any(CallRecord::succeeded);
            let blocked = step.blocked.as_ref();
            let same = |b: &&Blocked| b.guard == Guard::Unfinished && b.evidence == objection;
            if blocked.filter(same).is_some() {
                left = left.saturating_sub(1);
                if looked {
                    return true;
                }
            }
        }
        left == 0
    }
}

/// What an early final answer is told; none if no item is open behind the current one. Equal for equal states of the plan.
fn still_open(list: &ListWork) -> Option<String> {
    let untouched = list.current().filter(|(_, item)| item.succeeded == 0);
    let mut later = list.left_after_current().peekable();
    later.peek()?;
    let open: Vec<String> = untouched
        .into_iter()
        .chain(later)
        .map(|(number, item)| format!("{number}. {}", item.text))
        .collect();
    let open = open.join("; ");
    let begun = list.items.iter().any(|item| item.succeeded > 0);
    Some(match begun {
        true => format!(
            "these items of the plan are still open: {open}. Carry them out, or write what really remains under \"Plan:\"; \
             if the task is done all the same, give the Final Answer again"
        ),
        // A small model takes the plan that it wrote for work that it did.
        false => format!(
            "nothing was carried out yet, and these items of the plan are still open: {open}. Carry the first one out: write \
             Action: with one tool's name, and Action Input: with its arguments"
        ),
    })
}

/// What a turn is told that says no more than that the item is done; the fold has heard it already.
fn after_item_done(list: &ListWork) -> String {
    match list.current() {
        Some((number, item)) => format!(
            "an item is done once an action in it has succeeded; now item {number}, {}: give its action",
            item.text
        ),
        None => "every item is done: give the Final Answer".to_owned(),
    }
}

/// What is added to the evidence if an answer ended at its length limit.
fn cut_off(step: &Step) -> &'static str {
    let answer = step.planner.as_ref().map(|planner| &planner.answer);
    match answer.map(|answer| answer.stop) {
        Some(StopReason::Length) => " Your answer was cut off at its length limit: write less.",
        _ => "",
    }
}

/// The computer or group that a turn's action names.
pub fn named_tool(read: &Read) -> Option<Address> {
    match read {
        Read::React(ReactRead {
            next: Some(ReactMove::Act { tool, .. }),
            ..
        }) => {
            let address = Address::parse(tool).ok()?;
            (address.target != Target::Any).then_some(address)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
