//! Subjects: `PREFIX.t.room.ID`, `PREFIX.t.user.ID`, and `PREFIX.t.agent.ID` for the events of an
//! address, `PREFIX.all` for those that every node needs, `PREFIX.nodes` for peer messages.

use domain::bus::Address;
use uuid::Uuid;

/// The subjects of one installation.
#[derive(Clone, Debug)]
pub(crate) struct Subjects {
    prefix: String,
}

impl Subjects {
    pub(crate) fn new(prefix: &str) -> Self {
        Self { prefix: prefix.to_owned() }
    }

    /// The subject of events for this address.
    pub(crate) fn of(&self, address: Address) -> String {
        match address {
            Address::Room(chat) => self.named("room", chat.uuid()),
            Address::User(user) => self.named("user", user.uuid()),
            Address::Agent(agent) => self.named("agent", agent.uuid()),
            Address::Everywhere => format!("{}.all", self.prefix),
        }
    }

    /// The subject of peer messages.
    pub(crate) fn nodes(&self) -> String {
        format!("{}.nodes", self.prefix)
    }

    /// A subject without subscribers: the server itself answers requests there.
    pub(crate) fn nobody(&self) -> String {
        format!("{}.nobody", self.prefix)
    }

    fn named(&self, kind: &str, id: Uuid) -> String {
        format!("{}.t.{kind}.{id}", self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::id::{AgentId, ChatId, UserId};

    #[test]
    fn every_address_has_its_own() {
        let subjects = Subjects::new("acme.chat");
        let id = Uuid::from_u128(0xab);
        let text = "00000000-0000-0000-0000-0000000000ab";
        for (address, subject) in [
            (Address::Room(ChatId::new(id)), format!("acme.chat.t.room.{text}")),
            (Address::User(UserId::new(id)), format!("acme.chat.t.user.{text}")),
            (Address::Agent(AgentId::new(id)), format!("acme.chat.t.agent.{text}")),
            (Address::Everywhere, "acme.chat.all".to_owned()),
        ] {
            assert_eq!(subjects.of(address), subject);
        }
    }
}
