//! Python packages for tests, installed once into the build folder by name and version.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A virtual environment that holds packages.
pub struct Environment {
    pub folder: PathBuf,
}

impl Environment {
    /// The environment `name` with exactly `packages` (`NAME==VERSION`), made now if it is not there.
    ///
    /// # Errors
    /// Why it cannot be had, in one line: no Python, no registry, no such package.
    pub fn with(name: &str, packages: &[&str], pip_options: &[&str]) -> Result<Self, String> {
        let root = build_folder().join("python");
        std::fs::create_dir_all(&root).map_err(|error| error.to_string())?;
        // Several test processes may want the same environment at once.
        let lock = File::create(root.join(format!("{name}.lock"))).map_err(|e| e.to_string())?;
        lock.lock().map_err(|error| error.to_string())?;
        let folder = root.join(name);
        let complete = folder.join("complete");
        let wanted = packages.join(" ");
        if std::fs::read_to_string(&complete).is_ok_and(|have| have == wanted) {
            return Ok(Environment { folder });
        }
        let _ = std::fs::remove_dir_all(&folder);
        run(Command::new("python3").arg("-m").arg("venv").arg(&folder))?;
        run(Command::new(folder.join("bin/pip"))
            .args(["install", "--quiet", "--disable-pip-version-check"])
            .args(pip_options)
            .args(packages))?;
        std::fs::write(complete, wanted).map_err(|error| error.to_string())?;
        Ok(Environment { folder })
    }

    /// The first file whose path inside the environment's packages fits `folder` and `ending`.
    pub fn package_file(&self, package: &str, ending: &str) -> Option<PathBuf> {
        let lib = std::fs::read_dir(self.folder.join("lib")).ok()?;
        let packages = lib
            .flatten()
            .map(|entry| entry.path().join("site-packages"));
        let files = packages.filter_map(|packages| std::fs::read_dir(packages.join(package)).ok());
        let mut paths = files.flat_map(|files| files.flatten().map(|entry| entry.path()));
        paths.find(|path| path.to_string_lossy().ends_with(ending))
    }
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(format!(
        "{}: {}",
        output.status,
        errors.lines().last().unwrap_or_default()
    ))
}

fn build_folder() -> &'static Path {
    let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
    tmp.parent().unwrap_or(tmp)
}

/// Says loudly that a test could not be run. Not by `eprintln!`, which the test runner hides.
pub fn skipped(what: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "\nSKIPPED: {what}: {why}\n");
}
