//! The parts that `include` adds to a chat, whether it is shown alone or in a list.

use domain::activity::ActivityService;
use domain::chat::{ChatParts, ChatService, ListedChat};
use http_wire::view::ListedChatView;

/// The optional parts of chats and of their list.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Include {
    AgentRooms,
    Participants,
    LastMessage,
    Membership,
    Unread,
    TotalCount,
    MessageCounts,
}

/// The words of a list.
pub(super) const OF_LIST: [(&str, Include); 6] = [
    ("agent_rooms", Include::AgentRooms),
    ("participants", Include::Participants),
    ("last_message", Include::LastMessage),
    ("membership", Include::Membership),
    ("unread", Include::Unread),
    ("total_count", Include::TotalCount),
];

/// The words of one chat.
pub(super) const OF_CHAT: [(&str, Include); 5] = [
    ("participants", Include::Participants),
    ("last_message", Include::LastMessage),
    ("membership", Include::Membership),
    ("unread", Include::Unread),
    ("message_counts", Include::MessageCounts),
];

/// The parts of each chat; humans always see the details.
pub(super) fn parts(included: &[Include]) -> ChatParts {
    let wants = |item| included.contains(&item);
    ChatParts {
        details: true,
        participants: wants(Include::Participants),
        last_message: wants(Include::LastMessage),
        membership: wants(Include::Membership),
        unread: wants(Include::Unread),
    }
}

/// Shows a chat with the parts that were asked for.
pub(super) fn shown<'a>(
    listed: &'a ListedChat,
    parts: ChatParts,
    chats: &ChatService,
    activity: &ActivityService,
) -> ListedChatView<'a> {
    let work = activity.work_status(listed.chat.id, listed.details());
    ListedChatView::new(listed, work, parts, |one| chats.is_online(one))
}
