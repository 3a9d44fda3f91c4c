//! `parlance agent …`

use std::io::Write;

use domain::account::{Agent, AgentMarks, normalize_handle};
use serde_json::json;

use crate::cli::SetAgentArguments;
use crate::config::Config;
use crate::failure::Failure;
use crate::store;
use crate::wiring;

/// Says who may find an agent.
pub(crate) async fn set(config: &Config, arguments: SetAgentArguments) -> Result<(), Failure> {
    config.refuse_memory()?;
    let marks = AgentMarks {
        is_global: arguments.global,
        shared_with_organization: arguments.shared,
        listed_in_directory: arguments.listed,
    };
    let handle = normalize_handle(&arguments.handle);
    let opened = store::open(config).await?;
    let marked = wiring::accounts(opened.clone()).mark_agent(&handle, marks).await;
    opened.close();
    let marked = marked.map_err(|cause| Failure::new("the agent was not changed", cause))?;
    let agent = marked.ok_or_else(|| Failure::plain(format!("there is no agent '{handle}'")))?;
    let text = if arguments.json { as_json(&agent) } else { as_text(&agent) };
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}").map_err(|cause| Failure::new("cannot print what was changed", cause))
}

fn as_json(agent: &Agent) -> String {
    let text = json!({
        "agent": {
            "id": agent.id.to_string(),
            "handle": agent.handle.as_str(),
            "name": agent.name,
            "is_global": agent.is_global,
            "shared_with_organization": agent.shared_with_organization,
            "listed_in_directory": agent.listed_in_directory,
        },
    });
    text.to_string()
}

fn as_text(agent: &Agent) -> String {
    let said = |what: bool| if what { "yes" } else { "no" };
    format!(
        "{}: global {}, shared with the organization {}, listed in the directory {}",
        agent.handle,
        said(agent.is_global),
        said(agent.shared_with_organization),
        said(agent.listed_in_directory),
    )
}
