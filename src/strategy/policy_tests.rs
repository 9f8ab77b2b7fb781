use super::*;
use proptest::prelude::*;
use serde_json::json;
use std::collections::BTreeMap;

fn defaults() -> PolicyRules {
    crate::config::Loader::new()
        .load()
        .expect("the defaults are valid")
        .policy
}

fn rule(verdict: RuleVerdict, tools: &[&str]) -> PolicyRule {
    PolicyRule {
        tools: tools.iter().map(|tool| (*tool).to_owned()).collect(),
        computers: Vec::new(),
        args: BTreeMap::new(),
        verdict,
        reason: String::new(),
        fatal: false,
    }
}

fn shell(policy: &PolicyRules, command: &str) -> Policy {
    check(
        policy,
        "shell_exec",
        &json!({"command": command}),
        &["home"],
    )
}

fn is_denied(policy: &Policy) -> bool {
    matches!(policy, Policy::Deny { .. })
}

fn texts(of: &[&str]) -> Vec<String> {
    of.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn without_rules_everything_is_allowed() {
    for command in ["rm /x", "reboot", "wget run http://x"] {
        assert_eq!(shell(&defaults(), command), Policy::Allow);
    }
    let delete = json!({"path": "/startup.lua"});
    assert_eq!(check(&defaults(), "fs_delete", &delete, &[]), Policy::Allow);
}

#[test]
fn destructive_commands_are_found_however_they_are_written() {
    let policy = PolicyRules {
        confirm_destructive: true,
        ..defaults()
    };
    for command in [
        "rm /x",
        "  delete   /x",
        "\"delete\" /x",
        "/rom/programs/delete /x",
        "rom/programs/delete.lua /x",
        "dele:te /x",
        "delete\n /x",
        "bg rm /x",
        "monitor left rm /x",
        "shell bg delete /x",
        "reboot",
        "shutdown",
        "label clear",
        "wget run http://example.com/a.lua",
        "DELETE /x",
    ] {
        let verdict = shell(&policy, command);
        assert!(
            matches!(verdict, Policy::Confirm(_)),
            "{command:?}: {verdict:?}"
        );
    }
    for command in [
        "ls",
        "label set miner",
        "wget http://example.com/a",
        "remove",
        "list rm",
        "",
        "bg",
    ] {
        assert_eq!(shell(&policy, command), Policy::Allow, "{command:?}");
    }
    let typed = json!({"command": "shell", "input": ["ls", "rm /x"]});
    assert!(matches!(
        check(&policy, "shell_exec", &typed, &[]),
        Policy::Confirm(_)
    ));
    let program = json!({"path": "/rom/programs/delete.lua", "args": ["/x"]});
    assert!(matches!(
        check(&policy, "run_program", &program, &[]),
        Policy::Confirm(_)
    ));
    assert!(matches!(
        check(&policy, "fs_delete", &json!({"path": "/x"}), &[]),
        Policy::Confirm(_)
    ));
    assert_eq!(
        check(&policy, "fs_read", &json!({"path": "rm"}), &[]),
        Policy::Allow
    );
}

#[test]
fn file_tools_stay_in_their_folders() {
    let policy = PolicyRules {
        path_roots: texts(&["/work", "disk/out"]),
        ..defaults()
    };
    let ok = |tool: &str, args: Value| check(&policy, tool, &args, &[]) == Policy::Allow;
    assert!(ok("fs_read", json!({"path": "/work/a"})));
    assert!(ok("fs_move", json!({"from": "work/a", "to": "disk/out/a"})));
    assert!(ok(
        "fs_write_many",
        json!({"files": [{"path": "/work/a", "content": ""}]})
    ));
    assert!(!ok("fs_read", json!({"path": "/work/../startup.lua"})));
    assert!(!ok(
        "fs_move",
        json!({"from": "/work/a", "to": "/startup.lua"})
    ));
    assert!(!ok(
        "fs_write_many",
        json!({"files": [{"path": "/work/a"}, {"path": "/b"}]})
    ));
    assert!(!ok("fs_list", json!({})) && !ok("fs_grep", json!({"pattern": "x"})));
    assert!(!ok(
        "write_and_run",
        json!({"path": "/x.lua", "content": ""})
    ));
    // Other tools have paths of another kind.
    assert!(ok("http_request", json!({"path": "/x"})));
}

#[test]
fn only_listed_programs_run() {
    let policy = PolicyRules {
        shell_programs: texts(&["list", "type", "/work/*"]),
        ..defaults()
    };
    for command in [
        "ls /",
        "dir",
        "type x",
        "/work/test.lua a",
        "/rom/programs/list",
    ] {
        assert_eq!(shell(&policy, command), Policy::Allow, "{command:?}");
    }
    for command in [
        "lua",
        "bg ls",
        "/tmp/list.lua",
        "work/../rm x",
        "\"li\"st",
        "monitor left ls",
    ] {
        assert!(is_denied(&shell(&policy, command)), "{command:?}");
    }
    let run = |path: &str| check(&policy, "run_program", &json!({"path": path}), &[]);
    assert_eq!(run("work/a.lua"), Policy::Allow);
    assert!(is_denied(&run("/startup.lua")));
}

#[test]
fn only_listed_hosts_are_reached() {
    let policy = PolicyRules {
        url_hosts: texts(&["api.example.com", "*.example.org", "localhost:8080"]),
        ..defaults()
    };
    let get = |url: &str| check(&policy, "http_request", &json!({"url": url}), &[]);
    for url in [
        "https://api.example.com/x",
        "HTTP://API.example.com:80",
        "wss://a.b.example.org?x",
        "http://localhost:8080/x",
    ] {
        assert_eq!(get(url), Policy::Allow, "{url}");
    }
    for url in [
        "https://evil.com/api.example.com",
        "https://api.example.com@evil.com/",
        "https://api.example.com.evil.com",
        "http://localhost/x",
        "http://localhost:80",
        "ftp://api.example.com",
        "https:\\\\api.example.com",
        "https://evil.com\\.example.org",
        "https://evil.com#.example.org",
        "",
    ] {
        assert!(is_denied(&get(url)), "{url}");
    }
    assert!(is_denied(&shell(&policy, "wget http://evil.com/a x")));
    assert_eq!(
        shell(&policy, "wget https://api.example.com/a x"),
        Policy::Allow
    );
    assert!(is_denied(&check(&policy, "http_request", &json!({}), &[])));
}

#[test]
fn the_first_rule_that_fits_counts() {
    let mut policy = defaults();
    policy.confirm_destructive = true;
    let mut own = rule(RuleVerdict::Allow, &["fs_delete"]);
    own.args.insert("path".into(), "/tmp/*".into());
    let mut vault = rule(RuleVerdict::Deny, &["*"]);
    vault.computers = texts(&["vault*"]);
    vault.reason = "the vault is not yours".into();
    vault.fatal = true;
    let ask = rule(RuleVerdict::Confirm, &["turtle_*"]);
    policy.rules = vec![vault, own, ask];
    let delete = |path: &str, on: &[&str]| check(&policy, "fs_delete", &json!({"path": path}), on);
    assert_eq!(delete("/tmp/a", &["home"]), Policy::Allow);
    assert_eq!(delete("tmp/b/../a", &["home"]), Policy::Allow);
    assert!(matches!(delete("/tmp/../a", &["home"]), Policy::Confirm(_)));
    assert_eq!(
        delete("/tmp/a", &["home", "vault-2"]),
        Policy::Deny {
            reason: "the vault is not yours".into(),
            fatal: true
        }
    );
    // Nobody knows where it would go.
    assert!(is_denied(&delete("/tmp/a", &[])));
    assert!(matches!(
        check(&policy, "turtle_dig", &json!({}), &["home"]),
        Policy::Confirm(_)
    ));
    assert_eq!(
        check(&policy, "fs_read", &json!({}), &["home"]),
        Policy::Allow
    );
}

#[test]
fn a_rule_that_allows_needs_every_item_and_one_that_denies_any() {
    let with = |verdict, glob: &str| {
        let mut rule = rule(verdict, &["run_program"]);
        rule.args.insert("args".into(), glob.into());
        let mut others = vec![rule];
        others.push(super::tests::rule(RuleVerdict::Confirm, &["run_program"]));
        PolicyRules {
            rules: others,
            ..defaults()
        }
    };
    let run = |policy: &PolicyRules, args: Value| {
        check(
            policy,
            "run_program",
            &json!({"path": "/a", "args": args}),
            &[],
        )
    };
    let allows = with(RuleVerdict::Allow, "--dry*");
    assert_eq!(run(&allows, json!(["--dry", "--dry-run"])), Policy::Allow);
    assert!(matches!(
        run(&allows, json!(["--dry", "-x"])),
        Policy::Confirm(_)
    ));
    assert!(matches!(run(&allows, json!([])), Policy::Confirm(_)));
    let denies = with(RuleVerdict::Deny, "--force");
    assert!(is_denied(&run(&denies, json!(["a", "--force"]))));
    assert!(matches!(run(&denies, json!(["a"])), Policy::Confirm(_)));
}

#[test]
fn what_confines_comes_before_any_rule_and_may_be_fatal() {
    let policy = PolicyRules {
        rules: vec![rule(RuleVerdict::Allow, &["*"])],
        path_roots: texts(&["/work"]),
        fatal: vec![Confine::Paths],
        url_hosts: texts(&["x"]),
        ..defaults()
    };
    let outside = check(&policy, "fs_read", &json!({"path": "/a"}), &[]);
    assert!(
        matches!(outside, Policy::Deny { fatal: true, .. }),
        "{outside:?}"
    );
    let host = check(&policy, "http_request", &json!({"url": "http://y"}), &[]);
    assert!(
        matches!(host, Policy::Deny { fatal: false, .. }),
        "{host:?}"
    );
}

proptest! {
    #[test]
    fn no_spelling_of_a_path_leaves_its_root(path in "[a-b./\\\\: \"\u{1}]{0,24}") {
        let policy = PolicyRules { path_roots: texts(&["/a"]), ..defaults() };
        let verdict = check(&policy, "fs_read", &json!({"path": path}), &[]);
        let inside = crate::strategy::paths::names_of(&path).is_some_and(|names| {
            names.first().is_some_and(|first| first == "a")
        });
        prop_assert_eq!(verdict == Policy::Allow, inside);
    }

    #[test]
    fn judging_never_panics_and_is_always_the_same(command in "\\PC{0,60}", tool in "shell_exec|run_program|http_request|fs_move") {
        let policy = PolicyRules {
            confirm_destructive: true,
            path_roots: texts(&["/a"]),
            shell_programs: texts(&["l*"]),
            url_hosts: texts(&["*.a"]),
            ..defaults()
        };
        let args = json!({"command": command, "path": command, "args": [command], "url": command, "input": command});
        prop_assert_eq!(check(&policy, &tool, &args, &[]), check(&policy, &tool, &args, &[]));
    }

    #[test]
    fn words_around_a_destructive_command_never_hide_it(
        blanks in "[ \t]{1,3}", folder in prop_oneof![Just(""), Just("/rom/programs/"), Just("rom/./programs//")],
        ending in prop_oneof![Just(""), Just(".lua")], runners in proptest::collection::vec("bg|fg|shell|sh", 0..3)
    ) {
        let policy = PolicyRules { confirm_destructive: true, ..defaults() };
        let runners: String = runners.iter().map(|runner| format!("{runner}{blanks}")).collect();
        let command = format!("{blanks}{runners}{folder}delete{ending}{blanks}/x");
        prop_assert!(matches!(shell(&policy, &command), Policy::Confirm(_)), "{}", command);
    }
}
