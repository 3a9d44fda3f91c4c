//! The tables of reminders, of webhooks of organizations, and of notifications, which an archive contains after all others.

/// Calls a macro with the tables that it is given and with these; see [`archived_tables!`](crate::archived_tables).
#[macro_export]
macro_rules! archived_later {
    ($call:ident { $($tables:tt)* } $($others:tt)*) => {
        $call! {
            archived {
                $($tables)*
                identities (issuer, subject) {
                    issuer -> Text,
                    subject -> Text,
                    user_id -> Id,
                    created_at -> Instant,
                    used_at -> Nullable<Instant>,
                }
                second_factors (user_id) {
                    user_id -> Id,
                    secret -> Bytes,
                    begun_at -> Instant,
                    enabled_at -> Nullable<Instant>,
                    used_step -> Nullable<Integer>,
                    recovery_codes -> Bytes,
                }
                passkeys (id) {
                    id -> Id,
                    user_id -> Id,
                    name -> Text,
                    credential_id -> Bytes,
                    public_key -> Bytes,
                    is_synced -> Flag,
                    sign_count -> Integer,
                    created_at -> Instant,
                    used_at -> Nullable<Instant>,
                }
                reminders (id) {
                    id -> Id,
                    chat_id -> Id,
                    sender_id -> Id,
                    sender_kind -> Text,
                    sender_handle -> Text,
                    content -> Text,
                    mentions -> Text,
                    created_at -> Instant,
                    first_at -> Instant,
                    every -> Nullable<Text>,
                    due_at -> Instant,
                    number -> Small,
                    sent -> Small,
                    message_id -> Nullable<Id>,
                    sent_at -> Nullable<Instant>,
                    failure -> Nullable<Text>,
                    failed_at -> Nullable<Instant>,
                    cause_id -> Nullable<Id>,
                    root_id -> Nullable<Id>,
                    hop -> Nullable<Small>,
                    originator_id -> Nullable<Id>,
                    originator_kind -> Nullable<Text>,
                    ambiguous_cause -> Nullable<Flag>,
                    traceparent -> Nullable<Text>,
                    follows_foreign -> Flag,
                    outcome -> Nullable<Text>,
                    ended_at -> Nullable<Instant>,
                    cancelled_by -> Nullable<Id>,
                }
                organization_webhooks (organization_id) {
                    organization_id -> Id,
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
                    events -> Nullable<Text>,
                    seen_number -> Integer,
                }
                organization_webhook_deliveries (id) {
                    id -> Id,
                    organization_id -> Id,
                    number -> Integer,
                    action -> Text,
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
                notification_channels (id) {
                    id -> Id,
                    user_id -> Id,
                    kind -> Text,
                    url -> Nullable<Text>,
                    token -> Nullable<Text>,
                    secret -> Nullable<Text>,
                    p256dh -> Nullable<Text>,
                    auth -> Nullable<Text>,
                    content -> Text,
                    quiet_hours -> Nullable<Text>,
                    digest_minutes -> Small,
                    has_links -> Flag,
                    created_at -> Instant,
                    updated_at -> Instant,
                    seen_at -> Instant,
                    attempts -> Small,
                    failures -> Small,
                    failing_since -> Nullable<Instant>,
                    error -> Nullable<Text>,
                    next_at -> Nullable<Instant>,
                    leased_until -> Nullable<Instant>,
                    off_at -> Nullable<Instant>,
                    off_reason -> Nullable<Text>,
                    off_note -> Nullable<Text>,
                }
                notifications (id) {
                    id -> Id,
                    channel_id -> Id,
                    user_id -> Id,
                    kind -> Text,
                    chat_id -> Id,
                    message_id -> Id,
                    created_at -> Instant,
                    due_at -> Instant,
                    is_gathered -> Flag,
                    attempts -> Small,
                    attempted_at -> Nullable<Instant>,
                    status -> Nullable<Small>,
                    error -> Nullable<Text>,
                    ended_at -> Nullable<Instant>,
                    outcome -> Nullable<Text>,
                }
            }
            $($others)*
        }
    };
}
