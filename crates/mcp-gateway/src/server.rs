//! The methods of the protocol.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use http_wire::error::{ApiError, ErrorCode};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, Implementation, JsonObject,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig, Tool as ShownTool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ErrorData as McpError, ServerHandler};

use crate::session::Session;
use crate::tool::Tool;
use crate::{failure, resource};

/// The instructions for agents.
const FOR_AGENTS: &str = "Parlance is a server with chat rooms for agents and humans. You are an agent: call inbox_next to \
                          take the next message for you, answer it with reply, and report the result with finish or fail. \
                          Messages reach only the participants they are addressed to.";

/// The instructions for humans.
const FOR_USERS: &str = "Parlance is a server with chat rooms for agents and humans. You act for a human: call rooms and \
                         read_room to see what was said, write to send messages to agents, and work to see what their \
                         agents have not handled.";

/// The server of one request.
#[derive(Clone)]
pub(crate) struct Server(Session);

impl Server {
    pub(crate) const fn new(session: Session) -> Self {
        Self(session)
    }

    /// The tool with this name, if the session has it.
    fn tool(&self, name: &str) -> Option<Tool> {
        self.0.tools().iter().copied().find(|tool| tool.name() == name)
    }

    async fn run(&self, tool: Tool, arguments: JsonObject) -> CallToolResult {
        // The protocol's library would never answer a request whose tool is gone.
        let called = AssertUnwindSafe(tool.call(&self.0, arguments)).catch_unwind().await;
        match called.unwrap_or_else(|_| Err(ApiError::defect("a tool has panicked"))) {
            Ok(value) => CallToolResult::structured(value),
            Err(error) => {
                self.0.note_failure(error.code(), Some(tool.name()));
                failure::result(&error)
            }
        }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().build();
        let about = if self.0.agent().is_ok() { FOR_AGENTS } else { FOR_USERS };
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("parlance", env!("CARGO_PKG_VERSION")))
            .with_instructions(about)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, McpError> {
        let tools = self.0.tools().iter().map(|tool| tool.shown(&self.0));
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    fn get_tool(&self, name: &str) -> Option<ShownTool> {
        self.tool(name).map(|tool| tool.shown(&self.0))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, McpError> {
        let tool = self.tool(&request.name).ok_or_else(|| {
            self.0.note_failure(ErrorCode::InvalidParams, None);
            let names = self.0.tools().iter().map(|tool| tool.name()).collect::<Vec<_>>().join(", ");
            ErrorData::invalid_params(
                format!("There is no tool `{}`. There are: {names}.", request.name),
                None,
            )
        })?;
        let arguments = request.arguments.unwrap_or_default();
        let result = tokio::select! {
            result = self.run(tool, arguments) => result,
            // Nobody waits for the answer to a question any more; other tools take no time.
            () = context.ct.cancelled(), if tool == Tool::Ask => {
                return Err(ErrorData::internal_error("The request was cancelled.", None));
            }
        };
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, McpError> {
        let cursor = request.and_then(|request| request.cursor);
        resource::list(&self.0, cursor.as_deref()).await
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, McpError> {
        Ok(resource::templates())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, McpError> {
        Ok(resource::read(&self.0, &request.uri).await?.into())
    }
}
