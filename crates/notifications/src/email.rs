//! E-mail: one message for each notification, in plain text.

use std::fmt::Write as _;
use std::time::Duration;

use domain::notification::{Prepared, SendResult};
use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::message::{Mailbox, MessageBuilder};
use lettre::transport::smtp::{AsyncSmtpTransportBuilder, Error};
use lettre::{Address, AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};
use tokio::time::timeout;

/// The time limit of a message, from the connection to the answer.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// The maximum number of characters of an error that is stored.
const ERROR_CHARS: usize = 300;

/// Codes that say that there is no such receiver. Others may be about the server, its address, or its credentials, and
/// would end the channels of everybody.
const NO_RECEIVER: [u16; 2] = [550, 551];

/// The reason why a mailer cannot be made.
#[derive(Debug)]
pub enum MailerFault {
    /// The URL is not one of SMTP, or its parameters are wrong.
    Url(String),
    /// The URL has credentials, which would be sent without encryption.
    NotEncrypted,
    /// The sender is not an address.
    From(String),
}

/// Sends e-mail by one SMTP server, over connections that it keeps for a minute after their last use.
pub struct Mailer {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
}

impl Mailer {
    /// A mailer of the server at `url`, in the name of `from`. Its connections belong to the runtime in which this is called.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub fn new(url: &str, from: &str) -> Result<Self, MailerFault> {
        let (transport, from) = Self::parts(url, from)?;
        Ok(Self { transport: transport.build(), from })
    }

    /// Checks the settings of a mailer.
    ///
    /// # Errors
    /// If one of them cannot be read, or credentials would be sent without encryption.
    pub fn check(url: &str, from: &str) -> Result<(), MailerFault> {
        Self::parts(url, from).map(|_| ())
    }

    fn parts(url: &str, from: &str) -> Result<(AsyncSmtpTransportBuilder, Mailbox), MailerFault> {
        let is_plain = url.starts_with("smtp://") && !url.contains("tls=required");
        let has_credentials = url.split_once("://").is_some_and(|(_, rest)| {
            rest.split(['/', '?']).next().is_some_and(|authority| authority.contains('@'))
        });
        if is_plain && has_credentials {
            return Err(MailerFault::NotEncrypted);
        }
        let from = from.parse::<Mailbox>().map_err(|error| MailerFault::From(error.to_string()))?;
        let transport = AsyncSmtpTransport::<Tokio1Executor>::from_url(url);
        let transport = transport.map_err(|error| MailerFault::Url(error.to_string()))?;
        Ok((transport.timeout(Some(TIME_LIMIT / 3)), from))
    }

    /// Sends a notification.
    pub(crate) async fn send(&self, prepared: &Prepared) -> SendResult {
        let message = match self.message(prepared) {
            Ok(message) => message,
            // Of the account, whose address no server accepts.
            Err(error) => return SendResult::Refused { status: None, error },
        };
        match timeout(TIME_LIMIT, self.transport.send(message)).await {
            Ok(Ok(response)) => SendResult::Delivered { status: Some(u16::from(response.code())) },
            Ok(Err(error)) => failure(&error),
            Err(_) => SendResult::Failed {
                status: None,
                error: format!("no answer within {} s", TIME_LIMIT.as_secs()),
                retry_after: None,
            },
        }
    }

    fn message(&self, prepared: &Prepared) -> Result<Message, String> {
        let address = prepared.taken.email.parse::<Address>();
        let address =
            address.map_err(|error| format!("the address of the account is not one of e-mail: {error}"))?;
        let message = Message::builder()
            .from(self.from.clone())
            .to(Mailbox::new(None, address))
            .subject(prepared.notice.title());
        let message = self.identified(message, prepared).header(ContentType::TEXT_PLAIN);
        let mut message = message.body(text(prepared)).map_err(|error| error.to_string())?;
        let automatic = HeaderName::new_from_ascii_str("Auto-Submitted");
        message.headers_mut().insert_raw(HeaderValue::new(automatic, "auto-generated".to_owned()));
        Ok(message)
    }

    /// With the same id for each try, so that a message that arrives twice is recognized.
    fn identified(&self, message: MessageBuilder, prepared: &Prepared) -> MessageBuilder {
        let first = prepared.taken.subjects.first().map(|subject| subject.notification.id);
        let id = first.map(|id| format!("<{id}@{}>", self.from.email.domain()));
        message.message_id(id)
    }
}

fn text(prepared: &Prepared) -> String {
    let mut text = prepared.notice.title();
    text.push_str(".\r\n");
    for line in prepared.notice.lines() {
        text.push_str("\r\n");
        text.push_str(&line);
    }
    for link in &prepared.links {
        // Writing into a text cannot fail.
        let _ = write!(text, "\r\n\r\n{}:\r\n{}", link.action.label(), link.url);
    }
    if let Some(console) = &prepared.console {
        let _ = write!(text, "\r\n\r\nConsole:\r\n{console}");
    }
    text.push_str("\r\n");
    text
}

/// An answer that there is no such receiver ends the channel.
fn failure(error: &Error) -> SendResult {
    let status = error.status().map(u16::from);
    let shown = error.to_string().chars().take(ERROR_CHARS).collect::<String>();
    match status {
        Some(code) if error.is_permanent() && NO_RECEIVER.contains(&code) => {
            SendResult::Refused { status, error: shown }
        }
        _ => SendResult::Failed { status, error: shown, retry_after: None },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_checked() {
        assert!(Mailer::check("smtp://127.0.0.1:2525", "Parlance <notify@example.org>").is_ok());
        assert!(Mailer::check("smtps://user:word@mail.example.org", "notify@example.org").is_ok());
        assert!(
            Mailer::check("smtp://user:word@mail.example.org?tls=required", "notify@example.org").is_ok()
        );
        let fault = |url: &str, from: &str| Mailer::check(url, from).err();
        for url in ["", "mail.example.org", "http://mail.example.org", "smtp://"] {
            assert!(matches!(fault(url, "notify@example.org"), Some(MailerFault::Url(_))), "{url}");
        }
        for url in
            ["smtp://user:word@mail.example.org", "smtp://user:word@mail.example.org?tls=opportunistic"]
        {
            assert!(matches!(fault(url, "notify@example.org"), Some(MailerFault::NotEncrypted)), "{url}");
        }
        for from in ["", "notify", "a@b.example\r\nBcc: c@d.example"] {
            assert!(matches!(fault("smtp://127.0.0.1", from), Some(MailerFault::From(_))), "{from:?}");
        }
    }
}
