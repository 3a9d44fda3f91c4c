//! The rooms of a user with what is unread in each, read again and again.

use crate::error::ClientError;
use crate::model::Room;
use crate::session::Session;

/// The number of rounds after which the whole list is read. A room that is gone further down is noticed only then.
const WHOLE: u32 = 15;

/// The rooms, the last changed first.
#[derive(Default, Debug)]
pub struct RoomList {
    rooms: Vec<Room>,
    rounds: u32,
}

impl RoomList {
    /// Reads the list as far as it has changed.
    ///
    /// # Errors
    /// The failure of a request. The next call goes on with the list as it was.
    pub async fn read(&mut self, session: &mut Session) -> Result<&[Room], ClientError> {
        let is_whole = self.rounds.is_multiple_of(WHOLE);
        let mut listed = Vec::new();
        let mut cursor = None;
        loop {
            let page = session.rooms(cursor.as_deref(), true).await?;
            let is_news = page.rows.last().is_some_and(|last| self.is_news(last));
            listed.extend(page.rows);
            cursor = page.next;
            if cursor.is_none() || !(is_whole || is_news) {
                break;
            }
        }
        self.rounds = self.rounds.wrapping_add(1);
        self.note(listed, cursor.is_none());
        Ok(&self.rooms)
    }

    /// Returns whether rooms behind this one, which changed before it, may have news.
    fn is_news(&self, room: &Room) -> bool {
        !self.rooms.iter().any(|known| known.id == room.id && known.updated_at == room.updated_at)
    }

    /// Takes over the beginning of the list, and if that is not the whole, keeps what was behind it.
    fn note(&mut self, listed: Vec<Room>, is_whole: bool) {
        let before = std::mem::replace(&mut self.rooms, listed);
        if let Some(last) = self.rooms.last().filter(|_| !is_whole).map(|last| last.updated_at.clone()) {
            let is_listed = |room: &Room| self.rooms.iter().any(|listed| listed.id == room.id);
            let kept = before.into_iter().filter(|room| room.updated_at <= last && !is_listed(room));
            let kept = kept.collect::<Vec<_>>();
            self.rooms.extend(kept);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rooms(listed: &[(&str, &str)]) -> Vec<Room> {
        let room = |(id, at): &(&str, &str)| {
            let value = serde_json::json!({ "id": id, "title": id, "last_message_at": at, "updated_at": at });
            serde_json::from_value(value).unwrap()
        };
        listed.iter().map(room).collect()
    }

    fn ids(list: &RoomList) -> Vec<&str> {
        list.rooms.iter().map(|room| room.id.as_str()).collect()
    }

    #[test]
    fn a_page_renews_the_beginning_of_the_list() {
        let mut list = RoomList::default();
        list.note(rooms(&[("a", "t9"), ("b", "t8"), ("c", "t7"), ("d", "t6")]), true);
        assert!(list.is_news(&rooms(&[("b", "t9")])[0]) && !list.is_news(&rooms(&[("b", "t8")])[0]));
        // c has moved up, and b is gone: it would be between the two.
        list.note(rooms(&[("c", "ta"), ("a", "t9"), ("e", "t7")]), false);
        assert_eq!(ids(&list), ["c", "a", "e", "d"]);
        list.note(rooms(&[("c", "ta")]), true);
        assert_eq!(ids(&list), ["c"]);
        list.note(Vec::new(), true);
        assert!(ids(&list).is_empty());
    }
}
