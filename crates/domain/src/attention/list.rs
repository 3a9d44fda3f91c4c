//! Listing what waits for a human.

use std::time::Duration;

use super::item::{AttentionId, AttentionState};
use super::line::{AttentionLine, Place, WorkLine};
use super::port::AttentionSearch;
use super::service::AttentionService;
use crate::caller::UserCaller;
use crate::contact::RequestStatus;
use crate::id::ChatId;
use crate::page::{Page, PageRequest, Slice};
use crate::store::StoreError;
use crate::time::Timestamp;
use crate::work::{ListWorkError, WorkFilter, WorkFlag, WorkItem, WorkScope};

/// The number of items of each flag, of contact requests, and of webhooks that a list examines: the oldest items, and the
/// newest requests.
const EXAMINED: u32 = 100;

/// The time for which a message waits whose agent has used up its attempts.
const DEAD_FOR: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The filters of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AttentionFilter {
    /// Only items in this state; `None` for all stored items.
    pub state: Option<AttentionState>,
    /// Only what concerns this chat.
    pub chat: Option<ChatId>,
}

impl Default for AttentionFilter {
    fn default() -> Self {
        Self { state: Some(AttentionState::Open), chat: None }
    }
}

impl AttentionService {
    /// The lines of the caller. What is open comes in the order of [`Place`], with flagged work, contact requests, and webhooks;
    /// other lists have stored items only, newest first. Pages are by cursor only.
    pub async fn list(
        &self,
        caller: UserCaller,
        filter: AttentionFilter,
        page: PageRequest,
    ) -> Result<Page<AttentionLine>, StoreError> {
        let limit = page.slice.limit() + 1;
        let after = page.slice.after().as_ref().and_then(Place::of);
        let AttentionFilter { state, chat } = filter;
        let search = AttentionSearch { user: caller.user, state, chat, after, now: self.now(), limit };
        let items = self.attention.list_attention(search).await?;
        let mut lines = items.into_iter().map(AttentionLine::Item).collect::<Vec<_>>();
        if state == Some(AttentionState::Open) {
            let work = self.flagged_work(caller, chat).await?.into_iter().map(AttentionLine::Work);
            let contacts = self.contact_requests(caller, chat).await?;
            let webhooks = self.failing_webhooks(caller, chat).await?;
            let is_next = |line: &AttentionLine| after.is_none_or(|after| line.place() > after);
            lines.extend(work.chain(contacts).chain(webhooks).filter(is_next));
            lines.sort_by_key(AttentionLine::place);
        }
        Ok(Page::from_overfetch(lines, &page, None, |line| line.place().position()))
    }

    /// A stored item, or a contact request, work, or a webhook that waits for the caller; `None` if the caller sees none with this id.
    pub async fn find(
        &self,
        caller: UserCaller,
        id: AttentionId,
    ) -> Result<Option<AttentionLine>, StoreError> {
        match id {
            AttentionId::Item(message) => {
                let found = self.attention.find_attention(caller.user, message).await?;
                Ok(found.map(AttentionLine::Item))
            }
            AttentionId::Contact(_) => {
                let lines = self.contact_requests(caller, None).await?;
                Ok(lines.into_iter().find(|line| line.id() == id))
            }
            AttentionId::Webhook(_) => {
                let lines = self.failing_webhooks(caller, None).await?;
                Ok(lines.into_iter().find(|line| line.id() == id))
            }
            AttentionId::Work(_, chat) => {
                let work = self.flagged_work(caller, Some(chat)).await?;
                Ok(work.into_iter().map(AttentionLine::Work).find(|line| line.id() == id))
            }
        }
    }

    /// The current time.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    async fn flagged_work(
        &self,
        caller: UserCaller,
        chat: Option<ChatId>,
    ) -> Result<Vec<WorkLine>, StoreError> {
        let mut flagged = Vec::new();
        for flag in WorkFlag::ALL {
            let filter = WorkFilter { chat, flag: Some(flag), ..WorkFilter::default() };
            let listed = self.work.list(WorkScope::OwnedBy(caller.user), filter, examined()).await;
            let items = match listed {
                Ok(page) => page.rows,
                // Only the work of an organization needs an admin.
                Err(ListWorkError::NotAdmin(_)) => Vec::new(),
                Err(ListWorkError::Store(error)) => return Err(error),
            };
            let items = items.into_iter().filter(|item| flag != WorkFlag::Dead || is_news(item, self.now()));
            flagged.extend(items.map(|item| (item, flag)));
        }
        Ok(WorkLine::of(flagged))
    }

    /// The contact requests that wait for the caller; none of them concerns a chat.
    async fn contact_requests(
        &self,
        caller: UserCaller,
        chat: Option<ChatId>,
    ) -> Result<Vec<AttentionLine>, StoreError> {
        if chat.is_some() {
            return Ok(Vec::new());
        }
        let received = self.contacts.received_by_user(caller, examined()).await?;
        let pending = received.rows.into_iter().filter(|request| request.status == RequestStatus::Pending);
        Ok(pending.map(AttentionLine::Contact).collect())
    }

    /// The webhooks of the caller's agents that fail or were disabled; none of them concerns a chat.
    async fn failing_webhooks(
        &self,
        caller: UserCaller,
        chat: Option<ChatId>,
    ) -> Result<Vec<AttentionLine>, StoreError> {
        if chat.is_some() {
            return Ok(Vec::new());
        }
        let failing = self.webhooks.failing_webhooks(caller.user, EXAMINED).await?;
        Ok(failing.into_iter().map(AttentionLine::Webhook).collect())
    }
}

/// Returns whether a dead item ended recently because its agent had used up its attempts.
fn is_news(item: &WorkItem, now: Timestamp) -> bool {
    let dead = item.delivery.dead();
    dead.is_some_and(|dead| dead.is_exhausted() && now.since(dead.at) < DEAD_FOR)
}

fn examined() -> PageRequest {
    PageRequest { slice: Slice::After { after: None, limit: EXAMINED }, count: false }
}
