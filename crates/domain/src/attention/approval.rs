//! Approval requests: texts with which the published adapters ask a human whether a tool may run.
//!
//! The adapters of band-sdk 6.0.1 post ordinary texts, and parse the replies. Each row of the table is the template of
//! one adapter, and the words that it understands. A client test runs the adapters against it. Pure.

use std::time::Duration;

use crate::words::words;

words! {
    /// An adapter that asks.
    Adapter {
        /// `band.adapters.codex`.
        Codex = "codex",
        /// `band.adapters.claude_sdk`.
        Claude = "claude",
        /// `band.adapters.opencode`.
        OpenCode = "opencode",
    }

    /// The decision on an approval request, or on a contact request.
    Decision {
        /// Yes.
        Approve = "approve",
        /// Yes, and to all similar requests of the session.
        ApproveSession = "approve_session",
        /// No.
        Decline = "decline",
    }
}

/// The time for which the adapters wait by default.
pub const WAIT: Duration = Duration::from_secs(300);

/// The maximum length of a token in bytes.
const MAX_TOKEN_BYTES: usize = 100;

/// The texts of an adapter; `{}` stands for the token.
struct Template {
    adapter: Adapter,
    /// The beginning of a request. Its end names the token.
    opening: &'static str,
    ending: &'static str,
    /// The beginning of the text that tells that a request is settled, and that of one that has timed out.
    settled: &'static str,
    timed_out: &'static str,
    replies: &'static [(Decision, &'static str)],
}

/// The table. Requests of two adapters begin alike, and differ in their endings.
const TEMPLATES: [Template; 3] = [
    Template {
        adapter: Adapter::Codex,
        opening: "Approval requested (",
        ending: "). Approval id: `{}`. Reply `/approve {}` or `/decline {}` or `/approve-session {}` \
                 (approve all similar for this session). Use `/approvals` to list pending approvals.",
        settled: "Approval `{}` resolved as ",
        timed_out: "Approval `{}` timed out.",
        replies: &[
            (Decision::Approve, "/approve {}"),
            (Decision::ApproveSession, "/approve-session {}"),
            (Decision::Decline, "/decline {}"),
        ],
    },
    Template {
        adapter: Adapter::Claude,
        opening: "Approval requested (",
        ending: "). Token: `{}`.\nReply `/approve {}` or `/decline {}`.\nUse `/approvals` to list pending approvals.",
        settled: "Approval `{}` resolved as ",
        timed_out: "Approval `{}` timed out.",
        replies: &[(Decision::Approve, "/approve {}"), (Decision::Decline, "/decline {}")],
    },
    Template {
        adapter: Adapter::OpenCode,
        opening: "OpenCode approval requested for `",
        ending: "). Reply with `approve {}`, `always {}`, or `reject {}`.",
        settled: "OpenCode approval `{}` handled with ",
        timed_out: "OpenCode approval `{}` timed out and was handled with ",
        replies: &[
            (Decision::Approve, "approve {}"),
            (Decision::ApproveSession, "always {}"),
            (Decision::Decline, "reject {}"),
        ],
    },
];

/// The mark of a token in a template.
const MARK: &str = "{}";

/// What a text of an agent says about approvals.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Said {
    /// It asks for one.
    Requested {
        /// The adapter.
        adapter: Adapter,
        /// What the adapter calls the request.
        token: String,
    },
    /// A request was settled.
    Settled {
        /// Its token.
        token: String,
        /// Set if nobody replied in time.
        has_timed_out: bool,
    },
}

/// Reads a stored text of an agent.
pub fn said(content: &str) -> Option<Said> {
    let text = without_mentions(content).trim_end();
    // Nearly every text ends here.
    if !text.starts_with("Approval ") && !text.starts_with("OpenCode approval ") {
        return None;
    }
    TEMPLATES.iter().find_map(|template| template.said(text))
}

/// The token in a reply to a request, and the adapters that understand the reply: a word for the decision, and the token. Not
/// all adapters take more.
pub fn replied(content: &str) -> Option<(&str, Vec<Adapter>)> {
    let mut words = without_mentions(content).split_whitespace();
    let (Some(word), Some(token), None) = (words.next(), words.next(), words.next()) else { return None };
    let is_meant = |reply: &str| {
        let meant = reply.trim_end_matches(MARK).trim_end();
        meant.eq_ignore_ascii_case(word)
    };
    if token.len() > MAX_TOKEN_BYTES {
        return None;
    }
    let takes = |template: &&Template| template.replies.iter().any(|(_, reply)| is_meant(reply));
    let adapters = TEMPLATES.iter().filter(takes).map(|template| template.adapter).collect::<Vec<_>>();
    (!adapters.is_empty()).then_some((token, adapters))
}

impl Adapter {
    /// The decisions that it understands.
    pub fn decisions(self) -> impl Iterator<Item = Decision> {
        let own = TEMPLATES.iter().filter(move |template| template.adapter == self);
        own.flat_map(|template| template.replies).map(|(decision, _)| *decision)
    }

    /// The text that tells it the decision; `None` if it does not understand it.
    pub fn reply(self, decision: Decision, token: &str) -> Option<String> {
        let mut own = TEMPLATES.iter().filter(|template| template.adapter == self);
        let (_, reply) =
            own.find_map(|template| template.replies.iter().find(|(one, _)| *one == decision))?;
        Some(reply.replace(MARK, token))
    }
}

impl Template {
    fn said(&self, text: &str) -> Option<Said> {
        if text.starts_with(self.opening) {
            let token = self.requested(text)?;
            return Some(Said::Requested { adapter: self.adapter, token: token.to_owned() });
        }
        let token = |pattern: &str| {
            let (before, after) = pattern.split_once(MARK)?;
            let (token, rest) = text.strip_prefix(before)?.split_once('`')?;
            (is_token(token) && rest.starts_with(after.strip_prefix('`')?)).then(|| token.to_owned())
        };
        let settled = token(self.settled).map(|token| Said::Settled { token, has_timed_out: false });
        settled.or_else(|| Some(Said::Settled { token: token(self.timed_out)?, has_timed_out: true }))
    }

    /// The token of a request. What is asked for can contain anything, even another ending, so the last one counts.
    fn requested<'t>(&self, text: &'t str) -> Option<&'t str> {
        let (before, _) = self.ending.split_once(MARK)?;
        let start = text.rfind(before)?;
        let token = text[start + before.len()..].split('`').next()?;
        (is_token(token) && text[start..] == self.ending.replace(MARK, token)).then_some(token)
    }
}

fn is_token(text: &str) -> bool {
    (1..=MAX_TOKEN_BYTES).contains(&text.len()) && !text.contains(char::is_whitespace)
}

/// The text without the mentions in front of it, as the adapters read it.
fn without_mentions(mut text: &str) -> &str {
    loop {
        text = text.trim_start();
        if !text.starts_with('@') {
            return text;
        }
        let Some(end) = text.find(char::is_whitespace) else { return text };
        text = &text[end..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARKER: &str = "@[[6f1c9f0e-1b1a-4c2e-9d50-000000000000]] ";

    /// As the adapters of band-sdk 6.0.1 write them.
    const CODEX: &str = "Approval requested (command: rm -rf build). Approval id: `d-1`. Reply `/approve d-1` or `/decline d-1` or \
         `/approve-session d-1` (approve all similar for this session). Use `/approvals` to list pending approvals.";
    const CLAUDE: &str = "Approval requested (Bash: `ls`). Token: `a-12`.\nReply `/approve a-12` or `/decline a-12`.\n\
         Use `/approvals` to list pending approvals.";
    const OPEN_CODE: &str = "OpenCode approval requested for `bash` (rm *). Reply with `approve per_9`, `always per_9`, or `reject per_9`.";

    fn requested(adapter: Adapter, token: &str) -> Said {
        Said::Requested { adapter, token: token.to_owned() }
    }

    fn settled(token: &str, has_timed_out: bool) -> Said {
        Said::Settled { token: token.to_owned(), has_timed_out }
    }

    #[test]
    fn requests_of_each_adapter_are_recognized() {
        for (text, adapter, token) in [
            (CODEX, Adapter::Codex, "d-1"),
            (CLAUDE, Adapter::Claude, "a-12"),
            (OPEN_CODE, Adapter::OpenCode, "per_9"),
        ] {
            assert_eq!(said(text), Some(requested(adapter, token)), "{text}");
            assert_eq!(said(&format!("{MARKER}{text}\n")), Some(requested(adapter, token)), "{text}");
            assert_eq!(said(&format!("Look: {text}")), None);
            assert_eq!(said(&text[..text.len() - 3]), None, "a part of {text}");
        }
    }

    #[test]
    fn what_is_asked_for_can_contain_another_request() {
        let nested = CLAUDE.replace("Bash: `ls`", CODEX);
        assert_eq!(said(&nested), Some(requested(Adapter::Claude, "a-12")));
        let forged = CLAUDE.replace("`/decline a-12`", "`/decline a-13`");
        assert_eq!(said(&forged), None, "its tokens differ");
    }

    #[test]
    fn what_is_settled_is_recognized() {
        for (text, expected) in [
            ("Approval `a-1` resolved as **accept**.", Some(settled("a-1", false))),
            ("Approval `d-1` resolved as `decline`.", Some(settled("d-1", false))),
            ("Approval `a-1` timed out. Decision: **decline**.", Some(settled("a-1", true))),
            ("Approval `d-1` timed out. Applied `decline`.", Some(settled("d-1", true))),
            ("OpenCode approval `per_9` handled with `once`.", Some(settled("per_9", false))),
            (
                "OpenCode approval `per_9` timed out and was handled with `reject`.",
                Some(settled("per_9", true)),
            ),
            ("Approval requested (ls). Policy decision: accept.", None),
            ("Approval `a 1` resolved as **accept**.", None),
            ("Approval is what I need.", None),
        ] {
            assert_eq!(said(&format!("{MARKER}{text}")), expected, "{text}");
        }
    }

    #[test]
    fn replies_are_those_that_the_adapters_parse() {
        use Decision::{Approve, ApproveSession, Decline};
        for (adapter, decision, reply) in [
            (Adapter::Codex, Approve, Some("/approve t")),
            (Adapter::Codex, ApproveSession, Some("/approve-session t")),
            (Adapter::Codex, Decline, Some("/decline t")),
            (Adapter::Claude, Approve, Some("/approve t")),
            (Adapter::Claude, ApproveSession, None),
            (Adapter::Claude, Decline, Some("/decline t")),
            (Adapter::OpenCode, Approve, Some("approve t")),
            (Adapter::OpenCode, ApproveSession, Some("always t")),
            (Adapter::OpenCode, Decline, Some("reject t")),
        ] {
            assert_eq!(adapter.reply(decision, "t").as_deref(), reply, "{adapter:?} {decision:?}");
            assert_eq!(adapter.decisions().any(|one| one == decision), reply.is_some());
            if let Some(reply) = reply {
                let typed = format!("{MARKER}{reply}");
                let (token, adapters) = replied(&typed).unwrap();
                assert_eq!((token, adapters.contains(&adapter)), ("t", true), "{reply}");
            }
        }
        let understood = |reply| replied(reply).unwrap().1;
        assert_eq!(
            replied("@ann/bot @ben /APPROVE a-1"),
            Some(("a-1", vec![Adapter::Codex, Adapter::Claude]))
        );
        assert_eq!(understood("/approve-session a-1"), [Adapter::Codex]);
        assert_eq!(understood("approve a-1"), [Adapter::OpenCode]);
        for none in [
            "/approve",
            "/approve a-1 please",
            "don't /approve a-1",
            "/approvals a-1",
            "",
            "@ann/bot",
            "/status x",
        ] {
            assert_eq!(replied(none), None, "{none}");
        }
    }
}
