//! `parlance webhook … --organization`.

use domain::organization::Authority;
use domain::page::{PageRequest, Slice};
use domain::plan::Organization;
use domain::time::Timestamp;
use domain::webhook::{EventDelivery, EventFilter, OrganizationWebhookError, WebhookService};
use serde_json::{Value, json};

use super::arguments::{DeliveriesArguments, WebhookCommand};
use super::{AT_ONCE, DELIVERIES, delivery_id, removed, sent_again, show};
use crate::failure::Failure;
use crate::output::{List, Rows, Times};
use crate::store;

/// Runs the command on the webhook of an organization.
pub(super) async fn run(
    webhooks: &WebhookService,
    organization: &Organization,
    command: &WebhookCommand,
) -> Result<(), Failure> {
    let (by, owner) = (Authority::Operator(organization.id), ("organization", organization.name.as_str()));
    let now = webhooks.now();
    match command {
        WebhookCommand::Set(arguments) => {
            let events = if arguments.events.is_empty() && !arguments.all_events {
                None
            } else {
                Some(filter(&arguments.events)?)
            };
            let set = webhooks.set_of_organization(by, &arguments.url, events).await.map_err(unchanged)?;
            let (hook, print) = (&set.webhook, &arguments.print);
            show(owner, &hook.webhook, Some(&hook.events), set.is_new, print, now)
        }
        WebhookCommand::Show(arguments) => {
            let hook = webhooks.find_of_organization(by).await.map_err(unread)?;
            show(owner, &hook.webhook, Some(&hook.events), false, &arguments.print, now)
        }
        WebhookCommand::Rotate(arguments) => {
            let rotated = webhooks.rotate_of_organization(by, arguments.revoke_previous).await;
            let hook = rotated.map_err(unchanged)?;
            show(owner, &hook.webhook, Some(&hook.events), true, &arguments.print, now)
        }
        WebhookCommand::Enable(arguments) => {
            let hook = webhooks.enable_of_organization(by).await.map_err(unchanged)?;
            show(owner, &hook.webhook, Some(&hook.events), false, &arguments.print, now)
        }
        WebhookCommand::Remove(arguments) => {
            webhooks.remove_of_organization(by).await.map_err(unchanged)?;
            removed(owner, &arguments.print)
        }
        WebhookCommand::Deliveries(arguments) => list(webhooks, by, arguments).await,
        WebhookCommand::Resend(arguments) => {
            let resent = webhooks.resend_event(by, delivery_id(arguments)?).await;
            let resent = resent
                .map_err(|cause| Failure::new("the delivery is not sent again", cause).next(DELIVERIES))?;
            sent_again(resent.id, &as_json(&resent, false, now), &arguments.print)
        }
    }
}

fn filter(names: &[String]) -> Result<EventFilter, Failure> {
    let checked = names.iter().map(|name| {
        EventFilter::check(name).map_err(|fault| {
            Failure::plain(format!("the event '{name}' {fault}")).next("see `parlance webhook set --help`")
        })
    });
    checked.collect::<Result<Vec<_>, _>>().map(EventFilter::new)
}

async fn list(
    webhooks: &WebhookService,
    by: Authority,
    arguments: &DeliveriesArguments,
) -> Result<(), Failure> {
    let kind = List {
        name: Some("deliveries"),
        headings: &["ID", "EVENT", "STATUS", "ATTEMPTS", "LAST ATTEMPT", "RESPONSE"],
        empty: "No deliveries in the last 7 days.",
    };
    let (mut rows, now) = (Rows::begin(kind, &arguments.print)?, webhooks.now());
    let is_disabled = webhooks.is_disabled_of_organization(by).await.map_err(unread)?;
    let (mut left, mut after) = (arguments.limit, None);
    while left > 0 {
        let slice = Slice::After { after, limit: left.min(AT_ONCE) };
        let page = webhooks.event_deliveries(by, PageRequest { slice, count: false }).await;
        let page = page.map_err(unread)?;
        left = left.saturating_sub(u32::try_from(page.rows.len()).unwrap_or(u32::MAX));
        for sent in &page.rows {
            rows.row(|| as_json(sent, is_disabled, now), |times| as_cells(sent, now, times))?;
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    rows.end()
}

fn as_json(sent: &EventDelivery, is_disabled: bool, now: Timestamp) -> Value {
    json!({
        "id": sent.id.to_string(),
        "event": sent.action,
        "status": sent.state(now),
        "attempts": sent.attempts,
        "last_status": sent.status,
        "last_error": sent.error,
        "last_attempt_at": sent.attempted_at.map(|at| at.to_string()),
        "next_attempt_at": sent.next_attempt(is_disabled, now).map(|at| at.to_string()),
        "inserted_at": sent.created_at.to_string(),
        "ended_at": sent.ended.map(|ended| ended.at.to_string()),
    })
}

fn as_cells(sent: &EventDelivery, now: Timestamp, times: &Times) -> Vec<String> {
    let response = sent.status.map(|status| status.to_string()).or_else(|| sent.error.clone());
    vec![
        sent.id.to_string(),
        sent.action.clone(),
        sent.state(now).to_owned(),
        sent.attempts.to_string(),
        times.or_hyphen(sent.attempted_at),
        response.unwrap_or_else(|| "-".to_owned()),
    ]
}

fn unchanged(error: OrganizationWebhookError) -> Failure {
    failure("the webhook was not changed", error)
}

fn unread(error: OrganizationWebhookError) -> Failure {
    failure("cannot read the webhook", error)
}

fn failure(what: &'static str, error: OrganizationWebhookError) -> Failure {
    let next = match &error {
        OrganizationWebhookError::NotAdmin(_) | OrganizationWebhookError::Store(_) => store::NEXT,
        OrganizationWebhookError::NoWebhook => {
            "give it one with `parlance webhook set --organization NAME URL`"
        }
        OrganizationWebhookError::NoDelivery | OrganizationWebhookError::InFlight => DELIVERIES,
        OrganizationWebhookError::Disabled => "enable it with `parlance webhook enable --organization NAME`",
        OrganizationWebhookError::Off => "set webhooks = true; see `parlance config show`",
        OrganizationWebhookError::Url(_) => "see `parlance webhook set --help`",
    };
    Failure::new(what, error).next(next)
}
