//! Frames: one message of the channel protocol as text, in both versions of its serializer
//! (`websocket` 1.4, 2.1).

use serde::Deserialize;
use serde_json::Value;

/// Which form frames have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// Objects.
    V1,
    /// Arrays of five.
    V2,
}

impl Version {
    /// The version that the connect parameter `vsn` asks for: the older one when it is absent,
    /// nothing when it is no version that is spoken here.
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

/// A message from a client. What it carries is not read: every channel only speaks to clients.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// Which join of the topic it belongs to, as the client wrote it.
    pub join_ref: Option<String>,
    /// What the answer is to carry, as the client wrote it.
    pub reference: Option<String>,
    /// The topic, as the client wrote it.
    pub topic: String,
    /// What the client wants.
    pub event: String,
}

/// A text that is no frame.
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

/// The most bytes of a reference. It is kept for as long as its topic is joined.
const MAX_REFERENCE_BYTES: usize = 64;

/// References are text; some clients write numbers.
fn reference_of(value: Value) -> Result<Option<String>, Malformed> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) if text.len() <= MAX_REFERENCE_BYTES => Ok(Some(text)),
        Value::Number(number) => Ok(Some(number.to_string())),
        _ => Err(Malformed),
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
    let mut out = String::with_capacity(payload.len() + topic.len() + event.len() + 48);
    match version {
        Version::V2 => {
            out.push('[');
            push_optional(&mut out, join_ref);
            out.push(',');
            push_optional(&mut out, reference);
            out.push(',');
            push_text(&mut out, topic);
            out.push(',');
            push_text(&mut out, event);
            out.push(',');
            out.push_str(payload);
            out.push(']');
        }
        Version::V1 => {
            write_head(&mut out, version, join_ref, topic, event);
            out.push_str(payload);
            out.push_str(",\"ref\":");
            push_optional(&mut out, reference);
            out.push('}');
        }
    }
    out
}

/// Writes, behind what `out` holds, what stands before the payload of a frame that answers nothing.
/// [`tail`] stands behind it.
pub fn write_head(out: &mut String, version: Version, join_ref: Option<&str>, topic: &str, event: &str) {
    match version {
        Version::V2 => {
            out.push('[');
            push_optional(out, join_ref);
            out.push_str(",null,");
            push_text(out, topic);
            out.push(',');
            push_text(out, event);
            out.push(',');
        }
        Version::V1 => {
            out.push_str("{\"topic\":");
            push_text(out, topic);
            out.push_str(",\"event\":");
            push_text(out, event);
            out.push_str(",\"payload\":");
        }
    }
}

/// What stands behind the payload of a frame that answers nothing.
pub fn tail(version: Version) -> &'static str {
    match version {
        Version::V2 => "]",
        Version::V1 => ",\"ref\":null}",
    }
}

fn push_optional(out: &mut String, text: Option<&str>) {
    match text {
        Some(text) => push_text(out, text),
        None => out.push_str("null"),
    }
}

/// A JSON string. Nearly all are plain; the rest is left to the JSON library.
fn push_text(out: &mut String, text: &str) {
    // Looks at every byte, wherever the first odd one stands: many at once, that is faster.
    let odd = text.bytes().filter(|byte| matches!(byte, ..0x20 | b'"' | b'\\')).count();
    if odd == 0 {
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else {
        out.push_str(&Value::String(text.to_owned()).to_string());
    }
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
}
