//! Every path of the human interface.

use actix_web::middleware::from_fn;
use actix_web::web::{self, delete, get, patch, post, put, resource};
use http_wire::auth::{any_caller, users_only};

use crate::{account, chat, contact, generic, message, participant, peer};

/// Mounts `/api/v1/me` and the generic paths. Needs the services as application data and stands inside
/// the request scope. Whoever is no user is refused before any path is looked at.
pub fn configure(config: &mut web::ServiceConfig) {
    let chats = web::scope("/chats")
        .service(resource("").route(get().to(chat::list)).route(post().to(chat::create)))
        .service(
            resource("/{chat_id}")
                .route(get().to(chat::find))
                .route(patch().to(chat::rename))
                .route(delete().to(chat::remove)),
        )
        .service(
            resource("/{chat_id}/participants")
                .route(get().to(participant::list))
                .route(post().to(participant::add)),
        )
        .service(resource("/{chat_id}/participants/{participant_id}").route(delete().to(participant::remove)))
        .service(
            resource("/{chat_id}/messages").route(get().to(message::list)).route(post().to(message::send)),
        );
    let contacts = web::scope("/contacts")
        .service(resource("").route(get().to(contact::list)))
        .service(resource("/remove").route(post().to(contact::remove_named)))
        .service(resource("/resolve").route(post().to(contact::resolve)))
        .service(resource("/requests").route(get().to(contact::received)).route(post().to(contact::send)))
        .service(resource("/requests/received").route(get().to(contact::received)))
        .service(resource("/requests/sent").route(get().to(contact::sent)))
        .service(resource("/requests/{request_id}").route(delete().to(contact::cancel)))
        .service(resource("/requests/{request_id}/approve").route(post().to(contact::approve)))
        .service(resource("/requests/{request_id}/reject").route(post().to(contact::reject)))
        .service(resource("/requests/{request_id}/cancel").route(post().to(contact::cancel)))
        .service(resource("/{contact_id}").route(delete().to(contact::remove)));
    config.service(
        web::scope("/api/v1/me")
            .wrap(from_fn(users_only))
            .service(
                resource("/profile")
                    .route(get().to(account::show_profile))
                    .route(put().to(account::update_profile)),
            )
            .service(
                resource("/agents")
                    .route(get().to(account::list_agents))
                    .route(post().to(account::create_agent)),
            )
            .service(resource("/agents/register").route(post().to(account::register_agent)))
            .service(
                resource("/agents/{agent_id}")
                    .route(get().to(account::find_agent))
                    .route(patch().to(account::update_agent))
                    .route(delete().to(account::delete_agent)),
            )
            .service(resource("/peers").route(get().to(peer::list)))
            .service(resource("/directory").route(get().to(peer::directory)))
            .service(chats)
            .service(contacts),
    );
    // "A base that ends in /v1" is taken for either of these.
    for base in ["/v1", "/api/v1"] {
        configure_generic(config, base);
    }
}

/// Mounts the generic paths under `base`.
fn configure_generic(config: &mut web::ServiceConfig, base: &str) {
    config
        .service(
            resource(format!("{base}/agents"))
                .wrap(from_fn(any_caller))
                .route(get().to(generic::list_agents))
                .route(post().to(generic::create_agent)),
        )
        .service(
            resource(format!("{base}/agents/{{agent_id}}"))
                .wrap(from_fn(any_caller))
                .route(get().to(generic::find_agent)),
        )
        .service(
            resource(format!("{base}/chats"))
                .wrap(from_fn(any_caller))
                .route(get().to(generic::list_chats))
                .route(post().to(generic::create_chat)),
        );
}
