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
        // A text that is empty is none: whoever gets it wrong is not to have a key for ever.
        let expires_at = match body.optional_text("expires_at") {
            Ok(Some(text)) => Timestamp::parse(&text)
                .map(Some)
                .ok_or_else(|| body.fault("expires_at", "must be an instant such as 2026-07-01T10:00:00Z")),
            none => none.map(|_| None),
        };
        Ok(Self(CreateKey { name: Some(name?), expires_at: expires_at? }))
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
