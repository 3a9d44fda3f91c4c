//! Several processes on one file: commands and other readers beside a running server.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::account::{
    InitialOrganization, KeyDigest, KeyScope, NewKey, NewUser, PersonName, User, UserHandle, UserRole,
};
use domain::id::{ApiKeyId, OrganizationId, UserId};
use domain::organization::OrganizationRole;
use domain::plan::PlanName;
use domain::time::Timestamp;
use testkit::{NOON, Stores};
use uuid::Uuid;

/// Where the other process finds the store.
const STORE: &str = "PARLANCE_TEST_STORE";

fn store_at(file: &Path) -> Stores {
    Stores::in_file(file)
}

/// Starts one of the roles below as a process of its own.
fn other_process(role: &str, file: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--ignored", role])
        .env(STORE, file)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits for it; a role that was not found by its name has not been played.
fn expect_success(process: Child) {
    let done = process.wait_with_output().unwrap();
    let printed = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && printed.contains("1 passed"), "{printed}");
}

fn given_store() -> std::path::PathBuf {
    std::env::var_os(STORE).expect("only another test of this file starts this").into()
}

/// Opens and closes the store like any program that knows SQLite.
#[test]
#[ignore = "a role, started as a process by other tests"]
fn look_in() {
    let mut connection = SqliteConnection::establish(given_store().to_str().unwrap()).unwrap();
    connection.batch_execute("SELECT count(*) FROM users").unwrap();
}

/// Opens a store, as the only one of its process, and looks for the lock that tells others so.
///
/// The last one to close a store empties and deletes the write-ahead log. Whether it is the last
/// it learns from that lock alone, if its SQLite is older than the bundled one (which looks at
/// more, and so cannot show that the lock is missing).
#[tokio::test]
#[ignore = "a role, started as a process by other tests"]
async fn keep_the_lock() {
    let file = given_store();
    let stores = store_at(&file);
    make_user(&stores, 0).await;
    assert_eq!(shared_locks(), 1, "the open store is not locked");
    (store_at(&file).close)();
    assert_eq!(shared_locks(), 1, "opening and closing it once more gave the lock up");
    (stores.close)();
    assert_eq!(shared_locks(), 0, "the closed store is still locked");
}

/// How many databases this process holds SQLite's shared lock of: a range of bytes at a place that
/// belongs to the file format.
fn shared_locks() -> usize {
    const SHARED_FIRST: &str = "1073741826";
    let process = std::process::id().to_string();
    let locks = std::fs::read_to_string("/proc/locks").expect("this test reads Linux's list of locks");
    // A list that changes while it is read may name a lock twice, so files are counted.
    let file = |line: &str| {
        let words = line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let is = |word: &str| words.iter().any(|one| one == word);
        (is("POSIX") && is(&process) && is(SHARED_FIRST)).then(|| words.get(5).cloned())
    };
    locks.lines().filter_map(file).collect::<BTreeSet<_>>().len()
}

/// Makes users in a store of its own, as `parlance user create` does.
#[tokio::test]
#[ignore = "a role, started as a process by other tests"]
async fn make_users() {
    let stores = store_at(&given_store());
    for number in 0..20 {
        make_user(&stores, number).await;
    }
    (stores.close)();
}

/// Makes a user that no other process makes: the process stands in its ids and in its key.
async fn make_user(stores: &Stores, number: u32) -> UserId {
    let process = std::process::id();
    let uuid = Uuid::from_u128(u128::from(process) << 32 | u128::from(number));
    let mut digest = [0; 32];
    digest[..16].copy_from_slice(uuid.as_bytes());
    let now = Timestamp::from_micros(NOON);
    let user = User {
        id: UserId::new(uuid),
        organization: OrganizationId::new(uuid),
        organization_role: OrganizationRole::Admin,
        handle: UserHandle::new(&format!("u{process}-{number}")).unwrap(),
        email: format!("u{process}-{number}@example.org"),
        name: PersonName::split("Somebody"),
        role: UserRole::User,
        created_at: now,
        updated_at: now,
        disabled_at: None,
    };
    let (id, digest) = (ApiKeyId::new(uuid), KeyDigest::new(digest));
    let key = NewKey {
        id,
        digest,
        prefix: String::new(),
        name: None,
        expires_at: None,
        scope: KeyScope::default(),
    };
    stores
        .accounts
        .create_user(NewUser {
            user,
            by: domain::audit::Actor::Operator,
            key: Some(key),
            password: None,
            identity: None,
            initial_organization: InitialOrganization::Own,
            plan: PlanName::enterprise(),
        })
        .await
        .unwrap()
        .unwrap()
        .id
}

/// How many of `users` the next process would find if this one were killed now: it opens the
/// files as they are.
async fn found_after_a_kill(file: &Path, users: &[UserId]) -> usize {
    let elsewhere = tempfile::tempdir().unwrap();
    for name in ["store.db", "store.db-wal"] {
        // A log that is not there holds nothing.
        if file.with_file_name(name).exists() {
            std::fs::copy(file.with_file_name(name), elsewhere.path().join(name)).unwrap();
        }
    }
    found(&store_at(&elsewhere.path().join("store.db")), users).await
}

async fn found(stores: &Stores, users: &[UserId]) -> usize {
    let mut found = 0;
    for user in users {
        found += usize::from(stores.accounts.find_user(*user).await.unwrap().is_some());
    }
    found
}

#[test]
fn an_open_store_is_locked_against_whoever_would_take_itself_for_the_last() {
    let directory = tempfile::tempdir().unwrap();
    expect_success(other_process("keep_the_lock", &directory.path().join("store.db")));
}

#[tokio::test]
async fn another_process_takes_nothing_away_when_it_closes() {
    for role in ["look_in", "make_users"] {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("store.db");
        let stores = store_at(&file);
        let before = make_user(&stores, 100).await;
        expect_success(other_process(role, &file));
        let later = make_user(&stores, 101).await;
        assert_eq!(found_after_a_kill(&file, &[before, later]).await, 2, "{role}");
    }
}

#[tokio::test]
async fn processes_write_to_a_new_store_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("store.db");
    // Nobody has made the store yet: whoever comes first does, the others wait.
    let others = [(); 3].map(|()| other_process("make_users", &file));
    let stores = store_at(&file);
    let mut own = Vec::new();
    for number in 0..20 {
        own.push(make_user(&stores, number).await);
    }
    others.into_iter().for_each(expect_success);
    (stores.close)();

    assert_eq!(found(&store_at(&file), &own).await, 20, "a reopened store holds all of it");
    let mut connection = SqliteConnection::establish(file.to_str().unwrap()).unwrap();
    let all = diesel::sql_query("SELECT count(*) AS users FROM users").get_result::<Count>(&mut connection);
    assert_eq!(all.unwrap().users, 80);
}

#[derive(QueryableByName)]
struct Count {
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    users: i64,
}
