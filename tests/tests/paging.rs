//! Lists by cursor on the built program: exact under concurrent writes, valid after a restart, and protected against
//! changes.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use std::collections::BTreeSet;

use e2e::{Api, Server};
use serde_json::json;

const WRITERS: usize = 8;
const EACH: usize = 40;

/// Follows a list to its end, over and over from where it ended, until all that was written is seen.
async fn follow(reader: Api, list: String) -> Vec<String> {
    let (mut seen, mut cursor) = (Vec::<String>::new(), String::new());
    while seen.len() < WRITERS * EACH {
        let answer = reader.get(&format!("{list}limit=7{cursor}")).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let rows = answer.body["data"].as_array().unwrap();
        // The end of the list has no cursor: what is new is read from the last place that had one.
        let further = &answer.body["metadata"]["next_cursor"];
        let new = rows.iter().map(|row| row["id"].as_str().unwrap().to_owned());
        match further.as_str() {
            Some(text) => {
                seen.extend(new);
                cursor = format!("&cursor={text}");
            }
            None if seen.len() + rows.len() == WRITERS * EACH => seen.extend(new),
            None => tokio::task::yield_now().await,
        }
    }
    seen
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_sees_every_message_once_while_eight_write() {
    let server = Server::start_with(&[("PARLANCE_RATE_LIMITS", "false")]).await;
    let ann = server.user("ann");
    let bot = ann.register(&server, "Bot").await;
    let room = ann.create_chat().await;
    ann.add(&room, &bot.id).await;
    let readers = [
        (bot.clone(), format!("/chats/{room}/messages?status=all&")),
        (bot.clone(), format!("/chats/{room}/context?")),
    ]
    .map(|(reader, list)| tokio::spawn(follow(reader, list)));
    let writers = (0..WRITERS).map(|writer| {
        let (ann, room, bot) = (ann.clone(), room.clone(), bot.id.clone());
        tokio::spawn(async move {
            let mut accepted = Vec::new();
            for number in 0..EACH {
                accepted.push(ann.sent(&room, &format!("{writer} {number}"), &[&bot]).await);
            }
            accepted
        })
    });
    // Newest first, from wherever the reader begins: without a gap and without a repetition.
    let history = tokio::spawn({
        let (ann, list) = (ann.clone(), format!("/chats/{room}/messages?limit=9"));
        async move {
            let mut walks = Vec::new();
            loop {
                let (mut seen, mut cursor) = (Vec::new(), String::new());
                loop {
                    let answer = ann.get(&format!("{list}{cursor}")).await;
                    let rows = answer.body["data"].as_array().unwrap();
                    seen.extend(rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()));
                    let Some(text) = answer.body["metadata"]["next_cursor"].as_str() else { break };
                    cursor = format!("&cursor={text}");
                }
                let whole = seen.len() == WRITERS * EACH;
                walks.push(seen);
                if whole {
                    return walks;
                }
            }
        }
    });
    let mut accepted = BTreeSet::new();
    for writer in writers.collect::<Vec<_>>() {
        accepted.extend(writer.await.unwrap());
    }
    assert_eq!(accepted.len(), WRITERS * EACH);
    let walks = history.await.unwrap();
    let order = walks.last().unwrap().clone();
    for walk in &walks {
        assert!(order.ends_with(walk), "a walk is not the list from some place to its end: {walk:?}");
    }
    for reader in readers {
        let seen = reader.await.unwrap();
        assert_eq!(seen.iter().cloned().collect::<BTreeSet<_>>(), accepted);
        assert!(seen.iter().eq(order.iter().rev()), "each once, in the order of the room");
    }
}

#[tokio::test]
async fn a_cursor_is_good_after_a_restart_and_no_other_way() {
    let mut server = Server::start().await;
    let ann = server.user("ann");
    for name in ["alpha", "beta", "gamma"] {
        ann.register(&server, name).await;
    }
    let list = "/agents?sort=name&order=asc&limit=1";
    let first = ann.get(list).await;
    let cursor = first.body["metadata"]["next_cursor"].as_str().unwrap().to_owned();
    server.crash().await;
    let second = ann.get(&format!("{list}&cursor={cursor}")).await;
    assert_eq!(second.body["data"][0]["name"], "beta");
    let middle = cursor.len() / 2;
    let other = if cursor.as_bytes()[middle] == b'A' { "B" } else { "A" };
    let changed = format!("{}{other}{}", &cursor[..middle], &cursor[middle + 1..]);
    let ben = server.user("ben");
    for (who, text) in [(&ann, changed.as_str()), (&ben, cursor.as_str())] {
        let refused = who.get(&format!("{list}&cursor={text}")).await;
        assert_eq!((refused.status, refused.code()), (422, "validation_error"));
        assert_eq!(refused.body["error"]["details"]["/cursor"], json!(["is not a cursor of this list"]));
    }
}
