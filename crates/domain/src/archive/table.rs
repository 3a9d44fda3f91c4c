//! The tables and columns of every store. Each store's tests compare this list with its own schema.

use super::Value;

/// The type of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// An id.
    Id,
    /// A part of a key that is an id, or the nil id for none.
    IdOrNil,
    /// An instant.
    Instant,
    /// A number.
    Integer,
    /// Yes or no.
    Flag,
    /// A text.
    Text,
    /// Bytes.
    Bytes,
}

/// A column of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// The type.
    pub kind: Kind,
    /// Set if it can be null.
    pub is_optional: bool,
}

/// A table.
#[derive(PartialEq, Eq, Debug)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// The number of leading columns that form its key.
    pub key: usize,
    /// Its columns.
    pub columns: &'static [Column],
}

impl Table {
    /// The table of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        TABLES.iter().find(|table| table.name == name)
    }

    /// The columns of its key.
    pub fn key_columns(&self) -> &'static [Column] {
        &self.columns[..self.key]
    }

    /// The key of one of its rows.
    pub fn key_of<'r>(&self, row: &'r [Value]) -> &'r [Value] {
        &row[..self.key]
    }
}

impl Column {
    const fn of(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, is_optional: false }
    }

    const fn or_nothing(self) -> Self {
        Self { is_optional: true, ..self }
    }
}

const fn id(name: &'static str) -> Column {
    Column::of(name, Kind::Id)
}

const fn instant(name: &'static str) -> Column {
    Column::of(name, Kind::Instant)
}

const fn integer(name: &'static str) -> Column {
    Column::of(name, Kind::Integer)
}

const fn flag(name: &'static str) -> Column {
    Column::of(name, Kind::Flag)
}

const fn text(name: &'static str) -> Column {
    Column::of(name, Kind::Text)
}

const fn bytes(name: &'static str) -> Column {
    Column::of(name, Kind::Bytes)
}

/// All tables, referenced ones first.
pub static TABLES: [Table; 20] = [
    Table { name: "plans", key: 1, columns: PLANS },
    Table { name: "organizations", key: 1, columns: ORGANIZATIONS },
    Table { name: "users", key: 1, columns: USERS },
    Table { name: "invitations", key: 1, columns: INVITATIONS },
    Table { name: "agents", key: 1, columns: AGENTS },
    Table { name: "deletion_jobs", key: 1, columns: &[id("agent_id"), instant("requested_at")] },
    Table { name: "api_keys", key: 1, columns: API_KEYS },
    Table { name: "passwords", key: 1, columns: &[id("user_id"), text("hash"), instant("changed_at")] },
    Table { name: "chats", key: 1, columns: CHATS },
    Table { name: "participants", key: 2, columns: PARTICIPANTS },
    Table { name: "messages", key: 1, columns: MESSAGES },
    Table { name: "deliveries", key: 2, columns: DELIVERIES },
    Table { name: "attempts", key: 3, columns: ATTEMPTS },
    Table { name: "contact_requests", key: 1, columns: CONTACT_REQUESTS },
    Table { name: "contacts", key: 1, columns: CONTACTS },
    Table { name: "idempotency_records", key: 4, columns: IDEMPOTENCY_RECORDS },
    Table { name: "memories", key: 1, columns: MEMORIES },
    Table { name: "secrets", key: 1, columns: &[text("name"), bytes("secret")] },
    Table { name: "audit", key: 1, columns: AUDIT },
    Table { name: "audit_chain", key: 1, columns: &[integer("id"), integer("number"), bytes("digest")] },
];

/// Tables that no archive contains: the communication of the servers on one store (the last three
/// do not exist in the embedded store, which has a single server), the tokens of passwords that
/// move (users log in again), and the mark of an unfinished import.
pub const STAY_BEHIND: [&str; 7] =
    ["change_log", "sessions", "resets", "imports", "nodes", "agent_sockets", "user_nodes"];

const ORGANIZATIONS: &[Column] = &[
    id("id"),
    text("name"),
    instant("created_at"),
    text("plan"),
    integer("content_bytes"),
    instant("deleted_at").or_nothing(),
];

const USERS: &[Column] = &[
    id("id"),
    id("organization_id"),
    text("handle"),
    text("email"),
    text("first_name"),
    text("last_name"),
    instant("created_at"),
    instant("updated_at"),
    text("role"),
    text("organization_role"),
    id("own_organization_id").or_nothing(),
    instant("disabled_at").or_nothing(),
    instant("deleted_at").or_nothing(),
];

const INVITATIONS: &[Column] = &[
    id("id"),
    id("organization_id"),
    text("role"),
    text("email").or_nothing(),
    bytes("digest"),
    id("created_by").or_nothing(),
    instant("created_at"),
    instant("expires_at"),
    instant("accepted_at").or_nothing(),
    id("accepted_by").or_nothing(),
    instant("revoked_at").or_nothing(),
];

const AGENTS: &[Column] = &[
    id("id"),
    id("owner_id"),
    text("name"),
    text("handle"),
    text("description"),
    text("kind"),
    text("model_type").or_nothing(),
    text("bio").or_nothing(),
    text("tags"),
    flag("listed_in_directory"),
    flag("registry_access"),
    flag("shared_with_organization"),
    instant("created_at"),
    instant("updated_at"),
    instant("deleted_at").or_nothing(),
    flag("is_global"),
    instant("disabled_at").or_nothing(),
];

const API_KEYS: &[Column] = &[
    id("id"),
    bytes("digest"),
    id("user_id").or_nothing(),
    id("agent_id").or_nothing(),
    instant("created_at"),
    instant("revoked_at").or_nothing(),
    text("name").or_nothing(),
    text("prefix").or_nothing(),
    instant("expires_at").or_nothing(),
    instant("last_used_at").or_nothing(),
    flag("read_only"),
    id("only_chat_id").or_nothing(),
    id("only_agent_id").or_nothing(),
];

const AUDIT: &[Column] = &[
    id("id"),
    instant("at"),
    id("organization_id").or_nothing(),
    text("actor_kind"),
    id("actor_id").or_nothing(),
    text("action"),
    text("subject_kind"),
    id("subject_id"),
    text("place_kind").or_nothing(),
    id("place_id").or_nothing(),
    text("detail").or_nothing(),
    text("actor_name").or_nothing(),
    text("subject_name").or_nothing(),
    text("place_name").or_nothing(),
    integer("number").or_nothing(),
    bytes("digest").or_nothing(),
];

const CHATS: &[Column] = &[
    id("id"),
    text("title").or_nothing(),
    id("task_id").or_nothing(),
    text("kind"),
    text("status"),
    integer("last_sequence"),
    instant("created_at"),
    instant("updated_at"),
    instant("last_message_at").or_nothing(),
    instant("deleted_at").or_nothing(),
    id("organization_id").or_nothing(),
    integer("deleted_messages"),
    id("titled_by").or_nothing(),
    integer("content_bytes"),
];

const PARTICIPANTS: &[Column] = &[
    id("chat_id"),
    id("participant_id"),
    text("kind"),
    text("role"),
    text("status"),
    instant("chat_created_at"),
    instant("joined_at"),
    instant("left_at").or_nothing(),
    id("account_id"),
];

const MESSAGES: &[Column] = &[
    id("id"),
    id("chat_id"),
    integer("sequence"),
    text("kind"),
    text("content"),
    id("sender_id"),
    text("sender_kind"),
    text("sender_name"),
    text("mentions"),
    text("metadata").or_nothing(),
    instant("created_at"),
    instant("updated_at"),
];

const DELIVERIES: &[Column] = &[
    id("message_id"),
    id("agent_id"),
    id("chat_id"),
    integer("sequence"),
    flag("addressed"),
    text("status"),
    integer("current_attempt"),
    instant("delivered_at").or_nothing(),
    instant("processed_at").or_nothing(),
];

const ATTEMPTS: &[Column] = &[
    id("message_id"),
    id("agent_id"),
    integer("number"),
    text("status"),
    instant("started_at"),
    instant("completed_at").or_nothing(),
    text("error").or_nothing(),
];

const CONTACT_REQUESTS: &[Column] = &[
    id("id"),
    id("requester_id"),
    text("requester_kind"),
    id("requester_user_id"),
    id("recipient_id"),
    text("recipient_kind"),
    id("recipient_user_id"),
    text("message").or_nothing(),
    text("status"),
    instant("created_at"),
    instant("responded_at").or_nothing(),
];

const CONTACTS: &[Column] = &[
    id("id"),
    id("owner_id"),
    text("owner_kind"),
    id("contact_id"),
    text("contact_kind"),
    id("request_id").or_nothing(),
    instant("created_at"),
];

const IDEMPOTENCY_RECORDS: &[Column] = &[
    id("sender_id"),
    text("operation"),
    Column::of("place_id", Kind::IdOrNil),
    text("key"),
    bytes("fingerprint"),
    id("record_id"),
    instant("answered_at"),
    text("deleted_mentions").or_nothing(),
];

const PLANS: &[Column] = &[
    text("name"),
    integer("agents").or_nothing(),
    integer("chats").or_nothing(),
    integer("participants").or_nothing(),
    integer("messages").or_nothing(),
    flag("human_interface"),
    flag("memories"),
    integer("bytes").or_nothing(),
];

const MEMORIES: &[Column] = &[
    id("id"),
    id("organization_id"),
    id("source_id").or_nothing(),
    id("subject_id").or_nothing(),
    text("subject_kind").or_nothing(),
    text("system"),
    text("kind"),
    text("segment"),
    text("scope"),
    text("status"),
    text("folded"),
    text("content"),
    text("thought"),
    text("metadata"),
    instant("created_at"),
    instant("updated_at"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_never_nothing_and_names_stand_for_one() {
        for table in &TABLES {
            assert!(table.key > 0 && table.key_columns().iter().all(|column| !column.is_optional));
            assert!(std::ptr::eq(Table::named(table.name).unwrap(), table));
            for column in table.columns {
                let same = table.columns.iter().filter(|other| other.name == column.name);
                assert_eq!(same.count(), 1, "{}.{}", table.name, column.name);
            }
        }
        assert_eq!(Table::named("nothing"), None);
    }
}
