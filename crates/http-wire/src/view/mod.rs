//! JSON shapes going out, one file per noun; REST answers and socket events use the same ones.
//!
//! Published clients of different ages ask for different members, so a view sends all that any
//! of them needs: an extra member harms no client, a missing one breaks some.

mod agent;
mod api_key;
mod attention;
mod audit;
mod board;
mod budget;
mod bulk_deletion;
mod chat;
mod chat_details;
mod contact;
mod control;
mod file;
mod memory;
mod message;
mod notification;
mod operator;
mod organization;
mod outcome;
mod participant;
mod passkey;
mod peer;
mod reminder;
mod search;
mod second_factor;
mod session;
mod usage;
mod user;
mod webhook;
mod work;
mod work_summary;

use std::fmt::Display;

use serde::{Serialize, Serializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::{PartialSchema, ToSchema};

pub use agent::{
    AgentView, AgentWorkView, ConnectionView, DeletedAgentView, DoorView, OwnedAgentView, RegisteredAgentView,
};
pub use api_key::{CreatedKeyView, KeyView};
pub use attention::AttentionView;
pub use audit::AuditEntryView;
pub use board::{BoardEntryView, BoardView, TaskView};
pub use budget::BudgetsView;
pub use bulk_deletion::BulkDeletionView;
pub use chat::ChatView;
pub use chat_details::{
    AgentListedChatView, ChatDetailsView, ListedChatView, MarkedReadView, MarkedRoomsView, RosterHeadView,
    UnreadView,
};
pub use contact::{
    AgentContactView, ContactRequestView, ContactView, ReceivedRequestView, RemovedView, RequestStepView,
    ResolvedView, SentRequestView,
};
pub use control::ExecutionView;
pub use file::AttachmentView;
pub use memory::MemoryView;
pub use message::{MessageView, TreeMessageView};
pub use notification::{
    NewNotificationChannelView, NotificationChannelView, NotificationView, WebPushKeyView,
};
pub use operator::{
    AccountView, AgentOverviewView, DisconnectView, OpenConnectionView, OrganizationInUseView, OverviewView,
    PlanInUseView, ThroughputView,
};
pub use organization::{InvitationView, InvitedView, MemberView, OrganizationView};
pub use outcome::{PostedEventView, ReceiptView, SentMessageView, StepView};
pub use participant::{ParticipantView, PresenceView};
pub use passkey::{PasskeyChallengeView, PasskeyView};
pub use peer::{ListedAgentView, PeerView};
pub use reminder::ReminderView;
pub use search::SearchHitView;
pub use second_factor::{NewSecondFactorView, RecoveryCodesView, SecondFactorView};
pub use session::{OpenSessionView, SessionView};
pub use usage::{TokensView, TreeMetadata, UsageMetadata, UsageView};
pub use user::ProfileView;
pub use webhook::{
    EventDeliveryView, OrganizationWebhookView, SecretWebhookView, WebhookDeliveryView, WebhookView,
};
pub use work::{ChangedWorkView, RetriedWorkView, WorkItemView};
pub use work_summary::WorkSummaryView;

/// A value that goes out as the text by which it shows itself: ids and instants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shown<T>(pub T);

macro_rules! shapes {
    ($($(#[$doc:meta])* $name:ident = $format:literal;)+) => {$(
        $(#[$doc])*
        pub struct $name;

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                let format = SchemaFormat::Custom($format.to_owned());
                ObjectBuilder::new().schema_type(Type::String).format(Some(format)).into()
            }
        }

        impl ToSchema for $name {}
    )+};
}

shapes! {
    /// The format of an id; for the API's document.
    Id = "uuid";
    /// The format of an instant: UTC, with six decimals and `Z`; for the API's document.
    Instant = "date-time";
}

impl<T: Display> Serialize for Shown<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}
