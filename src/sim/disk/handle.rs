//! Open files: what `fs.open` and `http.get` hand to a program.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::Arc;

use super::{Disk, OpenSlot};
use crate::crash_points::{self, Point};

/// How a file was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenMode {
    /// `r`: a snapshot to read.
    Read,
    /// `w`: emptied first.
    Write,
    /// `a`: every write goes to the end.
    Append,
    /// `r+` and `w+`: read and write.
    Update {
        /// True for `w+`: emptied first.
        truncate: bool,
    },
}

impl OpenMode {
    /// Reads `r`, `w`, `a`, `r+`, `w+`, each also with `b`. The flag tells whether it was a binary mode.
    pub(crate) fn parse(mode: &[u8]) -> Option<(OpenMode, bool)> {
        let binary = mode.ends_with(b"b");
        let plain = if binary {
            &mode[..mode.len() - 1]
        } else {
            mode
        };
        let parsed = match plain {
            b"r" => OpenMode::Read,
            b"w" => OpenMode::Write,
            b"a" => OpenMode::Append,
            b"r+" => OpenMode::Update { truncate: false },
            b"w+" => OpenMode::Update { truncate: true },
            _ => return None,
        };
        Some((parsed, binary))
    }
}

enum Content {
    Memory(io::Cursor<Arc<[u8]>>),
    File {
        file: std::fs::File,
        disk: Arc<Disk>,
        append: bool,
    },
}

/// One open file. Dropping it closes it and frees its place among the 128.
pub(crate) struct FileHandle {
    content: Content,
    _slot: Option<OpenSlot>,
}

impl FileHandle {
    /// A read-only handle over bytes in memory.
    pub(crate) fn memory(bytes: Arc<[u8]>, slot: Option<OpenSlot>) -> FileHandle {
        FileHandle {
            content: Content::Memory(io::Cursor::new(bytes)),
            _slot: slot,
        }
    }

    /// A handle that writes to a file of `disk` and counts what it adds.
    pub(crate) fn file(
        file: std::fs::File,
        disk: Arc<Disk>,
        append: bool,
        slot: OpenSlot,
    ) -> FileHandle {
        FileHandle {
            content: Content::File { file, disk, append },
            _slot: Some(slot),
        }
    }

    /// Reads up to `count` bytes; `None` at the end of the file.
    pub(crate) fn read(&mut self, count: usize) -> io::Result<Option<Vec<u8>>> {
        let rest = self.remaining()?;
        if rest == 0 && count > 0 {
            return Ok(None);
        }
        let mut bytes = vec![0; count.min(rest)];
        self.source().read_exact(&mut bytes)?;
        Ok(Some(bytes))
    }

    /// Reads up to and including the next line feed; `None` at the end of the file.
    pub(crate) fn read_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        let start = self.source().stream_position()?;
        let mut block = [0u8; 512];
        loop {
            let n = self.source().read(&mut block)?;
            if n == 0 {
                break;
            }
            if let Some(at) = block[..n].iter().position(|&b| b == b'\n') {
                line.extend_from_slice(&block[..=at]);
                break;
            }
            line.extend_from_slice(&block[..n]);
        }
        self.source()
            .seek(SeekFrom::Start(start + line.len() as u64))?;
        Ok(if line.is_empty() { None } else { Some(line) })
    }

    /// Reads all that is left; empty at the end of the file.
    pub(crate) fn read_all(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.source().read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Writes all bytes; `StorageFull` if the disk's capacity would be passed (nothing is written then).
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Content::File { file, disk, append } = &mut self.content else {
            return Err(io::Error::from(io::ErrorKind::PermissionDenied));
        };
        if *append {
            file.seek(SeekFrom::End(0))?;
        }
        let at = file.stream_position()?;
        let before = file.metadata()?.len();
        let after = before.max(at + bytes.len() as u64);
        disk.charge(before, after)?;
        crash_points::pass(Point::BeforeFileWrite);
        file.write_all(bytes)?;
        crash_points::pass(Point::AfterFileWrite);
        Ok(())
    }

    /// Moves the position; `None` if it would lie before the start.
    pub(crate) fn seek(&mut self, whence: &[u8], offset: i64) -> io::Result<Option<u64>> {
        let base = match whence {
            b"set" => 0,
            b"end" => {
                let here = self.source().stream_position()?;
                let end = self.source().seek(SeekFrom::End(0))?;
                self.source().seek(SeekFrom::Start(here))?;
                end as i64
            }
            _ => self.source().stream_position()? as i64,
        };
        match u64::try_from(base.saturating_add(offset)) {
            Ok(target) => self.source().seek(SeekFrom::Start(target)).map(Some),
            Err(_) => Ok(None),
        }
    }

    fn remaining(&mut self) -> io::Result<usize> {
        let here = self.source().stream_position()?;
        let end = self.source().seek(SeekFrom::End(0))?;
        self.source().seek(SeekFrom::Start(here))?;
        Ok(end.saturating_sub(here) as usize)
    }

    fn source(&mut self) -> &mut dyn ReadSeek {
        match &mut self.content {
            Content::Memory(cursor) => cursor,
            Content::File { file, .. } => file,
        }
    }
}

trait ReadSeek: Read + Seek {}
impl<T: Read + Seek> ReadSeek for T {}
