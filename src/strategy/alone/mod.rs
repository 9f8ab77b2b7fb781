//! What a model is asked for alone, beside the planner: the content of a file, what is typed into a program, the file of a tool, a new
//! program, a few lines or a short file as they shall be, or which files are deleted or moved. Programs that are mended have their own place
//! (`mending`). Models that lose themselves in the prompt of a whole task do such a thing at once.

pub(super) mod changed_file;
pub(super) mod changed_lines;
pub mod chosen_files;
pub mod data_lines;
pub(super) mod filling;
pub(super) mod line_edits;
mod listed_entries;
pub(super) mod made_tools;
pub(super) mod mended_and_run;
pub(super) mod mending;
pub(super) mod moved_files;
pub(super) mod new_programs;
pub(super) mod only_result;
pub(super) mod program_questions;
mod told_entries;
mod told_values;
pub(super) mod tool_source;
pub(super) mod typed_input;
pub(super) mod unfilled;
pub(super) mod written_programs;

use crate::domain::decision::{Contract, Decision};
use crate::domain::read::Read;
use crate::domain::step::Step;
use crate::strategy::turn::Turn;
use crate::strategy::words::places::addressed;
use changed_file::FileChange;
use chosen_files::Choice;
use line_edits::LineEdit;
use mending::WRITE;
use moved_files::Moves;
use new_programs::NewProgram;
use tool_source::Unwritten;
use typed_input::Waiting;
use unfilled::Unfilled;

/// How often in a row it is asked for once more after an answer that was refused. Each time costs a step, where a planner that has to find its
/// own way costs several.
pub(in crate::strategy) const MOST_AGAIN: usize = 3;

/// What a model is asked for alone.
enum Lacking<'a> {
    Content(Unfilled<'a>),
    Input(Waiting<'a>),
    Tool(Unwritten<'a>),
    Program(NewProgram),
    Lines(LineEdit),
    Change(FileChange<'a>),
    Files(Choice),
    Moves(Moves),
}

impl<'a> Turn<'a> {
    /// What is done about what a model is being asked for alone; none while it is for nothing.
    pub(in crate::strategy) fn asked_alone(&self) -> Option<Decision> {
        let step = self.state.current_step_on(self.track)?;
        if !step.fills() {
            return None;
        }
        let Some(lacking) = self.lacking() else {
            return Some(self.refused_fill("there is nothing to write any more"));
        };
        let answered = step.executor.last().filter(|tried| tried.answer.is_some());
        let Some(tried) = answered else {
            return Some(self.consult_for(&lacking));
        };
        let said = match &tried.read {
            Some(Read::Content { content }) => content.as_deref(),
            _ => None,
        };
        Some(match lacking {
            Lacking::Content(file) => self.write_filled(step, &file, said),
            Lacking::Input(waiting) => self.run_typed(step, &waiting, said),
            Lacking::Tool(tool) => self.write_tool(step, &tool, said),
            Lacking::Program(new) => self.write_program(step, &new, said),
            Lacking::Lines(edit) => self.patch_lines(step, &edit, said),
            Lacking::Change(change) => self.write_change(step, &change, said),
            Lacking::Files(choice) => self.delete_chosen(step, &choice, said),
            Lacking::Moves(moves) => self.move_said(step, &moves, said),
        })
    }

    /// Asks for the file of a tool, for what is typed into a program, or for the content of a file into which the last step was to write a
    /// program, with which a check is not content, or that is the result, or for a new program; as often as a program may be mended. A content
    /// that the task says word for word nobody is asked for.
    pub(in crate::strategy) fn ask_alone(&self) -> Option<Decision> {
        if !self.may_step_aside() || self.was_asked_enough() {
            return None;
        }
        let lacking = self.lacking()?;
        if let Lacking::Content(file) = &lacking {
            self.schema_of(&addressed(WRITE, file.on.as_ref()))?;
            if let Some(written) = self.write_said(file) {
                return Some(written);
            }
            // What is still to be called comes before it, and what it holds is known.
            if self.says_content(&file.path) && !self.tools_to_call().is_empty() {
                return None;
            }
        }
        (!self.could_not_be_asked()).then(|| self.consult_for(&lacking))
    }

    fn lacking(&self) -> Option<Lacking<'a>> {
        let newest = self.state.newest_closed()?;
        let file = self.unfilled(newest).map(Lacking::Content);
        let tool = || self.unwritten(newest).map(Lacking::Tool);
        tool()
            .or(file)
            .or_else(|| self.new_program(newest).map(Lacking::Program))
            .or_else(|| self.line_edit(newest).map(Lacking::Lines))
            .or_else(|| self.file_change(newest).map(Lacking::Change))
            .or_else(|| self.choice(newest).map(Lacking::Files))
            .or_else(|| self.moves(newest).map(Lacking::Moves))
            .or_else(|| self.untyped(newest).map(Lacking::Input))
    }

    /// Whether a thing is not asked for alone any more, the refusals of whose answers begin so: after such an answer it is asked for once more at
    /// once, and later not.
    pub(in crate::strategy) fn is_refused_for_good(&self, newest: &Step, begin: &str) -> bool {
        let in_vain = self.state.steps.iter();
        let in_vain = in_vain.filter(|step| step.fills_in_vain() && step.is_refused_as(begin));
        let in_vain: Vec<u32> = in_vain.map(|step| step.number).collect();
        let was_now = in_vain.last() == Some(&newest.number);
        !in_vain.is_empty() && (!was_now || in_vain.len() > MOST_AGAIN)
    }

    /// Why the answer of just now was refused, behind the words with which such a refusal begins.
    pub(in crate::strategy) fn refused_just_now(&self, begin: &str) -> Option<&'a str> {
        let refused = self.state.newest_closed()?.blocked.as_ref()?;
        refused.evidence.strip_prefix(begin)
    }

    fn consult_for(&self, lacking: &Lacking<'_>) -> Decision {
        match lacking {
            Lacking::Content(file) => self.ask_aside(Contract::Content, self.content_prompt(file)),
            Lacking::Input(waiting) => self.consult_for_input(waiting),
            Lacking::Tool(tool) => self.consult_for_tool(tool),
            Lacking::Program(program) => self.consult_for_program(program),
            Lacking::Lines(edit) => self.consult_for_lines(edit),
            Lacking::Change(change) => self.consult_for_change(change),
            Lacking::Files(choice) => self.consult_for_choice(choice),
            Lacking::Moves(moves) => self.consult_for_moves(moves),
        }
    }
}
