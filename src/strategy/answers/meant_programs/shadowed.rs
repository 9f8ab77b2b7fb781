//! Lua programs that add something up in a loop and declare the sum anew there: `local total = total + count`. Such a name ends with each round,
//! and the one before the loop, which is printed behind it, stays as it was. Small models write so, and no run fails for it.

use crate::strategy::lua_text::lua_tokens::{Token, tokens};

/// What makes a new value of an old one.
const OPERATORS: [&str; 7] = ["+", "-", "*", "/", "%", "^", ".."];

const LOCAL: &str = "local ";

/// The program in which such a line gives its value to the name that was there before; none if it has none. Where its block reads the name, too,
/// what the block reads stays what it was: one round's part of the sum. Blocks are told by how far their lines are indented.
pub(super) fn given_to_the_outer(program: &str) -> Option<String> {
    let lines: Vec<&str> = program.split_inclusive('\n').collect();
    let mut mended = String::with_capacity(program.len());
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        at += 1;
        let Some(lost) = Lost::at(&lines, at - 1) else {
            mended.push_str(line);
            continue;
        };
        if !lost.is_read_inside {
            mended.push_str(&line.replacen(LOCAL, "", 1));
            continue;
        }
        match lost.of_each_round(&lines) {
            Some(block) => {
                mended.push_str(&block);
                at = lost.end;
            }
            None => mended.push_str(line),
        }
    }
    (mended != program).then_some(mended)
}

/// A line that declares a name anew for a value made of it, while the outer name is read behind the block.
struct Lost<'p> {
    name: &'p str,
    at: usize,
    /// The first line behind its block.
    end: usize,
    is_read_inside: bool,
}

impl<'p> Lost<'p> {
    fn at(lines: &[&'p str], at: usize) -> Option<Self> {
        let depth = indentation(lines[at]);
        let name = made_of_itself(lines[at])?;
        let is_outer = |line: &&str| indentation(line) < depth && declared(line) == Some(name);
        let is_over = |line: &&str| !line.trim().is_empty() && indentation(line) < depth;
        let inside = lines[at + 1..].iter().take_while(|line| !is_over(line));
        let end = at + 1 + inside.count();
        let reads = |line: &&str| has_name(line, name);
        let is_lost = lines[..at].iter().any(is_outer) && lines[end..].iter().any(reads);
        is_lost.then(|| Self {
            name,
            at,
            end,
            is_read_inside: lines[at + 1..end].iter().any(reads),
        })
    }

    /// Its block, with a name of its own for what each round adds to the sum: `local each_total = n`, `total = total + each_total`. None unless
    /// the sum begins with 0 and nothing else is ever given to it, so that each round reads just that.
    fn of_each_round(&self, lines: &[&str]) -> Option<String> {
        let Self { name, at, end, .. } = *self;
        let own = format!("each_{name}");
        let is_given = |line: &&str| gives_to(line, name);
        let begins = lines[..at].iter().filter(|line| is_given(line));
        let begins: Vec<&str> = begins.map(|line| line.trim()).collect();
        let is_plain = begins == [format!("local {name} = 0")]
            && !lines[at + 1..].iter().any(is_given)
            && !lines.iter().any(|line| has_name(line, &own));
        let added = added_to(lines[at], name).filter(|_| is_plain)?;
        let indent = &lines[at][..indentation(lines[at])];
        let mut block = format!("{indent}local {own} = {added}\n{indent}{name} = {name} + {own}\n");
        for line in &lines[at + 1..end] {
            block.push_str(&renamed(line, name, &own)?);
        }
        Some(block)
    }
}

/// What a line adds to a name, where it does nothing else with it.
fn added_to<'l>(line: &'l str, name: &str) -> Option<&'l str> {
    let (_, value) = line.split_once('=')?;
    let added = value.trim().strip_prefix(name)?.trim_start();
    let added = added.strip_prefix('+')?.trim();
    let is_other = ["..", "--", "<", ">", "=", " and ", " or "]
        .iter()
        .any(|other| added.contains(other));
    (!added.is_empty() && !is_other && !has_name(added, name)).then_some(added)
}

/// Whether a line gives a value to a name.
fn gives_to(line: &str, name: &str) -> bool {
    let bare = line.trim_start();
    let bare = bare.strip_prefix(LOCAL).unwrap_or(bare);
    let rest = bare.strip_prefix(name).map(str::trim_start);
    rest.is_some_and(|rest| {
        rest.starts_with('=') && !rest.starts_with("==") || rest.starts_with(',')
    })
}

/// A line with another name for one; its texts stay as they are. None where the name may be a field, or the line has a text over several lines.
fn renamed(line: &str, from: &str, to: &str) -> Option<String> {
    let mut renamed = String::with_capacity(line.len());
    let mut done = 0;
    let tokens = tokens(line)?;
    for (index, (at, token)) in tokens.iter().enumerate() {
        if *token != Token::Name(from) {
            continue;
        }
        let before = index.checked_sub(1).map(|index| tokens[index].1);
        let after = tokens.get(index + 1).map(|(_, token)| *token);
        let is_field =
            matches!(before, Some(Token::Mark('.' | ':'))) || after == Some(Token::Mark('='));
        if is_field {
            return None;
        }
        renamed.push_str(&line[done..*at]);
        renamed.push_str(to);
        done = at + from.len();
    }
    renamed.push_str(&line[done..]);
    Some(renamed)
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
    fn a_block_that_reads_the_name_reads_what_its_round_adds() {
        let program = "local total = 0\nlocal said = ''\nfor _, n in ipairs({1, 2}) do\n  local total = total + n * 2\n  \
                       said = said .. 'total ' .. total .. ','\n\n  if total > 3 then said = said .. '!' end\nend\nreturn said .. total\n";
        let mended = given_to_the_outer(program).unwrap();
        let lua = mlua::Lua::new();
        let said = |program: &str| lua.load(program).eval::<String>().unwrap();
        assert_eq!(said(program), "total 2,total 4,!0");
        assert_eq!(said(&mended), "total 2,total 4,!6");
        assert!(mended.contains("  local each_total = n * 2\n  total = total + each_total\n  said = said .. 'total ' .. each_total"));
        for other in [
            program.replace("total = 0", "total = 1"),
            program.replace("+ n * 2", "- n * 2"),
            program.replace("+ n * 2", "+ n .. ''"),
            program.replace("if total > 3 then", "total = 5 if total > 3 then"),
            program.replace("'total ' .. total", "'total ' .. said.total"),
            program.replace("return said .. total", "return said"),
            program.replace("local said = ''", "local said, each_total = ''"),
        ] {
            assert_eq!(given_to_the_outer(&other), None, "{other}");
        }
    }

    #[test]
    fn a_name_that_may_be_meant_for_its_block_alone_stays() {
        for program in [
            SUM.replace("= total + n", "= total - n")
                .replace("twice = 2 * n", "twice = 2 * total"),
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
