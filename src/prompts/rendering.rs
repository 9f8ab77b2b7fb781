//! Templates made into texts: strictly, each parsed once by a thread, and what says the same turn after turn made once.

use super::PromptError;
use minijinja::{Environment, UndefinedBehavior};
use serde::Serialize;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, VecDeque};

/// Templates that a thread keeps parsed; with more, it begins anew. There are about fifty, and few tasks pin others.
const PARSED: usize = 256;

/// Texts of [`render_again`] that a thread keeps. Tasks of one kind on one thread share theirs.
const KEPT: usize = 64;

thread_local! {
    static TEMPLATES: RefCell<Templates> = RefCell::new(Templates::default());
    /// The newest last.
    static SAID: RefCell<VecDeque<Said>> = const { RefCell::new(VecDeque::new()) };
}

/// What all templates are parsed by: an unknown variable is an error.
pub(super) fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment
}

/// The templates that a thread has parsed. Tasks pin texts, not files, so that one id may stand for several.
struct Templates {
    parsed: Environment<'static>,
    count: usize,
    /// Of each id its texts, each with the name under which it is parsed.
    names: HashMap<String, Vec<(String, String)>>,
}

impl Default for Templates {
    fn default() -> Self {
        Templates {
            parsed: environment(),
            count: 0,
            names: HashMap::new(),
        }
    }
}

impl Templates {
    /// Renders a template; in what goes wrong it is called by its id.
    fn say(&mut self, id: &str, text: &str, context: &impl Serialize) -> Result<String, String> {
        let known = self.names.get(id).into_iter().flatten();
        let known = known.clone().find(|(known, _)| known == text);
        let name = match known {
            Some((_, name)) => name.clone(),
            None => self.parse(id, text)?,
        };
        let template = self.parsed.get_template(&name);
        let said = template.and_then(|t| t.render(minijinja::value::Serde(context)));
        said.map_err(|error| by_id(&error, &name, id))
    }

    /// Parses a text; answers its name.
    fn parse(&mut self, id: &str, text: &str) -> Result<String, String> {
        if self.count >= PARSED {
            *self = Templates::default();
        }
        let name = format!("{id}#{}", self.count);
        let parsed = self
            .parsed
            .add_template_owned(name.clone(), text.to_owned());
        parsed.map_err(|error| by_id(&error, &name, id))?;
        self.count += 1;
        let of_id = self.names.entry(id.to_owned()).or_default();
        of_id.push((text.to_owned(), name.clone()));
        Ok(name)
    }
}

fn by_id(error: &minijinja::Error, name: &str, id: &str) -> String {
    format!("{error:#}").replace(name, id)
}

/// Renders one of a task's pinned templates.
///
/// # Errors
/// The task has no such template, or it is broken.
pub fn render(
    texts: &BTreeMap<String, String>,
    id: &str,
    context: impl Serialize,
) -> Result<String, PromptError> {
    rendered(id, text_of(texts, id)?, &context)
}

/// As [`render`], for what says the same turn after turn, as a system prompt does: the thread's last few texts are kept, and one
/// whose context is the same again is not made again.
///
/// # Errors
/// As [`render`].
pub fn render_again(
    texts: &BTreeMap<String, String>,
    id: &str,
    context: Value,
) -> Result<String, PromptError> {
    let text = text_of(texts, id)?;
    let same = |said: &Said| said.id == id && said.context == context && said.text == text;
    let known = SAID.with_borrow_mut(|last| {
        let at = last.iter().rposition(same)?;
        let found = last.remove(at)?;
        let words = found.words.clone();
        last.push_back(found);
        Some(words)
    });
    if let Some(words) = known {
        return Ok(words);
    }
    let words = rendered(id, text, &context)?;
    let newest = Said {
        id: id.to_owned(),
        text: text.to_owned(),
        context,
        words: words.clone(),
    };
    SAID.with_borrow_mut(|last| {
        if last.len() >= KEPT {
            last.pop_front();
        }
        last.push_back(newest);
    });
    Ok(words)
}

/// What a template said to a context.
struct Said {
    id: String,
    text: String,
    context: Value,
    words: String,
}

fn text_of<'a>(texts: &'a BTreeMap<String, String>, id: &str) -> Result<&'a str, PromptError> {
    let text = texts.get(id).map(String::as_str);
    text.ok_or_else(|| PromptError::Missing(id.to_owned()))
}

fn rendered(id: &str, text: &str, context: &impl Serialize) -> Result<String, PromptError> {
    let said = TEMPLATES.with_borrow_mut(|templates| templates.say(id, text, context));
    let broken = |reason: String| PromptError::Template {
        file: id.to_owned(),
        reason,
    };
    Ok(said.map_err(broken)?.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn texts(text: &str) -> BTreeMap<String, String> {
        [("mine".to_owned(), text.to_owned())].into()
    }

    #[test]
    fn texts_of_one_id_are_told_apart_also_when_many_were_rendered_before() {
        let rendered = |text: &str| render(&texts(text), "mine", json!({"n": 7}));
        for round in 0..2 {
            for text in 0..PARSED + 10 {
                let told = rendered(&format!("text {text}, {{{{ n }}}}")).unwrap();
                assert_eq!(told, format!("text {text}, 7"), "round {round}");
            }
        }
        TEMPLATES.with_borrow(|templates| {
            assert!(templates.parsed.templates().count() <= PARSED);
        });
        for broken in ["{{ m }}", "{{ m }}", "{% if %}", "{% if %}"] {
            let error = rendered(broken).unwrap_err().to_string();
            assert!(error.contains("(in mine:1)"), "{error}");
        }
    }

    #[test]
    fn what_is_said_again_is_what_would_be_said_anew() {
        for round in 0..3 {
            for n in 0..2 * KEPT {
                for text in ["one {{ n }}", "two {{ n }}"] {
                    let context = json!({"n": n});
                    let anew = render(&texts(text), "mine", &context).unwrap();
                    let again = || render_again(&texts(text), "mine", context.clone());
                    assert_eq!(again().unwrap(), anew, "round {round}");
                    assert_eq!(again().unwrap(), anew, "round {round}");
                }
            }
        }
        SAID.with_borrow(|last| assert_eq!(last.len(), KEPT));
        assert!(render_again(&texts("{{ m }}"), "mine", json!({})).is_err());
    }
}
