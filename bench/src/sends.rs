//! Durable sends with a push to two recipients, beside pgbench with the one statement, and beside the store
//! without anything around it. A million messages are stored before, by the server and by pgbench: a fresh database
//! flatters every index.

use std::time::{Duration, Instant};

use e2e::{Api, Server};
use futures_util::{StreamExt, stream};
use serde_json::json;

use crate::direct::Direct;
use crate::flock::{Flock, Keep};
use crate::http::of_agent;
use crate::load::{self, Asker, Ran, stamped_text};
use crate::pgbench::{self, PgBench, Rooms, ask_sql};
use crate::places::{Place, Served};
use crate::process::{cpu, until_idle};
use crate::report::{Row, Target, number};
use crate::scene;
use crate::seed::{self, Past};
use crate::stats::{median, micros, wait_quantile};

/// Who sends, who is mentioned, and rooms; one more room has all who send in it.
const SENDERS: usize = 32;
const RECEIVERS: usize = 64;
const ROOMS: usize = 1000;

/// Bytes of a text.
const CONTENT_BYTES: usize = 200;

const WARM: Duration = Duration::from_millis(500);
const SECONDS: u32 = 3;
const TIME: Duration = Duration::from_secs(SECONDS as u64);

/// A wait from here on is what a delayed acknowledgement of TCP would cause.
const STEP_MS: f64 = 35.0;

/// Where the senders of a run write.
#[derive(Clone, Copy)]
enum Spread {
    /// Each in this many rooms of its own.
    Own(usize),
    /// All in one room.
    Hot,
}

struct Scene {
    place: Place,
    served: Served,
    senders: Vec<Api>,
    receivers: Vec<Api>,
    rooms: Vec<String>,
    hot: String,
    flock: Flock,
    origin: Instant,
}

/// What one run of senders showed.
struct Shown {
    ran: Ran,
    /// From when a send was due until a recipient's socket had it, in microseconds.
    pushed: Vec<u32>,
    /// Microseconds of the server's processor for each message.
    cpu: f64,
    /// The same with what PostgreSQL needs.
    cpu_with_store: f64,
}

/// What was measured in all rounds.
#[derive(Default)]
struct Figures {
    few: Series,
    many: Series,
    hot: Series,
    eight: Series,
    one: Vec<(f64, Option<f64>)>,
    direct: Vec<f64>,
    ack: Vec<f64>,
    /// What pgbench waits for at the most, but for one of a hundred: with 32 clients, and with 8.
    slow: Vec<f64>,
    slow_of_eight: Vec<f64>,
    cpu: Vec<f64>,
    /// Ours with PostgreSQL's, and pgbench's with PostgreSQL's.
    cpu_with_store: Vec<(f64, f64)>,
    /// Bytes of indexes for each message.
    indexed: Option<f64>,
    pushed: Vec<f64>,
    steps: Vec<f64>,
    hot_share: Vec<f64>,
    half: Vec<f64>,
}

/// Our rate and pgbench's, round by round.
#[derive(Default)]
struct Series {
    ours: Vec<f64>,
    theirs: Vec<f64>,
}

/// Measures on this store; gives the rows and the rates of 32 senders in 32 and in 1,000 rooms.
pub(crate) async fn run(place: &Place, rounds: usize) -> (Vec<Row>, [f64; 2]) {
    let scene = Scene::set(place).await;
    let pgbench = match place {
        Place::Embedded => None,
        Place::Postgres(_) => Some(PgBench::start(place).await),
    };
    let direct = Direct::open(&scene.served, &scene.senders, &scene.receivers, &scene.rooms).await;
    let mut figures = Figures::default();
    let before = Indexed::of(&scene.served);
    // The first round is for warming up.
    for round in 0..=rounds {
        let measured = scene.round(pgbench.as_ref(), &direct).await;
        if round > 0 {
            figures.add(measured);
        }
    }
    figures.indexed = Indexed::of(&scene.served).zip(before).map(|(after, before)| after.each_since(&before));
    let most = median(&mut figures.few.ours.clone());
    for _ in 0..rounds {
        let half = scene.at_rate(most / 2.0).await;
        figures.half.push(wait_quantile(&half.pushed, 0.99));
    }
    let many = median(&mut figures.many.ours.clone());
    (figures.rows(place.name()), [most, many])
}

/// How much faster the embedded store takes messages, from the rates of [`run`].
pub(crate) fn embedded_beside_postgres(embedded: [f64; 2], postgres: [f64; 2]) -> [Row; 2] {
    let row = |what: &str, place: usize, least| Row {
        store: Place::Embedded.name(),
        what: what.to_owned(),
        figure: number(embedded[place], "/s"),
        beside: format!("PostgreSQL {}", number(postgres[place], "/s")),
        judged: embedded[place] / postgres[place],
        unit: "x",
        target: Some(Target::AtLeast(least)),
    };
    [
        row("sends, 32 senders, 32 rooms, beside PostgreSQL", 0, 2.0),
        row("sends, 32 senders, 1,000 rooms, beside PostgreSQL", 1, 1.5),
    ]
}

/// What the indexes of messages and deliveries take.
struct Indexed {
    bytes: f64,
    messages: f64,
}

impl Indexed {
    /// On PostgreSQL, which says it.
    fn of(served: &Served) -> Option<Self> {
        let url = served.database_url()?;
        Some(Self {
            bytes: ask_sql(&url, "SELECT pg_indexes_size('messages') + pg_indexes_size('deliveries')"),
            messages: ask_sql(&url, "SELECT count(*) FROM messages"),
        })
    }

    fn each_since(&self, before: &Self) -> f64 {
        (self.bytes - before.bytes) / (self.messages - before.messages)
    }
}

/// One round: each run of ours beside the one of pgbench.
struct Round {
    few: (Shown, Option<pgbench::Ran>),
    many: (Shown, Option<pgbench::Ran>),
    hot: (Shown, Option<pgbench::Ran>),
    eight: (Shown, Option<pgbench::Ran>),
    one: (Shown, Option<pgbench::Ran>),
    direct: f64,
}

impl Scene {
    async fn set(place: &Place) -> Self {
        let mut here = place.serve().await;
        let server = &here.server;
        let ann = server.user("ann");
        let mut senders = scene::agents(server, &ann, SENDERS + RECEIVERS).await;
        let receivers = senders.split_off(SENDERS);
        let made = (0..ROOMS).map(|room| {
            let (sender, [one, other]) = (&senders[room % SENDERS], recipients(room));
            let members = [sender.clone(), receivers[one].clone(), receivers[other].clone()];
            let ann = &ann;
            async move { scene::room(ann, &members).await }
        });
        let rooms = stream::iter(made).buffered(SENDERS).collect::<Vec<_>>().await;
        let mut all = senders.clone();
        all.extend_from_slice(&receivers[..2]);
        let hot = scene::room(&ann, &all).await;
        here.server.terminate().await;
        let pasts = rooms.iter().enumerate().map(|(room, chat)| Past {
            chat,
            sender: &senders[room % SENDERS].id,
            agent: &receivers[recipients(room)[0]].id,
            messages: seed::STORED_A_ROOM,
        });
        seed::write(&here, &pasts.collect::<Vec<_>>());
        here.server.run().await;
        let server = &here.server;
        let origin = Instant::now();
        let flock = Flock::open(wishes(server, &receivers, &rooms, &hot), Keep::Waits(origin)).await;
        Self { place: place.clone(), served: here, senders, receivers, rooms, hot, flock, origin }
    }

    async fn round(&self, pgbench: Option<&PgBench>, direct: &Direct) -> Round {
        let theirs =
            |rooms, clients| pgbench.map(|pgbench| pgbench.send(rooms, clients, SECONDS, CONTENT_BYTES));
        Round {
            few: (self.run(SENDERS, Spread::Own(1)).await, theirs(Rooms::OfItsOwn, 32)),
            many: (self.run(SENDERS, Spread::Own(ROOMS / SENDERS)).await, theirs(Rooms::Any, 32)),
            hot: (self.run(SENDERS, Spread::Hot).await, theirs(Rooms::One, 32)),
            eight: (self.run(8, Spread::Own(1)).await, theirs(Rooms::OfItsOwn, 8)),
            one: (self.run(1, Spread::Own(1)).await, theirs(Rooms::OfItsOwn, 1)),
            direct: direct.rate(TIME, CONTENT_BYTES).await,
        }
    }

    /// So many senders send as fast as they are answered.
    async fn run(&self, senders: usize, spread: Spread) -> Shown {
        let askers = self.askers(senders, spread);
        self.shown(load::closed(&self.served.server.address(), askers, self.origin, WARM, TIME)).await
    }

    /// All senders send at this rate.
    async fn at_rate(&self, rate: f64) -> Shown {
        let askers = self.askers(SENDERS, Spread::Own(1));
        self.shown(load::open(&self.served.server.address(), askers, self.origin, rate, TIME)).await
    }

    async fn shown(&self, load: impl Future<Output = Ran>) -> Shown {
        let pid = self.served.server.pid();
        until_idle(pid).await;
        let (frames, before, store) = (self.flock.frames(), cpu(pid), self.place.cpu());
        let ran = load.await;
        self.flock.until_frames(frames + 2 * ran.asked).await;
        #[expect(clippy::cast_precision_loss, reason = "far below the limit")]
        let each = |time| micros(time) / ran.asked as f64;
        let cpu = each(cpu(pid).saturating_sub(before));
        let cpu_with_store = cpu + each(self.place.cpu().saturating_sub(store));
        Shown { pushed: self.flock.take_waits(), ran, cpu, cpu_with_store }
    }

    fn askers(&self, senders: usize, spread: Spread) -> Vec<Asker> {
        let asker = |(index, sender): (usize, &Api)| {
            let requests = match spread {
                Spread::Own(rooms) => (0..rooms)
                    .map(|nth| index + nth * SENDERS)
                    .map(|room| self.request(sender, &self.rooms[room], recipients(room)))
                    .collect(),
                Spread::Hot => vec![self.request(sender, &self.hot, [0, 1])],
            };
            Asker::of(requests)
        };
        self.senders.iter().take(senders).enumerate().map(asker).collect()
    }

    fn request(&self, sender: &Api, room: &str, recipients: [usize; 2]) -> Vec<u8> {
        let mentions = recipients.map(|receiver| json!({ "id": self.receivers[receiver].id }));
        let body = json!({ "message": { "content": stamped_text(CONTENT_BYTES), "mentions": mentions } });
        of_agent("POST", sender, &format!("/chats/{room}/messages"), &body.to_string())
    }
}

/// Who is mentioned in a room.
pub(crate) const fn recipients(room: usize) -> [usize; 2] {
    [2 * room % RECEIVERS, (2 * room + 1) % RECEIVERS]
}

/// A socket for each who is mentioned, in all their rooms.
fn wishes(server: &Server, receivers: &[Api], rooms: &[String], hot: &str) -> Vec<crate::flock::Wish> {
    let wish = |(index, receiver): (usize, &Api)| {
        let own = rooms.iter().enumerate().filter(|(room, _)| recipients(*room).contains(&index));
        let mut topics = own.map(|(_, room)| format!("chat_room:{room}")).collect::<Vec<_>>();
        if index < 2 {
            topics.push(format!("chat_room:{hot}"));
        }
        scene::wish(server, &receiver.key, topics)
    };
    receivers.iter().enumerate().map(wish).collect()
}

impl Series {
    fn add(&mut self, (shown, theirs): &(Shown, Option<pgbench::Ran>)) {
        self.ours.push(shown.ran.rate());
        self.theirs.extend(theirs.as_ref().map(|theirs| theirs.rate));
    }

    fn ratio(&self) -> f64 {
        median(
            &mut self.ours.iter().zip(&self.theirs).map(|(ours, theirs)| ours / theirs).collect::<Vec<_>>(),
        )
    }

    fn row(&self, store: &'static str, what: &str, least: f64) -> Row {
        let figure = number(median(&mut self.ours.clone()), "/s");
        let what = what.to_owned();
        if self.theirs.is_empty() {
            let judged = median(&mut self.ours.clone());
            return Row { store, what, figure, beside: String::new(), judged, unit: "/s", target: None };
        }
        let beside = format!("pgbench {}", number(median(&mut self.theirs.clone()), "/s"));
        let target = Some(Target::AtLeast(least));
        Row { store, what, figure, beside, judged: self.ratio(), unit: "x", target }
    }
}

impl Figures {
    fn add(&mut self, round: Round) {
        self.few.add(&round.few);
        self.many.add(&round.many);
        self.hot.add(&round.hot);
        self.eight.add(&round.eight);
        self.hot_share.push(round.hot.0.ran.rate() / round.few.0.ran.rate());
        self.one.push((round.one.0.ran.wait(0.5), round.one.1.as_ref().map(|theirs| theirs.median)));
        self.direct.push(round.direct);
        self.ack.push(round.few.0.ran.wait(0.99));
        self.slow.extend(round.few.1.as_ref().map(|theirs| theirs.p99));
        self.slow_of_eight.extend(round.eight.1.as_ref().map(|theirs| theirs.p99));
        self.cpu.push(round.few.0.cpu);
        let theirs = round.few.1.as_ref().map(|theirs| theirs.cpu);
        self.cpu_with_store.extend(theirs.map(|theirs| (round.few.0.cpu_with_store, theirs)));
        let pushed = &round.eight.0.pushed;
        self.pushed.push(wait_quantile(pushed, 0.99));
        let late = pushed.iter().filter(|wait| f64::from(**wait) / 1e3 >= STEP_MS).count();
        #[expect(clippy::cast_precision_loss, reason = "far below the limit")]
        self.steps.push(1e3 * late as f64 / pushed.len() as f64);
    }

    fn rows(mut self, store: &'static str) -> Vec<Row> {
        let plain = |what: &str, judged: f64, unit: &'static str, most: Option<f64>| Row {
            store,
            what: what.to_owned(),
            figure: number(judged, unit),
            beside: String::new(),
            judged,
            unit,
            target: most.map(Target::AtMost),
        };
        let direct = median(&mut self.direct);
        let few = median(&mut self.few.ours.clone());
        let mut rows = vec![
            self.few.row(store, "sends, 32 senders, 32 rooms", 1.0),
            self.many.row(store, "sends, 32 senders, 1,000 rooms", 1.0),
            self.hot.row(store, "sends, 32 senders, one hot room, pgbench without its lock", 1.0),
            Row {
                beside: format!("32 rooms {}", number(few, "/s")),
                figure: number(median(&mut self.hot.ours.clone()), "/s"),
                judged: median(&mut self.hot_share),
                unit: "x",
                target: Some(Target::AtLeast(1.0)),
                ..plain("one hot room beside 32 rooms", 0.0, "x", None)
            },
            self.eight.row(store, "sends, 8 senders, 8 rooms", 0.8),
            self.one_row(store),
            Row {
                beside: format!("the store alone {}", number(direct, "/s")),
                figure: number(few, "/s"),
                judged: few / direct,
                unit: "x",
                ..plain("sends beside the store without HTTP", 0.0, "x", None)
            },
        ];
        let beside = |waits: &mut Vec<f64>| match &mut waits[..] {
            [] => String::new(),
            waits => format!("pgbench's commits {}", number(median(waits), "ms")),
        };
        let acknowledged =
            plain("acknowledged, p99, 32 senders, saturated", median(&mut self.ack), "ms", None);
        rows.push(if self.slow.is_empty() {
            acknowledged
        } else {
            let judged = acknowledged.judged / median(&mut self.slow);
            let target = Some(Target::AtMost(0.5));
            Row { beside: beside(&mut self.slow), judged, unit: "x", target, ..acknowledged }
        });
        rows.extend([
            Row {
                beside: beside(&mut self.slow_of_eight),
                ..plain("from send to socket, p99, 8 senders", median(&mut self.pushed), "ms", Some(4.5))
            },
            plain("from send to socket, of 1,000 over 35 ms", median(&mut self.steps), "of 1,000", Some(1.0)),
            plain("from send to socket, p99, half of the rate", median(&mut self.half), "ms", Some(10.0)),
            plain("server CPU for each send with two pushes", median(&mut self.cpu), "us", None),
        ]);
        rows.extend(self.cpu_with_store());
        rows.extend(self.indexed.map(|bytes| {
            let what = "indexes of messages and deliveries, for each message with two";
            plain(what, bytes, "bytes", Some(250.0))
        }));
        rows
    }

    /// The processor's time for a send, beside pgbench.
    fn cpu_with_store(&self) -> Option<Row> {
        if self.cpu_with_store.is_empty() {
            return None;
        }
        let of = |part: fn(&(f64, f64)) -> f64| {
            median(&mut self.cpu_with_store.iter().map(part).collect::<Vec<_>>())
        };
        Some(Row {
            store: Place::POSTGRES,
            what: "CPU of server and PostgreSQL for each send with two pushes".to_owned(),
            figure: number(of(|pair| pair.0), "us"),
            beside: format!("pgbench and PostgreSQL {}", number(of(|pair| pair.1), "us")),
            judged: of(|(ours, theirs)| ours / theirs),
            unit: "x",
            target: Some(Target::AtMost(1.2)),
        })
    }

    fn one_row(&self, store: &'static str) -> Row {
        let ours = median(&mut self.one.iter().map(|(ours, _)| *ours).collect::<Vec<_>>());
        let theirs = self.one.iter().filter_map(|(_, theirs)| *theirs).collect::<Vec<_>>();
        let what = "acknowledged, p50, one sender".to_owned();
        let figure = number(ours, "ms");
        if theirs.is_empty() {
            return Row {
                store,
                what,
                figure,
                beside: String::new(),
                judged: ours,
                unit: "ms",
                target: None,
            };
        }
        let theirs = median(&mut theirs.clone());
        let judged = ours / theirs;
        let beside = format!("pgbench {}", number(theirs, "ms"));
        Row { store, what, figure, beside, judged, unit: "x", target: Some(Target::AtMost(1.5)) }
    }
}
