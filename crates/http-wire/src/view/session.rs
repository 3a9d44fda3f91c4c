//! What a log-in has opened.

use domain::login::LoggedIn;
use domain::time::Timestamp;
use serde::Serialize;

use super::{ProfileView, Shown};

/// An access token, and the refresh token that gets the next pair; both are shown here and never again.
#[derive(Serialize, utoipa::ToSchema)]
pub struct SessionView<'a> {
    access_token: &'a str,
    /// Always `Bearer`.
    token_type: &'static str,
    /// In how many seconds the access token is good no more.
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
            expires_in: (claims.expires_at.micros() - claims.issued_at.micros()) / 1_000_000,
            expires_at: Shown(claims.expires_at),
            refresh_token: &open.refresh_token,
            refresh_expires_at: Shown(open.refresh_expires_at),
            user: ProfileView::new(&open.access.user),
        }
    }
}
