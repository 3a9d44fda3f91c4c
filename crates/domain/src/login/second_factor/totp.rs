//! The codes of an authenticator app: TOTP of RFC 6238 with SHA-1, six digits, and steps of 30 seconds, which every app
//! supports.

use std::fmt;

use data_encoding::BASE32_NOPAD;
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;

use crate::time::Timestamp;

/// The length of a step, in microseconds.
const STEP_MICROS: i64 = 30_000_000;

/// How many steps the clock of a device may be off, in either direction.
const TOLERANCE: u32 = 1;

/// The number of codes.
const CODES: u32 = 1_000_000;

/// The number of a step of 30 seconds since 1970, which has one code.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Step(u32);

impl Step {
    /// The step with this number.
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// The step at `now`.
    pub fn at(now: Timestamp) -> Self {
        let number = now.micros().max(0) / STEP_MICROS;
        Self(u32::try_from(number).unwrap_or(u32::MAX))
    }

    /// Its number.
    pub const fn number(self) -> u32 {
        self.0
    }
}

/// A code of six digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TotpCode(u32);

impl TotpCode {
    /// Reads six digits of ASCII.
    pub fn parse(text: &str) -> Option<Self> {
        let is_code = text.len() == 6 && text.bytes().all(|byte| byte.is_ascii_digit());
        is_code.then(|| text.parse().ok().map(Self)).flatten()
    }
}

impl fmt::Display for TotpCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:06}", self.0)
    }
}

/// The secret that the server and an authenticator app share: 160 bits, as RFC 4226 recommends.
#[derive(Clone, PartialEq, Eq)]
pub struct TotpSecret([u8; Self::BYTES]);

impl TotpSecret {
    /// Its length, in bytes.
    pub const BYTES: usize = 20;

    /// The secret of these random bytes.
    pub const fn new(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    /// The bytes, for stores.
    pub const fn bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }

    /// In base32 without padding, as it is typed into an app.
    pub fn base32(&self) -> String {
        BASE32_NOPAD.encode(&self.0)
    }

    /// The code of a step.
    pub fn code_at(&self, step: Step) -> TotpCode {
        TotpCode(self.truncated(step) % CODES)
    }

    /// The step of a code around `now`, if it is newer than `used`.
    pub fn step_of(&self, code: TotpCode, now: Timestamp, used: Option<Step>) -> Option<Step> {
        let Step(current) = Step::at(now);
        let mut around = (current.saturating_sub(TOLERANCE)..=current.saturating_add(TOLERANCE)).map(Step);
        around.find(|step| used.is_none_or(|used| *step > used) && self.code_at(*step) == code)
    }

    /// 31 bits of the HMAC of a step (RFC 4226, section 5.3).
    fn truncated(&self, step: Step) -> u32 {
        let mut mac = Hmac::<Sha1>::new_from_slice(&self.0).expect("HMAC accepts keys of any length");
        mac.update(&u64::from(step.0).to_be_bytes());
        let mac: [u8; 20] = mac.finalize().into_bytes().into();
        let offset = usize::from(mac[19] & 0xf);
        u32::from_be_bytes([mac[offset] & 0x7f, mac[offset + 1], mac[offset + 2], mac[offset + 3]])
    }
}

impl fmt::Debug for TotpSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TotpSecret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: TotpSecret = TotpSecret::new(*b"12345678901234567890");

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    /// RFC 6238, appendix B, whose codes have eight digits.
    #[test]
    fn codes_are_those_of_the_rfc() {
        for (seconds, code) in [
            (59, 94_287_082),
            (1_111_111_109, 7_081_804),
            (1_111_111_111, 14_050_471),
            (1_234_567_890, 89_005_924),
            (2_000_000_000, 69_279_037),
            (20_000_000_000, 65_353_130),
        ] {
            let step = Step::at(at(seconds));
            assert_eq!(SECRET.truncated(step) % 100_000_000, code, "{seconds}");
            assert_eq!(SECRET.code_at(step).to_string(), format!("{:06}", code % 1_000_000));
        }
    }

    /// RFC 4226, appendix D.
    #[test]
    fn codes_of_the_first_steps_are_those_of_hotp() {
        let codes = (0..10).map(|number| SECRET.code_at(Step::new(number)).to_string());
        assert_eq!(
            codes.collect::<Vec<_>>(),
            [
                "755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583", "399871",
                "520489"
            ]
        );
    }

    #[test]
    fn a_step_has_thirty_seconds() {
        let steps = [-1, 0, 29, 30, 59, 60].map(|seconds| Step::at(at(seconds)).number());
        assert_eq!(steps, [0, 0, 0, 1, 1, 2]);
        assert_eq!(Step::at(Timestamp::from_micros(29_999_999)).number(), 0);
        assert_eq!(Step::at(Timestamp::from_micros(i64::MAX)).number(), u32::MAX);
    }

    /// A device may be up to one step behind or ahead of the server.
    #[test]
    fn a_code_is_valid_one_step_around() {
        let (now, current) = (at(1_111_111_111), Step::at(at(1_111_111_111)).number());
        for (number, is_valid) in [
            (current - 2, false),
            (current - 1, true),
            (current, true),
            (current + 1, true),
            (current + 2, false),
        ] {
            let step = Step::new(number);
            let found = SECRET.step_of(SECRET.code_at(step), now, None);
            assert_eq!(found, is_valid.then_some(step), "{number}");
        }
        assert_eq!(SECRET.step_of(SECRET.code_at(Step::new(0)), at(-9), None), Some(Step::new(0)));
    }

    #[test]
    fn a_code_of_a_used_step_or_an_earlier_one_is_not_valid() {
        let (now, current) = (at(1_111_111_111), Step::at(at(1_111_111_111)).number());
        let valid = |used| {
            let around = (current - 1..=current + 1).map(Step::new);
            around.filter(|step| SECRET.step_of(SECRET.code_at(*step), now, used).is_some()).count()
        };
        assert_eq!(valid(None), 3);
        let valid = [current - 2, current - 1, current, current + 1].map(|used| valid(Some(Step::new(used))));
        assert_eq!(valid, [3, 2, 1, 0]);
    }

    #[test]
    fn six_digits_are_a_code() {
        for text in ["000000", "012345", "999999"] {
            assert_eq!(TotpCode::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "12345", "1234567", "12345a", "+12345", "-12345", "１２３４５６", "12 345"] {
            assert!(TotpCode::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn a_secret_is_shown_in_base32_and_not_in_logs() {
        assert_eq!(SECRET.base32(), "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
        assert_eq!(format!("{SECRET:?}"), "TotpSecret(…)");
    }
}
