//! `parlance client tail`: messages as they are sent.

use std::pin::pin;

use ::client::{Clock, Feed, Rendering, Shown, Start};
use domain::ports::Clock as _;
use domain::time::Timestamp;

use crate::adapters::SystemClock;
use crate::commands::client::arguments::{Since, TailArguments};
use crate::commands::client::follow::Polling;
use crate::commands::client::{Client, tell, terminal};
use crate::failure::Failure;
use crate::output::print;

/// The number of messages with which a room begins.
const LINES: u8 = 10;

/// Colors are left out by the output where they are not wanted.
const RENDERING: Rendering = Rendering { clock: Clock::Full, is_styled: true };

/// Prints messages until somebody presses Ctrl+C or closes the output.
pub(super) async fn tail(arguments: TailArguments) -> Result<(), Failure> {
    let mut client = Client::new(arguments.profile)?;
    let since = arguments.since.map(time);
    let mut feed = match &arguments.room {
        Some(room) => {
            let lines = usize::from(arguments.lines.unwrap_or(LINES));
            let start = since.map_or(Start::Newest(lines), Start::After);
            Feed::of_room(client.room(room).await?.id, start, arguments.texts)
        }
        None => Feed::of_all(since, arguments.texts),
    };
    let mut interrupted = pin!(terminal::interrupted());
    let mut polling = Polling::default();
    loop {
        let read = tokio::select! {
            read = feed.read(&mut client.session) => read,
            () = &mut interrupted => return Ok(()),
        };
        while let Some(shown) = feed.take() {
            print(&line(&shown, arguments.json))?;
        }
        let pause = polling.after(read, &client.session, |contact| tell(&contact.to_string()));
        let Some(pause) = pause.map_err(|error| client.failed(&error))? else { continue };
        if terminal::is_output_closed() {
            return Ok(());
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = &mut interrupted => return Ok(()),
        }
    }
}

fn line(shown: &Shown, json: bool) -> String {
    if json { shown.json() } else { RENDERING.lines(shown, terminal::row()).trim_end().to_owned() }
}

/// A time in the form of the API.
fn time(since: Since) -> String {
    let time: Timestamp = match since {
        Since::At(time) => time,
        Since::Ago(duration) => SystemClock.now().minus(duration),
    };
    time.to_string()
}
