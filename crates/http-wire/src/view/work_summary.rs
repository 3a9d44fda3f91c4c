//! Numbers of messages that agents have to answer.

use domain::delivery::DeliveryStatus;
use domain::id::AgentId;
use domain::time::Timestamp;
use domain::work::{AgentSummary, ErrorSummary, StateSums, StateTotals, WorkSummary};
use serde::Serialize;

use super::Shown;

/// A summary of work.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct WorkSummaryView<'a> {
    /// The number of messages; one for two agents counts twice.
    total: u64,
    /// False if not all of the work was examined, so that the numbers may be too small.
    complete: bool,
    /// When the oldest message was written. Null if there is none.
    #[schema(value_type = Option<super::Instant>)]
    oldest_at: Option<Shown<Timestamp>>,
    /// The states in which there are messages.
    by_state: Vec<StateTotalsView>,
    /// The agents that have any, the largest number first.
    by_agent: Vec<AgentSummaryView<'a>>,
    /// The errors of the newest attempts that have ended, the largest number of messages first, at most 100. Null for
    /// an organization, whose admins may not read all errors.
    by_error: Option<Vec<ErrorSummaryView<'a>>>,
    /// The number of errors that are left out of `by_error`.
    omitted_errors: u64,
}

/// The messages in one state.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct StateTotalsView {
    /// `new`, `delivered`, `processing`, `failed`, `dead`, or `held`.
    state: &'static str,
    /// The number of messages.
    count: u64,
    /// When the oldest message was written.
    #[schema(value_type = Option<super::Instant>)]
    oldest_at: Option<Shown<Timestamp>>,
    /// How many have the flag `unanswered`.
    unanswered: u64,
    /// How many have the flag `stuck`.
    stuck: u64,
    /// How many have the flag `failing`.
    failing: u64,
}

/// The messages of one agent.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct AgentSummaryView<'a> {
    agent: SummaryAgentView<'a>,
    /// The number of messages.
    count: u64,
    /// When the oldest message was written.
    #[schema(value_type = Option<super::Instant>)]
    oldest_at: Option<Shown<Timestamp>>,
    /// The states in which there are messages.
    by_state: Vec<StateTotalsView>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
struct SummaryAgentView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<AgentId>,
    handle: &'a str,
    name: &'a str,
}

/// The messages whose errors differ in numbers only.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct ErrorSummaryView<'a> {
    /// The first line of the error, with `#` for each number if the errors differ.
    error: &'a str,
    /// The `error` that filters a list of work for these messages. Null if the errors share no text.
    filter: Option<&'a str>,
    /// The number of messages.
    count: u64,
    /// When the oldest message was written.
    #[schema(value_type = Option<super::Instant>)]
    oldest_at: Option<Shown<Timestamp>>,
    /// The agents of the messages.
    #[schema(value_type = Vec<super::Id>)]
    agent_ids: Vec<Shown<AgentId>>,
}

impl<'a> WorkSummaryView<'a> {
    /// Shows `summary`.
    pub fn new(summary: &'a WorkSummary) -> Self {
        let errors = summary.errors.as_ref();
        Self {
            total: summary.states.number(),
            complete: !summary.is_cut,
            oldest_at: summary.states.oldest().map(Shown),
            by_state: states(&summary.states),
            by_agent: summary.agents.iter().map(AgentSummaryView::new).collect(),
            by_error: errors.map(|errors| errors.iter().map(ErrorSummaryView::new).collect()),
            omitted_errors: summary.omitted_errors as u64,
        }
    }
}

fn states(sums: &StateSums) -> Vec<StateTotalsView> {
    let view = |sums: &StateTotals| StateTotalsView {
        state: DeliveryStatus::as_str(sums.state),
        count: sums.number,
        oldest_at: sums.oldest.map(Shown),
        unanswered: sums.unanswered,
        stuck: sums.stuck,
        failing: sums.failing,
    };
    sums.all().iter().map(view).collect()
}

impl<'a> AgentSummaryView<'a> {
    fn new(summary: &'a AgentSummary) -> Self {
        let AgentSummary { agent, handle, name, states: sums } = summary;
        Self {
            agent: SummaryAgentView { id: Shown(*agent), handle, name },
            count: sums.number(),
            oldest_at: sums.oldest().map(Shown),
            by_state: states(sums),
        }
    }
}

impl<'a> ErrorSummaryView<'a> {
    fn new(summary: &'a ErrorSummary) -> Self {
        Self {
            error: &summary.text,
            filter: summary.filter.as_deref(),
            count: summary.number,
            oldest_at: summary.oldest.map(Shown),
            agent_ids: summary.agents.iter().copied().map(Shown).collect(),
        }
    }
}
