//! Any text as a planner's answer: nothing panics, line ends do not matter, and what is not clear has a reason.
#![no_main]

use core_under_test::domain::directive::Reading;
use core_under_test::{parser, printer};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let reading = parser::read(text);
    let unix = text.replace("\r\n", "\n").replace('\r', "\n");
    assert_eq!(parser::read(&unix.replace('\n', "\r\n")), reading);
    match reading {
        Reading::Clear { directive, .. } => {
            let printed = printer::print(&directive);
            assert!(printed.starts_with("DIRECTIVE: "));
            printer::title(&directive);
        }
        Reading::Unclear { problems, .. } | Reading::Nothing { problems } => {
            assert!(!problems.is_empty());
        }
    }
});
