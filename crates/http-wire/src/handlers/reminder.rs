//! Texts that are sent later. They are scheduled like texts that are sent now ([`super::message::send`]).

use actix_web::{HttpResponse, web};
use domain::caller::Caller;
use domain::id::ChatId;
use domain::reminder::{Reminder, ReminderFilter, ReminderService, ReminderState};

use crate::auth::CallerExtractor;
use crate::cursor::CursorScope;
use crate::envelope::{Data, List};
use crate::error::ApiError;
use crate::openapi::{Endpoint, delete, get};
use crate::page::{CursorQuery, PageMetadata};
use crate::path::ReminderPath;
use crate::query::{FromQuery, NoQuery, QueryReader, StrictQuery};
use crate::strict_json::Rejected;
use crate::view::ReminderView;

/// The states of a list; `None` stands for all of them.
const STATES: [(&str, Option<ReminderState>); 3] = [
    (ReminderState::Scheduled.as_str(), Some(ReminderState::Scheduled)),
    (ReminderState::Ended.as_str(), Some(ReminderState::Ended)),
    ("all", None),
];

/// The query of a list of reminders.
#[derive(Clone, Debug)]
pub struct ListRemindersQuery {
    page: CursorQuery,
    filter: ReminderFilter,
}

impl FromQuery for ListRemindersQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Rejected> {
        let about = "Only reminders in this state; `scheduled` by default, the next one first. Other lists begin with the \
                     last one. Reminders that have ended are kept for 30 days.";
        let (page, state) = (CursorQuery::from_query(query), query.named("state", &STATES, about));
        let chat = query.id("chat_id", "Only the reminders of this room.", ChatId::parse);
        let state = state?.map_or(Some(ReminderState::Scheduled), |(_, state)| state);
        Ok(Self { page: page?, filter: ReminderFilter { state, chat: chat? } })
    }
}

/// The endpoints of reminders, for this kind of caller.
pub fn endpoints<C: CallerExtractor + 'static>() -> Vec<Endpoint> {
    vec![
        get("/reminders", list::<C>)
            .named(
                "listReminders",
                "List the messages that are sent later: an agent's own, or those of a human's rooms and agents",
            )
            .query::<ListRemindersQuery>()
            .lists::<ReminderView<'_>, PageMetadata>(),
        get("/reminders/{reminder_id}", find::<C>)
            .named("findReminder", "Show a message that is sent later, and what became of it")
            .answers::<ReminderView<'_>>(200),
        delete("/reminders/{reminder_id}", cancel::<C>)
            .named(
                "cancelReminder",
                "Cancel a message that is sent later (its sender, the owner of that agent, or an owner of the chat)",
            )
            .answers::<ReminderView<'_>>(200)
            .refuses(&[403, 409]),
    ]
}

/// The answer to a text that was scheduled.
pub(super) fn scheduled(caller: Caller, reminder: &Reminder) -> HttpResponse {
    let base = match caller {
        Caller::User(_) => "/api/v1/me",
        Caller::Agent(_) => "/api/v1/agent",
    };
    Data::accepted(format!("{base}/reminders/{}", reminder.id), ReminderView::new(reminder))
}

/// `GET /reminders`.
pub async fn list<C: CallerExtractor>(
    caller: C,
    StrictQuery(ListRemindersQuery { page, filter }): StrictQuery<ListRemindersQuery>,
    reminders: web::Data<ReminderService>,
) -> Result<HttpResponse, ApiError> {
    let caller: Caller = caller.into();
    let scope = CursorScope::list("reminders")
        .of(caller.participant().uuid())
        .filtered("state", filter.state.map_or("all", ReminderState::as_str))
        .filtered("chat_id", &filter.chat.map(|chat| chat.to_string()).unwrap_or_default());
    let window = page.window(scope)?;
    let found = reminders.list(caller, filter, window.request.clone()).await?;
    Ok(List::ok(found.rows.iter().map(ReminderView::new), window.metadata(&found)))
}

/// `GET /reminders/{reminder_id}`.
pub async fn find<C: CallerExtractor>(
    caller: C,
    path: ReminderPath,
    _: StrictQuery<NoQuery>,
    reminders: web::Data<ReminderService>,
) -> Result<HttpResponse, ApiError> {
    Ok(Data::ok(ReminderView::new(&reminders.find(caller, path.reminder).await?)))
}

/// `DELETE /reminders/{reminder_id}`.
pub async fn cancel<C: CallerExtractor>(
    caller: C,
    path: ReminderPath,
    _: StrictQuery<NoQuery>,
    reminders: web::Data<ReminderService>,
) -> Result<HttpResponse, ApiError> {
    Ok(Data::ok(ReminderView::new(&reminders.cancel(caller, path.reminder).await?)))
}
