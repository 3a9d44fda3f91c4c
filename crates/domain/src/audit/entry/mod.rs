//! Entries of the audit log, and the organization that they belong to.

mod account;
mod chat;
mod login;
mod organization;

use super::action::AuditAction;
use crate::caller::Caller;
use crate::id::{
    AccountId, AgentId, ApiKeyId, ChatId, InvitationId, MessageId, OrganizationId, ParticipantId, SessionId,
    SubjectId, UserId,
};
use crate::time::Timestamp;

/// The actor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Actor {
    /// The operator, by a command.
    Operator,
    /// An unauthenticated client.
    Anonymous,
    /// The server, acting on its own.
    Server,
    /// A user or an agent.
    Participant(ParticipantId),
}

impl Actor {
    /// The word that the stores use, and the user or agent.
    pub fn parts(self) -> (&'static str, Option<AccountId>) {
        match self {
            Self::Operator => ("Operator", None),
            Self::Anonymous => ("Anonymous", None),
            Self::Server => ("Server", None),
            Self::Participant(id) => (id.kind().as_str(), Some(id.into())),
        }
    }
}

impl From<Caller> for Actor {
    fn from(caller: Caller) -> Self {
        Self::Participant(caller.participant())
    }
}

impl From<UserId> for Actor {
    fn from(user: UserId) -> Self {
        Self::Participant(ParticipantId::User(user))
    }
}

/// An object of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AuditObject {
    /// A user.
    User(UserId),
    /// An agent.
    Agent(AgentId),
    /// A chat.
    Chat(ChatId),
    /// A key.
    Key(ApiKeyId),
    /// An organization.
    Organization(OrganizationId),
    /// An invitation.
    Invitation(InvitationId),
    /// A session.
    Session(SessionId),
    /// A message.
    Message(MessageId),
    /// The installation as a whole; its id is nil.
    Installation,
}

impl AuditObject {
    /// The word that the wire and the stores use, and the id.
    pub fn parts(self) -> (&'static str, SubjectId) {
        let (kind, id) = match self {
            Self::User(id) => ("User", id.uuid()),
            Self::Agent(id) => ("Agent", id.uuid()),
            Self::Chat(id) => ("Chat", id.uuid()),
            Self::Key(id) => ("ApiKey", id.uuid()),
            Self::Organization(id) => ("Organization", id.uuid()),
            Self::Invitation(id) => ("Invitation", id.uuid()),
            Self::Session(id) => ("Session", id.uuid()),
            Self::Message(id) => ("Message", id.uuid()),
            Self::Installation => ("Installation", SubjectId::NIL.uuid()),
        };
        (kind, SubjectId::new(id))
    }

    /// Reads [`Self::parts`] back.
    pub fn from_parts(kind: &str, id: SubjectId) -> Option<Self> {
        let id = id.uuid();
        let all = [
            Self::User(UserId::new(id)),
            Self::Agent(AgentId::new(id)),
            Self::Chat(ChatId::new(id)),
            Self::Key(ApiKeyId::new(id)),
            Self::Organization(OrganizationId::new(id)),
            Self::Invitation(InvitationId::new(id)),
            Self::Session(SessionId::new(id)),
            Self::Message(MessageId::new(id)),
            Self::Installation,
        ];
        all.into_iter().find(|object| object.parts().0 == kind)
    }
}

impl From<UserId> for AuditObject {
    fn from(id: UserId) -> Self {
        Self::User(id)
    }
}

impl From<ParticipantId> for AuditObject {
    fn from(id: ParticipantId) -> Self {
        match id {
            ParticipantId::User(id) => Self::User(id),
            ParticipantId::Agent(id) => Self::Agent(id),
        }
    }
}

/// The organization of an entry, which the store looks up when it writes the entry.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AuditTenant {
    /// This organization.
    Organization(OrganizationId),
    /// That of this user, or of this agent's owner.
    Of(ParticipantId),
    /// The chat's; if that is unknown, this one if it is given.
    Chat(ChatId, Option<OrganizationId>),
    /// The chat's; if that is unknown, this user's.
    ChatOf(ChatId, UserId),
    /// None: only the operator reads it.
    Installation,
}

impl AuditTenant {
    const fn of_user(user: UserId) -> Self {
        Self::Of(ParticipantId::User(user))
    }

    /// A chat, a user or an agent, and an organization: the first of them that exists determines
    /// the organization of the entry.
    pub fn parts(self) -> (Option<ChatId>, Option<AccountId>, Option<OrganizationId>) {
        match self {
            Self::Organization(id) => (None, None, Some(id)),
            Self::Of(who) => (None, Some(who.into()), None),
            Self::Chat(chat, otherwise) => (Some(chat), None, otherwise),
            Self::ChatOf(chat, user) => (Some(chat), Some(user.into()), None),
            Self::Installation => (None, None, None),
        }
    }
}

/// An entry of the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AuditEntry {
    /// The time of the action.
    pub at: Timestamp,
    /// The actor.
    pub actor: Actor,
    /// The action.
    pub action: AuditAction,
    /// The subject.
    pub subject: AuditObject,
    /// What the subject belongs to, or who the action was for: the chat of a participant, the holder of a key.
    pub place: Option<AuditObject>,
    /// The detail: a role, the name of a plan.
    pub detail: Option<String>,
    /// The organization.
    pub tenant: AuditTenant,
}

impl AuditEntry {
    /// Everything that the store holds, exported by the operator.
    pub fn store_exported(now: Timestamp) -> Self {
        let (action, subject) = (AuditAction::StoreExported, AuditObject::Installation);
        Self::new(action, Actor::Operator, subject, AuditTenant::Installation, now)
    }

    /// An entry without a place and a detail.
    fn new(
        action: AuditAction,
        actor: impl Into<Actor>,
        subject: impl Into<AuditObject>,
        tenant: AuditTenant,
        at: Timestamp,
    ) -> Self {
        Self { at, actor: actor.into(), action, subject: subject.into(), place: None, detail: None, tenant }
    }

    fn in_place(self, place: impl Into<AuditObject>) -> Self {
        Self { place: Some(place.into()), ..self }
    }

    fn with_detail(self, detail: impl Into<String>) -> Self {
        Self { detail: Some(detail.into()), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_they_were_written() {
        let id = SubjectId::new(uuid::Uuid::from_u128(7));
        for kind in ["User", "Agent", "Chat", "ApiKey", "Organization", "Invitation", "Session", "Message"] {
            assert_eq!(AuditObject::from_parts(kind, id).map(AuditObject::parts), Some((kind, id)));
        }
        let whole = AuditObject::Installation;
        assert_eq!(AuditObject::from_parts(whole.parts().0, whole.parts().1), Some(whole));
        assert_eq!(AuditObject::from_parts("Key", id), None);
    }
}
