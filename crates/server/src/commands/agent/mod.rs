//! `parlance agent …`

mod arguments;

pub(crate) use arguments::AgentCommand;

use std::fmt::Display;
use std::sync::Arc;

use domain::account::{
    Agent, AgentDescription, AgentMarks, AgentName, DeleteAgentError, Door, DoorFailure, DoorUse,
    LastDisconnect, RegisterAgent, RegisterError, SetDisabledOutcome, normalize_handle,
};
use domain::audit::Actor;
use domain::delivery::MaxAttempts;
use domain::id::ParticipantId;
use domain::organization::PauseReason;
use domain::plan::WhichOrganization;
use domain::text::TextFault;
use domain::work::AgentWork;
use http_wire::view::{AgentWorkView, DoorView};
use serde_json::{Value, json};

use crate::cli::TableArguments;
use crate::commands::user::{self, AT_ONCE};
use crate::commands::{hold, plan};
use crate::config::Config;
use crate::failure::Failure;
use crate::nearest::{self, nearest};
use crate::output::{List, Rows, Times, count, print};
use crate::store::{self, Store};
use crate::wiring;
use arguments::{
    AgentArguments, CreateAgentArguments, DeleteAgentArguments, ListAgentsArguments, MaxAttemptsArgument,
    PauseAgentArguments, SetAgentArguments,
};

/// Runs the command on the configured store, and prints the result.
pub(crate) async fn run(config: &Config, command: AgentCommand) -> Result<(), Failure> {
    match command {
        AgentCommand::Create(arguments) => create(config, &arguments).await,
        AgentCommand::List(arguments) => {
            store::with(config, async |store| list(config, store, &arguments).await).await
        }
        AgentCommand::Show(arguments) => {
            store::with(config, async |store| show(config, store, &arguments).await).await
        }
        AgentCommand::Set(arguments) => store::with(config, async |store| set(store, &arguments).await).await,
        AgentCommand::Pause(arguments) => {
            store::with(config, async |store| pause(store, &arguments).await).await
        }
        AgentCommand::Resume(arguments) => {
            store::with(config, async |store| resume(store, &arguments).await).await
        }
        AgentCommand::Disable(arguments) => {
            store::with(config, async |store| set_disabled(store, &arguments, true).await).await
        }
        AgentCommand::Enable(arguments) => {
            store::with(config, async |store| set_disabled(store, &arguments, false).await).await
        }
        AgentCommand::Delete(arguments) => {
            store::with(config, async |store| delete(store, &arguments).await).await
        }
    }
}

async fn create(config: &Config, arguments: &CreateAgentArguments) -> Result<(), Failure> {
    let wrong = |flag: &str, fault: TextFault| {
        Failure::plain(format!("--{flag}: {fault}")).next("see `parlance agent create --help`")
    };
    let command = RegisterAgent {
        name: AgentName::new(&arguments.name).map_err(|fault| wrong("name", fault))?,
        description: AgentDescription::new(&arguments.description)
            .map_err(|fault| wrong("description", fault))?,
    };
    let registered = store::with(config, async |store| {
        let owner = user::find(store, &arguments.owner).await?;
        let accounts = wiring::accounts(store.clone()).with_key_days(config.key_ttl_days);
        accounts.register_agent_by(Actor::Operator, owner.id, command, None).await.map_err(|error| {
            let rename = format!(
                "choose another name; list the agents with `parlance agent list --owner {}`",
                owner.handle
            );
            let next = match error {
                RegisterError::NameTaken => &rename,
                RegisterError::Limit(_) => "assign another plan to the organization with `parlance plan set`",
                RegisterError::OwnerGone | RegisterError::KeyReused | RegisterError::KeySpent => {
                    "list users with `parlance user list`"
                }
                RegisterError::Store(_) => store::NEXT,
            };
            Failure::new("the agent was not created", error).next(next)
        })
    });
    let registered = registered.await?;
    let (agent, key) = (&registered.agent, registered.key.reveal());
    print(&if arguments.json {
        json!({ "agent": as_json(agent), "api_key": key }).to_string()
    } else {
        format!(
            "Created the agent '{}', id {}. This is its API key; it is not shown again:\n\n    {key}\n",
            agent.handle, agent.id
        )
    })
}

async fn list(
    config: &Config,
    store: &Arc<dyn Store>,
    arguments: &ListAgentsArguments,
) -> Result<(), Failure> {
    let owner = match &arguments.owner {
        Some(handle) => Some(user::find(store, handle).await?.id),
        None => None,
    };
    let (agents, ledger) = (wiring::administration(store.clone()), wiring::work(config, store.clone()));
    let empty = match &arguments.owner {
        _ if arguments.disabled => "No agent is disabled.".to_owned(),
        Some(owner) => {
            let owner = normalize_handle(owner);
            format!("'{owner}' has no agents. Create one with `parlance agent create --owner {owner}`.")
        }
        None => "No agents. Create one with `parlance agent create`.".to_owned(),
    };
    let headings = &["HANDLE", "STATE", "SEEN", "TAKEN", "FINISHED", "OPEN", "FAILING", "DEAD"];
    let kind = List { name: Some("agents"), headings, empty: &empty };
    let unread = |cause| Failure::new("cannot read the agents", cause).next(store::NEXT);
    let mut rows = Rows::begin(kind, &arguments.print)?;
    let mut after = None;
    loop {
        let mut part = agents.agents_after(owner, after, AT_ONCE).await.map_err(unread)?;
        let Some(last) = part.last() else { return rows.end() };
        after = Some(last.handle.clone());
        part.retain(|agent| !arguments.disabled || agent.disabled_at.is_some());
        let work = ledger.of_agents(part.iter().map(|agent| agent.id).collect()).await.map_err(unread)?;
        for (agent, work) in part.iter().zip(&work) {
            rows.row(|| with_work(agent, work), |times| as_cells(agent, work, times))?;
        }
    }
}

async fn show(config: &Config, store: &Arc<dyn Store>, arguments: &AgentArguments) -> Result<(), Failure> {
    let agent = find(store, &arguments.handle).await?;
    let unread = |cause| Failure::new("cannot read the agent", cause).next(store::NEXT);
    let owner = store.find_user(agent.owner).await.map_err(unread)?;
    let owner_handle = owner.as_ref().map_or_else(String::new, |owner| owner.handle.as_str().to_owned());
    let owner_disabled_at = owner.and_then(|owner| owner.disabled_at);
    let organizations = wiring::organizations(config, store.clone());
    let organization = organizations.find(WhichOrganization::OfUser(owner_handle)).await;
    let pause = organization.map_err(unread)?.and_then(|organization| organization.pause);
    let work = wiring::work(config, store.clone()).of_agents(vec![agent.id]).await.map_err(unread)?;
    let work = work.first().copied().unwrap_or(AgentWork::none(agent.id));
    let doors = wiring::accounts(store.clone()).doors(&[agent.id]).await.map_err(unread)?.concat();
    if arguments.print.json {
        let mut shown = with_work(&agent, &work);
        shown["organization_pause"] = plan::pause_as_json(pause.as_ref());
        shown["owner_disabled_at"] = owner_disabled_at.map(|at| at.to_string()).into();
        shown["doors"] = json!(doors.iter().map(DoorView::new).collect::<Vec<_>>());
        return print(&json!({ "agent": shown }).to_string());
    }
    let times = Times::of(&arguments.print);
    let owner =
        owner_disabled_at.map(|at| format!(", owner disabled {}", times.text(at))).unwrap_or_default();
    let pause = pause
        .map(|pause| format!(", its owner's organization {}", plan::pause_as_text(&pause)))
        .unwrap_or_default();
    let lines = [
        format!("{}{owner}{pause}", as_text(&agent, &times)),
        format!("  id {}", agent.id),
        format!("  {}", marks(&agent)),
        format!(
            "  {}, last seen {}, {}",
            connection(&work),
            times.or_never(work.seen_at),
            disconnected(work.disconnect, &times),
        ),
        format!(
            "  last began a message {}, last finished one {}",
            times.or_never(work.taken_at),
            times.or_never(work.finished_at),
        ),
        format!(
            "  open work: {}, of which {} unanswered, {} stuck, {} failing; {} dead, {} held",
            count(work.totals.open(), "message"),
            work.totals.unanswered,
            work.totals.stuck,
            work.totals.failing,
            count(work.totals.dead, "message"),
            work.totals.held,
        ),
    ];
    let doors = doors.iter().flat_map(|last| door(last, &times));
    print(&lines.into_iter().chain(doors).collect::<Vec<_>>().join("\n"))
}

/// The last use of a door, in short lines.
fn door(last: &DoorUse, times: &Times) -> Vec<String> {
    let (name, call) = match last.door {
        Door::Rest => ("REST", "call"),
        Door::Socket => ("socket", "connection"),
        Door::Mcp => ("MCP", "call"),
        Door::Webhook => ("webhook", "request"),
        Door::A2a => ("A2A", "call"),
    };
    let called = last.called_at.map_or("none".to_owned(), |at| times.text(at));
    let mut lines = vec![format!("  {name}: last successful {call} {called}")];
    if let Some(DoorFailure { at, code, detail }) = &last.failure {
        lines.push(format!("    last failure {}: {code}", times.text(*at)));
        lines.extend(detail.as_ref().map(|detail| format!("      {detail}")));
    }
    lines
}

/// Applies the given settings to an agent.
async fn set(store: &Arc<dyn Store>, arguments: &SetAgentArguments) -> Result<(), Failure> {
    let given = AgentMarks {
        is_global: arguments.global,
        shared_with_organization: arguments.shared,
        listed_in_directory: arguments.listed,
        max_attempts: arguments.max_attempts.map(|MaxAttemptsArgument(max)| max),
        claims: arguments.claims,
        a2a: arguments.a2a,
    };
    let handle = normalize_handle(&arguments.handle);
    let marked = wiring::accounts(store.clone()).mark_agent(&handle, given).await;
    let marked =
        marked.map_err(|cause| Failure::new("the agent was not changed", cause).next(store::NEXT))?;
    let Some(agent) = marked else { return Err(unknown(store, &handle).await) };
    print(&if arguments.json {
        json!({ "agent": as_json(&agent) }).to_string()
    } else {
        format!("{}: {}", agent.handle, marks(&agent))
    })
}

async fn pause(store: &Arc<dyn Store>, arguments: &PauseAgentArguments) -> Result<(), Failure> {
    let reason = PauseReason::new(arguments.reason.clone()).map_err(|fault| {
        Failure::plain(format!("--reason: {fault}")).next("see `parlance agent pause --help`")
    })?;
    let agent = find(store, &arguments.handle).await?;
    let paused = wiring::control(store.clone()).pause_agent(Actor::Operator, agent.id, reason).await;
    let paused = paused.map_err(|cause| Failure::new("the agent was not paused", cause).next(store::NEXT))?;
    print_agent(&paused, &arguments.print)
}

async fn resume(store: &Arc<dyn Store>, arguments: &AgentArguments) -> Result<(), Failure> {
    let agent = find(store, &arguments.handle).await?;
    let resumed = wiring::control(store.clone()).resume_agent(Actor::Operator, agent.id).await;
    let resumed =
        resumed.map_err(|cause| Failure::new("the agent was not resumed", cause).next(store::NEXT))?;
    print_agent(&resumed, &arguments.print)
}

fn print_agent(agent: &Agent, arguments: &TableArguments) -> Result<(), Failure> {
    print(&if arguments.json {
        json!({ "agent": as_json(agent) }).to_string()
    } else {
        as_text(agent, &Times::of(arguments))
    })
}

async fn set_disabled(
    store: &Arc<dyn Store>,
    arguments: &AgentArguments,
    disabled: bool,
) -> Result<(), Failure> {
    let agent = find(store, &arguments.handle).await?;
    let who = ParticipantId::Agent(agent.id);
    let done = wiring::administration(store.clone()).set_disabled(who, disabled).await;
    let done = done.map_err(|cause| Failure::new("the agent was not changed", cause).next(store::NEXT))?;
    let agent = find(store, &arguments.handle).await?;
    let changed = done == SetDisabledOutcome::Done;
    print(&if arguments.print.json {
        json!({ "agent": as_json(&agent), "changed": changed }).to_string()
    } else {
        let as_before = if changed { "" } else { " (as before)" };
        format!("{}{as_before}", as_text(&agent, &Times::of(&arguments.print)))
    })
}

async fn delete(store: &Arc<dyn Store>, arguments: &DeleteAgentArguments) -> Result<(), Failure> {
    let agent = find(store, &arguments.handle).await?;
    let accounts = wiring::accounts(store.clone());
    let deleted = accounts.delete_agent_by(Actor::Operator, agent.owner, agent.id, arguments.force).await;
    let deleted = deleted.map_err(|error| match error {
        DeleteAgentError::AgentNotFound => missing(&agent.handle, None),
        DeleteAgentError::UnderHold(_) => Failure::new("the agent was not deleted", error).next(hold::HOLDS),
        DeleteAgentError::HasWorked { executions } => Failure::plain(format!(
            "the agent was not deleted, because it has worked in {}",
            count(executions, "chat")
        ))
        .next("delete it with --force, or lock it out temporarily with `parlance agent disable`"),
        DeleteAgentError::Store(_) => Failure::new("the agent was not deleted", error).next(store::NEXT),
    })?;
    print(&if arguments.json {
        json!({ "agent": as_json(&deleted.agent), "executions": deleted.executions }).to_string()
    } else {
        format!(
            "Deleted the agent '{}', which had worked in {}.",
            agent.handle,
            count(deleted.executions, "chat")
        )
    })
}

/// Finds the agent with this handle.
pub(crate) async fn find(store: &Arc<dyn Store>, handle: &str) -> Result<Agent, Failure> {
    let handle = normalize_handle(handle);
    let found = store.find_agent_by_handle(&handle).await;
    let found = found.map_err(|cause| Failure::new("cannot look for the agent", cause).next(store::NEXT))?;
    match found {
        Some(agent) => Ok(agent),
        None => Err(unknown(store, &handle).await),
    }
}

/// The failure for an unknown handle of an agent.
pub(crate) async fn unknown(store: &Arc<dyn Store>, handle: &str) -> Failure {
    let agents = nearest::agents(store).await;
    let agents = || agents.iter().map(String::as_str);
    let of_an_owner = agents().find(|agent| agent.rsplit_once('/').is_some_and(|(_, slug)| slug == handle));
    missing(handle, of_an_owner.or_else(|| nearest(handle, agents())))
}

fn missing(handle: impl Display, meant: Option<&str>) -> Failure {
    let next = "list agents with `parlance agent list`; their handles have the form owner/slug";
    Failure::unknown(format!("no agent has the handle '{handle}'"), meant, next)
}

fn as_json(agent: &Agent) -> Value {
    json!({
        "id": agent.id.to_string(),
        "handle": agent.handle.as_str(),
        "name": agent.name,
        "description": agent.description,
        "owner_id": agent.owner.to_string(),
        "is_external": agent.kind.is_external(),
        "is_global": agent.is_global,
        "shared_with_organization": agent.shared_with_organization,
        "listed_in_directory": agent.listed_in_directory,
        "max_attempts": agent.max_attempts.map(MaxAttempts::get),
        "claims": agent.claims.as_str(),
        "a2a": agent.a2a,
        "inserted_at": agent.created_at.to_string(),
        "disabled_at": agent.disabled_at.map(|at| at.to_string()),
        "pause": plan::pause_as_json(agent.pause.as_ref()),
    })
}

/// An agent with its connection and its work.
fn with_work(agent: &Agent, work: &AgentWork) -> Value {
    let mut shown = as_json(agent);
    // Views hold text and numbers only, which always serialize.
    if let (Value::Object(shown), Ok(Value::Object(work))) =
        (&mut shown, serde_json::to_value(AgentWorkView::new(work, work.is_connected)))
    {
        shown.extend(work);
    }
    shown
}

/// The connection of an agent, as far as it is known.
const fn connection(work: &AgentWork) -> &'static str {
    match work.is_connected {
        Some(true) => "connected",
        Some(false) => "not connected",
        None => "connection unknown",
    }
}

/// The end of the last socket of an agent.
fn disconnected(last: Option<LastDisconnect>, times: &Times) -> String {
    let text = |last: LastDisconnect| {
        format!("last disconnected {} ({})", times.text(last.at), last.reason.as_str().replace('_', " "))
    };
    last.map_or("no disconnect recorded".to_owned(), text)
}

fn as_cells(agent: &Agent, work: &AgentWork, times: &Times) -> Vec<String> {
    let state = match (agent.disabled_at, &agent.pause, work.is_connected) {
        (Some(_), ..) => "disabled",
        (None, Some(_), _) => "paused",
        (None, None, Some(true)) => "online",
        (None, None, Some(false)) => "offline",
        (None, None, None) => "-",
    };
    vec![
        agent.handle.to_string(),
        state.to_owned(),
        times.age_or_hyphen(work.seen_at),
        times.age_or_hyphen(work.taken_at),
        times.age_or_hyphen(work.finished_at),
        work.totals.open().to_string(),
        work.totals.failing.to_string(),
        work.totals.dead.to_string(),
    ]
}

fn as_text(agent: &Agent, times: &Times) -> String {
    let disabled = agent.disabled_at.map(|at| format!(", disabled {}", times.text(at))).unwrap_or_default();
    let paused =
        agent.pause.as_ref().map(|pause| format!(", {}", plan::pause_as_text(pause))).unwrap_or_default();
    format!("{}: {}, created {}{disabled}{paused}", agent.handle, agent.name, times.text(agent.created_at))
}

fn marks(agent: &Agent) -> String {
    let said = |what: bool| if what { "yes" } else { "no" };
    format!(
        "global {}, shared with the organization {}, listed in the directory {}, attempts {}, claims {}, \
         listed for A2A {}",
        said(agent.is_global),
        said(agent.shared_with_organization),
        said(agent.listed_in_directory),
        agent.max_attempts.map_or("unlimited".to_owned(), |max| max.get().to_string()),
        agent.claims.as_str(),
        said(agent.a2a),
    )
}
