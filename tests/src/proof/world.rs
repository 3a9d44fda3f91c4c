//! Servers, their infrastructure, and injected failures.

use std::fmt;
use std::time::Duration;

use testkit::nats::Nats;
use testkit::postgres::{Cluster, Database, Options};
use testkit::{elapse, until};
use tokio::task::block_in_place;

use super::clock::Clock;
use super::disk::Disk;
use super::link::{Cut, Link};
use super::random::Random;
use crate::server::Server;

/// A blow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strike {
    /// A server is killed and started again (`kill -9`).
    Kill,
    /// A server is stopped for a while (`SIGSTOP`), so that callers give up before it goes on.
    Pause,
    /// A server's wall clock jumps, back or forward, and later back to the right time.
    Clock,
    /// The store's disk is full for a while.
    DiskFull,
    /// The database ends as in a crash and starts again (`pg_ctl stop -m immediate`).
    StopDatabase,
    /// Between a server and its database nothing passes, then everything that was held up.
    StallDatabase,
    /// A server's database gets what it is sent, the answers come late.
    MuteDatabase,
    /// A server's connections to its database are broken, then for a while every new one.
    BreakDatabase,
    /// NATS is killed and started again.
    KillNats,
    /// NATS hangs for a while.
    PauseNats,
    /// A server is cut off from NATS while the others are not.
    PartNats,
}

impl fmt::Display for Strike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kill => "kill -9",
            Self::Pause => "SIGSTOP",
            Self::Clock => "clock moved",
            Self::DiskFull => "disk full",
            Self::StopDatabase => "database stopped at once",
            Self::StallDatabase => "database link stalled",
            Self::MuteDatabase => "database's answers held up",
            Self::BreakDatabase => "database link broken",
            Self::KillNats => "NATS killed",
            Self::PauseNats => "NATS stopped",
            Self::PartNats => "link to NATS broken",
        })
    }
}

/// The connections of a server.
struct Links {
    database: Link,
    nats: Option<Link>,
}

/// Servers, and all that can be struck. What they stand on goes after them.
pub struct World {
    /// The servers.
    pub servers: Vec<Server>,
    clocks: Vec<Clock>,
    links: Vec<Links>,
    nats: Option<Nats>,
    database: Option<(Database, Cluster)>,
    disk: Option<Disk>,
}

impl World {
    /// One server on the embedded store, on a small disk of so many megabytes where this process may mount one.
    pub async fn embedded(megabytes: u64) -> Self {
        let (clock, disk) = (Clock::build(), Disk::mount(megabytes));
        let settings = environment(&clock, &[]);
        let settings = settings.iter().map(|(name, value)| (*name, value.as_str())).collect::<Vec<_>>();
        let server = match &disk {
            Some(disk) => Server::start_on(disk.path(), &settings).await,
            None => Server::start_embedded_with(&settings).await,
        };
        Self {
            servers: vec![server],
            clocks: vec![clock],
            links: Vec::new(),
            nats: None,
            database: None,
            disk,
        }
    }

    /// So many servers on a PostgreSQL of their own with these settings (`name=value`), its files on a small disk of so
    /// many megabytes where this process may mount one; with NATS between the servers if they are several.
    pub async fn on_postgres(count: usize, megabytes: u64, settings: &[&str]) -> Self {
        let disk = Disk::mount(megabytes);
        let options =
            disk.as_ref().map_or_else(Options::default, |disk| Options::default().inside(disk.path()));
        let options = settings.iter().fold(options, |options, setting| {
            let (name, value) = setting.split_once('=').expect("a name and a value");
            options.setting(name, value)
        });
        let cluster = Cluster::own(options);
        let database = cluster.server().database();
        let nats = (count > 1).then(Nats::start);
        let mut world =
            Self { servers: Vec::new(), clocks: Vec::new(), links: Vec::new(), nats, database: None, disk };
        let url = database.url();
        for _ in 0..count {
            let clock = Clock::build();
            let link = Link::to(cluster.port()).await;
            let through = url.replace(&format!(":{}/", cluster.port()), &format!(":{}/", link.port()));
            assert_ne!(url, through);
            let mut own = vec![("PARLANCE_DATABASE_URL", through)];
            let mut to_nats = None;
            if let Some(nats) = &world.nats {
                let link = Link::to(nats.port()).await;
                own.push(("PARLANCE_NATS_URL", format!("nats://127.0.0.1:{}", link.port())));
                to_nats = Some(link);
            }
            let settings = environment(&clock, &own);
            let settings = settings.iter().map(|(name, value)| (*name, value.as_str())).collect::<Vec<_>>();
            let server = match world.servers.first() {
                None => Server::start_alone(&settings).await,
                Some(first) => Server::start_beside(first, &settings).await,
            };
            world.servers.push(server);
            world.clocks.push(clock);
            world.links.push(Links { database: link, nats: to_nats });
        }
        world.database = Some((database, cluster));
        world.heal().await;
        world
    }

    /// The failures that are possible here.
    pub fn strikes(&self) -> Vec<Strike> {
        let mut all = vec![Strike::Kill, Strike::Pause, Strike::Clock];
        if self.disk.is_some() {
            all.push(Strike::DiskFull);
        }
        if self.database.is_some() {
            let more =
                [Strike::StopDatabase, Strike::StallDatabase, Strike::MuteDatabase, Strike::BreakDatabase];
            all.extend(more);
        }
        if self.nats.is_some() {
            all.extend([Strike::KillNats, Strike::PauseNats, Strike::PartNats]);
        }
        all
    }

    /// Strikes, and puts right again what was struck.
    pub async fn strike(&mut self, strike: Strike, random: &mut Random) {
        let index = random.place(self.servers.len());
        // A little more than callers wait, or much less.
        let for_long = Duration::from_millis(if random.percent(50) { 1_800 } else { 300 });
        match strike {
            Strike::Kill => self.servers[index].crash().await,
            Strike::Pause => {
                self.servers[index].signal("-STOP");
                elapse(for_long).await;
                self.servers[index].signal("-CONT");
            }
            Strike::Clock => {
                // The last one is longer than an idempotency key is stored.
                let jumps = [-7_200, -90, -2, 2, 90, 7_200, 93_600];
                self.clocks[index].set(jumps[random.place(jumps.len())]);
                elapse(for_long).await;
                self.clocks[index].set(0);
            }
            Strike::DiskFull => {
                let disk = self.disk.as_ref().expect("it is offered only where there is one");
                block_in_place(|| disk.fill());
                elapse(for_long).await;
                disk.free();
                if let Some((_, cluster)) = &self.database {
                    // It ends itself where it can write neither its log nor what it recovers from it.
                    elapse(Duration::from_millis(100)).await;
                    block_in_place(|| cluster.start());
                }
            }
            Strike::StopDatabase => {
                let (_, cluster) = self.database.as_ref().expect("it is offered only where there is one");
                block_in_place(|| cluster.stop_immediately());
                elapse(Duration::from_millis(100)).await;
                block_in_place(|| cluster.start());
            }
            Strike::StallDatabase => cut(&self.links[index].database, Cut::Stalled, for_long).await,
            Strike::MuteDatabase => cut(&self.links[index].database, Cut::Mute, for_long).await,
            Strike::BreakDatabase => cut(&self.links[index].database, Cut::Broken, for_long).await,
            Strike::KillNats => {
                let nats = self.nats.as_mut().expect("it is offered only where there is one");
                nats.kill();
                elapse(for_long).await;
                block_in_place(|| nats.run());
            }
            Strike::PauseNats => {
                let nats = self.nats.as_ref().expect("it is offered only where there is one");
                nats.pause();
                elapse(for_long).await;
                nats.resume();
            }
            Strike::PartNats => {
                let link = self.links[index].nats.as_ref().expect("it is offered only where there is one");
                cut(link, Cut::Broken, for_long).await;
            }
        }
    }

    /// Waits until every server is ready.
    pub async fn heal(&self) {
        for server in &self.servers {
            let ready = format!("http://{}/ready", server.address());
            let is_ready = async || reqwest::get(&ready).await.is_ok_and(|answer| answer.status() == 200);
            until("a server does not heal", is_ready).await;
        }
    }

    /// A fault that no store may have: what a server on the embedded store has written during `meanwhile` is gone.
    pub async fn forget(&mut self, meanwhile: impl Future<Output = ()>) {
        let server = &mut self.servers[0];
        let data = server.data().to_owned();
        let keep = tempfile::TempDir::new().unwrap();
        let copy = |from: &std::path::Path, to: &std::path::Path| {
            for file in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
                if file.file_type().unwrap().is_file() {
                    std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
                }
            }
        };
        server.kill9();
        copy(&data, keep.path());
        server.run().await;
        meanwhile.await;
        server.kill9();
        for file in std::fs::read_dir(&data).unwrap().map(Result::unwrap) {
            if file.file_type().unwrap().is_file() {
                std::fs::remove_file(file.path()).unwrap();
            }
        }
        copy(keep.path(), &data);
        server.run().await;
    }
}

async fn cut(link: &Link, how: Cut, for_long: Duration) {
    link.cut(how);
    elapse(for_long).await;
    link.cut(Cut::None);
}

fn environment(clock: &Clock, more: &[(&'static str, String)]) -> Vec<(&'static str, String)> {
    let mut all = clock.settings().to_vec();
    all.push(("PARLANCE_RATE_LIMITS", "false".to_owned()));
    all.push(("PARLANCE_LOG", "info".to_owned()));
    all.extend_from_slice(more);
    all
}
