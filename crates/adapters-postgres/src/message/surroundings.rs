//! The messages before, after, or around a message.

use std::time::Duration;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use domain::id::{ChatId, MessageId, ParticipantId};
use domain::message::filter::share;
use domain::message::{Anchor, Kinds, Message, Surroundings, SurroundingsRefused};
use domain::page::{Order, PAGE_BYTES};
use futures_util::future::try_join;

use super::history::floor_on;
use super::load::{Records, part_on};
use super::sequences::{SequenceRange, sequences_on};
use crate::chat::load::standing_on;
use crate::error::Fault;
use crate::run::Db;
use crate::schema::messages;

pub(super) async fn surroundings_on(
    db: &Db,
    viewer: ParticipantId,
    chat: ChatId,
    anchor: Anchor,
    kinds: Kinds,
    limit: u32,
) -> Result<Result<Surroundings, SurroundingsRefused>, Fault> {
    let chat_messages = ChatMessages { chat, kinds };
    let sequence = async {
        match anchor {
            Anchor::At(at) => {
                let before = floor_on(db, chat, at.minus(Duration::from_micros(1))).await?;
                chat_messages.first_after_on(db, before).await
            }
            Anchor::From(sequence) => chat_messages.first_after_on(db, sequence.get() - 1).await,
            Anchor::After(id) | Anchor::Before(id) | Anchor::Around(id) => sequence_on(db, chat, id).await,
        }
    };
    let (standing, sequence) = try_join(standing_on(db, viewer, chat), sequence).await?;
    if !standing.may_read() {
        return Ok(Err(SurroundingsRefused::ChatNotFound));
    }
    let Some(sequence) = sequence else {
        return Ok(match anchor {
            Anchor::At(_) | Anchor::From(_) => Ok(Surroundings::default()),
            Anchor::After(_) | Anchor::Before(_) | Anchor::Around(_) => {
                Err(SurroundingsRefused::MessageNotFound)
            }
        });
    };
    let limit = limit as usize;
    Ok(Ok(match anchor {
        Anchor::After(_) => {
            let older = chat_messages.sequences_on(db, Side::Before(sequence + 1), 1);
            let ((rows, has_newer), older) =
                try_join(chat_messages.read_on(db, Side::After(sequence), limit), older).await?;
            Surroundings { rows, has_older: !older.is_empty(), has_newer }
        }
        Anchor::Before(_) => {
            let newer = chat_messages.sequences_on(db, Side::After(sequence - 1), 1);
            let ((rows, has_older), newer) =
                try_join(chat_messages.read_on(db, Side::Before(sequence), limit), newer).await?;
            Surroundings { rows, has_older, has_newer: !newer.is_empty() }
        }
        Anchor::Around(_) | Anchor::At(_) | Anchor::From(_) => {
            chat_messages.around_on(db, sequence, limit).await?
        }
    }))
}

/// The sequence of the message in the chat.
async fn sequence_on(mut db: &Db, chat: ChatId, message: MessageId) -> Result<Option<i64>, Fault> {
    let sequence = messages::table.find(message.uuid()).filter(messages::chat_id.eq(chat.uuid()));
    Ok(sequence.select(messages::sequence).first(&mut db).await.optional()?)
}

/// The maximum size of content on either side of a message.
const SIDE_BYTES: usize = PAGE_BYTES / 2;

#[derive(Clone, Copy)]
struct ChatMessages {
    chat: ChatId,
    kinds: Kinds,
}

/// One side of a sequence.
#[derive(Clone, Copy)]
enum Side {
    Before(i64),
    After(i64),
}

impl Side {
    const fn order(self) -> Order {
        match self {
            Self::Before(_) => Order::Descending,
            Self::After(_) => Order::Ascending,
        }
    }
}

impl ChatMessages {
    /// The nearest sequences on one side, nearest first.
    async fn sequences_on(self, db: &Db, side: Side, limit: usize) -> Result<Vec<i64>, Fault> {
        let part = match side {
            Side::Before(sequence) => SequenceRange(0, sequence),
            Side::After(sequence) => SequenceRange(sequence, i64::MAX),
        };
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        sequences_on(db, self.chat, self.kinds, part, side.order(), (limit, 0)).await
    }

    /// The sequence of the first message after that one, or of the newest one.
    async fn first_after_on(self, db: &Db, before: i64) -> Result<Option<i64>, Fault> {
        let mut found = self.sequences_on(db, Side::After(before), 1).await?;
        if found.is_empty() {
            found = self.sequences_on(db, Side::Before(i64::MAX), 1).await?;
        }
        Ok(found.pop())
    }

    /// The nearest messages on one side, and whether there are more of them.
    async fn read_on(self, db: &Db, side: Side, limit: usize) -> Result<(Vec<Message>, bool), Fault> {
        let mut sequences = self.sequences_on(db, side, limit + 1).await?;
        let more = sequences.len() > limit;
        sequences.truncate(limit);
        let (rows, cut) = part_on(db, self.chat, &sequences, side.order(), Records::All, PAGE_BYTES).await?;
        Ok((rows, more || cut))
    }

    /// The message with the sequence `sequence` and both its sides, newest first.
    async fn around_on(self, db: &Db, sequence: i64, limit: usize) -> Result<Surroundings, Fault> {
        let older = self.sequences_on(db, Side::Before(sequence), limit);
        let (older, newer) = try_join(older, self.sequences_on(db, Side::After(sequence), limit)).await?;
        let (older_shown, newer_shown) = share(limit - 1, older.len(), newer.len());
        let mut down = vec![sequence];
        down.extend(&older[..older_shown]);
        let up = &newer[..newer_shown];
        let above = part_on(db, self.chat, up, Order::Ascending, Records::All, SIDE_BYTES);
        let below = part_on(db, self.chat, &down, Order::Descending, Records::All, SIDE_BYTES);
        let ((mut rows, cut_newer), (below, cut_older)) = try_join(above, below).await?;
        rows.reverse();
        rows.extend(below);
        Ok(Surroundings {
            rows,
            has_older: cut_older || older_shown < older.len(),
            has_newer: cut_newer || newer_shown < newer.len(),
        })
    }
}
