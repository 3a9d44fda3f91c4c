//! Passkeys, with a device in software.

use serde_json::json;
use testkit::SoftwareDevice;

use crate::Api;

/// Adds a passkey of a user with this password; returns the device, and the id of the passkey.
pub async fn add(user: &Api, origin: &str, password: &str) -> (SoftwareDevice, String) {
    let begun = user.post("/passkeys/challenge", json!({"current_password": password})).await;
    assert_eq!(begun.status, 201, "{begun:?}");
    let begun = begun.data();
    let mut device = SoftwareDevice::new(origin);
    let credential = device.create(&begun["options"]);
    let body = json!({"name": "Laptop", "ceremony": begun["ceremony"], "credential": credential});
    let added = user.post("/passkeys", body).await;
    assert_eq!(added.status, 201, "{added:?}");
    let id = added.data()["id"].as_str().unwrap().to_owned();
    (device, id)
}
