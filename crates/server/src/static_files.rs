//! Documents that are part of the program: each is in memory once, with an `ETag` for clients that
//! already have it.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use actix_web::http::header::{CACHE_CONTROL, CONTENT_ENCODING, ETAG, EntityTag, Header, IfNoneMatch};
use actix_web::web::Bytes;
use actix_web::{HttpRequest, HttpResponse};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http_wire::request_scope::StaticBody;
use sha2::{Digest, Sha256};

/// One document.
pub(crate) struct StaticFile {
    body: Bytes,
    tag: EntityTag,
    content_type: String,
    is_gzip: bool,
}

impl StaticFile {
    pub(crate) fn new(body: Bytes, content_type: String, is_gzip: bool) -> Self {
        let digest = Sha256::digest(&body);
        let tag = URL_SAFE_NO_PAD.encode(&digest[..16]);
        Self { body, tag: EntityTag::new_strong(tag), content_type, is_gzip }
    }

    /// The document, or 304 for a client that has it.
    pub(crate) fn answer(&self, request: &HttpRequest) -> HttpResponse {
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

/// The documents of one location by name, each made on first use.
pub(crate) struct StaticFiles(LazyLock<Mutex<HashMap<String, Arc<StaticFile>>>>);

impl StaticFiles {
    pub(crate) const fn new() -> Self {
        Self(LazyLock::new(Mutex::default))
    }

    /// The document with this name; `make` generates it, if it exists.
    pub(crate) fn get<E>(
        &self,
        name: &str,
        make: impl FnOnce() -> Result<Option<StaticFile>, E>,
    ) -> Result<Option<Arc<StaticFile>>, E> {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = files.get(name) {
            return Ok(Some(file.clone()));
        }
        let file = make()?.map(Arc::new);
        if let Some(file) = &file {
            files.insert(name.to_owned(), file.clone());
        }
        Ok(file)
    }
}
