//! What the machine and the library cost: a server that takes any socket and writes to all of them
//! what is posted to it, and answers requests with as many bytes as they ask for. It knows no topics, no callers, no
//! store and no bound.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use actix_web::rt::System;
use actix_web::web::{Data, Payload, PayloadConfig};
use actix_web::{App, Error, HttpRequest, HttpResponse, HttpServer, web};
use actix_ws::{Message, Session};
use bytestring::ByteString;
use futures_util::StreamExt;

/// The open sockets by their number.
type Sessions = Data<Mutex<HashMap<u64, Session>>>;

/// Serves until the process is ended.
pub(crate) fn serve(port: u16) {
    let sessions = Sessions::default();
    let app = move || {
        App::new()
            .app_data(sessions.clone())
            .app_data(PayloadConfig::new(1 << 24))
            .route("/socket", web::get().to(connect))
            .route("/say", web::post().to(say))
            .route("/answer/{bytes}", web::get().to(answer))
            .route("/health", web::get().to(HttpResponse::Ok))
    };
    let server = HttpServer::new(app).workers(2).tcp_nodelay(true);
    System::new().block_on(server.bind(("127.0.0.1", port)).unwrap().run()).unwrap();
}

/// The number of the next socket.
static NUMBERS: AtomicU64 = AtomicU64::new(0);

async fn connect(request: HttpRequest, body: Payload, sessions: Sessions) -> Result<HttpResponse, Error> {
    let (response, mut session, mut inbound) = actix_ws::handle(&request, body)?;
    let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
    sessions.lock().unwrap().insert(number, session.clone());
    actix_web::rt::spawn(async move {
        while let Some(Ok(message)) = inbound.next().await {
            match message {
                Message::Ping(bytes) if session.pong(&bytes).await.is_ok() => {}
                Message::Text(_) => {}
                _ => break,
            }
        }
        // What is kept of it would keep the connection open.
        sessions.lock().unwrap().remove(&number);
    });
    Ok(response)
}

async fn say(text: String, sessions: Sessions) -> HttpResponse {
    let all = sessions.lock().unwrap().values().cloned().collect::<Vec<_>>();
    let text = ByteString::from(text);
    for mut session in all {
        // Whoever went hears nothing.
        let _ = session.text(text.clone()).await;
    }
    HttpResponse::Ok().finish()
}

async fn answer(bytes: web::Path<usize>) -> HttpResponse {
    HttpResponse::Ok().content_type("application/json").body("x".repeat(*bytes))
}
