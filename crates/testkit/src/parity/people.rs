//! Users, agents, plans, and the time that passes.

use std::time::Duration;

use domain::account::{
    AgentBio, AgentChanges, AgentDescription, AgentListing, AgentMarks, AgentName, AgentSort, AgentTag,
    CreatePlatformAgent, CreateUser, InitialOrganization, KeyScope, ModelType, PersonNamePart,
    ProfileChanges, RegisterAgent, UserHandle, parse_email, parse_person_name,
};
use domain::caller::{AgentCaller, UserCaller};
use domain::chat::Role;
use domain::delivery::{Claims, MaxAttempts};
use domain::id::{ParticipantId, ParticipantKind};
use domain::message::DeadlineWalk;
use domain::organization::OrganizationRole;
use domain::page::Order;
use domain::peer::ListPeers;
use domain::plan::{AssignPlan, OrganizationName, Plan, PlanName, WhichOrganization};
use domain::ports::Clock;
use domain::text::NamePart;

use super::cast::{Cast, Made, next};
use super::{Act, Played, nothing, played};
use crate::{TestAgent, TestUser};

/// Parts of names to search for.
pub(super) const PARTS: [&str; 9] = ["bo", "B", "%", "_", "ü", "GR", "\\", "\0", ""];

impl Cast {
    /// The clock goes on; now and then by so much that what was asked or remembered expires, or a deadline
    /// passes.
    pub(super) fn wait(&mut self) -> Act {
        let hour = 3600;
        let seconds = self.rng.of(&[0, 1, 1, 20, 20, 90, hour, hour, 25 * hour, 24 * 31 * hour]);
        let micros = self.rng.of(&[0, 1, 999_999]);
        let passed = Duration::from_secs(seconds) + Duration::from_micros(micros);
        act!("wait", |world, passed| {
            world.clock.advance(passed);
            world.activity.expire(&*world.publisher);
            let expired = world.contacts.expire(world.clock.now()).await;
            let checked = world.messages.check_deadlines(&mut DeadlineWalk::default()).await.unwrap();
            played(expired.map(|expired| (expired, checked.missed, checked.failed.len())), nothing)
        })
    }

    pub(super) fn people(&mut self) -> Act {
        match self.rng.below(20) {
            0 if self.users.len() < 10 => {
                let handle = self.rng.of(&["user0", "User3", "user4", "user5", "user6", "user7", "user8"]);
                self.create_user(handle)
            }
            0 | 1 => self.update_profile(),
            2..7 => {
                let name = self.rng.of(&["Bot", "bot", "Bot 3", "Größe", "B o t", "!!!", "Zed"]);
                self.register_agent(name)
            }
            7 => self.create_platform_agent(),
            8..12 => self.update_agent(),
            12 | 13 => self.mark_agent(),
            14 => self.delete_agent(),
            15 => act_erase(),
            16 => self.come_online(),
            17 if self.rng.one_in(2) => act_count_bytes(),
            17 => self.configure_plans(),
            _ => self.assign_plan(),
        }
    }

    pub(super) fn create_user(&mut self, handle: &str) -> Act {
        let initial_organization = match self.rng.of(&[None, Some("Team"), Some("team"), Some("Other")]) {
            None => InitialOrganization::Own,
            Some(name) => {
                let role = self.rng.of(&[OrganizationRole::Admin, OrganizationRole::Member]);
                InitialOrganization::Named(OrganizationName::new(name).unwrap(), role)
            }
        };
        let address = if self.rng.one_in(5) { "USER0".to_owned() } else { handle.to_owned() };
        let command = CreateUser {
            handle: UserHandle::new(handle).unwrap(),
            email: parse_email(&format!("{address}@example.org")).unwrap(),
            name: parse_person_name(&format!("{} {}", self.line(), self.line())).unwrap(),
            initial_organization,
            plan: self.plan_name(10),
        };
        act!("create_user", |world, command| {
            let created = world.accounts.create_user(command).await;
            played(created, |created| {
                let (user, key) = (created.user, created.key.reveal().to_owned());
                let caller = UserCaller { user: user.id, organization: user.organization };
                let handle = user.handle.as_str().to_owned();
                vec![Made::User(TestUser { id: user.id, caller, key, handle })]
            })
        })
    }

    pub(super) fn register_agent(&mut self, name: &str) -> Act {
        let caller = self.user();
        let command = RegisterAgent {
            name: AgentName::new(name).unwrap(),
            description: AgentDescription::new("an agent that works").unwrap(),
        };
        act!("register_agent", |world, caller, command| {
            played(world.accounts.register_agent(caller, command).await, |made| {
                vec![agent(caller, &made.agent, made.key.reveal().to_owned())]
            })
        })
    }

    fn create_platform_agent(&mut self) -> Act {
        let caller = self.user();
        let command = CreatePlatformAgent {
            name: AgentName::new(&self.line()).unwrap(),
            description: None,
            model_type: ModelType::new("model").ok(),
        };
        act!("create_platform_agent", |world, caller, command| {
            played(world.accounts.create_platform_agent(caller, command).await, |made| {
                vec![agent(caller, &made, String::new())]
            })
        })
    }

    fn update_profile(&mut self) -> Act {
        let caller = self.user();
        let part = PersonNamePart::new(&self.line()).unwrap();
        let changes = ProfileChanges {
            first_name: self.rng.maybe(std::slice::from_ref(&part)),
            last_name: self.rng.maybe(&[None, Some(part)]),
        };
        act!("update_profile", |world, caller, changes| {
            played(world.accounts.update_profile(caller, changes).await, nothing)
        })
    }

    fn update_agent(&mut self) -> Act {
        let agent = self.some_agent();
        let caller = if self.rng.one_in(6) { self.user() } else { self.owner_of(&agent) };
        let (agent, line) = (agent.id, self.line());
        let (bio, model) = (AgentBio::new(&line).ok(), ModelType::new("other model").ok());
        let changes = AgentChanges {
            name: self.rng.maybe(&[AgentName::new(&line).unwrap(), AgentName::new("Bot").unwrap()]),
            description: None,
            model_type: self.rng.maybe(&[None, model]),
            bio: self.rng.maybe(&[None, bio]),
            tags: self.rng.maybe(&[Vec::new(), AgentTag::new("tag").into_iter().collect()]),
            listed_in_directory: self.rng.flag(),
            registry_access: self.rng.flag(),
            shared_with_organization: self.rng.flag(),
            foreign_access: self.rng.flag(),
            max_attempts: self.rng.maybe(&[None, MaxAttempts::new(2)]),
            claims: self.rng.maybe(&Claims::ALL),
            a2a: self.rng.flag(),
        };
        act!("update_agent", |world, caller, agent, changes| {
            played(world.accounts.update_agent(caller, agent, changes).await, nothing)
        })
    }

    fn mark_agent(&mut self) -> Act {
        let handle = self.handle();
        let marks = AgentMarks {
            is_global: self.rng.maybe(&[false, false, true]),
            shared_with_organization: self.rng.flag(),
            listed_in_directory: self.rng.flag(),
            max_attempts: self.rng.maybe(&[None, MaxAttempts::new(3)]),
            claims: self.rng.maybe(&Claims::ALL),
            a2a: self.rng.flag(),
        };
        act!("mark_agent", |world, handle, marks| {
            played(world.accounts.mark_agent(&handle, marks).await, nothing)
        })
    }

    fn delete_agent(&mut self) -> Act {
        let agent = self.some_agent();
        let caller = if self.rng.one_in(6) { self.user() } else { self.owner_of(&agent) };
        let (agent, force) = (agent.id, self.rng.one_in(2));
        act!("delete_agent", |world, caller, agent, force| {
            played(world.accounts.delete_agent(caller, agent, force).await, |_| {
                vec![Made::Gone(ParticipantId::Agent(agent))]
            })
        })
    }

    fn owner_of(&self, agent: &TestAgent) -> UserCaller {
        self.users.iter().find(|user| user.id == agent.caller.owner).unwrap().caller
    }

    fn come_online(&mut self) -> Act {
        let who = self.caller().participant();
        act!("come_online", |world, who| {
            world.presence.connect(who);
            Played { answer: String::new(), made: Vec::new() }
        })
    }

    /// Most often one that sets no limits.
    fn plan_name(&mut self, seldom: usize) -> PlanName {
        let name =
            if self.rng.one_in(seldom) { self.rng.of(&["small", "tiny", "none"]) } else { "enterprise" };
        PlanName::new(name).unwrap()
    }

    fn configure_plans(&mut self) -> Act {
        let limits = [None, Some(3), Some(8), Some(40)];
        let mut plan = |name: &str| Plan {
            name: PlanName::new(name).unwrap(),
            agents: self.rng.of(&limits),
            chats: self.rng.of(&limits),
            participants: self.rng.of(&limits),
            messages: self.rng.of(&limits),
            bytes: self.rng.of(&[None, Some(500), Some(20_000)]),
            human_interface: true,
            memories: true,
        };
        let mut plans = vec![plan("small"), plan("tiny")];
        plans.truncate(self.rng.of(&[1, 2, 2]));
        act!("configure_plans", |world, plans| played(world.plans.configure(plans).await, nothing))
    }

    fn assign_plan(&mut self) -> Act {
        let organization = match self.rng.below(4) {
            0 => WhichOrganization::Named(self.rng.of(&["Team", "team", "nobody's"]).to_owned()),
            1 => WhichOrganization::OfUser("nobody".to_owned()),
            _ => WhichOrganization::OfUser(self.rng.of(&self.users).handle),
        };
        let command = AssignPlan { organization, plan: self.plan_name(3) };
        act!("assign_plan", |world, command| played(world.plans.assign(command).await, nothing))
    }

    pub(super) fn read_people(&mut self) -> Act {
        match self.rng.below(12) {
            0 => {
                let key = if self.rng.one_in(2) { self.some_agent().key } else { "thnv_u_0".to_owned() };
                act!("authenticate", |world, key| played(world.accounts.authenticate(&key).await, nothing))
            }
            1 => {
                let (caller, agent) = (self.caller(), self.some_agent().id);
                act!("act_as", |world, caller, agent| played(
                    world.accounts.act_as(caller, KeyScope::default(), agent).await,
                    nothing
                ))
            }
            2 => {
                let caller = self.user();
                act!("profile", |world, caller| {
                    let standing = world.stores.accounts.find_account_status(caller.user).await;
                    played(
                        world.accounts.profile(caller).await.and_then(|user| Ok((user, standing?))),
                        nothing,
                    )
                })
            }
            3 => {
                let caller = self.agent();
                act!("agent_record", |world, caller| played(
                    world.accounts.agent_record(caller).await,
                    nothing
                ))
            }
            4 => {
                let all = ();
                act!("plans", |world, all| {
                    let () = all;
                    let organizations = world.plans.organizations().await;
                    played(world.plans.list().await.and_then(|plans| Ok((plans, organizations?))), nothing)
                })
            }
            5..8 => self.list_agents(),
            8..11 => self.list_peers(),
            _ => {
                let name = self.rng.maybe(&PARTS).and_then(NamePart::new);
                let (caller, page) = (self.caller(), self.page("directory"));
                act!("directory", |world, caller, name, page| {
                    played(world.peers.directory(caller, name, page).await, next("directory"))
                })
            }
        }
    }

    fn list_agents(&mut self) -> Act {
        let sort = self.rng.of(&[AgentSort::Created, AgentSort::Name, AgentSort::Updated]);
        let list = match sort {
            AgentSort::Created => "agents by age",
            AgentSort::Name => "agents by name",
            AgentSort::Updated => "agents by change",
        };
        let listing = AgentListing {
            name: self.rng.maybe(&PARTS).and_then(NamePart::new),
            is_external: self.rng.maybe(&[true, true, false]),
            listed_in_directory: self.rng.flag(),
            sort,
            order: self.rng.of(&[Order::Ascending, Order::Descending]),
        };
        let (caller, page) = (self.user(), self.page(list));
        act!("list_agents", |world, caller, listing, page| {
            played(world.accounts.list_agents(caller, listing, page).await, next(list))
        })
    }

    fn list_peers(&mut self) -> Act {
        let chat = self.chat();
        let wanted = ListPeers {
            not_in_chat: self.rng.maybe(&[chat]),
            kind: self.rng.maybe(&[ParticipantKind::User, ParticipantKind::Agent]),
            name: self.rng.maybe(&PARTS).and_then(NamePart::new),
        };
        let (caller, page) = (self.member(chat), self.page("peers"));
        act!("list_peers", |world, caller, wanted, page| {
            played(world.peers.list(caller, wanted, page).await, next("peers"))
        })
    }

    pub(super) fn role(&mut self) -> Role {
        self.rng.of(&[Role::Member, Role::Member, Role::Member, Role::Admin, Role::Owner])
    }
}

/// The counts that plans are checked against; their sum is compared.
fn act_count_bytes() -> Act {
    let all = ();
    act!("count_bytes", |world, all| {
        let () = all;
        played(world.plans.count_bytes().await, nothing)
    })
}

fn act_erase() -> Act {
    let all = ();
    act!("erase", |world, all| {
        let () = all;
        played(world.accounts.erase_some().await, nothing)
    })
}

fn agent(owner: UserCaller, made: &domain::account::Agent, key: String) -> Made {
    let caller = AgentCaller {
        agent: made.id,
        owner: owner.user,
        organization: owner.organization,
        claims: Claims::Exclusive,
    };
    Made::Agent(TestAgent { id: made.id, caller, key, handle: made.handle.as_str().to_owned() })
}
