//! The content of a path before and after a file was written there.

use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::process::Command;
use std::thread;

use tempfile::TempDir;

use super::*;

fn directory() -> (TempDir, impl Fn(&str) -> PathBuf) {
    let directory = TempDir::new().unwrap();
    let root = directory.path().to_owned();
    (directory, move |name: &str| root.join(name))
}

fn names(directory: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(directory.path()).unwrap();
    let mut names =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect::<Vec<_>>();
    names.sort();
    names
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut draft = Draft::of(path)?;
    draft.write_all(text.as_bytes())?;
    draft.finish()
}

#[test]
fn a_file_is_replaced_when_the_new_one_is_whole() {
    let (directory, at) = directory();
    fs::write(at("file"), "old").unwrap();
    let mut draft = Draft::of(&at("file")).unwrap();
    draft.write_all(b"new").unwrap();
    draft.sync().unwrap();
    assert_eq!(fs::read(at("file")).unwrap(), b"old");
    assert_eq!(fs::read(draft.path().unwrap()).unwrap(), b"new", "a crash leaves the draft");
    drop(draft);
    assert_eq!(
        (names(&directory), fs::read(at("file")).unwrap()),
        (vec!["file".to_owned()], b"old".to_vec())
    );
    Draft::of(&at("file")).unwrap().leave();
    assert_eq!(names(&directory), ["file", "file.part"]);
    write(&at("file"), "new").unwrap();
    assert_eq!(
        (names(&directory), fs::read(at("file")).unwrap()),
        (vec!["file".to_owned()], b"new".to_vec())
    );
    assert_eq!(fs::metadata(at("file")).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_draft_that_cannot_be_renamed_can_stay() {
    let (directory, at) = directory();
    for stays in [false, true] {
        let mut draft = Draft::of(&at("file")).unwrap();
        draft.write_all(b"key").unwrap();
        draft.sync().unwrap();
        fs::create_dir(at("file")).unwrap();
        if stays {
            let (cause, kept_at) = draft.finish_or_leave().unwrap_err();
            assert_eq!((cause.kind(), kept_at), (ErrorKind::IsADirectory, Some(at("file.part"))));
            assert_eq!(fs::read(at("file.part")).unwrap(), b"key");
        } else {
            assert_eq!(draft.finish().unwrap_err().kind(), ErrorKind::IsADirectory);
            assert_eq!(names(&directory), ["file"]);
        }
        fs::remove_dir(at("file")).unwrap();
    }
}

#[test]
fn what_is_no_file_is_written_to_and_stays() {
    let (directory, at) = directory();
    assert!(Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
    let pipe = at("pipe");
    let reader = thread::spawn(move || fs::read_to_string(pipe).unwrap());
    write(&at("pipe"), "through").unwrap();
    assert_eq!(reader.join().unwrap(), "through");
    assert!(fs::symlink_metadata(at("pipe")).unwrap().file_type().is_fifo());

    symlink("/dev/full", at("device")).unwrap();
    let fault = write(&at("device"), "nowhere").unwrap_err();
    assert_eq!(fault.kind(), ErrorKind::StorageFull);
    assert!(fs::metadata("/dev/full").unwrap().file_type().is_char_device());

    fs::create_dir(at("directory")).unwrap();
    let fault = write(&at("directory"), "nowhere").unwrap_err();
    assert_eq!(fault.kind(), ErrorKind::IsADirectory);
    assert_eq!(names(&directory), ["device", "directory", "pipe"]);
}

#[test]
fn a_device_takes_everything_and_stays() {
    let (_directory, at) = directory();
    // A link to it, in a directory where a file that replaces one does no harm.
    symlink("/dev/null", at("device")).unwrap();
    write(&at("device"), "nothing").unwrap();
    assert!(fs::metadata(at("device")).unwrap().file_type().is_char_device());
}

#[test]
fn a_link_stays_and_what_it_means_is_replaced() {
    let (directory, at) = directory();
    fs::create_dir(at("far")).unwrap();
    fs::write(at("far/file"), "old").unwrap();
    for (link, to) in
        [("link", "far/file"), ("again", "link"), ("dangling", "far/new"), ("twice", "dangling")]
    {
        symlink(to, at(link)).unwrap();
        write(&at(link), link).unwrap();
        assert_eq!(fs::read_link(at(link)).unwrap(), Path::new(to));
        assert_eq!(fs::read_to_string(at(link)).unwrap(), link);
        assert!(fs::symlink_metadata(at("far/file")).unwrap().is_file());
    }
    assert!(fs::symlink_metadata(at("far/new")).unwrap().is_file());
    symlink("round", at("round")).unwrap();
    assert!(write(&at("round"), "").is_err());
    assert_eq!(names(&directory), ["again", "dangling", "far", "link", "round", "twice"]);
}

#[test]
fn two_do_not_write_one_file_at_once() {
    let (directory, at) = directory();
    let mut first = Draft::of(&at("file")).unwrap();
    symlink("file", at("link")).unwrap();
    for name in ["file", "link"] {
        let second = Draft::of(&at(name)).map(|_| ()).unwrap_err();
        assert_eq!(second.kind(), ErrorKind::ResourceBusy);
    }
    first.write_all(b"first").unwrap();
    first.finish().unwrap();
    assert_eq!(fs::read(at("file")).unwrap(), b"first");
    write(&at("file"), "second").unwrap();
    assert_eq!(names(&directory), ["file", "link"]);
}

#[test]
fn of_many_at_once_every_file_is_whole() {
    let (directory, at) = directory();
    let path = at("file");
    let writers = (0..8).map(|number| {
        let path = path.clone();
        let text = number.to_string().repeat(1000);
        let try_often = move || (0..200).filter(|_| write(&path, &text).is_ok()).count();
        thread::spawn(try_often)
    });
    let writers = writers.collect::<Vec<_>>();
    let written = writers.into_iter().map(|writer| writer.join().unwrap()).sum::<usize>();
    let text = fs::read_to_string(path).unwrap();
    assert!(written > 0 && text.len() == 1000 && text.chars().all(|one| text.starts_with(one)), "{text}");
    assert_eq!(names(&directory), ["file"]);
}

#[test]
fn what_a_killed_process_left_is_taken_over() {
    let (directory, at) = directory();
    fs::write(at("file.part"), "much more than the next one writes").unwrap();
    fs::set_permissions(at("file.part"), PermissionsExt::from_mode(0o644)).unwrap();
    write(&at("file"), "whole").unwrap();
    assert_eq!(fs::read(at("file")).unwrap(), b"whole");
    assert_eq!(fs::metadata(at("file")).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(names(&directory), ["file"]);

    // A file that is no draft is not removed.
    symlink("elsewhere", at("file.part")).unwrap();
    assert!(write(&at("file"), "again").unwrap_err().to_string().contains("not a regular file"));
    assert_eq!(names(&directory), ["file", "file.part"]);
}
