//! The certificate and the key of the listener.

use std::path::PathBuf;

use super::key::Key;
use super::parse;
use super::values::Values;
use crate::tls::TlsFiles;

/// Returns the paths of the two files, if they are set. Only commands that use the files read them, so a
/// broken certificate stops no other command.
pub(super) fn read(values: &mut Values) -> Option<TlsFiles> {
    let certificate = Key::text(
        "tls_certificate",
        "FILE",
        "none, without TLS",
        "The server's certificate chain for TLS (PEM); requires `tls_key`. Changed files take effect within seconds.",
    );
    let key = Key::text("tls_key", "FILE", "none, without TLS", "Private key of `tls_certificate` (PEM).");
    let certificate = values.optional(certificate, parse::text).map(PathBuf::from);
    let key = values.optional(key, parse::text).map(PathBuf::from);
    match (certificate, key) {
        (Some(certificate), Some(key)) => Some(TlsFiles { certificate, key }),
        (Some(_), None) => {
            values.refuse("tls_certificate", "has no tls_key beside it; set both or neither".to_owned());
            None
        }
        (None, Some(_)) => {
            values.refuse("tls_key", "has no tls_certificate beside it; set both or neither".to_owned());
            None
        }
        (None, None) => None,
    }
}
