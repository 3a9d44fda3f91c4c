//! Sockets end with the key that opened them.

use std::time::Duration;

use domain::account::{CreateKey, WhichKeys};
use domain::change::Change;
use domain::event::DomainEvent;
use domain::id::ParticipantId;
use domain::ports::{Clock, EventPublisher};

use crate::client::Client;
use crate::harness::Bench;
use crate::raw::Raw;

/// The code with which sockets of a revoked key are closed.
const REVOKED: u16 = 1008;

/// Those of other keys of the same user go on.
#[actix_web::test]
async fn a_revoked_key_ends_its_sockets_and_no_others() {
    let bench = Bench::new().await;
    let command = CreateKey { name: None, expires_at: None };
    let created = bench.world.accounts.create_key(bench.ann.id, command).await.unwrap();
    let key = created.key.reveal();
    let mut first = bench.socket(key).await;
    // As an agent of hers, under the same key.
    let query = format!("vsn=2.0.0&api_key={key}&agent_id={}", bench.one.id);
    let mut agent = Client::open(bench.address, &query, &[]).await;
    let mut other = bench.socket(&bench.ann.key).await;
    bench.world.accounts.revoke_key(bench.ann.caller, created.record.id).await.unwrap();
    assert_eq!((first.closed().await, agent.closed().await), (REVOKED, REVOKED));
    other.nothing_came().await;
    bench.until_open(1).await;
    let refusal = Raw::refusal(bench.address, "vsn=2.0.0", &[("x-api-key", key)]).await;
    assert_eq!(refusal.status, 403);
    bench.end().await;
}

#[actix_web::test]
async fn an_agent_whose_key_was_replaced_comes_back_with_the_new_one() {
    let bench = Bench::new().await;
    let (mut one, mut two) = (bench.socket(&bench.one.key).await, bench.socket(&bench.two.key).await);
    let rotated = bench.world.accounts.rotate_key(bench.ann.id, bench.one.id).await.unwrap();
    assert_eq!(one.closed().await, REVOKED);
    bench.socket(rotated.key.reveal()).await.nothing_came().await;
    two.nothing_came().await;
    bench.end().await;
}

/// Another process has done it; the log tells.
#[actix_web::test]
async fn what_another_process_ends_ends_here() {
    let bench = Bench::new().await;
    let (mut one, mut two) = (bench.socket(&bench.one.key).await, bench.socket(&bench.two.key).await);
    let mut ann = bench.socket(&bench.ann.key).await;
    let key = bench.world.accounts.authenticate(&bench.two.key).await.unwrap().key.unwrap().id;
    bench.hub.follow(Change::AgentDeleted(bench.one.id));
    assert_eq!(one.closed().await, REVOKED);
    bench.hub.follow(Change::KeyRevoked(key));
    assert_eq!(two.closed().await, REVOKED);
    // Whoever did it here hears of it once more.
    bench.hub.follow(Change::KeyRevoked(key));
    ann.nothing_came().await;
    bench.end().await;
}

/// Between being authenticated and its claim a newcomer is in nobody's list.
#[actix_web::test]
async fn a_key_that_is_revoked_while_it_connects_gets_no_socket() {
    let bench = Bench::new().await;
    let key = bench.world.accounts.authenticate(&bench.ann.key).await.unwrap().key.unwrap().id;
    // The key is still good, as it was when it was looked at; the end is told before the claim.
    bench.hub.publish(DomainEvent::KeyRevoked { key });
    for agent in [String::new(), format!("&agent_id={}", bench.one.id)] {
        let query = format!("vsn=2.0.0&api_key={}{agent}", bench.ann.key);
        assert_eq!(Raw::refusal(bench.address, &query, &[]).await.status, 403, "{agent}");
    }
    assert_eq!(bench.hub.socket_count(), 0);
    bench.socket(&bench.one.key).await.nothing_came().await;
    bench.end().await;
}

#[actix_web::test]
async fn a_socket_ends_when_its_key_expires() {
    let bench = Bench::new().await;
    let until = bench.world.clock.now().plus(Duration::from_secs(10));
    let command = CreateKey { name: None, expires_at: Some(until) };
    let created = bench.world.accounts.create_key(bench.ann.id, command).await.unwrap();
    let mut short = bench.socket(created.key.reveal()).await;
    let mut long = bench.socket(&bench.ann.key).await;
    bench.world.clock.advance(Duration::from_micros(9_999_999));
    bench.hub.expire_keys();
    short.nothing_came().await;
    bench.world.clock.advance(Duration::from_micros(1));
    bench.hub.expire_keys();
    assert_eq!(short.closed().await, REVOKED);
    long.nothing_came().await;
    bench.until_open(1).await;
    bench.hub.expire_keys();
    bench.world.accounts.revoke_keys(WhichKeys::AllOf(ParticipantId::User(bench.ann.id))).await.unwrap();
    assert_eq!(long.closed().await, REVOKED);
    bench.end().await;
}
