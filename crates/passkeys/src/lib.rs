//! Passkeys: the relying party of WebAuthn, behind the port of the domain.
//!
//! The protocol and its checks come from the crate `webauthn_rp`: challenges, the formats of answers, and signatures. Every
//! ceremony requires that the device verifies its user, and every answer that it was made for this server (`address`). Devices
//! need not prove their make (attestation), and extensions are not used.
//!
//! The id of a user is what devices call the *user handle*, so a device holds no more about a user than the handle that it
//! shows. The crate measures the time of a ceremony by the clock of the system; the domain measures it again by its own.

mod address;

use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::account::User;
use domain::id::UserId;
use domain::login::{BegunCeremony, CeremonyFault, Passkey, PasskeyCeremonies, PasskeyCredential};
use uuid::Uuid;
use webauthn_rp::bin::{Decode, Encode};
use webauthn_rp::request::PublicKeyCredentialDescriptor;
use webauthn_rp::request::auth::AuthenticationVerificationOptions;
use webauthn_rp::request::register::{
    CredProtect, PublicKeyCredentialUserEntity, RegistrationVerificationOptions, UserHandle16, Username,
};
use webauthn_rp::response::register::{DynamicState, StaticState};
use webauthn_rp::response::{AuthTransports, AuthenticatorAttachment, Backup, CredentialId};
use webauthn_rp::{
    AuthenticatedCredential, DiscoverableAuthentication16, DiscoverableAuthenticationServerState,
    DiscoverableCredentialRequestOptions, PublicKeyCredentialCreationOptions, Registration,
    RegistrationServerState,
};

use address::Address;

/// The maximum number of characters of an error that is logged.
const ERROR_CHARS: usize = 300;

/// The relying party at one address.
#[derive(Debug)]
pub struct RelyingParty {
    address: Address,
}

impl RelyingParty {
    /// The relying party of a server at this public URL; `None` if browsers allow no passkeys there: they need a host name,
    /// and TLS except for `localhost`.
    pub fn of(public_url: &str) -> Option<Self> {
        Address::of(public_url).map(|address| Self { address })
    }
}

/// Why an answer was refused. Its text is from a stranger, so it is cut.
fn fault(what: &str, error: &dyn Error) -> CeremonyFault {
    let text = error.to_string();
    let text = text.chars().filter(|c| !c.is_control()).take(ERROR_CHARS).collect::<String>();
    CeremonyFault(format!("{what}: {text}"))
}

fn handle_of(user: UserId) -> UserHandle16 {
    let Ok(handle) = UserHandle16::decode(user.uuid().into_bytes());
    handle
}

fn state_text(state: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(state)
}

fn state_bytes(text: &str) -> Result<Vec<u8>, CeremonyFault> {
    URL_SAFE_NO_PAD.decode(text).map_err(|error| fault("the kept ceremony", &error))
}

impl PasskeyCeremonies for RelyingParty {
    fn begin_adding(&self, user: &User, known: &[Passkey]) -> Result<BegunCeremony, CeremonyFault> {
        let id = handle_of(user.id);
        let name = Username::try_from(user.handle.as_str()).map_err(|error| fault("the handle", &error))?;
        let known = known.iter().map(|passkey| {
            let id = CredentialId::<Vec<u8>>::decode(passkey.credential.id.clone());
            let id = id.map_err(|error| fault("the stored id", &error))?;
            // None: which ways a device has is not kept.
            let transports = AuthTransports::decode(0).map_err(|error| fault("the ways", &error))?;
            Ok(PublicKeyCredentialDescriptor { id, transports })
        });
        let known = known.collect::<Result<Vec<_>, CeremonyFault>>()?;
        let entity = PublicKeyCredentialUserEntity { name, id: &id, display_name: None };
        let rp_id = self.address.rp_id();
        let mut options = PublicKeyCredentialCreationOptions::passkey(rp_id, entity, known);
        // If this extension is required, browsers refuse the many devices that do not support it.
        options.extensions.cred_protect = CredProtect::None;
        let (server, client) = options.start_ceremony().map_err(|error| fault("the options", &error))?;
        let state = server.encode().map_err(|error| fault("the ceremony", &error))?;
        let options = serde_json::to_value(&client).map_err(|error| fault("the options", &error))?;
        Ok(BegunCeremony { options, state: state_text(&state) })
    }

    fn finish_adding(
        &self,
        state: &str,
        response: &str,
    ) -> Result<(UserId, PasskeyCredential), CeremonyFault> {
        let state = RegistrationServerState::<16>::decode(&state_bytes(state)?);
        let state = state.map_err(|error| fault("the kept ceremony", &error))?;
        let answer = unwinding("the format", || Registration::from_json_relaxed(response.as_bytes()))?;
        let origins = [self.address.origin()];
        let options = RegistrationVerificationOptions::<&str, &str> {
            allowed_origins: &origins,
            error_on_unsolicited_extensions: false,
            ..RegistrationVerificationOptions::default()
        };
        let added = unwinding("the check", || state.verify(self.address.rp_id(), &answer, &options))?;
        let Ok(user) = added.user_id().encode();
        let Ok(public_key) = added.static_state().encode();
        let credential = PasskeyCredential {
            id: added.id().as_ref().to_vec(),
            public_key,
            is_synced: added.dynamic_state().backup != Backup::NotEligible,
            sign_count: added.dynamic_state().sign_count,
        };
        Ok((UserId::new(Uuid::from_bytes(user)), credential))
    }

    fn begin_log_in(&self) -> Result<BegunCeremony, CeremonyFault> {
        let options = DiscoverableCredentialRequestOptions::passkey(self.address.rp_id());
        let (server, client) = options.start_ceremony().map_err(|error| fault("the options", &error))?;
        let state = server.encode().map_err(|error| fault("the ceremony", &error))?;
        let options = serde_json::to_value(&client).map_err(|error| fault("the options", &error))?;
        Ok(BegunCeremony { options, state: state_text(&state) })
    }

    fn credential_of(&self, response: &str) -> Result<Vec<u8>, CeremonyFault> {
        Ok(answer_of(response)?.raw_id().as_ref().to_vec())
    }

    fn finish_log_in(&self, state: &str, response: &str, passkey: &Passkey) -> Result<u32, CeremonyFault> {
        let state = DiscoverableAuthenticationServerState::decode(&state_bytes(state)?);
        let state = state.map_err(|error| fault("the kept ceremony", &error))?;
        let answer = answer_of(response)?;
        let user = handle_of(passkey.user);
        let id = CredentialId::<&[u8]>::decode(passkey.credential.id.as_slice());
        let id = id.map_err(|error| fault("the stored id", &error))?;
        let key = StaticState::decode(passkey.credential.public_key.as_slice());
        let key = key.map_err(|error| fault("the stored key", &error))?;
        // Whether a key can be synced never changes; whether it is now may.
        let backup = if passkey.credential.is_synced { Backup::Eligible } else { Backup::NotEligible };
        let known = DynamicState {
            user_verified: true,
            backup,
            // The counter is compared where nobody else can change it: in the transaction that opens the session.
            sign_count: 0,
            authenticator_attachment: AuthenticatorAttachment::None,
        };
        let credential = AuthenticatedCredential::new(id, &user, key, known);
        let mut credential = credential.map_err(|error| fault("the stored passkey", &error))?;
        let origins = [self.address.origin()];
        let options = AuthenticationVerificationOptions::<&str, &str> {
            allowed_origins: &origins,
            error_on_unsolicited_extensions: false,
            ..AuthenticationVerificationOptions::default()
        };
        unwinding("the check", || state.verify(self.address.rp_id(), &answer, &mut credential, &options))?;
        Ok(credential.dynamic_state().sign_count)
    }
}

fn answer_of(response: &str) -> Result<DiscoverableAuthentication16, CeremonyFault> {
    unwinding("the format", || DiscoverableAuthentication16::from_json_relaxed(response.as_bytes()))
}

/// Does what may panic: the crate takes an answer for impossible that only somebody else than a browser would give, such as one
/// with a user handle of another length.
fn unwinding<T, E: Error>(what: &str, read: impl FnOnce() -> Result<T, E>) -> Result<T, CeremonyFault> {
    let done = catch_unwind(AssertUnwindSafe(read));
    let done = done.map_err(|_| CeremonyFault(format!("{what}: no browser answers like this")))?;
    done.map_err(|error| fault(what, &error))
}
