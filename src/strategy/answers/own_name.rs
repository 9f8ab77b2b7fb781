//! A program's own name as its first argument, as C has it: small models copy a whole command line into the arguments.

use crate::strategy::paths::normal;
use serde_json::Value;

/// The arguments of a run without it; none if it is not there.
pub fn left_out(tool: &str, args: &Value) -> Option<Value> {
    if tool != "run_program" {
        return None;
    }
    let path = normal(args.get("path")?.as_str()?);
    let first = args.get("args")?.as_array()?.first()?.as_str()?;
    if normal(first) != path {
        return None;
    }
    let mut mended = args.clone();
    mended.get_mut("args")?.as_array_mut()?.remove(0);
    Some(mended)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_program_is_not_given_its_own_name() {
        let run = |path: &str, args: Value| json!({"path": path, "args": args});
        let given = run("/sum.lua", json!(["sum.lua", "2", "3"]));
        assert_eq!(
            left_out("run_program", &given),
            Some(run("/sum.lua", json!(["2", "3"])))
        );
        for (tool, args) in [
            ("run_program", run("/sum.lua", json!(["2", "/sum.lua"]))),
            ("run_program", run("/wc.lua", json!(["/poem.txt"]))),
            ("run_program", json!({"path": "/sum.lua"})),
            ("fs_copy", given),
        ] {
            assert_eq!(left_out(tool, &args), None, "{args}");
        }
    }
}
