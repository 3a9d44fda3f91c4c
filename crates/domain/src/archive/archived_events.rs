//! The tables of webhooks of organizations, which an archive contains after all others.

/// Calls a macro with the tables that it is given and with these; see [`archived_tables!`](crate::archived_tables).
#[macro_export]
macro_rules! archived_events {
    ($call:ident { $($tables:tt)* } $($others:tt)*) => {
        $call! {
            archived {
                $($tables)*
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
            }
            $($others)*
        }
    };
}
