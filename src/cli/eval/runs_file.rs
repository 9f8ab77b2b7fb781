//! Runs kept in a file, one JSON line each, so that an evaluation of hours goes on where it was stopped.

use super::model::slip::Slip;
use super::run::{Ending, Job, Record};
use crate::domain::ids::BlobHash;
use crate::strategy::version_of;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Why a file of runs cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RunsFileError {
    #[error("{path}: {error}")]
    Io {
        path: PathBuf,
        error: std::io::Error,
    },
    #[error(
        "{path}, line {line}: this is no run of an evaluation ({error}); name another file with --runs"
    )]
    Line {
        path: PathBuf,
        line: usize,
        error: serde_json::Error,
    },
    #[error("{path} holds runs of {there:?}, and this is {here:?}; name another file with --runs")]
    Model {
        path: PathBuf,
        there: String,
        here: String,
    },
}

/// One run as it stands in the file.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Line {
    strategy: String,
    /// The version of that strategy; the baseline has none.
    version: Option<u32>,
    task: String,
    seed: u64,
    model: String,
    error_rate: f64,
    /// When it ended, RFC 3339.
    at: String,
    /// Seconds that it was given.
    within_s: u64,
    took_s: f64,
    ending: Ending,
    problem: Option<String>,
    steps: u32,
    model_calls: u32,
    executor_calls: u32,
    executor_avoided: u32,
    calls: u32,
    tokens: u64,
    guard_trips: BTreeMap<String, u32>,
    duplicate_effects: u32,
    repeated_effects: u32,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    slips: BTreeMap<Slip, u32>,
    journal: BlobHash,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replay: Option<String>,
}

/// The file, open for the runs that are still to be made.
#[derive(Debug)]
pub struct RunsFile {
    path: PathBuf,
    file: File,
    model: String,
    lines: Vec<Line>,
}

impl RunsFile {
    /// Opens or makes the file. A last line that was being written when somebody pulled the plug is dropped.
    ///
    /// # Errors
    /// It cannot be read or written, holds something else, or runs of another model.
    pub fn open(path: &Path, model: &str) -> Result<Self, RunsFileError> {
        let io = |error| RunsFileError::Io {
            path: path.to_owned(),
            error,
        };
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(path).map_err(io)?;
        let text = std::fs::read_to_string(path).map_err(io)?;
        let whole = whole_lines(&text);
        let mut lines = Vec::new();
        for (at, line) in text[..whole].lines().enumerate() {
            let line: Line = serde_json::from_str(line).map_err(|error| RunsFileError::Line {
                path: path.to_owned(),
                line: at + 1,
                error,
            })?;
            if line.model != model {
                return Err(RunsFileError::Model {
                    path: path.to_owned(),
                    there: line.model,
                    here: model.to_owned(),
                });
            }
            lines.push(line);
        }
        // Only now is it known that this is such a file.
        file.set_len(whole as u64).map_err(io)?;
        file.seek(SeekFrom::End(0)).map_err(io)?;
        if !text[..whole].is_empty() && !text[..whole].ends_with('\n') {
            file.write_all(b"\n").map_err(io)?;
        }
        Ok(RunsFile {
            path: path.to_owned(),
            file,
            model: model.to_owned(),
            lines,
        })
    }

    /// Divides the jobs: runs that the file holds already, and jobs that are still to be done.
    pub fn divide(&self, jobs: Vec<Job>) -> (Vec<Record>, Vec<Job>) {
        let mut kept = Vec::new();
        let mut open = Vec::new();
        for job in jobs {
            match self.lines.iter().rev().find(|line| line.is_of(&job)) {
                Some(line) => kept.push(line.record(job)),
                None => open.push(job),
            }
        }
        (kept, open)
    }

    /// Appends a run that ended.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn append(&mut self, record: &Record) -> Result<(), RunsFileError> {
        let line = Line::of(record, &self.model);
        let io = |error| RunsFileError::Io {
            path: self.path.clone(),
            error,
        };
        let mut text = serde_json::to_string(&line).map_err(|e| io(e.into()))?;
        text.push('\n');
        self.file.write_all(text.as_bytes()).map_err(io)?;
        self.file.sync_data().map_err(io)
    }
}

/// How a line begins.
const BEGINS: &str = "{\"strategy\":";

/// Bytes without the beginning of a line that was cut off as it was written. What does not begin like one is left to be refused.
fn whole_lines(text: &str) -> usize {
    let last = text.rfind('\n').map_or(0, |at| at + 1);
    let tail = &text[last..];
    let begins = tail.starts_with(BEGINS) || BEGINS.starts_with(tail);
    match serde_json::from_str::<Line>(tail) {
        Err(_) if begins => last,
        _ => text.len(),
    }
}

impl Line {
    fn of(record: &Record, model: &str) -> Self {
        let job = &record.job;
        Line {
            strategy: job.contender.to_owned(),
            version: version_of(job.contender),
            task: job.task.name.clone(),
            seed: job.seed,
            model: model.to_owned(),
            error_rate: job.rate,
            at: humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string(),
            within_s: job.within.as_secs(),
            took_s: (record.took.as_secs_f64() * 1000.0).round() / 1000.0,
            ending: record.ending.clone(),
            problem: record.problem.clone(),
            steps: record.steps,
            model_calls: record.model_calls,
            executor_calls: record.executor_calls,
            executor_avoided: record.executor_avoided,
            calls: record.calls,
            tokens: record.tokens,
            guard_trips: record.guard_trips.clone(),
            duplicate_effects: record.duplicate_effects,
            repeated_effects: record.repeated_effects,
            slips: record.slips.clone(),
            journal: record.journal.clone(),
            replay: record.replay.clone(),
        }
    }

    /// Whether it is what that job would make. A run whose time was over is made anew if there is more time now.
    fn is_of(&self, job: &Job) -> bool {
        let same = self.strategy == job.contender
            && self.task == job.task.name
            && self.seed == job.seed
            && (self.error_rate - job.rate).abs() < 1e-9;
        let had_its_time = self.ending != Ending::Unclear || self.within_s >= job.within.as_secs();
        same && had_its_time
    }

    fn record(&self, job: Job) -> Record {
        Record {
            by_earlier_version: version_of(job.contender) != self.version,
            job,
            ending: self.ending.clone(),
            problem: self.problem.clone(),
            steps: self.steps,
            model_calls: self.model_calls,
            executor_calls: self.executor_calls,
            executor_avoided: self.executor_avoided,
            calls: self.calls,
            tokens: self.tokens,
            guard_trips: self.guard_trips.clone(),
            duplicate_effects: self.duplicate_effects,
            repeated_effects: self.repeated_effects,
            slips: self.slips.clone(),
            #[cfg(test)]
            course: Vec::new(),
            journal: self.journal.clone(),
            replay: self.replay.clone(),
            took: Duration::try_from_secs_f64(self.took_s).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::eval::figures;
    use crate::cli::eval::tests::record;

    fn jobs(records: &[Record]) -> Vec<Job> {
        records.iter().map(|r| r.job.clone()).collect()
    }

    #[test]
    fn a_run_that_is_kept_is_not_made_again_and_counts_as_it_did() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("runs.jsonl");
        let mut made = vec![record(0, 0, 4, true), record(0, 1, 9, true)];
        made.push(Record {
            ending: Ending::Failed("loop".to_owned()),
            took: Duration::from_millis(1500),
            ..record(1, 1, 3, false)
        });
        let mut file = RunsFile::open(&path, "small").unwrap();
        made.iter().for_each(|r| file.append(r).unwrap());

        let file = RunsFile::open(&path, "small").unwrap();
        let mut wanted = jobs(&made);
        wanted.push(record(2, 1, 0, true).job);
        let (kept, open) = file.divide(wanted);
        assert_eq!(open.len(), 1);
        let told = |records: &[Record]| {
            let rows = figures::rows(records);
            rows.iter().map(figures::to_json).collect::<Vec<_>>()
        };
        assert_eq!(told(&kept), told(&made));
        assert_eq!(figures::failures(&kept), figures::failures(&made));
        assert!(kept.iter().all(|r| !r.by_earlier_version));
    }

    #[test]
    fn what_was_cut_off_in_the_middle_of_a_line_is_made_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("runs.jsonl");
        let made = [record(0, 1, 4, true), record(1, 1, 4, true)];
        let mut file = RunsFile::open(&path, "small").unwrap();
        made.iter().for_each(|r| file.append(r).unwrap());
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, &text[..text.len() - 5]).unwrap();

        let mut file = RunsFile::open(&path, "small").unwrap();
        let (kept, open) = file.divide(jobs(&made));
        assert_eq!((kept.len(), open.len()), (1, 1));
        file.append(&made[1]).unwrap();
        let file = RunsFile::open(&path, "small").unwrap();
        assert_eq!(file.divide(jobs(&made)).1.len(), 0);

        // A last line that is whole is one, whoever took its end away.
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.trim_end()).unwrap();
        let mut file = RunsFile::open(&path, "small").unwrap();
        file.append(&record(2, 1, 4, true)).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 3);
    }

    #[test]
    fn another_models_runs_and_what_is_no_run_are_refused_and_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("runs.jsonl");
        let mut file = RunsFile::open(&path, "small").unwrap();
        file.append(&record(0, 1, 4, true)).unwrap();
        let refused = RunsFile::open(&path, "large").unwrap_err().to_string();
        assert!(
            refused.contains("\"small\", and this is \"large\""),
            "{refused}"
        );
        let notes = dir.path().join("notes.txt");
        for text in ["buy milk\nand bread", "buy milk", "{\"milk\": 1}"] {
            std::fs::write(&notes, text).unwrap();
            let refused = RunsFile::open(&notes, "small").unwrap_err().to_string();
            assert!(refused.contains("line 1: this is no run"), "{refused}");
            assert_eq!(std::fs::read_to_string(&notes).unwrap(), text);
        }
    }

    #[test]
    fn a_run_whose_time_was_over_is_made_anew_where_there_is_more() {
        let dir = tempfile::tempdir().unwrap();
        let mut file = RunsFile::open(&dir.path().join("runs.jsonl"), "small").unwrap();
        let unclear = Record {
            ending: Ending::Unclear,
            ..record(0, 1, 4, false)
        };
        file.append(&unclear).unwrap();
        let file = RunsFile::open(&dir.path().join("runs.jsonl"), "small").unwrap();
        let mut job = unclear.job;
        assert_eq!(file.divide(vec![job.clone()]).0.len(), 1);
        job.within *= 2;
        assert_eq!(file.divide(vec![job]).0.len(), 0);
    }

    #[test]
    fn a_run_by_an_earlier_version_of_its_strategy_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("runs.jsonl");
        let made = record(0, 1, 4, true);
        RunsFile::open(&path, "small")
            .unwrap()
            .append(&made)
            .unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let version = version_of("directive").unwrap();
        let earlier = text.replace(&format!("\"version\":{version}"), "\"version\":1");
        std::fs::write(&path, earlier).unwrap();
        let file = RunsFile::open(&path, "small").unwrap();
        let (kept, _) = file.divide(vec![made.job]);
        assert!(kept[0].by_earlier_version);
    }
}
