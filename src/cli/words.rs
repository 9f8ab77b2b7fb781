//! Small pieces of what commands say: times, and texts of others that must not command the terminal.

use serde_json::Value;
use std::time::SystemTime;

/// A text of a field, `-` where there is none.
pub fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or("-")
}

/// The entries of a list as the API gives it.
pub fn items(list: &Value) -> &[Value] {
    let items = list.get("items").and_then(Value::as_array);
    items.map(Vec::as_slice).unwrap_or_default()
}

/// A text as it is, but for what a terminal would obey: models and computers write what is shown here.
pub fn harmless(text: &str) -> String {
    let keeps = |c: &char| *c == '\n' || *c == '\t' || !c.is_control();
    text.replace("\r\n", "\n").chars().filter(keeps).collect()
}

/// Milliseconds since the Unix epoch of an RFC 3339 time.
pub fn at_ms(time: &str) -> Option<i64> {
    let at = humantime::parse_rfc3339(time).ok()?;
    let since = at.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok()
}

pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |t| i64::try_from(t.as_millis()).unwrap_or(i64::MAX))
}

/// A length of time in one unit.
pub fn length(seconds: i64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// A length of time as a clock shows it: `0:07`, `1:02:03`, `2d 3:04`.
pub fn clock(seconds: i64) -> String {
    let (days, hours) = (seconds / 86_400, seconds / 3600 % 24);
    let (minutes, rest) = (seconds / 60 % 60, seconds % 60);
    match (days, hours) {
        (0, 0) => format!("{minutes}:{rest:02}"),
        (0, _) => format!("{hours}:{minutes:02}:{rest:02}"),
        _ => format!("{days}d {hours}:{minutes:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_cannot_command_the_terminal() {
        let said = "done\r\n\u{1b}[2J\u{1b}]0;title\u{7}\tnext\u{9b}31m line";
        assert_eq!(harmless(said), "done\n[2J]0;title\tnext31m line");
    }

    #[test]
    fn a_clock_grows_with_what_it_shows() {
        for (seconds, shown) in [
            (7, "0:07"),
            (3599, "59:59"),
            (3723, "1:02:03"),
            (183_840, "2d 3:04"),
        ] {
            assert_eq!(clock(seconds), shown);
        }
    }
}
