//! Webhooks and their deliveries as rows. Compiled into each store, whose tables it names.

use diesel::prelude::*;
use domain::id::{AgentId, ChatId, MessageId, OrganizationId, Sequence, UserId, WebhookDeliveryId};
use domain::webhook::{
    Disabled, DisabledReason, Ended, EventDelivery, EventFilter, FailingWebhook, OrganizationWebhook,
    PreviousSecret, ROOMS_OF_AGENT, Webhook, WebhookDelivery, WebhookOutcome, WebhookOwner, WebhookSecret,
    WebhookUrl,
};
use uuid::Uuid;

use crate::error::Fault;
use crate::row::{self, At, Id};
use crate::schema::{organization_webhook_deliveries, organization_webhooks, webhook_deliveries, webhooks};

/// A row with the columns that all webhooks have, and with those of its own table.
macro_rules! webhook_row {
    ($row:ident of $table:ident by $key:ident $(, $own:ident: $kind:ident $(<$inner:ident>)?)*) => {
        #[derive(Queryable, Selectable, Insertable, AsChangeset)]
        #[diesel(table_name = $table, primary_key($key), treat_none_as_null = true)]
        pub(super) struct $row {
            pub(super) $key: Id,
            url: String,
            secret: String,
            previous_secret: Option<String>,
            previous_until: Option<At>,
            earlier_secret: Option<String>,
            earlier_until: Option<At>,
            failing_since: Option<At>,
            warned_at: Option<At>,
            disabled_at: Option<At>,
            disabled_reason: Option<String>,
            created_at: At,
            updated_at: At,
            $($own: $kind $(<$inner>)?,)*
        }

        impl $row {
            /// The row of a webhook.
            fn with($key: Uuid, webhook: &Webhook $(, $own: $kind $(<$inner>)?)*) -> Self {
                let disabled = webhook.disabled;
                let (previous, earlier) = (webhook.previous.first(), webhook.previous.get(1));
                let secret = |one: &PreviousSecret| one.secret.reveal().to_owned();
                Self {
                    $key: Id($key),
                    url: webhook.url.as_str().to_owned(),
                    secret: webhook.secret.reveal().to_owned(),
                    previous_secret: previous.map(secret),
                    previous_until: previous.map(|previous| At(previous.until)),
                    earlier_secret: earlier.map(secret),
                    earlier_until: earlier.map(|earlier| At(earlier.until)),
                    failing_since: webhook.failing_since.map(At),
                    warned_at: webhook.warned_at.map(At),
                    disabled_at: disabled.map(|disabled| At(disabled.at)),
                    disabled_reason: disabled.map(|disabled| disabled.reason.as_str().to_owned()),
                    created_at: At(webhook.created_at),
                    updated_at: At(webhook.updated_at),
                    $($own,)*
                }
            }

            pub(super) fn into_webhook(self) -> Result<Webhook, Fault> {
                let reason =
                    self.disabled_reason.map(|reason| row::word(&reason, DisabledReason::parse)).transpose()?;
                let previous =
                    [self.previous_secret.zip(self.previous_until), self.earlier_secret.zip(self.earlier_until)];
                let previous_secret =
                    |(secret, At(until))| PreviousSecret { secret: WebhookSecret::new(secret), until };
                Ok(Webhook {
                    url: WebhookUrl::checked(self.url),
                    secret: WebhookSecret::new(self.secret),
                    previous: previous.into_iter().flatten().map(previous_secret).collect(),
                    failing_since: self.failing_since.map(|at| at.0),
                    warned_at: self.warned_at.map(|at| at.0),
                    disabled: self.disabled_at.zip(reason).map(|(At(at), reason)| Disabled { at, reason }),
                    created_at: self.created_at.0,
                    updated_at: self.updated_at.0,
                })
            }
        }
    };
}

webhook_row!(WebhookRow of webhooks by agent_id);
webhook_row!(OrganizationWebhookRow of organization_webhooks by organization_id, events: Option<String>, seen_number: i64);

impl WebhookRow {
    pub(super) fn of(agent: AgentId, webhook: &Webhook) -> Self {
        Self::with(agent.uuid(), webhook)
    }
}

impl OrganizationWebhookRow {
    pub(super) fn of(hook: &OrganizationWebhook) -> Self {
        Self::with(hook.organization.uuid(), &hook.webhook, hook.events.to_stored(), hook.seen)
    }

    pub(super) fn into_organization_webhook(mut self) -> Result<OrganizationWebhook, Fault> {
        let events = EventFilter::stored(self.events.take().as_deref());
        let (organization, seen) = (OrganizationId::new(self.organization_id.0), self.seen_number);
        Ok(OrganizationWebhook { organization, webhook: self.into_webhook()?, events, seen })
    }
}

#[derive(Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = webhook_deliveries, treat_none_as_null = true)]
pub(super) struct WebhookDeliveryRow {
    pub(super) id: Id,
    agent_id: Id,
    chat_id: Id,
    sequence: i64,
    message_id: Id,
    created_at: At,
    attempts: i32,
    next_attempt_at: At,
    leased_until: Option<At>,
    attempted_at: Option<At>,
    status: Option<i32>,
    error: Option<String>,
    ended_at: Option<At>,
    outcome: Option<String>,
}

impl WebhookDeliveryRow {
    pub(super) fn of(sent: &WebhookDelivery) -> Self {
        Self {
            id: Id(sent.id.uuid()),
            agent_id: Id(sent.agent.uuid()),
            chat_id: Id(sent.chat.uuid()),
            sequence: sent.sequence.get(),
            message_id: Id(sent.message.uuid()),
            created_at: At(sent.created_at),
            attempts: i32::try_from(sent.attempts).unwrap_or(i32::MAX),
            next_attempt_at: At(sent.next_attempt_at),
            leased_until: sent.leased_until.map(At),
            attempted_at: sent.attempted_at.map(At),
            status: sent.status.map(i32::from),
            error: sent.error.clone(),
            ended_at: sent.ended.map(|ended| At(ended.at)),
            outcome: sent.ended.map(|ended| ended.outcome.as_str().to_owned()),
        }
    }

    pub(super) fn into_delivery(self) -> Result<WebhookDelivery, Fault> {
        let outcome = self.outcome.map(|outcome| row::word(&outcome, WebhookOutcome::parse)).transpose()?;
        Ok(WebhookDelivery {
            id: WebhookDeliveryId::new(self.id.0),
            agent: AgentId::new(self.agent_id.0),
            chat: ChatId::new(self.chat_id.0),
            message: MessageId::new(self.message_id.0),
            sequence: Sequence::new(self.sequence),
            created_at: self.created_at.0,
            attempts: self.attempts.unsigned_abs(),
            next_attempt_at: self.next_attempt_at.0,
            leased_until: self.leased_until.map(|at| at.0),
            attempted_at: self.attempted_at.map(|at| at.0),
            status: status(self.status)?,
            error: self.error,
            ended: self.ended_at.zip(outcome).map(|(At(at), outcome)| Ended { at, outcome }),
        })
    }
}

#[derive(Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = organization_webhook_deliveries, treat_none_as_null = true)]
pub(super) struct EventDeliveryRow {
    pub(super) id: Id,
    organization_id: Id,
    number: i64,
    action: String,
    created_at: At,
    attempts: i32,
    next_attempt_at: At,
    leased_until: Option<At>,
    attempted_at: Option<At>,
    status: Option<i32>,
    error: Option<String>,
    ended_at: Option<At>,
    outcome: Option<String>,
}

impl EventDeliveryRow {
    pub(super) fn of(sent: &EventDelivery) -> Self {
        Self {
            id: Id(sent.id.uuid()),
            organization_id: Id(sent.organization.uuid()),
            number: sent.number,
            action: sent.action.clone(),
            created_at: At(sent.created_at),
            attempts: i32::try_from(sent.attempts).unwrap_or(i32::MAX),
            next_attempt_at: At(sent.next_attempt_at),
            leased_until: sent.leased_until.map(At),
            attempted_at: sent.attempted_at.map(At),
            status: sent.status.map(i32::from),
            error: sent.error.clone(),
            ended_at: sent.ended.map(|ended| At(ended.at)),
            outcome: sent.ended.map(|ended| ended.outcome.as_str().to_owned()),
        }
    }

    pub(super) fn into_delivery(self) -> Result<EventDelivery, Fault> {
        let outcome = self.outcome.map(|outcome| row::word(&outcome, WebhookOutcome::parse)).transpose()?;
        Ok(EventDelivery {
            id: WebhookDeliveryId::new(self.id.0),
            organization: OrganizationId::new(self.organization_id.0),
            number: self.number,
            action: self.action,
            created_at: self.created_at.0,
            attempts: self.attempts.unsigned_abs(),
            next_attempt_at: self.next_attempt_at.0,
            leased_until: self.leased_until.map(|at| at.0),
            attempted_at: self.attempted_at.map(|at| at.0),
            status: status(self.status)?,
            error: self.error,
            ended: self.ended_at.zip(outcome).map(|(At(at), outcome)| Ended { at, outcome }),
        })
    }
}

fn status(column: Option<i32>) -> Result<Option<u16>, Fault> {
    column.map(u16::try_from).transpose().map_err(|_| Fault::Row("a status of HTTP".to_owned()))
}

// The statements ask for single rows by scalar queries instead of EXISTS where PostgreSQL might otherwise join or hash a table.

/// What a store names differently: the index of open deliveries that it has to be told, the one of those that were offered
/// again, and their exact condition.
pub(super) struct Names {
    pub(super) open_index: &'static str,
    pub(super) offered_again_index: &'static str,
    pub(super) open: &'static str,
}

/// The next deliveries of an agent that are due; the values are the time and the number.
pub(super) const DUE_OF_AGENT: &str = "FROM webhook_deliveries AS one WHERE one.agent_id = webhooks.agent_id \
     AND one.ended_at IS NULL AND one.next_attempt_at <= ? ORDER BY one.next_attempt_at LIMIT ?";

/// The rooms of deliveries that are due; `one` joins these. The values are its own ones, the agent before the first one, and
/// the number of rooms.
pub(super) fn due_rooms(one: &str) -> String {
    format!(
        "SELECT one.agent_id, one.chat_id FROM webhooks JOIN {one} WHERE webhooks.agent_id > ? \
         AND webhooks.disabled_at IS NULL ORDER BY webhooks.agent_id LIMIT ?"
    )
}

/// The open messages of a room after the latest one that was sent. Messages are sent in their order, so these had no delivery,
/// and all others had one.
fn fresh(names: &Names, agent: &str, chat: &str) -> String {
    let Names { open_index, open, .. } = names;
    format!(
        "SELECT deliveries.sequence FROM deliveries {open_index} WHERE deliveries.agent_id = {agent} \
         AND deliveries.chat_id = {chat} AND {open} AND deliveries.sequence > coalesce((SELECT sent.sequence \
         FROM webhook_deliveries AS sent WHERE sent.agent_id = {agent} AND sent.chat_id = {chat} \
         ORDER BY sent.sequence DESC LIMIT 1), 0)"
    )
}

/// The open messages of a room that had no delivery since they were last offered as if they were new.
fn offered_again(names: &Names, agent: &str, chat: &str) -> String {
    let Names { offered_again_index, open, .. } = names;
    format!(
        "SELECT deliveries.sequence FROM deliveries {offered_again_index} WHERE deliveries.agent_id = {agent} \
         AND deliveries.chat_id = {chat} AND {open} AND deliveries.restarted_at IS NOT NULL AND (SELECT 1 \
         FROM webhook_deliveries AS sent WHERE sent.agent_id = deliveries.agent_id AND sent.chat_id = deliveries.chat_id \
         AND sent.sequence = deliveries.sequence AND sent.created_at >= deliveries.restarted_at LIMIT 1) IS NULL"
    )
}

/// The sequence of the oldest such message in a room; the values are the agent and the chat, three times.
pub(super) fn oldest_unsent(names: &Names) -> String {
    let (fresh, again) = (fresh(names, "?", "?"), offered_again(names, "?", "?"));
    format!(
        "SELECT min(unsent.sequence) AS sequence FROM (SELECT * FROM ({fresh} ORDER BY deliveries.sequence LIMIT 1) AS fresh \
         UNION ALL SELECT * FROM ({again} ORDER BY deliveries.sequence LIMIT 1) AS again) AS unsent"
    )
}

/// The delivery of a room that has not ended and keeps others waiting: it is in flight, or its message is open and was not
/// offered again since. `earlier` is a further condition.
fn begun(earlier: &str) -> String {
    format!(
        "SELECT 1 FROM webhook_deliveries AS begun WHERE begun.agent_id = room.agent_id AND begun.chat_id = room.chat_id \
         AND begun.ended_at IS NULL AND (begun.leased_until IS NOT NULL OR {earlier}EXISTS (SELECT 1 FROM deliveries AS kept \
         WHERE kept.agent_id = begun.agent_id AND kept.chat_id = begun.chat_id AND kept.sequence = begun.sequence \
         AND kept.processed_at IS NULL AND kept.dead_at IS NULL \
         AND (kept.restarted_at IS NULL OR begun.created_at >= kept.restarted_at)))"
    )
}

/// The rooms with a message to be sent that need not wait for another one: the first one of each agent before the second ones,
/// [`ROOMS_OF_AGENT`] of each. The value is the number of rooms. Walks from room to room, however many messages are open.
pub(super) fn new_rooms(names: &Names) -> String {
    let Names { open_index, open, .. } = names;
    let (fresh, again) = (
        fresh(names, "room.agent_id", "room.chat_id"),
        offered_again(names, "room.agent_id", "room.chat_id"),
    );
    let (any, later) = (begun(""), begun("begun.sequence <= deliveries.sequence AND "));
    let is_waiting = format!(
        "CASE WHEN (SELECT 1 FROM participants JOIN chats ON chats.id = participants.chat_id AND chats.deleted_at IS NULL \
         LEFT JOIN organizations ON organizations.id = chats.organization_id WHERE participants.chat_id = room.chat_id \
         AND participants.participant_id = room.agent_id AND participants.left_at IS NULL \
         AND participants.stopped_at IS NULL AND participants.agent_paused_at IS NULL AND organizations.paused_at IS NULL LIMIT 1) \
         IS NOT NULL AND (({any} LIMIT 1) IS NULL AND EXISTS ({fresh}) OR EXISTS ({again} AND ({later} LIMIT 1) IS NULL)) \
         THEN 1 ELSE 0 END"
    );
    let next = |agent: &str, after: &str| {
        format!(
            "(SELECT deliveries.chat_id FROM deliveries {open_index} WHERE deliveries.agent_id = {agent}{after} AND {open} \
             ORDER BY deliveries.chat_id LIMIT 1)"
        )
    };
    let (first, second) =
        (next("webhooks.agent_id", ""), next("room.agent_id", " AND deliveries.chat_id > room.chat_id"));
    format!(
        "WITH RECURSIVE room (agent_id, chat_id, found) AS (SELECT webhooks.agent_id, {first}, 0 FROM webhooks \
         CROSS JOIN agents CROSS JOIN users WHERE agents.id = webhooks.agent_id AND agents.deleted_at IS NULL \
         AND agents.disabled_at IS NULL AND users.id = agents.owner_id AND users.disabled_at IS NULL \
         AND webhooks.disabled_at IS NULL \
         UNION ALL SELECT room.agent_id, {second}, room.found + {is_waiting} FROM room \
         WHERE room.chat_id IS NOT NULL AND room.found < {ROOMS_OF_AGENT}) \
         SELECT room.agent_id, room.chat_id FROM room WHERE room.chat_id IS NOT NULL AND room.found < {ROOMS_OF_AGENT} \
         AND {is_waiting} = 1 LIMIT ?"
    )
}

/// Erases the delivery of a room that has not ended, whose message is then taken again as one that had none; the value is
/// its id. A message before a later one that was sent would not be taken again, so its delivery is kept.
pub(super) const ERASE_FOR_EARLIER: &str = "DELETE FROM webhook_deliveries WHERE id = ? AND NOT EXISTS ( \
     SELECT 1 FROM webhook_deliveries AS later WHERE later.agent_id = webhook_deliveries.agent_id \
     AND later.chat_id = webhook_deliveries.chat_id AND later.sequence > webhook_deliveries.sequence)";

/// The agents with a webhook that is not disabled, their owners, and the organizations of these.
pub(super) const AGENTS: &str = "SELECT webhooks.agent_id, agents.owner_id, users.organization_id FROM webhooks \
     JOIN agents ON agents.id = webhooks.agent_id JOIN users ON users.id = agents.owner_id \
     WHERE webhooks.disabled_at IS NULL";

/// An agent of an owner and of an organization.
pub(super) fn agent((agent, owner, organization): (Uuid, Uuid, Uuid)) -> (AgentId, WebhookOwner) {
    let owner = WebhookOwner { user: UserId::new(owner), organization: OrganizationId::new(organization) };
    (AgentId::new(agent), owner)
}

/// Whether an agent and its owner are enabled: a row if they are. The value is the agent.
pub(super) const ENABLED: &str = "SELECT agents.id FROM agents JOIN users ON users.id = agents.owner_id \
     WHERE agents.id = ? AND agents.deleted_at IS NULL AND agents.disabled_at IS NULL AND users.disabled_at IS NULL";

/// Makes what waits for an agent's webhook due, which may work again: it was enabled, or has another address. The values are
/// the time, the agent, and the time.
pub(super) const MAKE_DUE: &str = "UPDATE webhook_deliveries SET next_attempt_at = ? \
     WHERE agent_id = ? AND ended_at IS NULL AND (leased_until IS NULL OR leased_until <= ?)";

/// What waits for enabled webhooks.
pub(super) const BACKLOG: &str = "SELECT count(*) AS deliveries, min(webhook_deliveries.created_at) AS oldest \
     FROM webhooks CROSS JOIN webhook_deliveries WHERE webhook_deliveries.agent_id = webhooks.agent_id \
     AND webhook_deliveries.ended_at IS NULL AND webhooks.disabled_at IS NULL";

/// The condition of a delivery that has ended and is not needed. The latest one of a room tells up to where its open messages
/// were sent, and that of a message that was offered again tells that it was sent since.
fn is_forgettable(names: &Names) -> String {
    let Names { open_index, offered_again_index, open } = names;
    format!(
        "one.ended_at IS NOT NULL AND ((SELECT 1 FROM webhook_deliveries AS later WHERE later.agent_id = one.agent_id \
         AND later.chat_id = one.chat_id AND later.sequence > one.sequence LIMIT 1) IS NOT NULL \
         OR (SELECT 1 FROM deliveries {open_index} WHERE deliveries.agent_id = one.agent_id \
         AND deliveries.chat_id = one.chat_id AND deliveries.sequence <= one.sequence AND {open} LIMIT 1) IS NULL) \
         AND (SELECT 1 FROM deliveries {offered_again_index} WHERE deliveries.agent_id = one.agent_id \
         AND deliveries.chat_id = one.chat_id AND deliveries.sequence = one.sequence AND {open} \
         AND deliveries.restarted_at IS NOT NULL LIMIT 1) IS NULL LIMIT ?"
    )
}

/// The deliveries of an agent that ended before a time, which began before it as well; the values are this time twice, and the
/// limit.
pub(super) fn old_of_agent(names: &Names) -> String {
    let forgettable = is_forgettable(names);
    format!(
        "FROM webhook_deliveries AS one WHERE one.agent_id = webhooks.agent_id AND one.created_at <= ? \
         AND one.ended_at <= ? AND {forgettable}"
    )
}

/// The deliveries that began before the newest ones of their agent; the values are the number of these less one, and the
/// limit.
pub(super) fn surplus_of_agent(names: &Names) -> String {
    let forgettable = is_forgettable(names);
    format!(
        "FROM webhook_deliveries AS one WHERE one.agent_id = webhooks.agent_id AND one.created_at < \
         (SELECT newest.created_at FROM webhook_deliveries AS newest WHERE newest.agent_id = webhooks.agent_id \
         ORDER BY newest.created_at DESC, newest.id DESC LIMIT 1 OFFSET ?) AND {forgettable}"
    )
}

/// Such deliveries of all agents; `one` joins them. The values are its own ones and the limit.
pub(super) fn forgettable(one: &str) -> String {
    format!("SELECT one.id FROM webhooks JOIN {one} LIMIT ?")
}

/// The organizations with a delivery that is due, or with none that has not ended and an entry that was not seen; `entries` are
/// the sealed entries of the organization, in the order of their index. The values are the organization before the first one,
/// the time, and the number of organizations.
pub(super) fn with_events(entries: (&str, &str)) -> String {
    let (of_organization, order) = entries;
    format!(
        "SELECT organization_webhooks.organization_id AS id FROM organization_webhooks \
         WHERE organization_webhooks.organization_id > ? AND organization_webhooks.disabled_at IS NULL AND coalesce( \
         (SELECT begun.next_attempt_at <= ? FROM organization_webhook_deliveries AS begun \
         WHERE begun.organization_id = organization_webhooks.organization_id AND begun.ended_at IS NULL), \
         (SELECT 1 FROM audit WHERE audit.organization_id {of_organization} \
         AND audit.number > organization_webhooks.seen_number ORDER BY {order} LIMIT 1) IS NOT NULL) \
         ORDER BY organization_webhooks.organization_id LIMIT ?"
    )
}

/// Makes what waits for the webhook of an organization due. The values are the time, the organization, and the time.
pub(super) const MAKE_EVENT_DUE: &str = "UPDATE organization_webhook_deliveries SET next_attempt_at = ? \
     WHERE organization_id = ? AND ended_at IS NULL AND (leased_until IS NULL OR leased_until <= ?)";

/// What waits for enabled webhooks of organizations.
pub(super) const EVENT_BACKLOG: &str = "SELECT count(*) AS deliveries, \
     min(organization_webhook_deliveries.created_at) AS oldest \
     FROM organization_webhooks CROSS JOIN organization_webhook_deliveries \
     WHERE organization_webhook_deliveries.organization_id = organization_webhooks.organization_id \
     AND organization_webhook_deliveries.ended_at IS NULL AND organization_webhooks.disabled_at IS NULL";

/// The deliveries to webhooks of organizations that ended before a time; the values are the time and the limit.
pub(super) const OLD_EVENTS: &str =
    "SELECT one.id FROM organization_webhook_deliveries AS one WHERE one.ended_at <= ? LIMIT ?";

/// Those about earlier entries than the newest ones of their organization; the values are the number of these less one, and
/// the limit.
pub(super) const SURPLUS_EVENTS: &str = "SELECT one.id FROM organization_webhooks \
     CROSS JOIN organization_webhook_deliveries AS one \
     WHERE one.organization_id = organization_webhooks.organization_id AND one.ended_at IS NOT NULL AND one.number < \
     (SELECT newest.number FROM organization_webhook_deliveries AS newest \
     WHERE newest.organization_id = organization_webhooks.organization_id \
     ORDER BY newest.number DESC LIMIT 1 OFFSET ?) LIMIT ?";

/// The webhooks of the agents of an owner that are disabled, or whose requests have failed for a day, the longest failing ones
/// first. The values are the owner and the number of webhooks. There are few such webhooks of all owners.
pub(super) const FAILING: &str = "SELECT agents.id, agents.handle, agents.name, webhooks.disabled_reason, \
     coalesce(webhooks.disabled_at, webhooks.warned_at) AS since FROM webhooks CROSS JOIN agents \
     WHERE (webhooks.disabled_at IS NOT NULL OR webhooks.warned_at IS NOT NULL) AND agents.id = webhooks.agent_id \
     AND agents.owner_id = ? AND agents.deleted_at IS NULL \
     ORDER BY coalesce(webhooks.disabled_at, webhooks.warned_at), agents.id LIMIT ?";

/// The columns of [`FAILING`].
pub(super) type FailingRow = (Id, String, String, Option<String>, At);

/// Such a webhook.
pub(super) fn failing((agent, handle, name, reason, At(since)): FailingRow) -> Result<FailingWebhook, Fault> {
    let disabled = reason.map(|reason| row::word(&reason, DisabledReason::parse)).transpose()?;
    Ok(FailingWebhook { agent: AgentId::new(agent.0), handle, name, disabled, since })
}
