//! A batch of messages: its basis is read and locked, each message is decided, and all are written
//! at once.

use std::collections::{BTreeSet, HashMap};

use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Bool, Integer, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::attention::AttentionEffect;
use domain::chat::{MemberState, ParticipantStatus};
use domain::delivery::HeldBy;
use domain::file::File;
use domain::foreign::ForeignPolicy;
use domain::id::{
    AgentId, ChatId, FileId, OrganizationId, ParticipantId, ParticipantKind, RecordId, Sequence,
};
use domain::idempotency::{StoredAnswer, Verdict};
use domain::message::{
    AppendRefused, Appended, ChatPlan, ChatState, MaxHops, Message, NewMessage, PriorResult, Titling,
};
use futures_util::future::{join, join3, join4};
use uuid::Uuid;

use super::cause::Causes;
use super::foreign::{self, Holding};
use super::one_statement::BatchStatement;
use super::{hold, insert, title};
use crate::chat::row::{foreign_policy, max_hops, member_state, respond_within};
use crate::error::Fault;
use crate::group_commit::LockWait;
use crate::idempotency_record::{self, Key, key};
use crate::plan::quota::{bytes_of, limit_of};
use crate::row::At;
use crate::run::{Db, execute};
use crate::schema::participants;
use crate::statement::statement;
use crate::{attention, file, usage};

/// The outcome of one message.
pub(crate) type Outcome = Result<Appended, AppendRefused>;

/// The decided batch.
pub(crate) struct DecidedAppends {
    /// The outcome of each message, in order.
    pub(super) outcomes: Vec<Outcome>,
    /// The chats of the batch, locked or cached, as its messages leave them.
    pub(super) chats: HashMap<ChatId, BatchChat>,
    /// The memberships of senders and mentioned participants.
    pub(super) members: Members,
    /// The addressed agents for which messages may be held because of their origin.
    pub(super) holding: Holding,
    /// The files that its messages name, locked, with their chats.
    files: HashMap<FileId, (ChatId, File)>,
    /// The memberships that become active.
    activated: BTreeSet<MemberKey>,
    /// The row version of the written chats; `None` if there is none.
    pub(super) version: Option<String>,
    /// The statement that writes it, if it was decided on cached chats.
    pub(super) statement: BatchStatement,
}

/// A chat of the batch.
pub(super) struct BatchChat {
    pub(super) state: ChatState,
    /// The row version that was read.
    pub(super) version: String,
    /// Set if a message of the batch was added.
    written: bool,
    /// The agents in the chat; only read while it has no title.
    agents: Vec<AgentId>,
    /// The first text of the chat, and its effect on the title.
    titling: Option<(usize, Titling)>,
}

/// Identifies a membership. Rows are locked in the order of these keys, which does not depend on the
/// kind of the participant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct MemberKey {
    pub(super) chat: ChatId,
    pub(super) who: Uuid,
}

impl MemberKey {
    pub(crate) const fn new(chat: ChatId, who: ParticipantId) -> Self {
        Self { chat, who: who.uuid() }
    }
}

/// Memberships in their state.
pub(crate) type Members = HashMap<MemberKey, MemberState>;

/// Reads and locks chats that are not deleted, in the order of their ids.
const LOCK_CHATS: &str = "SELECT id, title IS NULL AND titled_by IS NULL, last_sequence, deleted_messages, last_message_at, \
     content_bytes, texts, respond_within, max_hops, organization_id, xmin::text FROM chats \
     WHERE id = ANY(?) AND deleted_at IS NULL ORDER BY id FOR NO KEY UPDATE";

/// The plans that limit them, and pauses, limits of hops, and policies of their organizations.
const PLANS: &str = "SELECT chats.id, plans.name, plans.messages, plans.bytes, organizations.content_bytes, \
     organizations.paused_at IS NOT NULL, organizations.max_hops, organizations.foreign_policy FROM chats \
     JOIN organizations ON organizations.id = chats.organization_id \
     JOIN plans ON plans.name = organizations.plan \
     WHERE chats.id = ANY(?) AND (plans.messages IS NOT NULL OR organizations.content_bytes >= plans.bytes \
     OR organizations.paused_at IS NOT NULL OR organizations.max_hops IS NOT NULL \
     OR organizations.foreign_policy IS NOT NULL)";

/// One seek per pair: the statement is planned while the tables are empty, and must not scan all
/// participants later. `$paused` is whether the chat's organization is paused.
macro_rules! members {
    ($paused:literal) => {
        concat!(
            "SELECT member.chat_id, member.participant_id, member.status, member.stopped_at IS NOT NULL OR ",
            $paused,
            ", member.agent_paused_at IS NOT NULL FROM unnest(?, ?) AS wanted (chat_id, participant_id) CROSS JOIN LATERAL (\
             SELECT participants.* FROM participants WHERE participants.chat_id = wanted.chat_id \
             AND participants.participant_id = wanted.participant_id AND participants.left_at IS NULL \
             OFFSET 0) AS member"
        )
    };
}

/// Of the senders and mentioned participants of messages, whose chats are read as well.
const MEMBERS: &str = members!("FALSE");

/// Of agents that take steps.
pub(crate) const STEPPING_MEMBERS: &str = members!(
    "EXISTS (SELECT FROM chats JOIN organizations ON organizations.id = chats.organization_id \
     WHERE chats.id = member.chat_id AND organizations.paused_at IS NOT NULL OFFSET 0)"
);

/// Begins a transaction, locks the chats, and decides; nothing is written yet.
pub(super) async fn decide_on(
    db: &Db,
    news: &[NewMessage],
    lock_wait: LockWait,
) -> Result<DecidedAppends, Fault> {
    // The locks are in the same round trip.
    let (begun, rows) = join(execute(db, lock_wait.begin()), locked_rows_on(db, news)).await;
    begun?;
    decided_on(db, news, rows?).await
}

/// Stores one message in the current transaction. Nothing is written if it is refused.
pub(crate) async fn append_on(db: &Db, new: NewMessage) -> Result<Outcome, Fault> {
    let news = [new];
    let mut decided = decided_on(db, &news, locked_rows_on(db, &news).await?).await?;
    if decided.outcomes.iter().all(Result::is_ok) {
        write_on(db, &news, &mut decided).await?;
    }
    let outcome = decided.outcomes.pop();
    outcome.ok_or_else(|| Fault::Row("a message without an outcome".to_owned()))
}

/// What a batch is decided on.
type LockedRows = (HashMap<ChatId, BatchChat>, Members, Holding);

/// Locks the chats, and reads what the batch is decided on.
async fn locked_rows_on(db: &Db, news: &[NewMessage]) -> Result<LockedRows, Fault> {
    // The other reads are pipelined behind the locks, so they see all commits before the locks were granted.
    let (chats, plans, members, holding) =
        join4(chats_on(db, news), plans_on(db, news), members_on(db, news), foreign::holding_on(db, news))
            .await;
    let (mut chats, members, holding) = (chats?, members?, holding?);
    for (chat, plan, is_paused, max_hops, foreign) in plans? {
        if let Some(chat) = chats.get_mut(&chat) {
            // Others are not to be read again with each message.
            chat.state.plan = Some(plan).filter(|plan| plan.limits() || is_paused);
            chat.state.is_paused = is_paused;
            chat.state.organization_max_hops = max_hops;
            chat.state.foreign = foreign;
        }
    }
    Ok((chats, members, holding))
}

async fn decided_on(
    db: &Db,
    news: &[NewMessage],
    (mut chats, members, holding): LockedRows,
) -> Result<DecidedAppends, Fault> {
    agents_on(db, &mut chats).await?;
    let keyed_requests = news.iter().filter_map(|new| new.keyed.as_ref()).collect::<Vec<_>>();
    let recorded = idempotency_record::recorded_on(db, &keyed_requests).await?;
    let files = file::locked_on(db, news).await?;
    let mut decided = DecidedAppends { holding, files, ..DecidedAppends::on(chats, members) };
    let mut written_keys = HashMap::new();
    let mut answerable = attention::answerable_on(db, news).await?;
    for (index, new) in news.iter().enumerate() {
        let takes_answer = new.must_answer().is_none_or(|item| answerable.contains(&item));
        let outcome = match earlier_on(db, &recorded, &written_keys, &decided.outcomes, new).await? {
            PriorResult::Nothing if !takes_answer => Err(AppendRefused::Answered),
            PriorResult::Nothing => decided.decide(index, new),
            PriorResult::Message(first) => Err(AppendRefused::Repeated(first)),
            PriorResult::Deleted(first) => Err(AppendRefused::RepeatedDeleted(first)),
            PriorResult::AnotherRequest => Err(AppendRefused::KeyReused),
        };
        if let (Ok(_), Some(keyed)) = (&outcome, &new.keyed) {
            written_keys.insert(key(keyed), (index, new));
        }
        // The first answer counts, also one that was typed.
        if let (Ok(_), Some(message)) =
            (&outcome, AttentionEffect::of(new).and_then(|effect| effect.ended_item()))
        {
            answerable.remove(&message);
        }
        decided.outcomes.push(outcome);
    }
    Ok(decided)
}

/// Each chat once, in the order of the ids.
pub(super) fn chats_of(news: &[NewMessage]) -> Vec<Uuid> {
    news.iter().map(|new| new.chat.uuid()).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The recorded request with the message's key, from earlier or from this batch.
async fn earlier_on(
    db: &Db,
    recorded: &HashMap<Key<'_>, StoredAnswer>,
    written_keys: &HashMap<Key<'_>, (usize, &NewMessage)>,
    outcomes: &[Outcome],
    new: &NewMessage,
) -> Result<PriorResult, Fault> {
    let Some(keyed) = &new.keyed else { return Ok(PriorResult::Nothing) };
    let Some((index, first)) = written_keys.get(&key(keyed)) else {
        return idempotency_record::prior_result_on(db, keyed, recorded.get(&key(keyed)).copied()).await;
    };
    let (Some(Ok(appended)), Some(first_keyed)) = (outcomes.get(*index), &first.keyed) else {
        return Ok(PriorResult::Nothing);
    };
    let first_answer =
        StoredAnswer { fingerprint: first_keyed.once.fingerprint, record: first.id.into(), at: first.now };
    Ok(match keyed.once.judge(Some(first_answer)) {
        Verdict::First => PriorResult::Nothing,
        Verdict::Repeated(_) => PriorResult::Message(Box::new(appended.message.clone())),
        Verdict::KeyReused => PriorResult::AnotherRequest,
    })
}

async fn chats_on(mut db: &Db, news: &[NewMessage]) -> Result<HashMap<ChatId, BatchChat>, Fault> {
    type Row = (Uuid, bool, i64, i64, Option<At>, i64, i64, (Option<i32>, Option<i32>), Option<Uuid>, String);
    type Limits = (Nullable<Integer>, Nullable<Integer>);
    type SqlRow = (
        SqlUuid,
        Bool,
        BigInt,
        BigInt,
        Nullable<Timestamptz>,
        BigInt,
        BigInt,
        Limits,
        Nullable<SqlUuid>,
        Text,
    );
    let rows = statement::<SqlRow>(LOCK_CHATS)
        .bind::<Array<SqlUuid>, _>(chats_of(news))
        .load::<Row>(&mut db)
        .await?;
    let chat = |(
        id,
        awaits_title,
        last_sequence,
        deleted_messages,
        newest,
        content_bytes,
        texts,
        (within, max),
        organization,
        version,
    ): Row| {
        let (last_sequence, newest) = (Sequence::new(last_sequence), newest.map(|at| at.0));
        let (is_paused, plan, respond_within) = (false, None, within.and_then(respond_within));
        let state = ChatState {
            awaits_title,
            last_sequence,
            deleted_messages,
            newest,
            content_bytes,
            texts,
            is_paused,
            respond_within,
            max_hops: max.and_then(max_hops),
            organization_max_hops: None,
            organization: organization.map(OrganizationId::new),
            foreign: ForeignPolicy::default(),
            plan,
        };
        (ChatId::new(id), BatchChat::at(state, version))
    };
    Ok(rows.into_iter().map(chat).collect())
}

/// Reads the agents of chats without a title.
async fn agents_on(mut db: &Db, chats: &mut HashMap<ChatId, BatchChat>) -> Result<(), Fault> {
    let awaiting = chats.iter().filter(|(_, chat)| chat.state.awaits_title);
    let awaiting = awaiting.map(|(id, _)| id.uuid()).collect::<Vec<_>>();
    if awaiting.is_empty() {
        return Ok(());
    }
    let agents = participants::table
        .filter(participants::chat_id.eq_any(awaiting))
        .filter(participants::kind.eq(ParticipantKind::Agent.as_str()))
        .filter(participants::left_at.is_null())
        .select((participants::chat_id, participants::participant_id))
        .load::<(Uuid, Uuid)>(&mut db)
        .await?;
    for (chat, agent) in agents {
        if let Some(chat) = chats.get_mut(&ChatId::new(chat)) {
            chat.agents.push(AgentId::new(agent));
        }
    }
    Ok(())
}

/// A chat, the plan of its organization, whether that is paused, its limit of hops, and its policy.
type OfOrganization = (ChatId, ChatPlan, bool, Option<MaxHops>, ForeignPolicy);

async fn plans_on(mut db: &Db, news: &[NewMessage]) -> Result<Vec<OfOrganization>, Fault> {
    type Row = (Uuid, String, Option<i64>, Option<i64>, i64, bool, Option<i32>, Option<String>);
    type SqlRow =
        (SqlUuid, Text, Nullable<BigInt>, Nullable<BigInt>, BigInt, Bool, Nullable<Integer>, Nullable<Text>);
    let rows =
        statement::<SqlRow>(PLANS).bind::<Array<SqlUuid>, _>(chats_of(news)).load::<Row>(&mut db).await?;
    let plan = |(chat, name, messages, bytes, organization_bytes, is_paused, max, policy): Row| {
        let (messages, bytes) = (messages.map(limit_of), bytes.map(bytes_of));
        let organization_bytes = bytes_of(organization_bytes);
        let plan = ChatPlan { name, messages, bytes, organization_bytes };
        Ok((ChatId::new(chat), plan, is_paused, max.and_then(max_hops), foreign_policy(policy.as_deref())?))
    };
    rows.into_iter().map(plan).collect()
}

async fn members_on(db: &Db, news: &[NewMessage]) -> Result<Members, Fault> {
    memberships_on(db, wanted(news).collect(), MEMBERS).await
}

/// The memberships that matter: those of senders and mentioned participants.
pub(super) fn wanted(news: &[NewMessage]) -> impl Iterator<Item = MemberKey> {
    news.iter().flat_map(|new| {
        let mentioned = new.mentions.iter().map(|mention| mention.id);
        mentioned.chain([new.sender]).map(|who| MemberKey::new(new.chat, who))
    })
}

/// Those of these memberships that exist; the text is that of [`members!`].
pub(crate) async fn memberships_on(
    mut db: &Db,
    wanted: BTreeSet<MemberKey>,
    text: &'static str,
) -> Result<Members, Fault> {
    let (chats, who) = columns(&wanted);
    let rows = statement::<(SqlUuid, SqlUuid, Text, Bool, Bool)>(text)
        .bind::<Array<SqlUuid>, _>(chats)
        .bind::<Array<SqlUuid>, _>(who)
        .load::<(Uuid, Uuid, String, bool, bool)>(&mut db)
        .await?;
    let member = |(chat, who, status, is_stopped, is_paused): (Uuid, Uuid, String, bool, bool)| {
        let key = MemberKey { chat: ChatId::new(chat), who };
        Ok((key, member_state(&status, is_stopped, is_paused)?))
    };
    rows.into_iter().map(member).collect()
}

/// The keys as two columns, in their order.
fn columns(keys: &BTreeSet<MemberKey>) -> (Vec<Uuid>, Vec<Uuid>) {
    keys.iter().map(|key| (key.chat.uuid(), key.who)).unzip()
}

impl BatchChat {
    /// A chat as it was read.
    pub(super) const fn at(state: ChatState, version: String) -> Self {
        Self { state, version, written: false, agents: Vec::new(), titling: None }
    }
}

impl DecidedAppends {
    /// An undecided batch.
    pub(super) fn on(chats: HashMap<ChatId, BatchChat>, members: Members) -> Self {
        let (outcomes, holding, files) = (Vec::new(), Holding::default(), HashMap::new());
        let (activated, version, statement) = (BTreeSet::new(), None, BatchStatement::default());
        Self { outcomes, chats, members, holding, files, activated, version, statement }
    }

    /// The chats that are written.
    pub(super) fn written(&self) -> impl Iterator<Item = (ChatId, &BatchChat)> {
        self.chats.iter().filter(|(_, chat)| chat.written).map(|(id, chat)| (*id, chat))
    }

    /// The memberships in their current state.
    pub(super) fn members(&self) -> impl Iterator<Item = (MemberKey, MemberState)> {
        self.members.iter().map(|(key, was)| {
            let status = if self.activated.contains(key) { ParticipantStatus::Active } else { was.status };
            (*key, MemberState { status, ..*was })
        })
    }

    /// The ids of the messages that are written.
    pub(super) fn messages(&self) -> Vec<Uuid> {
        self.stored().map(|message| message.id.uuid()).collect()
    }

    /// Gives these causes to its messages, and holds those deliveries for whose message and agent `held_by` returns a
    /// limit.
    pub(super) fn follow(&mut self, causes: &Causes, held_by: impl Fn(Uuid, Uuid) -> Option<HeldBy>) {
        for appended in self.outcomes.iter_mut().flatten() {
            let id = appended.message.id.uuid();
            if let Some((cause, traceparent, origin)) = causes.get(&id) {
                let message = &mut appended.message;
                (message.cause, message.traceparent, message.origin) = (*cause, *traceparent, *origin);
            }
            appended.hold(|agent| held_by(id, agent.uuid()));
        }
    }

    /// The messages that are written.
    fn stored(&self) -> impl Iterator<Item = &Message> {
        self.outcomes.iter().flatten().map(|appended| &appended.message)
    }

    /// Returns whether only messages, deliveries, and the sequences of chats are written.
    pub(super) fn is_plain(&self) -> bool {
        let keeps_title = |chat: &BatchChat| chat.titling.is_none();
        self.outcomes.iter().all(Result::is_ok)
            && self.activated.is_empty()
            && self.chats.values().all(keeps_title)
            && !usage::has_report(self.stored())
    }

    /// Decides one message, after all before it.
    pub(super) fn decide(&mut self, index: usize, new: &NewMessage) -> Outcome {
        let Some(chat) = self.chats.get_mut(&new.chat) else { return Err(AppendRefused::NotParticipant) };
        let member = |who| self.members.get(&MemberKey::new(new.chat, who)).copied();
        let file = |id| {
            let found = self.files.get(&id).filter(|(chat, file)| *chat == new.chat && file.is_live(new.now));
            found.map(|(_, file)| file.clone())
        };
        let mut decision = chat.state.append(new.clone(), member, &chat.agents, file)?;
        chat.written = true;
        if decision.activates {
            self.activated.insert(MemberKey::new(new.chat, new.sender));
        }
        if let Some(titling) = decision.titling.take() {
            chat.titling = Some((index, titling));
        }
        Ok(decision.into_appended(&chat.state))
    }
}

/// Writes the decided batch; the commit follows.
pub(super) async fn write_on(
    db: &Db,
    news: &[NewMessage],
    decided: &mut DecidedAppends,
) -> Result<(), Fault> {
    let accepted = news.iter().zip(&decided.outcomes).filter(|(_, outcome)| outcome.is_ok());
    let made = accepted.filter_map(|(new, _)| Some((new.keyed.as_ref()?, RecordId::from(new.id), new.now)));
    idempotency_record::record_all_on(db, &made.collect::<Vec<_>>()).await?;
    let (chats, who) = columns(&decided.activated);
    insert::activate_on(db, chats, who).await?;
    let titlings = decided.chats.values_mut().filter_map(|chat| chat.titling.take()).collect::<Vec<_>>();
    let kept = decided.outcomes.iter().flatten().collect::<Vec<_>>();
    let messages = insert::messages_on(db, &kept);
    let deliveries = insert::deliveries_on(db, &kept);
    let chats = insert::update_chats_on(db, decided.written().map(|(id, chat)| (id, &chat.state)));
    // All three are pipelined; but the commit must wait for their answers. A statement that this
    // connection has not prepared yet waits for its preparation; the commit would overtake it, and
    // it would run outside of the transaction.
    let (messages, deliveries, chats) = join3(messages, deliveries, chats).await;
    let causes = messages?;
    deliveries?;
    decided.version = chats?;
    decided.follow(&causes, |_, _| None);
    usage::add_on(db, decided.stored()).await?;
    file::attach_on(db, decided.stored()).await?;
    hold::hold_on(db, decided).await?;
    // Behind the holds: an answer that is held ends nothing.
    let effects = news
        .iter()
        .zip(&decided.outcomes)
        .filter_map(|(new, outcome)| Some((AttentionEffect::of(new)?, &outcome.as_ref().ok()?.message)));
    attention::apply_on(db, effects).await?;
    for (index, titling) in titlings {
        if let Some(Ok(appended)) = decided.outcomes.get_mut(index) {
            let Message { id, chat_id, .. } = appended.message;
            appended.titled = title::give_on(db, chat_id, id, titling).await?;
        }
    }
    Ok(())
}
