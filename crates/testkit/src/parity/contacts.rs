//! Contacts and contact requests.

use domain::contact::{
    Handle, RequestAction, RequestMessage, RequestStatus, SendRequest, SentFilter, WhichContact, WhichRequest,
};
use domain::id::ContactRequestId;
use domain::text::NamePart;
use uuid::Uuid;

use super::cast::{Cast, Made, next};
use super::people::PARTS;
use super::{Act, nothing, played};

impl Cast {
    pub(super) fn contacts(&mut self) -> Act {
        match self.rng.below(20) {
            0..6 => self.ask(),
            6..11 => self.answer(),
            11 | 12 => self.remove_contact(),
            13 => self.resolve(),
            14 | 15 => {
                let name = self.rng.maybe(&PARTS).and_then(NamePart::new);
                let (caller, page) = (self.caller(), self.page("contacts"));
                act!("list_contacts", |world, caller, name, page| {
                    played(world.contacts.list(caller, name, page).await, |page| {
                        let mut made = page
                            .rows
                            .iter()
                            .map(|listed| Made::Contact(listed.contact.id.into()))
                            .collect::<Vec<_>>();
                        made.extend(next("contacts")(page));
                        made
                    })
                })
            }
            _ => self.list_requests(),
        }
    }

    fn some_handle(&mut self) -> Handle {
        Handle::new(&self.handle()).unwrap()
    }

    fn ask(&mut self) -> Act {
        let text = self.rng.maybe(&["may I?", "ä", ""]).map(str::to_owned);
        let command = SendRequest { to: self.some_handle(), message: RequestMessage::given(text).unwrap() };
        let caller = self.caller();
        act!("ask", |world, caller, command| {
            played(world.contacts.send(caller, command).await, |request| {
                vec![Made::Request(request.id, [request.requester.id, request.recipient.id])]
            })
        })
    }

    fn answer(&mut self) -> Act {
        let nobody = self.caller();
        let (known, caller) = match self.requests.len() {
            0 => (ContactRequestId::new(Uuid::from_u128(13)), nobody),
            many => {
                let (known, [by, to]) = self.rng.of(&self.requests[many.saturating_sub(5)..]);
                let (by, to) = (self.caller_of(by), self.caller_of(to));
                (known, self.rng.of(&[by, to, to, to, nobody]))
            }
        };
        let which =
            if self.rng.one_in(3) { WhichRequest::With(self.some_handle()) } else { WhichRequest::Id(known) };
        let action = self.rng.of(&[
            RequestAction::Approve,
            RequestAction::Approve,
            RequestAction::Reject,
            RequestAction::Cancel,
        ]);
        act!("answer", |world, caller, which, action| {
            played(world.contacts.answer(caller, which, action).await, nothing)
        })
    }

    fn remove_contact(&mut self) -> Act {
        let which = if self.rng.one_in(2) || self.contacts.is_empty() {
            WhichContact::With(self.some_handle())
        } else {
            WhichContact::Id(self.rng.of(&self.contacts))
        };
        let caller = self.caller();
        act!("remove_contact", |world, caller, which| {
            played(world.contacts.remove(caller, which).await, nothing)
        })
    }

    fn resolve(&mut self) -> Act {
        let (caller, handle) = (self.caller(), self.some_handle());
        act!("resolve", |world, caller, handle| {
            played(world.contacts.resolve(caller, handle).await, nothing)
        })
    }

    fn list_requests(&mut self) -> Act {
        match self.rng.below(4) {
            0 => {
                let (caller, page) = (self.agent(), self.page("received"));
                act!("received_by_agent", |world, caller, page| {
                    played(world.contacts.received_by_agent(caller, page).await, next("received"))
                })
            }
            1 => {
                let (caller, page) = (self.user(), self.page("received by all"));
                act!("received_by_user", |world, caller, page| {
                    played(world.contacts.received_by_user(caller, page).await, next("received by all"))
                })
            }
            _ => {
                let filter = self.rng.of(&[
                    SentFilter::All,
                    SentFilter::Only(RequestStatus::Pending),
                    SentFilter::Only(RequestStatus::Approved),
                    SentFilter::Only(RequestStatus::Rejected),
                    SentFilter::Only(RequestStatus::Cancelled),
                    SentFilter::Only(RequestStatus::Expired),
                ]);
                let (caller, page) = (self.caller(), self.page("sent"));
                act!("sent", |world, caller, filter, page| {
                    played(world.contacts.sent(caller, filter, page).await, next("sent"))
                })
            }
        }
    }
}
