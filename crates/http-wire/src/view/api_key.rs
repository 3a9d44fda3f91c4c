//! API keys as their holders see them.

use domain::account::{CreatedKey, KeyRecord};
use domain::id::{AgentId, ApiKeyId, ChatId};
use domain::time::Timestamp;
use serde::Serialize;

use super::Shown;
use super::agent::CredentialsView;

/// An API key, without its secret.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub struct KeyView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<ApiKeyId>,
    /// Name of the key. Null for the key that was created with the account.
    name: Option<&'a str>,
    /// First characters of the key. Null for keys from older versions.
    prefix: Option<&'a str>,
    /// When the key expires. Null if it never does.
    #[schema(value_type = Option<super::Instant>)]
    expires_at: Option<Shown<Timestamp>>,
    /// Whether the key can only read.
    read_only: bool,
    /// Chat that the key is limited to. Null if there is no such limit.
    #[schema(value_type = Option<super::Id>)]
    chat_id: Option<Shown<ChatId>>,
    /// Agent that the key is limited to. Null if there is no such limit.
    #[schema(value_type = Option<super::Id>)]
    agent_id: Option<Shown<AgentId>>,
    /// When the key was last used, accurate to a minute. Null if never.
    #[schema(value_type = Option<super::Instant>)]
    last_used_at: Option<Shown<Timestamp>>,
    /// When the key was revoked. Always null in lists.
    #[schema(value_type = Option<super::Instant>)]
    revoked_at: Option<Shown<Timestamp>>,
    #[schema(value_type = super::Instant)]
    inserted_at: Shown<Timestamp>,
}

impl<'a> KeyView<'a> {
    /// Shows `key`.
    pub fn new(key: &'a KeyRecord) -> Self {
        Self {
            id: Shown(key.id),
            name: key.name.as_deref(),
            prefix: key.prefix.as_deref(),
            expires_at: key.expires_at.map(Shown),
            read_only: key.scope.is_read_only,
            chat_id: key.scope.chat.map(Shown),
            agent_id: key.scope.agent.map(Shown),
            last_used_at: key.last_used_at.map(Shown),
            revoked_at: key.revoked_at.map(Shown),
            inserted_at: Shown(key.created_at),
        }
    }
}

/// A new API key. The secret is shown only in this response.
#[derive(Serialize, utoipa::ToSchema)]
pub struct CreatedKeyView<'a> {
    api_key: KeyView<'a>,
    credentials: CredentialsView<'a>,
}

impl<'a> CreatedKeyView<'a> {
    /// Shows `created`, the secret included.
    pub fn new(created: &'a CreatedKey) -> Self {
        Self {
            api_key: KeyView::new(&created.record),
            credentials: CredentialsView {
                api_key: created.key.reveal(),
                expires_at: created.record.expires_at.map(Shown),
            },
        }
    }
}
