//! The goal of a chat.

use serde::{Deserialize, Serialize};

use super::history::{Actor, BoardAction, Edit, Entry, GoalEdits};
use super::text::{GoalSummary, GoalTitle};
use crate::id::ChatId;
use crate::time::Timestamp;

/// The board of a chat, without its tasks. Every chat has one; until its goal is set, it is empty.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Board {
    /// The chat.
    pub chat: ChatId,
    /// The title of the goal.
    pub title: Option<String>,
    /// The summary of the goal.
    pub summary: Option<String>,
    /// Who set it first.
    pub created_by: Option<Actor>,
    /// Who changed it last.
    pub updated_by: Option<Actor>,
    /// The time at which it was set first.
    pub created_at: Option<Timestamp>,
    /// The time of the last change.
    pub updated_at: Option<Timestamp>,
}

/// Changes of a goal; what is `None` stays as it is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GoalChanges {
    /// The title.
    pub title: Option<GoalTitle>,
    /// The summary; an empty one removes it.
    pub summary: Option<GoalSummary>,
}

/// The summary cannot be removed: the goal has no title.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must not be empty, because the goal has no title")]
pub struct EmptyGoal;

impl Board {
    /// A board without a goal.
    pub const fn empty(chat: ChatId) -> Self {
        Self {
            chat,
            title: None,
            summary: None,
            created_by: None,
            updated_by: None,
            created_at: None,
            updated_at: None,
        }
    }

    /// Makes the changes; `None` if nothing differs. A goal that is set keeps a title or a summary.
    ///
    /// # Errors
    /// [`EmptyGoal`] if neither would be left; nothing is changed then.
    pub fn set_goal(
        &mut self,
        changes: &GoalChanges,
        actor: Actor,
        now: Timestamp,
    ) -> Result<Option<Entry>, EmptyGoal> {
        let summary = |summary: GoalSummary| Some(summary.into_string()).filter(|text| !text.is_empty());
        let title = changes.title.clone().map(|title| Some(title.into_string()));
        let summary = changes.summary.clone().map(summary);
        if self.title.is_none() && title.is_none() && self.summary.is_some() && summary == Some(None) {
            return Err(EmptyGoal);
        }
        let title = title.and_then(|to| Edit::set(&mut self.title, to));
        let summary = summary.and_then(|to| Edit::set(&mut self.summary, to));
        if title.is_none() && summary.is_none() {
            return Ok(None);
        }
        let now = self.updated_at.map_or(now, |updated_at| now.max(updated_at));
        let edits = GoalEdits { title, summary };
        let action = if self.created_at.is_none() {
            BoardAction::GoalSet(edits)
        } else {
            BoardAction::GoalEdited(edits)
        };
        self.created_by.get_or_insert_with(|| actor.clone());
        self.created_at.get_or_insert(now);
        self.updated_by = Some(actor.clone());
        self.updated_at = Some(now);
        Ok(Some(Entry { at: now, actor, action }))
    }
}
