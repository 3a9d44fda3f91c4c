//! `POST /api-keys`: the only moment at which the key is shown.

use actix_web::{HttpRequest, HttpResponse, web};
use domain::account::{AccountService, CreateKey, KeyName};
use domain::login::{LoginService, Password};
use domain::time::Timestamp;
use http_wire::auth::{SessionAuth, UserAuth};
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::openapi::schema::{about, line, nullable, object};
use http_wire::strict_json::{FromBody, ObjectReader, StrictJson, Told};
use http_wire::view::CreatedKeyView;
use serde_json::{Value, json};

use crate::auth::{Limits, guessed, typed};

/// A key to be made, and the password of whoever makes it.
pub(crate) struct CreateKeyBody {
    key: CreateKey,
    current_password: Option<Password>,
}

impl FromBody for CreateKeyBody {
    const WRAPPER: Option<&'static str> = Some("api_key");

    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Told> {
        let name = body.text("name", |text| KeyName::new(&text));
        // An empty text is refused: a caller who gets it wrong must not get a key that lasts longer.
        let expires_at = match body.optional_text("expires_at") {
            Ok(Some(text)) => Timestamp::parse(&text)
                .map(Some)
                .ok_or_else(|| body.fault("expires_at", "must be a time such as 2026-07-01T10:00:00Z")),
            none => none.map(|_| None),
        };
        let current_password = match body.optional_text("current_password") {
            Ok(Some(text)) => {
                Password::typed(text).map(Some).map_err(|fault| body.fault("current_password", fault))
            }
            none => none.map(|_| None),
        };
        let key = CreateKey { name: Some(name?), expires_at: expires_at? };
        Ok(Self { key, current_password: current_password? })
    }

    fn schema() -> Value {
        let instant = nullable(json!({"type": "string", "format": "date-time"}));
        let expires_at = about(
            instant,
            "When the key expires; must be in the future. If omitted, the server's default applies.",
        );
        let current = about(
            nullable(typed()),
            "Required with an access token whose session began more than 10 minutes ago.",
        );
        let properties = [("name", line(100)), ("expires_at", expires_at), ("current_password", current)];
        object(&["name"], &properties)
    }
}

pub(crate) async fn create(
    request: HttpRequest,
    UserAuth(caller): UserAuth,
    SessionAuth(session): SessionAuth,
    StrictJson { body, form }: StrictJson<CreateKeyBody>,
    accounts: web::Data<AccountService>,
    logins: web::Data<LoginService>,
    limits: Limits,
) -> Result<HttpResponse, ApiError> {
    let CreateKeyBody { key, current_password } = body;
    // Only a password that is given can be a guess.
    let limits = limits.filter(|_| current_password.is_some());
    let confirming = logins.confirm(caller, session, current_password);
    let confirmed = guessed(&request, &limits, caller, confirming).await?;
    confirmed.map_err(|error| form.explain(ApiError::unconfirmed(error, "/api_key/current_password")))?;
    let created = accounts.create_key(caller.user, key).await.map_err(|error| form.explain(error))?;
    Ok(Data::created(CreatedKeyView::new(&created)))
}
