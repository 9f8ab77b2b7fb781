//! The text rules of the wire contract ("Text"): Lua strings are bytes, and CC before 1.109 garbles non-ASCII
//! in text frames both ways.

use serde_json::Value;
use std::borrow::Cow;

/// Escapes everything beyond ASCII in a JSON text. The text stays the same JSON: non-ASCII occurs only
/// inside its strings.
pub fn ascii_json(json: String) -> String {
    if json.is_ascii() {
        return json;
    }
    let mut out = String::with_capacity(json.len() + json.len() / 2);
    let mut units = [0u16; 2];
    for c in json.chars() {
        if c.is_ascii() {
            out.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut units) {
            out.push_str("\\u");
            for shift in [12, 8, 4, 0] {
                let digit = u32::from((*unit >> shift) & 0xf);
                out.push(char::from_digit(digit, 16).unwrap_or('0'));
            }
        }
    }
    out
}

/// A binary frame as text, and whether it had to be read as Latin-1.
pub fn read_binary(bytes: &[u8]) -> (Cow<'_, str>, bool) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (Cow::Borrowed(text), false),
        Err(_) => (
            Cow::Owned(bytes.iter().map(|b| char::from(*b)).collect()),
            true,
        ),
    }
}

/// Whether a JSON text may hold strings that [`mend`] changes. A cheap test before the costly one.
pub fn may_be_garbled(json: &str) -> bool {
    !json.is_ascii() || json.contains("\\u00")
}

/// Decodes strings that went through an encoding once too often: all characters up to U+00FF that together are
/// valid multi-byte UTF-8. Keys of objects too.
pub fn mend(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some(mended) = mended(text) {
                *text = mended;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(mend),
        Value::Object(map) => {
            let garbled: Vec<String> = map
                .keys()
                .filter(|k| mended(k).is_some())
                .cloned()
                .collect();
            for key in garbled {
                if let (Some(new_key), Some(item)) = (mended(&key), map.remove(&key)) {
                    map.insert(new_key, item);
                }
            }
            map.values_mut().for_each(mend);
        }
        _ => {}
    }
}

fn mended(text: &str) -> Option<String> {
    if text.is_ascii() {
        return None;
    }
    let bytes: Option<Vec<u8>> = text
        .chars()
        .map(|c| u8::try_from(u32::from(c)).ok())
        .collect();
    String::from_utf8(bytes?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn utf8_that_old_clients_sent_byte_by_byte_is_put_together_again() {
        // "é" as ComputerCraft's serialiseJSON writes it, and as it leaves a text frame before 1.109.
        let mut value: Value = serde_json::from_str("{\"\\u00c3\\u00a9\": [\"Ã©\"]}").unwrap();
        mend(&mut value);
        assert_eq!(value, json!({"é": ["é"]}));
    }

    #[test]
    fn latin_1_that_is_no_utf8_and_characters_beyond_stay_as_they_are() {
        let mut value = json!(["é", "Ã©→", "plain"]);
        mend(&mut value);
        assert_eq!(value, json!(["é", "Ã©→", "plain"]));
    }

    #[test]
    fn a_binary_frame_that_is_not_utf8_is_read_as_latin_1_and_marked() {
        assert_eq!(read_binary(b"caf\xe9"), (Cow::Borrowed("café"), true));
        assert_eq!(
            read_binary("café".as_bytes()),
            (Cow::Borrowed("café"), false)
        );
    }

    proptest! {
        #[test]
        fn ascii_json_is_ascii_and_means_the_same(text in "\\PC{0,40}") {
            let encoded = ascii_json(serde_json::to_string(&text).unwrap());
            prop_assert!(encoded.is_ascii());
            let back: String = serde_json::from_str(&encoded).unwrap();
            prop_assert_eq!(back, text);
        }
    }
}
