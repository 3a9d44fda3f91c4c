//! Who may register, and what hashing a password costs.

use domain::login::Registration;

use super::key::Key;
use super::parse;
use super::values::Values;
use crate::passwords::PasswordConfig;

/// The longest default lifetime of a key: a century.
const MAX_KEY_DAYS: u32 = 36_500;

pub(super) fn read(values: &mut Values) -> (Registration, PasswordConfig) {
    values.section("Accounts");
    let registration = Key::text(
        "registration",
        "closed|invitation|open",
        "closed",
        "Who may make an account with `POST /api/v1/auth/register`: nobody, who was invited into an organization, \
         or everybody, with an organization of their own.",
    );
    let registration = values.read(registration, registration_of);
    let memory = Key::number(
        "password_memory_kib",
        "KIB",
        "19456",
        "Memory that hashing a password takes (Argon2id), in KiB; hashes of other costs are made anew at the next \
         log-in.",
    );
    let passes = Key::number("password_passes", "NUMBER", "2", "How often that memory is gone through.");
    let lanes = Key::number("password_lanes", "NUMBER", "1", "Into how many lanes it is divided.");
    let at_once = Key::number(
        "password_hashes_at_once",
        "NUMBER",
        "1",
        "So many passwords are hashed at once; sixteen times as many wait, more are refused with 429.",
    );
    let passwords = PasswordConfig {
        memory_kib: values.read(memory, parse::number(1024, 1024 * 1024)),
        passes: values.read(passes, parse::number(1, 1000)),
        lanes: values.read(lanes, parse::number(1, 64)),
        at_once: values.read(at_once, parse::number(1, 64)),
    };
    (registration, passwords)
}

/// After how many days a new key expires if no expiry is requested.
pub(super) fn key_ttl_days(values: &mut Values) -> u32 {
    let key = Key::number(
        "key_ttl_days",
        "DAYS",
        "0",
        "New API keys of users and agents expire after so many days if the request names no expiry; 0 for never. The \
         key of the first start never expires, and keys that exist keep their expiry.",
    );
    values.read(key, parse::number(0, MAX_KEY_DAYS))
}

fn registration_of(text: &str) -> Result<Registration, String> {
    Registration::parse(text).ok_or_else(|| format!("'{text}' is neither closed, invitation nor open"))
}
