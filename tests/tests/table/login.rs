//! The operations on how the caller logs in.

use reqwest::Method;
use serde_json::json;

use crate::operations::{Operation, delete, get, operation, post};
use crate::scene::PASSWORD;

/// Sessions, the password, the second factor, and passkeys.
pub(crate) fn logins() -> Vec<Operation> {
    let with_code = json!({"current_password": "correct horse", "code": "123456"});
    vec![
        get("/api/v1/me/sessions"),
        delete("/api/v1/me/sessions"),
        delete("/api/v1/me/sessions/{session_id}"),
        post(
            "/api/v1/auth/password",
            json!({"current_password": "correct horse", "new_password": "battery staple"}),
        ),
        get("/api/v1/me/second-factor"),
        post("/api/v1/me/second-factor", json!({"current_password": "correct horse"})),
        post("/api/v1/me/second-factor/confirm", json!({"code": "123456"})),
        post("/api/v1/me/second-factor/recovery-codes", with_code.clone()),
        post("/api/v1/me/second-factor/remove", with_code.clone()),
        get("/api/v1/me/passkeys"),
        post("/api/v1/me/passkeys/challenge", with_code),
        post(
            "/api/v1/me/passkeys",
            json!({"name": "Laptop", "ceremony": "unknown", "credential": {"id": "x"}}),
        ),
        operation(Method::PATCH, "/api/v1/me/passkeys/{passkey_id}", json!({"name": "Phone"})),
        post("/api/v1/me/passkeys/{passkey_id}/remove", json!({"current_password": PASSWORD})),
    ]
}
