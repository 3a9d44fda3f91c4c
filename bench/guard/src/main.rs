//! The guard: counts the instructions of the paths that decide how fast the server is, and compares them
//! with the figures that are checked in.
//!
//! A count does not depend on what else the machine does, so a few per cent are seen where a clock would
//! show noise. Each path is walked twice under callgrind, once for twice as many steps; the difference is
//! what the steps cost, on all threads, without start and end. `docs/performance.md` says more.
#![expect(clippy::print_stdout, reason = "the report is what this program is for")]
#![expect(clippy::print_stderr, reason = "what is wrong is said apart from the report")]
#![expect(clippy::unwrap_used, reason = "a walk that goes wrong is not counted")]

mod count;
mod figures;
mod push;
mod report;
mod scene;
mod walk;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::figures::{Figures, Tools};
use crate::walk::Path;

/// Compares the instructions of the send path, of `/next` and of pushed frames with the checked-in figures.
#[derive(Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Arguments {
    /// Where the figures are.
    #[arg(long, default_value = "bench/guard/instructions.json")]
    figures: PathBuf,
    /// Makes what is counted the new figures.
    #[arg(long)]
    renew: bool,
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Subcommand)]
enum What {
    /// Walks a path, which is what is counted.
    #[command(hide = true)]
    Walk {
        /// Which.
        path: Path,
        /// How many steps.
        steps: usize,
    },
}

fn main() -> ExitCode {
    let Arguments { figures, renew, what } = Arguments::parse();
    let done = match what {
        Some(What::Walk { path, steps }) => walk::run(path, steps),
        None if renew => count_all().and_then(|counted| renewed(&figures, &counted)),
        None => Figures::read(&figures).and_then(|kept| checked(&kept)),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("guard: {error}");
            ExitCode::FAILURE
        }
    }
}

fn count_all() -> Result<Figures, String> {
    let counted = Path::ALL.into_iter().map(|path| Ok((path.name().to_owned(), count::of_a_step(path)?)));
    Ok(Figures {
        taken_with: Tools::of_this_program(),
        instructions: counted.collect::<Result<_, String>>()?,
    })
}

fn renewed(place: &std::path::Path, counted: &Figures) -> Result<ExitCode, String> {
    // What stood there may be of other tools, unreadable, or nothing.
    let before = Figures::read(place).ok();
    print!("{}", report::table(before.as_ref(), counted));
    counted.write(place)?;
    println!("{} is renewed.", place.display());
    Ok(ExitCode::SUCCESS)
}

fn checked(kept: &Figures) -> Result<ExitCode, String> {
    // Found out before minutes of counting.
    figures::same_tools(kept, &Tools::of_this_program())?;
    let counted = count_all()?;
    print!("{}", report::table(Some(kept), &counted));
    let faults = figures::compare(kept, &counted);
    for fault in &faults {
        eprintln!("guard: {fault}");
    }
    Ok(if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
