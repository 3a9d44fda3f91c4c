//! A task, derived from the messages of its tree. Pure.

use std::collections::{HashMap, HashSet};
use std::fmt;

use a2a::{
    Artifact, Part, Role, StreamResponse, Task, TaskArtifactUpdateEvent, TaskState, TaskStatus,
    TaskStatusUpdateEvent,
};
use chrono::DateTime;
use domain::delivery::DeliveryStatus;
use domain::id::{AgentId, ChatId, MessageId, ParticipantId, Sequence};
use domain::message::{Message, MessageKind};
use domain::time::Timestamp;
use serde_json::{Value, json};

/// The id of a task: its room, and its first message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TaskId {
    pub(crate) room: ChatId,
    pub(crate) first: MessageId,
}

impl TaskId {
    /// Reads an id.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (room, first) = text.split_once('.')?;
        Some(Self { room: ChatId::parse(room)?, first: MessageId::parse(first)? })
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.room, self.first)
    }
}

/// The messages of a task as its caller reads them, and what its state depends on besides.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Tree {
    pub(crate) id: TaskId,
    pub(crate) caller: ParticipantId,
    pub(crate) agent: AgentId,
    /// The first message, and what follows from it, oldest first.
    pub(crate) messages: Vec<Message>,
    /// What has become of the newest text of the caller to the agent.
    pub(crate) outcome: Outcome,
}

/// What has become of a message at the agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Outcome {
    pub(crate) status: DeliveryStatus,
    /// The time since which it has this status.
    pub(crate) since: Timestamp,
    /// Set if its sender has cancelled it.
    pub(crate) is_cancelled: bool,
    /// Set if the agent has left the room.
    pub(crate) has_left: bool,
}

/// The state of a task.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Derived<'m> {
    pub(crate) state: TaskState,
    /// The time since which it is in this state.
    since: Timestamp,
    /// The message that says why.
    message: Option<&'m Message>,
}

/// What tells one state of a task from another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Mark {
    state: TaskState,
    message: Option<MessageId>,
}

/// Something new in a task.
pub(crate) struct Update {
    /// The sequence up to which a client that gets it knows the task.
    pub(crate) sequence: Sequence,
    pub(crate) event: StreamResponse,
}

/// Whether a message is a text of the caller to the agent.
pub(crate) fn is_request(message: &Message, caller: ParticipantId, agent: AgentId) -> bool {
    message.kind == MessageKind::Text
        && message.sender == caller
        && message.addressed_agents().contains(&agent)
}

/// Whether a task in this state waits for its caller, or has ended.
pub(crate) fn is_settled(state: &TaskState) -> bool {
    state.is_terminal() || *state == TaskState::InputRequired
}

impl Tree {
    /// The messages of `read` that belong to the task, which are the first one and those that follow from it. `read` is
    /// oldest first. What an agent cannot read may be between; if the task begins a tree, all of the tree names its root.
    pub(crate) fn members(root: MessageId, read: Vec<Message>) -> Vec<Message> {
        let mut known = HashSet::from([root]);
        let belongs = |message: &Message| {
            let place = message.place();
            let follows = place.message.is_some_and(|cause| known.contains(&cause));
            let is_member = message.id == root || follows || place.root == root;
            if is_member {
                known.insert(message.id);
            }
            is_member
        };
        read.into_iter().filter(belongs).collect()
    }

    /// The texts of the caller to the agent, oldest first.
    pub(crate) fn requests(&self) -> impl DoubleEndedIterator<Item = &Message> {
        self.messages.iter().filter(|message| is_request(message, self.caller, self.agent))
    }

    /// The newest message that a text of the caller can answer.
    pub(crate) fn newest(&self) -> Option<MessageId> {
        self.messages.last().map(|message| message.id)
    }

    /// The sequence of the newest message.
    pub(crate) fn sequence(&self) -> Sequence {
        self.messages.last().map_or_else(Sequence::default, |message| message.sequence)
    }

    /// The state of the task.
    pub(crate) fn state(&self) -> Derived<'_> {
        let Outcome { status, since, is_cancelled, has_left } = self.outcome;
        let plain = |state| Derived { state, since, message: None };
        match (status, self.question()) {
            (DeliveryStatus::Dead, _) if is_cancelled => plain(TaskState::Canceled),
            (DeliveryStatus::Dead | DeliveryStatus::Failed, _) => plain(TaskState::Failed),
            (DeliveryStatus::Processed, None) => plain(TaskState::Completed),
            // Nobody will work on it, or read an answer.
            _ if has_left => plain(TaskState::Failed),
            (_, Some(question)) => Derived {
                state: TaskState::InputRequired,
                since: question.created_at,
                message: Some(question),
            },
            (DeliveryStatus::Processing, None) => plain(TaskState::Working),
            (DeliveryStatus::New | DeliveryStatus::Delivered | DeliveryStatus::Held, None) => {
                plain(TaskState::Submitted)
            }
        }
    }

    /// The question that the agent has asked last, if it has said nothing to the caller since.
    fn question(&self) -> Option<&Message> {
        let asked = self.requests().next_back()?;
        let newest = self.messages.iter().rev().take_while(|message| message.sequence > asked.sequence);
        let mut said = newest.filter(|message| self.is_of_agent(message));
        let last = said.find(|message| match message.kind {
            MessageKind::Text => self.is_to_caller(message),
            MessageKind::Attention => is_question(message),
            _ => false,
        })?;
        (last.kind == MessageKind::Attention || last.respond_by.is_some()).then_some(last)
    }

    fn is_of_agent(&self, message: &Message) -> bool {
        message.sender == ParticipantId::Agent(self.agent)
    }

    fn is_to_caller(&self, message: &Message) -> bool {
        message.mentions.iter().any(|mention| mention.id == self.caller)
    }

    /// The texts of the agent after a sequence, oldest first.
    pub(crate) fn answers(&self, after: Sequence) -> impl Iterator<Item = &Message> {
        self.messages.iter().filter(move |message| {
            message.kind == MessageKind::Text && self.is_of_agent(message) && message.sequence > after
        })
    }

    /// The task as clients see it, with the newest `history` messages; all if that is `None`.
    pub(crate) fn task(&self, history: Option<usize>, with_artifacts: bool) -> Task {
        let texts = self.messages.iter().filter(|message| message.kind == MessageKind::Text);
        let texts = texts.collect::<Vec<_>>();
        let shown = &texts[texts.len().saturating_sub(history.unwrap_or(texts.len()))..];
        let history = shown.iter().map(|message| self.message(message)).collect::<Vec<_>>();
        let artifacts = self.answers(Sequence::default()).map(|answer| self.artifact(answer));
        let artifacts = artifacts.collect::<Vec<_>>();
        Task {
            id: self.id.to_string(),
            context_id: self.id.room.to_string(),
            status: self.status(),
            artifacts: (with_artifacts && !artifacts.is_empty()).then_some(artifacts),
            history: (!history.is_empty()).then_some(history),
            metadata: self.metadata(self.sequence()),
        }
    }

    /// The state as clients see it.
    pub(crate) fn status(&self) -> TaskStatus {
        let Derived { state, since, message } = self.state();
        let timestamp = DateTime::from_timestamp_micros(since.micros());
        TaskStatus { state, message: message.map(|message| self.message(message)), timestamp }
    }

    /// The mark of the state.
    pub(crate) fn mark(&self) -> Mark {
        let Derived { state, message, .. } = self.state();
        Mark { state, message: message.map(|message| message.id) }
    }

    /// What is new for a client that knows the task up to a sequence: the answers after it, and the state, unless the client
    /// knows that.
    pub(crate) fn updates(&self, after: Sequence, knows_state: bool) -> impl Iterator<Item = Update> {
        let artifact = |answer: &Message| TaskArtifactUpdateEvent {
            task_id: self.id.to_string(),
            context_id: self.id.room.to_string(),
            artifact: self.artifact(answer),
            append: None,
            last_chunk: Some(true),
            metadata: self.metadata(answer.sequence),
        };
        let answers = self.answers(after).map(move |answer| Update {
            sequence: answer.sequence,
            event: StreamResponse::ArtifactUpdate(artifact(answer)),
        });
        let state = (!knows_state).then(|| {
            let sequence = after.max(self.sequence());
            let (task_id, context_id) = (self.id.to_string(), self.id.room.to_string());
            let (status, metadata) = (self.status(), self.metadata(sequence));
            let update = TaskStatusUpdateEvent { task_id, context_id, status, metadata };
            Update { sequence, event: StreamResponse::StatusUpdate(update) }
        });
        answers.chain(state)
    }

    fn message(&self, message: &Message) -> a2a::Message {
        // The creator of a message makes its id; texts that were not sent over A2A have only that of the room.
        let own = message.client_id().filter(|_| message.sender == self.caller);
        a2a::Message {
            message_id: own.map_or_else(|| message.id.to_string(), str::to_owned),
            context_id: Some(self.id.room.to_string()),
            task_id: Some(self.id.to_string()),
            role: if message.sender == self.caller { Role::User } else { Role::Agent },
            parts: vec![Part::text(text(message))],
            metadata: self.metadata(message.sequence),
            extensions: None,
            reference_task_ids: None,
        }
    }

    /// A text of the agent as an artifact.
    pub(crate) fn artifact(&self, message: &Message) -> Artifact {
        Artifact {
            artifact_id: message.id.to_string(),
            name: None,
            description: None,
            parts: vec![Part::text(text(message))],
            metadata: self.metadata(message.sequence),
            extensions: None,
        }
    }

    /// The metadata with a sequence of the room. An agent gets none: it would tell how much is said that it cannot read.
    pub(crate) fn metadata(&self, sequence: Sequence) -> Option<HashMap<String, Value>> {
        self.caller.user()?;
        Some(HashMap::from([("sequence".to_owned(), json!(sequence.get()))]))
    }

    /// The id of an event after which the client knows the task up to a sequence: this sequence, and for an agent the
    /// newest message of the task up to it.
    pub(crate) fn event_id(&self, sequence: Sequence) -> String {
        if self.caller.user().is_some() {
            return sequence.get().to_string();
        }
        let known = self.messages.iter().rev().find(|message| message.sequence <= sequence);
        known.map_or_else(|| self.id.first.to_string(), |message| message.id.to_string())
    }

    /// The sequence up to which a client knows the task after an event; that before the task if there is no such event.
    pub(crate) fn known_after(&self, event: &str) -> Sequence {
        let sequence = if self.caller.user().is_some() {
            event.parse().ok().map(Sequence::new)
        } else {
            let named = self.messages.iter().find(|message| message.id.to_string() == event);
            named.map(|message| message.sequence)
        };
        sequence.unwrap_or_default().clamp(Sequence::default(), self.sequence())
    }
}

impl Mark {
    /// Whether the task waits for its caller, or has ended.
    pub(crate) fn is_settled(&self) -> bool {
        is_settled(&self.state)
    }

    /// The same text for the same state.
    pub(crate) fn text(&self) -> String {
        let state = serde_json::to_value(&self.state).unwrap_or_default();
        let message = self.message.map(|message| format!(" {message}"));
        format!("{}{}", state.as_str().unwrap_or_default(), message.unwrap_or_default())
    }

    /// Whether the task has ended; if so, whether it does not go on. One that has failed may be tried again.
    pub(crate) fn is_final(&self) -> Option<bool> {
        self.state.is_terminal().then(|| self.state != TaskState::Failed)
    }
}

/// Whether an event asks a question.
fn is_question(message: &Message) -> bool {
    message.metadata.as_ref().and_then(|data| data.get("kind")).is_some_and(|kind| kind == "question")
}

/// The text as its sender wrote it: without the mentions that the server has put before it, and with handles for the others.
fn text(message: &Message) -> String {
    let mut rest = message.content.as_str();
    while let Some(after) = message.mentions.iter().find_map(|mention| rest.strip_prefix(&mention.marker())) {
        let Some(after) = after.strip_prefix(' ') else { break };
        rest = after;
    }
    message.with_handles(rest)
}

#[cfg(test)]
pub(crate) mod tests;
