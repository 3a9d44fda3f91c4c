//! Every path of the human interface.

use actix_web::middleware::from_fn;
use actix_web::web::{self, delete, get, post, resource};
use http_wire::auth::users_only;

use crate::{account, chat, message, participant};

/// Mounts `/api/v1/me`. Needs the account, chat and message services as application data and
/// stands inside the request scope. Whoever is no user is refused before any path is looked at.
pub fn configure(config: &mut web::ServiceConfig) {
    let chats = web::scope("/chats")
        .service(resource("").route(get().to(chat::list)).route(post().to(chat::create)))
        .service(resource("/{chat_id}").route(get().to(chat::find)).route(delete().to(chat::remove)))
        .service(
            resource("/{chat_id}/participants")
                .route(get().to(participant::list))
                .route(post().to(participant::add)),
        )
        .service(resource("/{chat_id}/participants/{participant_id}").route(delete().to(participant::remove)))
        .service(
            resource("/{chat_id}/messages").route(get().to(message::list)).route(post().to(message::send)),
        );
    config.service(
        web::scope("/api/v1/me")
            .wrap(from_fn(users_only))
            .service(resource("/agents").route(get().to(account::list_agents)))
            .service(resource("/agents/register").route(post().to(account::register_agent)))
            .service(chats),
    );
}
