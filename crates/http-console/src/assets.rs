//! The files of the console. Every path below `/console/` that is no file answers the page, which reads the path.
//!
//! The page names the other files below the digest of all of them, so that a browser may keep them. A request for
//! another digest is answered too, but not to be kept: behind a proxy, the page may come from another version.

use std::io::Write;
use std::sync::LazyLock;

use actix_web::http::StatusCode;
use actix_web::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, EntityTag, Header, IfNoneMatch,
    VARY,
};
use actix_web::web::{Bytes, Path};
use actix_web::{HttpRequest, HttpResponse};
use flate2::Compression;
use flate2::write::GzEncoder;
use http_wire::error::{ApiError, ErrorCode};
use http_wire::request_scope::StaticBody;
use sha2::{Digest, Sha256};

use crate::policy::HEADERS;

/// A file as it is served.
struct Asset {
    name: &'static str,
    content_type: &'static str,
    body: &'static [u8],
    /// Made with the first request.
    prepared: LazyLock<Prepared>,
}

struct Prepared {
    gzip: Bytes,
    tag: String,
}

macro_rules! assets {
    ($($constant:ident = $name:literal, $content_type:literal;)*) => {
        $(
            static $constant: Asset = Asset {
                name: $name,
                content_type: $content_type,
                body: include_bytes!(concat!("../assets/", $name)),
                prepared: LazyLock::new(|| Prepared::of($constant.body)),
            };
        )*
    };
}

assets! {
    PAGE = "index.html", "text/html; charset=utf-8";
    SCRIPT = "app.js", "text/javascript; charset=utf-8";
    STYLE = "app.css", "text/css; charset=utf-8";
    ICON = "icon.svg", "image/svg+xml";
    LICENSES = "LICENSES.txt", "text/plain; charset=utf-8";
}

/// The files below the digest.
static NAMED: [&Asset; 4] = [&SCRIPT, &STYLE, &ICON, &LICENSES];

impl Prepared {
    fn of(body: &[u8]) -> Self {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        // A write into memory does not fail; without it, an empty file would be served.
        let gzip = encoder.write_all(body).and_then(|()| encoder.finish()).unwrap_or_default();
        let digest = Sha256::digest(body);
        let tag = digest.iter().take(12).fold(0, |tag: u128, byte| tag << 8 | u128::from(*byte));
        Self { gzip: gzip.into(), tag: format!("{tag:024x}") }
    }
}

/// Answers `/console/…`.
pub(crate) async fn find(request: HttpRequest, path: Path<String>) -> Result<HttpResponse, ApiError> {
    let Some(rest) = path.strip_prefix("assets/") else { return Ok(answer(&PAGE, &request, "no-cache")) };
    let (digest, name) = rest.split_once('/').unwrap_or_default();
    let found = NAMED.iter().find(|asset| asset.name == name);
    let asset = found.ok_or_else(|| ApiError::new(ErrorCode::NotFound, "The console has no such file."))?;
    let is_named = PAGE_TEXT.contains(&format!("/console/assets/{digest}/"));
    let caching = if is_named { "public, max-age=31536000, immutable" } else { "no-store" };
    Ok(answer(asset, &request, caching))
}

/// The page, which names the digest.
static PAGE_TEXT: LazyLock<&str> = LazyLock::new(|| std::str::from_utf8(PAGE.body).unwrap_or_default());

fn answer(asset: &'static Asset, request: &HttpRequest, caching: &'static str) -> HttpResponse {
    let Prepared { gzip, tag } = &*asset.prepared;
    let takes_gzip = request.headers().get_all(ACCEPT_ENCODING).any(|value| {
        let names = value.to_str().unwrap_or_default().split(',');
        names.map(str::trim).any(|name| name == "gzip" || name.starts_with("gzip;") && !name.ends_with("q=0"))
    });
    // The two forms of a file are distinct.
    let tag = EntityTag::new_strong(if takes_gzip { format!("{tag}-gzip") } else { tag.clone() });
    let is_known = match IfNoneMatch::parse(request) {
        Ok(IfNoneMatch::Any) => true,
        Ok(IfNoneMatch::Items(tags)) => tags.iter().any(|known| known.weak_eq(&tag)),
        Err(_) => false,
    };
    let mut answer = HttpResponse::build(if is_known { StatusCode::NOT_MODIFIED } else { StatusCode::OK });
    for header in HEADERS {
        answer.insert_header(header);
    }
    answer
        .insert_header((CACHE_CONTROL, caching))
        .insert_header((ETAG, tag.to_string()))
        .insert_header((VARY, "accept-encoding"));
    if is_known {
        return answer.finish();
    }
    answer.insert_header((CONTENT_TYPE, asset.content_type));
    let body = if takes_gzip {
        answer.insert_header((CONTENT_ENCODING, "gzip"));
        gzip.clone()
    } else {
        Bytes::from_static(asset.body)
    };
    let mut answer = answer.body(body);
    answer.extensions_mut().insert(StaticBody);
    answer
}
