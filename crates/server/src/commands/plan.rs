//! `parlance plan …`, and printing organizations

use std::sync::Arc;

use clap::{Args, Subcommand};
use domain::account::normalize_handle;
use domain::foreign::ForeignPolicy;
use domain::message::{MaxHops, MaxPairMessages};
use domain::organization::Pause;
use domain::plan::{
    AssignPlan, AssignRefused, Organization, PlanInUse, PlanName, PlanService, WhichOrganization,
};
use serde_json::{Value, json};

use crate::cli::TableArguments;
use crate::commands::{org, user};
use crate::config::Config;
use crate::failure::Failure;
use crate::nearest::{self, nearest};
use crate::output::{List, Rows, bytes_as_text, count, exact, print};
use crate::store::{self, Store};
use crate::wiring;

/// What to do with plans.
#[derive(Subcommand, Debug)]
pub enum PlanCommand {
    /// List all plans with their limits. A hyphen means no limit.
    ///
    /// The server stores the plans of its configuration when it starts.
    #[command(after_help = "Examples:\n  parlance plan list\n  parlance plan list --json | jq '.plans[0]'")]
    List(TableArguments),
    /// Assign a plan to an organization.
    ///
    /// Running servers apply quotas immediately, and everything else within a second.
    #[command(after_help = "Examples:\n  parlance plan set free --org acme\n  \
        parlance plan set enterprise --user ann")]
    Set(SetPlanArguments),
}

/// The plan to assign, and the organization.
#[derive(Args, Debug)]
#[command(group(clap::ArgGroup::new("whose").required(true)))]
pub struct SetPlanArguments {
    /// Name of the plan.
    pub plan: String,
    /// Name of the organization.
    #[arg(long, group = "whose", value_name = "NAME")]
    pub org: Option<String>,
    /// Handle of a user in the organization.
    #[arg(long, group = "whose", value_name = "HANDLE")]
    pub user: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// The next step for an unknown plan.
const PLANS: &str = "list plans with `parlance plan list`";

/// Runs the command.
pub(crate) async fn run(config: &Config, command: PlanCommand) -> Result<(), Failure> {
    match command {
        PlanCommand::List(arguments) => list(config, arguments).await,
        PlanCommand::Set(arguments) => set(config, arguments).await,
    }
}

/// Prints all plans.
async fn list(config: &Config, arguments: TableArguments) -> Result<(), Failure> {
    let plans = store::with(config, async |store| {
        let plans = wiring::plans(store.clone()).list().await;
        plans.map_err(|cause| Failure::new("cannot read the plans", cause).next(store::NEXT))
    });
    let plans = plans.await?;
    let kind = List {
        name: Some("plans"),
        headings: &[
            "NAME",
            "AGENTS",
            "CHATS",
            "PARTICIPANTS",
            "MESSAGES",
            "BYTES",
            "HUMANS",
            "MEMORY",
            "ORGS",
        ],
        empty: "No plans. `parlance serve` stores those that are configured when it starts.",
    };
    let mut rows = Rows::begin(kind, &arguments)?;
    for plan in &plans {
        rows.row(|| plan_as_json(plan), |_| plan_as_cells(plan))?;
    }
    rows.end()
}

/// Prints all organizations.
pub(crate) async fn organizations(plans: &PlanService, how: &TableArguments) -> Result<(), Failure> {
    let found = plans.organizations().await;
    let found = found.map_err(|cause| Failure::new("cannot read the organizations", cause))?;
    let kind = List {
        name: Some("organizations"),
        headings: &["NAME", "PLAN", "USERS", "BYTES"],
        empty: "No organizations. Create one with `parlance org create`.",
    };
    let mut rows = Rows::begin(kind, how)?;
    for organization in &found {
        let cells = || {
            let Organization { name, plan, users, bytes, .. } = organization;
            vec![name.clone(), plan.as_str().to_owned(), users.to_string(), bytes_as_text(*bytes)]
        };
        rows.row(|| organization_as_json(organization), |_| cells())?;
    }
    rows.end()
}

/// Assigns a plan to an organization.
async fn set(config: &Config, arguments: SetPlanArguments) -> Result<(), Failure> {
    let plan = PlanName::new(&arguments.plan);
    let plan = plan.map_err(|fault| {
        Failure::plain(format!("'{}': a plan's name {fault}", arguments.plan)).next(PLANS)
    })?;
    let handle = normalize_handle(arguments.user.as_deref().unwrap_or_default());
    let organization = match &arguments.org {
        Some(name) => WhichOrganization::Named(name.trim().to_owned()),
        None => WhichOrganization::OfUser(handle.clone()),
    };
    let changed = store::with(config, async |store| {
        let done = wiring::plans(store.clone()).assign(AssignPlan { organization, plan }).await;
        match done.map_err(|cause| Failure::new("the plan was not changed", cause).next(store::NEXT))? {
            Ok(changed) => Ok(changed),
            Err(AssignRefused::NoSuchOrganization) => Err(match &arguments.org {
                Some(name) => org::unknown(store, name).await,
                None => user::unknown(store, &handle).await,
            }),
            Err(AssignRefused::NoSuchPlan) => Err(unknown(store, &arguments.plan).await),
        }
    });
    let changed = changed.await?;
    print(&if arguments.json {
        json!({ "organization": organization_as_json(&changed) }).to_string()
    } else {
        organization_as_text(&changed)
    })
}

/// The failure for an unknown plan.
pub(crate) async fn unknown(store: &Arc<dyn Store>, name: &str) -> Failure {
    let names = nearest::plans(store).await;
    let meant = nearest(name, names.iter().map(String::as_str));
    let next =
        "list plans with `parlance plan list`. The server stores newly configured plans when it starts";
    Failure::unknown(format!("no plan has the name '{name}'"), meant, next)
}

fn plan_as_json(in_use: &PlanInUse) -> Value {
    let PlanInUse { plan, organizations } = in_use;
    json!({
        "name": plan.name.as_str(),
        "agents": plan.agents,
        "chats": plan.chats,
        "participants": plan.participants,
        "messages": plan.messages,
        "bytes": plan.bytes,
        "human_interface": plan.human_interface,
        "memories": plan.memories,
        "organizations": organizations,
    })
}

fn plan_as_cells(in_use: &PlanInUse) -> Vec<String> {
    let PlanInUse { plan, organizations } = in_use;
    let limit = |limit: Option<u32>| limit.map_or_else(|| "-".to_owned(), |limit| limit.to_string());
    let allowed = |allowed: bool| if allowed { "yes" } else { "no" }.to_owned();
    vec![
        plan.name.as_str().to_owned(),
        limit(plan.agents),
        limit(plan.chats),
        limit(plan.participants),
        limit(plan.messages),
        plan.bytes.map_or_else(|| "-".to_owned(), bytes_as_text),
        allowed(plan.human_interface),
        allowed(plan.memories),
        organizations.to_string(),
    ]
}

pub(crate) fn organization_as_json(organization: &Organization) -> Value {
    json!({
        "id": organization.id.to_string(),
        "name": organization.name,
        "plan": organization.plan.as_str(),
        "users": organization.users,
        "bytes": organization.bytes,
        "pause": pause_as_json(organization.pause.as_ref()),
        "max_hops": organization.max_hops.map(MaxHops::get),
        "max_pair_messages": organization.max_pair_messages.map(MaxPairMessages::get),
        "foreign": organization.foreign.as_str(),
    })
}

/// Null if there is none.
pub(crate) fn pause_as_json(pause: Option<&Pause>) -> Value {
    pause.map_or(Value::Null, |pause| json!({ "since": pause.since.to_string(), "reason": pause.reason }))
}

pub(crate) fn pause_as_text(pause: &Pause) -> String {
    format!("paused since {}: {}", exact(pause.since), pause.reason)
}

pub(crate) fn organization_as_text(organization: &Organization) -> String {
    let users = count(organization.users, "user");
    let pause =
        organization.pause.as_ref().map(|pause| format!(", {}", pause_as_text(pause))).unwrap_or_default();
    let hops = organization.max_hops.map(|max| match max.get() {
        0 => ", no limit of hops".to_owned(),
        max => format!(", at most {max} hops"),
    });
    let hops = hops.unwrap_or_default();
    let pairs = organization.max_pair_messages.map(|max| match max.get() {
        0 => ", no limit of pairs".to_owned(),
        max => format!(", at most {max} messages of a pair"),
    });
    let pairs = pairs.unwrap_or_default();
    let foreign = match organization.foreign {
        ForeignPolicy::Label => String::new(),
        policy => format!(", messages of other organizations: {}", policy.as_str()),
    };
    format!(
        "{}: plan {}, {users}{hops}{pairs}{foreign}{pause}",
        organization.name,
        organization.plan.as_str()
    )
}
