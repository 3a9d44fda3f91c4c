//! Contacts and the requests that lead to them.

use std::borrow::Cow;

use domain::contact::{Contact, ContactRequest, Party, Profile, RequestStatus};
use domain::id::{ContactId, ContactRequestId};
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::Malformed;
use super::plain::{At, Id, Text, Who, owned, text, word};

#[derive(Serialize, Deserialize)]
pub(super) struct WireRequest<'a> {
    id: Id,
    requester: WireParty<'a>,
    recipient: WireParty<'a>,
    message: Option<Text<'a>>,
    status: Text<'a>,
    created_at: At,
    responded_at: Option<At>,
}

#[derive(Serialize, Deserialize)]
struct WireParty<'a> {
    id: Who,
    handle: Text<'a>,
    name: Text<'a>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct WireContact<'a> {
    id: Id,
    with: WireProfile<'a>,
    request: Option<Id>,
    created_at: At,
}

#[derive(Serialize, Deserialize)]
struct WireProfile<'a> {
    id: Who,
    handle: Text<'a>,
    name: Text<'a>,
    email: Option<Text<'a>>,
    description: Option<Text<'a>>,
    is_external: Option<bool>,
    listed_in_directory: Option<bool>,
    tags: Cow<'a, [String]>,
}

impl<'a> From<&'a ContactRequest> for WireRequest<'a> {
    fn from(request: &'a ContactRequest) -> Self {
        let ContactRequest { id, requester, recipient, message, status, created_at, responded_at } = request;
        Self {
            id: Id(id.uuid()),
            requester: requester.into(),
            recipient: recipient.into(),
            message: text(message.as_ref()),
            status: status.as_str().into(),
            created_at: (*created_at).into(),
            responded_at: responded_at.map(At::from),
        }
    }
}

impl TryFrom<WireRequest<'_>> for ContactRequest {
    type Error = Malformed;

    fn try_from(wire: WireRequest<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            id: ContactRequestId::new(wire.id.0),
            requester: wire.requester.into(),
            recipient: wire.recipient.into(),
            message: owned(wire.message),
            status: word(&wire.status, RequestStatus::parse)?,
            created_at: wire.created_at.into(),
            responded_at: wire.responded_at.map(Timestamp::from),
        })
    }
}

impl<'a> From<&'a Party> for WireParty<'a> {
    fn from(Party { id, handle, name }: &'a Party) -> Self {
        Self { id: (*id).into(), handle: handle.into(), name: name.into() }
    }
}

impl From<WireParty<'_>> for Party {
    fn from(wire: WireParty<'_>) -> Self {
        Self { id: wire.id.into(), handle: wire.handle.into_owned(), name: wire.name.into_owned() }
    }
}

impl<'a> From<&'a Contact> for WireContact<'a> {
    fn from(Contact { id, with, request, created_at }: &'a Contact) -> Self {
        Self {
            id: Id(id.uuid()),
            with: with.into(),
            request: request.map(|id| Id(id.uuid())),
            created_at: (*created_at).into(),
        }
    }
}

impl From<WireContact<'_>> for Contact {
    fn from(wire: WireContact<'_>) -> Self {
        Self {
            id: ContactId::new(wire.id.0),
            with: wire.with.into(),
            request: wire.request.map(|id| ContactRequestId::new(id.0)),
            created_at: wire.created_at.into(),
        }
    }
}

impl<'a> From<&'a Profile> for WireProfile<'a> {
    fn from(profile: &'a Profile) -> Self {
        let Profile { id, handle, name, email, description, is_external, listed_in_directory, tags } =
            profile;
        Self {
            id: (*id).into(),
            handle: handle.into(),
            name: name.into(),
            email: text(email.as_ref()),
            description: text(description.as_ref()),
            is_external: *is_external,
            listed_in_directory: *listed_in_directory,
            tags: tags.into(),
        }
    }
}

impl From<WireProfile<'_>> for Profile {
    fn from(wire: WireProfile<'_>) -> Self {
        Self {
            id: wire.id.into(),
            handle: wire.handle.into_owned(),
            name: wire.name.into_owned(),
            email: owned(wire.email),
            description: owned(wire.description),
            is_external: wire.is_external,
            listed_in_directory: wire.listed_in_directory,
            tags: wire.tags.into_owned(),
        }
    }
}
