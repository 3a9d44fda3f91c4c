//! Sending what the person has typed.

use std::time::Duration;

use ::client::text::on_one_line;
use ::client::{ClientError, IdempotencyKey, Participant, Sent, Session, mentioned};
use tokio::time::Instant;

/// How long a text is tried before it counts as not sent.
const SENDING: Duration = Duration::from_secs(30);

/// Sends texts of a user.
pub(super) struct Writer {
    /// The id of the user.
    own: String,
    /// Whether the person knows that agents get only what mentions them.
    was_told: bool,
    /// The last text of which it is unknown whether it was sent.
    unclear: Option<Text>,
}

/// A text to be sent, once, however often it is tried.
struct Text {
    room: String,
    content: String,
    mentions: Vec<String>,
    once: IdempotencyKey,
    /// Whether there are agents in the room, and it mentions none.
    is_unaddressed: bool,
}

impl Writer {
    pub(super) const fn new(own: String) -> Self {
        Self { own, was_told: false, unclear: None }
    }

    /// The last text of which it is unknown whether it was sent.
    pub(super) fn unclear(&self) -> Option<&str> {
        self.unclear.as_ref().map(|unclear| unclear.content.as_str())
    }

    /// Sends a text to those that it mentions. One of which it is unknown whether it was sent is repeated as the same request.
    /// `tell` gets sentences for the person. Returns the handles that can be mentioned.
    pub(super) async fn send(
        &mut self,
        session: &mut Session,
        room: &str,
        text: &str,
        mut tell: impl FnMut(String),
    ) -> Result<Vec<String>, ClientError> {
        let until = Instant::now() + SENDING;
        let mut failed = |error: &ClientError, _: Duration| tell(error.to_string());
        let participants =
            session.persist(until, &mut failed, async |session| session.participants(room).await).await?;
        let unclear = self.unclear.take_if(|unclear| unclear.room == room && unclear.content == text);
        let text = unclear.unwrap_or_else(|| self.compose(room, text, &participants));
        let mentions = text.mentions.iter().map(String::as_str).collect::<Vec<_>>();
        let sent = session
            .persist(until, &mut failed, async |session| {
                session.send(room, &text.content, &mentions, &text.once).await
            })
            .await;
        match sent {
            Ok(sent) => self.warn(&sent, text.is_unaddressed, tell),
            Err(error) => {
                if error.is_unclear() {
                    self.unclear = Some(text);
                }
                return Err(error);
            }
        }
        Ok(self.handles(&participants))
    }

    fn compose(&self, room: &str, text: &str, participants: &[Participant]) -> Text {
        let mentions = mentioned(text, participants, &self.own);
        Text {
            room: room.to_owned(),
            content: text.to_owned(),
            mentions: mentions.iter().map(|participant| participant.id.clone()).collect(),
            once: IdempotencyKey::random(),
            is_unaddressed: mentions.is_empty() && participants.iter().any(Participant::is_agent),
        }
    }

    /// The handles of those in a room who can be mentioned.
    pub(super) fn handles(&self, participants: &[Participant]) -> Vec<String> {
        let others = participants.iter().filter(|participant| participant.id != self.own);
        others.map(|participant| on_one_line(&participant.handle)).collect()
    }

    /// Tells what the person may not expect.
    fn warn(&mut self, sent: &Sent, is_unaddressed: bool, mut tell: impl FnMut(String)) {
        for warning in &sent.warnings {
            let handles =
                warning.handles.iter().map(|handle| format!("@{handle}")).collect::<Vec<_>>().join(", ");
            tell(on_one_line(&format!("{} ({handles})", warning.message)));
        }
        if is_unaddressed && !std::mem::replace(&mut self.was_told, true) {
            tell(
                "no agent gets this text, because it mentions none; to mention one, type @ and its handle"
                    .to_owned(),
            );
        }
    }
}
