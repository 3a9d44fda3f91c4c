//! Publishes events to the local sockets, and to other nodes with interest.

use std::sync::Arc;

use super::port::EventBus;
use super::route::{Interest, Route, narrowed, routes};
use crate::event::DomainEvent;
use crate::id::ChatId;
use crate::ports::EventPublisher;

/// The publisher of a node in a cluster.
pub struct SharedEvents {
    own: Arc<dyn EventPublisher>,
    bus: Arc<dyn EventBus>,
}

impl SharedEvents {
    /// Publishes to `own` at once, and over `bus` to the nodes with interest.
    pub fn new(own: Arc<dyn EventPublisher>, bus: Arc<dyn EventBus>) -> Self {
        Self { own, bus }
    }

    fn is_wanted(&self, route: &Route) -> bool {
        route.wanted_by.map_or_else(|| self.bus.has_others(), |interest| self.bus.is_wanted(interest))
    }
}

impl EventPublisher for SharedEvents {
    fn publish(&self, event: DomainEvent) {
        let wanted = routes(&event).into_iter().filter(|route| self.is_wanted(route));
        let mut to = wanted.map(|route| route.to).collect::<Vec<_>>();
        // The other nodes first: their way is longer, and the event need not be copied.
        to.retain(|address| match narrowed(&event, *address) {
            Some(event) => {
                self.bus.send(&[*address], &event);
                false
            }
            None => true,
        });
        if !to.is_empty() {
            self.bus.send(&to, &event);
        }
        self.own.publish(event);
    }

    fn has_human_subscribers(&self, chat: ChatId) -> bool {
        self.own.has_human_subscribers(chat) || self.bus.is_wanted(Interest::RoomAsHuman(chat))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;
    use uuid::Uuid;

    use super::*;
    use crate::bus::Address;
    use crate::chat::{Chat, ChatDetails, ChatKind, ChatStatus};
    use crate::id::{ApiKeyId, UserId};
    use crate::time::Timestamp;

    /// Other nodes have every interest except that of the third user.
    #[derive(Default)]
    struct Sent(Mutex<Vec<(Vec<Address>, DomainEvent)>>);

    #[async_trait]
    impl EventBus for Sent {
        fn is_wanted(&self, interest: Interest) -> bool {
            interest != Interest::User(user(3))
        }

        fn has_others(&self) -> bool {
            true
        }

        fn send(&self, to: &[Address], event: &DomainEvent) {
            self.0.lock().unwrap().push((to.to_vec(), event.clone()));
        }

        fn begin(&self, _: Interest) {}

        fn end(&self, _: Interest) {}

        async fn settled(&self) {}
    }

    #[derive(Default)]
    struct Published(Mutex<Vec<DomainEvent>>);

    impl EventPublisher for Published {
        fn publish(&self, event: DomainEvent) {
            self.0.lock().unwrap().push(event);
        }

        fn has_human_subscribers(&self, _: ChatId) -> bool {
            false
        }
    }

    fn user(number: u128) -> UserId {
        UserId::new(Uuid::from_u128(number))
    }

    fn updated(to: Vec<UserId>) -> DomainEvent {
        let at = Timestamp::from_micros(0);
        let chat = Chat {
            id: ChatId::new(Uuid::from_u128(9)),
            title: None,
            task_id: None,
            kind: ChatKind::Group,
            status: ChatStatus::Active,
            created_at: at,
            updated_at: at,
            last_message_at: None,
            respond_within: None,
            max_hops: None,
        };
        DomainEvent::RoomUpdated { to, chat, details: ChatDetails::default() }
    }

    /// An event of a chat with a thousand participants does not become a thousand lists of a
    /// thousand.
    #[test]
    fn each_user_is_sent_what_is_for_them() {
        let (own, bus) = (Arc::<Published>::default(), Arc::<Sent>::default());
        let events = SharedEvents::new(own.clone(), bus.clone());
        let all = updated([1, 2, 3].map(user).to_vec());
        let revoked = DomainEvent::KeyRevoked { key: ApiKeyId::new(Uuid::from_u128(5)) };
        events.publish(all.clone());
        events.publish(revoked.clone());
        let each = |number| (vec![Address::User(user(number))], updated(vec![user(number)]));
        let expected = [each(1), each(2), (vec![Address::Everywhere], revoked.clone())];
        let shown = |of: &dyn std::fmt::Debug| format!("{of:?}");
        assert_eq!(shown(&*bus.0.lock().unwrap()), shown(&expected));
        assert_eq!(shown(&*own.0.lock().unwrap()), shown(&[all, revoked]));
    }
}
