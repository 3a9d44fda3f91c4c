//! Invitations: a link if there is a public URL, otherwise a token.

use e2e::{Server, isolated};
use serde_json::{Value, json};

use crate::{json_of, printed};

/// With a public URL, an invitation is a link to a page that says how to accept it. The token stays in the browser.
#[tokio::test]
async fn an_invitation_is_a_link_to_a_page() {
    let settings = [
        ("PARLANCE_PUBLIC_URL", "https://chat.example.org/parlance"),
        ("PARLANCE_REGISTRATION", "invitation"),
    ];
    let server = Server::start_with(&settings).await;
    let ann = server.user("ann");
    let begin = "https://chat.example.org/parlance/invitation#";
    let invited = json_of(&server, &["org", "invite", "ann"]);
    let token = invited["token"].as_str().unwrap();
    assert_eq!(invited["link"], format!("{begin}{token}"));
    let said = printed(&server, &["org", "invite", "ann"]);
    assert!(said.contains(&format!("    {begin}thnv_i_")), "{said}");
    let invited = ann.post("/organization/invitations", json!({})).await.data();
    assert_eq!(invited["link"], format!("{begin}{}", invited["token"].as_str().unwrap()));

    let page = reqwest::get(format!("http://{}/invitation#{token}", server.address())).await.unwrap();
    assert_eq!(page.status(), 200);
    let header = |name: &str| page.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(header("content-type"), "text/html; charset=utf-8");
    assert_eq!(
        (header("referrer-policy"), header("cache-control")),
        ("no-referrer".into(), "no-store".into())
    );
    assert_eq!(
        (header("x-content-type-options"), header("x-frame-options")),
        ("nosniff".into(), "DENY".into())
    );
    let policy = header("content-security-policy");
    assert!(
        policy.starts_with("default-src 'none'; style-src 'sha256-") && !policy.contains("unsafe"),
        "{policy}"
    );
    let page = page.text().await.unwrap();
    assert!(!page.contains("<script") && !page.contains("href=") && !page.contains("src="), "{page}");
    assert!(!page.contains("{url}") && !page.contains("{register}"), "{page}");
    for path in ["/api/v1/auth/register", "/api/v1/me/invitations/accept"] {
        assert!(page.contains(&format!("curl https://chat.example.org/parlance{path} ")), "{page}");
    }

    // Its commands are right: by the first a guest registers, and by the second a user comes in.
    let curl = |path: &str, values: &[(&str, &str)]| {
        let command = page.split("<pre><code>").find(|part| part.contains(path)).unwrap();
        let command = command.split("</code>").next().unwrap().replace("&lt;", "<");
        let here = format!("http://{}", server.address());
        let command = command.replace("https://chat.example.org/parlance", &here);
        let command = values.iter().fold(command, |command, (name, value)| command.replace(name, value));
        let output = isolated("sh").args(["-c", &command]).output().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let cat = [
        ("HANDLE", "cat"),
        ("YOUR NAME", "Cat"),
        ("EMAIL", "cat@example.org"),
        ("PASSWORD", "a walk by night"),
        ("TOKEN", token),
    ];
    assert_eq!(curl("/auth/register", &cat)["data"]["user"]["handle"], "cat");
    let token = invited["token"].as_str().unwrap();
    let ben = server.user("ben");
    assert_eq!(curl("/accept", &[("API_KEY", &ben.key), ("TOKEN", token)])["data"]["name"], "ann");
}

/// Without a public URL there is neither a link nor a page.
#[tokio::test]
async fn without_a_public_url_an_invitation_is_a_token() {
    let server = Server::start().await;
    let ann = server.user("ann");
    let invited = ann.post("/organization/invitations", json!({})).await.data();
    assert_eq!(invited["link"], Value::Null);
    let said = printed(&server, &["org", "invite", "ann"]);
    assert!(said.contains("    thnv_i_"), "{said}");
    let page = reqwest::get(format!("http://{}/invitation", server.address())).await.unwrap();
    assert_eq!(page.status(), 404);
}
