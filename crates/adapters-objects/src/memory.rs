//! Bytes in memory, for tests, and beside a store in memory.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use domain::file::{ObjectError, ObjectReader, ObjectStore, ObjectWriter, Shard, Span};
use domain::id::FileId;

use crate::PIECE;

type Objects = Arc<Mutex<BTreeMap<FileId, Arc<[u8]>>>>;

/// Bytes in memory; all are gone with the process.
#[derive(Clone, Default)]
pub struct MemoryObjects(Objects);

impl MemoryObjects {
    fn objects(&self) -> MutexGuard<'_, BTreeMap<FileId, Arc<[u8]>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for MemoryObjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MemoryObjects").field(&self.objects().len()).finish()
    }
}

#[async_trait]
impl ObjectStore for MemoryObjects {
    async fn create(&self, file: FileId) -> Result<Box<dyn ObjectWriter>, ObjectError> {
        Ok(Box::new(MemoryWriter { objects: self.clone(), file, bytes: Vec::new() }))
    }

    async fn open(&self, file: FileId, span: Span) -> Result<Box<dyn ObjectReader>, ObjectError> {
        let bytes = self.objects().get(&file).cloned().ok_or(ObjectError::Missing)?;
        let position = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
        let (start, end) = (position(span.start), position(span.start.saturating_add(span.length)));
        Ok(Box::new(MemoryReader { bytes, start, end }))
    }

    async fn remove(&self, file: FileId) -> Result<(), ObjectError> {
        self.objects().remove(&file);
        Ok(())
    }

    async fn list(&self, shard: Shard) -> Result<Vec<FileId>, ObjectError> {
        Ok(self.objects().keys().copied().filter(|file| Shard::of(*file) == shard).collect())
    }

    async fn begin(&self) -> Result<(), ObjectError> {
        Ok(())
    }
}

struct MemoryWriter {
    objects: MemoryObjects,
    file: FileId,
    bytes: Vec<u8>,
}

#[async_trait]
impl ObjectWriter for MemoryWriter {
    async fn write(&mut self, piece: &[u8]) -> Result<(), ObjectError> {
        self.bytes.extend_from_slice(piece);
        Ok(())
    }

    async fn finish(self: Box<Self>) -> Result<(), ObjectError> {
        self.objects.objects().insert(self.file, self.bytes.into());
        Ok(())
    }
}

struct MemoryReader {
    bytes: Arc<[u8]>,
    start: usize,
    end: usize,
}

#[async_trait]
impl ObjectReader for MemoryReader {
    async fn read(&mut self) -> Result<Option<Vec<u8>>, ObjectError> {
        let end = self.end.min(self.start + PIECE);
        let piece = self.bytes[self.start..end].to_vec();
        self.start = end;
        Ok(Some(piece).filter(|piece| !piece.is_empty()))
    }
}
