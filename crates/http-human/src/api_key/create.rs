//! `POST /api-keys`: creates a key, and shows it once.

use actix_web::{HttpResponse, web};
use domain::account::{AccountService, CreateKey, KeyName, KeyScope};
use domain::id::{AgentId, ChatId};
use domain::login::Password;
use http_wire::auth::UserAuth;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::idempotent::IdempotentJson;
use http_wire::openapi::schema::{flag, line, uuid};
use http_wire::strict_json::{FromBody, ObjectReader, Rejected, id};
use http_wire::view::CreatedKeyView;

use crate::confirm::{Confirmation, current_password};
use crate::instant::expires_at;

/// The key, and the caller's password if a confirmation is required.
pub(crate) struct CreateKeyBody {
    key: CreateKey,
    current_password: Option<Password>,
}

impl FromBody for CreateKeyBody {
    const WRAPPER: Option<&'static str> = Some("api_key");

    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let name = body.text("name", line(100), |text| KeyName::new(&text));
        // Empty texts are refused: a caller who gets one wrong must not get a key that lasts longer or reaches
        // more.
        let expires_at = expires_at(
            body,
            "When the key expires; must be in the future. If omitted, the server's default applies.",
        );
        let current_password = current_password(body);
        let is_read_only = body
            .optional_flag("read_only", flag().about("If true, the key can only read."))
            .map(Option::unwrap_or_default);
        let chat = uuid().about("Limits the key to this chat, which you must be able to read.");
        let chat = body.optional_text("chat_id", chat, id(ChatId::parse));
        let agent =
            uuid().about("Limits the key to this agent, on REST and sockets. It must be one of your agents.");
        let agent = body.optional_text("agent_id", agent, id(AgentId::parse));
        let scope = KeyScope { is_read_only: is_read_only?, chat: chat?, agent: agent? };
        let key = CreateKey { name: Some(name?), expires_at: expires_at?, scope };
        Ok(Self { key, current_password: current_password? })
    }
}

pub(crate) async fn create(
    UserAuth(caller): UserAuth,
    confirmation: Confirmation,
    IdempotentJson { body, form, once }: IdempotentJson<CreateKeyBody>,
    accounts: web::Data<AccountService>,
) -> Result<HttpResponse, ApiError> {
    let CreateKeyBody { key, current_password } = body;
    let confirmed = confirmation.check(current_password, "/api_key/current_password").await;
    confirmed.map_err(|error| form.explain(error))?;
    let created = accounts.create_key_once(caller.user, key, once).await;
    let created = created.map_err(|error| form.explain(error))?;
    Ok(Data::created(CreatedKeyView::new(&created)))
}
