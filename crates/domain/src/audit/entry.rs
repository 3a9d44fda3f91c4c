//! Entries of the audit log, and the organization that they belong to.

use std::net::IpAddr;

use uuid::Uuid;

use super::action::AuditAction;
use crate::account::{
    Agent, AgentChanges, DeleteAgent, DeleteUser, KeyRecord, MarkAgent, NewAgent, NewKey, NewUser,
    SetDisabled, UpdateAgent, User,
};
use crate::caller::Caller;
use crate::chat::{AddParticipant, Chat, DeleteChat, RemoveParticipant, RenameChat, Role};
use crate::id::{
    AgentId, ApiKeyId, ChatId, InvitationId, MessageId, OrganizationId, ParticipantId, SessionId, UserId,
};
use crate::login::{FailedLogin, NewReset, NewSession, SessionHolder};
use crate::message::{DeleteMessage, EditMessage};
use crate::plan::PlanName;
use crate::time::Timestamp;

/// The actor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Actor {
    /// The operator, by a command.
    Operator,
    /// An unauthenticated client.
    Anonymous,
    /// A user or an agent.
    Participant(ParticipantId),
}

impl Actor {
    /// The word that the stores use, and the id of a user or an agent.
    pub const fn parts(self) -> (&'static str, Option<Uuid>) {
        match self {
            Self::Operator => ("Operator", None),
            Self::Anonymous => ("Anonymous", None),
            Self::Participant(id) => (id.kind().as_str(), Some(id.uuid())),
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
    pub const fn parts(self) -> (&'static str, Uuid) {
        match self {
            Self::User(id) => ("User", id.uuid()),
            Self::Agent(id) => ("Agent", id.uuid()),
            Self::Chat(id) => ("Chat", id.uuid()),
            Self::Key(id) => ("ApiKey", id.uuid()),
            Self::Organization(id) => ("Organization", id.uuid()),
            Self::Invitation(id) => ("Invitation", id.uuid()),
            Self::Session(id) => ("Session", id.uuid()),
            Self::Message(id) => ("Message", id.uuid()),
            Self::Installation => ("Installation", Uuid::nil()),
        }
    }

    /// Reads [`Self::parts`] back.
    pub fn from_parts(kind: &str, id: Uuid) -> Option<Self> {
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
    /// A chat, a user or an agent, and an organization: the first of them that exists determines
    /// the organization of the entry.
    pub fn parts(self) -> (Option<Uuid>, Option<Uuid>, Option<Uuid>) {
        match self {
            Self::Organization(id) => (None, None, Some(id.uuid())),
            Self::Of(who) => (None, Some(who.uuid()), None),
            Self::Chat(chat, otherwise) => (Some(chat.uuid()), None, otherwise.map(OrganizationId::uuid)),
            Self::ChatOf(chat, user) => (Some(chat.uuid()), Some(user.uuid()), None),
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
    /// The place or the beneficiary.
    pub place: Option<AuditObject>,
    /// The detail: a role, the name of a plan.
    pub detail: Option<String>,
    /// The organization.
    pub tenant: AuditTenant,
}

impl AuditEntry {
    /// A user who was made, in the organization that `user` names.
    pub fn user_created(new: &NewUser, user: &User) -> Self {
        Self {
            at: user.created_at,
            actor: new.by,
            action: AuditAction::UserCreated,
            subject: AuditObject::User(user.id),
            place: Some(AuditObject::Organization(user.organization)),
            detail: None,
            tenant: AuditTenant::Organization(user.organization),
        }
    }

    /// A password that its user has set, now or with a token of the operator.
    pub fn password_set(holder: &SessionHolder) -> Self {
        Self {
            at: holder.password_set_at,
            actor: holder.user.id.into(),
            action: AuditAction::PasswordSet,
            subject: AuditObject::User(holder.user.id),
            place: None,
            detail: None,
            tenant: AuditTenant::Organization(holder.user.organization),
        }
    }

    /// A token of the operator with which a user may set a password.
    pub fn password_reset_issued(new: &NewReset) -> Self {
        Self {
            at: new.now,
            actor: Actor::Operator,
            action: AuditAction::PasswordResetIssued,
            subject: AuditObject::User(new.user),
            place: None,
            detail: None,
            tenant: AuditTenant::Of(ParticipantId::User(new.user)),
        }
    }

    /// An agent that was registered.
    pub fn agent_registered(new: &NewAgent, organization: OrganizationId) -> Self {
        Self {
            at: new.now,
            actor: new.by,
            action: AuditAction::AgentRegistered,
            subject: AuditObject::Agent(new.id),
            place: None,
            detail: None,
            tenant: AuditTenant::Organization(organization),
        }
    }

    /// An agent that the operator has marked.
    pub fn agent_marked(command: &MarkAgent, agent: &Agent) -> Self {
        let marks = &command.marks;
        let marks = [
            ("global", marks.is_global),
            ("shared", marks.shared_with_organization),
            ("listed", marks.listed_in_directory),
        ];
        let said = |(mark, is_set): (&str, Option<bool>)| is_set.map(|is_set| format!("{mark}={is_set}"));
        Self {
            at: command.now,
            actor: Actor::Operator,
            action: AuditAction::AgentMarked,
            subject: AuditObject::Agent(agent.id),
            place: None,
            detail: Some(marks.into_iter().filter_map(said).collect::<Vec<_>>().join(" ")),
            tenant: AuditTenant::Of(ParticipantId::Agent(agent.id)),
        }
    }

    /// An agent that its owner has changed.
    pub fn agent_updated(command: &UpdateAgent) -> Self {
        // Names every field, so that a new one is recorded as well.
        let AgentChanges {
            name,
            description,
            model_type,
            bio,
            tags,
            listed_in_directory,
            registry_access,
            shared_with_organization,
        } = &command.changes;
        let texts = [
            ("name", name.is_some()),
            ("description", description.is_some()),
            ("model", model_type.is_some()),
            ("bio", bio.is_some()),
            ("tags", tags.is_some()),
        ];
        let flags = [
            ("shared", *shared_with_organization),
            ("listed", *listed_in_directory),
            ("registry", *registry_access),
        ];
        let texts = texts.into_iter().filter(|(_, is_changed)| *is_changed).map(|(name, _)| name.to_owned());
        let flag = |(name, is_set): (&str, Option<bool>)| is_set.map(|is_set| format!("{name}={is_set}"));
        Self {
            at: command.now,
            actor: command.owner.into(),
            action: AuditAction::AgentUpdated,
            subject: AuditObject::Agent(command.agent),
            place: None,
            detail: Some(texts.chain(flags.into_iter().filter_map(flag)).collect::<Vec<_>>().join(" ")),
            tenant: AuditTenant::Of(ParticipantId::User(command.owner)),
        }
    }

    /// An access token that the operator has issued for a user.
    pub fn token_issued(user: UserId, expires_at: Timestamp, now: Timestamp) -> Self {
        Self {
            at: now,
            actor: Actor::Operator,
            action: AuditAction::TokenIssued,
            subject: AuditObject::User(user),
            place: None,
            detail: Some(expires_at.to_string()),
            tenant: AuditTenant::Of(ParticipantId::User(user)),
        }
    }

    /// A user or an agent that the operator has disabled, or enabled.
    pub fn account_disabled(command: &SetDisabled) -> Self {
        let action =
            if command.disabled { AuditAction::AccountDisabled } else { AuditAction::AccountEnabled };
        Self {
            at: command.now,
            actor: Actor::Operator,
            action,
            subject: command.who.into(),
            place: None,
            detail: None,
            tenant: AuditTenant::Of(command.who),
        }
    }

    /// A user that the operator has deleted.
    pub fn user_deleted(command: &DeleteUser) -> Self {
        let user = ParticipantId::User(command.user);
        Self {
            at: command.now,
            actor: Actor::Operator,
            action: AuditAction::UserDeleted,
            subject: user.into(),
            place: None,
            detail: None,
            tenant: AuditTenant::Of(user),
        }
    }

    /// An agent that was deleted.
    pub fn agent_deleted(command: &DeleteAgent) -> Self {
        Self {
            at: command.now,
            actor: command.by,
            action: AuditAction::AgentDeleted,
            subject: AuditObject::Agent(command.agent),
            place: None,
            detail: None,
            tenant: AuditTenant::Of(ParticipantId::User(command.owner)),
        }
    }

    /// A key that was made; its limits and its expiry are the detail.
    pub fn key_created(by: Actor, key: &NewKey, holder: ParticipantId, now: Timestamp) -> Self {
        let scope = (!key.scope.is_full()).then(|| key.scope.to_string());
        let expiry = key.expires_at.map(|until| format!("expires_at={until}"));
        let detail = [scope, expiry].into_iter().flatten().collect::<Vec<_>>().join(" ");
        let detail = (!detail.is_empty()).then_some(detail);
        Self { detail, ..Self::of_key(AuditAction::KeyCreated, by, key.id, holder, now) }
    }

    /// A key that was revoked.
    pub fn key_revoked(by: Actor, key: &KeyRecord, now: Timestamp) -> Self {
        Self::of_key(AuditAction::KeyRevoked, by, key.id, key.holder, now)
    }

    fn of_key(
        action: AuditAction,
        actor: Actor,
        key: ApiKeyId,
        holder: ParticipantId,
        at: Timestamp,
    ) -> Self {
        Self {
            at,
            actor,
            action,
            subject: AuditObject::Key(key),
            place: Some(holder.into()),
            detail: None,
            tenant: AuditTenant::Of(holder),
        }
    }

    /// A plan that an organization was given.
    pub fn plan_set(organization: OrganizationId, plan: &PlanName, now: Timestamp) -> Self {
        Self {
            at: now,
            actor: Actor::Operator,
            action: AuditAction::PlanSet,
            subject: AuditObject::Organization(organization),
            place: None,
            detail: Some(plan.as_str().to_owned()),
            tenant: AuditTenant::Organization(organization),
        }
    }

    /// A chat that was made, in this organization; a given title is the detail. A title that derives
    /// from a text goes with it, so it is not kept here.
    pub fn chat_created(chat: &Chat, creator: ParticipantId, organization: OrganizationId) -> Self {
        Self {
            at: chat.created_at,
            actor: Actor::Participant(creator),
            action: AuditAction::ChatCreated,
            subject: AuditObject::Chat(chat.id),
            place: None,
            detail: chat.title.clone(),
            tenant: AuditTenant::Organization(organization),
        }
    }

    /// A chat that was given another title, which is the detail.
    pub fn chat_renamed(command: &RenameChat) -> Self {
        let subject = AuditObject::Chat(command.chat);
        Self {
            place: None,
            detail: Some(command.title.as_str().to_owned()),
            ..Self::in_chat(AuditAction::ChatRenamed, command.by, subject, command.chat, command.now)
        }
    }

    /// A chat that was deleted.
    pub fn chat_deleted(command: &DeleteChat) -> Self {
        Self {
            at: command.now,
            actor: command.by.map_or(Actor::Operator, Actor::from),
            action: AuditAction::ChatDeleted,
            subject: AuditObject::Chat(command.chat),
            place: None,
            detail: None,
            tenant: AuditTenant::Chat(command.chat, command.by.map(Caller::organization)),
        }
    }

    /// A participant that was added to a chat.
    pub fn participant_added(command: &AddParticipant, added: ParticipantId) -> Self {
        let action = AuditAction::ParticipantAdded;
        let entry = Self::in_chat(action, command.by, added.into(), command.chat, command.now);
        Self { detail: Some(Role::as_str(command.role).to_owned()), ..entry }
    }

    /// A participant that was removed from a chat, or left it.
    pub fn participant_removed(command: &RemoveParticipant, removed: ParticipantId) -> Self {
        let left = command.by.participant() == removed;
        let action = if left { AuditAction::ParticipantLeft } else { AuditAction::ParticipantRemoved };
        Self::in_chat(action, command.by, removed.into(), command.chat, command.now)
    }

    /// A message that its sender edited. Neither text is kept.
    pub fn message_edited(command: &EditMessage) -> Self {
        let EditMessage { chat, message, by, now, .. } = command;
        Self::of_message(AuditAction::MessageEdited, *by, *message, *chat, *now)
    }

    /// A message that its sender deleted.
    pub fn message_deleted(command: &DeleteMessage) -> Self {
        let DeleteMessage { chat, message, by, now } = *command;
        Self::of_message(AuditAction::MessageDeleted, by, message, chat, now)
    }

    fn of_message(action: AuditAction, by: UserId, message: MessageId, chat: ChatId, at: Timestamp) -> Self {
        Self {
            at,
            actor: by.into(),
            action,
            subject: AuditObject::Message(message),
            place: Some(AuditObject::Chat(chat)),
            detail: None,
            tenant: AuditTenant::ChatOf(chat, by),
        }
    }

    /// A session that a user opened by logging in.
    pub fn login_succeeded(new: &NewSession) -> Self {
        let NewSession { id, user, address, now, .. } = *new;
        Self::of_session(AuditAction::LoginSucceeded, user.into(), user, id, address, now)
    }

    /// A refresh token that was presented a second time, by a client with a copy of it.
    pub fn token_reused(user: UserId, session: SessionId, now: Timestamp) -> Self {
        Self::of_session(AuditAction::TokenReused, Actor::Anonymous, user, session, None, now)
    }

    /// A session that its user ended, by logging out or from another one.
    pub fn session_ended(user: UserId, session: SessionId, now: Timestamp) -> Self {
        Self::of_session(AuditAction::SessionEnded, user.into(), user, session, None, now)
    }

    fn of_session(
        action: AuditAction,
        actor: Actor,
        user: UserId,
        session: SessionId,
        address: Option<IpAddr>,
        at: Timestamp,
    ) -> Self {
        Self {
            at,
            actor,
            action,
            subject: AuditObject::User(user),
            place: Some(AuditObject::Session(session)),
            detail: address.map(|address| format!("address={address}")),
            tenant: AuditTenant::Of(ParticipantId::User(user)),
        }
    }

    /// Wrong passwords for an account, or for unknown names, which are not stored.
    pub fn login_failed(failed: &FailedLogin, count: u64, now: Timestamp) -> Self {
        let FailedLogin { user, address } = *failed;
        let address = address.map(|address| format!("address={address} ")).unwrap_or_default();
        let (subject, tenant) = match user {
            Some(user) => (AuditObject::User(user), AuditTenant::Of(ParticipantId::User(user))),
            None => (AuditObject::Installation, AuditTenant::Installation),
        };
        Self {
            at: now,
            actor: Actor::Anonymous,
            action: AuditAction::LoginFailed,
            subject,
            place: None,
            detail: Some(format!("{address}count={count}")),
            tenant,
        }
    }

    /// Wrong passwords for more accounts, or from more addresses, than there are entries for.
    pub fn logins_failed_elsewhere(count: u64, now: Timestamp) -> Self {
        Self::login_failed(&FailedLogin { user: None, address: None }, count, now)
    }

    /// Everything that the store holds, exported by the operator.
    pub fn store_exported(now: Timestamp) -> Self {
        Self {
            at: now,
            actor: Actor::Operator,
            action: AuditAction::StoreExported,
            subject: AuditObject::Installation,
            place: None,
            detail: None,
            tenant: AuditTenant::Installation,
        }
    }

    fn in_chat(action: AuditAction, by: Caller, subject: AuditObject, chat: ChatId, at: Timestamp) -> Self {
        Self {
            at,
            actor: by.into(),
            action,
            subject,
            place: Some(AuditObject::Chat(chat)),
            detail: None,
            tenant: AuditTenant::Chat(chat, Some(by.organization())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_they_were_written() {
        let id = Uuid::from_u128(7);
        for kind in ["User", "Agent", "Chat", "ApiKey", "Organization", "Invitation", "Session", "Message"] {
            assert_eq!(AuditObject::from_parts(kind, id).map(AuditObject::parts), Some((kind, id)));
        }
        let whole = AuditObject::Installation;
        assert_eq!(AuditObject::from_parts(whole.parts().0, whole.parts().1), Some(whole));
        assert_eq!(AuditObject::from_parts("Key", id), None);
    }
}
