//! Checkpoints: the state of a task after one of its events, so that whoever goes on with it folds only what came since. They are
//! made from the events, say nothing that those do not say, and can be thrown away at any time.

use crate::domain::ids::TaskId;
use crate::domain::task::TaskState;
use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;

/// How hard it is compressed: quickly, since it is written far more often than it is read.
const LEVEL: u8 = 1;

/// A task's state after its event `seq`, packed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    pub task_id: TaskId,
    pub seq: u64,
    /// Which fold made it: as [`FOLD`].
    pub version: String,
    /// Bytes of the state as JSON.
    pub bytes: u64,
    /// That JSON, compressed with zlib.
    pub data: Vec<u8>,
    /// Of everything above.
    pub checksum: i64,
}

/// Why a task is folded from its events although there is a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// No fault: a program of that version made it, and its fold may have been another one.
    #[error("version {0} made it")]
    OtherVersion(String),
    #[error("{0}")]
    Damaged(String),
}

/// Which fold this program has: its version, and a hash of the sources that make a state (`build.rs`).
pub const FOLD: &str = concat!(env!("CARGO_PKG_VERSION"), "/", env!("CCFLEET_FOLD"));

impl Checkpoint {
    /// Packs a state. It takes milliseconds for a long task, so not on a thread that others wait for.
    ///
    /// # Errors
    /// The state cannot be written as JSON.
    pub fn of(state: &TaskState) -> Result<Self, serde_json::Error> {
        let text = serde_json::to_vec(state)?;
        let unsigned = Checkpoint {
            task_id: state.task_id.clone(),
            seq: state.last_seq,
            version: FOLD.to_owned(),
            bytes: text.len() as u64,
            data: compress_to_vec_zlib(&text, LEVEL),
            checksum: 0,
        };
        Ok(Checkpoint {
            checksum: unsigned.sum(),
            ..unsigned
        })
    }

    /// The state, if it is what was packed, by a program that folds as this one does.
    ///
    /// # Errors
    /// It is not; then the task's events say everything.
    pub fn state(&self) -> Result<TaskState, Unusable> {
        let damaged = |why: String| Unusable::Damaged(why);
        if self.sum() != self.checksum {
            return Err(damaged("it is not what was written".to_owned()));
        }
        if self.version != FOLD {
            return Err(Unusable::OtherVersion(self.version.clone()));
        }
        let most = usize::try_from(self.bytes).map_err(|error| damaged(error.to_string()))?;
        let text = decompress_to_vec_zlib_with_limit(&self.data, most)
            .map_err(|error| damaged(error.to_string()))?;
        let state: TaskState =
            serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
        if state.task_id != self.task_id || state.last_seq != self.seq {
            return Err(damaged("it is the state of something else".to_owned()));
        }
        Ok(state)
    }

    pub(super) fn sum(&self) -> i64 {
        let mut hasher = blake3::Hasher::new();
        for text in [self.task_id.as_str(), &self.version] {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
        for number in [self.seq, self.bytes] {
            hasher.update(&number.to_le_bytes());
        }
        hasher.update(&self.data);
        let mut first = [0; 8];
        first.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
        i64::from_le_bytes(first)
    }
}
