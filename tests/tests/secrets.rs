//! Secrets in the log of a server are found.

use e2e::{Server, secrets};
use reqwest::Client;
use serde_json::json;

/// A client may name its request; one that names it by a key has it logged. Whatever else logs a key looks the same.
#[tokio::test]
async fn a_planted_leak_is_found() {
    let server = Server::start().await;
    let ann = server.user("ann");
    let bot = ann.register(&server, "Bot").await;
    assert_eq!(ann.get("/profile").await.status, 200);
    assert!(
        server.logged().contains(" TRACE ") || server.logged().contains(" DEBUG "),
        "{}",
        server.logged()
    );
    assert_eq!(server.leaked(), Vec::<String>::new());
    // Behind `thnv_a_1790000000_`; it may hold the same characters.
    let secret = bot.key.splitn(4, '_').last().unwrap_or_default();
    let token = server.command().args(["token", "issue", "--user", "ann"]).output().expect("a command");
    let token = String::from_utf8(token.stdout).expect("a token");
    secrets::keep(token.trim());
    let signature = token.trim().rsplit_once('.').map_or("", |(_, signature)| signature);
    for leaked in [&bot.key, secret, signature] {
        let url = format!("http://{}/health", server.address());
        let asked = Client::new().get(url).header("x-request-id", leaked).send().await;
        assert!(asked.is_ok_and(|answer| answer.status().is_success()));
        let found = server.forgive_leaks();
        assert!(!found.is_empty(), "{leaked} was not found in\n{}", server.logged());
        assert!(found.iter().all(|line| line.contains("<SECRET>") && !line.contains(leaked)), "{found:?}");
    }
}

#[test]
fn secrets_are_told_from_what_may_be_shown() {
    let key = format!("thnv_u_1790000000_{}", "Ab1-".repeat(11));
    let refresh = "x".repeat(50);
    secrets::keep_all(&json!({
        "data": [{ "credentials": { "api_key": key }, "prefix": &key[..26] }],
        "refresh_token": refresh,
        "user": { "password": "correct horse" },
    }));
    secrets::keep_password_of("postgres://ann:s3cret-enough@localhost/db");
    for (line, is_secret) in [
        (format!("made {key}."), true),
        (format!("made …{}", &key[30..]), true),
        (format!("revoked {}", &key[..26]), false),
        ("thnv_a_1790000001_QweRtyQweRtyQweRtyQweRtyQweRtyQweRtyQweRtyQ".to_owned(), true),
        (format!("body: {{\"token\":\"{refresh}\"}}"), true),
        ("the password is \"correct horse\"".to_owned(), true),
        ("connects to postgres://ann:s3cret-enough@localhost/db".to_owned(), true),
        ("connects to postgres://ann:***@localhost/db".to_owned(), false),
        ("request.id=0190a6a2-7b1c-7cc0-98c4-dc0c0c07398f".to_owned(), false),
        (format!("Bearer eyJ{0}.eyJ{0}.{0}", "abcd".repeat(6)), true),
    ] {
        let found = secrets::found_in(&format!("before\n{line}\nafter"));
        assert_eq!(found.len(), usize::from(is_secret), "{line}");
        assert!(found.iter().all(|line| line.contains("<SECRET>")), "{found:?}");
    }
}
