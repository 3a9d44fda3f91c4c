//! What can be done that is worth an entry.

/// What was done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AuditAction {
    /// A user was made.
    UserCreated,
    /// The operator deleted a user; keys, sessions and memberships ended with the user.
    UserDeleted,
    /// An agent was registered.
    AgentRegistered,
    /// The operator said who may find an agent.
    AgentMarked,
    /// An owner changed an agent; the detail says what, and to what where that decides who reaches whom.
    AgentUpdated,
    /// An agent was deleted; its keys and memberships ended with it.
    AgentDeleted,
    /// The operator keeps a user or an agent out.
    AccountDisabled,
    /// The operator lets one in again.
    AccountEnabled,
    /// A key was made.
    KeyCreated,
    /// A key was revoked.
    KeyRevoked,
    /// A user set a password; what the one before had opened ended with it.
    PasswordSet,
    /// The operator issued a token with which a user may set a password.
    PasswordResetIssued,
    /// The operator issued an access token, with which one may act as the user; the detail says until when.
    TokenIssued,
    /// An organization was given a plan.
    PlanSet,
    /// The operator made an organization.
    OrganizationCreated,
    /// The operator deleted an organization.
    OrganizationDeleted,
    /// An organization was given another name.
    OrganizationRenamed,
    /// A member was given a role.
    RoleSet,
    /// Somebody came into an organization.
    MemberJoined,
    /// Somebody left an organization.
    MemberLeft,
    /// Somebody was removed from an organization.
    MemberRemoved,
    /// Somebody was invited.
    InvitationCreated,
    /// An invitation was taken back.
    InvitationRevoked,
    /// A room was made.
    ChatCreated,
    /// A room was given another title.
    ChatRenamed,
    /// A room was deleted.
    ChatDeleted,
    /// Somebody was added to a room.
    ParticipantAdded,
    /// Somebody was removed from a room.
    ParticipantRemoved,
    /// Somebody left a room.
    ParticipantLeft,
    /// A user logged in, which opened a session.
    LoginSucceeded,
    /// Somebody gave a wrong password, for an account or for a name that nobody has; the detail counts how often.
    LoginFailed,
    /// A refresh token that had been exchanged before was presented; its session ended.
    TokenReused,
    /// A user logged out, or ended another session.
    SessionEnded,
    /// A sender edited a message.
    MessageEdited,
    /// A sender deleted a message.
    MessageDeleted,
    /// The operator exported everything that the store holds.
    StoreExported,
}

impl AuditAction {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::UserCreated,
        Self::UserDeleted,
        Self::AgentRegistered,
        Self::AgentMarked,
        Self::AgentUpdated,
        Self::AgentDeleted,
        Self::AccountDisabled,
        Self::AccountEnabled,
        Self::KeyCreated,
        Self::KeyRevoked,
        Self::PasswordSet,
        Self::PasswordResetIssued,
        Self::TokenIssued,
        Self::PlanSet,
        Self::OrganizationCreated,
        Self::OrganizationDeleted,
        Self::OrganizationRenamed,
        Self::RoleSet,
        Self::MemberJoined,
        Self::MemberLeft,
        Self::MemberRemoved,
        Self::InvitationCreated,
        Self::InvitationRevoked,
        Self::ChatCreated,
        Self::ChatRenamed,
        Self::ChatDeleted,
        Self::ParticipantAdded,
        Self::ParticipantRemoved,
        Self::ParticipantLeft,
        Self::LoginSucceeded,
        Self::LoginFailed,
        Self::TokenReused,
        Self::SessionEnded,
        Self::MessageEdited,
        Self::MessageDeleted,
        Self::StoreExported,
    ];

    /// The word that the wire and the stores use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UserCreated => "user.created",
            Self::UserDeleted => "user.deleted",
            Self::AgentRegistered => "agent.registered",
            Self::AgentMarked => "agent.marked",
            Self::AgentUpdated => "agent.updated",
            Self::AgentDeleted => "agent.deleted",
            Self::AccountDisabled => "account.disabled",
            Self::AccountEnabled => "account.enabled",
            Self::KeyCreated => "key.created",
            Self::KeyRevoked => "key.revoked",
            Self::PasswordSet => "password.set",
            Self::PasswordResetIssued => "password.reset_issued",
            Self::TokenIssued => "token.issued",
            Self::PlanSet => "plan.set",
            Self::OrganizationCreated => "organization.created",
            Self::OrganizationDeleted => "organization.deleted",
            Self::OrganizationRenamed => "organization.renamed",
            Self::RoleSet => "member.role_set",
            Self::MemberJoined => "member.joined",
            Self::MemberLeft => "member.left",
            Self::MemberRemoved => "member.removed",
            Self::InvitationCreated => "invitation.created",
            Self::InvitationRevoked => "invitation.revoked",
            Self::ChatCreated => "chat.created",
            Self::ChatRenamed => "chat.renamed",
            Self::ChatDeleted => "chat.deleted",
            Self::ParticipantAdded => "participant.added",
            Self::ParticipantRemoved => "participant.removed",
            Self::ParticipantLeft => "participant.left",
            Self::LoginSucceeded => "login.succeeded",
            Self::LoginFailed => "login.failed",
            Self::TokenReused => "session.token_reused",
            Self::SessionEnded => "session.ended",
            Self::MessageEdited => "message.edited",
            Self::MessageDeleted => "message.deleted",
            Self::StoreExported => "store.exported",
        }
    }

    /// Reads [`Self::as_str`] back.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|action| action.as_str() == text)
    }
}
