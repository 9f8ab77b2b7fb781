//! Prompts: their front matter, overrides and rendering.

use super::*;

#[test]
fn every_embedded_prompt_parses_and_states_its_rules() {
    let library = PromptLibrary::embedded().unwrap();
    assert!(library.iter().count() >= 8);
}

#[test]
fn an_override_replaces_its_prompt_and_keeps_its_duties() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.md");
    let front = "+++\nid = \"directive/tail\"\nrole = \"planner\"\ndescription = \"mine\"\nvariables = []\nmust_state = []\n+++\n";
    std::fs::write(
        &file,
        format!("{front}Step {{{{ step }}}}. Write exactly one directive!\n"),
    )
    .unwrap();
    let library = PromptLibrary::with_overrides(folder.path()).unwrap();
    let texts = library.texts("directive");
    let text = render(&texts, "directive/tail", serde_json::json!({"step": 3})).unwrap();
    assert_eq!(text, "Step 3. Write exactly one directive!");

    std::fs::write(&file, format!("{front}Do something.\n")).unwrap();
    let error = PromptLibrary::with_overrides(folder.path()).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("must state \"exactly one directive\""),
        "{error}"
    );

    std::fs::write(&file, front.replace("tail", "tial") + "x").unwrap();
    let error = PromptLibrary::with_overrides(folder.path()).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("did you mean \"directive/tail\""),
        "{error}"
    );
}

#[test]
fn system_prompts_state_their_rules_also_where_nothing_else_is_to_be_said() {
    let library = PromptLibrary::embedded().unwrap();
    let without_parts = PromptLibrary::embedded_files().unwrap();
    let long = |prompt: &Prompt| prompt.role != "part" && prompt.body.len() > 2000;
    let mut seen = 0;
    for prompt in library.iter() {
        let system = prompt.description.to_lowercase().contains("system prompt");
        assert!(
            system || !long(&without_parts.prompts[&prompt.id]),
            "{}: say in description that it is a system prompt",
            prompt.id
        );
        if !system {
            continue;
        }
        seen += 1;
        let least = if long(prompt) { 5 } else { 1 };
        assert!(
            prompt.must_state.len() >= least,
            "{} carries too few rules",
            prompt.id
        );
        // Every list is empty, every condition false.
        let nothing: BTreeMap<&str, [String; 0]> = prompt
            .variables
            .iter()
            .map(|name| (name.as_str(), []))
            .collect();
        let texts = [(prompt.id.clone(), prompt.body.clone())].into();
        let bare = Prompt {
            body: render(&texts, &prompt.id, nothing).unwrap(),
            ..prompt.clone()
        };
        assert_eq!(missing_rule(&bare), None, "{}", prompt.id);
    }
    assert!(seen >= 2);
}

/// The pieces of a template's text that tell it from others: whole lines between its blanks.
fn telling_pieces(body: &str) -> impl Iterator<Item = &str> {
    let pieces = body.split(['{', '}', '%', '\n']).map(str::trim);
    pieces.filter(|piece| piece.len() >= 16 && !piece.contains('"'))
}

#[test]
fn every_prompt_can_be_seen_in_a_snapshot() {
    let mut snapshots = String::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/strategy")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "snap") {
                snapshots += &std::fs::read_to_string(path).unwrap();
            }
        }
    }
    let library = PromptLibrary::embedded().unwrap();
    let unseen: Vec<&str> = library
        .iter()
        .filter(|prompt| {
            let mut pieces = telling_pieces(&prompt.body).peekable();
            pieces.peek().is_some() && !pieces.any(|piece| snapshots.contains(piece))
        })
        .map(|prompt| prompt.id.as_str())
        .collect();
    assert!(unseen.is_empty(), "no snapshot shows {}", unseen.join(", "));
}

#[test]
fn an_override_of_a_part_counts_wherever_it_is_taken_in() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("computer.md");
    let own = PromptLibrary::embedded_files().unwrap().prompts["shared/computer"].clone();
    let front = "+++\nid = \"shared/computer\"\nrole = \"part\"\ndescription = \"\"\nvariables = []\nmust_state = []\n+++\n";
    std::fs::write(&file, format!("{front}{}- The sky is purple.\n", own.body)).unwrap();
    let library = PromptLibrary::with_overrides(folder.path()).unwrap();
    assert!(
        library.prompts["directive/planner"]
            .body
            .contains("The sky is purple.")
    );

    std::fs::write(&file, format!("{front}{{% include \"shared/habits\" %}}\n")).unwrap();
    let error = PromptLibrary::with_overrides(folder.path())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("includes \"shared/computer\", but there is no such part"),
        "{error}"
    );
}

#[test]
fn an_unknown_variable_is_found_at_the_start_and_not_in_a_conversation() {
    let text = "+++\nid = \"x\"\nrole = \"planner\"\ndescription = \"\"\nvariables = [\"a\"]\nmust_state = []\n+++\n{{ b }}";
    let prompt = parse("x.md", text).unwrap();
    let error = check(&prompt).unwrap_err().to_string();
    assert!(error.contains("\"b\" is not given"), "{error}");
}
