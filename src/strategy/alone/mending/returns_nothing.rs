//! Files of Lua that another program loads, and that return nothing: somebody has taken out a line that seemed useless. Lua says "a nil value"
//! in the program that loads them, and a small model mends that one.

use crate::domain::files;
use crate::domain::ids::ClientId;
use crate::strategy::memory::contents;
use crate::strategy::paths::{QUOTES, normal};
use crate::strategy::turn::Turn;

/// What a program calls to load another file.
const LOADS: [&str; 2] = ["dofile", "require"];

/// What a file lacks that another one loads.
pub(super) struct LostReturn {
    /// In words for who mends it.
    pub told: String,
    /// The file with what it can only have returned: the one table that it makes.
    pub whole: Option<String>,
}

impl Turn<'_> {
    /// The known programs whose names stand in quotes in the text of another one.
    pub(super) fn loaded_by(&self, program: Option<&str>, on: Option<&ClientId>) -> Vec<String> {
        let text = program.and_then(|path| contents::known(self.state, on, path));
        let Some(text) = text else {
            return Vec::new();
        };
        let named = |path: &String| {
            let stem = path.trim_end_matches(".lua").trim_start_matches('/');
            ["\"", "'"].iter().any(|quote| {
                let starts = [format!("{quote}{stem}"), format!("{quote}/{stem}")];
                starts.iter().any(|start| text.contains(start.as_str()))
            })
        };
        let known = self.known_programs(on).into_iter();
        known
            .filter(|path| Some(path.as_str()) != program && named(path))
            .collect()
    }

    /// A file that a program loads for what it returns, and that returns nothing; with what it lacks.
    pub(super) fn loaded_for_nothing(
        &self,
        program: Option<&str>,
        on: Option<&ClientId>,
    ) -> Option<(String, LostReturn)> {
        let program = files::from_root(&normal(program?));
        let text = contents::known(self.state, on, &program)?;
        let loaded = self.loaded_by(Some(&program), on).into_iter();
        let mut lost = loaded.filter_map(|path| {
            let holds = contents::known(self.state, on, &path)?;
            let lost = lost_return(text, &path, holds)?;
            Some((path, lost))
        });
        lost.next()
    }
}

/// That of a file which `program` loads for what it returns; none where it returns something, or the program does not load it so.
fn lost_return(program: &str, path: &str, text: &str) -> Option<LostReturn> {
    let returns = |line: &str| {
        let rest = line.strip_prefix("return");
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    let takes_it = program.lines().any(|line| takes(line, path));
    if !takes_it || text.lines().any(returns) {
        return None;
    }
    let made = text.lines().filter_map(|line| {
        let (name, value) = line.strip_prefix("local ")?.split_once('=')?;
        let is_table = value.trim_start().starts_with('{');
        is_table.then(|| name.trim())
    });
    let made: Vec<&str> = made.collect();
    let name = made.last().copied().unwrap_or("what it makes");
    Some(LostReturn {
        told: format!(
            "What loads {path} takes what it returns, and it returns nothing: `return {name}` is missing as its last line"
        ),
        whole: (made.len() == 1).then(|| format!("{}\n\nreturn {name}\n", text.trim_end())),
    })
}

/// Whether a line keeps what a file returns: `local crops = dofile("/farm/crops.lua")`.
fn takes(line: &str, path: &str) -> bool {
    let Some((before, called)) = line.split_once('=') else {
        return false;
    };
    let called = called.trim_start();
    let rest = LOADS.iter().find_map(|load| called.strip_prefix(load));
    let Some(rest) = rest.filter(|_| !before.ends_with(['=', '~', '<', '>'])) else {
        return false;
    };
    let rest = rest.trim_start().trim_start_matches('(').trim_start();
    let named = rest
        .strip_prefix(QUOTES)
        .and_then(|rest| rest.split(QUOTES).next());
    let (path, stem) = (normal(path), normal(path.trim_end_matches(".lua")));
    named.is_some_and(|named| {
        let named = normal(named);
        named == path || named == stem || named.replace('.', "/") == stem
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CROPS: &str = "-- what grows\nlocal crops = {\n    { name = \"wheat\" },\n}\n";

    #[test]
    fn a_loaded_file_that_returns_nothing_lacks_its_last_line() {
        for program in [
            "local crops = dofile(\"/farm/crops.lua\")\nprint(#crops)",
            "local crops = require(\"farm.crops\")",
            "crops = require 'farm/crops'",
        ] {
            let lost = lost_return(program, "/farm/crops.lua", CROPS).unwrap();
            assert_eq!(lost.whole.unwrap(), format!("{CROPS}\nreturn crops\n"));
            let told = lost.told;
            assert!(
                told.contains("`return crops` is missing as its last line"),
                "{program}: {told}"
            );
        }
    }

    #[test]
    fn one_that_returns_something_or_is_only_run_lacks_nothing() {
        let program = "local crops = dofile(\"/farm/crops.lua\")";
        let whole = format!("{CROPS}return crops\n");
        assert!(lost_return(program, "/farm/crops.lua", &whole).is_none());
        for other in [
            "dofile(\"/farm/crops.lua\")",
            "local a = dofile(\"/other.lua\")",
            "if a == dofile(\"/farm/crops.lua\") then end",
        ] {
            assert!(
                lost_return(other, "/farm/crops.lua", CROPS).is_none(),
                "{other}"
            );
        }
    }
}
