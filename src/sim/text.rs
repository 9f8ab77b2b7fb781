//! Text of the versions before 1.109: Lua strings were Latin-1 there, and the world outside was UTF-8.

/// What leaves: every byte is a Latin-1 character.
pub(crate) fn latin1_to_utf8(bytes: &[u8]) -> Vec<u8> {
    let text: String = bytes.iter().map(|&b| char::from(b)).collect();
    text.into_bytes()
}

/// What comes in: characters beyond 255, and what is no UTF-8, become `?`.
pub(crate) fn utf8_to_latin1(bytes: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    text.chars()
        .map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?'))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_characters_up_to_255_survive_both_ways_and_others_are_lost() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(utf8_to_latin1(&latin1_to_utf8(&all)), all);
        assert_eq!(latin1_to_utf8(b"\xC3\xA9"), "Ã©".as_bytes());
        assert_eq!(utf8_to_latin1("é€😀".as_bytes()), b"\xE9??");
        assert_eq!(utf8_to_latin1(b"a\xFFb"), b"a?b");
    }
}
