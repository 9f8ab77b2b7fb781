//! At most once, never lost: random schedules over the real lane of the server and the real Lua library, with a
//! network, disks and a journal that fail in every way they can.
//!
//! The witness is a counter beside all of it (`machine::Witness`): no `effect` call enters a handler twice, whatever
//! the server's books say. A change is judged by the same schedules every time; `PROPTEST_CASES` asks for that many
//! others.

use super::*;
use proptest::test_runner::RngSeed;

mod machine;
mod server;
mod world;

use world::{Step, World};

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0u8..4).prop_map(Step::Place),
        14 => (1u8..8).prop_map(Step::Flow),
        5 => Just(Step::TaskReads),
        5 => Just(Step::Commit),
        5 => any::<u8>().prop_map(Step::Up),
        5 => any::<u8>().prop_map(Step::Down),
        2 => any::<u8>().prop_map(Step::Overtake),
        2 => any::<u8>().prop_map(Step::Duplicate),
        8 => any::<u8>().prop_map(Step::HandlerEnds),
        4 => (any::<u8>(), 0u8..4, 0u8..4).prop_map(|(c, d, u)| Step::Cut(c, d, u)),
        3 => (0u8..45).prop_map(Step::Seconds),
        2 => any::<u8>().prop_map(Step::Reboot),
        1 => (any::<u8>(), 0u16..600).prop_map(|(m, bytes)| Step::CrashWriting(m, bytes)),
        1 => any::<bool>().prop_map(Step::DiskFull),
        1 => Just(Step::BackUpDisk),
        1 => Just(Step::RestoreDisk),
        1 => Just(Step::Clone),
        1 => Just(Step::EndClone),
        1 => any::<bool>().prop_map(Step::Lag),
        2 => Just(Step::ServerKill),
        1 => Just(Step::BackUpServer),
        1 => Just(Step::RestoreServer),
        1 => Just(Step::Resume),
        1 => Just(Step::Stop),
        1 => any::<u8>().prop_map(Step::Cancel),
        2 => any::<u8>().prop_map(Step::EndTask),
    ];
    prop::collection::vec(step, 0..120)
}

fn run(steps: &[Step], clone_survives: bool) -> World {
    let mut world = World::new();
    for step in steps {
        world.step(*step);
    }
    world.finish(clone_survives);
    world
}

fn config() -> ProptestConfig {
    let mut config = ProptestConfig {
        max_shrink_iters: 20_000,
        ..ProptestConfig::default()
    };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.rng_seed = RngSeed::Fixed(1);
    }
    config
}

proptest! {
    #![proptest_config(config())]
    #[test]
    fn whatever_happens_an_effect_is_entered_at_most_once_and_every_call_ends(
        steps in steps(),
        clone_survives in any::<bool>(),
    ) {
        run(&steps, clone_survives);
    }
}

#[test]
fn the_schedules_reach_what_they_are_about() {
    let quiet = run(
        &[
            Step::Flow(6),
            Step::Place(0),
            Step::Flow(9),
            Step::HandlerEnds(0),
            Step::Flow(6),
        ],
        false,
    );
    assert_eq!(quiet.tally(), [("done", 1)].into());

    let dead = [
        Step::Flow(6),
        Step::Place(0),
        Step::Flow(9),
        Step::Reboot(0),
        Step::Flow(6),
    ];
    assert_eq!(run(&dead, false).tally(), [("unknown", 1)].into());
}
