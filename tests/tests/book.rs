//! The documentation at `/docs/`, from a directory with a small book.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use std::os::unix::fs::symlink;
use std::process::Command;

use e2e::{Server, isolated, program};
use reqwest::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, LOCATION};
use reqwest::{Client, Response, redirect};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const PAGE: &str = "<!DOCTYPE HTML><title>Book</title><script>let theme = 1;</script>\
    <script src=\"a.js\"></script><script>const path_to_root = \"\";</script>";

/// A book, and beside it what nobody may read.
fn book() -> TempDir {
    let directory = TempDir::new().unwrap();
    let root = directory.path().join("html");
    std::fs::create_dir_all(root.join("docs/.hidden")).unwrap();
    for (name, content) in [
        ("html/index.html", PAGE),
        ("html/a.js", "'use strict';"),
        ("html/docs/install.html", "<p>Install</p>"),
        ("html/docs/parlance.service", "[Unit]"),
        ("html/docs/.hidden/secret", "hidden"),
        ("html/.secret", "hidden"),
        ("secret", "outside"),
    ] {
        std::fs::write(directory.path().join(name), content).unwrap();
    }
    symlink("../secret", root.join("link")).unwrap();
    symlink("..", root.join("up")).unwrap();
    directory
}

async fn start(book: &TempDir) -> Server {
    let directory = book.path().join("html");
    Server::start_with(&[("PARLANCE_DOCS_DIRECTORY", directory.to_str().unwrap())]).await
}

async fn get(server: &Server, path: &str) -> Response {
    let client = Client::builder().redirect(redirect::Policy::none()).build().unwrap();
    client.get(format!("http://{}{path}", server.address())).send().await.unwrap()
}

fn header(response: &Response, name: impl reqwest::header::AsHeaderName) -> String {
    response.headers().get(name).map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default()
}

#[tokio::test]
async fn pages_have_a_policy_of_their_own_and_are_read_again_only_if_they_changed() {
    let book = book();
    let server = start(&book).await;
    let redirected = get(&server, "/docs").await;
    assert_eq!((redirected.status().as_u16(), header(&redirected, LOCATION).as_str()), (308, "/docs/"));

    let page = get(&server, "/docs/").await;
    assert_eq!(page.status(), 200);
    assert_eq!(header(&page, CONTENT_TYPE), "text/html; charset=utf-8");
    assert_eq!(header(&page, CACHE_CONTROL), "no-cache");
    let policy = header(&page, CONTENT_SECURITY_POLICY);
    // `printf '%s' "let theme = 1;" | openssl dgst -sha256 -binary | base64`, and of the other script.
    let scripts = "script-src 'self' 'sha256-vd8VuAMUV91jFOgQ0EHyeKEp0q6RTqVQxXmyqHStngU=' 'sha256-jwAm/ApVnlQuJoobOCcb4q0Tm0fc/ApYs3jfGFqpeic=';";
    assert!(policy.contains(scripts) && policy.starts_with("default-src 'none';"), "{policy}");
    assert!(!policy.contains("connect-src") && !policy.contains("script-src 'self' 'unsafe"), "{policy}");
    let tag = header(&page, ETAG);
    assert_eq!(page.text().await.unwrap(), PAGE);
    let url = format!("http://{}/docs/", server.address());
    let known = Client::new().get(&url).header(IF_NONE_MATCH, &tag).send().await.unwrap();
    assert_eq!((known.status().as_u16(), header(&known, ETAG)), (304, tag.clone()));
    assert_eq!(header(&known, CONTENT_SECURITY_POLICY), policy);
    let head = Client::new().head(&url).send().await.unwrap();
    assert_eq!((head.status().as_u16(), header(&head, ETAG)), (200, tag));

    for (path, content_type) in [
        ("/docs/index.html", "text/html; charset=utf-8"),
        ("/docs/a.js?v=1", "text/javascript; charset=utf-8"),
        ("/docs/docs/install.html", "text/html; charset=utf-8"),
        ("/docs/docs/%69nstall.html", "text/html; charset=utf-8"),
        ("/docs/docs/parlance.service", "text/plain; charset=utf-8"),
    ] {
        let found = get(&server, path).await;
        assert_eq!(
            (found.status().as_u16(), header(&found, CONTENT_TYPE).as_str()),
            (200, content_type),
            "{path}"
        );
    }
    let post = Client::new().post(&url).send().await.unwrap();
    assert_eq!(post.status(), 405);
    let ann = server.user("ann");
    let session = format!("http://{}/console/session", server.address());
    let open = Client::new().post(session).json(&json!({"api_key": ann.key})).send().await.unwrap();
    assert_eq!(open.json::<Value>().await.unwrap()["has_docs"], true, "the console has a link");
    // The rest of the server has the policy that it had.
    let console = get(&server, "/console/").await;
    assert!(!header(&console, CONTENT_SECURITY_POLICY).contains("sha256-"));
}

#[tokio::test]
async fn nothing_else_of_the_disk_is_served() {
    let book = book();
    let server = start(&book).await;
    for path in [
        "/docs/missing.html",
        "/docs/docs",
        "/docs/docs/",
        "/docs/link",
        "/docs/up/secret",
        "/docs/up/html/index.html",
        "/docs/.secret",
        "/docs/docs/.hidden/secret",
        "/docs/../secret",
        "/docs/docs/../../secret",
        "/docs/%2e%2e/secret",
        "/docs/..%2fsecret",
        "/docs/docs/..%2f..%2f..%2fsecret",
        "/docs//etc/passwd",
        "/docs/%2fetc/passwd",
        "/docs/%00",
        "/docs/..\\secret",
        "/docs/a.js/",
        "/docs/a.js/b",
        "/docs/./a.js%00.html",
        "/docs/docs/./install.html",
        "/docs/docs//install.html",
    ] {
        // A client of HTTP would resolve the dots.
        let mut stream = TcpStream::connect(server.address()).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(answer.starts_with("HTTP/1.1 404 "), "{path}: {answer}");
        assert!(
            !answer.contains("hidden") && !answer.contains("outside") && !answer.contains("root:"),
            "{path}"
        );
    }
    let missing = get(&server, "/docs/missing.html").await;
    assert_eq!(header(&missing, CONTENT_TYPE), "text/html; charset=utf-8");
    assert!(missing.text().await.unwrap().contains("<a href=\"/docs/\">"));
}

#[tokio::test]
async fn without_a_book_the_server_starts_and_shows_none() {
    let off = Server::start_embedded().await;
    let answer = get(&off, "/docs/").await;
    assert_eq!(answer.status(), 404);
    assert_eq!(answer.json::<Value>().await.unwrap()["error"]["code"], "not_found");

    let directory = TempDir::new().unwrap();
    let server = Server::start_with(&[("PARLANCE_DOCS_DIRECTORY", directory.path().to_str().unwrap())]).await;
    assert_eq!(get(&server, "/docs/").await.status(), 404);
    assert!(server.logged().contains("documentation cannot be read; /docs/ is not served"));
    assert!(found(&mut server.command()).contains("warning  documentation"));
}

#[test]
fn doctor_says_where_the_pages_are() {
    let (book, data) = (book(), TempDir::new().unwrap());
    let mut command = isolated(program());
    command.current_dir(data.path()).env("PARLANCE_DOCS_DIRECTORY", book.path().join("html"));
    assert!(found(&mut command).contains("ok       documentation   its pages are in"));
}

fn found(command: &mut Command) -> String {
    String::from_utf8(command.arg("doctor").output().unwrap().stdout).unwrap()
}
