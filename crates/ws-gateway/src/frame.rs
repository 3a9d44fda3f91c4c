//! Frames: one message of the channel protocol as text, in both versions of its serializer.

use serde::Deserialize;
use serde_json::Value;

/// The form of frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// JSON objects.
    V1,
    /// JSON arrays of five elements.
    V2,
}

impl Version {
    /// The version that the connect parameter `vsn` selects: the older one if it is absent, `None`
    /// if it is not supported.
    pub fn of_parameter(vsn: Option<&str>) -> Option<Self> {
        let Some(vsn) = vsn else { return Some(Self::V1) };
        let parts = vsn.split('.').map(|part| part.parse::<u32>().ok()).collect::<Option<Vec<_>>>()?;
        match parts.as_slice() {
            [1, 0, _] => Some(Self::V1),
            [2, 0, _] => Some(Self::V2),
            _ => None,
        }
    }
}

/// A message from a client. Its payload is not read: all channels only push to clients.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// The join reference, as the client wrote it.
    pub join_ref: Option<String>,
    /// The reference for the reply, as the client wrote it.
    pub reference: Option<String>,
    /// The topic, as the client wrote it.
    pub topic: String,
    /// The name of the event.
    pub event: String,
}

/// A text that is not a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the text is not a frame of the channel protocol")]
pub struct Malformed;

/// The object form.
#[derive(Deserialize)]
struct ObjectFrame {
    #[serde(default)]
    join_ref: Value,
    #[serde(default, rename = "ref")]
    reference: Value,
    topic: String,
    event: String,
}

/// Reads a frame.
pub fn parse(version: Version, text: &str) -> Result<Frame, Malformed> {
    match version {
        Version::V2 => {
            let parts = serde_json::from_str::<Vec<Value>>(text).map_err(|_| Malformed)?;
            let mut parts = parts.into_iter();
            let mut part = || parts.next().ok_or(Malformed);
            let (join_ref, reference, topic, event, _) = (part()?, part()?, part()?, part()?, part()?);
            let (Value::String(topic), Value::String(event)) = (topic, event) else { return Err(Malformed) };
            Ok(Frame { join_ref: reference_of(join_ref)?, reference: reference_of(reference)?, topic, event })
        }
        Version::V1 => {
            let object = serde_json::from_str::<ObjectFrame>(text).map_err(|_| Malformed)?;
            let (join_ref, reference) = (reference_of(object.join_ref)?, reference_of(object.reference)?);
            Ok(Frame { join_ref, reference, topic: object.topic, event: object.event })
        }
    }
}

/// The maximum size of a reference. It is kept for as long as its topic is joined.
const MAX_REFERENCE_BYTES: usize = 64;

/// References are strings; some clients send numbers.
fn reference_of(value: Value) -> Result<Option<String>, Malformed> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) if text.len() <= MAX_REFERENCE_BYTES => Ok(Some(text)),
        Value::Number(number) => Ok(Some(number.to_string())),
        _ => Err(Malformed),
    }
}

/// The common beginning of all frames of one subscription. It is written once, when the topic is
/// joined, since it precedes each event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Head {
    /// The text up to the quotation mark in front of the event's name. The object form has no join
    /// reference; it follows the text nonetheless, so that one string holds both.
    text: Box<str>,
    join_ref_bytes: usize,
}

impl Head {
    const ARRAY: &str = "[";
    const BETWEEN: &str = ",null,";
    const ARRAY_END: &str = ",\"";
    const OBJECT: &str = "{\"topic\":";
    const OBJECT_END: &str = ",\"event\":\"";

    /// Makes the head of a subscription with this join reference and topic.
    pub fn new(version: Version, join_ref: Option<&str>, topic: &str) -> Self {
        let (join_ref, topic) = (json(join_ref), json(Some(topic)));
        let text = match version {
            Version::V2 => [Self::ARRAY, &join_ref, Self::BETWEEN, &topic, Self::ARRAY_END].concat(),
            Version::V1 => [Self::OBJECT, &topic, Self::OBJECT_END, &join_ref].concat(),
        };
        Self { text: text.into_boxed_str(), join_ref_bytes: join_ref.len() }
    }

    /// The text in front of the name of an event.
    pub fn text(&self, version: Version) -> &str {
        match version {
            Version::V2 => &self.text,
            Version::V1 => &self.text[..self.text.len() - self.join_ref_bytes],
        }
    }

    /// Returns whether the topic was joined with this reference.
    pub fn is_of(&self, version: Version, join_ref: &str) -> bool {
        self.join_ref(version) == json(Some(join_ref))
    }

    /// Writes a reply to a frame of the subscription, whose spelling of the topic may differ;
    /// `payload` is JSON.
    pub fn reply(&self, version: Version, reference: Option<&str>, topic: &str, payload: &str) -> String {
        let (reference, topic) = (json(reference), json(Some(topic)));
        join(version, self.join_ref(version), &reference, &topic, "phx_reply", payload)
    }

    /// Writes the frame that ends the subscription; it refers to the join.
    pub fn close(&self, version: Version) -> String {
        let join_ref = self.join_ref(version);
        join(version, join_ref, join_ref, self.topic(version), "phx_close", "{}")
    }

    /// The join reference, as JSON.
    fn join_ref(&self, version: Version) -> &str {
        match version {
            Version::V2 => &self.text[Self::ARRAY.len()..][..self.join_ref_bytes],
            Version::V1 => &self.text[self.text.len() - self.join_ref_bytes..],
        }
    }

    /// The topic, as JSON.
    fn topic(&self, version: Version) -> &str {
        let head = self.text(version);
        let (before, behind) = match version {
            Version::V2 => {
                (Self::ARRAY.len() + self.join_ref_bytes + Self::BETWEEN.len(), Self::ARRAY_END.len())
            }
            Version::V1 => (Self::OBJECT.len(), Self::OBJECT_END.len()),
        };
        &head[before..head.len() - behind]
    }
}

/// The pieces of a push: a [`Head::text`], the name of an event, which needs no escapes, and its
/// JSON, which all subscribers share.
pub fn pieces<'a>(version: Version, head: &'a str, event: &'a str, payload: &'a str) -> [&'a str; 5] {
    match version {
        Version::V2 => [head, event, "\",", payload, "]"],
        Version::V1 => [head, event, "\",\"payload\":", payload, ",\"ref\":null}"],
    }
}

/// Writes a frame; `payload` is JSON.
pub fn write(
    version: Version,
    join_ref: Option<&str>,
    reference: Option<&str>,
    topic: &str,
    event: &str,
    payload: &str,
) -> String {
    join(version, &json(join_ref), &json(reference), &json(Some(topic)), event, payload)
}

/// Writes a frame whose parts are JSON, except for the event's name.
fn join(
    version: Version,
    join_ref: &str,
    reference: &str,
    topic: &str,
    event: &str,
    payload: &str,
) -> String {
    let event = &json(Some(event));
    match version {
        Version::V2 => ["[", join_ref, ",", reference, ",", topic, ",", event, ",", payload, "]"].concat(),
        Version::V1 => {
            let (named, given) = (",\"event\":", ",\"payload\":");
            ["{\"topic\":", topic, named, event, given, payload, ",\"ref\":", reference, "}"].concat()
        }
    }
}

/// A text as JSON, or null. Nearly all texts need no escapes; the others are left to the JSON
/// library.
fn json(text: Option<&str>) -> String {
    let Some(text) = text else { return "null".to_owned() };
    // Checks every byte without stopping at the first match: this is vectorized, and faster.
    let odd = text.bytes().filter(|byte| matches!(byte, ..0x20 | b'"' | b'\\')).count();
    if odd == 0 { ["\"", text, "\""].concat() } else { Value::String(text.to_owned()).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        for (vsn, version) in [
            (None, Some(Version::V1)),
            (Some("1.0.0"), Some(Version::V1)),
            (Some("2.0.0"), Some(Version::V2)),
            (Some("2.0.7"), Some(Version::V2)),
            (Some("3.0.0"), None),
            (Some("2.1.0"), None),
            (Some("2.0"), None),
            (Some(""), None),
            (Some("x"), None),
        ] {
            assert_eq!(Version::of_parameter(vsn), version, "{vsn:?}");
        }
    }

    #[test]
    fn arrays_are_read_and_references_kept() {
        let frame = parse(Version::V2, r#"["007","1","chat_room:x","phx_join",{"a":1}]"#).unwrap();
        assert_eq!(frame.join_ref.as_deref(), Some("007"));
        assert_eq!(frame.reference.as_deref(), Some("1"));
        assert_eq!((frame.topic.as_str(), frame.event.as_str()), ("chat_room:x", "phx_join"));
        let numbers = parse(Version::V2, r#"[1,2,"t","e",null,"more"]"#).unwrap();
        assert_eq!((numbers.join_ref.as_deref(), numbers.reference.as_deref()), (Some("1"), Some("2")));
        let nulls = parse(Version::V2, r#"[null,null,"t","e",{}]"#).unwrap();
        assert_eq!((nulls.join_ref, nulls.reference), (None, None));
    }

    #[test]
    fn objects_are_read() {
        let frame = parse(Version::V1, r#"{"topic":"t","event":"e","payload":{},"ref":"1"}"#).unwrap();
        assert_eq!((frame.join_ref, frame.reference.as_deref()), (None, Some("1")));
    }

    #[test]
    fn anything_else_is_refused() {
        let deep = format!(r#"[null,null,"t","e",{}{}]"#, "[".repeat(200), "]".repeat(200));
        for text in ["hello", "{}", "[1,2]", "", "[null,null,1,2,{}]", r#"[{},null,"t","e",{}]"#, &deep] {
            assert_eq!(parse(Version::V2, text), Err(Malformed), "{text:.40}");
            assert_eq!(parse(Version::V1, text), Err(Malformed), "{text:.40}");
        }
    }

    #[test]
    fn frames_are_written() {
        let text = write(Version::V2, Some("7"), None, "chat_room:x", "message_created", "{}");
        assert_eq!(text, r#"["7",null,"chat_room:x","message_created",{}]"#);
        let text = write(Version::V1, Some("7"), Some("a\"\n"), "t", "e", "{}");
        assert_eq!(text, r#"{"topic":"t","event":"e","payload":{},"ref":"a\"\n"}"#);
    }

    /// Each frame of a subscription equals the frame written from its parts, whatever the join
    /// reference is.
    #[test]
    fn frames_of_a_stay_are_put_together_from_its_head() {
        for version in [Version::V1, Version::V2] {
            for join_ref in [None, Some("7"), Some("null"), Some("a\"\n\u{e9}")] {
                let head = Head::new(version, join_ref, "chat_room:x");
                let event = pieces(version, head.text(version), "message_created", "[1]").concat();
                assert_eq!(event, write(version, join_ref, None, "chat_room:x", "message_created", "[1]"));
                let reply = head.reply(version, Some("\\"), "chat_room:X", "{}");
                assert_eq!(reply, write(version, join_ref, Some("\\"), "chat_room:X", "phx_reply", "{}"));
                let close = write(version, join_ref, join_ref, "chat_room:x", "phx_close", "{}");
                assert_eq!(head.close(version), close);
                for other in ["7", "null", "", "a\"\n\u{e9}"] {
                    assert_eq!(head.is_of(version, other), join_ref == Some(other), "{join_ref:?} {other:?}");
                }
            }
        }
    }
}
