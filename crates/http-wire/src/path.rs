//! Ids in paths. A malformed id identifies nothing, so it is 404 like an unknown one.

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest};
use domain::id::{
    AccountId, AgentId, ApiKeyId, ChatId, ContactRequestId, ExecutionId, InvitationId, MemoryId, MessageId,
    RecordId, SessionId, UserId, parse_uuid,
};

use crate::error::{ApiError, ErrorCode};

/// `…/chats/{chat_id}`.
#[derive(Clone, Copy, Debug)]
pub struct ChatPath {
    /// The room.
    pub chat: ChatId,
}

/// `…/chats/{chat_id}/participants/{participant_id}`.
#[derive(Clone, Copy, Debug)]
pub struct ParticipantPath {
    /// The room.
    pub chat: ChatId,
    /// The user or the agent.
    pub participant: AccountId,
}

/// `…/chats/{chat_id}/messages/{message_id}`.
#[derive(Clone, Copy, Debug)]
pub struct MessagePath {
    /// The room.
    pub chat: ChatId,
    /// The message.
    pub message: MessageId,
}

/// `…/users/{user_id}`.
#[derive(Clone, Copy, Debug)]
pub struct UserPath {
    /// The user.
    pub user: UserId,
}

/// `…/agents/{agent_id}`.
#[derive(Clone, Copy, Debug)]
pub struct AgentPath {
    /// The agent.
    pub agent: AgentId,
}

/// `…/agents/{agent_id}/executions/{execution_id}`.
#[derive(Clone, Copy, Debug)]
pub struct ExecutionPath {
    /// The agent.
    pub agent: AgentId,
    /// The execution.
    pub execution: ExecutionId,
}

/// `…/contacts/{contact_id}`.
#[derive(Clone, Copy, Debug)]
pub struct ContactPath {
    /// A record, or the user or agent it is about.
    pub contact: RecordId,
}

/// `…/contacts/requests/{request_id}`.
#[derive(Clone, Copy, Debug)]
pub struct ContactRequestPath {
    /// The request.
    pub request: ContactRequestId,
}

/// `…/api-keys/{key_id}`.
#[derive(Clone, Copy, Debug)]
pub struct KeyPath {
    /// The record of the key.
    pub key: ApiKeyId,
}

/// `…/sessions/{session_id}`.
#[derive(Clone, Copy, Debug)]
pub struct SessionPath {
    /// The session.
    pub session: SessionId,
}

/// `…/organization/members/{member_id}`.
#[derive(Clone, Copy, Debug)]
pub struct MemberPath {
    /// The user.
    pub member: UserId,
}

/// `…/organization/invitations/{invitation_id}`.
#[derive(Clone, Copy, Debug)]
pub struct InvitationPath {
    /// The invitation.
    pub invitation: InvitationId,
}

/// `…/memories/{memory_id}`.
#[derive(Clone, Copy, Debug)]
pub struct MemoryPath {
    /// The memory.
    pub memory: MemoryId,
}

/// `…/work/{message_id}/{agent_id}`.
#[derive(Clone, Copy, Debug)]
pub struct WorkPath {
    /// The message.
    pub message: MessageId,
    /// The agent that it is for.
    pub agent: AgentId,
}

macro_rules! from_path {
    ($path:ident { $($member:ident: $name:literal as $wrap:path),+ }) => {
        impl FromRequest for $path {
            type Error = ApiError;
            type Future = Ready<Result<Self, ApiError>>;

            fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
                let id = |name| request.match_info().get(name).and_then(parse_uuid);
                let path = || Some(Self { $($member: $wrap(id($name)?)),+ });
                ready(path().ok_or_else(|| ApiError::new(ErrorCode::NotFound, "The path contains an id that is not \
                 valid. Ids are UUIDs; copy it from a list.")))
            }
        }
    };
}

from_path!(KeyPath { key: "key_id" as ApiKeyId::new });
from_path!(SessionPath { session: "session_id" as SessionId::new });
from_path!(MemberPath { member: "member_id" as UserId::new });
from_path!(InvitationPath { invitation: "invitation_id" as InvitationId::new });
from_path!(MemoryPath { memory: "memory_id" as MemoryId::new });
from_path!(UserPath { user: "user_id" as UserId::new });
from_path!(AgentPath { agent: "agent_id" as AgentId::new });
from_path!(ExecutionPath {
    agent: "agent_id" as AgentId::new,
    execution: "execution_id" as ExecutionId::new
});
from_path!(ChatPath { chat: "chat_id" as ChatId::new });
from_path!(ParticipantPath {
    chat: "chat_id" as ChatId::new,
    participant: "participant_id" as AccountId::new
});
from_path!(WorkPath { message: "message_id" as MessageId::new, agent: "agent_id" as AgentId::new });
from_path!(ContactPath { contact: "contact_id" as RecordId::new });
from_path!(ContactRequestPath { request: "request_id" as ContactRequestId::new });
from_path!(MessagePath { chat: "chat_id" as ChatId::new, message: "message_id" as MessageId::new });
