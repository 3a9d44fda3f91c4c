//! Reading a room for a transcript, page by page.

use std::collections::VecDeque;
use std::sync::Arc;

use super::TranscriptFormat;
use super::entry::TranscriptHeader;
use super::writer::TranscriptWriter;
use crate::audit::{AuditEntry, AuditRepository};
use crate::caller::UserCaller;
use crate::chat::{ChatFilter, ChatRepository};
use crate::file::FileDigest;
use crate::id::{ChatId, ParticipantId};
use crate::message::{HistoryFilter, Message, MessageRepository, ReadMessagesError};
use crate::page::{PageRequest, Position, Slice};
use crate::ports::Clock;
use crate::store::StoreError;

/// The number of messages that are read at once. A page is bounded in bytes as well.
const PAGE: u32 = 200;

/// The number of bytes after which a piece ends.
const PIECE: usize = 64 * 1024;

/// The reader of a transcript.
#[derive(Clone, Copy, Debug)]
pub enum TranscriptReader {
    /// The operator, by a command: may read every room.
    Operator,
    /// A human who may [read](crate::chat::Standing::may_read) the room.
    User(UserCaller),
}

/// Use cases on transcripts.
pub struct TranscriptService {
    chats: Arc<dyn ChatRepository>,
    messages: Arc<dyn MessageRepository>,
    audit: Arc<dyn AuditRepository>,
    clock: Arc<dyn Clock>,
}

impl TranscriptService {
    /// Wires the area to its ports.
    pub fn new(
        chats: Arc<dyn ChatRepository>,
        messages: Arc<dyn MessageRepository>,
        audit: Arc<dyn AuditRepository>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { chats, messages, audit, clock }
    }

    /// Begins a transcript of the messages that the room has now, and records that in the audit log.
    pub async fn begin(
        &self,
        reader: TranscriptReader,
        chat: ChatId,
        format: TranscriptFormat,
    ) -> Result<Transcript, ReadMessagesError> {
        if let TranscriptReader::User(caller) = reader {
            let found = self.chats.find(ParticipantId::User(caller.user), chat).await?;
            found.ok_or(ReadMessagesError::ChatNotFound)?;
        }
        let header = self.header(chat).await?.ok_or(ReadMessagesError::ChatNotFound)?;
        let detail = format!("{}, messages up to {}", format.as_str(), header.last_sequence.get());
        let entry = AuditEntry::chat_exported(chat, reader, &detail, self.clock.now());
        self.audit.append_audit(vec![entry]).await?;
        Ok(Transcript {
            messages: self.messages.clone(),
            reader,
            chat,
            writer: TranscriptWriter::new(format, header),
            after: None,
            read: VecDeque::new(),
            is_read: false,
            digest: None,
        })
    }

    /// The room and its participants; `None` if there is no such room.
    async fn header(&self, chat: ChatId) -> Result<Option<TranscriptHeader>, StoreError> {
        let found = self.chats.overview(ChatFilter::One(chat), None, 1).await?.pop();
        let (Some(found), Some(roster)) = (found, self.chats.roster_unchecked(chat).await?) else {
            return Ok(None);
        };
        Ok(Some(TranscriptHeader { chat: found.chat, roster, last_sequence: found.last_sequence }))
    }
}

/// A transcript that is being read.
///
/// It ends with the message that was the newest one when it began. Changes of older messages that happen meanwhile are
/// in it or not.
pub struct Transcript {
    messages: Arc<dyn MessageRepository>,
    reader: TranscriptReader,
    chat: ChatId,
    writer: TranscriptWriter,
    after: Option<Position>,
    /// What was read and not written yet.
    read: VecDeque<Message>,
    /// Whether everything was read.
    is_read: bool,
    digest: Option<FileDigest>,
}

impl Transcript {
    /// The next piece of the document; `None` after the last one. Every page is read with the rights that the reader has
    /// at that time. After an error, it can be called again.
    pub async fn next(&mut self) -> Result<Option<String>, ReadMessagesError> {
        if self.digest.is_some() {
            return Ok(None);
        }
        if self.read.is_empty() && !self.is_read {
            self.read().await?;
        }
        while let Some(message) = self.read.pop_front() {
            if !self.writer.message(&message) {
                self.read.clear();
                self.is_read = true;
            }
            if self.writer.waiting() >= PIECE {
                break;
            }
        }
        if self.read.is_empty() && self.is_read {
            self.digest = Some(self.writer.end());
        }
        Ok(Some(self.writer.take()))
    }

    /// Reads the next page.
    async fn read(&mut self) -> Result<(), ReadMessagesError> {
        let filter = HistoryFilter { oldest_first: true, ..HistoryFilter::default() };
        let slice = Slice::After { after: self.after.clone(), limit: PAGE };
        let page = PageRequest { slice, count: false };
        let read = match self.reader {
            TranscriptReader::Operator => self.messages.history_unchecked(self.chat, filter, page).await?,
            TranscriptReader::User(UserCaller { user, .. }) => {
                self.messages.history(ParticipantId::User(user), self.chat, filter, page).await?
            }
        };
        let read = read.ok_or(ReadMessagesError::ChatNotFound)?;
        self.is_read = read.next.is_none();
        self.after = read.next;
        self.read = read.rows.into();
        Ok(())
    }

    /// The number of messages in it, as far as it was read.
    pub const fn messages(&self) -> u64 {
        self.writer.messages()
    }

    /// The number of its bytes, as far as it was read.
    pub const fn bytes(&self) -> u64 {
        self.writer.bytes()
    }

    /// The digest of all its bytes, once it was read to its end.
    pub const fn digest(&self) -> Option<FileDigest> {
        self.digest
    }
}
