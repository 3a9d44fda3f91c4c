//! Entries of the audit log as rows. Compiled into each store, whose tables it names.

use std::collections::HashMap;

use diesel::prelude::*;
use domain::audit::{
    Actor, AuditAction, AuditObject, AuditRecord, NamedObject, RecordedActor, StoredEntry, StoredObject,
};
use domain::id::{AuditEntryId, OrganizationId, SubjectId};
use uuid::Uuid;

use crate::error::Fault;
use crate::row::{self, At, Id};
use crate::schema::audit;

/// The subject kind of chats.
const CHAT: &str = "Chat";

#[derive(Queryable, Selectable)]
#[diesel(table_name = audit)]
pub(super) struct AuditRow {
    id: Id,
    at: At,
    organization_id: Option<Id>,
    actor_kind: String,
    actor_id: Option<Id>,
    action: String,
    subject_kind: String,
    subject_id: Id,
    place_kind: Option<String>,
    place_id: Option<Id>,
    detail: Option<String>,
    actor_name: Option<String>,
    subject_name: Option<String>,
    place_name: Option<String>,
}

impl AuditRow {
    /// The chats that it names.
    pub(super) fn chats(&self) -> impl Iterator<Item = Uuid> {
        let subject = (Some(self.subject_kind.as_str()), Some(self.subject_id));
        let named = [subject, (self.place_kind.as_deref(), self.place_id)].into_iter();
        named.filter(|(kind, _)| *kind == Some(CHAT)).filter_map(|(_, id)| Some(id?.0))
    }

    /// With the current titles of its chats.
    pub(super) fn titled(self, titles: &HashMap<Uuid, String>) -> Self {
        let subject_name = self.subject_name.or_else(|| titles.get(&self.subject_id.0).cloned());
        let place_name = self.place_name.or_else(|| titles.get(&self.place_id?.0).cloned());
        Self { subject_name, place_name, ..self }
    }

    pub(super) fn into_record(self) -> Result<AuditRecord, Fault> {
        let named = |kind: &str, id: Id, name: Option<String>| {
            let object = row::word(kind, |kind| AuditObject::from_parts(kind, SubjectId::new(id.0)))?;
            Ok::<_, Fault>(NamedObject { object, name })
        };
        let actor = match self.actor_id {
            Some(id) => RecordedActor::Known(named(&self.actor_kind, id, self.actor_name)?),
            None if self.actor_kind == Actor::Anonymous.parts().0 => RecordedActor::Anonymous,
            None if self.actor_kind == Actor::Server.parts().0 => RecordedActor::Server,
            None => RecordedActor::Operator,
        };
        let place = self.place_kind.zip(self.place_id);
        Ok(AuditRecord {
            id: AuditEntryId::new(self.id.0),
            at: self.at.0,
            actor,
            action: row::word(&self.action, AuditAction::parse)?,
            subject: named(&self.subject_kind, self.subject_id, self.subject_name)?,
            place: place.map(|(kind, id)| named(&kind, id, self.place_name)).transpose()?,
            detail: self.detail,
            organization: self.organization_id.map(|id| OrganizationId::new(id.0)),
        })
    }

    pub(super) fn into_stored(self) -> StoredEntry {
        let object =
            |kind, id: Option<Id>, name| StoredObject { kind, id: id.map(|id| SubjectId::new(id.0)), name };
        StoredEntry {
            id: AuditEntryId::new(self.id.0),
            at: self.at.0,
            organization: self.organization_id.map(|id| OrganizationId::new(id.0)),
            actor: object(Some(self.actor_kind), self.actor_id, self.actor_name),
            action: self.action,
            subject: object(Some(self.subject_kind), Some(self.subject_id), self.subject_name),
            place: object(self.place_kind, self.place_id, self.place_name),
            detail: self.detail,
        }
    }
}
