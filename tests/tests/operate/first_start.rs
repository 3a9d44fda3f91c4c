//! The first start: it prints a key and the next steps.

use std::os::unix::fs::PermissionsExt;

use e2e::{Api, Server, free_port, isolated, program, until_or};
use tempfile::TempDir;

use crate::{keys_in, one_line, printed_keys, run};

/// At most ten lines, with the key, the next command, and the page with the API; the framework adds none.
#[tokio::test]
async fn the_first_start_says_what_to_do_next() {
    let server = Server::start_with(&[("PARLANCE_LOG", "info")]).await;
    let printed = server.printed();
    let on_screen = format!("{printed}{}", server.logged());
    // The tests' own PostgreSQL does not flush, which the server reports.
    let lines = on_screen.lines().filter(|line| !line.contains("setting=\"fsync\""));
    assert!(lines.count() <= 10, "{on_screen}");
    // The program is called by its path, and need not be on the PATH.
    let next =
        format!("{} agent create --owner admin --name Helper --description \"Helps\"\n", program().display());
    for part in ["thnv_u_", &next, "/api/v1/docs/"] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    assert!(!server.logged().contains("actix"), "{}", server.logged());
}

/// The suggested command works on the store that the flags named.
#[tokio::test]
async fn the_first_start_repeats_the_flags_of_the_store() {
    let directory = TempDir::new().unwrap();
    let (data, error) = (directory.path().join("my data"), directory.path().join("error"));
    let (key, listen) = (directory.path().join("key"), format!("127.0.0.1:{}", free_port()));
    let mut command = isolated(program());
    command.current_dir(directory.path()).args(["--listen", &listen, "--data-dir"]).arg(&data);
    command
        .args(["--first-key-file"])
        .arg(&key)
        .stdout(std::fs::File::create(directory.path().join("out")).unwrap());
    let mut server = command.stderr(std::fs::File::create(&error).unwrap()).spawn().unwrap();
    let printed = || std::fs::read_to_string(directory.path().join("out")).unwrap();
    let said = || std::fs::read_to_string(&error).unwrap();
    until_or(said, async || printed().contains("Next:")).await;
    server.kill().unwrap();
    server.wait().unwrap();
    let printed = printed();
    let next = printed.lines().find_map(|line| line.strip_prefix("Next:")).unwrap();
    assert!(next.ends_with(&format!(" --data-dir '{}'", data.display())), "{printed}");
    let created = isolated("sh").args(["-c", next]).output().unwrap();
    assert!(String::from_utf8_lossy(&created.stdout).contains("'admin/helper'"), "{created:?}");
}

/// With `first_key_file`, the key goes to a file that only its owner can read.
#[tokio::test]
async fn the_first_key_goes_to_a_file_if_one_is_named() {
    let place = TempDir::new().unwrap();
    let keys = place.path().join("keys");
    std::fs::create_dir(&keys).unwrap();
    let file = keys.join("first-key");
    let mut server = Server::start_alone(&[("PARLANCE_FIRST_KEY_FILE", file.to_str().unwrap())]).await;
    assert_eq!(printed_keys(&server), Vec::<String>::new());
    assert!(server.printed().contains(file.to_str().unwrap()), "{}", server.printed());
    let key = std::fs::read_to_string(&file).unwrap();
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(Api::new(&server, "me", key.trim(), "").get("/agents").await.status, 200);
    assert_eq!(std::fs::read_dir(&keys).unwrap().count(), 1, "no draft is left");
    std::fs::remove_dir_all(&keys).unwrap();
    server.terminate().await;
    // A later start needs no file.
    server.run().await;
    assert!(!keys.exists());

    // A key that cannot be written down is not made: the next start makes it.
    let nowhere = place.path().join("missing/first-key");
    let data = place.path().join("data");
    let settings = [("PARLANCE_DATA_DIR", data.to_str().unwrap()), ("PARLANCE_LISTEN", "127.0.0.1:0")];
    let wrong = [&settings[..], &[("PARLANCE_FIRST_KEY_FILE", nowhere.to_str().unwrap())]].concat();
    assert!(one_line(&run(&[], &wrong, place.path())).contains("first_key_file"));
    let listed = run(&["user", "list", "--json"], &settings, place.path());
    assert_eq!(String::from_utf8(listed.stdout).unwrap(), "{\"users\":[]}\n");
}

#[tokio::test]
async fn the_first_start_prints_a_key_once() {
    let mut server = Server::start().await;
    let keys = printed_keys(&server);
    assert!(!keys.is_empty());
    assert!(keys.iter().all(|key| *key == keys[0]), "one key, however often it stands in the text");
    assert_eq!(server.printed().matches("not shown again").count(), 1);
    let admin = Api::new(&server, "me", &keys[0], "");
    assert_eq!(admin.get("/agents").await.status, 200);
    server.terminate().await;
    server.run().await;
    assert_eq!(printed_keys(&server), keys, "the second start prints none");
    assert_eq!(keys_in(&server.logged()), Vec::<String>::new(), "a log holds no key");
    assert_eq!(admin.get("/agents").await.status, 200);
    let ready = reqwest::get(format!("http://{}/ready", server.address())).await.unwrap();
    assert_eq!(ready.status(), 200);
}
