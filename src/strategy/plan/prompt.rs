//! The prompts of this strategy, made to fit the model's window.

use super::Course;
use super::context::compress;
use super::lines;
use super::named_calls::NamedCall;
use super::planning::{Wanted, Wording};
use crate::domain::chat::{Message, Role};
use crate::domain::fold::PROMPT_TOO_LONG;
use crate::domain::ids::ClientId;
use crate::domain::step::Step;
use crate::domain::toolbox::Tool;
use crate::domain::track::Track;
use crate::domain::work::plan::{StepWork, TaskPlan};
use crate::domain::work::plan_rules::PlanForm;
use crate::prompts::{PromptError, render};
use crate::strategy::directive::block::without_thinking;
use crate::strategy::directive::executor::NO_WORDS;
use crate::strategy::ends::demanded_proof::demands_run;
use crate::strategy::first_look::missing_files::Found;
use crate::strategy::memory::told;
use crate::strategy::shown_tools;
use crate::strategy::text::{estimate_tokens, head_and_tail};
use serde_json::{Value, json};

pub(super) type Prompt = Result<Vec<Message>, PromptError>;

/// The least that earlier results may have, in tokens: less tells nothing.
const LEAST_CONTEXT: usize = 200;

/// Notes that a planner is told.
const MOST_NOTES: usize = 5;

/// Steps that a plan may have by the simple prompt.
const SIMPLE_STEPS: u32 = 4;

/// Bytes of one text when texts are not to be cut: more than any tool gives.
const UNCUT: usize = 1 << 20;

impl Course<'_> {
    pub(super) fn render(&self, id: &str, context: Value) -> Result<String, PromptError> {
        render(&self.profile.prompts, id, context)
    }

    /// Bytes of one text in a result.
    pub(super) fn text_limit(&self) -> usize {
        let rules = &self.profile.plan;
        if rules.truncate_large_outputs {
            rules.max_content_length
        } else {
            UNCUT
        }
    }

    /// Earlier results, in what the model's window leaves beside `fixed`.
    pub(super) fn context(
        &self,
        role: Role,
        needed_by: Option<&StepWork>,
        fixed: &[Message],
    ) -> String {
        let rules = &self.profile.plan;
        let limits = self.inputs.roles.get(&role).copied().unwrap_or_default();
        let whole = limits.num_ctx.saturating_sub(limits.max_tokens) as usize;
        let used: usize = fixed.iter().map(|m| estimate_tokens(&m.content)).sum();
        let mut room = whole.saturating_sub(used);
        // The estimate was too low for this model: each refusal halves what is tried next.
        if self
            .state
            .last_failure
            .as_ref()
            .is_some_and(|f| f.code == PROMPT_TOO_LONG)
        {
            room >>= self.state.model_faults.min(8);
        }
        let max = match rules.compression {
            crate::domain::work::plan_rules::Compression::None => room,
            _ => room.min(rules.max_context_tokens as usize),
        };
        let sections = self.sections(needed_by);
        compress(
            &sections,
            rules.compression,
            self.text_limit(),
            max.max(LEAST_CONTEXT),
        )
    }

    pub(super) fn plan_prompt(&self, wanted: &Wanted, wording: Wording) -> Prompt {
        let mut messages = self.opening(wording)?;
        messages.extend(self.named_tools()?);
        messages.extend(self.found_elsewhere()?);
        let correction = match wording {
            Wording::Full => Vec::new(),
            Wording::WithProblems => self.correction(true)?,
            Wording::Simple => self.correction(false)?,
        };
        if self.profile.plan.form == PlanForm::Lines {
            messages.push(Message::user(self.render("plan/now_lines", json!({}))?));
        }
        if let Wanted::Replan(bad) = wanted {
            messages.push(self.said_plan());
            let fixed: Vec<Message> = messages.iter().chain(&correction).cloned().collect();
            let results = self.context(Role::Planner, None, &fixed);
            let done: Vec<u32> = self
                .work
                .steps
                .iter()
                .filter(|w| w.is_done())
                .map(|w| w.step.id)
                .collect();
            let turn = self.turn(Track::MAIN);
            let otherwise = turn.otherwise().map(|otherwise| otherwise.sentence);
            let id = self.in_form("plan/replan", "plan/replan_lines");
            messages.push(Message::user(self.render(
                id,
                json!({"results": results, "problem": bad.words, "done": done, "first": self.work.next_number(),
                    "notes": self.notes(), "otherwise": otherwise}),
            )?));
        }
        messages.extend(correction);
        Ok(messages)
    }

    /// Steps that call the tools which the task names, as far as nothing came of them yet.
    fn named_tools(&self) -> Prompt {
        let turn = self.turn(Track::MAIN);
        turn.told_to_planner("plan/named_tools", |name, args| {
            let step = NamedCall {
                action: "call_tool",
                target: name,
                on: turn.only_owner(name).map(ClientId::as_str),
                params: args.cloned().unwrap_or_else(|| turn.args_to_give(name)),
            };
            match self.profile.plan.form {
                PlanForm::Json => serde_json::to_string(&step).unwrap_or_default(),
                PlanForm::Lines => step.line(),
            }
        })
    }

    /// The step that copies a file, for want of which a run failed, from where one of its name was found.
    fn found_elsewhere(&self) -> Prompt {
        // What a plan did about it stands among its results.
        let is_first = self.work.plans.is_empty();
        let found = self.turn(Track::MAIN).found_for_run().filter(|_| is_first);
        // The shell takes a name with blanks apart.
        let Some(Found { path, there, on }) = found.filter(|found| !found.there.contains(' '))
        else {
            return Ok(Vec::new());
        };
        let mut step = json!({"action": "shell", "target": format!("copy {there} {path}")});
        if let Some(on) = &on {
            step["on"] = json!(on);
        }
        let on = on.map_or_else(String::new, |on| format!(" on {on}"));
        let step = match self.profile.plan.form {
            PlanForm::Json => step.to_string(),
            PlanForm::Lines => format!("copy {there} to {path}{on}"),
        };
        let told = json!({"path": path, "there": there, "step": step});
        let told = render(&self.profile.prompts, "plan/found_elsewhere", told)?;
        Ok(vec![Message::user(told)])
    }

    pub(super) fn review_prompt(&self) -> Prompt {
        let mut messages = self.opening(Wording::Full)?;
        messages.push(self.said_plan());
        let results = self.context(Role::Planner, None, &messages);
        let failed = self.failed_steps().next().is_some();
        messages.push(Message::user(self.render(
            "plan/review",
            json!({"results": results, "failed": failed, "notes": self.notes()}),
        )?));
        if let Some((step, read)) = self.unread_reviews().last() {
            let answered = step.planner.iter();
            messages.extend(answered.map(|answered| said(&answered.answer.content, 6000)));
            let words = self.render("plan/repair", json!({"problems": read.problems}))?;
            messages.push(Message::user(words));
        }
        Ok(messages)
    }

    /// Who the planner is, and the task.
    fn opening(&self, wording: Wording) -> Prompt {
        let is_simple = wording == Wording::Simple;
        let id = match self.profile.plan.form {
            PlanForm::Lines => "plan/planner_lines",
            PlanForm::Json if is_simple => "plan/simple",
            PlanForm::Json => "plan/planner",
        };
        let rules = &self.profile.plan;
        let place = self.place();
        let home = self.state.home();
        let lookup = self.turn(Track::MAIN).tools(home);
        let own = lookup.usable(self.profile);
        let chosen = shown_tools::of_task(self.state, self.profile, &lookup);
        // A prompt that did not fit once is told in fewer words.
        let is_brief = self.state.prompt_ceiling.is_some();
        let listed = |tool: &Tool| match (shown_tools::told(tool), is_brief) {
            (Value::Object(mut tool), true) => {
                tool.insert("description".to_owned(), json!(""));
                Value::Object(tool)
            }
            (tool, _) => tool,
        };
        let tools: Vec<Value> = chosen.shown.iter().copied().map(listed).collect();
        let fleet = &self.inputs.fleet.computers;
        let computers: Vec<Value> = fleet
            .iter()
            .map(|c| {
                let known = |tool: &&Tool| own.iter().any(|own| own.name == tool.name);
                let usable = place.tools(Some(&c.client_id)).usable(self.profile);
                let more: Vec<Value> = usable.into_iter().filter(|tool| !known(tool)).map(listed).collect();
                json!({"name": c.client_id, "own": home == Some(&c.client_id), "kind": c.kind, "label": c.label,
                    "online": c.online, "more": more})
            })
            .collect();
        let has_others = place.computers().len() > 1;
        let system = self.render(
            id,
            json!({
                "instructions": self.profile.instructions.trim(),
                "proof": demands_run(self.state, self.profile),
                "max_steps": rules.max_steps,
                "max_depth": rules.max_depth,
                "tools": tools,
                "other_tools": chosen.others,
                "computers": if has_others { computers } else { Vec::new() },
            }),
        )?;
        let created = self.state.created.as_ref();
        let asked = self
            .state
            .steps
            .iter()
            .filter(|step| step.track == Track::MAIN && !step.is_aside());
        let task = self.render(
            "plan/task",
            json!({
                "prompt": created.map_or("", |c| c.prompt.as_str()),
                "computer": home.map_or("any", |id| id.as_str()),
                "context": told::context(self.state, self.profile),
                "answers": told::answers(asked),
            }),
        )?;
        let task = told::first_message(task, self.state, self.profile)?;
        let head = [Message::system(system), Message::user(task)].into_iter();
        Ok(head
            .chain(told::asides(self.state, self.profile)?)
            .collect())
    }

    /// One of two prompts, by the form in which plans are asked for.
    fn in_form<'a>(&self, json: &'a str, lines: &'a str) -> &'a str {
        match self.profile.plan.form {
            PlanForm::Json => json,
            PlanForm::Lines => lines,
        }
    }

    /// The plan as it is followed, in the planner's own form.
    fn said_plan(&self) -> Message {
        let steps = self.work.current().map(|work| work.step.clone()).collect();
        let plan = self.work.plans.last().map(|plan| TaskPlan {
            steps,
            ..plan.clone()
        });
        if self.profile.plan.form == PlanForm::Lines {
            return Message::assistant(plan.map_or_else(String::new, |plan| lines::said(&plan)));
        }
        let mut value = json!(plan);
        // Contents of files would fill the window a second time.
        for step in value["steps"].as_array_mut().into_iter().flatten() {
            let params = step.get_mut("params").and_then(Value::as_object_mut);
            for text in params.into_iter().flat_map(|params| params.values_mut()) {
                if let Value::String(long) = text {
                    *long = head_and_tail(long, 200);
                }
            }
        }
        // The task itself stands above, and who made the plan changes nothing.
        if let Some(fields) = value.as_object_mut() {
            fields.remove("query");
            fields.remove("made_by");
        }
        Message::assistant(value.to_string())
    }

    /// What was wrong with the last answer, below that answer where it is of use.
    fn correction(&self, with_answer: bool) -> Prompt {
        let problems = self.work.refused.last().cloned().unwrap_or_default();
        let mut messages = Vec::new();
        let mut on_main = self
            .state
            .steps
            .iter()
            .rev()
            .filter(|step| step.track == Track::MAIN);
        let answered = on_main.find_map(|step: &Step| step.planner.as_ref());
        if with_answer {
            messages.extend(answered.map(|answered| said(&answered.answer.content, 6000)));
        }
        let most = if with_answer {
            self.profile.plan.max_steps
        } else {
            SIMPLE_STEPS
        };
        let words = self.render(
            self.in_form("plan/invalid", "plan/invalid_lines"),
            json!({"problems": problems, "max_steps": most}),
        )?;
        messages.push(Message::user(words));
        Ok(messages)
    }

    /// The last of what became known beside the steps.
    fn notes(&self) -> Vec<&str> {
        let told = self
            .state
            .notes
            .iter()
            .rev()
            .filter(|note| note.code != "model_failed");
        let mut last: Vec<&str> = told
            .take(MOST_NOTES)
            .map(|note| note.message.as_str())
            .collect();
        last.reverse();
        last
    }
}

/// An answer as its model is shown it again, in at most so many bytes.
pub(super) fn said(content: &str, most: usize) -> Message {
    let text = without_thinking(content).trim();
    let text = if text.is_empty() { NO_WORDS } else { text };
    Message::assistant(head_and_tail(text, most))
}
