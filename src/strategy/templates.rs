//! Task templates: ready decompositions for prompts that are known (source document 004, "Future improvements"). A
//! prompt that matches a template's pattern needs no model to be taken apart.

use crate::domain::call::{Address, Target};
use crate::domain::decision::Decision;
use crate::domain::fold::TEMPLATE_REFUSED;
use crate::domain::ids::ClientId;
use crate::domain::profile::{Profile, Template, TemplateStep};
use crate::domain::task::TaskState;
use crate::domain::work::{Advance, Work};
use crate::strategy::turn::Turn;
use std::collections::BTreeMap;

/// A template with the words of the prompt put into it.
#[derive(Debug, Clone, PartialEq)]
pub struct Filled {
    pub name: String,
    pub steps: Vec<TemplateStep>,
}

impl TemplateStep {
    /// The step in one line, as checklists show it.
    pub fn line(&self) -> String {
        let what = match &self.target {
            Some(target) => format!("{} {target}", self.action),
            None => self.action.clone(),
        };
        match &self.on {
            Some(on) => format!("{what} on {on}: {}", self.reason),
            None => format!("{what}: {}", self.reason),
        }
    }
}

/// The ready decomposition that a task begins with: none once a model was asked for one, or after it was refused.
pub fn ready(state: &TaskState, profile: &Profile) -> Option<Filled> {
    if profile.templates.is_empty() {
        return None;
    }
    let asked = state.steps.iter().any(|step| step.planner.is_some());
    let refused = state.notes.iter().any(|note| note.code == TEMPLATE_REFUSED);
    let begun = match &state.work {
        Work::None => false,
        Work::Plan(plan) => !plan.plans.is_empty(),
        Work::List(_) | Work::Goals(_) => true,
    };
    if asked || refused || begun {
        return None;
    }
    let prompt = state.created.as_ref().map_or("", |c| c.prompt.as_str());
    find(&profile.templates, prompt)
}

/// The computers that the ready decomposition of a task names: whoever checks it has to see them.
pub fn named_computers(state: &TaskState, profile: &Profile) -> Vec<Address> {
    let ready = ready(state, profile);
    let steps = ready.into_iter().flat_map(|filled| filled.steps);
    let named = steps.flat_map(|step| {
        let called = step.target.and_then(|tool| Address::parse(&tool).ok());
        let called = called.filter(|address| address.target != Target::Any);
        let on = step.on.and_then(|on| ClientId::parse(&on).ok());
        let on = on.map(|id| Address {
            target: Target::Computer(id),
            tool: String::new(),
        });
        called.into_iter().chain(on)
    });
    named.collect()
}

impl Turn<'_> {
    /// Begins with the ready decomposition of the task's kind, if one fits the task's words: `adopt` checks it as it
    /// checks a model's, and makes the move that follows it. What cannot be carried out here is noted, and a model has to
    /// make one.
    pub fn begin_ready(
        &self,
        adopt: impl FnOnce(&Filled) -> Result<Decision, Vec<String>>,
    ) -> Option<Decision> {
        let filled = ready(self.state, self.profile)?;
        // Nothing can be said of tools that nobody has shown yet.
        if self.tools(None).cannot_tell() {
            return Some(self.wait_for_computer());
        }
        let decision = adopt(&filled);
        Some(decision.unwrap_or_else(|problems| refused(filled.name, problems)))
    }
}

/// A ready decomposition is given up.
pub fn refused(template: String, problems: Vec<String>) -> Decision {
    Decision::Advance {
        advance: Advance::TemplateRefused { template, problems },
    }
}

/// Words of a prompt that are looked at; a longer one is no case for a template.
const MOST_WORDS: usize = 60;

/// The first template whose pattern the whole prompt matches.
pub fn find(templates: &[Template], prompt: &str) -> Option<Filled> {
    let words: Vec<&str> = prompt.split_whitespace().collect();
    if words.is_empty() || words.len() > MOST_WORDS {
        return None;
    }
    templates.iter().find_map(|template| {
        let captured = template.patterns.iter().find_map(|pattern| {
            let pattern: Vec<&str> = pattern.split_whitespace().collect();
            let mut captured = BTreeMap::new();
            matches(&pattern, &words, &mut captured).then_some(captured)
        })?;
        Some(Filled {
            name: template.name.clone(),
            steps: template
                .steps
                .iter()
                .map(|step| fill(step, &captured))
                .collect(),
        })
    })
}

/// Matches word by word, letters of either case alike: `*` is any number of words, `a|b` either word, `{name}` one
/// word that is kept.
fn matches(pattern: &[&str], words: &[&str], captured: &mut BTreeMap<String, String>) -> bool {
    let Some((first, rest)) = pattern.split_first() else {
        return words.is_empty();
    };
    if *first == "*" {
        return (0..=words.len()).any(|skip| matches(rest, &words[skip..], captured));
    }
    let Some((word, others)) = words.split_first() else {
        return false;
    };
    let bare = bare(word);
    match capture(first) {
        Some(name) => {
            // The same name twice means the same word.
            if captured.get(name).is_some_and(|known| known != bare) || !fits(name, bare) {
                return false;
            }
            let mut with = captured.clone();
            with.insert(name.to_owned(), bare.to_owned());
            let found = matches(rest, others, &mut with);
            if found {
                *captured = with;
            }
            found
        }
        None => {
            first
                .split('|')
                .any(|choice| choice.eq_ignore_ascii_case(bare))
                && matches(rest, others, captured)
        }
    }
}

fn capture(piece: &str) -> Option<&str> {
    piece.strip_prefix('{')?.strip_suffix('}')
}

/// A word without the punctuation around it; a path keeps its dots and slashes.
fn bare(word: &str) -> &str {
    word.trim_start_matches(['"', '\'', '`', '('])
        .trim_end_matches(['"', '\'', '`', ')', ',', ';', ':', '!', '?', '.'])
}

/// What is called a path has to look like one.
fn fits(name: &str, word: &str) -> bool {
    let path = name.starts_with("path") || name.starts_with("file");
    !word.is_empty() && (!path || word.contains('/') || word.contains('.'))
}

fn fill(step: &TemplateStep, captured: &BTreeMap<String, String>) -> TemplateStep {
    let put = |text: &String| {
        captured.iter().fold(text.clone(), |text, (name, word)| {
            text.replace(&format!("{{{name}}}"), word)
        })
    };
    TemplateStep {
        objective: put(&step.objective),
        action: step.action.clone(),
        target: step.target.as_ref().map(put),
        on: step.on.as_ref().map(put),
        reason: put(&step.reason),
        expected_outcome: step.expected_outcome.as_ref().map(put),
        depends_on: step.depends_on.clone(),
        params: put_values(&step.params, &put),
    }
}

fn put_values(value: &serde_json::Value, put: &impl Fn(&String) -> String) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Value::String(text) => Value::String(put(text)),
        Value::Array(items) => items.iter().map(|item| put_values(item, put)).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (name.clone(), put_values(value, put)))
            .collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn template(patterns: &[&str]) -> Template {
        Template {
            name: "mend".into(),
            description: String::new(),
            patterns: patterns.iter().map(|p| (*p).to_owned()).collect(),
            steps: vec![TemplateStep {
                objective: "Mend {path}".into(),
                action: "read_file".into(),
                target: Some("{path}".into()),
                on: None,
                reason: "see what {path} does".into(),
                expected_outcome: None,
                depends_on: vec![],
                params: json!({"args": ["{path}", 1]}),
            }],
        }
    }

    fn target(patterns: &[&str], prompt: &str) -> Option<String> {
        find(&[template(patterns)], prompt)?.steps[0].target.clone()
    }

    #[test]
    fn a_known_prompt_is_filled_in() {
        let patterns = ["fix|mend {path}", "fix|mend * program {path} *"];
        for prompt in [
            "Fix /TODO.lua",
            "mend \"/TODO.lua\"!",
            "Fix the broken program /TODO.lua and test it",
        ] {
            assert_eq!(
                target(&patterns, prompt).as_deref(),
                Some("/TODO.lua"),
                "{prompt}"
            );
        }
        let filled = find(&[template(&patterns)], "fix /a.lua").unwrap();
        assert_eq!(filled.steps[0].reason, "see what /a.lua does");
        assert_eq!(filled.steps[0].params, json!({"args": ["/a.lua", 1]}));
    }

    #[test]
    fn another_prompt_or_a_word_that_is_no_path_matches_nothing() {
        for prompt in ["Fix it", "Fix /a.lua and /b.lua", "Build a house", ""] {
            assert_eq!(target(&["fix {path}"], prompt), None, "{prompt}");
        }
        assert_eq!(target(&["copy {path} to {path}"], "copy /a to /b"), None);
        assert_eq!(target(&["* {path}"], &"word ".repeat(100)), None);
    }

    #[test]
    fn the_ready_plans_that_come_with_the_program_fit_what_they_are_for() {
        let settings = crate::config::Loader::new().load().unwrap();
        let prompts = crate::prompts::PromptLibrary::embedded().unwrap();
        let strategies = crate::strategy::version_of;
        let kinds = crate::config::kinds::Kinds::load(&settings, &prompts, strategies).unwrap();
        let fits = |kind: &str, prompt: &str| {
            let (profile, known) = kinds.resolve(Some(kind));
            assert!(known, "{kind}");
            find(&profile.templates, prompt).map(|filled| filled.name)
        };
        for kind in ["code_job", "goals", "numbered"] {
            let name = fits(kind, "Fix the program /TODO.lua");
            assert_eq!(name.as_deref(), Some("mend a program"), "{kind}");
        }
        let elsewhere = fits("plan_job", "Run /report.lua on sim-2.");
        assert_eq!(elsewhere.as_deref(), Some("run a program elsewhere"));
        assert_eq!(
            fits("plan_job", "Test /a.lua").as_deref(),
            Some("run a program")
        );
        // Nothing is left to chance where no model looks at the task first.
        for kind in ["goals", "numbered", "plan_job"] {
            assert_eq!(fits(kind, "Fix /a.lua and write /b.lua"), None, "{kind}");
            assert_eq!(fits(kind, "Run /a.lua and tell me why it fails"), None);
        }
    }

    proptest! {
        #[test]
        fn matching_noise_never_panics(prompt in "(fix|\\*|\\{|\\}|/a.lua| |\\PC){0,30}") {
            let _ = target(&["fix * {path} *", "{path}"], &prompt);
        }
    }
}
