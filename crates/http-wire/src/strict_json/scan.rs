//! Scans a body before it is parsed: its depth, its number of values, and the number of members of
//! its objects.
//!
//! Parsed values take many times the memory of their text; the limits keep a small hostile body
//! from becoming a large one in memory.
//!
//! Of members with the same name the parser keeps the last. A body is searched for them only if it
//! has more members than the parsed value, so bodies without any only cost a count.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::reader::escaped;
use crate::error::{ApiError, ErrorCode};

/// No valid body is deeper than this.
const MAX_DEPTH: usize = 64;

/// More values than the largest free-form object of an event can hold.
const MAX_VALUES: usize = 40_000;

/// Refuses a body that is too deep (400) or has too many values (422), and counts the members of
/// all objects. Text that is not JSON passes: the parser reports its fault better.
pub(super) fn check(bytes: &[u8]) -> Result<usize, ApiError> {
    let (mut depth, mut values, mut in_text, mut escaped) = (0_usize, 0_usize, false, false);
    let mut members = 0_usize;
    for byte in bytes {
        if in_text {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_text = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_text = true,
            b'[' | b'{' => {
                depth += 1;
                values += 1;
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' => values += 1,
            b':' => members += 1,
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Err(ApiError::new(
                ErrorCode::BadRequest,
                "The body is nested too deeply. Use fewer levels of objects and arrays.",
            ));
        }
        if values > MAX_VALUES {
            return Err(ApiError::validation().with_detail("", "contains too many values"));
        }
    }
    Ok(members)
}

/// Refuses a body of which the parser has dropped a member, because another one of its object has
/// the same name. `members` is the number in the text.
pub(super) fn check_names(bytes: &[u8], parsed: &Value, members: usize) -> Result<(), ApiError> {
    if members_of(parsed) == members {
        return Ok(());
    }
    let mut pointer = String::new();
    let search = Names(&mut pointer);
    let _ = search.deserialize(&mut serde_json::Deserializer::from_slice(bytes));
    Err(ApiError::validation().with_detail(pointer, "is given more than once"))
}

/// The number of members of all objects in `value`. The depth is at most [`MAX_DEPTH`].
fn members_of(value: &Value) -> usize {
    match value {
        Value::Object(members) => members.len() + members.values().map(members_of).sum::<usize>(),
        Value::Array(items) => items.iter().map(members_of).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// Searches for a duplicate name in an object, and stops there, leaving the pointer to it.
struct Names<'p>(&'p mut String);

impl<'de> DeserializeSeed<'de> for Names<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Names<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let (before, mut index) = (self.0.len(), 0_usize);
        loop {
            self.0.push('/');
            self.0.push_str(&index.to_string());
            if items.next_element_seed(Names(self.0))?.is_none() {
                self.0.truncate(before);
                return Ok(());
            }
            self.0.truncate(before);
            index += 1;
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let (before, mut seen) = (self.0.len(), HashSet::new());
        while let Some(name) = members.next_key::<String>()? {
            self.0.push('/');
            self.0.push_str(&escaped(&name));
            if !seen.insert(name) {
                return Err(A::Error::custom("a second member"));
            }
            members.next_value_seed(Names(self.0))?;
            self.0.truncate(before);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(text: &str) -> Option<ErrorCode> {
        check(text.as_bytes()).err().map(|error| error.code())
    }

    #[test]
    fn depth_and_number_are_bounded() {
        let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(outcome(&nested(64)), None);
        assert_eq!(outcome(&nested(65)), Some(ErrorCode::BadRequest));
        assert_eq!(outcome(&format!("[{}0]", "0,".repeat(39_999))), None);
        assert_eq!(outcome(&format!("[{}0]", "0,".repeat(40_000))), Some(ErrorCode::ValidationError));
    }

    /// The pointer to a duplicate member of a body.
    fn twice(text: &str) -> Option<String> {
        let parsed = serde_json::from_str(text).unwrap();
        let refused = check_names(text.as_bytes(), &parsed, check(text.as_bytes()).unwrap()).err()?;
        assert_eq!(refused.code(), ErrorCode::ValidationError);
        refused.details().keys().next().cloned()
    }

    #[test]
    fn members_are_given_once_at_any_depth() {
        for sound in [
            r#"{"a":{"a":1},"b":[{"a":1},{"a":2}],"c":"x:y\":z"}"#,
            r#"{"A":1,"a":2,"":3}"#,
            r#"[{"a":1},{"a":1}]"#,
        ] {
            assert_eq!(twice(sound), None, "{sound}");
        }
        for (text, pointer) in [
            (r#"{"a":1,"a":1}"#, "/a"),
            (r#"{"a":1,"\u0061":2}"#, "/a"),
            (r#"{"event":{"metadata":{"x":[0,{"y/z":{},"b":null,"y/z":[]}]}}}"#, "/event/metadata/x/1/y~1z"),
            (r#"{"a":{"b":-1,"c":true},"d":1.5,"a":2}"#, "/a"),
            (r#"{"a":"x","":1,"":2}"#, "/"),
        ] {
            assert_eq!(twice(text).as_deref(), Some(pointer), "{text}");
        }
    }

    #[test]
    fn brackets_and_commas_in_texts_do_not_count() {
        let text = format!(r#"{{"content":"{}\"{}"}}"#, "[".repeat(100), ",".repeat(50_000));
        assert_eq!(outcome(&text), None);
    }
}
