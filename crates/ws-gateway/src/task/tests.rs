//! Commands that arrive at the worst moment: when a join has just subscribed.

use std::sync::Arc;

use domain::caller::Caller;
use domain::event::DomainEvent;
use domain::id::{ChatId, ParticipantId};
use domain::ports::EventPublisher;
use domain::time::Timestamp;
use testkit::{FixedClock, NOON, TestAgent, World};

use super::*;
use crate::hub::tests::{open, participant};
use crate::hub::{Hub, HubConfig};
use crate::inbox::Inbox;

/// A socket of an agent in the chat, and its join of the chat's messages.
struct Scene {
    hub: Arc<Hub>,
    bot: TestAgent,
    room: ChatId,
    socket: Socket,
    inbox: Inbox,
    join: PendingJoin,
}

impl Scene {
    async fn new() -> Self {
        let clock = Arc::new(FixedClock::at(Timestamp::from_micros(NOON)));
        let hub = Hub::new(HubConfig::default(), clock.clone());
        let world = World::with_publisher(clock, hub.clone());
        let ann = world.user("ann").await;
        let bot = world.agent(&ann, "Bot").await;
        let room = world.chat(ann.caller, &[bot.id.into()]).await;
        let (claim, reader) = open(&hub, Caller::Agent(bot.caller));
        let mut machine = Machine::new(Version::V2, Caller::Agent(bot.caller), 10);
        let join = format!(r#"["1","1","chat_room:{room}","phx_join",{{}}]"#);
        let Some(Action::Authorize(join)) = machine.on_text(&join).pop() else { panic!("{join}") };
        let context = Data::new(SocketContext {
            hub: hub.clone(),
            accounts: world.accounts.clone(),
            tokens: world.tokens.clone(),
            chats: world.chats.clone(),
            activity: world.activity.clone(),
        });
        let inbox = claim.inbox().clone();
        let socket =
            Socket { context, claim, outbox: Outbox::new(machine, reader, None), version: Version::V2 };
        Self { hub, bot, room, socket, inbox, join }
    }
}

#[actix_web::test]
async fn a_command_to_end_leaves_no_subscription() {
    let payload = || Arc::new(Payload::new("supersede", "{}".to_owned()));
    for (order, reason) in [
        (InboxItem::Superseded { payload: payload() }, EndReason::Superseded),
        (InboxItem::Revoked, EndReason::CredentialEnded),
        (InboxItem::Stop, EndReason::ServerClosed),
        (InboxItem::Overflow, EndReason::SlowConsumer),
    ] {
        let Scene { hub, mut socket, inbox, join, .. } = Scene::new().await;
        let (shown, subscription) = (format!("{order:?}"), socket.claim.subscribe(join.topic));
        inbox.send_command(order);
        assert!(socket.decide(join, subscription).await == Flow::End, "{shown}");
        drop(socket);
        let figures = hub.figures();
        assert_eq!(figures.listeners, 0, "{shown}");
        let ended = EndReason::ALL.into_iter().zip(figures.ended);
        let ended = ended.filter(|(_, count)| *count > 0).collect::<Vec<_>>();
        assert_eq!(ended, [(reason, 1)], "{shown}");
    }
}

/// The agent was removed and added again before the store was read: the join is granted, but its
/// subscription has ended. The client is notified, and can join again.
#[actix_web::test]
async fn a_subscription_ended_during_its_join_is_closed_after_the_reply() {
    let Scene { hub, bot, room, mut socket, join, .. } = Scene::new().await;
    let subscription = socket.claim.subscribe(join.topic);
    let participant = participant(ParticipantId::Agent(bot.id));
    hub.publish(DomainEvent::ParticipantRemoved { chat_id: room, participant });
    assert!(socket.decide(join, subscription).await == Flow::Continue);
    assert!(socket.run_commands() == Flow::Continue);
    assert_eq!(hub.figures().listeners, 0);
    assert_eq!(socket.outbox.machine(|machine| machine.topics().count()), 0, "joined, and deaf");
}
