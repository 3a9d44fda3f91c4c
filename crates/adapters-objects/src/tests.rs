//! The contract of stores of bytes, on each of them, and what is special to the directory.

use std::fs;
use std::path::Path;

use domain::file::{ObjectError, ObjectStore, Shard, Span};
use domain::id::FileId;
use tempfile::TempDir;
use uuid::Uuid;

use crate::{Directory, MemoryObjects, PIECE, Sharing};

fn id(number: u128) -> FileId {
    FileId::new(Uuid::from_u128(number))
}

pub(crate) async fn store(objects: &dyn ObjectStore, file: FileId, bytes: &[u8]) {
    let mut writer = objects.create(file).await.unwrap();
    for piece in bytes.chunks(1000) {
        writer.write(piece).await.unwrap();
    }
    writer.finish().await.unwrap();
}

pub(crate) async fn read(
    objects: &dyn ObjectStore,
    file: FileId,
    span: Span,
) -> Result<Vec<u8>, ObjectError> {
    let mut reader = objects.open(file, span).await?;
    let mut bytes = Vec::new();
    while let Some(piece) = reader.read().await? {
        assert!(!piece.is_empty() && piece.len() <= PIECE);
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

pub(crate) async fn keeps_its_contract(objects: &dyn ObjectStore) {
    objects.begin().await.unwrap();
    let bytes = (0..300_000_u32).map(|number| u8::try_from(number % 251).unwrap()).collect::<Vec<_>>();
    let (first, second, empty) = (id(0x0107), id(0x0207), id(0x0308));
    store(objects, first, &bytes).await;
    store(objects, second, b"second").await;
    store(objects, empty, b"").await;
    assert!(read(objects, first, Span::whole(300_000)).await.unwrap() == bytes);
    let part = read(objects, first, Span { start: 70_000, length: 66_000 }).await.unwrap();
    assert!(part == bytes[70_000..136_000]);
    assert_eq!(read(objects, second, Span { start: 5, length: 1 }).await.unwrap(), b"d");
    assert_eq!(read(objects, empty, Span::whole(0)).await.unwrap(), b"");

    let mut listed = objects.list(Shard(7)).await.unwrap();
    listed.sort_unstable();
    assert_eq!(listed, [first, second]);
    assert_eq!(
        (objects.list(Shard(8)).await.unwrap(), objects.list(Shard(9)).await.unwrap()),
        (vec![empty], vec![])
    );

    let mut begun = objects.create(id(0x0407)).await.unwrap();
    begun.write(&bytes).await.unwrap();
    assert!(matches!(objects.open(id(0x0407), Span::whole(1)).await.err(), Some(ObjectError::Missing)));
    drop(begun);
    objects.remove(first).await.unwrap();
    objects.remove(first).await.unwrap();
    assert!(matches!(objects.open(first, Span::whole(1)).await.err(), Some(ObjectError::Missing)));
    assert_eq!(objects.list(Shard(7)).await.unwrap(), [second]);
}

fn incoming(path: &Path) -> usize {
    fs::read_dir(path.join("incoming")).unwrap().count()
}

#[tokio::test]
async fn bytes_in_memory_keep_the_contract() {
    keeps_its_contract(&MemoryObjects::default()).await;
}

#[tokio::test]
async fn bytes_in_a_directory_keep_the_contract() {
    let place = TempDir::new().unwrap();
    let path = place.path().join("not/there/yet");
    keeps_its_contract(&Directory::new(path.clone(), Sharing::Alone)).await;
    assert_eq!(incoming(&path), 0, "a dropped writer leaves nothing behind");
}

/// As after the end of the process: nothing is dropped.
#[tokio::test]
async fn what_an_earlier_run_has_left_is_removed_at_the_start() {
    for (sharing, left) in [(Sharing::Alone, 0), (Sharing::Shared, 1)] {
        let place = TempDir::new().unwrap();
        let directory = Directory::new(place.path().to_owned(), sharing);
        let mut writer = directory.create(id(1)).await.unwrap();
        writer.write(&vec![7; 200_000]).await.unwrap();
        std::mem::forget(writer);
        assert_eq!(incoming(place.path()), 1);
        directory.begin().await.unwrap();
        assert_eq!(incoming(place.path()), left, "another server may be writing it: {sharing:?}");
        let path = place.path().join("incoming").join(id(1).to_string());
        if let Ok(file) = fs::File::options().write(true).open(path) {
            file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        }
        directory.begin().await.unwrap();
        assert_eq!(incoming(place.path()), 0);
    }
}

/// Truncated by hand, for example.
#[tokio::test]
async fn a_file_that_is_too_short_is_a_failure() {
    let place = TempDir::new().unwrap();
    let directory = Directory::new(place.path().to_owned(), Sharing::Alone);
    store(&directory, id(1), b"five!").await;
    let read = read(&directory, id(1), Span::whole(6)).await;
    assert!(matches!(read, Err(ObjectError::Unavailable(_))), "{read:?}");
}

#[tokio::test]
async fn a_directory_that_cannot_be_written_is_unavailable() {
    let place = TempDir::new().unwrap();
    let path = place.path().join("file");
    fs::write(&path, "no directory").unwrap();
    let directory = Directory::new(path, Sharing::Alone);
    assert!(matches!(directory.begin().await, Err(ObjectError::Unavailable(_))));
    assert!(matches!(directory.create(id(1)).await.err(), Some(ObjectError::Unavailable(_))));
}
