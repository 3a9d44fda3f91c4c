//! The last uses of agents' doors.

use std::time::Duration;

use domain::account::{
    AgentDescription, AgentName, Disconnect, Door, DoorUse, EndReason, KEY_EXPIRED, KEY_REVOKED,
    LastDisconnect, RegisterAgent, USE_RESOLUTION,
};
use domain::id::AgentId;
use domain::ports::Clock;
use domain::services::{Ports, Services};
use domain::time::Timestamp;
use uuid::Uuid;

use crate::{TestAgent, World};

/// Of a door the last call, and the code and the time of the last failure.
type Stored = (Door, Option<Timestamp>, Option<(String, Timestamp)>);

/// What is stored of an agent: of each door the last call, and the code and the time of the last failure.
async fn doors(world: &World, agent: AgentId) -> Vec<Stored> {
    let of = |last: DoorUse| {
        let failure = last.failure.map(|failure| (failure.code.into_owned(), failure.at));
        (last.door, last.called_at, failure)
    };
    let found = world.accounts.doors(&[agent]).await.unwrap();
    found.concat().into_iter().map(of).collect()
}

async fn ann_and_bot(world: &World) -> TestAgent {
    let ann = world.user("ann").await;
    world.agent(&ann, "Bot").await
}

fn failed(code: &str, at: Timestamp) -> (String, Timestamp) {
    (code.to_owned(), at)
}

/// In batches, not more than one call a minute, and each door on its own.
pub async fn the_last_use_of_a_door_is_stored(world: World) {
    let bot = ann_and_bot(&world).await;
    let first = world.clock.now();
    let call = || world.accounts.note_call(bot.id, Door::Rest);
    call();
    assert_eq!(doors(&world, bot.id).await, [], "not on the way of a request");
    world.accounts.write_uses().await.unwrap();
    assert_eq!(doors(&world, bot.id).await, [(Door::Rest, Some(first), None)]);

    world.clock.advance(Duration::from_micros(59_999_999));
    call();
    world.accounts.write_uses().await.unwrap();
    assert_eq!(doors(&world, bot.id).await, [(Door::Rest, Some(first), None)]);
    world.accounts.note_failure(bot.id, Door::Mcp, "forbidden", Some("reply".to_owned()));
    world.clock.advance(Duration::from_micros(1));
    call();
    world.accounts.note_call(bot.id, Door::A2a);
    world.accounts.note_failure(bot.id, Door::Mcp, "not_found", None);
    world.accounts.write_uses().await.unwrap();
    let second = first.plus(USE_RESOLUTION);
    let seen = [
        (Door::Rest, Some(second), None),
        (Door::Mcp, None, Some(failed("not_found", second))),
        (Door::A2a, Some(second), None),
    ];
    assert_eq!(doors(&world, bot.id).await, seen);

    // A good key alone is no call: its outcome is not known yet.
    world.clock.advance(USE_RESOLUTION);
    world.accounts.authenticate_at(&bot.key, Some(Door::Rest)).await.unwrap();
    world.accounts.write_uses().await.unwrap();
    assert_eq!(doors(&world, bot.id).await, seen);
}

/// A call leaves the last failure as it was, and a failure replaces the detail of the one before.
pub async fn failures_stay_until_the_next_one(world: World) {
    let bot = ann_and_bot(&world).await;
    let fail = async |code: &'static str, detail: Option<&str>| {
        world.accounts.note_failure(bot.id, Door::Rest, code, detail.map(str::to_owned));
        world.accounts.write_uses().await.unwrap();
    };
    let first = world.clock.now();
    fail("forbidden", Some("POST /messages")).await;
    world.clock.advance(USE_RESOLUTION);
    world.accounts.note_call(bot.id, Door::Rest);
    world.accounts.write_uses().await.unwrap();
    let called = first.plus(USE_RESOLUTION);
    assert_eq!(doors(&world, bot.id).await, [(Door::Rest, Some(called), Some(failed("forbidden", first)))]);
    let detail = async || {
        let found = world.accounts.doors(&[bot.id]).await.unwrap().concat();
        found[0].failure.as_ref().and_then(|failure| failure.detail.clone())
    };
    assert_eq!(detail().await.as_deref(), Some("POST /messages"));
    world.clock.advance(Duration::from_secs(1));
    fail("rate_limited", None).await;
    let last = world.clock.now();
    assert_eq!(doors(&world, bot.id).await, [(Door::Rest, Some(called), Some(failed("rate_limited", last)))]);
    assert_eq!(detail().await, None);
}

/// Of the processes on one store, the later time wins, whichever writes last.
pub async fn processes_share_the_uses_of_doors(world: World) {
    let bot = ann_and_bot(&world).await;
    let other = Services::new(world.ports.clone()).accounts;
    let first = world.clock.now();
    other.note_call(bot.id, Door::Rest);
    other.note_failure(bot.id, Door::Mcp, "older", Some("older".to_owned()));
    world.clock.advance(Duration::from_secs(1));
    let second = world.clock.now();
    world.accounts.note_call(bot.id, Door::Rest);
    world.accounts.note_failure(bot.id, Door::Rest, "forbidden", None);
    world.accounts.note_failure(bot.id, Door::Mcp, "newer", None);
    world.clock.advance(Duration::from_secs(1));
    let third = world.clock.now();
    other.note_call(bot.id, Door::Webhook);
    world.accounts.write_uses().await.unwrap();
    other.write_uses().await.unwrap();
    assert!(first < second);
    let seen = [
        (Door::Rest, Some(second), Some(failed("forbidden", second))),
        (Door::Mcp, None, Some(failed("newer", second))),
        (Door::Webhook, Some(third), None),
    ];
    assert_eq!(doors(&world, bot.id).await, seen);
    let found = world.accounts.doors(&[bot.id]).await.unwrap().concat();
    assert!(found.iter().flat_map(|last| &last.failure).all(|failure| failure.detail.is_none()), "{found:?}");
}

/// A failure never moves the time of the last call, also if another process is silent about its calls.
pub async fn failures_leave_the_time_of_the_last_call(world: World) {
    let bot = ann_and_bot(&world).await;
    let other = Services::new(world.ports.clone()).accounts;
    let first = world.clock.now();
    for door in [Door::Rest, Door::Socket] {
        world.accounts.note_call(bot.id, door);
    }
    world.accounts.write_uses().await.unwrap();
    world.clock.advance(Duration::from_secs(5));
    let second = world.clock.now();
    other.note_failure(bot.id, Door::Rest, "forbidden", None);
    other.note_failure(bot.id, Door::Socket, "join_refused", None);
    other.write_uses().await.unwrap();
    world.accounts.note_call(bot.id, Door::Rest);
    world.accounts.write_uses().await.unwrap();
    let seen = [
        (Door::Rest, Some(first), Some(failed("forbidden", second))),
        (Door::Socket, Some(first), Some(failed("join_refused", second))),
    ];
    assert_eq!(doors(&world, bot.id).await, seen);
    world.clock.set(first.plus(USE_RESOLUTION));
    world.accounts.note_call(bot.id, Door::Rest);
    world.accounts.write_uses().await.unwrap();
    let called = Some(first.plus(USE_RESOLUTION));
    assert_eq!(doors(&world, bot.id).await[0], (Door::Rest, called, Some(failed("forbidden", second))));
}

/// A key that was rotated or has expired, as long as its agent exists; not the key of a user.
pub async fn an_ended_key_is_a_failure_of_its_agent(world: World) {
    let accounts = Services::new(Ports { key_days: 30, ..world.ports.clone() }).accounts;
    let ann = world.user("ann").await;
    let command = RegisterAgent {
        name: AgentName::new("Bot").unwrap(),
        description: AgentDescription::new("Answers").unwrap(),
    };
    let bot = accounts.register_agent_by(ann.id.into(), ann.id, command, None).await.unwrap();
    let agent = bot.agent.id;
    let refused = async |key: &str, door| {
        accounts.authenticate_at(key, door).await.unwrap_err();
        accounts.write_uses().await.unwrap();
    };
    let rotated = accounts.rotate_key(ann.id, agent).await.unwrap();
    let now = world.clock.now();
    refused(bot.key.reveal(), None).await;
    assert_eq!(doors(&world, agent).await, []);
    refused(bot.key.reveal(), Some(Door::Socket)).await;
    refused("thnv_a_unknown", Some(Door::Rest)).await;
    assert_eq!(doors(&world, agent).await, [(Door::Socket, None, Some(failed(KEY_REVOKED, now)))]);

    world.clock.set(rotated.expires_at.unwrap());
    let later = world.clock.now();
    refused(rotated.key.reveal(), Some(Door::Rest)).await;
    let seen = [
        (Door::Rest, None, Some(failed(KEY_EXPIRED, later))),
        (Door::Socket, None, Some(failed(KEY_REVOKED, now))),
    ];
    assert_eq!(doors(&world, agent).await, seen);

    let ben = world.agent(&ann, "Ben").await;
    let digest = world.ports.keys.digest(&ben.key);
    let find = async || world.stores.keys.find_agent_of_revoked_key(digest).await.unwrap();
    assert_eq!(find().await, None, "a good key is not revoked");
    world.accounts.rotate_key(ann.id, ben.id).await.unwrap();
    assert_eq!(find().await, Some(ben.id));
    world.accounts.delete_agent(ann.caller, ben.id, true).await.unwrap();
    assert_eq!(find().await, None);
}

/// A socket that was lost has failed; one that its client or the server closed has not.
pub async fn the_end_of_a_socket_is_a_failure(world: World) {
    let bot = ann_and_bot(&world).await;
    let begun = world.clock.now();
    let at = |seconds| begun.plus(Duration::from_secs(seconds));
    let end = async |seconds, reason| {
        let last = LastDisconnect { at: at(seconds), reason };
        let ended = Disconnect { agent: bot.id, began_at: Some(begun), last };
        world.accounts.note_disconnects(vec![ended]).await.unwrap();
    };
    end(1, EndReason::ClientClosed).await;
    assert_eq!(doors(&world, bot.id).await, []);
    end(2, EndReason::IdleTimeout).await;
    end(3, EndReason::ServerClosed).await;
    let lost = Some(failed("idle_timeout", at(2)));
    assert_eq!(doors(&world, bot.id).await, [(Door::Socket, Some(begun), lost.clone())]);
    world.clock.set(at(1));
    world.accounts.note_failure(bot.id, Door::Socket, "too_many_requests", None);
    world.accounts.write_uses().await.unwrap();
    assert_eq!(doors(&world, bot.id).await, [(Door::Socket, Some(begun), lost)], "the end was later");
    world.clock.set(at(4));
    world.accounts.note_failure(bot.id, Door::Socket, "too_many_requests", None);
    world.accounts.write_uses().await.unwrap();
    let refused = Some(failed("too_many_requests", at(4)));
    assert_eq!(doors(&world, bot.id).await, [(Door::Socket, Some(begun), refused)]);
}

/// What is noted of an agent that is deleted, or unknown, is not stored; the others of the batch are.
pub async fn a_deleted_agent_has_no_doors(world: World) {
    let ann = world.user("ann").await;
    let (bot, other) = (world.agent(&ann, "Bot").await, world.agent(&ann, "Other").await);
    let note = async || {
        for agent in [bot.id, AgentId::new(Uuid::from_u128(7)), other.id] {
            world.accounts.note_failure(agent, Door::Rest, "forbidden", None);
        }
        world.accounts.write_uses().await.unwrap();
    };
    note().await;
    let of = async |agent: &TestAgent| world.stores.accounts.list_doors(vec![agent.id]).await.unwrap().len();
    assert_eq!((of(&bot).await, of(&other).await), (1, 1));
    world.accounts.delete_agent(ann.caller, bot.id, true).await.unwrap();
    assert_eq!((of(&bot).await, of(&other).await), (0, 1));
    world.clock.advance(USE_RESOLUTION);
    note().await;
    assert_eq!(of(&bot).await, 0);
    let later = world.clock.now();
    assert_eq!(doors(&world, other.id).await, [(Door::Rest, None, Some(failed("forbidden", later)))]);
    let both = world.accounts.doors(&[bot.id, other.id]).await.unwrap();
    assert_eq!(both.iter().map(Vec::len).collect::<Vec<_>>(), [0, 1], "in the order of the question");
}
