//! Ids in paths. A malformed id identifies nothing, so it is 404 like an unknown one.

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest};
use domain::attention::AttentionId;
use domain::board::WhichTask;
use domain::id::{
    AccountId, AgentId, ApiKeyId, BulkDeletionId, ChatId, ContactRequestId, ExecutionId, FileId,
    InvitationId, MemoryId, MessageId, NotificationChannelId, OrganizationId, PasskeyId, RecordId,
    ReminderId, SessionId, UserId, WebhookDeliveryId,
};

use crate::error::{ApiError, ErrorCode, resource_not_found};

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

/// `…/chats/{chat_id}/tasks/{task_id}`, where the last part is an id or a number.
#[derive(Clone, Copy, Debug)]
pub struct TaskPath {
    /// The room.
    pub chat: ChatId,
    /// The task.
    pub task: WhichTask,
}

/// `…/chats/{chat_id}/files`.
#[derive(Clone, Copy, Debug)]
pub struct RoomOfFilesPath {
    /// The room.
    pub chat: ChatId,
}

/// `…/chats/{chat_id}/files/{file_id}`.
#[derive(Clone, Copy, Debug)]
pub struct FilePath {
    /// The room.
    pub chat: ChatId,
    /// The file.
    pub file: FileId,
}

/// `…/users/{user_id}`.
#[derive(Clone, Copy, Debug)]
pub struct UserPath {
    /// The user.
    pub user: UserId,
}

/// `…/organizations/{organization_id}`.
#[derive(Clone, Copy, Debug)]
pub struct OrganizationPath {
    /// The organization.
    pub organization: OrganizationId,
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

/// `…/agents/{agent_id}/webhook/deliveries/{delivery_id}`.
#[derive(Clone, Copy, Debug)]
pub struct WebhookDeliveryPath {
    /// The agent.
    pub agent: AgentId,
    /// The delivery.
    pub delivery: WebhookDeliveryId,
}

/// `…/organization/webhook/deliveries/{delivery_id}`.
#[derive(Clone, Copy, Debug)]
pub struct EventDeliveryPath {
    /// The delivery.
    pub delivery: WebhookDeliveryId,
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

/// `…/bulk-deletions/{job_id}`.
#[derive(Clone, Copy, Debug)]
pub struct BulkDeletionPath {
    /// The job.
    pub job: BulkDeletionId,
}

/// `…/reminders/{reminder_id}`.
#[derive(Clone, Copy, Debug)]
pub struct ReminderPath {
    /// The reminder.
    pub reminder: ReminderId,
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

/// `…/attention/{attention_id}`.
#[derive(Clone, Copy, Debug)]
pub struct AttentionPath {
    /// What waits.
    pub item: AttentionId,
}

/// `…/notifications/channels/{channel_id}`.
#[derive(Clone, Copy, Debug)]
pub struct NotificationChannelPath {
    /// The channel.
    pub channel: NotificationChannelId,
}

/// `…/passkeys/{passkey_id}`.
#[derive(Clone, Copy, Debug)]
pub struct PasskeyPath {
    /// The passkey.
    pub passkey: PasskeyId,
}

fn malformed() -> ApiError {
    let message = "The path contains an id that is not valid. Ids are UUIDs; copy it from a list.";
    ApiError::new(ErrorCode::NotFound, message)
}

/// Reads the members of a path from its parts; the refusal is that of a malformed id unless it is given.
macro_rules! from_path {
    ($path:ident { $($member:ident: $name:literal as $parse:path),+ }) => {
        from_path!($path { $($member: $name as $parse),+ } or malformed);
    };
    ($path:ident { $($member:ident: $name:literal as $parse:path),+ } or $refusal:path) => {
        impl FromRequest for $path {
            type Error = ApiError;
            type Future = Ready<Result<Self, ApiError>>;

            fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
                let path = || Some(Self { $($member: $parse(request.match_info().get($name)?)?),+ });
                ready(path().ok_or_else($refusal))
            }
        }
    };
}

from_path!(KeyPath { key: "key_id" as ApiKeyId::parse });
from_path!(SessionPath { session: "session_id" as SessionId::parse });
from_path!(MemberPath { member: "member_id" as UserId::parse });
from_path!(InvitationPath { invitation: "invitation_id" as InvitationId::parse });
from_path!(BulkDeletionPath { job: "job_id" as BulkDeletionId::parse });
from_path!(ReminderPath { reminder: "reminder_id" as ReminderId::parse });
from_path!(MemoryPath { memory: "memory_id" as MemoryId::parse });
from_path!(OrganizationPath { organization: "organization_id" as OrganizationId::parse });
from_path!(UserPath { user: "user_id" as UserId::parse });
from_path!(AgentPath { agent: "agent_id" as AgentId::parse });
from_path!(ExecutionPath {
    agent: "agent_id" as AgentId::parse,
    execution: "execution_id" as ExecutionId::parse
});
from_path!(WebhookDeliveryPath {
    agent: "agent_id" as AgentId::parse,
    delivery: "delivery_id" as WebhookDeliveryId::parse
});
from_path!(EventDeliveryPath { delivery: "delivery_id" as WebhookDeliveryId::parse });
from_path!(ChatPath { chat: "chat_id" as ChatId::parse });
from_path!(ParticipantPath {
    chat: "chat_id" as ChatId::parse,
    participant: "participant_id" as AccountId::parse
});
from_path!(WorkPath { message: "message_id" as MessageId::parse, agent: "agent_id" as AgentId::parse });
from_path!(NotificationChannelPath { channel: "channel_id" as NotificationChannelId::parse });
from_path!(PasskeyPath { passkey: "passkey_id" as PasskeyId::parse });
from_path!(AttentionPath { item: "attention_id" as AttentionId::parse });
from_path!(ContactPath { contact: "contact_id" as RecordId::parse });
from_path!(ContactRequestPath { request: "request_id" as ContactRequestId::parse });
from_path!(MessagePath { chat: "chat_id" as ChatId::parse, message: "message_id" as MessageId::parse });
from_path!(TaskPath { chat: "chat_id" as ChatId::parse, task: "task_id" as WhichTask::parse } or resource_not_found);
from_path!(RoomOfFilesPath { chat: "chat_id" as ChatId::parse } or resource_not_found);
from_path!(FilePath { chat: "chat_id" as ChatId::parse, file: "file_id" as FileId::parse } or resource_not_found);
