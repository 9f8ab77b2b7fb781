//! Directives as models write them, and every printed one read back.

use super::super::printer::print;
use super::*;
use crate::domain::directive::{Action, Directive, ThenItem};
use crate::domain::ids::ClientId;
use proptest::prelude::*;

fn clear(answer: &str) -> Directive {
    match read(answer) {
        Reading::Clear { directive, .. } => directive,
        other => panic!("expected a clear directive, got {other:?}"),
    }
}

fn problems(answer: &str) -> String {
    match read(answer) {
        Reading::Clear { directive, .. } => panic!("expected problems, got {directive:?}"),
        Reading::Unclear { problems, .. } | Reading::Nothing { problems } => problems.join("; "),
    }
}

#[test]
fn chatter_thinking_crlf_and_an_outer_fence_do_not_hide_the_directive() {
    let answer = "<think>RUN or SHELL?</think>\r\nSure! Here is my step:\r\n```\r\n**DIRECTIVE:** write file\r\n\
        PATH: `/a.lua`\r\nCONTENT:\r\n```lua\r\nprint(1)\r\n```\r\nTHEN:\r\n1. RUN /a.lua \"x y\"\r\n```\r\nHope that helps!";
    let Action::WriteFile {
        path,
        content,
        then,
        language,
    } = clear(answer).action
    else {
        panic!()
    };
    assert_eq!(
        (path.as_str(), content.as_str(), language.as_deref()),
        ("/a.lua", "print(1)\n", Some("lua"))
    );
    assert_eq!(
        then,
        [ThenItem::Run {
            path: "/a.lua".into(),
            args: vec!["x y".into()]
        }]
    );
}

#[test]
fn fields_on_the_directive_s_own_line_are_read_and_the_planner_is_told_of_it() {
    let answer = "DIRECTIVE: WRITE_FILE PATH: /a.lua LANGUAGE: lua CONTENT:\n```lua\nprint(1)\n```\nTHEN: RUN /a.lua";
    let Reading::Clear { directive, notes } = read(answer) else {
        panic!("{:?}", read(answer))
    };
    let Action::WriteFile {
        path,
        content,
        then,
        ..
    } = directive.action
    else {
        panic!()
    };
    assert_eq!(
        (path.as_str(), content.as_str(), then.len()),
        ("/a.lua", "print(1)\n", 1)
    );
    assert!(notes[0].contains("each belongs on its own"), "{notes:?}");
}

#[test]
fn a_directive_inside_the_written_file_is_content() {
    let answer =
        "DIRECTIVE: WRITE_FILE\nPATH: /p.md\nCONTENT:\n```\nDIRECTIVE: DONE\nSUMMARY: x\n```\n";
    let Action::WriteFile { content, .. } = clear(answer).action else {
        panic!()
    };
    assert_eq!(content, "DIRECTIVE: DONE\nSUMMARY: x\n");
}

#[test]
fn runs_right_below_the_content_are_items_without_their_line_and_chatter_is_none() {
    let write = "DIRECTIVE: WRITE_FILE\nPATH: /a.lua\nCONTENT:\n```lua\nprint(...)\n```\n";
    let items = |below: &str| match clear(&format!("{write}{below}")).action {
        Action::WriteFile { then, .. } => then,
        other => panic!("{other:?}"),
    };
    let run = |path: &str, args: &[&str]| ThenItem::Run {
        path: path.to_owned(),
        args: args.iter().map(|arg| arg.to_string()).collect(),
    };
    assert_eq!(items("RUN /a.lua 30\n"), [run("/a.lua", &["30"])]);
    let two = "\n1 RUN /a.lua 30\n2 RUN /check.lua\nThat is all. RUN /b.lua";
    assert_eq!(items(two), [run("/a.lua", &["30"]), run("/check.lua", &[])]);
    for chatter in ["Run /a.lua to see it.", "RUN it now", "SHELL ls"] {
        assert_eq!(items(chatter), [], "{chatter}");
    }
}

#[test]
fn of_several_directives_the_first_one_counts_unless_it_is_an_end() {
    let run = "DIRECTIVE: RUN\nPATH: /a";
    let done = "DIRECTIVE: DONE\nSUMMARY: x";
    let Reading::Clear { directive, notes } = read(&format!("{run}\n{done}")) else {
        panic!("the first one is clear");
    };
    assert_eq!(print(&directive), "DIRECTIVE: RUN\nPATH: /a\nARGS: []\n");
    assert!(
        notes[0].contains("none of them was carried out"),
        "{notes:?}"
    );
    let end_first = format!("{done}\n{run}");
    assert!(problems(&end_first).contains("the first one alone"));
    assert!(had_several(&read(&end_first)) && !had_several(&read(run)));
    assert!(matches!(
        read_first(&end_first),
        Reading::Clear { directive, .. } if matches!(directive.action, Action::Done { .. })
    ));
    assert_eq!(
        read_first("DIRECTIVE: RUN\nPATH: /a"),
        read("DIRECTIVE: RUN\nPATH: /a")
    );
    let twice = "DIRECTIVE: RUN\nPATH: /a\n\nDIRECTIVE: RUN\nPATH: /a\n\nThat was it.";
    assert!(matches!(clear(twice).action, Action::Run { .. }));
}

#[test]
fn after_a_failed_run_a_run_once_more_before_what_changes_something_is_left_out() {
    let run = "DIRECTIVE: RUN\nPATH: /check.lua";
    let set = "DIRECTIVE: TOOL\nNAME: redstone_set\nARGS: {\"power\":15}";
    let done = "DIRECTIVE: DONE\nSUMMARY: x";
    let both = format!("{run}\n\n{set}\nThen run /check.lua again.");
    let Reading::Clear { directive, notes } = read_change(&both) else {
        panic!("{:?}", read_change(&both))
    };
    assert!(matches!(directive.action, Action::Tool { .. }));
    assert_eq!(
        notes,
        ["the run before it was left out: nothing has changed since it failed"]
    );
    let first = |answer: &str| match read_change(answer) {
        Reading::Clear { directive, .. } => print(&directive),
        other => panic!("{other:?}"),
    };
    assert!(matches!(clear(&both).action, Action::Run { .. }));
    assert_eq!(first(run), print(&clear(run)));
    assert_eq!(first(&format!("{set}\n{run}")), print(&clear(set)));
    for only_runs in [format!("{run}\n{run}"), format!("{run}\n{done}")] {
        assert_eq!(first(&only_runs), print(&clear(run)), "{only_runs}");
    }
    let end_first = format!("{done}\n{set}");
    assert!(had_several(&read_change(&end_first)));
}

#[test]
fn a_tool_in_the_place_of_the_keyword_is_called_with_what_stands_below_it() {
    let args = |answer: &str| match read(answer) {
        Reading::Clear { directive, notes } => match directive.action {
            Action::Tool { name, args } => {
                assert!(notes[0].contains("taken for the tool"), "{notes:?}");
                let on = directive.on.map_or(String::new(), |on| format!(" on {on}"));
                format!("{name} {args}{on}")
            }
            other => panic!("{other:?}"),
        },
        Reading::Nothing { problems } => problems.join("; "),
        other => panic!("{answer}: {other:?}"),
    };
    for (answer, called) in [
        (
            "DIRECTIVE: REDSTONE_SET\nSIDE: back\nPOWER: 15\n\nThen we run it.",
            r#"redstone_set {"power":15,"side":"back"}"#,
        ),
        (
            "DIRECTIVE: turtle_dig\nDIRECTION: \"down\"\nON: digger",
            r#"turtle_dig {"direction":"down"} on digger"#,
        ),
        (
            "DIRECTIVE: FS_READ\nPATH: /a.lua\nMAX_BYTES: 100",
            r#"fs_read {"max_bytes":100,"path":"/a.lua"}"#,
        ),
        (
            "DIRECTIVE: REDSTONE_SET\nARGS: {\"side\": \"back\"}\nPOWER: 15",
            r#"redstone_set {"power":15,"side":"back"}"#,
        ),
    ] {
        assert_eq!(args(answer), called, "{answer}");
    }
    for answer in [
        "DIRECTIVE: REDSTONE_SET",
        "DIRECTIVE: REDSTONE_SET\nthe signal at the back: it is 0",
        "DIRECTIVE: FLY\nSPEED: 3",
        "DIRECTIVE: SET THE SIGNAL/BACK\nPOWER: 15",
        "DIRECTIVE: GROUP:STORAGE/STOCK_COUNT\nITEM: x",
    ] {
        assert!(args(answer).contains("is no directive"), "{answer}");
    }
}

#[test]
fn each_missing_or_malformed_field_is_named() {
    for (answer, expected) in [
        ("DIRECTIVE: ASK_USER\nWHY: x", "QUESTION is missing"),
        (
            "DIRECTIVE: WRITE_FILE\nCONTENT:\n```\nx\n```",
            "PATH is missing",
        ),
        (
            "DIRECTIVE: WRITE_FILE\nPATH: /a\nCONTENT: print(1)",
            "fenced code block",
        ),
        (
            "DIRECTIVE: WRITE_FILE\nPATH: /a\nCONTENT:\n```lua\nprint(1)",
            "not closed",
        ),
        (
            "DIRECTIVE: WRITE_FILE\nPATH: /a\nCONTENT:\n```\nx\n```\nTHEN: dance",
            "THEN item",
        ),
        ("DIRECTIVE: RUN\nPATH: /a list", "arguments belong in ARGS"),
        ("DIRECTIVE: RUN\nPATH: /a\nARGS: [\"x\"", "no JSON array"),
        ("DIRECTIVE: RUN\nPATH: <path>", "placeholder"),
        ("DIRECTIVE: SHELL", "COMMAND is missing"),
        ("DIRECTIVE: TOOL\nNAME: dig\nARGS: [1]", "no JSON object"),
        ("DIRECTIVE: TOOL\nNAME: a b", "no tool name"),
        ("DIRECTIVE: TOOL\nNAME: group:/dig", "names a group as"),
        ("DIRECTIVE: DONE\nSUMMARY: <what holds now>", "placeholder"),
        ("DIRECTIVE: FLY", "is no directive"),
        ("I think we are done.", "no line begins with"),
        ("RUN\nPATH: /a", "is missing"),
    ] {
        let found = problems(answer);
        assert!(found.contains(expected), "{answer:?}: {found}");
    }
}

#[test]
fn who_says_that_all_is_done_needs_no_summary() {
    for said in [
        "DIRECTIVE: DONE",
        "DIRECTIVE: DONE\nSUMMARY",
        "DIRECTIVE: DONE\nSUMMARY:\n",
    ] {
        let Action::Done { summary, .. } = clear(said).action else {
            panic!("{said:?} is no end");
        };
        assert_eq!(summary, "Everything is done.", "{said:?}");
    }
}

#[test]
fn a_tool_directive_may_spread_its_arguments_over_lines_or_a_fence() {
    let spread = "DIRECTIVE: TOOL\nNAME: dig\nARGS: {\n  \"side\": \"front\"\n}\nON: turtle-1";
    let fenced =
        "DIRECTIVE: TOOL\nNAME: dig\nARGS:\n```json\n{\"side\":\"front\"}\n```\nON: turtle-1";
    assert_eq!(clear(spread), clear(fenced));
    assert_eq!(clear(spread).on.unwrap().as_str(), "turtle-1");
}

fn line() -> impl Strategy<Value = String> {
    "[A-Za-z0-9][A-Za-z0-9 ,.?!'()=/-]{0,30}[A-Za-z0-9.?!]"
}

fn content() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        "[ -~]{0,30}",
        Just("```".to_owned()),
        Just("````lua".to_owned()),
        Just("~~~".to_owned()),
        Just("DIRECTIVE: RUN".to_owned()),
        Just("</think>".to_owned()),
        "\\PC{0,20}",
    ];
    proptest::collection::vec(line, 0..8)
        .prop_map(|lines| lines.iter().map(|l| format!("{l}\n")).collect())
}

fn path() -> impl Strategy<Value = String> {
    "/[a-zA-Z0-9_./-]{0,20}[a-z]"
}

fn then_items() -> impl Strategy<Value = Vec<ThenItem>> {
    let arg = "[a-z0-9 ]{0,8}";
    let run = (path(), proptest::collection::vec(arg, 0..3))
        .prop_map(|(path, args)| ThenItem::Run { path, args });
    let shell = line().prop_map(|command| ThenItem::Shell { command });
    proptest::collection::vec(prop_oneof![run, shell], 0..3)
}

fn action() -> impl Strategy<Value = Action> {
    use proptest::option::of;
    prop_oneof![
        (line(), of(line()), of(line())).prop_map(|(question, why, next)| Action::AskUser {
            question,
            why,
            next
        }),
        (path(), content(), then_items()).prop_map(|(path, content, then)| Action::WriteFile {
            path,
            language: Some("lua".into()),
            content,
            then
        }),
        (
            path(),
            proptest::collection::vec("\\PC{0,12}", 0..4),
            of(line())
        )
            .prop_map(|(path, args, expect)| Action::Run { path, args, expect }),
        (line(), of(line())).prop_map(|(command, expect)| Action::Shell { command, expect }),
        (
            "[a-z_.-]{1,20}",
            proptest::collection::btree_map("[a-z]{1,5}", "\\PC{0,12}", 0..3)
        )
            .prop_map(|(name, args)| Action::Tool {
                name,
                args: serde_json::json!(args)
            }),
        (line(), of(line())).prop_map(|(summary, notes)| Action::Done { summary, notes }),
    ]
}

fn directive() -> impl Strategy<Value = Directive> {
    let on =
        proptest::option::of("[a-z][a-z0-9-]{0,10}".prop_map(|id| ClientId::parse(&id).unwrap()));
    (action(), on).prop_map(|(action, on)| Directive { action, on })
}

proptest! {
    #[test]
    fn every_printed_directive_reads_back(directive in directive(), crlf: bool, before in line(), after in line()) {
        let mut text = format!("{before}\n{}\n{after}\n", print(&directive));
        if crlf {
            text = text.replace('\n', "\r\n");
        }
        match read(&text) {
            Reading::Clear { directive: got, .. } => prop_assert_eq!(got, directive),
            other => prop_assert!(false, "{:?} from {}", other, text),
        }
    }

    #[test]
    fn noise_never_panics(text in "(DIRECTIVE|THEN|ARGS|CONTENT|PATH|:|\n|```|~~~|<think>|</think>|\\[|\\{|\"|\\PC){0,60}") {
        let _ = read(&text);
    }
}
