//! A line of JSON, with the spans in which it happened.
//!
//! The library's own lines name the spans that the thread is in. Ours belong to actors and are seldom entered: what counts is
//! the span that an event or the end of a span belongs to, and that one's parents.

use serde_json::{Map, Value};
use std::fmt;
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::{Format, Json, JsonFields, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormattedFields};
use tracing_subscriber::registry::{LookupSpan, SpanRef};

/// Writes `timestamp`, `level`, `message`, the event's fields, `target`, `span`, and in `spans` all of them from the outermost on.
pub(super) struct JsonLine(Format<Json>);

impl JsonLine {
    pub(super) fn new() -> Self {
        let format = tracing_subscriber::fmt::format().json();
        JsonLine(format.flatten_event(true).with_span_list(false))
    }
}

impl<S> FormatEvent<S, JsonFields> for JsonLine
where
    S: Subscriber + for<'lookup> LookupSpan<'lookup>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, JsonFields>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut line = String::new();
        self.0
            .format_event(context, Writer::new(&mut line), event)?;
        let own = event.parent().and_then(|id| context.span(id));
        let leaf = own.or_else(|| context.lookup_current());
        let (Some(leaf), Some(open)) = (leaf, line.trim_end().strip_suffix('}')) else {
            return writer.write_str(&line);
        };
        let spans: Vec<Value> = leaf.scope().from_root().map(|span| fields(&span)).collect();
        writeln!(writer, "{open},\"spans\":{}}}", Value::from(spans))
    }
}

/// A span's name with its fields.
fn fields<S>(span: &SpanRef<'_, S>) -> Value
where
    S: for<'lookup> LookupSpan<'lookup>,
{
    let extensions = span.extensions();
    let written = extensions.get::<FormattedFields<JsonFields>>();
    let fields = written.and_then(|written| serde_json::from_str(&written.fields).ok());
    let mut fields: Map<String, Value> = fields.unwrap_or_default();
    fields.insert("name".to_owned(), span.name().into());
    Value::Object(fields)
}
