//! The settings of the rate limits.

use clap::Args;
use http_wire::limit::{Quota, RateLimitConfig};
use serde::Deserialize;

/// Each limit is `RATE/BURST`: so many requests a second, so many at once; or `off`.
#[derive(Args, Deserialize, Clone, Debug, Default)]
#[serde(default)]
pub struct RateSettings {
    /// `false` switches every rate limit off [default: true].
    #[arg(long, env = "PARLANCE_RATE_LIMITS", global = true, value_name = "BOOL")]
    pub rate_limits: Option<bool>,

    /// Requests of one user or agent, RATE/BURST a second and at once, or off [default: 500/1000].
    #[arg(long, env = "PARLANCE_RATE_LIMIT", global = true, value_name = "RATE/BURST")]
    pub rate_limit: Option<String>,

    /// The same for /next, processing and activity calls [default: 2000/4000].
    #[arg(long, env = "PARLANCE_RATE_LIMIT_WORK", global = true, value_name = "RATE/BURST")]
    pub rate_limit_work: Option<String>,

    /// The same for contact requests and new agents [default: 20/500].
    #[arg(long, env = "PARLANCE_RATE_LIMIT_INVITATIONS", global = true, value_name = "RATE/BURST")]
    pub rate_limit_invitations: Option<String>,

    /// The same for opening sockets [default: 20/200].
    #[arg(long, env = "PARLANCE_RATE_LIMIT_CONNECTS", global = true, value_name = "RATE/BURST")]
    pub rate_limit_connects: Option<String>,

    /// Failed authentication from one address [default: 2/100].
    #[arg(long, env = "PARLANCE_RATE_LIMIT_FAILURES", global = true, value_name = "RATE/BURST")]
    pub rate_limit_failures: Option<String>,

    /// Proxies whose X-Forwarded-For is believed: addresses or networks, with commas [default: none].
    #[arg(long, env = "PARLANCE_TRUSTED_PROXIES", global = true, value_name = "ADDRESSES")]
    pub trusted_proxies: Option<String>,
}

impl RateSettings {
    /// These settings, completed from `lower`.
    pub(crate) fn over(self, lower: Self) -> Self {
        Self {
            rate_limits: self.rate_limits.or(lower.rate_limits),
            rate_limit: self.rate_limit.or(lower.rate_limit),
            rate_limit_work: self.rate_limit_work.or(lower.rate_limit_work),
            rate_limit_invitations: self.rate_limit_invitations.or(lower.rate_limit_invitations),
            rate_limit_connects: self.rate_limit_connects.or(lower.rate_limit_connects),
            rate_limit_failures: self.rate_limit_failures.or(lower.rate_limit_failures),
            trusted_proxies: self.trusted_proxies.or(lower.trusted_proxies),
        }
    }

    /// The limits that these settings mean; what is wrong with them goes to `faults`.
    pub(crate) fn check(self, faults: &mut Vec<String>) -> RateLimitConfig {
        let default = RateLimitConfig::default();
        let mut quota = |name: &str, given: Option<String>, default: Option<Quota>| {
            let Some(text) = given else { return default };
            parse_quota(&text).unwrap_or_else(|fault| {
                faults.push(format!("{name}: '{text}' {fault}"));
                None
            })
        };
        let mut limits = RateLimitConfig {
            general: quota("rate_limit", self.rate_limit, default.general),
            work: quota("rate_limit_work", self.rate_limit_work, default.work),
            invitations: quota("rate_limit_invitations", self.rate_limit_invitations, default.invitations),
            connects: quota("rate_limit_connects", self.rate_limit_connects, default.connects),
            failures: quota("rate_limit_failures", self.rate_limit_failures, default.failures),
            trusted_proxies: Vec::new(),
        };
        for text in self.trusted_proxies.iter().flat_map(|text| text.split(',')).map(str::trim) {
            match text.parse() {
                Ok(network) => limits.trusted_proxies.push(network),
                Err(fault) if !text.is_empty() => faults.push(format!("trusted_proxies: {fault}")),
                Err(_) => {}
            }
        }
        if self.rate_limits == Some(false) { RateLimitConfig::off() } else { limits }
    }
}

fn parse_quota(text: &str) -> Result<Option<Quota>, String> {
    if text == "off" {
        return Ok(None);
    }
    let numbers =
        text.split_once('/').and_then(|(rate, burst)| Some((rate.parse().ok()?, burst.parse().ok()?)));
    let quota = numbers.and_then(|(rate, burst)| Quota::new(rate, burst));
    quota.map(Some).ok_or_else(|| {
        format!("is neither 'off' nor RATE/BURST with numbers from 1 to {}, as 500/1000", Quota::MOST)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(text: &str) -> (RateLimitConfig, Vec<String>) {
        let mut faults = Vec::new();
        let limits = toml::from_str::<RateSettings>(text).unwrap().check(&mut faults);
        (limits, faults)
    }

    #[test]
    fn limits_are_on_unless_they_are_switched_off() {
        let (limits, faults) = checked("");
        assert!(faults.is_empty());
        assert_eq!(limits.general, Quota::new(500, 1000));
        assert!(limits.work.is_some() && limits.invitations.is_some() && limits.failures.is_some());
        let (limits, _) =
            checked("rate_limit = '7/9'\nrate_limit_work = 'off'\ntrusted_proxies = '127.0.0.1, ::1'");
        assert_eq!((limits.general, limits.work), (Quota::new(7, 9), None));
        assert_eq!(limits.trusted_proxies.len(), 2);
        let (limits, _) = checked("rate_limits = false\nrate_limit = '7/9'");
        assert!(limits.general.is_none() && limits.connects.is_none() && limits.failures.is_none());
    }

    #[test]
    fn every_fault_is_named() {
        for bad in ["", "7", "/", "0/1", "1/0", "-1/1", "1/1/1", "1.5/2", "many", "Off"] {
            let (_, faults) = checked(&format!("rate_limit = '{bad}'"));
            assert!(faults.len() == 1 && faults[0].starts_with("rate_limit:"), "{bad}: {faults:?}");
        }
        let (_, faults) = checked("trusted_proxies = '127.0.0.1,proxy.example'\nrate_limit_failures = 'x'");
        assert_eq!(faults.len(), 2, "{faults:?}");
    }

    #[test]
    fn flags_win_over_the_file() {
        let given = RateSettings { rate_limit: Some("1/2".to_owned()), ..RateSettings::default() };
        let file = toml::from_str("rate_limit = '3/4'\nrate_limits = false").unwrap();
        let merged = given.over(file);
        assert_eq!((merged.rate_limit.as_deref(), merged.rate_limits), (Some("1/2"), Some(false)));
    }
}
