//! What the writer committed itself, so that most appends need not write it once more. Nobody takes anything out beside it: what
//! does that wants a journal that no server has open.

use super::super::{Append, Write, Written};
use crate::domain::ids::BlobHash;
use std::collections::HashSet;
use std::sync::Arc;

/// How many blobs are remembered.
const BLOBS: usize = 256;

#[derive(Default)]
pub(super) struct Known {
    /// Rows of `event_kinds`.
    kinds: HashSet<&'static str>,
    /// Rows of `blobs`: profiles, which many tasks share, come again and again.
    blobs: HashSet<BlobHash>,
}

impl Known {
    pub(super) fn has_kind(&self, name: &str) -> bool {
        self.kinds.contains(name)
    }

    /// The blobs of an append that may not be there yet.
    pub(super) fn new_blobs<'a>(
        &'a self,
        append: &'a Append,
    ) -> impl Iterator<Item = &'a (BlobHash, Arc<str>)> {
        let blobs = append.blobs.iter();
        blobs.filter(|(hash, _)| !self.blobs.contains(hash))
    }

    /// Takes in a batch that is durable.
    pub(super) fn learn(&mut self, batch: &[Write], answers: &[Written]) {
        for (entry, answer) in batch.iter().zip(answers) {
            let (Write::Append(append), Ok(events)) = (entry, answer) else {
                continue;
            };
            self.kinds
                .extend(events.iter().map(|stored| stored.event.name()));
            // Without an event nothing was written.
            if !events.is_empty() {
                self.learn_blobs(append);
            }
        }
    }

    fn learn_blobs(&mut self, append: &Append) {
        let new: Vec<BlobHash> = self
            .new_blobs(append)
            .map(|(hash, _)| hash.clone())
            .collect();
        if self.blobs.len() + new.len() > BLOBS {
            self.blobs.clear();
        }
        self.blobs.extend(new);
    }
}
