use super::*;
use proptest::prelude::*;

#[test]
fn a_list_of_objects_that_an_answer_is_held_to_has_an_end() {
    let list = |items: Value, most: u64| json!({"type": "array", "items": items, "maxItems": most});
    let object = json!({"type": "object", "properties": {"search": {"type": "string"}}});
    let text = json!({"type": "string"});
    for (items, given, held) in [(&object, 64, 16), (&object, 4, 4), (&text, 64, 64)] {
        let simple = simple_schema(&list(items.clone(), given));
        assert_eq!(simple["maxItems"], held);
    }
    let endless = simple_schema(&json!({"type": "array", "items": object}));
    assert_eq!(endless["maxItems"], 16);
}

#[test]
fn a_request_is_read_out_of_chatter_and_fences() {
    let answer = "Sure:\n```json\n{\"kind\":\"tool\",\"explanation\":\"a } b\",\"tool\":\"x\",\"parameters\":{}}\n```";
    assert!(matches!(read(answer), Ok(StrictRequest::Tool { .. })));
    assert!(read("{\"kind\":\"tool\",\"tool\":\"x\"}").unwrap_err()[0].contains("explanation"));
    assert!(read("{\"kind\":\"tool\"").is_err());
}

#[test]
fn an_executor_may_not_choose_another_tool_or_invent_a_path() {
    let reading = super::super::parser::read("DIRECTIVE: RUN\nPATH: /a.lua\nARGS: [\"x\"]");
    let input = ExecutorInput::of(&reading);
    let request = |tool: &str, path: &str| StrictRequest::Tool {
        explanation: String::new(),
        tool: tool.into(),
        parameters: json!({"path": path, "args": ["x"]}),
        on: None,
    };
    assert!(disagreements(&input, &request("run_program", "a.lua")).is_empty());
    assert_eq!(
        disagreements(&input, &request("fs_delete", "/a.lua")).len(),
        1
    );
    assert_eq!(
        disagreements(&input, &request("run_program", "/b.lua")).len(),
        1
    );
    let done = StrictRequest::Final {
        explanation: String::new(),
        result: Default::default(),
    };
    assert_eq!(disagreements(&input, &done).len(), 1);
}

#[test]
fn each_directive_means_its_own_tools_and_only_done_ends_the_task() {
    let tools = [
        ASK_USER_TOOL,
        "fs_write",
        "write_and_run",
        "run_program",
        "shell_exec",
    ];
    let request = |tool: &str| StrictRequest::Tool {
        explanation: String::new(),
        tool: tool.into(),
        parameters: json!({}),
        on: None,
    };
    let end = StrictRequest::Final {
        explanation: String::new(),
        result: Default::default(),
    };
    for (text, meant, may_end) in [
        ("DIRECTIVE: ASK_USER", vec![ASK_USER_TOOL], false),
        ("**write file**", vec!["fs_write", "write_and_run"], false),
        ("DIRECTIVE: RUN", vec!["run_program"], false),
        ("DIRECTIVE: shell", vec!["shell_exec"], false),
        ("DIRECTIVE: DONE", vec![], true),
        (
            "DIRECTIVE: TOOL\nNAME: shell_exec",
            vec!["shell_exec"],
            true,
        ),
    ] {
        let input = ExecutorInput {
            text: Cow::Borrowed(text),
            on: None,
        };
        let fits = |tool: &&str| disagreements(&input, &request(tool)).is_empty();
        let fitting: Vec<&str> = tools.into_iter().filter(fits).collect();
        assert_eq!(fitting, meant, "{text}");
        assert_eq!(disagreements(&input, &end).is_empty(), may_end, "{text}");
    }
}

proptest! {
    #[test]
    fn reading_noise_never_panics(text in "(\\{|\\}|\"|\\\\|kind|:|\\PC){0,40}") {
        let _ = read(&text);
    }
}
