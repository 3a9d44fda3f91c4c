//! Rate limits.

use http_wire::limit::{Network, Quota, RateLimitConfig, ReadLimit};

use super::key::Key;
use super::parse;
use super::values::Values;

/// Reads the limits. Each is `off` or `RATE/BURST`: requests per second, and requests at once.
pub(super) fn read(values: &mut Values) -> RateLimitConfig {
    values.section("Rate limits");
    let on = Key::switch("rate_limits", "true", "`false` turns all rate limits off.");
    let on = values.read(on, parse::switch);
    let mut quota = |name, default, what| {
        let key = Key::text(name, "RATE/BURST", default, what);
        values.read(key, parse_quota)
    };
    let limits = RateLimitConfig {
        general: quota(
            "rate_limit",
            "500/1000",
            "Requests of one user or agent, as `RATE/BURST`: per second, and at once; or `off`. The limits below \
             have the same form.",
        ),
        work: quota("rate_limit_work", "2000/4000", "The same for `/next`, processing calls, and activity."),
        invitations: quota(
            "rate_limit_invitations",
            "20/500",
            "Contact requests, handle lookups, and new agents of one user or agent.",
        ),
        files: quota("rate_limit_files", "20/200", "Uploads and downloads of one user or agent."),
        connects: quota("rate_limit_connects", "20/200", "New sockets of one user or agent."),
        failures: quota("rate_limit_failures", "2/100", "Failed authentication from one address."),
        anonymous: quota(
            "rate_limit_anonymous",
            "100/1000",
            "Requests without a credential from one address, except `/health` and `/ready`.",
        ),
        responses: quota(
            "rate_limit_answers",
            "8192/65536",
            "KiB of responses to one user or agent. Responses of up to 64 KiB are not counted. Beyond the limit, \
             reads get 429.",
        ),
        reads: ReadLimit::default(),
        next_reads: None,
        registrations: None,
        trusted_proxies: Vec::new(),
    };
    let registrations = Key::number(
        "registrations_per_hour",
        "NUMBER",
        "30",
        "Maximum number of registration attempts from one address per hour, all of which may come at once; 0 is no \
         limit.",
    );
    let registrations = Quota::per_hour(values.read(registrations, parse::number(0, Quota::MOST)));
    let limits = RateLimitConfig { registrations, ..limits };
    let proxies = Key::list(
        "trusted_proxies",
        "ADDRESSES",
        "Addresses or networks of proxies whose `X-Forwarded-For` header is trusted, separated by commas.",
    );
    let network = |text: &str| text.parse::<Network>();
    let trusted_proxies = values.optional(proxies, parse::list(network)).unwrap_or_default();
    let limits = if on { limits } else { RateLimitConfig::off() };
    RateLimitConfig { trusted_proxies, ..limits }
}

fn parse_quota(text: &str) -> Result<Option<Quota>, String> {
    if text == "off" {
        return Ok(None);
    }
    let numbers =
        text.split_once('/').and_then(|(rate, burst)| Some((rate.parse().ok()?, burst.parse().ok()?)));
    let quota = numbers.and_then(|(rate, burst)| Quota::new(rate, burst));
    quota.map(Some).ok_or_else(|| {
        format!(
            "'{text}' is neither 'off' nor RATE/BURST with numbers from 1 to {}, as 500/1000",
            Quota::MOST
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::with_file;
    use super::*;

    fn checked(text: &str) -> (RateLimitConfig, Vec<String>) {
        let examined = with_file(&[], &[], text);
        (examined.config.rates, examined.faults.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn limits_are_on_unless_they_are_switched_off() {
        let (limits, faults) = checked("");
        assert!(faults.is_empty());
        let usual = RateLimitConfig::default();
        assert_eq!(limits.general, Quota::new(500, 1000));
        assert_eq!((limits.general, limits.work), (usual.general, usual.work));
        assert_eq!(limits.responses, usual.responses);
        assert_eq!((limits.invitations, limits.connects), (usual.invitations, usual.connects));
        assert_eq!((limits.failures, limits.registrations), (usual.failures, usual.registrations));
        assert_eq!(limits.anonymous, usual.anonymous);
        for proxies in ["'127.0.0.1, ::1'", "['127.0.0.1', '::1']"] {
            let (limits, _) =
                checked(&format!("rate_limit = '7/9'\nrate_limit_work = 'off'\ntrusted_proxies = {proxies}"));
            assert_eq!((limits.general, limits.work), (Quota::new(7, 9), None));
            assert_eq!(limits.trusted_proxies.len(), 2);
        }
        let (limits, _) = checked("rate_limits = false\nrate_limit = '7/9'");
        assert!(limits.general.is_none() && limits.connects.is_none() && limits.failures.is_none());
    }

    #[test]
    fn every_fault_is_named() {
        for bad in ["", "7", "/", "0/1", "1/0", "-1/1", "1/1/1", "1.5/2", "many", "Off"] {
            let (_, faults) = checked(&format!("rate_limit = '{bad}'"));
            assert!(faults.len() == 1 && faults[0].starts_with("rate_limit:"), "{bad}: {faults:?}");
        }
        let (_, faults) = checked(
            "trusted_proxies = '127.0.0.1,proxy.example'\nrate_limit_failures = 'x'\nrate_limits = 'perhaps'",
        );
        assert_eq!(faults.len(), 3, "{faults:?}");
    }
}
