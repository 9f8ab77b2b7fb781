//! `ccfleet config`: what is set and by whom, whether it can be used, and its schema. Nothing is asked of a server.

use super::words::harmless;
use super::{Exit, Failure};
use crate::config::kinds::Kinds;
use crate::config::{ConfigError, Effective, Loader, Source, Valued, schema};
use crate::prompts::PromptLibrary;
use crate::strategy;
use serde_json::{Value, json};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  ccfleet config show                       every value, and where it comes from
  ccfleet config show fleet.toml --changed  only what the file and the environment say otherwise
  ccfleet config check fleet.toml           is every key known, can it be used? its prompts and kinds, too
  ccfleet config schema > ccfleet.schema.json
      then, as the first line of your file:  #:schema ccfleet.schema.json

Later wins: what is compiled in, the file, CCFLEET__SECTION__KEY variables, flags of the command. `ccfleet init` writes a
file to begin with. Keys of model servers are not shown.

Exit codes: 0 done, 2 something cannot be used (each line names file, line and key).";

/// Show, check and describe the settings.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Every value that counts, with where it comes from
    Show {
        #[command(flatten)]
        file: FileArg,
        /// Only values that are not the compiled-in ones
        #[arg(long)]
        changed: bool,
    },
    /// Whether settings, prompts and kinds can be used
    Check {
        #[command(flatten)]
        file: FileArg,
    },
    /// The JSON Schema of a settings file
    Schema,
}

#[derive(Debug, clap::Args)]
struct FileArg {
    /// Settings file
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    /// The same, as the other commands have it
    #[arg(
        long,
        value_name = "FILE",
        env = "CCFLEET_CONFIG",
        conflicts_with = "file"
    )]
    config: Option<PathBuf>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl FileArg {
    fn loader(&self) -> Loader {
        let loader = Loader::new().with_process_env();
        match self.file.as_ref().or(self.config.as_ref()) {
            Some(file) => loader.with_file(file),
            None => loader,
        }
    }
}

/// Does what is asked.
///
/// # Errors
/// For `show`: the settings cannot be used.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    match &args.what {
        What::Show { file, changed } => {
            let effective = file.loader().explain();
            let effective = effective.map_err(|problems| {
                let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
                Failure::new(Exit::Usage, lines.join("\n"))
            })?;
            let shown = effective.values.iter();
            let shown = shown.filter(|valued| !changed || is_changed(valued));
            match file.json {
                true => say!(
                    "{:#}",
                    json!({"values": shown.map(row).collect::<Vec<_>>()})
                ),
                false => page(shown).iter().for_each(|line| say!("{line}")),
            }
            Ok(Exit::Done)
        }
        What::Check { file } => {
            let found = check(file.loader());
            match file.json {
                true => say!("{:#}", found.body()),
                false => found.lines().iter().for_each(|line| say!("{line}")),
            }
            Ok(match found.problems.is_empty() {
                true => Exit::Done,
                false => Exit::Usage,
            })
        }
        What::Schema => {
            say!("{:#}", schema::schema());
            Ok(Exit::Done)
        }
    }
}

fn is_changed(valued: &Valued) -> bool {
    !matches!(
        valued.source,
        Source::Embedded | Source::Unset | Source::Inherited(_)
    )
}

fn row(valued: &Valued) -> Value {
    let mut row = json!({
        "key": valued.key.path,
        "value": valued.value,
        "source": valued.source.as_str(),
    });
    match &valued.source {
        Source::File { path, line } => {
            row["file"] = json!(path);
            row["line"] = json!(line);
        }
        Source::Environment(name) | Source::Flag(name) | Source::Inherited(name) => {
            row["name"] = json!(name);
        }
        Source::Embedded | Source::Unset => {}
    }
    row
}

/// As a file that could be read again, but for secrets.
fn page<'a>(values: impl Iterator<Item = &'a Valued>) -> Vec<String> {
    let mut lines = Vec::new();
    let mut section = "";
    for valued in values {
        let (in_section, name) = valued.key.path.rsplit_once('.').unwrap_or_default();
        if in_section != section {
            if !lines.is_empty() {
                lines.push(String::new());
            }
            lines.push(format!("[{in_section}]"));
            section = in_section;
        }
        let text = match &valued.value {
            Some(value) => format!("{name} = {value}"),
            None => format!("#{name} ="),
        };
        lines.push(harmless(&format!("{text:<44} # {}", valued.source)));
    }
    if lines.is_empty() {
        lines.push("# nothing: everything is as it is compiled in".to_owned());
    }
    lines
}

/// What a check found.
struct Found {
    /// What was looked at, for people.
    passed: Vec<String>,
    problems: Vec<Problem>,
}

/// Something that cannot be used.
struct Problem {
    message: String,
    file: Option<String>,
    line: Option<usize>,
    key: Option<String>,
    nearest: Option<String>,
}

impl From<&ConfigError> for Problem {
    fn from(error: &ConfigError) -> Self {
        let place = error.place();
        Problem {
            message: error.to_string(),
            file: place.map(|(file, _)| file.to_owned()),
            line: place.and_then(|(_, line)| line),
            key: error.key().map(str::to_owned),
            nearest: error.nearest().map(str::to_owned),
        }
    }
}

impl Problem {
    fn of_files(error: impl std::fmt::Display) -> Self {
        Problem {
            message: error.to_string(),
            file: None,
            line: None,
            key: None,
            nearest: None,
        }
    }
}

fn check(loader: Loader) -> Found {
    let mut found = Found {
        passed: Vec::new(),
        problems: Vec::new(),
    };
    match loader.explain() {
        Ok(effective) => {
            let changed = effective.values.iter().filter(|valued| is_changed(valued));
            let changed = changed.count();
            found
                .passed
                .push(format!("settings  {changed} set, each known and usable"));
            check_files(&effective, &mut found);
        }
        Err(problems) => found.problems = problems.iter().map(Problem::from).collect(),
    }
    found
}

/// The prompts and kinds that the settings name.
fn check_files(effective: &Effective, found: &mut Found) {
    let settings = &effective.settings;
    let folder = settings.tasks.prompts_dir.as_deref();
    let prompts = match PromptLibrary::load(folder) {
        Ok(prompts) => prompts,
        Err(error) => return found.problems.push(Problem::of_files(error)),
    };
    let own = prompts.changed().join(", ");
    found.passed.push(match (folder, own.as_str()) {
        (None, _) => "prompts   as they come with the program".to_owned(),
        (Some(folder), "") => format!("prompts   {}: all as built in", folder.display()),
        (Some(folder), own) => format!("prompts   {}: yours are {own}", folder.display()),
    });
    match Kinds::load(settings, &prompts, strategy::version_of) {
        Ok(kinds) => {
            let own = kinds
                .entries()
                .filter(|k| !k.is_embedded() || k.is_changed());
            let own: Vec<&str> = own.map(|kind| kind.form.kind.as_str()).collect();
            found.passed.push(match own.is_empty() {
                true => "kinds     as they come with the program".to_owned(),
                false => format!("kinds     yours are {}", own.join(", ")),
            });
        }
        Err(error) => found.problems.push(Problem::of_files(error)),
    }
}

impl Found {
    fn body(&self) -> Value {
        let problem = |problem: &Problem| {
            json!({
                "message": problem.message,
                "file": problem.file,
                "line": problem.line,
                "key": problem.key,
                "nearest": problem.nearest,
            })
        };
        let problems: Vec<Value> = self.problems.iter().map(problem).collect();
        json!({"usable": problems.is_empty(), "problems": problems})
    }

    fn lines(&self) -> Vec<String> {
        let problems = self.problems.iter().map(|problem| &problem.message);
        let lines = self.passed.iter().chain(problems);
        lines.map(|line| harmless(line)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("my.toml");
        std::fs::write(&path, text).unwrap();
        (dir, path)
    }

    fn checked(text: &str) -> (String, Value) {
        let (dir, path) = file(text);
        let found = check(Loader::new().with_file(path));
        let folder = format!("{}/", dir.path().display());
        let lines = found.lines().join("\n").replace(&folder, "");
        (lines, found.body())
    }

    #[test]
    fn every_mistake_is_named_with_file_line_key_and_the_nearest_name() {
        let (lines, body) =
            checked("[server]\nbnid = 'x'\n\n[gateway]\nqueue = 'many'\nretrys = 1\n");
        insta::assert_snapshot!(lines, @r"
        my.toml:5: `gateway.queue` must be a whole number, not text
        my.toml:6: unknown key `gateway.retrys`; did you mean `gateway.retries`?
        my.toml:2: unknown key `server.bnid`; did you mean `server.bind`?
        ");
        assert_eq!(body["usable"], false);
        let last = &body["problems"][2];
        assert_eq!(
            (&last["line"], &last["key"], &last["nearest"]),
            (&json!(2), &json!("server.bnid"), &json!("server.bind"))
        );
        assert!(last["file"].as_str().unwrap().ends_with("my.toml"));
    }

    #[test]
    fn a_prompt_or_kind_that_cannot_be_used_fails_the_check_too() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().display();
        std::fs::write(folder.path().join("odd.md"), "no front matter").unwrap();
        let (lines, body) = checked(&format!("[tasks]\nprompts_dir = '{dir}'"));
        assert!(lines.contains("odd.md"), "{lines}");
        assert_eq!(body["usable"], false);

        std::fs::write(folder.path().join("odd.toml"), "kind = 'odd'\nbudget = 3").unwrap();
        let (lines, body) = checked(&format!("[tasks]\nkinds_dir = '{dir}'"));
        assert!(
            lines.contains("odd.toml") && lines.contains("budget"),
            "{lines}"
        );
        assert_eq!(body["usable"], false);
    }

    #[test]
    fn what_is_shown_reads_back_as_the_same_settings() {
        let (_dir, path) = file("[gateway]\nqueue = 3\n[policy]\nurl_hosts = ['a b', \"it's\"]\n");
        let effective = Loader::new().with_file(path).explain().unwrap();
        let shown = page(effective.values.iter()).join("\n");
        let (_dir, path) = file(&shown);
        let again = Loader::new().with_file(path).load().unwrap();
        assert_eq!(again, effective.settings);

        let changed = effective.values.iter().filter(|valued| is_changed(valued));
        let changed = page(changed);
        assert_eq!(changed.len(), 5, "{changed:?}");
        assert!(changed[1].starts_with("queue = 3") && changed[1].ends_with("my.toml:2"));
    }

    #[test]
    fn a_key_of_a_model_server_is_neither_in_the_page_nor_in_the_json() {
        let (_dir, path) = file("[models.planner]\napi_key = 's3cret'\n");
        let effective = Loader::new().with_file(path).explain().unwrap();
        let page = page(effective.values.iter()).join("\n");
        let rows: Vec<Value> = effective.values.iter().map(row).collect();
        assert!(page.contains("api_key = \"***\"") && !page.contains("s3cret"));
        assert!(!json!(rows).to_string().contains("s3cret"));
    }
}
