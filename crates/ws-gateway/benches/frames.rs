//! How long it takes to read a client's frame, and to put a socket's own head before a payload that all
//! share.
#![expect(clippy::unwrap_used, reason = "a measurement that goes wrong has no result")]

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput};
use ws_gateway::frame::{Head, Version, parse, pieces};

const TOPIC: &str = "chat_room:0190f3a1-7c51-7e2c-9d0b-4a1f3c5e7d90";

fn reading(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("frames read");
    let heartbeat = r#"[null,"17","phoenix","heartbeat",{}]"#;
    let join = format!(r#"["3","3","{TOPIC}","phx_join",{{"agent":"0190f3a1","since":null}}]"#);
    let object =
        format!(r#"{{"topic":"{TOPIC}","event":"phx_join","payload":{{}},"ref":"3","join_ref":"3"}}"#);
    let large = format!(r#"["3","4","{TOPIC}","note",{{"text":"{}"}}]"#, "x".repeat(32 * 1024));
    for (name, version, text) in [
        ("heartbeat", Version::V2, heartbeat),
        ("join", Version::V2, &join),
        ("join, version 1", Version::V1, &object),
        ("32 kB that nobody reads", Version::V2, &large),
    ] {
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(name, |bencher| {
            bencher.iter(|| parse(version, black_box(text)).unwrap());
        });
    }
    group.finish();
}

fn splicing(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("heads written");
    for bytes in [500, 50_000] {
        let payload = "x".repeat(bytes);
        for (name, version) in [("payload of", Version::V2), ("version 1, payload of", Version::V1)] {
            let head = Head::new(version, Some("3"), TOPIC);
            let mut out = String::new();
            group.throughput(Throughput::Bytes(bytes as u64));
            group.bench_function(BenchmarkId::new(name, bytes), |bencher| {
                bencher.iter(|| {
                    out.clear();
                    let head = black_box(&head).text(version);
                    out.extend(pieces(version, head, "message_created", black_box(&payload)));
                    black_box(out.len())
                });
            });
        }
    }
    group.finish();
}

fn main() {
    let bounded = Criterion::default().warm_up_time(Duration::from_millis(500)).sample_size(50);
    let mut criterion = bounded.measurement_time(Duration::from_secs(2)).configure_from_args();
    reading(&mut criterion);
    splicing(&mut criterion);
    criterion.final_summary();
}
