//! `/passkeys`: the devices with which the caller logs in to the console without a password.

use actix_web::{HttpRequest, HttpResponse, web};
use domain::caller::UserCaller;
use domain::id::UserId;
use domain::login::{AddPasskey, LoginService, PasskeyError, PasskeyName};
use http_wire::auth::UserAuth;
use http_wire::ceremony;
use http_wire::cursor::CursorSeal;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::limit::{Proof, RateLimits};
use http_wire::openapi::schema::{Schema, line, some_text};
use http_wire::path::PasskeyPath;
use http_wire::query::{NoQuery, StrictQuery};
use http_wire::strict_json::{FromBody, ObjectReader, Rejected, StrictJson};
use http_wire::view::{PasskeyChallengeView, PasskeyView};
use serde_json::{Map, Value};

use crate::second_factor::{self, ProofBody, check};

/// The maximum length of a sealed ceremony.
const MAX_CEREMONY_BYTES: usize = 1024;

/// The name of a passkey.
const NAME: Schema = line(PasskeyName::MAX_CHARS);

/// The answer of a device.
pub(crate) struct AddBody {
    name: PasskeyName,
    ceremony: String,
    credential: Map<String, Value>,
}

impl FromBody for AddBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let name = body.text("name", NAME, |text| PasskeyName::new(&text));
        let short = |text: String| {
            if text.len() <= MAX_CEREMONY_BYTES { Ok(text) } else { Err("is too long") }
        };
        let ceremony = body.text("ceremony", some_text(MAX_CEREMONY_BYTES), short);
        let credential = body.free_object("credential", Ok::<_, &str>);
        Ok(Self { name: name?, ceremony: ceremony?, credential: credential? })
    }
}

/// Another name.
pub(crate) struct RenameBody(PasskeyName);

impl FromBody for RenameBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        Ok(Self(body.text("name", NAME, |text| PasskeyName::new(&text))?))
    }
}

/// What the ceremonies of a user are sealed for.
fn purpose(caller: UserCaller) -> String {
    format!("passkey of {}", caller.user)
}

pub(crate) async fn list(
    UserAuth(caller): UserAuth,
    _: StrictQuery<NoQuery>,
    logins: web::Data<LoginService>,
) -> Result<HttpResponse, ApiError> {
    let all = logins.passkeys(caller).await?;
    Ok(Data::ok(all.iter().map(PasskeyView::new).collect::<Vec<_>>()))
}

pub(crate) async fn begin(
    request: HttpRequest,
    UserAuth(caller): UserAuth,
    StrictJson { body: ProofBody { current, code }, .. }: StrictJson<ProofBody>,
    logins: web::Data<LoginService>,
    limits: web::Data<RateLimits>,
    seal: web::Data<CursorSeal>,
) -> Result<HttpResponse, ApiError> {
    let begun = async |may_try: &mut dyn FnMut(UserId) -> bool| {
        logins.begin_passkey(caller, current, code.as_ref(), may_try).await
    };
    let (options, kept) = check(&request, &limits, caller, begun, proof_of).await?;
    let ceremony = ceremony::close(&seal, &purpose(caller), &kept);
    Ok(Data::created(PasskeyChallengeView::new(options, ceremony)))
}

pub(crate) async fn add(
    UserAuth(caller): UserAuth,
    StrictJson { body: AddBody { name, ceremony, credential }, .. }: StrictJson<AddBody>,
    logins: web::Data<LoginService>,
    seal: web::Data<CursorSeal>,
) -> Result<HttpResponse, ApiError> {
    let kept = ceremony::open(&seal, &purpose(caller), &ceremony);
    let response = &Value::Object(credential).to_string();
    let added = logins.add_passkey(caller, AddPasskey { kept, name, response }).await?;
    Ok(Data::created(PasskeyView::new(&added)))
}

pub(crate) async fn rename(
    UserAuth(caller): UserAuth,
    PasskeyPath { passkey }: PasskeyPath,
    StrictJson { body: RenameBody(name), .. }: StrictJson<RenameBody>,
    logins: web::Data<LoginService>,
) -> Result<HttpResponse, ApiError> {
    Ok(Data::ok(PasskeyView::new(&logins.rename_passkey(caller, passkey, name).await?)))
}

pub(crate) async fn remove(
    request: HttpRequest,
    UserAuth(caller): UserAuth,
    PasskeyPath { passkey }: PasskeyPath,
    StrictJson { body: ProofBody { current, code }, .. }: StrictJson<ProofBody>,
    logins: web::Data<LoginService>,
    limits: web::Data<RateLimits>,
) -> Result<HttpResponse, ApiError> {
    let removed = async |may_try: &mut dyn FnMut(UserId) -> bool| {
        logins.remove_passkey(caller, passkey, current, code.as_ref(), may_try).await
    };
    check(&request, &limits, caller, removed, proof_of).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// What a refusal says of the password and the code.
const fn proof_of(error: &PasskeyError) -> Proof {
    match error {
        PasskeyError::Proof(error) => second_factor::proof_of(error),
        _ => Proof::Undecided,
    }
}
