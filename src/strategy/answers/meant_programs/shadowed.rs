//! Lua programs that add something up in a loop and declare the sum anew there: `local total = total + count`. Such a name ends with each round,
//! and the one before the loop, which is printed behind it, stays as it was. Small models write so, and no run fails for it.

/// What makes a new value of an old one.
const OPERATORS: [&str; 7] = ["+", "-", "*", "/", "%", "^", ".."];

const LOCAL: &str = "local ";

/// The program in which such a line gives its value to the name that was there before; none if it has none. Blocks are told by how far their
/// lines are indented.
pub(super) fn given_to_the_outer(program: &str) -> Option<String> {
    let lines: Vec<&str> = program.split_inclusive('\n').collect();
    let mut mended = String::with_capacity(program.len());
    for (at, line) in lines.iter().enumerate() {
        match is_lost(&lines, at) {
            true => mended.push_str(&line.replacen(LOCAL, "", 1)),
            false => mended.push_str(line),
        }
    }
    (mended != program).then_some(mended)
}

/// Whether a line declares a name anew for a value made of it that nothing reads before the block is over, while the outer name is read behind
/// the block.
fn is_lost(lines: &[&str], at: usize) -> bool {
    let depth = indentation(lines[at]);
    let Some(name) = made_of_itself(lines[at]) else {
        return false;
    };
    let is_outer = |line: &&&str| indentation(line) < depth && declared(line) == Some(name);
    let mut behind = lines[at + 1..]
        .iter()
        .filter(|line| !line.trim().is_empty());
    let reads = |line: &&str| has_name(line, name);
    let is_read_inside = behind
        .by_ref()
        .take_while(|line| indentation(line) >= depth)
        .any(&reads);
    lines[..at].iter().any(|line| is_outer(&line)) && !is_read_inside && behind.any(reads)
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The one name that a line declares.
fn declared(line: &str) -> Option<&str> {
    let (name, _) = line.trim_start().strip_prefix(LOCAL)?.split_once('=')?;
    let name = name.trim();
    let is_one = !name.is_empty() && name.chars().all(is_of_name);
    is_one.then_some(name)
}

/// The name that a line declares for a value that begins with that name itself.
fn made_of_itself(line: &str) -> Option<&str> {
    let name = declared(line)?;
    let (_, value) = line.split_once('=')?;
    let rest = value.trim_start().strip_prefix(name)?.trim_start();
    OPERATORS
        .iter()
        .any(|operator| rest.starts_with(operator))
        .then_some(name)
}

fn has_name(line: &str, name: &str) -> bool {
    line.split(|c| !is_of_name(c)).any(|word| word == name)
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SUM: &str = "local total = 0\nfor _, n in ipairs({1, 2}) do\n  local total = total + n\n\n  local twice = 2 * n\nend\nreturn total\n";

    #[test]
    fn what_is_added_up_is_added_to_the_name_that_is_read_later() {
        let mended = given_to_the_outer(SUM).unwrap();
        assert_eq!(mended, SUM.replace("  local total", "  total"));
        let lua = mlua::Lua::new();
        assert_eq!(lua.load(SUM).eval::<i64>().unwrap(), 0);
        assert_eq!(lua.load(mended).eval::<i64>().unwrap(), 3);
    }

    #[test]
    fn a_name_that_may_be_meant_for_its_block_alone_stays() {
        for program in [
            SUM.replace("twice = 2 * n", "twice = 2 * total"),
            SUM.replace("return total", "return 0"),
            SUM.replace("local total = 0", "local totals = 0"),
            SUM.replace("= total + n", "= totals + n"),
            SUM.replace("= total + n", "= total"),
            SUM.replace("= total + n", "= n + total"),
            SUM.replace("  local total =", "local total ="),
            SUM.replace("  local total", "  total"),
            "local é = é + 1".to_owned(),
            String::new(),
        ] {
            assert_eq!(given_to_the_outer(&program), None, "{program}");
        }
    }

    proptest! {
        #[test]
        fn what_was_mended_has_nothing_to_mend(program in "(( {0,2})(local a = a \\+ 1|local a = 0|print\\(a\\)|end|é)\n){0,8}") {
            if let Some(mended) = given_to_the_outer(&program) {
                prop_assert_eq!(given_to_the_outer(&mended), None);
            }
        }
    }
}
