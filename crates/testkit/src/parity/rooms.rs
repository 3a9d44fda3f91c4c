//! Rooms, and who is in them.

use domain::chat::{
    AddParticipantCommand, ChatChanges, ChatKind, ChatListing, ChatParts, ChatSort, ChatStatus, ChatTitle,
    CreateChat, ReadMark, ReadingChange,
};
use domain::id::TaskId;
use domain::message::{MaxHops, RespondWithin};
use domain::organization::PauseReason;
use domain::page::Order;
use uuid::Uuid;

use super::cast::{Cast, Made, next};
use super::{Act, nothing, played};

impl Cast {
    pub(super) fn rooms(&mut self) -> Act {
        match self.rng.below(20) {
            0..2 => self.create_chat(),
            2..14 => self.add_participant(),
            14..17 => self.remove_participant(),
            17 => self.rename(),
            18 => match self.rng.below(3) {
                0 => self.stop_or_play(),
                1 => self.pause_or_resume(),
                _ => self.set_participant_role(),
            },
            _ => match self.rng.below(4) {
                0 => self.rename(),
                1 => self.delete_chat(),
                _ => self.mark_read(),
            },
        }
    }

    pub(super) fn create_chat(&mut self) -> Act {
        let (caller, once) = (self.caller(), self.once());
        let title = self.rng.of(&["", "", "A plan", "Über \u{1F600}"]);
        let command = CreateChat {
            title: ChatTitle::given(Some(title)).unwrap(),
            task_id: self.rng.maybe(&[TaskId::new(Uuid::from_u128(5))]),
            kind: self.rng.of(&[ChatKind::Direct, ChatKind::Group, ChatKind::Task]),
        };
        act!("create_chat", |world, caller, command, once| {
            played(world.chats.create_once(caller, command, once).await, |chat| {
                vec![Made::Chat(chat.id, caller.participant())]
            })
        })
    }

    fn add_participant(&mut self) -> Act {
        let chat = self.chat();
        let caller = self.member(chat);
        let command = AddParticipantCommand { candidate: self.companion(caller), role: self.role() };
        act!("add_participant", |world, caller, chat, command| {
            played(world.chats.add_participant(caller, chat, command).await, |participant| {
                vec![Made::Member(chat, participant.id)]
            })
        })
    }

    fn remove_participant(&mut self) -> Act {
        let chat = self.chat();
        let (caller, target) = (self.member(chat), self.member(chat).participant());
        act!("remove_participant", |world, caller, chat, target| {
            played(world.chats.remove_participant(caller, chat, target).await, |participant| {
                vec![Made::Left(chat, participant.id)]
            })
        })
    }

    fn rename(&mut self) -> Act {
        let chat = self.chat();
        let (caller, title) = (self.member(chat), ChatTitle::renamed(&self.line()).unwrap());
        let respond_within = self.rng.maybe(&[None, RespondWithin::new(60)]);
        let max_hops = self.rng.maybe(&[None, MaxHops::new(2)]);
        let changes = ChatChanges { title: self.rng.maybe(&[title]), respond_within, max_hops };
        act!("rename", |world, caller, chat, changes| {
            played(world.chats.rename(caller, chat, changes).await, nothing)
        })
    }

    fn mark_read(&mut self) -> Act {
        let (chat, message) = self.message();
        let caller = self.member_user(chat);
        if self.rng.one_in(4) {
            return act!("mark_all_read", |world, caller| {
                played(world.chats.mark_all_read(caller).await, nothing)
            });
        }
        let mark = self.rng.of(&[ReadMark::Newest, ReadMark::At(message), ReadMark::Before(message)]);
        let muted = self.rng.of(&[None, None, Some(true), Some(false)]);
        let change = ReadingChange { mark: Some(mark).filter(|_| !self.rng.one_in(4)), muted };
        act!("mark_read", |world, caller, chat, change| {
            played(world.chats.mark_read(caller, chat, change).await, nothing)
        })
    }

    fn stop_or_play(&mut self) -> Act {
        let chat = self.chat();
        let (caller, stops) = (self.member_user(chat), self.rng.one_in(2));
        act!("stop_or_play", |world, caller, chat, stops| {
            let control = &world.control;
            let set = if stops { control.stop(caller, chat).await } else { control.play(caller, chat).await };
            played(set, nothing)
        })
    }

    fn pause_or_resume(&mut self) -> Act {
        let (agent, by) = (self.agent(), self.user().user);
        let by = if self.rng.one_in(3) { by } else { agent.owner };
        let reason = self.rng.maybe(&[PauseReason::new("costs".to_owned()).unwrap()]);
        act!("pause_or_resume", |world, agent, by, reason| {
            let (control, agent) = (&world.control, agent.agent);
            played(
                match reason {
                    Some(reason) => control.pause_agent(by.into(), agent, reason).await,
                    None => control.resume_agent(by.into(), agent).await,
                },
                nothing,
            )
        })
    }

    fn set_participant_role(&mut self) -> Act {
        let chat = self.chat();
        let (caller, target) = (self.member_user(chat), self.member(chat).participant());
        let role = self.role();
        act!("set_participant_role", |world, caller, chat, target, role| {
            played(world.chats.set_participant_role(caller, chat, target, role).await, nothing)
        })
    }

    fn delete_chat(&mut self) -> Act {
        let chat = self.chat();
        let caller = self.member(chat);
        act!("delete_chat", |world, caller, chat| {
            played(world.chats.delete(caller, chat).await, |chat| vec![Made::Deleted(chat.id)])
        })
    }

    pub(super) fn read_rooms(&mut self) -> Act {
        let chat = self.chat();
        let caller = self.member(chat);
        match self.rng.below(10) {
            0 => act!("find", |world, caller, chat| played(world.chats.find(caller, chat).await, nothing)),
            1 => {
                let (caller, count) = (self.member_user(chat), self.rng.one_in(2));
                act!("find_with_details", |world, caller, chat, count| {
                    played(world.chats.find_with_details(caller, chat, ChatParts::ALL, count).await, nothing)
                })
            }
            2 => {
                act!("roster", |world, caller, chat| played(world.chats.roster(caller, chat).await, nothing))
            }
            3 => act!("enter", |world, caller, chat| played(world.chats.enter(caller, chat).await, nothing)),
            _ => self.list_chats(),
        }
    }

    fn list_chats(&mut self) -> Act {
        let sort = self.rng.of(&[ChatSort::Created, ChatSort::Updated]);
        let list = match sort {
            ChatSort::Created => "rooms by age",
            ChatSort::Updated => "rooms by change",
        };
        let listing = ChatListing {
            agent_rooms: self.rng.one_in(2),
            status: self.rng.maybe(&[ChatStatus::Active, ChatStatus::Active, ChatStatus::Closed]),
            kind: self.rng.maybe(&[ChatKind::Direct, ChatKind::Group, ChatKind::Task]),
            sort,
            order: self.rng.of(&[Order::Ascending, Order::Descending]),
            parts: ChatParts {
                details: self.rng.one_in(2),
                participants: self.rng.one_in(2),
                last_message: self.rng.one_in(2),
                membership: self.rng.one_in(2),
                unread: self.rng.one_in(2),
            },
        };
        let (caller, page) = (self.caller(), self.page(list));
        act!("list_chats", |world, caller, listing, page| {
            played(world.chats.list_chats(caller, listing, page).await, next(list))
        })
    }
}
