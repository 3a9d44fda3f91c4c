//! `POST /api-keys`: the only moment at which the key is shown.

use actix_web::{HttpResponse, web};
use domain::account::{AccountService, CreateKey, KeyName, KeyScope};
use domain::chat::{ChatService, ReadChatError};
use domain::id::{AgentId, ChatId};
use domain::login::Password;
use domain::time::Timestamp;
use http_wire::auth::UserAuth;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::openapi::schema::{about, line, nullable, object};
use http_wire::strict_json::{FromBody, ObjectReader, StrictJson, Told};
use http_wire::view::CreatedKeyView;
use serde_json::{Value, json};

use crate::confirm::{CURRENT_PASSWORD, Confirmation, current_password, current_password_schema};

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
        let current_password = current_password(body);
        let is_read_only = body.optional_flag("read_only").map(Option::unwrap_or_default);
        let chat = id(body, "chat_id", ChatId::parse);
        let agent = id(body, "agent_id", AgentId::parse);
        let scope = KeyScope { is_read_only: is_read_only?, chat: chat?, agent: agent? };
        let key = CreateKey { name: Some(name?), expires_at: expires_at?, scope };
        Ok(Self { key, current_password: current_password? })
    }

    fn schema() -> Value {
        let instant = nullable(json!({"type": "string", "format": "date-time"}));
        let expires_at = about(
            instant,
            "When the key expires; must be in the future. If omitted, the server's default applies.",
        );
        let read_only = about(json!({"type": "boolean"}), "If true, the key can only read.");
        let uuid = || nullable(json!({"type": "string", "format": "uuid"}));
        let chat = about(uuid(), "Limits the key to this chat, which you must be able to read.");
        let agent = about(
            uuid(),
            "Limits the key to this agent, on REST and sockets. It must be one of your agents.",
        );
        let properties = [
            ("name", line(100)),
            ("expires_at", expires_at),
            ("read_only", read_only),
            ("chat_id", chat),
            ("agent_id", agent),
            (CURRENT_PASSWORD, current_password_schema()),
        ];
        object(&["name"], &properties)
    }
}

/// An id that may be missing or null. An empty text is refused: it must not make a key that reaches more.
fn id<T>(body: &mut ObjectReader<'_>, name: &str, parse: fn(&str) -> Option<T>) -> Result<Option<T>, Told> {
    match body.optional_text(name) {
        Ok(Some(text)) => parse(&text).map(Some).ok_or_else(|| body.fault(name, "is not a UUID")),
        none => none.map(|_| None),
    }
}

pub(crate) async fn create(
    UserAuth(caller): UserAuth,
    confirmation: Confirmation,
    StrictJson { body, form }: StrictJson<CreateKeyBody>,
    (accounts, chats): (web::Data<AccountService>, web::Data<ChatService>),
) -> Result<HttpResponse, ApiError> {
    let CreateKeyBody { key, current_password } = body;
    let confirmed = confirmation.check(current_password, "/api_key/current_password").await;
    confirmed.map_err(|error| form.explain(error))?;
    if let Some(chat) = key.scope.chat {
        chats.enter(caller.into(), chat).await.map_err(|error| form.explain(no_chat(error)))?;
    }
    let created = accounts.create_key(caller.user, key).await.map_err(|error| form.explain(error))?;
    Ok(Data::created(CreatedKeyView::new(&created)))
}

/// A chat that the caller cannot read is refused like one that does not exist.
fn no_chat(error: ReadChatError) -> ApiError {
    match error {
        ReadChatError::ChatNotFound => {
            ApiError::validation().with_detail("/api_key/chat_id", "must be a chat that you can read")
        }
        ReadChatError::Store(error) => error.into(),
    }
}
