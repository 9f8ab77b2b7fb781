//! Reads one ReAct turn (docs/strategies.md has the grammar): at most one move, and nothing that a model invented as its
//! result. Never guesses, never panics.

use super::input::{self, unquoted};
use super::labels::{Label, compact, label_of, without_thinking};
use super::list;
use crate::domain::chat::{ChatAnswer, StopReason};
use crate::domain::work::{ReactMove, ReactRead, SaidDone};
use crate::strategy::content_calls::calls_in_content;
use serde_json::{Map, Value};

/// Reads a planner's answer as one turn. A move or a plan that its length limit cut off is none.
pub fn read_answer(answer: &ChatAnswer) -> ReactRead {
    let mut turn = read(&answer.content);
    if answer.stop == StopReason::Length && is_cut(&turn, &answer.content) {
        turn.next = None;
        turn.plan.clear();
        let problem = "the end of the turn is missing";
        turn.problems.push(problem.to_owned());
    }
    turn
}

/// Whether a turn would be another one without the line that has no end.
fn is_cut(turn: &ReactRead, text: &str) -> bool {
    let closed = text.trim_end().ends_with(['}', '`']);
    match &turn.next {
        // What is claimed is clear, even if its words are not all there.
        Some(ReactMove::Answer { .. }) => false,
        Some(ReactMove::Act { .. }) if closed => false,
        Some(ReactMove::Act { .. }) | None => {
            let whole = read(list::lines_that_end(text));
            turn.problems.is_empty() && (whole.next != turn.next || whole.plan != turn.plan)
        }
    }
}

/// Reads a text as one turn.
pub fn read(answer: &str) -> ReactRead {
    let text = answer.replace("\r\n", "\n").replace('\r', "\n");
    let mut reader = Reader::new(without_thinking(&text));
    reader.run();
    reader.finish()
}

/// Where lines without a label belong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    Thought,
    Plan,
    /// The tool is named, its input may follow without a label.
    Action,
    Answer,
    /// What belongs to nothing.
    Nowhere,
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    section: Section,
    /// Inside a fenced block of an answer, labels are text.
    fenced: bool,
    thought: String,
    plan: Option<String>,
    answer: Option<String>,
    /// The action's name as it stands, and its input.
    action: Option<(String, Option<Result<Value, String>>)>,
    read: ReactRead,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Self {
        Reader {
            text,
            at: 0,
            section: Section::Thought,
            fenced: false,
            thought: String::new(),
            plan: None,
            answer: None,
            action: None,
            read: ReactRead::default(),
        }
    }

    fn run(&mut self) {
        while self.at < self.text.len() {
            let rest = &self.text[self.at..];
            let line = rest.split_once('\n').map_or(rest, |(line, _)| line);
            let begun = self.at;
            self.at += line.len() + 1;
            let label = if self.fenced { None } else { label_of(line) };
            let go_on = match label {
                Some((label, rest)) => self.labelled(label, line, rest),
                None => {
                    self.plain(line, begun);
                    true
                }
            };
            if !go_on {
                break;
            }
        }
    }

    /// A line with a label; false ends the turn.
    fn labelled(&mut self, label: Label, line: &'a str, rest: &'a str) -> bool {
        // `rest` is the end of `line`, apart from a `Item done` without a colon.
        let rest_at = self.at - 1 - rest.len().min(line.len());
        match label {
            Label::Observation if self.action.is_some() => {
                self.note("what stood from your \"Observation:\" on was left out: observations come from the computer");
                return false;
            }
            Label::Observation => self.section = Section::Nowhere,
            Label::Thought => {
                self.section = match self.action {
                    None => Section::Thought,
                    // It thinks about a result that it has not seen.
                    Some(_) => Section::Nowhere,
                };
                self.plain(rest, rest_at);
            }
            Label::Plan => {
                self.section = Section::Plan;
                self.plan.get_or_insert_default();
                self.plain(rest, rest_at);
            }
            Label::Item => self.read.item = number_in(rest).or(self.read.item),
            Label::ItemDone => self.read.item_done = said_done(line, rest).or(self.read.item_done),
            Label::Action => return self.action(rest, rest_at),
            Label::ActionInput => self.input_at(rest_at),
            Label::Answer if self.action.is_some() => {
                self.note(
                    "the \"Final Answer:\" was left out: it came before the action's Observation",
                );
                return false;
            }
            Label::Answer => {
                self.section = Section::Answer;
                self.answer.get_or_insert_default();
                self.plain(rest, rest_at);
            }
        }
        true
    }

    /// A line without a label, or what follows a label on its line.
    fn plain(&mut self, line: &str, at: usize) {
        let fence = line.trim_start().starts_with("```");
        let target = match self.section {
            Section::Thought => &mut self.thought,
            Section::Plan => self.plan.get_or_insert_default(),
            Section::Answer => {
                if fence {
                    self.fenced = !self.fenced;
                }
                self.answer.get_or_insert_default()
            }
            Section::Action => {
                if line.trim_start().starts_with('{') || fence {
                    self.input_at(at);
                }
                return;
            }
            Section::Nowhere => return,
        };
        if !target.is_empty() {
            target.push('\n');
        }
        target.push_str(line);
    }

    fn action(&mut self, rest: &'a str, rest_at: usize) -> bool {
        if self.action.is_some() {
            self.note("only your first action was taken: a turn has exactly one");
            return false;
        }
        if self.answer.is_some() {
            let problem =
                "an action and a \"Final Answer:\" stand in one turn: give exactly one of them";
            self.read.problems.push(problem.to_owned());
            return false;
        }
        // `fs_read {"path": "/a"}`, `fs_read(path="/a")`, or the name alone.
        let name_end = rest
            .find(|c: char| c.is_whitespace() || matches!(c, '(' | '{' | '='))
            .unwrap_or(rest.len());
        let (name, more) = rest.split_at(name_end);
        let more = more.trim();
        let final_answer = compact(rest).starts_with("finalanswer");
        let name = if final_answer { rest } else { name };
        self.section = Section::Action;
        self.action = Some((name.trim().to_owned(), None));
        let bare = more.trim_start_matches(['(', ' ']);
        if bare.starts_with('{') || (name.is_empty() && rest.trim().starts_with('{')) {
            self.input_at(rest_at + rest.find('{').unwrap_or(0));
        } else if let Some(inside) = more.strip_prefix('(').filter(|_| !final_answer) {
            let inside = inside.strip_suffix(')').unwrap_or(inside).trim();
            if !inside.is_empty() {
                self.set_input(input::read(inside));
                self.section = Section::Action;
            }
        }
        true
    }

    /// Reads the action's input from a place in the text on.
    fn input_at(&mut self, at: usize) {
        let wanted = matches!(&self.action, Some((_, None)));
        self.section = if wanted {
            Section::Action
        } else {
            Section::Nowhere
        };
        if !wanted {
            return;
        }
        let text = self.text.get(at..).unwrap_or_default();
        let input = input::read(text);
        self.at = at + input.taken;
        // Whatever else stands on the line where it ends is nothing.
        let rest = self.text.get(self.at..).unwrap_or_default();
        let begins_line = self.at == 0 || self.text.as_bytes().get(self.at - 1) == Some(&b'\n');
        if !begins_line {
            self.at += rest.find('\n').map_or(rest.len(), |end| end + 1);
        }
        self.set_input(input);
        self.section = Section::Nowhere;
    }

    fn set_input(&mut self, input: input::Input) {
        if let Some(note) = input.note {
            self.note(note);
        }
        if let Some((_, slot)) = &mut self.action {
            *slot = Some(input.args);
        }
    }

    fn note(&mut self, note: &str) {
        self.read.notes.push(note.to_owned());
    }

    fn finish(mut self) -> ReactRead {
        self.read.thought = self.thought.trim().to_owned();
        if let Some(plan) = &self.plan {
            self.read.plan = list::items(plan);
            if self.read.plan.is_empty() {
                let problem = "\"Plan:\" is followed by no numbered list";
                self.read.problems.push(problem.to_owned());
            }
        }
        if self.read.problems.is_empty() {
            match self.next() {
                Ok(next) => self.read.next = next,
                Err(problem) => self.read.problems.push(problem),
            }
        }
        if self.read.next.is_none() && self.read.plan.is_empty() && self.read.problems.is_empty() {
            self.call_in_json();
        }
        let says_nothing =
            self.read.next.is_none() && self.read.plan.is_empty() && self.read.item_done.is_none();
        if says_nothing && self.read.problems.is_empty() {
            let problem =
                "the turn has neither \"Action:\" nor \"Final Answer:\" at the start of a line";
            self.read.problems.push(problem.to_owned());
        }
        self.read
    }

    /// Without any label: models that were trained to call tools write the call as JSON all the same.
    fn call_in_json(&mut self) {
        let mut calls = calls_in_content(self.text).into_iter();
        let Some(call) = calls.next() else { return };
        if calls.next().is_some() {
            self.note("only your first call was taken: a turn has exactly one action");
        }
        self.read.thought.clear();
        self.read.next = Some(ReactMove::Act {
            tool: call.name,
            args: call.arguments,
        });
    }

    fn next(&mut self) -> Result<Option<ReactMove>, String> {
        if let Some((name, input)) = self.action.take() {
            return action_of(&name, input).map(Some);
        }
        let Some(answer) = self.answer.take() else {
            return Ok(None);
        };
        answer_of(&answer).map(Some)
    }
}

fn action_of(name: &str, input: Option<Result<Value, String>>) -> Result<ReactMove, String> {
    let named = unquoted(
        name.trim_matches(['*', '_', '<', '>'])
            .trim_end_matches(['.', ':', ',']),
    );
    let named = named.trim();
    if compact(named) == "finalanswer" {
        let text = match input {
            Some(Ok(Value::String(text))) => text,
            Some(Ok(Value::Object(fields))) => text_in(&fields),
            _ => String::new(),
        };
        return answer_of(&text);
    }
    let args = input.unwrap_or_else(|| Ok(Value::Object(Map::new())))?;
    if !named.is_empty() {
        let tool = named.to_owned();
        return Ok(ReactMove::Act { tool, args });
    }
    // `Action:` and below it the call as one JSON object.
    let call = args.as_object().and_then(call_in);
    call.ok_or_else(|| "\"Action:\" names no tool".to_owned())
}

fn answer_of(text: &str) -> Result<ReactMove, String> {
    let text = text.trim();
    let placeholder = text.starts_with('<') && text.ends_with('>') && !text.contains('\n');
    if text.is_empty() || placeholder {
        return Err("\"Final Answer:\" is empty: say what was done and what holds now".to_owned());
    }
    Ok(ReactMove::Answer {
        text: text.to_owned(),
    })
}

/// `{"action": "fs_read", "action_input": {…}}` in its many spellings.
fn call_in(fields: &Map<String, Value>) -> Option<ReactMove> {
    let text = |names: &[&str]| names.iter().find_map(|name| fields.get(*name)?.as_str());
    let tool = text(&["action", "tool", "name", "tool_name"])?.trim();
    let inputs = ["action_input", "args", "arguments", "parameters", "input"];
    let args = inputs.iter().find_map(|name| fields.get(*name));
    if tool.is_empty() {
        return None;
    }
    let empty = || Value::Object(Map::new());
    Some(ReactMove::Act {
        tool: tool.to_owned(),
        args: args.cloned().unwrap_or_else(empty),
    })
}

/// The text of an answer that was given as an object.
fn text_in(fields: &Map<String, Value>) -> String {
    let named = ["answer", "text", "message", "output", "summary"];
    let text = named.iter().find_map(|name| fields.get(*name)?.as_str());
    let only = || match fields.len() {
        1 => fields.values().next()?.as_str(),
        _ => None,
    };
    text.or_else(only).unwrap_or_default().to_owned()
}

fn number_in(text: &str) -> Option<u32> {
    let start = text.find(|c: char| c.is_ascii_digit())?;
    let digits: String = text[start..]
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    digits.parse().ok()
}

/// `Item done`, `Item 2 done: yes`, `Item done: 2`; none for `Item done: no`.
fn said_done(line: &str, rest: &str) -> Option<SaidDone> {
    let says = compact(rest);
    if ["no", "not", "false", "none"]
        .iter()
        .any(|no| says.starts_with(no))
    {
        return None;
    }
    Some(number_in(line).map_or(SaidDone::Current, SaidDone::Number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn act(answer: &str) -> (String, Value) {
        match read(answer).next {
            Some(ReactMove::Act { tool, args }) => (tool, args),
            other => panic!("{answer}\n{other:?} {:?}", read(answer).problems),
        }
    }

    #[test]
    fn an_action_is_read_in_the_ways_that_models_write_it() {
        for answer in [
            "Thought: I look.\nAction: fs_read\nAction Input: {\"path\": \"/a\"}",
            "Action: fs_read\nAction Input: {\"path\": \"/a\"}",
            "I look first.\n\n**Action:** `fs_read`\n**Action Input:**\n```json\n{\"path\": \"/a\"}\n```\n",
            "```\nThought: x\nAction: fs_read\nAction Input: {\"path\": \"/a\"}\n```",
            "Action 1: fs_read\nAction Input 1: path=/a",
            "Action: fs_read\npath is this:\n{\"path\": \"/a\"}",
            "Action: fs_read {\"path\": \"/a\"}",
            "Action: fs_read(path=\"/a\")",
            "Action: fs_read({\"path\": \"/a\"})",
            "Action:\n```json\n{\"action\": \"fs_read\", \"action_input\": {\"path\": \"/a\"}}\n```",
            "Action: {\"name\": \"fs_read\", \"arguments\": {\"path\": \"/a\"}}",
            "I look.\n```json\n{\"name\": \"fs_read\", \"arguments\": {\"path\": \"/a\"}}\n```",
            "<think>Action: no</think>\r\nAction: fs_read.\r\nAction Input: {'path': '/a'}\r\n",
        ] {
            assert_eq!(
                act(answer),
                ("fs_read".to_owned(), json!({"path": "/a"})),
                "{answer}"
            );
        }
    }

    #[test]
    fn a_move_or_a_plan_that_was_cut_off_is_none() {
        let cut = |text: &str| {
            let mut answer = crate::strategy::bench::answer(text);
            answer.stop = StopReason::Length;
            read_answer(&answer)
        };
        for text in [
            "Action: fs_delete\nAction Input:\npath=/ol",
            "Action: fs_li",
            "Plan:\n1. read /a.lua\n2. write /a.lua with fs_wri",
        ] {
            let turn = cut(text);
            assert!(turn.next.is_none() && turn.plan.is_empty(), "{text}");
            assert_eq!(turn.problems, ["the end of the turn is missing"], "{text}");
        }
        for text in [
            "Action: fs_read\nAction Input: {\"path\": \"/a\"}",
            "Action: fs_read\nAction Input: path=/a\nObservation: it sa",
            "Thought: all is done\nFinal Answer: mended, and it ru",
        ] {
            assert_eq!(cut(text), read(text), "{text}");
        }
    }

    #[test]
    fn an_invented_observation_is_cut_off_with_all_that_follows() {
        let answer = "Thought: run it\nAction: run_program\nAction Input: {\"path\": \"/a\"}\nObservation: it works\n\
                      Thought: done\nFinal Answer: it works";
        let turn = read(answer);
        assert_eq!(turn.thought, "run it");
        assert!(matches!(turn.next, Some(ReactMove::Act { .. })));
        assert!(turn.notes[0].contains("Observation"), "{:?}", turn.notes);
        let unseen = read("Action: a\nAction Input: {}\nFinal Answer: it works");
        assert!(matches!(unseen.next, Some(ReactMove::Act { .. })));
        assert!(unseen.notes[0].contains("before the action's Observation"));
    }

    #[test]
    fn what_a_written_file_says_is_no_label() {
        let content = "Observation: a\nFinal Answer: b\nAction: c\n";
        let args = json!({"path": "/a", "content": content});
        assert_eq!(
            act(&format!("Action: fs_write\nAction Input: {args}")).1,
            args
        );
        let block = format!(
            "Action: fs_write\nAction Input: path=/a\ncontent=\n```\n{content}```\nItem done"
        );
        assert_eq!(act(&block).1, args);
        assert_eq!(read(&block).item_done, Some(SaidDone::Current));
    }

    #[test]
    fn progress_and_a_new_plan_are_read_beside_the_action() {
        let turn = read(
            "Thought: the plan was wrong\nItem 1 done\nItem: 2\nPlan:\n1. write b\n2. test b\n\nAction: fs_list\nAction Input: {}",
        );
        assert_eq!(turn.plan, ["write b", "test b"]);
        assert_eq!(
            (turn.item, turn.item_done),
            (Some(2), Some(SaidDone::Number(1)))
        );
        assert!(matches!(turn.next, Some(ReactMove::Act { .. })));
        assert_eq!(read("Item done: no\nAction: a").item_done, None);
        let only = read("Plan:\n1. a\n2. b");
        assert!(only.next.is_none() && only.problems.is_empty());
    }

    #[test]
    fn a_final_answer_goes_to_the_end_and_may_hold_code() {
        for answer in [
            "Thought: ok\nFinal Answer: fixed\n```\nAction: x\n```",
            "Action: Final Answer\nAction Input: {\"answer\": \"fixed\\n```\\nAction: x\\n```\"}",
        ] {
            let next = read(answer).next;
            let expected = ReactMove::Answer {
                text: "fixed\n```\nAction: x\n```".to_owned(),
            };
            assert_eq!(next, Some(expected), "{answer}");
        }
    }

    #[test]
    fn turns_without_exactly_one_move_say_what_is_wrong() {
        for (answer, expected) in [
            ("", "neither"),
            ("I would read the file.", "neither"),
            ("Action:\nAction Input: {}", "names no tool"),
            ("Final Answer: ", "is empty"),
            ("Final Answer: <what was done>", "is empty"),
            (
                "Final Answer: yes\nAction: a\nAction Input: {}",
                "exactly one",
            ),
            ("Action: a\nAction Input: {\"x\": \"", "not closed"),
            ("Plan: change it all\nAction: a", "no numbered list"),
        ] {
            let turn = read(answer);
            assert!(turn.next.is_none(), "{answer}");
            assert!(
                turn.problems.join(";").contains(expected),
                "{answer}: {:?}",
                turn.problems
            );
        }
    }

    fn pieces() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just("Thought: hm\n".to_owned()),
            Just("Action: fs_read\n".to_owned()),
            Just("Action Input: {\"path\": \"/a\"}\n".to_owned()),
            Just("Action Input: path=/é\ncontent=\n```\nx\n".to_owned()),
            Just("```\n".to_owned()),
            Just("Plan:\n1. a\n2. b\n".to_owned()),
            Just("Item done\n".to_owned()),
            Just("Item: 2\n".to_owned()),
            Just("Observation: ok\n".to_owned()),
            Just("Final Answer: done".to_owned()),
            "\\PC{0,12}",
            "[{}\"'`=:\n]{0,8}",
        ];
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn every_printed_turn_reads_back(
            tool in "[a-z][a-z_]{0,10}[a-z]",
            content in "[ -~\n]{0,80}",
            thought in "[A-Za-z][a-z ,.]{0,40}",
            item in prop::option::of(1u32..9),
        ) {
            prop_assume!(tool != "final_answer");
            let args = json!({"content": content});
            let line = item.map(|n| format!("Item: {n}\n")).unwrap_or_default();
            let turn = read(&format!("Thought: {thought}\n{line}Action: {tool}\nAction Input: {args}\nObservation: no"));
            prop_assert_eq!(turn.next, Some(ReactMove::Act { tool, args }));
            prop_assert_eq!((turn.thought.as_str(), turn.item), (thought.trim(), item));
        }

        #[test]
        fn noise_never_panics_and_a_turn_says_something_or_has_a_problem(text in pieces()) {
            let turn = read(&text);
            let says = turn.next.is_some() || !turn.plan.is_empty() || turn.item_done.is_some();
            prop_assert!(says || !turn.problems.is_empty());
            prop_assert!(turn.next.is_none() || turn.problems.is_empty());
        }
    }
}
