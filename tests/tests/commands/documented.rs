//! Runs the commands of the section "An agent does not answer" exactly as `docs/operations.md` gives them.

use std::path::Path;
use std::process::Command;

use e2e::{Api, Server, isolated, program};
use serde_json::json;

use crate::json_of;
use crate::output::PATIENT;

const PAGE: &str = "## An agent does not answer";

/// The message of the page.
const MESSAGE: &str = "019ab1d0-5f6e-7c3a-9d8e-2f4b6a1c0e77";

/// `curl` fails on a refusal, as a reader would notice.
const SHELL: &str = "set -euo pipefail\n\
    parlance() { \"$PROGRAM\" \"$@\"; }\n\
    curl() { command curl -fsS \"$@\"; }\n";

/// The commands of the page, without their comments.
fn commands() -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/operations.md");
    let text = std::fs::read_to_string(page).unwrap();
    let page = text.split_once(PAGE).unwrap().1;
    let page = page.split_once("\n## ").unwrap().0;
    let blocks = page.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix("sh\n"));
    let lines = blocks.flat_map(str::lines).map(|line| line.split(" #").next().unwrap().trim().to_owned());
    lines.filter(|line| !line.is_empty()).collect()
}

/// Runs a line in a shell with the settings of the server.
fn shell(server: &Server, line: &str, values: &[(&str, &str)]) -> (bool, String) {
    let own = server.command();
    let mut bash: Command = isolated("bash");
    bash.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
    bash.env("PROGRAM", program()).envs(values.iter().copied()).arg("-c").arg(format!("{SHELL}{line}\n"));
    let output = bash.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(text).unwrap())
}

/// A message at which the agent has failed three times.
async fn failing(ann: &Api, agent: &Api, chat: &str) -> String {
    let message = ann.sent(chat, "poisoned", &[&agent.id]).await;
    for _ in 0..3 {
        assert_eq!(agent.step(chat, &message, "processing").await.status, 200);
        let error = json!({ "error": "OPENAI_API_KEY is not set" });
        let path = format!("/chats/{chat}/messages/{message}/failed");
        assert_eq!(agent.post(&path, error).await.status, 200);
    }
    message
}

/// Each one succeeds, on work that fails and in a room that was stopped before.
#[tokio::test]
async fn commands_for_an_agent_that_does_not_answer() {
    let server = Server::start_with(&PATIENT).await;
    assert!(json_of(&server, &["org", "create", "acme"]).is_object());
    let ann = server.colleague("ann", "acme");
    let (echo, scout) = (ann.register(&server, "Echo").await, ann.register(&server, "Scout").await);
    let key = json_of(&server, &["key", "create", "--user", "ann"]);
    let key = key["api_key"].as_str().unwrap().to_owned();
    e2e::secrets::keep(&key);
    let chat = ann.create_chat().await;
    for agent in [&echo, &scout] {
        assert_eq!(ann.add(&chat, &agent.id).await.status, 201);
    }
    for verb in ["stop", "play"] {
        assert_eq!(ann.post_nothing(&format!("/chats/{chat}/agents/{verb}")).await.status, 200);
    }
    let executions = ann.get(&format!("/agents/{}/executions", echo.id)).await.data();
    let address = format!("http://{}", server.address());
    let values = [
        ("KEY", key.as_str()),
        ("SERVER", &address),
        ("ROOM", &chat),
        ("AGENT", &echo.id),
        ("EXECUTION", executions[0]["id"].as_str().unwrap()),
    ];
    let commands = commands();
    assert!(commands.len() > 20, "{commands:?}");
    for command in &commands {
        // Each finds a message that fails, since the one before may have ended the last.
        let message = failing(&ann, &echo, &chat).await;
        let mut line = command.replace(MESSAGE, &message);
        if line.ends_with("--watch") {
            line.push_str(" | head -n 3");
        }
        let (succeeded, text) = shell(&server, &line, &values);
        // The databases of the tests are not durable, which is a fault.
        let may_warn = line == "parlance doctor" && text.contains("parlance work list --flag failing");
        assert!(succeeded || may_warn, "{line}:\n{text}");
        if line.contains("agent pause") {
            assert!(shell(&server, "parlance agent resume ann/echo", &[]).0);
        }
        if line.contains("org pause") {
            assert!(shell(&server, "parlance org resume acme", &[]).0);
        }
        if line.ends_with("/stop\"") {
            assert_eq!(ann.post_nothing(&format!("/chats/{chat}/agents/play")).await.status, 200);
        }
    }
}
