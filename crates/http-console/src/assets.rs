//! The files of the console. Every path below `/console/` that is no file answers the page, which reads the path.
//!
//! The page names the other files below the digest of all of them, so that a browser may keep them. A request for
//! another digest is answered too, but not to be kept: behind a proxy, the page may come from another version. Only the
//! part of the script that is loaded later must be of the same version as the rest.

use std::io::Write;
use std::sync::LazyLock;

use actix_web::http::header::{ACCEPT_ENCODING, CACHE_CONTROL, HeaderValue, VARY};
use actix_web::web::{Bytes, Path};
use actix_web::{HttpRequest, HttpResponse};
use flate2::Compression;
use flate2::write::GzEncoder;
use http_wire::error::{ApiError, ErrorCode};
use http_wire::static_file::StaticFile;

use crate::policy::HEADERS;

/// A file as it is served.
struct Asset {
    name: &'static str,
    body: &'static [u8],
    /// As it is, and compressed.
    forms: LazyLock<[StaticFile; 2]>,
}

macro_rules! assets {
    ($($constant:ident = $name:literal, $content_type:literal;)*) => {
        $(
            static $constant: Asset = Asset {
                name: $name,
                body: include_bytes!(concat!("../assets/", $name)),
                forms: LazyLock::new(|| forms($constant.body, $content_type)),
            };
        )*
    };
}

assets! {
    PAGE = "index.html", "text/html; charset=utf-8";
    SCRIPT = "app.js", "text/javascript; charset=utf-8";
    LATER = "later.js", "text/javascript; charset=utf-8";
    STYLE = "app.css", "text/css; charset=utf-8";
    ICON = "icon.svg", "image/svg+xml";
    LICENSES = "LICENSES.txt", "text/plain; charset=utf-8";
    WORKER = "sw.js", "text/javascript; charset=utf-8";
}

/// The files below the digest.
static NAMED: [&Asset; 5] = [&SCRIPT, &LATER, &STYLE, &ICON, &LICENSES];

fn forms(body: &'static [u8], content_type: &str) -> [StaticFile; 2] {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    // A write into memory does not fail; without it, an empty file would be served.
    let gzip = encoder.write_all(body).and_then(|()| encoder.finish()).unwrap_or_default();
    let form = |body, is_gzip| StaticFile::new(body, content_type.to_owned(), is_gzip);
    [form(Bytes::from_static(body), false), form(gzip.into(), true)]
}

/// Answers `/console/…`.
pub(crate) async fn find(request: HttpRequest, path: Path<String>) -> Result<HttpResponse, ApiError> {
    if *path == WORKER.name {
        return Ok(answer(&WORKER, &request, "no-cache"));
    }
    let Some(rest) = path.strip_prefix("assets/") else { return Ok(answer(&PAGE, &request, "no-cache")) };
    let (digest, name) = rest.split_once('/').unwrap_or_default();
    let found = NAMED.iter().find(|asset| asset.name == name);
    let asset = found.ok_or_else(|| ApiError::new(ErrorCode::NotFound, "The console has no such file."))?;
    let is_own = PAGE_TEXT.contains(&format!("/console/assets/{digest}/"));
    // A part of the script of another version does not fit into that page, which then asks for a reload.
    if !is_own && asset.name == LATER.name {
        let message = "This file belongs to another version of the console. Reload the page.";
        return Err(ApiError::new(ErrorCode::NotFound, message));
    }
    let caching = if is_own { "public, max-age=31536000, immutable" } else { "no-store" };
    Ok(answer(asset, &request, caching))
}

/// The page, which names the digest.
static PAGE_TEXT: LazyLock<&str> = LazyLock::new(|| std::str::from_utf8(PAGE.body).unwrap_or_default());

fn answer(asset: &'static Asset, request: &HttpRequest, caching: &'static str) -> HttpResponse {
    let takes_gzip = request.headers().get_all(ACCEPT_ENCODING).any(|value| {
        let names = value.to_str().unwrap_or_default().split(',');
        names.map(str::trim).any(|name| name == "gzip" || name.starts_with("gzip;") && !name.ends_with("q=0"))
    });
    let [plain, gzip] = &*asset.forms;
    let mut answer = if takes_gzip { gzip } else { plain }.answer(request);
    let own = [
        (CACHE_CONTROL, HeaderValue::from_static(caching)),
        (VARY, HeaderValue::from_static("accept-encoding")),
    ];
    for (name, value) in HEADERS.into_iter().chain(own) {
        answer.headers_mut().insert(name, value);
    }
    answer
}
