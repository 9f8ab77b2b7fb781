//! The contract of the strategy `plan`: a plan of steps as JSON or in lines, calls for a step that rules could not translate, another
//! plan for what remains after a failure, a last look.

use super::slip::Slip;
use super::voice::{Asked, Said, Seen, Voice, newest};
use super::words::title;
use crate::cli::eval::suite::{Act, Move, Task};
use crate::domain::chat::Role;
use crate::domain::work::plan::PlanStep;
use crate::llm::ChatRequest;
use crate::strategy::plan::step_line::line_of;
use serde_json::{Value, json};

/// What stands before the number that a further plan begins with.
const BEGINS: [&str; 2] = ["Ids begin with ", "They are counted on from "];

/// Writes plans and the calls of their steps.
#[derive(Default)]
pub struct Plan {
    /// The steps of the plans so far: number, and the move that it stands for.
    steps: Vec<(u32, usize)>,
    /// The number that the next plan begins with.
    first: u32,
    /// Whether plans are asked for in lines.
    in_lines: bool,
    /// Moves that the newest prompt reports done.
    done: Vec<usize>,
}

impl Voice for Plan {
    /// Who plans everything first does not plan what is meant to fail.
    fn script(&self, task: &Task) -> Vec<Move> {
        let kept = task.moves.iter().filter(|m| !m.fails && !m.blocked);
        kept.cloned().collect()
    }

    fn asked(&mut self, request: &ChatRequest) -> Asked {
        let parts = newest(request).iter().map(|m| m.content.as_str());
        let text = parts.collect::<Vec<_>>().join("\n");
        if request.role == Role::Executor {
            // After a repair the step stands further up.
            let mut all = request.messages.iter().rev();
            let number = all.find_map(|m| step_number(&m.content));
            let index = number.and_then(|n| self.steps.iter().rev().find(|(id, _)| *id == n));
            return match index {
                Some((_, index)) => Asked::This(*index),
                None => Asked::Words("{\"unclear\": [\"which step is meant\"]}".to_owned()),
            };
        }
        if text.contains("Is the task done? Say so only") {
            let good = !text.contains("FAILED");
            return Asked::Words(
                json!({"achieved": good, "message": "The plan was carried out.", "missing": []})
                    .to_string(),
            );
        }
        // The request for another plan stands above the answers that were no plan.
        let replan = request
            .messages
            .iter()
            .rev()
            .find(|m| BEGINS.iter().any(|begins| m.content.contains(begins)));
        let system = request.messages.first();
        self.in_lines = system.is_some_and(|m| m.content.contains("Write only the lines."));
        self.first = 1;
        self.done.clear();
        if let Some(replan) = replan {
            let mut numbers = BEGINS.iter();
            let number = numbers.find_map(|begins| number_after(&replan.content, begins));
            self.first = number.unwrap_or(1);
            self.done = self.reported_done(&replan.content);
        }
        Asked::Outline {
            seen: Seen::Nothing,
        }
    }

    fn say(&self, mv: &Move) -> Said {
        let call = mv
            .act
            .call()
            .map(|(tool, args)| json!({"tool": tool, "args": args}));
        Said::text(json!({"calls": call.into_iter().collect::<Vec<_>>()}).to_string())
    }

    fn broken(&self, mv: &Move, way: usize) -> Said {
        let text = self.say(mv).content;
        Said::text(match way % 3 {
            0 => text.replacen(':', " =>", 1),
            1 => text.replace("\"tool\"", "\"what\""),
            _ => text.replacen('{', "", 1),
        })
    }

    fn outline(&mut self, moves: &[Move], _next: usize, slip: Option<Slip>) -> Said {
        let open = (0..moves.len()).filter(|at| !self.done.contains(at) && !self.ends(&moves[*at]));
        let mut open: Vec<usize> = open.collect();
        if open.is_empty() {
            // Only the proof is missing.
            open.extend(moves.iter().rposition(|m| m.act.is_run()));
        }
        self.steps.retain(|(id, _)| *id < self.first);
        let mut steps: Vec<Value> = Vec::new();
        for index in open {
            for mut step in steps_of(&moves[index]) {
                let id = self.first + steps.len() as u32;
                // What only looks needs nothing; all else comes after everything before it.
                let looks = step.get("action") == Some(&json!("read_file"));
                let before = (self.first..id).filter(|_| !looks);
                step["id"] = json!(id);
                step["depends_on"] = json!(before.collect::<Vec<u32>>());
                step["reason"] = json!(title(&moves[index]));
                if let Some(on) = &moves[index].on {
                    step["on"] = json!(on);
                }
                self.steps.push((id, index));
                steps.push(step);
            }
        }
        spoil(&mut steps, self.first, slip);
        if self.in_lines {
            return Said::text(in_lines(&steps, slip));
        }
        let text = json!({"goal": "what the task asks for holds", "steps": steps}).to_string();
        Said::text(match slip {
            Some(Slip::Malformed) => text.replace(['[', ']'], ""),
            _ => text,
        })
    }
}

impl Plan {
    /// The moves all of whose steps a prompt names as done.
    fn reported_done(&self, text: &str) -> Vec<usize> {
        let named = text.split_once("Done and still in effect: steps ");
        let named = named.and_then(|(_, rest)| rest.split_once(';'));
        let numbers: Vec<u32> = named
            .map(|(list, _)| {
                list.split(',')
                    .filter_map(|n| n.trim().parse().ok())
                    .collect()
            })
            .unwrap_or_default();
        let done = |index: usize| {
            let mut own = self.steps.iter().filter(|(_, at)| *at == index).peekable();
            own.peek().is_some() && own.all(|(id, _)| numbers.contains(id))
        };
        let mut moves: Vec<usize> = self.steps.iter().map(|(_, at)| *at).collect();
        moves.dedup();
        moves.into_iter().filter(|at| done(*at)).collect()
    }
}

/// The steps that a move comes to.
fn steps_of(mv: &Move) -> Vec<Value> {
    let run = |path: &str, args: &[String]| {
        let words: Vec<String> = args.iter().map(|a| format!(" {a:?}")).collect();
        json!({"action": "run_test", "target": format!("{path}{}", words.concat())})
    };
    match &mv.act {
        Act::Read { path } => vec![json!({"action": "read_file", "target": path})],
        // What it has to hold is the executor's work.
        Act::Write { path, .. } => vec![json!({"action": "write_file", "target": path})],
        Act::WriteAndRun { path, text, args } => vec![
            json!({"action": "write_file", "target": path, "params": {"content": text}}),
            run(path, args),
        ],
        Act::Run { path, args } => vec![run(path, args)],
        Act::Shell { command } => vec![json!({"action": "shell", "target": command})],
        Act::Ask { question, .. } => vec![json!({"action": "ask_user", "target": question})],
        Act::Call { tool, args } => {
            vec![json!({"action": "call_tool", "target": tool, "params": args})]
        }
        Act::Finish { .. } => Vec::new(),
    }
}

/// Steps as the lines of a plan; what a file has to hold stands in a fence below its own.
fn in_lines(steps: &[Value], slip: Option<Slip>) -> String {
    let lines = steps.iter().map(|step| {
        let read = serde_json::from_value::<PlanStep>(step.clone());
        let line = read.map_or_else(|_| step["action"].to_string(), |step| line_of(&step));
        match step["params"]["content"].as_str() {
            Some(text) => format!("{line}\n```\n{}\n```", text.trim_end_matches('\n')),
            None => line,
        }
    });
    let lines: Vec<String> = lines.collect();
    match slip {
        // Nothing that begins a line is a word of the form.
        Some(Slip::Malformed) => format!("The plan is: {}", lines.join("; ")),
        Some(Slip::PrematureDone) => "All of it is done.".to_owned(),
        // What it is about is left out.
        Some(Slip::BadArgs) => lines
            .iter()
            .map(|line| line.split(' ').next().unwrap_or_default())
            .collect::<Vec<_>>()
            .join("\n"),
        _ => lines.join("\n"),
    }
}

/// Makes a plan wrong in the way of a slip.
fn spoil(steps: &mut Vec<Value>, first: u32, slip: Option<Slip>) {
    match slip {
        Some(Slip::PrematureDone) => steps.clear(),
        Some(Slip::WrongTool) => {
            if let Some(step) = steps.last_mut() {
                step["action"] = json!("call_tool");
                step["target"] = json!("open_editor");
            }
        }
        Some(Slip::BadArgs) => {
            if let Some(step) = steps.last_mut() {
                step["depends_on"] = json!([first + 90]);
            }
        }
        Some(Slip::InventedPath) => {
            let id = first + steps.len() as u32;
            steps.push(
                json!({"id": id, "action": "read_file", "target": "/src/main_v2.lua",
                "reason": "to see it", "depends_on": []}),
            );
        }
        Some(Slip::Repeated) => {
            let again = steps.clone();
            steps.extend(again);
        }
        Some(Slip::Alternation) => {
            let last = first + steps.len().saturating_sub(1) as u32;
            if let Some(step) = steps.first_mut() {
                step["depends_on"] = json!([last]);
            }
        }
        _ => {}
    }
}

/// `# Step 3: write_file`
fn step_number(text: &str) -> Option<u32> {
    // The results of earlier steps stand under headings of their own, `### Step 1`.
    let mut lines = text.lines();
    let rest = lines.find_map(|line| line.strip_prefix("# Step "))?;
    rest.split(':').next()?.trim().parse().ok()
}

fn number_after(text: &str, words: &str) -> Option<u32> {
    let (_, rest) = text.split_once(words)?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::eval::suite::Suite;

    #[test]
    fn a_second_plan_leaves_out_what_is_done() {
        let suite = Suite::load().unwrap();
        let mut plan = Plan {
            first: 1,
            ..Plan::default()
        };
        let moves = plan.script(&suite.matching(&["move-files"])[0]);
        plan.outline(&moves, 0, None);
        plan.done = plan.reported_done("Done and still in effect: steps 1, 2; do not repeat them");
        assert_eq!(plan.done, [0, 1]);
        plan.first = 6;
        let second: Value = serde_json::from_str(&plan.outline(&moves, 0, None).content).unwrap();
        assert_eq!(second["steps"].as_array().unwrap().len(), 3);
        assert_eq!(second["steps"][0]["id"], 6);
    }

    #[test]
    fn the_number_of_a_step_is_read_from_its_prompt() {
        assert_eq!(
            step_number("# Results\n\n### Step 1: read_file\n\n# Step 12: write_file\n\n- x"),
            Some(12)
        );
        assert_eq!(step_number("# Task"), None);
        assert_eq!(
            number_after("Ids begin with 6.", "Ids begin with "),
            Some(6)
        );
    }
}
