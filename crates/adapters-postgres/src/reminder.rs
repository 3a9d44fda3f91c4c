//! The store of reminders.
//!
//! The sender of the text of a reminder, and every change of participants, lock the chat first and then the reminder. A
//! cancellation locks only the reminder.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::audit::AuditEntry;
use domain::caller::Caller;
use domain::id::{ChatId, OrganizationId, ParticipantId, ReminderId};
use domain::idempotency::{KeyedRequest, Verdict};
use domain::page::{Page, PageRequest, fitting};
use domain::reminder::{
    Attempted, CancelReminder, CancelReminderRefused, CreateReminderRefused, DueReminder,
    MAX_ENDED_OF_SENDER, NewReminder, PriorReminder, Reminder, ReminderEnd, ReminderFilter, ReminderOutcome,
    ReminderRepository, ReminderStanding, SendReminder,
};
use domain::store::{OnCommit, StoreError};
use domain::time::Timestamp;
use futures_util::FutureExt;
use uuid::Uuid;

#[path = "../../sql-rows/reminder.rs"]
mod row;

use crate::PostgresStore;
use crate::audit;
use crate::chat::load::{locked_chat_on, membership_on, participants_on};
use crate::error::Fault;
use crate::idempotency_record;
use crate::lock;
use crate::message::batch::append_on;
use crate::message::cause;
use crate::row::{At, AtType, Id, IdType};
use crate::run::Db;
use crate::schema::{agents, reminders};
use crate::statement::statement;
use row::{ProgressColumns, ReminderRow, able_agent, able_user, bind_list, counts, due, erase_ended};

#[async_trait]
impl ReminderRepository for PostgresStore {
    async fn create_reminder(
        &self,
        new: NewReminder,
    ) -> Result<Result<Reminder, CreateReminderRefused>, StoreError> {
        self.change_quietly(new, |db, new| create_on(db, new).boxed()).await
    }

    async fn find_prior_reminder(&self, keyed: KeyedRequest) -> Result<PriorReminder, StoreError> {
        self.read(keyed, |db, keyed| prior_on(db, keyed).boxed()).await
    }

    async fn list_reminders(
        &self,
        viewer: ParticipantId,
        filter: ReminderFilter,
        page: PageRequest,
    ) -> Result<Page<Reminder>, StoreError> {
        let given = (viewer, filter, page);
        self.read(given, |db, (viewer, filter, page)| list_on(db, *viewer, *filter, page).boxed()).await
    }

    async fn find_reminder(
        &self,
        viewer: ParticipantId,
        reminder: ReminderId,
    ) -> Result<Option<Reminder>, StoreError> {
        self.read((viewer, reminder), |db, (viewer, reminder)| visible_on(db, *viewer, *reminder).boxed())
            .await
    }

    async fn cancel_reminder(
        &self,
        command: CancelReminder,
    ) -> Result<Result<Reminder, CancelReminderRefused>, StoreError> {
        self.change_quietly(command, |db, command| cancel_on(db, *command).boxed()).await
    }

    async fn due_reminders(
        &self,
        now: Timestamp,
        after: Option<DueReminder>,
        limit: u32,
    ) -> Result<Vec<DueReminder>, StoreError> {
        let given = (now, after, limit);
        self.query(given, |db, &(now, after, limit)| due_on(db, now, after, limit).boxed()).await
    }

    async fn send_reminder(
        &self,
        command: SendReminder,
        on_commit: OnCommit<ReminderOutcome>,
    ) -> Result<ReminderOutcome, StoreError> {
        let announcing = move |outcome: &ReminderOutcome| on_commit.run(outcome);
        self.alter_announced(command, |db, command| send_on(db, command).boxed(), announcing).await
    }

    async fn forget_reminders(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        self.query((before, limit), |db, (before, limit)| forget_on(db, *before, *limit).boxed()).await
    }
}

const FORGET: &str = "DELETE FROM reminders WHERE ctid = ANY (ARRAY(\
     SELECT ctid FROM reminders WHERE ended_at <= ? ORDER BY ended_at LIMIT ?))";

async fn forget_on(mut db: &Db, before: Timestamp, limit: u32) -> Result<u64, Fault> {
    let forgetting =
        statement::<()>(FORGET).bind::<Timestamptz, _>(At(before)).bind::<BigInt, _>(i64::from(limit));
    Ok(forgetting.execute(&mut db).await? as u64)
}

async fn create_on(mut db: &Db, new: &NewReminder) -> Result<Result<Reminder, CreateReminderRefused>, Fault> {
    // The numbers of open reminders are those of the sender and of the chat, so nobody else may add one.
    lock::parties_on(db, &[new.sender]).await?;
    lock::chat_on(db, new.chat).await?;
    let Some(own) = membership_on(db, new.sender, new.chat).await? else {
        return Ok(Err(CreateReminderRefused::NotParticipant));
    };
    if let Some(keyed) = &new.keyed {
        match prior_on(db, keyed).await? {
            PriorReminder::Nothing => {}
            PriorReminder::Reminder(first) => return Ok(Err(CreateReminderRefused::Repeated(first))),
            PriorReminder::AnotherRequest => return Ok(Err(CreateReminderRefused::KeyReused)),
        }
    }
    let (of_sender, of_chat) = statement::<(BigInt, BigInt)>(counts!())
        .bind::<SqlUuid, _>(new.sender.uuid())
        .bind::<SqlUuid, _>(new.chat.uuid())
        .get_result::<(i64, i64)>(&mut db)
        .await?;
    if let Err(refused) = new.check(own.state.is_halted(), of_sender, of_chat) {
        return Ok(Err(refused));
    }
    statement::<()>(erase_ended!())
        .bind::<SqlUuid, _>(new.sender.uuid())
        .bind::<BigInt, _>(i64::from(MAX_ENDED_OF_SENDER))
        .execute(&mut db)
        .await?;
    if let Some(keyed) = &new.keyed
        && idempotency_record::remember_on(db, keyed, new.id.into(), new.now).await? != Verdict::First
    {
        return Ok(Err(CreateReminderRefused::KeyReused));
    }
    let observed = match new.sender.agent() {
        Some(agent) => Some(cause::of_attempts_on(db, agent, new.chat).await?),
        None => None,
    };
    let reminder = new.clone().into_reminder(observed);
    diesel::insert_into(reminders::table).values(ReminderRow::of(&reminder)?).execute(&mut db).await?;
    Ok(Ok(reminder))
}

async fn prior_on(db: &Db, keyed: &KeyedRequest) -> Result<PriorReminder, Fault> {
    let recorded = idempotency_record::recorded_on(db, &[keyed]).await?;
    match keyed.once.judge(recorded.get(&idempotency_record::key(keyed)).copied()) {
        Verdict::First => Ok(PriorReminder::Nothing),
        Verdict::KeyReused => Ok(PriorReminder::AnotherRequest),
        Verdict::Repeated(first) => {
            let found = reminder_on(db, ReminderId::new(first.record.uuid())).await?;
            Ok(found.map_or(PriorReminder::Nothing, |first| PriorReminder::Reminder(Box::new(first))))
        }
    }
}

async fn reminder_on(mut db: &Db, reminder: ReminderId) -> Result<Option<Reminder>, Fault> {
    let found = reminders::table.find(reminder.uuid()).select(ReminderRow::as_select());
    found.first(&mut db).await.optional()?.map(ReminderRow::into_reminder).transpose()
}

/// A reminder, which is locked.
async fn locked_reminder_on(mut db: &Db, reminder: ReminderId) -> Result<Option<Reminder>, Fault> {
    let found = reminders::table.find(reminder.uuid()).select(ReminderRow::as_select()).for_update();
    found.first(&mut db).await.optional()?.map(ReminderRow::into_reminder).transpose()
}

async fn visible_on(db: &Db, viewer: ParticipantId, reminder: ReminderId) -> Result<Option<Reminder>, Fault> {
    let Some(found) = reminder_on(db, reminder).await? else { return Ok(None) };
    let standing = standing_on(db, viewer, &found).await?;
    Ok(Some(found).filter(|found| found.is_visible_to(viewer, standing)))
}

/// What a viewer has to do with a reminder, in a chat that is not deleted.
async fn standing_on(
    mut db: &Db,
    viewer: ParticipantId,
    reminder: &Reminder,
) -> Result<ReminderStanding, Fault> {
    let Some(user) = viewer.user() else { return Ok(ReminderStanding::default()) };
    let owner = match reminder.sender.agent() {
        None => None,
        Some(agent) => agents::table
            .find(agent.uuid())
            .select(agents::owner_id)
            .first::<Uuid>(&mut db)
            .await
            .optional()?,
    };
    let own = membership_on(db, viewer, reminder.chat).await?;
    Ok(ReminderStanding { owns_sender: owner == Some(user.uuid()), role: own.map(|own| own.role) })
}

async fn list_on(
    mut db: &Db,
    viewer: ParticipantId,
    filter: ReminderFilter,
    page: &PageRequest,
) -> Result<Page<Reminder>, Fault> {
    let (after, limit) = (page.slice.after(), page.slice.limit() as usize);
    let query = statement::<(SqlUuid, BigInt)>(row::list(viewer, filter, after.is_some()));
    let most = i64::from(page.slice.limit()) + 1;
    let found = bind_list!(query, viewer, filter, after, most).load::<(Uuid, i64)>(&mut db).await?;
    let weights = found.iter().take(limit).map(|(_, weight)| usize::try_from(*weight).unwrap_or(usize::MAX));
    let count = fitting(page.max_bytes(), weights);
    let ids = found.iter().take(count).map(|(id, _)| *id).collect::<Vec<_>>();
    let rows = reminders::table
        .filter(reminders::id.eq_any(&ids))
        .select(ReminderRow::as_select())
        .load(&mut db)
        .await?;
    let mut rows = rows.into_iter().map(ReminderRow::into_reminder).collect::<Result<Vec<_>, _>>()?;
    rows.sort_by_key(|one| ids.iter().position(|id| *id == one.id.uuid()));
    Ok(Page::part(rows, found.len() > count, None, Reminder::position))
}

async fn cancel_on(
    db: &Db,
    command: CancelReminder,
) -> Result<Result<Reminder, CancelReminderRefused>, Fault> {
    let Some(found) = locked_reminder_on(db, command.reminder).await? else {
        return Ok(Err(CancelReminderRefused::NotFound));
    };
    let standing = standing_on(db, command.by.participant(), &found).await?;
    let cancelled = match command.decide(&found, standing) {
        Ok(Some(cancelled)) => cancelled,
        Ok(None) => return Ok(Ok(found)),
        Err(refused) => return Ok(Err(refused)),
    };
    save_on(db, &cancelled).await?;
    if matches!(command.by, Caller::User(_)) {
        let entry = AuditEntry::reminder_cancelled(&cancelled, command.by, command.now);
        audit::append_on(db, [entry]).await?;
    }
    Ok(Ok(cancelled))
}

async fn due_on(
    mut db: &Db,
    now: Timestamp,
    after: Option<DueReminder>,
    limit: u32,
) -> Result<Vec<DueReminder>, Fault> {
    let since = after.map_or(Timestamp::from_micros(i64::MIN), |after| after.at);
    let after = after.map_or(ReminderId::NIL, |after| after.id);
    let rows = statement::<(SqlUuid, SqlUuid, Timestamptz)>(due!())
        .bind::<Timestamptz, _>(At(now))
        .bind::<Timestamptz, _>(At(since))
        .bind::<SqlUuid, _>(after.uuid())
        .bind::<BigInt, _>(i64::from(limit))
        .load::<(Uuid, Uuid, At)>(&mut db)
        .await?;
    let due = |(id, chat, at): (Uuid, Uuid, At)| DueReminder {
        id: ReminderId::new(id),
        chat: ChatId::new(chat),
        at: at.0,
    };
    Ok(rows.into_iter().map(due).collect())
}

async fn send_on(db: &Db, command: &SendReminder) -> Result<ReminderOutcome, Fault> {
    locked_chat_on(db, command.due.chat).await?;
    let found = locked_reminder_on(db, command.due.id).await?;
    let Some(mut reminder) = found.filter(|found| found.is_due(command.due.at, command.now)) else {
        return Ok(ReminderOutcome::Gone);
    };
    let sender = participants_on(db, reminder.chat, Some(reminder.sender.into())).await?.pop();
    let (attempted, outcome) = match (sender, able_on(db, reminder.sender, command.now).await?) {
        (None, _) => (Attempted::Barred(ReminderEnd::SenderLeft), None),
        (_, Err(barred)) => (Attempted::Barred(barred), None),
        (Some(sender), Ok(organization)) => {
            // Nothing is written if it is refused.
            match append_on(db, command.message(&reminder, &sender, organization)).await? {
                Ok(appended) => (Attempted::of(&appended), Some(ReminderOutcome::Sent(Box::new(appended)))),
                Err(refused) => (Attempted::Refused(refused), None),
            }
        }
    };
    reminder.settle(&attempted, command.now);
    save_on(db, &reminder).await?;
    Ok(outcome.unwrap_or_else(|| ReminderOutcome::of_unsent(&reminder)))
}

/// The organization of a sender, or the reason why it may send nothing any more.
async fn able_on(
    mut db: &Db,
    sender: ParticipantId,
    now: Timestamp,
) -> Result<Result<OrganizationId, ReminderEnd>, Fault> {
    let able = match sender {
        ParticipantId::User(user) => {
            statement::<(SqlUuid, Bool)>(able_user!()).bind::<SqlUuid, _>(user.uuid())
        }
        ParticipantId::Agent(agent) => statement::<(SqlUuid, Bool)>(able_agent!())
            .bind::<Timestamptz, _>(At(now))
            .bind::<SqlUuid, _>(agent.uuid()),
    };
    Ok(match able.get_result::<(Uuid, bool)>(&mut db).await.optional()? {
        None => Err(ReminderEnd::SenderDisabled),
        Some((_, false)) => Err(ReminderEnd::NoKey),
        Some((organization, true)) => Ok(OrganizationId::new(organization)),
    })
}

async fn save_on(mut db: &Db, reminder: &Reminder) -> Result<(), Fault> {
    let progress = ProgressColumns::of(reminder);
    diesel::update(reminders::table.find(reminder.id.uuid())).set(progress).execute(&mut db).await?;
    Ok(())
}

/// Ends the reminders of a participant that has left a chat, which is locked.
pub(crate) async fn end_on(
    mut db: &Db,
    sender: ParticipantId,
    chat: ChatId,
    now: Timestamp,
) -> Result<(), Fault> {
    let open = reminders::table
        .filter(reminders::sender_id.eq(sender.uuid()))
        .filter(reminders::ended_at.is_null())
        .filter(reminders::chat_id.eq(chat.uuid()));
    let ended = (reminders::outcome.eq(ReminderEnd::SenderLeft.as_str()), reminders::ended_at.eq(At(now)));
    diesel::update(open).set(ended).execute(&mut db).await?;
    Ok(())
}

/// Erases the reminders of a deleted user or agent.
pub(crate) async fn erase_of_sender_on(mut db: &Db, sender: ParticipantId) -> Result<(), Fault> {
    let own = reminders::table.filter(reminders::sender_id.eq(sender.uuid()));
    diesel::delete(own).execute(&mut db).await?;
    Ok(())
}

/// Erases the reminders of a deleted chat, which is locked.
pub(crate) async fn erase_of_chat_on(mut db: &Db, chat: ChatId) -> Result<(), Fault> {
    let own = reminders::table.filter(reminders::chat_id.eq(chat.uuid()));
    diesel::delete(own).execute(&mut db).await?;
    Ok(())
}
