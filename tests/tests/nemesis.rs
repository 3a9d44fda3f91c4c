//! The promises of `docs/reliability.md` during failures: nothing is lost, duplicated, or reordered, and nothing that
//! was read disappears.
//!
//! `PARLANCE_TEST_NEMESIS_SECONDS` sets the duration of each test, and `PARLANCE_TEST_NEMESIS_SEED` repeats the choices
//! of another run.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Duration;

use e2e::proof::{Fault, History, Random, Stage, Strike, World, check};
use e2e::{is_full, on_postgres};
use tokio::time::Instant;

/// A setting from the environment.
#[expect(clippy::disallowed_methods, reason = "tests are told by the environment how they are to run")]
fn said(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn given(name: &str) -> Option<u64> {
    said(name).map(|value| value.parse().expect("it is a whole number"))
}

/// The duration of the failures in each world: each failure once, or an hour for each store in the long form.
fn length(worlds: u64) -> Duration {
    let seconds =
        given("PARLANCE_TEST_NEMESIS_SECONDS").unwrap_or(if is_full() { 3_600 / worlds } else { 15 });
    Duration::from_secs(seconds)
}

/// Says how it went, also when the test passes and its output is not shown.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_fails_nothing_is_lost() {
    if on_postgres() {
        // Settings that would make the database lose commits; `docs/reliability.md` has the command.
        let settings = said("PARLANCE_TEST_NEMESIS_POSTGRES").unwrap_or_default();
        let mut settings = settings.split_whitespace().collect::<Vec<_>>();
        let length = length(2);
        let megabytes = 768 + length.as_secs() / 4;
        let world = World::on_postgres(1, megabytes, &settings).await;
        withstands("one server on PostgreSQL", world, length).await;
        // On a full disk the first database refuses to write and goes on; this one, whose log then finds no room, ends.
        settings.extend(["wal_init_zero=off", "wal_recycle=off"]);
        let world = World::on_postgres(3, megabytes, &settings).await;
        withstands("three servers on PostgreSQL", world, length).await;
    } else {
        let length = length(1);
        let megabytes = 64 + length.as_secs() / 4;
        withstands("one server on the embedded store", World::embedded(megabytes).await, length).await;
    }
}

async fn withstands(name: &str, mut world: World, length: Duration) {
    let seed = given("PARLANCE_TEST_NEMESIS_SEED").unwrap_or_else(Random::fresh_seed);
    say(&format!("{name}: PARLANCE_TEST_NEMESIS_SEED={seed}"));
    let mut random = Random::from_seed(seed);
    let stage = Stage::begin(&world.servers, &mut random).await;
    let (since, mut counts) = (Instant::now(), BTreeMap::<Strike, usize>::new());
    let mut strikes = world.strikes();
    if !strikes.contains(&Strike::DiskFull) {
        assert!(!is_full(), "{name}: no disk can be filled, which needs permission to mount");
        say(&format!("{name}: no disk was filled"));
    }
    let mut number = 0;
    while since.elapsed() < length || number < strikes.len() {
        let place = number % strikes.len();
        if place == 0 {
            random.shuffle(&mut strikes);
        }
        number += 1;
        // So much is done before the next strike that it strikes something.
        stage.goes_on(random.place(100), &world.servers).await;
        *counts.entry(strikes[place]).or_default() += 1;
        world.strike(strikes[place], &mut random).await;
    }
    world.heal().await;
    let took = since.elapsed();
    let history = stage.end(&world.servers).await;
    let anomalies = check(&history);
    say(&report(name, &history, &counts, took, anomalies.len()));
    if !anomalies.is_empty() {
        let place = std::env::temp_dir().join(format!("parlance-history-{seed}"));
        std::fs::write(&place, history.dump()).unwrap();
        let reported = anomalies.iter().take(20).map(|anomaly| format!("{anomaly:?}")).collect::<Vec<_>>();
        panic!(
            "{} anomalies, seed {seed}, history in {}:\n{}",
            anomalies.len(),
            place.display(),
            reported.join("\n")
        );
    }
}

fn report(
    name: &str,
    history: &History,
    strikes: &BTreeMap<Strike, usize>,
    took: Duration,
    anomalies: usize,
) -> String {
    let mut text = format!("{name}, {} s:", took.as_secs());
    for (kind, (all, unclear)) in history.counts() {
        let _ = write!(text, " {kind} {all} ({unclear} unclear);");
    }
    for (strike, count) in strikes {
        let _ = write!(text, " {strike} {count};");
    }
    let messages = history.rooms.iter().map(Vec::len).sum::<usize>();
    let _ = write!(text, " messages at the end {messages}; anomalies {anomalies}");
    text
}

/// The proof is worth something only if it fails where it must: a store that forgets what it has acknowledged is found
/// out. Here it is set back to a copy of itself, as after a restored backup or on a disk that lies about its writes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_forgets_is_found_out() {
    let mut world = World::embedded(64).await;
    let stage = Stage::begin(&world.servers, &mut Random::from_seed(1)).await;
    stage.goes_on(200, &world.servers).await;
    world.forget(stage.goes_on(200, &[])).await;
    stage.goes_on(200, &world.servers).await;
    let found = check(&stage.end(&world.servers).await);
    assert!(found.iter().any(|anomaly| anomaly.fault == Fault::Lost), "{found:?}");
}
