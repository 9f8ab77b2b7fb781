//! The document as a page: made once, without a script.

use super::DOCUMENT;
use serde_json::{Map, Value};
use std::fmt::Write;
use std::sync::LazyLock;

/// The page.
pub(super) static PAGE: LazyLock<String> =
    LazyLock::new(|| page(&serde_json::from_str(DOCUMENT).unwrap_or_default()));

fn page(document: &Value) -> String {
    let mut out = String::new();
    let title = text(&document["info"]["title"]);
    let _ = write!(
        out,
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\"><title>{title}</title>\
         <link rel=\"stylesheet\" href=\"/docs/style.css\"></head><body><main><h1>{title}</h1><p>{}</p>\
         <p>For programs: <a href=\"/openapi.json\">openapi.json</a></p>",
        text(&document["info"]["description"])
    );
    let operations: Vec<_> = operations(document).collect();
    out.push_str("<nav aria-label=\"Operations\"><ul>");
    for (path, method, _) in &operations {
        let name = name(method, path);
        let _ = write!(
            out,
            "<li><a href=\"#{}\">{name}</a></li>",
            anchor(method, path)
        );
    }
    out.push_str("</ul></nav>");
    let mut tag = &Value::Null;
    for (path, method, operation) in &operations {
        if operation["tags"][0] != *tag {
            tag = &operation["tags"][0];
            let _ = write!(out, "<h2>{}</h2>", text(tag));
        }
        write_operation(&mut out, path, method, operation);
    }
    out.push_str("<h2>Shapes</h2>");
    for (name, schema) in members(&document["components"]["schemas"]) {
        let name = escaped(name);
        let _ = write!(out, "<h3 id=\"shape-{name}\">{name}</h3>");
        write_schema(&mut out, schema);
    }
    out.push_str("</main></body></html>");
    out
}

fn operations(document: &Value) -> impl Iterator<Item = (&String, &String, &Value)> {
    let paths = members(&document["paths"]);
    paths.flat_map(|(path, methods)| {
        members(methods).map(move |(method, operation)| (path, method, operation))
    })
}

fn write_operation(out: &mut String, path: &str, method: &str, operation: &Value) {
    let _ = write!(
        out,
        "<section aria-labelledby=\"{0}\"><h3 id=\"{0}\">{1}</h3><p>{2}</p>",
        anchor(method, path),
        name(method, path),
        text(&operation["summary"])
    );
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    let mut parameters = parameters.peekable();
    if parameters.peek().is_some() {
        out.push_str("<table><thead><tr><th>parameter</th><th>in</th><th>type</th><th></th></tr></thead><tbody>");
        for parameter in parameters {
            let _ = write!(
                out,
                "<tr><td><code>{}</code></td><td>{}</td><td>{}</td><td>{}</td></tr>",
                text(&parameter["name"]),
                text(&parameter["in"]),
                kind(&parameter["schema"]),
                text(&parameter["description"])
            );
        }
        out.push_str("</tbody></table>");
    }
    let body = &operation["requestBody"]["content"]["application/json"]["schema"];
    if !body.is_null() {
        let _ = write!(out, "<p>Body: {}</p>", kind(body));
    }
    out.push_str(
        "<table><thead><tr><th>status</th><th>answer</th><th>shape</th></tr></thead><tbody>",
    );
    for (status, answer) in members(&operation["responses"]) {
        let shape = members(&answer["content"]).next();
        let _ = write!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td></tr>",
            escaped(status),
            text(&answer["description"]),
            shape.map_or_else(String::new, |(_, content)| kind(&content["schema"]))
        );
    }
    out.push_str("</tbody></table></section>");
}

fn write_schema(out: &mut String, schema: &Value) {
    let _ = write!(out, "<p>{}</p>", text(&schema["description"]));
    let required = schema["required"].as_array();
    let is_required = |name: &str| required.is_some_and(|r| r.iter().any(|known| known == name));
    let mut fields = members(&schema["properties"]).peekable();
    if fields.peek().is_none() {
        let json = serde_json::to_string_pretty(schema).unwrap_or_default();
        let _ = write!(out, "<pre><code>{}</code></pre>", escaped(&json));
        return;
    }
    out.push_str("<table><thead><tr><th>field</th><th>type</th><th></th></tr></thead><tbody>");
    for (field, schema) in fields {
        let _ = write!(
            out,
            "<tr><td><code>{}</code>{}</td><td>{}</td><td>{}</td></tr>",
            escaped(field),
            if is_required(field) { "" } else { "?" },
            kind(schema),
            text(&schema["description"])
        );
    }
    out.push_str("</tbody></table>");
}

/// A schema in a word or two, with a link where it has a name.
fn kind(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|at| at.rsplit('/').next()) {
        let name = escaped(name);
        return format!("<a href=\"#shape-{name}\">{name}</a>");
    }
    for choice in ["anyOf", "oneOf"] {
        if let Some(schemas) = schema[choice].as_array() {
            return schemas.iter().map(kind).collect::<Vec<_>>().join(" or ");
        }
    }
    if let Some(values) = schema["enum"].as_array() {
        let values = values
            .iter()
            .map(|value| format!("<code>{}</code>", text(value)));
        return values.collect::<Vec<_>>().join(" ");
    }
    match &schema["type"] {
        Value::String(name) if name == "array" => format!("list of {}", kind(&schema["items"])),
        Value::String(name) => escaped(name),
        Value::Array(names) => names.iter().map(text).collect::<Vec<_>>().join(" or "),
        _ => "anything".to_owned(),
    }
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

fn name(method: &str, path: &str) -> String {
    let method = method.to_uppercase();
    format!(
        "<code class=\"method\">{}</code> <code>{}</code>",
        escaped(&method),
        escaped(path)
    )
}

fn anchor(method: &str, path: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    format!("{method}{path}").chars().map(plain).collect()
}

fn text(value: &Value) -> String {
    escaped(value.as_str().unwrap_or_default())
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_operation_and_every_shape_is_on_the_page_and_nothing_is_run_or_loaded() {
        let document: Value = serde_json::from_str(DOCUMENT).unwrap();
        for (path, method, _) in operations(&document) {
            assert!(PAGE.contains(&anchor(method, path)), "{method} {path}");
        }
        for (name, _) in members(&document["components"]["schemas"]) {
            assert!(PAGE.contains(&format!("id=\"shape-{name}\"")), "{name}");
        }
        for bad in ["<script", " style=", " onclick", "src=", "https:"] {
            assert!(!PAGE.contains(bad), "{bad}");
        }
    }

    #[test]
    fn words_are_no_markup() {
        let document = json!({"info": {"title": "<b>&\"x\"", "description": ""}});
        let page = page(&document);
        assert!(page.contains("&lt;b&gt;&amp;&quot;x&quot;"), "{page}");
    }
}
