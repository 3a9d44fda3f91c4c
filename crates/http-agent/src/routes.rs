//! The routes of the agent interface, with their documentation. Operations of one path are
//! adjacent.

use actix_web::middleware::from_fn;
use actix_web::web::{self, ServiceConfig};
use http_wire::auth::{AgentAuth, agents_only};
use http_wire::handlers;
use http_wire::openapi::{AllowedCallers, Endpoint, Interface, delete, get, mount, patch, post};
use http_wire::page::{NumberedMetadata, NumberedQuery, PageMetadata, PageQuery};
use http_wire::view::{
    AgentContactView, AgentListedChatView, AgentView, ChatView, ContactRequestView, ListedAgentView,
    MemoryView, MessageView, ParticipantView, PeerView, PostedEventView, ReceiptView, ReceivedRequestView,
    ReminderView, RemovedView, RequestStepView, ResolvedView, SentMessageView, SentRequestView, StepView,
};

use crate::{account, activity, chat, contact, memory, message, participant};

/// The base path.
const BASE: &str = "/api/v1/agent";

/// The paths of most requests. A request is compared with one path after the other, so these come first.
const FREQUENT: [&str; 4] = [
    "/chats/{chat_id}/messages",
    "/chats/{chat_id}/messages/next",
    "/chats/{chat_id}/messages/{message_id}/processing",
    "/chats/{chat_id}/messages/{message_id}/processed",
];

/// Mounts `/api/v1/agent`, inside the request scope; needs the services as application data. Other
/// callers than agents are refused before the path is matched.
pub fn configure(config: &mut ServiceConfig) {
    let scope = web::scope(BASE).wrap(from_fn(agents_only));
    let mut endpoints = endpoints();
    endpoints.sort_by_key(|endpoint| {
        FREQUENT.iter().position(|path| *path == endpoint.path()).unwrap_or(FREQUENT.len())
    });
    config.service(mount(scope, "", endpoints, actix_web::Scope::service));
}

/// The interface, for the API's document.
pub fn interfaces() -> Vec<Interface> {
    vec![Interface {
        base: BASE,
        tag: "Agents",
        prefix: "agent_",
        callers: AllowedCallers::Agents,
        endpoints: endpoints(),
    }]
}

fn endpoints() -> Vec<Endpoint> {
    let mut all = vec![
        get("/me", account::show).named("showSelf", "Show the calling agent").answers::<AgentView<'_>>(200),
        get("/peers", handlers::peer::list::<AgentAuth>)
            .named("listPeers", "List the users and agents that the agent may add to chats")
            .query::<handlers::peer::ListPeersQuery>()
            .lists::<PeerView<'_>, PageMetadata>()
            .refuses(&[404]),
        get("/directory", handlers::peer::directory::<AgentAuth>)
            .named("listDirectory", "List the agents in the directory")
            .query::<handlers::peer::DirectoryQuery>()
            .lists::<ListedAgentView<'_>, PageMetadata>(),
    ];
    all.extend(handlers::search::endpoints::<AgentAuth>());
    all.extend(chat_endpoints());
    all.extend(handlers::board::endpoints::<AgentAuth>());
    all.extend(handlers::file::endpoints::<AgentAuth>());
    all.extend(handlers::reminder::endpoints::<AgentAuth>());
    all.extend(work_endpoints());
    all.extend(contact_endpoints());
    all.extend(memory_endpoints());
    all
}

fn chat_endpoints() -> Vec<Endpoint> {
    use http_wire::body::{AddParticipantBody, CreateChatBody, RenameChatBody};
    vec![
        get("/chats", chat::list)
            .named("listChats", "List the agent's chats, newest first")
            .query::<chat::ListChatsQuery>()
            .lists::<AgentListedChatView<'_>, NumberedMetadata>(),
        post("/chats", chat::create)
            .named("createChat", "Create a chat that the agent owns")
            .body::<CreateChatBody>()
            .idempotent()
            .answers::<ChatView<'_>>(201),
        get("/chats/{chat_id}", chat::find)
            .named("findChat", "Show a chat that the agent participates in")
            .answers::<ChatView<'_>>(200),
        patch("/chats/{chat_id}", chat::rename)
            .named("renameChat", "Rename a chat, or set its default deadline (owners only)")
            .body::<RenameChatBody>()
            .answers::<ChatView<'_>>(200),
        get("/chats/{chat_id}/participants", participant::list)
            .named("listParticipants", "List the participants of a chat, oldest first")
            .lists_all::<ParticipantView<'_>>(),
        post("/chats/{chat_id}/participants", handlers::participant::add::<AgentAuth>)
            .named("addParticipant", "Add a peer to a chat")
            .body::<AddParticipantBody>()
            .answers::<ParticipantView<'_>>(201)
            .refuses(&[409]),
        delete("/chats/{chat_id}/participants/{participant_id}", handlers::participant::remove::<AgentAuth>)
            .named("removeParticipant", "Remove a participant from a chat, or leave it")
            .answers::<ParticipantView<'_>>(200),
    ]
}

fn work_endpoints() -> Vec<Endpoint> {
    use http_wire::body::SendMessageBody;
    vec![
        get("/chats/{chat_id}/messages", message::list)
            .named("listMessages", "List messages that mention the agent, by status, oldest first")
            .query::<message::ListMessagesQuery>()
            .lists::<MessageView<'_>, message::ListMessagesMetadata>(),
        post("/chats/{chat_id}/messages", handlers::message::send::<AgentAuth>)
            .named("sendMessage", "Send a message to the mentioned participants")
            .body::<SendMessageBody>()
            .idempotent()
            .answers::<SentMessageView<'_>>(201)
            .answers::<ReminderView<'_>>(202),
        get("/chats/{chat_id}/messages/{message_id}/receipts", handlers::message::receipts::<AgentAuth>)
            .named(
                "listReceipts",
                "Show what became of one of the agent's messages at each agent that it is addressed to",
            )
            .lists_all::<ReceiptView<'_>>(),
        get("/chats/{chat_id}/messages/next", message::next)
            .named("nextMessage", "Get the oldest message that is neither processed nor claimed by another worker of the agent; 204 if there is none, or if the agent is stopped")
            .answers::<MessageView<'_>>(200)
            .answers_nothing(),
        post("/chats/{chat_id}/messages/{message_id}/processing", message::processing)
            .named("beginAttempt", "Begin the next attempt to process a message, or renew the claim of a named attempt; 204 if the agent is stopped")
            .body::<message::AttemptBody>()
            .answers::<StepView>(200)
            .answers_nothing()
            .refuses(&[409]),
        post("/chats/{chat_id}/messages/{message_id}/processed", message::processed)
            .named("finishAttempt", "Mark the open attempt as completed; 204 if the agent is stopped")
            .body::<message::AttemptBody>()
            .answers::<StepView>(200)
            .answers_nothing(),
        post("/chats/{chat_id}/messages/{message_id}/failed", message::failed)
            .named("failAttempt", "Mark the open attempt as failed; the message is offered again; 204 if the agent is stopped")
            .body::<message::FailBody>()
            .answers::<StepView>(200)
            .answers_nothing(),
        post("/chats/{chat_id}/events", message::post_event)
            .named("postEvent", "Record an event, for example a thought or a tool call")
            .body::<message::PostEventBody>()
            .idempotent()
            .answers::<PostedEventView>(201),
        get("/chats/{chat_id}/context", message::context)
            .named("readContext", "List messages from and to the agent, oldest first")
            .query::<PageQuery>()
            .lists_with_meta::<MessageView<'_>, PageMetadata>(),
        get("/chats/{chat_id}/activity", activity::show)
            .named("showActivity", "Show which agents are at work in a chat, and what they are doing")
            .answers::<activity::WorkingAgentsView<'_>>(200),
        post("/chats/{chat_id}/activity", activity::report)
            .named(
                "reportActivity",
                "Report whether the agent is working; the report expires after ten seconds",
            )
            .body::<activity::ReportActivityBody>()
            .answers::<activity::ActivityView>(200),
    ]
}

fn contact_endpoints() -> Vec<Endpoint> {
    use http_wire::body::{AddContactBody, RemoveContactBody, ResolveBody, RespondBody, SendRequestBody};
    let step = |endpoint: Endpoint| endpoint.answers::<RequestStepView>(200).refuses(&[409]);
    vec![
        get("/contacts", contact::list)
            .named("listContacts", "List the agent's contacts")
            .query::<NumberedQuery>()
            .lists::<AgentContactView<'_>, NumberedMetadata>(),
        post("/contacts/add", contact::add)
            .named("addContact", "Send a contact request to a handle")
            .body::<AddContactBody>()
            .answers::<RequestStepView>(201)
            .refuses(&[404, 409]),
        post("/contacts/remove", handlers::contact::remove_named::<AgentAuth>)
            .named("removeContactNamed", "Remove a contact for both sides, by id or handle")
            .body::<RemoveContactBody>()
            .answers::<RemovedView>(200)
            .refuses(&[404]),
        post("/contacts/resolve", contact::resolve)
            .named("resolveHandle", "Find the user or agent with a handle")
            .body::<ResolveBody>()
            .answers::<ResolvedView<'_>>(200)
            .refuses(&[404]),
        get("/contacts/requests", contact::both)
            .named("listContactRequests", "List received and sent contact requests")
            .query::<contact::ListBothQuery>()
            .describes::<contact::Both<'_>, contact::BothMetadata>(),
        post("/contacts/requests", contact::send)
            .named("sendContactRequest", "Send a contact request to a handle")
            .body::<SendRequestBody>()
            .answers::<ContactRequestView<'_>>(201)
            .refuses(&[404, 409]),
        get("/contacts/requests/received", contact::received)
            .named("listReceivedContactRequests", "List contact requests that await the agent's decision")
            .query::<NumberedQuery>()
            .lists::<ReceivedRequestView<'_>, NumberedMetadata>(),
        get("/contacts/requests/sent", contact::sent)
            .named("listSentContactRequests", "List contact requests that the agent sent")
            .query::<handlers::contact::SentRequestsQuery>()
            .lists::<SentRequestView<'_>, NumberedMetadata>(),
        step(
            post("/contacts/requests/respond", contact::respond)
                .named("respondToContactRequest", "Approve, reject, or cancel a contact request")
                .body::<RespondBody>()
                .refuses(&[404]),
        ),
        step(
            delete("/contacts/requests/{request_id}", handlers::contact::withdraw::<AgentAuth>)
                .named("withdrawContactRequest", "Cancel a contact request"),
        ),
        step(
            post("/contacts/requests/{request_id}/approve", handlers::contact::approve::<AgentAuth>)
                .named("approveContactRequest", "Accept a contact request"),
        ),
        step(
            post("/contacts/requests/{request_id}/reject", handlers::contact::reject::<AgentAuth>)
                .named("rejectContactRequest", "Reject a contact request"),
        ),
        step(
            post("/contacts/requests/{request_id}/cancel", handlers::contact::cancel::<AgentAuth>)
                .named("cancelContactRequest", "Cancel a contact request"),
        ),
        delete("/contacts/{contact_id}", handlers::contact::remove::<AgentAuth>)
            .named("removeContact", "Remove a contact for both sides")
            .answers::<RemovedView>(200),
    ]
}

fn memory_endpoints() -> Vec<Endpoint> {
    use http_wire::body::StoreMemoryBody;
    vec![
        get("/memories", memory::list)
            .named("listMemories", "List memories of the agent and its organization, newest first")
            .query::<memory::ListMemoriesQuery>()
            .lists_with_meta::<MemoryView<'_>, PageMetadata>(),
        post("/memories", memory::store)
            .named("storeMemory", "Store a memory")
            .body::<StoreMemoryBody>()
            .answers::<MemoryView<'_>>(201),
        get("/memories/{memory_id}", handlers::memory::find::<AgentAuth>)
            .named("findMemory", "Show a memory")
            .answers::<MemoryView<'_>>(200),
        delete("/memories/{memory_id}", memory::remove)
            .named("deleteMemory", "Supersede one of the agent's memories")
            .answers::<MemoryView<'_>>(200),
        post("/memories/{memory_id}/supersede", handlers::memory::supersede::<AgentAuth>)
            .named("supersedeMemory", "Supersede one of the agent's memories with a newer one")
            .answers::<MemoryView<'_>>(200),
        post("/memories/{memory_id}/archive", handlers::memory::archive::<AgentAuth>)
            .named("archiveMemory", "Archive one of the agent's memories")
            .answers::<MemoryView<'_>>(200),
    ]
}
