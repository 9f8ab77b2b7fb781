//! The table in `docs/sim.md`.

use std::fmt::Write;

use super::{Shown, all};

const BEGIN: &str =
    "<!-- facts: made by a test; CCFLEET_BLESS=1 cargo test --lib the_page_of_facts -->\n";
const END: &str = "<!-- end of facts -->\n";

fn table() -> String {
    let (mut kept, mut missing) = (0, 0);
    let mut rows = String::new();
    for (section, facts) in all() {
        let _ = write!(
            rows,
            "\n### {section}\n\n| | fact | kept |\n| --- | --- | --- |\n"
        );
        for fact in facts {
            let how = match fact.shown {
                Shown::Lua(_) | Shown::With(..) => "yes".to_owned(),
                Shown::On(version, _) => format!("yes, as {version}"),
                Shown::Test(name, _) => format!("yes: `{name}`"),
                Shown::Not(reason) => format!("**no**: {reason}"),
            };
            if matches!(fact.shown, Shown::Not(_)) {
                missing += 1;
            } else {
                kept += 1;
            }
            let _ = writeln!(rows, "| {} | {} | {how} |", fact.id, fact.says);
        }
    }
    format!(
        "{BEGIN}\n{kept} facts are kept, {missing} are not. A plain *yes* is shown by a program in \
         `src/sim/tests/facts`.\n{rows}\n{END}"
    )
}

#[test]
fn the_page_of_facts_is_what_the_tests_say() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/sim.md");
    let written = std::fs::read_to_string(path).expect("docs/sim.md is there");
    let (before, rest) = written
        .split_once(BEGIN)
        .expect("docs/sim.md has a place for the table");
    let (_, after) = rest.split_once(END).expect("the table has an end");
    let wanted = format!("{before}{}{after}", table());
    if std::env::var_os("CCFLEET_BLESS").is_some() {
        std::fs::write(path, &wanted).expect("docs/sim.md is writable");
        return;
    }
    assert!(
        written == wanted,
        "docs/sim.md is old; run CCFLEET_BLESS=1 cargo test --lib the_page_of_facts"
    );
}
