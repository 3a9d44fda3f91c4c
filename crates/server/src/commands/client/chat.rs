//! `parlance client chat`: a room to read and to write to.
//!
//! Three things run side by side: what follows the room, what sends texts in their order, and the screen, which is the
//! only one that prints. Each of the first two has a connection of its own, so that a slow one holds up neither the other
//! nor a key that is typed.

use std::io::{self, BufRead, Read, Write};
use std::ops::ControlFlow;
use std::thread;

use ::client::text::on_one_line;
use ::client::{ClientError, Clock, Editor, Event, Feed, Rendering, Room, Session, Shown, Start};
use anstream::{AutoStream, ColorChoice};
use tokio::sync::Notify;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender, UnboundedReceiver, UnboundedSender, channel, unbounded_channel};

use crate::commands::client::arguments::ChatArguments;
use crate::commands::client::follow::{Contact, follow};
use crate::commands::client::writer::Writer;
use crate::commands::client::{Client, tell, terminal};
use crate::failure::Failure;
use crate::output::unprinted;

/// The number of messages with which the room begins.
const LINES: usize = 20;

/// The most bytes or lines of the input that wait.
const INPUT: usize = 256;

/// The most texts that wait to be sent.
const TEXTS: usize = 32;

/// In front of the line that is typed.
const PROMPT: &str = "> ";

/// Clears the line of the cursor.
const CLEAR: &str = "\r\u{1b}[K";

/// Makes the terminal mark pasted text, so that a line break in it sends nothing.
const PASTE: (&str, &str) = ("\u{1b}[?2004h", "\u{1b}[?2004l");

/// What the screen shows.
enum Item {
    /// A message as lines.
    Message(String),
    /// A sentence for the person at the terminal.
    Notice(String),
    /// The handles of those who can be mentioned.
    Handles(Vec<String>),
    /// Everything is sent, or if nobody sees the screen, something could not be sent.
    Ended(Result<(), ClientError>),
}

/// What somebody typed.
enum Input {
    /// A byte of a terminal.
    Key(u8),
    /// A line of anything else.
    Line(String),
    /// The end of the input.
    End,
}

/// Shows the room until the person leaves, or the input ends and everything is sent.
pub(super) async fn chat(arguments: ChatArguments) -> Result<(), Failure> {
    let mut client = Client::new(arguments.profile)?;
    let user = client.call(async |session| session.profile().await).await?;
    let room = client.room(&arguments.room).await?;
    let is_interactive = terminal::is_interactive();
    let is_styled = AutoStream::choice(&io::stdout()) != ColorChoice::Never;
    let rendering = Rendering { clock: Clock::Minutes, is_styled };
    let (show, shown) = unbounded_channel();
    let (send, to_send) = channel(TEXTS);
    let wake = Notify::new();
    let sending =
        Sending { room: room.id.clone(), writer: Writer::new(user.id), show: show.clone(), is_interactive };
    let mut follower = client.another()?;
    // A program that reads the output gets what is new.
    let start = Start::Newest(if is_interactive { LINES } else { 0 });
    let feed = Feed::of_room(room.id.clone(), start, arguments.texts);
    let lines = |shown: &Shown| drop(show.send(Item::Message(rendering.lines(shown, terminal::row()))));
    let notice = |contact: Contact| drop(show.send(Item::Notice(contact.to_string())));
    let following = follow(&mut follower, feed, &wake, |new| new.iter().for_each(lines), notice);
    let mut sender = client.another()?;
    let sending = sending.run(&mut sender, to_send, &wake);
    let screen = Screen { editor: Editor::default(), is_interactive };
    let showing = screen.run(&client, &room, shown, send);
    tokio::select! {
        error = following => Err(client.failed(&error)),
        ended = showing => ended,
        // It tells the screen of its end, which comes behind all that there is to show.
        () = sending => Ok(()),
        () = terminal::interrupted() => Ok(()),
    }
}

/// Sends texts, one after the other.
struct Sending {
    room: String,
    writer: Writer,
    show: UnboundedSender<Item>,
    is_interactive: bool,
}

impl Sending {
    /// Tells the screen when all texts are sent and there will be no more, and leaves the rest to it. `wake` tells the
    /// follower that something was sent.
    async fn run(mut self, session: &mut Session, texts: Receiver<String>, wake: &Notify) {
        let ended = self.send_all(session, texts, wake).await;
        let _ = self.show.send(Item::Ended(ended));
        std::future::pending::<()>().await;
    }

    /// If nobody sees the screen, a text that cannot be sent ends it.
    async fn send_all(
        &mut self,
        session: &mut Session,
        mut texts: Receiver<String>,
        wake: &Notify,
    ) -> Result<(), ClientError> {
        let Self { room, writer, show, is_interactive } = self;
        let tell = |text| drop(show.send(Item::Notice(text)));
        // Who can be mentioned, before the first text is typed.
        if *is_interactive {
            // Without them, handles are typed in full.
            if let Ok(participants) = session.participants(room).await {
                let _ = show.send(Item::Handles(writer.handles(&participants)));
            }
        }
        while let Some(text) = texts.recv().await {
            let Some(text) =
                Some(text).filter(|text| !text.is_empty()).or_else(|| writer.unclear().map(str::to_owned))
            else {
                continue;
            };
            match writer.send(session, room, &text, tell).await {
                Ok(handles) => {
                    let _ = show.send(Item::Handles(handles));
                    wake.notify_one();
                }
                Err(error) if *is_interactive => tell(unsent(writer, &text, &error)),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Says that a text was not sent, or that this is unknown.
fn unsent(writer: &Writer, text: &str, error: &ClientError) -> String {
    let is_unclear = writer.unclear() == Some(text);
    let text = on_one_line(text);
    if is_unclear {
        format!("unknown whether it was sent; Enter tries again: {text}: {error}")
    } else {
        format!("not sent: {text}: {error}")
    }
}

/// What the person sees and types.
struct Screen {
    editor: Editor,
    is_interactive: bool,
}

impl Screen {
    /// Shows what comes, and hands on what is typed. When the person leaves, it takes no more input, which ends the chat
    /// when everything is sent; leaving once more ends it at once.
    async fn run(
        mut self,
        client: &Client,
        room: &Room,
        mut items: UnboundedReceiver<Item>,
        send: Sender<String>,
    ) -> Result<(), Failure> {
        let keys = self.is_interactive.then(terminal::Keys::begin).transpose();
        let _keys = keys.map_err(|cause| Failure::new("cannot read keys from the terminal", cause))?;
        let _paste = self.is_interactive.then(Paste::begin);
        let mut send = Some(send);
        let mut input = read_input(self.is_interactive);
        if self.is_interactive {
            let title = on_one_line(&room.title);
            self.show(&format!("{title} ({}). Times are UTC. Ctrl+D leaves.\n", on_one_line(&room.id)))?;
        }
        loop {
            tokio::select! {
                // What was read is shown before the end of the input is acted on.
                biased;
                Some(item) = items.recv() => {
                    if self.item(client, item)?.is_break() {
                        return Ok(());
                    }
                }
                Some(typed) = next_input(&mut input, send.as_ref().filter(|_| !self.is_interactive)) => match self.typed(typed)? {
                    Some(Event::Entered(text)) => self.hand_on(send.as_ref(), text)?,
                    Some(Event::Blank) => self.hand_on(send.as_ref(), String::new())?,
                    Some(Event::Leave) if send.take().is_none() => return Ok(()),
                    Some(Event::Leave | Event::Changed) | None => {}
                },
                else => std::future::pending::<()>().await,
            }
        }
    }

    /// Hands a text on to be sent, if there is room for it.
    fn hand_on(&self, send: Option<&Sender<String>>, text: String) -> Result<(), Failure> {
        if let Some(Err(TrySendError::Full(text))) = send.map(|send| send.try_send(text))
            && !text.is_empty()
        {
            let text = on_one_line(&text);
            return self.show(&format!("-- Not sent, because {TEXTS} texts wait to be sent: {text}\n"));
        }
        Ok(())
    }

    fn item(&mut self, client: &Client, item: Item) -> Result<ControlFlow<()>, Failure> {
        match item {
            Item::Message(lines) => self.show(&lines)?,
            Item::Notice(text) if self.is_interactive => {
                self.show(&format!("-- {}\n", Failure::plain(text)))?;
            }
            Item::Notice(text) => tell(&text),
            Item::Handles(handles) => self.editor.complete_with(handles),
            Item::Ended(ended) => {
                return ended.map(ControlFlow::Break).map_err(|error| client.failed(&error));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn typed(&mut self, input: Input) -> Result<Option<Event>, Failure> {
        let event = match input {
            Input::Key(byte) => self.editor.feed(byte),
            Input::Line(line) => (!line.trim().is_empty()).then_some(Event::Entered(line)),
            Input::End => Some(Event::Leave),
        };
        if self.is_interactive && event.is_some() {
            self.show("")?;
        }
        Ok(event)
    }

    /// Writes lines above the line that is typed.
    fn show(&self, lines: &str) -> Result<(), Failure> {
        let mut text = String::new();
        if self.is_interactive {
            let (line, column) = self.editor.view(terminal::columns().saturating_sub(PROMPT.len()));
            let column = column + PROMPT.len();
            text = format!("{CLEAR}{lines}{PROMPT}{line}\r\u{1b}[{column}C");
        } else {
            text.push_str(lines);
        }
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(unprinted)
    }
}

/// While this exists, the terminal marks pasted text.
struct Paste;

impl Paste {
    fn begin() -> Self {
        write_control(PASTE.0);
        Self
    }
}

impl Drop for Paste {
    fn drop(&mut self) {
        write_control(&format!("{CLEAR}{}", PASTE.1));
    }
}

/// Without a terminal, there is nothing to control.
fn write_control(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// The next input, as soon as there is room for a text that it may be. A person can go on typing meanwhile.
async fn next_input(input: &mut Receiver<Input>, send: Option<&Sender<String>>) -> Option<Input> {
    if let Some(send) = send {
        // Nobody else takes the place.
        drop(send.reserve().await);
    }
    input.recv().await
}

/// Reads the input on a thread, which ends with the program.
fn read_input(is_terminal: bool) -> Receiver<Input> {
    let (send, input) = channel(INPUT);
    thread::spawn(move || {
        let mut input = io::stdin().lock();
        let _ = if is_terminal { read_keys(&mut input, &send) } else { read_lines(&mut input, &send) };
        let _ = send.blocking_send(Input::End);
    });
    input
}

fn read_keys(input: &mut impl Read, send: &Sender<Input>) -> io::Result<()> {
    let mut bytes = [0; 128];
    loop {
        let count = input.read(&mut bytes)?;
        if count == 0 || bytes[..count].iter().any(|byte| send.blocking_send(Input::Key(*byte)).is_err()) {
            return Ok(());
        }
    }
}

fn read_lines(input: &mut impl BufRead, send: &Sender<Input>) -> io::Result<()> {
    for line in input.lines() {
        if send.blocking_send(Input::Line(line?)).is_err() {
            break;
        }
    }
    Ok(())
}
