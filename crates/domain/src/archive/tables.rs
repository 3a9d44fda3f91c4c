//! The schema that all stores share, as one list. Each makes its `schema.rs` of it, and its tests compare it with its tables.

/// Calls a macro with tables, keys, and [columns](crate::archive::ColumnKind) (`Small`: 32 bits) in order, and `diesel`'s joins.
/// - `archived`: what an archive contains, referenced tables first.
/// - `local`: what stays behind: the change log, the tokens of passwords that move, challenges to passkeys, links in notifications, the mark of an
///   unfinished import, and how far each room is indexed for searches. The index itself, `search_texts`, is not in the list: each store has its own form.
///   A new store indexes what was imported.
/// - `cluster`: how the servers on one store know of each other. The embedded store has a single server, and none of these.
#[macro_export]
macro_rules! tables {
    ($call:ident) => {
        $crate::archived_tables! {
            $call
            local {
                change_log (id) {
                    id -> Integer,
                    kind -> Text,
                    subject_id -> Id,
                    changed_at -> Instant,
                }
                sessions (id) {
                    id -> Id,
                    user_id -> Id,
                    family -> Bytes,
                    token -> Bytes,
                    created_at -> Instant,
                    used_at -> Instant,
                    expires_at -> Instant,
                    is_browser -> Flag,
                    key_id -> Nullable<Id>,
                    issuer -> Nullable<Text>,
                    subject -> Nullable<Text>,
                    provider_session -> Nullable<Text>,
                    passkey_id -> Nullable<Id>,
                }
                used_challenges (digest) {
                    digest -> Bytes,
                    expires_at -> Instant,
                }
                resets (user_id) {
                    user_id -> Id,
                    token -> Bytes,
                    expires_at -> Instant,
                    opens_session -> Flag,
                }
                imports (one) {
                    one -> Small,
                    begun_at -> Instant,
                }
                notification_links (digest) {
                    digest -> Bytes,
                    channel_id -> Id,
                    user_id -> Id,
                    item_id -> Id,
                    action -> Text,
                    expires_at -> Instant,
                    used_at -> Nullable<Instant>,
                }
                search_rooms (chat_id) {
                    chat_id -> Id,
                    indexed_sequence -> Integer,
                }
            }
            cluster {
                nodes (id) {
                    id -> Id,
                    entered_at -> Instant,
                    lease_until -> Instant,
                    ended_at -> Nullable<Instant>,
                }
                agent_sockets (agent_id) {
                    agent_id -> Id,
                    node_id -> Id,
                    number -> Integer,
                    since -> Instant,
                    lost_at -> Nullable<Instant>,
                }
                user_nodes (user_id, node_id) {
                    user_id -> Id,
                    node_id -> Id,
                    since -> Instant,
                }
            }
            joins {
                agents -> users (owner_id)
                participants -> chats (chat_id)
                passwords -> users (user_id)
                identities -> users (user_id)
                sessions -> users (user_id)
            }
            together {
                organizations, plans, users, agents, api_keys, passwords, identities, sessions, resets, chats, participants, messages,
                deliveries, attempts, deletion_jobs, memories, contact_requests, contacts, tasks, files
            }
        }
    };
}
