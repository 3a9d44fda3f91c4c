//! `parlance webhook …`

mod arguments;
mod organization;

pub(crate) use arguments::WebhookCommand;

use domain::account::Agent;
use domain::audit::Actor;
use domain::id::WebhookDeliveryId;
use domain::page::{PageRequest, Slice};
use domain::time::Timestamp;
use domain::webhook::{EventFilter, Webhook, WebhookDelivery, WebhookError, WebhookService};
use serde_json::{Value, json};

use crate::cli::TableArguments;
use crate::commands::{agent, org};
use crate::config::Config;
use crate::failure::Failure;
use crate::output::{List, Rows, Times, print};
use crate::store;
use crate::wiring;
use arguments::{DeliveriesArguments, ResendArguments};

/// The number of deliveries that are read at a time.
const AT_ONCE: u32 = 100;

/// What to do if a delivery is not found, or not sent.
const DELIVERIES: &str = "list deliveries with `parlance webhook deliveries`";

/// Runs the command on the configured store, and prints the result. A running server hears of it within a second.
pub(crate) async fn run(config: &Config, command: WebhookCommand) -> Result<(), Failure> {
    store::with(config, async |store| {
        let webhooks = wiring::webhooks(config, store.clone());
        let (of, now) = (command.of(), webhooks.now());
        if of.organization {
            let organizations = wiring::organizations(config, store.clone());
            let organization = org::named(&organizations, store, &of.agent).await?;
            return organization::run(&webhooks, &organization, &command).await;
        }
        let agent = agent::find(store, &of.agent).await?;
        let owner = ("agent", agent.handle.as_str());
        match &command {
            WebhookCommand::Set(arguments) => {
                let set = webhooks.set_url(Actor::Operator, agent.owner, agent.id, &arguments.url).await;
                let set = set.map_err(unchanged)?;
                show(owner, &set.webhook, None, set.is_new, &arguments.print, now)
            }
            WebhookCommand::Show(arguments) => {
                let webhook = webhooks.find(agent.owner, agent.id).await.map_err(unread)?;
                show(owner, &webhook, None, false, &arguments.print, now)
            }
            WebhookCommand::Rotate(arguments) => {
                let revoke = arguments.revoke_previous;
                let rotated = webhooks.rotate(Actor::Operator, agent.owner, agent.id, revoke).await;
                let webhook = rotated.map_err(unchanged)?;
                show(owner, &webhook, None, true, &arguments.print, now)
            }
            WebhookCommand::Enable(arguments) => {
                let enabled = webhooks.enable(Actor::Operator, agent.owner, agent.id).await;
                let webhook = enabled.map_err(unchanged)?;
                show(owner, &webhook, None, false, &arguments.print, now)
            }
            WebhookCommand::Remove(arguments) => {
                webhooks.remove(Actor::Operator, agent.owner, agent.id).await.map_err(unchanged)?;
                removed(owner, &arguments.print)
            }
            WebhookCommand::Deliveries(arguments) => list(&webhooks, &agent, arguments).await,
            WebhookCommand::Resend(arguments) => resend(&webhooks, &agent, arguments).await,
        }
    })
    .await
}

async fn list(
    webhooks: &WebhookService,
    agent: &Agent,
    arguments: &DeliveriesArguments,
) -> Result<(), Failure> {
    let kind = List {
        name: Some("deliveries"),
        headings: &["ID", "STATUS", "ATTEMPTS", "LAST ATTEMPT", "RESPONSE"],
        empty: "No deliveries in the last 7 days.",
    };
    let (mut rows, now) = (Rows::begin(kind, &arguments.print)?, webhooks.now());
    let is_disabled = webhooks.is_disabled(agent.id).await.map_err(|cause| unread(cause.into()))?;
    let (mut left, mut after) = (arguments.limit, None);
    while left > 0 {
        let slice = Slice::After { after, limit: left.min(AT_ONCE) };
        let page = webhooks.deliveries(agent.owner, agent.id, PageRequest { slice, count: false }).await;
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

async fn resend(
    webhooks: &WebhookService,
    agent: &Agent,
    arguments: &ResendArguments,
) -> Result<(), Failure> {
    // Read first: once the delivery is due again, the command must not fail.
    let is_disabled = webhooks.is_disabled(agent.id).await.map_err(|cause| unread(cause.into()))?;
    let resent = webhooks.resend(Actor::Operator, agent.owner, agent.id, delivery_id(arguments)?).await;
    let resent =
        resent.map_err(|cause| Failure::new("the delivery is not sent again", cause).next(DELIVERIES))?;
    sent_again(resent.id, &as_json(&resent, is_disabled, webhooks.now()), &arguments.print)
}

fn delivery_id(arguments: &ResendArguments) -> Result<WebhookDeliveryId, Failure> {
    WebhookDeliveryId::parse(arguments.id.trim())
        .ok_or_else(|| Failure::plain(format!("no delivery has the id '{}'", arguments.id)).next(DELIVERIES))
}

fn sent_again(id: WebhookDeliveryId, delivery: &Value, how: &TableArguments) -> Result<(), Failure> {
    print(&if how.json {
        json!({ "delivery": delivery }).to_string()
    } else {
        format!("A running server sends the delivery {id} again.")
    })
}

fn removed((kind, name): (&str, &str), how: &TableArguments) -> Result<(), Failure> {
    print(&if how.json {
        json!({ kind: name, "removed": true }).to_string()
    } else {
        format!("Removed the webhook of '{name}'.")
    })
}

fn show(
    (kind, name): (&str, &str),
    webhook: &Webhook,
    events: Option<&EventFilter>,
    has_new_secret: bool,
    how: &TableArguments,
    now: Timestamp,
) -> Result<(), Failure> {
    let previous = webhook.valid_previous(now).map(|previous| previous.until);
    if how.json {
        let mut shown = json!({
            kind: name,
            "url": webhook.url.as_str(),
            "status": webhook.status(),
            "failing_since": webhook.failing_since.map(|at| at.to_string()),
            "disabled_at": webhook.disabled.map(|disabled| disabled.at.to_string()),
            "disabled_reason": webhook.disabled.map(|disabled| disabled.reason.as_str()),
            "previous_secret_valid_until": previous.map(|at| at.to_string()),
            "inserted_at": webhook.created_at.to_string(),
            "updated_at": webhook.updated_at.to_string(),
        });
        if let Some(events) = events {
            shown["events"] = json!(events.names());
        }
        if has_new_secret {
            shown["secret"] = webhook.secret.reveal().into();
        }
        return print(&shown.to_string());
    }
    let times = Times::of(how);
    let detail = match (webhook.disabled, webhook.failing_since) {
        (Some(disabled), _) => format!(" ({}) {}", disabled.reason.as_str(), times.text(disabled.at)),
        (None, Some(since)) => format!(", all requests have failed since {}", times.text(since)),
        (None, None) => String::new(),
    };
    let state = format!("{}{detail}", webhook.status());
    let mut lines = vec![webhook.url.as_str().to_owned(), format!("  {kind} {name}, {state}")];
    lines.extend(events.map(|events| match events.names() {
        [] => "  all events".to_owned(),
        names => format!("  events {}", names.join(", ")),
    }));
    lines.extend(previous.map(|until| format!("  the previous secret is valid until {}", times.text(until))));
    if has_new_secret {
        lines.push(format!("  secret, shown only now: {}", webhook.secret.reveal()));
    }
    print(&lines.join("\n"))
}

fn as_json(sent: &WebhookDelivery, is_disabled: bool, now: Timestamp) -> Value {
    json!({
        "id": sent.id.to_string(),
        "chat_room_id": sent.chat.to_string(),
        "message_id": sent.message.to_string(),
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

fn as_cells(sent: &WebhookDelivery, now: Timestamp, times: &Times) -> Vec<String> {
    let response = sent.status.map(|status| status.to_string()).or_else(|| sent.error.clone());
    vec![
        sent.id.to_string(),
        sent.state(now).to_owned(),
        sent.attempts.to_string(),
        times.or_hyphen(sent.attempted_at),
        response.unwrap_or_else(|| "-".to_owned()),
    ]
}

fn unchanged(error: WebhookError) -> Failure {
    failure("the webhook was not changed", error)
}

fn unread(error: WebhookError) -> Failure {
    failure("cannot read the webhook", error)
}

fn failure(what: &'static str, error: WebhookError) -> Failure {
    let next = match &error {
        WebhookError::AgentNotFound | WebhookError::Store(_) => store::NEXT,
        WebhookError::NoWebhook => "give it one with `parlance webhook set AGENT URL`",
        WebhookError::Off => "set webhooks = true; see `parlance config show`",
        WebhookError::Url(_) => "see `parlance webhook set --help`",
    };
    Failure::new(what, error).next(next)
}
