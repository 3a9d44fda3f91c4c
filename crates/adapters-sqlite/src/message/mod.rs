//! The store of messages.

mod amend;
pub(crate) mod append;
pub(crate) mod cause;
mod context;
mod deadline;
mod erase_texts;
mod foreign;
mod history;
pub(crate) mod hold;
pub(crate) mod load;
mod retention;
#[path = "../../../sql-rows/message.rs"]
pub(crate) mod row;
mod sequences;
mod surroundings;
pub(crate) mod title;
mod tree;

use async_trait::async_trait;
use diesel::sqlite::SqliteConnection;
use domain::id::{AgentId, ChatId, MessageId, ParticipantId};
use domain::idempotency::KeyedRequest;
use domain::message::{
    Anchor, AppendRefused, Appended, ChangeMessageRefused, ChangedMessage, CheckDeadline, CheckPair,
    CheckTree, DeadlineOutcome, DeleteMessage, DueHold, DueText, EditMessage, EraseOld, EraseTexts,
    ErasedOld, ErasedTexts, HistoryFilter, Kinds, Message, MessageRepository, NewMessage, NoticeHold,
    NoticeOutcome, PriorResult, Surroundings, SurroundingsRefused,
};
use domain::page::{Page, PageRequest};
use domain::store::{OnCommit, StoreError};
use domain::time::Timestamp;
use measure::Work;

use crate::{SqliteStore, idempotency_record};

#[async_trait]
impl MessageRepository for SqliteStore {
    async fn append(
        &self,
        new: NewMessage,
        on_commit: OnCommit<Appended>,
    ) -> Result<Result<Appended, AppendRefused>, StoreError> {
        let work = move |connection: &mut SqliteConnection| append::append_on(connection, new);
        let doing = measure::doing(Work::Append);
        let carried = doing.carry();
        self.writer.change(work, |appended| carried.within(|| on_commit.run(appended))).await
    }

    async fn edit(
        &self,
        command: EditMessage,
        on_commit: OnCommit<ChangedMessage>,
    ) -> Result<Result<ChangedMessage, ChangeMessageRefused>, StoreError> {
        let work = move |connection: &mut SqliteConnection| amend::edit_on(connection, &command);
        self.change(work, |edited| on_commit.run(edited)).await
    }

    async fn delete(
        &self,
        command: DeleteMessage,
        on_commit: OnCommit<ChangedMessage>,
    ) -> Result<Result<ChangedMessage, ChangeMessageRefused>, StoreError> {
        let work = move |connection: &mut SqliteConnection| amend::delete_on(connection, &command);
        self.change(work, |deleted| on_commit.run(deleted)).await
    }

    async fn erase_old(&self, step: EraseOld) -> Result<ErasedOld, StoreError> {
        self.alter(move |connection| retention::erase_old_on(connection, step)).await
    }

    async fn erase_texts(&self, step: EraseTexts) -> Result<ErasedTexts, StoreError> {
        self.alter(move |connection| erase_texts::erase_texts_on(connection, step)).await
    }

    async fn due_texts(
        &self,
        now: Timestamp,
        after: Option<(Timestamp, MessageId)>,
        limit: u32,
    ) -> Result<Vec<DueText>, StoreError> {
        self.read(move |connection| deadline::due_on(connection, now, after, limit)).await
    }

    async fn check_deadline(
        &self,
        command: CheckDeadline,
        on_commit: OnCommit<DeadlineOutcome>,
    ) -> Result<DeadlineOutcome, StoreError> {
        self.alter_announced(
            move |connection| deadline::check_on(connection, &command),
            |outcome| on_commit.run(outcome),
        )
        .await
    }

    async fn check_tree(&self, command: CheckTree) -> Result<(), StoreError> {
        self.alter(move |connection| hold::check_tree_on(connection, command)).await
    }

    async fn check_pair(&self, command: CheckPair) -> Result<(), StoreError> {
        self.alter(move |connection| hold::check_pair_on(connection, command)).await
    }

    async fn due_holds(&self, limit: u32) -> Result<Vec<DueHold>, StoreError> {
        self.read(move |connection| hold::due_on(connection, limit)).await
    }

    async fn notice_hold(
        &self,
        command: NoticeHold,
        on_commit: OnCommit<NoticeOutcome>,
    ) -> Result<NoticeOutcome, StoreError> {
        self.alter_announced(
            move |connection| hold::notice_on(connection, &command),
            |outcome| on_commit.run(outcome),
        )
        .await
    }

    async fn find_prior_result(&self, keyed: KeyedRequest) -> Result<PriorResult, StoreError> {
        self.read(move |connection| idempotency_record::earlier_on(connection, &keyed)).await
    }

    async fn history(
        &self,
        viewer: ParticipantId,
        chat: ChatId,
        filter: HistoryFilter,
        page: PageRequest,
    ) -> Result<Option<Page<Message>>, StoreError> {
        self.read(move |connection| history::history_on(connection, Some(viewer), chat, filter, page)).await
    }

    async fn history_unchecked(
        &self,
        chat: ChatId,
        filter: HistoryFilter,
        page: PageRequest,
    ) -> Result<Option<Page<Message>>, StoreError> {
        self.read(move |connection| history::history_on(connection, None, chat, filter, page)).await
    }

    async fn surroundings(
        &self,
        viewer: ParticipantId,
        chat: ChatId,
        anchor: Anchor,
        kinds: Kinds,
        limit: u32,
    ) -> Result<Result<Surroundings, SurroundingsRefused>, StoreError> {
        let work = move |connection: &mut SqliteConnection| {
            surroundings::surroundings_on(connection, viewer, chat, anchor, kinds, limit)
        };
        self.read(work).await
    }

    async fn find_readable(
        &self,
        viewer: ParticipantId,
        chat: ChatId,
        message: MessageId,
    ) -> Result<Option<Message>, StoreError> {
        self.read(move |connection| tree::readable_on(connection, viewer, chat, message)).await
    }

    async fn context(
        &self,
        agent: AgentId,
        chat: ChatId,
        page: PageRequest,
    ) -> Result<Option<Page<Message>>, StoreError> {
        self.read(move |connection| context::context_on(connection, agent, chat, page)).await
    }
}
