//! The routes of the human and the generic interface, with their documentation. Operations of one
//! path are adjacent.

mod attention;
mod chats;
mod control;
mod notification;
mod operator;
mod passkey;
mod second_factor;
mod webhook;
mod work;

use actix_web::middleware::from_fn;
use actix_web::web::{self, ServiceConfig};
use http_wire::auth::{UserAuth, any_caller, users_only};
use http_wire::handlers;
use http_wire::login::{LogInBody, RegisterBody, ResetPasswordBody};
use http_wire::openapi::{AllowedCallers, Endpoint, Interface, delete, get, mount, patch, post, put};
use http_wire::page::{NumberedMetadata, NumberedQuery, PageMetadata, PageQuery};
use http_wire::view::{
    AgentView, AuditEntryView, BudgetsView, BulkDeletionView, ChatView, ConnectionView, ContactRequestView,
    ContactView, CreatedKeyView, DeletedAgentView, InvitationView, InvitedView, KeyView, ListedAgentView,
    MemberView, MemoryView, OpenSessionView, OrganizationView, OwnedAgentView, PeerView, ProfileView,
    RegisteredAgentView, RemovedView, RequestStepView, ResolvedView, SessionView, UsageMetadata, UsageView,
};

use crate::confirm::ConfirmBody;
use crate::work::{OfOrganization, Own};
use crate::{
    account, api_key, audit, auth, bulk_deletion, contact, generic, memory, organization, session, usage,
};

pub use operator::configure_operator;

/// The base path of the human interface.
const BASE: &str = "/api/v1/me";

/// The base path of log-ins.
const AUTH_BASE: &str = "/api/v1/auth";

/// The base paths of the generic interface.
const GENERIC_BASES: [(&str, &str); 2] = [("/v1", ""), ("/api/v1", "v1")];

/// Mounts `/api/v1/me` and the generic paths, inside the request scope; needs the services as
/// application data. Other callers than users are refused before the path is matched.
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

/// The interfaces, for the API's document.
pub fn interfaces() -> Vec<Interface> {
    let mut all = vec![Interface {
        base: BASE,
        tag: "Humans",
        prefix: "",
        callers: AllowedCallers::Users,
        endpoints: endpoints(),
    }];
    let part =
        |callers, endpoints| Interface { base: AUTH_BASE, tag: "Logging in", prefix: "", callers, endpoints };
    all.extend([
        part(AllowedCallers::Public, auth_endpoints()),
        part(AllowedCallers::Users, password_endpoints()),
    ]);
    all.extend(GENERIC_BASES.map(|(base, prefix)| Interface {
        base,
        tag: "Generic paths",
        prefix,
        callers: AllowedCallers::Any,
        endpoints: generic_endpoints(),
    }));
    all.push(operator::interface());
    all
}

fn endpoints() -> Vec<Endpoint> {
    let mut all = account_endpoints();
    all.extend(key_endpoints());
    all.extend(session_endpoints());
    all.extend(second_factor::endpoints());
    all.extend(passkey::endpoints());
    all.extend(audit_endpoints());
    all.extend(organization_endpoints());
    all.extend(work::endpoints());
    all.extend(attention::endpoints());
    all.extend(notification::endpoints());
    all.extend(handlers::search::endpoints::<UserAuth>());
    all.extend(usage_endpoints());
    all.extend(control::endpoints());
    all.extend(webhook::endpoints());
    all.extend(webhook::endpoints_of_organizations());
    all.extend(chats::endpoints());
    all.extend(handlers::board::endpoints::<UserAuth>());
    all.extend(handlers::file::endpoints::<UserAuth>());
    all.extend(handlers::reminder::endpoints::<UserAuth>());
    all.extend(contact_endpoints());
    all.extend(memory_endpoints());
    all
}

fn account_endpoints() -> Vec<Endpoint> {
    vec![
        get("/profile", account::show_profile)
            .named("showProfile", "Show the calling user")
            .answers::<ProfileView<'_>>(200),
        put("/profile", account::update_profile)
            .named("updateProfile", "Change the caller's name")
            .body::<account::UpdateProfileBody>()
            .answers::<ProfileView<'_>>(200),
        get("/agents", account::list_agents)
            .named("listAgents", "List the caller's agents")
            .query::<account::ListAgentsQuery>()
            .lists::<OwnedAgentView<'_>, account::ListAgentsMetadata>(),
        post("/agents", account::create_agent)
            .named("createAgent", "Create an agent that the service runs; it has no key")
            .body::<account::CreateAgentBody>()
            .answers::<AgentView<'_>>(201),
        post("/agents/register", account::register_agent)
            .named("registerAgent", "Register an agent that its owner runs, and show its key once")
            .body::<account::RegisterAgentBody>()
            .idempotent()
            .answers::<RegisteredAgentView<'_>>(201)
            .refuses(&[409]),
        post("/agents/bulk-delete", bulk_deletion::delete_agents)
            .named(
                "deleteAgents",
                "Delete up to 100 of the caller's agents in the background; those that have worked require force=true",
            )
            .body::<bulk_deletion::DeleteAgentsBody>()
            .answers::<BulkDeletionView<'_>>(202),
        get("/bulk-deletions/{job_id}", bulk_deletion::find)
            .named("findBulkDeletion", "Show the progress of a bulk deletion of the caller, and its results")
            .answers::<BulkDeletionView<'_>>(200),
        get("/agents/{agent_id}", account::find_agent)
            .named("findAgent", "Show one of the caller's agents")
            .query::<account::FindAgentQuery>()
            .answers::<OwnedAgentView<'_>>(200),
        patch("/agents/{agent_id}", account::update_agent)
            .named("updateAgent", "Change an agent; its handle stays the same")
            .body::<account::UpdateAgentBody>()
            .answers::<AgentView<'_>>(200),
        delete("/agents/{agent_id}", account::delete_agent)
            .named("deleteAgent", "Delete an agent; requires force=true if the agent has worked")
            .query::<account::DeleteAgentQuery>()
            .answers::<DeletedAgentView<'_>>(200)
            .refuses(&[409]),
        get("/agents/{agent_id}/connections", account::list_connections)
            .named(
                "listConnections",
                "List the last connections of one of the caller's agents that have ended, newest first",
            )
            .lists_all::<ConnectionView>(),
        post("/agents/{agent_id}/rotate-key", account::rotate_key)
            .named(
                "rotateAgentKey",
                "Replace an agent's key and show the new key once; the old key stops working immediately",
            )
            .body::<ConfirmBody>()
            .idempotent()
            .answers::<RegisteredAgentView<'_>>(200)
            .refuses(&[409]),
        post("/agents/{agent_id}/api-key/regenerate", account::rotate_key)
            .named("regenerateAgentKey", "Replace an agent's key, like rotateAgentKey, for clients that use this path")
            .body::<ConfirmBody>()
            .idempotent()
            .answers::<RegisteredAgentView<'_>>(200)
            .refuses(&[409]),
        get("/peers", handlers::peer::list::<UserAuth>)
            .named("listPeers", "List the users and agents that the caller may add to chats")
            .query::<handlers::peer::ListPeersQuery>()
            .lists::<PeerView<'_>, PageMetadata>()
            .refuses(&[404]),
        get("/directory", handlers::peer::directory::<UserAuth>)
            .named("listDirectory", "List the agents in the directory")
            .query::<handlers::peer::DirectoryQuery>()
            .lists::<ListedAgentView<'_>, PageMetadata>(),
    ]
}

fn usage_endpoints() -> Vec<Endpoint> {
    vec![
        get("/usage", usage::list::<Own>)
            .named(
                "listUsage",
                "List the tokens that the caller's agents reported, the largest sums first, or by day, the newest first",
            )
            .query::<usage::ListUsageQuery>()
            .lists::<UsageView<'_>, UsageMetadata<'_>>(),
        get("/organization/usage", usage::list::<OfOrganization>)
            .named(
                "listOrganizationUsage",
                "List the tokens that the organization's agents reported, the largest sums first, or by day, the newest \
                 first (admins only)",
            )
            .query::<usage::ListUsageQuery>()
            .lists::<UsageView<'_>, UsageMetadata<'_>>()
            .refuses(&[403]),
    ]
}

fn auth_endpoints() -> Vec<Endpoint> {
    vec![
        post("/login", auth::log_in)
            .named("logIn", "Log in with a handle or email address and a password")
            .body::<LogInBody>()
            .answers::<SessionView<'_>>(200)
            .refuses(&[401, 403, 429]),
        post("/register", auth::register)
            .named("register", "Register an account with a password, and log in")
            .body::<RegisterBody>()
            .answers::<SessionView<'_>>(201)
            .refuses(&[403, 429]),
        post("/refresh", auth::refresh)
            .named("refreshSession", "Exchange a refresh token, which works once, for a new pair of tokens")
            .body::<auth::RefreshBody>()
            .answers::<SessionView<'_>>(200)
            .refuses(&[401, 429]),
        post("/logout", auth::log_out)
            .named("logOut", "Log out the session of a refresh token")
            .body::<auth::RefreshBody>()
            .answers_nothing()
            .refuses(&[429]),
        post("/reset", auth::reset_password)
            .named("resetPassword", "Set a password with a reset token from the operator, and log in")
            .body::<ResetPasswordBody>()
            .answers::<SessionView<'_>>(200)
            .refuses(&[401, 403, 429]),
    ]
}

fn password_endpoints() -> Vec<Endpoint> {
    vec![
        post("/password", auth::change_password)
            .named("changePassword", "Change the password, end all sessions, and log in again")
            .body::<auth::ChangePasswordBody>()
            .answers::<SessionView<'_>>(200),
    ]
}

fn key_endpoints() -> Vec<Endpoint> {
    vec![
        get("/api-keys", api_key::list)
            .named(
                "listApiKeys",
                "List the caller's API keys that are not revoked, newest first, without their secrets",
            )
            .query::<PageQuery>()
            .lists::<KeyView<'_>, PageMetadata>(),
        post("/api-keys", api_key::create)
            .named("createApiKey", "Create an API key, and show it once")
            .body::<api_key::CreateKeyBody>()
            .idempotent()
            .answers::<CreatedKeyView<'_>>(201)
            .refuses(&[409]),
        delete("/api-keys/{key_id}", api_key::revoke)
            .named("revokeApiKey", "Revoke an API key permanently and close the sockets that it opened")
            .answers::<KeyView<'_>>(200),
    ]
}

fn session_endpoints() -> Vec<Endpoint> {
    vec![
        get("/sessions", session::list)
            .named("listSessions", "List the caller's open sessions, last used first")
            .lists_all::<OpenSessionView>(),
        delete("/sessions", session::end_others)
            .named(
                "endOtherSessions",
                "End the caller's other sessions, with their access tokens and sockets",
            )
            .answers_nothing(),
        delete("/sessions/{session_id}", session::end)
            .named("endSession", "End one session of the caller, with its access tokens and sockets")
            .answers_nothing(),
    ]
}

fn audit_endpoints() -> Vec<Endpoint> {
    vec![
        get("/organization/audit", audit::list)
            .named(
                "listAuditEntries",
                "List the audit log of the caller's organization, newest first (admins only)",
            )
            .query::<audit::ListAuditQuery>()
            .lists::<AuditEntryView<'_>, PageMetadata>()
            .refuses(&[403]),
    ]
}

fn organization_endpoints() -> Vec<Endpoint> {
    vec![
        get("/organization", organization::show)
            .named("showOrganization", "Show the caller's organization and its plan")
            .answers::<OrganizationView<'_>>(200),
        patch("/organization", organization::rename)
            .named("renameOrganization", "Rename the organization (admins only)")
            .body::<organization::RenameBody>()
            .answers::<OrganizationView<'_>>(200),
        get("/organization/budgets", organization::show_budgets)
            .named("showBudgets", "Show the organization's budgets, and what it has used today")
            .answers::<BudgetsView>(200),
        patch("/organization/budgets", organization::set_budgets)
            .named("setBudgets", "Set budgets of the organization (admins only)")
            .body::<organization::SetBudgetsBody>()
            .answers::<BudgetsView>(200)
            .refuses(&[403]),
        get("/organization/members", organization::list_members)
            .named("listMembers", "List the organization's members, oldest account first")
            .query::<PageQuery>()
            .lists::<MemberView<'_>, PageMetadata>(),
        patch("/organization/members/{member_id}", organization::set_role)
            .named("setMemberRole", "Change a member's role (admins only); the last admin keeps the role")
            .body::<organization::SetRoleBody>()
            .answers::<MemberView<'_>>(200)
            .refuses(&[409]),
        delete("/organization/members/{member_id}", organization::remove_member)
            .named(
                "removeMember",
                "Remove a member, who returns to an organization of their own (admins only)",
            )
            .answers_nothing()
            .refuses(&[409]),
        post("/organization/leave", organization::leave)
            .named("leaveOrganization", "Leave the organization, and show the one that the caller belongs to now")
            .answers::<OrganizationView<'_>>(200)
            .refuses(&[409]),
        get("/organization/invitations", organization::list_invitations)
            .named("listInvitations", "List invitations, newest first, without their tokens (admins only)")
            .query::<PageQuery>()
            .lists::<InvitationView<'_>, PageMetadata>(),
        post("/organization/invitations", organization::invite)
            .named("invite", "Create an invitation and show its token once (admins only)")
            .body::<organization::InviteBody>()
            .answers::<InvitedView<'_>>(201)
            .refuses(&[409]),
        delete("/organization/invitations/{invitation_id}", organization::revoke_invitation)
            .named("revokeInvitation", "Revoke an open invitation (admins only)")
            .answers::<InvitationView<'_>>(200),
        post("/invitations/accept", organization::accept)
            .named(
                "acceptInvitation",
                "Accept an invitation: move the caller and their agents to the organization, and end earlier tokens",
            )
            .body::<organization::AcceptBody>()
            .answers::<OrganizationView<'_>>(200)
            .refuses(&[404, 409]),
    ]
}

fn contact_endpoints() -> Vec<Endpoint> {
    use http_wire::body::{RemoveContactBody, ResolveBody, SendRequestBody};
    let step = |endpoint: Endpoint| endpoint.answers::<RequestStepView>(200).refuses(&[409]);
    vec![
        get("/contacts", contact::list)
            .named("listContacts", "List the caller's contacts")
            .query::<contact::ListContactsQuery>()
            .lists::<ContactView<'_>, PageMetadata>(),
        post("/contacts/remove", handlers::contact::remove_named::<UserAuth>)
            .named("removeContactNamed", "Remove a contact for both sides, by id or handle")
            .body::<RemoveContactBody>()
            .answers::<RemovedView>(200)
            .refuses(&[404]),
        post("/contacts/resolve", contact::resolve)
            .named("resolveHandle", "Find the user or agent with a handle")
            .body::<ResolveBody>()
            .answers::<ResolvedView<'_>>(200)
            .refuses(&[404]),
        get("/contacts/requests", contact::received)
            .named("listContactRequests", "List contact requests that await the caller's decision")
            .query::<NumberedQuery>()
            .lists::<ContactRequestView<'_>, NumberedMetadata>(),
        post("/contacts/requests", contact::send)
            .named("sendContactRequest", "Send a contact request to a handle")
            .body::<SendRequestBody>()
            .answers::<ContactRequestView<'_>>(201)
            .refuses(&[404, 409]),
        get("/contacts/requests/received", contact::received)
            .named("listReceivedContactRequests", "List contact requests that await the caller's decision")
            .query::<NumberedQuery>()
            .lists::<ContactRequestView<'_>, NumberedMetadata>(),
        get("/contacts/requests/sent", contact::sent)
            .named("listSentContactRequests", "List contact requests that the caller sent")
            .query::<handlers::contact::SentRequestsQuery>()
            .lists::<ContactRequestView<'_>, NumberedMetadata>(),
        step(
            delete("/contacts/requests/{request_id}", handlers::contact::withdraw::<UserAuth>)
                .named("withdrawContactRequest", "Cancel a contact request"),
        ),
        step(
            post("/contacts/requests/{request_id}/approve", handlers::contact::approve::<UserAuth>)
                .named("approveContactRequest", "Accept a contact request"),
        ),
        step(
            post("/contacts/requests/{request_id}/reject", handlers::contact::reject::<UserAuth>)
                .named("rejectContactRequest", "Reject a contact request"),
        ),
        step(
            post("/contacts/requests/{request_id}/cancel", handlers::contact::cancel::<UserAuth>)
                .named("cancelContactRequest", "Cancel a contact request"),
        ),
        delete("/contacts/{contact_id}", handlers::contact::remove::<UserAuth>)
            .named("removeContact", "Remove a contact for both sides")
            .answers::<RemovedView>(200),
    ]
}

fn memory_endpoints() -> Vec<Endpoint> {
    let step = |endpoint: Endpoint| endpoint.answers::<MemoryView<'_>>(200);
    vec![
        get("/memories", memory::list)
            .named("listMemories", "List memories about the caller and other participants, newest first")
            .query::<memory::ListMemoriesQuery>()
            .lists_with_meta::<MemoryView<'_>, PageMetadata>()
            .refuses(&[404]),
        get("/memories/{memory_id}", handlers::memory::find::<UserAuth>)
            .named("findMemory", "Show a memory")
            .answers::<MemoryView<'_>>(200),
        delete("/memories/{memory_id}", memory::remove)
            .named("deleteMemory", "Delete a memory permanently")
            .answers_nothing(),
        step(
            post("/memories/{memory_id}/supersede", handlers::memory::supersede::<UserAuth>)
                .named("supersedeMemory", "Supersede a memory with a newer one"),
        ),
        step(
            post("/memories/{memory_id}/archive", handlers::memory::archive::<UserAuth>)
                .named("archiveMemory", "Archive a memory"),
        ),
        step(
            post("/memories/{memory_id}/restore", memory::restore)
                .named("restoreMemory", "Restore an archived memory"),
        ),
    ]
}

fn generic_endpoints() -> Vec<Endpoint> {
    use http_wire::body::CreateChatBody;
    vec![
        get("/agents", generic::list_agents)
            .named("genericListAgents", "List the agents of a user")
            .query::<account::ListAgentsQuery>()
            .lists::<OwnedAgentView<'_>, account::ListAgentsMetadata>(),
        post("/agents", generic::create_agent)
            .named("genericCreateAgent", "Create an agent that the service runs")
            .body::<account::CreateAgentBody>()
            .answers_bare_and_wrapped::<AgentView<'_>>(201),
        get("/agents/{agent_id}", generic::find_agent)
            .named("genericFindAgent", "Show one of the agents of a user")
            .query::<account::FindAgentQuery>()
            .answers::<OwnedAgentView<'_>>(200),
        get("/chats", generic::list_chats)
            .named("genericListChats", "List the chats that the caller participates in")
            .query::<PageQuery>()
            .lists::<ChatView<'_>, PageMetadata>(),
        post("/chats", generic::create_chat)
            .named("genericCreateChat", "Create a chat that the caller owns")
            .body::<CreateChatBody>()
            .idempotent()
            .answers_bare_and_wrapped::<ChatView<'_>>(201),
    ]
}
