//! Validation of contents, and names that become markers.

use super::*;
use crate::id::{ParticipantId, UserId};
use uuid::Uuid;

fn content(text: &str) -> MessageContent {
    MessageContent::new(text.to_owned()).unwrap()
}

fn mention(number: u128, handle: &str, name: &str, kind: MentionKind) -> Mention {
    let id = ParticipantId::User(UserId::new(Uuid::from_u128(number)));
    Mention { id, handle: handle.to_owned(), name: name.to_owned(), kind }
}

fn john() -> Mention {
    mention(1, "john", "John Doe", MentionKind::Mention)
}

fn bot() -> Mention {
    mention(2, "john/bot", "Weather Bot", MentionKind::Mention)
}

const J: &str = "@[[00000000-0000-0000-0000-000000000001]]";
const B: &str = "@[[00000000-0000-0000-0000-000000000002]]";

fn stored(text: &str, mentions: &[Mention]) -> String {
    stored_text(&content(text), mentions)
}

#[test]
fn acceptable_texts() {
    for blank in ["", "  ", "\n\t ", "\u{a0}\u{2003}\u{3000}"] {
        assert_eq!(MessageContent::new(blank.to_owned()), Err(TextFault::Blank), "{blank:?}");
        let nul = format!("a{blank}\0");
        assert_eq!(MessageContent::new(nul.clone()), Err(TextFault::Nul), "{nul:?}");
        assert_eq!(EventContent::new(nul).unwrap_err(), TextFault::Nul);
    }
    for zero_width in ["\u{200b}", "\u{200c}\u{200d}", "\u{2060}", "\u{feff}"] {
        assert_eq!(content(zero_width).as_str(), zero_width);
    }
    assert!(MessageContent::new("x".repeat(MessageContent::MAX_BYTES)).is_ok());
    let too_long = MessageContent::new("x".repeat(MessageContent::MAX_BYTES + 1));
    assert_eq!(too_long, Err(TextFault::TooManyBytes { max: 524_288 }));
    assert!(EventContent::new("ä".repeat(EventContent::MAX_CHARS)).is_ok());
    assert!(EventContent::new("ä".repeat(EventContent::MAX_CHARS + 1)).is_err());
}

#[test]
fn handles_in_the_text_become_markers() {
    assert_eq!(stored("hi @john and @JOHN!", &[john()]), format!("hi {J} and {J}!"));
    assert_eq!(stored("@john, @john. end", &[john()]), format!("{J}, {J}. end"));
    assert_eq!(stored("@john.", &[john()]), format!("{J}."));
}

#[test]
fn names_serve_where_no_handle_matches() {
    assert_eq!(stored("ask @Weather Bot now", &[bot()]), format!("ask {B} now"));
    assert_eq!(stored("ask @weather bot", &[bot()]), format!("ask {B}"));
}

#[test]
fn a_short_handle_never_eats_the_beginning_of_a_longer_one() {
    assert_eq!(stored("@john/bot and @john", &[john(), bot()]), format!("{B} and {J}"));
    assert_eq!(stored("@john/bot", &[john()]), format!("{J} @john/bot"));
    for other in ["@john-agent", "@john.doe", "@johnny", "@john_x", "mail x@john"] {
        assert_eq!(stored(other, &[john()]), format!("{J} {other}"), "{other}");
    }
}

#[test]
fn who_does_not_stand_in_the_text_is_put_in_front_in_order() {
    assert_eq!(stored("hello", &[john(), bot()]), format!("{J} {B} hello"));
    assert_eq!(stored("hello @john/bot", &[john(), bot()]), format!("{J} hello {B}"));
}

#[test]
fn references_are_replaced_but_not_put_in_front() {
    let reference = Mention { kind: MentionKind::Reference, ..john() };
    assert_eq!(stored("as @john said", std::slice::from_ref(&reference)), format!("as {J} said"));
    assert_eq!(stored("nothing", &[reference]), "nothing");
}

#[test]
fn markers_that_the_sender_wrote_count_and_stay() {
    assert_eq!(stored(&format!("{J} hi"), &[john()]), format!("{J} hi"));
    let strange = "@[[@john]] hi";
    assert_eq!(stored(strange, &[john()]), format!("{J} {strange}"));
    assert_eq!(stored("@[[ open @john", &[john()]), format!("@[[ open {J}"));
}

#[test]
fn texts_of_any_script_survive() {
    let text = "@ 日本 @ü @@john — @";
    assert_eq!(stored(text, &[john()]), format!("@ 日本 @ü @{J} — @"));
    assert_eq!(stored(text, &[]), text);
}

#[test]
fn metadata_is_bounded_and_cleaned() {
    let members = |text: &str| serde_json::from_str::<Map<String, Value>>(text).unwrap();
    let kept = EventMetadata::new(members(r#"{"delegation":{"x":1},"traceparent":"00","a":[1]}"#)).unwrap();
    assert_eq!(Value::Object(kept.into_map()), serde_json::json!({ "a": [1] }));
    let large = format!(r#"{{"a":"{}"}}"#, "x".repeat(EventMetadata::MAX_BYTES));
    assert!(EventMetadata::new(members(&large)).is_err());
}

#[test]
fn a_text_full_of_openings_is_read_once() {
    let text = "@[[".repeat(MessageContent::MAX_BYTES / 3);
    assert_eq!(stored(&text, &[john()]), format!("{J} {text}"));
    let text = "@\u{200b}[[\u{200b}x".repeat(MessageContent::MAX_BYTES / 10);
    assert_eq!(stored(&text, &[]), text);
}

/// Only mentions of the message look like mentions in its text.
#[test]
fn typed_markers_of_others_are_no_mentions() {
    let other = "00000000-0000-0000-0000-000000000009";
    let typed = format!("@[[{other}]]");
    let shown = format!("@\\[[{other}]]");
    assert_eq!(stored(&format!("ask {typed}, {J}"), &[john()]), format!("ask {shown}, {J}"));
    assert_eq!(stored(&format!("ask {typed}"), &[]), format!("ask {shown}"));
    assert_eq!(stored(&shown, &[]), shown, "an edit that sends it back changes nothing");
    for id in [other.to_uppercase(), other.replace('-', ""), format!(" {other} ")] {
        assert_eq!(stored(&format!("@[[{id}]]"), &[]), format!("@\\[[{id}]]"));
    }
    // Invisible characters do not make it a different marker to a reader.
    for hidden in ["\u{fe0f}", "\u{200b}", "\u{200d}", "\u{2060}", "\u{e0101}", &"\u{200b}".repeat(200)] {
        for looks in [
            format!("@{hidden}[[{other}]]"),
            format!("@[{hidden}[{other}]]"),
            format!("@[[{hidden}{other}]]"),
            format!("@[[0{hidden}{}]]", &other[1..]),
            format!("@[[{other}]{hidden}]"),
        ] {
            assert_eq!(stored(&format!("{looks} hi"), &[]), format!("@\\{} hi", &looks[1..]));
        }
        let looks = J.replace("@[", &format!("@{hidden}["));
        assert_eq!(stored(&looks, &[john()]), format!("{J} @\\{}", &looks[1..]), "clients see no marker");
    }
    assert_eq!(stored(&format!("@[[{typed}]]"), &[]), format!("@[[{shown}]]"), "one in another");
    assert_eq!(stored(&format!("@[[ {typed}@[["), &[john()]), format!("{J} @[[ {shown}@[["));
    for code in ["@[[1,2],[3]]", "@[[x]]", "@[[]]", "@[[@john]]"] {
        assert_eq!(stored(code, &[]), code);
    }
}

/// An event has no mentions; content for programs stays unchanged, to the byte.
#[test]
fn typed_markers_in_events_are_no_mentions() {
    use MessageKind::{Attention, Error, Task, Thought, ToolCall, ToolResult};
    let stored = |kind, text: &str| EventContent::new(text.to_owned()).unwrap().stored_in(kind);
    let other = "00000000-0000-0000-0000-000000000009";
    let (typed, shown) = (format!("@[[{other}]]"), format!("@\\[[{other}]]"));
    let json = format!(r#" {{"output": "{typed} agreed",  "n": [1, 1.0]}} "#);
    for kind in [Thought, Error, Task, Attention] {
        assert_eq!(stored(kind, &format!("{typed} agreed, {typed}")), format!("{shown} agreed, {shown}"));
        assert_eq!(stored(kind, &format!("{{not JSON: {typed}")), format!("{{not JSON: {shown}"));
        assert_eq!(stored(kind, &format!("\"{typed} agreed\"")), format!("\"{shown} agreed\""));
        for as_sent in [json.as_str(), &shown, "[\"@[[x]]\"]", "@[[x]] and @john"] {
            assert_eq!(stored(kind, as_sent), as_sent, "{kind:?}");
        }
    }
    for kind in [ToolCall, ToolResult] {
        for as_sent in [json.as_str(), &format!("read {typed}"), &json[..json.len() / 2]] {
            assert_eq!(stored(kind, as_sent), as_sent, "{kind:?}");
        }
    }
}
