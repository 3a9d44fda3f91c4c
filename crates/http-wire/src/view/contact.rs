//! Contacts and contact requests as clients see them.
//!
//! There are no pictures, and clients take no null for one: `avatar_url` is left out.

use domain::contact::{Acquaintance, Contact, ContactRequest, ListedContact, Party, Profile, Resolved};
use domain::id::{ContactId, ContactRequestId, ParticipantId};
use domain::time::Timestamp;
use serde::Serialize;

use super::Shown;

/// A contact of an agent, without an email address.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct AgentContactView<'a> {
    /// ID of the caller's own record of the contact.
    #[schema(value_type = super::Id)]
    id: Shown<ContactId>,
    handle: &'a str,
    name: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    /// Null for users.
    description: Option<&'a str>,
    /// Null for users.
    is_external: Option<bool>,
    /// Null for users.
    listed_in_directory: Option<bool>,
    tags: &'a [String],
    online: bool,
    #[schema(value_type = super::Instant)]
    inserted_at: Shown<Timestamp>,
}

impl<'a> AgentContactView<'a> {
    /// Shows `listed`.
    pub fn new(listed: &'a ListedContact) -> Self {
        let ListedContact { contact: Contact { id, with, created_at, .. }, online } = listed;
        Self {
            id: Shown(*id),
            handle: &with.handle,
            name: &with.name,
            kind: with.id.kind().as_str(),
            description: with.description.as_deref(),
            is_external: with.is_external,
            listed_in_directory: with.listed_in_directory,
            tags: &with.tags,
            online: *online,
            inserted_at: Shown(*created_at),
        }
    }
}

/// A contact of a human.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ContactView<'a> {
    /// ID of the caller's own record of the contact.
    #[schema(value_type = super::Id)]
    id: Shown<ContactId>,
    /// ID of the user or agent.
    #[schema(value_type = super::Id)]
    contact_id: Shown<ParticipantId>,
    contact_type: &'static str,
    /// Always `active`. Removed contacts are not listed.
    status: &'static str,
    /// How the contact began: `request`. Null for a contact without a request.
    source: Option<&'static str>,
    online: bool,
    user: ContactPersonView<'a>,
    #[schema(value_type = super::Instant)]
    inserted_at: Shown<Timestamp>,
}

/// The other side of a contact: a user or an agent, although the field is named `user`.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct ContactPersonView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<ParticipantId>,
    handle: &'a str,
    name: &'a str,
    /// Absent for agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    email: Option<&'a str>,
    listed_in_directory: Option<bool>,
    tags: &'a [String],
}

impl<'a> ContactView<'a> {
    /// Shows `listed`.
    pub fn new(listed: &'a ListedContact) -> Self {
        let ListedContact { contact: Contact { id, with, request, created_at }, online } = listed;
        Self {
            id: Shown(*id),
            contact_id: Shown(with.id),
            contact_type: with.id.kind().as_str(),
            status: "active",
            source: request.map(|_| "request"),
            online: *online,
            user: ContactPersonView {
                id: Shown(with.id),
                handle: &with.handle,
                name: &with.name,
                email: with.email.as_deref(),
                listed_in_directory: with.listed_in_directory,
                tags: &with.tags,
            },
            inserted_at: Shown(*created_at),
        }
    }
}

/// A contact request with the requester and the recipient.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ContactRequestView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<ContactRequestId>,
    status: &'static str,
    #[schema(value_type = super::Id)]
    requester_id: Shown<ParticipantId>,
    requester_type: &'static str,
    requester: PartyView<'a>,
    #[schema(value_type = super::Id)]
    recipient_id: Shown<ParticipantId>,
    recipient_type: &'static str,
    recipient: PartyView<'a>,
    message: Option<&'a str>,
    #[schema(value_type = Option<super::Instant>)]
    responded_at: Option<Shown<Timestamp>>,
    #[schema(value_type = super::Instant)]
    inserted_at: Shown<Timestamp>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
struct PartyView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<ParticipantId>,
    handle: &'a str,
    name: &'a str,
}

impl<'a> PartyView<'a> {
    fn new(party: &'a Party) -> Self {
        Self { id: Shown(party.id), handle: &party.handle, name: &party.name }
    }
}

impl<'a> ContactRequestView<'a> {
    /// Shows `request`.
    pub fn new(request: &'a ContactRequest) -> Self {
        let ContactRequest { requester, recipient, .. } = request;
        Self {
            id: Shown(request.id),
            status: request.status.as_str(),
            requester_id: Shown(requester.id),
            requester_type: requester.id.kind().as_str(),
            requester: PartyView::new(requester),
            recipient_id: Shown(recipient.id),
            recipient_type: recipient.id.kind().as_str(),
            recipient: PartyView::new(recipient),
            message: request.message.as_deref(),
            responded_at: request.responded_at.map(Shown),
            inserted_at: Shown(request.created_at),
        }
    }
}

/// A contact request that the agent received.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ReceivedRequestView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<ContactRequestId>,
    from_handle: &'a str,
    from_name: &'a str,
    message: Option<&'a str>,
    status: &'static str,
    #[schema(value_type = super::Instant)]
    inserted_at: Shown<Timestamp>,
}

impl<'a> ReceivedRequestView<'a> {
    /// Shows `request`.
    pub fn new(request: &'a ContactRequest) -> Self {
        Self {
            id: Shown(request.id),
            from_handle: &request.requester.handle,
            from_name: &request.requester.name,
            message: request.message.as_deref(),
            status: request.status.as_str(),
            inserted_at: Shown(request.created_at),
        }
    }
}

/// A contact request that the agent sent.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct SentRequestView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<ContactRequestId>,
    to_handle: &'a str,
    to_name: &'a str,
    message: Option<&'a str>,
    status: &'static str,
    #[schema(value_type = super::Instant)]
    inserted_at: Shown<Timestamp>,
}

impl<'a> SentRequestView<'a> {
    /// Shows `request`.
    pub fn new(request: &'a ContactRequest) -> Self {
        Self {
            id: Shown(request.id),
            to_handle: &request.recipient.handle,
            to_name: &request.recipient.name,
            message: request.message.as_deref(),
            status: request.status.as_str(),
            inserted_at: Shown(request.created_at),
        }
    }
}

/// New status of a contact request.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct RequestStepView {
    #[schema(value_type = super::Id)]
    id: Shown<ContactRequestId>,
    status: &'static str,
}

impl RequestStepView {
    /// Shows what became of `request`.
    pub fn new(request: &ContactRequest) -> Self {
        Self { id: Shown(request.id), status: request.status.as_str() }
    }
}

/// Confirmation that the contact was removed.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct RemovedView {
    status: &'static str,
}

impl RemovedView {
    /// The one answer there is.
    pub const fn new() -> Self {
        Self { status: "removed" }
    }
}

impl Default for RemovedView {
    fn default() -> Self {
        Self::new()
    }
}

/// The user or agent with a handle.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ResolvedView<'a> {
    /// ID of a contact. Empty for a user or agent that is not a contact.
    id: String,
    /// The name. For an agent that is neither a contact nor in the directory, its handle.
    name: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    handle: &'a str,
    is_contact: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    email: Option<&'a str>,
}

impl<'a> ResolvedView<'a> {
    /// Shows `resolved` to a human, who sees the addresses of contacts.
    pub fn for_user(resolved: &'a Resolved) -> Self {
        let email = match resolved.acquaintance {
            Acquaintance::Contact => resolved.profile.email.as_deref(),
            Acquaintance::Household | Acquaintance::Stranger => None,
        };
        Self { email, ..Self::for_agent(resolved) }
    }

    /// Shows `resolved` to an agent, which sees no addresses.
    pub fn for_agent(resolved: &'a Resolved) -> Self {
        let Profile { id, handle, name, listed_in_directory, .. } = &resolved.profile;
        let is_stranger = resolved.acquaintance == Acquaintance::Stranger;
        Self {
            id: match resolved.acquaintance {
                Acquaintance::Contact | Acquaintance::Household => id.to_string(),
                Acquaintance::Stranger => String::new(),
            },
            name: if is_stranger && *listed_in_directory == Some(false) { handle } else { name },
            kind: id.kind().as_str(),
            handle,
            is_contact: resolved.acquaintance == Acquaintance::Contact,
            email: None,
        }
    }
}
