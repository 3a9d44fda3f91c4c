//! Every domain error, as clients receive it.
//!
//! The matches are exhaustive, so that a new variant does not compile without an answer. Pointers
//! are those of the wrapped form of a body; [`ApiError::without_wrapper`] shortens them.

mod account;
mod attention;
mod board;
mod control;
mod delivery;
mod file;
mod login;
mod memory;
mod notification;
mod organization;
mod participant;
mod reminder;
mod webhook;
mod work;

use domain::activity::{ReadActivityError, ReportActivityError};
use domain::bulk_deletion::ReadBulkDeletionError;
use domain::chat::{
    CreateChatError, DeleteChatError, MarkReadError, MarkReadRefused, ReadChatError, RenameChatError,
    RenameChatRefused,
};
use domain::contact::{AnswerRequestError, RemoveContactError, ResolveError, SendRefused, SendRequestError};
use domain::foreign::ForeignCause;
use domain::id::{ChatId, ParticipantKind};
use domain::legal_hold::UnderHold;
use domain::message::{
    ChangeMessageError, ChangeMessageRefused, MentionError, PostEventError, ReadMessagesError,
    ReadSurroundingsError, SendMessageError,
};
use domain::peer::ListPeersError;
use domain::plan::{LimitReached, Resource};
use domain::store::StoreError;
use serde_json::{Map, Value};

use super::render::INTERNAL_MESSAGE;
use super::{ApiError, ErrorCode};
use crate::idempotent::IDEMPOTENCY_KEY;

/// The value of `Retry-After` for an unavailable store, in seconds.
const STORE_RETRY_SECONDS: u32 = 1;

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::Unavailable(_) => {
                Self::new(ErrorCode::ServiceUnavailable, "The store is unavailable. Try again.")
                    .with_retry_after(STORE_RETRY_SECONDS)
            }
            StoreError::Broken(_) => Self::new(ErrorCode::InternalError, INTERNAL_MESSAGE),
        }
        .with_cause(error)
    }
}

impl From<ReadBulkDeletionError> for ApiError {
    fn from(error: ReadBulkDeletionError) -> Self {
        match error {
            ReadBulkDeletionError::NotFound => Self::new(
                ErrorCode::NotFound,
                "You have no bulk deletion with this id. A bulk deletion can be read for 30 days after it ends.",
            ),
            ReadBulkDeletionError::Store(error) => error.into(),
        }
    }
}

impl From<ForeignCause> for ApiError {
    fn from(ForeignCause: ForeignCause) -> Self {
        Self::new(
            ErrorCode::ForeignCause,
            "You are working on a message from another organization, and may not do this meanwhile. Finish your open \
             attempts first, or ask your owner to set foreign_access.",
        )
    }
}

impl From<ListPeersError> for ApiError {
    fn from(error: ListPeersError) -> Self {
        match error {
            ListPeersError::ChatNotFound => chat_not_found(),
            ListPeersError::Store(error) => error.into(),
        }
    }
}

impl From<CreateChatError> for ApiError {
    fn from(error: CreateChatError) -> Self {
        match error {
            CreateChatError::CreatorGone => unauthorized(),
            CreateChatError::Limit(reached) => reached.into(),
            CreateChatError::KeyReused => idempotency_key_reused(),
            CreateChatError::Store(error) => error.into(),
        }
    }
}

impl From<LimitReached> for ApiError {
    /// The text addresses a person or a model that must act on it.
    fn from(reached: LimitReached) -> Self {
        let LimitReached { resource, limit, current, plan, scope } = reached;
        let (of, way_out) = match resource {
            Resource::Agents => ("agents", "delete an agent that you no longer need"),
            Resource::Chats => ("active chats", "delete a chat that you no longer need"),
            Resource::Participants => {
                ("participants in a chat", "remove a participant, or create another chat")
            }
            Resource::Messages => ("messages in a chat", "continue in another chat"),
            Resource::Bytes => {
                ("bytes of messages and memories", "delete messages or memories that you no longer need")
            }
        };
        let message = format!(
            "The plan '{plan}' allows {limit} {of}, and there are {current}: {way_out}, or ask the operator of the \
             server for another plan."
        );
        let plan = Map::from_iter([("plan".to_owned(), plan.into())]);
        limit_reached(message, resource.as_str(), [limit, current], scope).with_details(plan)
    }
}

/// A limit that is reached; `chat` is set if it is one of this chat.
fn limit_reached(
    message: String,
    resource: &str,
    [limit, current]: [u64; 2],
    chat: Option<ChatId>,
) -> ApiError {
    let mut details = Map::new();
    details.insert("resource".to_owned(), resource.into());
    details.insert("limit".to_owned(), limit.into());
    details.insert("current".to_owned(), current.into());
    if let Some(chat) = chat {
        details.insert("scope_id".to_owned(), chat.to_string().into());
    }
    ApiError::new(ErrorCode::LimitReached, message).with_details(details)
}

impl From<ReadChatError> for ApiError {
    fn from(error: ReadChatError) -> Self {
        match error {
            ReadChatError::ChatNotFound => chat_not_found(),
            ReadChatError::Store(error) => error.into(),
        }
    }
}

impl From<RenameChatError> for ApiError {
    fn from(error: RenameChatError) -> Self {
        match error {
            RenameChatError::Refused(RenameChatRefused::ChatNotFound) => chat_not_found(),
            RenameChatError::Refused(RenameChatRefused::NotOwner) => {
                Self::new(ErrorCode::Forbidden, "Only an owner may rename the chat. Ask one of its owners.")
            }
            RenameChatError::Store(error) => error.into(),
        }
    }
}

impl From<MarkReadError> for ApiError {
    fn from(error: MarkReadError) -> Self {
        match error {
            MarkReadError::Refused(MarkReadRefused::ChatNotFound) => chat_not_found(),
            MarkReadError::Refused(MarkReadRefused::NotParticipant) => Self::new(
                ErrorCode::Forbidden,
                "Only participants can mark a room as read. Ask an owner or admin of the room to add you.",
            ),
            MarkReadError::Refused(MarkReadRefused::MessageNotFound) => message_not_found(),
            MarkReadError::Store(error) => error.into(),
        }
    }
}

impl From<UnderHold> for ApiError {
    fn from(_: UnderHold) -> Self {
        Self::new(
            ErrorCode::LegalHold,
            "A legal hold keeps this, so it cannot be changed or deleted. Ask the operator of the server.",
        )
    }
}

impl From<DeleteChatError> for ApiError {
    fn from(error: DeleteChatError) -> Self {
        match error {
            DeleteChatError::ChatNotFound => chat_not_found(),
            DeleteChatError::NotOwner => {
                Self::new(ErrorCode::Forbidden, "Only an owner may delete the chat. Ask one of its owners.")
            }
            DeleteChatError::UnderHold(held) => held.into(),
            DeleteChatError::Store(error) => error.into(),
        }
    }
}

impl From<SendRequestError> for ApiError {
    fn from(error: SendRequestError) -> Self {
        let (refused, by) = match error {
            SendRequestError::Refused { refused, by } => (refused, by),
            SendRequestError::Foreign(cause) => return cause.into(),
            SendRequestError::Store(error) => return error.into(),
        };
        let conflict = |message: &str| Self::new(ErrorCode::Conflict, message);
        match (refused, by) {
            (SendRefused::RequesterGone, _) => unauthorized(),
            (SendRefused::Unknown, _) => unknown_handle(),
            // The interfaces differ here.
            (SendRefused::Oneself, ParticipantKind::User) => {
                Self::validation().with_detail("/contact_request/recipient_handle", "cannot be yourself")
            }
            (SendRefused::Oneself, ParticipantKind::Agent) => {
                conflict("You cannot be your own contact. Send the handle of another user or agent.")
            }
            (SendRefused::AlreadyContact, _) => {
                conflict("You are already contacts. There is nothing to ask for.")
            }
            (SendRefused::AlreadyAsked, _) => {
                conflict("Your contact request is already pending. Wait for the answer, or cancel it.")
            }
        }
    }
}

impl From<AnswerRequestError> for ApiError {
    fn from(error: AnswerRequestError) -> Self {
        match error {
            AnswerRequestError::Foreign(cause) => cause.into(),
            AnswerRequestError::NotFound => Self::new(
                ErrorCode::NotFound,
                "You have no contact request with this id. List your contact requests to find it.",
            ),
            AnswerRequestError::OtherSide => Self::new(
                ErrorCode::Forbidden,
                "Only the other side may do this: a requester can cancel, a recipient can approve or reject.",
            ),
            AnswerRequestError::Settled(status) => {
                let message = format!(
                    "The contact request is already {}. Send a new one to ask again.",
                    status.as_str()
                );
                Self::new(ErrorCode::Conflict, message)
            }
            AnswerRequestError::Store(error) => error.into(),
        }
    }
}

impl From<RemoveContactError> for ApiError {
    fn from(error: RemoveContactError) -> Self {
        match error {
            RemoveContactError::NotFound => {
                Self::new(ErrorCode::NotFound, "You have no such contact. List your contacts to find its id.")
            }
            RemoveContactError::Store(error) => error.into(),
        }
    }
}

impl From<ResolveError> for ApiError {
    fn from(error: ResolveError) -> Self {
        match error {
            ResolveError::NotFound => unknown_handle(),
            ResolveError::Store(error) => error.into(),
        }
    }
}

impl From<ReadMessagesError> for ApiError {
    fn from(error: ReadMessagesError) -> Self {
        match error {
            ReadMessagesError::ChatNotFound => chat_not_found(),
            ReadMessagesError::Store(error) => error.into(),
        }
    }
}

impl From<ReadSurroundingsError> for ApiError {
    fn from(error: ReadSurroundingsError) -> Self {
        match error {
            ReadSurroundingsError::ChatNotFound => chat_not_found(),
            ReadSurroundingsError::MessageNotFound => message_not_found(),
            ReadSurroundingsError::Store(error) => error.into(),
        }
    }
}

impl From<ChangeMessageError> for ApiError {
    fn from(error: ChangeMessageError) -> Self {
        match error {
            ChangeMessageError::Refused(ChangeMessageRefused::ChatNotFound) => chat_not_found(),
            ChangeMessageError::Refused(ChangeMessageRefused::MessageNotFound) => message_not_found(),
            ChangeMessageError::Refused(ChangeMessageRefused::NotSender) => Self::new(
                ErrorCode::Forbidden,
                "Only the sender of a message may change it. Send a new message instead.",
            ),
            ChangeMessageError::Refused(ChangeMessageRefused::UnderHold(held)) => held.into(),
            ChangeMessageError::Refused(ChangeMessageRefused::Limit(reached)) => reached.into(),
            ChangeMessageError::Store(error) => error.into(),
        }
    }
}

impl From<ReadActivityError> for ApiError {
    fn from(error: ReadActivityError) -> Self {
        match error {
            ReadActivityError::ChatNotFound => chat_not_found(),
            ReadActivityError::Store(error) => error.into(),
        }
    }
}

impl From<ReportActivityError> for ApiError {
    fn from(error: ReportActivityError) -> Self {
        match error {
            ReportActivityError::ChatNotFound => chat_not_found(),
            ReportActivityError::Store(error) => error.into(),
        }
    }
}

impl From<PostEventError> for ApiError {
    fn from(error: PostEventError) -> Self {
        match error {
            PostEventError::ChatNotFound => chat_not_found(),
            PostEventError::Stopped => control::stopped(),
            PostEventError::Limit(reached) => reached.into(),
            PostEventError::KeyReused => idempotency_key_reused(),
            PostEventError::NotAnEvent => {
                Self::validation().with_detail("/event/message_type", "Invalid value for enum")
            }
            PostEventError::AttentionKind => Self::validation()
                .with_detail("/event/metadata/kind", "must be question, assumption, failure or review"),
            PostEventError::TaskNotFound => board::named_task_not_found(),
            PostEventError::CauseNotFound => cause_not_found("/event/in_reply_to"),
            PostEventError::Store(error) => error.into(),
        }
    }
}

impl From<SendMessageError> for ApiError {
    fn from(error: SendMessageError) -> Self {
        match error {
            SendMessageError::ChatNotFound => chat_not_found(),
            SendMessageError::Stopped => control::stopped(),
            SendMessageError::Limit(reached) => reached.into(),
            SendMessageError::KeyReused => idempotency_key_reused(),
            SendMessageError::Answered => attention::answered(),
            SendMessageError::Mention(error) => error.into(),
            SendMessageError::UnknownAttachment { index } => unknown_attachment(index),
            SendMessageError::CauseNotFound => cause_not_found("/message/in_reply_to"),
            SendMessageError::Deadline(fault) => {
                Self::validation().with_detail("/message/respond_by", fault.to_string())
            }
            SendMessageError::Store(error) => error.into(),
        }
    }
}

/// An attachment of a text that is not a file of the chat.
pub(crate) fn unknown_attachment(index: usize) -> ApiError {
    let message =
        "An attachment is not a file of this room. Upload it to the room, and send the message again.";
    ApiError::new(ErrorCode::UnknownAttachment, message)
        .with_detail(format!("/message/attachment_ids/{index}"), "is not a file of this room")
}

impl From<MentionError> for ApiError {
    fn from(error: MentionError) -> Self {
        let said = |code, message: &str| Self::new(code, message);
        match error {
            MentionError::MissingIdentifier { index } => at_mention(
                said(ErrorCode::MentionMissingIdentifier, "Each mention needs an id or a handle."),
                index,
                "needs an id or a handle",
            ),
            MentionError::InvalidKind { index } => at_mention(
                said(ErrorCode::InvalidMentionKind, "The kind of a mention must be mention or reference."),
                index,
                "kind must be mention or reference",
            ),
            MentionError::HandleNotFound { index, available } => at_mention(
                said(
                    ErrorCode::HandleNotFound,
                    "No participant of the chat has the handle of a mention. Use one of available_handles.",
                ),
                index,
                "no participant of the chat has this handle",
            )
            .with_details(available_handles(available)),
            // One client compares the message with this word, not the code.
            MentionError::NotInChat { index, available } => at_mention(
                said(
                    ErrorCode::MentionedParticipantNotInRoom,
                    ErrorCode::MentionedParticipantNotInRoom.as_str(),
                ),
                index,
                "is not a participant of the chat",
            )
            .with_details(available_handles(available)),
            MentionError::SelfMention { index } => at_mention(
                said(
                    ErrorCode::CannotMentionSelf,
                    "The sender cannot mention itself. Mention another participant.",
                ),
                index,
                "is the sender",
            ),
            MentionError::Duplicate { index } => at_mention(
                said(ErrorCode::DuplicateMentions, "Mention each participant only once."),
                index,
                "is already mentioned",
            ),
            MentionError::Required => said(
                ErrorCode::MentionsRequired,
                "An agent's message must mention at least one participant. Add a mention.",
            )
            .with_detail("/message/mentions", "must mention at least one participant"),
        }
    }
}

fn at_mention(error: ApiError, index: usize, fault: &str) -> ApiError {
    error.with_detail(format!("/message/mentions/{index}"), fault)
}

fn cause_not_found(pointer: &str) -> ApiError {
    ApiError::validation().with_detail(pointer, "must be a message of this room that you can see")
}

fn available_handles(handles: Vec<String>) -> Map<String, Value> {
    Map::from_iter([("available_handles".to_owned(), Value::from(handles))])
}

fn unknown_handle() -> ApiError {
    ApiError::new(ErrorCode::NotFound, "No user or agent has this handle. Check the spelling.")
}

fn idempotency_key_reused() -> ApiError {
    ApiError::validation().with_detail(IDEMPOTENCY_KEY, "was already used for a different request")
}

/// The same for every board, task, and file that is out of reach, so that the answer does not tell whether the room or
/// only the resource is unknown.
pub(crate) fn resource_not_found() -> ApiError {
    ApiError::new(ErrorCode::NotFound, "Resource not found")
}

fn message_not_found() -> ApiError {
    ApiError::new(
        ErrorCode::NotFound,
        "The chat has no message with this id. List its messages to find the id.",
    )
}

/// A user or agent that does not exist, or that the caller may not add to chats.
fn peer_not_found() -> ApiError {
    ApiError::new(ErrorCode::NotFound, "You have no peer with this id. List your peers to find the id.")
}

fn chat_not_found() -> ApiError {
    ApiError::new(
        ErrorCode::NotFound,
        "No chat with this id is visible to you. List your chats to find the id, or ask a participant to add you.",
    )
}

/// No credential, or none that is valid; the answer does not say which.
pub fn unauthorized() -> ApiError {
    ApiError::new(ErrorCode::Unauthorized, "The credential is not valid. Send a valid API key or token.")
}
