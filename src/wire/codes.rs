//! Every error code that leaves the process: the HTTP status it has there, whether trying again can help, and
//! what mends it. `docs/protocol.md` lists the same table; a test keeps the two equal.

use crate::domain::call::NoRouteReason;
use std::fmt;

macro_rules! codes {
    ($($name:ident $code:literal $status:literal $retry:literal $hint:literal;)*) => {
        /// A stable error code.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ErrorCode { $(#[doc = $hint] $name),* }

        impl ErrorCode {
            /// All codes, in the order of the documentation.
            pub const ALL: &'static [ErrorCode] = &[$(ErrorCode::$name),*];

            /// The code as it is written on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $(ErrorCode::$name => $code),* }
            }

            /// The HTTP status of an answer with this code.
            pub const fn http_status(self) -> u16 {
                match self { $(ErrorCode::$name => $status),* }
            }

            /// Whether the same request may succeed later without a change.
            pub const fn is_retryable(self) -> bool {
                match self { $(ErrorCode::$name => $retry),* }
            }

            /// What mends it, in one sentence.
            pub const fn hint(self) -> &'static str {
                match self { $(ErrorCode::$name => $hint),* }
            }
        }
    };
}

codes! {
    BadJson "bad_json" 400 false "send one JSON object per message; check quotes, commas and nesting (at most 128 levels)";
    NotAnObject "not_an_object" 400 false "a message is a JSON object with a string field `type`";
    UnknownType "unknown_type" 400 false "the message types are listed in docs/protocol.md; check the spelling of `type`";
    MissingField "missing_field" 400 false "add the named field; docs/protocol.md lists the fields of each message";
    BadField "bad_field" 400 false "the named field has the wrong type or an invalid value";
    Unsupported "unsupported" 501 false "this server does not have the ability yet; `features` in `welcome` lists what it has";
    BadProtocol "bad_protocol" 400 false "this server speaks protocol 1; update the library or the server";
    HelloMissing "hello_missing" 400 true "send `hello` first, or name yourself with `?client_id=` in the URL";
    WhoAreYou "who_are_you" 400 false "name yourself first: `hello`, `?client_id=` in the URL, or `client_id` in `create_task`";
    IdentityInUse "identity_in_use" 409 true "another computer with this client_id is connected and answers; choose another client_id or stop the other one";
    IdentityMismatch "identity_mismatch" 403 false "a connection speaks for one client_id only; open another connection for another computer";
    TakenOver "taken_over" 409 false "the same computer opened a newer connection; this one is no longer used";
    TokenInvalid "token_invalid" 401 false "set the token that the server's operator gave you";
    NotAllowed "not_allowed" 403 false "the owner of this connection may not do that";
    RateLimited "rate_limited" 429 true "too many new connections from one address; wait a second";
    TooManyErrors "too_many_errors" 429 true "ten bad messages within ten seconds; mend the program that sends them";
    TooLarge "too_large" 413 false "the encoded message is over the receiver's limit; split the content";
    NotUtf8 "not_utf8" 400 false "a text frame must be UTF-8; send binary frames for raw bytes";
    BadAck "bad_ack" 400 false "acknowledge only numbers that were received on this connection";
    ChunkConflict "chunk_conflict" 400 false "the chunks of a message share `count`, and each index has one text; send the message again under a new chunk_id";
    TooManyChunks "too_many_chunks" 429 true "a connection has at most 8 messages in chunks open, one before `hello`, and the server 64 MiB; send the message again under a new chunk_id";
    ChunksExpired "chunks_expired" 408 true "the rest of the message did not come within 60 seconds; send it again under a new chunk_id";
    TooManyRequests "too_many_requests" 429 true "wait for the answers to earlier requests, and send events and registrations more seldom";
    SlowReader "slow_reader" 503 true "the computer does not read what it is sent; reconnect when it does";
    BadToolName "bad_tool_name" 422 false "a tool name has 1 to 64 of letters, digits, `_`, `.` and `-`";
    BadToolSchema "bad_tool_schema" 422 false "`args_schema` is a JSON Schema of the args object: an object of at most 16 KiB that refers to nothing outside itself";
    DuplicateTool "duplicate_tool" 422 false "each tool is registered once per message; the last one counts";
    ToolTooLarge "tool_too_large" 422 false "a tool takes at most 16 KiB as JSON; shorten its description and its schema";
    TooManyTools "too_many_tools" 422 false "a computer registers at most 256 tools, of 256 KiB together";
    EmptyPrompt "empty_prompt" 422 false "say in `prompt` what shall be done";
    PromptTooLong "prompt_too_long" 422 false "shorten the prompt; put large material into files on the computer";
    TooManyTasks "too_many_tasks" 503 true "wait until a task ends, or cancel one";
    Stopping "stopping" 503 true "the server is stopping; try again when it is back";
    JournalUnavailable "journal_unavailable" 503 true "the journal cannot be written; look at the server's disk and log";
    NoSuchTask "no_such_task" 404 false "check the task_id; a computer sees only its own tasks";
    ParentEnded "parent_ended" 409 false "the task that it would belong to has ended; leave `parent` out, or start that task again";
    TaskTooDeep "task_too_deep" 422 false "too many tasks stand above it; do the work in the task itself, or raise tasks.max_depth";
    NoForkPlace "no_fork_place" 409 false "fork at a step that has ended with no call, question or model call open; the answer names them";
    CannotFork "cannot_fork" 409 false "this task cannot be forked; make a new one and say in its prompt what is done already";
    BadSchedule "bad_schedule" 422 false "`schedule` has `every_s` (seconds) or `cron` (minute hour day month weekday, in UTC), and may have `until` (RFC 3339)";
    TaskEnded "task_ended" 409 false "the task is over; create it again";
    NotWakeable "not_wakeable" 409 false "the task never sleeps; create tasks that live on with `schedule` or `wakes`";
    TooManyWakes "too_many_wakes" 429 true "the task is awake and will run once more; wait until this episode ends";
    TaskResting "task_resting" 503 true "the task rests after a fault, or its journal is damaged; `quarantine` in its answer says so";
    NoSuchToken "no_such_token" 404 false "`ccfleet token list` shows the tokens with their ids";
    TooManyTokens "too_many_tokens" 409 false "give fewer computers a token of their own: one token may name many with a glob";
    NoSuchQuestion "no_such_question" 409 false "the question was answered, has expired or never existed";
    NoSuchKind "no_such_kind" 404 false "check the name; `GET /api/v1/kinds` lists them";
    BadKind "bad_kind" 422 false "mend the named field; docs/kinds.md lists the keys of a kind";
    KindNeeded "kind_needed" 409 false "a kind that comes with the program can be changed and put back, and the default kind can be changed";
    KindFileInTheWay "kind_file_in_the_way" 409 false "somebody wrote a file of this name by hand; start the server again to take it, or take it away";
    KindUnwritable "kind_unwritable" 507 true "the folder of kinds cannot be written; look at the server's disk and at the folder's rights";
    Offline "offline" 409 true "the computer is not connected; switch it on and check its network";
    UnknownComputer "unknown_computer" 404 false "no computer of this name ever connected; `GET /api/v1/computers` lists them";
    UnknownTool "unknown_tool" 404 false "no computer that could take the call offers this tool; `GET /api/v1/tools` lists them";
    Busy "busy" 409 true "the computer's queue is full; wait for its calls to end";
    Stopped "stopped" 409 true "the computer was stopped; an operator has to resume it";
    ToolDraft "tool_draft" 409 false "the tool is a draft: it is new, or its file changed since it was activated; test it with tool_test and activate it again with tool_activate";
    PolicyViolation "policy_violation" 403 false "the policy of this kind of task denies the call; `[policy]` in the settings and in the kind says what it may do";
    BadArgs "bad_args" 422 false "the arguments do not match the tool's schema";
    ToolChanged "tool_changed" 409 true "the tool changed on the computer since it was registered; the call did not start";
    ReceiptUnwritable "receipt_unwritable" 507 true "the computer cannot write its receipt, most often because its disk is full; the call did not start";
    Timeout "timeout" 504 false "the call took longer than its deadline; give it more time or look at the computer";
    Cancelled "cancelled" 409 false "the call or its task was cancelled";
    ConnectionLost "connection_lost" 502 false "the connection was lost while the call ran and this computer keeps no receipts";
    Rebooted "rebooted" 502 false "the computer started again while the call ran; look at what it did before repeating it";
    Restored "restored" 502 false "the computer was restored from a backup; look at its state before repeating the call";
    ReceiptUnknown "receipt_unknown" 502 false "the computer cannot tell whether the call ran; look before repeating it";
    VerifiedNotDone "verified_not_done" 502 true "the tool's `verify` says that the call did not happen; it may be made again";
    Overtaken "overtaken" 409 true "a later call was sent first, so this one did not start";
    ComputerRestarted "computer_restarted" 409 true "the computer started again before the call was sent, so it did not start";
    TurnLapsed "turn_lapsed" 409 true "the call was not sent within a minute of its turn, so it did not start";
    InvalidRequest "invalid_request" 400 false "the request cannot be read; see the named field";
    NotFound "not_found" 404 false "there is nothing under this address";
    MethodNotAllowed "method_not_allowed" 405 false "this address does not take this method";
    TooManyFollowers "too_many_followers" 503 true "close a page or a program that follows the feed, or try again later";
    CannotReplay "cannot_replay" 409 false "only a task that was decided by this version, with all that it was decided on, can be decided anew";
    Internal "internal" 500 true "a fault of the server; its log says more";
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<NoRouteReason> for ErrorCode {
    fn from(reason: NoRouteReason) -> Self {
        match reason {
            NoRouteReason::Offline => ErrorCode::Offline,
            NoRouteReason::UnknownComputer => ErrorCode::UnknownComputer,
            NoRouteReason::UnknownTool => ErrorCode::UnknownTool,
            NoRouteReason::NotAllowed => ErrorCode::NotAllowed,
            NoRouteReason::Busy => ErrorCode::Busy,
            NoRouteReason::Stopped => ErrorCode::Stopped,
            NoRouteReason::ToolDraft => ErrorCode::ToolDraft,
        }
    }
}

/// The codes with which the server closes a WebSocket. 4400 and up are ours (wire contract, "Refusal").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloseWith {
    Normal = 1000,
    GoingAway = 1001,
    ProtocolError = 1002,
    NotUtf8 = 1007,
    Policy = 1008,
    TooBig = 1009,
    TryLater = 1013,
    Protocol = 4400,
    Token = 4401,
    NotAllowed = 4403,
    IdentityInUse = 4409,
    RateLimited = 4429,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_lists_exactly_these_codes() {
        let documented: Vec<&str> = include_str!("../../docs/protocol.md")
            .lines()
            .skip_while(|line| !line.starts_with("## Error codes"))
            .filter(|line| line.starts_with("| `"))
            .collect();
        let expected: Vec<String> = ErrorCode::ALL
            .iter()
            .map(|code| {
                format!(
                    "| `{code}` | {} | {} | {} |",
                    code.http_status(),
                    if code.is_retryable() { "yes" } else { "no" },
                    code.hint()
                )
            })
            .collect();
        assert_eq!(
            documented,
            expected,
            "docs/protocol.md should hold:\n{}",
            expected.join("\n")
        );
    }

    #[test]
    fn no_code_is_used_twice() {
        let mut seen = std::collections::HashSet::new();
        for code in ErrorCode::ALL {
            assert!(seen.insert(code.as_str()), "{code} twice");
        }
    }
}
