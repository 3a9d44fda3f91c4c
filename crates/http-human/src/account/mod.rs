//! `/agents`: the agents that the caller owns; `/profile`: the caller.

mod connections;
mod create_agent;
mod delete_agent;
mod list_agents;
mod profile;
mod register_agent;
mod rotate_key;
mod update_agent;

pub(crate) use connections::list_connections;
pub(crate) use create_agent::{CreateAgentBody, create_agent};
pub(crate) use delete_agent::{DeleteAgentQuery, delete_agent};
pub(crate) use list_agents::{FindAgentQuery, ListAgentsMetadata, ListAgentsQuery, find_agent, list_agents};
pub(crate) use profile::{UpdateProfileBody, show_profile, update_profile};
pub(crate) use register_agent::{RegisterAgentBody, register_agent};
pub(crate) use rotate_key::rotate_key;
pub(crate) use update_agent::{UpdateAgentBody, update_agent};
