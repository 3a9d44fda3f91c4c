//! The book of the documentation at `/docs/`, from the directory that `docs_directory` names.
//!
//! Whoever may write into the directory can run scripts on the origin of the console, so it belongs to the operator, as the
//! program does. The policy of a page allows the inline scripts that are in its file, by their digests, and none that get into
//! the page in a browser; and no script of a page can send a request, so none can use the session of the console.

use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use actix_web::http::header::{
    CONTENT_SECURITY_POLICY, CROSS_ORIGIN_OPENER_POLICY, CROSS_ORIGIN_RESOURCE_POLICY, ContentType,
    HeaderValue, LOCATION,
};
use actix_web::middleware::from_fn;
use actix_web::web::{self, Bytes};
use actix_web::{HttpRequest, HttpResponse};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http_wire::error::{ApiError, ErrorCode};
use http_wire::limit::anonymous;
use http_wire::request_scope::Verbatim;
use http_wire::static_file::StaticFile;
use sha2::{Digest, Sha256};

use crate::static_files::StaticFiles;

/// The path of the book.
const BASE: &str = "/docs/";

/// The page of a directory. A directory without it is no book.
const INDEX: &str = "index.html";

/// The types of files that browsers run or show only under their type. Others are texts, or bytes to save.
const TYPES: [(&str, &str); 8] = [
    ("html", "text/html; charset=utf-8"),
    ("css", "text/css; charset=utf-8"),
    ("js", "text/javascript; charset=utf-8"),
    ("json", "application/json"),
    ("svg", "image/svg+xml"),
    ("png", "image/png"),
    ("ico", "image/x-icon"),
    ("woff2", "font/woff2"),
];

const NOT_FOUND: &str = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
    <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
    <title>Page not found</title>\n</head>\n<body>\n<main>\n<h1>Page not found</h1>\n\
    <p>The documentation of this version has no such page. <a href=\"/docs/\">Go to its first page</a>.</p>\n\
    </main>\n</body>\n</html>\n";

/// The book, of which each file is read on first use: it belongs to the version that runs.
pub(crate) struct Book {
    /// Without symbolic links.
    directory: PathBuf,
    files: StaticFiles<Page>,
}

/// A file of the book, and what a browser lets it do.
struct Page {
    file: StaticFile,
    policy: HeaderValue,
}

impl Book {
    /// The book in this directory.
    ///
    /// # Errors
    /// When the directory has no first page that can be read.
    pub(crate) fn open(directory: &Path) -> io::Result<Self> {
        let directory = directory.canonicalize()?;
        std::fs::File::open(directory.join(INDEX))?;
        Ok(Self { directory, files: StaticFiles::new() })
    }

    /// The same for a server, which is of use without it too: packages can be installed without their documentation.
    pub(crate) fn served(directory: &Path) -> Option<Arc<Self>> {
        let shown = directory.display();
        let book = Self::open(directory).inspect_err(|cause| {
            tracing::warn!(directory = %shown, error = %cause, "documentation cannot be read; /docs/ is not served");
        });
        book.ok().map(Arc::new)
    }

    /// Mounts the book.
    pub(crate) fn configure(self: Arc<Self>, config: &mut web::ServiceConfig) {
        let to_base = || async { HttpResponse::PermanentRedirect().insert_header((LOCATION, BASE)).finish() };
        config
            .app_data(web::Data::from(self))
            .service(web::resource("/docs").route(web::get().to(to_base)).wrap(from_fn(anonymous)))
            .service(
                web::resource("/docs/{path:.*}")
                    .route(web::get().to(serve))
                    .route(web::head().to(serve))
                    .wrap(from_fn(anonymous)),
            );
    }

    /// The file at this path; `None` if there is none.
    fn find(&self, path: &str) -> io::Result<Option<Arc<Page>>> {
        let is_directory = path.is_empty() || path.ends_with('/');
        let name = if is_directory { format!("{path}{INDEX}") } else { path.to_owned() };
        self.files.get(&name, || match self.read(&name) {
            Ok(file) => file.map(|body| page(&name, body)).transpose(),
            Err(cause) => match cause.kind() {
                ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::InvalidFilename => Ok(None),
                _ => Err(cause),
            },
        })
    }

    /// The content of a file below the directory that no symbolic link leads to, and whose path has no hidden name.
    fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let is_plain = |part: Component<'_>| match part {
            Component::Normal(part) => !part.as_encoded_bytes().starts_with(b"."),
            _ => false,
        };
        if name.contains('\0') || !Path::new(name).components().all(is_plain) {
            return Ok(None);
        }
        let file = self.directory.join(name);
        // As text, so that each file has one path, and is in memory once.
        if file.canonicalize()?.as_os_str() != file.as_os_str() || !file.is_file() {
            return Ok(None);
        }
        std::fs::read(file).map(Some)
    }
}

fn page(name: &str, body: Vec<u8>) -> io::Result<Page> {
    let text = std::str::from_utf8(&body).ok();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let policy = policy(text.filter(|_| ending == "html").unwrap_or_default());
    let known = TYPES.iter().find(|(of, _)| *of == ending).map(|(_, content_type)| *content_type);
    let other = if text.is_some() { "text/plain; charset=utf-8" } else { "application/octet-stream" };
    let file = StaticFile::new(Bytes::from(body), known.unwrap_or(other).to_owned(), false);
    Ok(Page { file, policy: HeaderValue::try_from(policy).map_err(io::Error::other)? })
}

/// What a page may do: show its files, and run the scripts in them and in itself.
fn policy(page: &str) -> String {
    let scripts = page.split("<script>").skip(1).filter_map(|rest| rest.split_once("</script>"));
    let digests = scripts.map(|(script, _)| format!(" 'sha256-{}'", STANDARD.encode(Sha256::digest(script))));
    format!(
        "default-src 'none'; script-src 'self'{}; style-src 'self'; style-src-attr 'unsafe-inline'; \
         img-src 'self' data:; font-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
        digests.collect::<Vec<_>>().concat()
    )
}

async fn serve(
    request: HttpRequest,
    path: web::Path<String>,
    book: web::Data<Book>,
) -> Result<HttpResponse, ApiError> {
    let path = path.into_inner();
    let shown = path.clone();
    let found = web::block(move || book.find(&path)).await;
    let found = found.map_err(io::Error::other).flatten().map_err(|cause| {
        tracing::error!(path = %shown, error = %cause, "file of the documentation cannot be read");
        ApiError::new(
            ErrorCode::InternalError,
            "The server cannot read this file. Ask the operator to look for the cause in the log.",
        )
    })?;
    let (mut answer, policy) = match found {
        Some(page) => (page.file.answer(&request), page.policy.clone()),
        None => (not_found(), HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'")),
    };
    let same_origin = HeaderValue::from_static("same-origin");
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, policy),
        (CROSS_ORIGIN_OPENER_POLICY, same_origin.clone()),
        (CROSS_ORIGIN_RESOURCE_POLICY, same_origin),
    ] {
        answer.headers_mut().insert(name, value);
    }
    Ok(answer)
}

fn not_found() -> HttpResponse {
    let mut answer = HttpResponse::NotFound().content_type(ContentType::html()).body(NOT_FOUND);
    answer.extensions_mut().insert(Verbatim);
    answer
}
