//! `/agents`: the agents that the caller owns.

mod list_agents;
mod register_agent;

pub(crate) use list_agents::list_agents;
pub(crate) use register_agent::register_agent;
