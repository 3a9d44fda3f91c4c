//! Permissions to read and change memories. Pure; the stores call it inside the read or the write.

use super::kind::MemoryScope;
use crate::caller::Caller;

/// The relation of a caller to a memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryReader {
    /// The caller.
    pub caller: Caller,
    /// Set if the memory belongs to the caller's organization.
    pub same_organization: bool,
    /// Set if the caller stored it, or owns the agent that did.
    pub is_source: bool,
    /// Set if it is about the caller.
    pub is_subject: bool,
    /// Set if the caller shares a chat with its subject or its source.
    pub shares_chat: bool,
}

/// The reason for a refusal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// The caller may not know of the memory.
    NotFound,
    /// The caller may know of it, but has no permission.
    Forbidden,
}

impl MemoryReader {
    /// Decides whether the caller may read a memory of this scope. Memories of other organizations
    /// are not found. Within the organization, an agent does not learn that one exists; a human
    /// does.
    pub fn may_read(&self, scope: MemoryScope) -> Result<(), Refused> {
        let shared = scope != MemoryScope::Agent;
        match self.caller {
            Caller::Agent(_) if self.same_organization && (self.is_source || shared) => Ok(()),
            Caller::Agent(_) => Err(Refused::NotFound),
            Caller::User(_) if !self.same_organization => Err(Refused::NotFound),
            Caller::User(_) if self.is_source || self.is_subject => Ok(()),
            Caller::User(_) if scope == MemoryScope::Organization => Ok(()),
            Caller::User(_) if shared && self.shares_chat => Ok(()),
            Caller::User(_) => Err(Refused::Forbidden),
        }
    }

    /// Decides whether the caller may change it: the agent that stored it; a human who is its
    /// subject, and for a private one the owner of that agent.
    pub fn may_change(&self, scope: MemoryScope) -> Result<(), Refused> {
        self.may_read(scope)?;
        let may = match self.caller {
            Caller::Agent(_) => self.is_source,
            Caller::User(_) => self.is_subject || (self.is_source && scope == MemoryScope::Agent),
        };
        if may { Ok(()) } else { Err(Refused::Forbidden) }
    }
}

#[cfg(test)]
mod tests {
    use super::MemoryScope::{Agent, Organization, Subject};
    use super::*;
    use crate::caller::{AgentCaller, UserCaller};
    use crate::id::{AgentId, OrganizationId, UserId};
    use uuid::Uuid;

    const HOUSE: OrganizationId = OrganizationId::new(Uuid::from_u128(1));
    const ANN: UserId = UserId::new(Uuid::from_u128(2));

    fn agent() -> MemoryReader {
        let caller = AgentCaller {
            agent: AgentId::new(Uuid::from_u128(3)),
            owner: ANN,
            organization: HOUSE,
            claims: crate::delivery::Claims::Shared,
        };
        of(caller.into())
    }

    fn human() -> MemoryReader {
        of(UserCaller { user: ANN, organization: HOUSE }.into())
    }

    fn of(caller: Caller) -> MemoryReader {
        MemoryReader {
            caller,
            same_organization: true,
            is_source: false,
            is_subject: false,
            shares_chat: false,
        }
    }

    #[test]
    fn agents_read_what_is_shared_and_change_their_own() {
        for scope in [Subject, Organization] {
            assert_eq!(agent().may_read(scope), Ok(()));
            assert_eq!(agent().may_change(scope), Err(Refused::Forbidden));
        }
        assert_eq!(agent().may_read(Agent), Err(Refused::NotFound));
        assert_eq!(agent().may_change(Agent), Err(Refused::NotFound));
        let own = MemoryReader { is_source: true, ..agent() };
        for scope in [Agent, Subject, Organization] {
            assert_eq!((own.may_read(scope), own.may_change(scope)), (Ok(()), Ok(())));
        }
        let foreign = MemoryReader { same_organization: false, ..agent() };
        assert_eq!(foreign.may_read(Organization), Err(Refused::NotFound));
    }

    #[test]
    fn humans_read_what_concerns_them_and_change_what_is_about_them() {
        assert_eq!(human().may_read(Organization), Ok(()));
        assert_eq!(human().may_change(Organization), Err(Refused::Forbidden));
        for scope in [Agent, Subject] {
            assert_eq!(human().may_read(scope), Err(Refused::Forbidden));
            let about = MemoryReader { is_subject: true, ..human() };
            assert_eq!((about.may_read(scope), about.may_change(scope)), (Ok(()), Ok(())));
        }
        let owner = MemoryReader { is_source: true, ..human() };
        assert_eq!((owner.may_read(Agent), owner.may_change(Agent)), (Ok(()), Ok(())));
        for scope in [Subject, Organization] {
            assert_eq!((owner.may_read(scope), owner.may_change(scope)), (Ok(()), Err(Refused::Forbidden)));
            let about = MemoryReader { is_subject: true, ..owner };
            assert_eq!(about.may_change(scope), Ok(()));
        }
        let room_mate = MemoryReader { shares_chat: true, ..human() };
        assert_eq!(room_mate.may_read(Subject), Ok(()));
        assert_eq!(room_mate.may_change(Subject), Err(Refused::Forbidden));
        assert_eq!(room_mate.may_read(Agent), Err(Refused::Forbidden));
        let foreign = MemoryReader { same_organization: false, is_subject: true, ..human() };
        for scope in [Agent, Subject, Organization] {
            assert_eq!(foreign.may_read(scope), Err(Refused::NotFound));
            assert_eq!(foreign.may_change(scope), Err(Refused::NotFound));
        }
    }
}
