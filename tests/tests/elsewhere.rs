//! Changes on one of several servers, which share a PostgreSQL database without NATS.

use e2e::{Fleet, Socket};

/// Waits for the end of the socket's channel of this topic.
async fn ended(socket: &mut Socket, topic: &str) {
    loop {
        let frame = socket.frame().await;
        if frame[2] == topic && frame[3] == "phx_close" {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_is_removed_on_one_server_hears_the_room_on_none() {
    let fleet = Fleet::start(2, &[]).await;
    let [one, two] = &fleet.servers[..] else { panic!("two") };
    let (ann, ben) = (one.colleague("ann", "house"), one.colleague("ben", "house"));
    let bot = ben.register(one, "Bot").await;
    let (room, other) = (ann.create_chat().await, bot.create_chat().await);
    assert_eq!(ann.add(&room, &ben.id).await.status, 201);
    let (room_topic, other_topic) = (format!("chat_room:{room}"), format!("chat_room:{other}"));
    let mut of_ann = Socket::of(two, &ann).await;
    let mut of_ben = Socket::of(two, &ben).await;
    of_ann.join("1", &room_topic).await;
    of_ben.join("1", &room_topic).await;
    // Ben is in the other room by his agent alone.
    of_ben.join("2", &other_topic).await;

    assert_eq!(ann.delete(&format!("/chats/{room}/participants/{}", ben.id)).await.status, 200);
    ended(&mut of_ben, &room_topic).await;
    assert_eq!(ben.delete(&format!("/chats/{other}")).await.status, 200);
    ended(&mut of_ben, &other_topic).await;
    of_ann.silent().await;
    let on_two = ann.on(two);
    assert_eq!(on_two.send(&room, "is anybody there?", &[&bot.id]).await.status, 422, "Bot is elsewhere");
    of_ann.alive().await;

    assert_eq!(ann.delete(&format!("/chats/{room}")).await.status, 200);
    ended(&mut of_ann, &room_topic).await;
    of_ann.alive().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_observes_through_an_agent_that_was_deleted_on_another_server() {
    let fleet = Fleet::start(2, &[]).await;
    let [one, two] = &fleet.servers[..] else { panic!("two") };
    let ben = one.user("ben");
    let bot = ben.register(one, "Bot").await;
    let topic = format!("chat_room:{}", bot.create_chat().await);
    let mut of_ben = Socket::of(two, &ben).await;
    of_ben.join("1", &topic).await;
    assert_eq!(ben.delete(&format!("/agents/{}", bot.id)).await.status, 200);
    ended(&mut of_ben, &topic).await;
    of_ben.alive().await;
}

/// As in a rolling upgrade, or when a newer server was taken back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_newer_server_has_written_into_the_log_stops_no_older_one() {
    let fleet = Fleet::start(2, &[]).await;
    let [one, two] = &fleet.servers[..] else { panic!("two") };
    let ann = one.user("ann");
    let mut socket = Socket::of(two, &ann).await;
    let (client, connection) =
        tokio_postgres::connect(&fleet.database().url(), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let unknown = "INSERT INTO change_log (kind, subject_id, changed_at) \
         VALUES ('something_new', gen_random_uuid(), now())";
    client.batch_execute(unknown).await.unwrap();
    let disable = one.command().args(["user", "disable", "ann"]).output().unwrap();
    assert!(disable.status.success(), "{disable:?}");
    assert_eq!(socket.closed().await, e2e::Closed::Code(1008));
}
