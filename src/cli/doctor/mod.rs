//! `ccfleet doctor`: what works, what does not, and the command that mends it.
//!
//! A line begins with PASS, WARN or FAIL; what mends a FAIL stands below it. Checks that wait say for
//! how long at most before they begin. Nothing is changed but that an absent data folder is made.

mod kinds;
mod models;
mod place;
mod report;

use std::path::PathBuf;

use super::{Exit, Failure};
use crate::config::{Loader, Settings};
use crate::domain::chat::Role;
use report::Report;

const EXAMPLES: &str = "\
Examples:
  ccfleet doctor
  ccfleet doctor --config fleet.toml --data /srv/ccfleet
  ccfleet doctor --json

Exit codes: 0 nothing failed, 1 something failed.";

/// Check settings, data folder, port and models; each failure says what mends it.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Settings file, as for `serve`
    #[arg(long, value_name = "FILE", env = "CCFLEET_CONFIG")]
    pub config: Option<PathBuf>,

    /// Data folder, as for `serve`
    #[arg(long, value_name = "DIR")]
    pub data: Option<String>,

    /// Address and port, as for `serve`
    #[arg(long, value_name = "IP:PORT")]
    pub bind: Option<String>,

    /// Print one JSON object at the end
    #[arg(long)]
    pub json: bool,
}

/// Runs all checks and prints them. A failed check is no error of the command, but its exit code is 1.
///
/// # Errors
/// None of its own; the type is that of all commands.
pub async fn run(args: Args) -> Result<Exit, Failure> {
    let mut report = Report::to_terminal(args.json);
    check(&args, &mut report).await;
    Ok(match report.end() {
        0 => Exit::Done,
        _ => Exit::Failed,
    })
}

async fn check(args: &Args, report: &mut Report) {
    let Some(settings) = settings(args, report) else {
        return;
    };
    place::data_folder(&settings.server.data_dir, report);
    place::port(settings.server.bind, report).await;
    let checked = models::role(Role::Planner, &settings, report).await;
    let (planner, executor) = (&settings.models.planner, &settings.models.executor);
    let same = planner.provider == executor.provider
        && planner.base_url == executor.base_url
        && planner.model == executor.model
        && planner.script == executor.script;
    if same && checked {
        report.pass("executor", "the same model as the planner's");
    } else if !same {
        models::role(Role::Executor, &settings, report).await;
    }
    kinds::check(&settings, report).await;
}

/// Everything else depends on the settings, so without them the rest is not looked at.
fn settings(args: &Args, report: &mut Report) -> Option<Settings> {
    let mut loader = Loader::new();
    if let Some(file) = &args.config {
        loader = loader.with_file(file);
    }
    let settings = loader
        .with_process_env()
        .with_optional_override("server.bind", args.bind.clone())
        .with_optional_override("server.data_dir", args.data.clone())
        .load();
    let source = match &args.config {
        Some(file) => format!("defaults and {}", file.display()),
        None => "defaults, no file (--config FILE)".to_owned(),
    };
    match settings {
        Ok(settings) => {
            report.pass("configuration", &source);
            Some(settings)
        }
        Err(error) => {
            let mend = "correct it; docs/configuration.md lists every key";
            report.fail("configuration", &error.to_string(), mend);
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(folder: &std::path::Path, config: &str) -> Args {
        let file = folder.join("my.toml");
        std::fs::write(&file, config).expect("written");
        Args {
            config: Some(file),
            data: Some(folder.join("data").display().to_string()),
            bind: Some("127.0.0.1:0".into()),
            json: false,
        }
    }

    async fn told(config: &str) -> (String, usize) {
        let folder = tempfile::tempdir().expect("folder");
        let (mut report, text) = Report::to_memory();
        check(&args(folder.path(), config), &mut report).await;
        let failed = report.end();
        let text = text.text();
        let text = text.replace(&folder.path().display().to_string(), "DIR");
        let free = without_free_space(&text);
        (free, failed)
    }

    /// The free space differs from machine to machine.
    fn without_free_space(text: &str) -> String {
        let lines = text.lines().map(|line| match line.split_once("; ") {
            Some((before, after)) if after.ends_with("free") => format!("{before}; SPACE free"),
            _ => line.to_owned(),
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    #[actix::test]
    async fn a_scripted_set_up_passes() {
        let (text, failed) =
            told("[models.planner]\nprovider = 'scripted'\nscript = 'hello'").await;
        assert_eq!(failed, 0, "{text}");
        insta::assert_snapshot!(text);
    }

    #[actix::test]
    async fn a_server_that_is_not_there_fails_with_its_mend() {
        let (text, failed) = told("[models.planner]\nbase_url = 'http://127.0.0.1:9'").await;
        assert_eq!(failed, 1, "{text}");
        insta::assert_snapshot!(text);
    }

    #[actix::test]
    async fn bad_settings_end_the_look_with_their_place() {
        let (text, failed) = told("[models.planner]\nmodle = 'x'").await;
        assert_eq!(failed, 1);
        insta::assert_snapshot!(text);
    }
}
