//! Writes a turn in the grammar of docs/strategies.md, so that reading it back gives the same turn.

use crate::domain::work::{ReactMove, ReactRead, SaidDone};

/// The turn as the model should have written it.
pub fn print(turn: &ReactRead) -> String {
    let mut lines = Vec::new();
    if !turn.thought.is_empty() {
        lines.push(format!("Thought: {}", turn.thought));
    }
    match turn.item_done {
        Some(SaidDone::Current) => lines.push("Item done".to_owned()),
        Some(SaidDone::Number(number)) => lines.push(format!("Item {number} done")),
        None => {}
    }
    if let Some(number) = turn.item {
        lines.push(format!("Item: {number}"));
    }
    if !turn.plan.is_empty() {
        lines.push("Plan:".to_owned());
        let items = turn.plan.iter().zip(1..);
        lines.extend(items.map(|(text, number)| format!("{number}. {text}")));
    }
    match &turn.next {
        Some(ReactMove::Act { tool, args }) => {
            lines.push(format!("Action: {tool}\nAction Input: {args}"));
        }
        Some(ReactMove::Answer { text }) => lines.push(format!("Final Answer: {text}")),
        None => {}
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::super::react::read;
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    proptest! {
        #[test]
        fn every_printed_turn_reads_back(
            thought in "([A-Z][a-z ,.]{0,40}[a-z])?",
            item in prop::option::of(1u32..20),
            done in prop::option::of(prop_oneof![Just(SaidDone::Current), (1u32..20).prop_map(SaidDone::Number)]),
            plan in prop::collection::vec("[a-z][a-z /]{0,20}[a-z]", 0..4),
            tool in "[a-z][a-z_]{0,10}[a-z]",
            content in "\\PC{0,40}",
            answers in any::<bool>(),
        ) {
            prop_assume!(tool != "final_answer");
            let plan = plan.iter().map(|t| t.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
            let next = match answers {
                true => ReactMove::Answer { text: "it works\nin all cases".into() },
                false => ReactMove::Act { tool, args: json!({"content": content}) },
            };
            let turn = ReactRead { thought, item, item_done: done, plan, next: Some(next), ..ReactRead::default() };
            prop_assert_eq!(read(&print(&turn)), turn);
        }
    }
}
