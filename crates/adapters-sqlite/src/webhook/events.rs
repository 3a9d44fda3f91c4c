//! Webhooks of organizations.

use std::sync::LazyLock;

use async_trait::async_trait;
use diesel::dsl::exists;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary};
use diesel::sqlite::SqliteConnection;
use domain::audit::AuditEntry;
use domain::change::Change;
use domain::id::{OrganizationId, WebhookDeliveryId};
use domain::organization::Authority;
use domain::page::{Page, PageRequest};
use domain::store::StoreError;
use domain::time::Timestamp;
use domain::webhook::{
    ChangeOrganizationWebhook, ChangedWebhook, DueEvent, ENTRIES_AT_ONCE, EventDelivery, EventsRefused,
    Notice, OrganizationWebhook, OrganizationWebhookRepository, ResendEvent, Resumption, SettleDelivery,
    Settled, TakeEvent, TakenEvent, WebhookStep,
};

use super::row::{EventDeliveryRow, MAKE_EVENT_DUE, OrganizationWebhookRow, with_events};
use crate::SqliteStore;
use crate::error::Fault;
use crate::organization::member::check_on;
use crate::row::{At, Id};
use crate::schema::{organization_webhook_deliveries, organization_webhooks};
use crate::statement::statement;
use crate::{audit, change};

/// SQLite finds the index of the entries of an organization on its own.
static WITH_EVENTS: LazyLock<String> =
    LazyLock::new(|| with_events(("= organization_webhooks.organization_id", "audit.number")));

#[derive(QueryableByName)]
struct Found {
    #[diesel(sql_type = Binary)]
    id: Id,
}

#[async_trait]
impl OrganizationWebhookRepository for SqliteStore {
    async fn organization_webhook(
        &self,
        by: Authority,
    ) -> Result<Result<OrganizationWebhook, EventsRefused>, StoreError> {
        self.read(move |connection| {
            if let Err(refused) = check_on(connection, by)? {
                return Ok(Err(refused.into()));
            }
            Ok(hook_on(connection, by.organization())?.ok_or(EventsRefused::NoWebhook))
        })
        .await
    }

    async fn change_organization_webhook(
        &self,
        command: ChangeOrganizationWebhook,
    ) -> Result<Result<ChangedWebhook<OrganizationWebhook>, EventsRefused>, StoreError> {
        self.change(move |connection| change_on(connection, &command), |_| ()).await
    }

    async fn event_deliveries(
        &self,
        by: Authority,
        page: PageRequest,
    ) -> Result<Result<Page<EventDelivery>, EventsRefused>, StoreError> {
        self.read(move |connection| list_on(connection, by, &page)).await
    }

    async fn resend_event(
        &self,
        command: ResendEvent,
    ) -> Result<Result<EventDelivery, EventsRefused>, StoreError> {
        self.change(move |connection| resend_on(connection, &command), |_| ()).await
    }

    async fn has_organization_webhooks(&self) -> Result<bool, StoreError> {
        self.read(|connection| {
            let enabled = organization_webhooks::table.filter(organization_webhooks::disabled_at.is_null());
            Ok(diesel::select(exists(enabled)).get_result::<bool>(connection)?)
        })
        .await
    }

    async fn organizations_with_events(
        &self,
        after: OrganizationId,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<OrganizationId>, StoreError> {
        self.read(move |connection| {
            let found = diesel::sql_query(WITH_EVENTS.as_str())
                .bind::<Binary, _>(Id(after.uuid()))
                .bind::<BigInt, _>(At(now))
                .bind::<BigInt, _>(i64::from(limit))
                .load::<Found>(connection)?;
            Ok(found.into_iter().map(|found| OrganizationId::new(found.id.0)).collect())
        })
        .await
    }

    async fn take_event(&self, command: TakeEvent) -> Result<TakenEvent, StoreError> {
        self.alter(move |connection| take_on(connection, command)).await
    }

    async fn settle_event(
        &self,
        command: SettleDelivery,
    ) -> Result<Option<Settled<EventDelivery>>, StoreError> {
        self.alter(move |connection| settle_on(connection, &command)).await
    }
}

fn hook_on(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
) -> Result<Option<OrganizationWebhook>, Fault> {
    let found = organization_webhooks::table.find(Id(organization.uuid()));
    let found = found.select(OrganizationWebhookRow::as_select()).get_result(connection).optional()?;
    found.map(OrganizationWebhookRow::into_organization_webhook).transpose()
}

fn save_hook_on(connection: &mut SqliteConnection, hook: &OrganizationWebhook) -> Result<(), Fault> {
    let row = OrganizationWebhookRow::of(hook);
    diesel::update(organization_webhooks::table.find(row.organization_id)).set(&row).execute(connection)?;
    Ok(())
}

fn save_on(connection: &mut SqliteConnection, sent: &EventDelivery) -> Result<(), Fault> {
    let row = EventDeliveryRow::of(sent);
    diesel::update(organization_webhook_deliveries::table.find(row.id)).set(&row).execute(connection)?;
    Ok(())
}

/// Removes the webhook of an organization, and the record of its deliveries.
pub(crate) fn remove_on(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
) -> Result<(), Fault> {
    let organization = Id(organization.uuid());
    diesel::delete(organization_webhooks::table.find(organization)).execute(connection)?;
    let sent = organization_webhook_deliveries::table
        .filter(organization_webhook_deliveries::organization_id.eq(organization));
    diesel::delete(sent).execute(connection)?;
    Ok(())
}

fn change_on(
    connection: &mut SqliteConnection,
    command: &ChangeOrganizationWebhook,
) -> Result<Result<ChangedWebhook<OrganizationWebhook>, EventsRefused>, Fault> {
    if let Err(refused) = check_on(connection, command.by)? {
        return Ok(Err(refused.into()));
    }
    let organization = command.by.organization();
    let newest = audit::head_on(connection)?.map_or(0, |head| head.number);
    let applied = match command.apply(hook_on(connection, organization)?, newest) {
        Ok(applied) => applied,
        Err(refused) => return Ok(Err(refused)),
    };
    if applied.is_due {
        statement!(MAKE_EVENT_DUE)
            .bind::<BigInt, _>(At(command.now))
            .bind::<Binary, _>(Id(organization.uuid()))
            .bind::<BigInt, _>(At(command.now))
            .execute(connection)?;
    }
    if applied.has_changed {
        if command.step == WebhookStep::Remove {
            remove_on(connection, organization)?;
        } else if applied.is_new {
            let row = OrganizationWebhookRow::of(&applied.webhook);
            diesel::insert_into(organization_webhooks::table).values(row).execute(connection)?;
        } else {
            save_hook_on(connection, &applied.webhook)?;
        }
        audit::append_on(connection, [AuditEntry::organization_webhook_changed(command)])?;
        change::append_on(connection, [Change::OrganizationWebhookChanged(organization)], command.now)?;
    }
    Ok(Ok(ChangedWebhook { webhook: applied.webhook, is_new: applied.is_new }))
}

fn list_on(
    connection: &mut SqliteConnection,
    by: Authority,
    page: &PageRequest,
) -> Result<Result<Page<EventDelivery>, EventsRefused>, Fault> {
    if let Err(refused) = check_on(connection, by)? {
        return Ok(Err(refused.into()));
    }
    let organization = Id(by.organization().uuid());
    let all = || {
        organization_webhook_deliveries::table
            .filter(organization_webhook_deliveries::organization_id.eq(organization))
    };
    let total = page.count.then(|| all().count().get_result::<i64>(connection)).transpose()?;
    let before = page.slice.after().map_or(i64::MAX, |position| position.key);
    let rows = all()
        .filter(organization_webhook_deliveries::number.lt(before))
        .order(organization_webhook_deliveries::number.desc())
        .limit(i64::from(page.slice.limit()) + 1)
        .offset(page.slice.offset())
        .select(EventDeliveryRow::as_select())
        .load(connection)?;
    let rows = rows.into_iter().map(EventDeliveryRow::into_delivery).collect::<Result<Vec<_>, _>>()?;
    let total = total.map(i64::cast_unsigned);
    Ok(Ok(Page::from_overfetch(rows, page, total, EventDelivery::position)))
}

fn resend_on(
    connection: &mut SqliteConnection,
    command: &ResendEvent,
) -> Result<Result<EventDelivery, EventsRefused>, Fault> {
    if let Err(refused) = check_on(connection, command.by)? {
        return Ok(Err(refused.into()));
    }
    let organization = command.by.organization();
    if hook_on(connection, organization)?.is_some_and(|hook| hook.webhook.disabled.is_some()) {
        return Ok(Err(EventsRefused::Disabled));
    }
    let found = find_on(connection, command.delivery)?.filter(|sent| sent.organization == organization);
    let Some(sent) = found else { return Ok(Err(EventsRefused::NoDelivery)) };
    let is_busy = begun_on(connection, organization)?.is_some_and(|begun| begun.id != sent.id);
    let resent = command.apply(sent, is_busy);
    if let Ok(resent) = &resent {
        save_on(connection, resent)?;
        audit::append_on(connection, [AuditEntry::organization_webhook_resent(command)])?;
    }
    Ok(resent)
}

fn find_on(
    connection: &mut SqliteConnection,
    delivery: WebhookDeliveryId,
) -> Result<Option<EventDelivery>, Fault> {
    let found = organization_webhook_deliveries::table.find(Id(delivery.uuid()));
    let found = found.select(EventDeliveryRow::as_select()).get_result(connection).optional()?;
    found.map(EventDeliveryRow::into_delivery).transpose()
}

/// The delivery of an organization that has not ended.
fn begun_on(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
) -> Result<Option<EventDelivery>, Fault> {
    let found = organization_webhook_deliveries::table
        .filter(organization_webhook_deliveries::organization_id.eq(Id(organization.uuid())))
        .filter(organization_webhook_deliveries::ended_at.is_null())
        .select(EventDeliveryRow::as_select())
        .get_result(connection)
        .optional()?;
    found.map(EventDeliveryRow::into_delivery).transpose()
}

fn take_on(connection: &mut SqliteConnection, command: TakeEvent) -> Result<TakenEvent, Fault> {
    let TakeEvent { organization, now } = command;
    let hook = hook_on(connection, organization)?.filter(|hook| hook.webhook.disabled.is_none());
    let Some(mut hook) = hook else { return Ok(TakenEvent::Nothing) };
    let mut sent = if let Some(mut begun) = begun_on(connection, organization)? {
        match hook.resume(&begun, now) {
            Resumption::Send => begun,
            Resumption::Wait(_) => return Ok(TakenEvent::Nothing),
            Resumption::End(outcome) => {
                begun.end(outcome, now);
                save_on(connection, &begun)?;
                return Ok(TakenEvent::Passed);
            }
        }
    } else {
        let entries = audit::entries_after_on(connection, organization, hook.seen, ENTRIES_AT_ONCE)?;
        let (seen, has_more) = (hook.seen, entries.len() == ENTRIES_AT_ONCE as usize);
        let next = hook.next(entries, now);
        if hook.seen != seen {
            save_hook_on(connection, &hook)?;
        }
        let Some(next) = next else {
            let has_passed = has_more && hook.seen != seen;
            return Ok(if has_passed { TakenEvent::Passed } else { TakenEvent::Nothing });
        };
        diesel::insert_into(organization_webhook_deliveries::table)
            .values(EventDeliveryRow::of(&next))
            .execute(connection)?;
        next
    };
    let record = audit::record_on(connection, sent.id.uuid())?;
    sent.begin(now);
    save_on(connection, &sent)?;
    Ok(TakenEvent::Send(Box::new(DueEvent { delivery: sent, record, webhook: hook.webhook })))
}

fn settle_on(
    connection: &mut SqliteConnection,
    command: &SettleDelivery,
) -> Result<Option<Settled<EventDelivery>>, Fault> {
    let lease = command.lease;
    let found = find_on(connection, lease.delivery)?
        .filter(|sent| sent.leased_until.is_some() && sent.attempts == lease.attempt);
    let Some(mut delivery) = found else { return Ok(None) };
    let organization = delivery.organization;
    let before = hook_on(connection, organization)?;
    let mut hook = before.clone();
    let notice = command.apply_to_event(&mut delivery, hook.as_mut().map(|hook| &mut hook.webhook));
    save_on(connection, &delivery)?;
    if let Some(hook) = hook.as_ref().filter(|_| hook != before) {
        save_hook_on(connection, hook)?;
    }
    if let Some(Notice::Disabled(reason)) = notice {
        let entry = AuditEntry::organization_webhook_disabled(organization, reason, command.now);
        audit::append_on(connection, [entry])?;
        change::append_on(connection, [Change::OrganizationWebhookChanged(organization)], command.now)?;
    }
    Ok(Some(Settled { delivery, notice }))
}
