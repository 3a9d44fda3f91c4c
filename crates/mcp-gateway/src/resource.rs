//! Rooms as resources, `parlance://room/{id}`.

use domain::id::ChatId;
use http_wire::error::render::note;
use http_wire::error::{ApiError, ErrorCode};
use rmcp::model::{
    ErrorData, ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate,
};
use serde_json::json;

use crate::failure;
use crate::session::Session;
use crate::tools::rooms;

/// What the address of a room begins with.
const ROOM: &str = "parlance://room/";

/// The media type of a room.
const JSON: &str = "application/json";

/// The template of the addresses.
pub(crate) fn templates() -> ListResourceTemplatesResult {
    let room = ResourceTemplate::new(format!("{ROOM}{{id}}"), "room")
        .with_title("Room")
        .with_description("The participants and the newest messages of a room, by the id of the room.")
        .with_mime_type(JSON);
    ListResourceTemplatesResult::with_all_items(vec![room])
}

/// A page of the caller's rooms; a cursor is the number of the page.
pub(crate) async fn list(session: &Session, cursor: Option<&str>) -> Result<ListResourcesResult, ErrorData> {
    let page = match cursor {
        None => 1,
        Some(cursor) => cursor.parse::<u32>().ok().filter(|page| *page > 0).ok_or_else(|| {
            ErrorData::invalid_params(
                "The cursor is not valid. Use nextCursor, or list from the beginning.",
                None,
            )
        })?,
    };
    let (resources, has_more) = listed(session, page).await.map_err(|error| protocol(&error))?;
    let mut result = ListResourcesResult::with_all_items(resources);
    result.next_cursor = has_more.then(|| (page + 1).to_string());
    Ok(result)
}

async fn listed(session: &Session, page: u32) -> Result<(Vec<Resource>, bool), ApiError> {
    if let Some(room) = session.only_room() {
        session.check_room(room)?;
        let _permit = session.may_read().await?;
        let chat = session.services().chats.find(session.caller, room).await?;
        return Ok((vec![resource(room, chat.display_title())], false));
    }
    session.check(crate::tool::Tool::Rooms, None)?;
    let _permit = session.may_read().await?;
    let page = rooms::rooms(session, page).await?;
    let shown = page.rows.iter().map(|listed| resource(listed.chat.id, listed.chat.display_title()));
    Ok((shown.collect(), page.next.is_some()))
}

fn resource(room: ChatId, title: &str) -> Resource {
    Resource::new(format!("{ROOM}{room}"), title).with_mime_type(JSON)
}

/// A room with its newest messages.
pub(crate) async fn read(session: &Session, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let unknown = || {
        let message =
            format!("There is no resource {uri}. List the resources, or use {ROOM} with the id of a room.");
        ErrorData::resource_not_found(message, Some(json!({"uri": uri})))
    };
    let room = uri.strip_prefix(ROOM).and_then(ChatId::parse).ok_or_else(unknown)?;
    let read = async {
        session.check_room(room)?;
        rooms::shown_room(session, room, 1).await
    };
    let shown = read.await.map_err(|error| match error.code() {
        ErrorCode::NotFound => unknown(),
        _ => protocol(&error),
    })?;
    let contents = ResourceContents::text(shown.to_string(), uri).with_mime_type(JSON);
    Ok(ReadResourceResult::new(vec![contents]))
}

/// A failure as one of the protocol.
fn protocol(error: &ApiError) -> ErrorData {
    note(error);
    let text = failure::text(error);
    match error.code() {
        ErrorCode::InternalError | ErrorCode::ServiceUnavailable => ErrorData::internal_error(text, None),
        _ => ErrorData::invalid_params(text, None),
    }
}
