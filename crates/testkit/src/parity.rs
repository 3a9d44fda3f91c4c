//! Differential tests of two stores: random sequences of operations must give the same responses and events
//! on both.
//!
//! Clocks, ids, and keys of the two worlds are deterministic, so that even new ids agree.
//! Operations name mostly existing things, but not always.

/// An operation of this name with these values, which each world gets its own copy of.
macro_rules! act {
    ($name:literal, |$world:ident, $($value:ident),+| $work:expr) => {
        {
            let what = format!("{:?}", ($name, $(&$value),+));
            let given = ($($value,)+);
            $crate::parity::Act::new(what, move |$world| {
                let ($($value,)+) = Clone::clone(&given);
                Box::pin(async move { $work })
            })
        }
    };
}

mod boards;
mod cast;
mod contacts;
mod deliveries;
mod keys;
mod memories;
mod messages;
mod people;
pub(crate) mod rng;
mod rooms;

use std::fmt::{Debug, Write};
use std::pin::Pin;

use cast::{Cast, Made};

use crate::{Stores, World};

/// The outcome of a step, and the things that exist after it.
struct Played {
    answer: String,
    made: Vec<Made>,
}

type Playing<'w> = Pin<Box<dyn Future<Output = Played> + Send + 'w>>;

/// One operation with all its values.
struct Act {
    what: String,
    play: Box<dyn for<'w> Fn(&'w World) -> Playing<'w> + Send + Sync>,
}

impl Act {
    fn new(what: String, play: impl for<'w> Fn(&'w World) -> Playing<'w> + Send + Sync + 'static) -> Self {
        Self { what, play: Box::new(play) }
    }
}

/// The answer, and what of it later steps may ask for.
fn played<T: Debug, E: Debug>(answer: Result<T, E>, made: impl FnOnce(T) -> Vec<Made>) -> Played {
    let text = format!("{answer:?}");
    Played { answer: text, made: answer.map(made).unwrap_or_default() }
}

/// Nothing that is new.
fn nothing<T>(_: T) -> Vec<Made> {
    Vec::new()
}

/// Plays `steps` steps of the sequence with this number on both stores.
///
/// # Panics
/// If a response or an event differs; the message lists the steps before it.
pub async fn play(seed: u64, steps: usize, one: Stores, other: Stores) {
    let (one, other) = (World::on(one), World::on(other));
    let mut cast = Cast::new(seed);
    let mut story = Vec::new();
    for step in 0..steps {
        let act = cast.next(step);
        let (first, second) = ((act.play)(&one).await, (act.play)(&other).await);
        let (heard, also) = (one.publisher.take(), other.publisher.take());
        let (heard, also) = (format!("{heard:#?}"), format!("{also:#?}"));
        story.push(act.what);
        let same = first.answer == second.answer && heard == also;
        let is_answer = !["Unavailable(", "Broken("].iter().any(|fault| first.answer.contains(fault));
        if !same || !is_answer {
            let last = story[story.len().saturating_sub(12)..].join("\n");
            let (first, second) =
                (format!("{}\n{heard}", first.answer), format!("{}\n{also}", second.answer));
            panic!("sequence {seed}, step {step}\n{last}\n{}", differences(&first, &second));
        }
        cast.remember(first.made);
    }
}

/// Both texts, from a little before they differ on.
fn differences(one: &str, other: &str) -> String {
    let same = one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count();
    let mut text = String::new();
    for side in [one, other] {
        let from = (0..=same.saturating_sub(300)).rev().find(|at| side.is_char_boundary(*at)).unwrap_or(0);
        let part = side[from..].chars().take(1500).collect::<String>();
        writeln!(text, "--- from byte {from}\n{part}").unwrap();
    }
    text
}
