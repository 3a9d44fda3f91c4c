//! The routes of stop, play, interrupt, and pause.

use http_wire::openapi::{Endpoint, get, post};
use http_wire::page::{CursorQuery, PageMetadata};
use http_wire::view::{AgentView, ChatDetailsView, ExecutionView, OrganizationView};

use crate::{control, organization};

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        post("/chats/{chat_id}/agents/stop", control::stop)
            .named("stopAgents", "Stop every agent in a chat until it plays again (owners only)")
            .answers::<ChatDetailsView<'_>>(200),
        post("/chats/{chat_id}/agents/play", control::play)
            .named("playAgents", "Let every agent in a chat play again (owners only)")
            .answers::<ChatDetailsView<'_>>(200),
        get("/agents/{agent_id}/executions", control::list_executions)
            .named("listExecutions", "List the executions of one of the caller's agents, one for each room")
            .query::<CursorQuery>()
            .lists::<ExecutionView, PageMetadata>(),
        post("/agents/{agent_id}/executions/{execution_id}/interrupt", control::interrupt)
            .named(
                "interruptAgent",
                "Interrupt the turns that one of the caller's agents has open, in all chats",
            )
            .answers::<ExecutionView>(200),
        post("/agents/{agent_id}/pause", control::pause_agent)
            .named(
                "pauseAgent",
                "Stop an agent in all of its chats until it is resumed (only its owner and admins of the organization)",
            )
            .body::<organization::PauseBody>()
            .answers::<AgentView<'_>>(200),
        post("/agents/{agent_id}/resume", control::resume_agent)
            .named("resumeAgent", "Resume a paused agent (only its owner and admins of the organization)")
            .answers::<AgentView<'_>>(200),
        post("/organization/pause", organization::pause)
            .named("pauseOrganization", "Stop every agent in every chat of the organization (admins only)")
            .body::<organization::PauseBody>()
            .answers::<OrganizationView<'_>>(200),
        post("/organization/resume", organization::resume)
            .named("resumeOrganization", "End the pause of the organization (admins only)")
            .answers::<OrganizationView<'_>>(200),
    ]
}
