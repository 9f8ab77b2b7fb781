//! What models remember of a task, shared by all strategies that talk in one conversation: a head that never changes,
//! a history to which steps are only added, and a tail with all that changes. The beginning of a prompt stays
//! the same from turn to turn, so that a model server can reuse what it has read of it. When the window is full,
//! a journalled compaction makes older steps into facts; what is pinned stands in the tail and cannot be lost.

pub mod contents;
pub mod diff;
pub mod episode;
pub mod facts;
pub mod failure;
pub mod pins;
pub mod plan;
pub mod recall;
pub mod told;
pub mod window;

use crate::domain::chat::{Message, OutputFormat, Role, ToolDef};
use crate::domain::decision::{
    Consult, Contract, Decision, Inputs, PromptDelta, RoleLimits, ToolsDelta,
};
use crate::domain::directive::TranslatedBy;
use crate::domain::fold::DRIFT;
use crate::domain::profile::{DriftRule, Profile, Summarizer};
use crate::domain::read::Read;
use crate::domain::task::{Step, TaskState};
use crate::domain::tokens::Size;
use crate::domain::track::Track;
use crate::domain::work::Advance;
use crate::prompts::{PromptError, render};
use crate::strategy::guards;
use serde_json::json;
use window::Room;

/// The memory of a task's planner.
#[derive(Clone, Copy)]
pub struct Memory<'a> {
    pub state: &'a TaskState,
    pub profile: &'a Profile,
    pub inputs: &'a Inputs,
}

/// The parts of a conversation that are no steps.
#[derive(Debug, Clone)]
pub struct Frame {
    /// System prompt and task: the same for the whole task.
    pub head: Vec<Message>,
    /// What changes every turn; [`pins::Pins`] belong in here.
    pub tail: Message,
    /// Native tools; they take room, too.
    pub tools: Vec<ToolDef>,
}

/// How steps are shown in a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// The first step that is shown word for word.
    pub first_step: u32,
    /// The longest text of a result, in bytes.
    pub max_bytes: usize,
}

/// Tells one closed step in the words of a strategy. The same step in the same view has to be told the same, whatever
/// happened since.
pub type Tell<'a> = &'a dyn Fn(&Step, View) -> Result<Vec<Message>, PromptError>;

/// What is to be done before the model is asked.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Nothing: this is the prompt.
    Ask(Vec<Message>),
    /// Older steps have to become facts first.
    Instead(Box<Decision>),
}

/// Below this many bytes a result tells nothing.
const SMALLEST_RESULT: usize = 256;
/// Facts that a model is asked for.
const MOST_FACTS: usize = 20;
/// The part of the room that facts may take.
const FACTS_PART: usize = 4;

impl Memory<'_> {
    /// The planner's next prompt, or the compaction that has to come before it.
    ///
    /// # Errors
    /// A prompt template of the task is broken.
    pub fn next(&self, frame: &Frame, tell: Tell<'_>) -> Result<Next, PromptError> {
        let steps = self.remembered();
        let mut view = View {
            first_step: self.upto() + 1,
            max_bytes: self.profile.memory.result_bytes,
        };
        let mut told = self.tell_all(&steps, view, tell)?;
        let facts = self.facts_message()?;
        let room = self.room(frame, &facts);
        let sizes: Vec<Size> = told.iter().map(Size::of).collect();
        if let Some(kept) = window::cut(&sizes, room, &self.profile.memory) {
            let gone = &steps[..steps.len() - kept];
            let before = told.drain(..gone.len()).flatten().collect();
            return self.compact(frame, facts, gone, before);
        }
        // One step alone can be larger than the room: then less of its results is shown.
        while !room.holds(Size::of(told.iter().flatten())) && view.max_bytes > SMALLEST_RESULT {
            view.max_bytes = (view.max_bytes / 2).max(SMALLEST_RESULT);
            told = self.tell_all(&steps, view, tell)?;
        }
        let head = frame.head.iter().cloned().chain(facts);
        let prompt = head.chain(told.into_iter().flatten());
        Ok(Next::Ask(prompt.chain([frame.tail.clone()]).collect()))
    }

    /// What is to be done about the facts that a model was asked for; none while no such step is open. A strategy asks
    /// this first, also after a failure: without the model's facts those by rule are taken.
    pub fn after_summary(&self) -> Option<Decision> {
        let step = self.state.current_step()?;
        let upto_step = step.summary_upto?;
        let gone: Vec<&Step> = self
            .remembered()
            .into_iter()
            .filter(|step| step.number <= upto_step)
            .collect();
        match &step.read {
            Some(Read::Summary { facts }) if !facts.is_empty() => {
                let facts = facts::bounded(facts, self.facts_bytes());
                Some(compacted(upto_step, facts, TranslatedBy::Model))
            }
            Some(_) => Some(self.by_rules(upto_step, &gone)),
            None if step.planner.is_some() || self.state.last_failure.is_some() => {
                Some(self.by_rules(upto_step, &gone))
            }
            None => None,
        }
    }

    /// The closed steps that no compaction has taken, oldest first.
    fn remembered(&self) -> Vec<&Step> {
        let upto = self.upto();
        let steps = self.state.steps.iter();
        steps
            .filter(|step| step.closed && step.track == Track::MAIN && step.number > upto)
            // What the first look showed stands below the task.
            .filter(|step| step.summary_upto.is_none() && !step.looks_first())
            .collect()
    }

    fn upto(&self) -> u32 {
        self.state.compaction.as_ref().map_or(0, |c| c.upto_step)
    }

    fn tell_all(
        &self,
        steps: &[&Step],
        view: View,
        tell: Tell<'_>,
    ) -> Result<Vec<Vec<Message>>, PromptError> {
        steps.iter().map(|step| tell(step, view)).collect()
    }

    fn limits(&self) -> RoleLimits {
        let limits = self.inputs.roles.get(&Role::Planner);
        limits.copied().unwrap_or_default()
    }

    pub fn whole_room(&self) -> Room {
        let conversation = self.state.conversations.get(&Role::Planner);
        let ratio = conversation.map(|c| c.ratio).unwrap_or_default();
        Room::of(self.limits(), ratio, self.state.prompt_ceiling)
    }

    /// What is left for the steps.
    fn room(&self, frame: &Frame, facts: &Option<Message>) -> Room {
        let fixed = frame.head.iter().chain(facts).chain([&frame.tail]);
        let taken = Size::of(fixed).plus(Size::of_tools(&frame.tools));
        self.whole_room().without(taken)
    }

    fn facts_bytes(&self) -> usize {
        self.whole_room().bytes() / FACTS_PART
    }

    fn facts_message(&self) -> Result<Option<Message>, PromptError> {
        let Some(compaction) = &self.state.compaction else {
            return Ok(None);
        };
        let facts = json!({"facts": compaction.facts});
        let text = render(&self.profile.prompts, "shared/summary", facts)?;
        Ok(Some(Message::user(text)))
    }

    /// Makes the steps in `gone` into facts: asks the model that remembers them, or does it by rule. The model's prompt
    /// is the one that it knows up to the last of these steps, so it has to read little.
    fn compact(
        &self,
        frame: &Frame,
        facts: Option<Message>,
        gone: &[&Step],
        before: Vec<Message>,
    ) -> Result<Next, PromptError> {
        let upto_step = gone.last().map_or(self.upto(), |step| step.number);
        if self.profile.memory.summarizer == Summarizer::Rules {
            return Ok(Next::Instead(Box::new(self.by_rules(upto_step, gone))));
        }
        let ask = json!({"upto": upto_step, "most": MOST_FACTS});
        let ask = render(&self.profile.prompts, "shared/summarize", ask)?;
        let head = frame.head.iter().cloned().chain(facts);
        let prompt: Vec<Message> = head.chain(before).chain([Message::user(ask)]).collect();
        Ok(Next::Instead(Box::new(Decision::Consult(Consult {
            role: Role::Planner,
            contract: Contract::Summary { upto_step },
            prompt: PromptDelta::between(self.state.prompt(Role::Planner), prompt),
            format: OutputFormat::Text,
            // The same tools as in every turn: they stand at the beginning of what the server has read.
            tools: ToolsDelta::between(self.state.native_tools(Role::Planner), frame.tools.clone()),
        }))))
    }

    fn by_rules(&self, upto_step: u32, gone: &[&Step]) -> Decision {
        let former = self.state.compaction.iter().flat_map(|c| c.facts.clone());
        let facts: Vec<String> = former
            .chain(gone.iter().map(|step| facts::of_step(step)))
            .collect();
        let facts = facts::bounded(&facts, self.facts_bytes());
        compacted(upto_step, facts, TranslatedBy::Rules)
    }
}

fn compacted(upto_step: u32, facts: Vec<String>, by: TranslatedBy) -> Decision {
    Decision::Advance {
        advance: Advance::Compacted {
            upto_step,
            facts,
            by,
        },
    }
}

/// The end of a task whose kind takes it as fatal that somebody else changes its files.
pub fn drift_ends(state: &TaskState, profile: &Profile) -> Option<Decision> {
    let message = state.drift.as_ref()?;
    (profile.memory.drift == DriftRule::Fail).then(|| Decision::Fail {
        code: DRIFT.to_owned(),
        error: message.clone(),
        details: guards::last_words(state, json!({})),
    })
}

#[cfg(test)]
mod places_tests;
#[cfg(test)]
mod tests;
