//! `POST /api-keys`: the only moment at which the key is shown.

use actix_web::{HttpResponse, web};
use domain::account::{AccountService, CreateKey, KeyName};
use domain::time::Timestamp;
use http_wire::auth::UserAuth;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::openapi::schema::{about, line, nullable, object};
use http_wire::strict_json::{FromBody, ObjectReader, StrictJson, Told};
use http_wire::view::CreatedKeyView;
use serde_json::{Value, json};

/// A key to be made.
pub(crate) struct CreateKeyBody(CreateKey);

impl FromBody for CreateKeyBody {
    const WRAPPER: Option<&'static str> = Some("api_key");

    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Told> {
        let name = body.text("name", |text| KeyName::new(&text));
        let expires_at = body.text_or_null_if_given("expires_at", |text| {
            Timestamp::parse(&text).ok_or("must be an instant such as 2026-07-01T10:00:00Z")
        });
        Ok(Self(CreateKey { name: Some(name?), expires_at: expires_at?.flatten() }))
    }

    fn schema() -> Value {
        let instant = nullable(json!({"type": "string", "format": "date-time"}));
        let expires_at =
            about(instant, "Until when it is good, which has to lie in the future; null for ever.");
        object(&["name"], &[("name", line(100)), ("expires_at", expires_at)])
    }
}

pub(crate) async fn create(
    UserAuth(caller): UserAuth,
    StrictJson { body, form }: StrictJson<CreateKeyBody>,
    accounts: web::Data<AccountService>,
) -> Result<HttpResponse, ApiError> {
    let created = accounts.create_key(caller.user, body.0).await.map_err(|error| form.explain(error))?;
    Ok(Data::created(CreatedKeyView::new(&created)))
}
