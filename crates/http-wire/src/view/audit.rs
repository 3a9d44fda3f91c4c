//! Entries of the audit log.

use domain::audit::{AuditRecord, NamedObject};
use domain::time::Timestamp;
use serde::Serialize;
use uuid::Uuid;

use super::Shown;

/// An entry of the audit log: who did what, to what, in what.
#[derive(Serialize, utoipa::ToSchema)]
pub struct AuditEntryView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<Uuid>,
    /// When it was done.
    #[schema(value_type = super::Instant)]
    inserted_at: Shown<Timestamp>,
    /// Who did it; null for the operator, and in `login.failed` and `session.token_reused` where nobody is known.
    actor: Option<AuditObjectView<'a>>,
    /// What was done, like `participant.added`; more may come.
    action: &'static str,
    /// To what.
    subject: AuditObjectView<'a>,
    /// In what, or for whom.
    place: Option<AuditObjectView<'a>>,
    /// As what, or which: a role, the name of a plan, an address and a count.
    detail: Option<&'a str>,
}

/// Something that an entry names.
#[derive(Serialize, utoipa::ToSchema)]
pub(super) struct AuditObjectView<'a> {
    /// `User`, `Agent`, `Chat`, `Message`, `ApiKey`, `Session`, `Organization`, `Invitation`; more may come.
    r#type: &'static str,
    #[schema(value_type = super::Id)]
    id: Shown<Uuid>,
    /// The handle, name or beginning that it had when the entry was written, or the title that a room has now; null if
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
