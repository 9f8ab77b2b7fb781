use super::*;
use proptest::prelude::*;
use serde_json::json;

fn args(text: &str) -> Value {
    read(text)
        .args
        .unwrap_or_else(|problem| panic!("{text}: {problem}"))
}

#[test]
fn objects_are_read_as_models_write_them() {
    for text in [
        r#"{"path": "/a", "n": 1}"#,
        "\n```json\n{\"path\": \"/a\", \"n\": 1}\n```\n",
        "```{\"path\": \"/a\", \"n\": 1}```",
        r#"{'path': '/a', 'n': 1,}"#,
        r#""{\"path\": \"/a\", \"n\": 1}""#,
    ] {
        assert_eq!(args(text), json!({"path": "/a", "n": 1}), "{text}");
    }
    let equals = r#"{"path":"/a.lua","content="print('a=b')"} and more"#;
    assert_eq!(
        args(equals),
        json!({"path": "/a.lua", "content": "print('a=b')"})
    );
    assert_eq!(&equals[read(equals).taken..], " and more");
    let table = "{search = \"x = 4\", all = true}\nThen run it.";
    assert_eq!(args(table), json!({"search": "x = 4", "all": true}));
    assert_eq!(&table[read(table).taken..], "\nThen run it.");
    for head in ["\"content=\"", "\"content\": \"", "\"content\":"] {
        let foot = if head.ends_with('"') { "\"}" } else { "}" };
        let block =
            format!("{{\"path\":\"/a.lua\",{head}\n```lua\nprint(\"a\")\n```\n{foot} and more");
        let whole = json!({"path": "/a.lua", "content": "print(\"a\")\n"});
        assert_eq!(args(&block), whole, "{block}");
        assert_eq!(&block[read(&block).taken..], " and more");
    }
    let lone = "{\"edits?\":{\"search\":\"x=1\", \"all?=true\"}} and more";
    assert_eq!(
        args(lone),
        json!({"edits?": {"search": "x=1", "all?": true}})
    );
    assert_eq!(&lone[read(lone).taken..], " and more");
    let edits = "path=/a.lua\nedits?={search = \"x = 4\", replace = \"x = 9\"}";
    assert_eq!(
        args(edits),
        json!({"path": "/a.lua", "edits": {"search": "x = 4", "replace": "x = 9"}})
    );
    let lists = r#"{"path": "/a", "args": {"x", "y"}, "env": {}}"#;
    assert_eq!(
        args(lists),
        json!({"path": "/a", "args": ["x", "y"], "env": {}})
    );
    assert_eq!(
        args("{\"content\": \"print('a')\nprint(\\\"b\\\")\n\", \"go\": True}"),
        json!({"content": "print('a')\nprint(\"b\")\n", "go": true})
    );
}

#[test]
fn pairs_are_read_with_quotes_commas_and_blocks() {
    assert_eq!(args("path=/a.lua"), json!({"path": "/a.lua"}));
    assert_eq!(
        args("path: \"/a b.lua\", n=3"),
        json!({"path": "/a b.lua", "n": "3"})
    );
    assert_eq!(
        args("path=/a.lua\ncontent=\n````lua\nx = [[\n```\n]]\n````\nThought: and?"),
        json!({"path": "/a.lua", "content": "x = [[\n```\n]]\n"})
    );
    assert_eq!(args("args=[\"x\", \"y\"]"), json!({"args": ["x", "y"]}));
    assert_eq!(args("/a.lua"), json!("/a.lua"));
    assert_eq!(
        args("command=\"list /, and=more\""),
        json!({"command": "list /, and=more"})
    );
    assert_eq!(args(""), json!({}));
    assert_eq!(args("url=http://x/y"), json!({"url": "http://x/y"}));
}

#[test]
fn what_is_taken_counts_from_the_start_of_the_text_also_behind_a_fence() {
    for text in [
        "```\n'é'",
        "```lua\n[1]",
        "```json\n{\"path\": \"é\"}",
        "'é'",
    ] {
        assert_eq!(read(text).taken, text.len(), "{text}");
    }
    assert_eq!(read("```\n'é'\nThought: and?").taken, "```\n'é'\n".len());
}

#[test]
fn what_is_cut_off_or_unclear_is_told() {
    for (text, expected) in [
        ("{\"path\": \"/a", "not closed"),
        ("content=\n```lua\nprint(1)", "not closed"),
        ("{\"content\": \"print(\"a\")\"}", "no JSON object"),
        ("open the file\nand read it", "neither a JSON object"),
        ("\"path\":\"/x\"}", "a brace is missing"),
        ("\"path\", \"/x\"", "no JSON object"),
    ] {
        let problem = read(text).args.unwrap_err();
        assert!(problem.contains(expected), "{text}: {problem}");
    }
}

#[test]
fn it_tells_where_it_ends() {
    let text = "{\"a\": \"Observation: x\"}\nObservation: y";
    assert_eq!(&text[read(text).taken..], "\nObservation: y");
    let text = "a=1\nb=2\nObservation: y";
    assert_eq!(&text[read(text).taken..], "Observation: y");
    let text = "```json\n{'a': 'b'}\n```\nThought: y";
    assert_eq!(&text[read(text).taken..], "\n```\nThought: y");
    let text = "path=/a\ncontent=\n```\nx\n```\n\n- words of the prompt\nb=2";
    let input = read(text);
    assert_eq!(input.args, Ok(json!({"path": "/a", "content": "x\n"})));
    assert_eq!(&text[input.taken..], "- words of the prompt\nb=2");
    let text = "content=\n```\nx\n```\npath=/a";
    assert_eq!(read(text).args, Ok(json!({"path": "/a", "content": "x\n"})));
}

proptest! {
    #[test]
    fn every_object_is_read_back(path in "\\PC{0,40}", n in any::<i32>(), lines in "[a-z\"'\\\\\n`:{}]{0,60}") {
        let value = json!({"path": path, "n": n, "lines": lines});
        let text = format!("{value}\nObservation: no");
        let input = read(&text);
        prop_assert_eq!(input.args, Ok(value));
        prop_assert_eq!(&text[input.taken..], "\nObservation: no");
    }

    #[test]
    fn noise_never_panics(text in "\\PC{0,120}", marks in "[{}\\[\\]\"'`=:,a-c\n\\\\é ]{0,60}") {
        for text in [text, marks] {
            let input = read(&text);
            prop_assert!(text.is_char_boundary(input.taken));
        }
    }
}

#[test]
fn values_in_brackets_stand_in_their_order_also_with_quotes_inside_a_program() {
    assert_eq!(
        args("[\"/primes.lua\", \"30\", 4]\nObservation: x"),
        json!(["/primes.lua", "30", 4])
    );
    assert_eq!(
        args(r#"["/a.lua","print("a\\n")\nprint(#t)"]"#),
        json!(["/a.lua", "print(\"a\\n\")\nprint(#t)"])
    );
    // What may be meant otherwise is a text.
    for text in ["[]", "[{\"a\": 1}]", "[\"a\", \"b\"c\"]"] {
        assert_eq!(args(text), json!(text));
    }
}
