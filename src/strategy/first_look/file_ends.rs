//! The end of a long file of which a task speaks ("The last lines of the long file /log.txt name a total"): only its beginning fits into the
//! first look, which says nothing then, and a small model reads on piece by piece until its time is over.

use super::calls_by_rule::request_by_rule;
use super::named_files::READ;
use crate::domain::by_rule::ByRule;
use crate::domain::decision::Decision;
use crate::domain::directive::StrictRequest;
use crate::domain::step::CallRecord;
use crate::strategy::paths::{mentions, named_in, normal};
use crate::strategy::turn::Turn;
use crate::strategy::words::asked_questions::sentences;
use serde_json::{Value, json};

/// Bytes of such an end.
const MOST_BYTES: u64 = 600;

/// How a sentence speaks of the end of a file.
const ENDS: [&str; 8] = [
    "last line",
    "last entry",
    "last entries",
    "its end",
    "its last",
    "the end of",
    "the tail of",
    "the bottom of",
];

impl Turn<'_> {
    /// Reads the end of such files, behind the first look.
    pub(in crate::strategy) fn look_at_ends(&self) -> Option<Decision> {
        let [look] = self.state.steps.as_slice() else {
            return None;
        };
        let is_meant = |path: &str| speaks_of_end(self.asked_for(), &normal(path));
        let calls = look.calls.iter().filter(|_| look.looks_first());
        let requests: Vec<StrictRequest> = calls
            .filter_map(|call| {
                let (path, bytes) = beginning(call).filter(|(path, _)| is_meant(path))?;
                let most = MOST_BYTES.min(self.profile.memory.result_bytes as u64);
                let offset = bytes.saturating_sub(most);
                let parameters = json!({"path": path, "offset": offset, "max_bytes": most});
                let on = self.elsewhere(call).cloned();
                Some(request_by_rule(ByRule::FirstLook, READ, parameters, on))
            })
            .collect();
        (!requests.is_empty())
            .then(|| self.calls_by_rule(requests))
            .flatten()
    }
}

/// The file of which a read brought only the beginning, and its length in bytes.
fn beginning(read: &CallRecord) -> Option<(&str, u64)> {
    let report = read.report()?.result.as_ref();
    let result = report.filter(|_| read.tool == READ && read.succeeded())?;
    let content = result.get("content")?.as_str()?;
    let bytes = result.get("bytes")?.as_u64()?;
    let path = read.args.get("path")?.as_str()?;
    (content.len() < bytes as usize).then_some((path, bytes))
}

/// From which byte on a read looked at the end of a file; none if it began at the beginning.
pub(in crate::strategy) fn begins_at(read: &CallRecord) -> Option<u64> {
    let offset = read.args.get("offset").and_then(Value::as_u64);
    offset.filter(|offset| *offset > 0)
}

/// Whether a task speaks of the end of a file, which has no first slash here: in the sentence that names it, or in the next one, if that
/// names no other.
fn speaks_of_end(prompt: &str, path: &str) -> bool {
    let speaks = |sentence: &str| {
        let sentence = sentence.to_lowercase();
        ENDS.iter().any(|end| sentence.contains(end))
    };
    let mut said = sentences(prompt).skip_while(|said| mentions(said, path).next().is_none());
    let (own, next) = (said.next(), said.next());
    own.is_some_and(speaks) || next.is_some_and(|next| speaks(next) && named_in(next).is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::drive::{Drive, profile_of};

    #[test]
    fn the_end_of_a_long_file_of_which_the_task_speaks_is_shown_instead_of_its_beginning() {
        for strategy in ["direct", "directive", "plan", "numbered", "goals"] {
            let mut profile = profile_of(strategy);
            profile.memory.named_files = 3;
            let task = "The last lines of /log.txt name a total. Write it to /total.txt. What does /other.txt say?";
            let mut drive = Drive::new(profile, task);
            let lines = "a line of many\n".repeat(1000);
            drive
                .files
                .insert("/log.txt".into(), format!("{lines}total 7\n"));
            drive.files.insert("/other.txt".into(), lines);
            assert!(drive.run_to_consult(), "{strategy}");
            let shown = drive.shown();
            for part in [
                "/log.txt, 15008 bytes, only its end, from byte 14408 on:\n```\na line of many\n",
                "total 7\n```",
                "/other.txt, 15000 bytes, only its beginning",
            ] {
                assert!(shown.contains(part), "{strategy}: {part}\n{shown}");
            }
            assert_eq!(shown.matches("/log.txt, ").count(), 1, "{strategy}");
        }
    }

    #[test]
    fn sentences_tell_whether_the_end_of_a_file_is_meant() {
        for (prompt, meant) in [
            ("The last lines of the long file /a.lua name it.", true),
            ("/a.lua is long. Near its end `f` returns 41.", true),
            ("Add a line at the end of /a.lua", true),
            (
                "Mend /a.lua. /check.lua says whether it is right: run it at the end.",
                false,
            ),
            (
                "/a.lua is long. Its last lines are those of /b.lua, its end.",
                false,
            ),
            ("Mend /b.lua, whose last line is wrong. See /a.lua.", false),
        ] {
            assert_eq!(speaks_of_end(prompt, "a.lua"), meant, "{prompt}");
        }
    }
}
