//! New messages of one room, or of all rooms of a user, in the order of each room.
//!
//! The server is asked once a second. Each room has a position, the last message that was taken from it, and everything
//! behind it is read. So nothing is lost and nothing comes twice, whatever happens to connections and servers, and however
//! long the client was away.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::error::ClientError;
use crate::model::{Message, Room};
use crate::session::{Session, Window};

/// The pause between two requests for new messages.
pub const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Where to begin.
#[derive(Clone, Debug)]
pub enum Start {
    /// With the newest messages of the room, at most a hundred.
    Newest(usize),
    /// With the messages after this time, in the form of the API.
    After(String),
}

/// A message with its room.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shown {
    /// The title of the room; absent if there is only one room.
    pub title: Option<String>,
    /// The message.
    pub message: Message,
}

/// How often a room is read after it has changed: once more than needed, since another change at the same moment would not
/// alter its stamp.
const READS: u8 = 2;

/// New messages.
pub struct Feed {
    source: Source,
    texts_only: bool,
    ready: VecDeque<Shown>,
}

enum Source {
    One { room: String, start: Start, position: Option<Position> },
    All(AllRooms),
}

/// All rooms of the user.
struct AllRooms {
    /// In a room that is seen for the first time, messages after this time are new. If it is not given, it is that of
    /// the last change before the first round.
    since: Option<String>,
    /// Whether it was given.
    is_given: bool,
    rooms: BTreeMap<String, Followed>,
}

/// A room among all.
struct Followed {
    title: String,
    /// The last change that was seen.
    stamp: Stamp,
    /// How often it is to be read.
    reads: u8,
    /// The time after which its messages are new, until the first of them is read.
    since: String,
    position: Option<Position>,
}

type Stamp = (Option<String>, String);

/// The last message that was taken from a room.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Position {
    sequence: i64,
    /// Absent if there is none, or if it was deleted.
    id: Option<String>,
}

impl Feed {
    /// The messages of one room.
    pub fn of_room(room: String, start: Start, texts_only: bool) -> Self {
        let source = Source::One { room, start, position: None };
        Self { source, texts_only, ready: VecDeque::new() }
    }

    /// The messages of all rooms in which the user takes part, also of those that come later: after this time, or from now
    /// on.
    pub fn of_all(since: Option<String>, texts_only: bool) -> Self {
        let is_given = since.is_some();
        let source = Source::All(AllRooms { since, is_given, rooms: BTreeMap::new() });
        Self { source, texts_only, ready: VecDeque::new() }
    }

    /// The next message that was read and not taken.
    pub fn take(&mut self) -> Option<Shown> {
        self.ready.pop_front()
    }

    /// Reads what is new; returns whether there is more. What was read before a failure is kept, and the next call goes on
    /// behind it.
    ///
    /// # Errors
    /// The failure of a request. For one room, `not_found` means that the user cannot read it any longer.
    pub async fn read(&mut self, session: &mut Session) -> Result<bool, ClientError> {
        let Self { source, texts_only, ready } = self;
        match source {
            Source::One { room, start, position } => {
                let (messages, has_newer) = match position {
                    None => {
                        let (begun, messages, has_newer) = begin(session, room, start, *texts_only).await?;
                        *position = Some(begun);
                        (messages, has_newer)
                    }
                    Some(position) => position.next(session, room, *texts_only).await?,
                };
                ready.extend(messages.into_iter().map(|message| Shown { title: None, message }));
                Ok(has_newer)
            }
            Source::All(all) => all.read(session, *texts_only, ready).await,
        }
    }
}

impl AllRooms {
    async fn read(
        &mut self,
        session: &mut Session,
        texts_only: bool,
        ready: &mut VecDeque<Shown>,
    ) -> Result<bool, ClientError> {
        self.list(session).await?;
        let mut has_more = false;
        for id in self.due() {
            let Some(room) = self.rooms.get_mut(&id) else { continue };
            match room.read(session, &id, texts_only).await {
                Ok((messages, has_newer)) => {
                    let title = Some(room.title.clone());
                    ready.extend(messages.into_iter().map(|message| Shown { title: title.clone(), message }));
                    room.reads -= u8::from(!has_newer);
                    has_more |= has_newer;
                }
                // It was deleted, or the user was removed, after the list was read. Whoever is added again reads on.
                Err(error) if error.is_not_found() => room.reads = 0,
                Err(error) => return Err(error),
            }
        }
        Ok(has_more)
    }

    /// The rooms to read.
    fn due(&self) -> Vec<String> {
        let due = self.rooms.iter().filter(|(_, room)| room.reads > 0);
        due.map(|(id, _)| id.clone()).collect()
    }

    /// Reads the list of rooms as far as it has changed.
    async fn list(&mut self, session: &mut Session) -> Result<(), ClientError> {
        let is_first = self.rooms.is_empty();
        let mut listed = Vec::new();
        let mut cursor = None;
        loop {
            let page = session.rooms(cursor.as_deref(), false).await?;
            let has_changed = page.rows.last().is_some_and(|last| self.is_news(last, is_first));
            listed.extend(page.rows);
            cursor = page.next;
            if !has_changed || cursor.is_none() {
                break;
            }
        }
        self.note(listed);
        Ok(())
    }

    /// Returns whether rooms behind this one, which changed before it, may have news. In the first round, these are the
    /// rooms that changed after a given time.
    fn is_news(&self, room: &Room, is_first: bool) -> bool {
        if is_first {
            return self.is_given && self.since.as_ref().is_some_and(|since| room.updated_at > *since);
        }
        self.rooms.get(&room.id).is_none_or(|known| known.stamp != stamp(room))
    }

    /// Notes what the list says: which rooms are to be read.
    fn note(&mut self, listed: Vec<Room>) {
        let newest = || listed.iter().flat_map(times).max().map(str::to_owned);
        let is_first = self.since.is_none();
        let start = self.since.clone().or_else(newest).unwrap_or_default();
        for room in listed {
            let stamp = stamp(&room);
            let known = self.rooms.entry(room.id).or_insert_with(|| {
                // Without a given time, what the first list has is not new.
                let (stamp, since) = if is_first {
                    (stamp.clone(), room.last_message_at.unwrap_or_default())
                } else {
                    ((None, String::new()), start.clone())
                };
                Followed { title: String::new(), stamp, reads: 0, since, position: None }
            });
            known.title = room.title;
            if known.stamp != stamp {
                known.stamp = stamp;
                known.reads = READS;
            }
        }
        self.since = Some(start);
    }
}

impl Followed {
    async fn read(
        &mut self,
        session: &mut Session,
        id: &str,
        texts_only: bool,
    ) -> Result<(Vec<Message>, bool), ClientError> {
        if let Some(position) = &mut self.position {
            return position.next(session, id, texts_only).await;
        }
        let start = Start::After(self.since.clone());
        let (position, messages, has_newer) = begin(session, id, &start, texts_only).await?;
        self.position = Some(position);
        Ok((messages, has_newer))
    }
}

fn stamp(room: &Room) -> Stamp {
    (room.last_message_at.clone(), room.updated_at.clone())
}

fn times(room: &Room) -> impl Iterator<Item = &str> {
    room.last_message_at.as_deref().into_iter().chain([room.updated_at.as_str()])
}

/// The position at which to begin, the first messages, and whether there are more.
async fn begin(
    session: &mut Session,
    room: &str,
    start: &Start,
    texts_only: bool,
) -> Result<(Position, Vec<Message>, bool), ClientError> {
    let (found, first) = match start {
        Start::Newest(count) => {
            let found = session.messages(room, Window::Newest((*count).max(1)), texts_only).await?;
            let first = found.rows.len().saturating_sub(*count);
            (found, first)
        }
        Start::After(time) if time.is_empty() => {
            (session.messages(room, Window::From(1), texts_only).await?, 0)
        }
        Start::After(time) => {
            let found = session.messages(room, Window::At(time), texts_only).await?;
            let first = first_after(&found.rows, time);
            (found, first)
        }
    };
    let position = Position::default().behind(found.rows.last());
    let (mut rows, has_newer) = (found.rows, found.has_newer);
    Ok((position, rows.split_off(first), has_newer))
}

/// The index of the first message after a time. Messages of one moment are in the order of their sequence, in which a later
/// one may have an earlier time.
fn first_after(rows: &[Message], time: &str) -> usize {
    let at = rows.iter().rposition(|message| message.inserted_at == time);
    let later = || rows.iter().position(|message| message.inserted_at.as_str() > time);
    at.map_or_else(|| later().unwrap_or(rows.len()), |at| at + 1)
}

impl Position {
    /// The position behind a message with this id.
    pub(crate) fn after(id: &str) -> Self {
        Self { sequence: 0, id: Some(id.to_owned()) }
    }

    /// The messages behind this position, and whether there are more. It moves behind them.
    pub(crate) async fn next(
        &mut self,
        session: &mut Session,
        room: &str,
        texts_only: bool,
    ) -> Result<(Vec<Message>, bool), ClientError> {
        if let Some(id) = &self.id {
            match session.messages(room, Window::After(id), texts_only).await {
                // The message was deleted, or the room cannot be read any longer, which the next request shows.
                Err(error) if error.is_not_found() => self.id = None,
                Err(error) => return Err(error),
                Ok(found) => return Ok(self.advance(found.rows, found.has_newer)),
            }
        }
        let found = session.messages(room, Window::From(self.sequence + 1), texts_only).await?;
        Ok(self.advance(found.rows, found.has_newer))
    }

    /// Moves behind these messages; returns those that are new.
    fn advance(&mut self, mut rows: Vec<Message>, has_newer: bool) -> (Vec<Message>, bool) {
        let before = self.sequence;
        *self = std::mem::take(self).behind(rows.last());
        rows.retain(|message| message.sequence > before);
        (rows, has_newer)
    }

    /// The position behind a message. Without one, nothing changes.
    fn behind(self, last: Option<&Message>) -> Self {
        match last {
            Some(last) => Self { sequence: self.sequence.max(last.sequence), id: Some(last.id.clone()) },
            None => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tests::text;

    fn room(id: &str, last: &str) -> Room {
        let value = serde_json::json!({ "id": id, "title": id, "last_message_at": last, "updated_at": last });
        serde_json::from_value(value).unwrap()
    }

    fn all(since: Option<&str>) -> AllRooms {
        AllRooms { since: since.map(str::to_owned), is_given: since.is_some(), rooms: BTreeMap::new() }
    }

    /// Lists rooms; returns which are to be read, and counts them as read.
    fn due(rooms: &mut AllRooms, listed: &[(&str, &str)]) -> Vec<String> {
        rooms.note(listed.iter().map(|(id, last)| room(id, last)).collect());
        let due = rooms.due();
        rooms.rooms.values_mut().for_each(|room| room.reads = room.reads.saturating_sub(1));
        due
    }

    #[test]
    fn a_room_is_read_when_it_has_changed_and_once_more() {
        let mut rooms = all(None);
        assert!(due(&mut rooms, &[("b", "t2"), ("a", "t1")]).is_empty(), "what was there is not new");
        assert_eq!(due(&mut rooms, &[("a", "t3"), ("b", "t2")]), ["a"]);
        assert_eq!(rooms.rooms["a"].since, "t1");
        assert_eq!(due(&mut rooms, &[("a", "t3")]), ["a"], "a change at the same moment");
        assert!(due(&mut rooms, &[("a", "t3"), ("b", "t2")]).is_empty());
        assert_eq!(due(&mut rooms, &[("c", "t4"), ("a", "t3")]), ["c"]);
        assert_eq!(rooms.rooms["c"].since, "t2", "a room that comes later shows what came after the start");
        // It is read although the list does not go as far any longer.
        assert_eq!(due(&mut rooms, &[("d", "t5")]), ["c", "d"]);
    }

    #[test]
    fn from_a_given_time_on_rooms_are_read_at_once() {
        let mut rooms = all(Some("t2"));
        assert!(rooms.is_news(&room("x", "t3"), true) && !rooms.is_news(&room("x", "t2"), true));
        assert_eq!(due(&mut rooms, &[("b", "t3")]), ["b"]);
        assert_eq!(rooms.rooms["b"].since, "t2");
        assert!(rooms.is_news(&room("b", "t4"), false) && !rooms.is_news(&room("b", "t3"), false));
    }

    #[test]
    fn a_position_only_moves_forward() {
        let mut position = Position { sequence: 5, id: None };
        // A window around the position has older messages as well.
        let (new, _) =
            position.advance(vec![text("m4", 4, "t4"), text("m6", 6, "t6"), text("m7", 7, "t7")], true);
        assert_eq!(new.iter().map(|message| message.sequence).collect::<Vec<_>>(), [6, 7]);
        assert_eq!(position, Position { sequence: 7, id: Some("m7".to_owned()) });
        let (new, _) = position.advance(Vec::new(), false);
        assert_eq!((new.len(), position.sequence), (0, 7));
        // The last message was deleted, and nothing is new.
        let (new, _) = position.advance(vec![text("m4", 4, "t4")], false);
        assert_eq!((new.len(), position), (0, Position { sequence: 7, id: Some("m4".to_owned()) }));
    }

    #[test]
    fn messages_after_a_time_are_found_by_their_order() {
        let rows = [text("a", 1, "t1"), text("b", 2, "t3"), text("c", 3, "t2"), text("d", 4, "t4")];
        assert_eq!(first_after(&rows, "t3"), 2, "its clock was behind, but it came later");
        assert_eq!(first_after(&rows, "t0"), 0);
        assert_eq!(first_after(&rows, "t25"), 1);
        assert_eq!(first_after(&rows, "t9"), 4);
    }
}
