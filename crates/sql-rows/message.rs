//! Messages as rows. Compiled into each store, whose tables it names.

use diesel::backend::Backend;
use diesel::expression::{AppearsOnTable, Expression, SelectableExpression, ValidGrouping};
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::result::QueryResult;
use diesel::sql_types::{Nullable, Text};
use domain::delivery::{
    Attempt, AttemptNumber, AttemptState, AttemptStatus, DeadLetter, Delivery, HeldBy, Restart,
    SHOWN_ATTEMPTS, shown_error,
};
use domain::foreign::Origin;
use domain::id::{AgentId, ChatId, FileId, MessageId, ParticipantId, ParticipantKind, Sequence, parse_uuid};
use domain::message::{Cause, Mention, MentionKind, Message, MessageKind, Place, TraceParent};
use domain::page::weight;
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::Fault;
use crate::row::{self, At, Id};
use crate::schema::messages;

/// A row of `messages`.
#[derive(Queryable, Selectable)]
#[diesel(table_name = messages)]
pub(crate) struct MessageRow {
    pub(crate) id: Id,
    pub(crate) chat_id: Id,
    pub(crate) sequence: i64,
    pub(crate) kind: String,
    pub(crate) content: String,
    pub(crate) sender_id: Id,
    pub(crate) sender_kind: String,
    pub(crate) sender_name: String,
    pub(crate) mentions: String,
    pub(crate) metadata: Option<String>,
    pub(crate) created_at: At,
    pub(crate) updated_at: At,
    #[diesel(embed)]
    pub(crate) cause: CauseColumns,
    pub(crate) foreign_origin: Option<bool>,
    pub(crate) respond_by: Option<At>,
    pub(crate) attachments: Option<String>,
    #[diesel(select_expression = SenderHandle, select_expression_type = SenderHandle)]
    pub(crate) sender_handle: Option<String>,
}

/// The handle of a message's sender, who may be deleted.
#[derive(Clone, Copy, QueryId)]
pub(crate) struct SenderHandle;

impl SenderHandle {
    pub(crate) const TEXT: &'static str = "(CASE sender_kind \
         WHEN 'User' THEN (SELECT handle FROM users WHERE users.id = sender_id) \
         ELSE (SELECT handle FROM agents WHERE agents.id = sender_id) END)";
}

impl Expression for SenderHandle {
    type SqlType = Nullable<Text>;
}

impl<Source> AppearsOnTable<Source> for SenderHandle where messages::sender_id: AppearsOnTable<Source> {}

impl<Source> SelectableExpression<Source> for SenderHandle where
    messages::sender_id: SelectableExpression<Source>
{
}

impl<By> ValidGrouping<By> for SenderHandle
where
    messages::sender_id: ValidGrouping<By>,
{
    type IsAggregate = <messages::sender_id as ValidGrouping<By>>::IsAggregate;
}

impl<DB: Backend> QueryFragment<DB> for SenderHandle {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.push_sql(Self::TEXT);
        Ok(())
    }
}

impl MessageRow {
    /// The approximate size in an answer.
    pub(super) fn weight(&self) -> usize {
        let metadata = self.metadata.as_ref().map_or(0, String::len);
        let attachments = self.attachments.as_ref().map_or(0, |ids| weight::of_files(ids.split(',').count()));
        attachments + weight::of_message(&self.content, self.mentions.len(), metadata)
    }

    /// The ids of the files that it shows.
    pub(crate) fn attached(&self) -> Result<Vec<FileId>, Fault> {
        let ids = self.attachments.as_deref().map(row::json::<Vec<FileId>>).transpose()?;
        Ok(ids.unwrap_or_default())
    }

    /// The message with these records, and still without its files.
    pub(crate) fn into_message(self, deliveries: Vec<Delivery>) -> Result<Message, Fault> {
        Ok(Message {
            id: MessageId::new(self.id.0),
            chat_id: ChatId::new(self.chat_id.0),
            sequence: Sequence::new(self.sequence),
            kind: row::word(&self.kind, MessageKind::parse)?,
            content: self.content,
            sender: row::participant_id(&self.sender_kind, self.sender_id.0)?,
            sender_name: self.sender_name,
            sender_handle: self.sender_handle,
            mentions: stored_mentions(&self.mentions)?,
            metadata: self.metadata.as_deref().map(row::json).transpose()?,
            traceparent: self.cause.traceparent()?,
            cause: self.cause.into_cause()?,
            origin: origin(self.foreign_origin),
            created_at: self.created_at.0,
            updated_at: self.updated_at.0,
            respond_by: self.respond_by.map(|at| at.0),
            attachments: Vec::new(),
            deliveries,
        })
    }
}

/// The origin of a message with this column `foreign_origin`.
pub(crate) const fn origin(column: Option<bool>) -> Origin {
    match column {
        None => Origin::Own,
        Some(false) => Origin::Allowed,
        Some(true) => Origin::Labeled,
    }
}

/// The columns of `messages` with a [`Cause`], and the trace.
#[derive(Queryable, Selectable, Default)]
#[diesel(table_name = messages)]
pub(crate) struct CauseColumns {
    pub(crate) cause_id: Option<Id>,
    pub(crate) root_id: Option<Id>,
    pub(crate) hop: Option<i32>,
    pub(crate) originator_id: Option<Id>,
    pub(crate) originator_kind: Option<String>,
    pub(crate) ambiguous_cause: Option<bool>,
    pub(crate) traceparent: Option<String>,
}

fn stored_hop(hop: u32) -> i32 {
    i32::try_from(hop).unwrap_or(i32::MAX)
}

impl CauseColumns {
    pub(crate) fn of(message: &Message) -> Self {
        Self { traceparent: message.traceparent.map(|at| at.to_string()), ..Self::of_cause(message.cause) }
    }

    pub(crate) fn of_cause(cause: Cause) -> Self {
        match cause {
            Cause::None => Self::default(),
            Cause::Ambiguous { hop } => {
                Self { hop: Some(stored_hop(hop)), ambiguous_cause: Some(true), ..Self::default() }
            }
            Cause::Known(Place { message, root, hop, originator }) => Self {
                cause_id: message.map(|id| Id(id.uuid())),
                root_id: Some(Id(root.uuid())),
                hop: Some(stored_hop(hop)),
                originator_id: Some(Id(originator.uuid())),
                originator_kind: Some(originator.kind().as_str().to_owned()),
                ..Self::default()
            },
        }
    }

    pub(crate) fn traceparent(&self) -> Result<Option<TraceParent>, Fault> {
        self.traceparent.as_deref().map(|text| row::word(text, |text| text.parse().ok())).transpose()
    }

    pub(crate) fn into_cause(self) -> Result<Cause, Fault> {
        let hop = self
            .hop
            .map(u32::try_from)
            .transpose()
            .map_err(|_| Fault::Row(format!("the hop {:?}", self.hop)))?;
        let Some(Id(root)) = self.root_id else {
            let is_ambiguous = self.ambiguous_cause == Some(true);
            return Ok(if is_ambiguous { Cause::Ambiguous { hop: hop.unwrap_or(0) } } else { Cause::None });
        };
        let (Some(hop), Some(Id(originator)), Some(kind)) = (hop, self.originator_id, self.originator_kind)
        else {
            return Err(Fault::Row(format!("an incomplete place in the tree of {root}")));
        };
        Ok(Cause::Known(Place {
            message: self.cause_id.map(|Id(id)| MessageId::new(id)),
            root: MessageId::new(root),
            hop,
            originator: row::participant_id(&kind, originator)?,
        }))
    }
}

/// The conditions on a row of `deliveries` by which its status is found. None names a column of an
/// index that a mark changes.
pub(crate) mod status {
    use domain::delivery::DeliveryStatus;

    /// No attempt counts: none was begun since the delivery was last offered as if it were new.
    macro_rules! waits {
        () => {
            "deliveries.current_attempt = coalesce(deliveries.restarted_after, 0)"
        };
    }
    /// An attempt counts. The first part is that of the index of begun work.
    macro_rules! begun {
        () => {
            "deliveries.current_attempt > 0 AND deliveries.current_attempt > coalesce(deliveries.restarted_after, 0)"
        };
    }

    /// No attempt counts.
    pub(crate) const WAITS: &str = waits!();
    /// An attempt counts.
    pub(crate) const BEGUN: &str = begun!();
    /// [`DeliveryStatus::New`].
    pub(crate) const NEW: &str =
        concat!("(deliveries.delivered_at IS NULL AND deliveries.dead_at IS NULL AND ", waits!(), ")");
    /// [`DeliveryStatus::Processing`], of an open delivery.
    pub(crate) const PROCESSING: &str = concat!("(deliveries.failed_at IS NULL AND ", begun!(), ")");
    /// [`DeliveryStatus::Failed`], of an open delivery.
    pub(crate) const FAILED: &str = concat!("(deliveries.failed_at IS NOT NULL AND ", begun!(), ")");

    /// No claim keeps the delivery from being offered. Value: the current time.
    pub(crate) const UNCLAIMED: &str = concat!(
        "(deliveries.claimed_until IS NULL OR deliveries.claimed_until <= ? OR NOT (deliveries.failed_at IS NULL AND ",
        begun!(),
        "))"
    );

    /// The word of the status of a delivery that is not processed.
    pub(crate) fn word() -> String {
        let [held, dead, new, processing, failed, delivered] = [
            DeliveryStatus::Held,
            DeliveryStatus::Dead,
            DeliveryStatus::New,
            DeliveryStatus::Processing,
            DeliveryStatus::Failed,
            DeliveryStatus::Delivered,
        ]
        .map(DeliveryStatus::as_str);
        format!(
            "(CASE WHEN deliveries.dead_at IS NOT NULL AND deliveries.held_by IS NOT NULL THEN '{held}' \
             WHEN deliveries.dead_at IS NOT NULL THEN '{dead}' WHEN {NEW} THEN '{new}' \
             WHEN {PROCESSING} THEN '{processing}' WHEN {FAILED} THEN '{failed}' ELSE '{delivered}' END)"
        )
    }
}

/// A row of `deliveries` with the first bytes of its error, as [`shown_error`] reads them.
#[derive(Queryable)]
pub(crate) struct DeliveryRow {
    pub(crate) agent_id: Id,
    addressed: bool,
    pub(crate) current_attempt: i32,
    delivered_at: Option<At>,
    started_at: Option<At>,
    processed_at: Option<At>,
    failed_at: Option<At>,
    dead_at: Option<At>,
    dead_reason: Option<String>,
    restarted_after: Option<i32>,
    restarted_at: Option<At>,
    replaced_by: Option<Id>,
    held_by: Option<String>,
    claimed_until: Option<At>,
    error: Option<Vec<u8>>,
}

impl DeliveryRow {
    /// The columns of the row before the error.
    pub(crate) const COLUMNS: &'static str = "deliveries.agent_id, deliveries.addressed, deliveries.current_attempt, \
         deliveries.delivered_at, deliveries.started_at, deliveries.processed_at, deliveries.failed_at, \
         deliveries.dead_at, deliveries.dead_reason, deliveries.restarted_after, deliveries.restarted_at, \
         deliveries.replaced_by, deliveries.held_by, deliveries.claimed_until";

    /// The approximate size in an answer.
    pub(crate) fn weight(&self) -> usize {
        weight::of_record(u32::try_from(self.current_attempt).unwrap_or(0))
    }

    /// The number after which attempts in the table `attempts` are shown; `None` if there are none.
    pub(crate) fn earlier_after(&self) -> Option<i32> {
        let shown = i32::try_from(SHOWN_ATTEMPTS).unwrap_or(i32::MAX);
        (self.current_attempt > 1).then(|| self.current_attempt - shown)
    }

    /// Converts it; `attempts` are the earlier ones, oldest first.
    pub(crate) fn into_delivery(self, mut attempts: Vec<Attempt>) -> Result<Delivery, Fault> {
        let agent = AgentId::new(self.agent_id.0);
        if let Some(At(started_at)) = self.started_at {
            let completed = self.processed_at.or(self.failed_at).map(|At(at)| at);
            let state = match (completed, self.error.map(shown_error)) {
                (None, None) => AttemptState::Open,
                (Some(at), None) => AttemptState::Succeeded { at },
                (Some(at), Some(error)) => AttemptState::Failed { at, error },
                (None, Some(_)) => {
                    return Err(Fault::Row(format!("an open attempt of {agent} with an error")));
                }
            };
            let number = attempt_number(self.current_attempt)?;
            // It may have become an earlier one after the record was read.
            attempts.retain(|earlier| earlier.number < number);
            attempts.push(Attempt { number, started_at, state });
        }
        let replaced_by = self.replaced_by.map(|Id(id)| MessageId::new(id));
        let held_by = self.held_by.map(|word| row::word(&word, HeldBy::parse)).transpose()?;
        let dead = self.dead_at.zip(self.dead_reason);
        let dead = dead.map(|(At(at), reason)| DeadLetter { at, reason, replaced_by, held_by });
        let restart = self.restarted_after.zip(self.restarted_at).map(|(after, At(at))| {
            let after = if after == 0 { None } else { Some(attempt_number(after)?) };
            Ok::<_, Fault>(Restart { after, at })
        });
        let restart = restart.transpose()?;
        Delivery::restore(agent, self.addressed, self.delivered_at.map(|At(at)| at), attempts)
            .map(|delivery| delivery.with_claim(self.claimed_until.map(|At(until)| until)))
            .and_then(|delivery| delivery.with_interventions(restart, dead))
            .map_err(|inconsistent| Fault::Row(format!("{inconsistent}: agent {agent}")))
    }
}

/// The condition that an attempt is an earlier one of a delivery, and one to show.
pub(crate) fn is_shown() -> String {
    format!(
        "attempts.agent_id = deliveries.agent_id AND attempts.chat_id = deliveries.chat_id \
         AND attempts.sequence = deliveries.sequence \
         AND attempts.number > deliveries.current_attempt - {SHOWN_ATTEMPTS}"
    )
}

/// The columns of `deliveries` that a step changes.
pub(crate) struct StepColumns<'d> {
    pub(crate) current_attempt: i32,
    pub(crate) started_at: Option<At>,
    pub(crate) processed_at: Option<At>,
    pub(crate) failed_at: Option<At>,
    pub(crate) error: Option<&'d str>,
    pub(crate) dead_at: Option<At>,
    pub(crate) dead_reason: Option<&'d str>,
    pub(crate) claimed_until: Option<At>,
}

impl<'d> StepColumns<'d> {
    /// Those of a delivery after a step, with the complete error of its newest attempt.
    pub(crate) fn of(delivery: &'d Delivery) -> Result<Self, Fault> {
        let newest = delivery.attempts().last();
        let failed = newest.filter(|newest| newest.status() == AttemptStatus::Failed);
        Ok(Self {
            current_attempt: newest.map_or(Ok(0), |newest| number_column(newest.number))?,
            started_at: newest.map(|newest| At(newest.started_at)),
            processed_at: delivery.processed_at().map(At),
            failed_at: failed.and_then(Attempt::completed_at).map(At),
            error: newest.and_then(Attempt::error),
            dead_at: delivery.dead().map(|dead| At(dead.at)),
            dead_reason: delivery.dead().map(|dead| dead.reason.as_str()),
            claimed_until: delivery.claimed_until().map(At),
        })
    }
}

/// The columns of `deliveries` that those change who are responsible for the agent. Every such change ends the open
/// attempt and its claim.
pub(crate) struct InterventionColumns<'d> {
    pub(crate) delivered_at: Option<At>,
    pub(crate) failed_at: Option<At>,
    /// The error of the newest attempt, or its beginning; complete if the change has ended the attempt.
    pub(crate) error: Option<&'d str>,
    pub(crate) dead_at: Option<At>,
    pub(crate) dead_reason: Option<&'d str>,
    pub(crate) restarted_after: Option<i32>,
    pub(crate) restarted_at: Option<At>,
    pub(crate) replaced_by: Option<Id>,
    pub(crate) held_by: Option<&'static str>,
}

impl<'d> InterventionColumns<'d> {
    /// Those of a delivery after a change.
    pub(crate) fn of(delivery: &'d Delivery) -> Result<Self, Fault> {
        let StepColumns { failed_at, error, dead_at, dead_reason, .. } = StepColumns::of(delivery)?;
        let after = |restart: Restart| restart.after.map_or(Ok(0), number_column);
        Ok(Self {
            delivered_at: delivery.delivered_at().map(At),
            failed_at,
            error,
            dead_at,
            dead_reason,
            restarted_after: delivery.restart().map(after).transpose()?,
            restarted_at: delivery.restart().map(|restart| At(restart.at)),
            replaced_by: delivery.replaced_by().map(|id| Id(id.uuid())),
            held_by: delivery.held_by().map(HeldBy::as_str),
        })
    }
}

/// An attempt that is not the newest of its delivery any more, to be stored in `attempts`.
pub(crate) struct EarlierAttempt {
    pub(crate) number: i32,
    pub(crate) started_at: At,
    pub(crate) completed_at: At,
    /// The complete error; `None` if it is that of the delivery's row, which then is not written yet.
    pub(crate) error: Option<String>,
}

impl EarlierAttempt {
    /// The attempt that the step from `before` to `after` put into second place, if any.
    /// `is_stored` tells that `before` was read from its row, which shows only the beginning of an
    /// error.
    pub(crate) fn between(
        before: &Delivery,
        after: &Delivery,
        is_stored: bool,
    ) -> Result<Option<Self>, Fault> {
        let (Some(last), [.., earlier, newest]) = (before.attempts().last(), after.attempts()) else {
            return Ok(None);
        };
        if newest.number == last.number {
            return Ok(None);
        }
        let completed_at = earlier.completed_at();
        let completed_at = completed_at.ok_or_else(|| Fault::Row("an earlier attempt is open".to_owned()))?;
        let is_unchanged = is_stored && earlier == last;
        Ok(Some(Self {
            number: number_column(earlier.number)?,
            started_at: At(earlier.started_at),
            completed_at: At(completed_at),
            error: earlier.error().filter(|_| !is_unchanged).map(str::to_owned),
        }))
    }
}

/// The column `number` of an attempt.
pub(crate) fn number_column(number: AttemptNumber) -> Result<i32, Fault> {
    i32::try_from(number.get()).map_err(|_| Fault::Row(format!("the attempt {}", number.get())))
}

fn attempt_number(number: i32) -> Result<AttemptNumber, Fault> {
    let unsigned = u32::try_from(number).ok().and_then(AttemptNumber::new);
    unsigned.ok_or_else(|| Fault::Row(format!("the attempt {number}")))
}

/// An attempt from its row in `attempts`; one without an error has succeeded.
pub(crate) fn stored_attempt(
    number: i32,
    started_at: Timestamp,
    completed_at: Timestamp,
    error: Option<String>,
) -> Result<Attempt, Fault> {
    let state = match error {
        None => AttemptState::Succeeded { at: completed_at },
        Some(error) => AttemptState::Failed { at: completed_at, error },
    };
    Ok(Attempt { number: attempt_number(number)?, started_at, state })
}

/// A mention in the column `mentions`.
#[derive(Serialize, Deserialize)]
struct StoredMention {
    id: String,
    of: String,
    handle: String,
    name: String,
    kind: String,
}

/// The part of that column which a mention of this user or agent has, and no other mention.
pub(crate) fn mention_of(who: ParticipantId) -> String {
    format!(r#""id":"{who}""#)
}

pub(crate) fn mentions_column(mentions: &[Mention]) -> Result<String, Fault> {
    let stored = mentions.iter().map(|mention| StoredMention {
        id: mention.id.to_string(),
        of: mention.id.kind().as_str().to_owned(),
        handle: mention.handle.clone(),
        name: mention.name.clone(),
        kind: mention.kind.as_str().to_owned(),
    });
    row::to_json(&stored.collect::<Vec<_>>())
}

pub(crate) fn stored_mentions(column: &str) -> Result<Vec<Mention>, Fault> {
    let stored = row::json::<Vec<StoredMention>>(column)?.into_iter().map(|stored| {
        Ok(Mention {
            id: row::word(&stored.of, ParticipantKind::parse)?.with_uuid(row::word(&stored.id, parse_uuid)?),
            handle: stored.handle,
            name: stored.name,
            kind: row::word(&stored.kind, MentionKind::parse)?,
        })
    });
    stored.collect()
}
