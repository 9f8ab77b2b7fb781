//! Questions that a task's own words tell to ask a person: "Ask the person which colour the door shall have". A weak model answers
//! them itself, and goes on.

use super::wanted_changes::asks_for_a_change;
use crate::domain::by_rule::ByRule;
use crate::domain::decision::{Decision, Guard};
use crate::domain::directive::{ASK_USER_TOOL, TranslatedBy};
use crate::domain::task::TaskState;
use crate::strategy::directive;
use crate::strategy::first_look::calls_by_rule::request_by_rule;
use crate::strategy::guards::times_told;
use crate::strategy::paths::named_in;
use crate::strategy::text::{ends_sentence, has_word};
use crate::strategy::turn::Turn;
use serde_json::json;

/// Whom a task tells to ask.
const PEOPLE: [&str; 19] = [
    "person", "people", "user", "users", "player", "players", "human", "humans", "operator",
    "owner", "admin", "admins", "team", "crew", "friends", "me", "us", "somebody", "someone",
];

const ARTICLES: [&str; 4] = ["the", "a", "your", "any"];

/// How what is to be asked begins. Not "if" and "when": what follows them may as well be a condition.
const ASKS: [&str; 9] = [
    "which", "what", "whether", "how", "where", "who", "whom", "whose", "why",
];

/// How a sentence begins that tells how something is, and not what is to be done.
const STORY: [&str; 15] = [
    "the", "a", "an", "our", "my", "we", "i", "it", "there", "this", "that", "he", "she", "they",
    "somebody",
];

/// What may stand before that.
const BEFORE: [&str; 9] = ["on", "in", "to", "from", "for", "with", "at", "by", "of"];

/// Words of a question that is meant for later, or perhaps never.
const CONDITIONS: [&str; 9] = [
    "if", "when", "unless", "before", "after", "once", "until", "whenever", "found",
];

/// How often it is told that nobody was asked.
const MOST_OBJECTIONS: usize = 2;

const WHY: &str = "the task says that you are to be asked";

impl Turn<'_> {
    /// Where a task begins with a question to a person, behind nothing but words that tell of no file and no deed, they are asked it before its
    /// model is. None after anything else was done, where no question may be asked, and in a task that lives on.
    pub(in crate::strategy) fn first_question(&self) -> Option<Decision> {
        let is_begun = self.state.steps.iter().any(|step| !step.looks_first());
        if is_begun || !self.may_step_aside() || self.state.wakes().is_some() {
            return None;
        }
        let is_story = |said: &str| {
            let first = word(said).map(|(first, _)| first).unwrap_or_default();
            let begins = STORY.contains(&first.as_str());
            begins && named_in(said).is_empty() && !asks_for_a_change(said)
        };
        let mut said = sentences(self.asked_for());
        let first = said.find(|said| !is_story(said))?;
        let parameters = json!({"question": to_person(asked_in(first)?), "why": WHY});
        let why = ByRule::FirstQuestion;
        let request = request_by_rule(why, ASK_USER_TOOL, parameters.clone(), None);
        let asked = self.ask(request, TranslatedBy::Rules, &parameters);
        matches!(asked, Decision::Ask { .. }).then_some(asked)
    }

    /// What an end is told whose task says that a person is to be asked, while nobody was.
    pub(in crate::strategy) fn unasked(&self) -> Option<Decision> {
        if self.budgets().questions == 0 || was_asked(self.state) {
            return None;
        }
        let asked = sentences(self.asked_for()).find_map(asked_in)?;
        let words = format!("the task says to ask a person {asked}, and nobody was asked");
        (times_told(self.state, &words) < MOST_OBJECTIONS).then(|| {
            let told = match self.written_question(&to_person(asked)) {
                Some(call) => format!("{words}. Ask first:\n{call}"),
                None => format!("{words}. Ask first, with {ASK_USER_TOOL}"),
            };
            self.block(Guard::Unfinished, told)
        })
    }

    /// How this task's model asks a person.
    fn written_question(&self, question: &str) -> Option<String> {
        if self.profile.strategy == directive::NAME {
            return Some(format!(
                "DIRECTIVE: ASK_USER\nQUESTION: {question}\nWHY: {WHY}"
            ));
        }
        self.written(ASK_USER_TOOL, &json!({"question": question, "why": WHY}))
    }
}

/// Whether a question was put to people, consent aside; what they said does not matter.
pub(in crate::strategy) fn was_asked(state: &TaskState) -> bool {
    let mut asked = state.steps.iter().filter_map(|step| step.question.as_ref());
    asked.any(|asked| asked.question.approval.is_none())
}

fn to_person(asked: &str) -> String {
    format!("The task says to ask you: {asked}")
}

/// The sentences of a text, without their ends.
pub(in crate::strategy) fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text.trim();
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest
            .char_indices()
            .find(|(at, c)| ends_sentence(rest, *at, *c));
        let (sentence, more) = match end {
            Some((at, c)) => (&rest[..at], &rest[at + c.len_utf8()..]),
            None => (rest, ""),
        };
        rest = more.trim_start();
        Some(sentence.trim())
    })
}

/// What a sentence tells to ask a person now: "which colour the door shall have".
fn asked_in(sentence: &str) -> Option<&str> {
    let mut rest = sentence;
    for opening in ["first", "please"] {
        if let Some((_, more)) = word(rest).filter(|(said, _)| said == opening) {
            rest = more.trim_start_matches(',').trim_start();
        }
    }
    let (_, rest) = word(rest).filter(|(said, _)| said == "ask")?;
    let (whom, after) = word(rest)?;
    let (whom, rest) = match ARTICLES.contains(&whom.as_str()) {
        true => word(after)?,
        false => (whom, after),
    };
    if !PEOPLE.contains(&whom.as_str()) {
        return None;
    }
    let asked = rest.split(", ").next()?;
    let asked = asked.split(" and then ").next()?.trim();
    let (first, more) = word(asked)?;
    let first = match BEFORE.contains(&first.as_str()) {
        true => word(more)?.0,
        false => first,
    };
    (ASKS.contains(&first.as_str()) && !has_word(sentence, &CONDITIONS)).then_some(asked)
}

/// The first word of a text in small letters, and what follows it.
fn word(text: &str) -> Option<(String, &str)> {
    let end = text.find(|c: char| !c.is_alphanumeric());
    let (word, rest) = text.split_at(end.unwrap_or(text.len()));
    (!word.is_empty()).then(|| (word.to_lowercase(), rest.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::chat::Role;
    use crate::domain::event::TaskEvent;
    use crate::strategy::drive::{Drive, profile_of};
    use crate::strategy::memory::told;
    use proptest::prelude::*;
    use serde_json::json;

    const TASK: &str = "Ask the person which colour the door shall have; nobody else knows. Write the answer to /colour.txt.";
    const ALL: [&str; 5] = ["direct", "directive", "plan", "numbered", "goals"];

    fn asked(task: &str) -> Option<&str> {
        sentences(task).find_map(asked_in)
    }

    /// The task with its question answered, if there was one.
    fn answered(strategy: &str, task: &str) -> (Drive, Option<String>) {
        let mut drive = Drive::new(profile_of(strategy), task);
        let mut question = None;
        loop {
            match drive.decide() {
                Some(Decision::Ask {
                    question: asked, ..
                }) => {
                    question = Some(asked.question);
                    drive.bench.push(TaskEvent::QuestionAnswered {
                        question_id: asked.question_id,
                        answer: "purple".into(),
                        by: "Ada".into(),
                        authenticated: true,
                    });
                }
                Some(Decision::Consult(_)) => return (drive, question),
                other => panic!("{strategy}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_question_with_which_a_task_begins_is_asked_before_its_model_and_the_answer_is_shown() {
        for strategy in ALL {
            let (drive, question) = answered(strategy, TASK);
            let asked = "The task says to ask you: which colour the door shall have";
            assert_eq!(question.as_deref(), Some(asked), "{strategy}");
            let shown = drive.shown();
            assert!(shown.contains("purple"), "{strategy}: {shown}");
            assert_eq!(drive.state().usage.questions, 1, "{strategy}");
            assert_eq!(drive.state().usage.model_calls, 0, "{strategy}");
            let asides = told::asides(drive.state(), &drive.bench.profile).unwrap();
            insta::assert_snapshot!("asked_first", asides.unwrap().content);
        }
    }

    #[test]
    fn who_carries_out_a_step_of_a_plan_is_told_what_people_answered() {
        let (mut drive, _) = answered("plan", TASK);
        let write = json!({"id": 1, "action": "write_file", "target": "/colour.txt", "reason": "it is asked for"});
        drive.say(&[&json!({"goal": "it is written", "steps": [write]}).to_string()]);
        let prompt = drive.state().prompt(Role::Executor);
        let told = "Ada was asked: The task says to ask you: which colour the door shall have\nAda answered: purple";
        let shown = prompt.iter().any(|message| message.content.contains(told));
        assert!(shown, "{prompt:?}");
    }

    #[test]
    fn what_a_person_is_to_be_asked_is_read_out_of_plain_words_only() {
        for (task, said) in [
            ("Ask me what to build.", Some("what to build")),
            ("First, ask the user how many. Then dig.", Some("how many")),
            (
                "Please ask a player whether it may go, then delete it",
                Some("whether it may go"),
            ),
            (
                "Ask the person on which computer the alarm shall be (mine or depot). Then write.",
                Some("on which computer the alarm shall be (mine or depot)"),
            ),
            (
                "Dig. Ask somebody where to put it and then go home.",
                Some("where to put it"),
            ),
            ("Ask me if you are not sure.", None),
            ("Ask me what to do when the chest is full.", None),
            ("Ask the user which one before you delete anything.", None),
            ("Ask me which of those that you found shall go.", None),
            ("Ask me something.", None),
            ("Ask the computer `mine` what it has.", None),
            (
                "Write a program that asks the player which door to open.",
                None,
            ),
            ("Write /a.lua: ask the user which door to open", None),
            ("Do not ask me what to do.", None),
            ("Ask", None),
            ("", None),
        ] {
            assert_eq!(asked(task), said, "{task}");
        }
    }

    #[test]
    fn nobody_is_asked_by_rule_where_the_question_is_not_the_first_thing_or_none_may_be_asked() {
        for task in [
            "Look at /list.txt. Ask me what to build of it.",
            "Dig until the chest is full. Ask me what to build of it.",
            "The list is /list.txt. Ask me what to build of it.",
            "I want you to move the chest. Ask me what to build of it.",
        ] {
            assert_eq!(answered("direct", task).1, None, "{task}");
        }
        let story = "Our station is done, only nobody told me what it's called. Please ask the players what name they settled on, then go.";
        let asked = "The task says to ask you: what name they settled on";
        assert_eq!(answered("direct", story).1.as_deref(), Some(asked));
        let mut drive = Drive::new(profile_of("direct"), TASK);
        drive.bench.profile.budgets.questions = 0;
        if let Some(created) = &mut drive.bench.state.created {
            created.budgets.questions = 0;
        }
        assert!(matches!(drive.decide(), Some(Decision::Consult(_))));
    }

    #[test]
    fn an_end_without_the_question_that_the_task_wants_is_told_so_twice_and_shown_how_to_ask() {
        let task = "Look at the door. Ask me which colour it shall have.";
        let told = "the task says to ask a person which colour it shall have, and nobody was asked. Ask first";
        let block = "\nDIRECTIVE: ASK_USER\nQUESTION: The task says to ask you: which colour it shall have\nWHY: ";
        for (strategy, end, how) in [
            ("direct", "FINAL ANSWER: it is red", ", with ask_user"),
            (
                "directive",
                "DIRECTIVE: DONE\nSUMMARY: it is red",
                &format!(":{block}"),
            ),
        ] {
            let mut drive = Drive::new(profile_of(strategy), task);
            drive.say(&[end]);
            let told = format!("{told}{how}");
            assert!(drive.shown().contains(&told), "{told}: {}", drive.shown());
            drive.say(&[end]);
            assert!(drive.state().result.is_none());
            drive.say(&[end]);
            assert!(drive.state().result.is_some(), "{}", drive.shown());
        }
    }

    #[test]
    fn one_question_is_enough_also_if_nobody_answers() {
        let mut drive = Drive::new(
            profile_of("directive"),
            "Look. Ask me which colour it shall have.",
        );
        let ask = "DIRECTIVE: ASK_USER\nQUESTION: which?\nWHY: only you know";
        drive.say(&[ask, "DIRECTIVE: DONE\nSUMMARY: it is red"]);
        assert!(drive.state().result.is_some(), "{}", drive.shown());
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd_to_look_for_a_question(text in "(ask |the |user |which |if |, |\\. |[^a]){0,12}") {
            let pieces: usize = sentences(&text).map(str::len).sum();
            prop_assert!(pieces <= text.len());
            if let Some(asked) = asked(&text) {
                prop_assert!(text.contains(asked) && !asked.is_empty());
            }
        }
    }
}
