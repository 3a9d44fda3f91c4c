//! `parlance client screen`: rooms, messages, and work on a full screen.
//!
//! What is shown, and what keys do, is the crate's `client::screen`, which does no I/O. Here, four things run side by side:
//! what follows the open room, what reads the lists, what does what the person asks for, and what has the terminal. The
//! first three have a connection each, and tell the last one of everything that happens.

mod full_screen;

use std::io;

use ::client::screen::{Effect, Event, Reader, Screen};
use ::client::text::on_one_line;
use ::client::{ClientError, Feed, RoomList, Session, Start};
use anstream::{AutoStream, ColorChoice};
use domain::ports::Clock as _;
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;

use crate::adapters::SystemClock;
use crate::commands::client::arguments::ScreenArguments;
use crate::commands::client::follow::{Contact, Polling, follow, pause_until};
use crate::commands::client::writer::Writer;
use crate::commands::client::{Client, terminal};
use crate::failure::Failure;
use full_screen::{FullScreen, read_terminal};

/// The number of messages with which a room begins; the API has no larger page.
const MESSAGES: usize = 100;

/// What ends the screen before the person does.
enum End {
    /// A failure that will not pass.
    Server(ClientError),
    /// The terminal cannot be read or written.
    Terminal(io::Error),
}

/// Shows the screen until the person leaves.
pub(super) async fn screen(arguments: ScreenArguments) -> Result<(), Failure> {
    if !terminal::is_interactive() {
        let said = "`parlance client screen` needs a terminal for its input and output";
        return Err(Failure::plain(said).next(
            "without one, use `parlance client rooms`, `parlance client tail`, and `parlance client chat`",
        ));
    }
    let mut client = Client::new(arguments.profile)?;
    let user = client.call(async |session| session.profile().await).await?;
    let room = match &arguments.room {
        Some(room) => Some(client.room(room).await?),
        None => None,
    };
    let (mut follower, mut lister, mut doer) = (client.another()?, client.another()?, client.another()?);
    let (tell, told) = unbounded_channel();
    let (open, opened) = watch::channel(None);
    let (ask, asked) = unbounded_channel();
    let changed = Changed::default();
    let first = room.map(|room| Event::Opened { title: on_one_line(&room.title), room: room.id });
    let ended = tokio::select! {
        error = follow_opened(&mut follower, opened, arguments.texts, &tell, &changed) => Err(End::Server(error)),
        error = read_lists(&mut lister, &tell, &changed) => Err(End::Server(error)),
        () = act(&mut doer, Writer::new(user.id), asked, &tell, &changed) => Ok(()),
        shown = show(first, told, &open, &ask) => shown.map_err(End::Terminal),
        () = terminal::interrupted() => Ok(()),
    };
    ended.map_err(|end| match end {
        End::Server(error) => client.failed(&error),
        End::Terminal(cause) => Failure::new("cannot use the terminal", cause),
    })
}

/// Wakes the readers when the person has changed something.
#[derive(Default)]
struct Changed {
    messages: Notify,
    lists: Notify,
}

/// Follows the room that is open. Ends with a failure that will not pass.
async fn follow_opened(
    session: &mut Session,
    mut opened: watch::Receiver<Option<String>>,
    texts_only: bool,
    tell: &UnboundedSender<Event>,
    changed: &Changed,
) -> ClientError {
    loop {
        let room = opened.borrow_and_update().clone();
        let reading = async {
            let Some(room) = room else { return std::future::pending().await };
            let feed = Feed::of_room(room.clone(), Start::Newest(MESSAGES), texts_only);
            let mut is_first = true;
            let show = |messages: Vec<_>| {
                // An empty room is told once.
                if !messages.is_empty() || std::mem::take(&mut is_first) {
                    let _ = tell.send(Event::Messages { room: room.clone(), messages });
                }
            };
            let error = follow(session, feed, &changed.messages, show, notice(Reader::Messages, tell)).await;
            (room, error)
        };
        tokio::select! {
            (room, error) = reading => {
                // The server refuses this room, not the user.
                let ClientError::Refused { .. } = error else { return error };
                let _ = tell.send(Event::Gone { room, why: error.to_string() });
                // The screen closes the room; another one can be opened.
                if opened.changed().await.is_err() {
                    return error;
                }
            }
            _ = opened.changed() => {}
        }
    }
}

/// Reads rooms and work in turn. Ends with a failure that will not pass.
async fn read_lists(session: &mut Session, tell: &UnboundedSender<Event>, changed: &Changed) -> ClientError {
    let mut list = RoomList::default();
    let mut polling = Polling::default();
    let (mut is_turn_of_work, mut is_first) = (false, true);
    loop {
        let read = if is_turn_of_work {
            told(session.work().await, |work| drop(tell.send(Event::Work(work))))
        } else {
            let rooms = list.read(session).await.map(<[_]>::to_vec);
            let now = SystemClock.now().to_string();
            told(rooms, |rooms| drop(tell.send(Event::Rooms { rooms, now })))
        };
        is_turn_of_work ^= read.is_ok();
        // The person waits for the first work.
        let read = read.map(|()| std::mem::take(&mut is_first));
        match polling.after(read, session, notice(Reader::Lists, tell)) {
            Ok(None) => {}
            Ok(Some(pause)) => pause_until(pause, &changed.lists).await,
            Err(error) => return error,
        }
    }
}

/// Tells what was read, or that the server refuses it: a key may be limited to something else.
fn told<T>(read: Result<T, ClientError>, tell: impl FnOnce(Result<T, String>)) -> Result<(), ClientError> {
    match read {
        Ok(rows) => tell(Ok(rows)),
        Err(error @ ClientError::Refused { .. }) => tell(Err(error.to_string())),
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Tells of the connection of a reader.
fn notice(reader: Reader, tell: &UnboundedSender<Event>) -> impl FnMut(Contact) {
    move |contact| {
        let lost = match contact {
            Contact::Lost(error) => Some(error.to_string()),
            Contact::Regained => None,
        };
        let _ = tell.send(Event::Connection { reader, lost });
    }
}

/// Does what the person asks for, one thing after the other.
async fn act(
    session: &mut Session,
    mut writer: Writer,
    mut asked: UnboundedReceiver<Effect>,
    tell: &UnboundedSender<Event>,
    changed: &Changed,
) {
    let say = |text: String| drop(tell.send(Event::Notice(Failure::plain(text).to_string())));
    while let Some(effect) = asked.recv().await {
        match effect {
            Effect::Open { room } => {
                // Without them, handles are typed in full.
                if let Ok(participants) = session.participants(&room).await {
                    let _ = tell.send(Event::Handles { room, handles: writer.handles(&participants) });
                }
            }
            Effect::Send { room, text } => {
                match writer.send(session, &room, &text, say).await {
                    Ok(handles) => drop(tell.send(Event::Handles { room, handles })),
                    Err(error) if writer.unclear() == Some(text.as_str()) => say(format!(
                        "unknown whether it was sent; the up arrow brings the text back, and Enter tries again: {error}"
                    )),
                    Err(error) => say(format!("not sent; the up arrow brings the text back: {error}")),
                }
                let _ = tell.send(Event::Sent);
                changed.messages.notify_one();
            }
            // It stays unread if this fails, as with a key that may only read.
            Effect::MarkRead { room, message } => drop(session.mark_read(&room, &message).await),
            Effect::Retry(item) => match session.retry_work(&item).await {
                Ok(retried) if retried.taken_up => say(format!("{} has begun.", item.agent())),
                Ok(_) => say(format!("Retried. {} has not begun yet.", item.agent())),
                Err(error) => say(format!("not retried: {error}")),
            },
            Effect::DeadLetter(item, reason) => match session.dead_letter_work(&item, &reason).await {
                Ok(()) => say(format!("{} no longer gets this message.", item.agent())),
                Err(error) => say(format!("not dead-lettered: {error}")),
            },
            Effect::Redraw | Effect::Quit => {}
        }
        changed.lists.notify_one();
    }
}

/// Has the terminal until the person leaves.
async fn show(
    first: Option<Event>,
    mut told: UnboundedReceiver<Event>,
    open: &watch::Sender<Option<String>>,
    ask: &UnboundedSender<Effect>,
) -> io::Result<()> {
    let mut full_screen = FullScreen::begin()?;
    let is_styled = AutoStream::choice(&io::stdout()) != ColorChoice::Never;
    let mut screen = Screen::new(full_screen.size()?, is_styled);
    let mut keys = read_terminal();
    let mut event = first;
    loop {
        // Everything that has happened is shown at once.
        while let Some(happened) = event {
            for effect in screen.update(happened) {
                match effect {
                    Effect::Quit => return Ok(()),
                    Effect::Redraw => full_screen.clear()?,
                    Effect::Open { room } => {
                        open.send_replace(Some(room.clone()));
                        let _ = ask.send(Effect::Open { room });
                    }
                    other => drop(ask.send(other)),
                }
            }
            event = told.try_recv().ok();
        }
        full_screen.draw(&screen)?;
        tokio::select! {
            key = keys.recv() => match key {
                Some(key) => event = Some(key?),
                None => return Ok(()),
            },
            happened = told.recv() => event = happened,
        }
    }
}
