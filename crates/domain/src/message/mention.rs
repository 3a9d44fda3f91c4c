//! Resolves the requested mentions of a message to participants.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::account::{AgentHandle, normalize_handle};
use crate::chat::Names;
use crate::id::{AccountId, AgentId, ParticipantId};
use crate::words::words;

words! {
    /// The kind of a mention.
    MentionKind {
        /// The message is addressed to the participant.
        Mention = "mention",
        /// The participant is only named: no delivery.
        Reference = "reference",
    }
}

/// A requested mention, unchecked.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RequestedMention {
    /// The text of an id, which takes precedence.
    pub id: Option<String>,
    /// The text of a handle, with or without `@`, in any case.
    pub handle: Option<String>,
    /// The requested kind; `None` if it is invalid.
    pub kind: Option<MentionKind>,
}

/// A resolved mention.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Mention {
    /// The participant.
    pub id: ParticipantId,
    /// The handle at that time, without `@`.
    pub handle: String,
    /// The name at that time.
    pub name: String,
    /// Its kind.
    pub kind: MentionKind,
}

impl Mention {
    /// The length of a marker in bytes.
    pub const MARKER_BYTES: usize = 41;

    /// What stands for it in a stored text.
    pub fn marker(&self) -> String {
        format!("@[[{}]]", self.id)
    }

    /// The agent that gets the message by this mention, if any.
    pub fn addressed_agent(&self) -> Option<AgentId> {
        self.id.agent().filter(|_| self.kind == MentionKind::Mention)
    }
}

/// A text with `@handle` for each marker of these mentions.
pub fn with_handles(text: &str, mentions: &[Mention]) -> String {
    with_markers_as(text, mentions, |mention| &mention.handle)
}

/// A text with `@name` for each marker of these mentions.
pub fn with_names(text: &str, mentions: &[Mention]) -> String {
    with_markers_as(text, mentions, |mention| &mention.name)
}

/// Reads the text once, so that nothing that is shown for a marker is taken for another one.
fn with_markers_as(text: &str, mentions: &[Mention], shown: impl Fn(&Mention) -> &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("@[[") {
        let marker = rest.get(at..at + Mention::MARKER_BYTES).filter(|marker| marker.ends_with("]]"));
        let id = marker.map(|marker| &marker[3..marker.len() - 2]).and_then(AccountId::parse);
        let mention = id.and_then(|id| mentions.iter().find(|mention| AccountId::from(mention.id) == id));
        out.push_str(&rest[..=at]);
        let length = match mention {
            Some(mention) => {
                out.push_str(shown(mention));
                Mention::MARKER_BYTES
            }
            None => 1,
        };
        rest = &rest[at + length..];
    }
    out.push_str(rest);
    out
}

/// The reason for refusing the mentions of a message. `index` counts from 0 in the request.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MentionError {
    /// Neither id nor handle.
    #[error("mention {index} has neither id nor handle")]
    MissingIdentifier {
        /// The index of the mention.
        index: usize,
    },
    /// Neither `mention` nor `reference`.
    #[error("mention {index} has an unknown kind")]
    InvalidKind {
        /// The index of the mention.
        index: usize,
    },
    /// No participant has the handle.
    #[error("mention {index}: nobody in the chat has this handle")]
    HandleNotFound {
        /// The index of the mention.
        index: usize,
        /// The handles of the participants.
        available: Vec<String>,
    },
    /// The id is not of a participant.
    #[error("mention {index} is not a participant of the chat")]
    NotInChat {
        /// The index of the mention.
        index: usize,
        /// The handles of the participants.
        available: Vec<String>,
    },
    /// The sender mentions itself.
    #[error("mention {index} is the sender")]
    SelfMention {
        /// The index of the mention.
        index: usize,
    },
    /// The participant is mentioned twice.
    #[error("mention {index} names somebody a second time")]
    Duplicate {
        /// The index of the mention.
        index: usize,
    },
    /// A text of an agent without a mention.
    #[error("an agent's message needs at least one mention")]
    Required,
}

/// Resolves `requests` among the participants called `names`.
///
/// Faults are checked one kind after the other over all items: missing identifier, kind, unknown
/// participant, the sender itself, duplicates; an agent must mention a participant.
pub fn resolve(
    names: &Names,
    sender: ParticipantId,
    requests: &[RequestedMention],
) -> Result<Vec<Mention>, MentionError> {
    resolve_all(names, sender, requests, false)
}

/// Like [`resolve`], for a text that is sent later: it may mention its sender.
pub fn resolve_later(
    names: &Names,
    sender: ParticipantId,
    requests: &[RequestedMention],
) -> Result<Vec<Mention>, MentionError> {
    resolve_all(names, sender, requests, true)
}

fn resolve_all(
    names: &Names,
    sender: ParticipantId,
    requests: &[RequestedMention],
    may_name_sender: bool,
) -> Result<Vec<Mention>, MentionError> {
    let identified = requests.iter().enumerate().map(|(index, request)| {
        identifier(request)
            .map(|wanted| (index, request, wanted))
            .ok_or(MentionError::MissingIdentifier { index })
    });
    let identified = identified.collect::<Result<Vec<_>, _>>()?;
    let typed = identified.into_iter().map(|(index, request, wanted)| {
        request.kind.map(|kind| (index, wanted, kind)).ok_or(MentionError::InvalidKind { index })
    });
    let typed = typed.collect::<Result<Vec<_>, _>>()?;
    let mentions = typed.into_iter().map(|(index, wanted, kind)| find(names, index, wanted, kind));
    let mentions = mentions.collect::<Result<Vec<_>, _>>()?;

    if let Some(index) = mentions.iter().position(|m| m.id == sender && !may_name_sender) {
        return Err(MentionError::SelfMention { index });
    }
    let mut seen = HashSet::with_capacity(mentions.len());
    if let Some(index) = mentions.iter().position(|m| !seen.insert(m.id)) {
        return Err(MentionError::Duplicate { index });
    }
    let addressed = mentions.iter().any(|m| m.kind == MentionKind::Mention);
    if matches!(sender, ParticipantId::Agent(_)) && !addressed {
        return Err(MentionError::Required);
    }
    Ok(mentions)
}

/// The handles that appear in `text` after an `@`, in their stored form, whether they exist or not.
pub(super) fn handles_in(text: &str) -> HashSet<String> {
    let mut handles = HashSet::new();
    for (at, _) in text.match_indices('@') {
        let is_inside_a_word = text[..at].chars().next_back().is_some_and(char::is_alphanumeric);
        let rest = &text[at + 1..];
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '/')));
        let handle = rest[..end.unwrap_or(rest.len())].trim_end_matches(['.', '-', '/']);
        if !is_inside_a_word && (1..=AgentHandle::MAX_BYTES).contains(&handle.len()) {
            handles.insert(normalize_handle(handle));
        }
    }
    handles
}

/// The handles of the agents in `names` that `written` contains, with or without the owner, although
/// `mentions` lacks them: these agents do not receive the text, which its sender may not expect.
pub(super) fn unmentioned(
    names: &Names,
    sender: ParticipantId,
    written: &HashSet<String>,
    mentions: &[Mention],
) -> Vec<String> {
    if written.is_empty() {
        return Vec::new();
    }
    let handles = names.0.iter().map(|named| named.handle.as_str()).collect::<HashSet<_>>();
    let is_meant = |id: ParticipantId| id == sender || mentions.iter().any(|mention| mention.id == id);
    let is_written = |agent: &str| {
        let slug = agent.split_once('/').map(|(_, slug)| slug);
        written.contains(agent) || slug.is_some_and(|slug| written.contains(slug) && !handles.contains(slug))
    };
    let agents = names.0.iter().filter(|named| named.id.agent().is_some());
    agents
        .filter(|agent| is_written(&agent.handle) && !is_meant(agent.id))
        .map(|agent| agent.handle.clone())
        .collect()
}

/// The key of a lookup.
enum Identifier<'a> {
    Id(&'a str),
    Handle(&'a str),
}

fn identifier(request: &RequestedMention) -> Option<Identifier<'_>> {
    let present = |text: &'_ Option<String>| text.as_deref().is_some_and(|t| !t.trim().is_empty());
    match request {
        RequestedMention { id: Some(id), .. } if present(&request.id) => Some(Identifier::Id(id)),
        RequestedMention { handle: Some(handle), .. } if present(&request.handle) => {
            Some(Identifier::Handle(handle))
        }
        _ => None,
    }
}

fn find(
    names: &Names,
    index: usize,
    wanted: Identifier<'_>,
    kind: MentionKind,
) -> Result<Mention, MentionError> {
    let meant = match wanted {
        Identifier::Id(text) => AccountId::parse(text.trim())
            .and_then(|id| names.0.iter().find(|named| AccountId::from(named.id) == id))
            .ok_or_else(|| MentionError::NotInChat { index, available: names.handles() })?,
        Identifier::Handle(text) => {
            let handle = normalize_handle(text);
            names
                .0
                .iter()
                .find(|named| named.handle == handle)
                .ok_or_else(|| MentionError::HandleNotFound { index, available: names.handles() })?
        }
    };
    Ok(Mention { id: meant.id, handle: meant.handle.clone(), name: meant.name.clone(), kind })
}

#[cfg(test)]
mod tests;
