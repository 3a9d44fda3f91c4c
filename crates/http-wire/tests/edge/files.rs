//! Tests of files, which both interfaces share.

use std::future::{pending, poll_fn};
use std::pin::pin;
use std::time::Duration;

use actix_http::ConnectionType;
use actix_web::body::{MessageBody as _, to_bytes};
use actix_web::dev::{Payload, Service};
use actix_web::http::Method;
use actix_web::http::header::HeaderMap;
use actix_web::test::TestRequest;
use actix_web::web::Bytes;
use domain::chat::Role;
use domain::file::FileLimits;
use domain::id::ChatId;
use domain::ports::Clock;
use domain::services::{Ports, Services};
use futures_util::stream;
use http_wire::limit::RateLimitConfig;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use testkit::document;
use tokio::time::{self, Instant};

use crate::harness::{Answer, Api};
use crate::{Account, BASE};

/// The digest of bytes, as the header has it.
fn sha256(bytes: &[u8]) -> String {
    domain::file::FileDigest::new(Sha256::digest(bytes).into()).to_string()
}

/// An upload of these bytes, without the headers that describe them.
fn bare(path: &str, key: &str, bytes: &[u8]) -> TestRequest {
    TestRequest::put()
        .uri(&format!("{BASE}{path}"))
        .insert_header(("x-api-key", key))
        .set_payload(bytes.to_vec())
}

fn put(path: &str, key: &str, name: &str, bytes: &[u8]) -> TestRequest {
    bare(path, key, bytes)
        .insert_header(("x-file-name", name))
        .insert_header(("x-file-sha256", sha256(bytes)))
}

async fn upload(api: &Api, by: &Account, chat: ChatId, name: &str, bytes: &[u8]) -> Answer {
    api.send(put(&format!("/chats/{chat}/files"), &by.key, name, bytes)).await
}

/// Status, headers, and body.
type Downloaded = (u16, HeaderMap, Vec<u8>);

async fn ask(api: &Api, method: Method, by: &Account, path: &str, headers: &[(&str, &str)]) -> Downloaded {
    let app = api.app(RateLimitConfig::off()).await;
    let request = TestRequest::with_uri(&format!("{BASE}{path}")).method(method);
    let request = request.insert_header(("x-api-key", by.key.as_str()));
    let request = headers.iter().fold(request, |request, header| request.insert_header(*header));
    let response = app.call(request.to_request()).await.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    (status, headers, to_bytes(response.into_body()).await.unwrap().to_vec())
}

async fn download(api: &Api, by: &Account, path: &str, headers: &[(&str, &str)]) -> Downloaded {
    ask(api, Method::GET, by, path, headers).await
}

fn header<'h>((_, headers, _): &'h Downloaded, name: &str) -> &'h str {
    headers.get(name).map_or("", |value| value.to_str().unwrap())
}

fn text_of(answer: &Answer, name: &str) -> String {
    answer.data()[name].as_str().unwrap().to_owned()
}

#[actix_web::test]
async fn a_file_is_uploaded_and_downloaded_as_it_was() {
    let api = Api::new().await;
    let chat = api.room().await;
    let bytes = "na\u{ef}ve text\n".as_bytes();
    let name = "r\u{e9}sum\u{e9} \"1\".html";
    let answer = upload(&api, api.caller(), chat, name, bytes).await;
    let in_a_day = api.world.clock.now().plus(FileLimits::DEFAULT.unattached).to_string();
    let file = json!({
        "id": answer.data()["id"], "name": name, "content_type": "text/plain", "bytes": bytes.len(),
        "sha256": sha256(bytes), "has_thumb": false, "expires_at": in_a_day,
    });
    assert_eq!((answer.status, answer.data()), (201, &file));
    let again = upload(&api, api.caller(), chat, "other.txt", bytes).await;
    assert_eq!((again.status, again.data()), (200, &file));

    let path = format!("/chats/{chat}/files/{}", text_of(&answer, "id"));
    let whole = download(&api, api.caller(), &path, &[]).await;
    assert_eq!((whole.0, &whole.2[..]), (200, bytes));
    let tag = format!("\"{}\"", sha256(bytes));
    let disposition =
        "attachment; filename=\"r_sum_ _1_.html\"; filename*=UTF-8''r%C3%A9sum%C3%A9%20%221%22.html";
    for (name, value) in [
        ("content-type", "text/plain"),
        ("content-length", "12"),
        ("content-disposition", disposition),
        ("accept-ranges", "bytes"),
        ("etag", &tag),
        ("cache-control", "private, max-age=0, must-revalidate"),
        ("x-content-type-options", "nosniff"),
        ("content-security-policy", "sandbox; default-src 'none'"),
        ("content-encoding", ""),
    ] {
        // The length is written by the connection, of the size of the body.
        let is_sized = name == "content-length" && header(&whole, name).is_empty();
        assert!(header(&whole, name) == value || is_sized, "{name}: {}", header(&whole, name));
    }
    let known = download(&api, api.caller(), &path, &[("if-none-match", &tag)]).await;
    assert_eq!((known.0, known.2.len(), header(&known, "etag")), (304, 0, &*tag));
    let other = download(&api, api.caller(), &path, &[("if-none-match", "\"x\"")]).await;
    assert_eq!((other.0, &other.2[..]), (200, bytes));
    let head = ask(&api, Method::HEAD, api.caller(), &path, &[]).await;
    assert_eq!((head.0, header(&head, "etag"), head.2.len()), (200, &*tag, 0));
    let empty = upload(&api, api.caller(), chat, "empty", b"").await;
    assert_eq!((empty.status, &empty.data()["content_type"]), (201, &json!("text/plain")));
    let path = format!("/chats/{chat}/files/{}", text_of(&empty, "id"));
    assert_eq!(download(&api, api.caller(), &path, &[]).await.2, b"");
}

/// What the client says about the content is ignored, and never an error.
#[actix_web::test]
async fn the_content_type_of_the_request_does_not_matter() {
    let api = Api::new().await;
    let chat = api.room().await;
    let path = format!("/chats/{chat}/files");
    for (number, content_type) in
        [None, Some("application/json"), Some("text/html"), Some("image/png"), Some("nonsense")]
            .into_iter()
            .enumerate()
    {
        let bytes = format!("<script>alert({number})</script>").into_bytes();
        let request = put(&path, &api.caller().key, "a.html", &bytes);
        let request = content_type
            .into_iter()
            .fold(request, |request, kind| request.insert_header(("content-type", kind)));
        let answer = api.send(request).await;
        assert_eq!(
            (answer.status, &answer.data()["content_type"]),
            (201, &json!("text/plain")),
            "{content_type:?}"
        );
    }
    let png = upload(&api, api.caller(), chat, "a.txt", b"\x89PNG\r\n\x1a\n").await;
    assert_eq!(png.data()["content_type"], "image/png");
}

#[actix_web::test]
async fn headers_and_bytes_must_agree() {
    let api = Api::new().await;
    let chat = api.room().await;
    let (path, key) = (format!("/chats/{chat}/files"), &api.caller().key);
    let digest = sha256(b"x");
    let upper = digest.to_uppercase();
    let (long, longest) = ("x".repeat(256), "x".repeat(255));
    for (name, sha, status, faults) in [
        (None, None, 400, &["x-file-name", "x-file-sha256"][..]),
        (Some("a"), None, 400, &["x-file-sha256"]),
        (None, Some(&*digest), 400, &["x-file-name"]),
        (Some(" "), Some(&*digest), 400, &["x-file-name"]),
        (Some(&*long), Some(&*digest), 400, &["x-file-name"]),
        (Some("a\tb"), Some(&*digest), 400, &["x-file-name"]),
        (Some("a"), Some(&digest[1..]), 400, &["x-file-sha256"]),
        (Some("a"), Some("zz"), 400, &["x-file-sha256"]),
        (Some(&*longest), Some(&*upper), 201, &[]),
    ] {
        let request = bare(&path, key, b"x");
        let request =
            name.into_iter().fold(request, |request, name| request.insert_header(("x-file-name", name)));
        let request =
            sha.into_iter().fold(request, |request, sha| request.insert_header(("x-file-sha256", sha)));
        let answer = api.send(request).await;
        assert_eq!(answer.status, status, "{name:?} {sha:?} {answer:?}");
        if status == 400 {
            assert_eq!(answer.refusal(), (400, "bad_request", faults.to_vec()));
        } else {
            assert_eq!(answer.data()["sha256"], json!(digest));
        }
    }
    let wrong = put(&path, key, "a", b"y").insert_header(("x-file-sha256", digest.clone()));
    assert_eq!(api.send(wrong).await.refusal(), (422, "validation_error", vec!["x-file-sha256"]));
    assert_eq!(upload(&api, api.caller(), chat, "a", b"y").await.status, 201);
    let separators = upload(&api, api.caller(), chat, "a/b\\c", b"z").await;
    assert_eq!(separators.data()["name"], "a_b_c");
    let parameter = put(&format!("{path}?x=1"), key, "a", b"x");
    assert_eq!(api.send(parameter).await.code(), (422, "validation_error"));
}

#[actix_web::test]
async fn a_part_of_a_file_is_downloaded() {
    let api = Api::new().await;
    let chat = api.room().await;
    let answer = upload(&api, api.caller(), chat, "a", b"0123456789").await;
    let path = format!("/chats/{chat}/files/{}", text_of(&answer, "id"));
    for (range, status, body, content_range) in [
        ("bytes=0-0", 206, "0", "bytes 0-0/10"),
        ("bytes=5-", 206, "56789", "bytes 5-9/10"),
        ("bytes=-5", 206, "56789", "bytes 5-9/10"),
        ("bytes=0-999999", 206, "0123456789", "bytes 0-9/10"),
        ("abc", 200, "0123456789", ""),
        ("bytes=5-2", 200, "0123456789", ""),
        ("bytes=0-1,3-4", 200, "0123456789", ""),
        ("lines=1-2", 200, "0123456789", ""),
        ("bytes=10-", 416, "\"Requested range not satisfiable\"", "bytes */10"),
        ("bytes=-0", 416, "\"Requested range not satisfiable\"", "bytes */10"),
    ] {
        let part = download(&api, api.caller(), &path, &[("range", range)]).await;
        let body_of_part = String::from_utf8(part.2.clone()).unwrap();
        assert_eq!(
            (part.0, &*body_of_part, header(&part, "content-range")),
            (status, body, content_range),
            "{range}"
        );
        if status == 416 {
            assert_eq!(header(&part, "content-type"), "application/json");
            document::check("GET", &format!("{BASE}{path}"), 416, &json!("Requested range not satisfiable"));
        }
    }
    let tag = header(&download(&api, api.caller(), &path, &[]).await, "etag").to_owned();
    for (condition, status) in [(&*tag, 206), ("\"other\"", 200), ("Wed, 21 Oct 2015 07:28:00 GMT", 200)] {
        let part =
            download(&api, api.caller(), &path, &[("range", "bytes=1-2"), ("if-range", condition)]).await;
        assert_eq!(part.0, status, "{condition}");
    }
}

/// The answer to an upload of `bytes` in pieces, each of which comes after a pause. If it does not end, the client is silent
/// after the last piece. The clock stands still meanwhile, and goes forward by the pauses, and when everything waits for it.
async fn upload_slowly(
    api: &Api,
    chat: ChatId,
    bytes: &[u8],
    (piece, pause): (usize, Duration),
    ends: bool,
) -> (u16, String, Duration) {
    let pieces = bytes.chunks(piece).map(Bytes::copy_from_slice).collect::<Vec<_>>();
    let stream = stream::unfold((false, pieces.into_iter()), move |(has_begun, mut pieces)| async move {
        // The store has a clock of its own, which goes on before and afterwards.
        if !has_begun {
            time::pause();
        }
        let Some(piece) = pieces.next() else {
            if !ends {
                pending::<()>().await;
            }
            time::resume();
            return None;
        };
        time::advance(pause).await;
        Some((Ok(piece), (true, pieces)))
    });
    let path = format!("/chats/{chat}/files");
    let mut request = put(&path, &api.caller().key, "slow", bytes).to_request();
    *request.payload() = Payload::Stream { payload: Box::pin(stream) };
    let (app, begun) = (api.app(RateLimitConfig::off()).await, Instant::now());
    let response = app.call(request).await.unwrap();
    let took = begun.elapsed();
    if !ends || response.status() == 408 {
        time::resume();
    }
    let closes = response.response().head().connection_type() == ConnectionType::Close;
    assert_eq!(closes, response.status() == 408, "the rest may never come");
    let status = response.status().as_u16();
    let body = serde_json::from_slice::<Value>(&to_bytes(response.into_body()).await.unwrap()).unwrap();
    document::check("PUT", &format!("{BASE}{path}"), status, &body);
    (status, body["error"]["code"].as_str().unwrap_or_default().to_owned(), took)
}

/// A client may take its time, but has to send something within half a minute, and four KiB a second after that.
#[actix_web::test]
async fn an_upload_has_to_make_progress() {
    let api = Api::new().await;
    let chat = api.room().await;
    let seconds = Duration::from_secs;
    let bytes = vec![b'x'; 4 * 1024 * 1024];
    let (status, code, took) = upload_slowly(&api, chat, &bytes, (1024 * 1024, seconds(1)), false).await;
    assert_eq!((status, code.as_str()), (408, "request_timeout"));
    assert!((34..40).contains(&took.as_secs()), "{took:?}");
    let (status, code, took) = upload_slowly(&api, chat, b"one by one", (1, seconds(9)), true).await;
    assert_eq!((status, code.as_str()), (408, "request_timeout"));
    assert!((36..42).contains(&took.as_secs()), "{took:?}");
    // There is no limit for all of it.
    let (status, code, took) = upload_slowly(&api, chat, &bytes, (128 * 1024, seconds(29)), true).await;
    assert!(status == 201 && took >= 32 * seconds(29), "{status} {code} after {took:?}");
    assert_eq!(upload(&api, api.caller(), chat, "one", b"one by one").await.status, 201, "it is new");
}

/// However long a client takes from one piece to the next.
#[actix_web::test]
async fn a_download_takes_as_long_as_its_client() {
    let api = Api::new().await;
    let chat = api.room().await;
    let bytes = (0..=u8::MAX).cycle().take(500_000).collect::<Vec<_>>();
    let file = upload(&api, api.caller(), chat, "long", &bytes).await;
    let request = TestRequest::get().uri(&format!("{BASE}/chats/{chat}/files/{}", text_of(&file, "id")));
    let request = request.insert_header(("x-api-key", api.caller().key.as_str()));
    let app = api.app(RateLimitConfig::off()).await;
    let mut body = pin!(app.call(request.to_request()).await.unwrap().into_body());
    let (mut read, mut pieces) = (Vec::new(), 0);
    while let Some(piece) = poll_fn(|context| body.as_mut().poll_next(context)).await {
        read.extend_from_slice(&piece.unwrap());
        pieces += 1;
        time::pause();
        time::advance(Duration::from_secs(60 * 60)).await;
        time::resume();
    }
    assert!(read == bytes && pieces > 5, "{} bytes in {pieces} pieces", read.len());
}

/// Everything out of reach looks the same.
#[actix_web::test]
async fn what_is_out_of_reach_is_not_found() {
    let api = Api::new().await;
    let chat = api.room().await;
    let own = upload(&api, api.caller(), chat, "a", b"a").await;
    let foreign = api.empty_room(api.bob.caller).await;
    api.add(api.bob.caller, foreign, api.rival.id.into(), Role::Member).await;
    let nothing = "00000000-0000-7000-8000-000000000009";
    let id = text_of(&own, "id");
    let mut bodies = Vec::new();
    for path in [
        format!("/chats/{foreign}/files/{id}"),
        format!("/chats/{nothing}/files/{id}"),
        format!("/chats/{chat}/files/{nothing}"),
        format!("/chats/{chat}/files/x"),
        format!("/chats/x/files/{id}"),
    ] {
        let answer = api.get(api.caller(), &path).await;
        let mut body = answer.body;
        body["error"]["request_id"] = Value::Null;
        assert_eq!(answer.status, 404, "{path}");
        bodies.push(body);
    }
    assert!(bodies.windows(2).all(|pair| pair[0] == pair[1]), "{bodies:?}");
    for path in
        [format!("/chats/{foreign}/files"), format!("/chats/{nothing}/files"), "/chats/x/files".to_owned()]
    {
        assert_eq!(
            api.send(put(&path, &api.caller().key, "a", b"a")).await.code(),
            (404, "not_found"),
            "{path}"
        );
        // Not even what is wrong with the headers.
        assert_eq!(api.send(bare(&path, &api.caller().key, b"a")).await.code(), (404, "not_found"), "{path}");
    }
    let thumbnail = api.get(api.caller(), &format!("/chats/{chat}/files/{id}/thumbnail")).await;
    assert_eq!(thumbnail.code(), (404, "not_found"));
    let off = Services::new(Ports { files: FileLimits::OFF, ..api.world.ports.clone() });
    let request = put(&format!("/chats/{chat}/files"), &api.caller().key, "b", b"b");
    assert_eq!(api.send_to(&off, request).await.code(), (404, "not_found"));
    let request = TestRequest::get().uri(&format!("{BASE}/chats/{chat}/files/{id}"));
    let request = request.insert_header(("x-api-key", api.caller().key.as_str()));
    assert_eq!(api.send_to(&off, request).await.code(), (404, "not_found"));
}

#[actix_web::test]
async fn limits_have_their_own_refusals() {
    let api = Api::new().await;
    let chat = api.room().await;
    let limits = FileLimits { file_bytes: 8, chat_bytes: Some(10), ..FileLimits::DEFAULT };
    let few = Services::new(Ports { files: limits, ..api.world.ports.clone() });
    let path = format!("/chats/{chat}/files");
    let key = &api.caller().key;
    let large = api.send_to(&few, put(&path, key, "a", b"ninebytes")).await;
    assert_eq!(large.code(), (413, "content_too_large"));
    let declared = put(&path, key, "a", b"").insert_header(("content-length", "9"));
    assert_eq!(api.send_to(&few, declared).await.code(), (413, "content_too_large"));
    assert_eq!(api.send_to(&few, put(&path, key, "a", b"8 bytes!")).await.status, 201);
    let full = api.send_to(&few, put(&path, key, "b", b"three")).await;
    assert_eq!(full.code(), (403, "limit_reached"));
    let details = json!({"resource": "files", "limit": 10, "current": 8, "scope_id": chat.to_string()});
    assert_eq!(full.body["error"]["details"], details);
}

#[actix_web::test]
async fn a_message_shows_its_files() {
    let api = Api::new().await;
    let chat = api.room().await;
    let mut ids = Vec::new();
    let mut shown = Vec::new();
    for number in 0..11 {
        let answer =
            upload(&api, api.caller(), chat, &format!("{number}.txt"), format!("{number}").as_bytes()).await;
        ids.push(text_of(&answer, "id"));
        let mut file = answer.data().clone();
        file["expires_at"] = Value::Null;
        shown.push(file);
    }
    let path = format!("/chats/{chat}/messages");
    let text = |ids: &[String]| json!({"message": {"content": "look", "mentions": [{"id": api.scout.id.to_string()}], "attachment_ids": ids}});
    let eleven = api.post(api.caller(), &path, text(&ids)).await;
    assert_eq!(eleven.refusal(), (422, "validation_error", vec!["/message/attachment_ids"]));
    let reversed = ids[..10].iter().rev().cloned().collect::<Vec<_>>();
    let sent = api.post(api.caller(), &path, text(&reversed)).await;
    assert_eq!(sent.status, 201, "{sent:?}");
    shown.truncate(10);
    shown.reverse();
    let (key, read) = if BASE.ends_with("/me") {
        (&api.ann.key, path.clone())
    } else {
        (&api.scout.key, format!("/chats/{chat}/context"))
    };
    let read = api.call(key, Method::GET, &read, &Value::Null).await;
    assert_eq!(read.data()[0]["attachments"], Value::Array(shown));
    let blank = json!({"message": {"content": " ", "mentions": [], "attachment_ids": [ids[0]]}});
    assert_eq!(api.post(api.caller(), &path, blank).await.code().0, 422);
    for (ids, index) in [
        (vec![ids[0].clone(), "00000000-0000-7000-8000-000000000009".to_owned()], 1),
        (vec!["f".to_owned()], 0),
    ] {
        let unknown = api.post(api.caller(), &path, text(&ids)).await;
        let pointer = format!("/message/attachment_ids/{index}");
        assert_eq!(unknown.refusal(), (422, "unknown_attachment", vec![&*pointer]));
    }
}
