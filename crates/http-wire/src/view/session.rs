//! Sessions: what a log-in answers with, and the sessions that are open.

use domain::id::SessionId;
use domain::login::{LoggedIn, SessionRecord};
use domain::time::Timestamp;
use serde::Serialize;

use super::{ProfileView, Shown};

/// An access token, and a refresh token that is exchanged for the next pair. Both are shown only in this
/// response.
#[derive(Serialize, utoipa::ToSchema)]
pub struct SessionView<'a> {
    access_token: &'a str,
    /// Always `Bearer`.
    token_type: &'static str,
    /// Seconds until the access token expires.
    expires_in: i64,
    #[schema(value_type = super::Instant)]
    expires_at: Shown<Timestamp>,
    refresh_token: &'a str,
    #[schema(value_type = super::Instant)]
    refresh_expires_at: Shown<Timestamp>,
    user: ProfileView<'a>,
}

impl<'a> SessionView<'a> {
    /// Shows `open`, the secret tokens included.
    pub fn new(open: &'a LoggedIn) -> Self {
        let claims = &open.access.claims;
        Self {
            access_token: &open.access.token,
            token_type: "Bearer",
            expires_in: claims.lifetime_seconds(),
            expires_at: Shown(claims.expires_at),
            refresh_token: &open.refresh_token,
            refresh_expires_at: Shown(open.refresh_expires_at),
            user: ProfileView::new(&open.access.user),
        }
    }
}

/// An open session of the caller.
#[derive(Serialize, utoipa::ToSchema)]
pub struct OpenSessionView {
    #[schema(value_type = super::Id)]
    id: Shown<SessionId>,
    /// Whether the request was made with an access token of this session.
    is_current: bool,
    /// When the user logged in.
    #[schema(value_type = super::Instant)]
    inserted_at: Shown<Timestamp>,
    /// When the session was last refreshed, or when the user logged in.
    #[schema(value_type = super::Instant)]
    last_used_at: Shown<Timestamp>,
    /// When the session ends unless it is refreshed.
    #[schema(value_type = super::Instant)]
    expires_at: Shown<Timestamp>,
}

impl OpenSessionView {
    /// Shows `session`; `current` is the one that the request belongs to.
    pub fn new(session: &SessionRecord, current: Option<SessionId>) -> Self {
        Self {
            id: Shown(session.id),
            is_current: current == Some(session.id),
            inserted_at: Shown(session.created_at),
            last_used_at: Shown(session.used_at),
            expires_at: Shown(session.expires_at),
        }
    }
}
