//! Registers the dependencies of handlers, guards, and request readers.

use std::sync::Arc;

use actix_web::web::{Data, ServiceConfig};
use domain::services::Services;

use crate::cursor::CursorSeal;
use crate::limit::RateLimits;

/// Registers every service, the rate limits, and the seal of cursors.
pub fn register(
    config: &mut ServiceConfig,
    services: &Services,
    limits: &Arc<RateLimits>,
    cursors: &CursorSeal,
) {
    config
        .app_data(Data::from(limits.clone()))
        .app_data(Data::new(cursors.clone()))
        .app_data(Data::from(services.accounts.clone()))
        .app_data(Data::from(services.tokens.clone()))
        .app_data(Data::from(services.logins.clone()))
        .app_data(Data::from(services.chats.clone()))
        .app_data(Data::from(services.messages.clone()))
        .app_data(Data::from(services.deliveries.clone()))
        .app_data(Data::from(services.activity.clone()))
        .app_data(Data::from(services.control.clone()))
        .app_data(Data::from(services.peers.clone()))
        .app_data(Data::from(services.audit.clone()))
        .app_data(Data::from(services.memories.clone()))
        .app_data(Data::from(services.contacts.clone()))
        .app_data(Data::from(services.work.clone()))
        .app_data(Data::from(services.usage.clone()))
        .app_data(Data::from(services.budgets.clone()))
        .app_data(Data::from(services.administration.clone()))
        .app_data(Data::from(services.plans.clone()))
        .app_data(Data::from(services.organizations.clone()));
}
