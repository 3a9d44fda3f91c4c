//! The store of messages.

mod amend;
pub(crate) mod append;
pub(crate) mod batch;
pub(crate) mod cause;
mod context;
mod deadline;
pub(crate) mod erase;
mod erase_texts;
mod foreign;
mod history;
pub(crate) mod hold;
mod insert;
pub(crate) mod load;
mod locked;
mod one_statement;
mod optimistic;
pub(crate) mod own_page;
pub(crate) mod record_key;
mod retention;
#[path = "../../../sql-rows/message.rs"]
pub(crate) mod row;
mod sequences;
mod surroundings;
pub(crate) mod title;
mod tree;

use async_trait::async_trait;
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
use futures_util::FutureExt;

use crate::{PostgresStore, idempotency_record};

#[async_trait]
impl MessageRepository for PostgresStore {
    async fn append(
        &self,
        new: NewMessage,
        on_commit: OnCommit<Appended>,
    ) -> Result<Result<Appended, AppendRefused>, StoreError> {
        self.appender.write(new, on_commit).await
    }

    async fn edit(
        &self,
        command: EditMessage,
        on_commit: OnCommit<ChangedMessage>,
    ) -> Result<Result<ChangedMessage, ChangeMessageRefused>, StoreError> {
        self.change(
            command,
            |db, command| amend::edit_on(db, command).boxed(),
            move |edited| on_commit.run(edited),
        )
        .await
    }

    async fn delete(
        &self,
        command: DeleteMessage,
        on_commit: OnCommit<ChangedMessage>,
    ) -> Result<Result<ChangedMessage, ChangeMessageRefused>, StoreError> {
        self.change(
            command,
            |db, command| amend::delete_on(db, command).boxed(),
            move |deleted| on_commit.run(deleted),
        )
        .await
    }

    async fn erase_old(&self, step: EraseOld) -> Result<ErasedOld, StoreError> {
        self.alter(step, |db, step| retention::erase_old_on(db, step).boxed()).await
    }

    async fn erase_texts(&self, step: EraseTexts) -> Result<ErasedTexts, StoreError> {
        self.alter(step, |db, step| erase_texts::erase_texts_on(db, step).boxed()).await
    }

    async fn due_texts(
        &self,
        now: Timestamp,
        after: Option<(Timestamp, MessageId)>,
        limit: u32,
    ) -> Result<Vec<DueText>, StoreError> {
        let given = (now, after, limit);
        self.query(given, |db, &(now, after, limit)| deadline::due_on(db, now, after, limit).boxed()).await
    }

    async fn check_deadline(
        &self,
        command: CheckDeadline,
        on_commit: OnCommit<DeadlineOutcome>,
    ) -> Result<DeadlineOutcome, StoreError> {
        let announcing = move |outcome: &DeadlineOutcome| on_commit.run(outcome);
        self.alter_announced(command, |db, command| deadline::check_on(db, command).boxed(), announcing).await
    }

    async fn check_tree(&self, command: CheckTree) -> Result<(), StoreError> {
        self.alter(command, |db, command| hold::check_tree_on(db, command).boxed()).await
    }

    async fn check_pair(&self, command: CheckPair) -> Result<(), StoreError> {
        self.alter(command, |db, command| hold::check_pair_on(db, command).boxed()).await
    }

    async fn due_holds(&self, limit: u32) -> Result<Vec<DueHold>, StoreError> {
        self.query(limit, |db, limit| hold::due_on(db, *limit).boxed()).await
    }

    async fn notice_hold(
        &self,
        command: NoticeHold,
        on_commit: OnCommit<NoticeOutcome>,
    ) -> Result<NoticeOutcome, StoreError> {
        let announcing = move |outcome: &NoticeOutcome| on_commit.run(outcome);
        self.alter_announced(command, |db, command| hold::notice_on(db, command).boxed(), announcing).await
    }

    async fn find_prior_result(&self, keyed: KeyedRequest) -> Result<PriorResult, StoreError> {
        self.read(keyed, |db, keyed| idempotency_record::earlier_on(db, keyed).boxed()).await
    }

    async fn history(
        &self,
        viewer: ParticipantId,
        chat: ChatId,
        filter: HistoryFilter,
        page: PageRequest,
    ) -> Result<Option<Page<Message>>, StoreError> {
        let given = (viewer, chat, filter, page);
        self.read(given, |db, (viewer, chat, filter, page)| {
            history::history_on(db, Some(*viewer), *chat, *filter, page).boxed()
        })
        .await
    }

    async fn history_unchecked(
        &self,
        chat: ChatId,
        filter: HistoryFilter,
        page: PageRequest,
    ) -> Result<Option<Page<Message>>, StoreError> {
        self.read((chat, filter, page), |db, (chat, filter, page)| {
            history::history_on(db, None, *chat, *filter, page).boxed()
        })
        .await
    }

    async fn surroundings(
        &self,
        viewer: ParticipantId,
        chat: ChatId,
        anchor: Anchor,
        kinds: Kinds,
        limit: u32,
    ) -> Result<Result<Surroundings, SurroundingsRefused>, StoreError> {
        let given = (viewer, chat, anchor, kinds, limit);
        self.read(given, |db, &(viewer, chat, anchor, kinds, limit)| {
            surroundings::surroundings_on(db, viewer, chat, anchor, kinds, limit).boxed()
        })
        .await
    }

    async fn find_readable(
        &self,
        viewer: ParticipantId,
        chat: ChatId,
        message: MessageId,
    ) -> Result<Option<Message>, StoreError> {
        let given = (viewer, chat, message);
        self.read(given, |db, &(viewer, chat, message)| tree::readable_on(db, viewer, chat, message).boxed())
            .await
    }

    async fn context(
        &self,
        agent: AgentId,
        chat: ChatId,
        page: PageRequest,
    ) -> Result<Option<Page<Message>>, StoreError> {
        let given = (agent, chat, page);
        self.query(given, |db, (agent, chat, page)| context::context_on(db, *agent, *chat, page).boxed())
            .await
    }
}
