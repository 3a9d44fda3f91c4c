//! A question to an agent, and what becomes of it.
//!
//! An answer is a text that mentions the asker and follows from the question: it is in the question's tree. Any agent may have
//! written it, because the question can be passed on. A text of the asked agent also counts if the server does not know what
//! it follows from.

use std::time::Duration;

use tokio::time::Instant;

use crate::error::ClientError;
use crate::feed::{POLL_INTERVAL, Position};
use crate::mention::by_handle;
use crate::model::{Message, Participant, Profile, Receipt};
use crate::session::{IdempotencyKey, Session, Window};
use crate::text::on_one_line;

/// The time that an agent has to begin another attempt after one has failed.
const RETRY_GRACE: Duration = Duration::from_secs(10);

/// The time limit of the requests that ask the question, apart from the wait for the answer.
const ASKING: Duration = Duration::from_secs(60);

/// What to ask.
#[derive(Clone, Debug)]
pub struct Question {
    /// The handle of the agent, with or without `@`.
    pub agent: String,
    /// The text.
    pub text: String,
    /// The id of the room; a new one if absent.
    pub room: Option<String>,
}

/// A question that was asked.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Who asked.
    pub user: Profile,
    /// The agent that was asked.
    pub agent: Participant,
    /// The id of the room.
    pub room: String,
    /// The id of the question.
    pub message: String,
}

/// What became of a question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// There is an answer.
    Answered {
        /// The answer.
        message: Box<Message>,
        /// Its text for a terminal, without the mention of the asker at its start.
        text: String,
    },
    /// The agent's attempt failed, or the message was taken out of its queue.
    Failed {
        /// What happened.
        reason: String,
    },
    /// The agent does not get the question at present.
    Unavailable {
        /// Why.
        reason: String,
    },
    /// There was no answer in time.
    TimedOut {
        /// How far the agent has come.
        reason: String,
    },
}

impl Outcome {
    /// Its name in JSON.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Answered { .. } => "answered",
            Self::Failed { .. } => "failed",
            Self::Unavailable { .. } => "unavailable",
            Self::TimedOut { .. } => "timed_out",
        }
    }
}

/// Something to tell while the question is open.
pub type Notice<'n> = &'n mut dyn FnMut(&str);

impl Question {
    /// Finds the agent, makes a room if there is none, and sends the question. An agent that cannot be asked is an outcome.
    ///
    /// # Errors
    /// The failure of a request.
    pub async fn ask(
        &self,
        session: &mut Session,
        notice: Notice<'_>,
    ) -> Result<Result<Asked, Outcome>, ClientError> {
        let until = Instant::now() + ASKING;
        let mut told = |error: &ClientError, pause: Duration| notice(&waiting(error, pause));
        let user = session.persist(until, &mut told, async |session| session.profile().await).await?;
        let called = self.agent.trim().trim_start_matches('@');
        let found = session
            .persist(until, &mut told, async |session| match &self.room {
                Some(room) => session.participants(room).await,
                None => session.agents(called).await,
            })
            .await?;
        let Some(agent) = by_handle(called, &found).filter(|found| found.is_agent()).cloned() else {
            let reason = match &self.room {
                Some(_) => format!("there is no agent @{called} in the room"),
                None => format!("you cannot add an agent @{called} to a room"),
            };
            return Ok(Err(Outcome::Unavailable { reason }));
        };
        let room = match &self.room {
            Some(room) => room.clone(),
            None => self.new_room(session, &agent, until, &mut told).await?,
        };
        let (once, mentions) = (IdempotencyKey::random(), [agent.id.as_str()]);
        let sent = session
            .persist(until, &mut told, async |session| {
                session.send(&room, &self.text, &mentions, &once).await
            })
            .await;
        if self.room.is_none() && sent.as_ref().is_err_and(|error| !error.is_unclear()) {
            // As above. A question that may have been sent keeps its room.
            let _ = session.delete_room(&room).await;
        }
        let sent = sent?;
        Ok(Ok(Asked { user, agent, room, message: sent.id }))
    }

    async fn new_room(
        &self,
        session: &mut Session,
        agent: &Participant,
        until: Instant,
        mut told: &mut dyn FnMut(&ClientError, Duration),
    ) -> Result<String, ClientError> {
        let once = IdempotencyKey::random();
        let made =
            session.persist(until, &mut told, async |session| session.create_room(&once).await).await?;
        let added =
            session.persist(until, &mut told, async |session| session.add(&made.id, &agent.id).await).await;
        if let Err(error) = added {
            // A room without the agent is of no use; if it cannot be deleted either, it is empty.
            let _ = session.delete_room(&made.id).await;
            return Err(error);
        }
        Ok(made.id)
    }
}

impl Asked {
    /// Waits for the answer, or until it is clear that there will be none.
    ///
    /// # Errors
    /// The failure of a request; one that may pass only if the server could not be reached at the end either.
    pub async fn answer(
        &self,
        session: &mut Session,
        wait: Duration,
        notice: Notice<'_>,
    ) -> Result<Outcome, ClientError> {
        let until = Instant::now() + wait;
        let mut watch = Watch::default();
        let mut position = Position::after(&self.message);
        loop {
            // What an agent wrote before it ended its attempt is there when the receipt says that it has.
            let receipt = session
                .persist(
                    until,
                    |error, pause| notice(&waiting(error, pause)),
                    async |session| session.receipts(&self.room, &self.message).await,
                )
                .await?;
            let receipt = receipt.into_iter().find(|receipt| receipt.id == self.agent.id);
            let mut has_newer = true;
            while has_newer {
                let (found, more) = session
                    .persist(
                        until,
                        |error, pause| notice(&waiting(error, pause)),
                        async |session| position.next(session, &self.room, false).await,
                    )
                    .await?;
                for message in found.iter().filter(|message| self.is_need(message)) {
                    notice(&format!("the agent needs somebody: {}", on_one_line(&message.text())));
                }
                if let Some(message) = found.into_iter().find(|message| self.is_answer(message)) {
                    let text = message.text_for(&self.user.id);
                    return Ok(Outcome::Answered { message: Box::new(message), text });
                }
                has_newer = more;
            }
            match watch.look(receipt.as_ref(), Instant::now()) {
                State::Open { news } => news.into_iter().for_each(&mut *notice),
                State::Unavailable(reason) => return Ok(Outcome::Unavailable { reason: reason.to_owned() }),
                State::Failed(what) => {
                    let why = session
                        .persist(
                            until,
                            |error, pause| notice(&waiting(error, pause)),
                            async |session| self.reason(session).await,
                        )
                        .await?;
                    let reason = why.map_or_else(|| what.to_owned(), |why| format!("{what}: {why}"));
                    return Ok(Outcome::Failed { reason });
                }
            }
            if Instant::now() + POLL_INTERVAL > until {
                return Ok(watch.at_the_end(receipt.as_ref()));
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Returns whether a text answers the question.
    fn is_answer(&self, message: &Message) -> bool {
        if !message.is_text() || message.sender_id == self.user.id || !message.addresses(&self.user.id) {
            return false;
        }
        match message.cause() {
            Some(cause) if !cause.ambiguous => cause.root_id == self.message,
            _ => message.sender_id == self.agent.id,
        }
    }

    /// Returns whether the agent waits for somebody before it can answer.
    fn is_need(&self, message: &Message) -> bool {
        let follows = message.cause().is_none_or(|cause| cause.ambiguous || cause.root_id == self.message);
        message.message_type == "attention" && message.sender_id == self.agent.id && follows
    }

    /// Why the agent failed, or why the message was taken out of its queue.
    async fn reason(&self, session: &mut Session) -> Result<Option<String>, ClientError> {
        let found = session.messages(&self.room, Window::One(&self.message), false).await?;
        let question = found.rows.into_iter().find(|message| message.id == self.message);
        let record = question.map(|question| question.delivery(&self.agent.id)).unwrap_or_default();
        let error = record.attempts.into_iter().filter_map(|attempt| attempt.error).next_back();
        Ok(record.dead_reason.or(error).map(|reason| on_one_line(&reason)))
    }
}

fn waiting(error: &ClientError, pause: Duration) -> String {
    format!("{error}; trying again in {} s", pause.as_secs().max(1))
}

/// What was seen of the agent's work.
#[derive(Default)]
struct Watch {
    status: String,
    /// Whether it was told that the agent is not connected.
    was_told_absent: bool,
    failed_at: Option<Instant>,
}

/// Whether there may still be an answer.
#[derive(PartialEq, Eq, Debug)]
enum State {
    Open { news: Option<&'static str> },
    Unavailable(&'static str),
    Failed(&'static str),
}

impl Watch {
    /// What a receipt means. Without one, the agent has left the room and its work is not recorded any longer.
    fn look(&mut self, receipt: Option<&Receipt>, now: Instant) -> State {
        let Some(receipt) = receipt else { return State::Unavailable("the agent has left the room") };
        let status = receipt.status.as_str();
        let is_new = self.status != status;
        status.clone_into(&mut self.status);
        let failed_at = (status == "failed").then(|| self.failed_at.filter(|_| !is_new).unwrap_or(now));
        self.failed_at = failed_at;
        match status {
            // It was sent again as another message. An answer to that one is in the same tree.
            "dead" if receipt.replaced_by.is_some() => {
                State::Open { news: is_new.then_some("the question was sent again") }
            }
            "dead" => State::Failed("the question was taken out of the agent's queue"),
            "held" => State::Unavailable("a limit or a policy of the organization holds the question"),
            "processed" => State::Open {
                news: is_new.then_some("the agent has processed the question but has not answered yet"),
            },
            _ if !receipt.in_room => State::Unavailable("the agent has left the room"),
            _ if receipt.paused => State::Unavailable("the agent is paused; the question waits for it"),
            _ if receipt.stopped => {
                State::Unavailable("the agent is stopped in the room; the question waits for it")
            }
            "failed" if failed_at.is_some_and(|at| now.duration_since(at) >= RETRY_GRACE) => {
                State::Failed("the agent's attempt failed")
            }
            "failed" => {
                State::Open { news: is_new.then_some("the agent's attempt failed; it may try again") }
            }
            "new" if !receipt.connected => {
                let is_news = !std::mem::replace(&mut self.was_told_absent, true);
                State::Open {
                    news: is_news.then_some("the agent is not connected; the question waits for it"),
                }
            }
            "processing" => State::Open { news: is_new.then_some("the agent is working on the question") },
            _ => State::Open { news: None },
        }
    }

    /// The outcome if there was no answer in time.
    fn at_the_end(&self, receipt: Option<&Receipt>) -> Outcome {
        let is_absent = receipt.is_some_and(|receipt| !receipt.connected);
        let reason = match self.status.as_str() {
            "new" if is_absent => {
                let reason = "the agent is not connected; the question waits for it".to_owned();
                return Outcome::Unavailable { reason };
            }
            "failed" => return Outcome::Failed { reason: "the agent's attempt failed".to_owned() },
            "new" | "delivered" => "the agent has not begun to work on the question",
            "processing" => "the agent is still working on the question",
            "processed" => "the agent has processed the question without answering it",
            _ => "there was no answer",
        };
        Outcome::TimedOut { reason: reason.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::model::tests::{ANN, with};

    const QUESTION: &str = "0190c5a4-0000-7000-8000-0000000000d4";

    fn asked() -> Asked {
        let participant = |id: &str| Participant {
            id: id.to_owned(),
            handle: "ann/echo".to_owned(),
            kind: "Agent".to_owned(),
        };
        Asked {
            user: Profile { id: ANN.to_owned(), handle: "ann".to_owned() },
            agent: participant("s"),
            room: "r".to_owned(),
            message: QUESTION.to_owned(),
        }
    }

    fn text(cause: Option<Value>, kind: &str) -> Message {
        let mut metadata = json!({ "mentions": [{ "id": ANN, "handle": "ann", "kind": kind }] });
        if let Some(cause) = cause {
            metadata["cause"] = cause;
        }
        with("yes", metadata)
    }

    #[test]
    fn an_answer_is_addressed_to_the_asker_and_follows_from_the_question() {
        let (own, other) = (json!({ "root_id": QUESTION }), json!({ "root_id": "other" }));
        let unclear = json!({ "root_id": "other", "ambiguous": true });
        let is_answer = |message: &Message| asked().is_answer(message);
        assert!(is_answer(&text(Some(own.clone()), "mention")));
        assert!(is_answer(&text(None, "mention")) && is_answer(&text(Some(unclear.clone()), "mention")));
        assert!(!is_answer(&text(Some(other), "mention")), "an answer to something else");
        assert!(!is_answer(&text(Some(own.clone()), "reference")), "it only names the asker");
        let passed_on = |cause| Message { sender_id: "another".to_owned(), ..text(cause, "mention") };
        assert!(is_answer(&passed_on(Some(own.clone()))));
        assert!(!is_answer(&passed_on(None)) && !is_answer(&passed_on(Some(unclear))));
        let own_text = Message { sender_id: ANN.to_owned(), ..text(Some(own.clone()), "mention") };
        let event = Message { message_type: "thought".to_owned(), ..text(Some(own), "mention") };
        assert!(!is_answer(&own_text) && !is_answer(&event));
        let need = Message {
            message_type: "attention".to_owned(),
            ..text(Some(json!({ "root_id": QUESTION })), "mention")
        };
        assert!(asked().is_need(&need) && !is_answer(&need) && !asked().is_need(&event));
        assert!(!asked().is_need(&Message { sender_id: "another".to_owned(), ..need }));
    }

    fn receipt(status: &str) -> Receipt {
        Receipt {
            id: "s".to_owned(),
            status: status.to_owned(),
            connected: true,
            stopped: false,
            paused: false,
            in_room: true,
            replaced_by: None,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn receipts_tell_whether_there_may_be_an_answer() {
        let look = |receipt: Receipt| Watch::default().look(Some(&receipt), Instant::now());
        let is_open = |receipt: Receipt| matches!(look(receipt), State::Open { .. });
        for status in ["new", "delivered", "processing", "processed", "failed", "a status to come"] {
            assert!(is_open(receipt(status)), "{status}");
        }
        assert!(is_open(Receipt { replaced_by: Some("m".to_owned()), ..receipt("dead") }));
        assert!(is_open(Receipt { connected: false, ..receipt("new") }), "a webhook may wake it");
        assert!(matches!(look(receipt("dead")), State::Failed(_)));
        for receipt in [
            receipt("held"),
            Receipt { stopped: true, ..receipt("new") },
            Receipt { paused: true, ..receipt("processing") },
            Receipt { in_room: false, ..receipt("new") },
        ] {
            assert!(matches!(look(receipt.clone()), State::Unavailable(_)), "{receipt:?}");
        }
        assert!(matches!(Watch::default().look(None, Instant::now()), State::Unavailable(_)));
    }

    /// An agent that tries again has not failed.
    #[tokio::test(start_paused = true)]
    async fn an_attempt_that_fails_is_the_end_unless_another_begins() {
        let mut watch = Watch::default();
        let mut at = |seconds: u64, status: &str| {
            watch.look(Some(&receipt(status)), Instant::now() + Duration::from_secs(seconds))
        };
        assert!(matches!(at(0, "failed"), State::Open { news: Some(_) }));
        assert_eq!(at(9, "failed"), State::Open { news: None });
        assert!(matches!(at(9, "processing"), State::Open { news: Some(_) }));
        assert!(matches!(at(12, "failed"), State::Open { news: Some(_) }));
        assert_eq!(at(21, "failed"), State::Open { news: None });
        assert!(matches!(at(22, "failed"), State::Failed(_)));
    }

    #[tokio::test(start_paused = true)]
    async fn without_an_answer_the_last_receipt_tells_why() {
        let end = |receipt: Receipt| {
            let mut watch = Watch::default();
            watch.look(Some(&receipt), Instant::now());
            watch.at_the_end(Some(&receipt)).as_str()
        };
        for (status, outcome) in [
            ("new", "timed_out"),
            ("delivered", "timed_out"),
            ("processing", "timed_out"),
            ("processed", "timed_out"),
            ("failed", "failed"),
        ] {
            assert_eq!(end(receipt(status)), outcome, "{status}");
        }
        assert_eq!(end(Receipt { connected: false, ..receipt("new") }), "unavailable");
        assert_eq!(end(Receipt { connected: false, ..receipt("processing") }), "timed_out");
    }
}
