//! Benchmarks of the realtime side: the built server, beside a bare actix-ws server where that says
//! what the machine itself costs. Servers and load are processes of their own; what is compared is
//! compared within one run. `docs/realtime.md` has the figures and says how to read them.
#![expect(clippy::print_stdout, reason = "the report is what this program is for")]
#![expect(clippy::unwrap_used, reason = "a measurement that goes wrong has no result")]

mod bare;
mod connect;
mod fanout;
mod flock;
mod latency;
mod process;
mod scene;
mod slow;
mod stats;

use clap::{Parser, Subcommand};

/// Measures a release build, which `PARLANCE_BIN` names.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// All of them, one after the other.
    All,
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
    /// One socket of a thousand in a room stops reading: what the others notice.
    Slow,
    /// The bare server, which the others start.
    #[command(hide = true)]
    Bare {
        /// The port on the loopback address.
        port: u16,
    },
}

fn main() {
    match Arguments::parse().what {
        What::Bare { port } => bare::serve(port),
        what => {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
            runtime.block_on(measure(what));
        }
    }
}

async fn measure(what: What) {
    println!("{}", process::machine());
    match what {
        What::All => {
            fanout::run().await;
            connect::run(10_000).await;
            latency::run(500, 20).await;
            slow::run().await;
        }
        What::Fanout => fanout::run().await,
        What::Connect { sockets } => connect::run(sockets).await,
        What::Latency { rate, seconds } => latency::run(rate, seconds).await,
        What::Slow => slow::run().await,
        What::Bare { .. } => {}
    }
}
