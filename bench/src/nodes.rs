//! Several servers on one PostgreSQL with NATS between them, beside one server alone: what a message costs that is sent
//! on one and pushed on another, and what the bus costs where nobody elsewhere listens.

use std::time::{Duration, Instant};

use e2e::{Api, Server, message};
use testkit::nats::Nats;
use testkit::postgres::Database;
use tokio::time::sleep;

use crate::flock::{Flock, Keep};
use crate::http::of_agent;
use crate::load::{self, Asker, stamped_text};
use crate::places::Place;
use crate::process::{SETTINGS, cpu, until_idle};
use crate::report::{Row, Target, number};
use crate::scene;
use crate::stats::{median, micros, wait_quantile};

/// Rooms, each with two agents that write to one another.
const ROOMS: usize = 32;

/// Bytes of a text.
const CONTENT_BYTES: usize = 200;

/// Messages a second in rooms of two, and for how long.
const RATE: f64 = 500.0;
const TIME: Duration = Duration::from_secs(6);

/// Sockets of the large room, messages a second there, and for how long.
const CROWD: usize = 200;
const CROWD_RATE: f64 = 20.0;

/// How long the servers take to know each other, with a little more.
const ACQUAINTED: Duration = Duration::from_secs(4);

/// Servers on a database of their own, and who takes part.
struct Scene {
    servers: Vec<Server>,
    agents: Vec<Api>,
    rooms: Vec<String>,
    ann: Api,
    crowd: String,
    _database: Database,
}

/// What was measured of one round.
struct Shown {
    /// Microseconds of all servers' processors for each message.
    cpu: f64,
    /// From when a message was due until its reader had it, the 99th part, in milliseconds.
    p99: f64,
}

impl Scene {
    async fn set(place: &Place, nats: Option<&Nats>, servers: usize) -> Self {
        let Place::Postgres(cluster) = place else { unreachable!("several servers need PostgreSQL") };
        let database = cluster.server().database();
        let (url, bus) = (database.url(), nats.map(Nats::url));
        let mut settings = SETTINGS.to_vec();
        settings.push(("PARLANCE_DATABASE_URL", &url));
        settings.extend(bus.as_deref().map(|bus| ("PARLANCE_NATS_URL", bus)));
        let mut started = Vec::new();
        for _ in 0..servers {
            started.push(Server::start_with(&settings).await);
        }
        let ann = started[0].user("ann");
        let agents = scene::agents(&started[0], &ann, 2 * ROOMS).await;
        let rooms = scene::rooms(&ann, &agents, 2).await;
        let crowd = ann.create_chat().await;
        sleep(ACQUAINTED).await;
        Self { servers: started, agents, rooms, ann, crowd, _database: database }
    }

    fn spent(&self) -> Duration {
        self.servers.iter().map(|server| cpu(server.pid())).sum()
    }

    async fn until_idle(&self) {
        for server in &self.servers {
            until_idle(server.pid()).await;
        }
    }

    /// What all servers spend a second on nothing.
    async fn idle(&self) -> f64 {
        const LOOK: Duration = Duration::from_secs(2);
        self.until_idle().await;
        let before = self.spent();
        sleep(LOOK).await;
        micros(self.spent().abs_diff(before)) / LOOK.as_secs_f64()
    }

    /// Agents write to one another on the first server, and listen on the server of this number.
    async fn pairs(&self, listen_on: usize) -> Shown {
        let (mut askers, mut wishes) = (Vec::new(), Vec::new());
        for (pair, room) in self.agents.chunks(2).zip(&self.rooms) {
            for (from, to) in [(0, 1), (1, 0)] {
                let body = message(&stamped_text(CONTENT_BYTES), &[&pair[to].id]).to_string();
                let send = of_agent("POST", &pair[from], &format!("/chats/{room}/messages"), &body);
                askers.push(Asker::of(vec![send]));
                let topics = vec![format!("chat_room:{room}")];
                wishes.push(scene::wish(&self.servers[listen_on], &pair[to].key, topics));
            }
        }
        self.shown(askers, wishes, RATE, 1).await
    }

    /// Agents write and listen on the first server; what was listened to elsewhere before must have come to its end.
    async fn at_home(&self) -> Shown {
        const LINGER: Duration = Duration::from_secs(8);
        sleep(LINGER).await;
        self.pairs(0).await
    }

    /// A human writes on the first server to many sockets of the server of this number; for each frame.
    async fn crowd(&self, listen_on: usize) -> Shown {
        let body = message(&stamped_text(CONTENT_BYTES), &[]).to_string();
        let path = format!("/api/v1/me/chats/{}/messages", self.crowd);
        let send = crate::http::request("POST", &path, &self.ann.key, &body);
        let topics = vec![format!("chat_room:{}", self.crowd)];
        let wish = scene::wish(&self.servers[listen_on], &self.ann.key, topics);
        self.shown(vec![Asker::of(vec![send])], vec![wish; CROWD], CROWD_RATE, CROWD as u64).await
    }

    #[expect(clippy::cast_precision_loss, reason = "far below the limit")]
    async fn shown(
        &self,
        askers: Vec<Asker>,
        wishes: Vec<crate::flock::Wish>,
        rate: f64,
        frames_each: u64,
    ) -> Shown {
        let origin = Instant::now();
        let flock = Flock::open(wishes, Keep::Waits(origin)).await;
        let idle = self.idle().await;
        let (before, begun) = (self.spent(), Instant::now());
        let ran = load::open(&self.servers[0].address(), askers, origin, rate, TIME).await;
        flock.until_frames(ran.asked * frames_each).await;
        // What the servers do behind the last frame is their work too.
        sleep(Duration::from_millis(300)).await;
        let resting = idle * begun.elapsed().as_secs_f64();
        let spent = micros(self.spent().abs_diff(before)) - resting;
        let waits = flock.take_waits();
        Shown { cpu: spent / (ran.asked * frames_each) as f64, p99: wait_quantile(&waits, 0.99) }
    }
}

/// All rounds of what is compared.
#[derive(Default)]
struct Series {
    one: Vec<Shown>,
    other: Vec<Shown>,
}

impl Series {
    fn median(shown: &[Shown], of: impl Fn(&Shown) -> f64) -> f64 {
        median(&mut shown.iter().map(of).collect::<Vec<_>>())
    }

    /// The median of the rounds' ratios of the processors' work.
    fn ratio(&self) -> f64 {
        let ratios = self.other.iter().zip(&self.one).map(|(other, one)| other.cpu / one.cpu);
        median(&mut ratios.collect::<Vec<_>>())
    }

    fn cpu_row(&self, what: &str, most: f64) -> Row {
        Row {
            store: "PostgreSQL",
            what: what.to_owned(),
            figure: number(Self::median(&self.other, |shown| shown.cpu), "us"),
            beside: format!("one server {}", number(Self::median(&self.one, |shown| shown.cpu), "us")),
            judged: self.ratio(),
            unit: "x",
            target: Some(Target::AtMost(most)),
        }
    }

    fn latency_row(&self, what: &str) -> Row {
        let (one, other) =
            (Self::median(&self.one, |shown| shown.p99), Self::median(&self.other, |shown| shown.p99));
        Row {
            store: "PostgreSQL",
            what: what.to_owned(),
            figure: number(other, "ms"),
            beside: format!("one server {}", number(one, "ms")),
            judged: other - one,
            unit: "ms",
            target: Some(Target::AtMost(3.0)),
        }
    }
}

/// Measures, one kind of installation after the other in each round.
pub(crate) async fn run(rounds: usize) -> Vec<Row> {
    let (place, nats) = (Place::postgres(), Nats::start());
    let alone = Scene::set(&place, None, 1).await;
    let two = Scene::set(&place, Some(&nats), 2).await;
    let (mut pairs, mut crowds, mut unheard) = (Series::default(), Series::default(), Series::default());
    // The first round is for warming up.
    for round in 0..=rounds {
        let measured = [
            (alone.pairs(0).await, two.pairs(1).await),
            (alone.crowd(0).await, two.crowd(1).await),
            // All listen where they write: the other server is there, and wants nothing.
            (alone.pairs(0).await, two.at_home().await),
        ];
        if round > 0 {
            for (series, (one, other)) in [&mut pairs, &mut crowds, &mut unheard].into_iter().zip(measured) {
                series.one.push(one);
                series.other.push(other);
            }
        }
    }
    vec![
        pairs.latency_row("from send on one server to a socket on another, p99, more than on one"),
        pairs.cpu_row("servers' CPU for each message, sent on one, pushed on another", 1.15),
        crowds.cpu_row("servers' CPU for each frame, sent on one, pushed to 200 sockets on another", 1.15),
        unheard.cpu_row("server's CPU for each message that nobody elsewhere wants", 1.03),
    ]
}
