//! The tasks of the caller at the agent, the newest first: of one context, or of all rooms of the caller that the agent is in.
//!
//! Nothing but messages is stored, so a request examines a bounded number of these. It may find fewer tasks than wanted, and
//! even none; the next page goes on after what was examined.

use std::collections::HashSet;

use a2a::{ListTasksRequest, ListTasksResponse, Task, TaskState};
use domain::caller::{AgentCaller, Caller, UserCaller};
use domain::chat::{ChatListing, ChatParts, ChatSort, ListedChat};
use domain::id::{ChatId, ParticipantId, RecordId};
use domain::message::{HistoryFilter, Kinds, Message, MessageKind};
use domain::page::{PageRequest, Position, Slice};
use http_wire::cursor::CursorScope;

use crate::failure::Failure;
use crate::operation::length;
use crate::read;
use crate::session::Session;
use crate::task::TaskId;

/// The number of tasks on a page, unless the client wants another one, and the largest number.
const TASKS: i32 = 50;

/// The number of messages on a page of a room.
const PAGE: u32 = 100;

/// The number of pages that a request examines.
const PAGES: usize = 20;

/// The number of tasks that a request examines.
const EXAMINED: usize = 100;

/// The number of rooms that are listed at once.
const ROOMS: u32 = 50;

/// What a request wants, and what it may still examine.
struct Walk<'r> {
    request: &'r ListTasksRequest,
    history: Option<usize>,
    size: usize,
    found: Vec<Task>,
    pages: usize,
    examined: usize,
}

/// A page of tasks.
pub(crate) async fn list(
    session: &Session,
    request: &ListTasksRequest,
) -> Result<ListTasksResponse, Failure> {
    let size = request.page_size.unwrap_or(TASKS);
    if size < 1 {
        return Err(Failure::invalid("pageSize", "must be positive"));
    }
    let size = size.min(TASKS);
    let history = length(request.history_length)?.or(Some(0));
    let context = request.context_id.as_deref().filter(|context| !context.is_empty());
    let status = request.status.as_ref().filter(|status| **status != TaskState::Unspecified);
    let scope = CursorScope::list("a2a/tasks")
        .of(session.agent.id.uuid())
        .of(session.caller.participant().uuid())
        .filtered("context", context.unwrap_or_default())
        .filtered("status", &status.map(|status| format!("{status:?}")).unwrap_or_default())
        .filtered(
            "since",
            &request.status_timestamp_after.map(|after| after.to_string()).unwrap_or_default(),
        );
    let seal = &session.gateway().cursors;
    let token = request.page_token.as_deref().filter(|token| !token.is_empty());
    let after = token.map(|token| scope.decode(seal, token)).transpose()?;
    let mut walk = Walk { request, history, size: 0, found: Vec::new(), pages: PAGES, examined: EXAMINED };
    walk.size = usize::try_from(size).unwrap_or(1);
    let next = if let Some(context) = context {
        let room = ChatId::parse(context).ok_or_else(Failure::no_task)?;
        session.check_room(room, false)?;
        let before = after.as_ref().and_then(before);
        walk.room(session, room, before).await?.map(|before| position(0, room, before))
    } else {
        session.check_rest(false)?;
        walk.rooms(session, after).await?
    };
    let page_size = i32::try_from(walk.found.len()).unwrap_or(i32::MAX);
    Ok(ListTasksResponse {
        tasks: walk.found,
        next_page_token: next.map(|next| scope.encode(seal, &next)).unwrap_or_default(),
        page_size: size,
        total_size: page_size,
    })
}

/// The position in a room, before a sequence.
fn position(created_at: i64, room: ChatId, before: i64) -> Position {
    Position { key: created_at, text: before.to_string(), id: room.into() }
}

/// The sequence in a position; `None` if the room is done.
fn before(position: &Position) -> Option<i64> {
    position.text.parse().ok()
}

impl Walk<'_> {
    fn is_over(&self) -> bool {
        self.found.len() >= self.size || self.pages == 0 || self.examined == 0
    }

    /// Walks through all rooms, those created last first; returns where to go on.
    async fn rooms(
        &mut self,
        session: &Session,
        after: Option<Position>,
    ) -> Result<Option<Position>, Failure> {
        let mut after = after;
        if let Some(begun) = after.clone()
            && let Some(sequence) = before(&begun)
        {
            let room = ChatId::new(begun.id.uuid());
            match self.room(session, room, Some(sequence)).await {
                Ok(Some(sequence)) => return Ok(Some(position(begun.key, room, sequence))),
                Ok(None) => {}
                // The caller is not in the room any more.
                Err(failure) if failure.is_of_task() => {}
                Err(failure) => return Err(failure),
            }
        }
        loop {
            let at = after.map(|after| Position { text: String::new(), ..after });
            if self.is_over() {
                return Ok(at);
            }
            self.pages -= 1;
            let page = {
                let _permit = session.may_read().await?;
                let parts = ChatParts { participants: true, ..ChatParts::default() };
                let listing = ChatListing { parts, ..ChatListing::default() };
                let request = PageRequest { slice: Slice::After { after: at, limit: ROOMS }, count: false };
                session.services().chats.list_chats(session.caller, listing, request).await?
            };
            for listed in &page.rows {
                let at = ChatSort::Created.position(&listed.chat);
                if is_in(session, listed).await?
                    && let Some(sequence) = self.room(session, listed.chat.id, None).await?
                {
                    return Ok(Some(position(at.key, listed.chat.id, sequence)));
                }
            }
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(None),
            }
        }
    }

    /// Walks through a room, the newest messages first; returns before which sequence to go on, unless the room is done.
    async fn room(
        &mut self,
        session: &Session,
        room: ChatId,
        before: Option<i64>,
    ) -> Result<Option<i64>, Failure> {
        match session.caller {
            Caller::User(user) => self.room_of_user(session, user, room, before).await,
            Caller::Agent(agent) => {
                let is_fresh = self.pages + 1 >= PAGES;
                let (mut roots, is_whole) = self.roots_of_agent(session, agent, room).await?;
                if !is_whole && !is_fresh {
                    // The next request has all of its pages for this room.
                    return Ok(Some(before.unwrap_or(i64::MAX)));
                }
                roots.retain(|root| before.is_none_or(|before| root.sequence.get() < before));
                self.add(session, roots.iter().rev()).await
            }
        }
    }

    async fn room_of_user(
        &mut self,
        session: &Session,
        user: UserCaller,
        room: ChatId,
        before: Option<i64>,
    ) -> Result<Option<i64>, Failure> {
        let mut after = before.map(|before| Position::at(before, RecordId::NIL));
        loop {
            if self.is_over() {
                return Ok(Some(after.map_or(i64::MAX, |after| after.key)));
            }
            self.pages -= 1;
            let page = {
                let _permit = session.may_read().await?;
                let filter =
                    HistoryFilter { kinds: Kinds::of(&[MessageKind::Text]), ..HistoryFilter::default() };
                let request =
                    PageRequest { slice: Slice::After { after: after.take(), limit: PAGE }, count: false };
                session.services().messages.history(user, room, filter, request).await?
            };
            let roots = page
                .rows
                .iter()
                .filter(|message| session.is_request(message) && message.place().message.is_none());
            if let Some(before) = self.add(session, roots).await? {
                return Ok(Some(before));
            }
            after = page.next;
            if after.is_none() {
                return Ok(None);
            }
        }
    }

    /// The first messages of the tasks of an agent in a room, oldest first, and whether these are all. What continues a task
    /// names one of its messages.
    async fn roots_of_agent(
        &mut self,
        session: &Session,
        agent: AgentCaller,
        room: ChatId,
    ) -> Result<(Vec<Message>, bool), Failure> {
        let (mut after, mut known, mut roots) = (None, HashSet::new(), Vec::new());
        while self.pages > 0 {
            self.pages -= 1;
            let page = {
                let _permit = session.may_read().await?;
                let request = PageRequest { slice: Slice::After { after, limit: PAGE }, count: false };
                session.services().messages.context(agent, room, request).await?
            };
            for message in page.rows {
                let follows = message.place().message.is_some_and(|cause| known.contains(&cause));
                let is_root = !follows && session.is_request(&message);
                if follows || is_root {
                    known.insert(message.id);
                }
                if is_root {
                    roots.push(message);
                }
            }
            after = page.next;
            if after.is_none() {
                return Ok((roots, true));
            }
        }
        Ok((roots, false))
    }

    /// Adds the tasks that match; returns before which sequence to go on if not all were examined.
    async fn add<'m>(
        &mut self,
        session: &Session,
        roots: impl Iterator<Item = &'m Message>,
    ) -> Result<Option<i64>, Failure> {
        for root in roots {
            if self.found.len() >= self.size || self.examined == 0 {
                return Ok(Some(root.sequence.get() + 1));
            }
            self.examined -= 1;
            let tree = match read::tree(session, TaskId { room: root.chat_id, first: root.id }).await {
                Ok(tree) => tree,
                // It was deleted meanwhile, or is too large.
                Err(failure) if failure.is_of_task() => continue,
                Err(failure) => return Err(failure),
            };
            let status = tree.status();
            let wanted = self.request.status.as_ref().filter(|wanted| **wanted != TaskState::Unspecified);
            let is_wanted = wanted.is_none_or(|wanted| *wanted == status.state);
            let is_recent =
                self.request.status_timestamp_after.is_none_or(|after| status.timestamp >= Some(after));
            if is_wanted && is_recent {
                let with_artifacts = self.request.include_artifacts.unwrap_or(false);
                self.found.push(tree.task(self.history, with_artifacts));
            }
        }
        Ok(None)
    }
}

/// Whether the agent is in a room.
async fn is_in(session: &Session, listed: &ListedChat) -> Result<bool, Failure> {
    let agent = ParticipantId::Agent(session.agent.id);
    let Some(shown) = &listed.roster else { return Ok(false) };
    if shown.participants.iter().any(|participant| participant.id == agent) {
        return Ok(true);
    }
    if shown.count <= shown.participants.len() as u64 {
        return Ok(false);
    }
    let _permit = session.may_read().await?;
    let roster = session.services().chats.roster(session.caller, listed.chat.id).await?;
    Ok(roster.find(agent).is_some())
}
