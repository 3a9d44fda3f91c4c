//! How long it takes to find out whom a message means, and to write them into its text.
#![expect(clippy::unwrap_used, reason = "a measurement that goes wrong has no result")]

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion};
use domain::chat::{Participant, ParticipantStatus, Role, Roster};
use domain::id::{AgentId, ChatId, ParticipantId};
use domain::message::content::stored_text;
use domain::message::mention::resolve;
use domain::message::{MentionKind, MessageContent, RequestedMention};
use domain::time::Timestamp;
use uuid::Uuid;

fn agent(number: usize) -> ParticipantId {
    // Spread like real ids, which share their first bits.
    ParticipantId::Agent(AgentId::new(Uuid::from_u128((0x0190_0000 << 96) + number as u128)))
}

/// A room of so many agents; the first is the one that speaks.
fn room(size: usize) -> Roster {
    let participant = |number| Participant {
        id: agent(number),
        name: format!("Agent {number}"),
        handle: format!("ann/agent-{number}"),
        description: Some("Does what an agent does".to_owned()),
        is_external: Some(true),
        owner: None,
        role: Role::Member,
        status: ParticipantStatus::Active,
        joined_at: Timestamp::from_micros(0),
    };
    Roster { chat: ChatId::new(Uuid::from_u128(1)), participants: (0..size).map(participant).collect() }
}

fn by_id(number: usize) -> RequestedMention {
    let id = Some(agent(number).to_string());
    RequestedMention { id, handle: None, kind: Some(MentionKind::Mention) }
}

fn by_handle(number: usize) -> RequestedMention {
    let handle = Some(format!("@Ann/Agent-{number}"));
    RequestedMention { id: None, handle, kind: Some(MentionKind::Mention) }
}

fn mentions(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("mentions");
    for size in [4, 100] {
        let names = room(size).names();
        // Those who came last are found last.
        let ids = [by_id(size - 2), by_id(size - 1)];
        group.bench_function(BenchmarkId::new("two by id in a room of", size), |bencher| {
            bencher.iter(|| resolve(black_box(&names), agent(0), black_box(&ids)).unwrap());
        });
        let handles = [by_handle(size - 2), by_handle(size - 1)];
        group.bench_function(BenchmarkId::new("two by handle in a room of", size), |bencher| {
            bencher.iter(|| resolve(black_box(&names), agent(0), black_box(&handles)).unwrap());
        });
    }
    group.finish();
}

fn texts(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("stored text");
    let found = resolve(&room(4).names(), agent(0), &[by_id(2), by_id(3)]).unwrap();
    for kilobytes in [1, 64] {
        let words = "please read what they wrote ".repeat(kilobytes * 1024 / 28);
        let content = MessageContent::new(format!("@ann/agent-2 and @ann/agent-3, {words}")).unwrap();
        group.bench_function(BenchmarkId::new("two names in kB", kilobytes), |bencher| {
            bencher.iter(|| stored_text(black_box(&content), black_box(&found)));
        });
    }
    group.finish();
}

fn main() {
    let bounded = Criterion::default().warm_up_time(Duration::from_millis(500)).sample_size(50);
    let mut criterion = bounded.measurement_time(Duration::from_secs(2)).configure_from_args();
    mentions(&mut criterion);
    texts(&mut criterion);
    criterion.final_summary();
}
