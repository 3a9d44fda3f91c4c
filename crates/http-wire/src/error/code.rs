//! The table of error codes: variant, status, word on the wire.

use actix_web::http::StatusCode;

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $status:ident, $text:literal;)+) => {
        /// The code of a failure, which decides the status.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum ErrorCode {
            $($(#[$doc])* $variant,)+
        }

        impl ErrorCode {
            /// Every code.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word on the wire.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }

            /// The status of the answer.
            pub const fn status(self) -> StatusCode {
                match self {
                    $(Self::$variant => StatusCode::$status,)+
                }
            }
        }
    };
}

codes! {
    /// The request cannot be read, or a body holds a property that is not known.
    BadRequest = BAD_REQUEST, "bad_request";
    /// Socket upgrade: `on_conflict` is neither of its two words.
    InvalidOnConflict = BAD_REQUEST, "invalid_on_conflict";
    /// No credential, or none that is valid.
    Unauthorized = UNAUTHORIZED, "unauthorized";
    /// The password is right, and the account has a second factor, of which no code was sent.
    SecondFactorRequired = UNAUTHORIZED, "second_factor_required";
    /// The password is right, and the code of the second factor is wrong or was used.
    InvalidSecondFactor = UNAUTHORIZED, "invalid_second_factor";
    /// The caller is authenticated, but has no permission.
    Forbidden = FORBIDDEN, "forbidden";
    /// The agent works for another organization, and must not do this meanwhile.
    ForeignCause = FORBIDDEN, "foreign_cause";
    /// The chat would be without an owner.
    CannotRemoveSoleOwner = FORBIDDEN, "cannot_remove_sole_owner";
    /// A quota of the plan is used up.
    LimitReached = FORBIDDEN, "limit_reached";
    /// The plan does not allow humans to call.
    PlanRequired = FORBIDDEN, "plan_required";
    /// The resource does not exist, or the caller may not know of it.
    NotFound = NOT_FOUND, "not_found";
    /// The path is known, the method is not one of its own.
    MethodNotAllowed = METHOD_NOT_ALLOWED, "method_not_allowed";
    /// The body did not arrive in time.
    RequestTimeout = REQUEST_TIMEOUT, "request_timeout";
    /// The requested state or record already exists.
    Conflict = CONFLICT, "conflict";
    /// Another worker of the agent works on the message.
    AlreadyClaimed = CONFLICT, "already_claimed";
    /// The message was processed, and the agent opens nothing again.
    AlreadyProcessed = CONFLICT, "already_processed";
    /// A legal hold keeps it.
    LegalHold = CONFLICT, "legal_hold";
    /// Socket upgrade: the agent has a live socket and `on_conflict=reject` was asked for.
    ConnectionConflict = CONFLICT, "connection_conflict";
    /// The body is larger than anything that could be accepted.
    ContentTooLarge = PAYLOAD_TOO_LARGE, "content_too_large";
    /// The body is not JSON.
    UnsupportedMediaType = UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type";
    /// Values are wrong; `details` lists them.
    ValidationError = UNPROCESSABLE_ENTITY, "validation_error";
    /// A text of an agent without a mention.
    MentionsRequired = UNPROCESSABLE_ENTITY, "mentions_required";
    /// The sender mentions itself.
    CannotMentionSelf = UNPROCESSABLE_ENTITY, "cannot_mention_self";
    /// A participant is mentioned twice.
    DuplicateMentions = UNPROCESSABLE_ENTITY, "duplicate_mentions";
    /// A mentioned user or agent is not in the chat.
    MentionedParticipantNotInRoom = UNPROCESSABLE_ENTITY, "mentioned_participant_not_in_room";
    /// A mention of an unknown kind.
    InvalidMentionKind = UNPROCESSABLE_ENTITY, "invalid_mention_kind";
    /// No participant of the chat has the handle.
    HandleNotFound = UNPROCESSABLE_ENTITY, "handle_not_found";
    /// A mention with neither id nor handle.
    MentionMissingIdentifier = UNPROCESSABLE_ENTITY, "mention_missing_identifier";
    /// An attachment that is not in the room.
    UnknownAttachment = UNPROCESSABLE_ENTITY, "unknown_attachment";
    /// Parameters that exclude each other.
    InvalidParams = UNPROCESSABLE_ENTITY, "invalid_params";
    /// A cursor that was made with other filters.
    CursorFilterMismatch = UNPROCESSABLE_ENTITY, "cursor_filter_mismatch";
    /// Work on a task, an edit, or a comment, while the task is not on the board.
    TaskNotActive = UNPROCESSABLE_ENTITY, "task_not_active";
    /// An agent that has worked is only deleted with `force`.
    ExecutionHistoryExists = UNPROCESSABLE_ENTITY, "execution_history_exists";
    /// Too many requests.
    RateLimited = TOO_MANY_REQUESTS, "rate_limited";
    /// Socket upgrade: too many connects.
    TooManyRequests = TOO_MANY_REQUESTS, "too_many_requests";
    /// A defect of the server.
    InternalError = INTERNAL_SERVER_ERROR, "internal_error";
    /// The server is temporarily unavailable; the client should retry.
    ServiceUnavailable = SERVICE_UNAVAILABLE, "service_unavailable";
    /// Socket upgrade: the server cannot keep track of sockets right now.
    TrackingFailed = SERVICE_UNAVAILABLE, "tracking_failed";
}

impl ErrorCode {
    /// Whether agents get it in normal operation: several instances work with one key, and messages are redelivered.
    pub const fn is_expected(self) -> bool {
        matches!(self, Self::AlreadyClaimed | Self::AlreadyProcessed | Self::ConnectionConflict)
    }

    /// The code for a bare status, as the framework's own failures have.
    pub fn of_status(status: StatusCode) -> Self {
        match status {
            StatusCode::UNAUTHORIZED => Self::Unauthorized,
            StatusCode::FORBIDDEN => Self::Forbidden,
            StatusCode::NOT_FOUND => Self::NotFound,
            StatusCode::METHOD_NOT_ALLOWED => Self::MethodNotAllowed,
            StatusCode::REQUEST_TIMEOUT => Self::RequestTimeout,
            StatusCode::CONFLICT => Self::Conflict,
            StatusCode::PAYLOAD_TOO_LARGE => Self::ContentTooLarge,
            StatusCode::UNSUPPORTED_MEDIA_TYPE => Self::UnsupportedMediaType,
            StatusCode::UNPROCESSABLE_ENTITY => Self::ValidationError,
            StatusCode::TOO_MANY_REQUESTS => Self::RateLimited,
            StatusCode::SERVICE_UNAVAILABLE => Self::ServiceUnavailable,
            status if status.is_server_error() => Self::InternalError,
            _ => Self::BadRequest,
        }
    }
}
