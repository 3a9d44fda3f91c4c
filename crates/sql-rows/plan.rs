//! Plans as rows. Compiled into each store, whose tables it names.

use diesel::prelude::*;
use domain::organization::Pause;
use domain::plan::{Plan, PlanName};

use super::quota::{bytes_of, limit_of};
use crate::row::At;
use crate::schema::plans;

/// The beginning of an organization's pause, and the reason.
pub(crate) type PauseColumns = (Option<At>, Option<String>);

pub(crate) fn pause_of((since, reason): PauseColumns) -> Option<Pause> {
    let (At(since), reason) = since.zip(reason)?;
    Some(Pause { since, reason })
}

#[derive(Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = plans, treat_none_as_null = true)]
pub(crate) struct PlanRow {
    pub(super) name: String,
    agents: Option<i64>,
    chats: Option<i64>,
    participants: Option<i64>,
    messages: Option<i64>,
    bytes: Option<i64>,
    human_interface: bool,
    memories: bool,
}

impl PlanRow {
    pub(super) fn of(plan: &Plan) -> Self {
        Self {
            name: plan.name.as_str().to_owned(),
            agents: plan.agents.map(i64::from),
            chats: plan.chats.map(i64::from),
            participants: plan.participants.map(i64::from),
            messages: plan.messages.map(i64::from),
            bytes: plan.bytes.map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX)),
            human_interface: plan.human_interface,
            memories: plan.memories,
        }
    }

    pub(crate) fn into_plan(self) -> Plan {
        Plan {
            name: PlanName::from_stored(self.name),
            agents: self.agents.map(limit_of),
            chats: self.chats.map(limit_of),
            participants: self.participants.map(limit_of),
            messages: self.messages.map(limit_of),
            bytes: self.bytes.map(bytes_of),
            human_interface: self.human_interface,
            memories: self.memories,
        }
    }
}
