//! Storing an added participant.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use domain::audit::AuditEntry;
use domain::chat::membership::{Candidate, decide_add};
use domain::chat::{AddParticipant, AddRefused, AddedParticipant, Chat, ParticipantStatus, Role};
use domain::id::{AccountId, AgentId, ChatId, ParticipantId, UserId};
use domain::time::Timestamp;
use futures_util::future::{try_join, try_join3};
use uuid::Uuid;

use super::load::{locked_chat_on, participants_on};
use super::touch_on;
use crate::audit;
use crate::error::Fault;
use crate::lock;
use crate::message::title;
use crate::peer::ties_on;
use crate::plan::quota;
use crate::row::{self, At};
use crate::run::Db;
use crate::schema::{agents, chats, participants};

pub(super) async fn add_participant_on(
    db: &Db,
    command: &AddParticipant,
) -> Result<Result<AddedParticipant, AddRefused>, Fault> {
    // Whichever of the two has the id.
    let user = lock::pin_user_on(db, UserId::new(command.candidate.uuid()));
    try_join(user, lock::pin_agent_on(db, AgentId::new(command.candidate.uuid()))).await?;
    let Some(chat) = locked_chat_on(db, command.chat).await? else {
        return Ok(Err(AddRefused::ChatNotFound));
    };
    let caller = command.by.participant().into();
    let (roles, ties, quota) = try_join3(
        roles_on(db, chat.id, [caller, command.candidate]),
        ties_on(db, command.by, command.candidate),
        quota::participants_on(db, chat.id),
    )
    .await?;
    let role_of = |who: AccountId| roles.iter().find(|(id, _)| *id == who).map(|(_, role)| *role);
    let is_participant = role_of(command.candidate).is_some();
    let candidate = ties.map(|(id, ties)| Candidate { id, ties, is_participant });
    let candidate = match decide_add(command.by, role_of(caller), candidate, command.role) {
        Ok(candidate) => candidate,
        Err(refused) => return Ok(Err(refused)),
    };
    if let Err(reached) = quota {
        return Ok(Err(AddRefused::Limit(reached)));
    }
    let enters = enter_on(db, &chat, &candidate, command.role, command.now);
    let audited = audit::append_on(db, [AuditEntry::participant_added(command, candidate.id)]);
    try_join3(enters, touch_on(db, chat.id, command.now), audited).await?;

    let added = participants_on(db, chat.id, Some(candidate.id.into())).await?.pop();
    let participant = added.ok_or_else(|| Fault::Row("an added participant that is not there".to_owned()))?;
    let retitled = match candidate.id {
        ParticipantId::Agent(agent) => title::hide_from_on(db, chat.id, agent).await?,
        ParticipantId::User(_) => None,
    };
    let title = if retitled.is_some() { None } else { chat.title };
    let chat = Chat { updated_at: command.now, title, ..chat };
    Ok(Ok(AddedParticipant { chat, participant, retitled }))
}

/// The roles of the users and agents that are participants.
async fn roles_on(mut db: &Db, chat: ChatId, who: [AccountId; 2]) -> Result<Vec<(AccountId, Role)>, Fault> {
    let roles = participants::table
        .filter(participants::chat_id.eq(chat.uuid()))
        .filter(participants::participant_id.eq_any(who.map(AccountId::uuid)))
        .filter(participants::left_at.is_null())
        .select((participants::participant_id, participants::role))
        .load::<(Uuid, String)>(&mut db)
        .await?;
    roles.into_iter().map(|(id, role)| Ok((AccountId::new(id), row::word(&role, Role::parse)?))).collect()
}

/// Makes a user or agent a participant, for the first time or again.
async fn enter_on(
    mut db: &Db,
    chat: &Chat,
    candidate: &Candidate,
    role: Role,
    now: Timestamp,
) -> Result<(), Fault> {
    let account = match candidate.id {
        ParticipantId::User(user) => Some(user),
        ParticipantId::Agent(_) => candidate.ties.owner,
    };
    let account = account.ok_or_else(|| Fault::Row("an agent without an owner".to_owned()))?;
    // What was sent before counts as read.
    let (read_sequence, read_texts) = chats::table
        .find(chat.id.uuid())
        .select((chats::last_sequence, chats::texts))
        .get_result::<(i64, i64)>(&mut db)
        .await?;
    let pause = match candidate.id {
        ParticipantId::User(_) => None,
        ParticipantId::Agent(agent) => {
            let pause = agents::table.find(agent.uuid()).select(agents::paused_at);
            pause.get_result::<Option<At>>(&mut db).await?
        }
    };
    let membership = (
        participants::role.eq(role.as_str()),
        participants::status.eq(ParticipantStatus::on_adding(candidate.id).as_str()),
        participants::joined_at.eq(At(now)),
        participants::stopped_at.eq(None::<At>),
        participants::agent_paused_at.eq(pause),
        participants::read_sequence.eq(read_sequence),
        participants::read_texts.eq(read_texts),
        participants::muted.eq(false),
    );
    diesel::insert_into(participants::table)
        .values((
            participants::chat_id.eq(chat.id.uuid()),
            participants::participant_id.eq(candidate.id.uuid()),
            participants::kind.eq(candidate.id.kind().as_str()),
            participants::chat_created_at.eq(At(chat.created_at)),
            participants::account_id.eq(account.uuid()),
            membership,
        ))
        .on_conflict((participants::chat_id, participants::participant_id))
        .do_update()
        .set((membership, participants::left_at.eq(None::<At>)))
        .execute(&mut db)
        .await?;
    Ok(())
}
