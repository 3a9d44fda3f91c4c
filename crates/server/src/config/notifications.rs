//! The settings of notifications to users.

use std::fmt;

use domain::login::Registration;
use notifications::{Mailer, MailerFault};

use super::key::Key;
use super::parse;
use super::values::Values;

/// How e-mail is sent.
#[derive(Clone, PartialEq, Eq)]
pub struct EmailConfig {
    /// The URL of the SMTP server, with its credentials.
    pub url: String,
    /// The sender.
    pub from: String,
}

impl fmt::Debug for EmailConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EmailConfig({} from {})", without_login(&self.url), self.from)
    }
}

/// The settings; `None` if no e-mail is sent.
pub(super) fn read(values: &mut Values) -> Option<EmailConfig> {
    values.section("Notifications");
    let url = Key::text(
        "smtp_url",
        "URL",
        "none, no email is sent",
        "SMTP server for notifications by email: `smtps://USER:PASSWORD@HOST`, \
         `smtp://USER:PASSWORD@HOST?tls=required` for STARTTLS, or `smtp://HOST:PORT` without encryption and credentials. \
         See [notifications.md](notifications.md).",
    );
    let from = Key::text(
        "smtp_from",
        "ADDRESS",
        "none",
        "Sender of notifications by email, such as `Parlance <parlance@example.org>`. Required with `smtp_url`.",
    );
    let url = values.optional(url.secret(without_login), parse::text);
    let from = values.optional(from, parse::text);
    let (url, from) = match (url, from) {
        (Some(url), Some(from)) => (url, from),
        (Some(_), None) => {
            values.refuse("smtp_from", "is required with smtp_url".to_owned());
            return None;
        }
        (None, _) => return None,
    };
    match Mailer::check(&url, &from) {
        Ok(()) => {}
        Err(MailerFault::Url(_)) => {
            let problem = "is not a URL such as smtps://USER:PASSWORD@HOST, or smtp://HOST:PORT";
            values.refuse("smtp_url", problem.to_owned());
        }
        Err(MailerFault::NotEncrypted) => {
            let problem = "has credentials, which need smtps:// or ?tls=required";
            values.refuse("smtp_url", problem.to_owned());
        }
        Err(MailerFault::From(_)) => {
            values
                .refuse("smtp_from", "is not an address such as Parlance <parlance@example.org>".to_owned());
        }
    }
    Some(EmailConfig { url, from })
}

/// Refuses e-mail to addresses that nobody has checked.
pub(super) fn check_registration(
    values: &mut Values,
    email: Option<&EmailConfig>,
    registration: Registration,
) {
    if email.is_some() && registration == Registration::Open {
        let problem = "cannot be set while registration is open, since anybody could register with the address of somebody \
                       else and have mail sent to it";
        values.refuse("smtp_url", problem.to_owned());
    }
}

/// The URL without the user name and the password.
fn without_login(url: &str) -> String {
    match url.split_once("://") {
        Some((scheme, rest)) => {
            let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
            format!("{scheme}://{host}")
        }
        None => "(hidden)".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::with_file;
    use super::*;

    #[test]
    fn email_needs_a_server_and_a_sender() {
        let from = "Parlance <parlance@example.org>";
        for (url, from, faults) in [
            ("smtp://127.0.0.1:2525", from, 0),
            ("smtps://u:secret@mail.example.org", "parlance@example.org", 0),
            ("smtp://u:secret@mail.example.org?tls=required", from, 0),
            ("smtp://u:secret@mail.example.org", from, 1),
            ("mail.example.org", from, 1),
            ("smtp://127.0.0.1", "nobody", 1),
        ] {
            let found = with_file(&[], &[("PARLANCE_SMTP_URL", url), ("PARLANCE_SMTP_FROM", from)], "");
            assert_eq!(found.faults.len(), faults, "{url} {from}: {:?}", found.faults);
            assert!(!format!("{:?}", found.faults).contains("secret"));
        }
        assert_eq!(with_file(&[], &[("PARLANCE_SMTP_URL", "smtp://127.0.0.1")], "").faults.len(), 1);
        assert_eq!(with_file(&[], &[], "").config.email, None);
        assert_eq!(without_login("smtps://u:sec@ret@mail.example.org:465"), "smtps://mail.example.org:465");
        assert_eq!(without_login("u:secret"), "(hidden)");
    }
}
