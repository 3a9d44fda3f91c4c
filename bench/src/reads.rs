//! What is read: who asks, what waits, and pages of a long room; beside a bare answer of the same size.

use std::time::{Duration, Instant};

use e2e::Api;
use serde_json::Value;

use crate::http::{Connection, of_agent, request};
use crate::load::{self, Asker};
use crate::pgbench::{PgBench, Read};
use crate::places::{Place, Served};
use crate::process::Bare;
use crate::report::{Row, Target, number};
use crate::scene;
use crate::seed::{self, Past};
use crate::stats::{median, millis};

/// Connections that ask at once.
const ASKERS: u32 = 32;

/// Agents that ask beside pgbench, with a connection each.
const CREW: u32 = 8;

/// Messages of the long and of the short room.
const MANY: u32 = 1_000_000;
const FEW: u32 = 1000;

const WARM: Duration = Duration::from_millis(300);
const SECONDS: u32 = 2;
const TIME: Duration = Duration::from_secs(SECONDS as u64);

/// Starts of the server that are timed.
const STARTS: usize = 7;

/// What is asked of our server, or of the bare one: a request for each asker, repeated if there are more askers.
struct Question {
    address: String,
    requests: Vec<Vec<u8>>,
}

pub(crate) async fn run(place: &Place, rounds: usize) -> Vec<Row> {
    let mut served = place.serve().await;
    let ann = served.server.user("ann");
    // In the long room, in the short one, in one where nothing was before, and the crew in short ones.
    let agents = scene::agents(&served.server, &ann, 3 + CREW as usize).await;
    let rooms = scene::rooms(&ann, &agents, 1).await;
    served.server.terminate().await;
    let past = |index: usize, messages| Past {
        chat: &rooms[index],
        sender: &ann.id,
        agent: &agents[index].id,
        messages,
    };
    let mut pasts = vec![past(0, MANY), past(1, FEW)];
    pasts.extend((3..agents.len()).map(|index| past(index, FEW)));
    seed::write(&served, &pasts);
    let mut rows = vec![cold_start(place, &mut served).await];
    send_to_each(&ann, &agents[..3], &rooms).await;
    let bare = Bare::start().await;
    let reads = Reads { place, served, bare, rounds };
    rows.push(reads.who_asks(&agents[0]).await);
    rows.extend(reads.next(&agents, &rooms).await);
    rows.extend(reads.context(&agents, &rooms).await);
    if matches!(place, Place::Postgres(_)) {
        rows.extend(reads.beside_pgbench(&ann, &agents[3..], &rooms[3..]).await);
    }
    rows
}

/// Sends each agent a message in its room, which then waits there.
async fn send_to_each(ann: &Api, agents: &[Api], rooms: &[String]) {
    for (agent, room) in agents.iter().zip(rooms) {
        ann.sent(room, "what waits", &[&agent.id]).await;
    }
}

/// From the start of the process to the first answer, with all that is in the store.
async fn cold_start(place: &Place, served: &mut Served) -> Row {
    let mut starts = Vec::new();
    for _ in 0..STARTS {
        starts.push(millis(served.server.run().await));
        served.server.terminate().await;
    }
    served.server.run().await;
    let judged = median(&mut starts);
    Row {
        store: place.name(),
        what: "start to first answer, a million messages stored".to_owned(),
        figure: number(judged, "ms"),
        beside: String::new(),
        judged,
        unit: "ms",
        target: Some(Target::AtMost(100.0)),
    }
}

struct Reads<'r> {
    place: &'r Place,
    served: Served,
    bare: Bare,
    rounds: usize,
}

impl Reads<'_> {
    /// A request that is authenticated, and needs nothing else of the store.
    async fn who_asks(&self, agent: &Api) -> Row {
        let ours = self.question(agent, "/me");
        self.beside_bare("authenticated GET, 32 connections", ours, Target::AtLeast(0.8)).await
    }

    async fn next(&self, agents: &[Api], rooms: &[String]) -> Vec<Row> {
        let of =
            |index: usize| self.question(&agents[index], &format!("/chats/{}/messages/next", rooms[index]));
        let what = "/next with a million processed behind it";
        let mut rows = vec![self.beside(what, "with none", of(0), of(2)).await];
        let target = Target::AtLeast(0.35);
        let beside_bare = self.beside_bare(what, of(0), target).await;
        let judged = matches!(self.place, Place::Embedded);
        rows.push(Row { target: judged.then_some(target), ..beside_bare });
        rows
    }

    async fn context(&self, agents: &[Api], rooms: &[String]) -> Vec<Row> {
        let path = |index: usize| format!("/chats/{}/context?limit=50", rooms[index]);
        let first = |index: usize| self.question(&agents[index], &path(index));
        let what = "context of 50, a million messages, first page";
        let mut rows = vec![self.beside(what, "of a thousand", first(0), first(1)).await];
        let deepest = |index: usize, cursor: &str| {
            self.question(&agents[index], &format!("{}&cursor={cursor}", path(index)))
        };
        let many = deepest(0, &self.deepest(&agents[0], &rooms[0]).await);
        let few = deepest(1, &self.deepest(&agents[1], &rooms[1]).await);
        let what = "context of 50, a million messages, deepest cursor";
        rows.push(self.beside(what, "of a thousand", many, few).await);
        rows
    }

    /// What agents ask most, beside one statement on the leanest tables.
    async fn beside_pgbench(&self, ann: &Api, crew: &[Api], rooms: &[String]) -> Vec<Row> {
        let pgbench = PgBench::start(self.place).await;
        let asked = [
            ("/next without a message, 8 agents", "messages/next", Read::NoNext, 0.4),
            ("/next with a message, 8 agents", "messages/next", Read::Next, 0.3),
            ("context of 50, 8 agents", "context?limit=50", Read::Context, 0.3),
        ];
        let mut rows = Vec::new();
        for (what, path, read, least) in asked {
            if matches!(read, Read::Next) {
                send_to_each(ann, crew, rooms).await;
            }
            let each = crew.iter().zip(rooms);
            let requests =
                each.map(|(agent, room)| of_agent("GET", agent, &format!("/chats/{room}/{path}"), ""));
            let question = Question { address: self.served.server.address(), requests: requests.collect() };
            let theirs = || async { pgbench.read(read, CREW, SECONDS).rate };
            let ours = || question.rate_of(CREW);
            let (ours, theirs, ratio) = self.medians(ours, theirs).await;
            let beside = format!("pgbench {}", number(theirs, "/s"));
            rows.push(self.row(what, (ours, &beside), ratio, Target::AtLeast(least)));
        }
        rows
    }

    /// The cursor of the last page that is full: all are followed.
    async fn deepest(&self, agent: &Api, room: &str) -> String {
        let mut connection = Connection::open(&self.served.server.address()).await;
        let (mut cursor, mut before) = (String::new(), String::new());
        loop {
            let path = format!("/chats/{room}/context?limit=100{cursor}");
            let answer = connection.ask(&of_agent("GET", agent, &path, "")).await;
            let page = serde_json::from_slice::<Value>(answer.body).unwrap();
            match page["metadata"]["next_cursor"].as_str() {
                Some(next) => {
                    before = cursor.split_off(cursor.find('=').map_or(0, |at| at + 1));
                    cursor = format!("&cursor={next}");
                }
                None => return before,
            }
        }
    }

    fn question(&self, agent: &Api, path: &str) -> Question {
        Question { address: self.served.server.address(), requests: vec![of_agent("GET", agent, path, "")] }
    }

    /// One beside another of ours, which should cost the same.
    async fn beside(&self, what: &str, beside: &str, one: Question, other: Question) -> Row {
        let (one, other, ratio) = self.rates(&one, &other).await;
        self.row(what, (one, &format!("{beside} {}", number(other, "/s"))), ratio, Target::AtLeast(0.9))
    }

    /// One beside the bare server that answers as many bytes.
    async fn beside_bare(&self, what: &str, one: Question, target: Target) -> Row {
        let bare = self.as_long(&one).await;
        let (one, other, ratio) = self.rates(&one, &bare).await;
        self.row(what, (one, &format!("bare actix-web {}", number(other, "/s"))), ratio, target)
    }

    fn row(&self, what: &str, (figure, beside): (f64, &str), judged: f64, target: Target) -> Row {
        Row {
            store: self.place.name(),
            what: what.to_owned(),
            figure: number(figure, "/s"),
            beside: beside.to_owned(),
            judged,
            unit: "x",
            target: Some(target),
        }
    }

    /// A question to the bare server whose answer has as many bytes, head and all.
    async fn as_long(&self, ours: &Question) -> Question {
        let bytes = Connection::open(&ours.address).await.ask(&ours.requests[0]).await.bytes();
        let of = |bytes: usize| request("GET", &format!("/answer/{bytes}"), "none", "");
        let body = 1000;
        let head = Connection::open(&self.bare.address).await.ask(&of(body)).await.bytes() - body;
        Question { address: self.bare.address.clone(), requests: vec![of(bytes.saturating_sub(head))] }
    }

    async fn rates(&self, one: &Question, other: &Question) -> (f64, f64, f64) {
        self.medians(|| one.rate_of(ASKERS), || other.rate_of(ASKERS)).await
    }

    /// The medians of both rates, and of their ratio in each round.
    async fn medians(&self, one: impl AsyncFn() -> f64, other: impl AsyncFn() -> f64) -> (f64, f64, f64) {
        let (mut ones, mut others, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        // The first round is for warming up.
        for round in 0..=self.rounds {
            let (one, other) = (one().await, other().await);
            if round > 0 {
                ones.push(one);
                others.push(other);
                ratios.push(one / other);
            }
        }
        (median(&mut ones), median(&mut others), median(&mut ratios))
    }
}

impl Question {
    /// The number of answers per second with this number of connections.
    async fn rate_of(&self, askers: u32) -> f64 {
        let requests = self.requests.iter().cycle().take(askers as usize);
        let askers = requests.map(|request| Asker::of(vec![request.clone()])).collect();
        load::closed(&self.address, askers, Instant::now(), WARM, TIME).await.rate()
    }
}
