//! What hashing a password costs.

use super::key::Key;
use super::parse;
use super::values::Values;
use crate::passwords::PasswordConfig;

pub(super) fn read(values: &mut Values) -> PasswordConfig {
    values.section("Passwords");
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
    PasswordConfig {
        memory_kib: values.read(memory, parse::number(1024, 4 * 1024 * 1024)),
        passes: values.read(passes, parse::number(1, 1000)),
        lanes: values.read(lanes, parse::number(1, 64)),
        at_once: values.read(at_once, parse::number(1, 64)),
    }
}
