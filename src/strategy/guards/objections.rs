//! What is told of calls that could be made and are hardly meant so, before they are made: every guard that only tells stands here in its
//! order, behind the three that never yield.

use super::{
    check_program, computer_as_folder, copied_instead, excepted, fragment, hand_written,
    instead_of_mending, misplaced_program, no_program, repeated_effect, same_again, strayed_path,
};
use crate::domain::call::Target;
use crate::domain::decision::{Decision, Guard};
use crate::strategy::alone::mending::RUN;
use crate::strategy::turn::Turn;
use crate::strategy::words::places::addressed;
use serde_json::{Value, json};

impl Turn<'_> {
    /// What is told of a call that could be made and is hardly meant so, before it is made.
    pub(in crate::strategy) fn objection(
        &self,
        target: &Target,
        tool: &str,
        args: &Value,
    ) -> Option<Decision> {
        let (state, fleet) = (self.state, &self.inputs.fleet);
        if let Some((evidence, look)) = self.left_alone(target, tool, args) {
            let evidence = self.with_look(evidence, look.as_deref());
            return Some(self.block(Guard::Policy, evidence));
        }
        let stays = excepted::objection(self.asked_for(), tool, args);
        if let Some(evidence) = stays.or_else(|| self.takes_left_item(target, tool, args)) {
            return Some(self.block(Guard::Policy, evidence));
        }
        let lost = self.written_though_deleted(target, tool, args);
        if let Some(evidence) = lost.or_else(|| self.written_before_renamed(target, tool, args)) {
            return Some(self.block(Guard::Policy, evidence));
        }
        if let Some(evidence) = self.deleted_again(tool, args) {
            return Some(self.block(Guard::Duplicate, evidence));
        }
        if let Some(evidence) = same_again::objection(state, target, tool, args) {
            return Some(self.block(Guard::Duplicate, evidence));
        }
        let rules = &self.profile.guards.loops;
        if let Some(evidence) = repeated_effect::objection(state, rules, target, tool, args) {
            return Some(self.block(Guard::Duplicate, evidence));
        }
        let needs = || misplaced_program::needs(tool, args).map(str::to_owned);
        let at_home = || Some((self.on_wrong_computer(target, tool, args)?, None));
        let misplaced = || Some((misplaced_program::objection(state, tool, args)?, needs()));
        let elsewhere = || {
            let told = computer_as_folder::objection(state, fleet, target, tool, args)?;
            Some((told, needs()))
        };
        let strayed = || {
            let (told, meant) = strayed_path::objection(state, tool, args)?;
            Some(match self.written_run_of(&meant, target, tool, args) {
                Some(run) => (format!("{told}:\n{run}"), None),
                None => (told, Some(meant)),
            })
        };
        let made = || Some((self.made_though_elsewhere(target, tool, args)?, None));
        let copied = || Some((self.copied_instead(tool, args)?, None));
        let checks = || Some((check_program::objection(state, target, tool, args)?, None));
        let by_hand = || Some((hand_written::objection(state, tool, args)?, None));
        let across = || Some((self.told_across(target, tool, args)?, None));
        let told = across()
            .or_else(at_home)
            .or_else(by_hand)
            .or_else(misplaced)
            .or_else(elsewhere);
        let data = || Some((instead_of_mending::objection(state, tool, args)?, None));
        let told = told.or_else(made).or_else(strayed).or_else(copied);
        let no_program = || no_program::objection(state, target, tool, args);
        let piece = || fragment::objection(state, target, tool, args);
        // A model that is asked for a file alone was told to give the whole of it.
        let step = state.current_step_on(self.track);
        let is_aside = step.is_some_and(|step| step.asks_aside());
        let of_content = || no_program().or_else(piece).filter(|_| !is_aside);
        let told = told.or_else(data).or_else(|| Some((of_content()?, None)));
        let (evidence, look) = told.or_else(checks)?;
        let evidence = self.with_look(evidence, look.as_deref());
        Some(self.block(Guard::Arguments, evidence))
    }

    /// A run as the model writes it, of another program.
    fn written_run_of(
        &self,
        path: &str,
        target: &Target,
        tool: &str,
        args: &Value,
    ) -> Option<String> {
        let on = match target {
            Target::Any => None,
            Target::Computer(on) => Some(on),
            Target::Group(_) => return None,
        };
        let mut args = args.clone();
        *args.get_mut("path").filter(|_| tool == RUN)? = json!(path);
        self.written(&addressed(tool, on), &args)
    }

    /// What is told of a copy that should be a move. Words alone do not turn a small model from the call that it has in mind.
    fn copied_instead(&self, tool: &str, args: &Value) -> Option<String> {
        let told = copied_instead::objection(self.state, tool, args)?;
        Some(match self.written("fs_move", args) {
            Some(call) => format!("{told}:\n{call}"),
            None => told,
        })
    }

    /// An objection with the call that reads a file: small models say the same to the end if they are told what to do and not how.
    pub(in crate::strategy) fn with_look(&self, evidence: String, path: Option<&str>) -> String {
        let look =
            path.and_then(|path| Some((path, self.written("fs_read", &json!({"path": path}))?)));
        match look {
            Some((path, look)) => format!("{evidence}\nTo look at {path}:\n{look}"),
            None => evidence,
        }
    }
}
