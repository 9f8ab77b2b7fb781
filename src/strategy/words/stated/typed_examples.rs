//! Examples as players write them: the only program of a task as it is typed, by its name alone, and what it prints then. `bar 30 prints [###.......]`,
//! `stacks.lua with 130 should say "2 stacks and 2"`, `nether 800 -120 -> 100 -15`.

use super::examples::Example;
use super::reading::{is_of_today, is_placeholder};
use super::relative::is_to_be_made;
use crate::domain::files::from_root;
use crate::strategy::ends::unmended::only_program;
use crate::strategy::paths::{QUOTES, file_name, mentions};
use crate::strategy::text::ends_sentence;

/// Words that a run of such an example is given.
const MOST_ARGS: usize = 4;

/// What may stand between a program and what it is given, and between that and what is said of it.
const WITH: [&str; 3] = ["with ", "given ", "for "];
const BEFORE_VERBS: [&str; 5] = ["it ", "then ", "just ", "simply ", "also "];

/// Words that tell what shall be, and those that say that something is printed, in the form behind these and in the other one.
const SHALL: [&str; 8] = [
    "should ",
    "shall ",
    "must ",
    "has to ",
    "needs to ",
    "ought to ",
    "would ",
    "will ",
];
const PRINT: [&str; 9] = [
    "print", "say", "show", "give", "output", "return", "display", "be", "become",
];
const PRINTS: [&str; 9] = [
    "prints", "says", "shows", "gives", "outputs", "returns", "displays", "is", "becomes",
];
const ARROWS: [&str; 4] = ["->", "=>", "→", "⇒"];

/// What a program is not given where it stands without quotes: "nether with two numbers gives", "bar a number prints".
const NO_ARGUMENTS: [&str; 35] = [
    "a",
    "an",
    "the",
    "it",
    "its",
    "this",
    "that",
    "which",
    "who",
    "i",
    "you",
    "and",
    "or",
    "is",
    "as",
    "of",
    "to",
    "in",
    "on",
    "no",
    "any",
    "each",
    "every",
    "one",
    "two",
    "only",
    "nothing",
    "number",
    "numbers",
    "name",
    "names",
    "argument",
    "arguments",
    "program",
    "script",
];

/// Words that a program which does something is given, or is called by: nobody has asked for such a run.
const DEEDS: [&str; 34] = [
    "add", "done", "do", "remove", "delete", "del", "rm", "set", "put", "take", "get", "pay",
    "buy", "sell", "give", "open", "close", "on", "off", "start", "stop", "go", "move", "dig",
    "mine", "place", "send", "save", "reset", "clear", "ban", "unban", "kick", "new",
];

/// All of them. A run of which two outputs are told has none that can be looked for.
pub(super) fn typed_examples(prompt: &str) -> Vec<Example<'_>> {
    let Some(program) = only_program(prompt) else {
        return Vec::new();
    };
    let name = file_name(&program);
    let stem = name.strip_suffix(".lua").unwrap_or(name);
    if DEEDS.contains(&stem.to_lowercase().as_str()) {
        return Vec::new();
    }
    let is_new = is_to_be_made(prompt, &program);
    let mut found: Vec<Example<'_>> = Vec::new();
    for at in mentions(prompt, stem).chain(mentions(prompt, name)) {
        let (head, behind) = prompt.split_at(at);
        let Some(behind) = behind_name(behind, stem) else {
            continue;
        };
        found.extend(read(head, behind, is_new).map(|(args, text)| Example {
            run: format!("{} {}", from_root(&program), args.join(" ")),
            text,
        }));
    }
    let is_alone = |one: &Example<'_>| {
        let mut others = found.iter();
        !others.any(|other| other.run == one.run && other.text != one.text)
    };
    let alone: Vec<bool> = found.iter().map(is_alone).collect();
    let mut alone = alone.into_iter();
    found.retain(|_| alone.next().unwrap_or_default());
    found
}

/// What stands behind the name at a mention of it, with its ending or without.
fn behind_name<'a>(text: &'a str, stem: &str) -> Option<&'a str> {
    let text = text.trim_start_matches('/').strip_prefix(stem)?;
    let text = text.strip_prefix(".lua").unwrap_or(text);
    let text = text.trim_start_matches(QUOTES).strip_prefix(' ')?;
    let with = WITH.iter().find_map(|with| text.strip_prefix(with));
    Some(with.unwrap_or(text))
}

/// What a run is given at the beginning of a text, and what is said that it prints.
fn read<'a>(head: &str, text: &'a str, is_new: bool) -> Option<(Vec<&'a str>, &'a str)> {
    let is_quoted = head.ends_with(QUOTES);
    let mut args: Vec<&str> = Vec::new();
    let mut rest = text;
    loop {
        if let Some((is_wanted, said)) = verb(rest) {
            let may = is_wanted || is_new;
            let shows = (may && !args.is_empty()).then(|| output(said)).flatten()?;
            let is_doubtful = !is_wanted && is_of_today(head, rest);
            return (!is_doubtful).then_some((args, shows));
        }
        let (word, behind) = rest.split_once(' ')?;
        let bare = word.trim_end_matches([',', ':']).trim_matches(QUOTES);
        let is_number = bare.parse::<f64>().is_ok();
        let joins = bare == "and" && !is_quoted && !args.is_empty();
        if !joins {
            let is_word = bare
                .chars()
                .all(|c| c.is_alphanumeric() || "_-.".contains(c));
            let lower = bare.to_lowercase();
            let is_other = !is_quoted && NO_ARGUMENTS.contains(&lower.as_str());
            let is_one = is_number || is_word && !is_other && !is_placeholder(bare);
            if bare.is_empty()
                || !is_one
                || DEEDS.contains(&lower.as_str())
                || args.len() == MOST_ARGS
            {
                return None;
            }
            args.push(bare);
        }
        rest = behind.trim_start();
    }
}

/// Whether a text begins with words that say what is printed, and as what shall be; what stands behind them.
fn verb(text: &str) -> Option<(bool, &str)> {
    let arrow = ARROWS.iter().find_map(|arrow| text.strip_prefix(arrow));
    if let Some(said) = arrow {
        return Some((true, said.trim_start()));
    }
    let mut text = text;
    while let Some(more) = BEFORE_VERBS.iter().find_map(|word| text.strip_prefix(word)) {
        text = more;
    }
    let shall = SHALL.iter().find_map(|words| text.strip_prefix(words));
    let verbs: &[&str] = if shall.is_some() { &PRINT } else { &PRINTS };
    let said = verbs
        .iter()
        .find_map(|verb| shall.unwrap_or(text).strip_prefix(verb))?;
    let said = said.strip_prefix([' ', ':'])?.trim_start();
    Some((shall.is_some(), said))
}

/// The output with which a text begins, where it is certain that this is all of it: in quotes, or words with digits or marks, up to the end of a clause.
fn output(text: &str) -> Option<&str> {
    if let Some(quote) = text.chars().next().filter(|c| QUOTES.contains(c)) {
        let (said, behind) = text[1..].split_once(quote)?;
        let is_whole = !said.trim().is_empty() && !said.split(' ').any(is_placeholder);
        return (is_whole && ends_clause(behind)).then_some(said);
    }
    let line = text.lines().next().unwrap_or_default();
    let mut end = 0;
    for word in line.split(' ') {
        let bare = word.trim_end_matches(['.', ',', ';', '!', '?', ')']);
        let has_sign = bare.contains(|c: char| c.is_ascii_digit() || c == '#');
        let is_one = has_sign || bare.starts_with('[');
        if bare.is_empty() || !is_one {
            break;
        }
        let begin = word.as_ptr() as usize - text.as_ptr() as usize;
        end = begin + bare.len();
        if bare.len() < word.len() {
            break;
        }
    }
    let (said, behind) = text.split_at(end);
    (!said.is_empty() && ends_clause(behind)).then_some(said)
}

/// Whether no more of an output can follow.
fn ends_clause(behind: &str) -> bool {
    let first = behind.chars().next();
    let behind_space = behind.trim_start();
    let goes_on = ["and then", "and \"", "and `", "and '"];
    let ends = first.is_none_or(|c| c == '\n' || c == ')' || c == ',' || c == ';')
        || first.is_some_and(|c| ends_sentence(behind, 0, c));
    let next = ["and ", "but ", "not ", "(", "instead", "- ", "– "];
    ends || (next.iter().any(|word| behind_space.starts_with(word))
        && !goes_on.iter().any(|words| behind_space.starts_with(words)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(prompt: &str) -> Vec<(String, String)> {
        let all = typed_examples(prompt).into_iter();
        all.map(|one| (one.run, one.text.to_owned())).collect()
    }

    #[test]
    fn a_run_as_it_is_typed_and_what_is_said_behind_it_is_an_example() {
        for (prompt, runs) in [
            (
                "stacks.lua with 130 should say \"2 stacks and 2\" (64 in a stack) but i get \"2.03125 stacks and 130\". can u fix it pls",
                vec![("/stacks.lua 130", "2 stacks and 2")],
            ),
            (
                "write me nether.lua: two numbers, with a space between. nether 800 -120 -> 100 -15",
                vec![("/nether.lua 800 -120", "100 -15")],
            ),
            (
                "please make me a program /bar.lua. So bar 30 prints [###.......] and bar 100 prints [##########]. Thank you",
                vec![
                    ("/bar.lua 30", "[###.......]"),
                    ("/bar.lua 100", "[##########]"),
                ],
            ),
            (
                "Mend rps.lua: \"rps rock paper\" must print 'lose', and `rps paper rock` should then say 'win'.",
                vec![("/rps.lua rock paper", "lose")],
            ),
            (
                "Write /tools/area.lua. For example area with 3 and 4 gives 12.",
                vec![("/tools/area.lua 3 4", "12")],
            ),
        ] {
            let runs: Vec<(String, String)> = runs
                .into_iter()
                .map(|(run, text)| (run.to_owned(), text.to_owned()))
                .collect();
            assert_eq!(found(prompt), runs, "{prompt}");
        }
    }

    #[test]
    fn what_may_be_meant_otherwise_is_none() {
        for prompt in [
            "my smelt.lua is broken, when i type `smelt 20` it says \"attempt to compare\"",
            "fix stacks.lua. stacks 130 prints \"2.03\" and that is wrong",
            "Write bar.lua: bar a number prints \"[##]\".",
            "Write bar.lua: bar N prints \"[##]\", and bar 3 prints 3 lines.",
            "Write bar.lua. bar 3 should print \"a\" and \"b\". bar 4 should print \"c: \" plus what it is.",
            "Write todo.lua: \"todo add milk\" should print \"added\"",
            "Write dig.lua: dig 3 should print \"dug 3\"",
            "Write a.lua: a 3 should print 4. a 3 should print 5.",
            "Write a.lua and b.lua: a 3 should print 4.",
            "Write a.lua: a 3 should print",
            "",
        ] {
            assert_eq!(found(prompt), [], "{prompt}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "(a|bar|/bar.lua|bar.lua|write |3|-1|[ \"'`→é.,;]|should print|->|prints){0,20}") {
            found(&text);
        }
    }
}
