//! Bodies of requests: what our reader accepts is JSON in which no object has a member twice, and nothing panics.
#![cfg_attr(feature = "libfuzzer", no_main)]

use http_wire::body::{EditMessageBody, SendMessageBody};
use http_wire::strict_json::parse;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|bytes: &[u8]| {
    let sent = parse::<SendMessageBody>(bytes).is_ok();
    let edited = parse::<EditMessageBody>(bytes).is_ok();
    if sent || edited {
        let read = serde_json::from_slice::<Value>(bytes).expect("what was accepted is JSON");
        assert!(read.is_object());
        // Written again, it holds each member once and is still accepted.
        let written = read.to_string();
        assert_eq!(parse::<SendMessageBody>(written.as_bytes()).is_ok(), sent);
        assert_eq!(parse::<EditMessageBody>(written.as_bytes()).is_ok(), edited);
    }
});

#[cfg(not(feature = "libfuzzer"))]
fn main() {}
