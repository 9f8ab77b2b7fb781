//! What a task may do by itself, only after a person approved it, or not at all (design section 6, "Policy").
//!
//! Its rules are about what a call says. They are no sandbox: who may write and run programs can do with them whatever
//! Lua can do on that computer (source document 000 says the same). What has to be kept from a computer for certain belongs
//! on another one.

use crate::domain::guard_rules::{Confine, PolicyRule, PolicyRules, RuleVerdict, any_matches};
use crate::domain::tool::name_matches;
use crate::strategy::paths::lies_in;
use serde_json::Value;

mod command;

/// What the policy says of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Policy {
    Allow,
    /// Only with a person's consent; why.
    Confirm(String),
    /// Not at all; why, and whether that ends the task.
    Deny {
        reason: String,
        fatal: bool,
    },
}

/// Judges one call. `on` are the computers that it may end up on; a rule that names computers counts against a call if
/// one of them fits, and for it only if all do.
pub fn check(policy: &PolicyRules, tool: &str, args: &Value, on: &[&str]) -> Policy {
    if let Some(denied) = outside(policy, tool, args) {
        return denied;
    }
    let rule = policy.rules.iter().find(|rule| fits(rule, tool, args, on));
    let said = |otherwise: &str| match rule.map_or("", |rule| rule.reason.as_str()) {
        "" => otherwise.to_owned(),
        reason => reason.to_owned(),
    };
    match rule.map(|rule| rule.verdict) {
        Some(RuleVerdict::Allow) => Policy::Allow,
        Some(RuleVerdict::Deny) => Policy::Deny {
            reason: said(&format!("tasks of this kind may not call {tool} like this")),
            fatal: rule.is_some_and(|rule| rule.fatal),
        },
        Some(RuleVerdict::Confirm) => Policy::Confirm(said(&format!(
            "{tool} is called only with a person's consent"
        ))),
        None => match destroys(policy, tool, args) {
            Some(what) if policy.confirm_destructive => {
                Policy::Confirm(format!("{what} destroys something"))
            }
            Some(_) | None => Policy::Allow,
        },
    }
}

/// What lies outside of the folders, programs and hosts that a task is confined to.
fn outside(policy: &PolicyRules, tool: &str, args: &Value) -> Option<Policy> {
    let deny = |confine: Confine, reason: String| Policy::Deny {
        reason,
        fatal: policy.fatal.contains(&confine),
    };
    if !policy.path_roots.is_empty() {
        let outside = paths(tool, args).find(|path| !lies_in(path, &policy.path_roots));
        if let Some(path) = outside {
            let roots = policy.path_roots.join(", ");
            let reason = format!("\"{path}\" lies outside of {roots}, where this task has to stay");
            return Some(deny(Confine::Paths, reason));
        }
    }
    if !policy.shell_programs.is_empty() {
        let programs = command::programs_of(tool, args);
        let may = |name: &String| any_matches(&policy.shell_programs, name);
        let other = programs.iter().find(|name| !may(name));
        if let Some(name) = other {
            let known = policy.shell_programs.join(", ");
            let reason = format!("this task may not run \"{name}\"; it may run {known}");
            return Some(deny(Confine::Programs, reason));
        }
    }
    if !policy.url_hosts.is_empty() {
        let urls = urls(tool, args);
        let other = urls
            .iter()
            .find(|url| !is_host_allowed(url, &policy.url_hosts));
        if let Some(url) = other {
            let hosts = policy.url_hosts.join(", ");
            let reason =
                format!("\"{url}\" is none of the hosts that this task may reach: {hosts}");
            return Some(deny(Confine::Hosts, reason));
        }
    }
    None
}

/// The paths that a file tool would touch.
fn paths<'a>(tool: &str, args: &'a Value) -> impl Iterator<Item = &'a str> {
    let is_file_tool = tool.starts_with("fs_") || tool == "write_and_run";
    let text = |value: &'a Value, name: &str| value.get(name).and_then(Value::as_str);
    let own = ["path", "from", "to"]
        .into_iter()
        .filter_map(move |name| text(args, name));
    let files = args.get("files").and_then(Value::as_array);
    let listed = files
        .into_iter()
        .flatten()
        .filter_map(move |file| match file {
            Value::String(path) => Some(path.as_str()),
            other => text(other, "path"),
        });
    // Without a path these tools mean the whole disk.
    let everywhere =
        matches!(tool, "fs_list" | "fs_find" | "fs_grep") && text(args, "path").is_none();
    let root = everywhere.then_some("/");
    own.chain(listed).chain(root).filter(move |_| is_file_tool)
}

/// What in a call names a place in the network.
fn urls(tool: &str, args: &Value) -> Vec<String> {
    if tool == "http_request" {
        let url = args.get("url").and_then(Value::as_str);
        return vec![url.unwrap_or_default().to_owned()];
    }
    let words = command::words_of(tool, args);
    let urls = words.into_iter().filter(|word| word.contains("://"));
    urls.collect()
}

/// Whether a URL goes to one of the hosts. A glob with a port means that port alone.
fn is_host_allowed(url: &str, hosts: &[String]) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else {
        return false;
    };
    let known = matches!(
        scheme.to_ascii_lowercase().as_str(),
        "http" | "https" | "ws" | "wss"
    );
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    // Whoever writes a name before the host wants it to look like another one.
    if !known || authority.is_empty() || authority.contains('@') {
        return false;
    }
    let authority = authority.to_ascii_lowercase();
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => host,
        _ => authority.as_str(),
    };
    hosts.iter().any(|glob| {
        let glob = glob.to_ascii_lowercase();
        name_matches(&glob, host) || name_matches(&glob, &authority)
    })
}

/// The commands that a call runs in a shell: each program by its name, short forms written out, and the words behind it.
pub(super) fn commands_of(tool: &str, args: &Value) -> Vec<(String, Vec<String>)> {
    let commands = command::commands_of(tool, args).into_iter();
    let named = commands.filter_map(|mut words| {
        let name = command::program_name(words.first()?);
        words.remove(0);
        Some((name, words))
    });
    named.collect()
}

/// What a call would destroy, in its own words; none if it destroys nothing that is listed.
fn destroys(policy: &PolicyRules, tool: &str, args: &Value) -> Option<String> {
    if any_matches(&policy.destructive_tools, tool) {
        return Some(tool.to_owned());
    }
    let commands = command::commands_of(tool, args);
    let found = commands.into_iter().find(|words| {
        let listed = policy.destructive.iter();
        listed
            .into_iter()
            .any(|prefix| command::begins_with(words, prefix))
    });
    found.map(|words| format!("\"{}\"", words.join(" ")))
}

fn fits(rule: &PolicyRule, tool: &str, args: &Value, on: &[&str]) -> bool {
    if !any_matches(&rule.tools, tool) {
        return false;
    }
    // What allows has to hold for all that may be meant, what forbids for one of them.
    let allows = rule.verdict == RuleVerdict::Allow;
    let holds = |mut each: Vec<bool>| match allows {
        true => !each.is_empty() && each.drain(..).all(|holds| holds),
        false => each.drain(..).any(|holds| holds),
    };
    let computers = rule.computers.is_empty()
        || holds(on.iter().map(|name| any_matches(&rule.computers, name)).collect())
        // Nobody knows where it would go.
        || (on.is_empty() && !allows);
    computers
        && rule.args.iter().all(|(name, glob)| {
            let texts = texts_of(name, args.get(name).unwrap_or(&Value::Null));
            holds(texts.iter().map(|text| name_matches(glob, text)).collect())
        })
}

/// The texts of an argument that a glob may match: of a list each item. A path is written in one way, with a slash before.
fn texts_of(name: &str, value: &Value) -> Vec<String> {
    match value {
        Value::Null => Vec::new(),
        Value::String(text) if matches!(name, "path" | "from" | "to") => {
            vec![format!("/{}", crate::strategy::paths::normal(text))]
        }
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(|item| texts_of(name, item)).collect(),
        Value::Object(_) => vec![value.to_string()],
        Value::Bool(_) | Value::Number(_) => vec![value.to_string()],
    }
}

#[cfg(test)]
#[path = "policy_tests.rs"]
mod tests;
