//! The served certificate, which is reloaded when its files change.
//!
//! The files are checked once a second, so renewing them needs no signal to the server. Open
//! connections keep their certificate. An invalid pair changes nothing; it is reported after a few
//! seconds, as two files are not replaced in one step.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::time::{MissedTickBehavior, interval};
use tokio_rustls::TlsAcceptor;

use super::{CertificateState, Pair, TlsFault, TlsFiles};

/// The interval of checks.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The number of checks after which invalid files are no replacement in progress.
const LOOKS_UNTIL_TOLD: u32 = 3;

/// The number of checks between warnings of an expiry.
const LOOKS_A_DAY: u32 = 86_400;

/// The served certificate, and its files.
pub(crate) struct Tls {
    files: TlsFiles,
    served: Arc<Served>,
    pair: Pair,
    /// The files as they were when they were read.
    stamps: Stamps,
    broken: Option<Broken>,
    looks: u32,
}

/// Files that could not be loaded.
struct Broken {
    stamps: Stamps,
    looks: u32,
}

impl Tls {
    /// Reads the files.
    pub(crate) fn open(files: &TlsFiles) -> Result<Self, TlsFault> {
        let stamps = Stamps::of(files);
        let pair = files.read()?;
        let served = Arc::new(Served(RwLock::new(pair.key.clone())));
        let tls = Self { files: files.clone(), served, pair, stamps, broken: None, looks: 0 };
        tls.say_how_it_stands();
        Ok(tls)
    }

    /// The acceptor, always with the current certificate.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        let provider = Arc::new(aws_lc_rs::default_provider());
        // All supported versions; 1.2 is the oldest.
        let builder = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the provider has suites for the versions of its own library");
        let mut config = builder.with_no_client_auth().with_cert_resolver(self.served.clone());
        // Sockets are upgrades of this protocol.
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        TlsAcceptor::from(Arc::new(config))
    }

    /// Reloads changed files, until it is dropped.
    pub(crate) async fn follow(self) {
        let mut ticks = interval(LOOK_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut tls = self;
        loop {
            ticks.tick().await;
            // A file system may be slow to answer.
            let looked = tokio::task::spawn_blocking(move || {
                tls.look();
                tls
            });
            match looked.await {
                Ok(same) => tls = same,
                Err(error) => {
                    tracing::error!(error = %error, "changed TLS files will no longer be noticed");
                    return;
                }
            }
        }
    }

    fn look(&mut self) {
        self.looks += 1;
        if self.looks == LOOKS_A_DAY {
            self.looks = 0;
            self.say_how_it_stands();
        }
        let stamps = Stamps::of(&self.files);
        if stamps == self.stamps {
            self.broken = None;
            return;
        }
        match self.files.read() {
            // They are being replaced right now; the next check decides.
            Ok(_) if Stamps::of(&self.files) != stamps => {}
            Ok(pair) if pair.is_worse_than(&self.pair) => {
                let problem = "is not valid now, but the current one is".to_owned();
                self.leave(TlsFault { setting: "tls_certificate", problem }, stamps);
            }
            Ok(pair) => self.take_up(pair, stamps),
            Err(fault) => self.leave(fault, stamps),
        }
    }

    fn take_up(&mut self, pair: Pair, stamps: Stamps) {
        *self.served.0.write().unwrap_or_else(PoisonError::into_inner) = pair.key.clone();
        (self.pair, self.stamps, self.broken) = (pair, stamps, None);
        tracing::info!(until = self.pair.until(), "TLS certificate reloaded");
        self.say_how_it_stands();
    }

    fn leave(&mut self, fault: TlsFault, stamps: Stamps) {
        let looks = match &self.broken {
            Some(broken) if broken.stamps == stamps => broken.looks.saturating_add(1),
            _ => 1,
        };
        self.broken = Some(Broken { stamps, looks });
        if looks == LOOKS_UNTIL_TOLD {
            tracing::error!(
                setting = fault.setting,
                error = fault.problem,
                until = self.pair.until(),
                "changed TLS files cannot be used; serving the previous certificate"
            );
        }
    }

    fn say_how_it_stands(&self) {
        let (file, until) = (self.files.certificate.display(), self.pair.until());
        match self.pair.state() {
            CertificateState::Good => {}
            CertificateState::EndsSoon => tracing::warn!(%file, until, "TLS certificate expires soon"),
            CertificateState::Ended => tracing::error!(%file, until, "TLS certificate has expired"),
            CertificateState::NotYet => tracing::error!(%file, "TLS certificate is not valid yet"),
        }
    }
}

/// The current certificate.
#[derive(Debug)]
struct Served(RwLock<Arc<CertifiedKey>>);

impl ResolvesServerCert for Served {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.read().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

/// Identifies a version of a file, including its permissions; `None` if it does not exist.
type Stamp = Option<(u64, u64, i64, i64)>;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Stamps {
    certificate: Stamp,
    key: Stamp,
}

impl Stamps {
    fn of(files: &TlsFiles) -> Self {
        let stamp = |path: &Path| {
            let file = std::fs::metadata(path).ok()?;
            Some((file.ino(), file.len(), file.ctime(), file.ctime_nsec()))
        };
        Self { certificate: stamp(&files.certificate), key: stamp(&files.key) }
    }
}
