//! Configurations of push notifications as rows. Compiled into each store, whose tables it names.

use diesel::prelude::*;
use domain::id::{
    AgentId, ApiKeyId, ChatId, MessageId, OrganizationId, PushConfigId, Sequence, SessionId, UserId,
};
use domain::push::{
    DuePush, Known, PushAuthentication, PushConfig, PushCredential, PushEnd, PushName, PushSecret,
    PushTarget, PushTask,
};
use domain::webhook::{WebhookOwner, WebhookUrl};
use uuid::Uuid;

use crate::error::Fault;
use crate::row::{self, At, Id};
use crate::schema::push_configs;

#[derive(Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = push_configs, treat_none_as_null = true)]
pub(super) struct PushConfigRow {
    pub(super) id: Id,
    chat_id: Id,
    message_id: Id,
    agent_id: Id,
    name: String,
    caller_kind: String,
    caller_id: Id,
    user_id: Id,
    key_id: Option<Id>,
    session_id: Option<Id>,
    url: String,
    token: Option<String>,
    scheme: Option<String>,
    credentials: Option<String>,
    sent: Option<i64>,
    state: Option<String>,
    ended_at: Option<At>,
    is_final: bool,
    created_at: At,
    news_at: At,
    attempts: i32,
    failures: i32,
    failing_since: Option<At>,
    error: Option<String>,
    next_at: At,
    leased_until: Option<At>,
}

impl PushConfigRow {
    pub(super) fn of(config: &PushConfig) -> Self {
        let count = |number| i32::try_from(number).unwrap_or(i32::MAX);
        let secret = |secret: &PushSecret| secret.reveal().to_owned();
        let PushTarget { url, token, authentication } = &config.target;
        let authentication = authentication.as_ref();
        Self {
            id: Id(config.id.uuid()),
            chat_id: Id(config.task.chat.uuid()),
            message_id: Id(config.task.first.uuid()),
            agent_id: Id(config.task.agent.uuid()),
            name: config.name.as_str().to_owned(),
            caller_kind: config.caller.kind().as_str().to_owned(),
            caller_id: Id(config.caller.uuid()),
            user_id: Id(config.user.uuid()),
            key_id: config.credential.key.map(|key| Id(key.uuid())),
            session_id: config.credential.session.map(|session| Id(session.uuid())),
            url: url.as_str().to_owned(),
            token: token.as_ref().map(secret),
            scheme: authentication.map(|given| given.scheme.clone()),
            credentials: authentication.and_then(|given| given.credentials.as_ref()).map(secret),
            sent: config.known.as_ref().map(|known| known.sequence.get()),
            state: config.known.as_ref().map(|known| known.state.clone()),
            ended_at: config.ended.map(|end| At(end.at)),
            is_final: config.ended.is_some_and(|end| end.is_final),
            created_at: At(config.created_at),
            news_at: At(config.news_at),
            attempts: count(config.attempts),
            failures: count(config.failures),
            failing_since: config.failing_since.map(At),
            error: config.error.clone(),
            next_at: At(config.next_at),
            leased_until: config.leased_until.map(At),
        }
    }

    pub(super) fn into_config(self) -> Result<PushConfig, Fault> {
        let credentials = self.credentials.map(PushSecret::checked);
        let known = |(sequence, state)| Known { sequence: Sequence::new(sequence), state };
        let is_final = self.is_final;
        Ok(PushConfig {
            id: PushConfigId::new(self.id.0),
            task: PushTask {
                chat: ChatId::new(self.chat_id.0),
                first: MessageId::new(self.message_id.0),
                agent: AgentId::new(self.agent_id.0),
            },
            name: PushName::checked(self.name),
            caller: row::participant_id(&self.caller_kind, self.caller_id.0)?,
            user: UserId::new(self.user_id.0),
            credential: PushCredential {
                key: self.key_id.map(|id| ApiKeyId::new(id.0)),
                session: self.session_id.map(|id| SessionId::new(id.0)),
            },
            target: PushTarget {
                url: WebhookUrl::checked(self.url),
                token: self.token.map(PushSecret::checked),
                authentication: self.scheme.map(|scheme| PushAuthentication { scheme, credentials }),
            },
            known: self.sent.zip(self.state).map(known),
            ended: self.ended_at.map(|At(at)| PushEnd { at, is_final }),
            created_at: self.created_at.0,
            news_at: self.news_at.0,
            attempts: self.attempts.unsigned_abs(),
            failures: self.failures.unsigned_abs(),
            failing_since: self.failing_since.map(|at| at.0),
            error: self.error,
            next_at: self.next_at.0,
            leased_until: self.leased_until.map(|at| at.0),
        })
    }
}

/// What is due and on no lease: the first ones of each user, then the second ones, and so on. The values are the time, twice,
/// the number of each user, and that of all.
pub(super) const DUE: &str = "SELECT due.id, due.user_id, users.organization_id FROM (\
     SELECT id, user_id, next_at, row_number() OVER (PARTITION BY user_id ORDER BY next_at) AS place \
     FROM push_configs WHERE next_at <= ? AND (leased_until IS NULL OR leased_until <= ?)) AS due \
     JOIN users ON users.id = due.user_id WHERE due.place <= ? ORDER BY due.place, due.next_at LIMIT ?";

pub(super) fn due((id, user, organization): (Uuid, Uuid, Uuid)) -> DuePush {
    let owner = WebhookOwner { user: UserId::new(user), organization: OrganizationId::new(organization) };
    DuePush { id: PushConfigId::new(id), owner }
}
