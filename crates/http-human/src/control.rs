//! `POST /chats/{chat_id}/agents/stop` and `/play`, `POST /agents/{agent_id}/pause` and `/resume`, and the executions of
//! an agent.

use actix_web::{HttpResponse, web};
use domain::activity::ActivityService;
use domain::control::{ControlService, StoppedChat};
use http_wire::auth::UserAuth;
use http_wire::cursor::CursorScope;
use http_wire::envelope::{Data, List};
use http_wire::error::ApiError;
use http_wire::features::Features;
use http_wire::page::CursorQuery;
use http_wire::path::{AgentPath, ChatPath, ExecutionPath};
use http_wire::query::StrictQuery;
use http_wire::strict_json::{NoBody, StrictJson};
use http_wire::view::{AgentView, ChatDetailsView, ExecutionView};

use crate::organization::PauseBody;

pub(crate) async fn stop(
    UserAuth(caller): UserAuth,
    path: ChatPath,
    _: StrictJson<NoBody>,
    control: web::Data<ControlService>,
    activity: web::Data<ActivityService>,
) -> Result<HttpResponse, ApiError> {
    Ok(room(&control.stop(caller, path.chat).await?, &activity))
}

pub(crate) async fn play(
    UserAuth(caller): UserAuth,
    path: ChatPath,
    _: StrictJson<NoBody>,
    control: web::Data<ControlService>,
    activity: web::Data<ActivityService>,
) -> Result<HttpResponse, ApiError> {
    Ok(room(&control.play(caller, path.chat).await?, &activity))
}

fn room(set: &StoppedChat, activity: &ActivityService) -> HttpResponse {
    let work = activity.work_status(set.chat.id, &set.details);
    Data::ok(ChatDetailsView::new(&set.chat, &set.details, work))
}

pub(crate) async fn pause_agent(
    UserAuth(caller): UserAuth,
    path: AgentPath,
    StrictJson { body, .. }: StrictJson<PauseBody>,
    control: web::Data<ControlService>,
    features: web::Data<Features>,
) -> Result<HttpResponse, ApiError> {
    let agent = control.pause_agent(caller.user.into(), path.agent, body.0).await?;
    Ok(Data::ok(AgentView::new(&agent, **features)))
}

pub(crate) async fn resume_agent(
    UserAuth(caller): UserAuth,
    path: AgentPath,
    _: StrictJson<NoBody>,
    control: web::Data<ControlService>,
    features: web::Data<Features>,
) -> Result<HttpResponse, ApiError> {
    let agent = control.resume_agent(caller.user.into(), path.agent).await?;
    Ok(Data::ok(AgentView::new(&agent, **features)))
}

pub(crate) async fn list_executions(
    UserAuth(caller): UserAuth,
    path: AgentPath,
    StrictQuery(query): StrictQuery<CursorQuery>,
    control: web::Data<ControlService>,
) -> Result<HttpResponse, ApiError> {
    let scope = CursorScope::list("me/agents/executions").filtered("agent_id", &path.agent.to_string());
    let window = query.window(scope.of(caller.user.uuid()))?;
    let page = control.executions(caller, path.agent, window.request.clone()).await?;
    let view = |execution| ExecutionView::new(execution, control.status(execution));
    Ok(List::ok(page.rows.iter().map(view), window.metadata(&page)))
}

pub(crate) async fn interrupt(
    UserAuth(caller): UserAuth,
    path: ExecutionPath,
    _: StrictJson<NoBody>,
    control: web::Data<ControlService>,
) -> Result<HttpResponse, ApiError> {
    let execution = control.interrupt(caller, path.agent, path.execution).await?;
    Ok(Data::ok(ExecutionView::new(&execution, control.status(&execution))))
}
