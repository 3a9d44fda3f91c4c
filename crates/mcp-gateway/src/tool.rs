//! The table of tools.

use std::sync::Arc;

use domain::caller::Caller;
use domain::id::ChatId;
use http_wire::error::ApiError;
use http_wire::openapi::schema::uuid;
use http_wire::strict_json::{FromBody, ObjectReader, Rejected, id, read_members, schema};
use rmcp::model::{JsonObject, Tool as ShownTool, ToolAnnotations};
use serde_json::{Value, json};

use crate::session::Session;
use crate::tools::{attention, inbox, memory, rooms, send, work};

/// Who has a tool.
#[derive(Clone, Copy, PartialEq, Eq)]
enum For {
    Agents,
    Users,
    Both,
}

/// How a tool refers to a room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Room {
    /// It is about one.
    Named,
    /// It can be narrowed to one.
    Filter,
    /// It is not about rooms.
    None,
}

macro_rules! tools {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $callers:ident, $room:ident, $is_change:literal,
        $handler:path, $about:literal;)+) => {
        /// A tool.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum Tool {
            $($(#[$doc])* $variant,)+
        }

        impl Tool {
            /// All tools, in the order in which clients see them.
            pub(crate) const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// Its name.
            pub(crate) const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// What it does and what to do with the result, for the model.
            const fn about(self) -> &'static str {
                match self { $(Self::$variant => $about,)+ }
            }

            const fn callers(self) -> For {
                match self { $(Self::$variant => For::$callers,)+ }
            }

            /// How it refers to a room.
            pub(crate) const fn room(self) -> Room {
                match self { $(Self::$variant => Room::$room,)+ }
            }

            /// Returns whether it changes anything.
            pub(crate) const fn is_change(self) -> bool {
                match self { $(Self::$variant => $is_change,)+ }
            }

            fn arguments(self) -> Value {
                match self { $(Self::$variant => schema_of($handler),)+ }
            }

            async fn run(self, session: &Session, room: Option<ChatId>, members: JsonObject) -> Result<Value, ApiError> {
                match self { $(Self::$variant => $handler(session, room, read_members(members)?).await,)+ }
            }
        }
    };
}

tools! {
    /// Claims the next message.
    InboxNext = "inbox_next", Agents, Filter, true, inbox::next,
        "Take the oldest message that waits for you, with what was said before it. This begins an attempt: work on the \
         message, answer with reply, then call finish, or fail if you cannot do it. Until then, every further \
         call gives you the same message again, and counts as another attempt. If you use exclusive claims, further calls \
         give you the next message instead.";
    /// Answers a message.
    Reply = "reply", Agents, Named, true, send::reply,
        "Answer a message. By default its sender is addressed. Replying does not finish the message.";
    /// Ends an attempt as done.
    Finish = "finish", Agents, Named, true, inbox::finish,
        "Report that you are done with a message that you took with inbox_next.";
    /// Ends an attempt as failed.
    Fail = "fail", Agents, Named, true, inbox::fail,
        "Report that you could not handle a message that you took with inbox_next. It is offered again, until its \
         attempts are used up.";
    /// Sends, and waits for the answer.
    Ask = "ask", Agents, Named, true, send::ask,
        "Send a message to participants of a room, and wait for the answer. If none comes in time, the result has the \
         id of the question: call ask with `question` later to look again, without sending anything.";
    /// Lists rooms.
    Rooms = "rooms", Both, None, false, rooms::list,
        "List your rooms, those with the newest changes first, with their participants.";
    /// Reads a room.
    ReadRoom = "read_room", Both, Named, false, rooms::read,
        "Show the participants and the newest messages of a room, oldest first. Agents see only messages from and to \
         them.";
    /// Adds somebody to a room.
    Invite = "invite", Both, Named, true, rooms::invite,
        "Add a user or an agent to a room, so that messages can be addressed to them.";
    /// Sends a message.
    Write = "write", Users, Named, true, send::write,
        "Send a message to participants of a room. Agents get only messages that are addressed to them.";
    /// Stores a memory.
    Remember = "remember", Agents, None, true, memory::remember,
        "Store a fact for later conversations.";
    /// Searches memories.
    Recall = "recall", Agents, None, false, memory::recall,
        "Search the facts that you, or other agents of your organization, have stored.";
    /// Lists what waits for the human.
    Attention = "attention", Users, Filter, false, attention::list,
        "List everything that waits for you in all rooms: blocking items first, then the oldest. `answers` lists the \
         possible actions: use `approve` to answer, decide, or dismiss, and `retry` and `dead_letter` for work.";
    /// Answers what waits for the human.
    Approve = "approve", Users, Filter, true, attention::approve,
        "Answer an item of the attention list in the name of your human, whose decision it is: with a decision on an \
         approval or a contact request, with a text for a question, or dismiss it.";
    /// Lists work.
    Work = "work", Users, Filter, false, work::list,
        "List messages that your agents have not handled, the oldest first, with the state and the errors of their \
         attempts. Flagged ones need your attention.";
    /// Offers a message again.
    Retry = "retry", Users, Filter, true, work::retry,
        "Have a message of the work list offered to its agent again: one that failed, that was taken out of the \
         queue, or that a limit holds.";
    /// Takes a message out of the queue.
    DeadLetter = "dead_letter", Users, Filter, true, work::dead_letter,
        "Take a message of the work list out of its agent's queue, so that the agent does not get it any more.";
}

/// The schema of the arguments of a tool, without the room.
fn schema_of<'s, T: FromBody, F>(_: impl FnOnce(&'s Session, Option<ChatId>, T) -> F) -> Value {
    schema::<T>()
}

/// The room among the arguments.
struct RoomArgument(Option<ChatId>);

impl FromBody for RoomArgument {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        body.text_if_given("room", uuid().about("The id of the room."), id(ChatId::parse)).map(Self)
    }
}

impl Tool {
    /// Returns whether such a caller has it.
    pub(crate) fn is_for(self, caller: Caller) -> bool {
        match self.callers() {
            For::Both => true,
            For::Agents => matches!(caller, Caller::Agent(_)),
            For::Users => matches!(caller, Caller::User(_)),
        }
    }

    /// Returns whether it is about memories, which a plan may not include.
    pub(crate) const fn is_on_memories(self) -> bool {
        matches!(self, Self::Remember | Self::Recall)
    }

    /// The tool as a client sees it.
    pub(crate) fn shown(self, session: &Session) -> ShownTool {
        let annotations = ToolAnnotations::new()
            .read_only(!self.is_change())
            .destructive(matches!(self, Self::DeadLetter | Self::Approve))
            .open_world(false);
        ShownTool::new(self.name(), self.about(), Arc::new(self.schema(session.only_room().is_some())))
            .with_annotations(annotations)
    }

    fn schema(self, is_in_only_room: bool) -> JsonObject {
        let mut arguments = self.arguments();
        if self.room() != Room::None && !is_in_only_room {
            arguments["properties"]["room"] = schema::<RoomArgument>()["properties"]["room"].take();
            if let (Room::Named, Some(required)) = (self.room(), arguments["required"].as_array_mut()) {
                required.insert(0, json!("room"));
            }
        }
        for property in arguments["properties"].as_object_mut().into_iter().flat_map(|all| all.values_mut()) {
            // Null counts as absent, which models need not be told.
            let either = property.get_mut("anyOf").and_then(|either| either.get_mut(0));
            if let Some(schema) = either.map(Value::take) {
                *property = schema;
            }
        }
        let Value::Object(arguments) = arguments else { return JsonObject::new() };
        arguments
    }

    /// Runs it.
    pub(crate) async fn call(self, session: &Session, arguments: JsonObject) -> Result<Value, ApiError> {
        // Models write null for what they leave out.
        let mut members = arguments.into_iter().filter(|(_, value)| !value.is_null()).collect::<JsonObject>();
        let mut named = || {
            let room = members.remove_entry("room").into_iter().collect();
            read_members::<RoomArgument>(room).map(|RoomArgument(room)| room)
        };
        let room = match self.room() {
            Room::Named => Some(session.room(named()?)?),
            Room::Filter => session.room_if_any(named()?)?,
            Room::None => None,
        };
        session.check(self, room)?;
        self.run(session, room, members).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tools of either kind of caller leave a model room for its work.
    #[test]
    fn tools_are_few_and_short() {
        for callers in [For::Agents, For::Users] {
            let tools = Tool::ALL.into_iter().filter(|tool| [callers, For::Both].contains(&tool.callers()));
            let sizes =
                tools.map(|tool| tool.about().len() + Value::from(tool.schema(false)).to_string().len());
            let sizes = sizes.collect::<Vec<_>>();
            assert!(sizes.len() <= 12 && sizes.iter().sum::<usize>() < 10_000, "{sizes:?}");
        }
    }

    #[test]
    fn a_tool_of_a_room_needs_it_unless_there_is_only_one() {
        let required = |tool: Tool, is_in_only_room| tool.schema(is_in_only_room)["required"].clone();
        assert_eq!(required(Tool::Write, false), json!(["room", "text", "to"]));
        assert_eq!(required(Tool::Write, true), json!(["text", "to"]));
        assert!(
            !Tool::Write.schema(true)["properties"].as_object().is_some_and(|all| all.contains_key("room"))
        );
        assert_eq!(required(Tool::InboxNext, false), json!([]));
        assert!(Tool::InboxNext.schema(false)["properties"]["room"].is_object());
        let text = Tool::Ask.schema(false)["properties"]["text"].take();
        assert_eq!(text["description"], "The text of a new question. `to` is required with it.");
        assert_eq!(Tool::Reply.schema(false)["properties"]["to"]["type"], "array");
    }
}
