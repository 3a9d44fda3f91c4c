//! Transcripts of the built program: by the command and over REST, in each format.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use e2e::{Api, Server, sha256};
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

const FORMATS: [(&str, &str); 3] = [
    ("markdown", "text/markdown; charset=utf-8"),
    ("jsonl", "application/jsonl"),
    ("html", "text/html; charset=utf-8"),
];

/// What would end a fence, an element, or a string.
const HOSTILE: &str = "```\n# EVIL\n</pre><script>EVIL</script>\u{1b}[2J\r\n\"\\EVIL";

fn run(server: &Server, arguments: &[&str]) -> (bool, Vec<u8>, String) {
    let output = server.command().args(arguments).output().unwrap();
    (output.status.success(), output.stdout, String::from_utf8(output.stderr).unwrap())
}

async fn begin(by: &Api, room: &str, format: &str) -> reqwest::Response {
    let path = format!("/chats/{room}/transcript?format={format}");
    by.transfer(Method::GET, &path, None).send().await.unwrap()
}

async fn transcript(by: &Api, room: &str, format: &str) -> Vec<u8> {
    let answer = begin(by, room, format).await;
    assert_eq!(answer.status(), 200);
    answer.bytes().await.unwrap().to_vec()
}

fn lines(transcript: &[u8]) -> Vec<Value> {
    transcript
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect()
}

/// A room with work that failed, usage, a hostile text and a large one, a deleted message, and an agent that has left.
async fn room(server: &Server, ann: &Api) -> (String, Api) {
    let (bot, gone) = (ann.register(server, "Weather Bot").await, ann.register(server, "Gone").await);
    let room = ann.create_chat().await;
    for agent in [&bot, &gone] {
        assert_eq!(ann.add(&room, &agent.id).await.status, 201);
    }
    let question = ann.sent(&room, "what is next?", &[&bot.id]).await;
    for step in ["processing", "failed", "processing"] {
        assert_eq!(bot.step(&room, &question, step).await.status, 200);
    }
    let usage =
        json!({"input_tokens": 7, "output_tokens": 5, "cache_read_tokens": 0, "cache_write_tokens": 0});
    let event = json!({"event": {
        "content": "usage", "message_type": "task", "metadata": {"band_usage": usage},
    }});
    assert_eq!(bot.post(&format!("/chats/{room}/events"), event).await.status, 201);
    assert_eq!(bot.step(&room, &question, "processed").await.status, 200);
    ann.sent(&room, HOSTILE, &[]).await;
    let unwanted = ann.sent(&room, "unwanted", &[]).await;
    ann.sent(&room, &"1234567\n".repeat(60_000), &[]).await;
    ann.sent(&room, "good bye", &[&gone.id]).await;
    assert_eq!(ann.delete(&format!("/chats/{room}/messages/{unwanted}")).await.status, 200);
    assert_eq!(ann.delete(&format!("/chats/{room}/participants/{}", gone.id)).await.status, 200);
    (room, bot)
}

#[tokio::test]
async fn a_room_has_one_transcript_for_everybody_who_may_read_it() {
    let server = Server::start().await;
    let (ann, ben) = (server.user("ann"), server.user("ben"));
    let (room, _) = room(&server, &ann).await;
    let directory = tempfile::tempdir().unwrap();
    for (format, media_type) in FORMATS {
        let answer = begin(&ann, &room, format).await;
        assert_eq!(answer.headers()["content-type"], media_type);
        let disposition = answer.headers()["content-disposition"].to_str().unwrap();
        assert!(disposition.starts_with(&format!("attachment; filename=\"transcript-{room}.")));
        let policy = answer.headers()["content-security-policy"].to_str().unwrap();
        assert!(policy.starts_with("sandbox; default-src 'none'"), "{policy}");
        let over_rest = answer.bytes().await.unwrap().to_vec();

        let file = directory.path().join(format);
        let arguments =
            ["room", "export", &room, "--format", format, "--to", file.to_str().unwrap(), "--json"];
        let (ok, report, text) = run(&server, &arguments);
        assert!(ok, "{text}");
        let report: Value = serde_json::from_slice(&report).unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), over_rest, "{format}");
        assert_eq!(report["sha256"], sha256(&over_rest).as_str(), "{report}");
        assert_eq!((&report["bytes"], &report["messages"]), (&json!(over_rest.len()), &json!(5)), "{report}");
        let (ok, printed, text) = run(&server, &["chat", "export", &room, "--format", format]);
        assert!(ok && text.contains(&sha256(&over_rest)), "{text}");
        assert_eq!(printed, over_rest);
    }
    assert_eq!(transcript(&ann, &room, "markdown").await, {
        let path = format!("/chats/{room}/transcript");
        ann.transfer(Method::GET, &path, None).send().await.unwrap().bytes().await.unwrap().to_vec()
    });

    let path = format!("/chats/{room}/transcript");
    assert_eq!(ben.get(&path).await.code(), "not_found");
    let answer = ann.get(&format!("{path}?format=pdf")).await;
    assert_eq!((answer.status, answer.body["error"]["details"]["/format"].is_null()), (422, false));
    let (ok, _, text) = run(&server, &["room", "export", &room[..35]]);
    assert!(!ok && text.contains(&room), "the command suggests the room: {text}");

    let (ok, audit, _) = run(&server, &["audit", "--json", "--limit", "1000"]);
    let entries = lines(&audit).into_iter().filter(|entry| entry["action"] == "chat.exported");
    let entries = entries.collect::<Vec<_>>();
    let by_ann = entries.iter().filter(|entry| entry["actor"]["name"] == "ann").count();
    assert!(ok && (entries.len(), by_ann) == (11, 5), "{entries:?}");
    assert!(entries.iter().all(|entry| entry["subject"]["id"] == room.as_str()), "{entries:?}");
}

#[tokio::test]
async fn a_transcript_tells_what_happened_and_proves_it() {
    let server = Server::start().await;
    let ann = server.user("ann");
    let (room, bot) = room(&server, &ann).await;
    let bytes = transcript(&ann, &room, "jsonl").await;
    let lines = lines(&bytes);
    let kinds = lines.iter().map(|line| line["type"].as_str().unwrap()).collect::<Vec<_>>();
    let [header, question, report, hostile, deleted, large, bye, summary, manifest] = &lines[..] else {
        panic!("{kinds:?}")
    };
    assert_eq!((&header["last_sequence"], header["participants"].as_array().unwrap().len()), (&json!(6), 2));
    assert_eq!(question["text"], "@Weather Bot what is next?");
    let delivery = &question["deliveries"][0];
    assert_eq!((&delivery["agent"]["id"], &delivery["state"]), (&json!(bot.id), &json!("processed")));
    let errors = delivery["attempts"].as_array().unwrap().iter().map(|attempt| &attempt["error"]);
    assert_eq!(errors.collect::<Vec<_>>(), [&json!("it did not work"), &Value::Null]);
    assert_eq!((&report["cause"]["message_id"], &report["usage"]["output"]), (&question["id"], &json!(5)));
    assert_eq!(hostile["text"], HOSTILE);
    assert_eq!(deleted, &json!({"type": "deleted", "first_sequence": 4, "last_sequence": 4}));
    assert_eq!(large["text"].as_str().unwrap().len(), 480_000);
    assert_eq!(bye["deliveries"][0]["agent"]["name"], "Gone", "{bye}");
    assert_eq!((&summary["messages"], &summary["deleted"]), (&json!(5), &json!(1)));
    let number = |of: &Value, name: &str| usize::try_from(of[name].as_u64().unwrap()).unwrap();
    for part in manifest["parts"].as_array().unwrap() {
        let (from, length) = (number(part, "offset"), number(part, "bytes"));
        assert_eq!(part["sha256"], sha256(&bytes[from..from + length]).as_str(), "{part}");
    }
    let above = &bytes[..number(manifest, "bytes")];
    assert_eq!(manifest["sha256"], sha256(above).as_str());
    assert!(bytes[above.len()..].starts_with(br#"{"type":"manifest""#), "nothing else follows");

    let page = String::from_utf8(transcript(&ann, &room, "html").await).unwrap();
    assert!(!page.contains("<script") && page.contains("&lt;script&gt;EVIL"), "{HOSTILE:?}");
    let document = String::from_utf8(transcript(&ann, &room, "markdown").await).unwrap();
    assert!(document.contains("````text\n```\n# EVIL\n") && !document.contains('\u{1b}'));
    let sums = "1 usage report: 7 input, 5 output, 0 cache read, 0 cache write tokens";
    assert!(page.contains(sums) && document.contains(sums));
}

/// What is said while a transcript is read is not in it, however slowly it is read; who said it may be deleted.
#[tokio::test]
async fn a_transcript_ends_with_what_was_newest_when_it_began() {
    let server = Server::start().await;
    let (ann, cai) = (server.user("ann"), server.colleague("cai", "ann"));
    let room = ann.create_chat().await;
    assert_eq!(ann.add(&room, &cai.id).await.status, 201);
    cai.sent(&room, "I was here", &[]).await;
    for _ in 0..6 {
        let texts = (0..50).map(async |number| ann.send(&room, &format!("text {number}"), &[]).await);
        assert!(join_all(texts.collect::<Vec<_>>()).await.iter().all(|answer| answer.status == 201));
    }
    let begun = begin(&ann, &room, "jsonl").await;
    ann.sent(&room, "later", &[]).await;
    let (ok, _, text) = run(&server, &["user", "delete", "cai", "--force"]);
    assert!(ok, "{text}");
    let bytes = begun.bytes().await.unwrap();
    let before = lines(&bytes);
    assert_eq!(before.len(), 304, "a header, a summary, a manifest, and 301 texts");
    assert!(before.iter().all(|line| line["text"] != "later"));

    let after = lines(&transcript(&ann, &room, "jsonl").await);
    assert_eq!((after.len(), &after[302]["text"]), (305, &json!("later")));
    let (sender, text) = (&after[1]["sender"], &after[1]["text"]);
    assert_eq!(
        (&sender["handle"], &sender["name"], text),
        (&json!("cai"), &before[1]["sender"]["name"], &json!("I was here"))
    );
    assert_eq!(after[0]["participants"].as_array().unwrap().len(), 1);
}
