//! A local that is gone behind the end of its block: `if … then local word = "a" end print(word)`. Lua says that a global is nil, and a small model that
//! sees `local word` three lines above writes the program once more as it is.

/// What Lua says of such a name, before it.
const GLOBAL: &str = "global '";
const IS_NONE: &str = "' (a nil value)";

/// What is told of a failure over a global of that name, where the program has locals of it in inner blocks alone.
pub(in crate::strategy) fn told(failure: &str, content: &str) -> Option<String> {
    let (_, rest) = failure.split_once(GLOBAL)?;
    let (name, _) = rest.split_once(IS_NONE)?;
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(is_word) {
        return None;
    }
    let declares = |line: &&str| {
        let declared = line.trim_start().strip_prefix("local ");
        let mut names = declared.into_iter().flat_map(|declared| {
            let names = declared.split('=').next().unwrap_or_default();
            names.split(',').map(str::trim)
        });
        names.any(|declared| declared == name)
    };
    let mut lines = content.lines().filter(declares).peekable();
    lines.peek()?;
    let is_inner = |line: &str| line.starts_with([' ', '\t']);
    lines.all(is_inner).then(|| {
        format!(
            "`local {name}` inside of a block is gone behind its `end`: write `local {name}` once, above the block, and `{name} = …` without \
             `local` in it"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_local_of_an_inner_block_is_told_to_stand_above_it() {
        let failure = "/sign.lua:6: attempt to concatenate global 'word' (a nil value)";
        let inner = "if x then\n  local word = 1\nelse\n  local a, word = 2\nend\nprint(word)";
        let told_of = |content: &str| told(failure, content).is_some();
        assert!(
            told(failure, inner)
                .unwrap()
                .starts_with("`local word` inside")
        );
        assert!(!told_of("print(word)"));
        assert!(!told_of("local word\nif x then\n  local word = 1\nend"));
        assert!(!told_of("if x then\n  local words = 1\nend"));
        for other in [
            "attempt to index local 'word' (a nil value)",
            "global ''",
            "global 'a b' (a nil value)",
        ] {
            assert_eq!(told(other, inner), None, "{other}");
        }
    }
}
