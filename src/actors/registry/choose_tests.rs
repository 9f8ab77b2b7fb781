//! Routing against a model that looks at everybody each time.

use super::*;
use crate::actors::computer::view::ComputerCell;
use crate::actors::registry::messages::Registration;
use crate::domain::tool::ToolState;
use proptest::prelude::*;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

const COMPUTERS: [&str; 4] = ["a", "b", "c", "d"];
const TOOLS: [&str; 3] = ["dig", "fly", "swim"];
const GROUPS: [&str; 2] = ["north", "south"];

/// What is known of one computer, without any books.
#[derive(Debug, Clone, Default)]
struct Known {
    tools: BTreeMap<&'static str, Has>,
    once: BTreeSet<&'static str>,
    groups: Vec<&'static str>,
    state: ComputerState,
    load: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Has {
    state: ToolState,
    /// What `args_schema` takes: whole numbers, or texts.
    whole: bool,
}

#[derive(Debug, Clone)]
enum Step {
    Register(usize, Vec<(usize, Has)>, Vec<usize>),
    Unregister(usize, usize),
    /// A connection came or went, or the lane has more or less to do.
    Turn(usize, ComputerState, usize),
}

fn any_step() -> impl Strategy<Value = Step> {
    let computer = 0..COMPUTERS.len();
    let state = prop::sample::select(vec![ToolState::Active, ToolState::Active, ToolState::Draft]);
    let has = (state, any::<bool>()).prop_map(|(state, whole)| Has { state, whole });
    let tools = prop::collection::vec((0..TOOLS.len(), has), 0..4);
    let groups = prop::collection::vec(0..GROUPS.len(), 0..2);
    let states = vec![
        ComputerState::Ready,
        ComputerState::Busy,
        ComputerState::Unresponsive,
        ComputerState::Offline,
        ComputerState::Stopped,
    ];
    prop_oneof![
        (computer.clone(), tools, groups).prop_map(|(c, t, g)| Step::Register(c, t, g)),
        (computer.clone(), 0..TOOLS.len()).prop_map(|(c, t)| Step::Unregister(c, t)),
        (computer, prop::sample::select(states), 0usize..3)
            .prop_map(|(c, state, load)| Step::Turn(c, state, load)),
    ]
}

fn id(name: &str) -> ClientId {
    ClientId::parse(name).unwrap()
}

fn registration(known: &Known) -> Registration {
    let tool = |(name, has): (&&str, &Has)| {
        let kind = if has.whole { "integer" } else { "string" };
        json!({"name": name, "state": has.state, "args_schema": {"properties": {"x": {"type": kind}}}})
    };
    let tools: Vec<Value> = known.tools.iter().map(tool).collect();
    Registration {
        tools: serde_json::from_value(json!(tools)).unwrap(),
        groups: known.groups.iter().map(|g| (*g).to_owned()).collect(),
        ..Registration::default()
    }
}

type Fleet = BTreeMap<&'static str, Known>;

fn takes(has: &Has, whole: bool) -> bool {
    has.state == ToolState::Active && has.whole == whole
}

/// The least busy of those who can take the call, else why nobody can.
fn best<'a>(
    among: impl Iterator<Item = (&'a &'static str, &'a Known)>,
    tool: &str,
    whole: bool,
) -> Result<&'static str, NoRouteReason> {
    let owners: Vec<_> = among.filter(|(_, k)| k.tools.contains_key(tool)).collect();
    if owners.is_empty() {
        return Err(NoRouteReason::UnknownTool);
    }
    if owners
        .iter()
        .all(|(_, k)| k.tools[tool].state != ToolState::Active)
    {
        return Err(NoRouteReason::ToolDraft);
    }
    let taking: Vec<_> = owners
        .iter()
        .filter(|(_, k)| takes(&k.tools[tool], whole))
        .collect();
    if taking.is_empty() {
        return Err(NoRouteReason::UnknownTool);
    }
    let can = |k: &Known| matches!(k.state, ComputerState::Ready | ComputerState::Busy);
    let there = taking.iter().filter(|(_, k)| can(k));
    match there.min_by_key(|(name, k)| (k.load, **name)) {
        Some((name, _)) => Ok(name),
        None if taking
            .iter()
            .any(|(_, k)| k.state == ComputerState::Stopped) =>
        {
            Err(NoRouteReason::Stopped)
        }
        None => Err(NoRouteReason::Offline),
    }
}

fn model(
    fleet: &Fleet,
    target: &Target,
    home: Option<&str>,
    tool: &str,
    whole: bool,
) -> Result<&'static str, NoRouteReason> {
    let owned = |name: &str| {
        let (name, known) = fleet
            .get_key_value(name)
            .ok_or(NoRouteReason::UnknownComputer)?;
        match known.tools.get(tool).map(|has| has.state) {
            Some(ToolState::Active) => Ok(*name),
            Some(_) => Err(NoRouteReason::ToolDraft),
            None => Err(NoRouteReason::UnknownTool),
        }
    };
    match target {
        Target::Computer(id) => owned(id.as_str()),
        Target::Group(group) => {
            let members = fleet
                .iter()
                .filter(|(_, k)| k.groups.contains(&group.as_str()));
            best(members, tool, whole)
        }
        Target::Any => {
            let ever = |k: &Known| k.tools.contains_key(tool) || k.once.contains(tool);
            match home.and_then(|home| fleet.get(home)).filter(|k| ever(k)) {
                Some(_) => owned(home.unwrap_or_default()),
                None => best(fleet.iter(), tool, whole),
            }
        }
    }
}

fn apply(step: &Step, fleet: &mut Fleet, index: &ToolIndex) {
    let (Step::Register(at, ..) | Step::Unregister(at, _) | Step::Turn(at, ..)) = step;
    let name = COMPUTERS[*at];
    let cell = index.computer(&id(name)).unwrap_or_else(|| {
        let none = Registration::default();
        let cell = Arc::new(ComputerCell::new(id(name), "local".into(), none, 0));
        index.enter(&cell);
        cell
    });
    let known = fleet.entry(name).or_default();
    let before: Vec<&'static str> = known.tools.keys().copied().collect();
    match step {
        Step::Register(_, tools, groups) => {
            known.tools = tools.iter().map(|(at, has)| (TOOLS[*at], *has)).collect();
            known.groups = groups.iter().map(|at| GROUPS[*at]).collect();
        }
        Step::Unregister(_, at) => {
            known.tools.remove(TOOLS[*at]);
        }
        Step::Turn(_, state, load) => {
            (known.state, known.load) = (*state, *load);
            cell.pretend(*state, *load);
            return;
        }
    }
    known.once.extend(before);
    index.register(&cell, registration(known));
}

proptest! {
    #[test]
    fn routing_finds_what_looking_at_everybody_finds(steps in prop::collection::vec(any_step(), 1..24)) {
        let (mut fleet, index) = (Fleet::new(), ToolIndex::default());
        let targets: Vec<Target> = [Target::Any]
            .into_iter()
            .chain(COMPUTERS.map(|c| Target::Computer(id(c))))
            .chain(GROUPS.map(|g| Target::Group(g.into())))
            .collect();
        for step in &steps {
            apply(step, &mut fleet, &index);
            for (target, tool, whole) in targets.iter().flat_map(|target| {
                TOOLS.iter().flat_map(move |tool| [true, false].map(|whole| (target, *tool, whole)))
            }) {
                let args = if whole { json!({"x": 1}) } else { json!({"x": "1"}) };
                for home in [None, Some("a"), Some("nobody")] {
                    let home_id = home.map(id);
                    let found = choose(&index, &Wanted {
                        owner: None,
                        target, home: home_id.as_ref(), tool, args: Some(&args), now_ms: || 0,
                    });
                    let found = found.map(|cell| cell.client_id().to_string()).map_err(|no| no.reason);
                    let wanted = model(&fleet, target, home, tool, whole).map(str::to_owned);
                    prop_assert_eq!(found, wanted, "{:?} {:?} {} {}", target, home, tool, whole);
                }
            }
        }
    }
}

#[test]
fn a_call_on_its_way_counts_before_it_arrives() {
    let index = ToolIndex::default();
    let known = Known {
        tools: [(
            "dig",
            Has {
                state: ToolState::Active,
                whole: true,
            },
        )]
        .into(),
        ..Known::default()
    };
    for name in ["a", "b"] {
        let cell = ComputerCell::new(id(name), "local".into(), registration(&known), 0);
        cell.pretend(ComputerState::Ready, 0);
        index.enter(&Arc::new(cell));
    }
    let mut routed = Vec::new();
    for _ in 0..4 {
        let wanted = Wanted {
            owner: None,
            target: &Target::Any,
            home: None,
            tool: "dig",
            args: None,
            now_ms: || 0,
        };
        let cell = choose(&index, &wanted).unwrap();
        cell.promise();
        routed.push(cell.client_id().to_string());
    }
    assert_eq!(routed, ["a", "b", "a", "b"]);
}
