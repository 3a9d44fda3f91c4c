//! What waits for a human, as clients see it.

use domain::attention::{
    AnsweredBy, Asker, AttentionId, AttentionItem, AttentionLine, AttentionOutcome, AttentionState, Decision,
    SHOWN_CHARS, WorkLine,
};
use domain::contact::{ContactRequest, RequestStatus};
use domain::id::{AgentId, ChatId, ContactRequestId, MessageId, ParticipantId, UserId};
use domain::time::Timestamp;
use domain::webhook::FailingWebhook;
use domain::work::WorkFlag;
use serde::Serialize;

use super::Shown;

/// Something that waits for a human, or did.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct AttentionView<'a> {
    /// Identifies the item in paths. Not always a UUID.
    #[schema(value_type = String)]
    id: Shown<AttentionId>,
    /// `question`, `assumption`, `failure`, or `review` of an agent; `approval`, of an adapter that asks whether a tool may
    /// run; `deadline`, `held`, or `budget`, of the server; `work`, or `contact_request`; `webhook`: the webhook of an
    /// agent keeps failing or was disabled. More may be added.
    kind: &'static str,
    /// `open`, `answered`, or `expired`.
    state: &'static str,
    /// How an answered item ended: `answered`, `dismissed`, or `resolved` by its asker or by the server. Null otherwise.
    outcome: Option<&'static str>,
    /// Set if the asker cannot go on without an answer.
    blocking: bool,
    /// Null for contact requests and webhooks.
    chat: Option<AttentionChatView<'a>>,
    /// Who asks: an agent, or the sender of a contact request. For work and webhooks, the agent. Null for notices of the
    /// server.
    asker: Option<AskerView<'a>>,
    /// The first 500 characters of the text, of an approval 4,000, with `@handle` for mentions.
    summary: String,
    /// The event or text in the room; for work, the oldest message. Null for contact requests and webhooks.
    #[schema(value_type = Option<super::Id>)]
    message_id: Option<Shown<MessageId>>,
    #[schema(value_type = super::Instant)]
    inserted_at: Shown<Timestamp>,
    /// When the asker stops waiting. Null if it does not.
    #[schema(value_type = Option<super::Instant>)]
    expires_at: Option<Shown<Timestamp>>,
    /// What the asker does if nobody answers in time, if it said so; in a list, the first 500 characters.
    default: Option<&'a str>,
    /// What can be done: `answer` with a text, a decision (`approve`, `approve_session`, `decline`), `dismiss`; for work,
    /// `retry` and `dead_letter`, with the operations on work. Empty if it was answered, and for webhooks, which end when
    /// they work again, are enabled, changed, or removed. An approval that is too long to be
    /// shown whole can only be declined here.
    answers: Vec<&'static str>,
    /// The user who answered or dismissed it.
    answered_by: Option<AnsweredByView<'a>>,
    /// When it was answered, dismissed, or resolved.
    #[schema(value_type = Option<super::Instant>)]
    answered_at: Option<Shown<Timestamp>>,
    /// The text that answered it.
    #[schema(value_type = Option<super::Id>)]
    answer_id: Option<Shown<MessageId>>,
    /// Null for all other kinds than `work`.
    work: Option<AttentionWorkView>,
    /// Null for all other kinds than `contact_request`.
    #[schema(value_type = Option<super::Id>)]
    contact_request_id: Option<Shown<ContactRequestId>>,
}

/// The room of an item.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct AttentionChatView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<ChatId>,
    title: Option<&'a str>,
}

/// Who asks.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct AskerView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<ParticipantId>,
    /// `User` or `Agent`.
    r#type: &'static str,
    /// Null if the account was deleted.
    handle: Option<&'a str>,
    name: &'a str,
}

/// The user who answered.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct AnsweredByView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<UserId>,
    handle: &'a str,
    name: &'a str,
}

/// The flagged work of an agent in a room.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct AttentionWorkView {
    #[schema(value_type = super::Id)]
    agent_id: Shown<AgentId>,
    /// `unanswered`, `stuck`, `failing`, `dead`, and `held`, as far as they apply. More may be added.
    flags: Vec<&'static str>,
    /// The number of messages, of the oldest 100 with each flag.
    count: usize,
}

impl<'a> AskerView<'a> {
    fn new(id: ParticipantId, handle: Option<&'a str>, name: &'a str) -> Self {
        Self { id: Shown(id), r#type: id.kind().as_str(), handle, name }
    }
}

impl<'a> AttentionView<'a> {
    /// Shows a line as it is at `now`.
    pub fn new(line: &'a AttentionLine, now: Timestamp) -> Self {
        match line {
            AttentionLine::Item(item) => Self::item(item, now),
            AttentionLine::Work(work) => Self::work(work, line.id()),
            AttentionLine::Contact(request) => Self::contact(request, line.id()),
            AttentionLine::Webhook(webhook) => Self::webhook(webhook, line.id()),
        }
    }

    /// Shows a line of a list, with the beginning of its default only.
    pub fn listed(line: &'a AttentionLine, now: Timestamp) -> Self {
        let view = Self::new(line, now);
        let beginning =
            |text: &'a str| text.char_indices().nth(SHOWN_CHARS).map_or(text, |(end, _)| &text[..end]);
        Self { default: view.default.map(beginning), ..view }
    }

    /// Shows an item as it is at `now`.
    pub fn item(item: &'a AttentionItem, now: Timestamp) -> Self {
        let state = item.state(now);
        let asker = |asker: &'a Asker| AskerView::new(asker.id, asker.handle.as_deref(), &asker.name);
        let by = |by: &'a AnsweredBy| AnsweredByView { id: Shown(by.id), handle: &by.handle, name: &by.name };
        let ended = item.ended.filter(|_| state == AttentionState::Answered);
        Self {
            state: state.as_str(),
            outcome: ended.map(|(outcome, _)| AttentionOutcome::as_str(outcome)),
            blocking: item.is_blocking,
            chat: Some(AttentionChatView { id: Shown(item.chat), title: item.title.as_deref() }),
            asker: item.asker().map(asker),
            message_id: Some(Shown(item.message)),
            expires_at: item.expires_at.map(Shown),
            default: item.default.as_deref(),
            answers: answers(item),
            answered_by: item.answered_by.as_ref().map(by),
            answered_at: ended.map(|(_, at)| Shown(at)),
            answer_id: item.answer.map(Shown),
            ..Self::empty(
                AttentionId::Item(item.message),
                item.kind.as_str(),
                item.summary.clone(),
                item.created_at,
            )
        }
    }

    fn work(work: &'a WorkLine, id: AttentionId) -> Self {
        let agent = &work.agent;
        Self {
            chat: Some(AttentionChatView { id: Shown(work.chat), title: work.title.as_deref() }),
            asker: Some(AskerView::new(ParticipantId::Agent(agent.id), Some(&agent.handle), &agent.name)),
            message_id: Some(Shown(work.message)),
            answers: if work.is_dead() { vec!["retry"] } else { vec!["retry", "dead_letter"] },
            work: Some(AttentionWorkView {
                agent_id: Shown(agent.id),
                flags: work.flags.iter().copied().map(WorkFlag::as_str).collect(),
                count: work.count,
            }),
            ..Self::empty(id, "work", work.summary(), work.written_at)
        }
    }

    fn contact(request: &'a ContactRequest, id: AttentionId) -> Self {
        let ContactRequest { requester, recipient, message, .. } = request;
        let said = message.as_ref().map(|said| format!(": {said}")).unwrap_or_default();
        let asks = format!("@{} wants to become a contact of @{}{said}", requester.handle, recipient.handle);
        let is_pending = request.status == RequestStatus::Pending;
        let decisions = || [Decision::Approve, Decision::Decline].map(Decision::as_str).to_vec();
        let state = if is_pending { AttentionState::Open } else { AttentionState::Answered };
        Self {
            state: state.as_str(),
            outcome: (!is_pending).then(|| AttentionOutcome::Answered.as_str()),
            asker: Some(AskerView::new(requester.id, Some(&requester.handle), &requester.name)),
            answers: is_pending.then(decisions).unwrap_or_default(),
            answered_at: request.responded_at.map(Shown),
            contact_request_id: Some(Shown(request.id)),
            ..Self::empty(
                id,
                "contact_request",
                AttentionItem::summary_of(&asks, &[], SHOWN_CHARS),
                request.created_at,
            )
        }
    }

    fn webhook(webhook: &'a FailingWebhook, id: AttentionId) -> Self {
        let asker = AskerView::new(ParticipantId::Agent(webhook.agent), Some(&webhook.handle), &webhook.name);
        Self { asker: Some(asker), ..Self::empty(id, "webhook", webhook.summary(), webhook.since) }
    }

    fn empty(id: AttentionId, kind: &'static str, summary: String, at: Timestamp) -> Self {
        Self {
            id: Shown(id),
            kind,
            state: AttentionState::Open.as_str(),
            outcome: None,
            blocking: false,
            chat: None,
            asker: None,
            summary,
            message_id: None,
            inserted_at: Shown(at),
            expires_at: None,
            default: None,
            answers: Vec::new(),
            answered_by: None,
            answered_at: None,
            answer_id: None,
            work: None,
            contact_request_id: None,
        }
    }
}

/// What can be done with an item.
fn answers(item: &AttentionItem) -> Vec<&'static str> {
    if !item.is_unanswered() {
        return Vec::new();
    }
    let mut answers = item.decisions().into_iter().map(Decision::as_str).collect::<Vec<_>>();
    if answers.is_empty() && item.asker().is_some() {
        answers.push("answer");
    }
    answers.push("dismiss");
    answers
}
