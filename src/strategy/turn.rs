//! One look at a task: what every strategy asks and answers in the same way before and beside what it carries out.

use crate::domain::call::{Address, Outcome};
use crate::domain::chat::{Message, OutputFormat, Role, ToolDef};
use crate::domain::decision::{
    Consult, Contract, Decision, Guard, Inputs, PromptDelta, ToolsDelta, WaitReason,
};
use crate::domain::fold::{PROMPT_TOO_LONG, TOOLS_UNSUPPORTED};
use crate::domain::ids::ClientId;
use crate::domain::profile::{Budgets, Profile};
use crate::domain::schema::Schema;
use crate::domain::task::TaskState;
use crate::domain::toolbox::Tool;
use crate::domain::track::Track;
use crate::prompts::PromptError;
use crate::strategy::fleet::ToolLookup;
use crate::strategy::guards::{self, Takes};
use crate::strategy::memory::Memory;
use crate::strategy::shown_tools::{self, ShownTools};
use serde_json::json;

/// The first wait after a model failure, in milliseconds; it doubles up to [`LONGEST_WAIT_MS`].
const FIRST_WAIT_MS: i64 = 2_000;
const LONGEST_WAIT_MS: i64 = 300_000;

/// The budgets of this task: those it was created with.
pub fn budgets(state: &TaskState, profile: &Profile) -> Budgets {
    state
        .created
        .as_ref()
        .map_or(profile.budgets, |created| created.budgets)
}

/// One look at a task, on one of its tracks: what every strategy does in the same way.
#[derive(Clone, Copy)]
pub struct Turn<'a> {
    pub state: &'a TaskState,
    pub profile: &'a Profile,
    pub inputs: &'a Inputs,
    pub track: Track,
    /// How a model is told to try again, in the words of its own contract; one sentence.
    pub again: &'static str,
}

impl<'a> Turn<'a> {
    /// What comes before anything that a strategy does itself: the end of a summary that it asked for, waiting out a
    /// model failure, the end of a task that comes to nothing, and what is asked for beside the planner.
    pub fn opening(&self) -> Option<Decision> {
        let decision = self.memory().after_summary();
        let decision = decision.or_else(|| self.aside_given_up());
        let decision = decision.or_else(|| self.after_model_failure());
        let decision = decision.or_else(|| self.no_progress());
        decision.or_else(|| self.aside())
    }

    /// What a model is being asked for alone, if it is: a program to be mended, the content of a file, what is typed, or a tool.
    pub(super) fn aside(&self) -> Option<Decision> {
        self.mending().or_else(|| self.asked_alone())
    }

    /// The task in the words in which it was given.
    pub(super) fn asked_for(&self) -> &'a str {
        let created = self.state.created.as_ref();
        created.map_or("", |created| created.prompt.as_str())
    }

    /// The memory of the task's main track.
    pub fn memory(&self) -> Memory<'a> {
        Memory {
            state: self.state,
            profile: self.profile,
            inputs: self.inputs,
        }
    }

    /// A failure that may pass is waited out; one that will not ends the task.
    pub fn after_model_failure(&self) -> Option<Decision> {
        let failure = self.state.last_failure.as_ref()?;
        let failures = self.state.model_failures;
        let limit = self.budgets().model_failures;
        // The next prompt is another one, which may be taken.
        let adapts = [PROMPT_TOO_LONG, TOOLS_UNSUPPORTED].contains(&failure.code.as_str());
        // A model that answered before was taken away or renamed. One that never did is a wrong setting, and told at once.
        let was_there = |role: Role| self.state.has_answered(role);
        let gone = failure.needs_somebody() && self.state.failed_role.is_some_and(was_there);
        // What is away may come back tomorrow: only the wall-time budget ends that wait.
        let patient = failure.is_away() || gone;
        let hopeless = !failure.retryable && !adapts && !gone;
        if hopeless || (self.state.model_faults >= limit && !patient) {
            return Some(self.fail(
                &failure.code,
                format!("{} ({})", failure.message, failure.hint),
            ));
        }
        if adapts || self.state.failures_waited_out >= failures {
            return None;
        }
        let doublings = failures.saturating_sub(1).min(16);
        let wait = FIRST_WAIT_MS
            .saturating_mul(1 << doublings)
            .min(LONGEST_WAIT_MS);
        let until_ms = Some(self.inputs.now_ms.saturating_add(wait));
        Some(Decision::Wait {
            reason: WaitReason::Model,
            until_ms,
        })
    }

    /// Whether nobody knows what came of some call: what may or may not have happened is a model's to look at, and no rule goes on.
    pub fn any_unknown(&self) -> bool {
        let mut calls = self.state.calls();
        calls.any(|call| call.outcome() == Some(Outcome::Unknown))
    }

    /// Ends a task whose model says nothing useful any more.
    pub fn no_progress(&self) -> Option<Decision> {
        let bounces = self.state.bounces;
        (bounces > self.profile.guards.bounces).then(|| {
            let words = format!("{bounces} answers in a row led to nothing");
            self.fail("no_progress", words)
        })
    }

    /// What stands before a new step: the budget of steps, a computer that nobody has seen yet, without which a
    /// model would not even know the tools, the first look at the files that the task names, a question with which it begins, a file
    /// that was not there, a word that was meant otherwise, and a program that failed.
    pub fn before_step(&self) -> Option<Decision> {
        if let Some(over) = guards::exceeded(self.state, &self.budgets(), Takes::Step) {
            return Some(guards::fail_over(self.state, over));
        }
        match self.tools(None).home_is_unseen() {
            true => Some(self.wait_for_computer()),
            false => {
                let decision = self.first_look().or_else(|| self.look_at_ends());
                let decision = decision.or_else(|| self.first_question());
                let decision = decision.or_else(|| self.first_search());
                let decision = decision.or_else(|| self.first_tools());
                let decision = decision.or_else(|| self.look_around());
                let decision = decision.or_else(|| self.call_with_word());
                let decision = decision.or_else(|| self.due_tool());
                let decision = decision.or_else(|| self.look_into());
                let decision = decision.or_else(|| self.begin_mending());
                let decision = decision.or_else(|| self.ask_alone());
                let decision = decision.or_else(|| self.run_filled());
                let decision = decision.or_else(|| self.use_made_tool());
                let decision = decision.or_else(|| self.run_instead());
                decision.or_else(|| self.first_run())
            }
        }
    }

    /// A consult whose prompt is told as what it adds to the role's former one.
    pub fn consult(
        &self,
        role: Role,
        contract: Contract,
        prompt: Result<Vec<Message>, PromptError>,
        format: OutputFormat,
        tools: Vec<ToolDef>,
    ) -> Decision {
        let prompt = match prompt {
            Ok(prompt) => prompt,
            Err(error) => return self.fail("prompt_broken", error.to_string()),
        };
        Decision::Consult(Consult {
            role,
            contract,
            prompt: PromptDelta::between(self.state.prompt(role), prompt),
            format,
            tools: ToolsDelta::between(self.state.native_tools(role), tools),
        })
    }

    /// The computer that would know the tool was never seen, or has no tools yet.
    pub fn wait_for_computer(&self) -> Decision {
        let now = self.inputs.now_ms;
        let since = self.state.offline_since_ms.unwrap_or(now);
        let until = since.saturating_add(self.inputs.offline_timeout_ms);
        if now >= until {
            let who = self.state.home().map_or("any computer", |id| id.as_str());
            return self.fail(
                "computer_offline",
                format!("waited for {who}, which never came, or never with tools"),
            );
        }
        Decision::Wait {
            reason: WaitReason::ComputerOffline,
            until_ms: Some(until),
        }
    }

    /// The tools that can be reached from the task's own computer, or from `on`.
    pub fn tools(&self, on: Option<&'a ClientId>) -> ToolLookup<'a> {
        ToolLookup::new(self.state, &self.inputs.fleet, on)
    }

    /// The tool of this name, or of an address such as `computer/tool`; none if the task may use no such tool.
    pub(super) fn tool_of(&self, called: &str) -> Option<Tool> {
        let address = Address::parse(called).ok()?;
        let tools = ToolLookup::at(self.state, &self.inputs.fleet, &address.target);
        let usable = tools.usable(self.profile);
        let tool = usable.into_iter().find(|tool| tool.name == address.tool)?;
        Some(tool.clone())
    }

    /// What models are told that such a tool takes; none if the task may use none.
    pub fn schema_of(&self, called: &str) -> Option<Schema> {
        self.tool_of(called)?.told_args().cloned()
    }

    /// The tools that the task's model is shown.
    pub fn shown_tools(&self) -> ShownTools<'a> {
        shown_tools::of_task(self.state, self.profile, &self.tools(None))
    }

    /// The questions that the task may still ask, as prompts tell it.
    pub fn questions_left(&self) -> String {
        let interactive = self.state.created.as_ref().is_some_and(|c| c.interactive);
        let left = self.budgets().questions;
        let left = left.saturating_sub(self.state.spent().questions);
        match interactive {
            true => "no limit".to_owned(),
            false => left.to_string(),
        }
    }

    pub fn budgets(&self) -> Budgets {
        budgets(self.state, self.profile)
    }

    /// Refuses a move; its author is told why.
    pub fn block(&self, guard: Guard, evidence: String) -> Decision {
        Decision::Block { guard, evidence }
    }

    /// Ends the task in failure, with what it did last.
    pub fn fail(&self, code: &str, error: String) -> Decision {
        Decision::Fail {
            code: code.to_owned(),
            error,
            details: guards::last_words(self.state, json!({})),
        }
    }

    /// What was wrong, and what is to be done about it.
    pub fn restate(&self, problems: &[String]) -> String {
        format!("{}. {}", problems.join("; "), self.again)
    }
}
