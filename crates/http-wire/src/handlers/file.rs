//! Uploading and downloading the files of rooms.
//!
//! A transfer has no time limit as a whole. An upload must make progress, a download is subject to the limits of every
//! response ([`crate::response_budget`] and the server's listener).
//!
//! What others have uploaded is never shown under the server's name: it is always a download, of a type that is no page or
//! script, and a browser that opens it nevertheless does so in an empty sandbox.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use actix_web::body::{BodySize, MessageBody};
use actix_web::http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_RANGE,
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, EntityTag, Header, HeaderMap, IF_RANGE, IfNoneMatch, RANGE,
    X_CONTENT_TYPE_OPTIONS,
};
use actix_web::http::{Method, StatusCode};
use actix_web::web::{Bytes, Data, Payload};
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder};
use domain::caller::Caller;
use domain::file::{
    Announced, DownloadError, File, FileDigest, FileName, FileService, ObjectError, ObjectReader, Requested,
    Span,
};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use tokio::time::{Instant, timeout};

use crate::auth::{self, CallerExtractor};
use crate::disk_reserve::DiskReserve;
use crate::envelope;
use crate::error::{ApiError, ErrorCode};
use crate::limit::{RateLimits, SLOWEST, Transfer, TransferPermit};
use crate::openapi::{Endpoint, get, put};
use crate::path::{FilePath, RoomOfFilesPath};
use crate::query::{NoQuery, StrictQuery};
use crate::request_scope::{StreamedBody, Verbatim};
use crate::view::AttachmentView;

/// The header with the name of an uploaded file.
pub const FILE_NAME: &str = "x-file-name";

/// The header with the digest of an uploaded file.
pub const FILE_DIGEST: &str = "x-file-sha256";

/// How long an upload may make no progress, or less than [`SLOWEST`].
const PATIENCE: Duration = Duration::from_secs(30);

/// How long an upload may take until the credential is checked again at its end.
const CHECK_AGAIN_AFTER: Duration = Duration::from_secs(5);

/// The endpoints of the files of chats, for this kind of caller.
pub fn endpoints<C: CallerExtractor + 'static>() -> Vec<Endpoint> {
    vec![
        put("/chats/{chat_id}/files", upload::<C>)
            .named(
                "uploadFile",
                "Upload a file to a chat; the same bytes in one chat are one file (participants only)",
            )
            .header(
                FILE_NAME,
                "The name of the file, in UTF-8: 1 to 255 bytes, without control characters.",
                true,
            )
            .header(FILE_DIGEST, "The SHA-256 digest of the body: 64 hexadecimal digits.", true)
            .raw_body()
            .answers::<AttachmentView<'_>>(201)
            .answers::<AttachmentView<'_>>(200)
            .refuses(&[400, 408, 413]),
        get("/chats/{chat_id}/files/{file_id}", download::<C>)
            .named("downloadFile", "Download a file of a chat, or a part of it")
            .with_head(download::<C>)
            .header("Range", "One range of bytes, such as `bytes=0-1023`. Anything else is ignored.", false)
            .answers_bytes(200)
            .answers_bytes(206)
            .answers_text(416),
    ]
}

/// `PUT /chats/{chat_id}/files`.
pub async fn upload<C: CallerExtractor>(
    caller: C,
    path: RoomOfFilesPath,
    _: StrictQuery<NoQuery>,
    request: HttpRequest,
    mut body: Payload,
    files: Data<FileService>,
) -> Result<HttpResponse, ApiError> {
    let (caller, begun): (Caller, _) = (caller.into(), Instant::now());
    let announced = match announced(request.headers()) {
        Ok(announced) => announced,
        Err(fault) => {
            // Callers who are not participants learn nothing else.
            files.check_uploader(caller, path.chat).await?;
            return Err(fault);
        }
    };
    let _permit = RateLimits::of(&request)?.begin_transfer(caller.participant(), Transfer::Upload)?;
    let mut upload = files.begin_upload(caller, path.chat, announced).await?;
    let disk = request.app_data::<Data<DiskReserve>>();
    // The time that the client has taken, without that of the store.
    let (mut received, mut waited) = (0, Duration::ZERO);
    loop {
        let asked = Instant::now();
        let Some(piece) = timeout(PATIENCE, body.next()).await.map_err(|_| late())? else { break };
        waited += asked.elapsed();
        let piece = piece.map_err(|_| {
            ApiError::new(ErrorCode::BadRequest, "The body could not be read. Send the request again.")
        })?;
        measure::uploaded(piece.len() as u64);
        received += piece.len() as u64;
        if received < SLOWEST * waited.saturating_sub(PATIENCE).as_secs() {
            return Err(late());
        }
        disk.map_or(Ok(()), |disk| disk.check(received))?;
        upload.write(&piece).await?;
    }
    if begun.elapsed() >= CHECK_AGAIN_AFTER {
        auth::check_again(&request).await?;
    }
    let stored = upload.finish().await?;
    let view = AttachmentView::new(&stored.file);
    Ok(if stored.is_new { envelope::Data::created(view) } else { envelope::Data::ok(view) })
}

fn late() -> ApiError {
    let message = "The body made too little progress for 30 seconds. Send the request again.";
    ApiError::new(ErrorCode::RequestTimeout, message)
}

/// What the headers say about an upload. The content type is not among it: it is found from the bytes.
fn announced(headers: &HeaderMap) -> Result<Announced, ApiError> {
    let text = |name| {
        let value = headers.get(name).ok_or("is required")?;
        std::str::from_utf8(value.as_bytes()).map_err(|_| "must be UTF-8")
    };
    let name = text(FILE_NAME).map_err(str::to_owned);
    let name = name.and_then(|name| FileName::new(name).map_err(|fault| fault.to_string()));
    let digest = text(FILE_DIGEST);
    let digest =
        digest.and_then(|digest| FileDigest::parse(digest.trim()).ok_or("must be 64 hexadecimal digits"));
    let fault = || ApiError::new(ErrorCode::BadRequest, "A header is missing or malformed.");
    match (name, digest) {
        (Ok(name), Ok(digest)) => {
            let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
            Ok(Announced { name, digest, bytes: length })
        }
        (Err(name), Ok(_)) => Err(fault().with_detail(FILE_NAME, name)),
        (Ok(_), Err(digest)) => Err(fault().with_detail(FILE_DIGEST, digest)),
        (Err(name), Err(digest)) => {
            Err(fault().with_detail(FILE_NAME, name).with_detail(FILE_DIGEST, digest))
        }
    }
}

/// `GET` and `HEAD /chats/{chat_id}/files/{file_id}`.
pub async fn download<C: CallerExtractor>(
    caller: C,
    path: FilePath,
    _: StrictQuery<NoQuery>,
    request: HttpRequest,
    files: Data<FileService>,
) -> Result<HttpResponse, ApiError> {
    let caller: Caller = caller.into();
    let file = files.find(caller, path.chat, path.file).await?;
    // The bytes come from elsewhere, however slowly.
    auth::end_read(&request);
    let tag = EntityTag::new_strong(file.digest.to_string());
    if is_known(&request, &tag) {
        return Ok(with_headers(&mut HttpResponse::NotModified(), &file, &tag).finish());
    }
    let (mut answer, span) = match requested(request.headers(), &file, &tag) {
        Requested::Beyond => return Ok(not_satisfiable(&file)),
        Requested::Whole => (HttpResponse::Ok(), Span::whole(file.bytes)),
        Requested::Part(span) => {
            let mut answer = HttpResponse::PartialContent();
            let last = span.start + span.length - 1;
            answer.insert_header((CONTENT_RANGE, format!("bytes {}-{last}/{}", span.start, file.bytes)));
            (answer, span)
        }
    };
    with_headers(&mut answer, &file, &tag).insert_header((CONTENT_TYPE, file.content_type.as_str()));
    let body = if request.method() == Method::HEAD {
        FileBody { state: Reading::Over, left: span.length, _permit: None }
    } else {
        let permit = RateLimits::of(&request)?.begin_transfer(caller.participant(), Transfer::Download)?;
        let state = match files.open(&file, span).await? {
            // The first piece is read before the answer begins, so that a failure is one of its own.
            Some(mut reader) => Reading::Read(first(&mut *reader).await?, reader),
            None => Reading::Over,
        };
        FileBody { state, left: span.length, _permit: Some(permit) }
    };
    let mut answer = answer.body(body).map_into_boxed_body();
    answer.extensions_mut().insert(StreamedBody);
    Ok(answer)
}

async fn first(reader: &mut dyn ObjectReader) -> Result<Bytes, DownloadError> {
    let piece = reader.read().await?;
    Ok(piece.ok_or_else(|| ObjectError::unavailable("a file is too short"))?.into())
}

/// The headers of every answer with a file. Nothing of it is shown by a browser.
fn with_headers<'a>(
    answer: &'a mut HttpResponseBuilder,
    file: &File,
    tag: &EntityTag,
) -> &'a mut HttpResponseBuilder {
    answer
        .insert_header((ETAG, tag.to_string()))
        .insert_header((ACCEPT_RANGES, "bytes"))
        .insert_header((CACHE_CONTROL, "private, max-age=0, must-revalidate"))
        .insert_header((CONTENT_DISPOSITION, disposition(&file.name)))
        .insert_header((CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'"))
        .insert_header((X_CONTENT_TYPE_OPTIONS, "nosniff"))
}

/// A download under this name, for old readers in ASCII only.
fn disposition(name: &str) -> String {
    let plain = |char: char| if char.is_ascii() && !matches!(char, '"' | '\\' | '%') { char } else { '_' };
    let ascii = name.chars().map(plain).collect::<String>();
    let mut escaped = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"!#$&+-.^_`|~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            let [high, low] =
                [byte >> 4, byte & 15].map(|digit| char::from(b"0123456789ABCDEF"[usize::from(digit)]));
            escaped.extend(['%', high, low]);
        }
    }
    format!("attachment; filename=\"{ascii}\"; filename*=UTF-8''{escaped}")
}

/// Returns whether the client has the file.
fn is_known(request: &HttpRequest, tag: &EntityTag) -> bool {
    match IfNoneMatch::parse(request) {
        Ok(IfNoneMatch::Any) => true,
        Ok(IfNoneMatch::Items(tags)) => tags.iter().any(|known| known.weak_eq(tag)),
        Err(_) => false,
    }
}

/// The part that the client requests. `If-Range` with anything else than the tag of the file asks for all of it.
fn requested(headers: &HeaderMap, file: &File, tag: &EntityTag) -> Requested {
    let is_current = headers.get(IF_RANGE).is_none_or(|known| known.as_bytes() == tag.to_string().as_bytes());
    let mut ranges = headers.get_all(RANGE);
    match (ranges.next(), ranges.next()) {
        (Some(range), None) if is_current => Requested::parse(range.to_str().ok(), file.bytes),
        _ => Requested::Whole,
    }
}

/// The only failure without an envelope: published clients parse this body as a text.
fn not_satisfiable(file: &File) -> HttpResponse {
    let mut answer = HttpResponse::build(StatusCode::RANGE_NOT_SATISFIABLE)
        .insert_header((CONTENT_RANGE, format!("bytes */{}", file.bytes)))
        .json("Requested range not satisfiable");
    answer.extensions_mut().insert(Verbatim);
    answer
}

/// The next piece of a file, and its reader.
type Piece = (Result<Option<Vec<u8>>, ObjectError>, Box<dyn ObjectReader>);

/// The state of a file that is being read.
enum Reading {
    /// A piece was read.
    Read(Bytes, Box<dyn ObjectReader>),
    /// The next piece is being read.
    Next(BoxFuture<'static, Piece>),
    /// There is nothing more to read.
    Over,
}

/// The bytes of a file, one piece at a time.
struct FileBody {
    state: Reading,
    left: u64,
    /// Counts the download of the caller.
    _permit: Option<TransferPermit>,
}

impl MessageBody for FileBody {
    type Error = ObjectError;

    fn size(&self) -> BodySize {
        BodySize::Sized(self.left)
    }

    /// After a failure the connection is cut, as the announced bytes are missing.
    fn poll_next(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, ObjectError>>> {
        let this = self.get_mut();
        loop {
            match std::mem::replace(&mut this.state, Reading::Over) {
                Reading::Over => return Poll::Ready(None),
                Reading::Read(piece, mut reader) => {
                    this.state = Reading::Next(Box::pin(async move { (reader.read().await, reader) }));
                    measure::downloaded(piece.len() as u64);
                    return Poll::Ready(Some(Ok(piece)));
                }
                Reading::Next(mut next) => {
                    let Poll::Ready((read, reader)) = next.as_mut().poll(context) else {
                        this.state = Reading::Next(next);
                        return Poll::Pending;
                    };
                    match read {
                        Ok(Some(piece)) => this.state = Reading::Read(piece.into(), reader),
                        Ok(None) => return Poll::Ready(None),
                        Err(error) => {
                            tracing::warn!(error = %error, "a download was cut off");
                            return Poll::Ready(Some(Err(error)));
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_survives_as_a_download() {
        for (name, expected) in [
            ("notes.txt", "attachment; filename=\"notes.txt\"; filename*=UTF-8''notes.txt"),
            (
                "a \"b\"; c=\\100%.txt",
                "attachment; filename=\"a _b_; c=_100_.txt\"; filename*=UTF-8''a%20%22b%22%3B%20c%3D%5C100%25.txt",
            ),
            ("r\u{e9}sum\u{e9}'", "attachment; filename=\"r_sum_'\"; filename*=UTF-8''r%C3%A9sum%C3%A9%27"),
        ] {
            assert_eq!(disposition(name), expected);
        }
    }
}
