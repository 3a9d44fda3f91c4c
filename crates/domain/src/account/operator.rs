//! The operator interface: who may use it, and the lists of all accounts that it shows.

use super::administration::{AdministrationService, SetDisabled, SetDisabledOutcome};
use super::agent::Agent;
use super::disconnect::AgentConnection;
use super::handle::{AgentHandle, UserHandle};
use super::key::KeyRecord;
use super::key_port::WhichKeys;
use super::scope::KeyScope;
use super::service::AccountService;
use super::user::User;
use crate::caller::UserCaller;
use crate::id::{ApiKeyId, ParticipantId, UserId};
use crate::page::{Page, PageRequest, Position};
use crate::store::StoreError;
use crate::text::NamePart;

/// The reason why a caller may not use the operator interface.
#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    /// The caller is not an administrator of the installation.
    #[error("the caller is not an administrator of the installation")]
    NotOperator,
    /// The key has limits.
    #[error("the key is limited")]
    LimitedKey,
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// An operator: a caller that [`AccountService::check_operator`] has accepted. The use cases of operators take it, so
/// that none of them runs for anybody else.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operator(UserId);

impl Operator {
    /// Checks the caller by the stored `user` and the scope of the credential.
    fn check(caller: UserCaller, user: Option<&User>, scope: KeyScope) -> Result<Self, OperatorError> {
        if !user.is_some_and(User::is_operator) {
            return Err(OperatorError::NotOperator);
        }
        if scope.is_full() { Ok(Self(caller.user)) } else { Err(OperatorError::LimitedKey) }
    }

    /// The user.
    pub const fn user(self) -> UserId {
        self.0
    }
}

/// The reason why an operator did not revoke a key.
#[derive(Debug, thiserror::Error)]
pub enum RevokeAnyKeyError {
    /// There is no such key, or it is already revoked.
    #[error("there is no such key")]
    NotFound,
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The reason why an operator did not disable or enable an account.
#[derive(Debug, thiserror::Error)]
pub enum SetDisabledError {
    /// There is no such user or agent.
    #[error("there is no such account")]
    NotFound(ParticipantId),
    /// The operator's own account: nobody might be left to enable it, and a disabled operator must not do so.
    #[error("operators cannot disable or enable themselves")]
    Own,
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl AccountService {
    /// Checks that the caller is an administrator of the installation who is not disabled, and that the credential has no
    /// limits. Reads the user from the store, so that no request of a disabled operator passes. A request that has already
    /// passed this check may still finish.
    pub async fn check_operator(
        &self,
        caller: UserCaller,
        scope: KeyScope,
    ) -> Result<Operator, OperatorError> {
        let user = self.accounts.find_user(caller.user).await?;
        Operator::check(caller, user.as_ref(), scope)
    }

    /// Revokes a key of anybody, for an operator.
    pub async fn revoke_key_by(
        &self,
        operator: Operator,
        key: ApiKeyId,
    ) -> Result<KeyRecord, RevokeAnyKeyError> {
        let revoked = self.revoke(WhichKeys::Id(key), operator.user().into()).await?;
        revoked.into_iter().next().ok_or(RevokeAnyKeyError::NotFound)
    }
}

impl AdministrationService {
    /// All users whose name or handle contains `name`, by handle; the position is the handle. Pages are by cursor only.
    pub async fn users(
        &self,
        _: Operator,
        name: Option<NamePart>,
        page: PageRequest,
    ) -> Result<Page<User>, StoreError> {
        let after = page.slice.after().map(|after| UserHandle::from_stored(after.text));
        let matches = |user: &User| is_named(name.as_ref(), &user.name.full(), user.handle.as_str());
        let batch = batch(name.as_ref(), &page);
        let mut found = Found::new(after, &page);
        while !found.is_full() {
            let rows = self.accounts.users_after(found.after.clone(), batch).await?;
            found.add(rows, batch, |user| user.handle.clone(), matches);
        }
        Ok(found.page(&page, |user| Position::by_text(user.handle.to_string())))
    }

    /// All agents whose name or handle contains `name`, by handle; the position is the handle. Pages are by cursor only.
    pub async fn agents(
        &self,
        _: Operator,
        name: Option<NamePart>,
        page: PageRequest,
    ) -> Result<Page<Agent>, StoreError> {
        let after = page.slice.after().map(|after| AgentHandle::from_stored(after.text));
        let matches = |agent: &Agent| is_named(name.as_ref(), agent.name.as_str(), agent.handle.as_str());
        let batch = batch(name.as_ref(), &page);
        let mut found = Found::new(after, &page);
        while !found.is_full() {
            let rows = self.accounts.agents_after(None, found.after.clone(), batch).await?;
            found.add(rows, batch, |agent| agent.handle.clone(), matches);
        }
        Ok(found.page(&page, |agent| Position::by_text(agent.handle.to_string())))
    }

    /// The users among these ids, and the agents, in no order; without deleted ones.
    pub async fn accounts_of(
        &self,
        _: Operator,
        of: &[ParticipantId],
    ) -> Result<(Vec<User>, Vec<Agent>), StoreError> {
        let users = of.iter().filter_map(|who| who.user()).collect::<Vec<_>>();
        let agents = of.iter().filter_map(|who| who.agent()).collect::<Vec<_>>();
        let users = if users.is_empty() { Vec::new() } else { self.accounts.users_of(users).await? };
        let agents = if agents.is_empty() { Vec::new() } else { self.accounts.agents_of(agents).await? };
        Ok((users, agents))
    }

    /// The connections of all agents that have ended, as far as they are kept, newest first; the position is (time,
    /// agent). Pages are by cursor only.
    pub async fn disconnects(
        &self,
        _: Operator,
        page: PageRequest,
    ) -> Result<Page<AgentConnection>, StoreError> {
        let before = page.slice.after();
        let rows = self.accounts.disconnects_before(before, page.slice.limit() + 1).await?;
        let position = |row: &AgentConnection| Position::at(row.connection.end.at.micros(), row.agent);
        Ok(Page::from_overfetch(rows, &page, None, position))
    }

    /// Disables or enables an account for an operator. An account that has the state already keeps it.
    pub async fn set_disabled_by(
        &self,
        operator: Operator,
        who: ParticipantId,
        disabled: bool,
    ) -> Result<(), SetDisabledError> {
        if who == ParticipantId::User(operator.user()) {
            return Err(SetDisabledError::Own);
        }
        let command = SetDisabled { who, by: operator.user().into(), disabled, now: self.clock.now() };
        match self.accounts.set_disabled(command).await? {
            SetDisabledOutcome::Done | SetDisabledOutcome::AlreadySo => Ok(()),
            SetDisabledOutcome::NotFound => Err(SetDisabledError::NotFound(who)),
        }
    }
}

/// The accounts that are read at once to search them: no index supports the search for a part of a name.
const SEARCHED_AT_ONCE: u32 = 1000;

fn batch(name: Option<&NamePart>, page: &PageRequest) -> u32 {
    if name.is_some() { SEARCHED_AT_ONCE } else { page.slice.limit() + 1 }
}

fn is_named(part: Option<&NamePart>, name: &str, handle: &str) -> bool {
    part.is_none_or(|part| part.is_in([name, handle]))
}

/// The rows of a page and one more, as they are found.
struct Found<H, R> {
    rows: Vec<R>,
    limit: usize,
    /// The handle of the last row that was read.
    after: Option<H>,
    is_end: bool,
}

impl<H, R> Found<H, R> {
    fn new(after: Option<H>, page: &PageRequest) -> Self {
        Self { rows: Vec::new(), limit: page.slice.limit() as usize + 1, after, is_end: false }
    }

    const fn is_full(&self) -> bool {
        self.is_end || self.rows.len() >= self.limit
    }

    fn add(&mut self, rows: Vec<R>, batch: u32, handle: impl Fn(&R) -> H, matches: impl Fn(&R) -> bool) {
        self.is_end = rows.len() < batch as usize;
        self.after = rows.last().map(handle);
        self.rows.extend(rows.into_iter().filter(matches));
        self.rows.truncate(self.limit);
    }

    fn page(self, page: &PageRequest, position: impl Fn(&R) -> Position) -> Page<R> {
        Page::from_overfetch(self.rows, page, None, position)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::account::{PersonName, UserRole, parse_person_name};
    use crate::id::OrganizationId;
    use crate::organization::OrganizationRole;
    use crate::page::Slice;
    use crate::time::Timestamp;

    fn user(role: UserRole, organization_role: OrganizationRole, is_disabled: bool) -> User {
        let now = Timestamp::from_micros(0);
        let name: PersonName = parse_person_name("Ann").expect("a name");
        User {
            id: UserId::new(Uuid::from_u128(1)),
            organization: OrganizationId::new(Uuid::from_u128(2)),
            organization_role,
            handle: UserHandle::from_stored("ann".to_owned()),
            email: "ann@example.org".to_owned(),
            name,
            role,
            created_at: now,
            updated_at: now,
            disabled_at: is_disabled.then_some(now),
        }
    }

    #[test]
    fn a_search_reads_on_until_a_page_is_full() {
        let page = PageRequest { slice: Slice::After { after: None, limit: 2 }, count: false };
        let name = NamePart::new("7");
        assert_eq!((batch(None, &page), batch(name.as_ref(), &page)), (3, SEARCHED_AT_ONCE));
        let search = |end: u32| {
            let mut found = Found::new(None, &page);
            let mut reads = 0;
            while !found.is_full() {
                let from = found.after.map_or(0, |after: u32| after + 1);
                found.add((from..end.min(from + 10)).collect(), 10, |row| *row, |row| row % 10 == 7);
                reads += 1;
            }
            (found.page(&page, |row| Position::by_text(row.to_string())), reads)
        };
        let (page, reads) = search(100);
        let next = page.next.map(|next| next.text);
        assert_eq!((page.rows, next, reads), (vec![7, 17], Some("17".to_owned()), 3));
        let (page, reads) = search(19);
        assert_eq!((page.rows, page.next, reads), (vec![7, 17], None, 2));
        let (page, reads) = search(20);
        assert_eq!((page.rows, page.next, reads), (vec![7, 17], None, 3), "the end is not known before");
    }

    #[test]
    fn only_enabled_administrators_with_full_credentials_are_operators() {
        use OrganizationRole::{Admin as OrganizationAdmin, Member};
        use UserRole::{Admin, User as Plain};
        let full = KeyScope::default();
        let limited = KeyScope { is_read_only: true, ..full };
        for (user, scope, expected) in [
            (Some(user(Admin, Member, false)), full, "operator"),
            (Some(user(Admin, OrganizationAdmin, false)), full, "operator"),
            (Some(user(Admin, OrganizationAdmin, false)), limited, "limited key"),
            (Some(user(Admin, OrganizationAdmin, true)), full, "no operator"),
            (Some(user(Admin, OrganizationAdmin, true)), limited, "no operator"),
            (Some(user(Plain, OrganizationAdmin, false)), full, "no operator"),
            (Some(user(Plain, Member, false)), full, "no operator"),
            (None, full, "no operator"),
        ] {
            let id = UserId::new(Uuid::from_u128(1));
            let caller = UserCaller { user: id, organization: OrganizationId::new(Uuid::from_u128(2)) };
            let found = match Operator::check(caller, user.as_ref(), scope) {
                Ok(operator) if operator.user() == id => "operator",
                Ok(_) => "somebody else",
                Err(OperatorError::NotOperator) => "no operator",
                Err(OperatorError::LimitedKey) => "limited key",
                Err(OperatorError::Store(_)) => "no store is asked",
            };
            assert_eq!(found, expected, "{user:?} {scope:?}");
        }
    }
}
