//! A numbered plan without a planning call: the ready decomposition of the task's kind.

use super::Course;
use crate::domain::decision::Decision;
use crate::domain::work::plan::PlanWork;
use crate::domain::work::{Advance, MadeBy};
use crate::strategy::plan::place::Place;
use crate::strategy::plan::ready::checked;

impl Course<'_> {
    /// Begins with the ready list that fits the task's words, if there is one. Its steps have the fields of a plan, so
    /// they are checked as one.
    pub(super) fn ready(&self) -> Option<Decision> {
        let place = Place {
            state: self.turn.state,
            profile: self.turn.profile,
            fleet: &self.turn.inputs.fleet,
        };
        self.turn.begin_ready(|filled| {
            checked(filled, &PlanWork::default(), &place)?;
            if let Some(problem) = self.too_long(filled.steps.len()) {
                return Err(vec![problem]);
            }
            let items = filled.steps.iter().map(|step| step.line()).collect();
            let by = MadeBy::Template;
            Ok(Decision::Advance {
                advance: Advance::ListAdopted { items, by },
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::decision::Contract;
    use crate::domain::work::Work;
    use crate::strategy::drive::{Drive, profile_of};
    use crate::strategy::numbered::NAME;
    use serde_json::{Value, json};

    fn drive(steps: Value) -> Drive {
        let template = json!({"name": "mend", "patterns": ["fix {path}"], "steps": steps});
        let mut profile = profile_of(NAME);
        profile.templates = vec![serde_json::from_value(template).unwrap()];
        let mut drive = Drive::new(profile, "Fix /a.lua");
        assert!(drive.run_to_consult());
        drive
    }

    fn asked(drive: &Drive) -> Option<Contract> {
        match drive.decisions.last() {
            Some(Decision::Consult(consult)) => Some(consult.contract),
            _ => None,
        }
    }

    #[test]
    fn a_ready_list_is_followed_without_asking_for_one() {
        let step = |action: &str| json!({"objective": "o", "action": action, "target": "{path}", "reason": "it is needed"});
        let drive = drive(json!([step("read_file"), step("run_test")]));
        assert_eq!(asked(&drive), Some(Contract::React));
        let Work::List(list) = &drive.state().work else {
            panic!("{:?}", drive.state().work)
        };
        assert_eq!(list.by, MadeBy::Template);
        let items: Vec<&str> = list.items.iter().map(|item| item.text.as_str()).collect();
        let expected = [
            "read_file /a.lua: it is needed",
            "run_test /a.lua: it is needed",
        ];
        assert_eq!(items, expected);
    }

    #[test]
    fn a_ready_list_with_a_missing_tool_or_too_many_items_is_noted_and_the_model_makes_one() {
        let teleport =
            json!({"objective": "o", "action": "call_tool", "target": "teleport", "reason": "r"});
        let read = json!({"objective": "o", "action": "read_file", "target": "/a", "reason": "r"});
        for (steps, why) in [(vec![teleport], "teleport"), (vec![read; 13], "13")] {
            let drive = drive(json!(steps));
            assert_eq!(asked(&drive), Some(Contract::List));
            let note = drive.state().notes.last().unwrap();
            assert_eq!(note.code, "template_refused");
            assert!(note.message.contains(why), "{}", note.message);
        }
    }
}
