//! API keys as their holders see them.

use domain::account::{CreatedKey, KeyRecord};
use domain::id::{AgentId, ApiKeyId, ChatId};
use domain::time::Timestamp;
use serde::Serialize;

use super::Shown;
use super::agent::CredentialsView;

/// A key, without its secret.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub struct KeyView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<ApiKeyId>,
    /// Null of the key that came with the account.
    name: Option<&'a str>,
    /// How the key begins; null of one from before that was kept.
    prefix: Option<&'a str>,
    /// Until when it is good; null for ever.
    #[schema(value_type = Option<super::Instant>)]
    expires_at: Option<Shown<Timestamp>>,
    /// Whether it only reads.
    read_only: bool,
    /// The chat that it is limited to; null if it is not.
    #[schema(value_type = Option<super::Id>)]
    chat_id: Option<Shown<ChatId>>,
    /// The agent that it is limited to; null if it is not.
    #[schema(value_type = Option<super::Id>)]
    agent_id: Option<Shown<AgentId>>,
    /// When it was used last, about; null if never.
    #[schema(value_type = Option<super::Instant>)]
    last_used_at: Option<Shown<Timestamp>>,
    /// Since when it is good for nothing; null in every list.
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

/// A new key; the secret is shown here and never again.
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
