//! `parlance client ask`: a question to an agent, whose outcome is the exit status.

use std::io::Read;

use ::client::text::{in_json, on_one_line};
use ::client::{Asked, Outcome, Question};
use serde_json::{Value, json};

use crate::commands::client::arguments::AskArguments;
use crate::commands::client::{Client, TIMED_OUT, UNAVAILABLE, WORK_FAILED, tell};
use crate::failure::Failure;
use crate::output::{print, short};
use crate::progress::Spinner;

/// The most bytes of a text that the server takes.
const TEXT_BYTES: u64 = 512 * 1024;

/// Asks, waits, and prints the answer.
pub(super) async fn ask(arguments: AskArguments) -> Result<(), Failure> {
    let text = text(arguments.question)?;
    let mut client = Client::new(arguments.profile)?;
    let room = match &arguments.room {
        Some(room) => Some(client.room(room).await?.id),
        None => None,
    };
    let question = Question { agent: arguments.agent, text, room };
    let asked = question.ask(&mut client.session, &mut |text| tell(text)).await;
    let asked = match asked.map_err(|error| client.failed(&error))? {
        Ok(asked) => asked,
        Err(outcome) => return end(outcome, None, arguments.json),
    };
    tell(&format!(
        "asked @{} in room {}; waiting up to {} for the answer",
        on_one_line(&asked.agent.handle),
        on_one_line(&asked.room),
        short(arguments.wait)
    ));
    let waiting = Spinner::begin("waiting for the answer");
    let outcome = asked.answer(&mut client.session, arguments.wait, &mut |text| tell(text)).await;
    drop(waiting);
    end(outcome.map_err(|error| client.failed(&error))?, Some(&asked), arguments.json)
}

/// The question, which may be on standard input.
fn text(given: String) -> Result<String, Failure> {
    let text = if given == "-" {
        let mut text = String::new();
        let read = std::io::stdin().lock().take(TEXT_BYTES + 1).read_to_string(&mut text);
        read.map_err(|cause| Failure::new("cannot read the question from standard input", cause))?;
        text
    } else {
        given
    };
    if text.trim().is_empty() {
        return Err(Failure::plain("the question is empty").next("see `parlance client ask --help`"));
    }
    if text.len() as u64 > TEXT_BYTES {
        let said = format!("the question is longer than the {TEXT_BYTES} bytes that a message can have");
        return Err(Failure::plain(said).next("shorten it; see `parlance client ask --help`"));
    }
    Ok(text)
}

/// Prints the outcome; any but an answer is a failure.
fn end(outcome: Outcome, asked: Option<&Asked>, json: bool) -> Result<(), Failure> {
    if json {
        print(&in_json(&as_json(&outcome, asked).to_string()))?;
    }
    // The room keeps the question, and later its answer.
    let later = asked
        .map(|asked| format!("follow the room with `parlance client tail {}`", on_one_line(&asked.room)));
    let later = later
        .unwrap_or_else(|| "check the handle, such as @ann/echo: `parlance client ask --help`".to_owned());
    let (reason, status) = match outcome {
        Outcome::Answered { text, .. } if !json => return print(&text),
        Outcome::Answered { .. } => return Ok(()),
        Outcome::Failed { reason } => (reason, WORK_FAILED),
        Outcome::TimedOut { reason } => (format!("no answer in time: {reason}"), TIMED_OUT),
        Outcome::Unavailable { reason } => (reason, UNAVAILABLE),
    };
    Err(Failure::plain(reason).next(&later).with_status(status))
}

/// The outcome with what it is about; members without a value are null.
fn as_json(outcome: &Outcome, asked: Option<&Asked>) -> Value {
    let (answer, text, reason) = match outcome {
        Outcome::Answered { message, text } => (Some(&message.raw), Some(text), None),
        Outcome::Failed { reason } | Outcome::Unavailable { reason } | Outcome::TimedOut { reason } => {
            (None, None, Some(reason))
        }
    };
    json!({
        "outcome": outcome.as_str(),
        "chat_id": asked.map(|asked| &asked.room),
        "message_id": asked.map(|asked| &asked.message),
        "agent": asked.map(|asked| json!({ "id": asked.agent.id, "handle": asked.agent.handle })),
        "text": text,
        "reason": reason,
        "answer": answer,
    })
}
