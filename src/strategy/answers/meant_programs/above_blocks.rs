//! Lua programs that give a value to a `local` inside a block and read it behind the block's `end`, where Lua knows no such name: `if x then local
//! word = "a" end print(word)`. Told so, a small model writes the program as it was; what it means is plain: the name stands above the block.

use crate::strategy::lua_text::lua_tokens::{KEYWORDS, Token, tokens};
use crate::strategy::lua_text::only_shows::is_of_lua;

/// The program in which each such name is declared above its block; none if it has none.
pub(super) fn declared_above(program: &str) -> Option<String> {
    let mut mended: Option<String> = None;
    // A name that was mended is not lost again, so this ends.
    while let Some(next) = with_one_above(mended.as_deref().unwrap_or(program)) {
        mended = Some(next);
    }
    mended
}

fn with_one_above(program: &str) -> Option<String> {
    let read = Names::of(program)?;
    read.lost.iter().find_map(|lost| {
        let mended = read.with_above(program, *lost)?;
        let is_known_now = Names::of(&mended)?
            .lost
            .iter()
            .all(|now| now.name != lost.name);
        is_known_now.then_some(mended)
    })
}

/// A block of a program: `if` with all its branches is one for each of them.
#[derive(Debug, Clone, Copy)]
struct Block {
    outer: usize,
    /// Where the statement begins that it belongs to (bytes).
    begins: usize,
    is_function: bool,
    /// The body of a `for` or `while` that nothing leaves before its end.
    goes_round: bool,
}

/// A `local` of one name: `local name` or `local name = …`.
#[derive(Debug, Clone, Copy)]
struct Local<'a> {
    name: &'a str,
    block: usize,
    /// Where `local` stands (bytes), and where the name does.
    at: usize,
    name_at: usize,
    has_value: bool,
}

/// A name that is read where no block around has it.
#[derive(Debug, Clone, Copy)]
struct Lost<'a> {
    name: &'a str,
    block: usize,
    at: usize,
}

/// What a program's names are.
#[derive(Debug, Default)]
struct Names<'a> {
    blocks: Vec<Block>,
    locals: Vec<Local<'a>>,
    lost: Vec<Lost<'a>>,
}

/// Who reads a program: the blocks that are open, and the names that each has.
struct Reader<'a, 't> {
    tokens: &'t [(usize, Token<'a>)],
    names: Names<'a>,
    open: Vec<(usize, Vec<&'a str>)>,
    /// Names of a loop or of a function whose block has yet to begin.
    awaiting: Vec<&'a str>,
    /// Where a loop's statement begins whose `do` has yet to come.
    loop_at: Option<usize>,
    set: Vec<&'a str>,
    several: Vec<&'a str>,
    braces: usize,
}

impl<'a> Names<'a> {
    /// None of a program whose blocks do not close, or that is written in a way that is not read here.
    fn of(program: &'a str) -> Option<Self> {
        let tokens = tokens(program)?;
        let whole = Block {
            outer: 0,
            begins: 0,
            is_function: true,
            goes_round: false,
        };
        let mut reader = Reader {
            tokens: &tokens,
            names: Names {
                blocks: vec![whole],
                ..Names::default()
            },
            open: vec![(0, Vec::new())],
            awaiting: Vec::new(),
            loop_at: None,
            set: Vec::new(),
            several: Vec::new(),
            braces: 0,
        };
        for at in 0..tokens.len() {
            reader.read(at)?;
        }
        let Reader {
            mut names,
            open,
            set,
            several,
            ..
        } = reader;
        let may_be_lost = |lost: &Lost<'a>| {
            !set.contains(&lost.name) && !several.contains(&lost.name) && !is_of_lua(lost.name)
        };
        names.lost.retain(may_be_lost);
        (open.len() == 1).then_some(names)
    }

    /// The program with that name declared above the outermost block that closes before it is read. None where a loop gives it a value in each
    /// round: who reads it behind the loop hardly means that of the last round, but all of them, and with that value would be wrong in silence.
    fn with_above(&self, program: &str, lost: Lost<'a>) -> Option<String> {
        let around = self.around(lost.block);
        let inner = |local: &Local<'a>| {
            let mut path = self.around(local.block);
            path.retain(|block| !around.contains(block));
            path
        };
        // What a function has is its own until it is called.
        let is_closed = |local: &&Local<'a>| {
            let path = inner(local);
            let is_own = path.iter().any(|block| self.blocks[*block].is_function);
            local.name == lost.name && local.at < lost.at && !path.is_empty() && !is_own
        };
        let first = self.locals.iter().find(is_closed)?;
        let mut closed = self.locals.iter().filter(is_closed);
        if closed.any(|local| self.blocks[local.block].goes_round) {
            return None;
        }
        let above = self.blocks[*inner(first).last()?].begins;
        let mut mended = String::with_capacity(program.len());
        let mut copied = above;
        mended.push_str(&program[..above]);
        let indentation = program[..above].rsplit('\n').next().unwrap_or_default();
        let is_blank = indentation.trim().is_empty();
        mended.push_str("local ");
        mended.push_str(lost.name);
        mended.push('\n');
        mended.push_str(if is_blank { indentation } else { "" });
        for local in self.locals.iter().filter(is_closed) {
            mended.push_str(&program[copied..local.at]);
            mended.push_str(local.name);
            mended.push_str(if local.has_value { "" } else { " = nil" });
            copied = local.name_at + local.name.len();
        }
        mended.push_str(&program[copied..]);
        Some(mended)
    }

    /// A block and all that are around it, from the inside.
    fn around(&self, block: usize) -> Vec<usize> {
        let outer = |block: &usize| (*block != 0).then(|| self.blocks[*block].outer);
        std::iter::successors(Some(block), outer).collect()
    }
}

impl<'a> Reader<'a, '_> {
    fn read(&mut self, at: usize) -> Option<()> {
        let (begins, token) = self.tokens[at];
        match token {
            Token::Name(word) if KEYWORDS.contains(&word) => return self.keyword(word, at, begins),
            Token::Name(name) => self.name(name, at, begins),
            Token::Mark('{') => self.braces += 1,
            Token::Mark('}') => self.braces = self.braces.checked_sub(1)?,
            Token::Text(_) | Token::Mark(_) | Token::Rest => {}
        }
        Some(())
    }

    fn keyword(&mut self, word: &str, at: usize, begins: usize) -> Option<()> {
        match word {
            "local" => self.local(at, begins),
            "function" => self.function(at, begins),
            "for" => {
                self.loop_at = Some(begins);
                self.awaiting = self.listed(at + 1);
            }
            "while" => self.loop_at = Some(begins),
            "do" => {
                let loop_at = self.loop_at.take();
                self.begin(loop_at.unwrap_or(begins), false);
                let body = self.names.blocks.last_mut()?;
                body.goes_round = loop_at.is_some();
            }
            "break" => {
                let mut open = self.open.iter().rev();
                let blocks = &mut self.names.blocks;
                if let Some((left, _)) = open.find(|(block, _)| blocks[*block].goes_round) {
                    blocks[*left].goes_round = false;
                }
            }
            // The condition stands between `if` and `then`: it belongs to the block around.
            "if" | "repeat" => self.begin(begins, false),
            "elseif" | "else" => {
                let (closed, _) = self.open.pop()?;
                let statement = self.names.blocks[closed].begins;
                self.begin(statement, false);
            }
            "end" => {
                self.open.pop()?;
                self.open.last()?;
            }
            "until" => {
                // The condition knows what the body declares; where it ends is not told apart.
                let (_, known) = self.open.pop()?;
                self.open.last_mut()?.1.extend(known);
            }
            _ => {}
        }
        Some(())
    }

    fn begin(&mut self, begins: usize, is_function: bool) {
        let outer = self.open.last().map_or(0, |(block, _)| *block);
        self.names.blocks.push(Block {
            outer,
            begins,
            is_function,
            goes_round: false,
        });
        let has = std::mem::take(&mut self.awaiting);
        self.open.push((self.names.blocks.len() - 1, has));
    }

    fn local(&mut self, at: usize, begins: usize) {
        let names = self.listed(at + 1);
        match names.as_slice() {
            [name] => {
                let (name_at, _) = self.tokens[at + 1];
                let has_value = self.token(at + 2) == Some(Token::Mark('='));
                let block = self.open.last().map_or(0, |(block, _)| *block);
                self.names.locals.push(Local {
                    name,
                    block,
                    at: begins,
                    name_at,
                    has_value,
                });
            }
            names => self.several.extend(names),
        }
        if let Some((_, has)) = self.open.last_mut() {
            has.extend(names);
        }
    }

    /// `function name(a, b)`, `local function name(a, b)`, `function(a, b)`.
    fn function(&mut self, at: usize, begins: usize) {
        let mut paren = at + 1;
        while !matches!(self.token(paren), Some(Token::Mark('(')) | None) {
            paren += 1;
        }
        if let Some(Token::Name(name)) = self.token(at + 1) {
            let is_local = at > 0 && self.token(at - 1) == Some(Token::Name("local"));
            match self.open.last_mut() {
                Some((_, has)) if is_local => has.push(name),
                _ => self.set.push(name),
            }
        }
        self.awaiting = self.listed(paren + 1);
        self.awaiting.push("self");
        self.begin(begins, true);
    }

    fn name(&mut self, name: &'a str, at: usize, begins: usize) {
        let is_set = self.token(at + 1) == Some(Token::Mark('='))
            && self.token(at + 2) != Some(Token::Mark('='));
        let is_key = is_set && self.braces > 0;
        let is_known =
            self.awaiting.contains(&name) || self.open.iter().any(|(_, has)| has.contains(&name));
        if self.is_field(at) || is_key || is_known {
            return;
        }
        if is_set {
            self.set.push(name);
        }
        let block = self.open.last().map_or(0, |(block, _)| *block);
        self.names.lost.push(Lost {
            name,
            block,
            at: begins,
        });
    }

    /// The names of a list that begins there, `a, b`.
    fn listed(&self, mut at: usize) -> Vec<&'a str> {
        let mut names = Vec::new();
        while let Some(Token::Name(name)) = self.token(at) {
            if KEYWORDS.contains(&name) {
                break;
            }
            names.push(name);
            if self.token(at + 1) != Some(Token::Mark(',')) {
                break;
            }
            at += 2;
        }
        names
    }

    fn is_field(&self, at: usize) -> bool {
        at > 0 && matches!(self.token(at - 1), Some(Token::Mark('.' | ':')))
    }

    fn token(&self, at: usize) -> Option<Token<'a>> {
        self.tokens.get(at).map(|(_, token)| *token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SIGN: &str = "local n = 7\n\nif n % 2 == 0 then\n  local word = 'even'\nelseif n then\n  local word = 'odd'\nend\nreturn word .. n\n";

    #[test]
    fn a_name_that_is_read_behind_its_blocks_is_declared_above_them() {
        let mended = declared_above(SIGN).unwrap();
        let expected = SIGN
            .replace("if n % 2", "local word\nif n % 2")
            .replace("  local word", "  word");
        assert_eq!(mended, expected);
        let lua = mlua::Lua::new();
        assert!(lua.load(SIGN).eval::<String>().is_err());
        assert_eq!(lua.load(mended).eval::<String>().unwrap(), "odd7");
    }

    #[test]
    fn blocks_within_blocks_and_loops_count_as_the_outermost_that_closes() {
        for (program, mended) in [
            (
                "for i = 1, 3 do\n  if i == 2 then\n    local found = i\n  end\nend\nprint(found)",
                "local found\nfor i = 1, 3 do\n  if i == 2 then\n    found = i\n  end\nend\nprint(found)",
            ),
            (
                "local function f(x)\n  while x do local y = x break end\n  return y\nend",
                "local function f(x)\n  local y\n  while x do y = x break end\n  return y\nend",
            ),
            (
                "if a then local b end print(b)",
                "local b\nif a then b = nil end print(b)",
            ),
            (
                "if line then do local x = 1 end print(x) end",
                "if line then local x\ndo x = 1 end print(x) end",
            ),
            (
                "local function g() local b = 1 return b end\nif a then\n  local b = 2\nend\nprint(b + 1.5)",
                "local function g() local b = 1 return b end\nlocal b\nif a then\n  b = 2\nend\nprint(b + 1.5)",
            ),
        ] {
            assert_eq!(
                declared_above(program).as_deref(),
                Some(mended),
                "{program}"
            );
            let load = |text: &str| mlua::Lua::new().load(text).into_function().is_ok();
            assert!(load(program) && load(mended), "{program}");
        }
    }

    #[test]
    fn what_is_known_where_it_is_read_or_may_be_meant_otherwise_stays() {
        for program in [
            "local word = 1\nif x then\n  local word = 2\nend\nprint(word)",
            "word = 1\nif x then\n  local word = 2\nend\nprint(word)",
            "if x then\n  local word = 2\nend\nfunction word() end\nprint(word)",
            "if x then\n  local word = 2\nend\nlocal function word() end\nprint(word)",
            "if x then\n  local a, word = 1, 2\nend\nprint(word)",
            "local function f()\n  local word = 2\nend\nprint(word)",
            "if x then\n  local word = 2\n  print(word)\nend\nprint('word', t.word, { word = 1 })",
            "repeat\n  local word = 1\nuntil word",
            "print(word)\nif x then\n  local word = 2\nend",
            "for word in f do\n  local word = 2\nend",
            "for line in f do\n  local total = n * line\nend\nprint(total)",
            "if x then\n  local textutils = 2\nend\nprint(textutils)",
            "if x then\n  local word = 2\nprint(word)",
            "end if x then local word = 2 end print(word)",
            "",
        ] {
            assert_eq!(declared_above(program), None, "{program}");
        }
    }

    proptest! {
        #[test]
        fn what_was_mended_has_nothing_to_mend(program in "(if x then|while x do|for a in b do|repeat|until a|else|end|function\\(a\\)|local a = b|local b|\
                                                           print\\(a\\)|\\{|\\}|,|a = 1|é|\n| ){0,14}") {
            if let Some(mended) = declared_above(&program) {
                prop_assert_eq!(declared_above(&mended), None);
            }
        }
    }
}
