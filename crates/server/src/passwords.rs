//! Password hashing with Argon2id.
//!
//! A hash takes tens of milliseconds of CPU time and megabytes on purpose, so it runs on separate
//! threads, a few at a time, with a bounded queue. These threads have a low priority, so that
//! password guesses take little CPU time from requests. When the queue is full, clients are asked
//! to retry.

use std::sync::Arc;

use argon2::password_hash::phc::PasswordHash as Phc;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use argon2::{Algorithm, Argon2, Params, Version};
use async_trait::async_trait;
use domain::account::KeyKind;
use domain::login::{HasherBusy, Password, PasswordCheck, PasswordHash, PasswordHasher};
use domain::ports::{Clock, KeyMint};
use rustix::process::setpriority_process;
use rustix::thread::gettid;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use crate::adapters::{RandomKeys, SystemClock, random};
use crate::failure::Failure;

/// The maximum number of queued hashes per running one.
const WAITING: usize = 16;

/// The nice value of the threads. Beside one busy thread, a thread with this value still gets about a tenth of a processor;
/// with 19, the lowest priority, it would get about a hundredth, and log-ins would take seconds.
const NICE: i32 = 10;

/// The cost of a hash, and the number of concurrent ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PasswordConfig {
    /// Memory, in KiB.
    pub memory_kib: u32,
    /// The number of passes over the memory.
    pub passes: u32,
    /// The number of lanes.
    pub lanes: u32,
    /// The number of concurrent hashes.
    pub at_once: usize,
}

/// Hashes by Argon2id.
pub(crate) struct Argon2Hasher {
    setup: Arc<Setup>,
    /// A permit for each running hash.
    running: Arc<Semaphore>,
    /// A permit for each running or queued hash.
    admitted: Arc<Semaphore>,
    threads: Threads,
}

/// The threads for hashes.
struct Threads(Option<Runtime>);

impl Threads {
    fn new(number: usize) -> Result<Self, Failure> {
        let runtime = Builder::new_current_thread()
            .thread_name("passwords")
            .max_blocking_threads(number)
            .on_thread_start(give_way)
            .build();
        let runtime =
            runtime.map_err(|cause| Failure::new("cannot start the threads for passwords", cause))?;
        Ok(Self(Some(runtime)))
    }

    fn spawn<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Option<JoinHandle<T>> {
        self.0.as_ref().map(|runtime| runtime.spawn_blocking(job))
    }
}

impl Drop for Threads {
    /// No caller waits for the results any more.
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Lowers the priority of this thread.
fn give_way() {
    if let Err(error) = setpriority_process(Some(gettid()), NICE) {
        tracing::debug!(error = %error, "cannot lower the priority of threads that hash passwords");
    }
}

/// Argon2 with its parameters.
struct Setup {
    argon2: Argon2<'static>,
    params: Params,
    /// The hash to compare with if there is no other.
    nobodys: String,
}

impl Argon2Hasher {
    /// Makes a hasher with these costs.
    pub(crate) fn new(config: PasswordConfig) -> Result<Self, Failure> {
        let wrong = |cause| Failure::plain(format!("the settings for password hashing are invalid: {cause}"));
        let params = Params::new(config.memory_kib, config.passes, config.lanes, None).map_err(wrong)?;
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params.clone());
        let nobodys = hash(&argon2, RandomKeys.mint(KeyKind::Reset, SystemClock.now()).reveal());
        Ok(Self {
            setup: Arc::new(Setup { argon2, params, nobodys }),
            running: Arc::new(Semaphore::new(config.at_once)),
            admitted: Arc::new(Semaphore::new(config.at_once * (WAITING + 1))),
            threads: Threads::new(config.at_once)?,
        })
    }

    /// Runs `job` on a separate thread, when a permit for it is free.
    async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Setup) -> T + Send + 'static,
    ) -> Result<T, HasherBusy> {
        let admitted = self.admitted.clone().try_acquire_owned().map_err(|_| HasherBusy)?;
        let running = self.running.clone().acquire_owned().await.map_err(|_| HasherBusy)?;
        let setup = self.setup.clone();
        // The caller may stop waiting; the permits are held until the job ends.
        let done = self.threads.spawn(move || {
            let hashing = measure::hashing();
            let done = job(&setup);
            drop(hashing);
            drop((running, admitted));
            done
        });
        done.ok_or(HasherBusy)?.await.map_err(|_| HasherBusy)
    }
}

#[async_trait]
impl PasswordHasher for Argon2Hasher {
    async fn hash(&self, password: Password) -> Result<PasswordHash, HasherBusy> {
        self.run(move |setup| PasswordHash::new(hash(&setup.argon2, password.reveal()))).await
    }

    async fn verify(
        &self,
        password: Password,
        against: Option<PasswordHash>,
    ) -> Result<PasswordCheck, HasherBusy> {
        self.run(move |setup| {
            let known = against.as_ref().map_or(setup.nobodys.as_str(), PasswordHash::as_str);
            let Ok(known) = Phc::new(known) else { return PasswordCheck::Wrong };
            let right = setup.argon2.verify_password(password.reveal().as_bytes(), &known).is_ok();
            match (right && against.is_some(), is_current(&known, &setup.params)) {
                (false, _) => PasswordCheck::Wrong,
                (true, true) => PasswordCheck::Right,
                (true, false) => PasswordCheck::RightButOutdated,
            }
        })
        .await
    }
}

/// Returns whether a hash has the current parameters.
fn is_current(hash: &Phc, params: &Params) -> bool {
    let made = Params::try_from(hash);
    hash.algorithm.as_str() == Algorithm::Argon2id.as_str()
        && made.is_ok_and(|made| {
            (made.m_cost(), made.t_cost(), made.p_cost())
                == (params.m_cost(), params.t_cost(), params.p_cost())
        })
}

fn hash(argon2: &Argon2<'_>, password: &str) -> String {
    let hash: Phc = argon2
        .hash_password_with_salt(password.as_bytes(), &random::<16>())
        .expect("the costs were looked at, and a password is never too long");
    hash.to_string()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const CHEAP: PasswordConfig = PasswordConfig { memory_kib: 64, passes: 1, lanes: 1, at_once: 1 };

    fn password(text: &str) -> Password {
        Password::typed(text.to_owned()).unwrap()
    }

    #[tokio::test]
    async fn a_password_is_known_again_and_no_other() {
        let hasher = Argon2Hasher::new(CHEAP).unwrap();
        let hash = hasher.hash(password("correct horse")).await.unwrap();
        assert!(hash.as_str().starts_with("$argon2id$v=19$m=64,t=1,p=1$"), "{}", hash.as_str());
        assert_ne!(hasher.hash(password("correct horse")).await.unwrap(), hash, "salted");
        for (text, against, verdict) in [
            ("correct horse", Some(hash.clone()), PasswordCheck::Right),
            ("Correct horse", Some(hash.clone()), PasswordCheck::Wrong),
            ("", Some(hash), PasswordCheck::Wrong),
            ("correct horse", None, PasswordCheck::Wrong),
            ("correct horse", Some(PasswordHash::new("nothing".to_owned())), PasswordCheck::Wrong),
        ] {
            assert_eq!(hasher.verify(password(text), against).await.unwrap(), verdict, "{text}");
        }
    }

    #[tokio::test]
    async fn what_was_made_with_other_costs_is_outdated() {
        let older = Argon2Hasher::new(CHEAP).unwrap().hash(password("correct horse")).await.unwrap();
        let hasher = Argon2Hasher::new(PasswordConfig { passes: 2, ..CHEAP }).unwrap();
        let verdict = hasher.verify(password("correct horse"), Some(older)).await.unwrap();
        assert_eq!(verdict, PasswordCheck::RightButOutdated);
    }

    /// However many arrive, the numbers of running and queued ones are bounded.
    #[tokio::test]
    async fn a_hash_beyond_the_queue_is_refused() {
        let hasher = Argon2Hasher::new(CHEAP).unwrap();
        let running = hasher.running.clone().acquire_owned().await.unwrap();
        let mut waiting = (0..=WAITING).map(|_| Box::pin(hasher.hash(password("x")))).collect::<Vec<_>>();
        for one in &mut waiting {
            assert!(tokio::time::timeout(Duration::ZERO, one).await.is_err());
        }
        assert_eq!(hasher.hash(password("x")).await, Err(HasherBusy));
        drop(running);
        for one in waiting {
            one.await.unwrap();
        }
        hasher.hash(password("x")).await.unwrap();
    }
}
