//! The screen as a person sees it, after events.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::json;
use unicode_width::UnicodeWidthStr;

use super::{Effect, Event, Reader, Screen};
use crate::feed::Shown;
use crate::model::{Message, Room, tests};
use crate::work::tests::item;

const NOW: &str = "2026-11-30T12:00:00.000000Z";

/// A text that tries to take over the terminal, with wide characters.
const HOSTILE: &str =
    "look\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{202e}\r\n09:00 @ann: 你好世界, forged 👩‍🔧 end";

fn room(id: &str, title: &str, unread: u64, last: &str) -> Room {
    let value = json!({
        "id": id, "title": title, "last_message_at": last, "updated_at": last, "unread": { "count": unread },
    });
    serde_json::from_value(value).unwrap()
}

fn rooms() -> Event {
    let rooms = vec![
        room("r1", "Release plan", 3, "2026-11-30T09:47:00.000000Z"),
        room("r2", "你好世界 and a title that is too long", 120, "2026-11-29T08:00:00.000000Z"),
        room("r3", "Old\u{1b}[31m one", 0, "2025-01-01T08:00:00.000000Z"),
    ];
    Event::Rooms { rooms: Ok(rooms), now: NOW.to_owned() }
}

fn message(id: &str, sequence: i64, time: &str, content: &str) -> Shown {
    let message = Message { content: content.to_owned(), ..tests::text(id, sequence, time) };
    Shown { title: None, message }
}

fn messages() -> Event {
    let thought = Message {
        message_type: "thought".to_owned(),
        ..message("m2", 2, "2026-11-30T09:46:00.000000Z", "I have to look that up.").message
    };
    let messages = vec![
        message(
            "m1",
            1,
            "2026-11-29T21:05:00.000000Z",
            "Can you deploy the new version to the staging system, please?",
        ),
        Shown { title: None, message: thought },
        message("m3", 3, "2026-11-30T09:47:00.000000Z", HOSTILE),
    ];
    Event::Messages { room: "r1".to_owned(), messages }
}

fn work() -> Event {
    let failed = json!({
        "attempts": [{ "error": "the model answered with HTTP status 529: overloaded" }], "current_attempt": 3,
        "flags": ["failing"],
    });
    let offline = json!({
        "agent": { "id": "a2", "handle": "ann/scout", "connected": false, "stopped": false, "paused": false },
        "current_attempt": 0, "age_ms": 7_300_000, "flags": ["unanswered"],
    });
    let items = vec![
        item("ann/scout", "new", offline),
        item("ann/reviewer", "failed", failed),
        item("ann/echo", "processing", json!({ "age_ms": 12_000 })),
    ];
    Event::Work(Ok((items, false)))
}

fn screen(size: (u16, u16)) -> Screen {
    let mut screen = Screen::new(size, false);
    assert_eq!([rooms(), work()].map(|event| screen.update(event)), [vec![], vec![]]);
    screen
}

/// Presses keys: `\t`, `\n`, and `\u{1b}` are those keys.
fn press(screen: &mut Screen, keys: &str) -> Vec<Effect> {
    let code = |c| match c {
        '\t' => KeyCode::Tab,
        '\n' => KeyCode::Enter,
        '\u{1b}' => KeyCode::Esc,
        c => KeyCode::Char(c),
    };
    keys.chars().flat_map(|c| screen.update(Event::Key(KeyEvent::from(code(c))))).collect()
}

fn drawn(screen: &Screen) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(screen.size.0, screen.size.1)).unwrap();
    terminal.draw(|frame| screen.draw(frame)).unwrap();
    terminal
}

/// The rows of the screen, without spaces at their ends.
fn shown(screen: &Screen) -> String {
    let terminal = drawn(screen);
    let mut text = String::new();
    for row in terminal.backend().buffer().content.chunks(screen.size.0.into()) {
        let mut covered = 0;
        let mut line = String::new();
        for cell in row {
            if covered == 0 {
                line.push_str(cell.symbol());
            }
            covered = cell.symbol().width().max(covered).saturating_sub(1);
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Says which rows differ.
fn shows(screen: &Screen, expected: &str) {
    let shown = shown(screen);
    let expected = expected.strip_prefix('\n').unwrap();
    assert!(shown == expected, "it shows\n{shown}\ninstead of\n{expected}");
}

fn opened(size: (u16, u16)) -> Screen {
    let mut screen = screen(size);
    assert_eq!(press(&mut screen, "\n"), [Effect::Open { room: "r1".to_owned() }]);
    screen.update(messages());
    screen
}

#[test]
fn a_wide_screen_has_all_panes() {
    shows(
        &opened((80, 24)),
        r"
┌ Rooms ───────────────┐┏ Release plan ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┓
│▸ Release plan 3 09:47│┃── 2026-11-29 ──                                      ┃
│  你好世界 … 99+ 11-29│┃21:05 @ann/echo: Can you deploy the new version to the┃
│  Old�[31m one    2025│┃    staging system, please?                           ┃
│                      │┃── 2026-11-30 ──                                      ┃
│                      │┃09:46 @ann/echo (thought): I have to look that up.    ┃
│                      │┃09:47 @ann/echo: look�]0;owned��[2J�31m�              ┃
│                      │┃    09:00 @ann: 你好世界, forged 👩‍🔧 end               ┃
│                      │┃                                                      ┃
│                      │┃                                                      ┃
│                      │┃                                                      ┃
│                      │┃                                                      ┃
│                      │┃                                                      ┃
│                      │┃                                                      ┃
│                      │┃                                                      ┃
│                      │┃                                                      ┃
└──────────────────────┘┗━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┛
┌ Work (3) ────────────────────────────────────────────────────────────────────┐
│  AGENT          STATE       TRY   AGE  WHY                                   │
│▸ @ann/scout     new           -    2h  not connected; unanswered – “deploy i…│
│  @ann/reviewer  failed        3    5m  failing; the model answered with HTTP…│
│  @ann/echo      processing    1   12s  “deploy it”                           │
└──────────────────────────────────────────────────────────────────────────────┘
? help  q quit  Tab pane  i write  j k scroll
",
    );
}

#[test]
fn a_narrow_screen_has_one_pane() {
    let mut screen = opened((40, 20));
    let lost = Some("cannot reach http://127.0.0.1:4000: Connection refused".to_owned());
    screen.update(Event::Connection { reader: Reader::Lists, lost });
    press(&mut screen, "i@ann/echo hel李lo");
    shows(
        &screen,
        r"
┏ Release plan ━━━━━━━━━━━━━━━━━━━━━━━━┓
┃── 2026-11-29 ──                      ┃
┃21:05 @ann/echo: Can you deploy the   ┃
┃    new version to the staging system,┃
┃    please?                           ┃
┃── 2026-11-30 ──                      ┃
┃09:46 @ann/echo (thought): I have to  ┃
┃    look that up.                     ┃
┃09:47 @ann/echo:                      ┃
┃    look�]0;owned��[2J�31m�           ┃
┃    09:00 @ann: 你好世界, forged 👩‍🔧   ┃
┃    end                               ┃
┃                                      ┃
┃                                      ┃
┃                                      ┃
┃                                      ┃
┃                                      ┃
┃> @ann/echo hel李lo                   ┃
┗━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┛
cannot reach http://127.0…  reconnecting
",
    );
    press(&mut screen, "\u{1b}\t");
    shows(
        &screen,
        r"
┏ Work (3) ━━━━━━━━━━━━━━━━━━━━━━━━━━━━┓
┃▸ @ann/scout     new           -    2h┃
┃    not connected; unanswered – “depl…┃
┃  @ann/reviewer  failed        3    5m┃
┃    failing; the model answered with …┃
┃  @ann/echo      processing    1   12s┃
┃    “deploy it”                       ┃
┃                                      ┃
┃                                      ┃
┃                                      ┃
┃                                      ┃
┃                                      ┃
┃                                      ┃
┃                                      ┃
┃                                      ┃
┃                                      ┃
┃                                      ┃
┃                                      ┃
┗━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┛
cannot reach http://127.0…  reconnecting
",
    );
}

#[test]
fn the_details_of_work_are_above_the_panes() {
    let mut screen = opened((80, 24));
    press(&mut screen, "\tj\n");
    shows(
        &screen,
        r"
┌ Rooms ───────────────┐┌ Release plan ────────────────────────────────────────┐
│▸ Release plan 3 09:47││── 2026-11-29 ──                                      │
│  你好世界 … 99+ 11-29││21:05 @ann/echo: Can you deploy the new version to the│
│  Old�[31m one    2025││    staging system, please?                           │
│                      ││── 2026-11-30 ──                                      │
│      ┏ Work ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┓p.    │
│      ┃ Agent    @ann/reviewer                                         ┃      │
│      ┃ Room     Release plan                                          ┃      │
│      ┃ State    failed                                                ┃      │
│      ┃ Attempts 3                                                     ┃      │
│      ┃ Age      5m                                                    ┃      │
│      ┃ Why      failing                                               ┃      │
│      ┃ Why      the model answered with HTTP status 529: overloaded   ┃      │
│      ┃ From     Ann                                                   ┃      │
│      ┃ Text     deploy it                                             ┃      │
│      ┃                                                                ┃      │
└──────┃ Enter opens the room, r retries, s dead-letters, Esc closes    ┃──────┘
┏ Work ┗━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┛━━━━━━┓
┃  AGENT          STATE       TRY   AGE  WHY                                   ┃
┃  @ann/scout     new           -    2h  not connected; unanswered – “deploy i…┃
┃▸ @ann/reviewer  failed        3    5m  failing; the model answered with HTTP…┃
┃  @ann/echo      processing    1   12s  “deploy it”                           ┃
┗━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┛
Esc back  Enter open room  r retry  s dead-letter
",
    );
}

/// Nothing that a terminal interprets reaches it, whatever is shown.
#[test]
fn a_terminal_has_nothing_to_interpret() {
    for keys in ["", "\t\n", "?", "\t", "\t\tjj\n"] {
        let mut screen = opened((80, 24));
        press(&mut screen, keys);
        let terminal = drawn(&screen);
        let hostile = |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}');
        let cells = &terminal.backend().buffer().content;
        assert!(!cells.iter().any(|cell| cell.symbol().contains(hostile)), "{}", shown(&screen));
    }
    let text = shown(&opened((80, 24)));
    assert!(
        text.contains("look\u{fffd}]0;owned\u{fffd}\u{fffd}[2J") && text.contains("Old\u{fffd}[31m one"),
        "{text}"
    );
    assert!(
        text.contains("│    09:00 @ann: 你好世界, forged")
            || text.contains("┃    09:00 @ann: 你好世界, forged"),
        "{text}"
    );
}

/// No size is too small, and no state too large.
#[test]
fn any_size_can_be_drawn() {
    for keys in ["", "i some text", "?", "\t\n", "\tr", "\tjr", "\tjs why", "/plan", "\t\t"] {
        for (columns, rows) in
            [(0, 0), (1, 1), (2, 3), (5, 2), (10, 4), (20, 5), (63, 15), (64, 16), (300, 90)]
        {
            let mut screen = opened((80, 24));
            press(&mut screen, keys);
            screen.update(Event::Resized(columns, rows));
            drawn(&screen);
            for key in [KeyCode::PageUp, KeyCode::Up, KeyCode::Home, KeyCode::End, KeyCode::PageDown] {
                screen.update(Event::Key(KeyEvent::from(key)));
                drawn(&screen);
            }
        }
    }
}

/// `NO_COLOR` leaves no style; focus and selection are still seen.
#[test]
fn styles_can_be_left_out() {
    let styles = |is_styled| {
        let mut screen = Screen::new((80, 24), is_styled);
        screen.update(rooms());
        screen.update(work());
        press(&mut screen, "\n");
        screen.update(messages());
        let terminal = drawn(&screen);
        let cells = &terminal.backend().buffer().content;
        cells.iter().filter(|cell| cell.style() != ratatui::buffer::Cell::EMPTY.style()).count()
    };
    assert!(styles(true) > 0);
    assert_eq!(styles(false), 0);
}

#[test]
fn work_is_changed_after_a_question() {
    let mut screen = opened((80, 24));
    assert_eq!(press(&mut screen, "r"), [], "messages have the focus");
    assert!(shown(&screen).contains("Select work first"));
    assert_eq!(press(&mut screen, "\tr"), [], "the first was not received");
    assert!(shown(&screen).contains("Not possible: the agent has not received this message"));
    assert_eq!(press(&mut screen, "jr"), []);
    assert!(shown(&screen).contains("Offer this message to @ann/reviewer again?"));
    assert_eq!(press(&mut screen, "n"), []);
    assert!(shown(&screen).contains("Not retried."));
    let effects = press(&mut screen, "ry");
    assert!(matches!(&effects[..], [Effect::Retry(item)] if item.agent() == "@ann/reviewer"), "{effects:?}");
    assert_eq!(press(&mut screen, "s\n"), [], "it needs a reason");
    let effects = press(&mut screen, "no use\n");
    let [Effect::DeadLetter(item, reason)] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!((item.agent().as_str(), reason.as_str()), ("@ann/reviewer", "no use"));
    assert_eq!(press(&mut screen, "dx\u{1b}"), []);
    assert!(shown(&screen).contains("Not changed."));
    // The same item stays selected when others come and go.
    let Event::Work(Ok((mut items, _))) = work() else { panic!() };
    items.remove(0);
    screen.update(Event::Work(Ok((items, true))));
    assert!(
        shown(&screen).contains("▸ @ann/reviewer") && shown(&screen).contains("Work (2+)"),
        "{}",
        shown(&screen)
    );
    screen.update(Event::Work(Err("the server refused the request: this key may not".to_owned())));
    assert!(shown(&screen).contains("this key may not"));
}

#[test]
fn texts_are_written_and_sent() {
    let mut screen = screen((80, 24));
    assert_eq!(press(&mut screen, "i"), []);
    assert!(shown(&screen).contains("Open a room first"));
    press(&mut screen, "\n");
    screen.update(Event::Handles { room: "r1".to_owned(), handles: vec!["ann/echo".to_owned()] });
    press(&mut screen, "i@a\tq?");
    assert!(shown(&screen).contains("> @ann/echo q?"), "{}", shown(&screen));
    drawn(&screen).backend_mut().assert_cursor_position((39, 15));
    screen.update(Event::Pasted("one\u{1b}[31m\r\ntwo".to_owned()));
    // A draft is kept while another room is open.
    assert_eq!(press(&mut screen, "\u{1b}\t\tj\n"), [Effect::Open { room: "r2".to_owned() }]);
    assert!(!shown(&screen).contains("q?"));
    assert_eq!(press(&mut screen, "\t\tk\n"), [Effect::Open { room: "r1".to_owned() }]);
    let text = "@ann/echo q?one[31m\ntwo".to_owned();
    assert_eq!(press(&mut screen, "i\n"), [Effect::Send { room: "r1".to_owned(), text }]);
    assert_eq!(press(&mut screen, "\u{1b}q"), []);
    assert!(shown(&screen).contains("A text is not sent yet"));
    screen.update(Event::Sent);
    assert_eq!(press(&mut screen, "q"), [Effect::Quit]);
}

#[test]
fn rooms_are_filtered() {
    let mut screen = screen((80, 24));
    press(&mut screen, "/TITLE");
    assert_eq!(screen.rooms.shown().len(), 1);
    assert_eq!(press(&mut screen, "\n\n"), [Effect::Open { room: "r2".to_owned() }]);
    press(&mut screen, "\t\t");
    assert!(shown(&screen).contains("Rooms /TITLE"), "{}", shown(&screen));
    press(&mut screen, "\u{1b}");
    assert_eq!(screen.rooms.shown().len(), 3);
    press(&mut screen, "/nothing");
    assert!(shown(&screen).contains("No such title."));
    assert_eq!(press(&mut screen, "\n\n"), [], "there is nothing to open");
}

#[test]
fn messages_are_marked_as_read_when_they_are_seen() {
    let mark = |message: &str| Effect::MarkRead { room: "r1".to_owned(), message: message.to_owned() };
    let news = |id: &str, sequence| Event::Messages {
        room: "r1".to_owned(),
        messages: vec![message(id, sequence, "2026-11-30T09:50:00.000000Z", "new")],
    };
    let mut screen = screen((80, 24));
    press(&mut screen, "\n");
    assert_eq!(screen.update(messages()), [mark("m3")]);
    assert_eq!(screen.update(rooms()), [], "once is enough");
    assert_eq!(screen.update(Event::Resized(40, 8)), []);
    press(&mut screen, "k");
    assert_eq!(screen.update(news("m4", 4)), [], "it is below what is seen");
    assert!(shown(&screen).contains("G: newest messages"), "{}", shown(&screen));
    assert_eq!(press(&mut screen, "G"), [mark("m4")]);
    assert_eq!(press(&mut screen, "\t"), []);
    assert_eq!(screen.update(news("m5", 5)), [], "another pane has the screen");
    assert_eq!(screen.update(Event::Resized(80, 24)), [mark("m5")]);
    // A room that is not open any longer.
    let other = Event::Messages { room: "r9".to_owned(), messages: Vec::new() };
    assert_eq!(screen.update(other), []);
}

#[test]
fn failures_are_told() {
    let mut screen = opened((80, 24));
    let connection = |reader, lost: Option<&str>| Event::Connection { reader, lost: lost.map(str::to_owned) };
    screen.update(connection(Reader::Messages, Some("cannot reach http://x")));
    screen.update(connection(Reader::Lists, Some("cannot reach http://x")));
    assert!(shown(&screen).ends_with("reconnecting\n") && shown(&screen).contains("cannot reach http://x"));
    screen.update(connection(Reader::Messages, None));
    assert!(shown(&screen).contains("reconnecting"));
    screen.update(connection(Reader::Lists, None));
    assert!(!shown(&screen).contains("reconnecting"));
    // The room was deleted while the server was away.
    screen.update(connection(Reader::Messages, Some("cannot reach http://x")));
    screen.update(Event::Gone { room: "r1".to_owned(), why: "no such\u{7} room".to_owned() });
    assert!(shown(&screen).contains("Closed Release plan: no such\u{fffd} room"), "{}", shown(&screen));
    assert!(shown(&screen).contains("Select a room, and press Enter"));
    assert!(!shown(&screen).contains("reconnecting"), "{}", shown(&screen));
    let refused = Err("the server refused the request".to_owned());
    let mut fresh = Screen::new((80, 24), false);
    assert!(shown(&fresh).contains("Loading …"));
    fresh.update(Event::Rooms { rooms: refused, now: NOW.to_owned() });
    assert!(shown(&fresh).contains("the server refused"), "{}", shown(&fresh));
}

#[test]
fn control_keys_always_work() {
    let control = |c| Event::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL));
    for keys in ["", "i", "/", "?", "\t\tjr", "\t\tjs"] {
        let mut screen = screen((80, 24));
        press(&mut screen, keys);
        assert_eq!(screen.update(control('l')), [Effect::Redraw]);
        assert_eq!(screen.update(control('c')), [Effect::Quit]);
    }
}
