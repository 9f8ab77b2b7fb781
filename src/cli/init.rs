//! `ccfleet init`: settings, prompts and kinds as files to change.

use super::{Exit, Failure};
use crate::config::{kinds, reference, schema};
use crate::prompts;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  ccfleet init                  in this folder
  ccfleet init /etc/ccfleet     in that one; it is made if it is missing
  ccfleet init --force          writes again what is there: your changes to those files are lost

Written are ccfleet.toml (every setting with its default), ccfleet.schema.json (for editors), prompts/ and kinds/. A prompt or kind
there stands in place of the one in the program, also after an upgrade: delete what you do not change.

Exit codes: 0 done, 1 a file is there or cannot be written.";

/// The settings file.
const CONFIG: &str = "ccfleet.toml";
/// Its schema, beside it.
const SCHEMA: &str = "ccfleet.schema.json";

/// Write a commented settings file, and the prompts and kinds to change.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Where to
    #[arg(default_value = ".")]
    dir: PathBuf,

    /// Write over files that are there
    #[arg(long)]
    force: bool,
}

/// Writes the files; none of them if one is there already.
///
/// # Errors
/// A file is there and `--force` was not said, or one cannot be written.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    let failed = |path: &Path, error: std::io::Error| {
        Failure::new(Exit::Failed, format!("{}: {error}", path.display()))
    };
    std::fs::create_dir_all(&args.dir).map_err(|error| failed(&args.dir, error))?;
    // Settings name files as the server finds them from wherever it is started.
    let dir = args
        .dir
        .canonicalize()
        .map_err(|error| failed(&args.dir, error))?;
    let files = files(&dir);
    let there: Vec<&str> = files
        .iter()
        .filter(|(name, _)| dir.join(name).exists())
        .map(|(name, _)| name.as_str())
        .collect();
    if let ([first, rest @ ..], false) = (there.as_slice(), args.force) {
        let others = match rest.len() {
            0 => String::new(),
            more => format!(" and {more} more files are"),
        };
        let is = if rest.is_empty() { " is" } else { "" };
        let words = format!(
            "nothing was written: {}{others}{is} there already; --force writes over them, and what you changed in them is lost",
            dir.join(first).display()
        );
        return Err(Failure::new(Exit::Failed, words));
    }
    for (name, text) in &files {
        let path = dir.join(name);
        let folder = path.parent().unwrap_or(&dir);
        std::fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
        std::fs::write(&path, text).map_err(|error| failed(&path, error))?;
    }
    told(&dir, files.len());
    Ok(Exit::Done)
}

fn told(dir: &Path, count: usize) {
    let config = dir.join(CONFIG);
    say!("wrote {count} files to {}:", dir.display());
    say!("  {CONFIG:<20} every setting with its default; take away a # to change one");
    say!("  {SCHEMA:<20} for editors: names and types while you type");
    say!("  {:<20} what the models are told", "prompts/");
    say!(
        "  {:<20} how tasks are done: models, tools, budgets",
        "kinds/"
    );
    say!("");
    say!(
        "A prompt or kind there stands in place of the one in the program, also after an upgrade:"
    );
    say!("delete what you do not change.");
    say!("");
    say!("Next:");
    say!("  1. change {}", config.display());
    say!("  2. ccfleet config check {}", config.display());
    say!("  3. ccfleet doctor --config {}", config.display());
    say!("  4. ccfleet serve --config {}", config.display());
}

/// All files, with their names below the folder.
fn files(dir: &Path) -> Vec<(String, String)> {
    let mut files = vec![
        (CONFIG.to_owned(), settings(dir)),
        (SCHEMA.to_owned(), format!("{:#}\n", schema::schema())),
    ];
    files.extend(prompts::files().map(|(name, text)| (format!("prompts/{name}"), text)));
    files.extend(kinds::files().map(|(name, text)| (format!("kinds/{name}"), text)));
    files
}

/// `config/default.toml` with every key commented out, but for the two folders.
fn settings(dir: &Path) -> String {
    let mut text = format!("#:schema {SCHEMA}\n{HEAD}");
    // The file's own head speaks of defaults that are compiled in.
    let body = reference::DEFAULT_TOML.split_once("\n\n");
    let body = body.map_or(reference::DEFAULT_TOML, |(_, body)| body);
    for line in body.lines() {
        let name = line.trim_start_matches('#').split(" =").next();
        let folder = match name {
            Some("prompts_dir") => Some("prompts"),
            Some("kinds_dir") => Some("kinds"),
            _ => None,
        };
        let is_value = !line.is_empty() && !line.starts_with(['#', '[']);
        text += &match (folder, is_value) {
            (Some(folder), _) => {
                let path = toml::Value::String(dir.join(folder).display().to_string());
                format!("{folder}_dir = {path}\n")
            }
            (None, true) => format!("#{line}\n"),
            (None, false) => format!("{line}\n"),
        };
    }
    text
}

const HEAD: &str = "\
# Settings of ccfleet. What has a # before it is as it is compiled in, or an example where there is no default; take the # away
# and change it. Later wins: what is compiled in, this file, CCFLEET__SECTION__KEY variables, flags of the command.
#   ccfleet config check THIS-FILE     is every key known, can it be used?
#   ccfleet config show THIS-FILE      every value, and where it comes from

";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Loader, Source};
    use crate::prompts::PromptLibrary;

    fn init(dir: &Path, force: bool) -> Result<Exit, Failure> {
        run(&Args {
            dir: dir.to_owned(),
            force,
        })
    }

    #[test]
    fn what_is_written_is_the_program_as_it_comes() {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("a/b");
        init(&dir, false).unwrap();
        let dir = dir.canonicalize().unwrap();
        let effective = Loader::new().with_file(dir.join(CONFIG)).explain().unwrap();
        let mut settings = effective.settings;
        assert_eq!(settings.tasks.prompts_dir, Some(dir.join("prompts")));
        let prompts = PromptLibrary::load(settings.tasks.prompts_dir.as_deref()).unwrap();
        assert_eq!(prompts.changed(), [""; 0]);
        let kinds = kinds::Kinds::load(&settings, &prompts, crate::strategy::version_of).unwrap();
        assert!(
            kinds
                .entries()
                .all(|kind| kind.is_embedded() && !kind.is_changed())
        );
        settings.tasks.prompts_dir = None;
        settings.tasks.kinds_dir = None;
        assert_eq!(settings, Loader::new().load().unwrap());
        let set = effective.values.iter();
        let set = set.filter(|valued| matches!(valued.source, Source::File { .. }));
        assert_eq!(set.count(), 2);
    }

    #[test]
    fn every_setting_counts_once_its_mark_is_taken_away() {
        let text = settings(Path::new("/x"));
        for key in reference::keys() {
            let name = key.path.rsplit('.').next().unwrap();
            let commented = text.lines().any(|line| {
                let live = line.trim_start_matches('#');
                live.starts_with(&format!("{name} ="))
            });
            assert!(commented, "{}", key.path);
        }
    }

    #[test]
    fn nothing_is_written_over_unless_that_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let mine = dir.path().join("prompts/directive/planner.md");
        std::fs::create_dir_all(mine.parent().unwrap()).unwrap();
        std::fs::write(&mine, "mine").unwrap();
        let failure = init(dir.path(), false).unwrap_err();
        assert_eq!(failure.exit, Exit::Failed);
        assert!(
            failure.text.contains("directive/planner.md is there"),
            "{}",
            failure.text
        );
        assert!(!dir.path().join(CONFIG).exists());
        assert_eq!(std::fs::read_to_string(&mine).unwrap(), "mine");
        init(dir.path(), true).unwrap();
        assert_ne!(std::fs::read_to_string(&mine).unwrap(), "mine");
        assert!(
            init(dir.path(), false)
                .unwrap_err()
                .text
                .contains("more files are there")
        );
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = init(&file.path().join("below"), false).unwrap_err().text;
        assert!(text.contains("below"), "{text}");
    }
}
