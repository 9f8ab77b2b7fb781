//! A numbered plan with a cursor (source document 003): what strategy `numbered` keeps in the task's state. How the
//! cursor moves is decided here, by what a model said and by how calls ended, and nowhere else.

use super::MadeBy;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What was read out of an answer that shall be a numbered list.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ListRead {
    /// Empty if there are problems.
    pub items: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// The answer ended at its length limit in the middle of an item, which is left out: more was to come.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut_off: bool,
}

/// What was read out of one ReAct turn (docs/strategies.md has its grammar).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ReactRead {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub thought: String,
    /// A `Plan:` block: what remains to be done, in place of the former rest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plan: Vec<String>,
    /// `Item: 3`: the item that this turn works on, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
    /// `Item done`, or `Item 2 done`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_done: Option<SaidDone>,
    /// None if there are problems, or if the turn only rewrites the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<ReactMove>,
    /// What was overlooked on purpose; the model is told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// Which item a model calls done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SaidDone {
    Current,
    /// From 1.
    Number(u32),
}

/// The one move of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "move", rename_all = "snake_case")]
pub enum ReactMove {
    Act { tool: String, args: Value },
    Answer { text: String },
}

/// The plan of a task and how far it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ListWork {
    pub items: Vec<Item>,
    pub by: MadeBy,
    /// How often the plan was written anew.
    pub rewrites: u32,
    /// The last step whose `Plan:` block was taken.
    pub rewritten_in: u32,
    cursor: usize,
    /// The item before the current one was left by rule, and the model has not been heard since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    left_by_rule: bool,
}

/// One item of the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Item {
    pub text: String,
    pub state: ItemState,
    /// Calls made while it was the current one.
    pub succeeded: u32,
    pub failed: u32,
    /// The model called it done before anything had succeeded in it.
    said_done: bool,
    /// What it names was done while an earlier item was the current one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    ahead: bool,
}

/// Where an item stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemState {
    Open,
    /// An action in it succeeded, and the model called it done or moved on.
    Done,
    /// The model moved on, and nothing had succeeded in it.
    Skipped,
}

impl Item {
    fn new(text: String) -> Self {
        Item {
            text,
            state: ItemState::Open,
            succeeded: 0,
            failed: 0,
            said_done: false,
            ahead: false,
        }
    }

    /// Leaves the item: done if something succeeded in it.
    fn leave(&mut self) {
        self.state = match self.succeeded {
            0 => ItemState::Skipped,
            _ => ItemState::Done,
        };
    }
}

impl ListWork {
    pub fn new(items: Vec<String>, by: MadeBy) -> Self {
        ListWork {
            items: without_echoes(items).into_iter().map(Item::new).collect(),
            by,
            rewrites: 0,
            rewritten_in: 0,
            cursor: 0,
            left_by_rule: false,
        }
    }

    /// The item to work on, with its number from 1; none when all are settled.
    pub fn current(&self) -> Option<(u32, &Item)> {
        let item = self.items.get(self.cursor)?;
        Some((self.cursor as u32 + 1, item))
    }

    /// Open items behind the current one, with their numbers.
    pub fn left_after_current(&self) -> impl Iterator<Item = (u32, &Item)> {
        let numbered = self.items.iter().enumerate().skip(self.cursor + 1);
        numbered.map(|(at, item)| (at as u32 + 1, item))
    }

    /// Takes in what a turn says of the plan's progress.
    pub fn heard(&mut self, turn: &ReactRead) {
        let is_late = std::mem::take(&mut self.left_by_rule);
        // It says so of the item that was left for it.
        let said = turn
            .item_done
            .filter(|said| !is_late || *said != SaidDone::Current);
        if let Some(said) = said {
            self.called_done(said, matches!(turn.next, Some(ReactMove::Act { .. })));
        }
        if let Some(number) = turn.item {
            self.moved_to(number);
        }
    }

    /// A later item begins: those before it are over. An earlier number changes nothing, because an item is taken up
    /// again only by a new plan.
    fn moved_to(&mut self, number: u32) {
        let place = (number as usize).saturating_sub(1);
        if place <= self.cursor || place >= self.items.len() {
            return;
        }
        for item in &mut self.items[self.cursor..place] {
            item.leave();
        }
        self.cursor = place;
        self.pass_what_is_done();
    }

    /// Items that were done ahead of their turn are over when it comes.
    fn pass_what_is_done(&mut self) {
        while let Some(item) = self.items.get_mut(self.cursor).filter(|item| item.ahead) {
            item.leave();
            self.cursor += 1;
        }
    }

    /// Takes in what calls did of later items, while the current one is not what they did. `does` as in [`ListWork::calls_ended`], for calls that need
    /// not be made again later.
    pub fn done_ahead(&mut self, does: impl Fn(&str) -> bool) {
        let mut open = self.items.iter_mut().skip(self.cursor);
        if open.next().is_none_or(|current| does(&current.text)) {
            return;
        }
        if let Some(item) = open.find(|item| !item.ahead && does(&item.text)) {
            item.ahead = true;
            item.succeeded = item.succeeded.saturating_add(1);
        }
    }

    fn called_done(&mut self, said: SaidDone, acts: bool) {
        let current = self.cursor as u32 + 1;
        if matches!(said, SaidDone::Number(number) if number != current) {
            return;
        }
        let Some(item) = self.items.get_mut(self.cursor) else {
            return;
        };
        if item.succeeded > 0 {
            item.leave();
            self.cursor += 1;
            self.pass_what_is_done();
        } else {
            // Said together with the action that is to do it: that action has to succeed first.
            item.said_done = acts;
        }
    }

    /// Takes in how many calls of a turn succeeded, and how many did not. `does` tells whether they did what an item's text names.
    pub fn calls_ended(&mut self, succeeded: u32, failed: u32, does: impl Fn(&str) -> bool) {
        let Some(item) = self.items.get_mut(self.cursor) else {
            return;
        };
        item.succeeded = item.succeeded.saturating_add(succeeded);
        item.failed = item.failed.saturating_add(failed);
        let by_rule = !item.said_done && does(&item.text);
        if (item.said_done || by_rule) && succeeded > 0 && failed == 0 {
            item.leave();
            self.cursor += 1;
            self.left_by_rule = by_rule;
            self.pass_what_is_done();
        } else {
            item.said_done = false;
        }
    }

    /// Puts `items` in place of everything that is not settled. Settled items that stand at the head of the new list once
    /// more are not taken again: models tend to repeat the whole plan.
    pub fn rewritten(&mut self, items: Vec<String>, step: u32) {
        let rest = self.without_settled_head(items);
        let mut rest: Vec<Item> = rest.into_iter().map(Item::new).collect();
        let former = self.items.split_off(self.cursor.min(self.items.len()));
        // What succeeded in the current item still counts where the new plan goes on with it.
        if let (Some(current), Some(first)) = (former.into_iter().next(), rest.first_mut())
            && essence(&current.text) == essence(&first.text)
        {
            *first = current;
        }
        self.items.extend(rest);
        self.rewrites = self.rewrites.saturating_add(1);
        self.rewritten_in = step;
    }

    /// Whether `items` say the same as the open part of the plan.
    pub fn says_already(&self, items: &[String]) -> bool {
        let open = self.items[self.cursor.min(self.items.len())..].iter();
        let rest = self.without_settled_head(items.to_vec());
        rest.iter()
            .map(|text| essence(text))
            .eq(open.map(|item| essence(&item.text)))
    }

    fn without_settled_head(&self, items: Vec<String>) -> Vec<String> {
        let items = without_echoes(items);
        let settled = &self.items[..self.cursor.min(self.items.len())];
        let same = settled
            .iter()
            .zip(&items)
            .take_while(|(old, new)| essence(&old.text) == essence(new))
            .count();
        items.into_iter().skip(same).collect()
    }
}

/// Items without such that only say again what stands before them.
fn without_echoes(items: Vec<String>) -> Vec<String> {
    super::without_echoes(items, |a, b| essence(a) == essence(b))
}

/// What an item says, whatever its case and punctuation.
fn essence(text: &str) -> String {
    let words = text
        .split(|c: char| c.is_whitespace() || matches!(c, '.' | ',' | ';' | ':' | '*' | '`' | '"'));
    let words: Vec<String> = words
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plan(items: &[&str]) -> ListWork {
        let items = items.iter().map(|text| (*text).to_owned()).collect();
        ListWork::new(items, MadeBy::Model)
    }

    fn turn(item: Option<u32>, done: Option<SaidDone>) -> ReactRead {
        ReactRead {
            item,
            item_done: done,
            ..ReactRead::default()
        }
    }

    fn states(work: &ListWork) -> Vec<ItemState> {
        work.items.iter().map(|item| item.state).collect()
    }

    #[test]
    fn an_item_is_done_when_an_action_succeeded_in_it_and_the_model_says_so() {
        let mut work = plan(&["read", "fix"]);
        work.calls_ended(1, 0, |_| false);
        assert_eq!(work.current().unwrap().0, 1);
        work.heard(&turn(None, Some(SaidDone::Current)));
        assert_eq!(work.current().unwrap().0, 2);
        assert_eq!(states(&work), [ItemState::Done, ItemState::Open]);
    }

    #[test]
    fn item_done_beside_the_action_that_does_it_waits_for_its_success() {
        let mut work = plan(&["read", "fix"]);
        work.heard(&turn(None, Some(SaidDone::Number(1))));
        work.calls_ended(0, 1, |_| false);
        assert_eq!(work.current().unwrap().0, 1, "a failed action does nothing");
        work.calls_ended(1, 0, |_| false);
        assert_eq!(
            work.current().unwrap().0,
            1,
            "the words went with the failure"
        );
        work.heard(&turn(None, Some(SaidDone::Current)));
        assert_eq!(work.current().unwrap().0, 2);
    }

    #[test]
    fn an_item_whose_call_was_made_is_left_by_rule_and_called_done_afterwards_means_that_one() {
        let mut work = plan(&["fs_read /a", "b", "c"]);
        work.calls_ended(1, 1, |_| true);
        assert_eq!(work.current().unwrap().0, 1, "another call failed");
        work.calls_ended(1, 0, |item| item == "fs_read /a");
        assert_eq!(states(&work)[0], ItemState::Done);
        work.heard(&turn(None, Some(SaidDone::Current)));
        work.calls_ended(1, 0, |_| false);
        assert_eq!(work.current().unwrap().0, 2);
        work.heard(&turn(None, Some(SaidDone::Current)));
        assert_eq!(work.current().unwrap().0, 3);
    }

    #[test]
    fn an_item_that_was_done_ahead_of_its_turn_is_over_when_it_comes() {
        let mut work = plan(&[
            "fs_copy /a /x/a",
            "fs_copy /b /x/b",
            "run",
            "fs_copy /b /x/b",
        ]);
        let call = |work: &mut ListWork, what: &'static str| {
            work.done_ahead(|item| item == what);
            work.calls_ended(1, 0, |item| item == what);
        };
        call(&mut work, "fs_copy /b /x/b");
        assert_eq!(work.current().unwrap().0, 1);
        call(&mut work, "fs_copy /a /x/a");
        assert_eq!(work.current().unwrap().0, 3, "{:?}", states(&work));
        assert_eq!(states(&work)[1], ItemState::Done);
        call(&mut work, "run");
        assert_eq!(work.current().unwrap().0, 4, "once more is once more");
    }

    #[test]
    fn naming_a_later_item_moves_on_and_an_earlier_one_does_nothing() {
        let mut work = plan(&["a", "b", "c"]);
        work.calls_ended(1, 0, |_| false);
        work.heard(&turn(Some(3), None));
        assert_eq!(
            states(&work),
            [ItemState::Done, ItemState::Skipped, ItemState::Open]
        );
        work.heard(&turn(Some(1), Some(SaidDone::Number(1))));
        work.heard(&turn(Some(9), None));
        assert_eq!(work.current().unwrap().0, 3);
    }

    #[test]
    fn a_rewritten_plan_keeps_what_is_settled_and_may_repeat_it() {
        let mut work = plan(&["Read /a.lua", "fix it", "test"]);
        work.calls_ended(1, 0, |_| false);
        work.heard(&turn(Some(2), None));
        work.calls_ended(1, 0, |_| false);
        let anew = |texts: &[&str]| texts.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>();
        assert!(work.says_already(&anew(&["read `/a.lua`", "Fix it.", "test"])));
        work.rewritten(anew(&["read /a.lua.", "Fix it", "write b", "test"]), 4);
        let texts: Vec<&str> = work.items.iter().map(|item| item.text.as_str()).collect();
        assert_eq!(texts, ["Read /a.lua", "fix it", "write b", "test"]);
        assert_eq!(work.current().unwrap().1.succeeded, 1);
        assert_eq!((work.rewrites, work.rewritten_in), (1, 4));
    }

    proptest! {
        #[test]
        fn no_turn_breaks_the_cursor_and_what_is_settled_stays_settled(
            moves in prop::collection::vec((0u32..9, 0u32..9, 0u32..3, prop::collection::vec("[ab]{1,2}", 0..4)), 0..30)
        ) {
            let mut work = plan(&["one", "two", "three"]);
            for (item, done, kind, anew) in moves {
                let settled: Vec<ItemState> = states(&work).into_iter().take(work.cursor).collect();
                match kind {
                    0 => work.heard(&turn(Some(item), (done > 4).then(|| SaidDone::Number(done - 4)))),
                    1 => work.calls_ended(item % 2, done % 2, |_| done % 3 == 0),
                    _ => work.rewritten(anew, item),
                }
                prop_assert!(work.cursor <= work.items.len());
                let now = states(&work);
                prop_assert_eq!(&now[..settled.len()], &settled[..]);
                prop_assert!(now[..work.cursor].iter().all(|state| *state != ItemState::Open));
                prop_assert!(now[work.cursor..].iter().all(|state| *state == ItemState::Open));
            }
        }
    }
}
