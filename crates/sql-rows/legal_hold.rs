//! Legal holds as rows. Compiled into each store.

use diesel::sql_types::{Nullable, Text};
use domain::id::SubjectId;
use domain::legal_hold::{HoldSubject, LegalHold};

use crate::error::Fault;
use crate::row::{At, AtType, Id, IdType};

/// The holds after a time and a subject, with the title or name of what they are on.
pub(super) const HOLDS: &str = "SELECT held.subject_id, held.kind, held.reason, held.placed_at, \
         coalesce(chats.title, organizations.name) \
     FROM legal_holds AS held LEFT JOIN chats ON chats.id = held.subject_id \
         LEFT JOIN organizations ON organizations.id = held.subject_id \
     WHERE (held.placed_at, held.subject_id) > (?, ?) ORDER BY held.placed_at, held.subject_id LIMIT ?";

/// Whether a user, an agent of the user, or an agent is or was in a chat that is under a hold: `?` is the id, twice.
pub(super) const HELD_PARTY: &str = "SELECT (SELECT count(*) FROM participants \
         JOIN chats ON chats.id = participants.chat_id WHERE participants.participant_id = ? AND EXISTS (\
         SELECT 1 FROM legal_holds WHERE subject_id = chats.id OR subject_id = chats.organization_id)) \
     + (SELECT count(*) FROM agents JOIN participants ON participants.participant_id = agents.id \
         JOIN chats ON chats.id = participants.chat_id \
         WHERE agents.owner_id = ? AND agents.deleted_at IS NULL AND EXISTS (\
         SELECT 1 FROM legal_holds WHERE subject_id = chats.id OR subject_id = chats.organization_id))";

/// Whether an organization or one of its chats is under a hold: `?` is the id, twice.
pub(super) const HELD_ORGANIZATION: &str = "SELECT count(*) FROM legal_holds WHERE subject_id = ? \
     OR subject_id IN (SELECT id FROM chats WHERE organization_id = ?)";

/// A row of [`HOLDS`].
pub(super) type HoldRow = (Id, String, String, At, Option<String>);

/// Its types.
pub(super) type HoldTypes = (IdType, Text, Text, AtType, Nullable<Text>);

pub(super) fn hold((id, kind, reason, placed_at, name): HoldRow) -> Result<LegalHold, Fault> {
    let subject = HoldSubject::from_parts(&kind, SubjectId::new(id.0));
    let subject = subject.ok_or_else(|| Fault::Row(format!("a hold on '{kind}'")))?;
    Ok(LegalHold { subject, name, reason, placed_at: placed_at.0 })
}
