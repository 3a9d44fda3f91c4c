//! Benchmarks: the built server, beside what the machine itself costs: pgbench, a bare actix-web and actix-ws server,
//! the store alone. Servers and load are processes of their own; what is compared is compared within one run.
//! `docs/performance.md` has the figures and says how to read them.
#![expect(clippy::print_stdout, reason = "the report is what this program is for")]
#![expect(
    clippy::disallowed_methods,
    reason = "a benchmark runs in real time, with ids as the server makes them"
)]
#![expect(clippy::unwrap_used, reason = "a measurement that goes wrong has no result")]

mod bare;
mod connect;
mod direct;
mod fanout;
mod flock;
mod http;
mod latency;
mod load;
mod loops;
mod memory;
mod nodes;
mod pgbench;
mod places;
mod process;
mod reads;
mod report;
mod scale;
mod scene;
mod search;
mod seed;
mod sends;
mod skim;
mod slow;
mod stats;
mod transfers;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::places::Place;
use crate::report::Row;

/// Measures a release build, which `PARLANCE_BIN` names.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    what: What,
    /// How often what is compared is measured, after a round to warm up; what is shown are medians.
    #[arg(long, global = true, default_value_t = 5)]
    rounds: usize,
    /// With which store, where that makes a difference; without it with both.
    #[arg(long, global = true, value_enum)]
    store: Option<Store>,
    /// Where the table goes as JSON and as a chart.
    #[arg(long, global = true, default_value = "bench/results")]
    results: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Store {
    Embedded,
    Postgres,
}

#[derive(Clone, Copy, Subcommand)]
enum What {
    /// All of them, one after the other.
    All,
    /// Durable sends with a push to two, beside pgbench and the store alone.
    Sends,
    /// Who asks, what waits, and pages of a long room, beside a bare answer.
    Reads,
    /// Agents that send, are pushed to, and work.
    Loops,
    /// An idle server, and one that has stored many messages.
    Memory {
        /// How many are stored.
        #[arg(long, default_value_t = 1_000_000)]
        messages: u64,
    },
    /// Server CPU for each frame that reaches a socket, against a bare server with the same frames.
    Fanout,
    /// Ten thousand agents connect and join; memory of an idle socket against a bare one; the end of all.
    Connect {
        /// How many.
        #[arg(long, default_value_t = 10_000)]
        sockets: usize,
    },
    /// From sending to receiving, at 500 messages a second.
    Latency {
        /// Messages a second.
        #[arg(long, default_value_t = 500)]
        rate: u32,
        /// For how many seconds.
        #[arg(long, default_value_t = 20)]
        seconds: u32,
    },
    /// Two servers with NATS between them, beside one; not among all, as NATS must be installed.
    Nodes,
    /// One socket of a thousand in a room stops reading: what the others notice.
    Slow,
    /// Sends beside files that are uploaded and downloaded.
    Transfers,
    /// A hundred thousand agents in ten thousand rooms: what it costs that they are connected, ask, come and go, and
    /// what a restart is to them. Not among all.
    Scale(scale::Wanted),
    /// Searches among many messages. Not among all.
    Search {
        /// How many are stored.
        #[arg(long, default_value_t = 10_000_000)]
        messages: u64,
    },
    /// The bare server, which the others start.
    #[command(hide = true)]
    Bare {
        /// The port on the loopback address.
        port: u16,
    },
    /// Some of the agents of `scale`, which starts it.
    #[command(hide = true)]
    Crowd(scale::crowd::Part),
}

fn main() {
    let arguments = Arguments::parse();
    if let What::Bare { port } = arguments.what {
        return bare::serve(port);
    }
    if let What::Crowd(part) = arguments.what {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        return runtime.block_on(scale::crowd::be(part));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(run(&arguments));
}

/// Measures, prints the table and writes it down.
async fn run(arguments: &Arguments) {
    let machine = process::machine();
    println!("{machine}");
    let rows = measure(arguments).await;
    println!("{}", report::table(&rows));
    let name = match arguments.what {
        What::All => "all",
        What::Sends => "sends",
        What::Reads => "reads",
        What::Loops => "loops",
        What::Memory { .. } => "memory",
        What::Fanout => "fanout",
        What::Connect { .. } => "connect",
        What::Latency { .. } => "latency",
        What::Nodes => "nodes",
        What::Transfers => "transfers",
        What::Scale(_) => "scale",
        What::Search { .. } => "search",
        What::Slow | What::Bare { .. } | What::Crowd(_) => "slow",
    };
    report::write(&arguments.results, name, &machine, &rows);
}

/// What was measured so far; each part is printed when it is there, so that a run that breaks has shown something.
#[derive(Default)]
struct Measured {
    all: Vec<Row>,
}

impl Measured {
    fn add(&mut self, rows: Vec<Row>) {
        println!("{}", report::table(&rows));
        self.all.extend(rows);
    }
}

async fn measure(arguments: &Arguments) -> Vec<Row> {
    let (rounds, store) = (arguments.rounds, arguments.store);
    match arguments.what {
        What::All => {
            let mut rows = Measured::default();
            let (measured, rates) = sends(rounds, store).await;
            rows.add(measured);
            for (place, [sends, _]) in places(store).zip(rates) {
                rows.add(loops::run(&place, rounds, Some(sends)).await);
                rows.add(reads::run(&place, rounds).await);
                rows.add(memory::run(&place, 1_000_000).await);
            }
            rows.add(fanout::run(1000, rounds).await);
            rows.add(fanout::run(10_000, rounds).await);
            rows.add(connect::run(10_000).await);
            rows.add(latency::run(500, 20).await);
            rows.add(slow::run().await);
            for place in places(store) {
                rows.add(transfers::run(&place, rounds).await);
            }
            rows.all
        }
        What::Sends => sends(rounds, store).await.0,
        What::Reads => over(store, async |place| reads::run(&place, rounds).await).await,
        What::Loops => over(store, async |place| loops::run(&place, rounds, None).await).await,
        What::Memory { messages } => over(store, async |place| memory::run(&place, messages).await).await,
        What::Fanout => {
            let mut rows = fanout::run(1000, rounds).await;
            rows.extend(fanout::run(10_000, rounds).await);
            rows
        }
        What::Connect { sockets } => connect::run(sockets).await,
        What::Latency { rate, seconds } => latency::run(rate, seconds).await,
        What::Nodes => nodes::run(rounds).await,
        What::Slow => slow::run().await,
        What::Transfers => over(store, async |place| transfers::run(&place, rounds).await).await,
        What::Scale(wanted) => over(store, async |place| scale::run(&place, wanted).await).await,
        What::Search { messages } => over(store, async |place| search::run(&place, messages).await).await,
        What::Bare { .. } | What::Crowd(_) => Vec::new(),
    }
}

/// On the stores that are wanted, PostgreSQL first.
fn places(store: Option<Store>) -> impl Iterator<Item = Place> {
    let postgres = (store != Some(Store::Embedded)).then(Place::postgres);
    let embedded = (store != Some(Store::Postgres)).then_some(Place::Embedded);
    postgres.into_iter().chain(embedded)
}

async fn over(store: Option<Store>, measure: impl AsyncFn(Place) -> Vec<Row>) -> Vec<Row> {
    let mut rows = Vec::new();
    for place in places(store) {
        rows.extend(measure(place).await);
    }
    rows
}

/// Sends on each store, and the embedded one beside PostgreSQL; and the rates of each store.
async fn sends(rounds: usize, store: Option<Store>) -> (Vec<Row>, Vec<[f64; 2]>) {
    let (mut rows, mut rates) = (Vec::new(), Vec::new());
    for place in places(store) {
        let (measured, rate) = sends::run(&place, rounds).await;
        rows.extend(measured);
        rates.push(rate);
    }
    if let [postgres, embedded] = rates[..] {
        rows.extend(sends::embedded_beside_postgres(embedded, postgres));
    }
    (rows, rates)
}
