//! The whole server in this process, with a journal of its own that goes when it does.

use ccfleet::app::{App, Options, RunningApp};
use ccfleet::config::Loader;
use ccfleet::llm::ProviderSet;
use std::path::Path;

/// A server and its folder.
pub struct Whole {
    pub app: RunningApp,
    _folder: tempfile::TempDir,
}

/// Starts a server with these settings over the defaults, kinds (name and TOML) beside those that are built in, and models.
pub async fn start(
    settings: &[(&str, &str)],
    kinds: &[(&str, &str)],
    models: ProviderSet,
) -> Whole {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let in_folder = |name: &str| folder.path().join(name).display().to_string();
    write_kinds(Path::new(&in_folder("kinds")), kinds);
    let loader = Loader::new()
        .with_override("server.bind", "127.0.0.1:0")
        .with_override("server.data_dir", in_folder("data"))
        .with_override("tasks.kinds_dir", in_folder("kinds"))
        .with_override("models.planner.provider", "scripted")
        .with_override("models.planner.script", "hello");
    let loader = settings.iter().fold(loader, |loader, (key, value)| {
        loader.with_override(key, *value)
    });
    let settings = loader.load().expect("good settings");
    let app = App::start_with_models(settings, Options::default(), models).await;
    Whole {
        app: app.unwrap_or_else(|error| panic!("{error}")),
        _folder: folder,
    }
}

fn write_kinds(folder: &Path, kinds: &[(&str, &str)]) {
    std::fs::create_dir_all(folder).expect("a temporary folder");
    for (name, text) in kinds {
        std::fs::write(folder.join(format!("{name}.toml")), text).expect("a temporary file");
    }
}
