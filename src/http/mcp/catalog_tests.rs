use super::super::names;
use super::*;
use crate::domain::tool::ToolSpec;
use crate::domain::toolbox::Toolbox;

fn tool(value: Value) -> Tool {
    Tool::of(serde_json::from_value::<ToolSpec>(value).unwrap())
}

fn computer(client_id: &str, online: bool, tools: Vec<Tool>) -> ComputerBody {
    ComputerBody {
        client_id: ClientId::parse(client_id).unwrap(),
        label: None,
        kind: None,
        groups: Vec::new(),
        online,
        state: if online { "ready" } else { "offline" },
        since: String::new(),
        library_version: None,
        tools: tools.into_iter().collect::<Toolbox>(),
        queue: 0,
        current_call: None,
        owner: "local".into(),
        second_copy_refused: None,
    }
}

fn dig() -> Tool {
    tool(json!({
        "name": "dig", "description": "Dig.", "result": "the block",
        "args_schema": {"type": "object", "properties": {"side": {"type": "string"}}, "additionalProperties": false},
    }))
}

fn look(words: &str) -> Tool {
    tool(
        json!({"name": "look", "description": words, "effect": "read", "args_schema": {"properties": []}}),
    )
}

fn fleet() -> Vec<ComputerBody> {
    vec![
        computer("mine 7", true, vec![dig(), look("up")]),
        computer("turtle-1", false, vec![dig(), look("down")]),
    ]
}

#[test]
fn a_tool_that_all_have_stands_once_and_different_ones_under_their_computers() {
    let tools = offered(&fleet(), &Principal::local());
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_ref()).collect();
    assert_eq!(names, ["dig", "mine.207__look", "turtle-1__look"]);
    let description = tools[0].description.as_deref().unwrap();
    assert_eq!(
        description,
        "Dig.\nResult: the block\nComputers: mine 7 (online), turtle-1 (offline)"
    );
    assert_eq!(
        tools[2].description.as_deref().unwrap(),
        "down\nComputers: turtle-1 (offline)"
    );
}

#[test]
fn a_schema_keeps_its_own_arguments_and_takes_the_reserved_ones() {
    let tools = offered(&fleet(), &Principal::local());
    let dig = &tools[0].input_schema;
    let names: Vec<_> = dig["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names, [KEY, ON, "side"]);
    assert_eq!(dig["additionalProperties"], json!(false));
    let look = Value::Object((*tools[1].input_schema).clone());
    assert_eq!(look, json!({"type": "object", "properties": {}}));
}

#[test]
fn hints_follow_the_effect_class() {
    let shown = |effect| serde_json::to_value(hints(effect)).unwrap();
    for (effect, read_only, destructive, idempotent) in [
        (EffectClass::Read, true, false, true),
        (EffectClass::Idempotent, false, true, true),
        (EffectClass::Effect, false, true, false),
    ] {
        let expected = json!({
            "readOnlyHint": read_only, "destructiveHint": destructive, "idempotentHint": idempotent,
        });
        assert_eq!(shown(effect), expected, "{effect:?}");
    }
}

#[test]
fn drafts_and_tools_that_the_caller_may_not_call_are_not_offered() {
    let draft = tool(json!({"name": "new", "state": "draft"}));
    let fleet = [computer("a", true, vec![dig(), draft, look("up")])];
    let caller = Principal {
        tools: Some(vec!["lo*".into()]),
        ..Principal::local()
    };
    let names = |caller: &Principal| -> Vec<String> {
        let tools = offered(&fleet, caller);
        tools.iter().map(|tool| tool.name.to_string()).collect()
    };
    assert_eq!(names(&caller), ["look"]);
    assert_eq!(names(&Principal::local()), ["dig", "look"]);
}

#[test]
fn every_offered_name_leads_back_to_its_tool_and_computer() {
    let mut fleet = fleet();
    let long = "ö".repeat(64);
    fleet.push(computer(&long, true, vec![look("far")]));
    for offer in offered(&fleet, &Principal::local()) {
        let name = names::read(&offer.name).unwrap();
        let meant = meant(&name, &fleet).unwrap();
        let computer = meant.computer.as_ref().map(ClientId::as_str);
        assert_eq!(names::name_of(computer, &meant.tool), *offer.name);
    }
    let name = names::read("swim").unwrap();
    assert_eq!(meant(&name, &fleet), None);
}

fn aimed(name: &str, fleet: &[ComputerBody], mut args: Value, meta: Value) -> (String, Value) {
    let name = names::read(name).unwrap();
    let args_object = args.as_object_mut().unwrap();
    let meant = meant(&name, fleet).unwrap();
    let told = match meant.aimed(args_object, meta.as_object().unwrap()) {
        Ok(aimed) => format!("{} {:?}", aimed.address, aimed.idempotency_key),
        Err(words) => words,
    };
    (told, args)
}

#[test]
fn reserved_arguments_choose_the_computer_and_the_key_and_never_reach_the_tool() {
    let fleet = fleet();
    let args = json!({"side": "up", KEY: "k", ON: "mine 7"});
    let (told, left) = aimed("dig", &fleet, args, json!({}));
    assert_eq!(told, r#"mine 7/dig Some("k")"#);
    assert_eq!(left, json!({"side": "up"}));
    let (told, _) = aimed("dig", &fleet, json!({ON: "group:north"}), json!({}));
    assert_eq!(told, "group:north/dig None");
    let (told, _) = aimed(
        "dig",
        &fleet,
        json!({}),
        json!({"ccfleet/idempotency_key": "m"}),
    );
    assert_eq!(told, r#"dig Some("m")"#);
    let (told, _) = aimed("mine.207__look", &fleet, json!({}), json!({}));
    assert_eq!(told, "mine 7/look None");
    let (told, _) = aimed("dig", &fleet, json!({KEY: 7}), json!({}));
    assert_eq!(told, "`idempotency_key` is a text");
    let (told, _) = aimed("dig", &fleet, json!({ON: ""}), json!({}));
    assert!(told.starts_with("`on_computer`: "), "{told}");
}

#[test]
fn an_argument_of_the_tools_own_stays_the_tools() {
    let pay = tool(json!({
        "name": "pay", "args_schema": {"type": "object", "properties": {KEY: {"type": "integer"}}},
    }));
    let fleet = [computer("a", true, vec![pay])];
    let meta = json!({"ccfleet/idempotency_key": "k"});
    let (told, left) = aimed("pay", &fleet, json!({KEY: 7}), meta);
    assert_eq!(told, r#"pay Some("k")"#);
    assert_eq!(left, json!({KEY: 7}));
    let shown = offered(&fleet, &Principal::local());
    assert_eq!(
        shown[0].input_schema["properties"][KEY],
        json!({"type": "integer"})
    );
}
