//! The schema that all stores share, as one list. Each makes its `schema.rs` of it, and its tests compare it with its tables.

/// Calls a macro with tables, keys, and [columns](crate::archive::ColumnKind) (`Small`: 32 bits) in order, and `diesel`'s joins.
/// - `archived`: what an archive contains, referenced tables first.
/// - `local`: what stays behind: the change log, the tokens of passwords that move, and the mark of an unfinished import.
/// - `cluster`: how the servers on one store know of each other. The embedded store has a single server, and none of these.
#[macro_export]
macro_rules! tables {
    ($call:ident) => {
        $call! {
            archived {
                plans (name) {
                    name -> Text,
                    agents -> Nullable<Integer>,
                    chats -> Nullable<Integer>,
                    participants -> Nullable<Integer>,
                    messages -> Nullable<Integer>,
                    human_interface -> Flag,
                    memories -> Flag,
                    bytes -> Nullable<Integer>,
                }
                organizations (id) {
                    id -> Id,
                    name -> Text,
                    created_at -> Instant,
                    plan -> Text,
                    content_bytes -> Integer,
                    deleted_at -> Nullable<Instant>,
                    paused_at -> Nullable<Instant>,
                    pause_reason -> Nullable<Text>,
                    max_hops -> Nullable<Small>,
                    max_pair_messages -> Nullable<Small>,
                    foreign_policy -> Nullable<Text>,
                }
                users (id) {
                    id -> Id,
                    organization_id -> Id,
                    handle -> Text,
                    email -> Text,
                    first_name -> Text,
                    last_name -> Text,
                    created_at -> Instant,
                    updated_at -> Instant,
                    role -> Text,
                    organization_role -> Text,
                    own_organization_id -> Nullable<Id>,
                    disabled_at -> Nullable<Instant>,
                    deleted_at -> Nullable<Instant>,
                }
                invitations (id) {
                    id -> Id,
                    organization_id -> Id,
                    role -> Text,
                    email -> Nullable<Text>,
                    digest -> Bytes,
                    created_by -> Nullable<Id>,
                    created_at -> Instant,
                    expires_at -> Instant,
                    accepted_at -> Nullable<Instant>,
                    accepted_by -> Nullable<Id>,
                    revoked_at -> Nullable<Instant>,
                }
                agents (id) {
                    id -> Id,
                    owner_id -> Id,
                    name -> Text,
                    handle -> Text,
                    description -> Text,
                    kind -> Text,
                    model_type -> Nullable<Text>,
                    bio -> Nullable<Text>,
                    tags -> Text,
                    listed_in_directory -> Flag,
                    registry_access -> Flag,
                    shared_with_organization -> Flag,
                    created_at -> Instant,
                    updated_at -> Instant,
                    deleted_at -> Nullable<Instant>,
                    is_global -> Flag,
                    disabled_at -> Nullable<Instant>,
                    max_attempts -> Nullable<Small>,
                    disconnected_at -> Nullable<Instant>,
                    disconnect_reason -> Nullable<Text>,
                    foreign_access -> Flag,
                    paused_at -> Nullable<Instant>,
                    pause_reason -> Nullable<Text>,
                    exclusive_claims -> Flag,
                    a2a -> Flag,
                }
                agent_connections (agent_id, ended_at) {
                    agent_id -> Id,
                    ended_at -> Instant,
                    began_at -> Nullable<Instant>,
                    reason -> Text,
                }
                webhooks (agent_id) {
                    agent_id -> Id,
                    url -> Text,
                    secret -> Text,
                    previous_secret -> Nullable<Text>,
                    previous_until -> Nullable<Instant>,
                    earlier_secret -> Nullable<Text>,
                    earlier_until -> Nullable<Instant>,
                    failing_since -> Nullable<Instant>,
                    warned_at -> Nullable<Instant>,
                    disabled_at -> Nullable<Instant>,
                    disabled_reason -> Nullable<Text>,
                    created_at -> Instant,
                    updated_at -> Instant,
                }
                webhook_deliveries (id) {
                    id -> Id,
                    agent_id -> Id,
                    chat_id -> Id,
                    sequence -> Integer,
                    message_id -> Id,
                    created_at -> Instant,
                    attempts -> Small,
                    next_attempt_at -> Instant,
                    leased_until -> Nullable<Instant>,
                    attempted_at -> Nullable<Instant>,
                    status -> Nullable<Small>,
                    error -> Nullable<Text>,
                    ended_at -> Nullable<Instant>,
                    outcome -> Nullable<Text>,
                }
                deletion_jobs (agent_id) {
                    agent_id -> Id,
                    requested_at -> Instant,
                }
                bulk_deletions (id) {
                    id -> Id,
                    user_id -> Id,
                    resource -> Text,
                    force -> Flag,
                    faults -> Small,
                    next_at -> Instant,
                    inserted_at -> Instant,
                    started_at -> Nullable<Instant>,
                    completed_at -> Nullable<Instant>,
                    items -> Text,
                }
                api_keys (id) {
                    id -> Id,
                    digest -> Bytes,
                    user_id -> Nullable<Id>,
                    agent_id -> Nullable<Id>,
                    created_at -> Instant,
                    revoked_at -> Nullable<Instant>,
                    name -> Nullable<Text>,
                    prefix -> Nullable<Text>,
                    expires_at -> Nullable<Instant>,
                    last_used_at -> Nullable<Instant>,
                    read_only -> Flag,
                    only_chat_id -> Nullable<Id>,
                    only_agent_id -> Nullable<Id>,
                }
                passwords (user_id) {
                    user_id -> Id,
                    hash -> Text,
                    changed_at -> Instant,
                }
                chats (id) {
                    id -> Id,
                    title -> Nullable<Text>,
                    task_id -> Nullable<Id>,
                    kind -> Text,
                    status -> Text,
                    last_sequence -> Integer,
                    created_at -> Instant,
                    updated_at -> Instant,
                    last_message_at -> Nullable<Instant>,
                    deleted_at -> Nullable<Instant>,
                    organization_id -> Nullable<Id>,
                    deleted_messages -> Integer,
                    titled_by -> Nullable<Id>,
                    content_bytes -> Integer,
                    respond_within -> Nullable<Small>,
                    max_hops -> Nullable<Small>,
                    texts -> Integer,
                }
                participants (chat_id, participant_id) {
                    chat_id -> Id,
                    participant_id -> Id,
                    kind -> Text,
                    role -> Text,
                    status -> Text,
                    chat_created_at -> Instant,
                    joined_at -> Instant,
                    left_at -> Nullable<Instant>,
                    account_id -> Id,
                    stopped_at -> Nullable<Instant>,
                    read_sequence -> Integer,
                    read_texts -> Integer,
                    muted -> Flag,
                    agent_paused_at -> Nullable<Instant>,
                }
                messages (id) {
                    id -> Id,
                    chat_id -> Id,
                    sequence -> Integer,
                    kind -> Text,
                    content -> Text,
                    sender_id -> Id,
                    sender_kind -> Text,
                    sender_name -> Text,
                    mentions -> Text,
                    metadata -> Nullable<Text>,
                    created_at -> Instant,
                    updated_at -> Instant,
                    respond_by -> Nullable<Instant>,
                    deadline_checked_at -> Nullable<Instant>,
                    cause_id -> Nullable<Id>,
                    root_id -> Nullable<Id>,
                    hop -> Nullable<Small>,
                    originator_id -> Nullable<Id>,
                    originator_kind -> Nullable<Text>,
                    ambiguous_cause -> Nullable<Flag>,
                    foreign_origin -> Nullable<Flag>,
                    traceparent -> Nullable<Text>,
                    attachments -> Nullable<Text>,
                }
                files (id) {
                    id -> Id,
                    chat_id -> Id,
                    name -> Text,
                    content_type -> Text,
                    bytes -> Integer,
                    digest -> Bytes,
                    uploader_id -> Id,
                    uploader_kind -> Text,
                    created_at -> Instant,
                    uses -> Integer,
                    expires_at -> Nullable<Instant>,
                }
                deliveries (agent_id, chat_id, sequence) {
                    agent_id -> Id,
                    chat_id -> Id,
                    sequence -> Integer,
                    addressed -> Flag,
                    current_attempt -> Small,
                    delivered_at -> Nullable<Instant>,
                    started_at -> Nullable<Instant>,
                    processed_at -> Nullable<Instant>,
                    failed_at -> Nullable<Instant>,
                    error -> Nullable<Text>,
                    dead_at -> Nullable<Instant>,
                    dead_reason -> Nullable<Text>,
                    restarted_after -> Nullable<Small>,
                    restarted_at -> Nullable<Instant>,
                    replaced_by -> Nullable<Id>,
                    held_by -> Nullable<Text>,
                    claimed_until -> Nullable<Instant>,
                }
                attempts (agent_id, chat_id, sequence, number) {
                    agent_id -> Id,
                    chat_id -> Id,
                    sequence -> Integer,
                    number -> Small,
                    started_at -> Instant,
                    completed_at -> Instant,
                    error -> Nullable<Text>,
                }
                token_usage (organization_id, day, owner_id, agent_id, chat_id, root_id, model) {
                    organization_id -> Id,
                    day -> Integer,
                    owner_id -> Id,
                    agent_id -> Id,
                    chat_id -> Id,
                    root_id -> Id,
                    model -> Text,
                    input_tokens -> Integer,
                    output_tokens -> Integer,
                    cache_read_tokens -> Integer,
                    cache_write_tokens -> Integer,
                    reports -> Integer,
                }
                holds (subject_id, held_by) {
                    subject_id -> Id,
                    held_by -> Text,
                    chat_id -> Id,
                    message_id -> Id,
                    bound -> Small,
                    allowed -> Nullable<Small>,
                    held_at -> Nullable<Instant>,
                    noticed_at -> Nullable<Instant>,
                }
                budgets (organization_id, budget) {
                    organization_id -> Id,
                    budget -> Text,
                    amount -> Integer,
                }
                text_counts (day, organization_id, sender_id, chat_id) {
                    day -> Integer,
                    organization_id -> Id,
                    sender_id -> Id,
                    chat_id -> Id,
                    texts -> Integer,
                }
                tree_counts (root_id) {
                    root_id -> Id,
                    day -> Integer,
                    texts -> Integer,
                }
                budget_levels (subject_id, budget) {
                    subject_id -> Id,
                    budget -> Text,
                    organization_id -> Id,
                    day -> Integer,
                    chat_id -> Nullable<Id>,
                    message_id -> Nullable<Id>,
                    amount -> Integer,
                    used -> Integer,
                    allowed -> Nullable<Integer>,
                    warned_at -> Nullable<Instant>,
                    exceeded_at -> Nullable<Instant>,
                    noticed_at -> Nullable<Instant>,
                }
                contact_requests (id) {
                    id -> Id,
                    requester_id -> Id,
                    requester_kind -> Text,
                    requester_user_id -> Id,
                    recipient_id -> Id,
                    recipient_kind -> Text,
                    recipient_user_id -> Id,
                    message -> Nullable<Text>,
                    status -> Text,
                    created_at -> Instant,
                    responded_at -> Nullable<Instant>,
                }
                contacts (id) {
                    id -> Id,
                    owner_id -> Id,
                    owner_kind -> Text,
                    contact_id -> Id,
                    contact_kind -> Text,
                    request_id -> Nullable<Id>,
                    created_at -> Instant,
                }
                idempotency_records (sender_id, operation, place_id, key) {
                    sender_id -> Id,
                    operation -> Text,
                    place_id -> IdOrNil,
                    key -> Text,
                    fingerprint -> Bytes,
                    record_id -> Id,
                    answered_at -> Instant,
                    deleted_mentions -> Nullable<Text>,
                }
                memories (id) {
                    id -> Id,
                    organization_id -> Id,
                    source_id -> Nullable<Id>,
                    subject_id -> Nullable<Id>,
                    subject_kind -> Nullable<Text>,
                    system -> Text,
                    kind -> Text,
                    segment -> Text,
                    scope -> Text,
                    status -> Text,
                    folded -> Text,
                    content -> Text,
                    thought -> Text,
                    metadata -> Text,
                    created_at -> Instant,
                    updated_at -> Instant,
                }
                boards (chat_id) {
                    chat_id -> Id,
                    title -> Nullable<Text>,
                    summary -> Nullable<Text>,
                    created_by -> Nullable<Text>,
                    updated_by -> Nullable<Text>,
                    created_at -> Nullable<Instant>,
                    updated_at -> Nullable<Instant>,
                    last_task -> Integer,
                    last_entry -> Integer,
                    pending -> Integer,
                    in_progress -> Integer,
                    blocked -> Integer,
                    in_review -> Integer,
                    failed -> Integer,
                    completed -> Integer,
                    deleted_at -> Nullable<Instant>,
                }
                tasks (chat_id, number) {
                    chat_id -> Id,
                    number -> Integer,
                    id -> Id,
                    state -> Text,
                    status -> Text,
                    created_at -> Instant,
                    updated_at -> Instant,
                    started_at -> Nullable<Instant>,
                    completed_at -> Nullable<Instant>,
                    superseded_by -> Nullable<Id>,
                    last_entry -> Integer,
                    created_by -> Text,
                    assignments -> Text,
                    subject -> Text,
                    detail -> Text,
                }
                board_entries (chat_id, task, number) {
                    chat_id -> Id,
                    task -> Integer,
                    number -> Integer,
                    at -> Instant,
                    actor -> Text,
                    action -> Text,
                }
                secrets (name) {
                    name -> Text,
                    secret -> Bytes,
                }
                audit (id) {
                    id -> Id,
                    at -> Instant,
                    organization_id -> Nullable<Id>,
                    actor_kind -> Text,
                    actor_id -> Nullable<Id>,
                    action -> Text,
                    subject_kind -> Text,
                    subject_id -> Id,
                    place_kind -> Nullable<Text>,
                    place_id -> Nullable<Id>,
                    detail -> Nullable<Text>,
                    actor_name -> Nullable<Text>,
                    subject_name -> Nullable<Text>,
                    place_name -> Nullable<Text>,
                    number -> Nullable<Integer>,
                    digest -> Nullable<Bytes>,
                }
                audit_chain (id) {
                    id -> Integer,
                    number -> Integer,
                    digest -> Bytes,
                }
            }
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
                }
                resets (user_id) {
                    user_id -> Id,
                    token -> Bytes,
                    expires_at -> Instant,
                }
                imports (one) {
                    one -> Small,
                    begun_at -> Instant,
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
                sessions -> users (user_id)
            }
            together {
                organizations, plans, users, agents, api_keys, passwords, sessions, resets, chats, participants, messages,
                deliveries, attempts, deletion_jobs, memories, contact_requests, contacts, tasks, files
            }
        }
    };
}
