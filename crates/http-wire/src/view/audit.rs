//! Entries of the audit log.

use domain::audit::{AuditRecord, NamedObject};
use domain::id::{AuditEntryId, SubjectId};
use domain::time::Timestamp;
use serde::Serialize;

use super::Shown;

/// An entry of the audit log: who did what to which object, and where.
#[derive(Serialize, utoipa::ToSchema)]
pub struct AuditEntryView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<AuditEntryId>,
    /// When the action happened.
    #[schema(value_type = super::Instant)]
    inserted_at: Shown<Timestamp>,
    /// Who acted. Null if the operator used the command line, in `webhook.disabled`, and in `login.failed` and
    /// `session.token_reused` if the user is unknown.
    actor: Option<AuditObjectView<'a>>,
    /// The action, for example `participant.added`. New actions may be added.
    action: &'static str,
    /// The object of the action.
    subject: AuditObjectView<'a>,
    /// The room or organization where the action happened, or the account that it concerns.
    place: Option<AuditObjectView<'a>>,
    /// Details of the action, for example a role, the name of a plan, or an IP address and a count.
    detail: Option<&'a str>,
}

/// A user, agent, or object that an entry names.
#[derive(Serialize, utoipa::ToSchema)]
pub(super) struct AuditObjectView<'a> {
    /// `User`, `Agent`, `Chat`, `Message`, `ApiKey`, `Session`, `Organization`, or `Invitation`. New types may
    /// be added.
    r#type: &'static str,
    #[schema(value_type = super::Id)]
    id: Shown<SubjectId>,
    /// The handle, name, or first characters at the time of the entry. For a room, its current title. Null if
    /// there is none.
    name: Option<&'a str>,
}

impl<'a> AuditEntryView<'a> {
    /// Shows `record`.
    pub fn new(record: &'a AuditRecord) -> Self {
        Self {
            id: Shown(record.id),
            inserted_at: Shown(record.at),
            actor: record.actor.known().map(AuditObjectView::new),
            action: record.action.as_str(),
            subject: AuditObjectView::new(&record.subject),
            place: record.place.as_ref().map(AuditObjectView::new),
            detail: record.detail.as_deref(),
        }
    }
}

impl<'a> AuditObjectView<'a> {
    fn new(named: &'a NamedObject) -> Self {
        let (kind, id) = named.object.parts();
        Self { r#type: kind, id: Shown(id), name: named.name.as_deref() }
    }
}
