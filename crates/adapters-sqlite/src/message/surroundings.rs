//! The messages before, after, or around a message.

use std::time::Duration;

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::id::{ChatId, MessageId, ParticipantId};
use domain::message::filter::share;
use domain::message::{Anchor, Kinds, Message, Surroundings, SurroundingsRefused};
use domain::page::{Order, PAGE_BYTES};

use super::history::floor_on;
use super::load::{Records, part_on};
use super::sequences::{SequenceRange, sequences_on};
use crate::chat::load::standing_on;
use crate::error::Fault;
use crate::row;
use crate::schema::messages;

pub(super) fn surroundings_on(
    connection: &mut SqliteConnection,
    viewer: ParticipantId,
    chat: ChatId,
    anchor: Anchor,
    kinds: Kinds,
    limit: u32,
) -> Result<Result<Surroundings, SurroundingsRefused>, Fault> {
    if !standing_on(connection, viewer, chat)?.may_read() {
        return Ok(Err(SurroundingsRefused::ChatNotFound));
    }
    let chat_messages = ChatMessages { chat, kinds };
    let sequence = match anchor {
        Anchor::At(at) => {
            let before = floor_on(connection, chat, at.minus(Duration::from_micros(1)))?;
            chat_messages.first_after_on(connection, before)?
        }
        Anchor::From(sequence) => chat_messages.first_after_on(connection, sequence.get() - 1)?,
        Anchor::After(message) | Anchor::Before(message) | Anchor::Around(message) => {
            sequence_on(connection, chat, message)?
        }
    };
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
            let (rows, has_newer) = chat_messages.read_on(connection, Side::After(sequence), limit)?;
            let older = chat_messages.sequences_on(connection, Side::Before(sequence + 1), 1)?;
            Surroundings { rows, has_older: !older.is_empty(), has_newer }
        }
        Anchor::Before(_) => {
            let (rows, has_older) = chat_messages.read_on(connection, Side::Before(sequence), limit)?;
            let newer = chat_messages.sequences_on(connection, Side::After(sequence - 1), 1)?;
            Surroundings { rows, has_older, has_newer: !newer.is_empty() }
        }
        Anchor::Around(_) | Anchor::At(_) | Anchor::From(_) => {
            chat_messages.around_on(connection, sequence, limit)?
        }
    }))
}

/// The sequence of the message in the chat.
fn sequence_on(
    connection: &mut SqliteConnection,
    chat: ChatId,
    message: MessageId,
) -> Result<Option<i64>, Fault> {
    let sequence = messages::table
        .find(row::bytes(message.uuid()))
        .filter(messages::chat_id.eq(row::bytes(chat.uuid())))
        .select(messages::sequence);
    Ok(sequence.get_result(connection).optional()?)
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
    fn sequences_on(
        self,
        connection: &mut SqliteConnection,
        side: Side,
        limit: usize,
    ) -> Result<Vec<i64>, Fault> {
        let part = match side {
            Side::Before(sequence) => SequenceRange(0, sequence),
            Side::After(sequence) => SequenceRange(sequence, i64::MAX),
        };
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        sequences_on(connection, self.chat, self.kinds, part, side.order(), (limit, 0))
    }

    /// The sequence of the first message after that one, or of the newest one.
    fn first_after_on(self, connection: &mut SqliteConnection, before: i64) -> Result<Option<i64>, Fault> {
        let mut found = self.sequences_on(connection, Side::After(before), 1)?;
        if found.is_empty() {
            found = self.sequences_on(connection, Side::Before(i64::MAX), 1)?;
        }
        Ok(found.pop())
    }

    /// The nearest messages on one side, and whether there are more of them.
    fn read_on(
        self,
        connection: &mut SqliteConnection,
        side: Side,
        limit: usize,
    ) -> Result<(Vec<Message>, bool), Fault> {
        let mut sequences = self.sequences_on(connection, side, limit + 1)?;
        let more = sequences.len() > limit;
        sequences.truncate(limit);
        let (rows, cut) = part_on(connection, self.chat, &sequences, side.order(), Records::All, PAGE_BYTES)?;
        Ok((rows, more || cut))
    }

    /// The message with the sequence `sequence` and both its sides, newest first.
    fn around_on(
        self,
        connection: &mut SqliteConnection,
        sequence: i64,
        limit: usize,
    ) -> Result<Surroundings, Fault> {
        let older = self.sequences_on(connection, Side::Before(sequence), limit)?;
        let newer = self.sequences_on(connection, Side::After(sequence), limit)?;
        let (older_shown, newer_shown) = share(limit - 1, older.len(), newer.len());
        let mut down = vec![sequence];
        down.extend(&older[..older_shown]);
        let up = &newer[..newer_shown];
        let (mut rows, cut_newer) =
            part_on(connection, self.chat, up, Order::Ascending, Records::All, SIDE_BYTES)?;
        rows.reverse();
        let (below, cut_older) =
            part_on(connection, self.chat, &down, Order::Descending, Records::All, SIDE_BYTES)?;
        rows.extend(below);
        Ok(Surroundings {
            rows,
            has_older: cut_older || older_shown < older.len(),
            has_newer: cut_newer || newer_shown < newer.len(),
        })
    }
}
