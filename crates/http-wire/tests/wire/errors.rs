//! The table of error codes, and the mapping of domain errors.

use std::collections::HashSet;

use actix_web::ResponseError;
use domain::account::{ActAsError, AuthenticateError, RegisterError};
use domain::chat::{
    AddParticipantError, AddRefused, CreateChatError, DeleteChatError, RemoveParticipantError, RemoveRefused,
};
use domain::contact::{
    AnswerRequestError, RemoveContactError, RequestStatus, ResolveError, SendRefused, SendRequestError,
};
use domain::delivery::AdvanceError;
use domain::id::{AgentId, ParticipantKind, PasskeyId, UserId};
use domain::login::{
    CeremonyFault, CodeError, LogInError, PasskeyError, PasskeyLogInError, PasskeysOff, PasswordsOff,
    SecondFactorError,
};
use domain::message::{MentionError, PostEventError};
use domain::store::StoreError;
use http_wire::error::{ApiError, ErrorCode};
use serde_json::{Value, json};
use uuid::Uuid;

/// Status, code and message, and the details.
fn parts(error: impl Into<ApiError>) -> (u16, &'static str, String, Value) {
    let error = error.into();
    let details = Value::Object(error.details().clone());
    (error.status_code().as_u16(), error.code().as_str(), error.message().to_owned(), details)
}

fn short(error: impl Into<ApiError>) -> (u16, &'static str) {
    let (status, code, ..) = parts(error);
    (status, code)
}

#[test]
fn words_are_unique_and_statuses_are_failures() {
    let words = ErrorCode::ALL.iter().map(|code| code.as_str()).collect::<HashSet<_>>();
    assert_eq!(words.len(), ErrorCode::ALL.len());
    assert!(ErrorCode::ALL.iter().all(|code| code.status().as_u16() >= 400));
}

#[test]
fn a_bare_status_has_a_code_of_that_status() {
    for status in [400, 401, 403, 404, 405, 408, 409, 413, 415, 422, 429, 500, 503] {
        let status = status.try_into().unwrap();
        assert_eq!(ErrorCode::of_status(status).status(), status);
    }
    assert_eq!(ErrorCode::of_status(431.try_into().unwrap()), ErrorCode::BadRequest);
    assert_eq!(ErrorCode::of_status(502.try_into().unwrap()), ErrorCode::InternalError);
}

#[test]
fn who_asks() {
    assert_eq!(short(AuthenticateError::Unauthorized), (401, "unauthorized"));
    assert_eq!(short(ActAsError::NotThisAgent(AgentId::new(Uuid::nil()))), (403, "forbidden"));
    assert_eq!(short(ActAsError::PlanExcludesHumans), (403, "plan_required"));
    assert_eq!(short(RegisterError::OwnerGone), (401, "unauthorized"));
    assert_eq!(short(CreateChatError::CreatorGone), (401, "unauthorized"));
    let (status, code, _, details) = parts(RegisterError::NameTaken);
    assert_eq!((status, code), (422, "validation_error"));
    assert_eq!(details, json!({"name": ["has already been taken"]}));
}

#[test]
fn codes_of_second_factors() {
    let at_log_in = |error| short(LogInError::Code(error));
    assert_eq!(at_log_in(CodeError::Required), (401, "second_factor_required"));
    assert_eq!(at_log_in(CodeError::Wrong), (401, "invalid_second_factor"));
    assert_eq!(at_log_in(CodeError::TooMany), (429, "rate_limited"));
    let (_, _, message, _) = parts(LogInError::Wrong);
    assert!(!message.contains("code"), "{message}");
    for error in [CodeError::Required, CodeError::Wrong] {
        let (status, code, _, details) = parts(SecondFactorError::Code(error));
        assert_eq!((status, code), (422, "validation_error"));
        assert!(details["/code"][0].is_string(), "{details}");
    }
    assert_eq!(short(SecondFactorError::Code(CodeError::TooMany)), (429, "rate_limited"));
}

#[test]
fn passkeys() {
    let fault = || CeremonyFault("the check: it says too much".to_owned());
    assert_eq!(short(PasskeyError::Off(PasskeysOff::NoAddress)), (403, "forbidden"));
    assert_eq!(short(PasskeyLogInError::Off(PasskeysOff::Passwords(PasswordsOff))), (403, "forbidden"));
    for conflict in [PasskeyError::NotBegun, PasskeyError::Taken, PasskeyError::TooMany] {
        assert_eq!(short(conflict), (409, "conflict"));
    }
    assert_eq!(short(PasskeyError::NotFound), (404, "not_found"));
    let (status, code, _, details) = parts(PasskeyError::Refused(fault()));
    assert_eq!((status, code), (422, "validation_error"));
    assert!(!details.to_string().contains("too much"), "{details}");
    let copied = PasskeyLogInError::Copied { user: UserId::NIL, passkey: PasskeyId::NIL };
    let (_, _, same, _) = parts(PasskeyLogInError::Refused(fault()));
    for refused in [copied, PasskeyLogInError::Ended] {
        let (status, code, message, _) = parts(refused);
        assert_eq!((status, code, &message), (401, "unauthorized", &same));
    }
    for refused in [PasskeyLogInError::NotBegun, PasskeyLogInError::Unknown] {
        assert_eq!(short(refused), (401, "unauthorized"));
    }
}

#[test]
fn contacts() {
    for (by, oneself) in
        [(ParticipantKind::User, (422, "validation_error")), (ParticipantKind::Agent, (409, "conflict"))]
    {
        let send = |refused| short(SendRequestError::Refused { refused, by });
        assert_eq!(send(SendRefused::RequesterGone), (401, "unauthorized"));
        assert_eq!(send(SendRefused::Unknown), (404, "not_found"));
        assert_eq!(send(SendRefused::Oneself), oneself);
        assert_eq!(send(SendRefused::AlreadyContact), (409, "conflict"));
        assert_eq!(send(SendRefused::AlreadyAsked), (409, "conflict"));
    }
    assert_eq!(short(AnswerRequestError::NotFound), (404, "not_found"));
    assert_eq!(short(AnswerRequestError::OtherSide), (403, "forbidden"));
    let (status, code, message, _) = parts(AnswerRequestError::Settled(RequestStatus::Expired));
    assert_eq!((status, code), (409, "conflict"));
    assert!(message.contains("expired"), "{message}");
    assert_eq!(short(RemoveContactError::NotFound), (404, "not_found"));
    assert_eq!(short(ResolveError::NotFound), (404, "not_found"));
}

#[test]
fn rooms_and_participants() {
    let add = |refused| short(AddParticipantError::Refused(refused));
    assert_eq!(add(AddRefused::ChatNotFound), (404, "not_found"));
    assert_eq!(add(AddRefused::PeerNotFound), (404, "not_found"));
    assert_eq!(add(AddRefused::AlreadyParticipant), (409, "conflict"));
    assert_eq!(add(AddRefused::RoleTooLow), (403, "forbidden"));
    let remove = |refused| short(RemoveParticipantError::Refused(refused));
    assert_eq!(remove(RemoveRefused::ChatNotFound), (404, "not_found"));
    assert_eq!(remove(RemoveRefused::ParticipantNotFound), (404, "not_found"));
    assert_eq!(remove(RemoveRefused::RoleTooLow), (403, "forbidden"));
    assert_eq!(remove(RemoveRefused::AgentRemovesUser), (403, "forbidden"));
    assert_eq!(remove(RemoveRefused::SoleOwner), (403, "cannot_remove_sole_owner"));
    assert_eq!(short(DeleteChatError::NotOwner), (403, "forbidden"));
    assert_eq!(short(DeleteChatError::ChatNotFound), (404, "not_found"));
}

#[test]
fn mentions() {
    let available = || vec!["ann".to_owned()];
    let cases = [
        (MentionError::MissingIdentifier { index: 3 }, "mention_missing_identifier"),
        (MentionError::InvalidKind { index: 3 }, "invalid_mention_kind"),
        (MentionError::HandleNotFound { index: 3, available: available() }, "handle_not_found"),
        (MentionError::NotInChat { index: 3, available: available() }, "mentioned_participant_not_in_room"),
        (MentionError::SelfMention { index: 3 }, "cannot_mention_self"),
        (MentionError::Duplicate { index: 3 }, "duplicate_mentions"),
    ];
    for (error, expected) in cases {
        let lists = matches!(error, MentionError::HandleNotFound { .. } | MentionError::NotInChat { .. });
        let (status, code, message, details) = parts(error);
        assert_eq!((status, code), (422, expected));
        assert!(details["/message/mentions/3"][0].is_string(), "{expected}");
        assert_eq!(details.get("available_handles"), lists.then_some(&json!(["ann"])), "{expected}");
        let token = "mentioned_participant_not_in_room";
        assert_eq!(message == token, code == token, "{message}");
    }
    let (status, code, _, details) = parts(MentionError::Required);
    assert_eq!((status, code), (422, "mentions_required"));
    assert!(details["/message/mentions"][0].is_string());
}

#[test]
fn work_on_messages() {
    assert_eq!(short(AdvanceError::NotFound), (404, "not_found"));
    let (status, code, _, details) = parts(AdvanceError::NoActiveAttempt);
    assert_eq!((status, code), (422, "validation_error"));
    assert_eq!(details["/processing_attempt"].as_array().map(Vec::len), Some(1));
    assert!(parts(PostEventError::AttentionKind).3.get("/event/metadata/kind").is_some());
    assert!(parts(PostEventError::NotAnEvent).3.get("/event/message_type").is_some());
}

#[test]
fn pointers_lose_the_wrapper_that_a_flat_body_has_not() {
    let error = ApiError::validation()
        .with_detail("/message/mentions/0", "a")
        .with_detail("/messages/x", "b")
        .with_detail("available_handles", "c")
        .without_wrapper("message");
    let pointers = error.details().keys().map(String::as_str).collect::<Vec<_>>();
    assert_eq!(pointers, ["/mentions/0", "/messages/x", "available_handles"]);
}

#[test]
fn stores_that_fail_tell_nothing_of_the_cause() {
    let (status, code, message, details) = parts(StoreError::Unavailable("disk full at /var".into()));
    assert_eq!((status, code), (503, "service_unavailable"));
    assert!(!message.contains("disk") && details == json!({}));
    let (status, code, message, details) = parts(StoreError::Broken("row 7 is odd".into()));
    assert_eq!((status, code), (500, "internal_error"));
    assert!(!message.contains("row") && details == json!({}));

    let answer = ApiError::from(StoreError::Unavailable("x".into())).error_response();
    assert_eq!(answer.headers().get("retry-after").unwrap(), "1");
}
