//! `/notifications/answer?token=…`: a link in a notification, which decides or dismisses an item once.
//!
//! GET shows a page with a button and changes nothing, since programs that scan messages open links. POST does what the link
//! says. The pages contain nothing of a room, run no script, and lead nowhere else.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_SECURITY_POLICY, ContentType};
use actix_web::middleware::from_fn;
use actix_web::web::{self, Query};
use domain::attention::{AnswerAttentionError, DismissAttentionError};
use domain::notification::{LINK_PATH, LinkError, NotificationAction, NotificationService};
use http_wire::limit::anonymous;
use serde::Deserialize;

const POLICY: &str = "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// Mounts the page.
pub fn configure_links(config: &mut web::ServiceConfig) {
    let resource = web::resource(LINK_PATH).route(web::get().to(show)).route(web::post().to(follow));
    config.service(resource.wrap(from_fn(anonymous)));
}

#[derive(Deserialize)]
struct LinkQuery {
    token: Option<String>,
}

impl LinkQuery {
    fn token(query: Option<Query<Self>>) -> String {
        query.and_then(|query| query.into_inner().token).unwrap_or_default()
    }
}

async fn show(
    query: Option<Query<LinkQuery>>,
    notifications: web::Data<NotificationService>,
) -> HttpResponse {
    match notifications.show_link(&LinkQuery::token(query)).await {
        Ok(link) => {
            let label = link.action.label();
            let form = format!(
                "<p>The button below does this once, in your name, without a login.</p>\n\
                 <form method=\"post\"><button type=\"submit\">{label}</button></form>"
            );
            page(StatusCode::OK, question(link.action), &form)
        }
        Err(error) => failure(&error),
    }
}

async fn follow(
    query: Option<Query<LinkQuery>>,
    notifications: web::Data<NotificationService>,
) -> HttpResponse {
    match notifications.follow_link(&LinkQuery::token(query)).await {
        Ok(link) => page(StatusCode::OK, done(link.action), "<p>You can close this page.</p>"),
        Err(error) => failure(&error),
    }
}

const fn question(action: NotificationAction) -> &'static str {
    match action {
        NotificationAction::Decide(_) => "Decide the request?",
        NotificationAction::Dismiss => "Dismiss the item?",
    }
}

const fn done(action: NotificationAction) -> &'static str {
    match action {
        NotificationAction::Decide(_) => "The request was decided.",
        NotificationAction::Dismiss => "The item was dismissed.",
    }
}

fn failure(error: &LinkError) -> HttpResponse {
    let (status, title) = match error {
        LinkError::NotFound => (StatusCode::NOT_FOUND, "This link does not exist."),
        LinkError::Used => (StatusCode::GONE, "This link was used before."),
        LinkError::Expired => (StatusCode::GONE, "This link has expired."),
        LinkError::Suspended => (StatusCode::FORBIDDEN, "Your account cannot use this server."),
        LinkError::Answer(AnswerAttentionError::NotFound)
        | LinkError::Dismiss(DismissAttentionError::NotFound) => {
            (StatusCode::GONE, "The item does not exist any more, or you have left its room.")
        }
        LinkError::Answer(AnswerAttentionError::Answered(_))
        | LinkError::Dismiss(DismissAttentionError::Ended(_)) => {
            (StatusCode::CONFLICT, "Somebody has settled this item already.")
        }
        LinkError::Answer(AnswerAttentionError::Store(_))
        | LinkError::Dismiss(DismissAttentionError::Store(_))
        | LinkError::Store(_) => {
            (StatusCode::SERVICE_UNAVAILABLE, "The server cannot do this now. Try again.")
        }
        LinkError::Answer(_) | LinkError::Dismiss(_) => {
            (StatusCode::CONFLICT, "The server has refused this. Open the console to see why.")
        }
    };
    page(status, title, "")
}

/// A page of texts that are fixed.
fn page(status: StatusCode, title: &str, body: &str) -> HttpResponse {
    HttpResponse::build(status)
        .insert_header((CONTENT_SECURITY_POLICY, POLICY))
        .content_type(ContentType::html())
        .body(format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"robots\" content=\"noindex\">\n<title>{title}</title>\n</head>\n\
             <body>\n<main>\n<h1>{title}</h1>\n{body}\n</main>\n</body>\n</html>\n"
        ))
}
