//! The `Dockerfile`, as far as it can be tested without a container engine.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use std::process::Command;

use e2e::Server;

const DOCKERFILE: &str = include_str!("../../Dockerfile");
const COMPOSE: &str = include_str!("../../docker-compose.yml");

/// The command that looks after the server in the container.
fn look() -> Vec<String> {
    let (_, check) = DOCKERFILE.split_once("HEALTHCHECK").expect("the image is looked after");
    let (_, command) = check.split_once("CMD ").unwrap();
    serde_json::from_str(command.lines().next().unwrap()).expect("a command in JSON")
}

#[tokio::test]
async fn the_image_is_well_while_the_server_can_work() {
    let mut server = Server::start().await;
    let port = server.address().rsplit_once(':').unwrap().1.to_owned();
    let command = look();
    let status = || {
        let here = command.iter().map(|part| part.replace("/4000", &format!("/{port}")));
        let here = here.collect::<Vec<_>>();
        Command::new(&here[0]).args(&here[1..]).output().unwrap().status
    };
    assert!(status().success());
    server.kill9();
    assert!(!status().success());
}

#[test]
fn nothing_runs_as_root_and_no_password_is_written_down() {
    let user = DOCKERFILE.lines().rfind(|line| line.starts_with("USER ")).unwrap();
    assert!(!user.contains("root") && !user.contains(" 0"), "{user}");
    assert!(COMPOSE.contains("POSTGRES_PASSWORD: ${POSTGRES_PASSWORD:?"), "it is asked for");
    assert!(COMPOSE.contains("\"127.0.0.1:4000:4000\""), "the port is for this machine only");
}
