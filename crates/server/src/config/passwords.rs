//! Who may register, the cost of password hashes, and the default lifetime of keys.

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
        "Who may create an account with `POST /api/v1/auth/register`: nobody, people who were invited into an \
         organization, or everyone, each with an organization of their own.",
    );
    let registration = values.read(registration, registration_of);
    let memory = Key::number(
        "password_memory_kib",
        "KIB",
        "19456",
        "Memory for hashing one password (Argon2id), in KiB. A hash with other costs is renewed at the next log-in.",
    );
    let passes = Key::number("password_passes", "NUMBER", "2", "Number of Argon2id passes.");
    let lanes = Key::number("password_lanes", "NUMBER", "1", "Number of Argon2id lanes.");
    let at_once = Key::number(
        "password_hashes_at_once",
        "NUMBER",
        "1",
        "Maximum number of passwords hashed at the same time. Sixteen times as many can wait; further ones are refused \
         with 429.",
    );
    let passwords = PasswordConfig {
        memory_kib: values.read(memory, parse::number(1024, 1024 * 1024)),
        passes: values.read(passes, parse::number(1, 1000)),
        lanes: values.read(lanes, parse::number(1, 64)),
        at_once: values.read(at_once, parse::number(1, 64)),
    };
    (registration, passwords)
}

/// Days until a new key expires, unless an expiry is requested.
pub(super) fn key_ttl_days(values: &mut Values) -> u32 {
    let key = Key::number(
        "key_ttl_days",
        "DAYS",
        "0",
        "Days until a new API key expires if its creator sets no expiry; 0 means never. The key of the first \
         start never expires, and existing keys keep their expiry.",
    );
    values.read(key, parse::number(0, MAX_KEY_DAYS))
}

fn registration_of(text: &str) -> Result<Registration, String> {
    Registration::parse(text).ok_or_else(|| format!("'{text}' is neither closed, invitation nor open"))
}
