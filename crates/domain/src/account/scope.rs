//! Scopes of keys.
//!
//! A key of a human may be limited to reading, to one chat, and to one agent. Each edge declares
//! what a request reaches; whether the key permits it is decided only here. Keys of agents are not
//! limited.

use std::fmt;

use crate::id::{AgentId, ChatId};

/// The scope of a key; the default has no limits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct KeyScope {
    /// Set if it only permits reading.
    pub is_read_only: bool,
    /// If set, it permits this chat, and nothing else except [`Self::agent`].
    pub chat: Option<ChatId>,
    /// If set, it permits this agent, and nothing else except [`Self::chat`].
    pub agent: Option<AgentId>,
}

/// The resource that a request is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// One chat, its messages, and its participants.
    Chat(ChatId),
    /// One agent, or acting as it.
    Agent(AgentId),
    /// The profile of the key's holder.
    Profile,
    /// Everything else: lists of all resources, other keys, contacts, memories, the organization.
    Rest,
}

/// The reason why a key may not be used for a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum OutOfScope {
    /// The request changes something.
    #[error("the key is read-only")]
    ReadOnly,
    /// The request is about another resource.
    #[error("the key is limited to a chat or an agent, and this is neither")]
    Elsewhere,
}

impl KeyScope {
    /// Returns whether a key with this scope may be used for a request.
    pub fn permits(self, reach: Reach, is_change: bool) -> Result<(), OutOfScope> {
        if self.is_read_only && is_change {
            return Err(OutOfScope::ReadOnly);
        }
        let is_within = match reach {
            _ if self.chat.is_none() && self.agent.is_none() => true,
            Reach::Chat(chat) => self.chat == Some(chat),
            Reach::Agent(agent) => self.agent == Some(agent),
            Reach::Profile => !is_change,
            Reach::Rest => false,
        };
        if is_within { Ok(()) } else { Err(OutOfScope::Elsewhere) }
    }

    /// Returns whether there are no limits.
    pub fn is_full(self) -> bool {
        self == Self::default()
    }
}

/// `read_only chat=ID agent=ID`, with the limits only; empty for a key without limits.
impl fmt::Display for KeyScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let chat = self.chat.map(|chat| format!("chat={chat}"));
        let agent = self.agent.map(|agent| format!("agent={agent}"));
        let parts = [self.is_read_only.then(|| "read_only".to_owned()), chat, agent];
        f.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join(" "))
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_key_reaches_what_its_limits_name() {
        let (chat, other_chat) = (ChatId::new(Uuid::from_u128(1)), ChatId::new(Uuid::from_u128(2)));
        let (agent, other_agent) = (AgentId::new(Uuid::from_u128(1)), AgentId::new(Uuid::from_u128(2)));
        let all = KeyScope::default();
        let one_chat = KeyScope { chat: Some(chat), ..all };
        let one_agent = KeyScope { agent: Some(agent), ..all };
        let both = KeyScope { chat: Some(chat), agent: Some(agent), is_read_only: true };
        let reaches = [
            Reach::Chat(chat),
            Reach::Chat(other_chat),
            Reach::Agent(agent),
            Reach::Agent(other_agent),
            Reach::Profile,
            Reach::Rest,
        ];
        let read = |scope: KeyScope| reaches.map(|reach| scope.permits(reach, false).is_ok());
        assert_eq!(read(all), [true; 6]);
        assert_eq!(read(KeyScope { is_read_only: true, ..all }), [true; 6]);
        assert_eq!(read(one_chat), [true, false, false, false, true, false]);
        assert_eq!(read(one_agent), [false, false, true, false, true, false]);
        assert_eq!(read(both), [true, false, true, false, true, false]);

        let change = |scope: KeyScope| reaches.map(|reach| scope.permits(reach, true));
        assert_eq!(change(all), [Ok(()); 6]);
        assert_eq!(change(both), [Err(OutOfScope::ReadOnly); 6]);
        let elsewhere = Err(OutOfScope::Elsewhere);
        assert_eq!(change(one_chat), [Ok(()), elsewhere, elsewhere, elsewhere, elsewhere, elsewhere]);
        assert_eq!(change(one_agent), [elsewhere, elsewhere, Ok(()), elsewhere, elsewhere, elsewhere]);
    }

    #[test]
    fn limits_are_written_down_as_text() {
        let (chat, agent) = (ChatId::new(Uuid::from_u128(1)), AgentId::new(Uuid::from_u128(2)));
        assert!(KeyScope::default().is_full());
        assert_eq!(KeyScope::default().to_string(), "");
        let scope = KeyScope { is_read_only: true, chat: Some(chat), agent: Some(agent) };
        assert_eq!(scope.to_string(), format!("read_only chat={chat} agent={agent}"));
    }
}
