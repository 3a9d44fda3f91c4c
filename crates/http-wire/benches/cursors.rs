//! How long it takes to seal a cursor and to open it.
#![expect(clippy::unwrap_used, reason = "a measurement that goes wrong has no result")]

use std::hint::black_box;
use std::time::Duration;

use criterion::Criterion;
use domain::id::RecordId;
use domain::page::Position;
use domain::secret::Secret;
use http_wire::cursor::{CursorScope, CursorSeal};
use uuid::Uuid;

fn cursors(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("cursors");
    let seal = CursorSeal::new(Secret([7; 32]));
    let (reader, room) = (Uuid::from_u128(1), Uuid::from_u128(2));
    let scope = || CursorScope::list("agent/chats/context").of(black_box(reader)).of(black_box(room));
    let position = Position::at(123_456, RecordId::new(Uuid::from_u128(3)));
    let cursor = scope().encode(&seal, &position);
    group.bench_function("sealed", |bencher| {
        bencher.iter(|| scope().encode(&seal, black_box(&position)));
    });
    group.bench_function("opened", |bencher| {
        bencher.iter(|| scope().decode(&seal, black_box(&cursor)).unwrap());
    });
    let forged = cursor.replace(|c: char| c.is_ascii_digit(), "A");
    group.bench_function("forged and refused", |bencher| {
        bencher.iter(|| scope().decode(&seal, black_box(&forged)).unwrap_err());
    });
    group.finish();
}

fn main() {
    let bounded = Criterion::default().warm_up_time(Duration::from_millis(500)).sample_size(50);
    let mut criterion = bounded.measurement_time(Duration::from_secs(2)).configure_from_args();
    cursors(&mut criterion);
    criterion.final_summary();
}
