//! Refused bodies, with their statuses and pointers.

use domain::chat::{ChatKind, Role};
use domain::message::{MentionKind, RequestedMention};
use http_wire::body::{AddParticipantBody, CreateChatBody, SendMessageBody};
use http_wire::error::{ApiError, ErrorCode};
use http_wire::strict_json::{FromBody, NoBody, StrictJson, parse};
use serde_json::{Value, json};

fn read<T: FromBody>(body: &Value) -> Result<StrictJson<T>, ApiError> {
    parse(body.to_string().as_bytes())
}

/// The code and the pointers of a refusal.
fn refusal<T: FromBody>(bytes: &[u8]) -> (ErrorCode, Vec<String>) {
    let error = parse::<T>(bytes).err().expect("the body is refused");
    (error.code(), error.details().keys().cloned().collect())
}

fn refused<T: FromBody>(body: &Value) -> (ErrorCode, Vec<String>) {
    refusal::<T>(body.to_string().as_bytes())
}

fn pointers(list: &[&str]) -> Vec<String> {
    list.iter().map(ToString::to_string).collect()
}

#[test]
fn what_is_not_json_is_a_bad_request() {
    for text in
        ["{", "nope", "{\"a\":}", "{'a':1}", "\u{0}", "{}{}", "{\"a\":\"\\ud800\"}", "[1,]", "{\"a\":1e999}"]
    {
        assert_eq!(refusal::<NoBody>(text.as_bytes()).0, ErrorCode::BadRequest, "{text}");
    }
    // An empty body is fine; white space is not JSON.
    assert!(parse::<NoBody>(b"").is_ok());
    assert_eq!(refusal::<NoBody>(b" \t\n").0, ErrorCode::BadRequest);
    assert_eq!(refusal::<NoBody>(b"{\"a\":\"\xff\"}").0, ErrorCode::BadRequest);
    assert_eq!(refusal::<NoBody>("[".repeat(100_000).as_bytes()).0, ErrorCode::BadRequest);
}

#[test]
fn what_is_no_object_is_a_validation_error() {
    for text in ["[]", "null", "1", "\"text\"", "true"] {
        assert_eq!(
            refusal::<NoBody>(text.as_bytes()),
            (ErrorCode::ValidationError, pointers(&[""])),
            "{text}"
        );
    }
}

#[test]
fn unknown_properties_are_named_and_go_first() {
    let (code, at) = refused::<NoBody>(&json!({"a/b~": 1}));
    assert_eq!((code, at), (ErrorCode::BadRequest, pointers(&["/a~1b~0"])));

    let beside = json!({"message": {"content": 7}, "x": 1});
    assert_eq!(refused::<SendMessageBody>(&beside), (ErrorCode::BadRequest, pointers(&["/x"])));
    let inside = json!({"message": {"content": "hi", "mentions": [{"id": "a"}, {"id": "b", "y": 1}]}});
    let place = pointers(&["/message/mentions/1/y"]);
    assert_eq!(refused::<SendMessageBody>(&inside), (ErrorCode::BadRequest, place));

    let error = read::<NoBody>(&json!({"color": "red"})).err().unwrap();
    assert_eq!(error.message(), "Unknown property /color. Remove it, or correct its name.");
}

#[test]
fn a_hostile_body_does_not_make_a_large_answer() {
    let many = (0..10_000).map(|n| (format!("{n}{}", "x".repeat(200)), json!(1))).collect();
    let (code, at) = refused::<NoBody>(&Value::Object(many));
    assert_eq!((code, at.len()), (ErrorCode::BadRequest, 50));
    assert!(at.iter().all(|pointer| pointer.len() <= 101));
}

#[test]
fn every_wrong_value_is_told_at_once_in_the_form_that_was_used() {
    let wrong = json!({"content": 1, "mentions": [{"id": 2, "handle": 3}, "ann"], "attachment_ids": [4]});
    let inner = ["/attachment_ids", "/content", "/mentions/0/handle", "/mentions/0/id", "/mentions/1"];
    assert_eq!(refused::<SendMessageBody>(&wrong), (ErrorCode::ValidationError, pointers(&inner)));
    let wrapped = inner.map(|pointer| format!("/message{pointer}")).to_vec();
    let (code, at) = refused::<SendMessageBody>(&json!({ "message": wrong }));
    assert_eq!((code, at), (ErrorCode::ValidationError, wrapped));
}

#[test]
fn a_wrapper_holds_an_object() {
    for inner in [json!(null), json!([]), json!("hi")] {
        let expected = (ErrorCode::ValidationError, pointers(&["/message"]));
        assert_eq!(refused::<SendMessageBody>(&json!({ "message": inner })), expected);
    }
}

#[test]
fn messages_are_read_in_every_form_that_clients_send() {
    let mention = |value: Value| {
        let body = json!({"message": {"content": "hi", "mentions": [value]}});
        let command = read::<SendMessageBody>(&body).unwrap().body.into_command().unwrap();
        assert_eq!(command.content.as_str(), "hi");
        command.mentions[0].clone()
    };
    let by = |id: Option<&str>, handle: Option<&str>, kind| RequestedMention {
        id: id.map(Into::into),
        handle: handle.map(Into::into),
        kind,
    };
    let usual = Some(MentionKind::Mention);
    assert_eq!(mention(json!({"id": "a", "handle": null, "name": "Ann"})), by(Some("a"), None, usual));
    assert_eq!(mention(json!({"id": "a", "handle": "", "name": null})), by(Some("a"), None, usual));
    assert_eq!(mention(json!({"username": "@ann"})), by(None, Some("@ann"), usual));
    assert_eq!(mention(json!({"handle": "bob", "username": "ann"})), by(None, Some("bob"), usual));
    assert_eq!(mention(json!({"id": null})), by(None, None, usual));
    let reference = Some(MentionKind::Reference);
    assert_eq!(mention(json!({"id": "a", "kind": "reference"})), by(Some("a"), None, reference));
    for kind in [json!(null), json!("shout"), json!(1)] {
        assert_eq!(mention(json!({"id": "a", "kind": kind})).kind, None);
    }
}

#[test]
fn mentions_and_attachments_may_be_left_out_or_null() {
    for body in [
        json!({"content": "hi"}),
        json!({"content": "hi", "mentions": null, "attachment_ids": null}),
        json!({"content": "hi", "mentions": [], "attachment_ids": []}),
    ] {
        let command = read::<SendMessageBody>(&body).unwrap().body.into_command().unwrap();
        assert_eq!(command.mentions, []);
    }
}

#[test]
fn lists_have_a_length() {
    let mentions = |count| json!({"content": "hi", "mentions": vec![json!({"id": "a"}); count]});
    assert!(read::<SendMessageBody>(&mentions(100)).is_ok());
    let expected = (ErrorCode::ValidationError, pointers(&["/mentions"]));
    assert_eq!(refused::<SendMessageBody>(&mentions(101)), expected);
    let attachments = json!({"content": "hi", "attachment_ids": vec!["f"; 11]});
    assert_eq!(refused::<SendMessageBody>(&attachments).1, pointers(&["/attachment_ids"]));
}

#[test]
fn a_malformed_id_is_that_of_no_attachment() {
    let body = json!({"content": "hi", "attachment_ids": ["00000000-0000-7000-8000-000000000001", "f"]});
    let StrictJson { body, form } = read::<SendMessageBody>(&body).unwrap();
    let error = form.explain(body.into_command().unwrap_err());
    assert_eq!(error.code(), ErrorCode::UnknownAttachment);
    assert!(error.details().contains_key("/attachment_ids/1"));
}

#[test]
fn texts_have_content_and_a_length() {
    let at = pointers(&["/content"]);
    for content in [json!(""), json!(" \n\t"), json!(null), json!("x".repeat(524_289))] {
        let refused = refused::<SendMessageBody>(&json!({ "content": content }));
        assert_eq!(refused, (ErrorCode::ValidationError, at.clone()));
    }
    assert_eq!(refused::<SendMessageBody>(&json!({})), (ErrorCode::ValidationError, at));
    assert!(read::<SendMessageBody>(&json!({"content": "x".repeat(524_288)})).is_ok());
    assert!(read::<SendMessageBody>(&json!({"content": "\u{200b}"})).is_ok());
}

#[test]
fn a_room_needs_no_body() {
    for text in ["", "{}", r#"{"chat":{}}"#, r#"{"chat":{"task_id":null,"title":null}}"#] {
        let chat = parse::<CreateChatBody>(text.as_bytes()).unwrap().body.0;
        assert_eq!((chat.title, chat.task_id, chat.kind), (None, None, ChatKind::Direct), "{text}");
    }
}

#[test]
fn a_room_is_read_wrapped_and_flat() {
    let id = "0190c5a4-0000-7000-8000-000000000001";
    let flat = json!({"title": " Plan ", "task_id": id, "chat_type": "group"});
    for body in [flat.clone(), json!({ "chat": flat })] {
        let chat = read::<CreateChatBody>(&body).unwrap().body.0;
        assert_eq!(chat.title.unwrap().as_str(), "Plan");
        assert_eq!(chat.task_id.unwrap().to_string(), id);
        assert_eq!(chat.kind, ChatKind::Group);
    }
    let same = json!({"type": "task", "chat_type": "task"});
    assert_eq!(read::<CreateChatBody>(&same).unwrap().body.0.kind, ChatKind::Task);
}

#[test]
fn every_fault_of_a_room_is_told() {
    let body = json!({"chat": {"title": "a\nb", "task_id": "7", "type": "huge", "chat_type": 1}});
    let at = pointers(&["/chat/chat_type", "/chat/task_id", "/chat/title", "/chat/type"]);
    assert_eq!(refused::<CreateChatBody>(&body), (ErrorCode::ValidationError, at));
    let differing = json!({"type": "task", "chat_type": "group"});
    assert_eq!(refused::<CreateChatBody>(&differing).1, pointers(&["/chat_type"]));
    assert_eq!(refused::<CreateChatBody>(&json!({"title": "x".repeat(121)})).1, pointers(&["/title"]));
}

#[test]
fn participants_have_an_id_and_perhaps_a_role() {
    let id = "0190c5a4-0000-7000-8000-000000000001";
    let command = |body| read::<AddParticipantBody>(&body).unwrap().body.into_command();
    assert_eq!(command(json!({ "participant_id": id })).role, Role::Member);
    let admin = json!({"participant": {"participant_id": id, "role": "admin"}});
    assert_eq!(command(admin).role, Role::Admin);
    let malformed = refused::<AddParticipantBody>(&json!({"participant_id": "bob"}));
    assert_eq!(malformed, (ErrorCode::ValidationError, pointers(&["/participant_id"])));

    let wrong = json!({"participant": {"participant_id": 7, "role": "king"}});
    let at = pointers(&["/participant/participant_id", "/participant/role"]);
    assert_eq!(refused::<AddParticipantBody>(&wrong), (ErrorCode::ValidationError, at));
    assert_eq!(refused::<AddParticipantBody>(&json!({})).1, pointers(&["/participant_id"]));
    let null = json!({"participant_id": id, "role": null});
    assert_eq!(refused::<AddParticipantBody>(&null).1, pointers(&["/role"]));
}
