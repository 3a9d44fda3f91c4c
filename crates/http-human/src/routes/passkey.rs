//! The routes of passkeys.

use http_wire::openapi::{Endpoint, get, patch, post};
use http_wire::view::{PasskeyChallengeView, PasskeyView};

use crate::passkey;
use crate::second_factor::ProofBody;

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        get("/passkeys", passkey::list)
            .named("listPasskeys", "List the caller's passkeys, oldest first")
            .lists_all::<PasskeyView<'_>>(),
        post("/passkeys", passkey::add)
            .named("addPasskey", "Add a passkey with the answer of the device")
            .body::<passkey::AddBody>()
            .answers::<PasskeyView<'_>>(201)
            .refuses(&[403, 409]),
        post("/passkeys/challenge", passkey::begin)
            .named("beginPasskey", "Begin to add a passkey, and show what the browser passes to the device")
            .body::<ProofBody>()
            .answers::<PasskeyChallengeView>(201)
            .refuses(&[403, 409]),
        patch("/passkeys/{passkey_id}", passkey::rename)
            .named("renamePasskey", "Rename a passkey")
            .body::<passkey::RenameBody>()
            .answers::<PasskeyView<'_>>(200),
        post("/passkeys/{passkey_id}/remove", passkey::remove)
            .named("removePasskey", "Remove a passkey, and end the sessions that it has opened")
            .body::<ProofBody>()
            .answers_nothing(),
    ]
}
