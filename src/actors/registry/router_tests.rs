use super::*;
use crate::actors::computer::lane::LaneLimits;
use crate::actors::registry::messages::Registration;
use crate::actors::registry::{Registry, RegistryLinks};
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
            tools: [(
                tool.to_owned(),
                serde_json::from_value(json!({"name": tool})).unwrap(),
            )]
            .into(),
            once_owned: [tool.to_owned(), once.to_owned()].into(),
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
        }
    });
    let router = Router::default();
    let links = RegistryLinks::default();
    let limits = LaneLimits::default();
    let registry = Registry::new(router.clone(), known.to_vec(), limits, links, Vec::new()).start();
    // Answered after it started.
    let _ = registry
        .send(crate::actors::registry::messages::CloseConnections)
        .await;
    router
}

fn reason(found: Result<Lane, NoRoute>) -> NoRouteReason {
    found.map(|lane| lane.client_id.clone()).unwrap_err().reason
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
    let own = router.route(&Target::Any, Some(&home), "dig").unwrap();
    assert_eq!(own.client_id, id("miner"));
}

#[actix::test]
async fn a_bare_name_never_leaves_a_computer_that_once_owned_the_tool() {
    let router = offline_fleet().await;
    let found = router.route(&Target::Any, Some(&id("smelter")), "dig");
    assert_eq!(reason(found), NoRouteReason::UnknownTool);
}

#[actix::test]
async fn who_cannot_take_a_call_is_told_with_the_reason() {
    let router = offline_fleet().await;
    let ghost = Target::Computer(id("ghost"));
    assert_eq!(
        reason(router.route(&ghost, None, "dig")),
        NoRouteReason::UnknownComputer
    );
    let named = Target::Computer(id("miner"));
    assert_eq!(
        reason(router.route(&named, None, "fly")),
        NoRouteReason::UnknownTool
    );
    let group = Target::Group("quarry".into());
    assert_eq!(
        reason(router.route(&group, None, "dig")),
        NoRouteReason::Offline
    );
    assert_eq!(
        reason(router.route(&Target::Any, None, "fly")),
        NoRouteReason::UnknownTool
    );
}

#[actix::test]
async fn a_task_sees_its_own_computer_or_all_of_them_and_those_it_named() {
    let router = offline_fleet().await;
    let names = |view: FleetView| -> Vec<String> {
        let computers = view.computers.into_iter();
        computers.map(|c| c.client_id.to_string()).collect()
    };
    assert_eq!(names(router.fleet_view(None)), ["miner", "smelter"]);
    assert_eq!(names(router.fleet_view(Some(&id("miner")))), ["miner"]);
    let named = [id("smelter")];
    assert_eq!(
        names(router.fleet_view_with(Some(&id("miner")), &named)),
        ["miner", "smelter"]
    );
}
