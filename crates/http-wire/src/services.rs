//! Registers the dependencies of handlers, guards, and request readers.

use std::sync::Arc;

use actix_web::web::{Data, ServiceConfig};
use domain::services::Services;

use crate::cursor::CursorSeal;
use crate::features::Features;
use crate::limit::RateLimits;

/// Registers every service, the rate limits, the cursor seal, and the features that clients are told about.
pub fn register(
    config: &mut ServiceConfig,
    services: &Services,
    limits: &Arc<RateLimits>,
    cursors: &CursorSeal,
    features: Features,
) {
    config
        .app_data(Data::from(limits.clone()))
        .app_data(Data::new(cursors.clone()))
        .app_data(Data::new(features))
        .app_data(Data::from(services.accounts.clone()))
        .app_data(Data::from(services.tokens.clone()))
        .app_data(Data::from(services.logins.clone()))
        .app_data(Data::from(services.chats.clone()))
        .app_data(Data::from(services.messages.clone()))
        .app_data(Data::from(services.reminders.clone()))
        .app_data(Data::from(services.deliveries.clone()))
        .app_data(Data::from(services.activity.clone()))
        .app_data(Data::from(services.control.clone()))
        .app_data(Data::from(services.peers.clone()))
        .app_data(Data::from(services.audit.clone()))
        .app_data(Data::from(services.memories.clone()))
        .app_data(Data::from(services.boards.clone()))
        .app_data(Data::from(services.bulk_deletions.clone()))
        .app_data(Data::from(services.files.clone()))
        .app_data(Data::from(services.webhooks.clone()))
        .app_data(Data::from(services.contacts.clone()))
        .app_data(Data::from(services.work.clone()))
        .app_data(Data::from(services.attention.clone()))
        .app_data(Data::from(services.notifications.clone()))
        .app_data(Data::from(services.search.clone()))
        .app_data(Data::from(services.transcripts.clone()))
        .app_data(Data::from(services.usage.clone()))
        .app_data(Data::from(services.budgets.clone()))
        .app_data(Data::from(services.administration.clone()))
        .app_data(Data::from(services.plans.clone()))
        .app_data(Data::from(services.organizations.clone()));
}
