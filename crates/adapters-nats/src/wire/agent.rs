//! Agents' records.

use std::borrow::Cow;

use domain::account::{Agent, AgentHandle, AgentKind};
use domain::id::{AgentId, UserId};
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::Malformed;
use super::plain::{At, Id, Text, owned, text, word};

#[derive(Serialize, Deserialize)]
pub(super) struct WireAgent<'a> {
    id: Id,
    owner: Id,
    name: Text<'a>,
    handle: Text<'a>,
    description: Text<'a>,
    kind: Text<'a>,
    model_type: Option<Text<'a>>,
    bio: Option<Text<'a>>,
    tags: Cow<'a, [String]>,
    listed_in_directory: bool,
    registry_access: bool,
    shared_with_organization: bool,
    is_global: bool,
    created_at: At,
    updated_at: At,
    disabled_at: Option<At>,
}

impl<'a> From<&'a Agent> for WireAgent<'a> {
    fn from(agent: &'a Agent) -> Self {
        let Agent {
            id,
            owner,
            name,
            handle,
            description,
            kind,
            model_type,
            bio,
            tags,
            listed_in_directory,
            registry_access,
            shared_with_organization,
            is_global,
            created_at,
            updated_at,
            disabled_at,
        } = agent;
        Self {
            id: Id(id.uuid()),
            owner: Id(owner.uuid()),
            name: name.into(),
            handle: handle.as_str().into(),
            description: description.into(),
            kind: kind.as_str().into(),
            model_type: text(model_type.as_ref()),
            bio: text(bio.as_ref()),
            tags: tags.into(),
            listed_in_directory: *listed_in_directory,
            registry_access: *registry_access,
            shared_with_organization: *shared_with_organization,
            is_global: *is_global,
            created_at: (*created_at).into(),
            updated_at: (*updated_at).into(),
            disabled_at: disabled_at.map(At::from),
        }
    }
}

impl TryFrom<WireAgent<'_>> for Agent {
    type Error = Malformed;

    fn try_from(wire: WireAgent<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            id: AgentId::new(wire.id.0),
            owner: UserId::new(wire.owner.0),
            name: wire.name.into_owned(),
            handle: AgentHandle::from_stored(wire.handle.into_owned()),
            description: wire.description.into_owned(),
            kind: word(&wire.kind, AgentKind::parse)?,
            model_type: owned(wire.model_type),
            bio: owned(wire.bio),
            tags: wire.tags.into_owned(),
            listed_in_directory: wire.listed_in_directory,
            registry_access: wire.registry_access,
            shared_with_organization: wire.shared_with_organization,
            is_global: wire.is_global,
            created_at: wire.created_at.into(),
            updated_at: wire.updated_at.into(),
            disabled_at: wire.disabled_at.map(Timestamp::from),
        })
    }
}
