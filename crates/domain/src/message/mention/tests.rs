//! Every rule on mentions, alone and in the order of the checks.

use super::*;
use crate::chat::Named;
use crate::id::{AgentId, UserId};
use uuid::Uuid;

const ANN: ParticipantId = ParticipantId::User(UserId::new(Uuid::from_u128(1)));
const BOT: ParticipantId = ParticipantId::Agent(AgentId::new(Uuid::from_u128(11)));
const OTHER: ParticipantId = ParticipantId::Agent(AgentId::new(Uuid::from_u128(12)));

fn names() -> Names {
    let named = |id: ParticipantId, handle: &str| Named {
        id,
        handle: handle.to_owned(),
        name: format!("Name of {handle}"),
        is_external: None,
    };
    Names(vec![named(ANN, "ann"), named(BOT, "ann/bot"), named(OTHER, "ann/other")])
}

fn by_id(id: ParticipantId) -> RequestedMention {
    RequestedMention { id: Some(id.to_string()), handle: None, kind: Some(MentionKind::Mention) }
}

fn by_handle(handle: &str) -> RequestedMention {
    RequestedMention { id: None, handle: Some(handle.to_owned()), kind: Some(MentionKind::Mention) }
}

fn reference(id: ParticipantId) -> RequestedMention {
    RequestedMention { kind: Some(MentionKind::Reference), ..by_id(id) }
}

fn resolved(requests: &[RequestedMention]) -> Result<Vec<ParticipantId>, MentionError> {
    resolve(&names(), BOT, requests).map(|mentions| mentions.into_iter().map(|m| m.id).collect())
}

#[test]
fn found_by_id_or_handle_in_the_order_of_the_request() {
    let upper = RequestedMention { id: Some(OTHER.to_string().to_uppercase()), ..by_id(OTHER) };
    assert_eq!(resolved(&[upper, by_id(ANN)]), Ok(vec![OTHER, ANN]));
    for handle in ["ann/other", "@ann/other", " @Ann/Other "] {
        assert_eq!(resolved(&[by_handle(handle)]), Ok(vec![OTHER]), "{handle}");
    }
}

#[test]
fn the_id_decides_when_both_are_there() {
    let both = RequestedMention { handle: Some("nobody".to_owned()), ..by_id(ANN) };
    assert_eq!(resolved(&[both]), Ok(vec![ANN]));
    let empty_handle = RequestedMention { handle: Some(String::new()), ..by_id(ANN) };
    assert_eq!(resolved(&[empty_handle]), Ok(vec![ANN]));
    let empty_id = RequestedMention { id: Some(" ".to_owned()), ..by_handle("ann") };
    assert_eq!(resolved(&[empty_id]), Ok(vec![ANN]));
}

#[test]
fn each_refusal_alone() {
    let nothing = RequestedMention { kind: Some(MentionKind::Mention), ..RequestedMention::default() };
    assert_eq!(resolved(&[by_id(ANN), nothing]), Err(MentionError::MissingIdentifier { index: 1 }));
    let no_kind = RequestedMention { kind: None, ..by_id(ANN) };
    assert_eq!(resolved(&[no_kind]), Err(MentionError::InvalidKind { index: 0 }));
    let available = || vec!["ann".to_owned(), "ann/bot".to_owned(), "ann/other".to_owned()];
    let unknown = resolved(&[by_handle("ben")]);
    assert_eq!(unknown, Err(MentionError::HandleNotFound { index: 0, available: available() }));
    let stranger = ParticipantId::User(UserId::new(Uuid::from_u128(5)));
    let absent = resolved(&[by_id(stranger)]);
    assert_eq!(absent, Err(MentionError::NotInChat { index: 0, available: available() }));
    let no_id = RequestedMention { id: Some("42".to_owned()), ..by_id(ANN) };
    assert!(matches!(resolved(&[no_id]), Err(MentionError::NotInChat { index: 0, .. })));
    assert_eq!(resolved(&[by_id(ANN), by_id(BOT)]), Err(MentionError::SelfMention { index: 1 }));
    assert_eq!(resolved(&[by_id(ANN), by_handle("ann")]), Err(MentionError::Duplicate { index: 1 }));
    assert_eq!(resolved(&[by_id(ANN), reference(ANN)]), Err(MentionError::Duplicate { index: 1 }));
    assert_eq!(resolved(&[]), Err(MentionError::Required));
    assert_eq!(resolved(&[reference(ANN)]), Err(MentionError::Required));
}

#[test]
fn faults_are_looked_for_in_a_fixed_order() {
    let nothing = RequestedMention::default();
    let no_kind = RequestedMention { kind: None, ..by_handle("nobody") };
    let mut requests = vec![by_id(BOT), by_id(BOT), by_handle("nobody"), no_kind, nothing];
    assert_eq!(resolved(&requests), Err(MentionError::MissingIdentifier { index: 4 }));
    requests.pop();
    assert_eq!(resolved(&requests), Err(MentionError::InvalidKind { index: 3 }));
    requests.pop();
    assert!(matches!(resolved(&requests), Err(MentionError::HandleNotFound { index: 2, .. })));
    requests.pop();
    assert_eq!(resolved(&requests), Err(MentionError::SelfMention { index: 0 }));
}

#[test]
fn a_human_may_address_nobody_but_not_itself() {
    let as_ann = |requests: &[RequestedMention]| resolve(&names(), ANN, requests);
    assert_eq!(as_ann(&[]), Ok(Vec::new()));
    assert_eq!(as_ann(&[reference(BOT)]).unwrap()[0].kind, MentionKind::Reference);
    assert_eq!(as_ann(&[by_id(ANN)]), Err(MentionError::SelfMention { index: 0 }));
}

#[test]
fn agents_that_a_text_only_names_are_found() {
    let mention =
        |id| Mention { id, handle: String::new(), name: String::new(), kind: MentionKind::Reference };
    for (text, mentioned, expected) in [
        ("Hello @ann/bot!", vec![], vec!["ann/bot"]),
        ("@Ann/Bot: and (@ann/other).", vec![], vec!["ann/bot", "ann/other"]),
        ("@bot, please", vec![], vec!["ann/bot"]),
        ("@ann/bot", vec![BOT], vec![]),
        ("@ann is a human", vec![], vec![]),
        ("mail@ann/bot, @ann/bother, @annbot, @, @@", vec![], vec![]),
        ("no sign", vec![], vec![]),
    ] {
        let mentions = mentioned.into_iter().map(mention).collect::<Vec<_>>();
        assert_eq!(unmentioned(&names(), ANN, &handles_in(text), &mentions), expected, "{text}");
    }
    assert_eq!(
        unmentioned(&names(), BOT, &handles_in("I am @ann/bot"), &[]),
        Vec::<String>::new(),
        "the sender itself"
    );
}

#[test]
fn a_text_that_is_sent_later_may_mention_its_sender() {
    let later = |requests: &[RequestedMention]| {
        resolve_later(&names(), BOT, requests).map(|mentions| mentions.into_iter().map(|m| m.id).collect())
    };
    assert_eq!(later(&[by_id(BOT)]), Ok(vec![BOT]));
    assert_eq!(later(&[by_id(ANN), by_handle("ann/bot")]), Ok(vec![ANN, BOT]));
    assert_eq!(later(&[by_id(BOT), by_id(BOT)]), Err(MentionError::Duplicate { index: 1 }));
    assert_eq!(later(&[reference(BOT)]), Err(MentionError::Required));
    assert_eq!(resolved(&[by_id(BOT)]), Err(MentionError::SelfMention { index: 0 }), "only later");
}

#[test]
fn markers_are_shown_as_names_once() {
    let mention = |id: ParticipantId, name: &str| Mention {
        id,
        handle: "ann/bot".to_owned(),
        name: name.to_owned(),
        kind: MentionKind::Mention,
    };
    let (bot, other) = (mention(BOT, "Bot"), mention(OTHER, "Other"));
    let (marker, unknown) = (bot.marker(), mention(ANN, "").marker());
    let mentions = [bot, other];
    for (text, shown) in [
        ("no marker @[[".to_owned(), "no marker @[[".to_owned()),
        (marker.clone(), "@Bot".to_owned()),
        (format!("{marker}{marker}é"), "@Bot@Boté".to_owned()),
        (marker.to_uppercase(), "@Bot".to_owned()),
        (format!("@[[{marker}]]"), "@[[@Bot]]".to_owned()),
        (format!("@\\[[{BOT}]] {unknown}"), format!("@\\[[{BOT}]] {unknown}")),
        (format!("@[[{}é]]", "x".repeat(35)), format!("@[[{}é]]", "x".repeat(35))),
    ] {
        assert_eq!(with_names(&text, &mentions), shown, "{text}");
    }
    assert_eq!(with_handles(&marker, &mentions), "@ann/bot");
    // What an old name contains is no marker.
    let tricky = [mention(BOT, &mentions[1].marker()), mentions[1].clone()];
    assert_eq!(with_names(&marker, &tricky), format!("@{}", mentions[1].marker()));
}
