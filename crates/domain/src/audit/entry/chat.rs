//! Entries about chats, their participants and their messages.

use super::{Actor, AuditEntry, AuditObject, AuditTenant};
use crate::attention::AttentionOutcome;
use crate::audit::AuditAction;
use crate::caller::Caller;
use crate::chat::{
    AddParticipant, Chat, ChatChanges, DeleteChat, RemoveParticipant, RenameChat, SetParticipantRole,
};
use crate::control::{InterruptAgent, SetStopped};
use crate::file::NewFile;
use crate::id::{ChatId, MessageId, OrganizationId, ParticipantId, UserId};
use crate::legal_hold::{HoldSubject, PlaceHold, ReleaseHold};
use crate::message::{DeleteMessage, EditMessage, MaxHops, RespondWithin};
use crate::reminder::Reminder;
use crate::time::Timestamp;
use crate::transcript::TranscriptReader;
use crate::work::{ChangeWork, WorkStep};

/// A limit of hops as a detail.
pub(super) fn hops(max: Option<MaxHops>) -> String {
    max.map_or_else(|| "none".to_owned(), |max| max.get().to_string())
}

impl AuditEntry {
    /// A chat that was made, in this organization; a given title is the detail. A title that derives
    /// from a text goes with it, so it is not kept here.
    pub fn chat_created(chat: &Chat, creator: ParticipantId, organization: OrganizationId) -> Self {
        let (actor, tenant) = (Actor::Participant(creator), AuditTenant::Organization(organization));
        let created =
            Self::new(AuditAction::ChatCreated, actor, AuditObject::Chat(chat.id), tenant, chat.created_at);
        Self { detail: chat.title.clone(), ..created }
    }

    /// A chat that was given another title, default deadline, or limit of hops, which is the detail: an entry for each.
    pub fn chat_renamed(command: &RenameChat) -> Vec<Self> {
        let RenameChat { chat, by, now, changes: ChatChanges { title, respond_within, max_hops } } = command;
        let title = title.as_ref().map(|title| (AuditAction::ChatRenamed, title.as_str().to_owned()));
        let seconds = |within: Option<RespondWithin>| {
            within.map_or_else(|| "none".to_owned(), |within| within.seconds().to_string())
        };
        let deadline = respond_within.map(|within| (AuditAction::ChatDeadlineSet, seconds(within)));
        let max_hops = max_hops.map(|max| (AuditAction::ChatMaxHopsSet, hops(max)));
        let entry = |(action, detail): (AuditAction, String)| {
            let tenant = AuditTenant::Chat(*chat, Some(by.organization()));
            Self::new(action, *by, AuditObject::Chat(*chat), tenant, *now).with_detail(&detail)
        };
        title.into_iter().chain(deadline).chain(max_hops).map(entry).collect()
    }

    /// A chat that was deleted.
    pub fn chat_deleted(command: &DeleteChat) -> Self {
        let actor = command.by.map_or(Actor::Operator, Actor::from);
        let tenant = AuditTenant::Chat(command.chat, command.by.map(Caller::organization));
        Self::new(AuditAction::ChatDeleted, actor, AuditObject::Chat(command.chat), tenant, command.now)
    }

    /// A chat of which a user or the operator made a transcript.
    pub fn chat_exported(chat: ChatId, by: TranscriptReader, detail: &str, now: Timestamp) -> Self {
        let (actor, organization) = match by {
            TranscriptReader::Operator => (Actor::Operator, None),
            TranscriptReader::User(caller) => (Caller::User(caller).into(), Some(caller.organization)),
        };
        let tenant = AuditTenant::Chat(chat, organization);
        Self::new(AuditAction::ChatExported, actor, AuditObject::Chat(chat), tenant, now).with_detail(detail)
    }

    /// Something that waited for a human, the message of which is the subject: a user answered or dismissed it.
    pub fn attention_ended(
        message: MessageId,
        chat: ChatId,
        by: UserId,
        outcome: AttentionOutcome,
        now: Timestamp,
    ) -> Self {
        let is_dismissed = outcome == AttentionOutcome::Dismissed;
        let action =
            if is_dismissed { AuditAction::AttentionDismissed } else { AuditAction::AttentionAnswered };
        let tenant = AuditTenant::ChatOf(chat, by);
        Self::new(action, by, AuditObject::Message(message), tenant, now).in_place(AuditObject::Chat(chat))
    }

    /// A chat whose agents were stopped, or play again.
    pub fn chat_stopped(command: &SetStopped) -> Self {
        let SetStopped { chat, by, stopped, now } = *command;
        let action = if stopped { AuditAction::ChatStopped } else { AuditAction::ChatPlayed };
        let tenant = AuditTenant::Chat(chat, Some(by.organization));
        Self::new(action, Caller::User(by), AuditObject::Chat(chat), tenant, now)
    }

    /// An agent that its owner interrupted.
    pub fn agent_interrupted(command: &InterruptAgent) -> Self {
        let InterruptAgent { by, agent, now, .. } = *command;
        let agent = ParticipantId::Agent(agent);
        Self::new(AuditAction::AgentInterrupted, Caller::User(by), agent, AuditTenant::Of(agent), now)
    }

    /// A participant that was added to a chat.
    pub fn participant_added(command: &AddParticipant, added: ParticipantId) -> Self {
        let AddParticipant { chat, by, now, role, .. } = command;
        Self::of_participant(AuditAction::ParticipantAdded, *by, added, *chat, *now)
            .with_detail(role.as_str())
    }

    /// A participant that was given another role.
    pub fn participant_role_set(command: &SetParticipantRole, changed: ParticipantId) -> Self {
        let SetParticipantRole { chat, by, now, role, .. } = *command;
        Self::of_participant(AuditAction::ParticipantRoleSet, Caller::User(by), changed, chat, now)
            .with_detail(role.as_str())
    }

    /// A participant that was removed from a chat, or left it.
    pub fn participant_removed(command: &RemoveParticipant, removed: ParticipantId) -> Self {
        let left = command.by.participant() == removed;
        let action = if left { AuditAction::ParticipantLeft } else { AuditAction::ParticipantRemoved };
        Self::of_participant(action, command.by, removed, command.chat, command.now)
    }

    fn of_participant(
        action: AuditAction,
        by: Caller,
        participant: ParticipantId,
        chat: ChatId,
        at: Timestamp,
    ) -> Self {
        Self::new(action, by, participant, AuditTenant::Chat(chat, Some(by.organization())), at)
            .in_place(AuditObject::Chat(chat))
    }

    /// A message that its sender edited. Neither text is kept.
    pub fn message_edited(command: &EditMessage) -> Self {
        let EditMessage { chat, message, by, now, .. } = command;
        Self::of_message(AuditAction::MessageEdited, *by, *message, *chat, *now)
    }

    /// A message that its sender deleted.
    pub fn message_deleted(command: &DeleteMessage) -> Self {
        let DeleteMessage { chat, message, by, now, .. } = *command;
        Self::of_message(AuditAction::MessageDeleted, by, message, chat, now)
    }

    /// Texts of a user in a chat, this number of them, that the operator erased.
    pub fn messages_erased(user: UserId, chat: ChatId, number: u64, now: Timestamp) -> Self {
        let tenant = AuditTenant::ChatOf(chat, user);
        Self::new(AuditAction::MessageErased, Actor::Operator, AuditObject::User(user), tenant, now)
            .in_place(AuditObject::Chat(chat))
            .with_detail(number.to_string())
    }

    /// A legal hold that was placed.
    pub fn hold_placed(command: &PlaceHold) -> Self {
        let PlaceHold { subject, reason, now } = command;
        Self::of_hold(AuditAction::LegalHoldPlaced, *subject, *now).with_detail(reason.as_str())
    }

    /// A legal hold that was released.
    pub fn hold_released(command: ReleaseHold) -> Self {
        Self::of_hold(AuditAction::LegalHoldReleased, command.subject, command.now)
    }

    fn of_hold(action: AuditAction, subject: HoldSubject, at: Timestamp) -> Self {
        let tenant = match subject {
            HoldSubject::Chat(chat) => AuditTenant::Chat(chat, None),
            HoldSubject::Organization(organization) => AuditTenant::Organization(organization),
        };
        Self::new(action, Actor::Operator, subject, tenant, at)
    }

    /// A text that was to be sent later, and that a user cancelled.
    pub fn reminder_cancelled(reminder: &Reminder, by: Caller, now: Timestamp) -> Self {
        let tenant = AuditTenant::Chat(reminder.chat, Some(by.organization()));
        Self::new(AuditAction::ReminderCancelled, by, AuditObject::Chat(reminder.chat), tenant, now)
            .with_detail(reminder.id.to_string())
    }

    /// A file that was uploaded to a chat.
    pub fn file_uploaded(new: &NewFile) -> Self {
        let NewFile { file, chat, by, now, .. } = new;
        let tenant = AuditTenant::Chat(*chat, Some(by.organization()));
        Self::new(AuditAction::FileUploaded, *by, AuditObject::Chat(*chat), tenant, *now)
            .with_detail(format!("{} ({} bytes)", file.id, file.bytes))
    }

    /// Work that someone who is responsible for its agent has changed.
    pub fn work_changed(command: &ChangeWork) -> Self {
        let ChangeWork { item, step, now, .. } = command;
        let (action, detail) = match step {
            WorkStep::Retry => (AuditAction::WorkRetried, None),
            WorkStep::DeadLetter(reason) => (AuditAction::WorkDeadLettered, Some(reason.as_str().to_owned())),
            WorkStep::Replace(replacement) => {
                let reassigned = replacement.reassigns;
                let action =
                    if reassigned { AuditAction::WorkReassigned } else { AuditAction::WorkSentAgain };
                (action, Some(format!("{} (message {})", replacement.reason, replacement.new.id)))
            }
        };
        let agent = ParticipantId::Agent(item.agent);
        let (message, tenant) = (AuditObject::Message(item.message), AuditTenant::Of(agent));
        let entry = Self::new(action, item.scope.actor(), message, tenant, *now).in_place(agent);
        Self { detail, ..entry }
    }

    fn of_message(action: AuditAction, by: UserId, message: MessageId, chat: ChatId, at: Timestamp) -> Self {
        Self::new(action, by, AuditObject::Message(message), AuditTenant::ChatOf(chat, by), at)
            .in_place(AuditObject::Chat(chat))
    }
}
