//! The class of an operation for rate limits.

use actix_web::http::Method;

/// A class of operations that are counted together.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Class {
    /// All other operations.
    General,
    /// Operations of an agent for every message, or every few seconds.
    Work,
    /// Asking for the next message, which counts as work.
    Next,
    /// Operations that reach strangers, or create something permanent.
    Invitation,
    /// Uploads and downloads.
    Files,
    /// Opening a socket.
    Connect,
}

impl Class {
    /// The class of a request; `path` as it is matched with the routes.
    pub fn of(method: &Method, path: &str) -> Self {
        let mut segments = path.trim_end_matches('/').rsplit('/');
        let (last, before) = (segments.next().unwrap_or_default(), segments.next().unwrap_or_default());
        match (method.as_str(), before, last) {
            ("GET", "messages", "next") => Self::Next,
            ("GET" | "POST", _, "activity") | ("POST", _, "processing" | "processed" | "failed") => {
                Self::Work
            }
            ("POST", "contacts", "add" | "requests" | "resolve")
            | ("POST", "agents", "register")
            | ("POST", "me", "api-keys")
            | ("POST", _, "bulk-delete" | "rotate-key" | "rotate-secret" | "resend" | "test")
            | ("PUT", _, "webhook")
            | ("POST", "api-key", "regenerate")
            | ("POST", "notifications", "channels")
            | ("POST", "organization", "invitations" | "leave")
            | ("POST", "invitations", "accept")
            | ("POST", "webhook", "enable")
            | ("POST", "me" | "v1", "agents") => Self::Invitation,
            ("PUT", _, "files") | ("GET" | "HEAD", "files", _) | ("GET", _, "transcript") => Self::Files,
            _ => Self::General,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_have_their_class() {
        let (get, post) = (Method::GET, Method::POST);
        for (method, path, class) in [
            (&get, "/api/v1/agent/chats/c/messages/next", Class::Next),
            (&get, "/api/v1/agent/chats/c/activity", Class::Work),
            (&post, "/api/v1/agent/chats/c/messages/m/processing", Class::Work),
            (&post, "/api/v1/agent/chats/c/messages/m/processed", Class::Work),
            (&post, "/api/v1/agent/chats/c/messages/m/failed", Class::Work),
            (&post, "/api/v1/agent/chats/c/activity", Class::Work),
            (&post, "/api/v1/agent/contacts/add", Class::Invitation),
            (&post, "/api/v1/me/contacts/requests", Class::Invitation),
            (&post, "/api/v1/me/contacts/resolve", Class::Invitation),
            (&post, "/api/v1/me/agents/register", Class::Invitation),
            (&post, "/api/v1/me/agents", Class::Invitation),
            (&post, "/api/v1/me/agents/bulk-delete", Class::Invitation),
            (&post, "/api/v1/me/chats/bulk-delete", Class::Invitation),
            (&get, "/api/v1/me/bulk-deletions/j", Class::General),
            (&post, "/v1/agents", Class::Invitation),
            (&post, "/api/v1/me/api-keys", Class::Invitation),
            (&post, "/api/v1/me/agents/a/rotate-key", Class::Invitation),
            (&post, "/api/v1/me/agents/a/api-key/regenerate", Class::Invitation),
            (&get, "/api/v1/agent/chats/c/activity", Class::Work),
            (&post, "/api/v1/me/organization/invitations", Class::Invitation),
            (&post, "/api/v1/me/organization/leave", Class::Invitation),
            (&post, "/api/v1/me/invitations/accept", Class::Invitation),
            (&Method::PUT, "/api/v1/me/agents/a/webhook", Class::Invitation),
            (&post, "/api/v1/me/agents/a/webhook/enable", Class::Invitation),
            (&post, "/api/v1/me/agents/a/webhook/rotate-secret", Class::Invitation),
            (&post, "/api/v1/me/agents/a/webhook/deliveries/d/resend", Class::Invitation),
            (&Method::PUT, "/api/v1/me/organization/webhook", Class::Invitation),
            (&post, "/api/v1/me/organization/webhook/deliveries/d/resend", Class::Invitation),
            (&post, "/api/v1/me/notifications/channels", Class::Invitation),
            (&post, "/api/v1/me/notifications/channels/c/test", Class::Invitation),
            (&get, "/api/v1/me/notifications/channels", Class::General),
            (&get, "/api/v1/me/agents/a/webhook", Class::General),
            (&get, "/api/v1/me/organization/invitations", Class::General),
            (&get, "/api/v1/me/api-keys", Class::General),
            (&post, "/api/v1/agents", Class::Invitation),
            (&get, "/api/v1/me/agents", Class::General),
            (&get, "/api/v1/me/contacts/requests", Class::General),
            (&post, "/api/v1/me/contacts/requests/r/approve", Class::General),
            (&post, "/api/v1/agent/chats/c/messages", Class::General),
            (&post, "/api/v1/agent/chats/c/tasks", Class::General),
            (&post, "/api/v1/me/chats/c/tasks/{task_id}", Class::General),
            (&Method::PUT, "/api/v1/agent/chats/c/files", Class::Files),
            (&get, "/api/v1/me/chats/c/transcript", Class::Files),
            (&get, "/api/v1/me/chats/c/files/f", Class::Files),
            (&Method::HEAD, "/api/v1/me/chats/c/files/f", Class::Files),
            (&get, "/api/v1/agent/me", Class::General),
            (&get, "", Class::General),
        ] {
            assert_eq!(Class::of(method, path), class, "{method} {path}");
        }
    }
}
