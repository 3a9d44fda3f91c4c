//! Mounts the paths.

use std::sync::Arc;

use actix_web::middleware::from_fn;
use actix_web::web::{self, Data, ServiceConfig};
use domain::services::Services;
use http_wire::auth::a2a_door;
use http_wire::browser::allowed_pages_only;
use http_wire::cursor::CursorSeal;
use http_wire::limit::{RateLimits, anonymous};
use http_wire::room_waiters::{IsStopping, RoomWaiters};

use webhooks::Client;

use crate::notify::Notifier;
use crate::session::Gateway;
use crate::slots::Slots;
use crate::{card, rest, rpc};

/// What the server needs beside its use cases; one for all workers.
#[derive(Clone)]
pub struct Settings {
    gateway: Data<Gateway>,
}

impl Settings {
    /// Collects what every request needs. `has_tls` is set if the server itself encrypts its connections.
    pub fn new(
        services: &Services,
        limits: &Arc<RateLimits>,
        cursors: &CursorSeal,
        waiters: &Arc<RoomWaiters>,
        is_stopping: &IsStopping,
        has_tls: bool,
    ) -> Self {
        let gateway = Gateway {
            services: services.clone(),
            limits: limits.clone(),
            cursors: cursors.clone(),
            waiters: waiters.clone(),
            slots: Arc::<Slots>::default(),
            is_stopping: is_stopping.clone(),
            has_tls,
        };
        Self { gateway: Data::new(gateway) }
    }

    /// The sender of push notifications, of which a server has one.
    pub fn notifier(&self, client: Arc<Client>) -> Notifier {
        Notifier::new(self.gateway.clone().into_inner(), client)
    }
}

/// Mounts `/a2a`, inside the request scope.
pub fn configure(config: &mut ServiceConfig, settings: &Settings) {
    let card = web::resource("/a2a/{agent}/.well-known/agent-card.json")
        .app_data(settings.gateway.clone())
        .route(web::get().to(card::show))
        .wrap(from_fn(anonymous));
    let rpc = web::resource(["/a2a/{agent}", "/a2a/{agent}/"])
        .app_data(settings.gateway.clone())
        .route(web::post().to(rpc::answer))
        .wrap(from_fn(a2a_door))
        .wrap(from_fn(allowed_pages_only));
    let rest = web::resource("/a2a/{agent}/v1/{rest:.*}")
        .app_data(settings.gateway.clone())
        .route(web::get().to(rest::answer))
        .route(web::post().to(rest::answer))
        .route(web::delete().to(rest::answer))
        .wrap(from_fn(a2a_door))
        .wrap(from_fn(allowed_pages_only));
    config.service(card).service(rpc).service(rest);
}
