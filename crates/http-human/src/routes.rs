//! Every path of the human interface and of the generic one: where it is mounted and what is said of
//! it in the API's document. Operations of one path stand side by side.

use actix_web::middleware::from_fn;
use actix_web::web::{self, ServiceConfig};
use http_wire::auth::{any_caller, users_only};
use http_wire::openapi::{Access, Endpoint, Interface, delete, get, mount, patch, post, put};
use http_wire::page::{NumberedMetadata, PageMetadata};
use http_wire::peers::{DirectoryQuery, ListPeersQuery};
use http_wire::view::{
    AgentView, AuditEntryView, ChatView, ContactRequestView, ContactView, CreatedKeyView, DeletedAgentView,
    InvitationView, InvitedView, KeyView, ListedAgentView, MemberView, MemoryView, MessageView,
    OpenSessionView, OrganizationView, ParticipantView, PeerView, ProfileView, RegisteredAgentView,
    RemovedView, RequestStepView, ResolvedView, RoomRowView, RoomView, SentMessageView, SessionView,
};

use crate::{
    account, api_key, audit, auth, chat, contact, generic, memory, message, organization, participant, peer,
    session,
};

/// Where humans call.
const BASE: &str = "/api/v1/me";

/// Where humans log in.
const AUTH_BASE: &str = "/api/v1/auth";

/// "A base that ends in /v1" is taken for either of these.
const GENERIC_BASES: [(&str, &str); 2] = [("/v1", ""), ("/api/v1", "v1")];

/// Mounts `/api/v1/me` and the generic paths. Needs the services as application data and stands inside
/// the request scope. Whoever is no user is refused before any path is looked at.
pub fn configure(config: &mut ServiceConfig) {
    let scope = web::scope(BASE).wrap(from_fn(users_only));
    config.service(mount(scope, "", endpoints(), actix_web::Scope::service));
    mount(&mut *config, AUTH_BASE, auth_endpoints(), ServiceConfig::service);
    mount(&mut *config, AUTH_BASE, password_endpoints(), |config, resource| {
        config.service(resource.wrap(from_fn(users_only)))
    });
    for (base, _) in GENERIC_BASES {
        mount(&mut *config, base, generic_endpoints(), |config, resource| {
            config.service(resource.wrap(from_fn(any_caller)))
        });
    }
}

/// What is said of it all in the API's document.
pub fn interfaces() -> Vec<Interface> {
    let mut all = vec![Interface {
        base: BASE,
        tag: "Humans",
        prefix: "",
        access: Access::Users,
        endpoints: endpoints(),
    }];
    let part =
        |access, endpoints| Interface { base: AUTH_BASE, tag: "Logging in", prefix: "", access, endpoints };
    all.extend([part(Access::Public, auth_endpoints()), part(Access::Users, password_endpoints())]);
    all.extend(GENERIC_BASES.map(|(base, prefix)| Interface {
        base,
        tag: "Generic paths",
        prefix,
        access: Access::Anybody,
        endpoints: generic_endpoints(),
    }));
    all
}

fn endpoints() -> Vec<Endpoint> {
    let mut all = account_endpoints();
    all.extend(key_endpoints());
    all.extend(session_endpoints());
    all.extend(audit_endpoints());
    all.extend(organization_endpoints());
    all.extend(room_endpoints());
    all.extend(contact_endpoints());
    all.extend(memory_endpoints());
    all
}

fn account_endpoints() -> Vec<Endpoint> {
    vec![
        get("/profile", account::show_profile)
            .named("showProfile", "The caller's own record")
            .answers::<ProfileView<'_>>(200),
        put("/profile", account::update_profile)
            .named("updateProfile", "Changes the caller's name")
            .body::<account::UpdateProfileBody>()
            .answers::<ProfileView<'_>>(200),
        get("/agents", account::list_agents)
            .named("listAgents", "The caller's agents, narrowed and sorted")
            .query::<account::ListAgentsQuery>()
            .lists::<AgentView<'_>, account::ListAgentsMetadata>(),
        post("/agents", account::create_agent)
            .named("createAgent", "Makes an agent that the service is to run; it has no key")
            .body::<account::CreateAgentBody>()
            .answers::<AgentView<'_>>(201),
        post("/agents/register", account::register_agent)
            .named(
                "registerAgent",
                "Registers an agent that its owner runs; its key is shown here and never again",
            )
            .body::<account::RegisterAgentBody>()
            .answers::<RegisteredAgentView<'_>>(201),
        get("/agents/{agent_id}", account::find_agent)
            .named("findAgent", "One of the caller's agents")
            .answers::<AgentView<'_>>(200),
        patch("/agents/{agent_id}", account::update_agent)
            .named("updateAgent", "Changes what is known of an agent; its handle stays")
            .body::<account::UpdateAgentBody>()
            .answers::<AgentView<'_>>(200),
        delete("/agents/{agent_id}", account::delete_agent)
            .named("deleteAgent", "Deletes an agent; one that has worked only by force")
            .query::<account::DeleteAgentQuery>()
            .answers::<DeletedAgentView<'_>>(200),
        post("/agents/{agent_id}/rotate-key", account::rotate_key)
            .named(
                "rotateAgentKey",
                "Gives an agent another key, shown here and never again; the one it had is good for nothing at once",
            )
            .answers::<RegisteredAgentView<'_>>(200)
            .refuses(&[409]),
        get("/peers", peer::list)
            .named("listPeers", "Whom the caller may bring into chats")
            .query::<ListPeersQuery>()
            .lists::<PeerView<'_>, NumberedMetadata>()
            .refuses(&[404]),
        get("/directory", peer::directory)
            .named("listDirectory", "The agents that everybody may find")
            .query::<DirectoryQuery>()
            .lists::<ListedAgentView<'_>, NumberedMetadata>(),
    ]
}

fn auth_endpoints() -> Vec<Endpoint> {
    vec![
        post("/login", auth::log_in)
            .named("logIn", "Opens a session for whoever knows the password, by handle or e-mail address")
            .body::<auth::LogInBody>()
            .answers::<SessionView<'_>>(200)
            .refuses(&[401, 429]),
        post("/register", auth::register)
            .named("register", "Makes an account with a password, where that is allowed, and opens a session")
            .body::<auth::RegisterBody>()
            .answers::<SessionView<'_>>(201)
            .refuses(&[403, 429]),
        post("/refresh", auth::refresh)
            .named("refreshSession", "Exchanges a refresh token for the next pair; it is good once")
            .body::<auth::RefreshBody>()
            .answers::<SessionView<'_>>(200)
            .refuses(&[401, 429]),
        post("/logout", auth::log_out)
            .named("logOut", "Ends the session of a refresh token")
            .body::<auth::RefreshBody>()
            .answers_nothing()
            .refuses(&[429]),
        post("/reset", auth::reset_password)
            .named(
                "resetPassword",
                "Sets a password with a token that the operator has issued, and opens a session",
            )
            .body::<auth::ResetPasswordBody>()
            .answers::<SessionView<'_>>(200)
            .refuses(&[401, 429]),
    ]
}

fn password_endpoints() -> Vec<Endpoint> {
    vec![
        post("/password", auth::change_password)
            .named(
                "changePassword",
                "Sets another password and ends all sessions; the answer opens a new one",
            )
            .body::<auth::ChangePasswordBody>()
            .answers::<SessionView<'_>>(200),
    ]
}

fn key_endpoints() -> Vec<Endpoint> {
    vec![
        get("/api-keys", api_key::list)
            .named(
                "listApiKeys",
                "The caller's API keys that are not revoked, newest first, without their secrets",
            )
            .query::<api_key::ListKeysQuery>()
            .lists::<KeyView<'_>, PageMetadata>(),
        post("/api-keys", api_key::create)
            .named("createApiKey", "Makes one more API key; it is shown here and never again")
            .body::<api_key::CreateKeyBody>()
            .answers::<CreatedKeyView<'_>>(201)
            .refuses(&[409]),
        delete("/api-keys/{key_id}", api_key::revoke)
            .named("revokeApiKey", "Revokes an API key for good; what was opened with it ends")
            .answers::<KeyView<'_>>(200),
    ]
}

fn session_endpoints() -> Vec<Endpoint> {
    vec![
        get("/sessions", session::list)
            .named("listSessions", "Lists the caller's open sessions, last used first")
            .lists_all::<OpenSessionView>(),
        delete("/sessions", session::end_others)
            .named(
                "endOtherSessions",
                "Ends all sessions of the caller but the one of the request, with their access tokens and sockets",
            )
            .answers_nothing(),
        delete("/sessions/{session_id}", session::end)
            .named("endSession", "Ends one session of the caller, with its access tokens and sockets")
            .answers_nothing(),
    ]
}

fn audit_endpoints() -> Vec<Endpoint> {
    vec![
        get("/organization/audit", audit::list)
            .named(
                "listAuditEntries",
                "Who did what in the caller's organization, newest first; for its admins",
            )
            .query::<audit::ListAuditQuery>()
            .lists::<AuditEntryView<'_>, PageMetadata>()
            .refuses(&[403]),
    ]
}

fn organization_endpoints() -> Vec<Endpoint> {
    vec![
        get("/organization", organization::show)
            .named("showOrganization", "The caller's organization, and what its plan allows")
            .answers::<OrganizationView<'_>>(200),
        patch("/organization", organization::rename)
            .named("renameOrganization", "Gives the organization another name; its admins may")
            .body::<organization::RenameBody>()
            .answers::<OrganizationView<'_>>(200),
        get("/organization/members", organization::list_members)
            .named("listMembers", "Who is in the organization, the oldest account first")
            .query::<organization::ListMembersQuery>()
            .lists::<MemberView<'_>, PageMetadata>(),
        patch("/organization/members/{member_id}", organization::set_role)
            .named("setMemberRole", "Gives a member another role; admins may, and one admin is always left")
            .body::<organization::SetRoleBody>()
            .answers::<MemberView<'_>>(200)
            .refuses(&[409]),
        delete("/organization/members/{member_id}", organization::remove_member)
            .named(
                "removeMember",
                "Removes a member, who falls back to an organization of their own; admins may",
            )
            .answers_nothing()
            .refuses(&[409]),
        post("/organization/leave", organization::leave)
            .named("leaveOrganization", "Goes back to an organization of the caller's own, which is shown")
            .answers::<OrganizationView<'_>>(200)
            .refuses(&[409]),
        get("/organization/invitations", organization::list_invitations)
            .named("listInvitations", "Who was invited, newest first, without the tokens; admins may know")
            .query::<organization::ListInvitationsQuery>()
            .lists::<InvitationView<'_>, PageMetadata>(),
        post("/organization/invitations", organization::invite)
            .named("invite", "Invites somebody; the token is shown here and never again; admins may")
            .body::<organization::InviteBody>()
            .answers::<InvitedView<'_>>(201)
            .refuses(&[409]),
        delete("/organization/invitations/{invitation_id}", organization::revoke_invitation)
            .named("revokeInvitation", "Takes an invitation back that nobody has accepted; admins may")
            .answers::<InvitationView<'_>>(200),
        post("/invitations/accept", organization::accept)
            .named(
                "acceptInvitation",
                "Moves the caller, agents included, to where an invitation leads, which is shown; tokens that were \
                 made before end",
            )
            .body::<organization::AcceptBody>()
            .answers::<OrganizationView<'_>>(200)
            .refuses(&[404, 409]),
    ]
}

fn room_endpoints() -> Vec<Endpoint> {
    use http_wire::body::{
        AddParticipantBody, CreateChatBody, EditMessageBody, RenameChatBody, SendMessageBody,
    };
    vec![
        get("/chats", chat::list)
            .named("listChats", "The caller's chats")
            .query::<chat::ListChatsQuery>()
            .lists::<RoomRowView<'_>, PageMetadata>(),
        post("/chats", chat::create)
            .named("createChat", "Makes a chat that the caller owns")
            .body::<CreateChatBody>()
            .idempotent()
            .answers::<RoomView<'_>>(201),
        get("/chats/{chat_id}", chat::find)
            .named("findChat", "One chat, also one that an agent of the caller takes part in")
            .query::<chat::FindChatQuery>()
            .answers::<RoomView<'_>>(200),
        patch("/chats/{chat_id}", chat::rename)
            .named("renameChat", "Gives a chat a title that stays; its owners may")
            .body::<RenameChatBody>()
            .answers::<RoomView<'_>>(200),
        delete("/chats/{chat_id}", chat::remove)
            .named("deleteChat", "Deletes a chat for everybody; its owners may")
            .answers::<ChatView<'_>>(200),
        get("/chats/{chat_id}/participants", participant::list)
            .named("listParticipants", "Who takes part in a chat, oldest first")
            .query::<participant::ListParticipantsQuery>()
            .lists::<ParticipantView<'_>, PageMetadata>(),
        post("/chats/{chat_id}/participants", participant::add)
            .named("addParticipant", "Brings a peer into a chat")
            .body::<AddParticipantBody>()
            .answers::<ParticipantView<'_>>(201)
            .refuses(&[409]),
        delete("/chats/{chat_id}/participants/{participant_id}", participant::remove)
            .named("removeParticipant", "Removes somebody from a chat, or leaves it")
            .answers::<ParticipantView<'_>>(200),
        get("/chats/{chat_id}/messages", message::list)
            .named(
                "listMessages",
                "Everything that was said in a chat, newest first; or what lies around a message",
            )
            .query::<message::ListMessagesQuery>()
            .lists::<MessageView<'_>, message::HistoryMetadata>(),
        post("/chats/{chat_id}/messages", message::send)
            .named("sendMessage", "Says something in a chat; whoever is mentioned gets it")
            .body::<SendMessageBody>()
            .idempotent()
            .answers::<SentMessageView<'_>>(201),
        patch("/chats/{chat_id}/messages/{message_id}", message::edit)
            .named("editMessage", "Gives a text of the caller's another content")
            .body::<EditMessageBody>()
            .answers::<MessageView<'_>>(200),
        delete("/chats/{chat_id}/messages/{message_id}", message::remove)
            .named("deleteMessage", "Deletes a text of the caller's for everybody")
            .answers::<MessageView<'_>>(200),
    ]
}

fn contact_endpoints() -> Vec<Endpoint> {
    use http_wire::body::{RemoveContactBody, ResolveBody, SendRequestBody};
    let step = |endpoint: Endpoint| endpoint.answers::<RequestStepView>(200).refuses(&[409]);
    vec![
        get("/contacts", contact::list)
            .named("listContacts", "The caller's contacts")
            .query::<contact::ListContactsQuery>()
            .lists::<ContactView<'_>, NumberedMetadata>(),
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
        get("/contacts/requests", contact::received)
            .named("listContactRequests", "The requests that wait for the caller's answer")
            .query::<contact::ReceivedQuery>()
            .lists::<ContactRequestView<'_>, NumberedMetadata>(),
        post("/contacts/requests", contact::send)
            .named("sendContactRequest", "Asks somebody, by handle, to be a contact")
            .body::<SendRequestBody>()
            .answers::<ContactRequestView<'_>>(201)
            .refuses(&[404, 409]),
        get("/contacts/requests/received", contact::received)
            .named("listReceivedContactRequests", "The requests that wait for the caller's answer")
            .query::<contact::ReceivedQuery>()
            .lists::<ContactRequestView<'_>, NumberedMetadata>(),
        get("/contacts/requests/sent", contact::sent)
            .named("listSentContactRequests", "The requests that the caller has sent")
            .query::<contact::SentQuery>()
            .lists::<ContactRequestView<'_>, NumberedMetadata>(),
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
    let step = |endpoint: Endpoint| endpoint.answers::<MemoryView<'_>>(200);
    vec![
        get("/memories", memory::list)
            .named(
                "listMemories",
                "What agents remember of the caller and of those around them, newest first",
            )
            .query::<memory::ListMemoriesQuery>()
            .lists_with_meta::<MemoryView<'_>, PageMetadata>()
            .refuses(&[404]),
        get("/memories/{memory_id}", memory::find)
            .named("findMemory", "One memory")
            .answers::<MemoryView<'_>>(200),
        delete("/memories/{memory_id}", memory::remove)
            .named("deleteMemory", "Deletes a memory for good")
            .answers_nothing(),
        step(
            post("/memories/{memory_id}/supersede", memory::supersede)
                .named("supersedeMemory", "Something newer takes the place of a memory"),
        ),
        step(
            post("/memories/{memory_id}/archive", memory::archive)
                .named("archiveMemory", "Puts a memory aside"),
        ),
        step(
            post("/memories/{memory_id}/restore", memory::restore)
                .named("restoreMemory", "Takes a memory out again that was put aside"),
        ),
    ]
}

fn generic_endpoints() -> Vec<Endpoint> {
    use http_wire::body::CreateChatBody;
    vec![
        get("/agents", generic::list_agents)
            .named("genericListAgents", "The agents of a human")
            .query::<account::ListAgentsQuery>()
            .lists::<AgentView<'_>, account::ListAgentsMetadata>(),
        post("/agents", generic::create_agent)
            .named("genericCreateAgent", "Makes an agent that the service is to run")
            .body::<account::CreateAgentBody>()
            .answers_twice::<AgentView<'_>>(201),
        get("/agents/{agent_id}", generic::find_agent)
            .named("genericFindAgent", "One of the agents of a human")
            .answers::<AgentView<'_>>(200),
        get("/chats", generic::list_chats)
            .named("genericListChats", "The chats that the caller takes part in")
            .query::<generic::ListChatsQuery>()
            .lists::<ChatView<'_>, PageMetadata>(),
        post("/chats", generic::create_chat)
            .named("genericCreateChat", "Makes a chat that the caller owns")
            .body::<CreateChatBody>()
            .idempotent()
            .answers_twice::<ChatView<'_>>(201),
    ]
}
