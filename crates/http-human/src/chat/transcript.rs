//! `GET /chats/{chat_id}/transcript`: the chat as one document, which is read while the client takes it.
//!
//! A transcript is always a download, and a browser that opens it nevertheless does so in an empty sandbox.

use std::time::Duration;

use actix_web::http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS,
};
use actix_web::web::{Bytes, Data};
use actix_web::{HttpRequest, HttpResponse};
use domain::id::ParticipantId;
use domain::transcript::{Transcript, TranscriptFormat, TranscriptReader, TranscriptService};
use futures_util::stream::unfold;
use http_wire::auth::{self, UserAuth};
use http_wire::error::ApiError;
use http_wire::limit::{RateLimits, Transfer, TransferPermit};
use http_wire::path::ChatPath;
use http_wire::query::{FromQuery, QueryReader, StrictQuery};
use http_wire::request_scope::StreamedBody;
use http_wire::response_budget::FREE_BYTES;
use http_wire::strict_json::Rejected;
use tokio::time::Instant;

/// The media types of all formats.
pub(crate) const MEDIA_TYPES: &[&str] = &[
    media_type(TranscriptFormat::Markdown),
    media_type(TranscriptFormat::Jsonl),
    media_type(TranscriptFormat::Html),
];

/// The interval at which the credential is checked again.
const CHECK_AGAIN_AFTER: Duration = Duration::from_secs(5);

pub(crate) struct TranscriptQuery {
    format: TranscriptFormat,
}

impl FromQuery for TranscriptQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Rejected> {
        let description = "The format. Default: markdown.";
        let format = query.word("format", TranscriptFormat::WORDS, description, TranscriptFormat::parse)?;
        Ok(Self { format: format.unwrap_or_default() })
    }
}

pub(crate) async fn transcript(
    UserAuth(caller): UserAuth,
    path: ChatPath,
    StrictQuery(TranscriptQuery { format }): StrictQuery<TranscriptQuery>,
    request: HttpRequest,
    transcripts: Data<TranscriptService>,
) -> Result<HttpResponse, ApiError> {
    let (limits, reader) = (RateLimits::of(&request)?.clone(), ParticipantId::User(caller.user));
    let permit = limits.begin_transfer(reader, Transfer::Transcript)?;
    let mut transcript = transcripts.begin(TranscriptReader::User(caller), path.chat, format).await?;
    // The first page is read before the answer begins, so that a failure is one of its own.
    let first = transcript.next().await?.unwrap_or_default();
    auth::end_read(&request);
    let checked = Instant::now();
    let body = Body { transcript, read: first.into(), request, checked, limits, reader, _permit: permit };
    let pieces = unfold(Some(body), move |body| async move {
        let mut body = body?;
        match body.next().await {
            Ok(piece) => piece.map(|piece| (Ok(piece), Some(body))),
            Err(error) => {
                tracing::warn!(chat = %path.chat, participant = %reader, error = %error, "transcript cut off");
                Some((Err(error), None))
            }
        }
    });
    let (media_type, name) = (media_type(format), format!("transcript-{}.{}", path.chat, format.extension()));
    let mut answer = HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, media_type))
        .insert_header((CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\"")))
        .insert_header((CACHE_CONTROL, "private, no-store"))
        .insert_header((CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'; style-src 'unsafe-inline'"))
        .insert_header((X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .streaming(pieces);
    answer.extensions_mut().insert(StreamedBody);
    Ok(answer)
}

const fn media_type(format: TranscriptFormat) -> &'static str {
    match format {
        TranscriptFormat::Markdown => "text/markdown; charset=utf-8",
        TranscriptFormat::Jsonl => "application/jsonl",
        TranscriptFormat::Html => "text/html; charset=utf-8",
    }
}

/// The rest of a transcript. If it fails, the connection is cut, so that the client does not take the beginning for all
/// of it.
struct Body {
    transcript: Transcript,
    /// What was read and not sent yet.
    read: Bytes,
    request: HttpRequest,
    /// When the credential was checked.
    checked: Instant,
    limits: Data<RateLimits>,
    reader: ParticipantId,
    _permit: TransferPermit,
}

impl Body {
    async fn next(&mut self) -> Result<Option<Bytes>, ApiError> {
        while self.read.is_empty() {
            if self.checked.elapsed() >= CHECK_AGAIN_AFTER {
                auth::check_again(&self.request).await?;
                self.checked = Instant::now();
            }
            let _permit = self.limits.may_continue(self.reader).await?;
            let Some(piece) = self.transcript.next().await? else { return Ok(None) };
            self.read = piece.into();
        }
        let small = self.read.len().min(usize::try_from(FREE_BYTES).unwrap_or(usize::MAX));
        Ok(Some(self.read.split_to(small)))
    }
}
