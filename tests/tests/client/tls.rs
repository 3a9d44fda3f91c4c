//! Certificates: the client talks to a server only if an authority that the system trusts vouches for it.

use std::os::unix::fs::PermissionsExt;

use e2e::Server;
use rcgen::{CertificateParams, KeyPair};

use crate::{Person, Said};

#[tokio::test]
async fn a_certificate_of_nobody_is_refused() {
    let place = tempfile::TempDir::new().unwrap();
    let (chain, key) = (place.path().join("chain.pem"), place.path().join("key.pem"));
    let pair = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(["localhost".to_owned()]).unwrap().self_signed(&pair).unwrap();
    std::fs::write(&chain, certificate.pem()).unwrap();
    std::fs::write(&key, pair.serialize_pem()).unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    let settings =
        [("PARLANCE_TLS_CERTIFICATE", chain.to_str().unwrap()), ("PARLANCE_TLS_KEY", key.to_str().unwrap())];
    let server = Server::start_alone(&settings).await;
    let ann = server.user("ann");
    let port = server.address().rsplit_once(':').unwrap().1.to_owned();
    let url = format!("https://localhost:{port}");
    let person = Person::of(&server, &ann);
    let run = |url: &str, arguments: &[&str], trusted: bool| {
        let mut command = person.command(arguments);
        command.env("PARLANCE_URL", url);
        if trusted {
            command.env("SSL_CERT_FILE", &chain);
        }
        Said::of(&command.output().unwrap())
    };
    run(&url, &["rooms"], false)
        .refused(7, &format!("The certificate of {url} cannot be verified: its issuer"));
    run(&url, &["login"], false).refused(7, "set SSL_CERT_FILE");
    let mut without = person.command(&["rooms"]);
    without.env("PARLANCE_URL", &url).env("SSL_CERT_FILE", "/nonexistent.pem").env_remove("SSL_CERT_DIR");
    Said::of(&without.output().unwrap()).refused(7, "/nonexistent.pem");
    let other = format!("https://127.0.0.1:{port}");
    run(&other, &["rooms"], true).refused(7, &format!("The certificate of {other} cannot be verified"));
    assert!(run(&url, &["rooms"], true).printed().contains("You are in no rooms"));
    assert!(run(&url, &["login"], true).printed().contains("as @ann"));
    run(&format!("http://localhost:{port}"), &["rooms"], true).refused(6, "This port uses TLS");
    // Several requests on a connection that is kept.
    let agent = ["agent", "create", "--owner", "ann", "--name", "Bot", "--description", "for tests"];
    assert!(server.command().args(agent).output().unwrap().status.success());
    let asked = run(&url, &["ask", "@ann/bot", "Are you there?", "--wait", "2s"], true);
    asked.refused(5, "The agent is not connected");
}
