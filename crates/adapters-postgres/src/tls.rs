//! Encryption of the connections, according to `sslmode` and related parameters of the URL.
//!
//! The driver only knows whether to encrypt. Verification is decided here, with the semantics of
//! PostgreSQL's own clients.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error as TlsError, RootCertStore, SignatureScheme,
};
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

/// The encryption parameters of the URL.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct TlsOptions {
    mode: Mode,
    /// The certificates of trusted authorities; those of the system if it is absent.
    root: Option<PathBuf>,
    /// The client's own certificate.
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
}

/// The required encryption and verification.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
enum Mode {
    Disable,
    /// Encrypted if the server supports it.
    #[default]
    Prefer,
    /// Encrypted, without verification of the server.
    Require,
    /// Encrypted, to a server with a certificate of a trusted authority.
    VerifyCa,
    /// Encrypted, to a server with a certificate of a trusted authority for this host.
    VerifyFull,
}

impl TlsOptions {
    /// Removes the encryption parameters from a URL; returns its rest too. An error never contains
    /// the URL.
    pub(crate) fn take_from(url: &str) -> Result<(Self, String), String> {
        let Some((address, query)) = url.split_once('?') else {
            return Ok((Self::default(), url.to_owned()));
        };
        let mut options = Self::default();
        let mut rest = Vec::new();
        for parameter in query.split('&') {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let path = || decoded(value).map(PathBuf::from);
            match name {
                "sslmode" => options.mode = Mode::parse(value)?,
                // The word selects the certificates of the system.
                "sslrootcert" if value == "system" => options.root = None,
                "sslrootcert" => options.root = Some(path()?),
                "sslcert" => options.certificate = Some(path()?),
                "sslkey" => options.key = Some(path()?),
                _ => rest.push(parameter),
            }
        }
        if options.certificate.is_some() != options.key.is_some() {
            return Err("sslcert and sslkey must be used together".to_owned());
        }
        let rest = if rest.is_empty() { address.to_owned() } else { format!("{address}?{}", rest.join("&")) };
        Ok((options, rest))
    }

    /// The mode for the driver.
    pub(crate) const fn ssl_mode(&self) -> SslMode {
        match self.mode {
            Mode::Disable => SslMode::Disable,
            Mode::Prefer => SslMode::Prefer,
            Mode::Require | Mode::VerifyCa | Mode::VerifyFull => SslMode::Require,
        }
    }

    /// The connector, made from the named files; an error names the file that cannot be used.
    pub(crate) fn connector(&self) -> Result<MakeRustlsConnect, String> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| format!("TLS: {error}"))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(self.verifier(provider)?));
        let config = match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => {
                let key =
                    PrivateKeyDer::from_pem_file(key).map_err(|error| unusable("sslkey", key, &error))?;
                let own = certificates("sslcert", certificate)?;
                builder.with_client_auth_cert(own, key).map_err(|error| format!("sslcert: {error}"))?
            }
            _ => builder.with_no_client_auth(),
        };
        Ok(MakeRustlsConnect::new(config))
    }

    fn verifier(&self, provider: Arc<CryptoProvider>) -> Result<Verifier, String> {
        // With an authority, PostgreSQL's clients verify even if only encryption is requested.
        let mode = if self.mode == Mode::Require && self.root.is_some() { Mode::VerifyCa } else { self.mode };
        let authority = if mode < Mode::VerifyCa {
            None
        } else {
            let roots = Arc::new(self.roots()?);
            let authority = WebPkiServerVerifier::builder_with_provider(roots, provider.clone()).build();
            Some(authority.map_err(|error| format!("sslrootcert: {error}"))?)
        };
        Ok(Verifier { authority, checks_name: mode == Mode::VerifyFull, provider })
    }

    fn roots(&self) -> Result<RootCertStore, String> {
        let mut roots = RootCertStore::empty();
        let found = match &self.root {
            Some(path) => certificates("sslrootcert", path)?,
            None => rustls_native_certs::load_native_certs().certs,
        };
        let (used, _) = roots.add_parsable_certificates(found);
        if used == 0 {
            return Err("sslrootcert: the file contains no certificate".to_owned());
        }
        Ok(roots)
    }
}

impl Mode {
    fn parse(word: &str) -> Result<Self, String> {
        Ok(match word {
            "disable" => Self::Disable,
            "allow" | "prefer" => Self::Prefer,
            "require" => Self::Require,
            "verify-ca" => Self::VerifyCa,
            "verify-full" => Self::VerifyFull,
            _ => {
                return Err(
                    "sslmode must be disable, allow, prefer, require, verify-ca, or verify-full".to_owned()
                );
            }
        })
    }
}

fn certificates(parameter: &str, path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect)
        .map_err(|error| unusable(parameter, path, &error))
}

fn unusable(parameter: &str, path: &Path, error: &dyn std::fmt::Display) -> String {
    format!("{parameter}: cannot use {}: {error}", path.display())
}

/// Decodes a value of a URL, with `%41` for `A`.
fn decoded(value: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| u8::try_from(char::from(byte?).to_digit(16)?).ok();
        match (digit(rest.next()), digit(rest.next())) {
            (Some(high), Some(low)) => bytes.push(high * 16 + low),
            _ => return Err("a % in it is not followed by two hexadecimal digits".to_owned()),
        }
    }
    String::from_utf8(bytes).map_err(|_| "a path in it is not UTF-8".to_owned())
}

/// Verifies a server's certificate as far as required.
#[derive(Debug)]
struct Verifier {
    /// The trusted authorities; `None` disables verification.
    authority: Option<Arc<WebPkiServerVerifier>>,
    checks_name: bool,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        let Some(authority) = &self.authority else { return Ok(ServerCertVerified::assertion()) };
        match authority.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            // The name is checked last, after everything else.
            Err(TlsError::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.checks_name => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_encryption_is_taken_out_of_the_url() {
        let (options, rest) =
            TlsOptions::take_from("postgres://u:p@h/d?sslmode=verify-full&a=1&sslrootcert=/a%20b.pem&c=2")
                .unwrap();
        assert_eq!(rest, "postgres://u:p@h/d?a=1&c=2");
        assert_eq!(options.mode, Mode::VerifyFull);
        assert_eq!(options.root.as_deref(), Some(Path::new("/a b.pem")));
        let (options, rest) = TlsOptions::take_from("postgres://h/d?sslmode=disable").unwrap();
        assert_eq!((options.mode, rest.as_str()), (Mode::Disable, "postgres://h/d"));
        let (options, rest) = TlsOptions::take_from("postgres://h/d").unwrap();
        assert_eq!((options.mode, rest.as_str()), (Mode::Prefer, "postgres://h/d"));
    }

    #[test]
    fn faults_are_said_without_the_url() {
        for query in
            ["sslmode=verify", "sslmode=", "sslcert=/a", "sslkey=/a", "sslrootcert=%4", "sslrootcert=%ff"]
        {
            let fault = TlsOptions::take_from(&format!("postgres://u:secret@h/d?{query}")).unwrap_err();
            assert!(!fault.contains("secret") && !fault.is_empty(), "{fault}");
        }
    }
}
