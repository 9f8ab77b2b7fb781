//! The contract of the strategy `numbered`: a numbered list, then one ReAct turn after the other.

use super::slip::Slip;
use super::voice::{Asked, Said, Seen, Voice, newest, seen_in};
use super::words::title;
use crate::cli::eval::suite::{Act, Move};
use crate::llm::ChatRequest;

/// Writes lists and turns.
#[derive(Default)]
pub struct Numbered {
    /// The items of the plan as the newest prompt shows them: number, whether it is open, text.
    items: Vec<(u32, bool, String)>,
}

/// Where the plan with its cursor stands in a prompt.
const PLAN: &str = "# The plan now";

impl Voice for Numbered {
    fn asked(&mut self, request: &ChatRequest) -> Asked {
        let parts = newest(request).iter().map(|m| m.content.as_str());
        let text = parts.collect::<Vec<_>>().join("\n");
        match text.split_once(PLAN) {
            None => Asked::Outline {
                seen: Seen::Nothing,
            },
            Some((before, plan)) => {
                self.items = plan.lines().filter_map(item).collect();
                Asked::Move { seen: seen(before) }
            }
        }
    }

    fn say(&self, mv: &Move) -> Said {
        if let Act::Finish { message } = &mv.act {
            return Said::text(format!(
                "Thought: everything is done\nFinal Answer: {message}"
            ));
        }
        let (tool, args) = mv.act.call().unwrap_or_default();
        let tool = match &mv.on {
            Some(on) => format!("{on}/{tool}"),
            None => tool,
        };
        let own = title(mv);
        let same = |(_, open, text): &&(u32, bool, String)| *open && *text == own;
        let number = self.items.iter().find(same);
        let item = number.map(|(number, ..)| format!("Item: {number}\n"));
        Said::text(format!(
            "Thought: {own}\n{}Action: {tool}\nAction Input: {args}",
            item.unwrap_or_default()
        ))
    }

    fn broken(&self, mv: &Move, way: usize) -> Said {
        let turn = self.say(mv).content;
        Said::text(match way % 3 {
            0 => turn
                .replace("Action: ", "I would use ")
                .replace("Final Answer: ", ""),
            1 => turn.replacen('{', "", 1).replace("Final Answer", "Finally"),
            _ => turn.replace(": ", " -> "),
        })
    }

    fn outline(&mut self, moves: &[Move], next: usize, slip: Option<Slip>) -> Said {
        let open = moves.get(next..).unwrap_or_default();
        let mut items: Vec<String> = open.iter().filter(|m| !self.ends(m)).map(title).collect();
        match slip {
            Some(Slip::Malformed) => return Said::text(items.join("; then ")),
            Some(Slip::PrematureDone) => return Said::text("Final Answer: Everything is done."),
            Some(Slip::BadArgs) => items.iter_mut().for_each(String::clear),
            Some(Slip::WrongTool) => items.insert(0, "look it up with search_web".to_owned()),
            Some(Slip::InventedPath) => items.insert(0, "read /src/main_v2.lua".to_owned()),
            Some(Slip::Repeated) => {
                items = items.iter().flat_map(|i| [i.clone(), i.clone()]).collect()
            }
            Some(Slip::Alternation) => {
                items.truncate(2);
                items = std::iter::repeat_n(items, 4).flatten().collect();
            }
            _ => {}
        }
        let lines = items
            .iter()
            .zip(1..)
            .map(|(item, n)| format!("{n}. {item}"));
        Said::text(lines.collect::<Vec<_>>().join("\n"))
    }
}

/// `3. [x] text`
fn item(line: &str) -> Option<(u32, bool, String)> {
    let (number, rest) = line.split_once(". [")?;
    let (mark, text) = rest.split_once("] ")?;
    let open = !matches!(mark, "done" | "skipped" | "x");
    Some((number.trim().parse().ok()?, open, text.trim().to_owned()))
}

/// What came of the last turn.
fn seen(text: &str) -> Seen {
    let Some((_, observation)) = text.rsplit_once("Observation:") else {
        return Seen::Nothing;
    };
    if observation.contains("NOT carried out (") {
        return Seen::Refused(observation.to_owned());
    }
    if observation.contains("You asked: ") && observation.contains(" answered: ") {
        return Seen::Done;
    }
    seen_in(observation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn observations_and_items_are_read() {
        let run = |open| Some((2, open, "run /a.lua".to_owned()));
        assert_eq!(item("2. [open] run /a.lua"), run(true));
        assert_eq!(item("2. [done] run /a.lua"), run(false));
        assert_eq!(
            seen("Observation:\n## run /a on base: done\noutput: x"),
            Seen::Done
        );
        let refused = seen("Observation:\nNOT carried out (proof): after the last change");
        assert!(matches!(refused, Seen::Refused(_)));
        assert_eq!(seen("# Task"), Seen::Nothing);
    }
}
