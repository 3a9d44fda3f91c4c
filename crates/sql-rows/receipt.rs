//! Receipts as rows. Compiled into each store, whose tables it names.

use diesel::prelude::*;
use domain::account::AgentKind;
use domain::delivery::{DeliveryReceipt, ReceiptAgent};
use domain::id::AgentId;

use crate::error::Fault;
use crate::message::row::DeliveryRow;
use crate::row::{self, At};

/// A row of `deliveries` with its agent, the time of its message, and its place in the queue.
#[derive(Queryable)]
pub(crate) struct ReceiptRow {
    record: DeliveryRow,
    handle: String,
    name: String,
    agent_kind: String,
    in_chat: bool,
    written_at: At,
    respond_by: Option<At>,
    is_stopped: bool,
    is_paused: bool,
    before: i64,
}

impl ReceiptRow {
    /// The columns between the record and [`STOPPED_AND_PAUSED`](crate::control::row::STOPPED_AND_PAUSED), which the place in the queue
    /// follows.
    pub(crate) const COLUMNS: &'static str = "agents.handle, agents.name, agents.kind, \
         coalesce((SELECT 1 = 1 FROM participants WHERE participants.chat_id = deliveries.chat_id \
             AND participants.participant_id = deliveries.agent_id AND participants.left_at IS NULL LIMIT 1), 1 = 0), \
         messages.created_at, messages.respond_by";

    /// Converts it.
    pub(crate) fn into_receipt(self) -> Result<DeliveryReceipt, Fault> {
        let agent = ReceiptAgent {
            id: AgentId::new(self.record.agent_id.0),
            handle: self.handle,
            name: self.name,
            is_external: row::word(&self.agent_kind, AgentKind::parse)?.is_external(),
            in_chat: self.in_chat,
            is_stopped: self.is_stopped,
            is_paused: self.is_paused,
        };
        let before = u32::try_from(self.before).unwrap_or(u32::MAX);
        let (written_at, respond_by) = (self.written_at.0, self.respond_by.map(|by| by.0));
        let delivery = self.record.into_delivery(Vec::new())?;
        Ok(DeliveryReceipt::of(&delivery, agent, written_at, respond_by, before))
    }
}
