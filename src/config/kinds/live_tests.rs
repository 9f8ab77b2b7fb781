//! Kinds that are changed while the server runs.

use super::*;
use serde_json::{Value, json};
use std::sync::Arc;

/// Kinds over a folder of their own, as a server's start finds them.
fn start(folder: &Path) -> Result<LiveKinds, KindError> {
    let data = folder.display().to_string();
    let loader = crate::config::Loader::new().with_override("server.data_dir", data);
    let settings = Arc::new(loader.load().unwrap());
    let prompts = PromptLibrary::embedded().unwrap();
    LiveKinds::load(settings, prompts, crate::strategy::version_of)
}

fn form(value: &Value) -> KindForm {
    serde_json::from_value(value.clone()).unwrap()
}

fn gardening() -> Value {
    json!({"kind": "gardening", "description": "Plants", "strategy": "goals", "toolsets": ["turtle"],
        "allowed_tools": ["rake"], "demand_proof": true, "instructions": "Water first.\nThen \"dig\".\n",
        "executor_mode": "never", "budgets": {"steps": 7, "per_wake": {"calls": 3}},
        "guards": {"wait_tools": []}, "policy": {"rules": [{"tools": ["rm"], "verdict": "deny"}]},
        "plan": {"review": true}, "numbered": {"max_items": 4}, "goals": {"rounds": 7}, "memory": {"drift": "fail"},
        "wakes": {"events": ["rain"], "every_s": 3600}, "tools": {"max_shown": 9},
        "models": {"planner": {"model": "qwen3:8b", "temperature": 0.5}},
        "templates": [{"name": "dig", "patterns": ["dig {place}"], "steps": [
            {"objective": "Dig", "action": "call_tool", "reason": "asked", "params": {"deep": [1, 2.5, {"x": true}]}}]}]})
}

#[test]
fn every_kind_that_comes_with_the_program_is_the_same_through_json_and_through_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let kinds = start(folder.path()).unwrap();
    let forms: Vec<KindForm> = kinds.current().entries().map(|e| e.form.clone()).collect();
    assert!(forms.len() >= 8);
    for own in forms {
        let json = serde_json::to_value(&own).unwrap();
        assert_eq!(form(&json), own, "{}", own.kind);
        assert_eq!(kinds.put(form(&json)), Ok(Put::Same));
        // And through a file: its description changes, so that it is written.
        let mut other = json.clone();
        other["description"] = json!("another");
        assert_eq!(kinds.put(form(&other)), Ok(Put::Changed), "{}", own.kind);
        let written = start(folder.path()).unwrap().current();
        let entry = written.get(&own.kind).unwrap();
        assert_eq!(entry.form, form(&other));
        assert!(entry.is_embedded() && entry.is_changed());
        let mut profile = entry.profile.clone();
        profile.description = json["description"].as_str().unwrap().to_owned();
        let came = start(tempfile::tempdir().unwrap().path())
            .unwrap()
            .current();
        assert_eq!(profile, came.get(&own.kind).unwrap().profile);
        // Put back to what it was, it has no file any more.
        assert_eq!(kinds.put(own.clone()), Ok(Put::Changed));
        assert!(
            !folder
                .path()
                .join(format!("kinds/{}.toml", own.kind))
                .exists()
        );
        assert!(!kinds.current().get(&own.kind).unwrap().is_changed());
    }
}

#[test]
fn a_kind_that_is_made_counts_at_once_and_after_a_restart_and_the_former_ones_stay_with_who_has_them()
 {
    let folder = tempfile::tempdir().unwrap();
    let kinds = start(folder.path()).unwrap();
    let before = kinds.current();
    assert_eq!(kinds.put(form(&gardening())), Ok(Put::Created));
    assert!(!before.resolve(Some("gardening")).1);
    let restarted = start(folder.path()).unwrap();
    for kinds in [&kinds, &restarted] {
        let now = kinds.current();
        let (profile, known) = now.resolve(Some("gardening"));
        assert!(known);
        assert_eq!(profile.allowed_tools, ["rake", "turtle_*"]);
        assert_eq!(
            (profile.budgets.steps, profile.budgets.per_wake.calls),
            (7, 3)
        );
        assert!(profile.guards.loops.wait_tools.is_empty());
        let entry = now.get("gardening").unwrap();
        assert_eq!(entry.form, form(&gardening()));
        assert!(!entry.is_embedded() && !entry.is_changed());
    }
    let mut changed = gardening();
    changed["instructions"] = json!("Only look.");
    assert_eq!(restarted.put(form(&changed)), Ok(Put::Changed));
    let now = restarted.current();
    assert_eq!(now.resolve(Some("gardening")).0.instructions, "Only look.");
    assert_eq!(restarted.delete("gardening"), Ok(false));
    assert!(!restarted.current().resolve(Some("gardening")).1);
    assert!(
        !start(folder.path())
            .unwrap()
            .current()
            .resolve(Some("gardening"))
            .1
    );
}

#[test]
fn deleting_gives_back_what_came_with_the_program_and_spares_what_is_needed() {
    let folder = tempfile::tempdir().unwrap();
    let kinds = start(folder.path()).unwrap();
    let came = kinds.current().get("inspect").unwrap().clone();
    let mut own = serde_json::to_value(&came.form).unwrap();
    own["budgets"] = json!({"steps": 3});
    kinds.put(form(&own)).unwrap();
    assert_eq!(kinds.current().resolve(Some("inspect")).0.budgets.steps, 3);
    assert_eq!(kinds.delete("inspect"), Ok(true));
    assert_eq!(kinds.current().resolve(Some("inspect")).0, &came.profile);
    for kind in ["inspect", "call", "code_job"] {
        assert_eq!(kinds.delete(kind), Err(ChangeError::ComesWith(kind.into())));
    }
    let error = kinds.delete("inspekt").unwrap_err().to_string();
    assert!(error.contains("did you mean \"inspect\"?"), "{error}");

    let data = folder.path().display().to_string();
    kinds.put(form(&gardening())).unwrap();
    let loader = crate::config::Loader::new().with_override("server.data_dir", data);
    let settings = loader
        .with_override("tasks.default_kind", "gardening")
        .load();
    let prompts = PromptLibrary::embedded().unwrap();
    let kinds = LiveKinds::load(
        Arc::new(settings.unwrap()),
        prompts,
        crate::strategy::version_of,
    );
    let kinds = kinds.unwrap();
    assert_eq!(
        kinds.delete("gardening"),
        Err(ChangeError::Default("gardening".into()))
    );
    assert!(kinds.current().resolve(None).1);
}

#[test]
fn what_the_start_would_refuse_is_refused_with_its_field_and_nothing_changes() {
    let folder = tempfile::tempdir().unwrap();
    let kinds = start(folder.path()).unwrap();
    for (pointer, value, field) in [
        ("/strategy", json!("magic"), "strategy"),
        ("/strategy", json!("call"), "strategy"),
        ("/toolsets", json!(["garden"]), "toolsets"),
        ("/memory/cut_to", json!(1000), "memory.cut_to"),
        (
            "/models/planner/temperature",
            json!(3),
            "models.planner.temperature",
        ),
        ("/models/planner/model", json!(" "), "models.planner.model"),
        ("/guards/window", json!(1), "guards.window"),
        (
            "/policy/path_roots",
            json!(["/a/../b"]),
            "policy.path_roots",
        ),
        ("/plan/tries", json!(0), "plan.tries"),
        ("/wakes/remember", json!(101), "wakes.remember"),
        ("/wakes/cron", json!("often"), "wakes.cron"),
        (
            "/templates/0/patterns",
            json!([" "]),
            "templates[0].patterns",
        ),
        (
            "/templates/0/steps/0/depends_on",
            json!([1]),
            "templates[0].steps[0].depends_on",
        ),
        ("/kind", json!("Gardening"), "kind"),
        ("/kind", json!("../gardening"), "kind"),
        ("/kind", json!("toolsets"), "kind"),
    ] {
        let mut wrong = gardening();
        let (place, last) = pointer.rsplit_once('/').unwrap();
        let place = wrong.pointer_mut(place).unwrap();
        match place {
            Value::Array(items) => items[last.parse::<usize>().unwrap()] = value,
            place => place[last] = value,
        }
        match kinds.put(form(&wrong)).unwrap_err() {
            ChangeError::Unusable(error) => assert_eq!(error.field(), Some(field), "{error}"),
            other => panic!("{pointer}: {other}"),
        }
    }
    let null = json!({"deep": null});
    let mut wrong = gardening();
    wrong["templates"][0]["steps"][0]["params"] = null;
    assert!(matches!(
        kinds.put(form(&wrong)),
        Err(ChangeError::Unusable(_))
    ));
    assert!(kinds.current().get("gardening").is_none());
    assert!(!folder.path().join("kinds").exists());
}

#[test]
fn a_file_that_was_broken_by_hand_is_told_at_the_start_with_its_name_its_key_and_a_guess() {
    let folder = tempfile::tempdir().unwrap();
    start(folder.path())
        .unwrap()
        .put(form(&gardening()))
        .unwrap();
    let file = folder.path().join("kinds/gardening.toml");
    let good = std::fs::read_to_string(&file).unwrap();
    for (from, to, expected) in [
        ("[budgets]", "[budgets]\nstepps = 3", "budgets.stepps: "),
        (
            "[budgets]",
            "[budgets]\nstepps = 3",
            "did you mean `steps`?",
        ),
        ("demand_proof = true", "demand_proof = 7", "demand_proof: "),
        ("demand_proof = true", "demand_proof = ", "line "),
    ] {
        assert!(good.contains(from), "{good}");
        std::fs::write(&file, good.replacen(from, to, 1)).unwrap();
        let error = start(folder.path()).err().unwrap().to_string();
        assert!(error.contains("gardening.toml"), "{error}");
        assert!(error.contains(expected), "{error}");
    }
    std::fs::write(&file, &good).unwrap();
    std::fs::write(folder.path().join("kinds/other.toml"), &good).unwrap();
    let error = start(folder.path()).err().unwrap().to_string();
    assert!(
        error.contains("gardening.toml") && error.contains("other.toml"),
        "{error}"
    );
}

#[test]
fn a_file_is_kept_where_it_is_and_one_that_was_put_there_meanwhile_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("kinds");
    std::fs::create_dir(&own).unwrap();
    std::fs::write(own.join("mine.toml"), text_of_gardening()).unwrap();
    let kinds = start(folder.path()).unwrap();
    let mut changed = gardening();
    changed["description"] = json!("Weeds");
    kinds.put(form(&changed)).unwrap();
    assert!(
        std::fs::read_to_string(own.join("mine.toml"))
            .unwrap()
            .contains("Weeds")
    );
    assert!(!own.join("gardening.toml").exists() && !own.join("mine.new").exists());

    std::fs::write(own.join("farming.toml"), "by hand").unwrap();
    changed["kind"] = json!("farming");
    let error = kinds.put(form(&changed)).unwrap_err();
    assert!(matches!(error, ChangeError::InTheWay { .. }), "{error}");
    assert_eq!(
        std::fs::read_to_string(own.join("farming.toml")).unwrap(),
        "by hand"
    );
    // A folder that is a file cannot be written to; nothing counts that was not written.
    let blocked = tempfile::tempdir().unwrap();
    let kinds = start(blocked.path()).unwrap();
    std::fs::write(blocked.path().join("kinds"), "").unwrap();
    assert!(matches!(
        kinds.put(form(&gardening())),
        Err(ChangeError::Write { .. })
    ));
    assert!(kinds.current().get("gardening").is_none());
}

fn text_of_gardening() -> String {
    toml::to_string(&form(&gardening())).unwrap()
}
