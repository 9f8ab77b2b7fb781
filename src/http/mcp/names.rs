//! The names under which tools of the fleet are offered, and the way back.
//!
//! An MCP name has 1 to 128 of `A-Z a-z 0-9 _ . -`; a computer's name is any text of up to 64 characters. A tool is
//! offered as `tool`, or as `computer__tool` where one computer is meant. In each part letters, digits, `-` and single
//! inner `_` stand for themselves; every other byte of its UTF-8 is written as `.XX`, in hexadecimal. So a part never
//! holds `__`, and the first `__` divides. A part that would be longer than 63 is `.h` and a hash, which is found
//! again by looking at the names that exist. A tool that is called like one of the server's own begins with its first
//! letter as `.XX`.

/// The longest part of a name. Two of them and `__` are 128.
const MAX_PART: usize = 63;
/// Between the computer and the tool.
const BETWEEN: &str = "__";
/// Hexadecimal digits of the hash of a long part.
const HASH: usize = 40;

/// A name as it was read: whose tool, and which.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name {
    /// None where any computer will do.
    pub(super) computer: Option<Part>,
    pub(super) tool: Part,
}

/// One part of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    /// What it stands for.
    Plain(String),
    /// As it is written; the text is one whose written form this is.
    Hashed(String),
}

impl Part {
    /// Whether the part stands for this text.
    pub(super) fn means(&self, text: &str) -> bool {
        match self {
            Part::Plain(plain) => plain == text,
            Part::Hashed(written) => part(text) == *written,
        }
    }
}

/// The name of a tool, on one computer or wherever it is.
pub(super) fn name_of(computer: Option<&str>, tool: &str) -> String {
    match computer {
        Some(computer) => format!("{}{BETWEEN}{}", part(computer), part(tool)),
        None if super::fixed::is_fixed(tool) => {
            // None of them is empty or begins with anything but a letter.
            let (first, rest) = tool.split_at(1);
            format!("{}{rest}", escaped(first))
        }
        None => part(tool),
    }
}

/// What a name stands for; none if it is no name that [`name_of`] gives.
pub(super) fn read(name: &str) -> Option<Name> {
    let (computer, tool) = match name.split_once(BETWEEN) {
        Some((computer, tool)) => (Some(computer), tool),
        None => (None, name),
    };
    let computer = computer.map(read_part).transpose().ok()?;
    let tool = match (&computer, tool) {
        (None, tool) if super::fixed::is_fixed(tool) => return None,
        (None, tool) => read_bare(tool)?,
        (Some(_), tool) => read_part(tool).ok()?,
    };
    Some(Name { computer, tool })
}

/// A tool's part without a computer before it: one of the server's own names has a form of its own there.
fn read_bare(tool: &str) -> Option<Part> {
    let own = super::fixed::NAMES
        .iter()
        .find(|own| name_of(None, own) == tool);
    match own {
        Some(own) => Some(Part::Plain((*own).to_owned())),
        None => read_part(tool).ok(),
    }
}

fn part(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        let last = at + c.len_utf8() == text.len();
        match c {
            'A'..='Z' | 'a'..='z' | '0'..='9' | '-' => written.push(c),
            '_' if !last && !written.is_empty() && !written.ends_with('_') => written.push(c),
            _ => written.push_str(&escaped(c.encode_utf8(&mut [0; 4]))),
        }
    }
    if written.len() <= MAX_PART {
        return written;
    }
    let hash = blake3::hash(text.as_bytes()).to_hex();
    format!(".h{}", &hash[..HASH])
}

fn escaped(text: &str) -> String {
    text.bytes().map(|byte| format!(".{byte:02X}")).collect()
}

/// A part that was written.
struct NotAPart;

fn read_part(written: &str) -> Result<Part, NotAPart> {
    if written.is_empty() || written.len() > MAX_PART {
        return Err(NotAPart);
    }
    if let Some(hash) = written.strip_prefix(".h") {
        let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        let good = hash.len() == HASH && hash.bytes().all(hex);
        return match good {
            true => Ok(Part::Hashed(written.to_owned())),
            false => Err(NotAPart),
        };
    }
    let mut bytes = Vec::with_capacity(written.len());
    let mut rest = written.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = match byte {
            b'.' => {
                let digits = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
                let value = digits.and_then(|two| u8::from_str_radix(two, 16).ok());
                bytes.push(value.ok_or(NotAPart)?);
                &after[2..]
            }
            _ => {
                bytes.push(byte);
                after
            }
        };
    }
    let text = String::from_utf8(bytes).map_err(|_| NotAPart)?;
    // Each text is written in one way, so that two names are never the same tool.
    match part(&text) == written {
        true => Ok(Part::Plain(text)),
        false => Err(NotAPart),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixed;
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn is_mcp_name(name: &str) -> bool {
        let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-');
        (1..=128).contains(&name.len()) && name.bytes().all(allowed)
    }

    #[test]
    fn plain_names_stay_as_they_are_and_others_can_still_be_read() {
        for (computer, tool, name) in [
            (None, "fs_read", "fs_read"),
            (Some("turtle-1"), "dig", "turtle-1__dig"),
            (Some("mine 7"), "a.b", "mine.207__a.2Eb"),
            (Some("a__b"), "_c_", "a_.5Fb__.5Fc.5F"),
            (Some("höhle"), "dig", "h.C3.B6hle__dig"),
            (None, "task_wait", ".74ask_wait"),
            (Some("base"), "task_wait", "base__task_wait"),
        ] {
            assert_eq!(name_of(computer, tool), name);
            let back = read(name).unwrap();
            assert!(back.tool.means(tool));
            assert_eq!(back.computer.is_some(), computer.is_some());
            assert!(
                computer.is_none_or(|computer| back.computer.is_some_and(|p| p.means(computer)))
            );
        }
    }

    #[test]
    fn a_name_that_would_be_too_long_is_a_hash_that_still_means_its_text() {
        let computer = "ö".repeat(64);
        let tool = "t".repeat(64);
        let name = name_of(Some(&computer), &tool);
        assert!(is_mcp_name(&name), "{name}");
        let back = read(&name).unwrap();
        assert!(back.computer.as_ref().unwrap().means(&computer));
        assert!(back.tool.means(&tool) && !back.tool.means("t"));
    }

    #[test]
    fn what_is_no_name_of_a_tool_is_not_read() {
        for wrong in [
            "",
            "__",
            "a__",
            "__a",
            "a.",
            "a.2",
            "a.zz",
            "a.2e",
            "a.61",
            ".hxyz",
            "a b",
            "ä",
            ".FF",
            "a___b",
            "task_wait",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn no_tool_of_the_fleet_is_ever_called_like_one_of_the_servers_own() {
        for own in fixed::NAMES {
            assert_ne!(name_of(None, own), *own);
            assert_eq!(
                read(&name_of(None, own)).unwrap().tool,
                Part::Plain((*own).to_owned())
            );
        }
    }

    proptest! {
        #[test]
        fn every_name_is_an_mcp_name_and_leads_back(
            computer in proptest::option::of("\\PC{1,64}"),
            tool in "[A-Za-z0-9_.-]{1,64}",
        ) {
            let name = name_of(computer.as_deref(), &tool);
            prop_assert!(is_mcp_name(&name), "{}", name);
            let back = read(&name).expect("a name that was given");
            prop_assert!(back.tool.means(&tool));
            prop_assert_eq!(back.computer.is_some(), computer.is_some());
            if let (Some(part), Some(computer)) = (&back.computer, &computer) {
                prop_assert!(part.means(computer));
            }
        }

        #[test]
        fn two_tools_never_share_a_name(
            tools in proptest::collection::hash_set(
                (proptest::option::of("[a_.]{1,4}"), "[a_.]{1,4}"), 1..40),
        ) {
            let names: HashSet<String> = tools
                .iter()
                .map(|(computer, tool)| name_of(computer.as_deref(), tool))
                .collect();
            prop_assert_eq!(names.len(), tools.len());
        }

        #[test]
        fn reading_never_panics(text in "\\PC{0,140}") {
            let _ = read(&text);
        }
    }
}
