//! Webhooks of organizations.
//!
//! A change locks the people of the organization first, so that the authority stays valid, and then the webhook and its
//! delivery. A sender locks the webhook first.

use std::sync::LazyLock;

use async_trait::async_trait;
use diesel::dsl::exists;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
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
use futures_util::FutureExt;
use uuid::Uuid;

use super::row::{EventDeliveryRow, MAKE_EVENT_DUE, OrganizationWebhookRow, with_events};
use crate::PostgresStore;
use crate::error::Fault;
use crate::organization::member::check_on;
use crate::row::At;
use crate::run::Db;
use crate::schema::{organization_webhook_deliveries, organization_webhooks};
use crate::statement::statement;
use crate::{audit, change, lock};

/// The organization is given as a range and ordered by, because PostgreSQL could else read the entries of all organizations, by
/// their numbers.
static WITH_EVENTS: LazyLock<String> = LazyLock::new(|| {
    with_events((
        "BETWEEN organization_webhooks.organization_id AND organization_webhooks.organization_id",
        "audit.organization_id, audit.number",
    ))
});

#[async_trait]
impl OrganizationWebhookRepository for PostgresStore {
    async fn organization_webhook(
        &self,
        by: Authority,
    ) -> Result<Result<OrganizationWebhook, EventsRefused>, StoreError> {
        self.read(by, |db, by| find_on(db, *by).boxed()).await
    }

    async fn change_organization_webhook(
        &self,
        command: ChangeOrganizationWebhook,
    ) -> Result<Result<ChangedWebhook<OrganizationWebhook>, EventsRefused>, StoreError> {
        self.change_quietly(command, |db, command| change_on(db, command).boxed()).await
    }

    async fn event_deliveries(
        &self,
        by: Authority,
        page: PageRequest,
    ) -> Result<Result<Page<EventDelivery>, EventsRefused>, StoreError> {
        self.read((by, page), |db, (by, page)| list_on(db, *by, page).boxed()).await
    }

    async fn resend_event(
        &self,
        command: ResendEvent,
    ) -> Result<Result<EventDelivery, EventsRefused>, StoreError> {
        self.change_quietly(command, |db, command| resend_on(db, command).boxed()).await
    }

    async fn has_organization_webhooks(&self) -> Result<bool, StoreError> {
        self.query((), |db, ()| has_any_on(db).boxed()).await
    }

    async fn organizations_with_events(
        &self,
        after: OrganizationId,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<OrganizationId>, StoreError> {
        let asked = (after, now, limit);
        self.query(asked, |db, (after, now, limit)| with_events_on(db, *after, *now, *limit).boxed()).await
    }

    async fn take_event(&self, command: TakeEvent) -> Result<TakenEvent, StoreError> {
        self.alter_quietly(command, |db, command| take_on(db, *command).boxed()).await
    }

    async fn settle_event(
        &self,
        command: SettleDelivery,
    ) -> Result<Option<Settled<EventDelivery>>, StoreError> {
        self.alter_quietly(command, |db, command| settle_on(db, command).boxed()).await
    }
}

async fn find_on(mut db: &Db, by: Authority) -> Result<Result<OrganizationWebhook, EventsRefused>, Fault> {
    if let Err(refused) = check_on(db, by).await? {
        return Ok(Err(refused.into()));
    }
    let found = organization_webhooks::table.find(by.organization().uuid());
    let found = found.select(OrganizationWebhookRow::as_select()).first(&mut db).await.optional()?;
    let hook = found.map(OrganizationWebhookRow::into_organization_webhook).transpose()?;
    Ok(hook.ok_or(EventsRefused::NoWebhook))
}

/// The webhook, which is locked.
async fn locked_hook_on(
    mut db: &Db,
    organization: OrganizationId,
) -> Result<Option<OrganizationWebhook>, Fault> {
    let found = organization_webhooks::table.find(organization.uuid());
    let found = found.select(OrganizationWebhookRow::as_select()).for_update();
    let found = found.first(&mut db).await.optional()?;
    found.map(OrganizationWebhookRow::into_organization_webhook).transpose()
}

async fn save_hook_on(mut db: &Db, hook: &OrganizationWebhook) -> Result<(), Fault> {
    let row = OrganizationWebhookRow::of(hook);
    diesel::update(organization_webhooks::table.find(row.organization_id)).set(&row).execute(&mut db).await?;
    Ok(())
}

async fn save_on(mut db: &Db, sent: &EventDelivery) -> Result<(), Fault> {
    let row = EventDeliveryRow::of(sent);
    diesel::update(organization_webhook_deliveries::table.find(row.id)).set(&row).execute(&mut db).await?;
    Ok(())
}

/// Removes the webhook of an organization, and the record of its deliveries.
pub(crate) async fn remove_on(mut db: &Db, organization: OrganizationId) -> Result<(), Fault> {
    let organization = organization.uuid();
    diesel::delete(organization_webhooks::table.find(organization)).execute(&mut db).await?;
    let sent = organization_webhook_deliveries::table
        .filter(organization_webhook_deliveries::organization_id.eq(organization));
    diesel::delete(sent).execute(&mut db).await?;
    Ok(())
}

async fn change_on(
    mut db: &Db,
    command: &ChangeOrganizationWebhook,
) -> Result<Result<ChangedWebhook<OrganizationWebhook>, EventsRefused>, Fault> {
    let organization = command.by.organization();
    lock::people_on(db, organization).await?;
    if let Err(refused) = check_on(db, command.by).await? {
        return Ok(Err(refused.into()));
    }
    let newest = audit::head_on(db).await?.map_or(0, |head| head.number);
    let applied = match command.apply(locked_hook_on(db, organization).await?, newest) {
        Ok(applied) => applied,
        Err(refused) => return Ok(Err(refused)),
    };
    if applied.is_due {
        statement::<()>(MAKE_EVENT_DUE)
            .bind::<Timestamptz, _>(At(command.now))
            .bind::<SqlUuid, _>(organization.uuid())
            .bind::<Timestamptz, _>(At(command.now))
            .execute(&mut db)
            .await?;
    }
    if applied.has_changed {
        if command.step == WebhookStep::Remove {
            remove_on(db, organization).await?;
        } else if applied.is_new {
            let row = OrganizationWebhookRow::of(&applied.webhook);
            diesel::insert_into(organization_webhooks::table).values(row).execute(&mut db).await?;
        } else {
            save_hook_on(db, &applied.webhook).await?;
        }
        audit::append_on(db, [AuditEntry::organization_webhook_changed(command)]).await?;
        change::append_on(db, [Change::OrganizationWebhookChanged(organization)], command.now).await?;
    }
    Ok(Ok(ChangedWebhook { webhook: applied.webhook, is_new: applied.is_new }))
}

async fn list_on(
    mut db: &Db,
    by: Authority,
    page: &PageRequest,
) -> Result<Result<Page<EventDelivery>, EventsRefused>, Fault> {
    if let Err(refused) = check_on(db, by).await? {
        return Ok(Err(refused.into()));
    }
    let all = || {
        organization_webhook_deliveries::table
            .filter(organization_webhook_deliveries::organization_id.eq(by.organization().uuid()))
    };
    let total = if page.count { Some(all().count().get_result::<i64>(&mut db).await?) } else { None };
    let before = page.slice.after().map_or(i64::MAX, |position| position.key);
    let rows = all()
        .filter(organization_webhook_deliveries::number.lt(before))
        .order(organization_webhook_deliveries::number.desc())
        .limit(i64::from(page.slice.limit()) + 1)
        .offset(page.slice.offset())
        .select(EventDeliveryRow::as_select())
        .load(&mut db)
        .await?;
    let rows = rows.into_iter().map(EventDeliveryRow::into_delivery).collect::<Result<Vec<_>, _>>()?;
    let total = total.map(i64::cast_unsigned);
    Ok(Ok(Page::from_overfetch(rows, page, total, EventDelivery::position)))
}

async fn resend_on(db: &Db, command: &ResendEvent) -> Result<Result<EventDelivery, EventsRefused>, Fault> {
    let organization = command.by.organization();
    lock::people_on(db, organization).await?;
    if let Err(refused) = check_on(db, command.by).await? {
        return Ok(Err(refused.into()));
    }
    // From here on no other delivery of the organization begins.
    let hook = locked_hook_on(db, organization).await?;
    if hook.is_some_and(|hook| hook.webhook.disabled.is_some()) {
        return Ok(Err(EventsRefused::Disabled));
    }
    let found = locked_on(db, command.delivery).await?.filter(|sent| sent.organization == organization);
    let Some(sent) = found else { return Ok(Err(EventsRefused::NoDelivery)) };
    let is_busy = begun_on(db, organization).await?.is_some_and(|begun| begun.id != sent.id);
    let resent = command.apply(sent, is_busy);
    if let Ok(resent) = &resent {
        save_on(db, resent).await?;
        audit::append_on(db, [AuditEntry::organization_webhook_resent(command)]).await?;
    }
    Ok(resent)
}

/// A delivery, which is locked.
async fn locked_on(mut db: &Db, delivery: WebhookDeliveryId) -> Result<Option<EventDelivery>, Fault> {
    let found = organization_webhook_deliveries::table
        .find(delivery.uuid())
        .select(EventDeliveryRow::as_select())
        .for_update()
        .first(&mut db)
        .await
        .optional()?;
    found.map(EventDeliveryRow::into_delivery).transpose()
}

/// The delivery of an organization that has not ended, which is locked.
async fn begun_on(mut db: &Db, organization: OrganizationId) -> Result<Option<EventDelivery>, Fault> {
    let found = organization_webhook_deliveries::table
        .filter(organization_webhook_deliveries::organization_id.eq(organization.uuid()))
        .filter(organization_webhook_deliveries::ended_at.is_null())
        .select(EventDeliveryRow::as_select())
        .for_update()
        .first(&mut db)
        .await
        .optional()?;
    found.map(EventDeliveryRow::into_delivery).transpose()
}

async fn has_any_on(mut db: &Db) -> Result<bool, Fault> {
    let enabled = organization_webhooks::table.filter(organization_webhooks::disabled_at.is_null());
    Ok(diesel::select(exists(enabled)).get_result::<bool>(&mut db).await?)
}

async fn with_events_on(
    mut db: &Db,
    after: OrganizationId,
    now: Timestamp,
    limit: u32,
) -> Result<Vec<OrganizationId>, Fault> {
    let found = statement::<SqlUuid>(WITH_EVENTS.as_str())
        .bind::<SqlUuid, _>(after.uuid())
        .bind::<Timestamptz, _>(At(now))
        .bind::<BigInt, _>(i64::from(limit))
        .load::<Uuid>(&mut db)
        .await?;
    Ok(found.into_iter().map(OrganizationId::new).collect())
}

async fn take_on(mut db: &Db, command: TakeEvent) -> Result<TakenEvent, Fault> {
    let TakeEvent { organization, now } = command;
    let hook = locked_hook_on(db, organization).await?.filter(|hook| hook.webhook.disabled.is_none());
    let Some(mut hook) = hook else { return Ok(TakenEvent::Nothing) };
    let mut sent = if let Some(mut begun) = begun_on(db, organization).await? {
        match hook.resume(&begun, now) {
            Resumption::Send => begun,
            Resumption::Wait(_) => return Ok(TakenEvent::Nothing),
            Resumption::End(outcome) => {
                begun.end(outcome, now);
                save_on(db, &begun).await?;
                return Ok(TakenEvent::Passed);
            }
        }
    } else {
        let entries = audit::entries_after_on(db, organization, hook.seen, ENTRIES_AT_ONCE).await?;
        let (seen, has_more) = (hook.seen, entries.len() == ENTRIES_AT_ONCE as usize);
        let next = hook.next(entries, now);
        if hook.seen != seen {
            save_hook_on(db, &hook).await?;
        }
        let Some(next) = next else {
            let has_passed = has_more && hook.seen != seen;
            return Ok(if has_passed { TakenEvent::Passed } else { TakenEvent::Nothing });
        };
        diesel::insert_into(organization_webhook_deliveries::table)
            .values(EventDeliveryRow::of(&next))
            .execute(&mut db)
            .await?;
        next
    };
    let record = audit::record_on(db, sent.id.uuid()).await?;
    sent.begin(now);
    save_on(db, &sent).await?;
    Ok(TakenEvent::Send(Box::new(DueEvent { delivery: sent, record, webhook: hook.webhook })))
}

async fn settle_on(mut db: &Db, command: &SettleDelivery) -> Result<Option<Settled<EventDelivery>>, Fault> {
    let lease = command.lease;
    let organization = organization_webhook_deliveries::table
        .find(lease.delivery.uuid())
        .select(organization_webhook_deliveries::organization_id)
        .first::<Uuid>(&mut db)
        .await
        .optional()?;
    let Some(organization) = organization.map(OrganizationId::new) else { return Ok(None) };
    let before = locked_hook_on(db, organization).await?;
    let found = locked_on(db, lease.delivery).await?;
    let found = found.filter(|sent| sent.leased_until.is_some() && sent.attempts == lease.attempt);
    let Some(mut delivery) = found else { return Ok(None) };
    let mut hook = before.clone();
    let notice = command.apply_to_event(&mut delivery, hook.as_mut().map(|hook| &mut hook.webhook));
    save_on(db, &delivery).await?;
    if let Some(hook) = hook.as_ref().filter(|_| hook != before) {
        save_hook_on(db, hook).await?;
    }
    if let Some(Notice::Disabled(reason)) = notice {
        let entry = AuditEntry::organization_webhook_disabled(organization, reason, command.now);
        audit::append_on(db, [entry]).await?;
        change::append_on(db, [Change::OrganizationWebhookChanged(organization)], command.now).await?;
    }
    Ok(Some(Settled { delivery, notice }))
}
