//! A batch in rooms that are as they were after an earlier one: decided on what is remembered of them, and written
//! by one statement, which writes nothing unless that is still so.
//!
//! Every change of a room, of its participants or of how many messages it has writes its row, so the version of the
//! row (`xmin`, the transaction that wrote it last) tells whether anything has changed since. What limits messages
//! but stands elsewhere, the plan, the statement asks for itself. A membership that became active meanwhile is the
//! only thing that it may overlook, and changes nothing: who is active here was so before.
//!
//! The version is that of one database: what is remembered is forgotten with the first connection that is made after
//! it, since a database that was restored or whose place a standby has taken may give numbers of transactions that
//! were lost a second time.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;
use std::time::Duration;

use diesel::sql_types::{Array, BigInt, Text, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::chat::ParticipantStatus;
use domain::message::{Message, NewMessage, RoomState};
use tokio::time::Instant;
use uuid::Uuid;

use super::batch::{Decided, Room, wanted};
use super::insert;
use crate::error::Fault;
use crate::run::{Db, durable};
use crate::statement::statement;

/// How much is remembered, in rooms and memberships; about thirty megabytes.
const MOST: usize = 200_000;

/// For how long a room is remembered at the most: what somebody writes into the tables by hand counts then.
const LONGEST: Duration = Duration::from_secs(60);

/// How many batches with a room go the long way after one that did not fit: where several servers write in turns, a
/// statement that does not fit is a round trip for nothing.
const REST: u8 = 8;

/// Rooms as the last batch has left them.
#[derive(Default)]
pub(super) struct Remembered {
    rooms: HashMap<Uuid, RememberedRoom>,
    /// How many rooms and memberships there are.
    size: usize,
    /// How many connections had been made when the first of them was remembered.
    connections: u64,
}

struct RememberedRoom {
    state: RoomState,
    version: String,
    members: HashMap<Uuid, ParticipantStatus>,
    read_at: Instant,
    /// How many batches are still to go the long way.
    rest: u8,
}

impl Remembered {
    /// Decides the batch; `None` if that needs more than is remembered, or if more is to be written than messages
    /// and their deliveries.
    pub(super) fn decide(&mut self, news: &[NewMessage], connections: u64) -> Option<Decided> {
        if self.connections != connections {
            *self = Self { connections, ..Self::default() };
        }
        if news.iter().any(|new| new.claim.is_some()) {
            return None;
        }
        for (chat, _) in wanted(news) {
            if self.rooms.get(&chat).is_some_and(|room| room.read_at.elapsed() >= LONGEST) {
                self.forget_room(chat);
            }
        }
        if self.rests(news) {
            return None;
        }
        let (mut rooms, mut members) = (HashMap::new(), HashMap::new());
        for (chat, who) in wanted(news) {
            let room = self.rooms.get(&chat)?;
            members.insert((chat, who), *room.members.get(&who)?);
            rooms.entry(chat).or_insert_with(|| Room::at(room.state.clone(), room.version.clone()));
        }
        let mut decided = Decided::on(rooms, members);
        for (place, new) in news.iter().enumerate() {
            let outcome = decided.decide(place, new);
            decided.outcomes.push(outcome);
        }
        decided.is_plain().then_some(decided)
    }

    /// Whether the batch goes the long way for a room that did not fit a few batches ago.
    fn rests(&mut self, news: &[NewMessage]) -> bool {
        let chats = news.iter().map(|new| new.chat.uuid()).collect::<HashSet<_>>();
        let mut rests = false;
        for chat in chats {
            if let Some(room) = self.rooms.get_mut(&chat).filter(|room| room.rest > 0) {
                room.rest -= 1;
                rests = true;
            }
        }
        rests
    }

    /// A batch did not fit: somebody else writes in one of its rooms. Which one nobody knows, so all of them are
    /// left alone for a while.
    pub(super) fn misfit(&mut self, decided: &Decided) {
        for (id, _) in decided.written() {
            if let Some(room) = self.rooms.get_mut(&id) {
                room.rest = REST;
            }
        }
    }

    /// A batch was committed.
    pub(super) fn keep(&mut self, decided: &Decided, connections: u64) {
        let Some(version) = decided.version.as_ref().filter(|_| self.connections == connections) else {
            return;
        };
        if self.size >= MOST {
            self.forget();
        }
        for (id, room) in decided.written() {
            if room.state.plan.is_none() {
                self.keep_room(id, room, version);
            } else {
                self.forget_room(id);
            }
        }
        for ((chat, who), status) in decided.members() {
            if let Some(room) = self.rooms.get_mut(&chat)
                && room.version == *version
                && room.members.insert(who, status).is_none()
            {
                self.size += 1;
            }
        }
    }

    /// Who was in the room stays known if nobody has written in between.
    fn keep_room(&mut self, id: Uuid, room: &Room, version: &str) {
        let state = room.state.clone();
        if let Some(known) = self.rooms.get_mut(&id).filter(|known| known.version == room.version) {
            known.state = state;
            version.clone_into(&mut known.version);
            return;
        }
        let rest = self.rooms.get(&id).map_or(0, |known| known.rest);
        self.forget_room(id);
        let (version, members) = (version.to_owned(), HashMap::new());
        self.rooms.insert(id, RememberedRoom { state, version, members, read_at: Instant::now(), rest });
        self.size += 1;
    }

    fn forget_room(&mut self, id: Uuid) {
        if let Some(before) = self.rooms.remove(&id) {
            self.size -= 1 + before.members.len();
        }
    }

    /// Something may not be as it is remembered.
    pub(super) fn forget(&mut self) {
        self.rooms.clear();
        self.size = 0;
    }
}

/// What is held is held to the end of the statement, and nothing is waited for: rooms that somebody else holds do not
/// fit, nor do those whose row has another version by now.
const HELD: &str = "held AS MATERIALIZED (SELECT chats.id, chats.organization_id \
     FROM unnest(?, ?) AS seen (id, version) JOIN chats ON chats.id = seen.id \
     WHERE chats.xmin::text = seen.version AND chats.deleted_at IS NULL \
     FOR NO KEY UPDATE OF chats SKIP LOCKED)";

/// Whether all of the rooms are held, and none has a plan that limits messages or does not allow more bytes.
const FIT: &str = "fit AS MATERIALIZED (SELECT (SELECT count(*) FROM held) = ? AND (SELECT count(*) FROM durable) >= 0 AND NOT EXISTS (\
     SELECT 1 FROM (SELECT DISTINCT organization_id AS id FROM held) AS own \
     JOIN organizations ON organizations.id = own.id JOIN plans ON plans.name = organizations.plan \
     WHERE plans.messages IS NOT NULL OR organizations.content_bytes >= plans.bytes) AS all_of_it)";

/// The statement is a transaction of its own, and asks for a durable commit like every other ([`begin`]).
const DURABLE: &str = concat!("durable AS MATERIALIZED (", durable!("true"), ")");

static WRITE: LazyLock<String> = LazyLock::new(|| {
    let (insert, deliver, follow) = (insert::MESSAGES, insert::DELIVERIES, insert::ROOMS);
    format!(
        "WITH {DURABLE}, {HELD}, {FIT}, \
         message AS ({insert} WHERE (SELECT all_of_it FROM fit)), \
         delivery AS ({deliver} WHERE (SELECT all_of_it FROM fit)), \
         room AS ({follow} AND (SELECT all_of_it FROM fit) RETURNING chats.xmin) \
         SELECT xmin::text FROM room LIMIT 1"
    )
});

/// Writes a batch that was decided on what is remembered, and commits it. `false` if a room is not as it is
/// remembered any more: then nothing is written.
pub(super) async fn write_on(mut db: &Db, decided: &mut Decided) -> Result<bool, Fault> {
    let messages =
        decided.outcomes.iter().flatten().map(|appended| &appended.message).collect::<Vec<&Message>>();
    let (ids, versions) =
        decided.written().map(|(id, room)| (id, room.version.as_str())).unzip::<_, _, Vec<_>, Vec<_>>();
    let rooms = i64::try_from(ids.len()).unwrap_or(i64::MAX);
    let statement = statement::<Text>(WRITE.as_str())
        .bind::<Array<SqlUuid>, _>(ids)
        .bind::<Array<Text>, _>(versions)
        .bind::<BigInt, _>(rooms);
    let statement = insert::bind_deliveries(insert::bind_messages(statement, &messages)?, &messages);
    let statement = insert::bind_rooms(statement, decided.written().map(|(id, room)| (id, &room.state)));
    decided.version = statement.load::<String>(&mut db).await?.pop();
    Ok(decided.version.is_some())
}

#[cfg(test)]
mod tests {
    use domain::chat::ChatTitle;
    use domain::id::{ChatId, MessageId, ParticipantId, UserId};
    use domain::idempotency::{Claim, Fingerprint, IdempotencyKey, Once, Operation};
    use domain::message::{Mention, MentionKind, MessageKind, RoomPlan};
    use domain::time::Timestamp;

    use super::*;

    const ROOM: Uuid = Uuid::from_u128(1);
    const ANN: Uuid = Uuid::from_u128(2);

    fn state(awaits_title: bool) -> RoomState {
        RoomState {
            awaits_title,
            last_sequence: 4,
            deleted_messages: 0,
            newest: None,
            content_bytes: 0,
            plan: None,
        }
    }

    fn message(mentions: &[Uuid]) -> NewMessage {
        let mention = |id: &Uuid| Mention {
            id: ParticipantId::User(UserId::new(*id)),
            handle: String::new(),
            name: String::new(),
            kind: MentionKind::Mention,
        };
        NewMessage {
            id: MessageId::new(Uuid::from_u128(9)),
            chat: ChatId::new(ROOM),
            sender: ParticipantId::User(UserId::new(ANN)),
            sender_name: "Ann".to_owned(),
            sender_handle: "ann".to_owned(),
            kind: MessageKind::Text,
            content: "hello".to_owned(),
            mentions: mentions.iter().map(mention).collect(),
            metadata: None,
            title_if_untitled: ChatTitle::given(Some("hello")).unwrap(),
            claim: None,
            now: Timestamp::from_micros(100),
        }
    }

    /// What a batch with one message of Ann's has left, of a room that was read in this version.
    fn committed(state: RoomState, read: &str, now: &str, status: ParticipantStatus) -> Decided {
        let rooms = HashMap::from([(ROOM, Room::at(state, read.to_owned()))]);
        let mut decided = Decided::on(rooms, HashMap::from([((ROOM, ANN), status)]));
        let outcome = decided.decide(0, &message(&[]));
        decided.outcomes.push(outcome);
        decided.version = Some(now.to_owned());
        decided
    }

    fn remembered(state: RoomState, status: ParticipantStatus) -> Remembered {
        let mut remembered = Remembered::default();
        assert!(remembered.decide(&[message(&[])], 1).is_none(), "nothing is remembered yet");
        remembered.keep(&committed(state, "7", "8", status), 1);
        remembered
    }

    fn places(decided: Option<Decided>) -> Vec<i64> {
        let decided = decided.unwrap();
        let all = decided.outcomes.into_iter().map(|outcome| outcome.unwrap().message.sequence);
        all.collect()
    }

    #[test]
    fn a_room_is_remembered_as_it_was_left() {
        let mut remembered = remembered(state(true), ParticipantStatus::Inactive);
        // The first message has given the title and made its sender active.
        assert_eq!(places(remembered.decide(&[message(&[]), message(&[])], 1)), [6, 7]);
        assert_eq!(
            places(remembered.decide(&[message(&[])], 1)),
            [6],
            "what is only decided is not remembered"
        );
    }

    #[test]
    fn what_is_not_known_is_not_decided() {
        let known = || remembered(state(false), ParticipantStatus::Active);
        assert!(known().decide(&[message(&[])], 1).is_some());
        assert!(known().decide(&[message(&[Uuid::from_u128(3)])], 1).is_none(), "whom it mentions");
        let elsewhere = NewMessage { chat: ChatId::new(Uuid::from_u128(5)), ..message(&[]) };
        assert!(known().decide(&[message(&[]), elsewhere], 1).is_none(), "another room");
        let once = Once { key: IdempotencyKey::new("once").unwrap(), fingerprint: Fingerprint::new([1; 32]) };
        let sender = message(&[]).sender;
        let claim = Claim { sender, operation: Operation::SendMessage, place: None, once };
        let claimed = NewMessage { claim: Some(claim), ..message(&[]) };
        assert!(known().decide(&[claimed], 1).is_none(), "whether it was sent before");
        assert!(known().decide(&[message(&[])], 2).is_none(), "another connection");
        let mut forgotten = known();
        forgotten.forget();
        assert!(forgotten.decide(&[message(&[])], 1).is_none());
    }

    #[test]
    fn a_plan_that_limits_is_asked_for_each_time() {
        let (name, messages) = ("small".to_owned(), Some(9));
        let plan = Some(RoomPlan { name, messages, bytes: None, organization_bytes: 0 });
        let limited = RoomState { plan, ..state(false) };
        assert!(remembered(limited, ParticipantStatus::Active).decide(&[message(&[])], 1).is_none());
    }

    /// Somebody else has written the room in between, and may have removed who was there.
    #[test]
    fn who_was_there_before_a_change_is_not_believed_after_it() {
        let mut known = remembered(state(false), ParticipantStatus::Active);
        let mut other = committed(state(false), "10", "11", ParticipantStatus::Active);
        let ben = Uuid::from_u128(3);
        other.members = HashMap::from([((ROOM, ben), ParticipantStatus::Active)]);
        known.keep(&other, 1);
        assert!(known.decide(&[message(&[])], 1).is_none());
        let mut same = remembered(state(false), ParticipantStatus::Active);
        let mut next = committed(state(false), "8", "9", ParticipantStatus::Active);
        next.members = HashMap::from([((ROOM, ben), ParticipantStatus::Active)]);
        same.keep(&next, 1);
        assert!(same.decide(&[message(&[ben])], 1).is_some());
        assert_eq!(same.size, 3);
    }

    /// Another server writes in the same room: one batch in nine finds out that it still does.
    #[test]
    fn a_room_that_did_not_fit_goes_the_long_way_for_a_while() {
        let mut known = remembered(state(false), ParticipantStatus::Active);
        let decided = known.decide(&[message(&[])], 1).unwrap();
        known.misfit(&decided);
        for turn in 0..REST {
            assert!(known.decide(&[message(&[])], 1).is_none(), "batch {turn}");
            let (read, now) = (format!("{turn} elsewhere"), format!("{turn} here"));
            known.keep(&committed(state(false), &read, &now, ParticipantStatus::Active), 1);
        }
        assert!(known.decide(&[message(&[])], 1).is_some());
    }

    #[test]
    fn nothing_is_remembered_for_long() {
        let mut known = remembered(state(false), ParticipantStatus::Active);
        known.rooms.get_mut(&ROOM).unwrap().read_at -= LONGEST;
        assert!(known.decide(&[message(&[])], 1).is_none());
        // The long way has read it again, in the same version.
        known.keep(&committed(state(false), "8", "9", ParticipantStatus::Active), 1);
        assert!(known.decide(&[message(&[])], 1).is_some());
        assert_eq!(known.size, 2);
    }
}
