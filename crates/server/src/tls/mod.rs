//! The server's own TLS: the certificate and its key, as files.
//!
//! A pair is loaded as a whole or not at all: both files are readable, the key belongs to the
//! certificate, and the certificate has an expiry. [`Tls`] keeps the served one current.

mod served;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use domain::ports::Clock;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use rustls::{Error as TlsError, InconsistentKeys};
use x509_cert::Certificate;
use x509_cert::der::Decode;
use x509_cert::time::{Time, Validity};

use crate::adapters::SystemClock;

pub(crate) use served::Tls;

const DAY_SECONDS: u64 = 86_400;

/// The number of days before the expiry within which a certificate should be renewed.
const RENEWED_DAYS: u64 = 14;

/// The files of the certificate and its key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TlsFiles {
    /// The server's certificate, followed by intermediate ones, PEM.
    pub certificate: PathBuf,
    /// The key of the first of them, PEM.
    pub key: PathBuf,
}

/// A fault of one of the files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct TlsFault {
    /// The setting that names the file.
    pub(crate) setting: &'static str,
    /// The file, and the reason why it cannot be used.
    pub(crate) problem: String,
}

/// A certificate with its key.
pub(crate) struct Pair {
    key: Arc<CertifiedKey>,
    validity: Validity,
}

/// The validity of a certificate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CertificateState {
    Good,
    /// It should have been renewed.
    EndsSoon,
    Ended,
    NotYet,
}

impl TlsFiles {
    /// Reads both files.
    pub(crate) fn read(&self) -> Result<Pair, TlsFault> {
        let chain = CertificateDer::pem_file_iter(&self.certificate)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| self.certificate_fault(said(&error)))?;
        let Some(first) = chain.first() else {
            return Err(self.certificate_fault("it contains no certificate".to_owned()));
        };
        let parsed = Certificate::from_der(first)
            .map_err(|error| self.certificate_fault(format!("it is damaged: {error}")))?;
        let key = PrivateKeyDer::from_pem_file(&self.key).map_err(|error| match error {
            pem::Error::NoItemsFound => self.key_fault("it contains no private key"),
            error => self.key_fault(said(&error)),
        })?;
        let key = CertifiedKey::from_der(chain, key, &aws_lc_rs::default_provider());
        let key = key.map_err(|error| match error {
            TlsError::InconsistentKeys(InconsistentKeys::KeyMismatch) => self.key_fault(format!(
                "it is not the key of the first certificate in {}",
                self.certificate.display()
            )),
            TlsError::InvalidCertificate(error) => self.certificate_fault(format!("it is damaged: {error}")),
            error => self.key_fault(error),
        })?;
        Ok(Pair { key: Arc::new(key), validity: parsed.tbs_certificate.validity })
    }

    fn certificate_fault(&self, why: String) -> TlsFault {
        unusable("tls_certificate", &self.certificate, why)
    }

    fn key_fault(&self, why: impl ToString) -> TlsFault {
        unusable("tls_key", &self.key, why.to_string())
    }
}

fn unusable(setting: &'static str, path: &Path, why: String) -> TlsFault {
    TlsFault { setting, problem: format!("{} cannot be used: {why}", path.display()) }
}

/// The library's error contains the file's text; a key must not be logged.
fn said(error: &pem::Error) -> String {
    match error {
        pem::Error::Io(error) => error.to_string(),
        pem::Error::NoItemsFound => "it contains no certificate".to_owned(),
        _ => "it is not PEM".to_owned(),
    }
}

impl Pair {
    /// Its expiry, as `2026-12-31T23:59:59Z`.
    pub(crate) fn until(&self) -> String {
        self.validity.not_after.to_string()
    }

    /// Its validity now.
    pub(crate) fn state(&self) -> CertificateState {
        let seconds = SystemClock.now().micros() / 1_000_000;
        state(&self.validity, u64::try_from(seconds).unwrap_or_default())
    }

    /// Returns whether it cannot replace `other`, which is valid, now.
    pub(crate) fn is_worse_than(&self, other: &Self) -> bool {
        let holds = |pair: &Self| matches!(pair.state(), CertificateState::Good | CertificateState::EndsSoon);
        !holds(self) && holds(other)
    }
}

fn state(validity: &Validity, now_seconds: u64) -> CertificateState {
    let seconds = |time: &Time| time.to_unix_duration().as_secs();
    let (from, until) = (seconds(&validity.not_before), seconds(&validity.not_after));
    match now_seconds {
        now if now < from => CertificateState::NotYet,
        now if now > until => CertificateState::Ended,
        now if until - now < RENEWED_DAYS * DAY_SECONDS => CertificateState::EndsSoon,
        _ => CertificateState::Good,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tempfile::TempDir;

    use super::*;

    fn made() -> (String, String) {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        (made.cert.pem(), made.signing_key.serialize_pem())
    }

    /// The result for files with these contents; an empty one does not exist.
    fn read(certificate: &str, key: &str) -> Result<Pair, TlsFault> {
        let directory = TempDir::new().unwrap();
        let file = |name: &str, text: &str| {
            let path = directory.path().join(name);
            if !text.is_empty() {
                std::fs::write(&path, text).unwrap();
            }
            path
        };
        TlsFiles { certificate: file("chain.pem", certificate), key: file("key.pem", key) }.read()
    }

    #[test]
    fn a_pair_is_taken_as_a_whole_and_a_fault_names_its_file() {
        let (certificate, key) = made();
        let pair = read(&certificate, &key).ok().unwrap();
        assert_eq!(pair.state(), CertificateState::Good);
        assert!(pair.until().ends_with('Z'), "{}", pair.until());
        assert!(read(&format!("{certificate}{}", made().0), &key).is_ok(), "authorities follow");

        let damaged = certificate.replace("MII", "MIJ");
        let cases = [
            ("", key.as_str(), "tls_certificate", "No such file"),
            (&key, &key, "tls_certificate", "no certificate"),
            (&damaged, &key, "tls_certificate", "damaged"),
            (
                "-----BEGIN CERTIFICATE-----\n%\n-----END CERTIFICATE-----\n",
                &key,
                "tls_certificate",
                "not PEM",
            ),
            (&certificate, "", "tls_key", "No such file"),
            (&certificate, "x", "tls_key", "no private key"),
            (&certificate, &certificate, "tls_key", "no private key"),
            (&certificate, &made().1, "tls_key", "not the key of the first certificate"),
        ];
        for (certificate, key, setting, part) in cases {
            let fault = read(certificate, key).err().unwrap();
            assert!(fault.setting == setting && fault.problem.contains(part), "{fault:?}, not {part}");
            let file = if setting == "tls_key" { "key.pem" } else { "chain.pem" };
            assert!(fault.problem.contains(file), "{fault:?}");
        }
    }

    #[test]
    fn a_certificate_has_its_time() {
        let time = |seconds| Time::try_from(std::time::UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
        let days = DAY_SECONDS;
        let validity = Validity { not_before: time(100), not_after: time(30 * days) };
        for (now, expected) in [
            (99, CertificateState::NotYet),
            (100, CertificateState::Good),
            (16 * days, CertificateState::Good),
            (16 * days + 1, CertificateState::EndsSoon),
            (30 * days, CertificateState::EndsSoon),
            (30 * days + 1, CertificateState::Ended),
        ] {
            assert_eq!(state(&validity, now), expected, "{now}");
        }
    }
}
