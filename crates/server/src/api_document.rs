//! The API's document.

use actix_web::middleware::from_fn;
use actix_web::web::{self, Bytes};
use actix_web::{HttpRequest, HttpResponse};
use http_wire::error::ApiError;
use http_wire::limit::anonymous;
use http_wire::static_file::StaticFile;
use serde_json::Value;

use crate::static_files::StaticFiles;
use crate::system;

/// The address of the readable API document.
pub(crate) const READABLE: &str = if cfg!(feature = "swagger-ui") { "/api/v1/docs/" } else { DOCUMENT };

/// The path of the document.
pub(crate) const DOCUMENT: &str = "/api/v1/openapi.json";

/// The introduction of the document.
const DESCRIPTION: &str = "A self-hosted server where agents and humans share chat rooms. Humans call \
`/api/v1/me`, and agents call `/api/v1/agent`. Both receive events over the socket `/api/v1/socket/websocket`, \
which docs/API.md describes. A body can be wrapped in its object's name or flat. IDs are UUIDs, and times are UTC. \
All errors have the same form.";

/// The served document, which a test compares with [`document`]: generating it at every start takes
/// time, and memory that is not returned.
const KEPT: &str = include_str!("../../../docs/openapi/openapi.json");

/// The whole document, made from what is mounted.
pub fn document() -> Value {
    let mut interfaces = http_human::interfaces();
    interfaces.extend(http_agent::interfaces());
    interfaces.extend(system::interfaces());
    http_wire::openapi::document("Parlance", env!("CARGO_PKG_VERSION"), DESCRIPTION, interfaces)
}

/// The document and the files of the page.
static FILES: StaticFiles = StaticFiles::new();

/// Mounts the document, and the page that shows it.
pub(crate) fn configure(config: &mut web::ServiceConfig) {
    #[cfg(feature = "swagger-ui")]
    config.configure(crate::api_page::configure);
    config.service(web::resource(DOCUMENT).route(web::get().to(serve_document)).wrap(from_fn(anonymous)));
}

async fn serve_document(request: HttpRequest) -> Result<HttpResponse, ApiError> {
    let body = Bytes::from_static(KEPT.as_bytes());
    let file = || Ok(Some(StaticFile::new(body, "application/json".to_owned(), false)));
    serve(&request, DOCUMENT, file)
}

/// Responds with a file, which is made on first use.
pub(crate) fn serve(
    request: &HttpRequest,
    name: &str,
    make: impl FnOnce() -> Result<Option<StaticFile>, ApiError>,
) -> Result<HttpResponse, ApiError> {
    let file = FILES.get(name, make)?;
    Ok(file.map_or_else(|| HttpResponse::NotFound().finish(), |file| file.answer(request)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operations(document: &Value) -> Vec<(String, &Value)> {
        let paths = document["paths"].as_object().unwrap();
        let all = paths.iter().flat_map(|(path, item)| {
            let methods = item.as_object().unwrap();
            methods.iter().map(move |(method, operation)| (format!("{method} {path}"), operation))
        });
        all.collect()
    }

    /// `parlance openapi > docs/openapi/openapi.json` updates it.
    #[test]
    fn the_document_that_is_kept_is_the_one_that_is_served() {
        let kept: Value = serde_json::from_str(KEPT).unwrap();
        assert_eq!(kept, document(), "docs/openapi/openapi.json is out of date: run `just openapi`");
    }

    #[test]
    fn every_operation_is_described_once() {
        let document = document();
        let mut ids = std::collections::BTreeSet::new();
        for (name, operation) in operations(&document) {
            let id = operation["operationId"].as_str().unwrap();
            assert!(ids.insert(id.to_owned()), "{name}: {id} is the id of another operation");
            assert!(!operation["summary"].as_str().unwrap().is_empty(), "{name} says nothing");
            let contents = operation["requestBody"]["content"].as_object().into_iter().flatten();
            let mut bodies = contents.map(|(_, content)| content["schema"].is_object());
            assert!(
                !operation["requestBody"].is_object() || bodies.next() == Some(true) && bodies.all(|one| one),
                "{name}: its body is not described"
            );
            let answers = operation["responses"].as_object().unwrap();
            assert!(answers.keys().any(|status| status.starts_with('2')), "{name} never succeeds");
        }
        assert!(ids.len() > 80, "{}", ids.len());
    }

    /// Readers of the document have neither the code nor its notes: a description must not cite
    /// them.
    #[test]
    fn no_description_cites_what_its_reader_does_not_have() {
        fn descriptions<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
            match value {
                Value::Object(members) => {
                    let texts =
                        ["description", "summary"].iter().filter_map(|name| members.get(*name)?.as_str());
                    found.extend(texts);
                    members.values().for_each(|member| descriptions(member, found));
                }
                Value::Array(items) => items.iter().for_each(|item| descriptions(item, found)),
                _ => {}
            }
        }
        let document = document();
        let mut found = Vec::new();
        descriptions(&document, &mut found);
        assert!(found.len() > 500, "{}", found.len());
        for text in found {
            let cites = ["`rest`", "`semantics`", "`websocket`", " #"].iter().any(|mark| text.contains(mark));
            assert!(!cites, "{text}");
        }
    }

    /// Every reference has a target.
    #[test]
    fn every_reference_leads_somewhere() {
        fn references(value: &Value, found: &mut Vec<String>) {
            match value {
                Value::Object(members) => {
                    if let Some(Value::String(target)) = members.get("$ref") {
                        found.push(target.clone());
                    }
                    members.values().for_each(|member| references(member, found));
                }
                Value::Array(items) => items.iter().for_each(|item| references(item, found)),
                _ => {}
            }
        }
        let document = document();
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(found.len() > 100);
        for target in found {
            let pointer = target.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{target}");
        }
    }
}
