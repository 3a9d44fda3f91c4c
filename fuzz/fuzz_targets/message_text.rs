//! Texts with mentions: the stored text holds no marker but those of the message's own mentions.
#![cfg_attr(feature = "libfuzzer", no_main)]

use domain::id::{AgentId, ParticipantId};
use domain::message::content::{MessageContent, stored_text};
use domain::message::{Mention, MentionKind};
use libfuzzer_sys::fuzz_target;
use uuid::Uuid;

fuzz_target!(|input: (String, Vec<(u8, String, String, bool)>)| {
    let (text, wanted) = input;
    let Ok(content) = MessageContent::new(text) else { return };
    let mentions = wanted.into_iter().take(4).map(|(id, handle, name, is_reference)| Mention {
        id: ParticipantId::Agent(AgentId::new(Uuid::from_u128(u128::from(id)))),
        handle,
        // The domain refuses names with the opening of a marker.
        name: name.replace("[[", ""),
        kind: if is_reference { MentionKind::Reference } else { MentionKind::Mention },
    });
    let mentions = mentions.collect::<Vec<_>>();
    let stored = stored_text(&content, &mentions);
    for (at, _) in stored.match_indices("@[[") {
        let Some(id) = stored.get(at + 3..at + 39).and_then(|id| Uuid::try_parse(id).ok()) else { continue };
        if stored[at + 39..].starts_with("]]") {
            let is_own = mentions.iter().any(|mention| mention.id.uuid() == id);
            assert!(is_own, "{stored:?} mentions {id}");
        }
    }
    for mention in mentions.iter().filter(|mention| mention.kind == MentionKind::Mention) {
        let marker = format!("@[[{}]]", mention.id);
        assert!(stored.to_lowercase().contains(&marker), "{stored:?} lacks {marker}");
    }
});

#[cfg(not(feature = "libfuzzer"))]
fn main() {}
