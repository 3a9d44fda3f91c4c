//! Every path of the agent interface.

use actix_web::middleware::from_fn;
use actix_web::web::{self, delete, get, patch, post, resource};
use http_wire::auth::agents_only;

use crate::{account, activity, chat, contact, message, participant, peer};

/// Mounts `/api/v1/agent`. Needs the services as application data and stands inside the
/// request scope. Whoever is no agent is refused before any path is looked at.
pub fn configure(config: &mut web::ServiceConfig) {
    let chats = web::scope("/chats")
        .service(resource("").route(get().to(chat::list)).route(post().to(chat::create)))
        .service(resource("/{chat_id}").route(get().to(chat::find)).route(patch().to(chat::rename)))
        .service(
            resource("/{chat_id}/participants")
                .route(get().to(participant::list))
                .route(post().to(participant::add)),
        )
        .service(resource("/{chat_id}/participants/{participant_id}").route(delete().to(participant::remove)))
        .service(
            resource("/{chat_id}/messages").route(get().to(message::list)).route(post().to(message::send)),
        )
        .service(resource("/{chat_id}/messages/next").route(get().to(message::next)))
        .service(
            resource("/{chat_id}/messages/{message_id}/processing").route(post().to(message::processing)),
        )
        .service(resource("/{chat_id}/messages/{message_id}/processed").route(post().to(message::processed)))
        .service(resource("/{chat_id}/messages/{message_id}/failed").route(post().to(message::failed)))
        .service(resource("/{chat_id}/events").route(post().to(message::post_event)))
        .service(resource("/{chat_id}/context").route(get().to(message::context)))
        .service(resource("/{chat_id}/activity").route(post().to(activity::report)));
    let contacts = web::scope("/contacts")
        .service(resource("").route(get().to(contact::list)))
        .service(resource("/add").route(post().to(contact::add)))
        .service(resource("/remove").route(post().to(contact::remove_named)))
        .service(resource("/resolve").route(post().to(contact::resolve)))
        .service(resource("/requests").route(get().to(contact::both)).route(post().to(contact::send)))
        .service(resource("/requests/received").route(get().to(contact::received)))
        .service(resource("/requests/sent").route(get().to(contact::sent)))
        .service(resource("/requests/respond").route(post().to(contact::respond)))
        .service(resource("/requests/{request_id}").route(delete().to(contact::cancel)))
        .service(resource("/requests/{request_id}/approve").route(post().to(contact::approve)))
        .service(resource("/requests/{request_id}/reject").route(post().to(contact::reject)))
        .service(resource("/requests/{request_id}/cancel").route(post().to(contact::cancel)))
        .service(resource("/{contact_id}").route(delete().to(contact::remove)));
    config.service(
        web::scope("/api/v1/agent")
            .wrap(from_fn(agents_only))
            .service(resource("/me").route(get().to(account::show)))
            .service(resource("/peers").route(get().to(peer::list)))
            .service(resource("/directory").route(get().to(peer::directory)))
            .service(chats)
            .service(contacts),
    );
}
