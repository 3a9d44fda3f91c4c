//! Two tenants, each with one object of every kind that an operation can name.

use e2e::{Api, Server, passkey};
use serde_json::{Value, json};

use crate::operations::Callers;

/// The public URL of the server, where devices have passkeys.
const ORIGIN: &str = "https://chat.example.org";

pub(crate) const PASSWORD: &str = "a walk in the park";

pub(crate) struct Scene {
    server: Server,
    /// Calls paths from the root.
    pub(crate) root: Api,
    pub(crate) user: Api,
    pub(crate) agent: Api,
    pub(crate) operator: Api,
    own: Tenant,
    foreign: Tenant,
}

/// One of each thing.
struct Tenant {
    user: Api,
    agent: Api,
    helper: Api,
    chat: String,
    message: String,
    execution: String,
    memory: String,
    job: String,
    task: String,
    file: String,
    attention: String,
    reminder: String,
    channel: String,
    key: String,
    session: String,
    passkey: String,
    member: String,
    invitation: String,
    organization: String,
    /// The ids that the human can use, and those that the agent can use.
    of_user: Ties,
    of_agent: Ties,
}

/// A request that waits for its answer, and a contact.
struct Ties {
    request: String,
    contact: String,
}

impl Ties {
    /// Of `who`, who has this handle and this interface, with two strangers.
    async fn of(who: &Api, handle: &str, suitor: &Api, friend: &Api, friend_handle: &str) -> Self {
        let ask = |handle: &str| json!({"contact_request": {"recipient_handle": handle}});
        let request = suitor.post("/contacts/requests", ask(handle)).await.data();
        // Two who ask each other are contacts at once.
        friend.post("/contacts/requests", ask(handle)).await.data();
        who.post("/contacts/requests", ask(friend_handle)).await.data();
        let contacts = who.get("/contacts").await.data();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        Self { request: text(&request["id"]), contact: text(&contacts[0]["id"]) }
    }
}

/// The session of a user who has just set a password.
async fn session_of(server: &Server, user: &Api, handle: &str) -> String {
    let output = server.command().args(["user", "reset-password", handle, "--json"]).output().unwrap();
    let printed = serde_json::from_slice::<Value>(&output.stdout).unwrap();
    let body = json!({"reset_token": printed["reset_token"], "new_password": PASSWORD});
    assert_eq!(Api::new(server, "auth", "", "").post("/reset", body).await.status, 200);
    let open = user.get("/sessions").await.data();
    open[0]["id"].as_str().unwrap().to_owned()
}

/// A key of the first user, who is an administrator of the server.
fn operator_key(server: &Server) -> String {
    let output = server.command().args(["key", "create", "--user", "admin", "--json"]).output().unwrap();
    let created = serde_json::from_slice::<Value>(&output.stdout).unwrap();
    created["api_key"].as_str().unwrap().to_owned()
}

impl Tenant {
    async fn new(server: &Server, handle: &str) -> Self {
        let user = server.user(handle);
        let agent = user.register(server, "One").await;
        let helper = user.register(server, "Two").await;
        let chat = user.create_chat().await;
        assert_eq!(user.add(&chat, &agent.id).await.status, 201);
        assert_eq!(user.add(&chat, &helper.id).await.status, 201);
        let message = user.sent(&chat, "hello", &[&agent.id]).await;
        let executions = user.get(&format!("/agents/{}/executions", helper.id)).await.data();
        let execution = executions[0]["id"].as_str().unwrap().to_owned();
        let memory = agent.post("/memories", json!({"content": "it rained"})).await.data();
        let memory = memory["id"].as_str().unwrap().to_owned();
        let task = agent.post(&format!("/chats/{chat}/tasks"), json!({"subject": "Write"})).await.data();
        let task = task["id"].as_str().unwrap().to_owned();
        let job = user.post("/chats/bulk-delete", json!({"ids": ["x"]})).await.data();
        let job = job["id"].as_str().unwrap().to_owned();
        let file = agent.uploaded(&chat, "notes.txt", b"notes").await["id"].as_str().unwrap().to_owned();
        let asked = json!({"event": {
            "content": "Which key?", "message_type": "attention", "metadata": {"kind": "question"},
        }});
        let asked = agent.post(&format!("/chats/{chat}/events"), asked).await.data();
        let attention = asked["id"].as_str().unwrap().to_owned();
        let hook = json!({"kind": "webhook", "url": "https://hooks.example.org/in"});
        let channel = user.post("/notifications/channels", hook).await.data();
        let channel = channel["id"].as_str().unwrap().to_owned();
        let keys = user.get("/api-keys").await.data();
        let key = keys[0]["id"].as_str().unwrap().to_owned();
        let session = session_of(server, &user, handle).await;
        let (_, passkey) = passkey::add(&user, ORIGIN, PASSWORD).await;
        let member = server.colleague(&format!("{handle}-mate"), handle).id;
        let invited = user.post("/organization/invitations", json!({})).await.data();
        let invitation = invited["invitation"]["id"].as_str().unwrap().to_owned();
        // The only time in this scene that is days ahead.
        let later = json!({"message": {
            "content": "again", "mentions": [{"id": agent.id}], "deliver_at": invited["invitation"]["expires_at"],
            "every": "FREQ=DAILY",
        }});
        let scheduled = agent.post(&format!("/chats/{chat}/messages"), later).await.data();
        let reminder = scheduled["id"].as_str().unwrap().to_owned();
        let organization = user.get("/organization").await.data()["id"].as_str().unwrap().to_owned();
        let (suitor, friend) = (format!("{handle}-suitor"), format!("{handle}-friend"));
        let (asks, befriends) = (server.user(&suitor), server.user(&friend));
        let of_user = Ties::of(&user, handle, &asks, &befriends, &friend).await;
        let of_agent = Ties::of(&agent, &format!("{handle}/one"), &asks, &befriends, &friend).await;
        Self {
            user,
            agent,
            helper,
            chat,
            message,
            execution,
            memory,
            job,
            task,
            file,
            attention,
            reminder,
            channel,
            key,
            session,
            passkey,
            member,
            invitation,
            organization,
            of_user,
            of_agent,
        }
    }

    fn ids(&self, callers: Callers) -> Vec<(&'static str, String)> {
        let ties = if callers == Callers::Agents { &self.of_agent } else { &self.of_user };
        vec![
            ("{request_id}", ties.request.clone()),
            ("{contact_id}", ties.contact.clone()),
            ("{chat_id}", self.chat.clone()),
            ("{message_id}", self.message.clone()),
            ("{execution_id}", self.execution.clone()),
            ("{memory_id}", self.memory.clone()),
            ("{job_id}", self.job.clone()),
            // Deliveries to webhooks are made by their sender; no id is that of a tenant.
            ("{delivery_id}", self.job.clone()),
            ("{task_id}", self.task.clone()),
            ("{file_id}", self.file.clone()),
            ("{key_id}", self.key.clone()),
            ("{session_id}", self.session.clone()),
            ("{passkey_id}", self.passkey.clone()),
            ("{member_id}", self.member.clone()),
            ("{invitation_id}", self.invitation.clone()),
            ("{participant_id}", self.helper.id.clone()),
            ("{attention_id}", self.attention.clone()),
            ("{reminder_id}", self.reminder.clone()),
            ("{channel_id}", self.channel.clone()),
            ("{agent_id}", self.helper.id.clone()),
            ("{user_id}", self.member.clone()),
            ("{organization_id}", self.organization.clone()),
        ]
    }
}

impl Scene {
    pub(crate) async fn new() -> Self {
        // So many wrong keys from one address would be slowed.
        let settings = [("PARLANCE_RATE_LIMIT_FAILURES", "off"), ("PARLANCE_PUBLIC_URL", ORIGIN)];
        let server = Server::start_with(&settings).await;
        let (own, foreign) = (Tenant::new(&server, "ann").await, Tenant::new(&server, "ben").await);
        let root = own.user.at(&server, "");
        let operator = root.with_key(&operator_key(&server));
        Self { root, user: own.user.clone(), agent: own.agent.clone(), operator, own, foreign, server }
    }

    pub(crate) fn own_ids(&self, callers: Callers) -> Vec<(&'static str, String)> {
        self.own.ids(callers)
    }

    pub(crate) fn foreign_ids(&self, callers: Callers) -> Vec<(&'static str, String)> {
        self.foreign.ids(callers)
    }

    /// Everything that both tenants can read.
    pub(crate) async fn everything(&self) -> Vec<Value> {
        let mut seen = Vec::new();
        for tenant in [&self.own, &self.foreign] {
            for path in [
                "/agents",
                "/chats",
                "/peers",
                "/profile",
                "/sessions",
                "/second-factor",
                "/passkeys",
                "/organization",
                "/organization/members",
                "/organization/invitations",
                "/contacts",
                "/contacts/requests",
                "/contacts/requests/sent",
                "/attention?state=all",
                "/reminders?state=all",
            ] {
                let mut body = tenant.user.get(path).await.body;
                // Bytes are counted some time after they were written.
                body.pointer_mut("/data/used/bytes").map(Value::take);
                seen.push(body);
            }
            for path in ["", "/participants", "/messages", "/board?include=history", "/tasks?state=all"] {
                seen.push(tenant.user.get(&format!("/chats/{}{path}", tenant.chat)).await.body);
            }
            for path in ["/contacts", "/contacts/requests", "/memories?status=all"] {
                seen.push(tenant.agent.get(path).await.body);
            }
            seen.push(tenant.agent.get(&format!("/chats/{}/messages?status=all", tenant.chat)).await.body);
        }
        seen.push(json!(self.server.address()));
        seen
    }
}
