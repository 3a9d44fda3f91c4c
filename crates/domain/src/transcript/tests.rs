use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::*;
use crate::chat::{Chat, ChatKind, ChatStatus, Participant, ParticipantStatus, Role, Roster};
use crate::delivery::{Attempt, AttemptNumber, AttemptStatus, Delivery};
use crate::file::FileDigest;
use crate::id::{AgentId, ChatId, MessageId, ParticipantId, Sequence, UserId};
use crate::message::{Cause, Mention, MentionKind, Message, MessageKind, Place, sample};
use crate::time::Timestamp;

const ANN: ParticipantId = ParticipantId::User(UserId::new(Uuid::from_u128(1)));
const BOT: AgentId = AgentId::new(Uuid::from_u128(2));
const ROOM: ChatId = ChatId::new(Uuid::from_u128(3));

/// What breaks out of a document in which it is not treated as text. No line of it may become a line of the document.
const HOSTILE: [&str; 9] = [
    "EVIL\n```\nEVIL\n# EVIL\n```text\nEVIL",
    "```````\nEVIL\n~~~\nEVIL",
    "  ```\n\tEVIL\n    ```\nEVIL\n`````",
    "</pre></section><script>EVIL</script><img src=x onerror=EVIL>",
    "<!-- EVIL\n--><style>EVIL</style>&lt;EVIL&#60;",
    "\u{1b}]0;EVIL\u{7}\u{1b}[2J\u{9b}EVIL\rEVIL\r\n```\r\nEVIL",
    "![EVIL](https://evil.example/x.png) [EVIL]: javascript:EVIL",
    "\u{202e}EVIL\u{2028}```\u{2028}EVIL",
    "\n\n---\nEVIL\n===\n| EVIL |\n|---|\n$$EVIL$$",
];

fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(1_790_000_000_000_000 + micros)
}

fn header(title: &str, last: i64) -> TranscriptHeader {
    let chat = Chat {
        id: ROOM,
        title: Some(title.to_owned()),
        task_id: None,
        kind: ChatKind::Direct,
        status: ChatStatus::Active,
        created_at: at(0),
        updated_at: at(0),
        last_message_at: None,
        respond_within: None,
        max_hops: None,
    };
    let ann = Participant {
        id: ANN,
        name: "Ann".to_owned(),
        handle: "ann".to_owned(),
        description: None,
        is_external: None,
        owner: None,
        role: Role::Owner,
        status: ParticipantStatus::Active,
        joined_at: at(0),
    };
    let roster = Roster { chat: ROOM, participants: vec![ann] };
    TranscriptHeader { chat, roster, last_sequence: Sequence::new(last) }
}

fn text(sequence: i64, content: &str) -> Message {
    let id = MessageId::new(Uuid::from_u128(1000 + u128::from(sequence.unsigned_abs())));
    let (sequence, at) = (Sequence::new(sequence), at(sequence));
    Message { id, chat_id: ROOM, sequence, created_at: at, updated_at: at, ..sample::text(content) }
}

/// A text to an agent that is not in the room any more, with its work on it.
fn request(sequence: i64) -> Message {
    let attempt = |number, status, error: Option<&str>| {
        let number = AttemptNumber::new(number).unwrap();
        Attempt::restore(number, status, at(20), Some(at(30)), error.map(str::to_owned)).unwrap()
    };
    let attempts = vec![
        attempt(1, AttemptStatus::Failed, Some("no\n```\nmodel")),
        attempt(2, AttemptStatus::Success, None),
    ];
    let delivery = Delivery::restore(BOT, true, Some(at(15)), attempts).unwrap();
    let mention = Mention {
        id: ParticipantId::Agent(BOT),
        handle: "ann/bot".to_owned(),
        name: "Weather Bot".to_owned(),
        kind: MentionKind::Mention,
    };
    Message {
        content: format!("@[[{BOT}]] what is next?"),
        mentions: vec![mention],
        deliveries: vec![delivery],
        updated_at: at(40),
        ..text(sequence, "")
    }
}

/// A report of usage of that agent.
fn report(sequence: i64, cause: MessageId) -> Message {
    let usage = json!({"input_tokens": 7, "output_tokens": 5, "model": "large"});
    let metadata = json!({"band_usage": usage, "origin": "forged"});
    Message {
        kind: MessageKind::Task,
        sender: ParticipantId::Agent(BOT),
        sender_name: "Weather Bot".to_owned(),
        sender_handle: Some("ann/bot".to_owned()),
        metadata: metadata.as_object().cloned(),
        cause: Cause::Known(Place { message: Some(cause), root: cause, hop: 1, originator: ANN }),
        ..text(sequence, "done")
    }
}

fn written(format: TranscriptFormat, header: TranscriptHeader, messages: &[Message]) -> (String, FileDigest) {
    let mut writer = TranscriptWriter::new(format, header);
    let mut all = String::new();
    for message in messages {
        assert!(writer.message(message));
        // A page may end anywhere.
        if message.sequence.get() % 2 == 0 {
            all.push_str(&writer.take());
        }
    }
    let digest = writer.end();
    all.push_str(&writer.take());
    assert_eq!((writer.bytes(), writer.messages()), (all.len() as u64, messages.len() as u64));
    (all, digest)
}

fn sha256(bytes: &[u8]) -> String {
    FileDigest::new(Sha256::digest(bytes).into()).to_string()
}

/// The parts of the manifest: first byte, number of bytes, digest, and what it is. The last is the sum.
fn manifest(format: TranscriptFormat, document: &str) -> Vec<(usize, usize, String, String)> {
    if format == TranscriptFormat::Jsonl {
        let last: Value = serde_json::from_str(document.lines().last().unwrap()).unwrap();
        let row = |of: &Value, part: &str| {
            let number = |name: &str| usize::try_from(of[name].as_u64().unwrap_or(0)).unwrap();
            let digest = of["sha256"].as_str().unwrap().to_owned();
            (number("offset"), number("bytes"), digest, of["part"].as_str().unwrap_or(part).to_owned())
        };
        let parts = last["parts"].as_array().unwrap().iter();
        return parts.chain([&last]).map(|of| row(of, "all")).collect();
    }
    let table = document.rsplit_once("first byte").unwrap().1.lines().skip(1);
    let row = |line: &str| {
        let mut cells = line.split_whitespace();
        let numbers = [cells.next()?.parse().ok()?, cells.next()?.parse().ok()?];
        let digest = cells.next()?.to_owned();
        Some((numbers[0], numbers[1], digest, cells.collect::<Vec<_>>().join(" ")))
    };
    table.map_while(row).collect()
}

#[test]
fn every_part_has_its_digest() {
    let messages = [text(1, "one"), text(2, "two"), text(1000, "last of its block"), text(1001, "first")];
    for format in TranscriptFormat::ALL {
        let (document, digest) = written(format, header("Plans", 2003), &messages);
        assert_eq!(sha256(document.as_bytes()), digest.to_string());
        let mut parts = manifest(format, &document);
        let (_, bytes, all, _) = parts.pop().unwrap();
        assert_eq!(sha256(&document.as_bytes()[..bytes]), all);
        let names = parts.iter().map(|(.., name)| name.as_str()).collect::<Vec<_>>();
        assert_eq!(
            names,
            ["header", "messages 1-1000", "messages 1001-2000", "messages 2001-3000", "summary"]
        );
        let mut end = 0;
        for (offset, bytes, digest, part) in parts {
            assert_eq!(
                (offset, sha256(&document.as_bytes()[offset..offset + bytes])),
                (end, digest),
                "{part}"
            );
            end = offset + bytes;
        }
        assert_eq!(end, bytes, "the parts are everything above the manifest");
    }
}

#[test]
fn a_full_part_keeps_its_digest_while_the_room_grows() {
    let (one, more) = ([text(1000, "last")], [text(1000, "last"), text(1001, "new")]);
    for format in TranscriptFormat::ALL {
        let before = manifest(format, &written(format, header("Plans", 1000), &one).0);
        let after = manifest(format, &written(format, header("Plans", 1001), &more).0);
        assert_eq!(before[1].2, after[1].2);
        assert_ne!(before[0].2, after[0].2, "the header says how many messages there are");
    }
}

#[test]
fn a_full_part_keeps_its_digest_while_others_are_deleted() {
    let all = [text(1, "one"), text(999, "two"), text(1001, "three"), text(2500, "four"), text(3007, "five")];
    let left = [all[1].clone(), all[4].clone()];
    for format in TranscriptFormat::ALL {
        let parts = |messages: &[Message]| {
            let (document, _) = written(format, header("Plans", 3007), messages);
            manifest(format, &document)
                .into_iter()
                .map(|(_, _, digest, part)| (part, digest))
                .collect::<Vec<_>>()
        };
        let (before, after) = (parts(&all), parts(&left));
        let is_same = before.iter().zip(&after).map(|(before, after)| {
            assert_eq!(before.0, after.0);
            before.1 == after.1
        });
        // The header, four blocks, the summary, and the whole.
        let expected = [true, false, false, false, true, false, false];
        assert_eq!(is_same.collect::<Vec<_>>(), expected, "{format:?}");
    }
}

#[test]
fn a_transcript_ends_where_it_was_to_end() {
    let mut writer = TranscriptWriter::new(TranscriptFormat::Jsonl, header("Plans", 2));
    assert!(writer.message(&text(1, "one")));
    assert!(!writer.message(&text(3, "later")));
    writer.end();
    let lines = writer.take();
    let kinds = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["type"].clone());
    assert_eq!(kinds.collect::<Vec<_>>(), ["transcript", "message", "deleted", "summary", "manifest"]);
    assert!(!lines.contains("later"));
}

#[test]
fn lines_of_json_have_everything() {
    let (question, bot) = (request(2), BOT.to_string());
    let messages = [text(1, HOSTILE[5]), question.clone(), report(5, question.id)];
    let (document, _) = written(TranscriptFormat::Jsonl, header("Plans", 6), &messages);
    let lines = document.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect::<Vec<_>>();
    assert_eq!(lines.len(), 8, "{document}");
    let ann = json!({"id": ANN.to_string(), "type": "User", "handle": "ann", "name": "Ann"});
    let agent = json!({"id": bot, "type": "Agent", "handle": "ann/bot", "name": "Weather Bot"});
    assert_eq!(lines[0]["room"]["title"], "Plans");
    assert_eq!((&lines[0]["participants"][0]["name"], &lines[0]["version"]), (&json!("Ann"), &json!(1)));
    assert_eq!(lines[1]["text"], HOSTILE[5], "programs get what was written");
    let attempt = |number, state, error: Option<&str>| {
        json!({
            "number": number, "state": state, "started_at": at(20).to_string(),
            "completed_at": at(30).to_string(), "error": error,
        })
    };
    let expected = json!({
        "type": "message", "sequence": 2, "id": question.id.to_string(), "kind": "text", "sender": ann,
        "created_at": at(2).to_string(), "changed_at": at(40).to_string(),
        "text": "@Weather Bot what is next?",
        "mentions": [{"id": bot, "type": "Agent", "handle": "ann/bot", "name": "Weather Bot", "kind": "mention"}],
        "files": [],
        "deliveries": [{
            "agent": agent, "addressed": true, "state": "processed", "delivered_at": at(15).to_string(),
            "processed_at": at(30).to_string(),
            "attempts": [attempt(1, "failed", Some("no\n```\nmodel")), attempt(2, "success", None)],
        }],
    });
    assert_eq!(lines[2], expected);
    assert_eq!(lines[3], json!({"type": "deleted", "first_sequence": 3, "last_sequence": 4}));
    let usage = json!({"input": 7, "output": 5, "cache_read": 0, "cache_write": 0, "model": "large"});
    assert_eq!(lines[4]["usage"], usage);
    assert_eq!(lines[4]["metadata"].as_object().unwrap().keys().collect::<Vec<_>>(), ["band_usage"]);
    assert_eq!(
        lines[4]["cause"],
        json!({
            "message_id": question.id.to_string(), "root_id": question.id.to_string(), "hop": 1,
            "originator": {"id": ANN.to_string(), "type": "User"}, "ambiguous": false,
        })
    );
    assert_eq!(lines[5], json!({"type": "deleted", "first_sequence": 6, "last_sequence": 6}));
    let summary = &lines[6];
    assert_eq!((&summary["by_kind"], &summary["deleted"]), (&json!({"task": 1, "text": 2}), &json!(3)));
    let left = &summary["senders"][1];
    assert_eq!((&left["participant"], &left["usage"]["input"]), (&json!(false), &json!(7)));
}

#[test]
fn people_read_the_same() {
    let question = request(2);
    let messages = [text(1, "hello"), question.clone(), report(5, question.id)];
    for format in [TranscriptFormat::Markdown, TranscriptFormat::Html] {
        let (document, _) = written(format, header("Plans", 5), &messages);
        for expected in [
            "Plans",
            "@Weather Bot what is next?",
            "2026-09-21 14:13:20.000002 UTC",
            "3 to 4. Deleted",
            "2 messages were deleted.",
            "Attempt 1: failed, from ",
            "Error of attempt 1:",
            "7 input, 5 output, 0 cache read, 0 cache write tokens",
            "hop 1 of the tree that ",
            "not in the room any more, 1 message, 1 usage report",
            "Deleted: 2",
        ] {
            assert!(document.contains(expected), "{expected}: {document}");
        }
        assert!(!document.contains("@[[") && !document.contains("forged"));
    }
}

/// The lines of a Markdown document that are in no fence, as a reader of Markdown sees them.
fn outside_fences(document: &str) -> Vec<&str> {
    let (mut outside, mut fence) = (Vec::new(), None);
    for line in document.split(['\n', '\r']) {
        let ticks = line.len() - line.trim_start_matches('`').len();
        match fence {
            None if ticks >= 3 => fence = Some(ticks),
            None => outside.push(line),
            // Up to three spaces may precede the end of a fence.
            Some(open) => {
                let end = line.trim_matches(' ');
                if end.len() >= open && end.bytes().all(|byte| byte == b'`') {
                    fence = None;
                }
            }
        }
    }
    assert_eq!(fence, None, "every fence ends");
    outside
}

#[test]
fn no_text_leaves_its_place_in_markdown() {
    for hostile in HOSTILE {
        let event = Message { kind: MessageKind::Thought, ..text(2, hostile) };
        let metadata = json!({"EVIL```": hostile});
        let event = Message { metadata: metadata.as_object().cloned(), ..event };
        let (document, _) =
            written(TranscriptFormat::Markdown, header("Plans", 2), &[text(1, hostile), event]);
        let outside = outside_fences(&document);
        assert!(!outside.iter().any(|line| line.contains("EVIL")), "{document}");
        assert!(outside.contains(&"## Manifest"));
        assert!(!document.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t')), "{document:?}");
    }
    let (document, _) = written(TranscriptFormat::Markdown, header("Plans", 1), &[text(1, "a ```` b")]);
    assert!(document.contains("\n`````text\na ```` b\n`````\n"), "{document}");
}

#[test]
fn names_are_only_names() {
    let named = |name: &str| Message { sender_name: name.to_owned(), ..text(1, "hello") };
    for (name, markdown, html) in [
        ("Ann *the* <b>_x_", r"Ann \*the\* \<b\>\_x\_", "Ann *the* &lt;b&gt;_x_"),
        ("[x](y) `z`", r"\[x\]\(y\) \`z\`", "[x](y) `z`"),
        ("www.evil.example", r"www\.evil\.example", "www.evil.example"),
        ("https://x a@b :x: #1", r"https\:\/\/x a\@b \:x\: \#1", "https://x a@b :x: #1"),
        ("J. Smith & Co.", r"J\. Smith \& Co\.", "J. Smith &amp; Co."),
        ("1) Ann - Lee", r"1\) Ann \- Lee", "1) Ann - Lee"),
        ("two\nlines\u{1b}", "two lines\u{241b}", "two lines\u{241b}"),
    ] {
        let (document, _) = written(TranscriptFormat::Markdown, header(name, 1), &[named(name)]);
        assert!(document.starts_with(&format!("# {markdown}\n")), "{document}");
        assert!(document.contains(&format!("\n### 1. {markdown} (`@ann`), ")), "{document}");
        let (document, _) = written(TranscriptFormat::Html, header(name, 1), &[named(name)]);
        assert!(document.contains(&format!("<h3>1. <bdi>{html}</bdi> (<code>@ann</code>), ")), "{document}");
        assert!(document.contains(&format!("<title>{html}</title>")), "{document}");
    }
}

#[test]
fn a_page_has_only_its_own_elements() {
    let question = request(3);
    for hostile in HOSTILE {
        let sender_name = hostile.to_owned();
        let event = Message { sender_name, kind: MessageKind::Error, ..text(2, hostile) };
        let metadata = json!({"x": hostile, "</pre>": 1});
        let event = Message { metadata: metadata.as_object().cloned(), ..event };
        let messages = [text(1, hostile), event, question.clone(), report(4, question.id)];
        let (page, _) = written(TranscriptFormat::Html, header(hostile, 4), &messages);
        let body = page.split_once("<body>").unwrap().1;
        for (start, _) in body.match_indices('<') {
            let tag = &body[start..=start + body[start..].find('>').unwrap()];
            let name = tag.trim_matches(['<', '>', '/']).split(' ').next().unwrap();
            let known =
                ["main", "section", "h1", "h2", "h3", "ul", "li", "p", "pre", "code", "bdi", "time", "a"];
            assert!(known.contains(&name) || ["body", "html"].contains(&name), "{tag}");
            let attributes = tag.matches('=').count();
            assert!(attributes <= 1 && (attributes == 0 || !tag.contains("EVIL")), "{tag}");
        }
        let style = page.split_once("</title>").unwrap().1.split_once("<main>").unwrap().0;
        for unwanted in ["<script", "<img", "src=", "http:", "url("] {
            assert!(!style.contains(unwanted), "{unwanted}");
        }
        assert!(page.ends_with("</main>\n</body>\n</html>\n"));
        assert_eq!(page.matches("<pre").count(), page.matches("</pre>").count());
    }
    let (page, _) = written(TranscriptFormat::Html, header("Plans", 1), &[text(1, "\n first")]);
    assert!(page.contains("<pre dir=\"auto\">\n\n first</pre>"), "a first empty line is kept");
}

/// What an agent sends cannot become many times as long.
#[test]
fn nested_data_is_not_blown_up() {
    let nested = (0..60).fold(json!(vec![1; 20_000]), |inner, _| json!([inner]));
    let metadata = json!({ "x": nested });
    let sent = metadata.to_string().len();
    let event =
        Message { kind: MessageKind::Thought, metadata: metadata.as_object().cloned(), ..text(1, "hm") };
    for format in TranscriptFormat::ALL {
        let (document, _) = written(format, header("Plans", 1), std::slice::from_ref(&event));
        assert!(document.len() < sent + 5_000, "{format:?}: {} of {sent}", document.len());
    }
}

#[test]
fn an_empty_room_has_a_transcript() {
    let nobody = Roster { chat: ROOM, participants: Vec::new() };
    let header = TranscriptHeader { roster: nobody, ..header("Plans", 0) };
    for format in TranscriptFormat::ALL {
        let (document, _) = written(format, header.clone(), &[]);
        assert_eq!(manifest(format, &document).len(), 3, "{document}");
    }
}

#[test]
fn a_large_text_is_written_in_little_time() {
    let large = "`\u{1b}<&".repeat(256 * 1024);
    for format in TranscriptFormat::ALL {
        let (document, _) = written(format, header("Plans", 1), &[text(1, &large)]);
        assert!(document.len() > large.len());
    }
}
