//! Texts, events, and what is read of them.

use std::time::Duration;

use domain::caller::Caller;
use domain::id::{ChatId, Sequence};
use domain::message::{
    Anchor, EventContent, EventMetadata, HistoryFilter, Kinds, MentionKind, MessageContent, MessageKind,
    PostEvent, ReadMessagesError, RequestedMention, SendHeaders, SendMessage,
};
use domain::ports::Clock;
use domain::time::Timestamp;
use domain::transcript::{TranscriptFormat, TranscriptReader};
use domain::usage::{UsageFilter, UsageGroup};
use domain::work::WorkScope;
use serde_json::json;

use super::cast::{Cast, Made, next};
use super::{Act, Played, nothing, played};
use crate::NOON;

impl Cast {
    pub(super) fn messages(&mut self) -> Act {
        match self.rng.below(20) {
            0..9 => self.send(),
            9 | 10 => self.post_event(),
            11 => self.edit(),
            12 => self.delete_message(),
            13 | 14 => self.history(),
            15 => self.transcript(),
            16 => self.surroundings(),
            17 => self.usage(),
            _ => self.context(),
        }
    }

    /// Rarely the sender, and rarely an unknown participant.
    fn mentions(&mut self, chat: ChatId, sender: Caller) -> Vec<RequestedMention> {
        let mut mentions = Vec::<RequestedMention>::new();
        for _ in 0..self.rng.of(&[0, 1, 1, 1, 2, 3]) {
            let mut whom = self.member(chat);
            for _ in 0..4 {
                if whom == sender {
                    whom = self.member(chat);
                }
            }
            let id = Some(whom.participant().uuid().to_string()).filter(|_| !self.rng.one_in(8));
            if id.is_some() && mentions.iter().any(|other| other.id == id) && !self.rng.one_in(8) {
                continue;
            }
            let handle = if id.is_none() { Some(self.handle()) } else { None };
            let kind = self.rng.of(&[MentionKind::Mention, MentionKind::Mention, MentionKind::Reference]);
            mentions.push(RequestedMention { id, handle, kind: Some(kind) });
        }
        mentions
    }

    /// An idempotency key and a trace, or none.
    fn headers(&mut self) -> SendHeaders {
        let traceparent = self.rng.of(&["", "", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"]);
        SendHeaders { once: self.once(), traceparent: traceparent.parse().ok(), client_id: None }
    }

    fn send(&mut self) -> Act {
        let chat = self.chat();
        let (caller, text, headers) = (self.member(chat), self.text(), self.headers());
        let mentions = self.mentions(chat, caller);
        let within = self.rng.maybe(&[0, 15, 60, 3600]).filter(|_| self.rng.one_in(2));
        act!("send", |world, caller, chat, text, mentions, within, headers| {
            let content = match MessageContent::new(text) {
                Ok(content) => content,
                Err(fault) => return played::<(), _>(Err(fault), nothing),
            };
            let respond_by = within.map(|seconds| world.clock.now().plus(Duration::from_secs(seconds)));
            let command =
                SendMessage { content, mentions, respond_by, in_reply_to: None, attachments: Vec::new() };
            let sent = world.messages.send_once(caller, chat, command, headers).await;
            played(sent, |sent| vec![Made::Message(chat, sent.id)])
        })
    }

    fn post_event(&mut self) -> Act {
        let chat = self.chat();
        let (caller, text, headers) = (self.member_agent(chat), self.text(), self.headers());
        let kind = self.rng.of(&MessageKind::ALL);
        let usage =
            json!({"band_usage": {"input_tokens": 1_u64 << 52, "output_tokens": self.rng.of(&[3, 4])}});
        let metadata = self.rng.of(&[json!({}), json!({"kind": "review", "ä": [1.5, null, "x"]}), usage]);
        act!("post_event", |world, caller, chat, kind, text, metadata, headers| {
            let metadata = EventMetadata::new(metadata.as_object().unwrap().clone());
            let (content, metadata) = match (EventContent::new(text), metadata) {
                (Ok(content), Ok(metadata)) => (content, metadata),
                faults => return Played { answer: format!("{faults:?}"), made: Vec::new() },
            };
            let command = PostEvent { kind, content, metadata, in_reply_to: None };
            let posted = world.messages.post_event_once(caller, chat, command, headers).await;
            played(posted, |posted| vec![Made::Message(chat, posted.id)])
        })
    }

    fn edit(&mut self) -> Act {
        let (chat, message) = self.message();
        let (caller, text) = (self.member_user(chat), self.text());
        act!("edit", |world, caller, chat, message, text| {
            match MessageContent::new(text) {
                Ok(content) => played(world.messages.edit(caller, chat, message, content).await, nothing),
                Err(fault) => played::<(), _>(Err(fault), nothing),
            }
        })
    }

    fn delete_message(&mut self) -> Act {
        let (chat, message) = self.message();
        let caller = self.member_user(chat);
        act!("delete_message", |world, caller, chat, message| {
            played(world.messages.delete(caller, chat, message).await, nothing)
        })
    }

    fn kinds(&mut self) -> Kinds {
        let some = Kinds::of(&[MessageKind::Text, MessageKind::Thought]);
        self.rng.of(&[Kinds::ALL, Kinds::ALL, some, Kinds::ALL.without(some), Kinds::NONE])
    }

    fn history(&mut self) -> Act {
        let chat = self.chat();
        let since = NOON + 1_000_000 * self.rng.of(&[-5, 0, 1, 100, 5000, 200_000]);
        let filter = HistoryFilter {
            kinds: self.kinds(),
            since: self.rng.maybe(&[Timestamp::from_micros(since)]),
            ..HistoryFilter::default()
        };
        let (caller, page) = (self.member_user(chat), self.page("history"));
        act!("history", |world, caller, chat, filter, page| {
            played(world.messages.history(caller, chat, filter, page).await, next("history"))
        })
    }

    /// The same bytes on every store.
    fn transcript(&mut self) -> Act {
        let chat = self.chat();
        let (caller, format) = (self.member_user(chat), self.rng.of(&TranscriptFormat::ALL));
        act!("transcript", |world, caller, chat, format| {
            let read = async {
                let mut transcript =
                    world.transcripts.begin(TranscriptReader::User(caller), chat, format).await?;
                let mut all = String::new();
                while let Some(piece) = transcript.next().await? {
                    all.push_str(&piece);
                }
                Ok::<_, ReadMessagesError>(all)
            };
            played(read.await, nothing)
        })
    }

    fn usage(&mut self) -> Act {
        let chat = self.chat();
        let caller = self.member_user(chat);
        let (group, page) = (self.rng.of(&UsageGroup::ALL), self.page("usage"));
        act!("usage", |world, caller, group, page| {
            let scope = WorkScope::OwnedBy(caller.user);
            let listed = world.usage.list(scope, UsageFilter::default(), group, page).await;
            played(listed.map(|list| (list.page, list.sums)), nothing)
        })
    }

    fn surroundings(&mut self) -> Act {
        let (chat, message) = self.message();
        let at = NOON + 1_000_000 * self.rng.of(&[-5, 0, 1, 100, 5000, 200_000]);
        let at = Anchor::At(Timestamp::from_micros(at));
        let from = Anchor::From(Sequence::new(self.rng.of(&[1, 3, 9, 1000])));
        let anchors = [Anchor::After(message), Anchor::Before(message), Anchor::Around(message), at, from];
        let anchor = self.rng.of(&anchors);
        let (caller, kinds, limit) = (self.member_user(chat), self.kinds(), self.rng.of(&[1, 2, 5, 50]));
        act!("surroundings", |world, caller, chat, anchor, kinds, limit| {
            played(world.messages.surroundings(caller, chat, anchor, kinds, limit).await, nothing)
        })
    }

    fn context(&mut self) -> Act {
        let chat = self.chat();
        let (caller, page) = (self.member_agent(chat), self.page("context"));
        act!("context", |world, caller, chat, page| {
            played(world.messages.context(caller, chat, page).await, next("context"))
        })
    }
}
