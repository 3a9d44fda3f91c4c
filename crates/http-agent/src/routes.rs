//! Every path of the agent interface: where it is mounted and what is said of it in the API's
//! document. Operations of one path stand side by side.

use actix_web::middleware::from_fn;
use actix_web::web::{self, ServiceConfig};
use http_wire::auth::agents_only;
use http_wire::openapi::{Access, Endpoint, Interface, delete, get, mount, patch, post};
use http_wire::page::{NumberedMetadata, PageMetadata};
use http_wire::peers::{DirectoryQuery, ListPeersQuery};
use http_wire::view::{
    AgentContactView, AgentRoomRowView, AgentView, ChatView, ContactRequestView, ListedAgentView, MemoryView,
    MessageView, ParticipantView, PeerView, PostedEventView, ReceivedRequestView, RemovedView,
    RequestStepView, ResolvedView, SentMessageView, SentRequestView, StepView,
};

use crate::{account, activity, chat, contact, memory, message, participant, peer};

/// Where agents call.
const BASE: &str = "/api/v1/agent";

/// What agents do all day. A request is compared with one path after the other, so these come first.
const FREQUENT: [&str; 4] = [
    "/chats/{chat_id}/messages",
    "/chats/{chat_id}/messages/next",
    "/chats/{chat_id}/messages/{message_id}/processing",
    "/chats/{chat_id}/messages/{message_id}/processed",
];

/// Mounts `/api/v1/agent`. Needs the services as application data and stands inside the
/// request scope. Whoever is no agent is refused before any path is looked at.
pub fn configure(config: &mut ServiceConfig) {
    let scope = web::scope(BASE).wrap(from_fn(agents_only));
    let mut endpoints = endpoints();
    endpoints.sort_by_key(|endpoint| {
        FREQUENT.iter().position(|path| *path == endpoint.path()).unwrap_or(FREQUENT.len())
    });
    config.service(mount(scope, "", endpoints, actix_web::Scope::service));
}

/// What is said of it in the API's document.
pub fn interfaces() -> Vec<Interface> {
    vec![Interface {
        base: BASE,
        tag: "Agents",
        prefix: "agent_",
        access: Access::Agents,
        endpoints: endpoints(),
    }]
}

fn endpoints() -> Vec<Endpoint> {
    let mut all = vec![
        get("/me", account::show)
            .named("showSelf", "The calling agent's own record")
            .answers::<AgentView<'_>>(200),
        get("/peers", peer::list)
            .named("listPeers", "Whom the agent may bring into chats")
            .query::<ListPeersQuery>()
            .lists::<PeerView<'_>, NumberedMetadata>()
            .refuses(&[404]),
        get("/directory", peer::directory)
            .named("listDirectory", "The agents that everybody may find")
            .query::<DirectoryQuery>()
            .lists::<ListedAgentView<'_>, NumberedMetadata>(),
    ];
    all.extend(room_endpoints());
    all.extend(work_endpoints());
    all.extend(contact_endpoints());
    all.extend(memory_endpoints());
    all
}

fn room_endpoints() -> Vec<Endpoint> {
    use http_wire::body::{AddParticipantBody, CreateChatBody, RenameChatBody};
    vec![
        get("/chats", chat::list)
            .named("listChats", "The chats that the agent takes part in, newest first")
            .query::<chat::ListChatsQuery>()
            .lists::<AgentRoomRowView<'_>, NumberedMetadata>(),
        post("/chats", chat::create)
            .named("createChat", "Makes a chat that the agent owns")
            .body::<CreateChatBody>()
            .idempotent()
            .answers::<ChatView<'_>>(201),
        get("/chats/{chat_id}", chat::find).named("findChat", "One chat").answers::<ChatView<'_>>(200),
        patch("/chats/{chat_id}", chat::rename)
            .named("renameChat", "Gives a chat a title that stays; its owners may")
            .body::<RenameChatBody>()
            .answers::<ChatView<'_>>(200),
        get("/chats/{chat_id}/participants", participant::list)
            .named("listParticipants", "Everybody in a chat, oldest first")
            .lists_all::<ParticipantView<'_>>(),
        post("/chats/{chat_id}/participants", participant::add)
            .named("addParticipant", "Brings a peer into a chat")
            .body::<AddParticipantBody>()
            .answers::<ParticipantView<'_>>(201)
            .refuses(&[409]),
        delete("/chats/{chat_id}/participants/{participant_id}", participant::remove)
            .named("removeParticipant", "Removes somebody from a chat, or leaves it")
            .answers::<ParticipantView<'_>>(200),
    ]
}

fn work_endpoints() -> Vec<Endpoint> {
    use http_wire::body::SendMessageBody;
    vec![
        get("/chats/{chat_id}/messages", message::list)
            .named("listMessages", "The texts that mention the agent, by state, oldest first")
            .query::<message::ListMessagesQuery>()
            .lists::<MessageView<'_>, message::ListMessagesMetadata>(),
        post("/chats/{chat_id}/messages", message::send)
            .named("sendMessage", "Says something to those who are mentioned")
            .body::<SendMessageBody>()
            .idempotent()
            .answers::<SentMessageView<'_>>(201),
        get("/chats/{chat_id}/messages/next", message::next)
            .named("nextMessage", "The oldest text that is not processed; nothing when all is done")
            .answers::<MessageView<'_>>(200)
            .answers_nothing(),
        post("/chats/{chat_id}/messages/{message_id}/processing", message::processing)
            .named("beginAttempt", "Begins the next attempt on a message")
            .answers::<StepView>(200),
        post("/chats/{chat_id}/messages/{message_id}/processed", message::processed)
            .named("finishAttempt", "Ends the open attempt as done")
            .answers::<StepView>(200),
        post("/chats/{chat_id}/messages/{message_id}/failed", message::failed)
            .named("failAttempt", "Ends the open attempt as failed; the message is offered again")
            .body::<message::FailBody>()
            .answers::<StepView>(200),
        post("/chats/{chat_id}/events", message::post_event)
            .named("postEvent", "Records what the agent thinks and does")
            .body::<message::PostEventBody>()
            .idempotent()
            .answers::<PostedEventView>(201),
        get("/chats/{chat_id}/context", message::context)
            .named("readContext", "What the agent said and what was said to it, oldest first")
            .query::<message::ReadContextQuery>()
            .lists_with_meta::<MessageView<'_>, PageMetadata>(),
        post("/chats/{chat_id}/activity", activity::report)
            .named("reportActivity", "Says whether the agent is at work; holds for ten seconds")
            .body::<activity::ReportActivityBody>()
            .answers::<activity::ActivityView>(200),
    ]
}

fn contact_endpoints() -> Vec<Endpoint> {
    use http_wire::body::{AddContactBody, RemoveContactBody, ResolveBody, RespondBody, SendRequestBody};
    let step = |endpoint: Endpoint| endpoint.answers::<RequestStepView>(200).refuses(&[409]);
    vec![
        get("/contacts", contact::list)
            .named("listContacts", "The agent's contacts")
            .query::<contact::ListContactsQuery>()
            .lists::<AgentContactView<'_>, NumberedMetadata>(),
        post("/contacts/add", contact::add)
            .named("addContact", "Asks somebody, by handle, to be a contact")
            .body::<AddContactBody>()
            .answers::<RequestStepView>(201)
            .refuses(&[404, 409]),
        post("/contacts/remove", contact::remove_named)
            .named("removeContactNamed", "Ends a contact for both sides, by id or by handle")
            .body::<RemoveContactBody>()
            .answers::<RemovedView>(200)
            .refuses(&[404]),
        post("/contacts/resolve", contact::resolve)
            .named("resolveHandle", "Whom a handle belongs to")
            .body::<ResolveBody>()
            .answers::<ResolvedView<'_>>(200)
            .refuses(&[404]),
        get("/contacts/requests", contact::both)
            .named("listContactRequests", "What waits for an answer, and what was sent")
            .query::<contact::ListBothQuery>()
            .describes::<contact::Both<'_>, contact::BothMetadata>(),
        post("/contacts/requests", contact::send)
            .named("sendContactRequest", "Asks somebody, by handle, to be a contact")
            .body::<SendRequestBody>()
            .answers::<ContactRequestView<'_>>(201)
            .refuses(&[404, 409]),
        get("/contacts/requests/received", contact::received)
            .named("listReceivedContactRequests", "The requests that wait for the agent's answer")
            .query::<contact::ReceivedQuery>()
            .lists::<ReceivedRequestView<'_>, NumberedMetadata>(),
        get("/contacts/requests/sent", contact::sent)
            .named("listSentContactRequests", "The requests that the agent has sent")
            .query::<contact::SentQuery>()
            .lists::<SentRequestView<'_>, NumberedMetadata>(),
        step(
            post("/contacts/requests/respond", contact::respond)
                .named("respondToContactRequest", "Approves, rejects or cancels a request")
                .body::<RespondBody>()
                .refuses(&[404]),
        ),
        step(
            delete("/contacts/requests/{request_id}", contact::withdraw)
                .named("withdrawContactRequest", "Takes a request back"),
        ),
        step(
            post("/contacts/requests/{request_id}/approve", contact::approve)
                .named("approveContactRequest", "Accepts a request; both are contacts from then on"),
        ),
        step(
            post("/contacts/requests/{request_id}/reject", contact::reject)
                .named("rejectContactRequest", "Refuses a request"),
        ),
        step(
            post("/contacts/requests/{request_id}/cancel", contact::cancel)
                .named("cancelContactRequest", "Takes a request back"),
        ),
        delete("/contacts/{contact_id}", contact::remove)
            .named("removeContact", "Ends a contact for both sides")
            .answers::<RemovedView>(200),
    ]
}

fn memory_endpoints() -> Vec<Endpoint> {
    use http_wire::body::StoreMemoryBody;
    vec![
        get("/memories", memory::list)
            .named("listMemories", "What the agent and its organization remember, newest first")
            .query::<memory::ListMemoriesQuery>()
            .lists_with_meta::<MemoryView<'_>, PageMetadata>(),
        post("/memories", memory::store)
            .named("storeMemory", "Remembers something")
            .body::<StoreMemoryBody>()
            .answers::<MemoryView<'_>>(201),
        get("/memories/{memory_id}", memory::find)
            .named("findMemory", "One memory")
            .answers::<MemoryView<'_>>(200),
        delete("/memories/{memory_id}", memory::remove)
            .named("deleteMemory", "Supersedes a memory of the agent's own")
            .answers::<MemoryView<'_>>(200),
        post("/memories/{memory_id}/supersede", memory::supersede)
            .named("supersedeMemory", "Something newer takes the place of a memory of the agent's own")
            .answers::<MemoryView<'_>>(200),
        post("/memories/{memory_id}/archive", memory::archive)
            .named("archiveMemory", "Puts a memory of the agent's own aside")
            .answers::<MemoryView<'_>>(200),
    ]
}
