//! Any bytes as a frame: nothing panics, and what is told of a bad one is short.
#![no_main]

use core_under_test::wire::frames::incoming::ClientMessage;
use core_under_test::wire::frames::tools::ToolShelf;
use core_under_test::wire::frames::{decode, decode_joined};
use core_under_test::wire::text;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let (json, _) = text::read_binary(bytes);
    let plain = decode(&json, false);
    let mended = decode(&json, true);
    if !text::may_be_garbled(&json) {
        assert_eq!(plain, mended);
    }
    let joined = decode_joined(&json, false);
    match plain {
        Ok(decoded) => match decoded.message {
            ClientMessage::Chunk(_) => assert!(joined.is_err()),
            ClientMessage::Hello(hello) => {
                ToolShelf::default().read(hello.commands);
            }
            ClientMessage::RegisterCommands(register) => {
                let count = register.commands.len();
                let (good, refused) = ToolShelf::default().read(register.commands);
                assert!(good.len() <= 256 && refused.len() <= 65);
                assert!(good.len() + refused.len() <= count);
            }
            _ => assert!(joined.is_ok()),
        },
        Err(error) => {
            assert!(!error.message.is_empty());
            assert!(error.field.is_none_or(|field| field.chars().count() <= 256));
        }
    }
});
