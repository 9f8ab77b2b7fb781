//! Which data folder a command reads that needs no server.

use super::{Exit, Failure};
use crate::config::Loader;
use std::path::PathBuf;

/// The data folder, said at once or by a settings file.
#[derive(Debug, Clone, clap::Args)]
pub struct DataArg {
    /// Folder of the journal [default: as `serve` has it]
    #[arg(long, value_name = "DIR", global = true)]
    data: Option<PathBuf>,

    /// Settings file that names the data folder
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
}

impl DataArg {
    /// Whether a folder was said.
    pub fn is_given(&self) -> bool {
        self.data.is_some() || self.config.is_some()
    }

    /// # Errors
    /// The settings cannot be read.
    pub fn folder(&self) -> Result<PathBuf, Failure> {
        if let Some(folder) = &self.data {
            return Ok(folder.clone());
        }
        let mut loader = Loader::new();
        if let Some(file) = &self.config {
            loader = loader.with_file(file);
        }
        let settings = loader.with_process_env().load();
        let settings = settings.map_err(|error| Failure::new(Exit::Usage, error))?;
        Ok(settings.server.data_dir)
    }
}
