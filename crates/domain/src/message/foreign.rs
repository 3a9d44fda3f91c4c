//! Holding what follows from messages of other organizations, see [`crate::foreign`].

use std::collections::HashMap;

use super::guard::DueHold;
use super::port::Appended;
use crate::delivery::HeldBy;
use crate::foreign::{ForeignPolicy, Source};
use crate::id::{AgentId, OrganizationId};

impl Appended {
    /// Holds those of its deliveries that are foreign to their agents, as [`ForeignPolicy::holds`] decides, and returns
    /// what is to be recorded. `own` are the organizations of the addressed agents that have the policy
    /// [`ForeignPolicy::Hold`], `chat` is that of the chat, `originator` that of the originator, and `human` that of a
    /// sender who is a human.
    pub fn hold_foreign(
        &mut self,
        own: &HashMap<AgentId, OrganizationId>,
        chat: Option<OrganizationId>,
        originator: Option<OrganizationId>,
        human: Option<OrganizationId>,
    ) -> Option<DueHold> {
        let foreign_to = chat.filter(|_| self.message.origin.is_foreign());
        let source = Source { originator, foreign_to };
        let held_by = |agent: AgentId| {
            let is_held = own.get(&agent).is_some_and(|own| ForeignPolicy::Hold.holds(*own, source, human));
            is_held.then_some(HeldBy::Foreign)
        };
        self.hold(held_by);
        let message = &self.message;
        let is_held = message.deliveries.iter().any(|delivery| delivery.held_by() == Some(HeldBy::Foreign));
        let (subject, chat, message) = (message.origin_subject(), message.chat_id, message.id);
        is_held.then_some(DueHold {
            subject,
            held_by: HeldBy::Foreign,
            bound: 0,
            is_warning: false,
            chat,
            message,
        })
    }
}
