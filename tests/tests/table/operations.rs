//! Every operation, with a well-formed request.

use reqwest::Method;
use serde_json::{Value, json};

use crate::login::logins;
use crate::work::work;

/// The callers of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Callers {
    /// Humans, under `/api/v1/me`, and with their password under `/api/v1/auth`.
    Users,
    /// Agents, under `/api/v1/agent`.
    Agents,
    /// Operators, under `/api/v1/operator`; they have no tenant.
    Operators,
    /// Humans, on a generic path.
    UsersOnGenericPath,
    /// Both, on a generic path.
    Anybody,
    /// Clients without a credential.
    Public,
}

/// A member whose wrong value is refused with another status than 422: pointer, whether the value is a text, status.
pub(crate) type Exception = (&'static str, bool, u16);

#[derive(Clone, Debug)]
pub(crate) struct Operation {
    pub(crate) method: Method,
    /// From the root, with the names of ids in braces.
    pub(crate) path: String,
    pub(crate) callers: Callers,
    /// Null when nothing is sent.
    pub(crate) body: Value,
    /// The refusal of ids of another tenant.
    pub(crate) foreign: (u16, &'static str),
    pub(crate) exceptions: &'static [Exception],
}

impl Operation {
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    pub(crate) fn has_ids(&self) -> bool {
        self.path.contains('{')
    }

    pub(crate) fn takes_a_body(&self) -> bool {
        self.body.is_object()
    }

    /// The exception for `value` at `pointer`.
    pub(crate) fn exception_at(&self, pointer: &str, value: &Value) -> Option<&'static Exception> {
        self.exceptions.iter().find(|(at, text, _)| *at == pointer && *text == value.is_string())
    }

    fn except(mut self, exceptions: &'static [Exception]) -> Self {
        self.exceptions = exceptions;
        self
    }
}

pub(crate) fn operation(method: Method, path: &str, body: Value) -> Operation {
    let callers = if path.starts_with("/api/v1/me/") || path.starts_with("/api/v1/auth/") {
        Callers::Users
    } else if path.starts_with("/api/v1/agent/") {
        Callers::Agents
    } else if path.starts_with("/api/v1/operator/") {
        Callers::Operators
    } else if path.contains("/agents") {
        Callers::UsersOnGenericPath
    } else {
        Callers::Anybody
    };
    Operation { method, path: path.to_owned(), callers, body, foreign: (404, "not_found"), exceptions: &[] }
}

pub(crate) fn get(path: &str) -> Operation {
    operation(Method::GET, path, Value::Null)
}

pub(crate) fn delete(path: &str) -> Operation {
    operation(Method::DELETE, path, Value::Null)
}

pub(crate) fn post(path: &str, body: Value) -> Operation {
    operation(Method::POST, path, body)
}

fn message() -> Value {
    let mention = json!({
        "id": "0190c5a4-0000-7000-8000-0000000000a1", "handle": "ann/one", "name": "One", "kind": "mention",
    });
    json!({"message": {
        "content": "hello", "mentions": [mention], "attachment_ids": [], "respond_by": "2999-01-01T00:00:00Z",
        "deliver_at": "2999-01-01T00:00:00Z", "every": "FREQ=DAILY",
    }})
}

/// A malformed handle is one fault in a lookup.
const ANY_HANDLE: &[Exception] = &[("/handle", true, 400), ("/handle", false, 400)];

/// A string that is not a handle is malformed.
const HANDLES: &[Exception] = &[("/handle", true, 400), ("/contact_request/recipient_handle", true, 400)];

pub(crate) fn operations() -> Vec<Operation> {
    let mut all = public();
    all.extend(account());
    all.extend(logins());
    all.extend(organization());
    all.extend(rooms("/api/v1/me"));
    all.extend(rooms("/api/v1/agent"));
    all.extend(boards("/api/v1/me"));
    all.extend(boards("/api/v1/agent"));
    all.extend(files("/api/v1/me"));
    all.extend(files("/api/v1/agent"));
    all.extend(reminders("/api/v1/me"));
    all.extend(reminders("/api/v1/agent"));
    all.extend(ledger("/api/v1/me/work"));
    all.extend(ledger("/api/v1/me/organization/work"));
    all.extend(["/api/v1/me/usage", "/api/v1/me/organization/usage"].map(get));
    all.extend(work());
    all.extend(control());
    all.extend(webhook("agents/{agent_id}", json!({"url": "https://hooks.example.org/in"})));
    let told = json!({"url": "https://hooks.example.org/in", "events": ["agent.*"]});
    all.extend(webhook("organization", told));
    all.extend(bulk_deletions());
    all.extend(contacts("/api/v1/me"));
    all.extend(contacts("/api/v1/agent"));
    all.extend(memories("/api/v1/me"));
    all.extend(memories("/api/v1/agent"));
    all.extend(operators());
    all
}

fn operators() -> Vec<Operation> {
    let at = |path: &str| format!("/api/v1/operator{path}");
    let lists = [
        "/overview",
        "/throughput",
        "/connections",
        "/disconnects",
        "/audit",
        "/users",
        "/agents",
        "/work",
        "/organizations",
        "/plans",
    ];
    let changes = [
        "/users/{user_id}/disable",
        "/users/{user_id}/enable",
        "/agents/{agent_id}/disable",
        "/agents/{agent_id}/enable",
    ];
    let lists = lists.map(|path| get(&at(path)));
    let plan = json!({"organization": {"plan": "enterprise"}});
    let others = [
        operation(Method::PATCH, &at("/organizations/{organization_id}"), plan),
        delete(&at("/keys/{key_id}")),
    ];
    lists.into_iter().chain(changes.map(|path| post(&at(path), Value::Null))).chain(others).collect()
}

/// What both interfaces serve under `base`, and what only one does.
fn memories(base: &str) -> Vec<Operation> {
    let at = |path: &str| format!("{base}/memories{path}");
    let mut all = vec![
        get(&at("")),
        get(&at("/{memory_id}")),
        delete(&at("/{memory_id}")),
        post(&at("/{memory_id}/supersede"), Value::Null),
        post(&at("/{memory_id}/archive"), Value::Null),
    ];
    if base.ends_with("agent") {
        let memory = json!({"memory": {
            "content": "it rained", "system": "long_term", "type": "episodic", "segment": "agent", "scope": "agent",
            "thought": "for later", "metadata": {"any": {"thing": 1}},
        }});
        all.push(post(&at(""), memory));
    } else {
        all.push(post(&at("/{memory_id}/restore"), Value::Null));
    }
    all
}

/// What both interfaces serve under `base`, and what only one does.
fn contacts(base: &str) -> Vec<Operation> {
    let at = |path: &str| format!("{base}/contacts{path}");
    let request = json!({"contact_request": {"recipient_handle": "somebody", "message": "hello"}});
    let mut all = vec![
        get(&at("")),
        delete(&at("/{contact_id}")),
        post(&at("/remove"), json!({"handle": "somebody"})),
        post(&at("/remove"), json!({"contact_id": "0190c5a4-0000-7000-8000-0000000000a1"})),
        post(&at("/resolve"), json!({"handle": "somebody"})),
        get(&at("/requests")),
        post(&at("/requests"), request),
        get(&at("/requests/received")),
        get(&at("/requests/sent")),
        delete(&at("/requests/{request_id}")),
        post(&at("/requests/{request_id}/approve"), Value::Null),
        post(&at("/requests/{request_id}/reject"), Value::Null),
        post(&at("/requests/{request_id}/cancel"), Value::Null),
    ];
    if base.ends_with("agent") {
        all.push(post(&at("/add"), json!({"handle": "somebody", "message": "hello"})));
        all.push(post(&at("/requests/respond"), json!({"action": "approve", "handle": "somebody"})));
        let request_id = "0190c5a4-0000-7000-8000-0000000000a1";
        all.push(post(&at("/requests/respond"), json!({"action": "approve", "request_id": request_id})));
    }
    let except = |operation: Operation| {
        let resolves = operation.path.ends_with("/resolve");
        operation.except(if resolves { ANY_HANDLE } else { HANDLES })
    };
    all.into_iter().map(except).collect()
}

fn public() -> Vec<Operation> {
    let registration = json!({
        "handle": "zoe", "email": "zoe@example.org", "name": "Zoe", "password": "battery staple",
        "invitation": "thnv_i_unknown",
    });
    let refresh = json!({"refresh_token": "thnv_r_unknown"});
    let all = [
        get("/"),
        get("/health"),
        get("/ready"),
        get("/version"),
        get("/api/version"),
        get("/api/v1/health"),
        post("/api/v1/auth/register", registration),
        post("/api/v1/auth/login", json!({"login": "nobody", "password": "correct horse", "code": "123456"})),
        post("/api/v1/auth/refresh", refresh.clone()),
        post("/api/v1/auth/logout", refresh),
        post(
            "/api/v1/auth/reset",
            json!({"reset_token": "unknown", "new_password": "battery staple", "code": "123456"}),
        ),
    ];
    all.map(|operation| Operation { callers: Callers::Public, ..operation }).into()
}

fn account() -> Vec<Operation> {
    let agent = json!({"agent": {"name": "New", "description": "a new one"}});
    let platform = json!({"agent": {"name": "New", "description": "a new one", "model_type": "large"}});
    let changes = json!({"agent": {
        "name": "Other", "description": "another", "model_type": "large", "bio": "born", "max_attempts": 3, "claims": "exclusive",
        "tags": ["a"],
        "listed_in_directory": true, "registry_access": true, "shared_with_organization": true,
        "foreign_access": true, "a2a": true,
    }});
    vec![
        get("/api/v1/me/profile"),
        operation(
            Method::PUT,
            "/api/v1/me/profile",
            json!({"user": {"first_name": "Ann", "last_name": "Lee"}}),
        ),
        get("/api/v1/me/agents"),
        post("/api/v1/me/agents", platform.clone()),
        post("/api/v1/me/agents/register", agent),
        get("/api/v1/me/agents/{agent_id}"),
        operation(Method::PATCH, "/api/v1/me/agents/{agent_id}", changes),
        delete("/api/v1/me/agents/{agent_id}"),
        get("/api/v1/me/agents/{agent_id}/connections"),
        post("/api/v1/me/agents/{agent_id}/rotate-key", Value::Null),
        post("/api/v1/me/agents/{agent_id}/api-key/regenerate", Value::Null),
        get("/api/v1/me/api-keys"),
        post(
            "/api/v1/me/api-keys",
            json!({"api_key": {"name": "laptop", "expires_at": "2999-01-01T00:00:00Z"}}),
        ),
        delete("/api/v1/me/api-keys/{key_id}"),
        get("/api/v1/me/organization/audit"),
        get("/api/v1/me/peers"),
        get("/api/v1/me/directory"),
        get("/api/v1/agent/me"),
        get("/api/v1/agent/peers"),
        get("/api/v1/agent/directory"),
        get("/v1/agents"),
        post("/v1/agents", platform["agent"].clone()),
        get("/v1/agents/{agent_id}"),
        get("/v1/chats"),
        post("/v1/chats", json!({"title": "Plan", "chat_type": "group"})),
        get("/api/v1/agents"),
        post("/api/v1/agents", platform["agent"].clone()),
        get("/api/v1/agents/{agent_id}"),
        get("/api/v1/chats"),
        post("/api/v1/chats", json!({"title": "Plan", "chat_type": "group"})),
        get("/api/v1/test"),
    ]
}

fn organization() -> Vec<Operation> {
    let at = |path: &str| format!("/api/v1/me/organization{path}");
    let patch = |path: &str, body| operation(Method::PATCH, &at(path), body);
    let invitation = json!({"invitation": {
        "role": "member", "email": "guest@example.org", "expires_at": "2999-01-01T00:00:00Z",
    }});
    vec![
        get(&at("")),
        patch(
            "",
            json!({"organization": {"name": "Acme", "max_hops": 200, "max_pair_messages": 500, "foreign": "hold"}}),
        ),
        get(&at("/budgets")),
        patch("/budgets", json!({"budgets": {"agent_tokens": 100_000, "room_messages": null}})),
        get(&at("/members")),
        patch("/members/{member_id}", json!({"member": {"role": "admin"}})),
        delete(&at("/members/{member_id}")),
        post(&at("/leave"), Value::Null),
        get(&at("/invitations")),
        post(&at("/invitations"), invitation),
        delete(&at("/invitations/{invitation_id}")),
        post("/api/v1/me/invitations/accept", json!({"invitation": {"token": "thnv_i_unknown"}})),
    ]
}

/// The operations on the board of a room, which both interfaces serve under `base`.
fn boards(base: &str) -> Vec<Operation> {
    let at = |path: &str| format!("{base}/chats/{{chat_id}}{path}");
    let goal = json!({"goal_title": "Ship it", "goal_summary": "by Friday"});
    let task = json!({"subject": "Write", "detail": "all of it", "supersedes_id": "1"});
    let changes = json!({
        "status": "in_progress", "active_form": "Writing", "linked_native_id": "t-1", "comment": "begun",
        "subject": "Write", "detail": "all of it", "state": "active",
    });
    vec![
        get(&at("/board")),
        operation(Method::PUT, &at("/board"), goal),
        get(&at("/tasks")),
        post(&at("/tasks"), task),
        get(&at("/tasks/{task_id}")),
        post(&at("/tasks/{task_id}"), changes),
        get(&at("/tasks/{task_id}/history")),
    ]
}

/// The operations on the files of a room, which both interfaces serve under `base`. An upload without its headers is
/// malformed for those who may upload.
fn files(base: &str) -> Vec<Operation> {
    let at = |path: &str| format!("{base}/chats/{{chat_id}}/files{path}");
    vec![operation(Method::PUT, &at(""), Value::Null), get(&at("/{file_id}"))]
}

/// The operations that both interfaces serve under `base`.
fn rooms(base: &str) -> Vec<Operation> {
    let at = |path: &str| format!("{base}{path}");
    let chat = json!({"chat": {
        "title": "Plan", "task_id": "0190c5a4-0000-7000-8000-0000000000a1", "type": "group", "chat_type": "group",
    }});
    let participant = json!({"participant": {
        "participant_id": "0190c5a4-0000-7000-8000-0000000000a1", "role": "member",
    }});
    let mut all = vec![
        get(&at("/chats")),
        post(&at("/chats"), chat),
        get(&at("/chats/{chat_id}")),
        get(&at("/chats/{chat_id}/participants")),
        post(&at("/chats/{chat_id}/participants"), participant),
        delete(&at("/chats/{chat_id}/participants/{participant_id}")),
        get(&at("/chats/{chat_id}/messages")),
        post(&at("/chats/{chat_id}/messages"), message()),
        get(&at("/chats/{chat_id}/messages/{message_id}/receipts")),
    ];
    all.push(operation(
        Method::PATCH,
        &at("/chats/{chat_id}"),
        json!({"chat": {"title": "Plan", "respond_within": 60, "max_hops": 10}}),
    ));
    if base.ends_with("me") {
        all.push(delete(&at("/chats/{chat_id}")));
        let edit = json!({"message": {"content": "hello again"}});
        all.push(operation(Method::PATCH, &at("/chats/{chat_id}/messages/{message_id}"), edit));
        all.push(get(&at("/chats/{chat_id}/messages/{message_id}/tree")));
        all.push(delete(&at("/chats/{chat_id}/messages/{message_id}")));
    }
    all
}

/// The operations on the work of agents under `base`.
fn ledger(base: &str) -> Vec<Operation> {
    let at = |path: &str| format!("{base}{path}");
    let filter = |reason: Option<&str>| {
        let mut filter = json!({
            "agent_id": "0190c5a4-0000-7000-8000-0000000000a1", "chat_id": "0190c5a4-0000-7000-8000-0000000000a1",
            "state": "failed", "flag": "failing", "min_age_seconds": 1, "min_attempts": 1, "all": false, "cursor": "x",
        });
        if let Some(reason) = reason {
            filter["reason"] = json!(reason);
        }
        filter
    };
    let mut reassign = filter(Some("no key"));
    reassign["to_agent_id"] = json!("0190c5a4-0000-7000-8000-0000000000a1");
    vec![
        get(base),
        get(&at("/summary")),
        get(&at("/{message_id}/{agent_id}")),
        post(&at("/{message_id}/{agent_id}/retry"), json!({"if_state": "failed"})),
        post(&at("/{message_id}/{agent_id}/dead-letter"), json!({"if_state": "failed", "reason": "no key"})),
        post(
            &at("/{message_id}/{agent_id}/reassign"),
            json!({"agent_id": "0190c5a4-0000-7000-8000-0000000000a1", "if_state": "failed", "reason": "no key"}),
        ),
        post(&at("/{message_id}/{agent_id}/send-again"), json!({"if_state": "failed", "reason": "no key"})),
        post(&at("/retry"), filter(None)),
        post(&at("/dead-letter"), filter(Some("no key"))),
        post(&at("/reassign"), reassign),
    ]
}

fn reminders(base: &str) -> Vec<Operation> {
    let one = format!("{base}/reminders/{{reminder_id}}");
    vec![get(&format!("{base}/reminders")), get(&one), delete(&one)]
}

fn bulk_deletions() -> Vec<Operation> {
    vec![
        post("/api/v1/me/agents/bulk-delete", json!({"ids": ["x"], "force": true})),
        post("/api/v1/me/chats/bulk-delete", json!({"ids": ["x"]})),
        get("/api/v1/me/bulk-deletions/{job_id}"),
    ]
}

/// The operations that stop, interrupt, and pause agents.
fn control() -> Vec<Operation> {
    vec![
        operation(
            Method::PUT,
            "/api/v1/me/chats/{chat_id}/read",
            json!({"message_id": "0190c5a4-0000-7000-8000-0000000000a1", "unread": true, "muted": true}),
        ),
        post("/api/v1/me/chats/read", Value::Null),
        get("/api/v1/me/chats/{chat_id}/transcript"),
        post("/api/v1/me/chats/{chat_id}/agents/stop", Value::Null),
        post("/api/v1/me/chats/{chat_id}/agents/play", Value::Null),
        get("/api/v1/me/agents/{agent_id}/executions"),
        post("/api/v1/me/agents/{agent_id}/executions/{execution_id}/interrupt", Value::Null),
        operation(
            Method::PATCH,
            "/api/v1/me/chats/{chat_id}/participants/{participant_id}",
            json!({"participant": {"role": "admin"}}),
        ),
        post("/api/v1/me/agents/{agent_id}/pause", json!({"reason": "wrong answers"})),
        post("/api/v1/me/agents/{agent_id}/resume", Value::Null),
        get("/api/v1/me/search"),
        get("/api/v1/agent/search"),
        get("/api/v1/me/attention"),
        get("/api/v1/me/attention/{attention_id}"),
        post(
            "/api/v1/me/attention/{attention_id}/answer",
            json!({"answer": {"content": "the staging key", "decision": "approve"}}),
        ),
        post("/api/v1/me/attention/{attention_id}/dismiss", Value::Null),
        get("/api/v1/me/notifications"),
        get("/api/v1/me/notifications/channels"),
        post(
            "/api/v1/me/notifications/channels",
            json!({
                "kind": "web_push", "url": "https://push.example.org/1", "p256dh": "B", "auth": "c", "token": "tk",
                "content": "title", "quiet_hours": "22:00-07:00 UTC", "digest_minutes": 5, "links": false,
            }),
        ),
        get("/api/v1/me/notifications/channels/{channel_id}"),
        operation(
            Method::PATCH,
            "/api/v1/me/notifications/channels/{channel_id}",
            json!({
                "content": "none", "quiet_hours": "22:00-07:00 UTC", "digest_minutes": 5, "links": false, "enabled": true,
            }),
        ),
        delete("/api/v1/me/notifications/channels/{channel_id}"),
        post("/api/v1/me/notifications/channels/{channel_id}/test", Value::Null),
        get("/api/v1/me/notifications/web-push-key"),
        post("/api/v1/me/organization/pause", json!({"reason": "runaway costs"})),
        post("/api/v1/me/organization/resume", Value::Null),
    ]
}

/// The operations on the webhook of an agent or an organization.
fn webhook(of: &str, body: Value) -> Vec<Operation> {
    let at = |path: &str| format!("/api/v1/me/{of}/webhook{path}");
    vec![
        get(&at("")),
        operation(Method::PUT, &at(""), body),
        delete(&at("")),
        post(&at("/rotate-secret"), Value::Null),
        post(&at("/enable"), Value::Null),
        get(&at("/deliveries")),
        post(&at("/deliveries/{delivery_id}/resend"), Value::Null),
    ]
}
