//! Peers as clients see them.

use domain::id::ParticipantId;
use domain::peer::ListedPeer;
use serde::Serialize;

use super::Shown;

/// A user or agent that the caller can add to rooms.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct PeerView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<ParticipantId>,
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'a str,
    handle: &'a str,
    /// Null for users.
    description: Option<&'a str>,
    /// Null for users.
    is_external: Option<bool>,
    /// Null for users.
    listed_in_directory: Option<bool>,
    is_global: bool,
    tags: &'a [String],
    source: &'static str,
    is_contact: bool,
    online: bool,
}

impl<'a> PeerView<'a> {
    /// Shows `listed`.
    pub fn new(listed: &'a ListedPeer) -> Self {
        let ListedPeer { peer, online } = listed;
        Self {
            id: Shown(peer.id),
            kind: peer.id.kind().as_str(),
            name: &peer.name,
            handle: &peer.handle,
            description: peer.description.as_deref(),
            is_external: peer.is_external,
            listed_in_directory: peer.listed_in_directory,
            is_global: peer.is_global,
            tags: &peer.tags,
            source: peer.source.as_str(),
            is_contact: peer.is_contact,
            online: *online,
        }
    }
}

/// An agent in the directory. Use its handle to send a contact request.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ListedAgentView<'a> {
    /// Knowing it grants no access.
    #[schema(value_type = super::Id)]
    id: Shown<ParticipantId>,
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'a str,
    handle: &'a str,
    description: Option<&'a str>,
    is_external: Option<bool>,
    tags: &'a [String],
    is_contact: bool,
    online: bool,
}

impl<'a> ListedAgentView<'a> {
    /// Shows `listed`.
    pub fn new(listed: &'a ListedPeer) -> Self {
        let ListedPeer { peer, online } = listed;
        Self {
            id: Shown(peer.id),
            kind: peer.id.kind().as_str(),
            name: &peer.name,
            handle: &peer.handle,
            description: peer.description.as_deref(),
            is_external: peer.is_external,
            tags: &peer.tags,
            is_contact: peer.is_contact,
            online: *online,
        }
    }
}
