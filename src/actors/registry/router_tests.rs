use super::*;
use crate::actors::computer::lane::LaneLimits;
use crate::actors::registry::messages::Registration;
use crate::actors::registry::{Registry, RegistryLinks};
use crate::actors::shards::Shards;
use crate::domain::tool::ComputerView;
use crate::store::{ComputerRecord, KnownComputer, Lane as LaneNumbers};
use actix::prelude::*;
use serde_json::json;

fn id(name: &str) -> ClientId {
    ClientId::parse(name).unwrap()
}

/// Computers as the journal knows them: nobody is online.
async fn offline_fleet() -> Router {
    let known = [("miner", "dig", "old"), ("smelter", "smelt", "dig")];
    let known = known.map(|(name, tool, once)| {
        let registration = Registration {
            groups: vec!["quarry".into()],
            tools: serde_json::from_value(json!([{"name": tool}])).unwrap(),
            once_owned: [once.to_owned()].into(),
            ..Registration::default()
        };
        KnownComputer {
            record: ComputerRecord {
                client_id: id(name),
                boot_id: None,
                secret_hash: None,
                owner: "local".into(),
                registration: serde_json::to_value(registration).unwrap(),
                last_seen_ms: 0,
            },
            lane: LaneNumbers::default(),
            tools: Vec::new(),
        }
    });
    let router = Router::default();
    let links = RegistryLinks::default();
    let limits = LaneLimits::default();
    let registry = Registry::new(
        router.clone(),
        known.to_vec(),
        limits,
        links,
        Shards::default(),
    )
    .start();
    // Answered after it started.
    let _ = registry
        .send(crate::actors::registry::messages::CloseConnections)
        .await;
    router
}

fn reason(found: Result<Lane, NoRoute>) -> NoRouteReason {
    found.map(|lane| lane.client_id.clone()).unwrap_err().reason
}

fn words(found: Result<Lane, NoRoute>) -> String {
    found
        .map(|lane| lane.client_id.clone())
        .unwrap_err()
        .message
}

/// As in `strategy`, for a task that may use everything.
fn everything() -> Wants {
    Wants::default()
}

#[actix::test]
async fn a_computer_that_is_named_takes_the_call_also_while_it_is_offline() {
    let router = offline_fleet().await;
    let named = Target::Computer(id("miner"));
    assert_eq!(
        router.route(&named, None, "dig").unwrap().client_id,
        id("miner")
    );
    let home = id("miner");
    let own = router.route(&Target::Any, Some(&home), "dig");
    assert_eq!(own.unwrap().client_id, id("miner"));
}

#[actix::test]
async fn a_bare_name_never_leaves_a_computer_that_once_owned_the_tool() {
    let router = offline_fleet().await;
    let found = router.route(&Target::Any, Some(&id("smelter")), "dig");
    let told = words(found);
    assert!(told.contains("has it no more"), "{told}");
    assert!(told.contains("\"miner/dig\""), "{told}");
}

#[actix::test]
async fn who_cannot_take_a_call_is_told_with_the_reason_and_what_to_do() {
    let router = offline_fleet().await;
    let route = |target: &Target, tool: &str| router.route(target, None, tool);
    let ghost = Target::Computer(id("minor"));
    assert_eq!(reason(route(&ghost, "dig")), NoRouteReason::UnknownComputer);
    assert!(words(route(&ghost, "dig")).contains("did you mean \"miner\""));
    let named = Target::Computer(id("miner"));
    assert_eq!(reason(route(&named, "fly")), NoRouteReason::UnknownTool);
    let group = Target::Group("quarry".into());
    assert_eq!(reason(route(&group, "dig")), NoRouteReason::Offline);
    let told = words(route(&group, "dig"));
    assert!(told.contains("miner is offline since"), "{told}");
    assert!(told.contains("switch one on"), "{told}");
    let nobody = Target::Group("ghosts".into());
    assert_eq!(reason(route(&nobody, "dig")), NoRouteReason::UnknownTool);
    assert_eq!(
        reason(route(&Target::Any, "fly")),
        NoRouteReason::UnknownTool
    );
}

#[actix::test]
async fn a_task_sees_its_own_computer_whole_and_of_others_what_it_has_not() {
    let router = offline_fleet().await;
    let seen = |home: Option<&str>, wants: &Wants| -> Vec<String> {
        let view = router.fleet_view(home.map(id).as_ref(), wants);
        let tools = |c: &ComputerView| c.tools.names().collect::<Vec<_>>().join(",");
        let computers = view.computers.iter();
        computers
            .map(|c| format!("{}:{}", c.client_id, tools(c)))
            .collect()
    };
    let all = ["miner:dig", "smelter:smelt"];
    assert_eq!(seen(None, &everything()), all);
    assert_eq!(seen(Some("miner"), &everything()), all);
    // It had `dig` once, so those of others are not for it.
    assert_eq!(seen(Some("smelter"), &everything()), ["smelter:smelt"]);
    let mut named = everything();
    named.computers.push(id("miner"));
    assert_eq!(seen(Some("smelter"), &named), all);
}
