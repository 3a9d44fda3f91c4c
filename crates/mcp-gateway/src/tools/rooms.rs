//! Rooms: listing, reading, adding participants.

use domain::caller::Caller;
use domain::chat::{AddParticipantCommand, ChatListing, ChatParts, ChatSort, Role};
use domain::contact::Handle;
use domain::id::{AccountId, ChatId};
use domain::message::{HistoryFilter, Message};
use domain::page::{Page, PageRequest, Slice};
use http_wire::error::ApiError;
use http_wire::limit::Class;
use http_wire::openapi::schema::{text, word};
use http_wire::strict_json::{FromBody, ObjectReader, Rejected, known};
use serde_json::{Value, json};

use super::{numbered, page, shown};
use crate::session::Session;
use crate::view::{Person, ShownMessage, ShownRoom};

/// The number of rooms on a page.
const ROOMS: u32 = 20;

/// The number of messages on a page.
const MESSAGES: u32 = 30;

/// The arguments of a list.
pub(crate) struct PageArguments {
    page: u32,
}

impl FromBody for PageArguments {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        Ok(Self { page: page(body)? })
    }
}

pub(crate) async fn list(
    session: &Session,
    _: Option<ChatId>,
    PageArguments { page }: PageArguments,
) -> Result<Value, ApiError> {
    let _permit = session.may_read().await?;
    let page = rooms(session, page).await?;
    let rooms = page.rows.iter().map(ShownRoom::new).collect::<Vec<_>>();
    Ok(json!({"rooms": shown(rooms)?, "total": page.total}))
}

/// A page of the caller's rooms, those with the newest changes first.
pub(crate) async fn rooms(session: &Session, page: u32) -> Result<Page<domain::chat::ListedChat>, ApiError> {
    let unread = matches!(session.caller, Caller::User(_));
    let parts = ChatParts { participants: true, unread, ..ChatParts::default() };
    let listing = ChatListing { parts, sort: ChatSort::Updated, ..ChatListing::default() };
    Ok(session.services().chats.list_chats(session.caller, listing, numbered(page, ROOMS)).await?)
}

pub(crate) async fn read(
    session: &Session,
    room: Option<ChatId>,
    PageArguments { page }: PageArguments,
) -> Result<Value, ApiError> {
    let room = session.room(room)?;
    shown_room(session, room, page).await
}

/// A room with its participants and a page of its messages, the newest page first.
pub(crate) async fn shown_room(session: &Session, room: ChatId, page: u32) -> Result<Value, ApiError> {
    let _permit = session.may_read().await?;
    let chats = &session.services().chats;
    let chat = chats.find(session.caller, room).await?;
    let roster = chats.roster(session.caller, room).await?;
    let (messages, has_older) = messages(session, room, page).await?;
    let people = roster.participants.iter().map(|one| Person::participant(one, chats.is_online(one)));
    let messages = messages.iter().map(ShownMessage::short).collect::<Vec<_>>();
    let mut answer = json!({
        "room": room.to_string(), "title": chat.display_title(),
        "participants": shown(people.collect::<Vec<_>>())?, "messages": shown(messages)?,
    });
    if has_older {
        answer["older"] = json!(format!("There are older messages: page {}.", page + 1));
    }
    Ok(answer)
}

/// A page of messages, oldest first, and whether there are older ones; the first page has the newest.
async fn messages(session: &Session, room: ChatId, page: u32) -> Result<(Vec<Message>, bool), ApiError> {
    let messages = &session.services().messages;
    match session.caller {
        Caller::User(user) => {
            let request = numbered(page, MESSAGES);
            let mut found = messages.history(user, room, HistoryFilter::default(), request).await?;
            let has_older = found.next.is_some();
            found.rows.reverse();
            Ok((found.rows, has_older))
        }
        // Agents read from the beginning: the page is the end of a list whose length has to be known.
        Caller::Agent(agent) => {
            let total = messages.context(agent, room, numbered(1, 1)).await?.total.unwrap_or(0);
            let (size, page) = (u64::from(MESSAGES), u64::from(page));
            let end = total.saturating_sub((page - 1) * size);
            let begin = end.saturating_sub(size);
            let first = begin / size;
            let mut rows = Vec::new();
            // The page may span two pages of that list.
            for number in first + 1..=end.div_ceil(size) {
                let number = u32::try_from(number).unwrap_or(u32::MAX);
                let slice = Slice::Numbered { number, size: MESSAGES };
                let request = PageRequest { slice, count: false };
                rows.extend(messages.context(agent, room, request).await?.rows);
            }
            let skipped = usize::try_from(begin - first * size).unwrap_or_default();
            let length = usize::try_from(end - begin).unwrap_or_default();
            Ok((rows.into_iter().skip(skipped).take(length).collect(), begin > 0))
        }
    }
}

/// Whom to add.
pub(crate) struct InviteArguments {
    who: String,
    role: Option<Role>,
}

impl FromBody for InviteArguments {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let about = "The handle, such as `ann` or `ann/helper`, or the id of a user or an agent.";
        let who = body.text("who", text().min(1).about(about), Ok::<_, std::convert::Infallible>);
        let role = body.text_if_given("role", word(Role::WORDS), known(Role::parse));
        Ok(Self { who: who?, role: role? })
    }
}

pub(crate) async fn invite(
    session: &Session,
    room: Option<ChatId>,
    InviteArguments { who, role }: InviteArguments,
) -> Result<Value, ApiError> {
    let room = session.room(room)?;
    let candidate = match AccountId::parse(&who) {
        Some(id) => id,
        None => account(session, &who).await?,
    };
    let command = AddParticipantCommand { candidate, role: role.unwrap_or_default() };
    let chats = &session.services().chats;
    let added = chats.add_participant(session.caller, room, command).await?;
    Ok(json!({
        "added": shown(Person::participant(&added, chats.is_online(&added)))?,
        "next": "Messages in the room can now be addressed to this handle.",
    }))
}

/// The account with a handle. Looking for one counts as on REST.
async fn account(session: &Session, handle: &str) -> Result<AccountId, ApiError> {
    session.check_beyond_rooms()?;
    session.spend(Class::Invitation)?;
    let handle = Handle::new(handle).map_err(|fault| ApiError::validation().with_detail("/who", fault))?;
    let resolved = session.services().contacts.resolve(session.caller, handle).await?;
    Ok(AccountId::new(resolved.profile.id.uuid()))
}
