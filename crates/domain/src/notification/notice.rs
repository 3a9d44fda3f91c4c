//! What a notification says. Pure.
//!
//! Names of rooms and people, and texts, are what anybody has written. They are made one line without control characters here,
//! whatever the receiver does with them.

use super::channel::ShownContent;
use super::link::NotificationAction;
use super::model::{NotificationKind, Subject, SubjectContent};
use crate::attention::{Asker, AttentionKind, Decision};
use crate::id::{ChatId, MessageId, NotificationId};

/// The maximum number of characters of an excerpt.
const EXCERPT_CHARS: usize = 500;

/// The maximum number of characters of a title or name.
const NAME_CHARS: usize = 100;

/// The end of a text that is not shown whole.
const CUT: char = '…';

/// What is said about one message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoticeItem {
    /// The notification.
    pub id: NotificationId,
    /// What it is about.
    pub kind: NotificationKind,
    /// The chat, and the message; `None` for a test.
    pub place: Option<(ChatId, MessageId)>,
    /// Set if somebody cannot go on without an answer.
    pub is_blocking: bool,
    /// What has happened, in a sentence without a stop.
    pub what: &'static str,
    /// The title of the room, if it is shown.
    pub room: Option<String>,
    /// Who wrote, if it is shown.
    pub from: Option<String>,
    /// The beginning of the text, if it is shown.
    pub excerpt: Option<String>,
}

/// What a notification says: about one message, or about several.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Notice {
    /// About each message.
    pub items: Vec<NoticeItem>,
}

impl Notice {
    /// The title, in one line.
    pub fn title(&self) -> String {
        match self.items.as_slice() {
            [one] if one.is_blocking => format!("{}, and somebody waits for it", one.what),
            [one] => one.what.to_owned(),
            items => format!("{} notifications", items.len()),
        }
    }

    /// The text, in lines.
    pub fn lines(&self) -> Vec<String> {
        let [one] = self.items.as_slice() else {
            return self.items.iter().map(|item| format!("- {}", item.in_one_line())).collect();
        };
        let named =
            |name: &str, value: &Option<String>| value.as_ref().map(|value| format!("{name}: {value}"));
        [named("Room", &one.room), named("From", &one.from), one.excerpt.clone()]
            .into_iter()
            .flatten()
            .collect()
    }

    /// Returns whether somebody cannot go on without an answer.
    pub fn is_blocking(&self) -> bool {
        self.items.iter().any(|item| item.is_blocking)
    }
}

impl NoticeItem {
    fn in_one_line(&self) -> String {
        let mut line = self.what.to_owned();
        if let Some(room) = &self.room {
            line = format!("{line}, in {room}");
        }
        if let Some(from) = &self.from {
            line = format!("{line}, from {from}");
        }
        match &self.excerpt {
            Some(excerpt) => format!("{line}: {excerpt}"),
            None => line,
        }
    }
}

/// What is said about these messages on a channel that shows this much.
pub fn notice_of(subjects: &[Subject], shown: ShownContent) -> Notice {
    Notice { items: subjects.iter().map(|subject| item_of(subject, shown)).collect() }
}

fn item_of(Subject { notification, content }: &Subject, shown: ShownContent) -> NoticeItem {
    let place = Some((notification.chat, notification.message));
    let (what, is_blocking, room, sender, summary) = match content {
        SubjectContent::Item(item) => {
            (what(item.kind), item.is_blocking, &item.title, item.asker(), item.summary.as_str())
        }
        SubjectContent::Mention { title, sender, summary } => {
            ("You were mentioned", false, title, Some(sender), summary.as_str())
        }
        SubjectContent::Test => ("This is a test", false, &None, None, ""),
    };
    let has_title = shown != ShownContent::None;
    let excerpt =
        (shown == ShownContent::Excerpt && !summary.is_empty()).then(|| one_line(summary, EXCERPT_CHARS));
    NoticeItem {
        id: notification.id,
        kind: notification.kind,
        place: place.filter(|_| notification.kind != NotificationKind::Test),
        is_blocking,
        what,
        room: room.as_ref().filter(|_| has_title).map(|title| one_line(title, NAME_CHARS)),
        from: sender.filter(|_| has_title).map(name),
        excerpt,
    }
}

const fn what(kind: AttentionKind) -> &'static str {
    match kind {
        AttentionKind::Question => "A question waits for your answer",
        AttentionKind::Assumption => "An agent has made an assumption",
        AttentionKind::Failure => "An agent has failed",
        AttentionKind::Review => "A review waits for you",
        AttentionKind::Approval => "An approval waits for your decision",
        AttentionKind::Deadline => "A deadline was missed",
        AttentionKind::Held => "Messages are held",
        AttentionKind::Budget => "A budget is used up, or nearly so",
    }
}

fn name(who: &Asker) -> String {
    let name = one_line(&who.name, NAME_CHARS);
    match &who.handle {
        Some(handle) => format!("{name} (@{})", one_line(handle, NAME_CHARS)),
        None => name,
    }
}

/// What a link can do with the message of a notification. A tool is approved only by somebody who was shown all of the
/// request.
pub(super) fn actions_of(content: &SubjectContent, shown: ShownContent) -> Vec<NotificationAction> {
    let SubjectContent::Item(item) = content else { return Vec::new() };
    if item.approval.is_none() {
        // What somebody waits for takes a text.
        let is_dismissed = item.kind.is_notice() || !item.is_blocking;
        return is_dismissed.then_some(NotificationAction::Dismiss).into_iter().collect();
    }
    let is_whole = shown == ShownContent::Excerpt && item.summary.chars().count() <= EXCERPT_CHARS;
    let decisions = item.decisions().into_iter();
    let decisions = decisions.filter(|decision| is_whole || *decision == Decision::Decline);
    decisions.map(NotificationAction::Decide).collect()
}

/// A text of at most this many characters in one line: runs of white space, control characters, and marks of text direction
/// are one space.
pub fn one_line(text: &str, most_chars: usize) -> String {
    let mut line = String::new();
    let mut words = text.split(|c: char| c.is_whitespace() || c.is_control() || is_format(c));
    let mut chars = 0;
    for word in words.by_ref().filter(|word| !word.is_empty()) {
        if chars > 0 {
            line.push(' ');
            chars += 1;
        }
        for c in word.chars() {
            if chars >= most_chars {
                line.push(CUT);
                return line;
            }
            line.push(c);
            chars += 1;
        }
    }
    line
}

/// Returns whether a character changes how others are shown, and is not shown itself.
const fn is_format(c: char) -> bool {
    matches!(c, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests;
