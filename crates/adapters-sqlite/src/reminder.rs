//! The store of reminders.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Bool};
use diesel::sqlite::SqliteConnection;
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

#[path = "../../sql-rows/reminder.rs"]
mod row;

use crate::SqliteStore;
use crate::audit;
use crate::chat::load::{membership_on, participants_on};
use crate::error::Fault;
use crate::idempotency_record;
use crate::message::append::append_on;
use crate::message::cause;
use crate::row::{At, AtType, Id, IdType};
use crate::schema::{agents, reminders};
use crate::statement::statement;
use row::{ProgressColumns, ReminderRow, able_agent, able_user, bind_list, counts, due, erase_ended};

#[async_trait]
impl ReminderRepository for SqliteStore {
    async fn create_reminder(
        &self,
        new: NewReminder,
    ) -> Result<Result<Reminder, CreateReminderRefused>, StoreError> {
        self.change(move |connection: &mut SqliteConnection| create_on(connection, new), |_| ()).await
    }

    async fn find_prior_reminder(&self, keyed: KeyedRequest) -> Result<PriorReminder, StoreError> {
        self.read(move |connection| prior_on(connection, &keyed)).await
    }

    async fn list_reminders(
        &self,
        viewer: ParticipantId,
        filter: ReminderFilter,
        page: PageRequest,
    ) -> Result<Page<Reminder>, StoreError> {
        self.read(move |connection| list_on(connection, viewer, filter, &page)).await
    }

    async fn find_reminder(
        &self,
        viewer: ParticipantId,
        reminder: ReminderId,
    ) -> Result<Option<Reminder>, StoreError> {
        let work = move |connection: &mut SqliteConnection| {
            let Some(found) = reminder_on(connection, reminder)? else { return Ok(None) };
            let standing = standing_on(connection, viewer, &found)?;
            Ok(Some(found).filter(|found| found.is_visible_to(viewer, standing)))
        };
        self.read(work).await
    }

    async fn cancel_reminder(
        &self,
        command: CancelReminder,
    ) -> Result<Result<Reminder, CancelReminderRefused>, StoreError> {
        self.change(move |connection: &mut SqliteConnection| cancel_on(connection, command), |_| ()).await
    }

    async fn due_reminders(
        &self,
        now: Timestamp,
        after: Option<DueReminder>,
        limit: u32,
    ) -> Result<Vec<DueReminder>, StoreError> {
        self.read(move |connection| due_on(connection, now, after, limit)).await
    }

    async fn send_reminder(
        &self,
        command: SendReminder,
        on_commit: OnCommit<ReminderOutcome>,
    ) -> Result<ReminderOutcome, StoreError> {
        self.alter_announced(
            move |connection| send_on(connection, &command),
            |outcome| on_commit.run(outcome),
        )
        .await
    }

    async fn forget_reminders(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        self.alter(move |connection| {
            let old = reminders::table
                .filter(reminders::ended_at.le(At(before)))
                .order(reminders::ended_at)
                .limit(i64::from(limit))
                .select(reminders::id)
                .load::<Id>(connection)?;
            let forgotten = diesel::delete(reminders::table.filter(reminders::id.eq_any(old)));
            Ok(forgotten.execute(connection)? as u64)
        })
        .await
    }
}

fn create_on(
    connection: &mut SqliteConnection,
    new: NewReminder,
) -> Result<Result<Reminder, CreateReminderRefused>, Fault> {
    let Some(own) = membership_on(connection, new.sender, new.chat)? else {
        return Ok(Err(CreateReminderRefused::NotParticipant));
    };
    if let Some(keyed) = &new.keyed {
        match prior_on(connection, keyed)? {
            PriorReminder::Nothing => {}
            PriorReminder::Reminder(first) => return Ok(Err(CreateReminderRefused::Repeated(first))),
            PriorReminder::AnotherRequest => return Ok(Err(CreateReminderRefused::KeyReused)),
        }
    }
    let (of_sender, of_chat) = statement!(counts!() => (BigInt, BigInt))
        .bind::<Binary, _>(Id(new.sender.uuid()))
        .bind::<Binary, _>(Id(new.chat.uuid()))
        .get_result::<(i64, i64)>(connection)?;
    if let Err(refused) = new.check(own.state.is_halted(), of_sender, of_chat) {
        return Ok(Err(refused));
    }
    statement!(erase_ended!())
        .bind::<Binary, _>(Id(new.sender.uuid()))
        .bind::<BigInt, _>(i64::from(MAX_ENDED_OF_SENDER))
        .execute(connection)?;
    if let Some(keyed) = &new.keyed {
        idempotency_record::remember_on(connection, keyed, new.id.into(), new.now)?;
    }
    let observed = match new.sender.agent() {
        Some(agent) => Some(cause::of_attempts_on(connection, agent, new.chat)?),
        None => None,
    };
    let reminder = new.into_reminder(observed);
    diesel::insert_into(reminders::table).values(ReminderRow::of(&reminder)?).execute(connection)?;
    Ok(Ok(reminder))
}

fn prior_on(connection: &mut SqliteConnection, keyed: &KeyedRequest) -> Result<PriorReminder, Fault> {
    match idempotency_record::judge_on(connection, keyed)? {
        Verdict::First => Ok(PriorReminder::Nothing),
        Verdict::KeyReused => Ok(PriorReminder::AnotherRequest),
        Verdict::Repeated(first) => {
            let found = reminder_on(connection, ReminderId::new(first.record.uuid()))?;
            Ok(found.map_or(PriorReminder::Nothing, |first| PriorReminder::Reminder(Box::new(first))))
        }
    }
}

fn reminder_on(connection: &mut SqliteConnection, reminder: ReminderId) -> Result<Option<Reminder>, Fault> {
    let found = reminders::table.find(Id(reminder.uuid())).select(ReminderRow::as_select());
    found.get_result(connection).optional()?.map(ReminderRow::into_reminder).transpose()
}

/// What a viewer has to do with a reminder, in a chat that is not deleted.
fn standing_on(
    connection: &mut SqliteConnection,
    viewer: ParticipantId,
    reminder: &Reminder,
) -> Result<ReminderStanding, Fault> {
    let Some(user) = viewer.user() else { return Ok(ReminderStanding::default()) };
    let owner = match reminder.sender.agent() {
        None => None,
        Some(agent) => agents::table
            .find(Id(agent.uuid()))
            .select(agents::owner_id)
            .get_result::<Id>(connection)
            .optional()?,
    };
    let own = membership_on(connection, viewer, reminder.chat)?;
    Ok(ReminderStanding { owns_sender: owner == Some(Id(user.uuid())), role: own.map(|own| own.role) })
}

fn list_on(
    connection: &mut SqliteConnection,
    viewer: ParticipantId,
    filter: ReminderFilter,
    page: &PageRequest,
) -> Result<Page<Reminder>, Fault> {
    let (after, limit) = (page.slice.after(), page.slice.limit() as usize);
    let query = diesel::sql_query(row::list(viewer, filter, after.is_some())).into_boxed();
    let most = i64::from(page.slice.limit()) + 1;
    let found = bind_list!(query, viewer, filter, after, most).load::<Found>(connection)?;
    let weights = found.iter().take(limit).map(|found| usize::try_from(found.weight).unwrap_or(usize::MAX));
    let count = fitting(page.max_bytes(), weights);
    let ids = found.iter().take(count).map(|found| found.id).collect::<Vec<_>>();
    let rows = reminders::table
        .filter(reminders::id.eq_any(&ids))
        .select(ReminderRow::as_select())
        .load(connection)?;
    let mut rows = rows.into_iter().map(ReminderRow::into_reminder).collect::<Result<Vec<_>, _>>()?;
    rows.sort_by_key(|one| ids.iter().position(|id| id.0 == one.id.uuid()));
    Ok(Page::part(rows, found.len() > count, None, Reminder::position))
}

/// An id of a list, with the size of the text.
#[derive(QueryableByName)]
struct Found {
    #[diesel(sql_type = IdType)]
    id: Id,
    #[diesel(sql_type = BigInt)]
    weight: i64,
}

fn cancel_on(
    connection: &mut SqliteConnection,
    command: CancelReminder,
) -> Result<Result<Reminder, CancelReminderRefused>, Fault> {
    let Some(found) = reminder_on(connection, command.reminder)? else {
        return Ok(Err(CancelReminderRefused::NotFound));
    };
    let standing = standing_on(connection, command.by.participant(), &found)?;
    let cancelled = match command.decide(&found, standing) {
        Ok(Some(cancelled)) => cancelled,
        Ok(None) => return Ok(Ok(found)),
        Err(refused) => return Ok(Err(refused)),
    };
    save_on(connection, &cancelled)?;
    if matches!(command.by, Caller::User(_)) {
        let entry = AuditEntry::reminder_cancelled(&cancelled, command.by, command.now);
        audit::append_on(connection, [entry])?;
    }
    Ok(Ok(cancelled))
}

fn due_on(
    connection: &mut SqliteConnection,
    now: Timestamp,
    after: Option<DueReminder>,
    limit: u32,
) -> Result<Vec<DueReminder>, Fault> {
    let since = after.map_or(Timestamp::from_micros(i64::MIN), |after| after.at);
    let after = after.map_or(ReminderId::NIL, |after| after.id);
    let rows = statement!(due!() => (Binary, Binary, BigInt))
        .bind::<BigInt, _>(At(now))
        .bind::<BigInt, _>(At(since))
        .bind::<Binary, _>(Id(after.uuid()))
        .bind::<BigInt, _>(i64::from(limit))
        .load::<(Id, Id, At)>(connection)?;
    let due = |(id, chat, at): (Id, Id, At)| DueReminder {
        id: ReminderId::new(id.0),
        chat: ChatId::new(chat.0),
        at: at.0,
    };
    Ok(rows.into_iter().map(due).collect())
}

fn send_on(connection: &mut SqliteConnection, command: &SendReminder) -> Result<ReminderOutcome, Fault> {
    let found = reminder_on(connection, command.due.id)?;
    let Some(mut reminder) = found.filter(|found| found.is_due(command.due.at, command.now)) else {
        return Ok(ReminderOutcome::Gone);
    };
    let sender = participants_on(connection, reminder.chat, Some(reminder.sender.into()))?.pop();
    let (attempted, outcome) = match (sender, able_on(connection, reminder.sender, command.now)?) {
        (None, _) => (Attempted::Barred(ReminderEnd::SenderLeft), None),
        (_, Err(barred)) => (Attempted::Barred(barred), None),
        (Some(sender), Ok(organization)) => {
            match append_on(connection, command.message(&reminder, &sender, organization))? {
                Ok(appended) => (Attempted::of(&appended), Some(ReminderOutcome::Sent(Box::new(appended)))),
                Err(refused) => (Attempted::Refused(refused), None),
            }
        }
    };
    reminder.settle(&attempted, command.now);
    save_on(connection, &reminder)?;
    Ok(outcome.unwrap_or_else(|| ReminderOutcome::of_unsent(&reminder)))
}

/// The organization of a sender, or the reason why it may send nothing any more.
fn able_on(
    connection: &mut SqliteConnection,
    sender: ParticipantId,
    now: Timestamp,
) -> Result<Result<OrganizationId, ReminderEnd>, Fault> {
    let found = match sender {
        ParticipantId::User(user) => statement!(able_user!() => (Binary, Bool))
            .bind::<Binary, _>(Id(user.uuid()))
            .get_result::<(Id, bool)>(connection),
        ParticipantId::Agent(agent) => statement!(able_agent!() => (Binary, Bool))
            .bind::<BigInt, _>(At(now))
            .bind::<Binary, _>(Id(agent.uuid()))
            .get_result::<(Id, bool)>(connection),
    };
    Ok(match found.optional()? {
        None => Err(ReminderEnd::SenderDisabled),
        Some((_, false)) => Err(ReminderEnd::NoKey),
        Some((Id(organization), true)) => Ok(OrganizationId::new(organization)),
    })
}

fn save_on(connection: &mut SqliteConnection, reminder: &Reminder) -> Result<(), Fault> {
    let progress = ProgressColumns::of(reminder);
    diesel::update(reminders::table.find(Id(reminder.id.uuid()))).set(progress).execute(connection)?;
    Ok(())
}

/// Ends the reminders of a participant that has left a chat.
pub(crate) fn end_on(
    connection: &mut SqliteConnection,
    sender: ParticipantId,
    chat: ChatId,
    now: Timestamp,
) -> Result<(), Fault> {
    let open = reminders::table
        .filter(reminders::sender_id.eq(Id(sender.uuid())))
        .filter(reminders::ended_at.is_null())
        .filter(reminders::chat_id.eq(Id(chat.uuid())));
    let ended = (reminders::outcome.eq(ReminderEnd::SenderLeft.as_str()), reminders::ended_at.eq(At(now)));
    diesel::update(open).set(ended).execute(connection)?;
    Ok(())
}

/// Erases the reminders of a deleted user or agent.
pub(crate) fn erase_of_sender_on(
    connection: &mut SqliteConnection,
    sender: ParticipantId,
) -> Result<(), Fault> {
    let own = reminders::table.filter(reminders::sender_id.eq(Id(sender.uuid())));
    diesel::delete(own).execute(connection)?;
    Ok(())
}

/// Erases the reminders of a deleted chat.
pub(crate) fn erase_of_chat_on(connection: &mut SqliteConnection, chat: ChatId) -> Result<(), Fault> {
    let own = reminders::table.filter(reminders::chat_id.eq(Id(chat.uuid())));
    diesel::delete(own).execute(connection)?;
    Ok(())
}
