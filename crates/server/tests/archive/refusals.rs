//! Refusals: incomplete archives, and stores that are not empty or in use.

use std::io::Write;
use std::process::Stdio;

use crate::{Files, parlance, printed, refused, run};

#[tokio::test]
async fn what_is_no_whole_archive_is_refused_before_the_store_is_touched() {
    let files = Files::new();
    files.fixture("first.db", "first").await;
    let whole = std::fs::read_to_string(files.file("first")).unwrap();
    let lines = whole.split_inclusive('\n').collect::<Vec<_>>();
    let (last, others) = lines.split_last().unwrap();
    let without_one = [&others[..others.len() - 1], &[*last]].concat().concat();
    for (broken, expected) in [
        (String::new(), "not an archive"),
        ("{}\n".to_owned(), "not an archive"),
        (lines[0].to_owned(), "is truncated"),
        (others.concat(), "is truncated"),
        (whole[..whole.len() - 1].to_owned(), "is truncated"),
        (whole[..whole.len() / 2].to_owned(), "is truncated"),
        (whole.replacen("ann@example.org", "eve@example.org", 1), "damaged"),
        (without_one, "damaged"),
        (format!("{whole}\n"), "data after the end"),
        (whole.replacen("\"program\":\"", "\"program\":\"9", 1), "first line"),
        (whole.replacen("\"format\":1,", "\"format\":2,", 1), "newer"),
        (whole.replacen("\"handle\"", "\"handel\"", 1), "handel"),
    ] {
        std::fs::write(files.file("broken"), &broken).unwrap();
        let output = run(&files.url("new.db"), &["import", "--from", &files.path("broken")]);
        let why = refused(&output);
        assert!(why.contains(expected), "{expected}: {why}");
        assert!(!files.file("new.db").exists(), "{expected}");
        // From a pipe it is known later, and said as well.
        let mut piped = parlance(&files.url("piped.db"), &["import"]);
        let mut piped =
            piped.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // It may have heard enough before all is said.
        let _ = piped.stdin.take().unwrap().write_all(broken.as_bytes());
        assert!(refused(&piped.wait_with_output().unwrap()).contains(expected), "{expected}");
        assert!(
            expected != "not an archive" || !files.file("piped.db").exists(),
            "an empty store would be served"
        );
        for name in ["piped.db", "piped.db-wal", "piped.db-shm"] {
            let _ = std::fs::remove_file(files.file(name));
        }
    }
    let output = run(&files.url("new.db"), &["import", "--from", &files.path("nothing")]);
    assert!(refused(&output).contains("nothing"));
    assert!(refused(&run(&files.url("no.db"), &["export"])).contains("no store at"));
    // The first start of a server that was killed has left it.
    std::fs::write(files.file("empty.db"), "").unwrap();
    assert!(refused(&run(&files.url("empty.db"), &["status"])).contains("no store at"));
    assert_eq!(std::fs::metadata(files.file("empty.db")).unwrap().len(), 0);
    assert!(refused(&run("sqlite::memory:", &["export"])).contains("memory"));
}

#[tokio::test]
async fn only_an_empty_store_without_a_server_is_filled() {
    let files = Files::new();
    files.fixture("first.db", "first").await;
    let arguments = ["import", "--from", &files.path("first")];
    let full = refused(&run(&files.url("first.db"), &arguments));
    assert!(full.contains("not empty") && full.contains("--resume"), "{full}");
    let lock = std::fs::File::create(files.file("second.db.lock")).unwrap();
    lock.lock().unwrap();
    let served = refused(&run(&files.url("second.db"), &arguments));
    assert!(served.contains("already runs"), "{served}");
    drop(lock);
    // A store with its schema only is an empty one.
    printed(run(&files.url("second.db"), &["migrate"]));
    files.import(&files.url("second.db"), "first");
    // Beside an archive on a medium that is only read, no position can be kept.
    std::fs::create_dir(files.file("first.position")).unwrap();
    files.import(&files.url("third.db"), "first");
}
