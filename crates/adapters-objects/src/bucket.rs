//! Bytes in a bucket of an S3-compatible service: `<prefix>/<last byte of the id>/<id>`.
//!
//! A small file is stored by one request, a large one by a multipart upload. Parts are invisible until the upload is
//! complete, so an object that is found is always whole. An abandoned upload is aborted; if the process is killed, its
//! parts remain until a lifecycle rule of the bucket removes them.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use domain::file::{ObjectError, ObjectReader, ObjectStore, ObjectWriter, Shard, Span};
use domain::id::FileId;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::path::Path;
use object_store::{
    ClientOptions, Error, GetOptions, GetRange, MultipartUpload, ObjectStoreExt as _, PutPayloadMut,
    RetryConfig,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

use crate::{BucketName, PIECE};

/// The smallest part of a multipart upload but the last, in bytes.
/// Source: <https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html>
const MIN_PART_BYTES: u64 = 5 * 1024 * 1024;

/// The maximum number of parts; same source.
const MAX_PARTS: u64 = 10_000;

/// The number of writers that hold a part at a time. Others keep at most [`MAX_BYTES_WITHOUT_PERMIT`] bytes, and wait.
const MAX_BUFFERED_PARTS: usize = 32;

/// The bytes that a writer may hold without a permit: small files need none.
const MAX_BYTES_WITHOUT_PERMIT: usize = 256 * 1024;

/// The time that a request of at most one part may take, with its retries, and the pause between pieces that are read.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// The maximum number of retries of a failed request, and the maximum time for all of them.
const MAX_RETRIES: usize = 4;
const RETRY_TIMEOUT: Duration = Duration::from_secs(20);

/// A bucket for the bytes of files.
#[derive(Clone, Debug)]
pub struct Bucket {
    service: Arc<dyn object_store::ObjectStore>,
    prefix: Path,
    /// The size of the parts of large files, in bytes.
    part: usize,
    /// Permits of writers that hold a part.
    parts: Arc<Semaphore>,
}

impl Bucket {
    /// A bucket for files of at most `largest` bytes. Endpoint, region, and credentials come from `variables`, which have
    /// the names that AWS's own tools use: `AWS_ENDPOINT_URL`, `AWS_REGION`, `AWS_ACCESS_KEY_ID`, and so on.
    ///
    /// # Errors
    ///
    /// If a variable is invalid.
    pub fn new(
        at: &BucketName,
        largest: u64,
        variables: impl Iterator<Item = (String, String)>,
    ) -> Result<Self, ObjectError> {
        // A download may take as long as its client needs.
        let client = ClientOptions::new().with_timeout_disabled();
        let retry =
            RetryConfig { max_retries: MAX_RETRIES, retry_timeout: RETRY_TIMEOUT, ..RetryConfig::default() };
        let mut builder = AmazonS3Builder::new().with_client_options(client).with_retry(retry);
        for (name, value) in variables.filter(|(name, _)| name.starts_with("AWS_")) {
            if let Ok(key) = name.to_ascii_lowercase().parse::<AmazonS3ConfigKey>() {
                builder = builder.with_config(key, value);
            }
        }
        let service = builder.with_bucket_name(at.name()).build().map_err(ObjectError::unavailable)?;
        Ok(Self::of(Arc::new(service), Path::from(at.prefix()), largest))
    }

    fn of(service: Arc<dyn object_store::ObjectStore>, prefix: Path, largest: u64) -> Self {
        let part = largest.div_ceil(MAX_PARTS).max(MIN_PART_BYTES);
        let part = usize::try_from(part).unwrap_or(usize::MAX);
        Self { service, prefix, part, parts: Arc::new(Semaphore::new(MAX_BUFFERED_PARTS)) }
    }

    fn shard(&self, shard: Shard) -> Path {
        self.prefix.clone().join(shard.to_string())
    }

    fn place(&self, file: FileId) -> Path {
        self.shard(Shard::of(file)).join(file.to_string())
    }
}

/// Waits for the service, but not for ever.
async fn answer<T>(request: impl Future<Output = Result<T, Error>> + Send) -> Result<T, ObjectError> {
    let answered = timeout(REQUEST_TIMEOUT, request).await;
    let answered = answered.map_err(|_| ObjectError::unavailable("the bucket did not answer in time"))?;
    answered.map_err(|error| match error {
        Error::NotFound { .. } => ObjectError::Missing,
        error => ObjectError::unavailable(error),
    })
}

#[async_trait]
impl ObjectStore for Bucket {
    async fn create(&self, file: FileId) -> Result<Box<dyn ObjectWriter>, ObjectError> {
        Ok(Box::new(Writer {
            bucket: self.clone(),
            place: self.place(file),
            upload: None,
            payload: Some(payload()),
            permit: None,
        }))
    }

    async fn open(&self, file: FileId, span: Span) -> Result<Box<dyn ObjectReader>, ObjectError> {
        let place = self.place(file);
        if span.length == 0 {
            answer(self.service.head(&place)).await?;
            return Ok(Box::new(Reader {
                stream: futures_util::stream::empty().boxed(),
                piece: Bytes::new(),
                left: 0,
            }));
        }
        let range = span.start..span.start + span.length;
        let options = GetOptions { range: Some(GetRange::Bounded(range)), ..GetOptions::default() };
        let got = answer(self.service.get_opts(&place, options)).await?;
        Ok(Box::new(Reader { stream: got.into_stream(), piece: Bytes::new(), left: span.length }))
    }

    async fn remove(&self, file: FileId) -> Result<(), ObjectError> {
        match answer(self.service.delete(&self.place(file))).await {
            Err(ObjectError::Missing) => Ok(()),
            removed => removed,
        }
    }

    async fn list(&self, shard: Shard) -> Result<Vec<FileId>, ObjectError> {
        let mut listed = self.service.list(Some(&self.shard(shard)));
        let mut ids = Vec::new();
        while let Some(object) = answer(async { listed.next().await.transpose() }).await? {
            ids.extend(object.location.filename().and_then(FileId::parse));
        }
        Ok(ids)
    }

    /// Sends one request, so that a wrong name or key is reported when the server starts.
    async fn begin(&self) -> Result<(), ObjectError> {
        let mut listed = self.service.list(Some(&self.shard(Shard(0))));
        answer(async { listed.next().await.transpose() }).await.map(drop)
    }
}

/// An empty payload, which grows with what is written.
fn payload() -> PutPayloadMut {
    PutPayloadMut::new().with_block_size(PIECE)
}

struct Writer {
    bucket: Bucket,
    place: Path,
    /// Set once a part was sent.
    upload: Option<Box<dyn MultipartUpload>>,
    /// What was not sent yet; `None` after a failure.
    payload: Option<PutPayloadMut>,
    /// Set while it holds more than [`MAX_BYTES_WITHOUT_PERMIT`] bytes, with the time since.
    permit: Option<(OwnedSemaphorePermit, Instant)>,
}

impl Writer {
    /// What was not sent yet. If sending fails, it is lost, and the writer fails from then on.
    fn unsent(&mut self) -> Result<PutPayloadMut, ObjectError> {
        self.payload.take().ok_or_else(|| ObjectError::unavailable("an earlier write failed"))
    }

    /// Waits until the writer may hold a part. A writer that fills one slowly gives way to others.
    async fn wait_for_permit(&mut self) -> Result<(), ObjectError> {
        let is_scarce = self.bucket.parts.available_permits() == 0;
        if is_scarce && self.permit.as_ref().is_some_and(|(_, since)| since.elapsed() > REQUEST_TIMEOUT) {
            return Err(ObjectError::unavailable("the upload was too slow while other uploads were waiting"));
        }
        let held = self.payload.as_ref().map_or(0, PutPayloadMut::content_length);
        if self.permit.is_none() && held >= MAX_BYTES_WITHOUT_PERMIT {
            let permit = timeout(2 * REQUEST_TIMEOUT, self.bucket.parts.clone().acquire_owned()).await;
            let permit =
                permit.map_err(|_| ObjectError::unavailable("too many large files are being uploaded"))?;
            self.permit = Some((permit.map_err(ObjectError::unavailable)?, Instant::now()));
        }
        Ok(())
    }

    /// Sends a part.
    async fn send(&mut self) -> Result<(), ObjectError> {
        let part = self.unsent()?.freeze();
        let upload = match &mut self.upload {
            Some(upload) => upload,
            none => none.insert(answer(self.bucket.service.put_multipart(&self.place)).await?),
        };
        answer(upload.put_part(part)).await?;
        self.payload = Some(payload());
        self.permit = None;
        Ok(())
    }
}

#[async_trait]
impl ObjectWriter for Writer {
    async fn write(&mut self, mut piece: &[u8]) -> Result<(), ObjectError> {
        while !piece.is_empty() {
            self.wait_for_permit().await?;
            let mut unsent = self.unsent()?;
            let (now, later) = piece.split_at(piece.len().min(self.bucket.part - unsent.content_length()));
            unsent.extend_from_slice(now);
            piece = later;
            let is_full = unsent.content_length() == self.bucket.part;
            self.payload = Some(unsent);
            if is_full {
                self.send().await?;
            }
        }
        Ok(())
    }

    async fn finish(mut self: Box<Self>) -> Result<(), ObjectError> {
        let unsent = self.unsent()?;
        if self.upload.is_none() {
            return answer(self.bucket.service.put(&self.place, unsent.freeze())).await.map(drop);
        }
        if !unsent.is_empty() {
            self.payload = Some(unsent);
            self.send().await?;
        }
        if let Some(upload) = &mut self.upload {
            answer(upload.complete()).await?;
        }
        self.upload = None;
        Ok(())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let running = tokio::runtime::Handle::try_current();
        if let (Some(mut upload), Ok(running)) = (self.upload.take(), running) {
            running.spawn(async move { answer(upload.abort()).await });
        }
    }
}

struct Reader {
    stream: BoxStream<'static, Result<Bytes, Error>>,
    /// What has come and was not returned yet.
    piece: Bytes,
    left: u64,
}

#[async_trait]
impl ObjectReader for Reader {
    async fn read(&mut self) -> Result<Option<Vec<u8>>, ObjectError> {
        if self.left == 0 {
            return Ok(None);
        }
        while self.piece.is_empty() {
            let next = answer(async { self.stream.next().await.transpose() }).await?;
            self.piece =
                next.ok_or_else(|| ObjectError::unavailable("the object is shorter than expected"))?;
        }
        let wanted = usize::try_from(self.left).unwrap_or(PIECE).min(PIECE).min(self.piece.len());
        let piece = self.piece.split_to(wanted);
        self.left -= wanted as u64;
        Ok(Some(piece.to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use object_store::memory::InMemory;
    use uuid::Uuid;

    use super::*;
    use crate::tests::{keeps_its_contract, read, store};

    fn id(number: u128) -> FileId {
        FileId::new(Uuid::from_u128(number))
    }

    #[tokio::test]
    async fn bytes_in_a_bucket_keep_the_contract() {
        for prefix in ["", "a/prefix"] {
            let service = Arc::new(InMemory::new());
            keeps_its_contract(&Bucket::of(service, Path::from(prefix), 1)).await;
        }
    }

    /// Of two parts and a rest, of parts alone, and of less than a part.
    #[tokio::test]
    async fn large_files_are_stored_in_parts() {
        let service = Arc::new(InMemory::new());
        let bucket = Bucket { part: 1_000, ..Bucket::of(service, Path::default(), 1) };
        for (number, length) in [(1, 2_500), (2, 2_000), (3, 999)] {
            let bytes = (0..length).map(|at: u32| at.to_le_bytes()[0]).collect::<Vec<_>>();
            store(&bucket, id(number), &bytes).await;
            assert!(read(&bucket, id(number), Span::whole(u64::from(length))).await.unwrap() == bytes);
            let short = read(&bucket, id(number), Span::whole(u64::from(length) + 1)).await;
            assert!(matches!(short, Err(ObjectError::Unavailable(_))), "{short:?}");
        }
    }

    /// Others wait, and go on when one has ended.
    #[tokio::test(start_paused = true)]
    async fn a_few_writers_hold_parts_at_a_time() {
        let bucket = Bucket::of(Arc::new(InMemory::new()), Path::default(), 1);
        let large = vec![7; MAX_BYTES_WITHOUT_PERMIT];
        let mut writers = Vec::new();
        for number in 0..=MAX_BUFFERED_PARTS as u128 {
            let mut writer = bucket.create(id(number)).await.unwrap();
            writer.write(&large).await.unwrap();
            writers.push(writer);
        }
        let mut last = writers.pop().unwrap();
        for writer in &mut writers {
            writer.write(b"more").await.unwrap();
        }
        assert!(matches!(last.write(b"more").await, Err(ObjectError::Unavailable(_))));
        let slow = writers.last_mut().unwrap().write(b"slow").await;
        assert!(matches!(slow, Err(ObjectError::Unavailable(_))), "it has made others wait: {slow:?}");
        let mut next = bucket.create(id(99)).await.unwrap();
        next.write(&large).await.unwrap();
        drop(writers.pop());
        next.write(b"more").await.unwrap();
        next.finish().await.unwrap();
    }

    /// The limits of the service: parts of at least 5 MiB, and at most 10,000 of them.
    #[test]
    fn parts_suffice_for_the_largest_file() {
        let part = |largest| Bucket::of(Arc::new(InMemory::new()), Path::default(), largest).part as u64;
        assert_eq!(part(1), MIN_PART_BYTES);
        assert_eq!(part(MIN_PART_BYTES * MAX_PARTS), MIN_PART_BYTES);
        let largest = MIN_PART_BYTES * MAX_PARTS * 7 + 1;
        assert!(part(largest) * MAX_PARTS >= largest);
    }

    /// The clock of the test goes forward while everything waits.
    #[tokio::test(start_paused = true)]
    async fn a_service_that_does_not_answer_is_unavailable() {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", silent.local_addr().unwrap());
        let variables = [
            ("AWS_ENDPOINT_URL", endpoint.as_str()),
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_ACCESS_KEY_ID", "id"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let at = BucketName::parse("s3://files").unwrap();
        let bucket = Bucket::new(&at, 1, variables.into_iter()).unwrap();
        assert!(matches!(bucket.begin().await, Err(ObjectError::Unavailable(_))));
        assert!(matches!(bucket.list(Shard(1)).await, Err(ObjectError::Unavailable(_))));
        assert!(matches!(bucket.remove(id(1)).await, Err(ObjectError::Unavailable(_))));
        let mut writer = bucket.create(id(1)).await.unwrap();
        writer.write(b"bytes").await.unwrap();
        assert!(matches!(writer.finish().await, Err(ObjectError::Unavailable(_))));
        assert!(matches!(bucket.open(id(1), Span::whole(1)).await.err(), Some(ObjectError::Unavailable(_))));
    }
}
