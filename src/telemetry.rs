//! Logging: one line an event on standard error, so that standard output stays for results.

mod json_line;

use crate::actors::spans::{PROMPTS, SPANS};
use crate::config::{LogFormat, LogSettings};
use json_line::JsonLine;
use std::io::IsTerminal;
use tracing::Subscriber;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::{FmtSpan, JsonFields};
use tracing_subscriber::util::SubscriberInitExt;

/// Others' crates that tell of their own workings as `info`; heard below `warn` only when they are named.
const QUIET: &[&str] = &["actix_server"];

/// Others' crates that may write what they carry, a prompt or a key, into their lines below `info`: never heard there.
const TALKATIVE: &[&str] = &[
    "actix_http",
    "actix_web",
    "h2",
    "hyper",
    "hyper_util",
    "reqwest",
    "rustls",
    "tungstenite",
];

/// The filter that was asked for, with what is heard only if the settings say so.
fn directives(settings: &LogSettings) -> String {
    let filter = &settings.filter;
    let quiet = QUIET.iter().map(|guest| (*guest, "warn"));
    let talkative = TALKATIVE.iter().map(|guest| (*guest, "info"));
    let unnamed = quiet.filter(|(guest, _)| !filter.contains(guest));
    let mut all: Vec<String> = unnamed
        .map(|(guest, level)| format!("{guest}={level}"))
        .collect();
    all.push(filter.clone());
    // The last word on a target counts.
    all.extend(talkative.map(|(guest, level)| format!("{guest}={level}")));
    let level = |on: bool| if on { "info" } else { "off" };
    all.push(format!("{SPANS}={}", level(settings.spans)));
    all.push(format!("{PROMPTS}={}", level(settings.prompts)));
    all.join(",")
}

/// Starts logging. A second call changes nothing.
///
/// # Errors
/// The filter cannot be read; the text says why.
pub fn init(settings: &LogSettings) -> Result<(), String> {
    let ansi = std::io::stderr().is_terminal();
    let log = subscriber(settings, ansi, std::io::stderr)?;
    // Fails only if logging was started before, for example by a test.
    let _ = log.try_init();
    Ok(())
}

fn subscriber<W>(
    settings: &LogSettings,
    ansi: bool,
    to: W,
) -> Result<Box<dyn Subscriber + Send + Sync>, String>
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let filter = EnvFilter::builder()
        .parse(directives(settings))
        .map_err(|error| {
            let filter = &settings.filter;
            format!("the log filter \"{filter}\" cannot be read: {error}")
        })?;
    let ends = if settings.spans {
        FmtSpan::CLOSE
    } else {
        FmtSpan::NONE
    };
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_span_events(ends)
        .with_writer(to);
    Ok(match settings.format {
        LogFormat::Text => Box::new(log.with_ansi(ansi).finish()),
        LogFormat::Json => {
            let log = log.fmt_fields(JsonFields::new());
            Box::new(log.event_format(JsonLine::new()).finish())
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use std::io;
    use std::sync::{Arc, Mutex};

    /// What was written.
    #[derive(Clone, Default)]
    struct Paper(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Paper {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The lines that `what` logs under these settings.
    fn lines(settings: &LogSettings, what: impl FnOnce()) -> Vec<String> {
        let paper = Paper::default();
        let pen = paper.clone();
        let log = subscriber(settings, false, move || pen.clone()).unwrap();
        tracing::subscriber::with_default(log, what);
        let text = String::from_utf8(paper.0.lock().unwrap().clone()).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    fn json(filter: &str) -> LogSettings {
        LogSettings {
            format: LogFormat::Json,
            ..LogSettings::lines(filter)
        }
    }

    fn work() {
        let task = tracing::info_span!(target: SPANS, "invoke_agent", task_id = "tsk_1");
        let chat = tracing::info_span!(
            target: SPANS, parent: &task, "chat",
            "gen_ai.usage.input_tokens" = tracing::field::Empty
        );
        chat.record("gen_ai.usage.input_tokens", 12);
        tracing::info!(target: PROMPTS, parent: &chat, text = "dig", "a prompt");
        tracing::info!(parent: &chat, tries = 2, "it was asked again");
    }

    #[test]
    fn a_line_of_json_says_when_where_what_and_within_which_spans() {
        let settings = LogSettings {
            spans: true,
            ..json("info")
        };
        let lines = lines(&settings, work);
        let lines: Vec<Value> = lines
            .iter()
            .map(|l| serde_json::from_str(l).unwrap())
            .collect();
        let [asked, chat, task] = lines.as_slice() else {
            panic!("{lines:?}");
        };
        assert_eq!(asked["level"], "INFO");
        assert_eq!(asked["message"], "it was asked again");
        assert_eq!(asked["tries"], 2);
        assert!(asked["target"].as_str().unwrap().contains("telemetry"));
        assert!(asked["timestamp"].as_str().unwrap().ends_with('Z'));
        assert_eq!(asked["spans"][0]["task_id"], "tsk_1");
        assert_eq!(chat["message"], "close");
        assert_eq!(chat["span"]["name"], "chat");
        assert_eq!(chat["span"]["gen_ai.usage.input_tokens"], 12);
        let within = chat["spans"].as_array().unwrap().iter();
        let within: Vec<&str> = within.filter_map(|span| span["name"].as_str()).collect();
        assert_eq!(within, ["invoke_agent", "chat"]);
        assert_eq!(task["span"]["name"], "invoke_agent");
    }

    #[test]
    fn spans_and_prompts_are_heard_only_where_the_settings_say_so() {
        let plain = lines(&LogSettings::lines("trace"), work);
        assert_eq!(plain.len(), 1, "{plain:?}");
        assert!(plain[0].contains("it was asked again tries=2"), "{plain:?}");
        let named = lines(&LogSettings::lines("trace,ccfleet::prompts=trace"), work);
        assert_eq!(
            named.len(),
            1,
            "a filter alone does not show prompts: {named:?}"
        );
        let prompts = LogSettings {
            prompts: true,
            ..LogSettings::lines("warn")
        };
        let prompts = lines(&prompts, work);
        assert_eq!(prompts.len(), 1, "{prompts:?}");
        assert!(prompts[0].contains("a prompt text=\"dig\""), "{prompts:?}");
    }

    #[test]
    fn a_filter_that_cannot_be_read_is_named() {
        let refused = subscriber(&LogSettings::lines("=,="), false, io::stderr);
        assert!(refused.err().unwrap().contains("\"=,=\""));
    }
}
