//! A document that is part of the program: it is in memory once, with an `ETag` for clients that already have it.

use actix_web::http::header::{CACHE_CONTROL, CONTENT_ENCODING, ETAG, EntityTag, Header, IfNoneMatch};
use actix_web::web::Bytes;
use actix_web::{HttpRequest, HttpResponse};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use crate::request_scope::StaticBody;

/// One document.
pub struct StaticFile {
    body: Bytes,
    tag: EntityTag,
    content_type: String,
    is_gzip: bool,
}

impl StaticFile {
    /// The document; `is_gzip` says that the body is compressed.
    pub fn new(body: Bytes, content_type: String, is_gzip: bool) -> Self {
        let digest = Sha256::digest(&body);
        let tag = URL_SAFE_NO_PAD.encode(&digest[..16]);
        Self { body, tag: EntityTag::new_strong(tag), content_type, is_gzip }
    }

    /// The document, or 304 for a client that has it.
    pub fn answer(&self, request: &HttpRequest) -> HttpResponse {
        let is_known = match IfNoneMatch::parse(request) {
            Ok(IfNoneMatch::Any) => true,
            Ok(IfNoneMatch::Items(tags)) => tags.iter().any(|tag| tag.weak_eq(&self.tag)),
            Err(_) => false,
        };
        let mut answer = if is_known { HttpResponse::NotModified() } else { HttpResponse::Ok() };
        // It only changes with the program, but then at once.
        answer.insert_header((ETAG, self.tag.to_string())).insert_header((CACHE_CONTROL, "no-cache"));
        if is_known {
            return answer.finish();
        }
        if self.is_gzip {
            answer.insert_header((CONTENT_ENCODING, "gzip"));
        }
        let mut answer = answer.content_type(self.content_type.as_str()).body(self.body.clone());
        answer.extensions_mut().insert(StaticBody);
        answer
    }
}
