//! Pictures of agents, made from their IDs: the same ID always has the same picture, and nothing is stored.
//!
//! A picture exists for every ID, so it does not tell whether an agent exists.

use std::fmt::Write as _;

use actix_web::HttpResponse;
use actix_web::http::header::CACHE_CONTROL;
use actix_web::middleware::from_fn;
use actix_web::web::{self, Path, Query};
use domain::id::AgentId;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::limit::anonymous;
use crate::public_url::AVATARS;

/// Squares in a row of a picture. The right half mirrors the left one.
const SQUARES: usize = 5;

/// The width in pixels without `s`, and the widths that `s` can choose.
const USUAL: u16 = 96;
const WIDTHS: [u16; 4] = [24, 48, USUAL, 256];

/// Mounts `GET /avatars/{id}.svg`.
pub fn configure(config: &mut web::ServiceConfig) {
    let path = format!("{AVATARS}/{{id}}.svg");
    config.service(web::resource(path).route(web::get().to(show)).wrap(from_fn(anonymous)));
}

#[derive(Deserialize)]
struct AvatarQuery {
    /// The width in pixels. One that is not offered is ignored, like every other parameter.
    s: Option<String>,
}

async fn show(id: Path<String>, query: Option<Query<AvatarQuery>>) -> HttpResponse {
    let Some(id) = AgentId::parse(&id) else { return HttpResponse::NotFound().finish() };
    let requested = query.as_ref().and_then(|query| query.s.as_ref()).and_then(|text| text.parse().ok());
    let width = requested.filter(|width| WIDTHS.contains(width)).unwrap_or(USUAL);
    HttpResponse::Ok()
        .insert_header((CACHE_CONTROL, "public, max-age=31536000, immutable"))
        .content_type("image/svg+xml")
        .body(picture(id, width))
}

/// The picture as SVG.
fn picture(id: AgentId, width: u16) -> String {
    let digest = Sha256::digest(id.uuid().as_bytes());
    let hue = u16::from_le_bytes([digest[0], digest[1]]) % 360;
    let mut path = String::new();
    let half = SQUARES.div_ceil(2);
    for (square, byte) in digest[2..2 + half * SQUARES].iter().enumerate() {
        let (row, column) = (square / half, square % half);
        // A square in the middle column mirrors itself.
        let columns = [column, SQUARES - 1 - column];
        for column in &columns[..if column == half - 1 { 1 } else { 2 }] {
            if byte % 2 == 0 {
                let _ = write!(path, "M{} {}h1v1h-1z", column + 1, row + 1);
            }
        }
    }
    let side = SQUARES + 2;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{width}\" viewBox=\"0 0 {side} {side}\">\
         <path fill=\"hsl({hue},40%,92%)\" d=\"M0 0h{side}v{side}H0z\"/><path fill=\"hsl({hue},55%,42%)\" d=\"{path}\"/></svg>"
    )
}

#[cfg(test)]
mod tests {
    use actix_web::App;
    use actix_web::test::{TestRequest, call_service, init_service, read_body};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_picture_depends_on_the_id_alone() {
        let picture = |id, width| picture(AgentId::new(Uuid::from_u128(id)), width);
        assert_eq!(picture(1, 96), picture(1, 96));
        assert_ne!(picture(1, 96), picture(2, 96));
        assert_eq!(picture(1, 24).replace("\"24\"", "\"48\""), picture(1, 48));
        let squares = |picture: &str, column: usize| picture.matches(&format!("M{column} ")).count();
        let drawn = (0..64).map(|id| picture(id, 96)).collect::<Vec<_>>();
        assert!(
            drawn.iter().all(|one| squares(one, 1) == squares(one, 5) && squares(one, 2) == squares(one, 4))
        );
        assert!((1..=5).all(|column| drawn.iter().any(|one| squares(one, column) > 0)));
    }

    #[actix_web::test]
    async fn every_id_has_a_picture_in_four_widths() {
        let app = App::new().route("/avatars/{id}.svg", web::get().to(show));
        let app = init_service(app).await;
        let id = Uuid::from_u128(7);
        for (query, width) in [
            ("", 96),
            ("?s=24", 24),
            ("?s=256&c=x&l=A", 256),
            ("?s=25", 96),
            ("?s=-1", 96),
            ("?s=24&s=48", 96),
        ] {
            let request = TestRequest::get().uri(&format!("/avatars/{id}.svg{query}")).to_request();
            let answer = call_service(&app, request).await;
            assert_eq!(answer.status(), 200);
            assert_eq!(answer.headers().get("content-type").unwrap(), "image/svg+xml");
            let body = read_body(answer).await;
            let head = format!("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\"");
            assert!(body.starts_with(head.as_bytes()), "{query}: {body:?}");
        }
        let request = TestRequest::get().uri("/avatars/nobody.svg").to_request();
        assert_eq!(call_service(&app, request).await.status(), 404);
    }
}
