//! A conversation over REST alone, and its state after a crash.

use e2e::cast::Cast;
use e2e::{Api, Server};
use reqwest::Method;
use serde_json::json;

/// With nothing but the key that the first start printed.
#[tokio::test]
async fn a_new_user_gets_an_answer_from_an_agent() {
    let server = Server::start().await;
    let printed = server.printed();
    let key = printed.split_whitespace().find(|word| word.starts_with("thnv_u_")).unwrap();
    let me = Api::new(&server, "me", key, "");
    let bot = me.register(&server, "Echo").await;
    assert!(bot.key.starts_with("thnv_a_"));
    let profile = bot.get("/me").await.data();
    assert_eq!((&profile["id"], &profile["handle"]), (&json!(bot.id), &json!("admin/echo")));
    let listed = me.get("/agents").await.data().to_string();
    assert!(listed.contains(&bot.id) && !listed.contains(&bot.key), "a key is shown once: {listed}");

    let chat = me.create_chat().await;
    assert_eq!(me.add(&chat, &bot.id).await.status, 201);
    let question = me.sent(&chat, "Are you there?", &[&bot.id]).await;
    let next = bot.get(&format!("/chats/{chat}/messages/next")).await.data();
    assert_eq!((&next["id"], &next["sender_type"]), (&json!(question), &json!("User")));
    bot.step(&chat, &question, "processing").await.data();
    let asker = next["sender_id"].as_str().unwrap();
    let answer = bot.sent(&chat, "You said: Are you there?", &[asker]).await;
    bot.step(&chat, &question, "processed").await.data();

    let history = me.history(&chat).await;
    let ids = history.iter().map(|message| message["id"].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(ids, [&answer, &question], "newest first");
    assert_eq!((&history[0]["sender_name"], &history[0]["sender_type"]), (&json!("Echo"), &json!("Agent")));
    let record = &history[1]["metadata"]["delivery_status"][&bot.id];
    assert_eq!((&record["status"], &record["current_attempt"]), (&json!("processed"), &json!(1)));
}

#[tokio::test]
async fn what_was_edited_and_deleted_is_so_after_a_crash() {
    let mut server = Server::start().await;
    let cast = Cast::on(&server).await;
    let (ann, bot, chat) = (&cast.u1, &cast.a1, &cast.r1);
    let gone = ann.sent(chat, "never mind", &[&bot.id]).await;
    let kept = ann.sent(chat, "first", &[&bot.id]).await;
    bot.step(chat, &gone, "processing").await.data();
    let edit = json!({"content": "second"});
    ann.call(Method::PATCH, &format!("/chats/{chat}/messages/{kept}"), Some(edit)).await.data();
    ann.delete(&format!("/chats/{chat}/messages/{gone}")).await.data();
    server.crash().await;
    let history = ann.history(chat).await;
    assert_eq!((history.len(), &history[0]["id"]), (1, &json!(kept)));
    assert_eq!(history[0]["content"], format!("@[[{}]] second", bot.id));
    assert_eq!(bot.next(chat).await.as_ref(), Some(&kept));
    assert_eq!(bot.step(chat, &gone, "processed").await.status, 404);
    bot.step(chat, &kept, "processing").await.data();
    bot.step(chat, &kept, "processed").await.data();
    assert_eq!(bot.next(chat).await, None);
    ann.sent(chat, "goes on", &[&bot.id]).await;
}

#[tokio::test]
async fn an_agent_goes_on_after_a_crash_of_the_server() {
    let mut server = Server::start().await;
    let cast = Cast::on(&server).await;
    let (bot, chat) = (&cast.a1, &cast.r1);
    let done = cast.u1.sent(chat, "done before", &[&bot.id]).await;
    let open = cast.u1.sent(chat, "open when it happens", &[&bot.id]).await;
    for (message, step) in [(&done, "processing"), (&done, "processed"), (&open, "processing")] {
        bot.step(chat, message, step).await.data();
    }
    server.crash().await;
    assert_eq!(bot.next(chat).await.as_ref(), Some(&open));
    assert_eq!(
        bot.step(chat, &open, "processed").await.data()["attempt_number"],
        1,
        "the attempt is still open"
    );
    assert_eq!(bot.next(chat).await, None);

    // An agent that crashed with the server starts over instead: that is the second attempt.
    let again = cast.u1.sent(chat, "tried twice", &[&bot.id]).await;
    bot.step(chat, &again, "processing").await.data();
    server.crash().await;
    assert_eq!(bot.next(chat).await.as_ref(), Some(&again));
    assert_eq!(bot.step(chat, &again, "processing").await.data()["attempt_number"], 2);
    bot.step(chat, &again, "processed").await.data();
    server.crash().await;
    assert_eq!(bot.next(chat).await, None, "done stays done");
}
