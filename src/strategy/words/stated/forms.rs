//! The form in which a program prints what it finds out: "`/wc.lua FILE` prints the number of lines and the number of words as `LINES WORDS`".
//! A small model prints the words of the form beside what they stand for, or what they stand for with the tabs that `print(lines, words)` puts
//! between them.

use super::examples::spaced_numbers;
use super::reading::pieces;
use super::{output, output_in_words};
use crate::domain::task::{CallRecord, TaskState};
use crate::strategy::paths::named_in;
use crate::strategy::text::{has_word, sentence_before};

/// Words directly before such a form.
const ANNOUNCE: [&str; 3] = ["as", "like", "form"];

/// Words of a sentence that tells what a program prints.
const PRINTS: [&str; 2] = ["prints", "print"];

/// What prints its values with tabs between them.
const PRINT: &str = "print(";

/// A form of what a program prints.
#[derive(Debug, PartialEq)]
struct Form<'a> {
    /// Without its first slash.
    program: String,
    form: &'a str,
    /// Its words that stand for values.
    stand_ins: Vec<&'a str>,
}

/// What is told of a run of a program, which has no first slash here, that printed words of its form that stand for values.
pub(super) fn copied(
    state: &TaskState,
    prompt: &str,
    program: &str,
    run: &CallRecord,
) -> Option<String> {
    let mut all = forms(prompt).into_iter();
    let form = all.find(|form| form.program == program && copies(run, form))?;
    Some(format!(
        "`{}` is the form in which /{program} prints: {} only stand for what it finds out and are not printed, and its last run printed {}",
        form.form,
        form.stand_ins.join(" and "),
        output_in_words(state, run)
    ))
}

/// Whether an output has the form's words beside other things; alone they may be meant as they are.
fn copies(run: &CallRecord, form: &Form<'_>) -> bool {
    let printed = output(run).trim();
    printed != form.form
        && form
            .stand_ins
            .iter()
            .any(|word| words(printed).any(|printed| printed == *word))
}

/// A program, which has no first slash here, that prints its values with a space between them, as its form or an example has it; none where it
/// prints no such number of names at once.
pub(super) fn with_spaces(prompt: &str, program: &str, content: &str) -> Option<String> {
    let mut all = forms(prompt).into_iter();
    let form = all.find(|form| {
        form.program == program
            && form.stand_ins.len() > 1
            && form.form.split(' ').eq(form.stand_ins.iter().copied())
    });
    let of_form = form.map(|form| form.stand_ins.len());
    let count = of_form.or_else(|| spaced_numbers(prompt))?;
    let mut spaced = String::with_capacity(content.len());
    let mut rest = content;
    while let Some((before, behind)) = rest.split_once(PRINT) {
        spaced.push_str(before);
        spaced.push_str(PRINT);
        rest = behind;
        let values = behind.split_once(')').map(|(values, _)| values);
        let names = values.map(|values| values.split(',').map(str::trim).collect::<Vec<_>>());
        let is_print = !before.ends_with(|c: char| c.is_ascii_alphanumeric() || "_.:".contains(c));
        if let (Some(values), Some(names)) = (values, names)
            && is_print
            && names.len() == count
            && names.iter().all(|name| is_name(name))
        {
            spaced.push_str(&names.join(" .. \" \" .. "));
            rest = &behind[values.len()..];
        }
    }
    spaced.push_str(rest);
    (spaced != content).then_some(spaced)
}

fn is_name(text: &str) -> bool {
    !text.starts_with(|c: char| c.is_ascii_digit())
        && !text.is_empty()
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
}

/// All such forms. A word with a colon or an equals sign behind it may be a label that is printed.
fn forms(prompt: &str) -> Vec<Form<'_>> {
    let mut found = Vec::new();
    for (head, form, _) in pieces(prompt) {
        let last_word = words(head.trim_end()).last().unwrap_or_default();
        let sentence = sentence_before(head);
        let program = named_in(sentence)
            .into_iter()
            .rfind(|path| path.ends_with(".lua"));
        let is_value = |word: &str| word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase());
        let stand_ins: Vec<&str> = words(form).filter(|word| is_value(word)).collect();
        if let Some(program) = program
            && ANNOUNCE.contains(&last_word)
            && has_word(sentence, &PRINTS)
            && !stand_ins.is_empty()
            && !form.contains([':', '='])
        {
            found.push(Form {
                program,
                form,
                stand_ins,
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_an_example_are_printed_with_a_space_between_them() {
        let prompt = "Make /nether.lua. For instance 800 and -45 would come out as `100 -6`.";
        let spaced = with_spaces(prompt, "nether.lua", "print(x, z)");
        assert_eq!(spaced.as_deref(), Some("print(x .. \" \" .. z)"));
        assert_eq!(with_spaces(prompt, "nether.lua", "print(x)"), None);
    }
    use crate::domain::task::TaskStatus;
    use crate::strategy::drive::{Drive, call, done, profile_of};
    use serde_json::json;

    const TASK: &str = "Write /wc.lua: `/wc.lua FILE` prints the number of lines and the number of words as `LINES WORDS`. Run it on /a.txt.";

    #[test]
    fn a_form_is_read_where_the_task_says_that_something_is_printed_so() {
        let found = forms(TASK);
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].program.as_str(), found[0].form),
            ("wc.lua", "LINES WORDS")
        );
        assert_eq!(found[0].stand_ins, ["LINES", "WORDS"]);
        for prompt in [
            "/a.lua prints `HELLO WORLD`.",
            "/a.lua prints it as `hp: HP`.",
            "/a.lua prints it as `lines and words`.",
            "Write the sum as `SUM` to /a.txt.",
            "Run /a.lua. It prints the state as `OK`.",
            "",
        ] {
            assert_eq!(forms(prompt), [], "{prompt}");
        }
    }

    #[test]
    fn values_are_printed_with_a_space_between_them_as_the_form_has_it() {
        let two = "local file = ...\nprint(file)\nprint(lines, words)\nprint('done')";
        assert_eq!(
            with_spaces(TASK, "wc.lua", two).as_deref(),
            Some("local file = ...\nprint(file)\nprint(lines .. \" \" .. words)\nprint('done')")
        );
        for (task, program, content) in [
            (TASK, "other.lua", two),
            (TASK, "wc.lua", "print(lines, words, 1)"),
            (TASK, "wc.lua", "print(lines, #words)"),
            (TASK, "wc.lua", "print(lines, 2)"),
            (TASK, "wc.lua", "print(lines .. \" \" .. words)"),
            (TASK, "wc.lua", "print(lines, words"),
            (TASK, "wc.lua", "log.print(lines, words)"),
            (&TASK.replace("LINES WORDS", "LINES, WORDS"), "wc.lua", two),
            (&TASK.replace("LINES WORDS", "LINES"), "wc.lua", two),
        ] {
            assert_eq!(with_spaces(task, program, content), None, "{content}");
        }
    }

    #[test]
    fn an_end_after_a_run_that_printed_the_words_of_the_form_is_told_so_once() {
        let ends = |output: &str| {
            let mut drive = Drive::new(profile_of("direct"), TASK);
            let runs = |_: &mut _, _: &CallRecord| done(json!({"success": true, "output": output}));
            let run = call(
                "run_program",
                json!({"path": "/wc.lua", "args": ["/a.txt"]}),
            );
            drive.say_with(&[&run, "FINAL ANSWER: it is counted"], runs);
            let told = drive
                .shown()
                .contains("LINES and WORDS only stand for what it finds out");
            if told {
                drive.say_with(&["FINAL ANSWER: it is counted"], runs);
            }
            assert_eq!(drive.state().status, TaskStatus::Completed, "{output}");
            told
        };
        assert!(ends("LINES 3 WORDS 11"));
        assert!(!ends("3 11"));
        assert!(!ends("LINES WORDS"));
    }
}
