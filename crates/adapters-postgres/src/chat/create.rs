//! Storing a chat with its creator.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use domain::audit::AuditEntry;
use domain::chat::{Chat, CreateRefused, NewChat, ParticipantStatus, Role};
use domain::id::{OrganizationId, ParticipantId, TaskId};
use domain::idempotency::Verdict;
use futures_util::future::{try_join, try_join3};
use uuid::Uuid;

use crate::audit;
use crate::error::Fault;
use crate::idempotency_record;
use crate::plan::quota;
use crate::row::At;
use crate::run::Db;
use crate::schema::{agents, chats, participants, users};

pub(super) async fn create_on(db: &Db, new: &NewChat) -> Result<Result<Chat, CreateRefused>, Fault> {
    let ((account, mut organization, _), verdict) =
        try_join(account_on(db, new.creator), judge_on(db, new)).await?;
    let (stays, quota, pause) = loop {
        quota::hold_for_chats_on(db, organization).await?;
        let quota = quota::chats_on(db, organization);
        let (stays, quota, (_, now, pause)) =
            try_join3(stays_on(db, new.creator), quota, account_on(db, new.creator)).await?;
        if now == organization {
            break (stays, quota, pause);
        }
        // The owner moved before the lock was taken.
        organization = now;
    };
    if !stays {
        return Ok(Err(CreateRefused::CreatorGone));
    }
    match verdict {
        Verdict::First => {}
        Verdict::Repeated(first) => return Ok(Err(CreateRefused::Repeated(first))),
        Verdict::KeyReused => return Ok(Err(CreateRefused::KeyReused)),
    }
    if let Err(reached) = quota {
        return Ok(Err(CreateRefused::Limit(reached)));
    }
    let chat = new.clone().into_chat();
    try_join3(
        insert_on(db, &chat, organization),
        enter_on(db, &chat, new.creator, (account, pause)),
        audit::append_on(db, [AuditEntry::chat_created(&chat, new.creator, organization)]),
    )
    .await?;
    Ok(Ok(chat))
}

/// Records that the request made the chat, if it is the first under its key.
async fn judge_on(db: &Db, new: &NewChat) -> Result<Verdict, Fault> {
    match &new.keyed {
        Some(keyed) => idempotency_record::remember_on(db, keyed, new.id.into(), new.now).await,
        None => Ok(Verdict::First),
    }
}

/// The accountable user, and that user's organization, which the chat will belong to; the pause of an agent.
async fn account_on(mut db: &Db, who: ParticipantId) -> Result<(Uuid, OrganizationId, Option<At>), Fault> {
    let (account, organization, pause) = match who {
        ParticipantId::User(user) => {
            let account = users::table.find(user.uuid());
            let (account, organization) =
                account.select((users::id, users::organization_id)).first(&mut db).await?;
            (account, organization, None)
        }
        ParticipantId::Agent(agent) => {
            let account = agents::table.inner_join(users::table).filter(agents::id.eq(agent.uuid()));
            account.select((users::id, users::organization_id, agents::paused_at)).first(&mut db).await?
        }
    };
    Ok((account, OrganizationId::new(organization), pause))
}

/// Returns whether `who` exists, and prevents its deletion.
async fn stays_on(mut db: &Db, who: ParticipantId) -> Result<bool, Fault> {
    let present = match who {
        ParticipantId::User(user) => {
            let present = users::table.find(user.uuid()).filter(users::deleted_at.is_null());
            present.select(users::id).for_key_share().load::<Uuid>(&mut db).await?
        }
        ParticipantId::Agent(agent) => {
            let present = agents::table.find(agent.uuid()).filter(agents::deleted_at.is_null());
            present.select(agents::id).for_share().load::<Uuid>(&mut db).await?
        }
    };
    Ok(!present.is_empty())
}

async fn insert_on(mut db: &Db, chat: &Chat, organization: OrganizationId) -> Result<(), Fault> {
    diesel::insert_into(chats::table)
        .values((
            chats::id.eq(chat.id.uuid()),
            chats::title.eq(&chat.title),
            chats::task_id.eq(chat.task_id.map(TaskId::uuid)),
            chats::kind.eq(chat.kind.as_str()),
            chats::status.eq(chat.status.as_str()),
            chats::organization_id.eq(organization.uuid()),
            chats::last_sequence.eq(0),
            chats::created_at.eq(At(chat.created_at)),
            chats::updated_at.eq(At(chat.updated_at)),
        ))
        .execute(&mut db)
        .await?;
    Ok(())
}

async fn enter_on(
    mut db: &Db,
    chat: &Chat,
    creator: ParticipantId,
    (account, pause): (Uuid, Option<At>),
) -> Result<(), Fault> {
    diesel::insert_into(participants::table)
        .values((
            participants::chat_id.eq(chat.id.uuid()),
            participants::participant_id.eq(creator.uuid()),
            participants::kind.eq(creator.kind().as_str()),
            participants::role.eq(Role::Owner.as_str()),
            participants::status.eq(ParticipantStatus::Active.as_str()),
            participants::chat_created_at.eq(At(chat.created_at)),
            participants::joined_at.eq(At(chat.created_at)),
            participants::account_id.eq(account),
            participants::agent_paused_at.eq(pause),
        ))
        .execute(&mut db)
        .await?;
    Ok(())
}
