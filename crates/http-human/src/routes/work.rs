//! The routes of the work of agents.

use http_wire::openapi::{Endpoint, get, post};
use http_wire::page::PageMetadata;
use http_wire::view::{ChangedWorkView, RetriedWorkView, WorkItemView, WorkSummaryView};

use crate::work::{self, OfOrganization, Own};

pub(super) fn endpoints() -> Vec<Endpoint> {
    own().into_iter().chain(of_organization()).collect()
}

fn own() -> Vec<Endpoint> {
    vec![
        get("/work", work::list)
            .named(
                "listWork",
                "List the messages that the caller's agents have not processed, oldest first; dead ones with state=dead",
            )
            .query::<work::ListWorkQuery>()
            .lists::<WorkItemView<'_>, PageMetadata>(),
        get("/work/summary", work::summary::own)
            .named(
                "summarizeWork",
                "Count the messages that the caller's agents have not processed, by state, agent, and error",
            )
            .query::<work::summary::SummarizeWorkQuery>()
            .answers::<WorkSummaryView<'_>>(200),
        get("/work/{message_id}/{agent_id}", work::find::<Own>)
            .named("findWork", "Show what became of a message at one of the caller's agents")
            .answers::<WorkItemView<'_>>(200),
        post("/work/{message_id}/{agent_id}/retry", work::retry::<Own>)
            .named("retryWork", "Offer a message to one of the caller's agents as if it were new")
            .body::<work::RetryWorkBody>()
            .answers::<RetriedWorkView<'_>>(200)
            .refuses(&[409]),
        post("/work/{message_id}/{agent_id}/dead-letter", work::dead_letter::<Own>)
            .named("deadLetterWork", "Take a message out of the queue of one of the caller's agents")
            .body::<work::DeadLetterWorkBody>()
            .answers::<WorkItemView<'_>>(200)
            .refuses(&[409]),
        post("/work/{message_id}/{agent_id}/reassign", work::reassign::<Own>)
            .named(
                "reassignWork",
                "Send a message of one of the caller's agents to another agent of the room, as the caller, and take it out \
                 of the queue",
            )
            .body::<work::ReassignWorkBody>()
            .answers::<WorkItemView<'_>>(201)
            .refuses(&[403, 409]),
        post("/work/{message_id}/{agent_id}/send-again", work::send_again::<Own>)
            .named(
                "sendWorkAgain",
                "Send a message to one of the caller's agents again, as a new message of the caller, and take the first \
                 one out of the queue",
            )
            .body::<work::SendAgainWorkBody>()
            .answers::<WorkItemView<'_>>(201)
            .refuses(&[403, 409]),
        post("/work/retry", work::retry_many::<Own>)
            .named("retryManyWork", "Retry the oldest messages that match, at most 100")
            .body::<work::ManyBody>()
            .answers::<ChangedWorkView>(200),
        post("/work/dead-letter", work::dead_letter_many::<Own>)
            .named("deadLetterManyWork", "Take the oldest messages that match out of the queue, at most 100")
            .body::<work::DeadLetterManyBody>()
            .answers::<ChangedWorkView>(200),
        post("/work/reassign", work::reassign_many::<Own>)
            .named("reassignManyWork", "Reassign the oldest messages that match to one agent, at most 100")
            .body::<work::ReassignManyBody>()
            .answers::<ChangedWorkView>(200),
    ]
}

fn of_organization() -> Vec<Endpoint> {
    vec![
        get("/organization/work", work::list_of_organization)
            .named(
                "listOrganizationWork",
                "List the messages that the organization's agents have not processed, oldest first; dead ones with \
                 state=dead (admins only)",
            )
            .query::<work::ListOrganizationWorkQuery>()
            .lists::<WorkItemView<'_>, PageMetadata>()
            .refuses(&[403]),
        get("/organization/work/summary", work::summary::of_organization)
            .named(
                "summarizeOrganizationWork",
                "Count the messages that the organization's agents have not processed, by state and agent (admins only)",
            )
            .query::<work::summary::SummarizeOrganizationWorkQuery>()
            .answers::<WorkSummaryView<'_>>(200)
            .refuses(&[403]),
        get("/organization/work/{message_id}/{agent_id}", work::find::<OfOrganization>)
            .named(
                "findOrganizationWork",
                "Show what became of a message at an agent of the organization (admins only)",
            )
            .answers::<WorkItemView<'_>>(200)
            .refuses(&[403]),
        post("/organization/work/{message_id}/{agent_id}/retry", work::retry::<OfOrganization>)
            .named(
                "retryOrganizationWork",
                "Offer a message to an agent of the organization as if it were new (admins only)",
            )
            .body::<work::RetryWorkBody>()
            .answers::<RetriedWorkView<'_>>(200)
            .refuses(&[403, 409]),
        post("/organization/work/{message_id}/{agent_id}/dead-letter", work::dead_letter::<OfOrganization>)
            .named(
                "deadLetterOrganizationWork",
                "Take a message out of the queue of an agent of the organization (admins only)",
            )
            .body::<work::DeadLetterWorkBody>()
            .answers::<WorkItemView<'_>>(200)
            .refuses(&[403, 409]),
        post("/organization/work/{message_id}/{agent_id}/reassign", work::reassign::<OfOrganization>)
            .named(
                "reassignOrganizationWork",
                "Send a message of an agent of the organization to another agent of the room, as the caller, and take it \
                 out of the queue (admins only)",
            )
            .body::<work::ReassignWorkBody>()
            .answers::<WorkItemView<'_>>(201)
            .refuses(&[403, 409]),
        post("/organization/work/{message_id}/{agent_id}/send-again", work::send_again::<OfOrganization>)
            .named(
                "sendOrganizationWorkAgain",
                "Send a message to an agent of the organization again, as a new message of the caller, and take the first \
                 one out of the queue (admins only)",
            )
            .body::<work::SendAgainWorkBody>()
            .answers::<WorkItemView<'_>>(201)
            .refuses(&[403, 409]),
        post("/organization/work/retry", work::retry_many::<OfOrganization>)
            .named(
                "retryManyOrganizationWork",
                "Retry the oldest messages of the organization's agents that match, at most 100 (admins only)",
            )
            .body::<work::ManyBody>()
            .answers::<ChangedWorkView>(200)
            .refuses(&[403]),
        post("/organization/work/dead-letter", work::dead_letter_many::<OfOrganization>)
            .named(
                "deadLetterManyOrganizationWork",
                "Take the oldest messages of the organization's agents that match out of the queue, at most 100 \
                 (admins only)",
            )
            .body::<work::DeadLetterManyBody>()
            .answers::<ChangedWorkView>(200)
            .refuses(&[403]),
        post("/organization/work/reassign", work::reassign_many::<OfOrganization>)
            .named(
                "reassignManyOrganizationWork",
                "Reassign the oldest messages of the organization's agents that match to one agent, at most 100 (admins \
                 only)",
            )
            .body::<work::ReassignManyBody>()
            .answers::<ChangedWorkView>(200)
            .refuses(&[403]),
    ]
}
