//! What the command line of the simulated fleet takes.

use super::*;

#[test]
fn what_people_write_as_the_server_becomes_the_sockets_address() {
    for (given, want) in [
        ("ws://h:1/ws", "ws://h:1/ws"),
        ("ws://h:1/other?x=1", "ws://h:1/other?x=1"),
        ("http://h:1", "ws://h:1/ws"),
        ("http://h:1/dashboard", "ws://h:1/ws"),
        ("h:1", "ws://h:1/ws"),
    ] {
        assert_eq!(server_url(given).unwrap(), want, "{given}");
    }
    for given in ["wss://h/ws", "ftp://h", "ws:///ws", ""] {
        assert!(
            server_url(given).unwrap_err().to_string().contains("ws://"),
            "{given}"
        );
    }
}

#[test]
fn names_that_would_leave_the_folder_are_refused() {
    let args = |prefix: &str| {
        parsed(&[
            "--count", "2", "--dir", "d", "--groups", "a", "--prefix", prefix,
        ])
    };
    assert!(matches!(
        configs(&args("../x"), "ws://h:1/ws"),
        Err(SimCommandError::Prefix(_))
    ));
    let made = configs(&args("sim-"), "ws://h:1/ws").unwrap();
    assert_eq!(made[1].disk, PathBuf::from("d/sim-2"));
    assert_eq!(made[1].label.as_deref(), Some("sim-2"));
    let mut with_token = args("sim-");
    with_token.token = Some("ccf_x\n".into());
    let made = configs(&with_token, "ws://h:1/ws").unwrap();
    let token = ("ccfleet.token".to_owned(), "ccf_x".into());
    assert!(made.iter().all(|config| config.settings.contains(&token)));
}

/// The arguments as clap reads them.
fn parsed(words: &[&str]) -> SimArgs {
    try_parse(words).unwrap_or_else(|error| panic!("{error}"))
}

fn try_parse(words: &[&str]) -> Result<SimArgs, clap::Error> {
    use clap::{Args, FromArgMatches};
    let command = SimArgs::augment_args(clap::Command::new("sim"));
    let all = std::iter::once("sim").chain(words.iter().copied());
    SimArgs::from_arg_matches(&command.try_get_matches_from(all)?)
}

#[test]
fn the_kind_the_version_and_the_rules_reach_every_computer() {
    let args = parsed(&[
        "--kind",
        "turtle",
        "--normal",
        "--cc-version",
        "1.108.4",
        "--deny-private",
        "--allow",
        "127.0.0.0/8",
        "--light",
    ]);
    let made = configs(&args, "ws://h:1/ws").unwrap();
    assert_eq!((made[0].kind, made[0].advanced), (Kind::Turtle, false));
    assert_eq!(made[0].cc_version.to_string(), "1.108.4");
    assert_eq!(
        made[0].http_rules,
        HttpRules::deny_private()
            .first("127.0.0.0/8", true)
            .unwrap()
    );
    assert_eq!(
        made[0].program.as_deref(),
        Some(&["/ccfleet/host.lua".to_owned()][..])
    );
    let wrong = parsed(&["--deny-private", "--allow", "1.1.1.1/99"]);
    assert!(matches!(
        configs(&wrong, "ws://h:1/ws"),
        Err(SimCommandError::Allow(_))
    ));
}

#[test]
fn options_that_make_no_sense_are_refused() {
    for words in [
        &["--cc-version", "1.50"][..],
        &["--chaos", "--chaos-rate", "0"],
        &["--chaos-seed", "5"],
        &["--allow", "x"],
        &["--kind", "toaster"],
        &["--reconnect", "0"],
    ] {
        assert!(try_parse(words).is_err(), "{words:?}");
    }
}
