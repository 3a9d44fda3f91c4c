//! Sockets end with the key that opened them.

use std::time::Duration;

use domain::account::{CreateKey, IssueToken, KeyScope, UserHandle, WhichKeys};
use domain::change::Change;
use domain::event::DomainEvent;
use domain::id::{AgentId, ParticipantId};
use domain::login::{LogIn, LoggedIn, Password, SessionKind, TypedName};
use domain::ports::{Clock, EventPublisher};
use domain::time::Timestamp;
use serde_json::json;

use crate::client::Client;
use crate::harness::Bench;
use crate::raw::Raw;

/// The code with which sockets of a revoked key are closed.
const REVOKED: u16 = 1008;

/// Sets Ann's password: an access token under it, and when it was set.
async fn with_password(bench: &Bench, text: &str) -> (String, Timestamp) {
    let logins = &bench.world.logins;
    let reset = logins.issue_reset(&UserHandle::new(&bench.ann.handle).unwrap()).await.unwrap();
    let open = logins
        .reset_password(&reset.token, Password::new(text.to_owned()).unwrap(), SessionKind::Program)
        .await
        .unwrap();
    (open.access.token, open.access.claims.password_set_at.unwrap())
}

/// An agent's socket that has joined the topic of its connection.
async fn controlled(mut socket: Client, agent: AgentId) -> Client {
    socket.join("c", &format!("agent_control:{agent}")).await;
    socket
}

/// The socket of an agent ends after the event that its client must not reconnect.
async fn ends_for_good(socket: &mut Client, agent: AgentId) {
    let payload = socket.event("c", &format!("agent_control:{agent}"), "supersede").await;
    let correlation = payload["correlation_id"].as_str().unwrap();
    assert!(correlation.starts_with(&format!("{agent}:")), "{correlation}");
    let expected = json!({
        "reason": "agent.revoked",
        "message": "The agent was deleted or disabled, or its API key is no longer valid",
        "retryable": false,
        "target_socket_id": format!("agent_socket:{agent}"),
        "correlation_id": correlation,
    });
    assert_eq!(payload, expected);
    assert_eq!(socket.receive().await, Err(REVOKED));
}

/// Those of other keys of the same user go on.
#[actix_web::test]
async fn a_revoked_key_ends_its_sockets_and_no_others() {
    let bench = Bench::new().await;
    let command = CreateKey::default();
    let created = bench.world.accounts.create_key(bench.ann.id, command).await.unwrap();
    let key = created.key.reveal();
    let mut first = bench.socket(key).await;
    // As an agent of hers, under the same key.
    let query = format!("vsn=2.0.0&api_key={key}&agent_id={}", bench.one.id);
    let mut agent = controlled(Client::open(bench.address, &query, &[]).await, bench.one.id).await;
    let mut other = bench.socket(&bench.ann.key).await;
    bench.world.accounts.revoke_key(bench.ann.caller, created.record.id).await.unwrap();
    assert_eq!(first.closed().await, REVOKED);
    ends_for_good(&mut agent, bench.one.id).await;
    other.nothing_came().await;
    bench.until_open(1).await;
    let refusal = Raw::refusal(bench.address, "vsn=2.0.0", &[("x-api-key", key)]).await;
    assert_eq!(refusal.status, 403);
    bench.end().await;
}

/// It joins what it is limited to, and acts as the agent that it is limited to.
#[actix_web::test]
async fn a_limited_key_joins_what_it_names() {
    let bench = Bench::new().await;
    let key = async |scope| {
        let command = CreateKey { scope, ..CreateKey::default() };
        bench.world.accounts.create_key(bench.ann.id, command).await.unwrap().key.reveal().to_owned()
    };
    let all = KeyScope::default();
    let other = bench.world.chat(bench.ann.caller, &[]).await;
    let in_room = key(KeyScope { chat: Some(bench.room), is_read_only: true, ..all }).await;
    let mut socket = bench.socket(&in_room).await;
    socket.join("1", &format!("chat_room:{}", bench.room)).await;
    for (number, topic) in
        [format!("chat_room:{other}"), format!("user_rooms:{}", bench.ann.id)].iter().enumerate()
    {
        let join_ref = (number + 2).to_string();
        socket.refused(&join_ref, topic, "unauthorized").await;
    }
    let as_one = key(KeyScope { agent: Some(bench.one.id), ..all }).await;
    let reads_one = key(KeyScope { agent: Some(bench.one.id), is_read_only: true, ..all }).await;
    let query = |key: &str, agent: AgentId| format!("vsn=2.0.0&api_key={key}&agent_id={agent}");
    let mut agent = Client::open(bench.address, &query(&as_one, bench.one.id), &[]).await;
    agent.join("1", &format!("chat_room:{}", bench.room)).await;
    agent.join("2", &format!("agent_rooms:{}", bench.one.id)).await;
    for (key, agent) in [(&as_one, bench.two.id), (&in_room, bench.one.id), (&reads_one, bench.one.id)] {
        let refusal = Raw::refusal(bench.address, &query(key, agent), &[]).await;
        assert_eq!(refusal.status, 403);
        let message = refusal.body["error"]["message"].as_str().unwrap();
        assert!(message.starts_with("The API key is "), "{message}");
    }
    bench.end().await;
}

#[actix_web::test]
async fn an_agent_whose_key_was_replaced_comes_back_with_the_new_one() {
    let bench = Bench::new().await;
    let mut one = controlled(bench.socket(&bench.one.key).await, bench.one.id).await;
    let mut two = bench.socket(&bench.two.key).await;
    let rotated = bench.world.accounts.rotate_key(bench.ann.id, bench.one.id).await.unwrap();
    ends_for_good(&mut one, bench.one.id).await;
    bench.socket(rotated.key.reveal()).await.nothing_came().await;
    two.nothing_came().await;
    bench.end().await;
}

/// Another process has done it; the log tells.
#[actix_web::test]
async fn what_another_process_ends_ends_here() {
    let bench = Bench::new().await;
    let mut one = controlled(bench.socket(&bench.one.key).await, bench.one.id).await;
    let (mut two, mut ann) = (bench.socket(&bench.two.key).await, bench.socket(&bench.ann.key).await);
    let key = bench.world.accounts.authenticate(&bench.two.key).await.unwrap().presented.key().unwrap().id;
    bench.hub.follow(Change::AgentDeleted(bench.one.id));
    ends_for_good(&mut one, bench.one.id).await;
    bench.hub.follow(Change::KeyRevoked(key));
    assert_eq!(two.closed().await, REVOKED);
    // Whoever did it here hears of it once more.
    bench.hub.follow(Change::KeyRevoked(key));
    ann.nothing_came().await;
    bench.end().await;
}

/// The operator has done it, so by the log alone: all sockets that somebody answers for end, and a newcomer
/// who was let in before that gets none until they may come in again.
#[actix_web::test]
async fn who_is_disabled_has_no_socket_until_enabled() {
    let bench = Bench::new().await;
    let (ann, one) = (ParticipantId::User(bench.ann.id), ParticipantId::Agent(bench.one.id));
    let mut first = controlled(bench.socket(&bench.one.key).await, bench.one.id).await;
    let mut second = bench.socket(&bench.two.key).await;
    bench.hub.follow(Change::Disabled(one));
    ends_for_good(&mut first, bench.one.id).await;
    second.nothing_came().await;
    let query = format!("vsn=2.0.0&api_key={}", bench.one.key);
    assert_eq!(Raw::refusal(bench.address, &query, &[]).await.status, 403);
    bench.hub.follow(Change::Enabled(one));
    let mut first = bench.socket(&bench.one.key).await;
    let mut anns = bench.socket(&bench.ann.key).await;
    bench.hub.follow(Change::Disabled(ann));
    assert_eq!(
        (first.closed().await, second.closed().await, anns.closed().await),
        (REVOKED, REVOKED, REVOKED)
    );
    bench.until_open(0).await;
    for key in [&bench.ann.key, &bench.one.key] {
        let query = format!("vsn=2.0.0&api_key={key}");
        assert_eq!(Raw::refusal(bench.address, &query, &[]).await.status, 403);
    }
    bench.hub.follow(Change::Enabled(ann));
    bench.socket(&bench.two.key).await.nothing_came().await;
    bench.socket(&bench.ann.key).await.nothing_came().await;
    bench.end().await;
}

/// Between being authenticated and its claim a newcomer is in nobody's list.
#[actix_web::test]
async fn a_key_that_is_revoked_while_it_connects_gets_no_socket() {
    let bench = Bench::new().await;
    let key = bench.world.accounts.authenticate(&bench.ann.key).await.unwrap().presented.key().unwrap().id;
    // The key is still good, as it was when it was looked at; the end is told before the claim.
    bench.hub.publish(DomainEvent::KeyRevoked { key });
    for agent in [String::new(), format!("&agent_id={}", bench.one.id)] {
        let query = format!("vsn=2.0.0&api_key={}{agent}", bench.ann.key);
        assert_eq!(Raw::refusal(bench.address, &query, &[]).await.status, 403, "{agent}");
    }
    assert_eq!(bench.open_sockets(), 0);
    bench.socket(&bench.one.key).await.nothing_came().await;
    bench.end().await;
}

/// A new password ends the sockets that older tokens have opened or are about to open, and none of a newer
/// token, even if the event arrives again: the server that made the change also reads it from the log.
#[actix_web::test]
async fn another_password_ends_the_sockets_of_older_tokens() {
    let bench = Bench::new().await;
    let connect = async |token: &str, agent: &str| {
        Client::open(bench.address, &format!("vsn=2.0.0&token={token}{agent}"), &[]).await
    };
    let agent = format!("&agent_id={}", bench.two.id);
    let (first, _) = with_password(&bench, "correct horse").await;
    let (mut mine, mut agents) = (connect(&first, "").await, connect(&first, &agent).await);
    let mut by_key = bench.socket(&bench.ann.key).await;
    let (second, set_at) = with_password(&bench, "battery staple").await;
    let ended = Change::TokensEnded { user: bench.ann.id, password_set_at: set_at };
    bench.hub.follow(ended);
    assert_eq!((mine.closed().await, agents.closed().await), (REVOKED, REVOKED));
    let mut new = connect(&second, "").await;
    bench.hub.follow(ended);
    new.nothing_came().await;
    by_key.nothing_came().await;
    bench.end().await;
}

/// The token is still good, as it was when it was looked at; the end is told before the claim.
#[actix_web::test]
async fn a_token_that_ends_while_it_connects_gets_no_socket() {
    let bench = Bench::new().await;
    let (token, set_at) = with_password(&bench, "correct horse").await;
    let next = set_at.plus(Duration::from_micros(1));
    bench.hub.publish(DomainEvent::TokensEnded { user: bench.ann.id, password_set_at: set_at });
    let query = format!("vsn=2.0.0&token={token}");
    Client::open(bench.address, &query, &[]).await.nothing_came().await;
    bench.hub.publish(DomainEvent::TokensEnded { user: bench.ann.id, password_set_at: next });
    // What is told late changes nothing.
    bench.hub.publish(DomainEvent::TokensEnded { user: bench.ann.id, password_set_at: set_at });
    for agent in [String::new(), format!("&agent_id={}", bench.one.id)] {
        assert_eq!(Raw::refusal(bench.address, &format!("{query}{agent}"), &[]).await.status, 403, "{agent}");
    }
    bench.end().await;
}

/// The end of a session closes the sockets of its access tokens and no others, whether it arrives as an event
/// or from the log. A token of the session that is about to open a socket is refused.
#[actix_web::test]
async fn a_session_that_ends_takes_its_sockets_with_it() {
    let bench = Bench::new().await;
    with_password(&bench, "correct horse").await;
    let log_in = async || {
        let password = Password::typed("correct horse".to_owned()).unwrap();
        let name = TypedName::new("ann");
        let command = LogIn { name, password, code: None, kind: SessionKind::Program, address: None };
        bench.world.logins.log_in(command).await.unwrap()
    };
    let connect = async |open: &LoggedIn, agent: &str| {
        Client::open(bench.address, &format!("vsn=2.0.0&token={}{agent}", open.access.token), &[]).await
    };
    let agent = format!("&agent_id={}", bench.two.id);
    let [first, second, third] = [log_in().await, log_in().await, log_in().await];
    let (mut mine, agents) = (connect(&first, "").await, connect(&first, &agent).await);
    let mut agents = controlled(agents, bench.two.id).await;
    let (mut other, mut last) = (connect(&second, "").await, connect(&third, "").await);
    bench.world.logins.log_out(&first.refresh_token).await.unwrap();
    // An agent may come back with a new token, so it gets no event that would keep it away.
    assert_eq!((mine.closed().await, agents.receive().await), (REVOKED, Err(REVOKED)));
    other.nothing_came().await;
    // By another server, as the log of changes tells it.
    bench.hub.follow(Change::SessionEnded(second.access.claims.session.unwrap()));
    assert_eq!(other.closed().await, REVOKED);
    last.nothing_came().await;
    // The store still knows the session, as it did when the token was looked at.
    for agent in ["", &agent] {
        let query = format!("vsn=2.0.0&token={}{agent}", second.access.token);
        assert_eq!(Raw::refusal(bench.address, &query, &[]).await.status, 403, "{agent}");
    }
    bench.until_open(1).await;
    bench.end().await;
}

#[actix_web::test]
async fn a_socket_ends_when_its_key_or_the_operators_token_expires() {
    let bench = Bench::new().await;
    let until = bench.world.clock.now().plus(Duration::from_secs(10));
    let command = CreateKey { expires_at: Some(until), ..CreateKey::default() };
    let created = bench.world.accounts.create_key(bench.ann.id, command).await.unwrap();
    let mut short = bench.socket(created.key.reveal()).await;
    let mut long = bench.socket(&bench.ann.key).await;
    let command = IssueToken { user: UserHandle::new("ann").unwrap(), lifetime: Duration::from_secs(60) };
    let issued = bench.world.tokens.issue(command).await.unwrap();
    let mut operators = Client::open(bench.address, &format!("vsn=2.0.0&token={}", issued.token), &[]).await;
    bench.world.clock.advance(Duration::from_micros(9_999_999));
    bench.hub.expire_credentials();
    short.nothing_came().await;
    bench.world.clock.advance(Duration::from_micros(1));
    bench.hub.expire_credentials();
    assert_eq!(short.closed().await, REVOKED);
    operators.nothing_came().await;
    bench.world.clock.advance(Duration::from_secs(50));
    bench.hub.expire_credentials();
    assert_eq!(operators.closed().await, REVOKED);
    long.nothing_came().await;
    bench.until_open(1).await;
    bench.hub.expire_credentials();
    bench.world.accounts.revoke_keys(WhichKeys::AllOf(ParticipantId::User(bench.ann.id))).await.unwrap();
    assert_eq!(long.closed().await, REVOKED);
    bench.end().await;
}
